"""From uniform to normal numbers by the Box-Muller transform, rounding as PyTorch does.

Two uniform numbers `u, v` give two independent standard normals, `r cos t` and `r sin t`, with
radius `r = sqrt(-2 log(1 - u))` and angle `t = 2 pi v`.

A seed gives PyTorch's numbers only if every operation rounds as PyTorch's does. Its float32 kernel
evaluates the Cephes polynomials for logarithm, sine and cosine in single precision with fused
multiply-adds; the others call the C library on doubles. NumPy's own log, sin and cos agree with
neither in the last bit and depend on the processor's vector unit, so both ways are spelled out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

F32 = np.ndarray[Any, np.dtype[np.float32]]
F64 = np.ndarray[Any, np.dtype[np.float64]]

# One chunk of pairs and its temporaries fit the second-level cache.
_CHUNK = 8192


def _float32(*values: float) -> tuple[float, ...]:
    """The values rounded to single precision, as Python floats."""
    return tuple(float(np.float32(value)) for value in values)


# log(1 + x) = x - x²/2 + x³ P(x) for sqrt(1/2) - 1 <= x < sqrt(2) - 1, highest power first.
_LOG = _float32(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SQRT_HALF = np.float32(math.sqrt(0.5))
# log 2 as a short number, exact in products with an exponent, and its remainder.
_LN2_HIGH, _LN2_LOW = _float32(0.693359375, -2.12194440e-4)
# sin x = x + x³ S(x²) and cos x = 1 - x²/2 + x⁴ C(x²) for |x| <= pi/4.
_SIN = _float32(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _float32(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_FOUR_OVER_PI = np.float32(4.0 / math.pi)
# -pi/4 in three parts: subtracting them one by one loses nothing of a small angle.
_QUARTER_TURN = _float32(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_TWO_PI = np.float32(2.0 * math.pi)


def libm(function: Callable[[float], float], x: F64) -> F64:
    """Apply a function of `math`, that is of the C library, to every element."""
    return np.fromiter(map(function, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def fma32(a: F32, b: F32 | F64 | float, c: F32 | float) -> F32:
    """`a b + c` rounded once, for float32 numbers (`b` and `c` may hold them as doubles).

    The product is exact in double precision. The sum is rounded to double first, which shows in
    float32 about once in 2²⁹ results; the polynomials below meet no such case for any of the 2²⁴
    uniform numbers there are.
    """
    total = a.astype(np.float64)
    total *= b
    total += c
    return total.astype(np.float32)


def fma64(a: F64, b: float, c: float) -> F64:
    """`a b + c` rounded once, for doubles: product and sum each with its exact rounding error."""
    with np.errstate(all="ignore"):
        product = a * b
        result: F64 = product + c
        if b == 1.0 or c == 0.0:
            return result
        split = a * 134217729.0  # 2²⁷ + 1 cuts the 53 bits in halves whose products are exact.
        a_high = split - (split - a)
        b_high = b * 134217729.0 - (b * 134217729.0 - b)
        a_low, b_low = a - a_high, b - b_high
        product_error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + (
            a_low * b_low
        )
        virtual = result - product
        sum_error = (product - (result - virtual)) + (c - virtual)
        corrected = result + (product_error + sum_error)
        # Where the halves overflow there is no error to correct: the result is huge or infinite.
        return np.where(np.isfinite(corrected), corrected, result)


def _horner(x: F64, coefficients: Sequence[float]) -> F32:
    """A polynomial, highest power first, each step rounded once to float32 (as `x` is)."""
    value = (x * coefficients[0] + coefficients[1]).astype(np.float32)
    for coefficient in coefficients[2:]:
        value = fma32(value, x, coefficient)
    return value


def _log32(x: F32) -> F32:
    """The natural logarithm of positive normal numbers."""
    bits = x.view(np.int32)
    exponent = (bits >> 23) - 126
    mantissa = ((bits & 0x7FFFFF) | 0x3F000000).view(np.float32)  # In [1/2, 1).
    small = mantissa < _SQRT_HALF
    exponent -= small
    x = (mantissa - np.float32(1.0)) + np.where(small, mantissa, np.float32(0.0))
    wide, power = x.astype(np.float64), exponent.astype(np.float32)
    square = x * x
    tail = _horner(wide, _LOG) * x
    tail = fma32(tail, square, power * np.float32(_LN2_LOW))
    tail = fma32(square, -0.5, tail)
    return fma32(power, _LN2_HIGH, x + tail)


def _cos_sin32(angle: F32) -> tuple[F32, F32]:
    """Cosine and sine of angles in [0, 2 pi]."""
    # The nearest even number of eighth turns leaves a rest of at most pi/4 either way.
    octant = ((angle * _FOUR_OVER_PI).astype(np.int32) + 1) & ~1
    turns, rest = octant.astype(np.float64), angle
    for part in _QUARTER_TURN:
        rest = (turns * part + rest).astype(np.float32)
    square = rest * rest
    wide = square.astype(np.float64)
    cos = _horner(wide, _COS) * square
    cos = fma32(cos, wide, square * np.float32(-0.5)) + np.float32(1.0)
    sin = _horner(wide, _SIN) * square
    sin = fma32(sin, rest, rest)
    swap = (octant & 2) != 0
    cos, sin = np.where(swap, sin, cos), np.where(swap, cos, sin)
    np.negative(sin, out=sin, where=(octant & 4) != 0)
    np.negative(cos, out=cos, where=((octant + 2) & 4) != 0)
    return cos, sin


def normals32(uniforms: F32) -> F32:
    """Standard normals in blocks of 16: eight uniforms give the radii, the next eight the angles.

    The cosines stand in the places of the first eight, the sines in those of the others.

    Shape: `uniforms` (B, 16) to (B, 16).
    """
    normals = np.empty_like(uniforms)
    step = _CHUNK // 8
    for start in range(0, len(uniforms), step):
        chunk = uniforms[start : start + step]
        radius = np.sqrt(np.float32(-2.0) * _log32(np.float32(1.0) - chunk[:, :8]))
        cos, sin = _cos_sin32(_TWO_PI * chunk[:, 8:])
        np.multiply(radius, cos, out=normals[start : start + step, :8])
        np.multiply(radius, sin, out=normals[start : start + step, 8:])
    return normals


def normals64(uniforms: F64) -> F64:
    """`normals32` in double precision."""
    radius = np.sqrt(-2.0 * libm(math.log, 1.0 - uniforms[:, :8]))
    angle = 2.0 * math.pi * uniforms[:, 8:]
    return np.concatenate([radius * libm(math.cos, angle), radius * libm(math.sin, angle)], axis=1)


def normal_pairs(uniforms: F64) -> F64:
    """Standard normals by twos: an angle and a radius in, a cosine and a sine out.

    Shape: `uniforms` (P, 2) to (P, 2).
    """
    radius = np.sqrt(-2.0 * libm(math.log1p, -uniforms[:, 1]))
    angle = 2.0 * math.pi * uniforms[:, 0]
    return np.stack([radius * libm(math.cos, angle), radius * libm(math.sin, angle)], axis=1)
