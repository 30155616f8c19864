"""Elements by index and by mask: gather, scatter, select, reduce."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nanotorch._core import dtypes
from nanotorch._core.arguments import given_twice, wrong_type
from nanotorch._core.call_site import warn
from nanotorch._core.doors import Valueless
from nanotorch._core.dtypes import INT64
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, hidden_op, method, op, public
from nanotorch._core.overloads import overloads
from nanotorch._core.sums import select
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import (
    check_kind,
    check_ndim,
    check_same_dtype,
    check_tensors,
    dtype_char,
    inplace_form,
    no_form,
    number_as,
    number_or_infinity,
    require,
)
from nanotorch.ops.binary import NO_DERIVATIVE, no_derivative
from nanotorch.ops.elementwise import zero_where
from nanotorch.ops.joining import check_broadcast_into, common_shape, expand_to, unbind
from nanotorch.ops.memory import COPY, blank, with_inplace
from nanotorch.ops.reduction import sum_all
from nanotorch.ops.shape import reshape, unsqueeze

# Kernels that read, write and add values at indices, which may be repeated.


Key = Sequence["np.ndarray | slice"]  # NumPy's index: an entry for each dimension or mask


UNSIGNED: dict[int, Any] = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
CHUNK = 1 << 17  # elements added at once: their places fit the cache
# One by one, each of `FEW` slices and of those with `WIDE` elements is added faster than by NumPy's
# indices, and up to `SMALL` elements by these faster than by places.
FEW, WIDE, SMALL = 3, 256, 512


def flat_memory(array: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """A vector of the memory of ``array``, and the step there of each dimension, in elements.

    A 0-d array counts as 1-d. No stride is negative.
    """
    steps = [stride // array.itemsize for stride in array.strides] or [1]
    if array.flags.c_contiguous or not array.size:
        return array.reshape(-1), steps
    size = 1 + sum((n - 1) * step for n, step in zip(array.shape, steps, strict=True))
    return as_strided(array, (size,), (array.itemsize,), subok=True), steps


def add_rows(out: np.ndarray, rows: Sequence[np.ndarray], values: np.ndarray) -> None:
    """Compute ``out[rows[0][i], ..., rows[-1][i]] += values[i]`` for each i in order.

    Args:
        out: shape ``(K, ..., L, *rest)``, not empty.
        rows: vectors of N indices, in [0, K), ..., [0, L).
        values: shape ``(N, *rest)``.
    """
    if not values.size:
        return
    count = len(values)
    if out.ndim == 1:
        np.add.at(out, rows[0], values)
        return
    inner = out.shape[len(rows) :]
    # Not an array of bfloat16, which is rounded after all additions.
    if inner and count < FEW + values.size // WIDE and out.__class__ is np.ndarray:
        places = zip(*[row.tolist() for row in rows], strict=True)
        for place, value in zip(places, values, strict=True):
            part = out[place]
            part += value
        return
    if values.size <= SMALL:
        np.add.at(out, tuple(rows), values)
        return
    many = len(rows) == 1 and count <= len(out) < 8 * count
    if many and values.size > 8 * count and np.bincount(rows[0]).max() == 1:
        out[rows[0]] += values
        return
    # `np.add.at` is fast for one dimension only.
    flat, steps = flat_memory(out)
    starts = rows[0] * steps[0]
    for row, step in zip(rows[1:], steps[1:], strict=False):
        starts += row * step
    if not inner:
        np.add.at(flat, starts, values)
        return
    columns: Any = np.zeros((), np.intp)
    for n, step in zip(inner, steps[len(rows) :], strict=True):
        columns = np.add.outer(columns, np.arange(n) * step)
    chunk = max(CHUNK // columns.size, 1)
    for start in range(0, count, chunk):
        some = slice(start, start + chunk)
        np.add.at(flat, np.add.outer(starts[some], columns).reshape(-1), values[some].reshape(-1))


def index_by_dim(key: Key) -> tuple[list[int], list[np.ndarray]]:
    """The indexed dimensions, and the index of each; a mask counts as the indices of its True."""
    dims: list[int] = []
    indices: list[np.ndarray] = []
    dim = 0
    for entry in key:
        if isinstance(entry, slice):
            dim += 1
            continue
        parts = entry.nonzero() if entry.dtype.kind == "b" else (entry,)
        dims += range(dim, dim + len(parts))
        indices += parts
        dim += len(parts)
    return dims, indices


def from_front(index: np.ndarray, size: int) -> np.ndarray:
    """A vector of indices into a dimension of ``size``, counted from its front.

    Raises:
        IndexError: for an index out of range.
    """
    index = index.reshape(-1).astype(np.intp, copy=False)
    if not outside(index, size):
        return index
    if index.min() < -size or index.max() >= size:
        raise IndexError
    return np.where(index < 0, index + size, index)


def add_at(out: np.ndarray, key: Key, values: np.ndarray) -> np.ndarray:
    """Add ``values``, which broadcast, to ``out[key]``; each of them if an index is repeated.

    Raises:
        IndexError, ValueError: if ``key`` or ``values`` do not fit.
    """
    if len(key) == 1 and not isinstance(key[0], slice) and key[0].dtype.kind == "b":
        out[key[0]] += values
        return out
    dims, indices = index_by_dim(key)
    if len(indices) > 1 and any(index.shape != indices[0].shape for index in indices):
        indices = list(np.broadcast_arrays(*indices))
    rows = [from_front(i, out.shape[d]) for i, d in zip(indices, dims, strict=True)]
    into, inner, place = out, indices[0].shape, 0
    if dims[-1] == len(dims) - 1:
        width = out.shape[len(dims) :]
    else:
        rest = [d for d in range(out.ndim) if d not in dims]
        width = tuple([out.shape[d] for d in rest])
        # NumPy's rule: indexed dimensions keep their place if they are neighbours, else come first.
        place = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
        into = out.transpose(*dims, *rest)
    shape = (*width[:place], *inner, *width[place:])
    if values.shape != shape:
        values = np.broadcast_to(values, shape)
    if place:
        values = np.moveaxis(values, range(place, place + len(inner)), range(len(inner)))
    add_rows(into, rows, values.reshape((rows[0].size, *width)))
    return out


# Single elements by index: `gather`, `scatter`, `take`.


# Along one dimension


def check_index(name: str, array: Array, index: Array, dim: int, src: Array | None = None) -> int:
    """Refuse wrong arguments of `gather` or a scatter; returns ``dim`` counted from the front."""
    dim = normal_dim(dim, array.ndim)
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return dim
    if index.shape != array.shape or (src is not None and index.shape != src.shape):
        check_sizes(name, array, index, dim, src)
    size = array.shape[dim] if array.ndim else 1
    if outside(index, size):
        raise out_of_range(index, dim, size, RuntimeError)
    return dim


def outside(index: Array, size: int) -> bool:
    """Whether an index is not in [0, ``size``)."""
    if not index.size:
        return False
    # As an unsigned number, a negative index is larger than any size.
    unsigned = index.view(UNSIGNED[index.itemsize])
    few = index.size <= SMALL
    return bool((unsigned.item(unsigned.argmax()) if few else unsigned.max()) >= size)


def out_of_range(
    index: Array, dim: int, size: int, error: type[Exception] = IndexError, *, low: int = 0,
    name: str = "",
) -> Exception:  # fmt: skip
    """The error for the first index outside [``low``, ``size``); its text begins with ``name``."""
    first = index[(index < low) | (index >= size)].reshape(-1)[0]
    return error(f"{name}index {first} is out of bounds for dimension {dim} with size {size}")


def check_sizes(name: str, array: Array, index: Array, dim: int, src: Array | None) -> None:
    """Refuse an index with another number of dimensions than ``array`` and ``src``, or larger."""
    text = "Index tensor must have the same number of dimensions as {} tensor"
    sizes = index.shape or (1,)
    require(len(sizes) == (array.ndim or 1), text, "input" if name == "gather" else "self")
    pairs = enumerate(zip(sizes, array.shape, strict=False))
    large = [d for d, (n, size) in pairs if d != dim and n > size]
    more, first = "", "Expected"
    if src is not None:
        require(len(sizes) == (src.ndim or 1), text, "src")
        if any(n > s for n, s in zip(sizes, src.shape or (1,), strict=False)):
            large.append(dim)
        if large:
            more = f" and to be no larger size than src {list(src.shape)}"
    elif name == "gather" and large:
        first = f"Size does not match at dimension {large[0]} expected"
    if large:
        message = (
            f"index {list(index.shape)} to be no larger than self {list(array.shape)} apart from"
        )
        raise RuntimeError(f"{first} {message} dimension {dim}{more}")


def flat_places(index: Array, dim: int, steps: Sequence[int]) -> Array:
    """The places of the elements at ``index`` along ``dim``, for the ``steps`` of `flat_memory`."""
    places = index.astype(np.intp, copy=False)
    if steps[dim] != 1:
        places = places * steps[dim]
    if index.ndim > 1:
        shape = list(index.shape)
        shape[dim] = 1
        known = offsets if index.size <= FEW_PLACES * index.shape[dim] else offsets.__wrapped__
        places = places + known(tuple(shape), tuple(steps))
    return places.reshape(-1)


FEW_PLACES = 4096  # for the places of more, computing takes longer than the calls


@lru_cache(64)
def offsets(shape: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """The places of all elements of an array of ``shape``, for the ``steps`` of `flat_memory`."""
    places: Array = np.zeros(shape, np.intp)
    for d, n in enumerate(shape):
        places += (np.arange(n) * steps[d]).reshape((n,) + (1,) * (len(shape) - d - 1))
    return places


def leading_part(src: Array, index: Array) -> Array:
    """The first elements of ``src`` along each dimension: one for each element of ``index``."""
    src, shape = src.reshape(src.shape or (1,)), index.shape or (1,)
    return src if src.shape == shape else src[tuple([slice(n) for n in shape])]


@op(
    input=lambda g, input, dim, index: gather_backward(g, tuple(input.shape), dim, index),
    in_order=True,
)  # fmt: skip
def gather(input: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """The elements of ``input`` at ``index`` along ``dim``, in the shape of ``index``.

    For ``dim=1`` in three dimensions ``out[i, j, k] = input[i, index[i, j, k], k]``.

    Raises:
        RuntimeError: for an index out of range, of another dtype than int32 and int64, with another
            number of dimensions, or larger than ``input`` in another dimension.
    """
    dim = check_index("gather", input, index, dim)
    if not index.size:
        return np.empty(index.shape, input.dtype)
    negative = any(stride < 0 for stride in input.strides)  # as a gradient may have them
    flat, steps = flat_memory(input.copy() if negative else input)
    return flat.take(flat_places(index, dim, steps)).reshape(index.shape)


@hidden_op(g=lambda g, dim, index: gather(g, dim, index), node="ScatterAddBackward0")
def gather_backward(g: Array, shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """The gradient of `gather` by its input, of ``shape``: ``g`` added to zeros at ``index``."""
    return add_along(np.zeros(shape, g.dtype), dim, index, g)


def add_along(out: Array, dim: int, index: Array, src: Array) -> Array:
    """Add ``src`` to ``out`` at ``index`` along ``dim``."""
    if index.size:
        flat, steps = flat_memory(out)
        places = flat_places(index, normal_dim(dim, out.ndim), steps)
        np.add.at(flat, places, leading_part(src, index).reshape(-1))
    return out


def put_along(input: Array, dim: int, index: Array, src: Array | None, value: Any) -> Array:
    """Write ``src``, or without it the number ``value``, into ``input`` at ``index``."""
    dim = check_index("scatter", input, index, dim, src)
    if index.size:
        flat, steps = flat_memory(input)
        new = number_as(value, input.dtype) if src is None else leading_part(src, index).reshape(-1)
        flat[flat_places(index, dim, steps)] = new
    return input


SCATTER: dict[str, Any] = {
    "input": lambda g, dim, index: scatter_number(g, dim, index, 0),
    "method": False, "overlap": False,
}  # fmt: skip


@with_inplace(**SCATTER, src=lambda g, dim, index: gather(g, dim, index), node="ScatterBackward0")
def scatter_tensor(input: Array, dim: int, index: Array, src: Array) -> Array:
    """Write elements of ``src`` into ``input`` at ``index`` along ``dim``."""
    return put_along(input, dim, index, src, None)


@with_inplace(**SCATTER, node="ScatterBackward1")
def scatter_number(input: Array, dim: int, index: Array, value: dtypes.Number) -> Array:
    """Write a number into ``input`` at ``index`` along ``dim``."""
    return put_along(input, dim, index, None, value)


@with_inplace(
    input=lambda g: no_derivative("scatter"),
    src=lambda g: no_derivative("scatter"),
    method=False, node=NO_DERIVATIVE, overlap=False,
)  # fmt: skip
def scatter_combined(input: Array, dim: int, index: Array, src: Array, reduce: str) -> Array:
    """Add or multiply ``src``, 0-d for a number, into ``input`` at ``index`` along ``dim``."""
    require(reduce in ("add", "multiply"), "reduce argument must be either add or multiply.")
    dim = check_index("scatter", input, index, dim, src if src.ndim else None)
    values = leading_part(src, index) if src.ndim else np.broadcast_to(src, index.shape)
    function = np.add if reduce == "add" else np.multiply
    flat, steps = flat_memory(input)
    function.at(flat, flat_places(index, dim, steps), values.astype(input.dtype).reshape(-1))
    return input


def scatter_by_form(
    name: str, input: Any, dim: int, index: Any, src: Any, value: Any, reduce: str | None
) -> Any:
    """`scatter` or `scatter_`, by ``name``; the source is ``src`` or ``value``."""
    if src is not None and value is not None:
        raise given_twice(name, "src")
    src = src if value is None else value
    form = scatter_number if isinstance(src, (bool, int, float)) else scatter_tensor
    given = () if reduce is None else (reduce,)
    if given:
        form = scatter_combined
        if not isinstance(src, Tensor):  # a number, which PyTorch checks only if it is used
            used = src if index._array.size else 0
            src = wrap(np.array(number_as(used, input._array.dtype)))
    form = inplace_form(form.__name__) if name == "scatter_" else form
    return form(input, dim, index, src, *given)


@method
def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Any:  # fmt: skip
    """A copy of ``input`` with elements of ``src`` at ``index`` along ``dim``.

    For ``dim=1`` in three dimensions ``out[i, index[i, j, k], k] = src[i, j, k]``.

    Args:
        src, value: one of both: a tensor at least as large as ``index``, or a number.
        reduce: "add" or "multiply" to combine ``src`` with the elements of ``input``; this has no
            gradient.

    Raises:
        RuntimeError: for an ``index`` out of range or too large.
    """
    return scatter_by_form("scatter", input, dim, index, src, value, reduce)


@method(public=False)
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """In-place `scatter`."""
    return scatter_by_form("scatter_", self, dim, index, src, value, reduce)


@with_inplace(
    input=lambda g: g,
    src=lambda g, dim, index: gather(g, dim, index),
    overlap=False,
)  # fmt: skip
def scatter_add(input: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy of ``input`` with elements of ``src`` added at ``index`` along ``dim``.

    For ``dim=1`` in three dimensions ``out[i, index[i, j, k], k] += src[i, j, k]``.
    """
    check_index("scatter", input, index, dim, src)
    return add_along(input, dim, index, src)


