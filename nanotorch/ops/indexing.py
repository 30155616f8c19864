"""Slices by index along a dimension; brackets: `tensor[index]` and `tensor[index] = value`."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core import doors, dtypes
from nanotorch._core.arguments import as_int, type_name
from nanotorch._core.call_site import count_write, warn
from nanotorch._core.doors import NoValues
from nanotorch._core.grad_mode import mode, refuse_write
from nanotorch._core.graph import NO_EDGE, edge_of, modified_error, refuse_history
from nanotorch._core.layout import compact_copy, normal_dim, refuse_overlap, strides_of
from nanotorch._core.meta import NO_DATA, MetaArray
from nanotorch._core.op import Array, hidden_op, method, op
from nanotorch._core.overloads import overloads
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import (
    check_same_dtype,
    check_tensor_list,
    check_tensors,
    dtype_char,
    inplace_form,
    new_array,
    number_as,
    require,
)
from nanotorch.ops.creation import alias
from nanotorch.ops.gathering import (
    add_at,
    add_rows,
    check_mask,
    index_by_dim,
    out_of_range,
    outside,
)
from nanotorch.ops.joining import expand_to
from nanotorch.ops.memory import COPY, copy_, fill_, with_inplace
from nanotorch.ops.reduction import sum_all
from nanotorch.ops.shape import NO_SLICE, part, reshape, select, slice_along, unsqueeze, view
from nanotorch.ops.sorting import in_memory_order, slowest_first

# Slices by index along one dimension: `index_select`, `index_add`, `index_copy`, ...


WHOLE: Any = slice(None)

# Along one dimension


@op(
    input=lambda g, input_shape, dim, index: index_select_backward(g, input_shape, dim, index),
)
def index_select(input: Array, dim: int, index: Array) -> Array:
    """The slices of ``input`` at ``index`` along ``dim``; a copy.

    Args:
        index: a vector of int32 or int64.

    Raises:
        IndexError: for an index out of range, or one of several dimensions.
        RuntimeError: for an index of another dtype, or one out of range along dimension 1.
    """
    dim = normal_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    source, wanted = (input, index.reshape(-1)) if input.ndim else (input.reshape(1), index)
    if not input.ndim:
        message = "index_select(): expected 1 index for a 0-d tensor, but got {}"
        require(index.size == 1, message, index.size)
    try:
        picked = source.take(wanted, dim)
    except IndexError:
        raise select_error(source.shape, wanted, dim) from None
    # NumPy accepts negative indices, and any index into an empty array.
    if (wanted < 0).any() or (not picked.size and (wanted >= source.shape[dim]).any()):
        raise select_error(source.shape, wanted, dim)
    return picked if input.ndim else picked.reshape(())


def select_error(shape: tuple[int, ...], index: Array, dim: int) -> Exception:
    """The error of `index_select` for an index out of range."""
    if len(shape) == 1 or (0 not in shape and dim != 1):
        return IndexError("index out of range in self")
    # PyTorch has a kernel of its own for the second dimension, and for empty tensors.
    return out_of_range(index, dim, shape[dim], RuntimeError)


@hidden_op(g=lambda g, dim, index: index_select(g, dim, index), node="IndexAddBackward0")
def index_select_backward(g: Array, shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """The gradient of `index_select`, of ``shape``: ``g`` added to zeros at ``index``."""
    return add_slices(np.zeros(shape, g.dtype), dim, index, g)


def add_slices(out: Array, dim: int, index: Array, source: Array) -> Array:
    """Add the slices of ``source`` along ``dim`` to those of ``out`` at ``index``."""
    if out.ndim and out.size:
        rows = index.reshape(-1).astype(np.intp, copy=False)
        first = (out.swapaxes(0, dim), source.swapaxes(0, dim)) if dim else (out, source)
        add_rows(first[0], [rows], first[1])
    elif not out.ndim:
        out += source
    return out


@with_inplace(
    input=lambda g: g,
    # It names the source only so that, as in PyTorch, a write to it raises an error.
    source=lambda g, dim, index, alpha, source: (
        index_select(g, dim, index) if alpha == 1 else index_select(g, dim, index) * alpha
    ),
    overlap=False,
)
def index_add(
    input: Array, dim: int, index: Array, source: Array, *, alpha: dtypes.Number = 1
) -> Array:
    """``input`` with ``alpha * source`` added to its slices at ``index`` along ``dim``.

    Args:
        index: a vector of int32 or int64; indices may be repeated.

    Raises:
        IndexError, RuntimeError: for an index out of range, or a ``source`` that does not fit.
    """
    dim = normal_dim(dim, input.ndim)
    if not is_usual(input, dim, index, source):
        check_added(input, dim, index, source)
    size = input.shape[dim] if input.ndim else 1
    if outside(index, size) and (input.size or input.ndim == 1):
        scattered = input.ndim > 1 and dim in (0, input.ndim - 1) and index.itemsize == 8
        scattered = scattered and alpha == 1 and alpha is not True
        raise out_of_range(index, dim, size, RuntimeError if scattered else IndexError)
    scaled = source if alpha == 1 else source * number_as(alpha, input.dtype)
    return add_slices(input, dim, index, scaled)


def is_usual(input: Array, dim: int, index: Array, source: Array) -> bool:
    """Whether ``index`` is a vector of int64, with a slice of ``source`` for each entry."""
    return (
        index.dtype == dtypes.INT64 and index.ndim == 1 and source.dtype == input.dtype
        and source.shape == (*input.shape[:dim], index.size, *input.shape[dim + 1 :])
        and input.ndim > 0
    )  # fmt: skip


def check_added(input: Array, dim: int, index: Array, source: Array) -> None:
    """Refuse a ``source`` or ``index`` that does not fit `index_add`."""
    require(index.ndim <= 1, "index_add(): index must be a vector", error=IndexError)
    known = index.dtype.kind == "i" and index.itemsize >= 4
    require(known, "index_add(): index must be int32 or int64")
    check_same_dtype(input, source)
    shape = (*input.shape[:dim], index.size, *input.shape[dim + 1 :]) if input.ndim else ()
    fits = source.shape == shape and (input.ndim or index.size == 1)
    text = "index_add(): source of shape {} does not fit {} indices along dimension {} of {}"
    given = source.shape, index.size, dim, input.shape
    error = RuntimeError if dim or source.ndim or index.size == 1 else IndexError
    require(fits, text, *given, error=error)


@with_inplace(
    input=lambda g, dim, index: fill_by_number(g, dim, index, 0),
    source=lambda g, dim, index, source: (
        index_select(g, dim, index) if g.ndim else index_select(g, dim, index).reshape(source.shape)
    ),
    overlap=False,
)
def index_copy(input: Array, dim: int, index: Array, source: Array) -> Array:
    """``input`` with the slices of ``source`` at ``index`` along ``dim``.

    Args:
        index: a vector of int64.

    Raises:
        IndexError, RuntimeError: for an index out of range, or a ``source`` that does not fit.
    """
    dim = normal_dim(dim, input.ndim)
    if not is_usual(input, dim, index, source):
        check_copied(input, dim, index, source)
    size = input.shape[dim] if input.ndim else 1
    if outside(index, size) and (input.size or not size):
        raise out_of_range(index, dim, size, name="index_copy_(): ")
    target = input if input.ndim else input.reshape(1)
    if target.size:  # an empty tensor accepts any index
        target[(*(WHOLE,) * dim, index.reshape(-1))] = source
    return input


def check_copied(input: Array, dim: int, index: Array, source: Array) -> None:
    """Refuse a ``source`` or ``index`` that does not fit `index_copy`."""
    require(index.ndim <= 1, "index_copy(): index must be a vector", error=IndexError)
    text = "index_copy(): source of shape {} does not fit {} indices along dimension {} of {}"
    given = source.shape, index.size, dim, input.shape
    fits = source.ndim or index.size == 1
    fits = fits and (input.ndim == source.ndim or 0 in (input.ndim, source.ndim))
    require(fits, text, *given, error=IndexError)
    require(index.dtype == np.int64, "index_copy(): index must be of dtype int64")
    check_same_dtype(input, source)
    rest = [x.shape[:dim] + x.shape[dim + 1 :] for x in (input, source)]
    require(rest[0] == rest[1], text, *given)
    fits = not source.ndim or index.size == source.shape[dim]
    require(fits, text, *given, error=IndexError)


FILLED: dict[str, Any] = {
    "input": lambda g, dim, index: fill_by_number(g, dim, index, 0),
    "method": False, "overlap": False,
    "expanded": "index_fill_",  # PyTorch only warns of expanded tensors
}  # fmt: skip


def fill_slices(input: Array, dim: int, index: Array, value: dtypes.Number) -> Array:
    """Write a number into the slices of ``input`` at ``index`` along ``dim``."""
    require(
        index.dtype == np.int64, "index_fill_(): Expected dtype int64 for index.", error=IndexError
    )
    require(index.ndim <= 1, "Index has to be a vector/scalar")
    dim = normal_dim(dim, input.ndim)
    target = input if input.ndim else input.reshape(1)
    try:
        target[(*(WHOLE,) * dim, index)] = number_as(value, input.dtype)
    except IndexError:
        size = target.shape[dim]
        if target.size or not size:
            raise out_of_range(index, dim, size, low=-size) from None
    return input


@with_inplace(COPY, **FILLED, node="IndexFillBackward0")
def fill_by_number(input: Array, dim: int, index: Array, value: dtypes.Number) -> Array:
    """`fill_slices` with a number."""
    return fill_slices(input, dim, index, value)


@with_inplace(
    COPY, **FILLED, node="IndexFillBackward1",
    value=lambda g, dim, index: sum_all(index_select(g, dim, wrapped_once(g, dim, index))),
)  # fmt: skip
def fill_by_tensor(input: Array, dim: int, index: Array, value: Array) -> Array:
    """`fill_slices` with the number in a 0-d array."""
    message = "index_fill_ only supports a 0-dimensional value tensor, but got tensor with {} "
    require(not value.ndim, message + "dimension(s).", value.ndim)
    return fill_slices(input, dim, index, value.item())


@hidden_op()
def wrapped_once(g: Array, dim: int, index: Array) -> Array:
    """``index`` along ``dim`` of ``g``, without negative and repeated entries."""
    size = g.shape[dim] if g.ndim else 1
    return np.unique(np.where(index < 0, index + size, index))


@overloads(
    {
        "Tensor input, int dim, Tensor index, Tensor value": fill_by_tensor,
        "Tensor input, int dim, Tensor index, Number value": fill_by_number,
    },
    inplace=True,
)
def index_fill(input: Any, dim: int, index: Tensor, value: Any) -> Any:
    """``input`` with ``value`` in its slices at ``index`` along ``dim``.

    Args:
        index: a vector of int64; entries may be negative.
        value: a number or a 0-d tensor.

    Raises:
        IndexError, RuntimeError: for an index out of range, or a ``value`` with dimensions.
    """


# Indexing with tensors: `index` reads, `index_put` writes. Brackets use both, below.


Key = tuple[Any, ...]  # NumPy's index: an array or `slice(None)` for each dimension or mask


class Index:
    """The tensors of an index, or None, for each dimension or mask; a static argument.

    A backward pass raises an error if one of them was written to in the meantime.
    """

    __slots__ = ("key", "watched")
    keeps_values = True  # a node that saves it drops it after use

    def __init__(self, tensors: Sequence[Tensor | None]) -> None:
        self.watched = [(t, t._cell[0]) for t in tensors if t is not None]
        self.key: Key = tuple([WHOLE if t is None else numpy_index(t._array) for t in tensors])

    @property
    def tensors(self) -> list[Tensor | None]:
        """The tensors of the index."""
        given = iter(self.watched)
        return [None if entry is WHOLE else next(given)[0] for entry in self.key]

    def replaced(self, change: Callable[[Tensor], Tensor]) -> "Index":
        """The index with ``change`` applied to each tensor."""
        return Index([None if t is None else change(t) for t in self.tensors])

    def unchanged(self) -> Key:
        """The key for NumPy.

        Raises:
            RuntimeError: if one of the tensors was written to since.
        """
        for tensor, version in self.watched:
            if tensor._cell[0] != version:
                raise modified_error(tensor._array, NO_EDGE, tensor._cell, version)
        return self.key

    @property
    def only(self) -> Array | None:
        """The array of the only index tensor; None if there are several."""
        return self.watched[0][0]._array if len(self.watched) == 1 else None


def numpy_index(array: Array) -> Array:
    """An index array for NumPy.

    Raises:
        IndexError: for a dtype that is not int64, int32, bool or uint8.

    Warns:
        UserWarning: for uint8, which counts as a mask.
    """
    kind = array.dtype
    if kind.kind == "b" or (kind.kind == "i" and kind.itemsize >= 4):
        return array
    if kind != np.uint8:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    warn(
        "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
    )
    return array != 0


def check_masks(shape: tuple[int, ...], key: Key) -> None:
    """Refuse masks whose shapes differ from those of their dimensions."""
    dim = 0
    for entry in key:
        if isinstance(entry, slice) or entry.dtype.kind != "b":
            dim += 1
            continue
        for place, n in enumerate(entry.shape):
            if n != shape[dim + place]:
                raise IndexError(
                    f"The shape of the mask {list(entry.shape)} at index {place} does not match "
                    f"the shape of the indexed tensor {list(shape)} at index {dim + place}"
                )
        dim += entry.ndim


def index_error_text(shape: tuple[int, ...], key: Key) -> Exception:
    """PyTorch's error for a ``key`` that does not fit an array of ``shape``, apart from masks."""
    dims, indices = index_by_dim(key)
    shapes = [index.shape for index in indices]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        message = ", ".join(str(list(s)) for s in shapes)
        text = "shape mismatch: indexing tensors could not be broadcast together with shapes "
        return IndexError(text + message)
    if any(shape[d] == 0 for d in dims):
        return IndexError("index is out of bounds for dimension with size 0")
    sides = enumerate(zip(dims, indices, strict=True))
    number = next(k for k, (d, i) in sides if ((i < -shape[d]) | (i >= shape[d])).any())
    size = shape[dims[number]]
    return out_of_range(indices[number], number, size, low=-size)


