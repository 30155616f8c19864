"""One buffer for the parameters of a group and their state, for fast steps."""

import functools
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from nanotorch._core.layout import address
from nanotorch._core.ownership import IN_VARIABLE, is_alone, references
from nanotorch._core.tensor import Tensor, wrap

# Parameters of one optimizer are adjacent in memory, so that one call can update them all.
#
# A parameter and its state may move as long as only their tensors refer to their arrays. Each array
# still appears to own separate memory.


Array = np.ndarray
ALIGNMENT = 64

# By `id` of a block: the block, and the length of the part of each role in bytes.
spans: dict[int, tuple["weakref.ref[Array]", int]] = {}


def memory_owner(array: Array) -> Array:
    """The array whose memory ``array`` is a view of."""
    base: Any = array.base
    while base is not None:
        if isinstance(base, np.ndarray):
            array = base
        elif not hasattr(base, "base"):  # the base of an `as_strided` result has one, too
            break
        base = base.base
    return array


class Part:
    """Some bytes of a block: the base of one array in it, which hides the rest of the block.

    Args:
        block: the block.
        at: the offset of the array in bytes.
        like: an array of the same shape, dtype and strides.
    """

    __slots__ = ("__array_interface__", "block")

    def __init__(self, block: Array, at: int, like: Array) -> None:
        self.block = block
        self.__array_interface__ = {
            "version": 3, "data": (address(block) + at, False), "shape": like.shape,
            "typestr": like.dtype.str, "strides": like.strides,
        }  # fmt: skip


def align(size: int) -> int:
    """``size`` rounded up to a multiple of the alignment."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def aligned_zeros(size: int) -> Array:
    """``size`` bytes of zeros at an aligned address."""
    whole = np.zeros(size + ALIGNMENT, np.uint8)
    skip = -address(whole) % ALIGNMENT
    return whole[skip : skip + size]


def array_in_block(block: Array, at: int, like: Array) -> Array:
    """An array like ``like`` at offset ``at`` of a block; its base covers only its own bytes."""
    return np.asarray(Part(block, at, like))


def location_in_block(array: Array) -> tuple[Array, int, int, int] | None:
    """The block of an array, the block's span, the array's role and its offset in the span.

    None for an array that is not in a block.
    """
    memory: Any = memory_owner(array).base
    known = spans.get(id(memory.block)) if isinstance(memory, Part) else None
    if known is None:
        return None
    block = known[0]()
    if block is not memory.block:
        return None
    at = address(array) - address(block)
    return block, known[1], at // known[1], at % known[1]


def is_movable(tensor: Any, kind: np.dtype) -> bool:
    """Whether the tensor's array has dtype ``kind`` and no other reference, so it may move."""
    if type(tensor._array) is not np.ndarray or tensor._array.dtype != kind:
        return False
    array = tensor._array
    memory: Any = array.base
    if type(memory) is np.ndarray and memory.flags.owndata:  # there may be other views of it
        own = references(memory) == IN_VARIABLE + 1
    else:  # others share the memory of a file or a buffer
        own = array.flags.owndata or isinstance(memory, Part)
    del memory
    if not (own and array.flags.c_contiguous and array.flags.writeable):
        return False
    del array
    return is_alone(tensor)


def move_together(optimizers: Iterable[Any]) -> None:
    """Move the parameters of optimizers into blocks, group by group."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            move_group(group["params"], optimizer.state)


def move_group(params: list[Tensor], state: Mapping[Any, Any]) -> None:
    """Move the parameters with a gradient into one block, with their state."""
    members: list[list[Tensor]] = []
    for p in params:
        roles = [p, *state_tensors_of(p, state).values()]
        if p._grad is None or not all(is_movable(t, p._array.dtype) for t in roles):
            continue
        if members and (
            len(roles) != len(members[0]) or p._array.dtype != members[0][0]._array.dtype
        ):
            continue
        members.append(roles)
    if members and members[0][0]._array.ndim:
        move_into_block(members)


def state_tensors_of(p: Tensor, state: Mapping[Any, Any]) -> dict[str, Tensor]:
    """The state tensors of a parameter's shape, by name."""
    held = state.get(p, {})
    return {
        name: t
        for name, t in held.items()
        if isinstance(t, Tensor) and t._array.shape == p._array.shape
    }


def move_into_block(members: list[list[Tensor]]) -> None:
    """Move tensors into a new block: one part per role, with the same offsets in each part."""
    span = sum(align(roles[0]._array.nbytes) for roles in members)
    block = aligned_zeros(span * len(members[0]))
    key = id(block)
    spans[key] = (weakref.ref(block, functools.partial(spans.pop, key)), span)
    at = 0
    for roles in members:
        for number, tensor in enumerate(roles):
            array = array_in_block(block, span * number + at, tensor._array)
            array[...] = tensor._array
            tensor._array = array
        at += align(roles[0]._array.nbytes)


# `Flat`, the parameters of a group as one array, so that a step needs only a few calls.
#
# Parameters and their state are adjacent (see above); each step copies their gradients into one
# array. If anything is elsewhere - a user replaced a parameter's data or a state tensor, or a
# parameter has no gradient - each parameter is updated separately.


