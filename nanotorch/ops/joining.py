"""Joins, splits and repetitions of tensors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, as_ints, rename, wrong_type
from nanotorch._core.dtypes import PLACE, Size
from nanotorch._core.engine import sum_to
from nanotorch._core.layout import normal_dim, order_of
from nanotorch._core.op import Array, Arrays, hidden_op, method, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import advised
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

# Joins of tensors along a dimension, and splits as views.


WHOLE: Any = slice(None)
Tensors = Sequence[Tensor]


# Joins along an existing dimension


def check_joinable(arrays: Arrays, dim: int) -> int:
    """Refuse tensors that cannot be joined along ``dim``; returns it counted from the front."""
    if not arrays:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, a in enumerate(arrays):
        if a.ndim == 0:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {position}) cannot be concatenated"
            )
    # PyTorch has always accepted empty vectors among tensors of any shape, along any dimension.
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
        if shape == (0,):  # an empty vector among tensors of any shape
            parts.append(vanishing(reshape(slice_along(g, dim, 0, 0), shape)))
        else:
            parts.append(slice_along(g, dim, start, start + shape[dim]))
            start += shape[dim]
    return parts


@hidden_op(tensors=split_gradient, node="CatBackward0", cast="promote", in_order=True)
def cat_along(tensors: Arrays, dim: int) -> Array:
    """The kernel of `cat`."""
    try:
        return np.concatenate(tensors, dim)
    except ValueError:
        dim = check_joinable(tensors, dim)
        return np.concatenate([a for a in tensors if a.shape != (0,)] or tensors[:1], dim)


@public
def cat(tensors: Any, dim: int = 0) -> Any:
    """The tensors joined in order along ``dim``; their other sizes must be equal.

    Raises:
        RuntimeError: for other sizes that differ.
        ValueError: for no tensor.
    """
    check_tensor_list(tensors)
    return cat_along(tensors, as_int(dim))


# Joins along a new dimension


@hidden_op(
    tensors=lambda g, dim: unbind(g, dim),
    cast="promote", node="StackBackward0", in_order=True,
)  # fmt: skip
def stack_along(tensors: Arrays, dim: int) -> Array:
    """The kernel of `stack`."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = tensors[0].shape
    dim = normal_dim(dim, len(shape) + 1)
    for position, a in enumerate(tensors):
        if a.shape != shape:
            error = RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
                f"and {list(a.shape)} at entry {position}"
            )
            raise advised(error, "unequal items")
    at = (WHOLE,) * dim + (None, ...)
    return np.concatenate([a[at] for a in tensors], dim)


@public
def stack(tensors: Any, dim: int = 0) -> Any:
    """The tensors, all of one shape, joined along a new dimension ``dim``.

    Raises:
        RuntimeError: for shapes that differ, or no tensor.
    """
    check_tensor_list(tensors)
    return stack_along(tensors, dim)


@method(name="_stacked_with", public=False)
def stacked_with(self: Tensor, others: Any) -> Tensor:
    """`stack` for the engine, which uses only tensors and their methods."""
    return stack_along([self, *others], 0)


def map_tensors(function: Any, tensors: tuple[Any, ...]) -> Any:
    """The result of ``function`` for one tensor; a tuple of results for several or a sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple([function(t) for t in unpack_tensors(tensors)])


@public
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension: a 0-d tensor becomes a vector; others stay as they are.

    Returns:
        A tensor for one tensor, a tuple for several or a sequence.
    """
    return map_tensors(lambda t: t if t.ndim else reshape(t, 1), tensors)


@public
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions: 0-d tensors and vectors become matrices of one row."""
    small = (lambda t: reshape(t, (1, 1)), lambda t: unsqueeze(t, 0))
    return map_tensors(lambda t: small[t.ndim](t) if t.ndim < 2 else t, tensors)


@public
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: (N,) becomes (1, N, 1), and (M, N) (M, N, 1)."""
    small = (
        lambda t: reshape(t, (1, 1, 1)),
        lambda t: unsqueeze(unsqueeze(t, 0), -1),
        lambda t: unsqueeze(t, -1),
    )
    return map_tensors(lambda t: small[t.ndim](t) if t.ndim < 3 else t, tensors)


def prepare_inputs(name: str, tensors: Tensors, shaped: Callable[[Tensor], Any]) -> list[Tensor]:
    """The results of ``shaped`` for the tensors to join; refuse an empty sequence."""
    check_tensor_list(tensors)
    require(tensors, "{} expects a non-empty TensorList", name)
    return [shaped(t) for t in tensors]


@public
def hstack(tensors: Tensors) -> Tensor:
    """The tensors joined side by side: along the second dimension, vectors along the first."""
    parts = prepare_inputs("hstack", tensors, atleast_1d)
    return cat_along(parts, 0 if parts[0].ndim == 1 else 1)