def indexed_shape(shape: tuple[int, ...], key: Key) -> tuple[int, ...]:
    """The shape of ``array[key]`` for an array of ``shape``; indices may be out of range."""
    check_masks(shape, key)
    first = [e if e is WHOLE or e.dtype.kind == "b" else np.zeros_like(e) for e in key]
    try:
        return np.broadcast_to(False, shape)[tuple(first)].shape
    except IndexError:
        raise index_error_text(shape, key) from None


# Read


def in_pytorch_layout(found: Array, input: Array, key: Key) -> Array:
    """``found``, which is ``input[key]``, with PyTorch's order of dimensions in memory.

    The strides of the input decide it, in its dimensions without an index; then those of the
    indices.
    """
    if found.ndim < 2:
        return found
    dims, indices = index_by_dim(key)
    count = max(i.ndim for i in indices)
    place = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    rest = [stride for d, stride in enumerate(strides_of(input)) if d not in dims]
    before, after = rest[:place], rest[place:]
    sizes = found.shape[:place], found.shape[place : place + count], found.shape[place + count :]
    operands = [(*before, *(0,) * count, *after)]
    for index in indices:
        own = np.broadcast_to(index, sizes[1]).strides
        # An index broadcasts: it has size 1 in the other dimensions.
        first, last = sizes[1][0] * own[0], own[-1]
        left, right = [first * (n == 1) for n in sizes[0]], [last * (n == 1) for n in sizes[2]]
        operands.append((*left, *own, *right))
    return in_memory_order(found, slowest_first(found.shape, operands))


