"""Single elements by index, and copies with values put in one part."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import twice
from nanotorch._core.batched import dimensions, looped, under_vmap
from nanotorch._core.layout import normal_dim, order_of
from nanotorch._core.op import Array, hidden_op, method, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import inplace_form, need_tensors, number_in
from nanotorch.ops.binary import NO_DERIVATIVE, no_derivative
from nanotorch.ops.inplace import writer, written
from nanotorch.ops.joining import common_shape, expand_to
from nanotorch.ops.shape import reshape

# Kernels that add values up at indices, of which some may come several times.


Key = Sequence["np.ndarray | slice"]  # as NumPy takes it, with an entry for each dimension or mask


CHUNK = 1 << 17  # elements added in one go: their places fit the cache


def add_rows(out: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """``out[rows[i]] += values[i]`` for each i in turn.

    Args:
        out: ``(K, ...)``.
        rows: ``(N,)``, not negative.
        values: ``(N, ...)``.
    """
    if not values.size:
        return
    if len(out) < 8 * len(rows) and np.bincount(rows).max() == 1:
        out[rows] += values
        return
    # `np.add.at` is fast for one dimension only.
    whole = out if out.flags.c_contiguous else np.zeros(out.shape, out.dtype)
    flat, width = whole.reshape(-1), values.size // len(rows)
    columns, step = np.arange(width), max(CHUNK // width, 1)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        places = rows[some] if width == 1 else np.add.outer(rows[some] * width, columns)
        np.add.at(flat, places.reshape(-1), values[some].reshape(-1))
    if whole is not out:
        out += whole


def by_dimension(key: Key) -> tuple[list[int], list[np.ndarray]]:
    """The dimensions that have an index, and their indices; masks as the indices of true."""
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


def added_at(shape: tuple[int, ...], key: Key, values: np.ndarray) -> np.ndarray:
    """Zeros of ``shape``, with ``values`` (of the shape of ``zeros[key]``) added at ``key``."""
    out = np.zeros(shape, values.dtype)
    if len(key) == 1 and not isinstance(key[0], slice) and key[0].dtype.kind == "b":
        out[key[0]] = values
        return out
    dims, indices = by_dimension(key)
    sizes = [shape[d] for d in dims]
    rest = [d for d in range(len(shape)) if d not in dims]
    rows = np.zeros((), np.intp)
    for index, size in zip(indices, sizes, strict=True):
        rows = rows * size + np.where(index < 0, index + size, index)
    # NumPy's rule: the indexed dimensions stand where they were if they are neighbours, else first.
    place = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    moved = np.moveaxis(values, range(place, place + rows.ndim), range(rows.ndim))
    width = tuple([shape[d] for d in rest])
    target = out.transpose(*dims, *rest)
    table = np.zeros((int(np.prod(sizes)), *width), values.dtype)
    add_rows(table, rows.reshape(-1), moved.reshape((rows.size, *width)))
    target[...] = table.reshape(target.shape)
    return out


# Single elements by index: `gather`, `scatter`, `take`.


# Along one dimension


def check_index(name: str, array: Array, index: Array, dim: int, src: Array | None = None) -> int:
    """The dimension, counted from the front.

    Raises:
        RuntimeError: if ``index`` is no index, or larger than the arrays it is used with; for a
            ``src`` of another dtype than theirs.
    """
    dim = normal_dim(dim, array.ndim)
    if index.dtype.kind != "i" or index.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return dim
    called = "input" if name == "gather" else "self"
    if (index.ndim or 1) != (array.ndim or 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {called} tensor"
        )
    if src is not None and not src.ndim:
        src = src.reshape(1)
    if src is not None and (index.ndim or 1) != src.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if index.shape != array.shape or (src is not None and index.shape != src.shape):
        check_sizes(name, array, index, dim, src)
    size = array.shape[dim] if array.ndim else 1
    if index.min() < 0 or index.max() >= size:
        first = index[(index < 0) | (index >= size)].reshape(-1)[0]
        raise RuntimeError(f"index {first} is out of bounds for dimension {dim} with size {size}")
    return dim


def check_sizes(name: str, array: Array, index: Array, dim: int, src: Array | None) -> None:
    """Refuse an index that is larger than what it is used with."""
    sizes = index.shape or (1,)
    pairs = enumerate(zip(sizes, array.shape, strict=False))
    large = [d for d, (n, size) in pairs if d != dim and n > size]
    if src is not None and any(n > s for n, s in zip(sizes, src.shape, strict=True)):
        large.append(dim)
    if not large:
        return
    told = f"index {list(index.shape)} to be no larger than self {list(array.shape)} apart from"
    if name == "gather":
        raise RuntimeError(
            f"Size does not match at dimension {large[0]} expected {told} dimension {dim}"
        )
    more = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
    raise RuntimeError(f"Expected {told} dimension {dim}{more}")


def at(index: Array, dim: int) -> tuple[Array, ...]:
    """The NumPy index of the elements that ``index`` means along ``dim``."""
    grid, ndim = [], index.ndim
    for d, n in enumerate(index.shape):
        places = np.arange(n).reshape((n,) + (1,) * (ndim - d - 1)) if d != dim else index
        grid.append(places)
    return tuple(grid)


def part(src: Array, shape: tuple[int, ...]) -> Array:
    """The first elements of ``src`` along each dimension."""
    return src if src.shape == shape else src[tuple([slice(n) for n in shape])]


@op(
    input=lambda g, input, dim, index: gather_backward(g, tuple(input.shape), dim, index),
    in_order=True,
    batch=dimensions,
)
def gather(input: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """``out[i, j, k] = input[i, index[i, j, k], k]`` (for ``dim=1``)."""
    dim = check_index("gather", input, index, dim)
    if not index.size:
        return np.empty(index.shape, input.dtype)
    source = input if input.ndim else input.reshape(1)
    picked = source[at(index.reshape(-1) if source.ndim == 1 else index, dim)]
    return picked.reshape(index.shape)


@hidden_op(
    g=lambda g, dim, index: gather(g, dim, index), node="ScatterAddBackward0", batch=dimensions
)
def gather_backward(g: Array, shape: tuple[int, ...], dim: int, index: Array) -> Array:
    """Zeros of ``shape``, to which `gather`'s gradient is added where its elements came from."""
    return added(np.zeros(shape, g.dtype), dim, index, g)