@public
def vstack(tensors: Tensors) -> Tensor:
    """The tensors joined along the first dimension; vectors count as rows."""
    return cat_along(prepare_inputs("vstack", tensors, atleast_2d), 0)


@public
def dstack(tensors: Tensors) -> Tensor:
    """The tensors joined along the third dimension, each as `atleast_3d`."""
    return cat_along(prepare_inputs("dstack", tensors, atleast_3d), 2)


@public
def column_stack(tensors: Tensors) -> Tensor:
    """The tensors joined along the second dimension; vectors count as columns."""
    return cat_along(
        prepare_inputs("column_stack", tensors, lambda t: t if t.ndim > 1 else reshape(t, (-1, 1))),
        1,
    )


# Splits: all parts are views of the same memory


@op(input=lambda g, dim: stack_along(g, dim), view=True, multi=True)
def unbind(input: Array, dim: int = 0) -> list[Array]:
    """The slices at each index of dimension ``dim``, without that dimension, as views.

    Raises:
        IndexError: for a 0-d tensor.
    """
    dim = normal_dim(dim, input.ndim)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return [input[(*(WHOLE,) * dim, i, ...)] for i in range(input.shape[dim])]


def split_views(input: Array, sizes: Sequence[int], dim: int) -> list[Array]:
    """Views of consecutive parts of ``input`` along ``dim``, of the given sizes."""
    at, start, parts = (WHOLE,) * dim, 0, []
    for size in sizes:
        items = (*at, slice(start, start + size))
        parts.append(input[items] if size else empty_view(input, items))
        start += size
    return parts


@hidden_op(input=lambda g, dim: cat_along(g, dim), view=True, multi=True, node="SplitBackward0")
def split_equally(input: Array, split_size: int, dim: int) -> list[Array]:
    """`split` into parts of one size."""
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
    """The parts of ``split_sizes`` along ``dim``, as views.

    Raises:
        RuntimeError: if the sizes are negative or do not add up to the size of ``dim``.
    """
    check_ndim("split", input, 1)
    along, dim, split_sizes = dim, normal_dim(dim, input.ndim), as_ints(split_sizes, single=False)
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
    """The parts of ``tensor`` along ``dim``, as views.

    Args:
        split_size_or_sections: the size of each part (the last may be smaller), or all sizes.

    Raises:
        RuntimeError: if the sizes do not add up to the size of ``dim``.
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
    """The parts along ``dim``, of one size or of given sizes, as views."""
    return split(self, split_size, dim)


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` parts of one size along ``dim`` (the last may be smaller), as views.

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
    """The parts of ``input`` along ``dim``, as views.

    Args:
        indices_or_sections: the number of parts, whose sizes differ by at most 1; or the indices
            where parts after the first begin.

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


def define_split(name: str, least: int, axis: int) -> None:
    """Declare `hsplit`, `vsplit` or `dsplit`.

    Args:
        least: the least number of dimensions of the tensor.
        axis: the dimension; 0 for tensors of one dimension.
    """

    def function(
        input: Tensor, *split: Any, sections: Any = None, indices: Any = None
    ) -> tuple[Tensor, ...]:
        message = "torch.{} requires a tensor with at least {} dimension, but got a tensor with {} "
        require(input.ndim >= least, message + "dimensions!", name, least, input.ndim)
        given = [*split, *(x for x in (sections, indices) if x is not None)]
        cuts: Any = given[0] if len(given) == 1 else given
        dim = min(axis, input.ndim - 1)
        if not isinstance(cuts, (tuple, list)):
            cuts, size = as_int(cuts), input._array.shape[dim]
            message = f"torch.{name} attempted to split along dimension {dim}, but the size of the "
            message += "dimension {} is not divisible by the split_size {}!"
            require(cuts and not size % cuts, message, size, cuts)
        return tensor_split(input, cuts, dim)

    function.__doc__ = f"""The parts of ``input`` along dimension {axis}, as views.

    Args:
        split: the number of parts, which divides the size; or the indices where parts after the
            first begin.
        sections, indices: other names for the one or the other.

    Raises:
        RuntimeError: if the number of parts does not divide the size, or for fewer than {least}
            dimensions.
    """
    method(rename(function, name))


define_split("hsplit", 1, 1)
define_split("vsplit", 2, 0)
define_split("dsplit", 3, 2)


# Repetitions, as views if possible, and rearrangements, as copies: repeat, flip, roll.


# Views: along a repeated dimension all elements share their memory


def expand_error(shape: tuple[int, ...], size: tuple[int, ...], kind: np.dtype) -> RuntimeError:
    """The error for a tensor of ``shape`` that cannot be expanded to ``size``."""
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


