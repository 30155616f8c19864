"""One call for all parameters: equal updates of neighbours in memory become one on the whole.

What an optimizer does to a parameter is a run of elementwise calls on the parameter, its gradient
and its state. Where the next run does the same to what lies next to it (see `home`), both are one.
Long ones are made in pieces that fit the processor's cache.
"""

from typing import Any

import numpy as np

from nanotorch.compile.effects import Gradient
from nanotorch.compile.passes import PRODUCTS
from nanotorch.compile.rewriting import Uses, moved, owned, substitute
from nanotorch.compile.tape import CONSTANT, OUTSIDE, TEMPORARY, Entry, Ref, Tape, replaced
from nanotorch.optim.home import aligned, place_of

Array = np.ndarray
CHUNK = 1 << 18  # bytes of each operand
LONG = 1 << 22  # bytes from which on pieces pay
Place = tuple[int, int]  # offset and size of a member


class Run:
    """The update of one parameter.

    Attributes:
        key: equal for runs that do the same.
        place: the offset of the member in its part of the block, and its size.
        aside: calls between those of the run that have nothing to do with it.
    """

    def __init__(self, block: Array, span: int, place: Place, dtype: np.dtype) -> None:
        self.block, self.span, self.place, self.dtype = block, span, place, dtype
        self.entries: list[Entry] = []
        self.key: list[Any] = []
        self.aside: list[Entry] = []
        self.temporaries: dict[int, int] = {}


