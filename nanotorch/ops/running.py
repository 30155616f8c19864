"""Running products and extrema along a dimension, differences and integrals."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.layout import normal_dim, own_dim
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.comparison import logical_xor, zero_where
from nanotorch.ops.creation import zeros_like
from nanotorch.ops.elementwise import sub
from nanotorch.ops.gathering import gather_backward
from nanotorch.ops.hidden import inplace_form
from nanotorch.ops.joining import cat
from nanotorch.ops.reduction import (
    accumulated,
    check_own_dtype,
    cumsum,
    cumsum_along,
    reverse_cumsum,
    rows_without_one,
    sum,
    sum_along,
    sum_dtype,
)
from nanotorch.ops.scalar import over, times
from nanotorch.ops.shape import reshape, transpose, unsqueeze
from nanotorch.ops.slicing import NO_SLICE, narrow, select, triu

# Products


def product_slope(g: Any, input: Any, out: Any, dim: int) -> Any:
    """The gradient of running products."""
    if math.prod(input.shape) <= 1 or input.shape[dim] == 1:
        return g
    if not bool((input == 0).any()):
        return reverse_cumsum(g * out, dim) / input
    if not isinstance(input, Tensor):
        return slope_beside_zeros(g, input, out, dim)
    g, rows = transpose(g, dim, -1), rows_without_one(transpose(input, dim, -1))
    # Row i: how each product depends on element i, as those from there on do.
    slopes = triu(cumprod_along(rows, rows.ndim - 1))
    return transpose(sum_along(unsqueeze(g, -2) * slopes, (slopes.ndim - 1,), False), dim, -1)


def slope_beside_zeros(g: Array, input: Array, out: Array, dim: int) -> Array:
    """The gradient of running products of numbers, of which some are zeros, in linear memory.

    It is 0 behind the first zero. The zero itself counts in the products up to the next one.
    """
    zeros = cumsum_along(input == 0, dim)
    past, first = zeros > 0, (input == 0) & (zeros == 1)
    before = reverse_cumsum(zero_where(g * out, past), dim) / input
    products = cumprod_along(input + first, dim)  # those without the first zero
    at_first = reverse_cumsum(zero_where(g * products, ~past), dim)
    return zero_where(before, past) + zero_where(at_first, ~first)


@op(
    input=lambda g, input, out, dim: product_slope(g, input, out, dim),
    inplace=True,
    method=False,
    public=False,
    node="CumprodBackward0",
    in_order=True,
)
def cumprod_along(input: Array, dim: int, dtype: DType | None = None) -> Array:
    """The kernel of `cumprod`."""
    return accumulated(np.multiply, input, dim, sum_dtype(input, dtype))


@method
def cumprod(input: Any, dim: int, *, dtype: DType | None = None) -> Any:
    """Running products along ``dim``; integers give int64."""
    return cumprod_along(input, normal_dim(dim, input.ndim), dtype)


cumprod_along_ = inplace_form("cumprod_along")


@method(public=False)
def cumprod_(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """In-place `cumprod`.

    Raises:
        RuntimeError: for a ``dtype`` other than the tensor's own.
    """
    check_own_dtype(self, dtype)
    return cumprod_along_(self, normal_dim(dim, self.ndim), self.dtype)


# Extrema


def running(input: Array, dim: int, best: Callable[..., Any]) -> tuple[Array, Array]:
    """Running extrema, and where each was met last; from the first nan on all are nan."""
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    input = np.asarray(input, order="C")
    values = best.accumulate(input, dim)  # type: ignore[attr-defined]
    shape = [1] * input.ndim
    shape[dim] = input.shape[dim]
    place = np.arange(input.shape[dim]).reshape(shape)
    met = (input == values) | (input != input)
    return values, np.maximum.accumulate(np.where(met, place, 0), dim)


def met_slope(g: Any, input: Any, indices: Any, dim: int) -> Any:
    """The gradient of running extrema, added where each was met; as in PyTorch, for an input of no
    elements that itself."""
    if 0 in input.shape:
        return input * 1.0
    return gather_backward(g, tuple(input.shape), dim, indices) if input.ndim else g * 1.0


@op(
    input=lambda g, input, indices, dim: met_slope(g, input, indices, dim),
    aux=("indices",),
    method=False,
    public=False,
    node="CummaxBackward0",
)
def cummax_along(input: Array, dim: int) -> tuple[Array, Array]:
    """The kernel of `cummax`."""
    return running(input, dim, np.maximum)


@op(
    input=lambda g, input, indices, dim: met_slope(g, input, indices, dim),
    aux=("indices",),
    method=False,
    public=False,
    node="CumminBackward0",
)
def cummin_along(input: Array, dim: int) -> tuple[Array, Array]:
    """The kernel of `cummin`."""
    return running(input, dim, np.minimum)


cummax_result = named_tuple("cummax", "values", "indices")
cummin_result = named_tuple("cummin", "values", "indices")


@method
def cummax(input: Any, dim: int) -> Any:
    """The greatest element so far along ``dim``: the named tuple ``(values, indices)``.

    The index is that of its last occurrence.
    """
    return cummax_result(cummax_along(input, normal_dim(dim, input.ndim)))


@method
def cummin(input: Any, dim: int) -> Any:
    """The smallest element so far along ``dim``: the named tuple ``(values, indices)``.

    The index is that of its last occurrence.
    """
    return cummin_result(cummin_along(input, normal_dim(dim, input.ndim)))


# Differences


@method
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along ``dim``.

    Args:
        n: how many times to take them.
        prepend, append: what to join to the input before.

    Raises:
        RuntimeError: for a tensor of no dimension, or a negative ``n``.
    """
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = normal_dim(dim, input.ndim)
    parts = [part for part in (prepend, input, append) if part is not None]
    if n == 0:
        return zeros_like(input).copy_(input)
    out = cat(parts, dim) if len(parts) > 1 else input
    minus: Any = logical_xor if out.dtype == dtypes.bool_ else sub
    for _ in range(min(n, out.shape[dim])):
        size = out.shape[dim] - 1
        out = minus(narrow(out, dim, 1, size), narrow(out, dim, 0, size))
    return out


