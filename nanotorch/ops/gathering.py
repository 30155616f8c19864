"""Single elements by index, copies with values put at some, and rows of tables."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import twice
from nanotorch._core.batched import (
    Call,
    dimensions,
    everything,
    leading,
    looped,
    one_by_one,
    under_vmap,
)
from nanotorch._core.call_site import wrote
from nanotorch._core.layout import like, normal_dim
from nanotorch._core.op import Array, hidden_op, method, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import char_of, inplace_form, need_one_dtype, need_tensors, number_in
from nanotorch.ops.binary import NO_DERIVATIVE, no_derivative
from nanotorch.ops.inplace import writer, written
from nanotorch.ops.joining import common_shape, expand_to
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import reshape, unsqueeze

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
        raise outside(index, dim, size, RuntimeError)
    return dim


def outside(
    index: Array, dim: int, size: int, error: type[Exception] = IndexError, *, low: int = 0,
    name: str = "",
) -> Exception:  # fmt: skip
    """The error for the first index out of range along ``dim``, which begins with ``name``."""
    first = index[(index < low) | (index >= size)].reshape(-1)[0]
    return error(f"{name}index {first} is out of bounds for dimension {dim} with size {size}")


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
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {char_of(index)}")
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


PUT_DTYPES = (
    "put_(): self and source expected to have the same dtype, but got self.dtype = {} and "
    "source.dtype = {}"
)


def check_put(input: Array, index: Array, source: Array) -> None:
    """Refuse what `put` cannot place."""
    if index.dtype != np.int64:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {char_of(index)}")
    need_one_dtype(PUT_DTYPES, input, source)
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
    like,
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


# Rows of a table by index: embeddings, sums of such rows, and classes as vectors.


# Single rows


def check_indices(name: str, indices: Array) -> None:
    """Refuse what are no indices."""
    if indices.dtype.kind != "i" or indices.itemsize < 4:
        char = dtypes.of_array(indices).char
        kind = "CPUBoolType" if char == "Bool" else f"torch.{char}Tensor"
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {kind} instead (while checking arguments for {name})"
        )


def rows_of_all(call: Call) -> Any:
    """`embedding_rows` of each sample; of a weight each, with the weights in one long one."""
    if not call.is_batched("weight"):
        return call.again(indices=call.whole("indices"))
    if call.args["padding_idx"] >= 0 or call.args["scale_grad_by_freq"]:
        return one_by_one(call)
    weight, indices = call.whole("weight"), call.repeated("indices")
    size, rows = weight.shape[:2]
    check_range(everything(indices), rows)
    starts = np.arange(size).reshape((-1,) + (1,) * (indices.ndim - 1)) * rows
    return call.again(weight=weight.flatten(0, 1), indices=indices + wrap(starts))


def check_range(indices: Array, rows: int) -> None:
    """Refuse indices of rows that there are not."""
    if indices.size and (indices.min() < 0 or indices.max() >= rows):
        raise IndexError("index out of range in self")


@hidden_op(
    weight=lambda g, weight_shape, indices, padding_idx, scale_grad_by_freq: (
        embedding_dense_backward(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    ),
    node="EmbeddingBackward0",
    batch=rows_of_all,
)
def embedding_rows(
    weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """``weight[indices]``.

    Raises:
        RuntimeError: if ``weight`` is no matrix, or for indices of another dtype.
        IndexError: for an index out of range.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices("embedding", indices)
    check_range(indices, len(weight))
    return weight.take(indices, 0)


def sums_of_rows(rows: Array, at: Array, count: int) -> Array:
    """Zeros ``(count, D)``, to which each row is added at its place, in their order."""
    width = rows.shape[1]
    if len(rows) < 8 * count:  # few meet in one place
        flat = np.zeros(count * width, rows.dtype)
        places = at.astype(np.intp, copy=False)[:, None] * width + np.arange(width)
        np.add.at(flat, places.reshape(-1), rows.reshape(-1))
        return flat.reshape(count, width)
    out = np.zeros((count, width), rows.dtype)
    if rows.size:
        # Small integers are sorted by counting.
        order = np.argsort(at.astype(np.uint16) if count <= 1 << 16 else at, kind="stable")
        places = at[order]
        starts = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))
        out[places[starts]] = np.add.reduceat(rows[order], starts, 0)
    return out


