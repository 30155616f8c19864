"""An error in the middle of a replay: what has been written is put back, and the step itself runs.

The step raises the error once more, with its own type, text and place, and leaves behind what it
leaves behind. Most often nothing that lasts has been written before the last call that may raise:
targets and indices are looked at in the forward pass, parameters change at the end. What is
written before that, such as running means, is copied at the beginning of each replay.
"""

from bisect import bisect
from types import TracebackType
from typing import Any

import numpy as np

from nanotorch._core.twister import Twister
from nanotorch.compile.emit import of_any_shape
from nanotorch.compile.tape import OUTSIDE, SLOT, Entry, Storage


class Undo:
    """What a replay can put back.

    Attributes:
        limit: the last entry before which everything that lasts can be put back.
        saved: the memory to copy before a replay.
        drawn: the generators to copy.
    """

    def __init__(self, entries: list[Entry]) -> None:
        lasting = [n for n, entry in enumerate(entries) if entry.kind == "draw" or kept(entry)]
        first = lasting[0] if lasting else len(entries)
        last = max((n for n, entry in enumerate(entries) if may_raise(entry)), default=-1)
        self.limit = max(first, last)
        self.saved: dict[int, Storage] = {}
        self.drawn: dict[int, Twister] = {}
        for entry in entries[: last + 1] if first < last else []:
            self.saved |= {storage.number: storage for storage in kept(entry)}
            if entry.kind == "draw":
                generator = entry.fn.__self__  # type: ignore[attr-defined]
                self.drawn[id(generator)] = generator
        self.copies: dict[int, np.ndarray] = {}

    def lines(self, name_of: Any, operand: Any) -> list[str]:
        """The copies as source.

        Args:
            name_of: gives a name for an object.
            operand: gives the source of a storage's array.
        """
        lines = []
        for number, storage in self.saved.items():
            copy = self.copies[number] = np.empty_like(storage.base)
            lines.append(f"s{number} = {operand(storage)}")
            lines.append(f"{name_of(copy, 'b')}[...] = s{number}")
        for number, generator in enumerate(self.drawn.values()):
            lines.append(f"d{number} = {name_of(mark, 'f')}({name_of(generator)})")
        return lines

    def put_back(self, error: Exception, first: int, starts: list[int]) -> None:
        """As it was before the replay.

        Args:
            first: the line of the source where the calls begin.
            starts: for each entry, how many lines of calls there are before it.

        Raises:
            Exception: ``error``, if that is not possible.
        """
        trace: TracebackType | None = error.__traceback__
        assert trace is not None
        if bisect(starts, trace.tb_lineno - first) - 1 > self.limit:
            raise error
        found = trace.tb_frame.f_locals
        for storage, copy in self.copies.items():
            np.copyto(found[f"s{storage}"], copy)
        for number, generator in enumerate(self.drawn.values()):
            back(generator, found[f"d{number}"])


def kept(entry: Entry) -> list[Storage]:
    """The memory an entry writes to that is there after the step."""
    return [out.storage for out in entry.outs if out.storage.kind in (OUTSIDE, SLOT)]


def may_raise(entry: Entry) -> bool:
    """Whether an entry looks at values that it may refuse."""
    if entry.kind == "draw":
        return any(True for _ in entry.inputs())
    if of_any_shape(entry):
        return True
    integers = any(ref.array.dtype.kind in "iu" for ref in entry.inputs())
    return integers and entry.kind in ("call", "effect")


def mark(generator: Twister) -> Any:
    """Where a generator is in its stream."""
    return generator._bits.state, generator._spare, generator._fresh, generator._seed


def back(generator: Twister, state: Any) -> None:
    """Go on from there."""
    generator._bits.state, generator._spare, generator._fresh, generator._seed = state
