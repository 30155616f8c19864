"""The swaps of a shuffle, many at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Swaps done at once where none touches a place of another; longer runs clash more often.
_RUN = 48
# So few elements before the end that nearly every run would clash.
_TAIL = 8192


def shuffled(partners: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers 0 ... n after swapping each place but the last, in order, with its partner.

    A partner is never before its place.

    Shape: `partners` (n,) to (n + 1,).
    """
    order = np.arange(len(partners) + 1)
    start = max(len(partners) - _TAIL, 0) // _RUN * _RUN
    if start:
        _swap_in_runs(order, partners[:start].reshape(-1, _RUN))
    rest = order[start:].tolist()  # The items of a list are faster to swap one by one.
    for place, partner in enumerate((partners[start:] - start).tolist()):
        rest[place], rest[partner] = rest[partner], rest[place]
    order[start:] = rest
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
