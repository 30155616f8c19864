"""The source of a replay's calls: joined and sped up; the rollback after an error."""

import operator
from bisect import bisect
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

import numpy as np

from nanotorch._core.random import Twister, state_bytes
from nanotorch.compile.tape import (
    CONSTANT,
    OPERATORS,
    OUTSIDE,
    PRODUCTS,
    SLOT,
    TEMPORARY,
    Entry,
    Gradient,
    Layout,
    Ref,
    Storage,
    Tape,
    Uses,
    map_refs,
    owns_memory,
    substitute,
)
from nanotorch.optim.flat_buffer import align, location_in_block

# One call for all parameters: equal updates of neighbours in memory become one update.
#
# An optimizer updates a parameter by a run of elementwise calls on the parameter, its gradient and
# its state. If the next run makes the same calls on the next parameter in memory (see
# `optim.flat_buffer`), both runs are joined. Long runs work in pieces that fit the processor's
# cache.


Array = np.ndarray
CHUNK = 1 << 18  # bytes of each operand
LONG = 1 << 22  # bytes; pieces are faster from this size


class Run:
    """The update of one parameter.

    Attributes:
        key: equal for runs that make the same calls.
        place: the offset of the member in its part of the block, and its size, in bytes.
        aside: calls in between that do not belong to the run.
    """

    def __init__(self, block: Array, span: int, place: tuple[int, int], dtype: np.dtype) -> None:
        self.block, self.span, self.place, self.dtype = block, span, place, dtype
        self.entries: list[Entry] = []
        self.key: list[Any] = []
        self.aside: list[Entry] = []
        self.temporaries: dict[int, int] = {}