@method
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """The elements at ``indices`` along ``dim``, such as the results of `argmax` and `argsort`.

    Args:
        indices: int64; it broadcasts with ``input`` in the other dimensions.
        dim: a dimension. Default: both tensors are flattened.

    Raises:
        RuntimeError: for ``indices`` out of range or of another dtype.
    """
    check_tensors(indices)
    require(indices._array.dtype == np.int64, "take_along_dim(): indices must be of dtype int64")
    if dim is None:
        return gather(input.reshape(-1), 0, wrap_negative(indices.reshape(-1), input.numel()))
    check_ndim("take_along_dim", indices, input.ndim, input.ndim)
    dim = normal_dim(dim, input.ndim)
    require(input.ndim, "take_along_dim(): the tensor has no dimensions", error=IndexError)
    rest = [(*a._array.shape[:dim], 1, *a._array.shape[dim + 1 :]) for a in (input, indices)]
    shape = common_shape(*rest)
    sizes = [(*shape[:dim], a._array.shape[dim], *shape[dim + 1 :]) for a in (input, indices)]
    source, places = expand_to(input, sizes[0]), expand_to(indices, sizes[1])
    return gather(source, dim, wrap_negative(places, sizes[0][dim]))


def wrap_negative(index: Tensor, size: int) -> Tensor:
    """``index`` with ``size`` added to negative entries."""
    array = index._array
    return Tensor._lift(np.where(array < 0, array + size, array))


