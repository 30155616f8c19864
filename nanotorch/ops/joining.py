"""Tensors joined, taken apart, and repeated."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, as_ints, wrong_type
from nanotorch._core.batched import (
    Call,
    align_dims,
    flat_samples,
    joined,
    looped,
    shift_dim,
    under_vmap,
)
from nanotorch._core.dtypes import Size
from nanotorch._core.engine import sum_to
from nanotorch._core.layout import normal_dim, order_of
from nanotorch._core.op import Array, Arrays, hidden_op, method, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import (
    check_kind,
    check_ndim,
    check_tensor_list,
    check_tensors,
    require,
    unpack_tensors,
)
from nanotorch.ops.creation import contiguous_format
from nanotorch.ops.elementwise import vanishing
from nanotorch.ops.shape import (
    distinct_dims,
    empty_view,
    parse_ints,
    reshape,
    slice_along,
    unsqueeze,
    view,
)

# Tensors joined along a dimension, and taken apart again as views.


WHOLE: Any = slice(None)
Tensors = Sequence[Tensor]


# Along a dimension they have


def check_joinable(arrays: Arrays, dim: int) -> int:
    """The dimension to join along, counted from the front."""
    if not arrays:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, a in enumerate(arrays):
        if a.ndim == 0:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated"
            )
    # PyTorch has always let empty vectors pass beside tensors of any shape, along any dimension.
    first = next((a for a in arrays if a.shape != (0,)), None)
    if first is None:
        return 0
    dim = normal_dim(dim, first.ndim)
    for position, a in enumerate(arrays):
        if a.shape == (0,):
            continue
        if a.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {a.ndim}"
            )
        for d in range(a.ndim):
            if d != dim and a.shape[d] != first.shape[d]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size "
                    f"{first.shape[d]} but got size {a.shape[d]} for tensor number {position} in "
                    "the list."
                )
    return dim


def split_gradient(g: Any, tensors_shape: Sequence[tuple[int, ...]], dim: int) -> list[Any]:
    """The part of ``g`` that belongs to each of the tensors joined along ``dim``."""
    dim, start, parts = dim % g.ndim, 0, []
    for shape in tensors_shape:
        if shape == (0,):  # it may stand beside tensors of any shape, and has no part in them
            parts.append(vanishing(reshape(slice_along(g, dim, 0, 0), shape)))
        else:
            parts.append(slice_along(g, dim, start, start + shape[dim]))
            start += shape[dim]
    return parts


@hidden_op(tensors=split_gradient, node="CatBackward0", cast="promote", in_order=True, batch=joined)
def cat_along(tensors: Arrays, dim: int) -> Array:
    """Arrays one behind the other."""
    try:
        return np.concatenate(tensors, dim)
    except ValueError:
        dim = check_joinable(tensors, dim)
        return np.concatenate([a for a in tensors if a.shape != (0,)] or tensors[:1], dim)


@public
def cat(tensors: Any, dim: int = 0) -> Any:
    """The tensors one behind the other along ``dim``; their other sizes agree.

    Raises:
        RuntimeError: if they do not.
    """
    check_tensor_list(tensors)
    return cat_along(tensors, as_int(dim))


# Along a new dimension


@hidden_op(
    tensors=lambda g, dim: unbind(g, dim),
    cast="promote", node="StackBackward0", in_order=True, batch=joined,
)  # fmt: skip
def stack_along(tensors: Arrays, dim: int) -> Array:
    """Arrays of one shape along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].shape
    dim = normal_dim(dim, len(shape) + 1)
    for position, a in enumerate(tensors):
        if a.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                f"and {list(a.shape)} at entry {position}"
            )
    at = (WHOLE,) * dim + (None, ...)
    return np.concatenate([a[at] for a in tensors], dim)


@public
def stack(tensors: Any, dim: int = 0) -> Any:
    """The tensors, all of one shape, along a new dimension ``dim``.

    Raises:
        RuntimeError: if their shapes differ.
    """
    check_tensor_list(tensors)
    return stack_along(tensors, dim)


