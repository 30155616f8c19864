"""Views: parts of a tensor, other shapes, dimensions in another order."""

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import (
    LARGE,
    OVERFLOW,
    argument_aliases,
    as_int,
    as_ints,
    merge_aliases,
)
from nanotorch._core.bfloat16 import reinterpret
from nanotorch._core.call_site import warn, warn_once
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.layout import address, normal_dim, whole_memory
from nanotorch._core.op import Array, hidden_op, method, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import (
    check_ndim,
    check_tensors,
    check_width,
    keyword_ints,
    no_form,
    require,
)
from nanotorch.ops.creation import alias, contiguous

# Views of a part: one index, a slice, a diagonal, windows. Their gradients are zero elsewhere.


WHOLE: Any = slice(None)
NO_SLICE = "slice() cannot be applied to a 0-dim tensor."


def empty_view(input: Array, items: tuple[Any, ...]) -> Array:
    """``input[items]`` for integers and slices that select no elements.

    NumPy's empty view begins at the start of ``input``. This view begins at the position that the
    items select, since `resize_` may give it elements there.
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
    return input.__class__(shape, input.dtype, memory, offset, strides)


# One index


@op(
    input=lambda g, input_shape, dim, index: select_backward(g, input_shape, dim, index), view=True,
)  # fmt: skip
def select(input: Array, dim: int, index: int) -> Array:
    """The part of ``input`` at ``index`` along ``dim``; the result lacks this dimension.

    Raises:
        IndexError: for a ``dim`` or ``index`` out of range.
    """
    usual = dim == 0 and index.__class__ is int
    at = () if usual else (WHOLE,) * (normal_dim(dim, input.ndim) if input.ndim else as_int(dim))
    try:
        return input[index, ...] if usual else input[(*at, as_int(index), ...)]
    except (IndexError, OverflowError):
        as_int(index)  # raises an error for more than 64 bits
        if not input.ndim:
            raise IndexError("select() cannot be applied to a 0-dim tensor.") from None
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {len(at)}"
        ) from None


@hidden_op(g=lambda g, dim, index: select(g, dim, index))
def select_backward(g: Array, shape: tuple[int, ...], dim: int, index: int) -> Array:
    """Zeros of ``shape`` with ``g`` at ``index`` along ``dim``."""
    out = np.zeros(shape, g.dtype)
    out[index if dim == 0 else (*(WHOLE,) * (dim % len(shape)), index)] = g
    return out


# A range


@hidden_op(
    input=lambda g, input_shape, dim, start, stop, step: slice_backward(
        g, input_shape, dim, start, stop, step
    ),
    view=True, node="SliceBackward0",
)  # fmt: skip
def slice_along(
    input: Array, dim: int, start: int | None, stop: int | None, step: int = 1
) -> Array:
    """``input[start:stop:step]`` along one dimension."""
    items = (*(WHOLE,) * dim, slice(start, stop, step))
    out = input[items]
    return out if out.size else empty_view(input, items)


@hidden_op(g=lambda g, dim, start, stop, step: slice_along(g, dim, start, stop, step))
def slice_backward(
    g: Array, shape: tuple[int, ...], dim: int, start: int | None, stop: int | None, step: int
) -> Array:
    """Zeros of ``shape`` with ``g`` in the range of `slice_along`."""
    out = np.zeros(shape, g.dtype)
    out[(*(WHOLE,) * dim, slice(start, stop, step))] = g
    return out


@hidden_op(
    input=lambda g, input_shape, items: part_backward(g, input_shape, items),
    view=True, node="SliceBackward0",
)  # fmt: skip
def part(input: Array, items: tuple[int | slice, ...]) -> Array:
    """A view of the part that ``items`` select, in one step; used where nothing is recorded."""
    try:
        out = input[(*items, ...)]
    except OverflowError:
        raise ValueError(OVERFLOW) from None
    return out if out.size else empty_view(input, items)


@hidden_op(
    g=lambda g, items: part(g, items),
)
def part_backward(g: Array, shape: tuple[int, ...], items: tuple[int | slice, ...]) -> Array:
    """Zeros of ``shape`` with ``g`` at the items of `part`."""
    out = np.zeros(shape, g.dtype)
    out[(*items, ...)] = g
    return out


@method
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A view of ``length`` elements from index ``start`` on along ``dim``.

    Raises:
        IndexError: for a ``start`` out of range.
        RuntimeError: for a ``length`` that is negative or exceeds the end.
    """
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    length = as_int(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim, start = normal_dim(dim, input.ndim), as_int(start)
    size = input._array.shape[dim]
    require(-size <= start <= size, "narrow(): start {} is out of range", start, error=IndexError)
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_along(input, dim, start, start + length)


# A diagonal


def diagonal_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    """The two dimensions of a diagonal, none negative; raises RuntimeError if they are equal."""
    first, second = normal_dim(dim1, ndim), normal_dim(dim2, ndim)
    require(first != second, "diagonal dimensions cannot be identical {}, {}", dim1, dim2)
    return first, second


def diagonal_of(input: Array, offset: int, dim1: int, dim2: int) -> Array:
    """A diagonal as a view, writable if ``input`` is: NumPy's own is always read-only."""
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
    """A view of a diagonal of dimensions ``dim1`` and ``dim2``, as the last dimension.

    It is number ``offset``; positive numbers are above the main diagonal.
    """
    return diagonal_of(input, offset, dim1, dim2)


@hidden_op(g=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2))
def diagonal_backward(g: Array, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Array:
    """Zeros of ``shape`` with ``g`` on a diagonal."""
    out = np.zeros(shape, g.dtype)
    diagonal_of(out, offset, dim1, dim2)[...] = g
    return out


@hidden_op(
    input=lambda g, input_shape, offset: diagonal_backward(g, input_shape, offset, 0, 1),
    node="DiagonalBackward0_copy",
)
def diagonal_copy(input: Array, offset: int) -> Array:
    """A copy of a diagonal of a matrix."""
    return input.diagonal(as_int(offset)).copy()


@op(input=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2))
def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Square matrices with the last dimension of ``input`` on a diagonal, zeros elsewhere.

    The result has the matrices in dimensions ``dim1`` and ``dim2``. For ``offset`` see `diagonal`.
    """
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
    """A copy of a diagonal of a matrix; or the matrix with a vector on its diagonal.

    Args:
        diagonal: the number of the diagonal; positive: above the main one. Default: 0.

    Raises:
        RuntimeError: unless ``input`` has one or two dimensions.
    """
    check_ndim("diag", input, 1, 2)
    return (diag_embed if input.ndim == 1 else diagonal_copy)(input, diagonal)


@method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements of ``input`` on a diagonal, zeros elsewhere."""
    return diag_embed(input.reshape(-1), offset)