# The formula may not rely on the sweep: it also serves for a view whose history is renewed.
@hidden_op(
    input=lambda g, input_shape: sum_to(g, input_shape),
    view=True, node="ExpandBackward0",
)  # fmt: skip
def expand_to(input: Array, size: tuple[int, ...]) -> Array:
    """`expand` to ``size``, a tuple."""
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
        # Much faster than `broadcast_to`.
        return input.__class__(full, input.dtype, input, 0, strides)
    out = np.broadcast_to(input, full)
    if input.flags.writeable:
        out.flags.writeable = True  # PyTorch allows writes to elements that share no memory
    return out


@method(public=False)
def expand(self: Any, *sizes: Any, size: Sequence[int] | None = None) -> Any:
    """A view that repeats the tensor along dimensions of size 1 and new leading dimensions.

    Args:
        sizes: the shape of the view, as one sequence or as several numbers; -1 keeps a size.

    Raises:
        RuntimeError: for another size of a dimension whose size is not 1.
    """
    return expand_to(self, parse_ints("expand", "size", sizes, size))


@method(public=False)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """`Tensor.expand` to the shape of ``other``."""
    check_tensors(other)
    return expand_to(self, other._array.shape)


@method
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`Tensor.expand` to ``size``."""
    return expand_to(input, as_ints(size, ("broadcast_to", "size", 2), single=False))


@public
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors expanded to the shape that they broadcast to.

    Raises:
        RuntimeError: if they do not broadcast.
    """
    given = unpack_tensors(tensors)
    shape: tuple[int, ...] = ()
    for t in given:
        shape = common_shape(shape, t._array.shape)
    return tuple([t if t._array.shape == shape else expand_to(t, shape) for t in given])


def common_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two shapes broadcast to.

    Raises:
        RuntimeError: if there is none.
    """
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
    """The sum along those dimensions that leave the shape ``size``: the adjoint of `expand`.

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
    """The gradient of `repeat_by`: the sum of the copies in ``g``."""
    shape = (1,) * (len(repeats) - len(input_shape)) + input_shape
    blocks = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    kept = tuple([n for size in shape for n in (1, size)])
    return reshape(sum_to(reshape(g, tuple(blocks)), kept), input_shape)


@hidden_op(
    input=repeat_formula, node="RepeatBackward0", in_order=True,
)  # fmt: skip
def repeat_by(input: Array, repeats: tuple[int, ...]) -> Array:
    """The kernel of `Tensor.repeat`."""
    require(len(repeats) >= input.ndim, "repeat(): expected a number for each dimension")
    require(min(repeats, default=0) >= 0, "repeat(): negative number in {}", repeats)
    return np.tile(input, repeats)


@method(public=False)
def repeat(self: Tensor, *times: Any, repeats: Sequence[int] | None = None) -> Tensor:
    """Copies of the tensor side by side along each dimension.

    Args:
        times: the number of copies along each dimension, preceded by those along new dimensions.

    Raises:
        RuntimeError: for fewer numbers than dimensions, or a negative number.
    """
    return repeat_by(self, parse_ints("repeat", "repeats", times, repeats))


@method
def tile(input: Tensor, *times: Any, dims: Sequence[int] | None = None) -> Tensor:
    """`Tensor.repeat`, where fewer numbers count for the last dimensions."""
    numbers = parse_ints("tile", "dims", times, dims)
    return repeat_by(input, (1,) * (input.ndim - len(numbers)) + numbers)


def repeat_counts(repeats: Tensor) -> Array:
    """The array of ``repeats``; refuse numbers that are negative or not integers."""
    counts = repeats._array
    check_kind("repeat_interleave_cpu", counts, kinds="iu")
    require(not (counts < 0).any(), "repeats can not be negative")
    return counts


