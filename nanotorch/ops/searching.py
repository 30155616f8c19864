"""What values there are, how often, and where they belong among others."""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, combination, require_bool
from nanotorch._core.batched import DYNAMIC, looped, never, under_vmap
from nanotorch._core.call_site import warn_once
from nanotorch._core.dtypes import Number
from nanotorch._core.layout import own_dim
from nanotorch._core.op import Array, hidden_op, method, op, public
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import as_number, need_kind

# Values without repetition


def without_slope(name: str) -> Any:
    """PyTorch has a node for some operations, but no derivative."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")


def groups(rows: Array, order: Array) -> tuple[Array, Array, Array]:
    """Where equal rows begin, in their ``order``; the group of each row; the groups' sizes."""
    ordered = rows[order]
    new = np.ones(len(rows), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(1)
    inverse = np.empty(len(rows), np.int64)
    inverse[order] = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    return order[first], inverse, np.diff(np.append(first, len(rows)))


def distinct(input: Array, dim: int | None, consecutive: bool) -> tuple[Array, Array, Array]:
    """The values, or the slices along ``dim``, without repetition."""
    whole = input.reshape(-1) if dim is None or not input.ndim else np.moveaxis(input, dim, 0)
    n = len(whole)
    if any(size == 0 for size in whole.shape[1:]):
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
            if n
            else "Number of zero sized dimensions is more than one, so unique cannot be applied "
        )
    rows = whole.reshape(n, math.prod(whole.shape[1:]))
    order = np.arange(n) if consecutive else np.lexsort(rows.T[::-1])
    first, inverse, counts = groups(rows, order)
    values = whole[first]
    if dim is None or not input.ndim:
        return values, inverse.reshape(input.shape), counts
    return np.moveaxis(np.ascontiguousarray(values), 0, dim), inverse, counts


@hidden_op(
    input=lambda g: without_slope("_unique2"), aux=("inverse", "counts"), node="Unique2Backward0"
)
def unique_values(input: Array) -> tuple[Array, Array, Array]:
    """`unique` of all elements."""
    return distinct(input, None, False)


@hidden_op(
    input=lambda g: without_slope("unique_dim"),
    aux=("inverse", "counts"),
    node="UniqueDimBackward0",
)
def unique_slices(input: Array, dim: int) -> tuple[Array, Array, Array]:
    """`unique` along a dimension."""
    return distinct(input, dim, False)


@hidden_op(
    input=lambda g: without_slope("unique_consecutive"),
    aux=("inverse", "counts"),
    node="UniqueConsecutiveBackward0",
)
def unique_runs(input: Array, dim: int | None) -> tuple[Array, Array, Array]:
    """The kernel of `unique_consecutive`."""
    return distinct(input, dim, True)


def wanted(found: tuple[Any, ...], return_inverse: bool, return_counts: bool) -> Any:
    """The results that were asked for, alone or as a tuple."""
    values, inverse, counts = found
    parts = (values, *[inverse] * return_inverse, *[counts] * return_counts)
    return parts if len(parts) > 1 else values


@method
@under_vmap(never(DYNAMIC.format("_unique2")))
def unique(
    input: Any,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The values without repetition, in order; every nan is one of its own.

    Args:
        sorted: whether they have to be in order, as they always are.
        return_inverse: also return where among them each element is.
        return_counts: also return how often there is each.
        dim: compare slices along this dimension; default: compare all elements.

    Raises:
        TypeError: if one of the flags is not a bool, as a dimension in their place is not.
    """
    name = "_unique2" if dim is None else "unique_dim"
    require_bool(sorted, (name, "sorted", 0))
    require_bool(return_inverse, (name, "return_inverse", 0))
    require_bool(return_counts, (name, "return_counts", 0))
    if dim is None:
        found = unique_values(input)
    else:
        found = unique_slices(input, own_dim(dim, input.ndim))
    return wanted(found, return_inverse, return_counts)


@method
@under_vmap(never(DYNAMIC.format("unique_consecutive")))
def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """One of each run of equal values; arguments as for `unique`."""
    require_bool(return_inverse, ("unique_consecutive", "return_inverse", 0))
    require_bool(return_counts, ("unique_consecutive", "return_counts", 0))
    dim = None if dim is None else own_dim(dim, input.ndim)
    return wanted(unique_runs(input, dim), return_inverse, return_counts)


def arrays_of(*given: Any) -> list[Array]:
    """The arrays of tensors, and a number among them in the dtype that it has beside them."""
    held = [x._array if isinstance(x, Tensor) else as_number(x) for x in given]
    kind = dtypes.result_type(held)._numpy
    return [
        x
        if isinstance(x, np.ndarray)
        else dtypes.array_of_number(x, np.dtype(bool) if isinstance(x, bool) else kind)
        for x in held
    ]


@public
@under_vmap(looped)
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Which ``elements`` are among ``test_elements``; one of the two may be a number.

    Args:
        assume_unique: neither has a value twice, which may be faster to search.
        invert: which are not.
    """
    pair = (elements, test_elements)
    if not any(isinstance(x, Tensor) for x in pair):
        tail = "*, bool assume_unique = False, bool invert = False, Tensor out = None"
        pairs = (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"))
        names = {"Tensor": "elements", "Number": "element"}
        forms = [f"{a} {names[a]}, {b} test_{names[b]}, {tail}" for a, b in pairs]
        raise combination("isin", pair, forms)
    held = arrays_of(elements, test_elements)
    if any(array.dtype.kind == "b" for array in held):
        raise NotImplementedError("Unsupported input type encountered for isin(): Bool")
    return wrap(np.asarray(np.isin(held[0], held[1], assume_unique, invert)))


# Places in an order


def places(edges: Array, values: Array, right: bool) -> Array:
    """How many of sorted ``edges`` are smaller than each value (``right``: not greater)."""
    if edges.ndim == 1:
        return np.searchsorted(edges, values, "right" if right else "left")
    count, n = edges.shape[-1], values.shape[-1]
    # Both sorted together; a value's place is its rank, less its rank among the values.
    both = np.concatenate([edges, values] if right else [values, edges], -1)
    start = count if right else 0
    ranks = np.argsort(np.argsort(both, -1, "stable"), -1)[..., start : start + n]
    return ranks - np.argsort(np.argsort(values, -1, "stable"), -1)


def rearranged(edges: Array, sorter: Any) -> Array:
    """The boundaries in the order that ``sorter`` gives."""
    order = sorter._array
    if order.shape != edges.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
            f"tensor {list(edges.shape)}and got sorter tensor {list(order.shape)}"
        )
    if order.dtype != np.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{dtypes.of_array(order).char}"
        )
    if order.size and not (order.min() >= 0 and order.max() < edges.shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")
    return np.take_along_axis(edges, order, -1)


def check_search(edges: Array, values: Array, right: bool, side: str | None) -> None:
    """Refuse arguments that do not fit."""
    head = "torch.searchsorted(): "
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{head}side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            f"{head}side and right can't be set to opposites, got side of left while right was True"
        )
    if not edges.ndim:
        raise RuntimeError(
            f"{head}boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if not values.ndim and edges.ndim > 1:
        raise RuntimeError(
            f"{head}input value can be a scalar only when boundaries tensor dimension is 1, but we "
            f"got boundaries tensor dim({edges.ndim}) and input value's dim(0) numel(1)"
        )
    if edges.ndim > 1 and edges.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            f"{head}boundaries tensor should be 1 dimension or the first N-1 dimensions of "
            "boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(edges.shape)} and input value tensor {list(values.shape)}"
        )
    if edges.dtype.kind == values.dtype.kind == "b" and values.size:
        raise NotImplementedError("\"searchsorted_out_cpu\" not implemented for 'Bool'")


