"""Changing a tape: who uses what, one array in place of another, and one write per temporary."""

from collections import defaultdict

import numpy as np

from nanotorch._core.copying import address
from nanotorch.compile.tape import (
    CONSTANT,
    SLOT,
    TEMPORARY,
    Entry,
    Ref,
    Storage,
    Tape,
    replaced,
)

Array = np.ndarray


class Uses:
    """Which entries write and read each storage."""

    def __init__(self, entries: list[Entry]) -> None:
        self.writers: defaultdict[int, list[int]] = defaultdict(list)
        self.readers: defaultdict[int, list[int]] = defaultdict(list)
        for position, entry in enumerate(entries):
            for ref in entry.reads():
                self.readers[ref.storage.number].append(position)
            for out in entry.outs:
                self.writers[out.storage.number].append(position)

    def last_read(self, storage: Storage) -> int:
        """The last entry that reads it; -1 for none."""
        return self.readers[storage.number][-1] if self.readers[storage.number] else -1

    def written_in(self, storage: Storage, start: int, stop: int) -> bool:
        """Whether an entry after ``start`` and before ``stop`` writes to it."""
        return any(start < position < stop for position in self.writers[storage.number])


def moved(ref: Ref, before: Ref, after: Ref) -> Ref:
    """A view of ``before`` as the same view of ``after``, which lies in memory alike."""
    shift = address(ref.array) - address(before.array)
    base = after.array
    array = np.ndarray.__new__(
        np.ndarray, ref.array.shape, ref.array.dtype, flat_bytes(after.storage.base),
        address(base) - address(after.storage.base) + shift, ref.array.strides,
    )  # fmt: skip
    return Ref(after.storage, array)


def flat_bytes(base: Array) -> Array:
    """The memory of an owner, from its first element on."""
    flat = base.ravel("K")
    if address(flat) != address(base):
        raise ValueError("an array that does not own its memory from its first element on")
    return flat.view(np.uint8)


def substitute(entries: list[Entry], before: Ref, after: Ref) -> None:
    """Let everything that reads ``before`` read ``after``."""

    def change(ref: Ref) -> Ref:
        return moved(ref, before, after) if ref.storage is before.storage else ref

    for entry in entries:
        if any(ref.storage is before.storage for ref in entry.inputs()):
            entry.args = replaced(entry.args, change)
            entry.kwargs = replaced(entry.kwargs, change)


def alike(a: Ref, b: Ref) -> bool:
    """Whether two arrays have one shape, dtype and layout."""
    x, y = a.array, b.array
    return x.shape == y.shape and x.strides == y.strides and x.dtype == y.dtype


def owned(ref: Ref) -> bool:
    """Whether views of an array's memory can be made anew."""
    base = ref.storage.base
    return ref.storage.kind != SLOT and (base.flags.c_contiguous or base.flags.f_contiguous)


def split_writes(tape: Tape, escaping: list[Ref]) -> set[int]:
    """Give the result of a computation in place a memory of its own, as far as the tape goes.

    Whether it is in place in the end, the planning of the memory decides.

    Args:
        escaping: changed to what escapes now.

    Returns:
        The numbers of the storages that escape.
    """
    for position, entry in enumerate(tape.entries):
        if entry.fresh or entry.kind != "ufunc" or entry.kwargs or len(entry.outs) != 1:
            continue
        (out,) = entry.outs
        old = out.storage
        if old.kind != TEMPORARY or not out.whole or not owned(out):
            continue
        base = np.empty_like(old.base)
        if base.strides != old.base.strides:
            continue
        before, after = Ref(old, old.base), Ref(tape.add_storage(base, TEMPORARY), base)
        entry.outs, entry.fresh = (after,), True
        for later in tape.entries[position + 1 :]:
            later.outs = tuple(
                [moved(ref, before, after) if ref.storage is old else ref for ref in later.outs]
            )
        substitute(tape.entries[position + 1 :], before, after)
        fill_anew(tape, position, old)
        for n, ref in enumerate(escaping):
            if ref.storage is old:
                new = moved(ref, before, after)
                ref.storage, ref.array = new.storage, new.array
                escaping[n] = ref
    return {ref.storage.number for ref in escaping}


def fill_anew(tape: Tape, stop: int, old: Storage) -> None:
    """Make a constant of memory that is filled with one number and, now, written to no more."""
    writers = [n for n, e in enumerate(tape.entries) if any(o.storage is old for o in e.outs)]
    if len(writers) != 1 or writers[0] >= stop:
        return
    entry = tape.entries[writers[0]]
    if entry.fn is not np.copyto or isinstance(entry.args[1], Ref) or entry.kwargs:
        return
    base = np.full_like(old.base, entry.args[1])
    if base.strides == old.base.strides:
        after = Ref(tape.add_storage(base, CONSTANT), base)
        substitute(tape.entries[writers[0] + 1 :], Ref(old, old.base), after)
