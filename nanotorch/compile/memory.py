"""Which temporaries share memory, and which need none."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch.compile.rewriting import Uses
from nanotorch.compile.tape import CONSTANT, TEMPORARY, Entry, Ref, Storage, refs_in
from nanotorch.optim.home import aligned, block_of

Array = np.ndarray
# On NumPy's scalars these are operators, which are much faster than functions on 0-d arrays.
OPERATORS: dict[Any, str] = {
    np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}",
    np.true_divide: "{} / {}", np.negative: "-{}",
}  # fmt: skip
SCALAR_FUNCTIONS = {
    np.exp, np.log, np.tanh, np.sqrt, np.sin, np.cos, np.abs, np.log1p, np.expm1, np.maximum,
    np.minimum, np.reciprocal, np.exp2, np.log2, np.log10, np.tan,
}  # fmt: skip

PRODUCTS = (np.matmul, np.dot)


class Layout:
    """Where every temporary of a tape lies.

    Attributes:
        scalars: numbers of storages that are NumPy scalars in local variables.
        rebound: those that a call makes anew each time, as a local variable.
        offsets: for the others, where they lie in the common memory.
        size: of the common memory, in bytes.
        preset: temporaries to be filled once: what is written to them is the same region each time.
    """

    def __init__(self, entries: list[Entry], own: set[int], escaping: list[Ref]) -> None:
        self.entries, self.own, self.escaping = entries, own, escaping
        self.kept = {ref.storage.number for ref in escaping}
        self.uses = Uses(entries)
        self.scalars: set[int] = set()
        self.rebound: set[int] = set()
        self.offsets: dict[int, int] = {}
        self.size = 0
        self.preset: dict[int, Ref] = {}
        self.storages: dict[int, Storage] = {}
        for position, entry in enumerate(entries):
            for out in entry.outs:
                if out.storage.kind == TEMPORARY:
                    self.storages[out.storage.number] = out.storage
                    self.classify(position, entry, out)
        self.presets()
        self.place()

    def classify(self, position: int, entry: Entry, out: Ref) -> None:
        """Whether a temporary is a scalar, or made anew by a call."""
        number = out.storage.number
        if number in self.own or self.uses.writers[number] != [position] or not entry.fresh:
            return
        if not all(ref.key == out.key for ref in self.all_refs(number)):
            return
        if out.array.ndim == 0 and self.is_scalar(entry):
            self.scalars.add(number)
        elif entry.kind in ("call", "draw"):
            self.rebound.add(number)

    def all_refs(self, number: int) -> list[Ref]:
        """All uses of a storage."""
        escaping = [ref for ref in self.escaping if ref.storage.number == number]
        return escaping + [
            ref
            for position in (*self.uses.writers[number], *self.uses.readers[number])
            for ref in (*self.entries[position].outs, *self.entries[position].inputs())
            if ref.storage.number == number
        ]

    def is_scalar(self, entry: Entry) -> bool:
        """Whether a 0-d result is better a NumPy scalar."""
        if entry.kind == "reduce":
            return "where" not in entry.kwargs
        if entry.kind == "call":
            return len(entry.outs) == 1
        if entry.kind != "ufunc" or entry.kwargs:
            return False
        small = all(isinstance(a, Ref) and a.array.ndim == 0 for a in entry.args)
        if entry.fn in PRODUCTS:
            return True
        return small and (entry.fn in OPERATORS or entry.fn in SCALAR_FUNCTIONS)

    def presets(self) -> None:
        """Find zeros of which the same region is overwritten each time: they stay zeros."""
        gone = set()
        for number in self.storages:
            writers = self.uses.writers[number]
            first = self.entries[writers[0]]
            if number in self.own or len(writers) < 2 or first.fn is not np.copyto:
                continue
            rest = [self.entries[w] for w in writers[1:]]
            value = first.args[1]
            constant = not isinstance(value, Ref) or value.storage.kind == CONSTANT
            early = any(r < writers[-1] and r not in writers for r in self.uses.readers[number])
            if constant and not first.kwargs and not early and all(map(overwrites, rest)):
                self.preset[number] = first.args[1]
                gone.add(writers[0])
        if gone:
            self.entries = [e for n, e in enumerate(self.entries) if n not in gone]
            self.uses = Uses(self.entries)

    def place(self) -> None:
        """Give every other temporary a place; those that are not needed any more make room."""
        taken: list[tuple[int, int, int]] = []  # start, stop, last use
        placed: set[int] = set()
        for number in self.preset:  # written before the first call
            placed.add(number)
            size = aligned(self.storages[number].base.nbytes)
            self.offsets[number] = self.size
            taken.append((self.size, self.size + size, len(self.entries)))
            self.size += size
        for position, entry in enumerate(self.entries):
            for out in entry.outs:
                number = out.storage.number
                if out.storage.kind != TEMPORARY or number in placed | self.scalars | self.rebound:
                    continue
                placed.add(number)
                if number in self.own:
                    continue
                size = aligned(out.storage.base.nbytes)
                last = self.last_use(number)
                start = self.in_place(entry, out, position)
                if start is None:
                    taken = [t for t in taken if t[2] >= position]
                    start = gap(taken, size)
                self.offsets[number] = start
                taken.append((start, start + size, last))
                self.size = max(self.size, start + size)

    def last_use(self, number: int) -> int:
        """The last entry for which a storage must keep its values."""
        if number in self.kept or number in self.preset:
            return len(self.entries)
        return max(self.uses.last_read(self.storages[number]), self.uses.writers[number][-1])

    def in_place(self, entry: Entry, out: Ref, position: int) -> int | None:
        """Where an operand lies that is read for the last time and can be overwritten."""
        if entry.kind != "ufunc" or not entry.fresh or entry.fn in PRODUCTS:
            return None
        for ref in refs_in(entry.args):
            number = ref.storage.number
            if (
                number in self.offsets
                and self.last_use(number) == position
                and ref.storage.base.nbytes == out.storage.base.nbytes
                and ref.array.shape == out.array.shape
                and ref.array.strides == out.array.strides
                and ref.array.dtype == out.array.dtype
                and ref.whole
                and sum(r.storage.number == number for r in refs_in(entry.args)) == 1
            ):
                return self.offsets[number]
        return None

    def memory(self) -> tuple[Array, Callable[[Ref], Array]]:
        """New common memory, and what gives the arrays in it."""
        block = block_of(self.size)

        def array_of(ref: Ref) -> Array:
            if ref.storage.number not in self.offsets:  # never written to: as it is
                return ref.array
            at = self.offsets[ref.storage.number] + ref.offset
            a = ref.array
            return np.ndarray(a.shape, a.dtype, block, at, a.strides)

        return block, array_of


def overwrites(entry: Entry) -> bool:
    """Whether an entry writes to a region that does not depend on values, and reads none of it."""
    if entry.kind == "effect" and getattr(entry.fn, "__name__", "") == "setitem":
        target, index, value = entry.args
        if any(ref.storage is target.storage for ref in refs_in((value,))):
            return False
        return not list(refs_in(index if isinstance(index, tuple) else (index,)))
    return False


def gap(taken: list[tuple[int, int, int]], size: int) -> int:
    """The first place with room."""
    at = 0
    for start, stop, _ in sorted(taken):
        if start - at >= size:
            return at
        at = max(at, stop)
    return at