def triangle(name: str, keep: Any, input: Array, diagonal: int) -> Array:
    """The elements of the last two dimensions on one side of a diagonal, zeros on the other."""
    check_ndim(name, input, 2)
    return keep(input, min(max(as_int(diagonal), -input.shape[-2]), input.shape[-1]))


@op(input=lambda g, diagonal: tril(g, diagonal), inplace=True, in_order=True)
def tril(input: Array, diagonal: int = 0) -> Array:
    """The lower triangle of each matrix: zeros above the diagonal number ``diagonal``."""
    return triangle("tril", np.tril, input, diagonal)


@op(input=lambda g, diagonal: triu(g, diagonal), inplace=True, in_order=True)
def triu(input: Array, diagonal: int = 0) -> Array:
    """The upper triangle of each matrix: zeros below the diagonal number ``diagonal``."""
    return triangle("triu", np.triu, input, diagonal)


# Windows


@op(
    input=lambda g, input_shape, dimension, size, step: unfold_backward(
        g, input_shape, dimension, size, step
    ),
    view=True, public=False,
)  # fmt: skip
def unfold(input: Array, dimension: int, size: int, step: int) -> Array:
    """A view of windows along ``dimension``, each one a row of the new last dimension.

    Args:
        size: the number of elements of each window.
        step: the distance between the starts of neighbouring windows.

    Raises:
        RuntimeError: if ``size`` exceeds the dimension or is negative, or ``step`` is not positive.
    """
    source = input if input.ndim else input.reshape(1)
    dim, size, step = normal_dim(dimension, input.ndim), as_int(size), as_int(step)
    length = source.shape[dim]
    require(size >= 0, "size is {} but must be >= 0", size)
    require(size <= length, "unfold(): size {} exceeds size {} of dimension {}", size, length, dim)
    require(step > 0, "step is {} but must be > 0", step)
    if not input.ndim:
        return source[:size]
    shape, strides = list(source.shape), list(source.strides)
    shape[dim] = (length - size) // step + 1
    shape.append(size)
    strides.append(strides[dim])
    strides[dim] = min(strides[dim] * step, LARGE - 1)  # a single window never uses it
    # Do not use NumPy's `as_strided`: the `base` of its views is not the array that they share.
    if source.__class__ is np.ndarray and source.flags.c_contiguous:
        return np.ndarray(shape, source.dtype, source, 0, strides)
    memory = whole_memory(source)
    start = address(source) - address(memory)
    return source.__class__(shape, source.dtype, memory, start, strides)


