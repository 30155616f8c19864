"""The logarithm of the gamma function and its derivatives.

The logarithm is the C library's. Each derivative is brought to large arguments by recurrence, where
a series in Bernoulli numbers ends quickly. All are computed in double precision and then rounded.

Reference:
    Abramowitz and Stegun, Handbook of Mathematical Functions, 6.3.18, 6.4.11, 23.2.
"""

import math
from typing import Any

import numpy as np

from nanotorch._core.op import Array, op

LARGE = 10.0
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def raised(x: Array) -> list[Array]:
    """``x, x + 1, ...`` for positive numbers, each held once it is large; the last is large."""
    return [np.where(x + k < LARGE, x + k, np.ceil(np.maximum(LARGE - x, 0)) + x)
            for k in range(int(LARGE) + 1)]  # fmt: skip


def series(x: Array, weights: Any) -> Array:
    """``sum of weights[k] / x**(2k + 1)``."""
    return np.polyval(np.append(np.array(weights)[::-1], 0.0), 1 / (x * x)) * x


log_gamma: Any = np.frompyfunc(math.lgamma, 1, 1)


@op(input=lambda g, input: g * digamma(input), cast="float", inplace=True, wide=True)
def lgamma(input: Array) -> Array:
    """``log(abs(gamma(input)))``; infinite at 0 and the negative integers."""
    x = input.astype(np.float64)
    pole = (x <= 0) & (x == np.floor(x))
    values = np.asarray(log_gamma(np.where(pole, 1.0, x)), np.float64)
    return np.where(pole, math.inf, values).astype(input.dtype)


@op(input=lambda g, input: g * digamma_slope(input, 1), cast="float", inplace=True, wide=True)
def digamma(input: Array) -> Array:
    """The derivative of `lgamma`; infinite at 0, nan at the negative integers."""
    x = input.astype(np.float64)
    low = x < 0
    steps = raised(np.where(low, 1 - x, np.where(x == 0, 1.0, x)))
    top = steps[-1]
    tail = series(top, [b / (2 * k + 2) for k, b in enumerate(BERNOULLI)]) / top
    values = np.log(top) - 0.5 / top - tail
    values -= np.sum([np.where(s < top, 1 / s, 0.0) for s in steps[:-1]], 0)
    # The distance to the nearest integer keeps all digits close to zero.
    values = np.where(low, values - math.pi / np.tan(math.pi * (x - np.round(x))), values)
    values = np.where(low & (x == np.floor(x)), math.nan, values)
    values = np.where(x == 0, np.copysign(math.inf, -x), np.where(x == math.inf, x, values))
    return np.where(np.isnan(x), x, values).astype(input.dtype)


def zeta(s: int, x: Array) -> Array:
    """``sum of (x + k)**-s`` over all k from 0, for an ``s`` above 1."""
    shift = np.maximum(np.ceil(LARGE - x), 0.0)
    total = np.zeros_like(x)
    for k in range(int(shift.max(initial=0.0))):
        total += np.where(k < shift, (x + k) ** -s, 0.0)
    top = x + shift
    total += top ** (1 - s) / (s - 1) + 0.5 * top**-s
    factor, power = float(s), top ** -(s + 1)
    for k, b in enumerate(BERNOULLI):
        total += b / math.factorial(2 * k + 2) * factor * power
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2)
        power = power / (top * top)
    return total


@op(
    input=lambda g, input, n: g * digamma_slope(input, n + 1),
    cast="float",
    method=False,
    public=False,
    node="PolygammaBackward0",
    wide=True,
)
def digamma_slope(input: Array, n: int) -> Array:
    """The ``n``-th derivative of `digamma`."""
    x = input.astype(np.float64)
    # Many steps would lead from far below zero to large numbers: there the sum of the terms on
    # either side of zero is known in closed form for n = 1.
    low = x < 0.5 if n == 1 else np.zeros(x.shape, bool)
    sound = np.isfinite(x) & ((x > 0) | (x != np.floor(x)) | ((n == 1) & (x != 0)))
    values = zeta(n + 1, np.where(sound, np.where(low, 1 - x, x), 1.0))
    sine = np.sin(input * input.dtype.type(math.pi)).astype(np.float64)  # rounded as PyTorch's
    values = np.where(low, (math.pi / sine) ** 2 - values, values)
    values = np.where(
        sound, values, np.where(np.isinf(x), np.where(x > 0, 0.0, math.nan), math.inf)
    )
    values = (-1) ** (n + 1) * math.factorial(n) * values
    return np.where(np.isnan(x), x, values).astype(input.dtype)