@hidden_op(input=lambda g, input_shape, at: index_backward(g, input_shape, at))
def index(input: Array, at: Index) -> Array:
    """The elements at an index of tensors, a copy; NumPy's rules decide the shape."""
    key = at.unchanged()
    indices = [entry for entry in key if entry is not WHOLE]
    plain = input.flags.c_contiguous and all(i.flags.c_contiguous for i in indices)
    try:
        if plain and len(indices) == 1 and indices[0].dtype.kind != "b" and input.size:
            return input.take(indices[0], len(key) - 1)
        check_masks(input.shape, key)
        found = input[key]
    except IndexError:
        place = indexed_shape(input.shape, key)
        if 0 not in place:  # an empty result accepts any index
            raise index_error_text(input.shape, key) from None
        return np.empty(place, input.dtype)
    return np.asanyarray(found, order="C") if plain else in_pytorch_layout(found, input, key)


@hidden_op(g=lambda g, at: index(g, at), node="IndexPutImplBackward0")
def index_backward(g: Array, shape: tuple[int, ...], at: Index) -> Array:
    """The gradient of `index`, of ``shape``: ``g`` added to zeros at the index."""
    zeros = np.zeros(shape, g.dtype)
    return add_at(zeros, at.unchanged(), g) if g.size else zeros  # an empty one accepts any index