@hidden_op(g=lambda g, dimension, size, step: unfold(g, dimension, size, step))
def unfold_backward(
    g: Array, shape: tuple[int, ...], dimension: int, size: int, step: int
) -> Array:
    """Zeros of ``shape`` to which each window is added: the adjoint of `unfold`."""
    if not shape:
        return g.reshape(-1)[:1].sum().reshape(())
    out = np.zeros(shape, g.dtype)
    dim = dimension % len(shape)
    reach = g.shape[dim] * step
    for k in range(size):
        out[(*(WHOLE,) * dim, slice(k, k + reach, step))] += g[..., k]
    return out


def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """`torch.diagonal` along the last two dimensions by default."""
    return diagonal(A, offset, dim1, dim2)


# The same elements in another shape, or with another order of dimensions; mostly views.


def parse_ints(
    name: str, argument: str, given: tuple[Any, ...], named: Any = None
) -> tuple[int, ...]:
    """The integers of ``argument``: one sequence, several integers, or a keyword's sequence."""
    if named is not None or not given:
        given = (keyword_ints(name, argument, given, named),)
    if len(given) == 1:
        return as_ints(given[0], (name, argument, 1))
    for n in given:
        if n.__class__ is not int:
            return as_ints(given, (name, argument, 1))
    return given


# Another shape, the same order of elements


def reshape_error(input: Array, size: tuple[int, ...]) -> RuntimeError:
    """The error for an ``input`` that has no view of shape ``size``."""
    unknown = [n for n in size if n < 0]
    for position, n in enumerate(size):
        if n < -1:
            return RuntimeError(
                f"invalid shape dimension {n} at index {position} of shape {list(size)}"
            )
    if len(unknown) > 1:
        return RuntimeError("only one dimension can be inferred")
    known = math.prod(n for n in size if n >= 0)
    if unknown and known == 0 and input.size == 0:
        return RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if known != input.size and not (unknown and known and input.size % known == 0):
        return RuntimeError(f"shape '{list(size)}' is invalid for input of size {input.size}")
    return RuntimeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension "
        "spans across two contiguous subspaces). Use .reshape(...) instead."
    )


def reshape_view(input: Array, size: tuple[int, ...]) -> Array:
    """The same memory in another shape."""
    try:
        out = input.reshape(size) if input.flags.c_contiguous else input.reshape(size, copy=False)
    except ValueError:
        raise reshape_error(input, size) from None
    if out.shape != size and min(size) < -1:  # to NumPy, any negative size means -1
        raise reshape_error(input, size)
    return out