Group = dict[str, Any]
Kept = Mapping[Any, dict[str, Any]]  # the state of an optimizer
COUNT = "step"
TRIES = 3  # attempts to move the parameters of a group together
LIMIT = 1 << 14  # bytes per parameter on average; above, copies of gradients cost more than calls


class Flat:
    """The parameters of a group as one array.

    Args:
        params: the parameters of the group, adjacent in memory.
        kept: the names of the state tensors, in the order of the memory.
        state: the state of the optimizer.

    Attributes:
        array, grad: all parameters and all gradients, with gaps between them.
        state: the state of all elements, by name, without the step count.
        counts: the step counts of the parameters.
    """

    def __init__(self, params: list[Tensor], kept: list[str], state: Kept) -> None:
        block, span, _, _ = location_in_block(params[0]._array)  # type: ignore[misc]
        dtype = params[0]._array.dtype
        size = span // dtype.itemsize
        self.array, *roles = [
            np.frombuffer(block, dtype, size, span * role) for role in range(1 + len(kept))
        ]
        self.state = {name: wrap(role) for name, role in zip(kept, roles, strict=True)}
        gradients = aligned_zeros(span)
        self.grad = np.frombuffer(gradients, dtype, size)
        self.arrays = [p._array for p in params]
        self.owns: list[Any] = [state.get(p) for p in params]
        self.places: list[Array] = []
        at = 0
        for array in self.arrays:
            self.places.append(array_in_block(gradients, at, array))
            at += align(array.nbytes)
        self.kept = [
            (own, name, tensor._array) for own in self.owns for name, tensor in (own or {}).items()
        ]
        self.counts = [own[COUNT]._array for own in self.owns if own and COUNT in own]

    def gather(self, params: list[Any], state: Kept) -> bool:
        """Copy the gradients into `grad`; returns False if a parameter or its state has moved."""
        try:
            for p, array, own, place in zip(
                params, self.arrays, self.owns, self.places, strict=True
            ):
                if p._array is not array or state.get(p) is not own:
                    return False
                place[...] = p._grad._array
            for own, name, array in self.kept:
                if own[name]._array is not array:
                    return False
        except (KeyError, AttributeError):  # state or a gradient is missing
            return False
        return not self.counts or len({count.item() for count in self.counts}) < 2

    def note(self, params: list[Tensor], times: int, writer: Any) -> None:
        """Count ``times`` writes to each parameter, by ``writer``."""
        for p in params:
            cell = p._writes or p._cell
            cell[0] += times
            cell[1] = writer

    def count(self) -> float:
        """Add one to the step counts, which are equal; returns the count."""
        t: float = self.counts[0].item() + 1
        for count in self.counts:
            count[()] = t
        return t


class Candidate:
    """A group whose parameters may become a `Flat`."""

    __slots__ = ("flat", "group", "tries")

    def __init__(self, group: Group) -> None:
        self.group, self.tries = group, TRIES
        self.flat: Flat | None = None


def flat_group_of(optimizer: Any, group: Group) -> Flat | None:
    """The `Flat` of a group with its gradients, or None if it is not possible.

    The first step returns None, because it creates the state.
    """
    params, state = group["params"], optimizer.state
    if len(params) < 2:
        return None
    found = optimizer._flats.get(id(group))
    if found is None or found.group is not group:
        for gone in optimizer._flats.keys() - {id(known) for known in optimizer.param_groups}:
            del optimizer._flats[gone]  # it would keep parameters that are no longer updated
        optimizer._flats[id(group)] = Candidate(group)
        return None
    flat: Flat | None = found.flat
    if flat is not None and len(params) == len(flat.arrays) and flat.gather(params, state):
        return flat
    if not found.tries or type(params[0]._array) is not np.ndarray:  # while a step is traced
        return None
    found.tries -= 1
    flat = found.flat = None  # the old one refers to the arrays, which could not move
    found.flat = make_flat(params, state)
    return found.flat if found.flat is not None and found.flat.gather(params, state) else None


def make_flat(params: list[Tensor], state: Kept) -> Flat | None:
    """The `Flat` of parameters, moved together if necessary; None if it is not possible."""
    if any(p._grad is None for p in params):
        return None
    if sum(p._array.nbytes for p in params) > LIMIT * len(params):
        return None
    kept = [name for name in state.get(params[0], {}) if name != COUNT]
    for p in params:
        own = state.get(p, {})
        if [name for name in own if name != COUNT] != kept or [*state_tensors_of(p, state)] != kept:
            return None
        if any(not isinstance(tensor, Tensor) for tensor in own.values()):
            return None
    if not are_neighbours(params, kept, state):
        move_group(params, state)
    return Flat(params, kept, state) if are_neighbours(params, kept, state) else None


def are_neighbours(params: list[Tensor], kept: list[str], state: Kept) -> bool:
    """Whether parameters and each kind of their state fill a block in order."""
    first = location_in_block(params[0]._array)
    if first is None:
        return False
    block, span, _, _ = first
    at = 0
    for p in params:
        arrays = [p._array, *[state[p][name]._array for name in kept]]
        for role, array in enumerate(arrays):
            place = location_in_block(array)
            if place is None or place[0] is not block or place[1:] != (span, role, at):
                return False
        at += align(p._array.nbytes)
    return at == span and len(block) == span * (1 + len(kept))