@method
def repeat_interleave(
    input: Any = None, repeats: Any = None, dim: int | None = None, *,
    output_size: int | None = None,
) -> Tensor:  # fmt: skip
    """Each element, or each slice along ``dim``, several times in succession.

    Args:
        input: a tensor. A single tensor argument counts as ``repeats``: the result has its indices,
            each as many times as its element says.
        repeats: the number of repetitions: one for all, or a tensor with one for each slice.
        dim: a dimension. Default: the tensor is flattened.

    Raises:
        RuntimeError: for a negative number, or a count of numbers that does not fit.
    """
    if input is None or repeats is None:
        only = repeats if input is None else input
        if not isinstance(only, Tensor):
            raise wrong_type(only, "Tensor", ("repeat_interleave", "repeats", 1))
        counts = repeat_counts(only)
        check_ndim("repeat_interleave", counts, 1, 1)
        indices = np.arange(counts.size, dtype=counts.dtype)
        return type(only)._lift(np.repeat(indices, counts.astype(PLACE, copy=False)))
    if dim is None:
        input, dim = input.flatten(), 0
    dim = normal_dim(dim, input.ndim)
    if not input.ndim:
        normal_dim(1, 0)  # PyTorch's error: it looks for the next dimension
    if not isinstance(repeats, Tensor):
        repeats = as_int(repeats)
        require(repeats >= 0, "Repeats must be non-negative")
        shape = input.shape
        before, after = shape[:dim], shape[dim + 1 :]
        spread = expand_to(unsqueeze(input, dim + 1), (*before, shape[dim], repeats, *after))
        if output_size is not None:
            message = "repeat_interleave: Invalid output_size, expected {} but got {}"
            total = repeats * shape[dim]
            require(as_int(output_size, "output_size") == total, message, total, output_size)
        copied = spread.clone(memory_format=contiguous_format)
        return view(copied, (*before, shape[dim] * repeats, *after))
    check_ndim("repeat_interleave", repeats, 0, 1)
    counts, size = repeat_counts(repeats).reshape(-1), input._array.shape[dim]
    message = "repeat_interleave(): got {} repeats for {} elements"
    require(counts.size in (1, size), message, counts.size, size)
    indices = np.repeat(np.arange(size), counts.astype(PLACE, copy=False))
    if output_size is not None:
        fits = as_int(output_size, "output_size") == len(indices)
        require(fits, "allocated size does not match required size")
    return input.index_select(dim, type(input)._lift(indices))


@hidden_op(input=lambda g, dims: flip_along(g, dims), node="FlipBackward0")
def flip_along(input: Array, dims: tuple[int, ...]) -> Array:
    """The kernel of `flip`."""
    chosen = distinct_dims(dims, input.ndim)
    return np.flip(input, chosen).copy(order_of(input)) if input.ndim else input.copy()


@method
def flip(input: Tensor, *order: Any, dims: Sequence[int] | None = None) -> Tensor:
    """A copy with the order of elements reversed along the given dimensions."""
    return flip_along(input, parse_ints("flip", "dims", order, dims))


@method(name="__reversed__", public=False)
def reversed_(self: Tensor) -> Tensor:
    """``reversed(tensor)``: `flip` along the first dimension."""
    return flip_along(self, (0,)) if self.ndim else self


@method
def fliplr(input: Tensor) -> Tensor:
    """`flip` along the second dimension."""
    check_ndim("fliplr", input, 2)
    return flip_along(input, (1,))


@method
def flipud(input: Tensor) -> Tensor:
    """`flip` along the first dimension."""
    check_ndim("flipud", input, 1)
    return flip_along(input, (0,))


@op(
    input=lambda g, shifts, dims: roll(g, [-s for s in as_ints(shifts)], dims),
    in_order=True,
)  # fmt: skip
def roll(input: Array, shifts: Any, dims: Any = ()) -> Array:
    """A copy with the elements shifted along ``dims``; elements past the end reappear at the start.

    Args:
        shifts: the number of places, for each of ``dims``.
        dims: the dimensions. None, or none of them: the tensor is shifted as if flattened.

    Raises:
        RuntimeError: unless there is a shift for each dimension.
    """
    steps, along = as_ints(shifts), () if dims is None else as_ints(dims)
    fits = steps and len(steps) == (len(along) or 1)
    require(fits, "roll(): got {} shifts for {} dimensions", len(steps), len(along))
    require(input.ndim or not along, "roll(): the tensor has no dimensions", error=IndexError)
    if len(along) == 1 and 0 in input.shape:  # an empty tensor accepts any dimension
        along = ()
    dims = tuple([normal_dim(d, input.ndim) for d in along])
    return np.roll(input, steps, dims) if dims else np.roll(input, steps[0])


@op(input=lambda g, k, dims: rot90(g, -as_int(k), dims))
def rot90(input: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    """A copy rotated by ``k`` times 90 degrees, from the first of ``dims`` to the second.

    Raises:
        RuntimeError: unless ``dims`` are two different dimensions.
    """
    plane, quarters = as_ints(dims, single=False), as_int(k) % 4
    require(len(plane) == 2, "expected total rotation dims == 2, but got dims = {}", len(plane))
    check_ndim("rot90", input, 2)
    first, second = (normal_dim(d, input.ndim) for d in plane)
    require(first != second, "rot90(): the two dimensions must differ, but are {}", plane)
    if quarters == 0:
        return input.copy("C")
    if quarters == 2:
        return np.flip(input, plane).copy("K")
    # A flip, and a transposed view of it.
    return np.flip(input, second if quarters == 1 else first).copy("K").swapaxes(first, second)
