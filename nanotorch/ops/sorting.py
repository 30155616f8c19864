"""Sorting, ranks, unique values, searches in sorted values, counts."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, rename, require_bool
from nanotorch._core.call_site import warn_once
from nanotorch._core.dtypes import INT64, Number
from nanotorch._core.layout import existing_dim
from nanotorch._core.op import Array, as_number, hidden_op, method, op, public
from nanotorch._core.overloads import overloads
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import check_kind, check_ndim, no_form, require
from nanotorch.ops.reduction import (
    CHOSEN,
    FIELDS,
    NOT_GIVEN,
    NOT_KEPT,
    extremum_all_formula,
    kept_shape,
    require_elements,
    take_chosen,
    taken_formula,
)

# The memory order of the dimensions of a result, for elementwise operations.
#
# In PyTorch, the first operand decides, then the next ones; NumPy gives all the same weight. Users
# see the difference in the strides, and in whether `view` works.


Strides = tuple[int, ...]  # of an operand along the result's dimensions; 0 where it broadcasts


def slowest_first(shape: tuple[int, ...], operands: Sequence[Strides]) -> tuple[int, ...]:
    """The dimensions of a result in memory order, the one with the greatest stride first.

    Two dimensions are swapped if the first operand that broadcasts along neither has the larger
    stride in the later one. If the strides are equal, the longer dimension comes first.
    """
    order = list(reversed(range(len(shape))))  # from the fastest to the slowest
    for place in range(1, len(order)):
        for before in range(place - 1, -1, -1):
            slower = compare(order[before], order[place], shape, operands)
            if slower < 0:
                break
            if slower > 0:
                order[before], order[place] = order[place], order[before]
                place = before
    return tuple(reversed(order))


def compare(a: int, b: int, shape: tuple[int, ...], operands: Sequence[Strides]) -> int:
    """1 if dimension ``a`` needs a larger stride than ``b``, -1 if a smaller one, 0 if open."""
    for strides in operands:
        one, other = strides[a], strides[b]
        if one and other:
            if one != other:
                return 1 if one > other else -1
            if shape[a] > shape[b]:
                return 1
    return 0


def in_memory_order(values: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """``values`` with the memory order ``order``; a copy unless they have this order already."""
    turned = values.transpose(order)
    if turned.flags.c_contiguous:
        return values
    return turned.copy("C").transpose(np.argsort(order))


def in_memory_order_of(values: np.ndarray, input: np.ndarray) -> np.ndarray:
    """``values`` in the memory order of ``input``, which has the same shape."""
    if input.flags.c_contiguous and values.flags.c_contiguous:
        return values
    return in_memory_order(values, slowest_first(values.shape, [input.strides]))


# Sorting, and elements chosen by rank. nan counts as the greatest value.
#
# Equal elements keep their order, even where PyTorch leaves their order open.


def order_along(input: Array, dim: int, descending: bool = False) -> Array:
    """The indices that sort ``input`` along ``dim``; nan is last, or first if ``descending``."""
    if not input.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(input, dim, "stable").astype(INT64, copy=False)
    backwards = np.flip(np.argsort(np.flip(input, dim), dim, "stable"), dim)
    return (input.shape[dim] - 1 - backwards).astype(INT64, copy=False)


def sort_arrays(input: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """The kernel of `sort`."""
    indices = order_along(input, dim, descending)
    if not input.ndim:
        return input.copy(), indices
    values = in_memory_order_of(np.take_along_axis(input, indices, dim), input)
    return values, in_memory_order_of(indices, input)


@hidden_op(input=taken_formula, aux=("indices",), **FIELDS, node="SortBackward0")
def sort_along(input: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """`sort` without the argument ``stable``."""
    return sort_arrays(input, dim, descending)


@hidden_op(input=taken_formula, aux=("indices",), **FIELDS, node="SortBackward1")
def sort_stably(input: Array, dim: int, descending: bool) -> tuple[Array, Array]:
    """`sort` with the argument ``stable``, a separate overload in PyTorch."""
    return sort_arrays(input, dim, descending)


@overloads(
    {
        "Tensor input, int dim = -1, bool descending = False": sort_along,
        "Tensor input, *, bool stable, int dim = -1, bool descending = False": sort_stably,
    }
)
def sort(
    input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = NOT_GIVEN
) -> Any:
    """The elements sorted along ``dim``: the named tuple ``(values, indices)``.

    nan counts as the greatest value.

    Args:
        stable: has no effect: equal elements always keep their order.

    Raises:
        IndexError: for a ``dim`` out of range.
    """


@method
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    """The indices that sort ``input`` along ``dim``; arguments as for `sort`."""
    return sort_along(input, dim, descending)[1]


# By rank


@op(input=taken_formula, aux=("indices",), **FIELDS)
def topk(
    input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    """The ``k`` greatest elements along ``dim``: the named tuple ``(values, indices)``.

    Args:
        largest: False: the ``k`` smallest elements. Default: True.
        sorted: has no effect: the results are always sorted.

    Raises:
        RuntimeError: if ``k`` is negative, or there are fewer than ``k`` elements.
        NotImplementedError: for bools.
    """
    k = as_int(k)
    if not 0 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input.dtype.kind == "b":
        raise NotImplementedError("topk does not support bool dtypes on CPU")
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    indices = np.take(order_along(input, dim, largest), np.arange(k), dim)
    return np.take_along_axis(input, indices, dim), indices


def select_rank(input: Array, rank: Any, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The element with rank ``rank`` along ``dim``, and its index.

    Args:
        rank: a number from 0, or an array of numbers with size 1 along ``dim``.
    """
    if not input.ndim:
        return input.copy(), np.zeros((), np.int64)
    order = order_along(input, dim)
    rank = np.broadcast_to(rank, kept_shape(input.shape, (dim,)))
    indices = np.take_along_axis(order, rank, dim)
    return take_chosen(input, indices, dim, keepdim)


