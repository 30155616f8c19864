"""Each element along a dimension as a weighted sum of few others: what enlarges, pads and averages.

`Taps` say which others, and with which weights; their adjoint adds each back to where it came from.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.op import Array, op

HALF = np.dtype(np.float16)


class Taps:
    """For each element along a dimension the elements that it is made of.

    Args:
        size: of the dimension before.
        index: ``(T, n)`` or ``(n,)``: where the T elements are that make each of n.
        weights: ``(T, n)``; without them each is a copy of one.
    """

    def __init__(self, size: int, index: Array, weights: Array | None = None) -> None:
        self.size = size
        self.index = np.atleast_2d(index)
        self.weights = weights
        self.ways_back = [way_back(row) for row in self.index]

    def weighted(self, k: int, part: Array, dim: int) -> Array:
        """The k-th elements times their weights."""
        if self.weights is None:
            return part
        row = self.weights[k].astype(part.dtype)
        return part * row.reshape((-1,) + (1,) * (part.ndim - dim - 1))

    def apply(self, input: Array, dim: int) -> Array:
        """The new elements along ``dim``."""
        out = self.weighted(0, input.take(self.index[0], dim), dim)
        for k, row in enumerate(self.index[1:], 1):
            out += self.weighted(k, input.take(row, dim), dim)
        return out

    def back(self, g: Array, dim: int) -> Array:
        """The adjoint of `apply`."""
        shape = list(g.shape)
        shape[dim] = self.size
        out = np.zeros(shape, g.dtype)
        if not g.size:
            return out
        before: tuple[Any, ...] = (slice(None),) * dim
        for k, (order, starts, places) in enumerate(self.ways_back):
            part = self.weighted(k, g, dim)
            if order is not None:
                part = part.take(order, dim)
            out[(*before, places)] += np.add.reduceat(part, starts, dim)
        return out


def way_back(row: Array) -> tuple[Array | None, Array, Array]:
    """How to add up what came from the same place.

    Returns:
        The order in which places ascend, if they do not; where each place begins; the places.
    """
    order = None if (row[1:] >= row[:-1]).all() else np.argsort(row, kind="stable")
    ascending = row if order is None else row[order]
    places, starts = np.unique(ascending, return_index=True)
    return order, starts, places


Maps = Sequence[Taps | None]  # of the last dimensions; None for one that stays as it is


def along(input: Array, maps: Maps, back: bool = False) -> Array:
    """All taps, or their adjoints, one dimension after the other."""
    source = input.astype(np.float32) if input.dtype is HALF else input
    out, first = source, input.ndim - len(maps)
    for k, taps in enumerate(maps):
        if taps is not None:
            out = (taps.back if back else taps.apply)(out, first + k)
    if out is input:
        return input.copy()
    return out.astype(input.dtype, copy=False)


@op(input=lambda g, maps: resample_backward(g, maps), method=False, public=False)
def resample(input: Array, maps: Maps) -> Array:
    """The elements that ``maps`` make of the last dimensions."""
    return along(input, maps)


@op(g=lambda g, maps: resample(g, maps), method=False, public=False)
def resample_backward(g: Array, maps: Maps) -> Array:
    """The adjoint of `resample`."""
    return along(g, maps, True)


# How operations are declared that are `resample` by another name, with a node of their own.
RESAMPLE: dict[str, Any] = {
    "input": lambda g, maps: resample_backward(g, maps),
    "method": False,
    "public": False,
}