# Integrals by the trapezoidal rule


def refuse_bools(name: str, y: Any, x: Any) -> None:
    """PyTorch adds no bools here."""
    if any(t is not None and t.dtype == dtypes.bool_ for t in (y, x)):
        which = "`y`" if x is None else "`x` or `y`"
        raise NotImplementedError(
            f"{name}: received a bool input for {which}, but bool is not supported"
        )


def neighbours(y: Any, dim: int) -> tuple[Any, Any]:
    """All but the last, and all but the first along ``dim``."""
    size = max(y.shape[dim] - 1, 0)
    return narrow(y, dim, 0, size), narrow(y, dim, min(1, y.shape[dim]), size)


def steps(name: str, y: Any, x: Any, dim: int) -> Any:
    """The distances of the places where ``y`` was taken, to be multiplied along ``dim``."""
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x, along = reshape(x, (x.shape[0], *(1,) * (y.ndim - dim - 1))), 0
    else:
        x = reshape(x, ((1,) * (y.ndim - x.ndim) + tuple(x.shape)))
        along = dim
    left, right = neighbours(x, along)
    return right - left


@public
def trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule.

    Args:
        x: where ``y`` was taken, ``(n,)`` or of its shape.
        dx: without ``x``: the distance of neighbours.

    Raises:
        RuntimeError: if the two do not fit.
    """
    dim = own_dim(dim, y.ndim)
    if not y.shape[dim]:
        return y.new_zeros((*y.shape[:dim], *y.shape[dim + 1 :]))
    refuse_bools("trapezoid", y, x)
    left, right = neighbours(y, dim)
    if x is not None:
        return over(sum((left + right) * steps("trapezoid", y, x, dim), dim), 2.0)
    ends = times(select(y, dim, 0) + select(y, dim, -1), 0.5)
    return times(sum(y, dim) - ends, dx)


@public
def trapz(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    """`trapezoid` by its former name."""
    return trapezoid(y, x, dx=dx, dim=dim)


@public
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1, dim: int = -1) -> Any:
    """The integral up to each place but the first: see `trapezoid`."""
    if not y.ndim:
        raise IndexError(NO_SLICE)
    refuse_bools("cumulative_trapezoid", y, x)
    dim = normal_dim(dim, y.ndim)
    left, right = neighbours(y, dim)
    if x is not None:
        products = (left + right) * steps("cumulative_trapezoid", y, x, dim)
        return over(cumsum(products, dim), 2.0)
    return cumsum(times(left + right, dx / 2.0), dim)
