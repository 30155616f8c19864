"""Normal numbers from uniform ones, rounded as PyTorch does."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray
F32 = np.ndarray[Any, np.dtype[np.float32]]
F64 = np.ndarray[Any, np.dtype[np.float64]]
I64 = np.ndarray[Any, np.dtype[np.int64]]


# This is the Box-Muller transform.
#
# Two uniform numbers `u, v` give two independent standard normals, `r cos t` and `r sin t`, with
# radius `r = sqrt(-2 log(1 - u))` and angle `t = 2 pi v`.
#
# A seed gives PyTorch's numbers only if every operation rounds as PyTorch's does. Its float32
# kernel evaluates the Cephes polynomials for logarithm, sine and cosine in single precision with
# fused multiply-adds; the others call the C library on doubles. NumPy's own log, sin and cos agree
# with neither in the last bit and depend on the processor's vector unit, so both ways are spelled
# out.


# One chunk of pairs and its temporaries fit the second-level cache.
_CHUNK = 16384


def _float32(*values: float) -> tuple[Any, ...]:
    """The values rounded to single precision, as arrays: ufuncs take these faster than numbers."""
    return tuple(np.array(np.float32(value)) for value in values)


def _wide(*values: float) -> tuple[Any, ...]:
    """The values rounded to single precision, in double precision."""
    return tuple(value.astype(np.float64) for value in _float32(*values))


# log(1 + x) = x - x²/2 + x³ P(x) for sqrt(1/2) - 1 <= x < sqrt(2) - 1, highest power first.
_LOG = _wide(
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
# log 2 as a short number, exact in products with an exponent, and its remainder.
(_LN2_HIGH,), (_LN2_LOW,) = _wide(0.693359375), _float32(-2.12194440e-4)
# sin x = x + x³ S(x²) and cos x = 1 - x²/2 + x⁴ C(x²) for |x| <= pi/4.
_SIN = _wide(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _wide(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
# -pi/4 in three parts: subtracting them one by one loses nothing of a small angle.
_QUARTER_TURN = _wide(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_ZERO, _ONE, _MINUS_TWO, _MINUS_HALF, _SQRT_HALF, _FOUR_OVER_PI, _TWO_PI = _float32(
    0.0, 1.0, -2.0, -0.5, math.sqrt(0.5), 4.0 / math.pi, 2.0 * math.pi
)
_TURN = 2.0 * math.pi
_MANTISSA, _SIGN_OF_4 = np.array(23, np.int32), np.array(29, np.uint32)


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
    if b == 1.0:
        return a + c
    product = a * b
    result: F64 = product + c
    if c == 0.0:
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


def round32(values: F64, exact: Callable[[Any], Any]) -> F32:
    """What NumPy has computed in double precision, rounded as the C library's result would be.

    NumPy's functions err by a few units in the last of 53 digits. A relative error of 2⁻⁴⁰ changes
    one result in about 2¹⁵; these alone are computed by the C library.

    Args:
        exact: the C library's results at indices, as `np.nonzero` returns them.
    """
    rounded = (values * (1.0 - 2.0**-40)).astype(np.float32)
    doubtful = np.nonzero(rounded != (values * (1.0 + 2.0**-40)).astype(np.float32))
    rounded[doubtful] = exact(doubtful)
    return rounded


def _horner(x: F64, coefficients: Sequence[Any]) -> F32:
    """A polynomial, highest power first, each step rounded once to float32 (as `x` is)."""
    value = x * coefficients[0]
    value += coefficients[1]
    for coefficient in coefficients[2:]:
        value = value.astype(np.float32).astype(np.float64)
        value *= x
        value += coefficient
    return value.astype(np.float32)


def _log32(x: F32) -> F32:
    """The natural logarithm of positive normal numbers."""
    # Bits of x = 2^exponent (1 + rest), where 1 + rest is in [sqrt(1/2), sqrt(2)).
    bits = x.view(np.int32)
    exponent = (bits - _SQRT_HALF.view(np.int32)) >> _MANTISSA
    rest = (bits - (exponent << _MANTISSA)).view(np.float32)
    rest -= _ONE
    power, square = exponent.astype(np.float32), rest * rest
    tail = _horner(rest.astype(np.float64), _LOG)
    tail *= rest
    tail = fma32(tail, square, power * _LN2_LOW)
    tail = fma32(square, -0.5, tail)
    rest += tail
    return fma32(power, _LN2_HIGH, rest)


def _cos_sin32(angle: F32) -> tuple[F32, F32]:
    """Cosine and sine of angles in [0, 2 pi]."""
    # The nearest even number of eighth turns leaves a rest of at most pi/4 either way.
    octant = (angle * _FOUR_OVER_PI).astype(np.int32)
    octant += 1
    octant &= ~1
    turns, rest = octant.astype(np.float64), angle
    for part in _QUARTER_TURN:
        rest = (turns * part + rest).astype(np.float32)
    square = rest * rest
    wide = square.astype(np.float64)
    cos, sin = _horner(wide, _COS), _horner(wide, _SIN)
    cos *= square
    cos = fma32(cos, wide, square * _MINUS_HALF)
    cos += _ONE
    sin *= square
    sin = fma32(sin, rest, rest)
    # Exchange the two in every other quarter, then set their signs, all in their bits: random
    # conditions are slow.
    quarter = octant.view(np.uint32)
    first, second = cos.view(np.uint32), sin.view(np.uint32)
    differ = (first ^ second) & -(quarter >> 1 & 1)
    first ^= differ ^ ((quarter + 2 & 4) << _SIGN_OF_4)
    second ^= differ ^ ((quarter & 4) << _SIGN_OF_4)
    return cos, sin


def _radius32(uniforms: F32) -> F32:
    """The radius that each uniform number gives."""
    radius = _log32(_ONE - uniforms)
    radius *= _MINUS_TWO
    return np.sqrt(radius, out=radius)


def parts32(uniforms: F32) -> tuple[F32, F32, F32]:
    """The radius, cosine and sine that each uniform number gives."""
    return _radius32(uniforms), *_cos_sin32(_TWO_PI * uniforms)


def blocks32(radius: F32, cos: F32, sin: F32, out: F32) -> None:
    """Write blocks of 16 normals to `out`, from eight radii, cosines and sines each."""
    np.multiply(radius, cos, out=out[:, :8])
    np.multiply(radius, sin, out=out[:, 8:])
    out += _ZERO  # PyTorch adds the mean, which makes zeros of negative zeros


def normals32(uniforms: F32) -> F32:
    """Standard normals in blocks of 16: eight uniforms give the radii, the next eight the angles.

    The cosines stand in the places of the first eight, the sines in those of the others.

    Shape: `uniforms` (B, 16) to (B, 16).
    """
    normals = np.empty_like(uniforms)
    step = _CHUNK // 8
    for start in range(0, len(uniforms), step):
        chunk = uniforms[start : start + step]
        cos_sin = _cos_sin32(_TWO_PI * chunk[:, 8:])
        blocks32(_radius32(chunk[:, :8]), *cos_sin, normals[start : start + step])
    return normals


def normals64(uniforms: F64) -> F64:
    """`normals32` in double precision."""
    radius = np.sqrt(-2.0 * libm(math.log, 1.0 - uniforms[:, :8]))
    angle = _TURN * uniforms[:, 8:]
    return np.concatenate([radius * libm(math.cos, angle), radius * libm(math.sin, angle)], axis=1)


def pair64(turn: float, share: float) -> tuple[float, float]:
    """A pair of standard normals, of two uniforms."""
    radius, angle = math.sqrt(-2.0 * math.log1p(-share)), _TURN * turn
    return radius * math.cos(angle) + 0.0, radius * math.sin(angle) + 0.0


def pairs32(uniforms: F64) -> F32:
    """`pair64` of each row, rounded to single precision.

    Shape: `uniforms` (N, 2) to (N, 2).
    """
    radius, angle = np.sqrt(-2.0 * np.log1p(-uniforms[:, 1])), _TURN * uniforms[:, 0]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    pairs += 0.0

    def exact(at: tuple[I64, I64]) -> list[float]:
        rows, parts = at
        found = zip(uniforms[rows].tolist(), parts.tolist(), strict=True)
        return [pair64(*row)[part] for row, part in found]

    return round32(pairs, exact)
