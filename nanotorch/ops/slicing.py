"""Views of a part: one index, a slice, a diagonal, windows. Each has its adjoint: zeros around."""

from typing import Any

import numpy as np

from nanotorch._core.arguments import LARGE, OVERFLOW, as_int
from nanotorch._core.batch_rules import leading, new_dimension
from nanotorch._core.copying import address, whole_memory
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor

WHOLE: Any = slice(None)
NO_SLICE = "slice() cannot be applied to a 0-dim tensor."


def nothing_at(input: Array, items: tuple[Any, ...]) -> Array:
    """``input[items]`` for integers and slices that lead to no elements.

    NumPy's view begins where ``input`` does. This one begins at the place that is meant, where
    `resize_` may give it elements.
    """
    start, shape, strides = address(input), list(input.shape), list(input.strides)
    for d in reversed(range(len(items))):
        item, size, step = items[d], shape.pop(d), strides.pop(d)
        if isinstance(item, slice):
            first, stop, apart = item.indices(size)
            shape.insert(d, len(range(first, stop, apart)))
            strides.insert(d, step * apart)
        else:
            first = item + (size if item < 0 else 0)
        start += step * first
    memory = whole_memory(input)
    offset = min(max(start - address(memory), 0), memory.nbytes)
    return np.ndarray(shape, input.dtype, memory, offset, strides)


# One index


@op(
    input=lambda g, input_shape, dim, index: select_backward(g, input_shape, dim, index),
    view=True,
)
def select(input: Array, dim: int, index: int) -> Array:
    """The part at ``index`` of one dimension, which goes away."""
    if dim == 0 and index.__class__ is int and input.ndim and -len(input) <= index < len(input):
        return input[index, ...]
    at = (WHOLE,) * (normal_dim(dim, input.ndim) if input.ndim else as_int(dim))
    try:
        return input[(*at, as_int(index), ...)]
    except IndexError:
        if not input.ndim:
            raise IndexError("select() cannot be applied to a 0-dim tensor.") from None
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {len(at)}"
        ) from None


@op(g=lambda g, dim, index: select(g, dim, index), method=False, public=False)
def select_backward(g: Array, shape: tuple[int, ...], dim: int, index: int) -> Array:
    """``g`` at ``index`` of zeros of ``shape``."""
    out = np.zeros(shape, g.dtype)
    out[index if dim == 0 else (*(WHOLE,) * (dim % len(shape)), index)] = g
    return out


# A range


@op(
    input=lambda g, input_shape, dim, start, stop, step: slice_backward(
        g, input_shape, dim, start, stop, step
    ),
    view=True,
    method=False,
    public=False,
    node="SliceBackward0",
)
def slice_along(
    input: Array, dim: int, start: int | None, stop: int | None, step: int = 1
) -> Array:
    """``input[start:stop:step]`` along one dimension."""
    items = (*(WHOLE,) * dim, slice(start, stop, step))
    out = input[items]
    return out if out.size else nothing_at(input, items)


@op(
    g=lambda g, dim, start, stop, step: slice_along(g, dim, start, stop, step),
    method=False,
    public=False,
)
def slice_backward(
    g: Array, shape: tuple[int, ...], dim: int, start: int | None, stop: int | None, step: int
) -> Array:
    """``g`` in the range of zeros of ``shape`` that `slice_along` takes."""
    out = np.zeros(shape, g.dtype)
    out[(*(WHOLE,) * dim, slice(start, stop, step))] = g
    return out


@op(
    input=lambda g, input_shape, items: part_backward(g, input_shape, items),
    view=True,
    method=False,
    public=False,
    node="SliceBackward0",
    batch=lambda call: part(call.whole("input"), (WHOLE, *call.args["items"])),
)
def part(input: Array, items: tuple[int | slice, ...]) -> Array:
    """What several selections and slices lead to, in one step where none of them is recorded."""
    try:
        out = input[(*items, ...)]
    except OverflowError:
        raise ValueError(OVERFLOW) from None
    return out if out.size else nothing_at(input, items)


@op(
    g=lambda g, items: part(g, items),
    method=False,
    public=False,
    batch=lambda call: part_backward(
        call.whole("g"), (call.batch.size, *call.args["shape"]), (WHOLE, *call.args["items"])
    ),
)
def part_backward(g: Array, shape: tuple[int, ...], items: tuple[int | slice, ...]) -> Array:
    """``g`` at the place of `part` in zeros of ``shape``."""
    out = np.zeros(shape, g.dtype)
    out[(*items, ...)] = g
    return out


