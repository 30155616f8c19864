"""The regularized incomplete gamma functions, and the multivariate gamma function.

The lower function is a power series where it is the smaller one; elsewhere the upper one is a
continued fraction. All are computed in double precision and then rounded.

Reference:
    Press et al., Numerical Recipes, section 6.2.
"""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.op import Array, op
from nanotorch.ops.elementwise import exp, log
from nanotorch.ops.gamma import digamma, lgamma, log_gamma

STEPS = 10000
TOGETHER = 8  # steps between looks for what has converged
TINY = 1e-300


def power_series(a: Array, x: Array, tolerance: float) -> Array:
    """The lower function without its factor."""
    out = np.empty_like(x)
    left = np.arange(len(x))
    term = 1 / a
    total = term.copy()
    for n in range(1, STEPS):
        term = term * (x / (a + n))
        total += term
        if n % TOGETHER == 0:
            going = term > total * tolerance
            out[left] = total
            left, a, x, term, total = left[going], a[going], x[going], term[going], total[going]
            if not len(left):
                break
    out[left] = total
    return out


def continued_fraction(a: Array, x: Array, tolerance: float) -> Array:
    """The upper function without its factor, by Lentz's method."""
    out = np.empty_like(x)
    left = np.arange(len(x))
    b = x + 1 - a
    c, d = np.full_like(x, 1 / TINY), 1 / np.where(b == 0, TINY, b)
    total = d.copy()
    for n in range(1, STEPS):
        weight = -n * (n - a)
        b = b + 2
        d = weight * d + b
        c = b + weight / c
        d = 1 / np.where(np.abs(d) < TINY, TINY, d)
        c = np.where(np.abs(c) < TINY, TINY, c)
        total *= c * d
        if n % TOGETHER == 0:
            going = np.abs(c * d - 1) > tolerance
            out[left] = total
            left, a, b, c, d = left[going], a[going], b[going], c[going], d[going]
            total = total[going]
            if not len(left):
                break
    out[left] = total
    return out


def regularized(input: Array, other: Array, upper: bool) -> Array:
    """The kernel of both functions."""
    if input.dtype.kind != "f":
        name = f"igamma{'c' * upper}_cpu"
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.of_array(input).char}'")
    a, x = np.broadcast_arrays(input.astype(np.float64), other.astype(np.float64))
    plain = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    lower = np.select(
        [(x < 0) | (a < 0), a == 0, x == 0, np.isinf(a), np.isinf(x)],
        [
            math.nan,
            np.where(x > 0, 1.0, math.nan),
            0.0,
            np.where(np.isinf(x), math.nan, 0.0),
            1.0,
        ],
        math.nan,
    )
    out = np.asarray(np.maximum(a, x))  # in the memory order of elementwise functions
    out[...] = 1 - lower if upper else lower
    a, x = a[plain], x[plain]
    factor = np.exp(a * np.log(x) - x - np.asarray(log_gamma(a), np.float64))
    small = x < a + 1
    large = ~small
    values = np.empty_like(x)
    tolerance = 4e-16 if input.dtype == np.float64 else 1e-10
    values[small] = factor[small] * power_series(a[small], x[small], tolerance)
    values[large] = factor[large] * continued_fraction(a[large], x[large], tolerance)
    out[plain] = np.where(small == upper, 1 - values, values)
    return out.astype(input.dtype)


def missing(name: str) -> Any:
    """PyTorch has no derivative by the first argument and says so when asked."""
    raise NotImplementedError(f"the derivative for '{name}: input' is not implemented.")


def density(input: Any, other: Any) -> Any:
    """The derivative of the lower function by its second argument."""
    return exp((input - 1) * log(other) - other - lgamma(input))


@op(
    input=lambda g: missing("igamma"),
    other=lambda g, input, other: g * density(input, other),
    cast="promote",
    numbers=False,
    inplace=True,
    wide=True,
)
def igamma(input: Array, other: Array) -> Array:
    """The regularized lower incomplete gamma function; its first argument has no gradient.

    Args:
        input: the parameter, at least 0.
        other: up to where the integral goes, at least 0.
    """
    return regularized(input, other, False)


@op(
    input=lambda g: missing("igammac"),
    other=lambda g, input, other: -g * density(input, other),
    cast="promote",
    numbers=False,
    inplace=True,
    wide=True,
)
def igammac(input: Array, other: Array) -> Array:
    """The regularized upper incomplete gamma function: 1 less `igamma`."""
    return regularized(input, other, True)


def digammas(input: Any, p: int) -> Any:
    """The derivative of `mvlgamma`."""
    total = digamma(input)
    for j in range(1, p):
        total = total + digamma(input - 0.5 * j)
    return total


@op(input=lambda g, input, p: g * digammas(input, p), cast="float", inplace=True, wide=True)
def mvlgamma(input: Array, p: int) -> Array:
    """The logarithm of the gamma function of dimension ``p``.

    Raises:
        RuntimeError: for a dimension below 1.
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    total = np.full(input.shape, 0.25 * math.log(math.pi) * p * (p - 1), input.dtype)
    for j in range(p):
        total = total + np.asarray(lgamma(input - input.dtype.type(0.5 * j)))
    return total