# Among all elements in order


@op(input=lambda g, index, input: take_backward(g, index, tuple(input.shape)), in_order=True)
def take(input: Array, index: Array) -> Array:
    """The elements of the flattened ``input`` at ``index``, in the shape of ``index``.

    Raises:
        IndexError: for an index out of range.
    """
    require(index.dtype == np.int64, "take(): index must be of dtype int64")
    require(input.size or not index.size, "take(): the tensor has no elements", error=IndexError)
    try:
        return input.reshape(-1)[index] if index.size else np.empty(index.shape, input.dtype)
    except IndexError:
        raise out_of_range(index, 0, input.size, low=-input.size, name="take(): ") from None


@hidden_op(g=lambda g, index: take(g, index), node="PutBackward0")
def take_backward(g: Array, index: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of `take`, of ``shape``: ``g`` added to zeros at ``index``."""
    out = np.zeros(shape, g.dtype)
    np.add.at(out.reshape(-1), index.reshape(-1), g.reshape(-1))
    return out


@with_inplace(
    COPY,
    input=lambda g, index, accumulate: (
        g if accumulate else put(g, index, blank_in(g, tuple(index.shape)))
    ),
    source=lambda g, index, source_shape: reshape(take(g, index), source_shape),
    overlap=False,
)
def put(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """``input`` with the elements of ``source`` at ``index`` of its flattened elements.

    Args:
        index: int64; entries may be negative.
        source: as many elements as ``index``.
        accumulate: add the elements to those of ``input``, instead of replacing them.

    Raises:
        IndexError: for an index out of range, or another number of elements.
        RuntimeError: for another dtype of ``index`` or ``source``.
    """
    message = "put_(): Expected a long tensor for index, but got {}"
    require(index.dtype == np.int64, message, dtype_char(index))
    message = (
        "put_(): self and source expected to have the same dtype, but got self.dtype = {} and "
    )
    check_same_dtype(input, source, text=message + "source.dtype = {}")
    message = (
        "put_(): Expected source and index to have the same number of elements, but got "
        "source.numel() = {}, index.numel() = {}"
    )
    given = source.size, index.size
    require(given[0] == given[1], message, *given, error=IndexError)
    message = "put_(): Tried to put elements into an empty tensor"
    require(input.size or not index.size, message, error=IndexError)
    beyond = index[(index < -input.size) | (index >= input.size)]
    message = "out of range: tried to access index {} on a tensor of {} elements."
    require(not beyond.size, message, *beyond[:1], input.size, error=IndexError)
    target = input if input.ndim else input.reshape(1)
    places = np.unravel_index(index.reshape(-1) % max(input.size, 1), target.shape)
    if accumulate:
        add_rows(target, places, source.reshape(-1))
    else:
        target[places] = source.reshape(-1)
    return input


# Choices by a mask: `where`, `masked_fill`, `masked_select`, `nonzero`.


# One of two values


@hidden_op(
    input=lambda g, condition: zero_where(g, ~condition),
    other=lambda g, condition: zero_where(g, condition),
    node="WhereBackward0",
)  # fmt: skip
def where_true(condition: Array, input: Array, other: Array, dtype: np.dtype | None) -> Array:
    """``input`` where ``condition`` is true and ``other`` elsewhere, in the given dtype."""
    if dtype is not None:
        input, other = input.astype(dtype, copy=False), other.astype(dtype, copy=False)
    try:
        return select(condition, input, other)
    except ValueError:
        common_shape(common_shape(condition.shape, input.shape), other.shape)
        raise


@public
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """``input`` where ``condition`` is true and ``other`` elsewhere, broadcasting.

    With ``condition`` alone: the indices of its nonzero elements, a tensor for each dimension.

    Args:
        input, other: tensors or numbers.

    Raises:
        RuntimeError: for a ``condition`` that is not bool, unless it is alone.
    """
    array: Any = condition._array if isinstance(condition, Tensor) else condition
    kinds: Any = (np.ndarray, np.generic, Valueless)
    if not isinstance(array, kinds):
        raise wrong_type(condition, "Tensor")
    pair = input, other
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if array.dtype.kind != "b":
        text = "where expected condition to be a boolean tensor, but got a tensor with dtype {}"
        require(array.dtype == np.uint8, text, dtype_char(array))
        warn(
            "where received a uint8 condition tensor. This behavior is deprecated and will be "
            "removed in a future version of PyTorch. Use a boolean condition instead."
        )
        condition = wrap(np.not_equal(array, 0))
    if isinstance(condition, Tensor):
        for x in pair:
            if not isinstance(x, (Tensor, bool, int, float, np.generic)):
                raise no_form("where", condition, *pair)
    if not isinstance(condition, Tensor) and not any(isinstance(x, Tensor) for x in pair):
        return where_true(condition, input, other, None)
    held = [x._array if isinstance(x, Tensor) else x for x in pair]
    if isinstance(input, Tensor) and isinstance(other, Tensor) and held[0].dtype == held[1].dtype:
        return where_true(condition, input, other, None)
    kind = dtypes.result_type(held)._numpy
    operands = [
        x if isinstance(x, Tensor) else wrap(np.array(number_or_infinity(x, kind))) for x in pair
    ]
    return where_true(condition, *operands, kind)


@method(name="where", public=False)
def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where ``condition`` is true and ``other`` elsewhere."""
    return where(condition, self, other)


# One value


def check_mask(mask: Array) -> None:
    """Refuse a mask that is not bool."""
    if mask.dtype.kind != "b":
        name = dtypes.C_NAMES[mask.dtype.name]
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {name}"
        )