@method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` elements from ``start`` on along one dimension.

    Raises:
        IndexError: for a ``start`` out of range.
        RuntimeError: for a length that is negative or leads beyond the end.
    """
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    length = as_int(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim, start = normal_dim(dim, input.ndim), as_int(start)
    size = input._array.shape[dim]
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_along(input, dim, start, start + length)


# A diagonal


def diagonal_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """The two dimensions of a diagonal, which must differ."""
    first, second = normal_dim(dim1, ndim), normal_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def diagonal_of(input: Array, offset: int, dim1: int, dim2: int) -> Array:
    """A diagonal, to which one may write if one may write to ``input``."""
    offset, dims = as_int(offset), diagonal_dims(dim1, dim2, input.ndim)
    offset = min(max(offset, -input.shape[dims[0]]), input.shape[dims[1]])
    out = input.diagonal(offset, *dims)
    if input.flags.writeable:
        out.flags.writeable = True
    return out


@op(
    input=lambda g, input_shape, offset, dim1, dim2: diagonal_backward(
        g, input_shape, offset, dim1, dim2
    ),
    view=True,
)
def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The elements with equal indices in two dimensions (shifted by ``offset``), as the last."""
    return diagonal_of(input, offset, dim1, dim2)


@op(
    g=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
    method=False,
    public=False,
)
def diagonal_backward(g: Array, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Array:
    """``g`` on a diagonal of zeros of ``shape``."""
    out = np.zeros(shape, g.dtype)
    diagonal_of(out, offset, dim1, dim2)[...] = g
    return out


@op(
    input=lambda g, input_shape, offset: diagonal_backward(g, input_shape, offset, 0, 1),
    method=False,
    public=False,
    node="DiagonalBackward0_copy",
    batch=lambda call: diagonal(call.whole("input"), call.args["offset"], 1, 2).clone(),
)
def diagonal_copy(input: Array, offset: int) -> Array:
    """A copy of a matrix's diagonal."""
    return input.diagonal(as_int(offset)).copy()


@op(input=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2), batch=new_dimension)
def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Square matrices of zeros with the last dimension of ``input`` on a diagonal."""
    ndim = input.ndim + 1
    first, second = diagonal_dims(dim1, dim2, ndim)
    n = input.shape[-1] + abs(as_int(offset))
    batch = iter(input.shape[:-1])
    shape = tuple([n if d in (first, second) else next(batch) for d in range(ndim)])
    out = np.zeros(shape, input.dtype)
    diagonal_of(out, offset, first, second)[...] = input
    return out


@method
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix's diagonal, or the matrix with a vector on its diagonal.

    Raises:
        RuntimeError: for other numbers of dimensions.
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return (diag_embed if input.ndim == 1 else diagonal_copy)(input, diagonal)


@method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of ``input`` on its diagonal."""
    return diag_embed(input.reshape(-1), offset)


def triangle(name: str, keep: Any, input: Array, diagonal: int) -> Array:
    """The elements of the last two dimensions on one side of a diagonal, zeros on the other."""
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    return keep(input, min(max(as_int(diagonal), -input.shape[-2]), input.shape[-1]))


@op(input=lambda g, diagonal: tril(g, diagonal), inplace=True, in_order=True, batch=leading)
def tril(input: Array, diagonal: int = 0) -> Array:
    """Zeros above a diagonal of the last two dimensions."""
    return triangle("tril", np.tril, input, diagonal)


@op(input=lambda g, diagonal: triu(g, diagonal), inplace=True, in_order=True, batch=leading)
def triu(input: Array, diagonal: int = 0) -> Array:
    """Zeros below a diagonal of the last two dimensions."""
    return triangle("triu", np.triu, input, diagonal)


# Windows


@op(
    input=lambda g, input_shape, dimension, size, step: unfold_backward(
        g, input_shape, dimension, size, step
    ),
    view=True,
    public=False,
)
def unfold(input: Array, dimension: int, size: int, step: int) -> Array:
    """Windows of ``size`` elements, ``step`` apart, along one dimension; within one: the last.

    Raises:
        RuntimeError: for windows larger than the dimension.
    """
    source = input if input.ndim else input.reshape(1)
    dim, size, step = normal_dim(dimension, input.ndim), as_int(size), as_int(step)
    length = source.shape[dim]
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dim} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not input.ndim:
        return source[:size]
    shape, strides = list(source.shape), list(source.strides)
    shape[dim] = (length - size) // step + 1
    shape.append(size)
    strides.append(strides[dim])
    strides[dim] = min(strides[dim] * step, LARGE - 1)  # of one window it leads nowhere
    # Not NumPy's `as_strided`, whose views do not tell whose memory they share.
    if source.__class__ is np.ndarray and source.flags.c_contiguous:
        return np.ndarray(shape, source.dtype, source, 0, strides)
    memory = whole_memory(source)
    start = address(source) - address(memory)
    return np.ndarray(shape, source.dtype, memory, start, strides)


@op(
    g=lambda g, dimension, size, step: unfold(g, dimension, size, step),
    method=False,
    public=False,
)
def unfold_backward(
    g: Array, shape: tuple[int, ...], dimension: int, size: int, step: int
) -> Array:
    """Each window added where `unfold` took it."""
    if not shape:
        return g.reshape(-1)[:1].sum().reshape(())
    out = np.zeros(shape, g.dtype)
    dim = dimension % len(shape)
    reach = g.shape[dim] * step
    for k in range(size):
        out[(*(WHOLE,) * dim, slice(k, k + reach, step))] += g[..., k]
    return out


def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """A view of the diagonals of matrices: see `torch.diagonal`."""
    return diagonal(A, offset, dim1, dim2)