RESHAPED: dict[str, Any] = {"input": lambda g, input_shape: reshape(g, input_shape)}


@hidden_op(**RESHAPED, view=True, node="ViewBackward0")
def view_in(input: Array, size: tuple[int, ...]) -> Array:
    """A view of the same elements in another shape."""
    return reshape_view(input, size)


@hidden_op(**RESHAPED, view=True, node="ReshapeAliasBackward0")
def reshape_alias(input: Array, size: tuple[int, ...]) -> Array:
    """`view_in` for an input that is not contiguous."""
    return reshape_view(input, size)


@hidden_op(**RESHAPED, node="UnsafeViewBackward0")
def unsafe_view(input: Array, size: tuple[int, ...]) -> Array:
    """A new tensor in another shape; not recorded as a view, since the tensor is not shared."""
    return reshape_view(input, size)


@method(public=False)
def view(
    self: Tensor, *shape: Any, size: Sequence[int] | None = None, dtype: DType | None = None
) -> Tensor:
    """A view of the same memory in another shape, or as another dtype.

    Args:
        shape: sizes, where one -1 means the size that the others imply. Or a dtype, in which the
            view reads the same bytes; if either dtype is bfloat16, the result is a copy.

    Raises:
        RuntimeError: if the sizes do not fit the elements or their layout in memory.
    """
    if dtype is not None:
        if shape or size is not None or not isinstance(dtype, DType):
            named = {"dtype": dtype} | ({} if size is None else {"size": size})
            raise no_form("view", *shape, **named)
        shape = (dtype,)
    if len(shape) == 1 and isinstance(shape[0], DType):
        kind = shape[0]._numpy
        if kind != self._array.dtype and dtypes.BFLOAT16 in (kind, self._array.dtype):
            return wrap(reinterpret(self._array, kind))
        check_width(self._array, kind)
        out = wrap(self._array.view(kind))
        out._writes = self._cell
        return out
    return view_in(self, parse_ints("view", "size", shape, size))


def reshape(input: Any, *given: Any, shape: Sequence[int] | None = None) -> Any:
    """The same elements in another shape: a view if the layout in memory allows it, else a copy.

    Raises:
        RuntimeError: if the sizes do not fit.
    """
    size = parse_ints("reshape", "shape", given, shape)
    if not isinstance(input, Tensor):
        return input.reshape(size)
    array = input._array
    if array.flags.c_contiguous:
        return view_in(input, size)
    try:
        array.reshape(size, copy=False)
    except ValueError:
        return unsafe_view(contiguous(input), size)
    return reshape_alias(input, size)


method(reshape)  # after the definition, since formulas above refer to `reshape`


@method(public=False)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A `view` in the shape of ``other``."""
    check_tensors(other)
    return view(self, other.shape)


@method(public=False)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """`reshape` of this tensor to the shape of ``other``."""
    check_tensors(other)
    return reshape(self, other.shape)


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """``input`` with dimensions ``start_dim`` to ``end_dim`` (inclusive) merged into one.

    Raises:
        RuntimeError: if ``start_dim`` comes after ``end_dim``.
    """
    shape = input._array.shape
    start, end = normal_dim(start_dim, len(shape)), normal_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, 1)
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@method
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """A view with dimension ``dim`` split into ``sizes``, one of which may be -1.

    Raises:
        RuntimeError: if the product of ``sizes`` is not the size of ``dim``.
    """
    dim = normal_dim(dim, input.ndim)
    sizes = as_ints(sizes, ("unflatten", "sizes", 3), single=False)
    require(sizes, "unflatten: sizes must be non-empty")
    check_ndim("unflatten", input, 1)
    n, known = input.shape[dim], 1
    for s in sizes:
        known *= abs(s)
    if -1 in sizes and known and n % known == 0 and sizes.count(-1) == 1:
        sizes = tuple([n // known if s == -1 else s for s in sizes])
    elif n % known if -1 in sizes and known else n != known:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({n}) in the input tensor"
        )
    return view(input, (*input.shape[:dim], *sizes, *input.shape[dim + 1 :]))


@method
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view of a contiguous tensor, else a copy."""
    return view(contiguous(input), -1)


