"""Variance and standard deviation."""

import math
from typing import Any

import numpy as np

from nanotorch._core.op import Array, method, op
from nanotorch._core.sums import DOUBLE, sum_over, sum_products
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.ops.comparison import zero_where
from nanotorch.ops.reduction import NOT_GIVEN, count, mean_along, normal_dims, spread


def require_float_input(input: Array, name: str = "std and var") -> None:
    """A variance of integers is not defined."""
    if input.dtype.kind != "f":
        raise NotImplementedError(f"{name} only support floating point and complex dtypes")


NO_FREEDOM = (
    "{}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
    "factor (input numel divided by output numel)."
)
MANY = 8192  # elements, from which on a pass more takes longer than a function more


def spread_and_mean(
    input: Array, dim: tuple[int, ...], correction: float, name: str
) -> tuple[Array, Array]:
    """The variance and the mean along dimensions in double precision, for `like`.

    Warns:
        UserWarning: of fewer elements than ``correction`` asks for.
    """
    n, keep = count(input.shape, dim), len(dim) < input.ndim
    values = input.astype(DOUBLE, order="C")
    mean = sum_over(values, dim, keep) / n
    squares = None
    if values.size > MANY and input.dtype != DOUBLE:  # of twice the digits the mean may take some
        level = mean * mean * n
        squares = squares_along(values, dim, keep) - level
        if not (squares > level * 1e-6).all():
            values, squares = input.astype(DOUBLE, order="C"), None
    if squares is None:
        values -= mean
        squares = squares_along(values, dim, keep)
    if (n if squares.size else 0) <= correction:
        warn(NO_FREEDOM.format(name))
    return squares / max(n - correction, 0), mean


def squares_along(values: Array, dim: tuple[int, ...], keepdim: bool) -> Array:
    """That along dimensions; ``values`` lie in order and may be overwritten."""
    if values.ndim - 1 in dim:
        return sum_products(values, values, dim, keepdim)
    return sum_over(np.multiply(values, values, out=values), dim, keepdim)


def like(values: Array, input: Array, dim: tuple[int, ...], keepdim: bool) -> Array:
    """What was computed along dimensions in the dtype of the input, with or without them."""
    if keepdim:
        values = values.reshape([1 if d in dim else n for d, n in enumerate(input.shape)])
    elif len(dim) < input.ndim:
        values = values.reshape([n for d, n in enumerate(input.shape) if d not in dim])
    return values.astype(input.dtype)


def variance_slope(
    g: Any, input: Any, dim: tuple[int, ...], keepdim: bool, correction: float, overall: bool
) -> Any:
    """``2 / (n - correction) * (input - mean)``, for each result's share."""
    n = count(input.shape, dim) - correction
    share, mean = spread(g, tuple(input.shape), dim, keepdim), mean_along(input, dim, True)
    if overall and n <= 0:  # no number at the mean, infinite elsewhere
        return share * ((1.0 - 1.0 * (input == mean)) * math.inf)
    return share * (2 / n if n else math.inf) * (input - mean)


@op(
    input=lambda g, input, dim, keepdim, correction, overall: variance_slope(
        g, input, dim, keepdim, correction, overall
    ),
    method=False,
    public=False,
    node="VarBackward0",
    in_order=True,
    wide=True,
)
def var_along(
    input: Array, dim: tuple[int, ...], keepdim: bool, correction: float, overall: bool
) -> Array:
    """The variance along dimensions, or ``overall``, which are then all of them."""
    require_float_input(input)
    return like(spread_and_mean(input, dim, correction, "var")[0], input, dim, keepdim)


@op(
    input=lambda g, input, out, dim, keepdim, correction, overall: variance_slope(
        zero_where(g / (out * 2), out == 0), input, dim, keepdim, correction, overall
    ),
    method=False,
    public=False,
    node="StdBackward0",
    in_order=True,
    wide=True,
)
def std_along(
    input: Array, dim: tuple[int, ...], keepdim: bool, correction: float, overall: bool
) -> Array:
    """The standard deviation along dimensions, or ``overall``."""
    require_float_input(input)
    return like(np.sqrt(spread_and_mean(input, dim, correction, "std")[0]), input, dim, keepdim)


def spread_arguments(
    input: Tensor, dim: Any, unbiased: bool, keepdim: bool, correction: float | None
) -> tuple[tuple[int, ...], bool, float, bool]:
    """The arguments of `var` and `std`, whose first may be ``unbiased`` alone."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    dims = normal_dims(None if dim is NOT_GIVEN else dim, input.ndim)
    overall = dim is NOT_GIVEN or dim is None or input.ndim == 0
    return dims, keepdim, float(unbiased) if correction is None else correction, overall


@method
def var(
    input: Tensor,
    dim: Any = NOT_GIVEN,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance of all elements, or along ``dim``.

    Args:
        unbiased: divide by n - 1 rather than by n.
        correction: what to subtract from n; overrides ``unbiased``.

    Raises:
        NotImplementedError: for integers.
    """
    return var_along(input, *spread_arguments(input, dim, unbiased, keepdim, correction))


@method
def std(
    input: Tensor,
    dim: Any = NOT_GIVEN,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation: the square root of `var`, with the same arguments."""
    return std_along(input, *spread_arguments(input, dim, unbiased, keepdim, correction))