def fill_where(input: Array, mask: Array, value: Any) -> Array:
    """Write ``value`` into ``input`` where ``mask``, which broadcasts to it, is true."""
    check_mask(mask)
    if mask.shape != input.shape:
        check_broadcast_into(input.shape, mask.shape)
    np.copyto(input, value, casting="unsafe", where=mask)
    return input


def broadcast_copy(input: Array, mask: Array) -> Array:
    """A copy of ``input`` in the shape that it and ``mask`` broadcast to."""
    if mask.shape == input.shape:
        return input.copy("C")
    return np.broadcast_to(input, common_shape(mask.shape, input.shape)).copy("C")


def scalar_value(value: Array, kind: np.dtype) -> Any:
    """The value of a 0-d array, converted to ``kind``."""
    check_ndim("masked_fill", value, 0, 0)
    return value if kind.kind == "b" else number_as(value.item(), kind)


MASKED: dict[str, Any] = {
    "input": lambda g, mask: zero_where(g, mask),
    "method": False,
    "expanded": "masked_fill_",
}


@with_inplace(broadcast_copy, 2, **MASKED, node="MaskedFillBackward0")
def mask_by_number(input: Array, mask: Array, value: dtypes.Number) -> Array:
    """`masked_fill` with a number."""
    return fill_where(input, mask, number_as(value, input.dtype))