@method(name="_stacked_with", public=False)
def stacked_with(self: Tensor, others: Any) -> Tensor:
    """`stack` for the engine, which knows tensors and their methods only."""
    return stack_along([self, *others], 0)


def map_tensors(function: Any, tensors: tuple[Any, ...]) -> Any:
    """``function`` of one tensor, or a tuple of its results for several or a sequence of them."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple([function(t) for t in unpack_tensors(tensors)])


@public
def atleast_1d(*tensors: Any) -> Any:
    """0-d tensors with one dimension; others as they are."""
    return map_tensors(lambda t: t if t.ndim else reshape(t, 1), tensors)


@public
def atleast_2d(*tensors: Any) -> Any:
    """Numbers and vectors as matrices of one row; others as they are."""
    small = (lambda t: reshape(t, (1, 1)), lambda t: unsqueeze(t, 0))
    return map_tensors(lambda t: small[t.ndim](t) if t.ndim < 2 else t, tensors)


@public
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: a matrix gets a last one, a vector two around it."""
    small = (
        lambda t: reshape(t, (1, 1, 1)),
        lambda t: unsqueeze(unsqueeze(t, 0), -1),
        lambda t: unsqueeze(t, -1),
    )
    return map_tensors(lambda t: small[t.ndim](t) if t.ndim < 3 else t, tensors)


def prepare_inputs(name: str, tensors: Tensors, shaped: Callable[[Tensor], Any]) -> list[Tensor]:
    """The tensors to join, of which there are some, each as ``shaped`` makes it."""
    check_tensor_list(tensors)
    require(tensors, "{} expects a non-empty TensorList", name)
    return [shaped(t) for t in tensors]


@public
def hstack(tensors: Tensors) -> Tensor:
    """The tensors side by side: along the second dimension, vectors along their only one."""
    parts = prepare_inputs("hstack", tensors, atleast_1d)
    return cat_along(parts, 0 if parts[0].ndim == 1 else 1)


@public
def vstack(tensors: Tensors) -> Tensor:
    """The tensors one below the other: along the first dimension, vectors as rows."""
    return cat_along(prepare_inputs("vstack", tensors, atleast_2d), 0)


@public
def dstack(tensors: Tensors) -> Tensor:
    """The tensors one behind the other, along the third dimension."""
    return cat_along(prepare_inputs("dstack", tensors, atleast_3d), 2)


@public
def column_stack(tensors: Tensors) -> Tensor:
    """The tensors side by side, vectors as columns."""
    return cat_along(
        prepare_inputs("column_stack", tensors, lambda t: t if t.ndim > 1 else reshape(t, (-1, 1))),
        1,
    )


# Apart: all parts are views of the same memory


@op(input=lambda g, dim: stack_along(g, dim), view=True, multi=True)
def unbind(input: Array, dim: int = 0) -> list[Array]:
    """The parts at each index of one dimension, which goes away."""
    dim = normal_dim(dim, input.ndim)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return [input[(*(WHOLE,) * dim, i, ...)] for i in range(input.shape[dim])]


def split_views(input: Array, sizes: Sequence[int], dim: int) -> list[Array]:
    """Views of consecutive parts along one dimension."""
    at, start, parts = (WHOLE,) * dim, 0, []
    for size in sizes:
        items = (*at, slice(start, start + size))
        parts.append(input[items] if size else empty_view(input, items))
        start += size
    return parts