# Write


def check_fit(values: Array, place: tuple[int, ...]) -> None:
    """Refuse values that do not broadcast to the shape ``place``."""
    try:
        np.broadcast_to(values, place)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(place)}"
        ) from None


@hidden_op(g=lambda g, at: index_cleared(g, at), node="IndexPutBackward0")
def index_cleared(g: Array, at: Index) -> Array:
    """``g`` with zeros at an index: the gradient of `index_put` by its input."""
    out = g.copy()
    out[at.unchanged()] = 0
    return out


@with_inplace(
    compact_copy,
    input=lambda g, at, accumulate: g if accumulate else index_cleared(g, at),
    values=lambda g, at: index(g, at),
    node="IndexPutBackward0", method=False, overlap=True, expanded="index_put_",
)  # fmt: skip
def put_at(input: Array, at: Index, values: Array, accumulate: bool) -> Array:
    """Write ``values`` into ``input`` at an index; add them if ``accumulate`` is true."""
    key = at.unchanged()
    check_masks(input.shape, key)
    only = at.only if values.size == 1 else None
    masked = only is not None and only.dtype.kind in "bu"  # one value for a mask
    if only is not None and not accumulate and only.dtype == np.uint8:
        check_mask(only)
    if values.dtype != input.dtype:
        check_fit(values, indexed_shape(input.shape, key))
        text = (
            "Index put requires the source and destination dtypes match, got {} for the "
            "destination and {} for the source."
        )
        require(masked and not accumulate, text, dtype_char(input), dtype_char(values))
    try:
        if accumulate:
            add_at(input, key, values)
        else:
            if values.ndim > 1 and (values.shape[0] == 1 or not values.size):
                # NumPy drops leading dimensions of size 1; PyTorch does for one value and a mask.
                place = indexed_shape(input.shape, key)
                values = values.reshape(()) if masked else np.broadcast_to(values, place)
            input[key] = values
    except (ValueError, IndexError, TypeError):
        place = indexed_shape(input.shape, key)
        check_fit(values, place)
        if 0 not in place:  # an empty place accepts any index
            raise index_error_text(input.shape, key) from None
    return input


