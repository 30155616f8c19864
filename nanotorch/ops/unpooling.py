"""Elements put back where pooling took them from."""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_rules import merged
from nanotorch._core.op import Array, op
from nanotorch.ops.pooling import planes, pool_pick
from nanotorch.ops.windows import Ints


def put_back(input: Array, indices: Array, size: Ints) -> Array:
    """Zeros of the last dimensions ``size`` with the elements where ``indices`` says.

    Raises:
        RuntimeError: for indices of another dtype or shape, or out of range.
    """
    dims = len(size)
    if indices.dtype != np.int64:
        raise RuntimeError(
            f"elements in indices should be type int64 but got: {dtypes.of_array(indices).char}"
        )
    if indices.shape != input.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    count = math.prod(size)
    if indices.size and not (indices.min() >= 0 and indices.max() < count):
        wrong = indices[(indices < 0) | (indices >= count)].reshape(-1)[0]
        told = "x".join(map(str, size))
        raise RuntimeError(
            f"Found an invalid max index: {wrong} (output volumes are of size {told})"
        )
    out = np.zeros((*input.shape[: input.ndim - dims], *size), input.dtype)
    if input.size:
        out.reshape(-1)[planes(indices, dims, size)] = input.reshape(-1)
    return out


PUT_BACK: dict[str, Any] = {
    "input": lambda g, indices, size: pool_pick(g, indices, len(size)),
    "method": False,
    "public": False,
}


@op(**PUT_BACK, node="MaxUnpool2DBackward0", batch=merged)
def unpool_pictures(input: Array, indices: Array, size: Ints) -> Array:
    """`put_back` over two dimensions."""
    return put_back(input, indices, size)


@op(**PUT_BACK, node="MaxUnpool3DBackward0", batch=merged)
def unpool_volumes(input: Array, indices: Array, size: Ints) -> Array:
    """`put_back` over three dimensions."""
    return put_back(input, indices, size)