@with_inplace(
    broadcast_copy, 2, **MASKED,
    value=lambda g, mask: sum_all(zero_where(g, ~mask)),
    node="MaskedFillBackward1",
)  # fmt: skip
def mask_by_tensor(input: Array, mask: Array, value: Array) -> Array:
    """`masked_fill` with a 0-d tensor."""
    return fill_where(input, mask, scalar_value(value, input.dtype))


@overloads(
    {
        "Tensor input, Tensor mask, Tensor value": mask_by_tensor,
        "Tensor input, Tensor mask, Number value": mask_by_number,
    },
    inplace=True,
)
def masked_fill(input: Any, mask: Tensor, value: Any) -> Any:
    """``input`` with ``value`` where ``mask`` is true, broadcasting.

    Args:
        mask: a bool tensor.
        value: a number or a 0-d tensor.

    Raises:
        RuntimeError: for a ``mask`` that is not bool, or a ``value`` with dimensions.
    """


# The values at a mask


@op(
    input=lambda g, input, mask: masked_select_backward(g, mask, tuple(input.shape)),
)
def masked_select(input: Array, mask: Array) -> Array:
    """The elements of ``input`` where ``mask`` is true, as a vector; the two broadcast.

    Raises:
        RuntimeError: for a ``mask`` that is not bool.
    """
    require(mask.dtype.kind == "b", "masked_select: expected BoolTensor for mask")
    if input.shape != mask.shape:
        shape = common_shape(mask.shape, input.shape)
        input, mask = np.broadcast_to(input, shape), np.broadcast_to(mask, shape)
    return input[mask]