put_at_, fill_by_number_ = inplace_form("put_at"), inplace_form("fill_by_number")


def checked_indices(indices: Any, ndim: int) -> Index:
    """The argument ``indices`` of `index_put` as an `Index`."""
    check_tensor_list(indices)
    if len(indices) > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim} (got {len(indices)})")
    return Index(indices)


@method
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of ``input`` with ``values`` at the elements ``input[indices]``.

    Args:
        indices: a tuple of index tensors.
        values: a tensor that broadcasts to the shape of ``input[indices]``.
        accumulate: whether to add the values, each of them if an index is repeated.

    Raises:
        IndexError: for an index out of range.
        RuntimeError: for values of another dtype, or of a shape that does not fit.
    """
    return put_at(input, checked_indices(indices, input.ndim), values, accumulate)


@method(public=False)
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place `index_put`."""
    check_tensors(values)
    return put_into(self, checked_indices(indices, self.ndim), values, accumulate)


def put_into(self: Tensor, at: Index, values: Tensor, accumulate: bool = False) -> Tensor:
    """`index_put_`; tensors that share memory are refused unless one value fills a mask."""
    only, given = at.only, (values, *[t for t, _ in at.watched])
    sharing = [t for t in given if t._writes is self._writes and t._cell is self._cell]
    if sharing and (
        accumulate or values._array.size != 1 or only is None or only.dtype.kind not in "bu"
    ):
        if mode.enabled:
            refuse_history(self)
        for t in sharing:
            if mode.enabled:
                edge_of(t)  # PyTorch updates the history even if it refuses the write
            refuse_overlap(self, t, same_too=True)
    return put_at_(self, at, values, accumulate)


