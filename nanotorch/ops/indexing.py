"""Whole parts by index along one dimension: `index_select`, `index_add`, `index_copy`, ..."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_rules import Call, one_by_one, shifted
from nanotorch._core.layout import normal_dim, own_dim
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.accumulation import add_rows
from nanotorch.ops.arguments import number_in
from nanotorch.ops.inplace import writer
from nanotorch.ops.reduction import sum_all

WHOLE: Any = slice(None)

# Along one dimension


def parts_of_all(call: Call) -> Any:
    """`index_select` of each sample; each at its own place in one long dimension."""
    own, size = call.ndim("input"), call.batch.size
    if not own or call.args["index"].ndim != 1:
        return one_by_one(call)
    dim, index = shifted(call.args["dim"], own), call.whole("index")
    if not call.is_batched("index"):
        return index_select(call.whole("input"), dim, index)
    if not call.is_batched("input"):
        flat = index_select(call.args["input"], dim - 1, index.reshape(-1))
        return flat.unflatten(dim - 1, index.shape).movedim(dim - 1, 0)
    source = call.whole("input").movedim(dim, 1)
    rows = index + wrap(np.arange(size).reshape(-1, 1) * source.shape[1])
    flat = index_select(source.flatten(0, 1), 0, rows.reshape(-1))
    return flat.unflatten(0, index.shape).movedim(1, dim)


@op(
    input=lambda g, input_shape, dim, index: index_select_backward(g, input_shape, dim, index),
    batch=lambda call: parts_of_all(call),
)
def index_select(input: Array, dim: int, index: Array) -> Array:
    """The parts at ``index`` of dimension ``dim``."""
    dim = normal_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    source, wanted = (input, index.reshape(-1)) if input.ndim else (input.reshape(1), index)
    if not input.ndim and index.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)"
        )
    try:
        picked = source.take(wanted, dim)
    except IndexError:
        raise cannot_select(source.shape, wanted, dim) from None
    # NumPy counts from the end too, and takes any place in nothing.
    if (wanted < 0).any() or (not picked.size and (wanted >= source.shape[dim]).any()):
        raise cannot_select(source.shape, wanted, dim)
    return picked if input.ndim else picked.reshape(())


def cannot_select(shape: tuple[int, ...], index: Array, dim: int) -> Exception:
    """The error for an index out of range."""
    size, some = shape[dim], 0 not in shape
    if len(shape) == 1 or (some and dim != 1):
        return IndexError("index out of range in self")
    # PyTorch has a kernel of its own for the second dimension, and for nothing, with other words.
    if not size:
        return RuntimeError("index_select(): self indexing axis dim should be positive")
    first = index[(index < 0) | (index >= size)][0]
    return RuntimeError(f"INDICES element is out of DATA bounds, id={first} axis_dim={size}")


@op(
    g=lambda g, dim, index: index_select(g, dim, index),
    method=False,
    public=False,
    node="IndexAddBackward0",
)
def index_select_backward(g: Array, shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """Zeros of ``shape``, to which `index_select`'s gradient is added where its parts came from."""
    return parts_added(np.zeros(shape, g.dtype), dim, index, g)


def parts_added(out: Array, dim: int, index: Array, source: Array) -> Array:
    """Add the parts of ``source`` along ``dim`` into those of ``out`` at ``index``."""
    if out.ndim and out.size:
        add_rows(np.moveaxis(out, dim, 0), index.reshape(-1), np.moveaxis(source, dim, 0))
    elif not out.ndim:
        out += source
    return out


def indexed_count(name: str, source: Array, dim: int, index: Array) -> int:
    """How many parts of ``source`` along ``dim`` there are for an index.

    Raises:
        RuntimeError: if ``source`` lacks the dimension.
        IndexError: if it has none and the index is not one number.
    """
    if dim and dim >= source.ndim:
        raise RuntimeError(
            f"{name}(): Indexing dim {dim} is out of bounds of the source tensor with dim "
            f"{source.ndim}"
        )
    if not source.ndim and index.size == 1:
        return 1
    return source.shape[own_dim(dim, source.ndim)]