class Bundler:
    """Finds and joins the runs of a tape."""

    def __init__(self, tape: Tape, gradients: list[Gradient]) -> None:
        self.tape, self.uses = tape, Uses(tape.entries)
        self.grads = {g.ref.storage.number: g for g in gradients if g.ref is not None}
        self.members: dict[int, tuple[Array, int, int, int]] = {}
        for storage in tape.storages:
            found = location_in_block(storage.base) if storage.kind == OUTSIDE else None
            if found is not None:
                self.members[storage.number] = found

    def join(self) -> None:
        """Replace runs of equal updates by one run if their parameters are neighbours in memory."""
        if not self.members:
            return
        out: list[Entry] = []
        waiting: list[Run] = []
        position, entries = 0, self.tape.entries
        while position < len(entries):
            (run, after), entry = self.run_at(position), entries[position]
            if run is None:
                continues = self.is_aside(entry)
            else:  # it makes the same calls as the run before, on the next member in memory
                before = waiting[-1] if waiting else run
                end = before.place[0] + align(before.place[1])
                continues = run.block is before.block and run.place[0] == end
                continues = continues and run.key == before.key
            if not continues:
                out += self.joined(waiting)
                waiting = []
            if run is None:
                (waiting[-1].aside if waiting else out).append(entry)
            else:
                waiting.append(run)
            position = max(after, position + 1)
        self.tape.entries = out + self.joined(waiting)

    def is_aside(self, entry: Entry) -> bool:
        """Whether an entry only works on single numbers."""
        return entry.kind == "number" or (
            entry.kind in ("effect", "ufunc")
            and all(ref.array.ndim == 0 for ref in (*entry.inputs(), *entry.outs))
            and not any(ref.storage.number in self.members for ref in entry.outs)
        )

    def run_at(self, position: int) -> tuple[Run | None, int]:
        """The run that begins at an entry, and the position after its end; None for no run."""
        entries, start = self.tape.entries, position
        member, out = self.member_of(entries[start]), entries[start].outs[0].array
        if member is None:
            return None, start
        block, span, _, at = member
        run = Run(block, span, (at, out.nbytes), out.dtype)
        while position < len(entries):
            entry = entries[position]
            if run.entries and self.is_aside(entry):
                run.aside.append(entry)
            else:
                names = self.names(entry, run)
                if names is None:
                    break
                run.entries.append(entry)
                run.key.append((entry.fn, names))
            position += 1
        whole = run.entries and all(  # no temporary of the run is used outside it
            start <= use < position
            for number in run.temporaries
            for use in (*self.uses.writers[number], *self.uses.readers[number])
        )
        return (run, position) if whole else (None, start)

    def member_of(self, entry: Entry) -> tuple[Array, int, int, int] | None:
        """The first member of a block that a call works on; None for none."""
        refs = [*entry.inputs(), *entry.outs]
        for ref in refs:
            if ref.storage.number in self.members:
                return self.members[ref.storage.number]
        grads = [self.grads[r.storage.number] for r in refs if r.storage.number in self.grads]
        if grads and not any(r.storage.number in self.grads for r in entry.outs):
            return location_in_block(grads[0].leaf._array)
        return None

    def names(self, entry: Entry, run: Run) -> list[Any] | None:
        """The roles of an elementwise call's operands; None if an operand has no role."""
        if entry.kind != "ufunc" or entry.kwargs or entry.fn in PRODUCTS or len(entry.outs) != 1:
            return None
        found = []
        for part in (*entry.args, *entry.outs):
            found.append(self.name(part, run, part is entry.outs[0] and entry.fresh))
            if found[-1] is None:  # stop before `name` adds a temporary to the run
                return None
        return found

    def name(self, part: Any, run: Run, fresh: bool) -> Any:
        """The role of an operand; None if it has none."""
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
            place = location_in_block(self.grads[number].leaf._array)
            good = place is not None and place[0] is run.block and place[3] == run.place[0]
            return (
                ("gradient",) if good and not fresh and part.whole and owns_memory(part) else None
            )
        if fresh and part.whole and number not in run.temporaries:
            run.temporaries[number] = len(run.temporaries)
        if number in run.temporaries:
            return ("temporary", run.temporaries[number])
        return None

    def joined(self, runs: list[Run]) -> list[Entry]:
        """The entries of one run that replaces all ``runs``."""
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
            args = map_refs(entry.args, flat)
            outs = [flat(out) for out in entry.outs]
            entries.append(Entry("ufunc", entry.fn, args, {}, outs, entry.fresh))
        if total >= LONG:
            entries = [split_into_pieces(entries, self.tape)]
        return [*aside, *entries]

    def gradients_together(self, runs: list[Run], count: int) -> Ref | None:
        """The gradients of all members as one array, each at its member's place; None for none."""
        used = [
            self.grads[ref.storage.number]
            for run in runs
            for ref in {r.storage: r for e in run.entries for r in e.inputs()}.values()
            if ref.storage.number in self.grads
        ]
        if not used:
            return None
        whole = np.zeros(count, runs[0].dtype)
        storage = self.tape.add_storage(whole, TEMPORARY)
        for run, gradient in zip(runs, used, strict=True):
            assert gradient.ref is not None
            before = Ref(gradient.ref.storage, gradient.ref.storage.base)
            at = (run.place[0] - runs[0].place[0]) // run.dtype.itemsize
            part = whole[at : at + before.array.size].reshape(before.array.shape)
            after = Ref(storage, part)
            substitute(self.tape.entries, before, after, written=True)
            gradient.ref.storage, gradient.ref.array = storage, part
            gradient.ref.offset = after.offset
        return Ref(storage, whole)


def split_into_pieces(entries: list[Entry], tape: Tape) -> Entry:
    """One entry that makes all elementwise calls on a piece of cache size, then on the next."""
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
    pieces: Any = Pieces(entries, scratch, size, step)
    return Entry("pieces", pieces, inputs, {}, outs, False)


class Pieces:
    """Calls that a replay makes piece by piece.

    Attributes:
        scratch: by storage number: the small array that replaces a temporary in every piece.
        size: the number of elements.
        step: the number of elements of a piece.
    """

    def __init__(self, entries: list[Entry], scratch: dict[int, Ref], size: int, step: int) -> None:
        self.entries, self.scratch, self.size, self.step = entries, scratch, size, step


# Faster calls with the same bits.


LARGEST = 1 << 23  # bytes of a constant that is repeated for every element


