"""Sorting, and elements chosen by their rank or number; nan counts as the greatest of all.

Equal elements keep their order, also where PyTorch leaves that open.
"""

import math
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_int, lacking
from nanotorch._core.batch_functions import along, under_vmap
from nanotorch._core.batch_rules import one_by_one
from nanotorch._core.layout import normal_dim
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arrangement import arranged_like
from nanotorch.ops.extremum import CHOSEN, chosen, put_along, require_elements, shared_by_all
from nanotorch.ops.reduction import NOT_GIVEN, NOT_KEPT

sort_result, topk_result, kthvalue_result, mode_result, median_result, nanmedian_result = (
    named_tuple(name, "values", "indices")
    for name in ("sort", "topk", "kthvalue", "mode", "median", "nanmedian")
)


def order_along(input: Array, dim: int, descending: bool = False) -> Array:
    """The indices that sort along ``dim``; nan is last, or first if descending."""
    if not input.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(input, dim, "stable")
    backwards = np.flip(np.argsort(np.flip(input, dim), dim, "stable"), dim)
    return input.shape[dim] - 1 - backwards


def moved_slope(g: Any, indices: Any, input_shape: tuple[int, ...], dim: int) -> Any:
    """The gradient of elements that were taken from ``indices`` along ``dim``."""
    return put_along(g, indices, dim, input_shape[dim]) if input_shape else g * 1.0


