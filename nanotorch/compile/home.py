"""Parameters of one optimizer side by side in memory, so that one call can update them all.

A parameter, and what its optimizer keeps for it, may move as long as nobody holds their arrays:
then only the tensors know where they lie. Each still is an array of its own, with its own memory.
"""

import functools
import weakref
from collections.abc import Iterable
from sys import getrefcount
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.compile.tape import Part, address, owner

Array = np.ndarray
ALIGNMENT = 64
ALONE = 2  # what `getrefcount` counts for an array that only its tensor holds

# By `id` of a block: the block and how long the part of each role is.
spans: dict[int, tuple["weakref.ref[Array]", int]] = {}


def aligned(size: int) -> int:
    """The next multiple of the alignment."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def block_of(size: int) -> Array:
    """Zeros that begin at an aligned address."""
    whole = np.zeros(size + ALIGNMENT, np.uint8)
    skip = -address(whole) % ALIGNMENT
    return whole[skip : skip + size]


def piece(block: Array, at: int, like: Array) -> Array:
    """An array like ``like`` in a block; who looks for the memory behind it finds its own only."""
    return np.asarray(Part(block, at, like))


def place_of(array: Array) -> tuple[Array, int, int, int] | None:
    """For an array that has moved: its block, the block's span, its role, and its offset there."""
    memory: Any = owner(array).base
    known = spans.get(id(memory.block)) if isinstance(memory, Part) else None
    if known is None:
        return None
    block = known[0]()
    if block is not memory.block:
        return None
    at = address(array) - address(block)
    return block, known[1], at // known[1], at % known[1]


def movable(tensor: Any, kind: np.dtype) -> bool:
    """Whether nobody but the tensor holds its array."""
    if type(tensor._array) is not np.ndarray or tensor._array.dtype != kind:
        return False
    array = tensor._array
    if not (array.flags.owndata and array.flags.c_contiguous and array.flags.writeable):
        return False
    del array
    return tensor._view is None and getrefcount(tensor._array) == ALONE


def settle(optimizers: Iterable[Any]) -> None:
    """Move the parameters of optimizers together, group by group."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            members: list[list[Tensor]] = []
            for p in group["params"]:
                kept = [
                    t for t in optimizer.state.get(p, {}).values()
                    if isinstance(t, Tensor) and t._array.shape == p._array.shape
                ]  # fmt: skip
                roles = [p, *kept]
                if p._grad is None or not all(movable(t, p._array.dtype) for t in roles):
                    continue
                if members and (
                    len(roles) != len(members[0]) or p._array.dtype != members[0][0]._array.dtype
                ):
                    continue
                members.append(roles)
            if members and members[0][0]._array.ndim:
                move(members)


def move(members: list[list[Tensor]]) -> None:
    """Give the tensors of each role one part of a new block, in the same places."""
    span = sum(aligned(roles[0]._array.nbytes) for roles in members)
    block = block_of(span * len(members[0]))
    key = id(block)
    spans[key] = (weakref.ref(block, functools.partial(spans.pop, key)), span)
    at = 0
    for roles in members:
        for number, tensor in enumerate(roles):
            array = piece(block, span * number + at, tensor._array)
            array[...] = tensor._array
            tensor._array = array
        at += aligned(roles[0]._array.nbytes)
