"""`Flat`, the parameters of a group as one array, so that a step takes a few calls for all of them.

Parameters, and what the optimizer keeps for them, lie side by side (see `home`); in each step their
gradients are copied together. As soon as anything lies elsewhere - a user has given a parameter
other data or a state other tensors, or a parameter has no gradient - each is updated by itself.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor, wrap
from nanotorch.optim.home import aligned, block_of, kept_for, piece, place_of, settle_group

Array = np.ndarray
Group = dict[str, Any]
Kept = Mapping[Any, dict[str, Any]]  # the state of an optimizer
COUNT = "step"
TRIES = 3  # how often the parameters of a group are moved together
LIMIT = 1 << 14  # bytes per parameter on average; above, copying gradients costs more than calls


class Flat:
    """The parameters of a group as one.

    Args:
        params: those of the group, side by side in memory.
        kept: by name, what the optimizer keeps for every element, in the order of the memory.
        state: the optimizer's.

    Attributes:
        array, grad: all parameters and all gradients, with gaps between them.
        state: like that of a parameter, for all elements, without the count of steps.
        counts: of the steps of each parameter.
    """

    def __init__(self, params: list[Tensor], kept: list[str], state: Kept) -> None:
        block, span, _, _ = place_of(params[0]._array)  # type: ignore[misc]
        dtype = params[0]._array.dtype
        size = span // dtype.itemsize
        self.array, *roles = [
            np.frombuffer(block, dtype, size, span * role) for role in range(1 + len(kept))
        ]
        self.state = {name: wrap(role) for name, role in zip(kept, roles, strict=True)}
        gradients = block_of(span)
        self.grad = np.frombuffer(gradients, dtype, size)
        self.params: list[tuple[Any, ...]] = []
        self.kept: list[tuple[Any, ...]] = []
        self.counts: list[Array] = []
        at = 0
        for p in params:
            own = state.get(p)
            self.params.append((p, p._array, own, piece(gradients, at, p._array)))
            for name, tensor in (own or {}).items():
                self.kept.append((own, name, tensor, tensor._array))
                if name == COUNT:
                    self.counts.append(tensor._array)
            at += aligned(p._array.nbytes)

    def gather(self, params: list[Tensor], state: Kept) -> bool:
        """Copy the gradients together, if everything still lies where it did."""
        for p, (known, array, own, place) in zip(params, self.params, strict=True):
            grad = p._grad
            if grad is None or p is not known or p._array is not array or state.get(p) is not own:
                return False
            place[...] = grad._array
        for own, name, tensor, array in self.kept:
            if own.get(name) is not tensor or tensor._array is not array:
                return False
        return not self.counts or len({count.item() for count in self.counts}) < 2

    def count(self) -> float:
        """Add one to the counts of steps, which are equal, and return it."""
        t: float = self.counts[0].item() + 1
        for count in self.counts:
            count[()] = t
        return t

    def note(self, times: int, writer: Any) -> None:
        """Count writes to the parameters."""
        for p, *_ in self.params:
            cell = p._cell
            cell[0] += times
            cell[1] = writer


class Candidate:
    """A group whose parameters may be moved together."""

    __slots__ = ("flat", "group", "tries")

    def __init__(self, group: Group) -> None:
        self.group, self.tries = group, TRIES
        self.flat: Flat | None = None


def flat_of(optimizer: Any, group: Group) -> Flat | None:
    """The parameters of a group as one, their gradients gathered; None if that cannot be.

    Not in the first step, which makes the state.
    """
    params, state = group["params"], optimizer.state
    if len(params) < 2:
        return None
    found = optimizer._flats.get(id(group))
    if found is None or found.group is not group:
        for gone in optimizer._flats.keys() - {id(known) for known in optimizer.param_groups}:
            del optimizer._flats[gone]  # which would hold parameters that nobody updates
        optimizer._flats[id(group)] = Candidate(group)
        return None
    flat: Flat | None = found.flat
    if flat is not None and len(params) == len(flat.params) and flat.gather(params, state):
        return flat
    if not found.tries or type(params[0]._array) is not np.ndarray:  # while a step is traced
        return None
    found.tries -= 1
    flat = found.flat = None  # which holds the arrays
    found.flat = made(params, state)
    return found.flat if found.flat is not None and found.flat.gather(params, state) else None


def made(params: list[Tensor], state: Kept) -> Flat | None:
    """Those of a group as one, moved together if they are not; None if that cannot be."""
    if any(p._grad is None for p in params):
        return None
    if sum(p._array.nbytes for p in params) > LIMIT * len(params):
        return None
    kept = [name for name in state.get(params[0], {}) if name != COUNT]
    for p in params:
        own = state.get(p, {})
        if [name for name in own if name != COUNT] != kept or [*kept_for(p, state)] != kept:
            return None
        if any(not isinstance(tensor, Tensor) for tensor in own.values()):
            return None
    if not are_neighbours(params, kept, state):
        settle_group(params, state)
    return Flat(params, kept, state) if are_neighbours(params, kept, state) else None


def are_neighbours(params: list[Tensor], kept: list[str], state: Kept) -> bool:
    """Whether parameters, and likewise what is kept for them, fill a block one after the other."""
    first = place_of(params[0]._array)
    if first is None:
        return False
    block, span, _, _ = first
    at = 0
    for p in params:
        arrays = [p._array, *[state[p][name]._array for name in kept]]
        for role, array in enumerate(arrays):
            place = place_of(array)
            if place is None or place[0] is not block or place[1:] != (span, role, at):
                return False
        at += aligned(p._array.nbytes)
    return at == span and len(block) == span * (1 + len(kept))
