"""Variance and standard deviation."""

import math
from typing import Any

import numpy as np

from nanotorch._core.op import Array, method, op
from nanotorch._core.sums import DOUBLE, sum_over, sum_products
from nanotorch._core.tensor import Tensor
from nanotorch.ops.comparison import zero_where
from nanotorch.ops.reduction import NOT_GIVEN, count, mean_along, normal_dims, spread


def require_float_input(input: Array, name: str = "std and var") -> None:
    """A variance of integers is not defined."""
    if input.dtype.kind != "f":
        raise NotImplementedError(f"{name} only support floating point and complex dtypes")


def spread_and_mean(
    input: Array, dim: tuple[int, ...], keepdim: bool, correction: float, *, root: bool
) -> tuple[Array, Array]:
    """The variance, or its ``root``, and the mean along dimensions, in double precision."""
    values, n = input.astype(DOUBLE, order="C"), count(input.shape, dim)
    mean = sum_over(values, dim, True) / np.float64(n)
    values -= mean
    squares = sum_products(values, values, dim, keepdim)
    spread = np.true_divide(squares, max(n - correction, 0), out=...)
    if root:
        np.sqrt(spread, out=spread)
    kind = input.dtype
    return spread.astype(kind, copy=False), mean.reshape(spread.shape).astype(kind, copy=False)


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
    return spread_and_mean(input, dim, keepdim, correction, root=False)[0]


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
    return spread_and_mean(input, dim, keepdim, correction, root=True)[0]


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