# Brackets: `tensor[index]` and `tensor[index] = value`, composed of views and `index`.


NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)
NOT_A_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
    "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as "
    "tensor index, x[torch.tensor(seq)], which will result either in an error or a different result"
)
NO_DIMENSIONS = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ "
    "to convert a 0-dim tensor to a number"
)
OUT_OF_BOUNDS = "index {} is out of bounds for dimension {} with size {}"
SEQUENCES = (tuple, list, range, str, bytes)

# A bool becomes an index into a new dimension of size 1.
FLAGS = {True: np.zeros(1, np.int64), False: np.zeros(0, np.int64)}


def index_items(given: Any) -> tuple[Any, ...]:
    """An index in brackets as a tuple of items."""
    if type(given) is tuple:
        return given
    if not isinstance(given, (list, range)) or len(given) >= 32:
        return (given,)
    compound = (*SEQUENCES, Tensor, np.ndarray, slice, type(None), type(...))
    if not any(isinstance(item, compound) for item in given):
        return (given,)
    warn(NOT_A_TUPLE)
    return tuple(given)


def as_index_tensor(item: Any) -> Tensor:
    """A sequence or array as an index tensor: a mask for bools and uint8, else int64."""
    if isinstance(item, Tensor):
        return item
    if isinstance(item, np.ndarray):
        array = item
    elif isinstance(item, SEQUENCES):
        item = list(item) if isinstance(item, range) else item
        array = new_array(item, None)
    else:
        kind = type(item)
        name = (
            kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        )
        raise IndexError(NOT_AN_INDEX.format(name))
    return wrap(array if array.dtype in (np.bool_, np.uint8) else array.astype(np.int64))


def consumed_dims(items: Sequence[Any]) -> int:
    """The number of dimensions of the tensor that the items of an index refer to."""
    count = len(items)
    for item in items:
        if item is None or item is ... or item is True or item is False:
            count -= 1
        elif isinstance(item, Tensor) and item._array.dtype.kind in "bu":
            count += item._array.ndim - 1
    return count