@hidden_op(
    g=lambda g, indices, padding_idx, scale_grad_by_freq: embedding_taken(
        g, indices, padding_idx, scale_grad_by_freq
    ),
    node="EmbeddingDenseBackwardBackward0",
    wide=True,
)
def embedding_dense_backward(
    g: Array, indices: Array, count: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The gradient of a table of ``count`` rows: each row's share of ``g``, added up.

    Args:
        padding_idx: a row without gradient; -1 for none.
        scale_grad_by_freq: divide by how often a row was taken.
    """
    rows, at = g.reshape(-1, g.shape[-1]), indices.reshape(-1)
    if padding_idx >= 0:
        kept = at != padding_idx
        rows, at = rows[kept], at[kept]
    out = sums_of_rows(rows, at, count)
    if scale_grad_by_freq:
        out /= np.maximum(np.bincount(at, minlength=count), 1)[:, None].astype(out.dtype)
    return out


@hidden_op(
    g=lambda g, g_shape, indices, padding_idx, scale_grad_by_freq: embedding_dense_backward(
        g, indices, g_shape[0], padding_idx, scale_grad_by_freq
    )
)
def embedding_taken(g: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool) -> Array:
    """The rows of ``g`` as `embedding_dense_backward` adds them: its adjoint."""
    rows = g.take(indices, 0)
    if scale_grad_by_freq:
        often = np.bincount(indices.reshape(-1), minlength=len(g)).astype(g.dtype)
        rows /= often[indices][..., None]
    if padding_idx >= 0:
        rows[indices == padding_idx] = 0
    return rows


def renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale down, in place, those of the rows at ``indices`` whose norm exceeds ``max_norm``."""
    array, rows = weight._array, np.unique(indices._array)
    norms = np.linalg.norm(array[rows], norm_type, 1)
    long = norms > max_norm
    array[rows[long]] *= (max_norm / (norms[long] + 1e-7))[:, None].astype(array.dtype)
    wrote(weight._cell, "embedding_renorm_")


# Sums, means and maxima of rows


def same_kind(g: Any, array: Array) -> Any:
    """An array for a formula that runs on what ``g`` is."""
    return wrap(array) if isinstance(g, Tensor) else array


def bag_weight_slope(
    g: Any, factors: Any, rows: int, indices: Array, bags: Array, scale_grad_by_freq: bool
) -> Any:
    """The gradient of the table of `bag_sums`."""
    shares = embedding_taken(g, same_kind(g, bags), -1, False)
    if factors is not None:
        shares = shares * unsqueeze(factors, 1)
    return embedding_dense_backward(shares, same_kind(g, indices), rows, -1, scale_grad_by_freq)


def bag_factor_slope(g: Any, weight: Any, indices: Array, bags: Array) -> Any:
    """The gradient of the factors of `bag_sums`."""
    shares = embedding_taken(g, same_kind(g, bags), -1, False)
    taken = embedding_taken(weight, same_kind(g, indices), -1, False)
    return sum_along(shares * taken, (1,), False)


@hidden_op(
    weight=lambda g, weight_shape, factors, indices, bags, scale_grad_by_freq: bag_weight_slope(
        g, factors, weight_shape[0], indices, bags, scale_grad_by_freq
    ),
    factors=bag_factor_slope,
    node="EmbeddingBagBackward0",
    wide=True,
)
def bag_sums(
    weight: Array, factors: Array | None, indices: Any, bags: Any, count: int,
    scale_grad_by_freq: bool,
) -> Array:  # fmt: skip
    """Sums of rows, each times its factor.

    Args:
        weight: (K, D).
        factors: (N,), or None for ones.
        indices: arrays (N,): the row of each sample,
        bags: and the sum it belongs to, not falling.
        count: of sums.
        scale_grad_by_freq: see `embedding_dense_backward`.
    """
    rows = weight.take(indices, 0)
    return sums_of_rows(rows if factors is None else rows * factors[:, None], bags, count)


@hidden_op(
    weight=lambda g, weight_shape, rows, filled: gather_backward(
        g * same_kind(g, filled), weight_shape, 0, rows
    ),
    aux=("rows",),
    node="EmbeddingBagBackward0",
)
def bag_maxima(weight: Array, indices: Any, bags: Any, filled: Any) -> tuple[Array, Array]:
    """The greatest of the rows of each bag, in each column; and the rows they are from.

    Args:
        weight: (K, D).
        indices: arrays (N,): the row of each sample,
        bags: and the bag it belongs to, not falling.
        filled: (bags, 1), whether a bag has any sample; those without give 0.
    """
    out = np.zeros((len(filled), weight.shape[1]), weight.dtype)
    where = np.zeros(out.shape, np.int64)
    starts = np.searchsorted(bags, np.arange(len(filled)))
    for bag in np.flatnonzero(filled):
        some = indices[starts[bag] : starts[bag + 1] if bag + 1 < len(filled) else None]
        rows = weight.take(some, 0)
        first = rows.argmax(0)
        where[bag] = some[first]
        out[bag] = rows.max(0)
    return out, where


# Classes as vectors


@hidden_op(batch=leading)
def one_hot_rows(input: Array, num_classes: int) -> Array:
    """A row for each class: 1 at its place, else 0."""
    if input.size and input.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    out = np.zeros((input.size, num_classes), np.int64)
    out[np.arange(input.size), input.reshape(-1)] = 1
    return out.reshape((*input.shape, num_classes))
