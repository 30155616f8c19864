"""Tensors joined along a dimension, and taken apart again as views."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_int, as_ints, named, twice
from nanotorch._core.batch_rules import joined
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, Arrays, method, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import given_tensors, need_tensor_list
from nanotorch.ops.comparison import vanishing
from nanotorch.ops.shape import ints, reshape, unsqueeze
from nanotorch.ops.slicing import nothing_at, slice_along

WHOLE: Any = slice(None)
Tensors = Sequence[Tensor]


# Along a dimension they have


def check_joinable(arrays: Arrays, dim: int) -> int:
    """The dimension to join along, counted from the front.

    Raises:
        ValueError: without any array.
        RuntimeError: if their other dimensions differ.
        IndexError: for a dimension they do not have.
    """
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


def shares(g: Any, shapes: Sequence[tuple[int, ...]], dim: int) -> list[Any]:
    """The part of ``g`` that belongs to each of the tensors joined along ``dim``."""
    dim, start, parts = dim % g.ndim, 0, []
    for shape in shapes:
        if shape == (0,):  # it may stand beside tensors of any shape, and has no part in them
            parts.append(vanishing(reshape(slice_along(g, dim, 0, 0), shape)))
        else:
            parts.append(slice_along(g, dim, start, start + shape[dim]))
            start += shape[dim]
    return parts


@op(
    tensors=lambda g, tensors_shape, dim: shares(g, tensors_shape, dim),
    cast="promote",
    method=False,
    public=False,
    node="CatBackward0",
    in_order=True,
    batch=joined,
)
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
    need_tensor_list(tensors)
    return cat_along(tensors, as_int(dim))


@public
def concat(tensors: Any, dim: int = 0) -> Any:
    """`cat` by another name."""
    return cat(tensors, dim)


@public
def concatenate(tensors: Any, dim: int = 0) -> Any:
    """`cat` by NumPy's name."""
    return cat(tensors, dim)


# Along a new dimension


@op(
    tensors=lambda g, dim: unbind(g, dim),
    cast="promote",
    method=False,
    public=False,
    node="StackBackward0",
    in_order=True,
    batch=joined,
)
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
    need_tensor_list(tensors)
    return stack_along(tensors, dim)


@method(name="_stacked_with", public=False)
def stacked_with(self: Tensor, others: Any) -> Tensor:
    """`stack` for the engine, which knows tensors and their methods only."""
    return stack_along([self, *others], 0)


def several(function: Any, tensors: tuple[Any, ...]) -> Any:
    """``function`` of one tensor, or a tuple of its results for several or a sequence of them."""
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple([function(t) for t in given_tensors(tensors)])


@public
def atleast_1d(*tensors: Any) -> Any:
    """0-d tensors with one dimension; others as they are."""
    return several(lambda t: t if t.ndim else reshape(t, 1), tensors)


@public
def atleast_2d(*tensors: Any) -> Any:
    """Numbers and vectors as matrices of one row; others as they are."""
    small = (lambda t: reshape(t, (1, 1)), lambda t: unsqueeze(t, 0))
    return several(lambda t: small[t.ndim](t) if t.ndim < 2 else t, tensors)