def slice_bounds(given: slice, size: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice of a dimension of ``size``."""
    if given.step is not None and operator.index(given.step) < 0:
        raise ValueError("step must be greater than zero")
    return given.indices(size)


def is_basic_index(items: tuple[Any, ...]) -> bool:
    """Whether an index has only integers and slices, which mean the same in NumPy and PyTorch."""
    for item in items:
        if type(item) is slice:
            step = item.step
            if step is not None and not (type(step) is int and step > 0):
                return False
        elif type(item) is not int:
            return False
    return True


def select_at(source: Tensor, dim: int, at: int, position: int) -> Tensor:
    """The slice at one index of a dimension; ``position`` is the item's, for the message."""
    size = source._array.shape[dim]
    if not -size <= at < size:
        raise IndexError(OUT_OF_BOUNDS.format(at, position, size))
    return select(source, dim, at)


def apply_basic_items(source: Tensor, items: Sequence[Any]) -> tuple[Tensor, dict[int, Tensor]]:
    """The view that the basic items of an index select, and its index tensors by dimension."""
    taken = consumed_dims(items)
    ndim = source._array.ndim
    if taken > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    dim, tensors = 0, {}
    for position, item in enumerate(items):
        kind = type(item)
        if kind is int or isinstance(item, np.integer):
            source = select_at(source, dim, int(item), position)
        elif kind is slice:
            size = source._array.shape[dim]
            start, stop, step = slice_bounds(item, size)
            # As in PyTorch, a bound that counts from the end always leads to a new view.
            if step != 1 or item.start or (item.stop is not None and item.stop < size):
                source = slice_along(source, dim, start, stop, step)
            dim += 1
        elif item is ...:
            dim += ndim - taken
        elif item is None:
            source = unsqueeze(source, dim)
            dim += 1
        else:
            flag = item if kind is bool else None
            tensor = as_index_tensor(item) if flag is None else None
            if tensor is not None and tensor._array.ndim == 0 and tensor._array.dtype.kind in "iub":
                try:
                    if tensor._array.dtype.kind == "i":
                        source = select_at(source, dim, int(tensor._array), position)
                        continue
                    flag = bool(tensor._array)
                except NoValues:
                    pass  # each sample has its own index
            if flag is not None:
                source, tensor = unsqueeze(source, dim), wrap(FLAGS[flag])
            assert tensor is not None
            tensors[dim] = tensor
            dim += max(consumed_dims((tensor,)), 1)
    return source, tensors


def index_from_tensors(tensors: dict[int, Tensor], ndim: int) -> Index:
    """The `Index` of index tensors by dimension."""
    entries: list[Tensor | None] = []
    dim = 0
    for at, tensor in tensors.items():
        entries += [None] * (at - dim)
        entries.append(tensor)
        dim = at + max(consumed_dims((tensor,)), 1)
    if len(entries) > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim} (got {len(entries)})")
    return Index(entries)


@method(name="__getitem__", public=False)
def read(self: Tensor, given: Any) -> Tensor:
    """A part of the tensor: a view for integers, slices, None and `...`, a copy for index tensors.

    Raises:
        IndexError: for an index out of range, too many indices, or a value that is not an index.
        ValueError: for a slice with a step that is not positive.
    """
    kind = type(given)
    recorded = mode.enabled and (mode.transforms or self._history is not None)
    if recorded and kind is int and self._array.ndim:
        try:
            return select(self, 0, given)
        except IndexError:
            pass  # raised below, with the words for an index
    if kind is Tensor and given._array.ndim and given._array.dtype == np.int64 and self._array.ndim:
        return index(self, Index((given,)))
    if not recorded:
        items = given if kind is tuple else (given,)
        if items and len(items) <= self._array.ndim and is_basic_index(items):
            try:
                return part(self, items)
            except (IndexError, TypeError):
                pass  # the steps below raise the right error
    if kind is int:
        if not self._array.ndim:
            raise IndexError(OUT_OF_BOUNDS.format(given, 0, 0) if given else NO_DIMENSIONS)
        return select_at(self, 0, given, 0)
    if kind is slice:
        if not self._array.ndim:
            raise IndexError(NO_SLICE)
        return slice_along(self, 0, *slice_bounds(given, self._array.shape[0]))
    source, tensors = apply_basic_items(self, index_items(given))
    if tensors:
        return index(source, index_from_tensors(tensors, source._array.ndim))
    return alias(source) if source is self else source


# Writing


def is_same_part(array: np.ndarray, given: Any, part: np.ndarray) -> bool:
    """Whether ``part`` is the view ``array[given]``, as in `x[i] += 1`."""
    if isinstance(given, Tensor):
        return False
    try:
        there = array[(*(given if type(given) is tuple else (given,)), ...)]
    except (IndexError, NoValues):
        return False
    if there.shape != part.shape or there.strides != part.strides or not there.size:
        return False
    first: Any = (*(0,) * there.ndim, ...)  # NumPy compares single elements fast
    return np.may_share_memory(there[first], part[first])