@op(**CHOSEN, **FIELDS)
def kthvalue(input: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The ``k``-th smallest element along ``dim``: the named tuple ``(values, indices)``.

    Args:
        k: from 1.

    Raises:
        IndexError: for a dimension without elements.
        RuntimeError: if ``k`` is not positive, or there are fewer than ``k`` elements.
    """
    k = as_int(k)
    require_elements("kthvalue", input, (dim,))
    require(0 < k <= (input.shape[dim] if input.ndim else 1), "kthvalue(): k {} is out of range", k)
    if input.ndim:
        check_kind("kthvalue_cpu", input, kinds="fiu")
    return select_rank(input, k - 1, dim, keepdim)


# Medians; for an even number of elements, the smaller of the two middle ones


def known_count(input: Array, dim: int) -> Any:
    """The number of elements along ``dim`` that are not nan."""
    count = input.shape[dim]
    return count - np.isnan(input).sum(dim, keepdims=True) if input.dtype.kind == "f" else count


def middle_rank(input: Array, dim: int) -> Array:
    """The rank of the median along ``dim``, or of the first nan if there is one."""
    count, known = input.shape[dim], known_count(input, dim)
    return np.where(known < count, known, (count - 1) // 2)


def middle_known_rank(input: Array, dim: int) -> Array:
    """The rank along ``dim`` of the median of the elements that are not nan."""
    return np.maximum(known_count(input, dim) - 1, 0) // 2


def define_median(name: str, documentation: str, rank: Any) -> Any:
    """Declare `median` or `nanmedian`; ``rank`` finds the rank of the median along a dimension."""

    def of_all(input: Array) -> Array:
        """The median of all elements; without elements, nan or the least integer."""
        if not input.size:
            least = np.iinfo(np.int32 if input.dtype == np.int32 else np.int64).min
            return np.full((), math.nan if input.dtype.kind == "f" else least).astype(input.dtype)
        check_kind("median_cpu", input, kinds="fiu")
        flat = input.reshape(-1)
        return select_rank(flat, rank(flat, 0), 0, False)[0]

    def along(input: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
        """The median along ``dim``, and its index."""
        require_elements("median", input, (dim,))
        check_kind("median_out", input, kinds="fiu")
        return select_rank(input, rank(input, dim) if input.ndim else 0, dim, keepdim)

    def forms(input: Any, dim: int = NOT_GIVEN, keepdim: bool = NOT_KEPT) -> Any: ...

    title, forms.__doc__ = name.title(), documentation
    whole = hidden_op(input=extremum_all_formula, node=f"{title}Backward0")
    single = hidden_op(**CHOSEN, **FIELDS, node=f"{title}Backward1")
    return overloads(
        {
            "Tensor input": whole(rename(of_all, f"{name}_all")),
            "Tensor input, int dim, bool keepdim = False": single(rename(along, f"{name}_along")),
        }
    )(rename(forms, name))


median = define_median(
    "median",
    """The median of all elements; with ``dim``, the named tuple ``(values, indices)`` along it.

    The median of an even number of elements is the smaller of the two middle ones. It is nan if an
    element is nan.

    Raises:
        IndexError: for a dimension ``dim`` without elements.
    """,
    middle_rank,
)
nanmedian = define_median(
    "nanmedian",
    """The `median` of the elements that are not nan; nan if all are.

    Raises:
        IndexError: for a dimension ``dim`` without elements.
    """,
    middle_known_rank,
)


# Unique values


def define_unique(name: str, node: str, consecutive: bool) -> Any:
    """PyTorch's operation ``name``, for the unique values, or unique slices along ``dim``."""

    def kernel(input: Array, dim: int | None) -> tuple[Array, Array, Array]:
        """The unique values, the index among them of each element, and the count of each value."""
        whole = input.reshape(-1) if dim is None or not input.ndim else np.moveaxis(input, dim, 0)
        n = len(whole)
        require(0 not in whole.shape[1:], "unique(): a dimension other than dim has size 0")
        rows = whole.reshape(n, math.prod(whole.shape[1:]))
        order = np.arange(n) if consecutive else np.lexsort(rows.T[::-1])
        ordered, new, inverse = rows[order], np.ones(n, bool), np.empty(n, np.int64)
        new[1:] = (ordered[1:] != ordered[:-1]).any(1)  # where a run of equal rows begins
        inverse[order] = np.cumsum(new) - 1
        first = np.flatnonzero(new)
        values, counts = whole[order[first]], np.diff(np.append(first, n)).astype(INT64)
        if dim is None or not input.ndim:
            return values, inverse.reshape(input.shape), counts
        return np.moveaxis(np.ascontiguousarray(values), 0, dim), inverse, counts

    def refuse(g: Any) -> Any:  # PyTorch has a node, but no derivative
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    declare: Any = hidden_op(input=refuse, aux=("inverse", "counts"), node=node)
    return declare(rename(kernel, f"{name}_values"))


unique_values = define_unique("_unique2", "Unique2Backward0", False)
unique_slices = define_unique("unique_dim", "UniqueDimBackward0", False)
unique_runs = define_unique("unique_consecutive", "UniqueConsecutiveBackward0", True)


def requested_results(found: tuple[Any, ...], return_inverse: bool, return_counts: bool) -> Any:
    """The requested results: the values alone, or a tuple."""
    values, inverse, counts = found
    parts = (values, *[inverse] * return_inverse, *[counts] * return_counts)
    return parts if len(parts) > 1 else values


@method
def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The unique values, in ascending order; no nan equals another.

    Args:
        sorted: has no effect: the values are always sorted.
        return_inverse: also return the index, among the values, of each element. Default: False.
        return_counts: also return the count of each value. Default: False.
        dim: compare the slices along this dimension. Default: compare all elements.

    Raises:
        TypeError: if a flag is not a bool.
    """
    name = "_unique2" if dim is None else "unique_dim"
    require_bool(sorted, (name, "sorted", 0))
    require_bool(return_inverse, (name, "return_inverse", 0))
    require_bool(return_counts, (name, "return_counts", 0))
    dim = None if dim is None else existing_dim(dim, input.ndim)
    found = unique_values(input, None) if dim is None else unique_slices(input, dim)
    return requested_results(found, return_inverse, return_counts)


@method
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The values without repeated neighbours; arguments as for `unique`."""
    require_bool(return_inverse, ("unique_consecutive", "return_inverse", 0))
    require_bool(return_counts, ("unique_consecutive", "return_counts", 0))
    dim = None if dim is None else existing_dim(dim, input.ndim)
    return requested_results(unique_runs(input, dim), return_inverse, return_counts)


def as_arrays(*given: Any) -> list[Array]:
    """The arrays of tensors and numbers; a number gets the dtype that all promote to."""
    held = [x._array if isinstance(x, Tensor) else as_number(x) for x in given]
    kind = dtypes.result_type(held)._numpy
    return [
        x
        if isinstance(x, np.ndarray)
        else dtypes.array_of_number(x, np.dtype(bool) if isinstance(x, bool) else kind)
        for x in held
    ]


@public
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each of ``elements`` is among ``test_elements``; one of the two may be a number.

    Args:
        assume_unique: assume that no value repeats in either, which may be faster. Default: False.
        invert: negate the result. Default: False.
    """
    if not (isinstance(elements, Tensor) or isinstance(test_elements, Tensor)):
        raise no_form("isin", elements, test_elements)
    held = as_arrays(elements, test_elements)
    check_kind("isin", *held, kinds="fiu")
    return wrap(np.asanyarray(np.isin(held[0], held[1], assume_unique, invert)))


# Searches in sorted values


def search_positions(edges: Array, values: Array, right: bool) -> Array:
    """The number of sorted ``edges`` less than each value, or not greater if ``right``."""
    if edges.ndim == 1:
        return np.searchsorted(edges, values, "right" if right else "left")
    count, n = edges.shape[-1], values.shape[-1]
    # Sort both together: a value's position is its rank minus its rank among the values.
    both = np.concatenate([edges, values] if right else [values, edges], -1)
    start = count if right else 0
    ranks = np.argsort(np.argsort(both, -1, "stable"), -1)[..., start : start + n]
    return ranks - np.argsort(np.argsort(values, -1, "stable"), -1)


@public
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The index at which to insert each value so that the sorted sequence remains sorted.

    Args:
        sorted_sequence: ``(n,)``, or ``(..., n)`` with a row for each row of ``input``.
        input: the values, ``(..., m)``, or a number.
        out_int32: return int32 rather than int64. Default: False.
        right, side: True or "right": insert after equal elements; False or "left": before them.
            Default: before.
        sorter: the indices that sort the sequence, if it is not sorted.

    Raises:
        RuntimeError: for shapes that do not fit.
    """
    edges, values = as_arrays(sorted_sequence, input)
    text = "torch.searchsorted(): side can only be 'left' or 'right' but got {}"
    require(side in (None, "left", "right"), text, side)
    require(side != "left" or not right, "searchsorted(): side='left' contradicts right=True")
    text = (
        "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
        "of boundaries tensor and input value tensor must match, but we got boundaries tensor {} "
        "and input value tensor {}"
    )
    fits = edges.ndim == 1 or (edges.ndim > 1 and edges.shape[:-1] == values.shape[:-1])
    require(fits, text, list(edges.shape), list(values.shape))
    if values.size and edges.dtype.kind == "b":
        check_kind("searchsorted_out_cpu", values, kinds="fiu")
    if sorter is not None:
        order = sorter._array
        fits = order.shape == edges.shape and order.dtype == np.int64
        fits = fits and order.min(initial=0) >= 0 and order.max(initial=-1) < edges.shape[-1]
        text = "searchsorted(): sorter must be int64 of shape {}, from 0 to {}"
        require(fits, text, edges.shape, edges.shape[-1] - 1)
        edges = np.take_along_axis(edges, order, -1)
    for which, array in (("input value", values), ("boundary", edges)):
        if not array.flags.c_contiguous:
            warn_once(f"torch.searchsorted(): {which} tensor is non-contiguous and is copied")
    found = search_positions(edges, values, right or side == "right")
    return wrap(np.asanyarray(found).astype(np.int32 if out_int32 else np.int64))


@public
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The index of the bucket of each value, between sorted ``boundaries``: see `searchsorted`.

    Raises:
        RuntimeError: unless ``boundaries`` is a vector.
    """
    check_ndim("bucketize", boundaries, 1, 1)
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# Counts


@op()
def bincount(input: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """The count of each integer 0, 1, ..., or the sum of its weights.

    Args:
        input: ``(n,)``, integers, none negative.
        weights: ``(n,)``. Default: ones.
        minlength: the least number of elements of the result. Default: 0.

    Raises:
        RuntimeError: for a negative integer, or a wrong shape.
    """
    check_kind("bincount_cpu", input, kinds="iu")
    require(as_int(minlength) >= 0, "minlength should be >= 0")
    fits = input.ndim == 1 and np.minimum.reduce(input, initial=0) >= 0
    require(fits, "bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(input, minlength=minlength).astype(INT64, copy=False)
    require(weights.shape == input.shape, "weights should be 1-d and have the same length as input")
    single = weights.dtype == np.float32
    return np.bincount(input, weights, minlength).astype(np.float32 if single else np.float64)


@method
def histc(input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor:
    """The number of elements in each of ``bins`` intervals of equal width.

    Args:
        bins: at least 1. Default: 100.
        min, max: the range; elements outside are not counted. If ``min`` equals ``max``, as by
            default, the range of the elements.

    Raises:
        NotImplementedError: for integers.
        RuntimeError: for a range that is not finite, ``min`` > ``max``, or ``bins`` < 1.
    """
    values = input._array
    check_kind("histogram_cpu", values)
    bins = as_int(bins)
    require(bins > 0, "histc(): bins must be > 0, but got {}", bins)
    low, high, kind = as_number(min), as_number(max), values.dtype.type
    if low == high and values.size:
        low, high = float(values.min()), float(values.max())
    if low == high and values.dtype == np.float16:
        low, high = low - 1, high + 1
    elif low == high:  # the same, or as far as the next number
        most = np.finfo(values.dtype).max
        low = float(np.minimum(kind(low - 1), np.nextafter(kind(low), -most)))
        high = float(np.maximum(kind(high + 1), np.nextafter(kind(high), most)))
    fits = math.isfinite(low) and math.isfinite(high)
    require(fits, "torch.histc: range of [{:g}, {:g}] is not finite", low, high)
    require(high >= low, "torch.histc: max must be larger than min")
    inside = values[(values >= low) & (values <= high)]
    place = ((inside - kind(low)) * bins / kind(high - low)).astype(int)
    counts = np.bincount(np.minimum(place, bins - 1), minlength=bins)
    return wrap(counts.astype(values.dtype))