@hidden_op(input=lambda g, dim: cat_along(g, dim), view=True, multi=True, node="SplitBackward0")
def split_equally(input: Array, split_size: int, dim: int) -> list[Array]:
    """Parts of one size; the last may be smaller."""
    check_ndim("split", input, 1)
    require(as_int(split_size) >= 0, "split(): negative split_size {}", split_size)
    dim = normal_dim(dim, input.ndim)
    n = input.shape[dim]
    require(split_size != 0 or not n, "split(): split_size is 0, but the dimension has size {}", n)
    count = max(-(-n // split_size), 1) if split_size else 1
    sizes = [split_size] * (count - 1) + [n - split_size * (count - 1)]
    return split_views(input, sizes, dim)


@op(input=lambda g, dim: cat_along(g, dim), view=True, multi=True)
def split_with_sizes(input: Array, split_sizes: Sequence[int], dim: int = 0) -> list[Array]:
    """Parts of the given sizes, which make up the whole dimension."""
    check_ndim("split", input, 1)
    along, dim, split_sizes = dim, normal_dim(dim, input.ndim), as_ints(split_sizes)
    n = input.shape[dim]
    require(min(split_sizes, default=0) >= 0, "split(): negative size in {}", split_sizes)
    if sum(split_sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {along}), but got split_sizes={list(split_sizes)}"
        )
    return split_views(input, split_sizes, dim)


@public
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along one dimension, as views.

    Args:
        split_size_or_sections: the size of each part (the last may be smaller), or all sizes.

    Raises:
        RuntimeError: if the sizes do not make up the dimension.
    """
    if isinstance(split_size_or_sections, Tensor) and not split_size_or_sections.ndim:
        split_size_or_sections = as_int(split_size_or_sections)
    if isinstance(split_size_or_sections, int):
        return split_equally(tensor, split_size_or_sections, dim)
    return split_with_sizes(
        tensor, parse_ints("split", "split_size", (split_size_or_sections,)), dim
    )


@method(name="split", public=False)
def split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one size or of given sizes along one dimension, as views."""
    return split(self, split_size, dim)


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of one size (the last may be smaller), as views.

    Raises:
        RuntimeError: unless ``chunks`` is positive.
    """
    check_ndim("chunk", input, 1)
    chunks = as_int(chunks)
    require(chunks > 0, "chunk expects `chunks` to be greater than 0, got: {}", chunks)
    size = input._array.shape[normal_dim(dim, input.ndim)]
    if size == 0:
        return split_with_sizes(input, (0,) * chunks, dim)
    return split_equally(input, -(-size // chunks), dim)


@method
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts along one dimension, as views; sizes need not be equal.

    Args:
        indices_or_sections: how many parts, their sizes differing by at most 1; or where to cut.

    Raises:
        RuntimeError: unless the number of parts is positive.
    """
    check_ndim("tensor_split", input, 1)
    where = indices_or_sections
    where = where.tolist() if isinstance(where, Tensor) else where
    dim = normal_dim(dim, input.ndim)
    n = input._array.shape[dim]
    if isinstance(where, int):
        require(as_int(where) > 0, "number of sections must be larger than 0, got {}", where)
        small, larger = divmod(n, where)
        cuts = [i * small + min(i, larger) for i in range(1, where)]
    else:
        cuts = list(as_ints(where))
    bounds = zip([0, *cuts], [*cuts, n], strict=True)
    return tuple([slice_along(input, dim, start, stop) for start, stop in bounds])


# Repetition, by views where possible, and rearrangements by copy: repeat, flip, roll.


# Views: along a repeated dimension all elements share their memory


def expand_error(shape: tuple[int, ...], size: tuple[int, ...], kind: np.dtype) -> RuntimeError:
    """Why a tensor of ``shape`` cannot be expanded to ``size``."""
    added = len(size) - len(shape)
    if added < 0:
        char = dtypes.OF_NUMPY[kind].char
        return RuntimeError(
            f"expand(torch.{char}Tensor{{{list(shape)}}}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(shape)})"
        )
    for d in reversed(range(len(size))):
        n = size[d]
        if d >= added and n not in (-1, shape[d - added]) and (shape[d - added] != 1 or n < 0):
            return RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size "
                f"({shape[d - added]}) at non-singleton dimension {d}.  Target sizes: "
                f"{list(size)}.  Tensor sizes: {list(shape)}"
            )
    d = max(d for d in range(added) if size[d] < 0)
    return RuntimeError(
        f"The expanded size of the tensor ({size[d]}) isn't allowed in a leading, non-existing "
        f"dimension {d}"
    )


