"""Tensors that `detach_` has cut off from a history, for which others have saved them."""

from collections.abc import Iterator
from typing import Any

DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
    "not supported, please use out-of-place `.detach()` instead"
)
PART = 2.0**-20


class DetachedCell(list[Any]):
    """The version cell of such a tensor.

    It counts as the cell before does and adds a fraction: what was saved before is noticed where
    versions are compared anyway, and nothing else need be looked at.
    """

    def __init__(self, before: list[Any]) -> None:
        super().__init__(before)
        self.before = before

    def __getitem__(self, index: Any) -> Any:
        return self.before[index] if index else self.before[0] + PART

    def __setitem__(self, index: Any, value: Any) -> None:
        self.before[index] = value if index else value - PART

    def __iter__(self) -> Iterator[Any]:
        return iter((self[0], self[1]))

    @property
    def version(self) -> float:
        """The count, with the fraction."""
        return float(self[0])


def is_since(now: float, saved: float) -> bool:
    """Whether a tensor was cut off since a version of it was saved."""
    return now % 1 != saved % 1
