"""Tensors that lie in the same memory: which they are, and how they come to do so again."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.copying import address

Layout = dict[str, Any]
"""Where an array lies: ``group``, ``offset`` in bytes from its group's beginning, ``strides``."""


def extent(array: np.ndarray) -> tuple[int, int]:
    """The address of an array's first byte and of that after its last."""
    return span(array, address(array), array.strides)


def span(array: np.ndarray, start: int, strides: Sequence[int]) -> tuple[int, int]:
    """As `extent`, of the array with its first element at `start`, and these strides."""
    if not array.size:
        return start, start
    # Negative strides reach below the first element.
    reach = [(n - 1) * step for n, step in zip(array.shape, strides, strict=True)]
    below, above = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    return start + below, start + above + array.itemsize


def groups(arrays: Sequence[np.ndarray]) -> list[list[int]]:
    """The positions of the arrays, those together whose memory overlaps."""
    extents = [extent(array) for array in arrays]
    found: list[list[int]] = []
    end = 0
    for position in sorted(range(len(arrays)), key=extents.__getitem__):
        start, stop = extents[position]
        if found and start < end and start < stop:
            found[-1].append(position)
        else:
            found.append([position])
        end = max(end, stop)
    return found


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements fill the memory they lie in, in whatever order of dimensions."""
    start, stop = extent(array)
    return stop - start == array.nbytes


def layouts(arrays: Sequence[np.ndarray]) -> list[Layout | None]:
    """How to lay out each array again; None for elements in order in memory of their own.

    What is alone in its memory keeps its strides if it fills that memory, and is stored without
    the gaps if it does not.
    """
    result: list[Layout | None] = [None] * len(arrays)
    for number, members in enumerate(groups(arrays)):
        alone = len(members) == 1
        if alone and (arrays[members[0]].flags.c_contiguous or not is_dense(arrays[members[0]])):
            continue
        start = min(extent(arrays[m])[0] for m in members)
        stop = max(extent(arrays[m])[1] for m in members)
        for m in members:
            result[m] = {
                "group": number,
                "bytes": stop - start,
                "offset": address(arrays[m]) - start,
                "strides": list(arrays[m].strides),
            }
    return result


def laid_out(arrays: Sequence[np.ndarray], layouts: Sequence[Layout | None]) -> list[np.ndarray]:
    """The arrays in memory as `layouts` told, with memory of their own else.

    Raises:
        ValueError, TypeError, KeyError, MemoryError: for layouts that cannot be.
    """
    memories: dict[int, np.ndarray] = {}
    result = []
    for array, layout in zip(arrays, layouts, strict=True):
        if layout is None:
            result.append(array.copy())
            continue
        memory = memories.get(layout["group"])
        if memory is None:
            memory = memories[layout["group"]] = np.zeros(layout["bytes"], np.uint8)
        offset, strides = layout["offset"], tuple(layout["strides"])
        # NumPy refuses an array that would lead out of the memory, unless the numbers are so large
        # that its own arithmetic overflows.
        start, stop = span(array, offset, strides)
        if start < 0 or stop > memory.size:
            raise ValueError(f"bytes {start} to {stop} of {memory.size}")
        placed = np.ndarray(array.shape, array.dtype, memory, offset, strides)
        placed[...] = array
        result.append(placed)
    return result
