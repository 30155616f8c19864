"""Copies with values put at single elements, counted as in one dimension."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.copying import order_of
from nanotorch._core.op import Array, method, op
from nanotorch.ops.gathering import take
from nanotorch.ops.inplace import writer
from nanotorch.ops.shape import reshape


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