def added(out: Array, dim: int, index: Array, src: Array) -> Array:
    """Add ``src`` into ``out`` along ``dim``, where ``index`` says."""
    if index.size:
        dim = normal_dim(dim, out.ndim)
        shape = out.shape or (1,)
        places = np.ravel_multi_index(at(np.atleast_1d(index), dim), shape)
        values = np.atleast_1d(part(src, index.shape))
        whole = out if out.flags.c_contiguous else np.ascontiguousarray(out)
        add_rows(whole.reshape(-1), places.reshape(-1), values.reshape(-1))
        if whole is not out:
            out[...] = whole
    return out


def put_along(input: Array, dim: int, index: Array, src: Array | None, value: Any) -> Array:
    """Write ``src``, or the number ``value`` without one, into ``input`` along ``dim``."""
    dim = check_index("scatter", input, index, dim, src)
    if index.size:
        target = input if input.ndim else input.reshape(1)
        if src is None:
            value = number_in(value, input.dtype)
        else:
            value = np.atleast_1d(part(np.atleast_1d(src), np.atleast_1d(index).shape))
        target[at(np.atleast_1d(index), dim)] = value
    return input


SCATTER: dict[str, Any] = {
    "input": lambda g, dim, index: scatter_number(g, dim, index, 0),
    "method": False,
    "overlap": False,
    "batch": dimensions,
}


