"""Memory that several elements, or several tensors, share: what may be written to."""

from typing import TYPE_CHECKING

import numpy as np

from nanotorch._core.copying import address

if TYPE_CHECKING:
    from nanotorch._core.tensor import Tensor

OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)

PARTIAL_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
    "single memory location. Please clone() the tensor before performing the operation."
)


EXPANDED = (
    "Use of {} on expanded tensors is deprecated. Please clone() the tensor before performing this "
    "operation. This also applies to advanced indexing e.g. tensor[{}"
)


def repeats(array: np.ndarray) -> bool:
    """Whether several elements share a place."""
    if 0 not in array.strides or not array.size:
        return False
    return any(d == 0 and n > 1 for d, n in zip(array.strides, array.shape, strict=True))


def check_places(array: np.ndarray) -> None:
    """Refuse a write to memory that several elements share."""
    if repeats(array):
        raise RuntimeError(OVERLAP)


def refuse_overlap(written: "Tensor", read: "Tensor", same_too: bool = False) -> None:
    """Refuse an in-place operation on a tensor with another part of the same memory.

    As in PyTorch, only where both lie densely; the very same elements are no trouble to an
    elementwise operation.

    Args:
        same_too: refuse the same elements as well.
    """
    if read is written and not same_too:
        return
    if read is written:
        raise RuntimeError(PARTIAL_OVERLAP)
    a, b = written._array, read._array
    if not (a.size and b.size and is_dense(a) and is_dense(b)):
        return
    low, other = address(a), address(b)
    same = low == other and a.nbytes == b.nbytes and lie_alike(a, b)
    if (same_too or not same) and low < other + b.nbytes and other < low + a.nbytes:
        raise RuntimeError(PARTIAL_OVERLAP)


def lie_alike(written: np.ndarray, read: np.ndarray) -> bool:
    """Whether the strides are the same; those of dimensions of size 1 are NumPy's affair."""
    triples = zip(written.strides, read.strides, written.shape, strict=False)
    return written.ndim == read.ndim and all(a == b or n == 1 for a, b, n in triples)


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements fill a range of memory, each once, in any order of the dimensions."""
    step = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size != 1:
            if stride != step and array.size:
                return False
            step *= size
    return True