SLOW = (
    "torch.searchsorted(): {0} tensor is non-contiguous, this will lower the performance due to "
    "extra data copy when converting non-contiguous tensor to contiguous, please use contiguous "
    "{0} tensor if possible. This message will only appear once per program."
)


@public
@under_vmap(looped)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where each value would have to be inserted in a sorted sequence to keep it sorted.

    Args:
        sorted_sequence: ``(n,)``, or ``(..., n)`` with a row for each row of the values.
        input: ``(..., m)``, or a number.
        right, side: insert behind equal elements ("right") rather than before ("left").
        sorter: indices that sort the sequence, if it is not sorted.

    Raises:
        RuntimeError: for shapes that do not fit.
    """
    edges, values = arrays_of(sorted_sequence, input)
    check_search(edges, values, right, side)
    if sorter is not None:
        edges = rearranged(edges, sorter)
    for which, array in (("input value", values), ("boundary", edges)):
        if not array.flags.c_contiguous:
            warn_once(SLOW.format(which))
    found = places(edges, values, right or side == "right")
    return wrap(np.asarray(found).astype(np.int32 if out_int32 else np.int64))


@public
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """Between which of sorted ``boundaries`` each value lies: see `searchsorted`.

    Raises:
        RuntimeError: unless the boundaries have one dimension.
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# Numbers of values


@op()
def bincount(input: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each number from 0 occurs, or the sum of its weights.

    Args:
        input: ``(n,)``, integers.
        weights: ``(n,)``.
        minlength: the result has at least this many elements.

    Raises:
        RuntimeError: for negative numbers, or a wrong shape.
    """
    need_kind("bincount_cpu", input, kinds="iu")
    if as_int(minlength) < 0:
        raise RuntimeError("minlength should be >= 0")
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(input, minlength=minlength)
    if weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    single = weights.dtype == np.float32
    return np.bincount(input, weights, minlength).astype(np.float32 if single else np.float64)


def limits_of(values: Array, low: float, high: float) -> tuple[float, float]:
    """The range of a histogram: that of the values, unless it is given."""
    if low == high and values.size:
        low, high = float(values.min()), float(values.max())
    if low == high and values.dtype == np.float16:
        low, high = low - 1, high + 1
    elif low == high:  # the same, or as far as the next number
        kind, most = values.dtype.type, np.finfo(values.dtype).max
        low = float(min(kind(low - 1), np.nextafter(kind(low), -most)))
        high = float(max(kind(high + 1), np.nextafter(kind(high), most)))
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if high < low:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high


@method
@under_vmap(looped)
def histc(input: Tensor, bins: int = 100, min: Number = 0, max: Number = 0) -> Tensor:
    """How many elements fall into each of ``bins`` parts of equal width.

    Args:
        min, max: the range; elements outside are not counted. Default: that of the elements.

    Raises:
        NotImplementedError: for integers.
        RuntimeError: for a range that is not finite, or no bins.
    """
    values = input._array
    need_kind("histogram_cpu", values)
    if as_int(bins) <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = limits_of(values, as_number(min), as_number(max))
    inside = values[(values >= low) & (values <= high)]
    place = ((inside - values.dtype.type(low)) * bins / values.dtype.type(high - low)).astype(int)
    counts = np.bincount(np.minimum(place, bins - 1), minlength=bins)
    return wrap(counts.astype(values.dtype))