@written(**SCATTER, src=lambda g, dim, index: gather(g, dim, index), node="ScatterBackward0")
def scatter_tensor(input: Array, dim: int, index: Array, src: Array) -> Array:
    """Write elements of ``src`` into ``input`` along ``dim``, where ``index`` says."""
    return put_along(input, dim, index, src, None)


@written(**SCATTER, node="ScatterBackward1")
def scatter_number(input: Array, dim: int, index: Array, value: dtypes.Number) -> Array:
    """Write a number into ``input`` along ``dim``, where ``index`` says."""
    return put_along(input, dim, index, None, value)


def combine_along(input: Array, dim: int, index: Array, src: Array, reduce: str) -> Array:
    """Add or multiply ``src``, which is 0-d for a number, where ``index`` says."""
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    dim = check_index("scatter", input, index, dim, src if src.ndim else None)
    values = part(src, index.shape) if src.ndim else np.broadcast_to(src, index.shape)
    function = np.add if reduce == "add" else np.multiply
    function.at(input, at(index, dim), values.astype(input.dtype))
    return input


def combining(name: str) -> dict[str, Any]:
    """How both forms of `scatter` with `reduce` are declared."""
    slope = {key: lambda g: no_derivative(name) for key in ("input", "src")}
    return {**slope, "node": NO_DERIVATIVE, "batch": dimensions}


@hidden_op(**combining("scatter"))
def scatter_combined(input: Array, dim: int, index: Array, src: Array, reduce: str) -> Array:
    """A copy of ``input`` after `combine_along`."""
    return combine_along(np.array(input, order="C"), dim, index, src, reduce)


@writer(**combining("scatter_"), overlap=False)
def scatter_combined_in_place(
    input: Array, dim: int, index: Array, src: Array, reduce: str
) -> Array:
    """In-place `scatter_combined`."""
    return combine_along(input, dim, index, src, reduce)


def scattered(
    name: str, input: Any, dim: int, index: Any, src: Any, value: Any, reduce: str | None
) -> Any:
    """`scatter` or `scatter_`: what is written has two names, and may be a number."""
    if src is not None and value is not None:
        raise twice(name, "src")
    src = src if value is None else value
    in_place = name == "scatter_"
    if reduce is not None:
        if not isinstance(src, Tensor):  # a number, which is not looked at if it is not used
            used = src if index._array.size else 0
            src = wrap(np.array(number_in(used, input._array.dtype)))
        combined = scatter_combined_in_place if in_place else scatter_combined
        return combined(input, dim, index, src, reduce)
    form = scatter_number if isinstance(src, (bool, int, float)) else scatter_tensor
    return (inplace_form(form.__name__) if in_place else form)(input, dim, index, src)


@method
def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Any:  # fmt: skip
    """``out[i, index[i, j, k], k] = src[i, j, k]`` (for ``dim=1``), else ``input``.

    Args:
        src: a tensor at least as large as ``index``, or a number.
        reduce: "add" or "multiply" to combine with the elements there; this has no gradient.

    Raises:
        RuntimeError: for an index out of range or too large.
    """
    return scattered("scatter", input, dim, index, src, value, reduce)


@method(public=False)
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
    reduce: str | None = None,
) -> Tensor:  # fmt: skip
    """In-place `scatter`."""
    return scattered("scatter_", self, dim, index, src, value, reduce)


@written(
    input=lambda g: g,
    src=lambda g, dim, index: gather(g, dim, index),
    overlap=False,
    batch=dimensions,
)
def scatter_add(input: Array, dim: int, index: Array, src: Array) -> Array:
    """``out[i, index[i, j, k], k] += src[i, j, k]`` (for ``dim=1``), beginning with ``input``."""
    check_index("scatter", input, index, dim, src)
    index = index.reshape(index.shape or (1,))  # a single one may take the first of several
    return added(input, dim, index, src.reshape(src.shape or (1,)))