class Bundler:
    """Finds and joins the runs of a tape."""

    def __init__(self, tape: Tape, gradients: list[Gradient]) -> None:
        self.tape, self.gradients = tape, gradients
        self.uses = Uses(tape.entries)
        self.grads = {g.ref.storage.number: g for g in gradients if g.ref is not None}
        self.members: dict[int, tuple[Array, int, int, int]] = {}
        for storage in tape.storages:
            found = place_of(storage.base) if storage.kind == OUTSIDE else None
            if found is not None:
                self.members[storage.number] = found

    def join(self) -> None:
        """Replace runs of equal updates by one."""
        out: list[Entry] = []
        waiting: list[Run] = []
        position, entries = 0, self.tape.entries
        while position < len(entries):
            run, after = self.run_at(position)
            if run is None:
                if not self.is_aside(entries[position]) and waiting:
                    out += self.joined(waiting)
                    waiting = []
                (out if not waiting else waiting[-1].aside).append(entries[position])
                position += 1
                continue
            if waiting and not follows(waiting[-1], run):
                out += self.joined(waiting)
                waiting = []
            waiting.append(run)
            position = after
        self.tape.entries = out + self.joined(waiting)

    def is_aside(self, entry: Entry) -> bool:
        """Whether an entry only deals with single numbers."""
        return entry.kind == "number" or (
            entry.kind in ("effect", "ufunc")
            and all(ref.array.ndim == 0 for ref in (*entry.inputs(), *entry.outs))
            and not any(ref.storage.number in self.members for ref in entry.outs)
        )

    def run_at(self, position: int) -> tuple[Run | None, int]:
        """The run that begins at an entry, and where it ends."""
        entries = self.tape.entries
        run: Run | None = None
        start = position
        while position < len(entries):
            entry = entries[position]
            if run is not None and self.is_aside(entry):
                run.aside.append(entry)
                position += 1
                continue
            member = self.member_of(entry, run)
            if member is None:
                break
            if run is None:
                block, span, _, at = member
                size = entry.outs[0].array.nbytes
                run = Run(block, span, (at, size), entry.outs[0].array.dtype)
            elif member[0] is not run.block or member[3] != run.place[0]:
                break
            description = self.describe(entry, run)
            if description is None:
                break
            run.entries.append(entry)
            run.key.append(description)
            position += 1
        if run is None or not run.entries or not self.closed(run, start, position):
            return None, start
        return run, position

    def member_of(self, entry: Entry, run: Run | None) -> tuple[Array, int, int, int] | None:
        """The member that an elementwise call works on."""
        if entry.kind != "ufunc" or entry.kwargs or entry.fn in PRODUCTS or len(entry.outs) != 1:
            return None
        refs = [*entry.inputs(), *entry.outs]
        for ref in refs:
            if ref.storage.number in self.members:
                return self.members[ref.storage.number]
        for ref in refs:
            if run is not None and ref.storage.number in run.temporaries:
                return (run.block, run.span, 0, run.place[0])
        grads = [self.grads[r.storage.number] for r in refs if r.storage.number in self.grads]
        if grads and not any(r.storage.number in self.grads for r in entry.outs):
            return place_of(grads[0].leaf._array)
        return None

    def describe(self, entry: Entry, run: Run) -> Any:
        """What a call does, in terms that are the same for other members; None if it has others."""
        names = []
        for part in (*entry.args, *entry.outs):
            name = self.name(part, run, part is entry.outs[0] and entry.fresh)
            if name is None:
                return None
            names.append(name)
        return (entry.fn, tuple(names))

    def name(self, part: Any, run: Run, fresh: bool) -> Any:
        """An operand in terms of its role."""
        if not isinstance(part, Ref):
            return None
        number, array = part.storage.number, part.array
        if part.storage.kind == CONSTANT and array.ndim == 0:
            return ("constant", array.tobytes(), array.dtype.str)
        if part.storage.kind == TEMPORARY and array.ndim == 0 and array.dtype == run.dtype:
            writers = self.uses.writers[number]
            if len(writers) == 1 and self.tape.entries[writers[0]].kind == "number":
                return ("number", number)
        if array.nbytes != run.place[1] or array.dtype != run.dtype:
            return None
        if not array.flags.c_contiguous or not array.ndim:
            return None
        if number in self.members:
            block, _, role, at = self.members[number]
            return ("role", role) if block is run.block and at == run.place[0] else None
        if number in self.grads:
            place = place_of(self.grads[number].leaf._array)
            good = place is not None and place[0] is run.block and place[3] == run.place[0]
            return ("gradient",) if good and not fresh and part.whole and owned(part) else None
        if fresh and part.whole and number not in run.temporaries:
            run.temporaries[number] = len(run.temporaries)
        if number in run.temporaries:
            return ("temporary", run.temporaries[number])
        return None

    def closed(self, run: Run, start: int, stop: int) -> bool:
        """Whether nothing outside the run uses its temporaries."""
        return all(
            start <= position < stop
            for number in run.temporaries
            for position in (*self.uses.writers[number], *self.uses.readers[number])
        )

    def joined(self, runs: list[Run]) -> list[Entry]:
        """One run for all."""
        if not runs:
            return []
        aside = [entry for run in runs for entry in run.aside]
        total = runs[-1].place[0] + runs[-1].place[1] - runs[0].place[0]
        if len(runs) == 1 and total < LONG:
            return [*aside, *runs[0].entries]
        start = runs[0].place[0]
        count = -(-total // runs[0].dtype.itemsize)
        gradient = self.gradients_together(runs, count)
        first = runs[0]
        flats: dict[Any, Ref] = {}

        def flat(ref: Ref) -> Ref:
            number = ref.storage.number
            if number in self.members:
                role = self.members[number][2]
                if role not in flats:
                    at = first.span * role + start
                    whole = np.frombuffer(first.block, first.dtype, count, at)
                    whole.flags.writeable = True
                    flats[role] = Ref(self.tape.add_storage(whole, OUTSIDE), whole)
                return flats[role]
            if gradient is not None and ref.storage is gradient.storage:
                return gradient
            if number in first.temporaries:
                key = ("temporary", number)
                if key not in flats:
                    whole = np.empty(count, first.dtype)
                    flats[key] = Ref(self.tape.add_storage(whole, TEMPORARY), whole)
                return flats[key]
            return ref

        entries = []
        for entry in first.entries:
            args = replaced(entry.args, flat)
            outs = [flat(out) for out in entry.outs]
            entries.append(Entry("ufunc", entry.fn, args, {}, outs, entry.fresh))
        if total >= LONG:
            entries = [in_pieces(entries, self.tape)]
        return [*aside, *entries]

    def gradients_together(self, runs: list[Run], count: int) -> Ref | None:
        """The gradients of all members as one array, in the places of the members."""
        used = [self.gradient_of(run) for run in runs]
        if used[0] is None:
            return None
        whole = np.zeros(count, runs[0].dtype)
        storage = self.tape.add_storage(whole, TEMPORARY)
        for run, gradient in zip(runs, used, strict=True):
            assert gradient is not None
            assert gradient.ref is not None
            before = Ref(gradient.ref.storage, gradient.ref.storage.base)
            at = (run.place[0] - runs[0].place[0]) // run.dtype.itemsize
            part = whole[at : at + before.array.size].reshape(before.array.shape)
            after = Ref(storage, part)
            for other in self.tape.entries:
                other.outs = tuple(
                    [moved(r, before, after) if r.storage is before.storage else r
                     for r in other.outs]
                )  # fmt: skip
            substitute(self.tape.entries, before, after)
            gradient.ref.storage, gradient.ref.array = storage, part
        return Ref(storage, whole)

    def gradient_of(self, run: Run) -> Gradient | None:
        """The gradient that a run reads."""
        for entry in run.entries:
            for ref in entry.inputs():
                if ref.storage.number in self.grads:
                    return self.grads[ref.storage.number]
        return None


def follows(before: Run, run: Run) -> bool:
    """Whether a run does the same to the next member."""
    end = before.place[0] + aligned(before.place[1])
    return run.block is before.block and run.place[0] == end and run.key == before.key


def in_pieces(entries: list[Entry], tape: Tape) -> Entry:
    """Elementwise calls one after the other on a piece that the cache holds, then on the next."""
    size = max(out.array.size for entry in entries for out in entry.outs)
    step = CHUNK // entries[0].outs[0].array.itemsize
    scratch: dict[int, Ref] = {}
    outs: list[Ref] = []
    for entry in entries:
        for out in entry.outs:
            if out.storage.kind == TEMPORARY and entry.fresh:
                small = np.empty(step, out.array.dtype)
                scratch[out.storage.number] = Ref(tape.add_storage(small, TEMPORARY), small)
                outs.append(scratch[out.storage.number])
            elif out.storage.kind != TEMPORARY:
                outs.append(out)
    inputs = [
        ref for entry in entries for ref in entry.inputs() if ref.storage.number not in scratch
    ]
    pieces = Pieces(entries, scratch, size, step)
    return Entry("pieces", pieces, inputs, {}, outs, False)


class Pieces:
    """Calls to be made piece by piece.

    Attributes:
        scratch: by number of the storage: what stands for a temporary in every piece.
    """

    __name__ = "pieces"

    def __init__(self, entries: list[Entry], scratch: dict[int, Ref], size: int, step: int) -> None:
        self.entries, self.scratch, self.size, self.step = entries, scratch, size, step

    def __call__(self) -> None:
        """Only a name for a tape's entry."""


def bundle(tape: Tape, gradients: list[Gradient]) -> None:
    """Join what can be joined."""
    bundler = Bundler(tape, gradients)
    if bundler.members:
        bundler.join()