def align_batch(call: Call, name: str) -> Tensor:
    """The tensor of all samples, with as many dimensions as an argument has entries."""
    array, wanted = call.args["input"]._array, call.args[name]
    if array.ndim > len(wanted):
        raise expand_error(array.shape, wanted, array.dtype)
    return align_dims(call.whole("input"), array.ndim, len(wanted))


# Formulas of views stand alone when a view's history is taken anew: no help from the sweep.
@hidden_op(
    input=lambda g, input_shape: sum_to(g, input_shape),
    view=True, node="ExpandBackward0",
    batch=lambda call: expand_to(align_batch(call, "size"), (call.batch.size, *call.args["size"])),
)  # fmt: skip
def expand_to(input: Array, size: tuple[int, ...]) -> Array:
    """Repeated along dimensions of size 1 and new leading ones; -1 keeps a size."""
    shape, added = input.shape, len(size) - input.ndim
    if added < 0:
        raise expand_error(shape, size, input.dtype)
    full, strides = list(size), [0] * len(size)
    for d, (n, stride) in enumerate(zip(shape, input.strides, strict=True), added):
        if size[d] == n or size[d] == -1:
            full[d], strides[d] = n, stride
        elif n != 1:
            raise expand_error(shape, size, input.dtype)
    if min(full, default=0) < 0:
        raise expand_error(shape, size, input.dtype)
    if isinstance(input, np.ndarray) and input.flags.c_contiguous and input.size:
        # Many times as fast as `broadcast_to`.
        return input.__class__(full, input.dtype, input, 0, strides)
    out = np.broadcast_to(input, full)
    if input.flags.writeable:
        out.flags.writeable = True  # PyTorch lets users write where no memory is shared
    return out


@method(public=False)
def expand(self: Any, *sizes: Any, size: Sequence[int] | None = None) -> Any:
    """Repeated along dimensions of size 1 and new leading ones, without a copy; -1 keeps a size.

    Raises:
        RuntimeError: if a size differs where it is not 1.
    """
    return expand_to(self, parse_ints("expand", "size", sizes, size))


@method(public=False)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """`expand` to the shape of ``other``."""
    check_tensors(other)
    return expand_to(self, other._array.shape)


@method
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`expand` to ``size``."""
    return expand_to(input, parse_ints("broadcast_to", "size", (size,)))


@public
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors, expanded to the shape they have in common.

    Raises:
        RuntimeError: if they have none.
    """
    given = unpack_tensors(tensors)
    shape: tuple[int, ...] = ()
    for t in given:
        shape = common_shape(shape, t._array.shape)
    return tuple([t if t._array.shape == shape else expand_to(t, shape) for t in given])


def common_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to."""
    ndim = max(len(a), len(b))
    shape = [1] * ndim
    for d in range(-1, -ndim - 1, -1):
        m = a[d] if -d <= len(a) else 1
        n = b[d] if -d <= len(b) else 1
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                f"non-singleton dimension {ndim + d}"
            )
        shape[d] = n if m == 1 else m
    return tuple(shape)


def check_broadcast_into(into: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Refuse to write values of ``shape`` to a tensor that they do not broadcast to."""
    full = common_shape(into, shape)
    if full != into:
        raise RuntimeError(
            f"output with shape {list(into)} doesn't match the broadcast shape {list(full)}"
        )


