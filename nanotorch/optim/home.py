"""Parameters of one optimizer side by side in memory, so that one call can update them all.

A parameter, and what its optimizer keeps for it, may move as long as nobody holds their arrays:
then only the tensors know where they lie. Each still is an array of its own, with its own memory.
"""

import functools
import weakref
from collections.abc import Iterable, Mapping
from sys import getrefcount
from typing import Any

import numpy as np

from nanotorch._core.copying import address
from nanotorch._core.tensor import Tensor

Array = np.ndarray
ALIGNMENT = 64
ALONE = 2  # what `getrefcount` counts for an array that only one tensor, or array, holds

# By `id` of a block: the block and how long the part of each role is.
spans: dict[int, tuple["weakref.ref[Array]", int]] = {}


def owner(array: Array) -> Array:
    """The array whose memory ``array`` is a view of."""
    base: Any = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            array = base
        elif not hasattr(base, "base"):  # what `as_strided` makes has one too
            break
        base = base.base
    return array


class Part:
    """Some bytes of a block: what an array in it is a view of, so that nobody sees the others.

    Args:
        at: where they begin.
        like: has the shape, dtype and strides of the array.
    """

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: Array, at: int, like: Array) -> None:
        self.block = block
        self.__array_interface__ = {
            "version": 3, "data": (address(block) + at, False), "shape": like.shape,
            "typestr": like.dtype.str, "strides": like.strides,
        }  # fmt: skip


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
    memory: Any = array.base
    if type(memory) is np.ndarray and memory.flags.owndata:  # others may hold views of it, too
        own = getrefcount(memory) == ALONE + 1
    else:  # a file's or a buffer's memory is there to be seen by others
        own = array.flags.owndata or isinstance(memory, Part)
    del memory
    if not (own and array.flags.c_contiguous and array.flags.writeable):
        return False
    del array
    return tensor._view is None and getrefcount(tensor._array) == ALONE


def settle(optimizers: Iterable[Any]) -> None:
    """Move the parameters of optimizers together, group by group."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            settle_group(group["params"], optimizer.state)


def settle_group(params: list[Tensor], state: Mapping[Any, Any]) -> None:
    """Move together those of a group that have a gradient, with all that is kept for them."""
    members: list[list[Tensor]] = []
    for p in params:
        roles = [p, *kept_for(p, state).values()]
        if p._grad is None or not all(movable(t, p._array.dtype) for t in roles):
            continue
        if members and (
            len(roles) != len(members[0]) or p._array.dtype != members[0][0]._array.dtype
        ):
            continue
        members.append(roles)
    if members and members[0][0]._array.ndim:
        move(members)


def kept_for(p: Tensor, state: Mapping[Any, Any]) -> dict[str, Tensor]:
    """What an optimizer keeps for every element of a parameter, by name."""
    held = state.get(p, {})
    return {
        name: t
        for name, t in held.items()
        if isinstance(t, Tensor) and t._array.shape == p._array.shape
    }


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
