"""Modified Bessel functions of the first kind, of order 0 and 1.

By the power series near zero, whose terms all have one sign, and by the asymptotic series from
`FAR` on, where its terms fall below the precision of double numbers.

Reference:
    Abramowitz and Stegun, Handbook of Mathematical Functions, 9.6.10, 9.7.1.
"""

import math
from typing import Any

import numpy as np

from nanotorch._core.op import Array, op
from nanotorch.ops.elementwise import sign
from nanotorch.ops.masking import where_true

FAR = 30.0
TERMS, FAR_TERMS = 70, 30


def scaled(x: Array, order: int) -> Array:
    """``exp(-x)`` times the function of ``x``, which is not negative; in double precision."""
    near = np.minimum(x, FAR)
    quarter = (0.5 * near) ** 2
    total = np.ones_like(near)
    for k in range(TERMS, 0, -1):
        total = 1 + total * quarter / (k * (k + order))
    if order:
        total = total * (0.5 * near)
    far = np.maximum(x, FAR)
    tail, term = np.ones_like(far), np.ones_like(far)
    for k in range(1, FAR_TERMS):
        term = -term * (4 * order * order - (2 * k - 1) ** 2) / (k * 8 * far)
        tail = tail + term
    asymptotic = tail / np.sqrt(2 * math.pi * far)
    return np.where(x <= FAR, total * np.exp(-near), np.where(np.isnan(x), x, asymptotic))


def kernel(input: Array, order: int, exponential: bool) -> Array:
    """One of the functions, in the dtype of the input."""
    x = np.abs(input.astype(np.float64))
    values = scaled(x, order)
    if not exponential:
        values = values * np.exp(x)
    return (np.copysign(values, input) if order else values).astype(input.dtype)


@op(input=lambda g, input: g * bessel_i1(input), cast="float", inplace=True, wide=True)
def i0(input: Array) -> Array:
    """The modified Bessel function of the first kind of order 0."""
    return kernel(input, 0, False)


@op(
    input=lambda g, input, out: g * first_slope(input, out, i0(input), 0.0),
    cast="float",
    method=False,
    public=False,
    node="SpecialI1Backward0",
    wide=True,
)
def bessel_i1(input: Array) -> Array:
    """The modified Bessel function of the first kind of order 1."""
    return kernel(input, 1, False)


@op(
    input=lambda g, input, out: g * (bessel_i1e(input) - sign(input) * out),
    cast="float",
    method=False,
    public=False,
    node="SpecialI0EBackward0",
    wide=True,
)
def bessel_i0e(input: Array) -> Array:
    """``exp(-abs(input))`` times the function of order 0."""
    return kernel(input, 0, True)


@op(
    input=lambda g, input, out: g * first_slope(input, out, bessel_i0e(input), sign(input)),
    cast="float",
    method=False,
    public=False,
    node="SpecialI1EBackward0",
    wide=True,
)
def bessel_i1e(input: Array) -> Array:
    """``exp(-abs(input))`` times the function of order 1."""
    return kernel(input, 1, True)


def first_slope(input: Any, out: Any, zeroth: Any, decay: Any) -> Any:
    """The derivative of the function of order 1, or of that times an exponential."""
    zero = input == 0
    apart = where_true(zero, input * 0 + 1, input, None)
    return where_true(zero, input * 0 + 0.5, zeroth - out * (decay + 1 / apart), None)