@hidden_op(g=lambda g, mask: masked_select(g, mask), node="MaskedScatterBackward0")
def masked_select_backward(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of `masked_select`: ``g`` where ``mask`` is true, zeros elsewhere."""
    full = common_shape(mask.shape, shape)
    out = np.zeros(full, g.dtype)
    out[np.broadcast_to(mask, full)] = g
    return out


@op(
    input=lambda g, mask: zero_where(g, mask),
    source=lambda g, mask, source_shape: masked_scatter_backward(g, mask, source_shape),
    inplace=True, overlap=True, in_order=True,
)  # fmt: skip
def masked_scatter(input: Array, mask: Array, source: Array) -> Array:
    """``input`` with consecutive elements of ``source`` where ``mask`` is true.

    Raises:
        RuntimeError: if ``source`` has too few elements or another dtype.
    """
    text = "masked_scatter: expected self and source to have same dtypes but got{} and {}"
    check_same_dtype(input, source, text=text)
    require(mask.dtype.kind == "b", "masked_scatter(): mask must be of dtype bool")
    out = broadcast_copy(input, mask)
    mask = np.broadcast_to(mask, out.shape)
    count = int(mask.sum())
    require(count <= source.size, "Number of elements of source < number of ones in mask")
    out[mask] = source.reshape(-1)[:count]
    return out


@hidden_op(g=lambda g, mask, g_shape: masked_scatter(blank_in(g, g_shape), mask, g))
def masked_scatter_backward(g: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """The gradient by the source, of ``shape``: the elements of ``g`` at the mask, then zeros."""
    out = np.zeros(shape, g.dtype)
    chosen = g[np.broadcast_to(mask, g.shape)]
    out.reshape(-1)[: chosen.size] = chosen
    return out


@hidden_op()
def blank_in(g: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of ``shape`` with the dtype of ``g``."""
    return np.zeros(shape, g.dtype)


# Indices


@method
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero, of shape ``(number, ndim)``.

    Args:
        as_tuple: whether to return a vector for each dimension instead; a 0-d tensor counts as 1-d.
    """
    if as_tuple:
        source = unsqueeze(input.detach(), 0) if input.ndim == 0 else input
        return unbind(nonzero(source), 1)
    array = input._array
    found = np.array(np.nonzero(array if array.ndim else array[None]), INT64)
    return wrap(found[: array.ndim].T)


@method
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, of shape ``(number, ndim)``."""
    return nonzero(input)


# Elements combined at an index: `scatter_reduce`.


REDUCTIONS: dict[str, Any] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum
}  # fmt: skip