@public
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: if there is none.
    """
    result: tuple[int, ...] = ()
    for shape in shapes:
        result = common_shape(result, (shape,) if isinstance(shape, int) else tuple(shape))
    return Size(result)


@method(public=False)
def sum_to_size(self: Tensor, *sizes: Any, size: Sequence[int] | None = None) -> Tensor:
    """Summed along dimensions so that the result has shape ``size``: the adjoint of `expand`.

    Raises:
        RuntimeError: if ``size`` cannot be expanded to the tensor's shape.
    """
    wanted = parse_ints("sum_to_size", "size", sizes, size)
    shape = self._array.shape
    fits = all(n in (1, s) for n, s in zip(reversed(wanted), reversed(shape), strict=False))
    fits = fits and len(wanted) <= len(shape)
    require(fits, "sum_to_size(): {} cannot be expanded to {}", wanted, shape)
    return sum_to(self, wanted) if wanted else self.sum()


# Copies


def repeat_formula(g: Any, input_shape: tuple[int, ...], repeats: tuple[int, ...]) -> Any:
    """The adjoint of `repeat_by`: the sum of all the blocks that ``g`` consists of."""
    shape = (1,) * (len(repeats) - len(input_shape)) + input_shape
    blocks = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    kept = tuple([n for size in shape for n in (1, size)])
    return reshape(sum_to(reshape(g, tuple(blocks)), kept), input_shape)


@hidden_op(
    input=repeat_formula, node="RepeatBackward0", in_order=True,
    batch=lambda call: repeat_by(align_batch(call, "repeats"), (1, *call.args["repeats"])),
)  # fmt: skip
def repeat_by(input: Array, repeats: tuple[int, ...]) -> Array:
    """Copies side by side along each dimension."""
    require(len(repeats) >= input.ndim, "repeat(): expected a number for each dimension")
    require(min(repeats, default=0) >= 0, "repeat(): negative number in {}", repeats)
    return np.tile(input, repeats)


@method(public=False)
def repeat(self: Tensor, *times: Any, repeats: Sequence[int] | None = None) -> Tensor:
    """Copies side by side, a number for each dimension and for new leading ones.

    Raises:
        RuntimeError: for fewer numbers than dimensions.
    """
    return repeat_by(self, parse_ints("repeat", "repeats", times, repeats))


@method
def tile(input: Tensor, *times: Any, dims: Sequence[int] | None = None) -> Tensor:
    """As `repeat`, with 1 for dimensions that fewer numbers leave out."""
    numbers = parse_ints("tile", "dims", times, dims)
    return repeat_by(input, (1,) * (input.ndim - len(numbers)) + numbers)


def repeat_counts(repeats: Tensor) -> Array:
    """How often something is repeated."""
    counts = repeats._array
    check_kind("repeat_interleave_cpu", counts, kinds="iu")
    require(not (counts < 0).any(), "repeats can not be negative")
    return counts


@method
@under_vmap(looped)
def repeat_interleave(
    input: Any = None, repeats: Any = None, dim: int | None = None, *,
    output_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Each element, or each part along ``dim``, repeated in place.

    Args:
        repeats: how often: a number for all, or a tensor of numbers. A single tensor argument
            gives its indices, each as often as it says.

    Raises:
        RuntimeError: for negative numbers, or another count of numbers than of parts.
    """
    if input is None or repeats is None:
        only = repeats if input is None else input
        if not isinstance(only, Tensor):
            raise wrong_type(only, "Tensor", ("repeat_interleave", "repeats", 1))
        counts = repeat_counts(only)
        check_ndim("repeat_interleave", counts, 1, 1)
        return type(only)._lift(np.repeat(np.arange(counts.size, dtype=counts.dtype), counts))
    if dim is None:
        input, dim = input.flatten(), 0
    dim = normal_dim(dim, input.ndim)
    if not input.ndim:
        normal_dim(1, 0)  # PyTorch's words: it looks for the dimension after this one
    if not isinstance(repeats, Tensor):
        repeats = as_int(repeats)
        require(repeats >= 0, "Repeats must be non-negative")
        shape = input.shape
        before, after = shape[:dim], shape[dim + 1 :]
        spread = expand_to(unsqueeze(input, dim + 1), (*before, shape[dim], repeats, *after))
        copied = spread.clone(memory_format=contiguous_format)
        return view(copied, (*before, shape[dim] * repeats, *after))
    check_ndim("repeat_interleave", repeats, 0, 1)
    counts, size = repeat_counts(repeats).reshape(-1), input._array.shape[dim]
    require(counts.size in (1, size), "repeat_interleave(): {} repeats for {}", counts.size, size)
    return input.index_select(dim, type(input)._lift(np.repeat(np.arange(size), counts)))