def call_by_own_names(function: Any, named: Mapping[str, Any], **given: Any) -> Any:
    """Call a function again, with the aliases in ``named`` translated.

    Methods that are called often use this: the wrapper of `export` would cost one more call.
    """
    parameters, others = inspect.signature(function).parameters, argument_aliases(list(given))
    defaults = {key: parameters[key].default for key in given}
    return function(**merge_aliases(function.__name__, others, named, given, defaults))


# Dimensions of size 1


@hidden_op(
    **RESHAPED, view=True, node="SqueezeBackward0",
)  # fmt: skip
def squeeze_all(input: Array) -> Array:
    """A view without dimensions of size 1."""
    return input.squeeze()


@hidden_op(**RESHAPED, view=True, node="SqueezeBackward1")
def squeeze_one(input: Array, dim: int) -> Array:
    """A view without dimension ``dim``, if this has size 1."""
    dim = normal_dim(dim, input.ndim)
    return input.squeeze(dim) if input.ndim and input.shape[dim] == 1 else input[...]


@hidden_op(**RESHAPED, view=True, node="SqueezeBackward2")
def squeeze_several(input: Array, dim: tuple[int, ...]) -> Array:
    """A view without the dimensions among ``dim`` that have size 1."""
    dims = distinct_dims(dim, input.ndim)
    return input.squeeze(tuple([d for d in dims if input.ndim and input.shape[d] == 1]))


