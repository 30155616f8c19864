"""Copies with values put in one part: a slice, a diagonal, a layout, or single elements."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, as_ints
from nanotorch._core.batch_functions import DYNAMIC, never, separately, under_vmap
from nanotorch._core.copying import address, like, order_of, whole_memory
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor
from nanotorch.ops.gathering import take
from nanotorch.ops.inplace import writer
from nanotorch.ops.memory import (
    Layout,
    clone,
    contiguous_format,
    layout_of,
    relaid,
    strided_view,
)
from nanotorch.ops.shape import reshape
from nanotorch.ops.slicing import NO_SLICE, diagonal, select, slice_along

WHOLE = slice(None)
KERNELS: Any = {"select": select, "slice": slice_along, "diagonal": diagonal}


def alike(input: Array) -> Array:
    """A copy whose elements lie in memory as those of ``input`` do, gaps included; each apart."""
    if order_of(input) == "C":
        return like(input)
    memory = whole_memory(input).copy()
    start = address(input) - address(whole_memory(input))
    return np.ndarray(input.shape, input.dtype, memory, start, input.strides)


def part_written(input: Array, src: Array, kind: str, place: tuple[Any, ...]) -> Array:
    """A copy of ``input`` with ``src`` in the part that a kind of view takes.

    Raises:
        RuntimeError: for another shape than the part's.
    """
    out = alike(input)
    part = np.asarray(KERNELS[kind](out, *place))
    if part.shape != src.shape:
        raise unlike(src.shape, part.shape)
    part[...] = src
    return out


def unlike(given: tuple[int, ...], wanted: tuple[int, ...]) -> RuntimeError:
    """The error for values of another shape than the part they are for."""
    return RuntimeError(
        f"expected src to have a size equal to the slice of self. src size = {list(given)}, slice "
        f"size = {list(wanted)}"
    )


def in_order(g: Any) -> Any:
    """A gradient on memory of its own, in the order of its dimensions."""
    return clone(g, memory_format=contiguous_format)


@op(input=lambda g, kind, place: part_blanked(g, kind, place), method=False, public=False)
def part_blanked(input: Array, kind: str, place: tuple[Any, ...]) -> Array:
    """A copy with zeros in the part that a kind of view takes: its own adjoint."""
    out = np.array(input, order="C")
    np.asarray(KERNELS[kind](out, *place))[...] = 0
    return out


@op(
    input=lambda g, dim, index: part_blanked(g, "select", (dim, index)),
    src=lambda g, dim, index: in_order(select(g, dim, index)),
)
def select_scatter(input: Array, src: Array, dim: int, index: int) -> Array:
    """``input`` with ``src`` at ``index`` of one dimension, which ``src`` lacks.

    Raises:
        RuntimeError: if ``src`` has another shape than that part.
        IndexError: for an index out of range.
    """
    return part_written(input, src, "select", (dim, index))


@op(
    input=lambda g, dim, start, end, step: part_blanked(
        g, "slice", (normal_dim(dim, g.ndim), start, end, step)
    ),
    src=lambda g, dim, start, end, step: in_order(
        slice_along(g, normal_dim(dim, g.ndim), start, end, step)
    ),
)
def slice_scatter(
    input: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """``input`` with ``src`` in the range ``start:end:step`` of one dimension.

    Raises:
        RuntimeError: if ``src`` has another shape than that part, or ``step`` is not positive.
    """
    if not input.ndim:
        raise IndexError(NO_SLICE)
    dim = normal_dim(dim, input.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return part_written(input, src, "slice", (dim, start, end, step))


@op(
    input=lambda g, offset, dim1, dim2: part_blanked(g, "diagonal", (offset, dim1, dim2)),
    src=lambda g, offset, dim1, dim2: in_order(diagonal(g, offset, dim1, dim2)),
)
def diagonal_scatter(
    input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """``input`` with ``src`` on a diagonal of two dimensions.

    Raises:
        RuntimeError: if ``src`` has another shape than the diagonal.
    """
    return part_written(input, src, "diagonal", (offset, dim1, dim2))


# A part by its layout in memory


@op(input=lambda g, layout, source: layout_blanked(g, layout, source), method=False, public=False)
def layout_blanked(input: Array, layout: Layout, source: Layout) -> Array:
    """Zeros where ``layout`` leads in memory that holds ``input`` as ``source``."""
    ones = np.ones(layout[0], input.dtype)
    reached: Any = relaid(ones, layout, source, source)
    return np.where(reached != 0, input.dtype.type(0), input)


@op(
    input=lambda g, layout, source: layout_blanked(g, layout, source),
    src=lambda g, layout, source: relaid(g, source, layout, source),
    method=False,
    public=False,
    node="AsStridedScatterBackward0",
)
def placed_by_layout(input: Array, src: Array, layout: Layout, source: Layout) -> Array:
    """The kernel of `as_strided_scatter`."""
    strided_view(input, layout, source)
    if src.shape != layout[0]:
        raise unlike(src.shape, layout[0])
    out = alike(input)
    np.asarray(strided_view(out, layout, layout_of(out)))[...] = src
    return out


@method
@under_vmap(separately)
def as_strided_scatter(
    input: Any, src: Any, size: Any, stride: Any, storage_offset: int | None = None
) -> Any:
    """``input`` with ``src`` where `as_strided` with these arguments would read.

    Raises:
        RuntimeError: if ``src`` has not the shape ``size``, or that leads out of the memory.
    """
    own = layout_of(input._array)
    offset = own[2] if storage_offset is None else as_int(storage_offset)
    return placed_by_layout(input, src, (as_ints(size), as_ints(stride), offset), own)


# Single elements, counted as in one dimension


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
    wrong = (index < -input.size) | (index >= input.size)
    if wrong.any():
        raise IndexError(
            f"out of range: tried to access index {int(index[wrong][0])} on a tensor of "
            f"{input.size} elements."
        )


def put_into(out: Array, index: Array, source: Array, accumulate: bool) -> Array:
    """Write or add elements of ``source`` into ``out``, after a check."""
    check_put(out, index, source)
    flat = out if out.flags.c_contiguous else np.array(out, order="C")
    places, values = index.reshape(-1), source.reshape(-1)
    row = flat.reshape(-1)
    if accumulate:
        np.add.at(row, places, values)
    else:
        row[places] = values
    if flat is not out:
        out[...] = flat
    return out


@op(input=lambda g, index: emptied(g, index), method=False, public=False, node="PutBackward0")
def emptied(input: Array, index: Array) -> Array:
    """Zeros at ``index``, counted as in one dimension: its own adjoint."""
    out = np.array(input, order="C")
    out.reshape(-1)[index.reshape(-1)] = 0
    return out


PUT: dict[str, Any] = {
    "input": lambda g, index, accumulate: g if accumulate else emptied(g, index),
    "source": lambda g, index, source_shape: reshape(take(g, index), source_shape),
}


@op(**PUT)
def put(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """``input`` with elements of ``source`` at ``index``, counted as in one dimension.

    Args:
        accumulate: add to what is there, in place of writing over it.

    Raises:
        RuntimeError: for another dtype; ``index`` is of int64.
        IndexError: for an index out of range, or another number of elements.
    """
    return put_into(input.copy(order_of(input)), index, source, accumulate)


@writer(**PUT, node="PutBackward0", overlap=False)
def put_in_place(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """In-place `put`."""
    return put_into(input, index, source, accumulate)


method(put_in_place, name="put_", public=False)


# Indices


@method
@under_vmap(never(DYNAMIC.format("nonzero_static")))
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first ``size`` rows of `nonzero`, filled up with ``fill_value``.

    Raises:
        RuntimeError: for a negative ``size``.
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    array = input._array
    out = np.full((size, array.ndim), fill_value, np.int64)
    if array.ndim:
        found = np.argwhere(array)[:size]
        out[: len(found)] = found
    return Tensor._lift(out)