def try_basic_write(self: Tensor, given: Any, value: Any) -> bool:
    """Write a value with NumPy if no graph is needed and PyTorch agrees; returns whether it did."""
    array, place = self._array, given
    if 0 in array.strides:
        return False
    if isinstance(given, Tensor):
        place = given._array
        if place.dtype not in (np.int64, np.bool_) or not place.ndim:
            return False
        # NumPy accepts an empty mask of any shape.
        if place.dtype.kind == "b" and place.shape != array.shape[: place.ndim]:
            return False
    elif given is not ... and not is_basic_index(given if type(given) is tuple else (given,)):
        return False
    if isinstance(value, Tensor):
        new: Any = value._array
        if value._cell is self._cell and not is_same_part(array, given, new):
            return False
        if place is not given and new.dtype != array.dtype:
            return False
        if mode.enabled and (self.requires_grad or value.requires_grad):
            return False
    elif isinstance(value, (bool, int, float)):
        if value.__class__ is int:
            as_int(value)
        new = number_as(value, array.dtype)
        if mode.enabled and self.requires_grad:
            return False
    else:
        return False
    refuse_write(self._cell)
    try:
        array[place] = new
    except (IndexError, ValueError, TypeError, OverflowError, NoValues):
        return False
    count_write(self._cell, "index assignment")
    for watcher in doors.kernels:
        watcher.computed("index assignment", array[place], [("value", new)])
    return True


def without_leading_ones(value: Tensor) -> Tensor:
    """``value`` without leading dimensions of size 1."""
    shape = value._array.shape
    ones = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return view(value, shape[ones:])


def assign(target: Tensor, value: Any) -> None:
    """Write a number or tensor into a view."""
    if not isinstance(value, Tensor):
        fill_(target, value)
    elif value._array.shape == target._array.shape:
        copy_(target, value)
    elif value._array.ndim == 0:
        fill_(target, value)
    else:
        value, shape = without_leading_ones(value), target._array.shape
        copy_(target, value if value._array.shape == shape else expand_to(value, shape))


@method(name="__delitem__", public=False)
def refuse_deletion(self: Tensor, given: Any) -> None:
    """Raise TypeError: a tensor keeps its elements."""
    raise TypeError("Tensor does not support deleting items")


@method(name="__setitem__", public=False)
def write(self: Tensor, given: Any, value: Any) -> None:
    """Write a number or tensor to a part of the tensor; broadcast and convert it.

    Raises:
        IndexError: see `Tensor.__getitem__`.
        TypeError: for a value that is neither a number nor a tensor.
        RuntimeError: for a value that does not fit, or a tensor that cannot be written to.
    """
    stored = getattr(value, "_array", None)
    if isinstance(stored, MetaArray) and not isinstance(self._array, MetaArray):
        raise NotImplementedError(NO_DATA)
    if try_basic_write(self, given, value):
        return
    if not isinstance(value, (Tensor, bool, int, float)):
        raise TypeError(f"can't assign a {type_name(value)} to a torch.{self.dtype.char}Tensor")
    if given is False:
        return
    if type(given) is slice and not self._array.ndim:
        raise IndexError(NO_SLICE)
    tensors: dict[int, Tensor] = {}
    if type(given) is int:
        target = read(self, given)
    elif given is True:
        target = unsqueeze(self, 0)
    else:
        target, tensors = apply_basic_items(self, index_items(given))
    if not tensors:
        assign(target, value)
        return
    at = index_from_tensors(tensors, target._array.ndim)
    (dim, tensor), *more = tensors.items()
    kind = "" if more else tensor._array.dtype.kind
    if isinstance(value, Tensor):
        leading = value._array.ndim and value._array.shape[0] == 1
        put_into(target, at, without_leading_ones(value) if leading else value)
    elif kind == "i" and tensor._array.dtype == np.int64:
        fill_by_number_(target, dim, reshape(tensor, (-1,)), value)
    elif kind in ("b", "u"):
        check_masks(target._array.shape, at.key)
        rest = (1,) * (target.ndim - dim - tensor.ndim)
        target.masked_fill_(reshape(tensor, tensor._array.shape + rest), value)
    else:
        put_into(target, at, wrap(np.array(number_as(value, target._array.dtype))))