@public
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: a matrix gets a last one, a vector two around it."""
    small = (
        lambda t: reshape(t, (1, 1, 1)),
        lambda t: unsqueeze(unsqueeze(t, 0), -1),
        lambda t: unsqueeze(t, -1),
    )
    return several(lambda t: small[t.ndim](t) if t.ndim < 3 else t, tensors)


@public
def hstack(tensors: Tensors) -> Tensor:
    """The tensors side by side: along the second dimension, vectors along their only one."""
    need_tensor_list(tensors)
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    parts = atleast_1d(tensors)
    return cat_along(parts, 0 if parts[0].ndim == 1 else 1)


@public
def vstack(tensors: Tensors) -> Tensor:
    """The tensors one below the other: along the first dimension, vectors as rows."""
    need_tensor_list(tensors)
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    parts = atleast_2d(tensors)
    return cat_along(parts, 0)


@public
def row_stack(tensors: Tensors) -> Tensor:
    """`vstack` by another name."""
    return vstack(tensors)


@public
def dstack(tensors: Tensors) -> Tensor:
    """The tensors one behind the other, along the third dimension."""
    need_tensor_list(tensors)
    if not tensors:
        raise RuntimeError("dstack expects a non-empty TensorList")
    parts = atleast_3d(tensors)
    return cat_along(parts, 2)


@public
def column_stack(tensors: Tensors) -> Tensor:
    """The tensors side by side, vectors as columns."""
    need_tensor_list(tensors)
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    columns = [reshape(t, (t.numel(), 1)) if t.ndim <= 1 else t for t in tensors]
    return cat_along(columns, 1)


# Apart: all parts are views of the same memory


@op(input=lambda g, dim: stack_along(g, dim), view=True, multi=True)
def unbind(input: Array, dim: int = 0) -> list[Array]:
    """The parts at each index of one dimension, which goes away."""
    dim = normal_dim(dim, input.ndim)
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    at = (WHOLE,) * dim
    return [input[(*at, i, ...)] for i in range(input.shape[dim])]


def cut(input: Array, sizes: Sequence[int], dim: int) -> list[Array]:
    """Views of consecutive parts along one dimension."""
    at, start, parts = (WHOLE,) * dim, 0, []
    for size in sizes:
        items = (*at, slice(start, start + size))
        parts.append(input[items] if size else nothing_at(input, items))
        start += size
    return parts


@op(
    input=lambda g, dim: cat_along(g, dim),
    view=True,
    multi=True,
    method=False,
    public=False,
    node="SplitBackward0",
)
def split_equally(input: Array, split_size: int, dim: int) -> list[Array]:
    """Parts of one size; the last may be smaller."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if as_int(split_size) < 0:
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    dim = normal_dim(dim, input.ndim)
    n = input.shape[dim]
    if split_size == 0 and n:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
        )
    count = max(-(-n // split_size), 1) if split_size else 1
    sizes = [split_size] * (count - 1) + [n - split_size * (count - 1)]
    return cut(input, sizes, dim)


@op(input=lambda g, dim: cat_along(g, dim), view=True, multi=True)
def split_with_sizes(input: Array, split_sizes: Sequence[int], dim: int = 0) -> list[Array]:
    """Parts of the given sizes, which make up the whole dimension."""
    if not input.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    along, dim, split_sizes = dim, normal_dim(dim, input.ndim), as_ints(split_sizes)
    n = input.shape[dim]
    if any(size < 0 for size in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
            f"dimension {along}), but got split_sizes={list(split_sizes)}"
        )
    return cut(input, split_sizes, dim)


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
    return split_with_sizes(tensor, ints("split", "split_size", (split_size_or_sections,)), dim)


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
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    chunks = as_int(chunks)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input._array.shape[normal_dim(dim, input.ndim)]
    if size == 0:
        return split_with_sizes(input, (0,) * chunks, dim)
    return split_equally(input, -(-size // chunks), dim)


@method
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None,
    sections: int | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Parts along one dimension, as views; sizes need not be equal.

    Args:
        indices_or_sections: how many parts, their sizes differing by at most 1; or where to cut.

    Raises:
        RuntimeError: unless the number of parts is positive.
    """
    if not input.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    options = (indices_or_sections, indices, sections)
    given = [v for v in options if v is not None] or [None]
    if len(given) > 1:
        raise twice("tensor_split", "indices_or_sections")
    where = given[0].tolist() if isinstance(given[0], Tensor) else given[0]
    dim = normal_dim(dim, input.ndim)
    n = input._array.shape[dim]
    if isinstance(where, int):
        if as_int(where) <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        small, larger = divmod(n, where)
        cuts = [i * small + min(i, larger) for i in range(1, where)]
    else:
        cuts = list(as_ints(where))
    bounds = zip([0, *cuts], [*cuts, n], strict=True)
    return tuple([slice_along(input, dim, start, stop) for start, stop in bounds])


def named_split(name: str, dim: int, least: int) -> None:
    """`hsplit` and its kin: `tensor_split` along a fixed dimension."""

    def splitter(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a "
                f"tensor with {input.ndim} dimensions!"
            )
        along = 0 if input.ndim == 1 else dim
        n = input._array.shape[along]
        if isinstance(indices_or_sections, int) and n % (indices_or_sections or n + 1):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {along}, but the size of the "
                f"dimension {n} is not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, along)

    named(splitter, name).__doc__ = f"`tensor_split` along dimension {dim} (of a vector: 0)."
    method(splitter)


for _name, _dim, _least in (("hsplit", 1, 1), ("vsplit", 0, 2), ("dsplit", 2, 3)):
    named_split(_name, _dim, _least)