# Gradients, by the input and by the source


def scatter_reduce_formula(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool
) -> tuple[Any, Any]:
    """The gradients of `scatter_reduce`.

    Raises:
        RuntimeError: for a source larger than the index, unless ``reduce`` is "sum" or "mean".
    """
    if reduce == "mean":
        number = scatter_add(blank(input) + 1.0 * include_self, dim, index, blank(src) + 1)
        g = g / mask_by_number(number, number == 0, 1)
    if reduce in ("sum", "mean"):
        first, second = g, gather(g, dim, index)
    else:
        common_shape(src.shape, index.shape)
        if reduce == "prod":  # without a division by zero
            whole, zero = mask_by_number(input, input == 0, 1), src == 0
            product = scatter_reduce(whole, dim, index, src, "prod", include_self=include_self)
            first = g * product / whole
            number = gather(scatter_add(input * 0, dim, index, zero * (src * 0 + 1)), dim, index)
            single = zero & (number == 1)
            rest = mask_by_number(src, single, 1)
            others = scatter_reduce(input, dim, index, rest, "prod", include_self=include_self)
            divided = gather(g * out, dim, index) / mask_by_number(src, zero, 1)
            second = where_true(single, gather(g * others, dim, index), divided, None)
        else:  # equal shares for the elements that attain the extremum
            mine = (input == out) * (blank(input) + 1)
            theirs = (src == gather(out, dim, index)) * (blank(src) + 1)
            share = g / scatter_add(mine, dim, index, theirs)
            first, second = mine * share, theirs * gather(share, dim, index)
    return (first if include_self else scatter_number(first, dim, index, 0)), second