def in_order(input: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """The kernel of `sort`."""
    indices = order_along(input, dim, descending)
    if not input.ndim:
        return input.copy(), indices
    values = arranged_like(np.take_along_axis(input, indices, dim), input)
    return values, arranged_like(indices, input)


@op(
    input=lambda g, indices, input_shape, dim: moved_slope(g, indices, input_shape, dim),
    aux=("indices",),
    method=False,
    public=False,
    node="SortBackward0",
)
def sort_along(input: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """`sort` that is not asked to be stable."""
    return in_order(input, dim, descending)


@op(
    input=lambda g, indices, input_shape, dim: moved_slope(g, indices, input_shape, dim),
    aux=("indices",),
    method=False,
    public=False,
    node="SortBackward1",
)
def sort_stably(input: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """`sort` that is asked to be stable, or not to be, which PyTorch counts as another form."""
    return in_order(input, dim, descending)


@method
def sort(
    input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = NOT_GIVEN
) -> Any:
    """The elements in order along ``dim``: the named tuple ``(values, indices)``.

    Args:
        stable: whether equal elements keep their order, as they always do.

    Raises:
        IndexError: for a dimension out of range.
    """
    sorting = sort_along if stable is NOT_GIVEN else sort_stably
    return sort_result(sorting(input, normal_dim(dim, input.ndim), descending))


@method
@under_vmap(along)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The indices that sort along ``dim``; arguments as for `sort`."""
    indices = order_along(input._array, normal_dim(dim, input.ndim), descending)
    return wrap(arranged_like(indices, input._array))


@method
def msort(input: Any) -> Any:
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


# By rank


def refuse_bool(name: str, input: Array) -> None:
    """Refuse bools in PyTorch's words."""
    if input.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")


@op(
    input=lambda g, indices, input_shape, dim: moved_slope(g, indices, input_shape, dim),
    aux=("indices",),
    method=False,
    public=False,
    node="TopkBackward0",
)
def top_along(input: Array, k: int, dim: int, largest: bool) -> tuple[Array, Array]:
    """The kernel of `topk`."""
    if input.dtype.kind == "b":
        raise NotImplementedError("topk does not support bool dtypes on CPU")
    if not 0 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    indices = np.take(order_along(input, dim, largest), np.arange(k), dim)
    return np.take_along_axis(input, indices, dim), indices


@method
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The ``k`` greatest elements along ``dim``: the named tuple ``(values, indices)``.

    Args:
        largest: False for the smallest.
        sorted: whether they have to be in order, as they always are.

    Raises:
        RuntimeError: if there are fewer than ``k``.
    """
    return topk_result(top_along(input, as_int(k), normal_dim(dim, input.ndim), largest))


def at_rank(input: Array, rank: Any, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The element of a rank along ``dim``, counted from 0, and its index.

    Args:
        rank: a number, or an array with that dimension kept as 1.
    """
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    order = order_along(input, dim)
    shape = [1 if d == dim else n for d, n in enumerate(input.shape)]
    indices = np.take_along_axis(order, np.broadcast_to(rank, shape), dim)
    return chosen(input, indices, dim, keepdim)


@op(**CHOSEN, node="KthvalueBackward0")
def kth_along(input: Array, k: int, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The kernel of `kthvalue`."""
    if input.ndim:
        require_elements("kthvalue", input, (dim,))
    if not 0 < k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    if input.ndim:
        refuse_bool("kthvalue", input)
    return at_rank(input, k - 1, dim, keepdim)


@method
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The ``k``-th smallest element along ``dim``: the named tuple ``(values, indices)``.

    Args:
        k: from 1.

    Raises:
        RuntimeError: if there are fewer than ``k``.
    """
    return kthvalue_result(kth_along(input, as_int(k), normal_dim(dim, input.ndim), keepdim))


# Medians: of an even number of elements, the smaller of the two in the middle


def middle_rank(input: Array, dim: int, skip_nan: bool) -> Array:
    """The rank of the median along ``dim``; of the first nan where one counts."""
    count = input.shape[dim]
    known = count - np.isnan(input).sum(dim, keepdims=True) if input.dtype.kind == "f" else count
    middle = np.maximum((known - 1) // 2, 0)
    return np.asarray(middle if skip_nan else np.where(known < count, known, middle))


def middle_of_all(input: Array, skip_nan: bool) -> Array:
    """The median of all elements; nan of none."""
    if not input.size:
        least = np.iinfo(np.int32 if input.dtype == np.int32 else np.int64).min
        return np.full((), math.nan if input.dtype.kind == "f" else least).astype(input.dtype)
    refuse_bool("median", input)
    flat = input.reshape(-1)
    return at_rank(flat, middle_rank(flat, 0, skip_nan), 0, False)[0]


def middle_along(input: Array, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Array, Array]:
    """The median along a dimension, and its index."""
    if input.ndim:
        require_elements("median", input, (dim,))
    if input.dtype.kind == "b":
        raise NotImplementedError("\"median_out\" not implemented for 'Bool'")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    return at_rank(input, middle_rank(input, dim, skip_nan), dim, keepdim)


@op(
    input=lambda g, input, out: shared_by_all(g, input, out),
    method=False,
    public=False,
    node="MedianBackward0",
    batch=one_by_one,
)
def median_all(input: Array) -> Array:
    """The median of all elements."""
    return middle_of_all(input, False)


@op(
    input=lambda g, input, out: shared_by_all(g, input, out),
    method=False,
    public=False,
    node="NanmedianBackward0",
    batch=one_by_one,
)
def nanmedian_all(input: Array) -> Array:
    """The median of all elements but nan."""
    return middle_of_all(input, True)


@op(**CHOSEN, node="MedianBackward1")
def median_along(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The median along ``dim`` and its index."""
    return middle_along(input, dim, keepdim, False)


@op(**CHOSEN, node="NanmedianBackward1")
def nanmedian_along(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The median along ``dim`` of the elements but nan, and its index."""
    return middle_along(input, dim, keepdim, True)


@method
def median(input: Any, dim: int = NOT_GIVEN, keepdim: bool = NOT_KEPT) -> Any:
    """The median of all elements; with ``dim``, the named tuple ``(values, indices)`` along it.

    Of an even number it is the smaller of the two in the middle; nan if there is a nan.

    Raises:
        IndexError: along a dimension without elements.
    """
    if dim is NOT_GIVEN:
        if keepdim is not NOT_KEPT:
            raise lacking("median", "dim")
        return median_all(input)
    return median_result(median_along(input, normal_dim(dim, input.ndim), keepdim))


@method
def nanmedian(input: Any, dim: int = NOT_GIVEN, keepdim: bool = NOT_KEPT) -> Any:
    """`median` of the elements that are not nan."""
    if dim is NOT_GIVEN:
        if keepdim is not NOT_KEPT:
            raise lacking("nanmedian", "dim")
        return nanmedian_all(input)
    return nanmedian_result(nanmedian_along(input, normal_dim(dim, input.ndim), keepdim))


# By number


@op(**CHOSEN, node="ModeBackward0")
def mode_along(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The kernel of `mode`."""
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    require_elements("mode", input, (dim,))
    rows = np.moveaxis(input, dim, -1)
    # PyTorch puts nan first here, each a value of its own.
    keys = (rows, rows == rows) if input.dtype.kind == "f" else (rows,)
    order = np.lexsort(keys, -1)
    values = np.take_along_axis(rows, order, -1)
    last = np.ones(values.shape, bool)
    last[..., :-1] = values[..., 1:] != values[..., :-1]
    place = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    ends = np.maximum.accumulate(np.where(last, place, -1), -1)
    before = np.concatenate([np.full((*values.shape[:-1], 1), -1), ends[..., :-1]], -1)
    best = np.argmax(np.where(last, place - before, 0), -1)[..., None]
    indices = np.moveaxis(np.take_along_axis(order, best, -1), -1, dim)
    return chosen(input, indices, dim, keepdim)


@method
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along ``dim``: the named tuple ``(values, indices)``.

    Of several it is the smallest; the index is that of its last occurrence.

    Raises:
        IndexError: along a dimension without elements.
    """
    return mode_result(mode_along(input, normal_dim(dim, input.ndim), keepdim))