def specialize(tape: Tape) -> None:
    """Replace operands by equal ones that make NumPy faster.

    NumPy reads an operand of one element in half the time if it is 0-d. It vectorizes the maximum
    of two arrays, but not of an array and a number.
    """
    for entry in tape.entries:
        args: list[Any] = list(entry.args)
        refs = len(args) == 2 and all(isinstance(part, Ref) for part in args)
        if entry.kind != "ufunc" or entry.kwargs or not refs or entry.fn in PRODUCTS:
            continue
        out = entry.outs[0].array
        for position, part in enumerate(entry.args):
            other, array = args[1 - position].array, part.array
            if other.shape != out.shape or array.size != 1 or out.size == 1:
                continue
            if array.ndim and part.storage.kind != SLOT:
                args[position] = Ref(part.storage, array.reshape(()))
            elif (
                entry.fn in (np.maximum, np.minimum)
                and part.storage.kind == CONSTANT
                and out.nbytes <= LARGEST
                and other.flags.c_contiguous
                and other.dtype == array.dtype
            ):
                whole = np.full(out.shape, array)
                args[position] = Ref(tape.add_storage(whole, CONSTANT), whole)
        entry.args = tuple(args)


# The calls of a replay as source, without branches: `matmul(a_4, a_3, b_5)`. `Plan` adds the guards
# before the calls and the step's effects after them.


MISS: Any = object()  # the result of a replay when a guard does not hold
BY_NAME = (np.maximum, np.minimum)  # get ``out`` by name: a third argument may become an operand
SIMPLE = (int, bool, type(None), str)


class Reshaped(Exception):  # noqa: N818 - not an error: the step then runs as it is
    """Raised when a kernel returns an array of another shape than in the trace."""


def of_any_shape(entry: Entry) -> bool:
    """Whether the shapes of a call's results may depend on values."""
    return entry.opaque or (
        entry.fn in (np.repeat, np.ndarray.repeat)
        and any(isinstance(part, Ref) for part in (*entry.args[1:], *entry.kwargs.values()))
    )