@op(
    input=scatter_reduce_formula,
    src=scatter_reduce_formula,
    joint=True,
    inplace=True,
    overlap=False,
)
def scatter_reduce(
    input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """``input`` with elements of ``src`` combined at ``index`` along ``dim``.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether the elements of ``input`` at ``index`` count, too.

    Raises:
        RuntimeError: for an ``index`` out of range, or another ``reduce``.
    """
    dim = check_index("scatter", input, index, dim, src)
    require(reduce in REDUCTIONS, "scatter_reduce(): unknown reduction {!r}", reduce)
    out, combine = input.copy("C"), REDUCTIONS[reduce]
    if not index.size:
        return out
    if reduce == "mean":
        check_kind("scatter_gather_tensor_cpu_reduce_mean", out, kinds="fiu")
    flat, steps = flat_memory(out)
    places = flat_places(index, dim, steps)
    values = leading_part(src, index).reshape(-1)
    if not include_self:
        # A maximum or minimum may count the same number twice.
        flat[places] = values if combine.identity is None else combine.identity
    combine.at(flat, places, values)
    if reduce == "mean":
        number = np.bincount(places, minlength=flat.size) + include_self
        number = np.maximum(number, 1).astype(out.dtype)
        np.copyto(flat, np.floor_divide(flat, number) if out.dtype.kind != "f" else flat / number)
    return out
