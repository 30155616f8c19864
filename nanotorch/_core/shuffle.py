"""The swaps of a shuffle, many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # numpy.typing imports for 1 ms
    from numpy.typing import NDArray

# Swaps done at once where none touches a place of another; longer runs clash more often.
_RUN = 48
# So few elements before the end that too many runs would clash.
_TAIL = 16384
# So few elements that they are swapped faster one by one.
_FEW = 384


def shuffled(partners: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers 0 ... n after swapping each place but the last, in order, with its partner.

    A partner is never before its place.

    Shape: `partners` (n,) to (n + 1,).
    """
    if len(partners) < _FEW:
        return np.array(_one_by_one(partners))
    order = np.arange(len(partners) + 1)
    start = max(len(partners) - _TAIL, 0) // _RUN * _RUN
    if start:
        _swap_in_runs(order, partners[:start].reshape(-1, _RUN))
    order[start:] = order[start:][_traced(partners[start:] - start)]
    return order


def _one_by_one(partners: NDArray[np.int64]) -> list[int]:
    """The shuffle of few elements; the items of a list are faster to swap than an array's."""
    order = list(range(len(partners) + 1))
    for place, partner in enumerate(partners.tolist()):
        order[place], order[partner] = order[partner], order[place]
    return order


def _traced(partners: NDArray[np.int64]) -> NDArray[np.int64]:
    """The shuffle without swapping: where the element comes from that each swap puts into place.

    At swap i, what stands at place i was put there by the last swap k < i whose partner was i, and
    it had stood at place k before: so it is `here[i] = here[k]`, or i itself if there was no such
    swap. What swap i puts into place stood at its partner: it is `here[k]` of the last swap k < i
    with the same partner, or the partner itself.
    """
    places = np.arange(len(partners) + 1)
    moved = np.flatnonzero(partners != places[:-1])
    here = places.copy()
    here[partners[moved]] = moved  # of several, the last one counts
    while True:
        further = here[here]
        if np.array_equal(further, here):
            break
        here = further
    order = np.append(partners, here[-1])
    by_partner = np.sort(partners << 32 | places[:-1])
    swaps, met = by_partner & 0xFFFFFFFF, by_partner >> 32
    again = np.flatnonzero(met[1:] == met[:-1])
    order[swaps[again + 1]] = here[swaps[again]]
    return order


def _swap_in_runs(order: NDArray[np.int64], runs: NDArray[np.int64]) -> None:
    """Swap at once where a run's partners all differ and lie behind it, else one by one."""
    ends = np.arange(_RUN, runs.size + 1, _RUN)
    ascending = np.sort(runs, axis=1)
    clashes = (ascending[:, 1:] == ascending[:, :-1]).any(axis=1) | (ascending[:, 0] < ends)
    for run, end, clash in zip(runs, ends.tolist(), clashes.tolist(), strict=True):
        if clash:
            for place, partner in enumerate(run.tolist(), end - _RUN):
                order[place], order[partner] = order[partner], order[place]
        else:
            moved = order[run]
            order[run] = order[end - _RUN : end]
            order[end - _RUN : end] = moved