class Names:
    """The objects that the source refers to, by their names there."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self.objects = objects
        self.by_id: dict[int, str] = {}

    def of(self, value: Any, hint: str = "o") -> str:
        """The name of an object in the source; None, True and False keep theirs."""
        if value is None or value is True or value is False:
            return repr(value)
        found = self.by_id.get(id(value))
        if found is None:
            # The underscore distinguishes these names from the local variables of the source.
            found = self.by_id[id(value)] = f"{hint}_{len(self.objects)}"
            self.objects[found] = value
        return found


class Calls:
    """The lines that make the calls of a tape.

    Args:
        array_of: returns the array of a temporary that is not a local variable.
        slots: the numbers of storages that may differ at each call.

    Attributes:
        numbers: by storage number, the expressions of "number" entries that the calls compute.
    """

    def __init__(
        self, layout: Layout, names: Names, array_of: Callable[[Ref], np.ndarray],
        slots: set[int],
    ) -> None:  # fmt: skip
        self.layout, self.names, self.array_of = layout, names, array_of
        self.numbers: dict[int, str] = {}
        self.arrays: dict[Any, Any] = {}  # arrays and scalars by key, so that each has one name
        self.windows: dict[Any, str] = {}  # local names of parts of slots
        self.slot_lines: list[str] = []
        self.second = False
        self.reads: list[str] = []  # lines that read 0-d arrays, for before the next call
        self.known: dict[Any, str] = {}  # the local variables that hold 0-d arrays' values
        self.slot_names = {number: f"x{number}" for number in slots}
        self.copies: dict[int, np.ndarray] = {}

    # Operands

    def is_local(self, ref: Ref) -> bool:
        """Whether an array is a local variable."""
        number = ref.storage.number
        return number in self.layout.scalars or number in self.layout.rebound

    def array(self, ref: Ref) -> np.ndarray:
        """The array that replaces ``ref`` in every replay."""
        found = self.arrays.get(ref.key)
        if found is None:
            if ref.storage.kind == CONSTANT:
                found = self.constant(ref)
            elif ref.storage.kind == OUTSIDE:
                found = ref.array
            else:
                found = self.array_of(ref)
            self.arrays[ref.key] = found
        return found

    def constant(self, ref: Ref) -> np.ndarray:
        """A private copy of a constant."""
        number, base = ref.storage.number, ref.storage.base
        if ref.array.nbytes <= base.nbytes // 2 or not base.flags.forc:
            return ref.array.copy("K")
        if number not in self.copies:
            self.copies[number] = base.copy("K")
        copy = self.copies[number]
        a = ref.array
        return np.ndarray(a.shape, a.dtype, copy.ravel("K").view(np.uint8), ref.offset, a.strides)

    def operand(self, ref: Ref) -> str:
        """The name of an array in the source."""
        if ref.storage.number in self.slot_names:
            return self.window(ref)
        if self.is_local(ref):
            return f"v{ref.storage.number}"
        return self.names.of(self.array(ref), "a")

    def scalar(self, ref: Ref) -> str:
        """The name of a 0-d array's value, a NumPy scalar."""
        if self.is_local(ref):
            return f"v{ref.storage.number}"
        if ref.storage.kind == CONSTANT:
            value = self.arrays.setdefault(("scalar", *ref.key), ref.array[()])
            return self.names.of(value, "s")
        name = self.known.get(ref.key)
        if name is None:
            name = f"u{len(self.reads)}_{len(self.known)}_{ref.storage.number}"
            self.known[ref.key] = name
            self.reads.append(f"{name} = {self.operand(ref)}[()]")
        return name

    def window(self, ref: Ref) -> str:
        """The local variable for a part of a slot's array."""
        name = self.windows.get(ref.key)
        if name is not None:
            return name
        base, a = self.slot_names[ref.storage.number], ref.array
        whole = ref.storage.base
        if ref.whole:
            self.windows[ref.key] = base
            return base
        name = self.windows[ref.key] = f"w{len(self.windows)}_{ref.storage.number}"
        same = ref.offset == 0 and a.dtype == whole.dtype
        if same and a.shape == whole.shape[::-1] and a.strides == whole.strides[::-1]:
            made = f"{base}.T"
        else:
            kind = self.names.of(a.dtype, "t")
            flat = base if whole.flags.c_contiguous else f"{base}.ravel('K')"
            made = f"ndarray({a.shape}, {kind}, {flat}, {ref.offset}, {a.strides})"
        (self.reads if self.second else self.slot_lines).append(f"{name} = {made}")
        return name

    def begin_second(self, names: dict[int, str]) -> None:
        """Begin the second function, which has local variables of its own.

        Args:
            names: by storage number, the names of memory that the first function hands over.
        """
        self.windows, self.known, self.reads, self.second = {}, {}, [], True
        self.slot_names = self.slot_names | names

    def value(self, part: Any) -> str:
        """Any argument as source."""
        if isinstance(part, Ref):
            return self.operand(part)
        if type(part) in SIMPLE:
            return repr(part)
        if type(part) is tuple:
            return "(" + "".join(self.value(p) + ", " for p in part) + ")"
        if type(part) is list:
            return "[" + ", ".join(self.value(p) for p in part) + "]"
        return self.names.of(part)

    # Entries

    def all_lines(self, entry: Entry) -> list[str]:
        """The source of one entry, preceded by the lines that read its new scalars."""
        lines = self.pieces(entry) if isinstance(entry.fn, Pieces) else self.lines(entry)
        lines = self.reads + lines
        self.reads = []
        written = {out.storage.number for out in entry.outs}
        self.known = {key: name for key, name in self.known.items() if key[0] not in written}
        return lines

    def pieces(self, entry: Entry) -> list[str]:
        """A loop over pieces of flat arrays."""
        work: Any = entry.fn
        names: dict[int, str] = {}
        columns: list[Any] = []

        def name(ref: Ref) -> str:
            number = ref.storage.number
            if ref.array.ndim == 0:
                return self.operand(ref)
            if number not in names:
                names[number] = f"p{len(names)}"
                small = work.scratch.get(number)
                whole = self.array(ref if small is None else small)
                starts = range(0, work.size, work.step)
                columns.append(
                    [whole[at : at + work.step] for at in starts] if small is None
                    else [whole[: min(work.step, work.size - at)] for at in starts]
                )  # fmt: skip
            return names[number]

        calls = []
        for part in work.entries:
            args = ", ".join([name(a) for a in part.args] + [name(out) for out in part.outs])
            calls.append(f"    {self.names.of(part.fn, 'f')}({args})")
        rows = self.names.of(tuple(zip(*columns, strict=True)), "p")
        return [f"for {', '.join(names.values())}, in {rows}:", *calls]

    def lines(self, entry: Entry) -> list[str]:
        """The source of one entry."""
        if entry.kind == "number":
            out = entry.outs[0]
            expression = self.numbers.get(out.storage.number)
            return [] if expression is None else [f"{self.operand(out)}[()] = {expression}"]
        if entry.kind in ("ufunc", "reduce", "effect"):
            made = {"ufunc": self.ufunc, "reduce": self.reduction, "effect": self.effect}
            return [made[entry.kind](entry)]
        return self.call(entry)

    def ufunc(self, entry: Entry) -> str:
        (out,) = entry.outs
        if self.is_local(out):
            small = all(isinstance(a, Ref) and a.array.ndim == 0 for a in entry.args)
            form = self.scalar if small else self.operand
            args = [form(a) if isinstance(a, Ref) else self.value(a) for a in entry.args]
            pattern = OPERATORS.get(entry.fn) if small else None
            if pattern is not None:
                return f"v{out.storage.number} = {pattern.format(*args)}"
            return f"v{out.storage.number} = {self.names.of(entry.fn, 'f')}({', '.join(args)})"
        args = [self.value(a) for a in entry.args]
        target = f"out={self.operand(out)}" if entry.fn in BY_NAME else self.operand(out)
        named = [f"{name}={self.value(v)}" for name, v in entry.kwargs.items()]
        return f"{self.names.of(entry.fn, 'f')}({', '.join([*args, target, *named])})"

    def reduction(self, entry: Entry) -> str:
        (out,), local = entry.outs, self.is_local(entry.outs[0])
        args = [self.value(a) for a in entry.args]
        args += [f"{name}={self.value(v)}" for name, v in entry.kwargs.items()]
        args += [] if local else [f"out={self.operand(out)}"]
        left = f"v{out.storage.number} = " if local else ""
        return f"{left}{self.names.of(entry.fn, 'f')}({', '.join(args)})"

    def effect(self, entry: Entry) -> str:
        if entry.fn is operator.setitem:
            target, index, value = entry.args
            plain = "..." if index is ... else self.value(index)
            return f"{self.operand(target)}[{plain}] = {self.value(value)}"
        if entry.fn is np.copyto and set(entry.kwargs) <= {"casting"}:  # 0.3 µs slower as a call
            return f"{self.operand(entry.args[0])}[...] = {self.value(entry.args[1])}"
        return self.plain_call(entry)

    def plain_call(self, entry: Entry) -> str:
        first, *args = [self.value(a) for a in entry.args] or [""]
        if entry.fn is np.ndarray.__getitem__:
            return f"{first}[{args[0]}]"
        args += [f"{name}={self.value(v)}" for name, v in entry.kwargs.items()]
        if getattr(entry.fn, "__objclass__", None) is np.ndarray:  # scalars have it too
            return f"{first}.{entry.fn.__name__}({', '.join(args)})"
        return f"{self.names.of(entry.fn, 'f')}({', '.join([first, *args] if first else args)})"

    def target(self, out: Ref) -> str:
        """The target of an assignment of a result."""
        return f"v{out.storage.number}" if self.is_local(out) else f"{self.operand(out)}[...]"

    def call(self, entry: Entry) -> list[str]:
        outs, checked = entry.outs, of_any_shape(entry)
        reshaped = self.names.of(Reshaped) if checked else ""
        if len(outs) == 1:
            (out,) = outs
            if not checked:
                return [f"{self.target(out)} = {self.plain_call(entry)}"]
            name = f"v{out.storage.number}"
            lines = [
                f"{name} = {self.plain_call(entry)}",
                f"if {name}.shape != {out.array.shape}: raise {reshaped}",
            ]
            return lines if self.is_local(out) else [*lines, f"{self.target(out)} = {name}"]
        lines = [f"parts = {self.plain_call(entry)}"]
        if checked:
            shapes = [out.array.shape for out in outs]
            lines.append(f"if [p.shape for p in parts] != {shapes}: raise {reshaped}")
        used = [n for n, out in enumerate(outs) if out.storage.number in self.layout.storages]
        return lines + [f"{self.target(outs[n])} = parts[{n}]" for n in used]


