"""Batches of sequences of different lengths: padded to the longest, or packed without padding."""

from typing import Any

import numpy as np

from nanotorch._core.op import Array, op

Sizes = tuple[int, ...]


def places(sizes: Sizes) -> tuple[Array, Array]:
    """Step and sequence of each packed row."""
    steps = np.repeat(np.arange(len(sizes)), sizes)
    return steps, np.concatenate([np.arange(n) for n in sizes])


@op(
    input=lambda g, input_shape, sizes: pad_rows(g, sizes, input_shape[0], 0.0),
    method=False,
    public=False,
    node="PackPaddedSequenceBackward0",
)
def pack_rows(input: Array, sizes: Sizes) -> Array:
    """Padded sequences (T, N, ...) as packed rows (sum of sizes, ...)."""
    return input[places(sizes)]


@op(
    data=lambda g, sizes: pack_rows(g, sizes),
    method=False,
    public=False,
    node="CopySlices",
)
def pad_rows(data: Array, sizes: Sizes, length: int, value: Any) -> Array:
    """Packed rows as sequences (length, N, ...), the rest filled with ``value``."""
    out = np.full((length, sizes[0], *data.shape[1:]), value, data.dtype)
    out[places(sizes)] = data
    return out