def check_index_add(input: Array, dim: int, index: Array, source: Array, alpha: Any) -> int:
    """The dimension, counted from the front; refuses what does not fit."""
    dim = normal_dim(dim, input.ndim)
    char = dtypes.of_array(index).char
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{char} and size: {list(index.shape)}"
        )
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise RuntimeError(f"index_add_(): Expected dtype int32/int64 for index but got: {char}")
    if input.dtype != source.dtype:
        a, b = dtypes.of_array(input).char, dtypes.of_array(source).char
        raise RuntimeError(
            f"index_add_(): self ({a}) and source ({b}) must have the same scalar type"
        )
    count = indexed_count("index_add_", source, dim, index)
    if index.size != count:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({count}), for dim: {dim}"
        )
    rest = [a.shape[:dim] + a.shape[dim + 1 :] for a in (input, source)]
    if rest[0] != rest[1] or input.ndim != source.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    size = input.shape[dim] if input.ndim else 1
    outside = index[(index < 0) | (index >= size)]
    scattered = input.ndim > 1 and dim in (0, input.ndim - 1) and index.itemsize == 8
    scattered = scattered and alpha == 1 and alpha is not True
    if outside.size and input.size and scattered:
        raise RuntimeError(
            f"index {outside[0]} is out of bounds for dimension {dim} with size {size}"
        )
    if outside.size and (input.size or input.ndim == 1):
        raise IndexError("index out of range in self")
    return dim


# The gradients name the source only to notice, as PyTorch does, that it was written to.
ADD: dict[str, Any] = {
    "input": lambda g: g,
    "source": lambda g, dim, index, alpha, source: (
        index_select(g, dim, index) if alpha == 1 else index_select(g, dim, index) * alpha
    ),
}


def index_added(input: Array, dim: int, index: Array, source: Array, alpha: Any) -> Array:
    """Add ``alpha * source`` into ``input``, after a check."""
    dim = check_index_add(input, dim, index, source, alpha)
    scaled = source if alpha == 1 else source * number_in(alpha, input.dtype)
    return parts_added(input, dim, index, scaled)


@op(**ADD)
def index_add(
    input: Array, dim: int, index: Array, source: Array, *, alpha: dtypes.Number = 1
) -> Array:
    """``input`` with ``alpha * source`` added to its parts at ``index`` along ``dim``."""
    return index_added(np.array(input, order="C"), dim, index, source, alpha)


@writer(**ADD, node="IndexAddBackward0", overlap=False)
def index_add_in_place(
    input: Array, dim: int, index: Array, source: Array, *, alpha: dtypes.Number = 1
) -> Array:
    """In-place `index_add`."""
    return index_added(input, dim, index, source, alpha)


method(index_add_in_place, name="index_add_", public=False)


def check_index_copy(input: Array, dim: int, index: Array, source: Array) -> int:
    """The dimension, counted from the front; refuses what does not fit."""
    dim = normal_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element (got "
            f"{index.size})"
        )
    if input.ndim != source.ndim and input.ndim and source.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source.ndim}), destination dimensionality "
            f"({input.ndim})"
        )
    a, b, c = (dtypes.of_array(x).char for x in (index, input, source))
    if a != "Long":
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {a}")
    if b != c:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{b} and (source) {c}"
        )
    rest = [x.shape[:dim] + x.shape[dim + 1 :] for x in (input, source)]
    if rest[0] != rest[1]:
        shapes = [" ".join(map(str, r)) for r in rest]
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {shapes[0]} at dimension {dim} and source slice shape: {shapes[1]} at "
            "dimension 0."
        )
    if source.ndim and index.size != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[dim]})"
        )
    size = input.shape[dim] if input.ndim else 1
    if ((index < 0) | (index >= size)).any() and (input.size or not size):
        raise outside("index_copy_(): ", index, dim, input.shape, 0)
    return dim


def outside(
    name: str, index: Array, dim: int, shape: tuple[int, ...], low: int | None = None
) -> IndexError:
    """The error for the first index out of range along ``dim``."""
    size = shape[dim] if shape else 1
    wrong = (index < (-size if low is None else low)) | (index >= size)
    first = index.reshape(-1)[wrong.reshape(-1)][0]
    return IndexError(f"{name}index {first} is out of bounds for dimension {dim} with size {size}")