# After an error in the middle of a replay, the written memory is restored and the step itself runs.
#
# The step raises the error again, with its own type, text and place, and has its own effects. Most
# often, nothing lasting is written before the last call that may raise: the forward pass checks
# targets and indices, and parameters change at the end. Memory that is written earlier, such as
# running means, is copied at the beginning of each replay.


class Rollback:
    """The state that a replay can restore.

    Args:
        everything: whether to copy all memory that is written, not only memory that is written
            before a call that may raise.

    Attributes:
        limit: the position of the last entry at which an error can be undone.
        saved: the memory to copy before a replay, by storage number.
        drawn: the generators to copy, by `id`.
    """

    def __init__(self, entries: list[Entry], everything: bool) -> None:
        lasting = [
            n for n, entry in enumerate(entries) if entry.kind == "draw" or lasting_write(entry)
        ]
        first = lasting[0] if lasting else len(entries)
        last = max((n for n, entry in enumerate(entries) if may_raise(entry)), default=-1)
        self.limit = max(first, last)
        self.saved: dict[int, Storage] = {}
        self.drawn: dict[int, Twister] = {}
        if everything or first >= last:
            last = len(entries) if everything else -1
        for entry in entries[: last + 1]:
            self.saved |= {storage.number: storage for storage in lasting_write(entry)}
            if entry.kind == "draw":
                generator = entry.fn.__self__  # type: ignore[attr-defined]
                self.drawn[id(generator)] = generator

    def line(self, calls: Calls) -> str:
        """The line of source that makes the copies."""
        whole = [Ref(storage, storage.base) for storage in self.saved.values()]
        copies = "".join(f"{calls.operand(ref)}.copy('K'), " for ref in whole)
        marks = [f"{calls.names.of(drawn._mark, 'f')}(), " for drawn in self.drawn.values()]
        return f"before = ({copies}), ({''.join(marks)})"

    def restore(self, before: Any, found: Mapping[str, Any]) -> None:
        """Restore memory and generators.

        Args:
            before: the copies, as `line` makes them.
            found: the local variables of the replay.
        """
        copies, marks = before
        for storage, copy in zip(self.saved.values(), copies, strict=True):
            slot = storage.kind == SLOT
            np.copyto(found[f"x{storage.number}"] if slot else storage.base, copy)
        for generator, position in zip(self.drawn.values(), marks, strict=True):
            Twister.set_state(generator, state_bytes(position))

    def put_back(self, error: Exception, first: int, starts: list[int]) -> None:
        """Restore the state from before the replay.

        Args:
            first: the number of the source line where the calls begin.
            starts: for each entry, the number of lines of calls before it.

        Raises:
            Exception: ``error``, if the state cannot be restored.
        """
        trace: TracebackType | None = error.__traceback__
        assert trace is not None
        if bisect(starts, trace.tb_lineno - first) - 1 > self.limit:
            raise error
        found = trace.tb_frame.f_locals
        if self.saved or self.drawn:
            self.restore(found["before"], found)


def lasting_write(entry: Entry) -> list[Storage]:
    """The memory that an entry writes to and that remains after the step."""
    return [out.storage for out in entry.outs if out.storage.kind in (OUTSIDE, SLOT)]


def may_raise(entry: Entry) -> bool:
    """Whether an entry may raise an error because of values."""
    if entry.kind == "draw":
        return bool(entry.inputs())
    if of_any_shape(entry):
        return True
    integers = any(ref.array.dtype.kind in "iu" for ref in entry.inputs())
    return integers and entry.kind in ("call", "effect")
