"""Each element along a dimension as a weighted sum of few others: what enlarges, pads and averages.

`Taps` say which others, and with which weights; their adjoint adds each back to where it came from.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.batch_rules import merged
from nanotorch._core.op import Array, op
from nanotorch.ops.comparison import tied

Place = slice | Array  # of elements along a dimension


class Taps:
    """For each element along a dimension the elements that it is made of.

    Args:
        size: of the dimension before.
        index: ``(T, n)`` or ``(n,)``: where the T elements are that make each of n.
        weights: ``(T, n)``; without them each is a copy of one.
    """

    def __init__(self, size: int, index: Array, weights: Array | None = None) -> None:
        rows = np.atleast_2d(index)
        self.size, self.out = size, rows.shape[1]
        every = np.arange(self.out)
        self.steps = [
            Step(every, row, None if weights is None else weights[k]) for k, row in enumerate(rows)
        ]
        self.steps_back = ways_back(rows, weights)

    def apply(self, input: Array, dim: int) -> Array:
        """The new elements along ``dim``."""
        return gathered(self.steps, self.out, input, dim)

    def back(self, g: Array, dim: int) -> Array:
        """The adjoint of `apply`."""
        return gathered(self.steps_back, self.size, g, dim)


class Step:
    """Elements that are added, times weights, at places of which no two are the same."""

    def __init__(self, target: Array, source: Array, weights: Array | None) -> None:
        self.count = len(target)
        self.target, self.source = place(target), place(source)
        self.weights = weights

    def part(self, input: Array, dim: int) -> Array:
        """What is added; perhaps a view."""
        if isinstance(self.source, slice):
            part = input[(*(slice(None),) * dim, self.source)]
        else:
            part = input.take(self.source, dim)
        if self.weights is None:
            return part
        row = self.weights.astype(part.dtype)
        return part * row.reshape((-1,) + (1,) * (part.ndim - dim - 1))


def place(index: Array) -> Place:
    """Places at equal distances as a slice, which is faster."""
    if len(index) == 1:
        return slice(int(index[0]), int(index[0]) + 1)
    steps = set((index[1:] - index[:-1]).tolist())
    if len(steps) == 1 and min(steps) > 0:
        return slice(int(index[0]), int(index[-1]) + 1, steps.pop())
    return index


def ways_back(rows: Array, weights: Array | None) -> list[Step]:
    """The adjoint: in step k, to each place comes what was made of it for the k-th time."""
    places = rows.reshape(-1)
    origins = np.tile(np.arange(rows.shape[1]), len(rows))
    shares = None if weights is None else weights.reshape(-1)
    if shares is not None:
        used = shares != 0
        places, origins, shares = places[used], origins[used], shares[used]
    order = np.argsort(places, kind="stable")
    ascending = places[order]
    turn = np.arange(len(order)) - np.searchsorted(ascending, ascending)
    steps = []
    for k in range(int(turn.max(initial=-1)) + 1):
        now = order[turn == k]
        steps.append(Step(places[now], origins[now], None if shares is None else shares[now]))
    return steps


def gathered(steps: Sequence[Step], size: int, input: Array, dim: int) -> Array:
    """The sum of all steps, along a dimension of the new ``size``."""
    first = steps[0] if steps else None
    if first is not None and first.count == size and isinstance(first.target, slice):
        part = first.part(input, dim)
        out = np.ascontiguousarray(part) if first.weights is not None else part.copy()
        steps = steps[1:]
    else:
        out = np.zeros((*input.shape[:dim], size, *input.shape[dim + 1 :]), input.dtype)
    for step in steps:
        out[(*(slice(None),) * dim, step.target)] += step.part(input, dim)
    return out


Maps = Sequence[Taps | None]  # of the last dimensions; None for one that stays as it is


def along(input: Array, maps: Maps, back: bool = False) -> Array:
    """All taps, or their adjoints, one dimension after the other."""
    out, first = input, input.ndim - len(maps)
    for k, taps in enumerate(maps):
        if taps is not None:
            out = (taps.back if back else taps.apply)(out, first + k)
    if out is input:
        return input.copy()
    return out.astype(input.dtype, copy=False)


@op(
    input=lambda g, maps, back: resample(g, maps, not back),
    method=False,
    public=False,
    batch=merged,
    wide=True,
)
def resample(input: Array, maps: Maps, back: bool = False) -> Array:
    """The elements that ``maps`` make of the last dimensions, or the adjoint of that."""
    return along(input, maps, back)


# How operations are declared that are `resample` by another name, with a node of their own.
RESAMPLE: dict[str, Any] = {
    "input": lambda g, maps: resample(g, maps, True),
    "method": False,
    "public": False,
}
# PyTorch's backward takes the input of these as well.
RESAMPLE_TIED: dict[str, Any] = RESAMPLE | {
    "input": lambda g, input, maps: tied(resample(g, maps, True), input)
}
