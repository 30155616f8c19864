"""How states pass from step to step of a recurrent layer, over packed sequences.

A layer works on packed rows: those of the first step for all sequences, then those of the second
for the sequences that have one, and so on; sequences are sorted by falling length. ``sizes`` says
how many rows each step has. What is here works on arrays and on Tensors alike.
"""

from typing import Any

from nanotorch.ops.joining import cat_along

Sizes = tuple[int, ...]
Rows = list[tuple[int, int]]


def rows_in_order(sizes: Sizes, reverse: bool) -> Rows:
    """Where the rows of each step begin and end, in the order in which the steps are taken."""
    rows, stop = [], 0
    for size in sizes:
        start, stop = stop, stop + size
        rows.append((start, stop))
    return rows[::-1] if reverse else rows


def carried(state: Any, count: int, initial: Any) -> Any:
    """The state before the next step, which has ``count`` rows.

    Sequences that have ended drop out; those that begin, in the order of a reversed layer, bring
    their initial state.
    """
    held = len(state)
    if held == count:
        return state
    return state[:count] if held > count else cat_along((state, initial[held:count]), 0)


def states_before(states: Any, initial: Any, sizes: Sizes, reverse: bool) -> Any:
    """For each row of ``states`` the state that the step started from."""
    first, total = len(initial), len(states)
    if sizes[0] == sizes[-1]:
        if reverse:
            return cat_along((states[first:], initial), 0)
        return cat_along((initial, states[: total - first]), 0)
    parts, last = [], initial[:0]
    for start, stop in rows_in_order(sizes, reverse):
        parts.append(carried(last, stop - start, initial))
        last = states[start:stop]
    return cat_along(parts[::-1] if reverse else parts, 0)


def in_time(steps: list[Any], reverse: bool) -> list[Any]:
    """What was collected on the way back, first step first."""
    return steps if reverse else steps[::-1]


class Returning:
    """The gradient of a state on its way back through the steps, and that of the initial state."""

    def __init__(self) -> None:
        self.held: Any = None
        self.ended: list[Any] = []

    def added_to(self, own: Any) -> Any:
        """The gradient of the state after a step: what comes back, added to the step's ``own``."""
        held, count = self.held, len(own)
        if held is None:
            return own
        if len(held) > count:  # of a reversed layer: the others began at the step after
            self.ended.append(held[count:])
            held = held[:count]
        if len(held) == count:
            return own + held
        return cat_along((own[: len(held)] + held, own[len(held) :]), 0)

    def initial(self) -> Any:
        """The gradient of the initial state."""
        parts = [self.held, *self.ended[::-1]]
        return parts[0] if len(parts) == 1 else cat_along(parts, 0)