@method
@under_vmap(looped)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Elements along ``dim`` at the positions that `argmax`, `argsort` and the like give.

    Args:
        indices: broadcasts with ``input`` in the other dimensions.
        dim: without it both count as vectors.
    """
    need_tensors(indices)
    if indices._array.dtype != np.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.char}"
        )
    if dim is None:
        return gather(input.reshape(-1), 0, wrapped(indices.reshape(-1), input.numel()))
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    dim = normal_dim(dim, input.ndim)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    rest = [(*a._array.shape[:dim], 1, *a._array.shape[dim + 1 :]) for a in (input, indices)]
    shape = common_shape(*rest)
    sizes = [(*shape[:dim], a._array.shape[dim], *shape[dim + 1 :]) for a in (input, indices)]
    source, places = expand_to(input, sizes[0]), expand_to(indices, sizes[1])
    return gather(source, dim, wrapped(places, sizes[0][dim]))


def wrapped(index: Tensor, size: int) -> Tensor:
    """An index with negative entries counted from the end."""
    array = index._array
    return Tensor._lift(np.where(array < 0, array + size, array))


# Among all elements in order


def refuse_outside(index: Array, size: int) -> None:
    """Refuse places of elements that are out of range."""
    wrong = index[(index < -size) | (index >= size)]
    if wrong.size:
        raise IndexError(
            f"out of range: tried to access index {wrong[0]} on a tensor of {size} elements."
        ) from None


@op(input=lambda g, index, input: take_backward(g, index, tuple(input.shape)), in_order=True)
def take(input: Array, index: Array) -> Array:
    """The elements at ``index``, counted as in one dimension; in the shape of ``index``."""
    if index.dtype != np.int64:
        raise RuntimeError(
            f"take(): Expected a long tensor for index, but got {dtypes.of_array(index).char}"
        )
    if index.size and not input.size:
        raise IndexError("take(): tried to take from an empty tensor")
    try:
        return input.reshape(-1)[index] if index.size else np.empty(index.shape, input.dtype)
    except IndexError:
        refuse_outside(index, input.size)
        raise


@hidden_op(g=lambda g, index: take(g, index), node="PutBackward0")
def take_backward(g: Array, index: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of ``shape``, to which `take`'s gradient is added where its elements came from."""
    out = np.zeros(shape, g.dtype)
    flat = index.reshape(-1)
    add_rows(out.reshape(-1), np.where(flat < 0, flat + out.size, flat), g.reshape(-1))
    return out


# Copies with values put at single elements, counted as in one dimension.


def check_put(input: Array, index: Array, source: Array) -> None:
    """Refuse what `put` cannot place."""
    own, kind, given = (dtypes.of_array(a).char for a in (input, index, source))
    if kind != "Long":
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {kind}")
    if own != given:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {own} "
            f"and source.dtype = {given}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    if index.size and not input.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    refuse_outside(index, input.size)


@hidden_op(input=lambda g, index: emptied(g, index), node="PutBackward0")
def emptied(input: Array, index: Array) -> Array:
    """Zeros at ``index``, counted as in one dimension: its own adjoint."""
    out = np.array(input, order="C")
    out.reshape(-1)[index.reshape(-1)] = 0
    return out


@written(
    lambda input, *others: input.copy(order_of(input)),
    input=lambda g, index, accumulate: g if accumulate else emptied(g, index),
    source=lambda g, index, source_shape: reshape(take(g, index), source_shape),
    overlap=False,
)
def put(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """``input`` with elements of ``source`` at ``index``, counted as in one dimension.

    Args:
        accumulate: add to what is there, in place of writing over it.

    Raises:
        RuntimeError: for another dtype; ``index`` is of int64.
        IndexError: for an index out of range, or another number of elements.
    """
    check_put(input, index, source)
    flat = input if input.flags.c_contiguous else np.array(input, order="C")
    places, values = index.reshape(-1), source.reshape(-1)
    row = flat.reshape(-1)
    if accumulate:
        np.add.at(row, places, values)
    else:
        row[places] = values
    if flat is not input:
        input[...] = flat
    return input