COPY: dict[str, Any] = {
    "input": lambda g, dim, index: fill_by_number(g, dim, index, 0),
    "source": lambda g, dim, index, source: (
        index_select(g, dim, index) if g.ndim else index_select(g, dim, index).reshape(source.shape)
    ),
}


def index_copied(input: Array, dim: int, index: Array, source: Array) -> Array:
    """Write ``source`` into ``input`` along ``dim``, after a check."""
    dim = check_index_copy(input, dim, index, source)
    target = input if input.ndim else input.reshape(1)
    if target.size:  # in nothing any place will do
        target[(*(WHOLE,) * dim, index.reshape(-1))] = source
    return input


@op(**COPY)
def index_copy(input: Array, dim: int, index: Array, source: Array) -> Array:
    """``input`` with the parts of ``source`` at ``index`` along ``dim``."""
    return index_copied(np.array(input, order="C"), dim, index, source)


@writer(**COPY, node="IndexCopyBackward0", overlap=False)
def index_copy_in_place(input: Array, dim: int, index: Array, source: Array) -> Array:
    """In-place `index_copy`."""
    return index_copied(input, dim, index, source)


method(index_copy_in_place, name="index_copy_", public=False)


def index_filled(input: Array, dim: int, index: Array, value: Any) -> Array:
    """Write ``value`` into the parts of ``input`` at ``index`` along ``dim``."""
    dim = normal_dim(dim, input.ndim)
    if index.dtype != np.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, np.ndarray) and value.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    target = input if input.ndim else input.reshape(1)
    try:
        target[(*(WHOLE,) * dim, index)] = value
    except IndexError:
        if target.size or not target.shape[dim]:
            raise outside("", index, dim, input.shape) from None
    return input


@op(method=False, public=False)
def distinct(index: Array, filled: Array, dim: int) -> Array:
    """The indices of ``filled`` along ``dim`` that ``index`` means, each once."""
    size = filled.shape[dim] if filled.ndim else 1
    return np.unique(np.where(index < 0, index + size, index))


FILL_NUMBER: dict[str, Any] = {
    "input": lambda g, dim, index: fill_by_number(g, dim, index, 0),
    "node": "IndexFillBackward0",
}
FILL_TENSOR: dict[str, Any] = {
    "input": lambda g, dim, index: fill_by_number(g, dim, index, 0),
    "value": lambda g, dim, index: sum_all(index_select(g, dim, distinct(index, g, dim))),
    "node": "IndexFillBackward1",
}


@op(**FILL_NUMBER, method=False, public=False)
def fill_by_number(input: Array, dim: int, index: Array, value: dtypes.Number) -> Array:
    """``input`` with a number in its parts at ``index`` along ``dim``."""
    return index_filled(np.array(input), dim, index, number_in(value, input.dtype))


@writer(**FILL_NUMBER, overlap=False, expanded="index_fill_")
def fill_by_number_in_place(input: Array, dim: int, index: Array, value: dtypes.Number) -> Array:
    """In-place `fill_by_number`."""
    return index_filled(input, dim, index, number_in(value, input.dtype))


@op(**FILL_TENSOR, method=False, public=False)
def fill_by_tensor(input: Array, dim: int, index: Array, value: Array) -> Array:
    """``input`` with the value of a 0-d tensor in its parts at ``index`` along ``dim``."""
    return index_filled(np.array(input), dim, index, value)


@writer(**FILL_TENSOR, overlap=False, expanded="index_fill_")
def fill_by_tensor_in_place(input: Array, dim: int, index: Array, value: Array) -> Array:
    """In-place `fill_by_tensor`."""
    return index_filled(input, dim, index, value)


@method
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """``input`` with ``value``, a number or 0-d tensor, in its parts at ``index`` along ``dim``."""
    tensor = isinstance(value, Tensor)
    return (fill_by_tensor if tensor else fill_by_number)(input, dim, index, value)


@method(public=False)
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place `index_fill`."""
    tensor = isinstance(value, Tensor)
    in_place = fill_by_tensor_in_place if tensor else fill_by_number_in_place
    return in_place(self, dim, index, value)