def distinct_dims(dim: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    """The dimensions ``dim``, none negative; raises RuntimeError if one repeats."""
    dims = tuple([normal_dim(d, ndim) for d in as_ints(dim)])
    for position, d in enumerate(dims):
        if d in dims[:position]:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims


@method
def squeeze(input: Any, *dims: Any, dim: Any = None, **named: Any) -> Any:
    """A view without dimensions of size 1.

    Args:
        dim: the dimension or dimensions to remove if their size is 1. Default: all.
    """
    if named:
        return call_by_own_names(squeeze, named, input=input, dim=dims or dim)
    if dims:
        if dim is not None:
            raise TypeError("squeeze() got an unexpected keyword argument 'dim'")
        dim = dims[0] if len(dims) == 1 else dims
    elif dim is None:
        return squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return squeeze_several(input, tuple(dim))
    return squeeze_one(input, dim)


@op(input=lambda g, dim: squeeze_one(g, dim), view=True)
def unsqueeze(input: Array, dim: int) -> Array:
    """A view with a new dimension of size 1 at index ``dim``, from -ndim - 1 to ndim."""
    dim = normal_dim(dim, input.ndim + 1)
    return input[(WHOLE,) * dim + (None,)]


# Dimensions in another order


@op(input=lambda g, dim0, dim1: transpose(g, dim0, dim1), view=True)
def transpose(input: Array, dim0: int, dim1: int) -> Array:
    """A view with dimensions ``dim0`` and ``dim1`` swapped."""
    dim0, dim1 = normal_dim(dim0, input.ndim), normal_dim(dim1, input.ndim)
    return input.swapaxes(dim0, dim1) if input.ndim else input[...]


TOO_MANY = "t() expects a tensor with <= 2 dimensions, but self is {}D"


@op(input=lambda g: t(g), view=True)
def t(input: Array) -> Array:
    """The transpose of a matrix, as a view; vectors and 0-d tensors stay as they are.

    Raises:
        RuntimeError: for more than two dimensions.
    """
    if input.ndim > 2:
        raise RuntimeError(TOO_MANY.format(input.ndim))
    return input.T


@hidden_op(
    input=lambda g, dims: permute_to(
        g, tuple(sorted(range(len(dims)), key=lambda d: dims[d] % len(dims)))
    ),
    view=True, node="PermuteBackward0",
)  # fmt: skip
def permute_to(input: Array, dims: tuple[int, ...]) -> Array:
    """A view with the dimensions in the order ``dims``."""
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    try:
        return input.transpose(dims)
    except ValueError:
        for d in dims:
            normal_dim(d, input.ndim)
        raise RuntimeError("permute(): duplicate dims are not allowed.") from None


@method
def permute(input: Any, *order: Any, dims: Sequence[int] | None = None) -> Any:
    """A view with the dimensions in the order ``dims``.

    Raises:
        RuntimeError: unless ``dims`` contains each dimension once.
    """
    return permute_to(input, parse_ints("permute", "dims", order, dims))


# More functions and properties that reorder dimensions.


@method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """NumPy's name of `transpose`."""
    return transpose(input, axis0, axis1)


@method
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Another name of `transpose`."""
    return transpose(input, dim0, dim1)


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with dimensions ``source`` moved to ``destination``; the others keep their order.

    Raises:
        RuntimeError: if a dimension repeats, or the lists differ in length.
    """
    source, destination = (list(as_ints(d)) for d in (source, destination))
    message = "movedim(): source {} and destination {} differ in length"
    require(len(source) == len(destination), message, source, destination)
    moves = {}
    for name, given in (("source", source), ("destination", destination)):
        moves[name] = [normal_dim(d, input.ndim) for d in given]
        require(len(set(moves[name])) == len(given), "movedim(): repeated dim in {}", name)
    if not input.ndim:
        return alias(input)
    places = dict(zip(moves["destination"], moves["source"], strict=True))
    others = iter([d for d in range(input.ndim) if d not in moves["source"]])
    return permute_to(
        input, tuple([places[d] if d in places else next(others) for d in range(input.ndim)])
    )


# Properties


def reversed_dims(self: Tensor) -> Tensor:
    """The transpose of a matrix; of other tensors, a view with all dimensions reversed.

    Warns:
        UserWarning: unless the tensor has two dimensions.
    """
    if self.ndim != 2:
        warn_once(f"x.T of {self.ndim} dimensions is deprecated. Use x.mT or x.permute.")
    return permute_to(self, tuple(range(self.ndim - 1, -1, -1)))


def matrix_transpose(name: str) -> Any:
    """The property ``name``: the transpose of a matrix; for mT and mH, of each in a batch."""
    batches = name != "H"
    kind = "matrices or batches of matrices" if batches else "matrices (2-D tensors)"

    def transposed(self: Tensor) -> Tensor:
        if not self.ndim:
            warn_once(f"Tensor.{name} is deprecated on 0-D tensors.")
            return self
        fits = self.ndim == 2 or (self.ndim > 2 and batches)
        require(fits, "tensor.{} is only supported on {}. Got {}-D tensor.", name, kind, self.ndim)
        return transpose(self, -2, -1)

    return property(transposed, doc=f"With the last two dimensions swapped, for {kind}.")


_property: Any = property(reversed_dims, doc=reversed_dims.__doc__)
method(_property, name="T", public=False)
for _name in ("mT", "H", "mH"):
    method(matrix_transpose(_name), name=_name, public=False)


@method
def adjoint(input: Tensor) -> Tensor:
    """A view with the last two dimensions swapped; for real numbers, the adjoint.

    Raises:
        RuntimeError: for a tensor of one dimension.

    Warns:
        UserWarning: for a 0-d tensor, which is returned as it is.
    """
    if not input.ndim:
        warn("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
        return input
    require(input.ndim != 1, "adjoint(): expected matrices, not a vector")
    return transpose(input, -2, -1)