@hidden_op(input=lambda g, dims: flip_along(g, dims), node="FlipBackward0")
def flip_along(input: Array, dims: tuple[int, ...]) -> Array:
    """In reverse along some dimensions."""
    chosen = distinct_dims(dims, input.ndim)
    return np.flip(input, chosen).copy(order_of(input)) if input.ndim else input.copy()


@method
def flip(input: Tensor, *order: Any, dims: Sequence[int] | None = None) -> Tensor:
    """In reverse along the given dimensions; a copy."""
    return flip_along(input, parse_ints("flip", "dims", order, dims))


@method(name="__reversed__", public=False)
def reversed_(self: Tensor) -> Tensor:
    """``reversed(tensor)``: in reverse along the first dimension."""
    return flip_along(self, (0,)) if self.ndim else self


@method
def fliplr(input: Tensor) -> Tensor:
    """In reverse along the second dimension."""
    check_ndim("fliplr", input, 2)
    return flip_along(input, (1,))


@method
def flipud(input: Tensor) -> Tensor:
    """In reverse along the first dimension."""
    check_ndim("flipud", input, 1)
    return flip_along(input, (0,))


def roll_batched(call: Call) -> Any:
    """`roll` of each sample."""
    whole, dims, shifts = call.whole("input"), as_ints(call.args["dims"]), call.args["shifts"]
    if not dims:
        return reshape(roll(flat_samples(whole), shifts, 1), whole.shape)
    return roll(whole, shifts, [shift_dim(d, call.ndim("input")) for d in dims])


@op(
    input=lambda g, shifts, dims: roll(g, [-s for s in as_ints(shifts)], dims),
    in_order=True, batch=roll_batched,
)  # fmt: skip
def roll(input: Array, shifts: Any, dims: Any = ()) -> Array:
    """Shifted along ``dims``, or as one row of elements without them.

    What leaves at one end comes in at the other.

    Raises:
        RuntimeError: unless there is a shift for each dimension.
    """
    steps, along = as_ints(shifts), as_ints(dims)
    fits = steps and len(steps) == (len(along) or 1)
    require(fits, "roll(): {} shifts for {} dimensions", len(steps), len(along))
    require(input.ndim or not along, "roll(): the tensor has no dimensions", error=IndexError)
    if len(along) == 1 and 0 in input.shape:  # nothing can be shifted along any dimension
        along = ()
    dims = tuple([normal_dim(d, input.ndim) for d in along])
    return np.roll(input, steps, dims) if dims else np.roll(input, steps[0])


@op(input=lambda g, k, dims: rot90(g, -as_int(k), dims))
def rot90(input: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    """Turned ``k`` quarters in the plane of two dimensions, from the first to the second.

    Raises:
        RuntimeError: unless two different dimensions are given.
    """
    plane, quarters = as_ints(dims), as_int(k) % 4
    require(len(plane) == 2, "expected total rotation dims == 2, but got dims = {}", len(plane))
    check_ndim("rot90", input, 2)
    first, second = (normal_dim(d, input.ndim) for d in plane)
    require(first != second, "rot90(): the two dimensions must differ, but are {}", plane)
    if quarters == 0:
        return input.copy("C")
    if quarters == 2:
        return np.flip(input, plane).copy("K")
    # A flip, and a transposition, which is a view of it.
    return np.flip(input, second if quarters == 1 else first).copy("K").swapaxes(first, second)
