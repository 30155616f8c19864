"""The source of a replay: guards, the calls in a straight line, and the step's effects.

def replay(args, kwargs):
    if d1["weight"] is not o2 or o2._array is not a3 ...: return MISS
    if not acquire(False): return MISS
    try:
        matmul(a4, a3, b5)
        add(b5, a6, b5)
        ...
        o2._cell[0] += 1
        o2._grad = g7
        return ...
    finally: release()
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch.compile.bundle import Pieces
from nanotorch.compile.memory import OPERATORS, Layout
from nanotorch.compile.tape import CONSTANT, OUTSIDE, SLOT, Entry, Ref

COPY_CALLS = (np.ndarray.astype, np.ndarray.copy, np.array)
BY_NAME = (np.maximum, np.minimum)  # whose third argument may become an operand
SIMPLE = (int, bool, type(None), str)


class Reshaped(Exception):  # noqa: N818 - not an error: the step then runs as it is
    """A kernel gives an array of another shape than in the trace."""


def of_any_shape(entry: Entry) -> bool:
    """Whether the shapes that a call gives may depend on values."""
    return entry.opaque or (
        entry.fn in (np.repeat, np.ndarray.repeat)
        and any(isinstance(part, Ref) for part in (*entry.args[1:], *entry.kwargs.values()))
    )


class Names:
    """The objects that a source refers to, by the names it has for them."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.by_id: dict[int, str] = {}

    def of(self, value: Any, hint: str = "o") -> str:
        """A name for an object."""
        found = self.by_id.get(id(value))
        if found is None:
            found = self.by_id[id(value)] = f"{hint}{len(self.objects)}"
            self.objects[found] = value
        return found


class Calls:
    """The lines that make the calls of a tape.

    Args:
        array_of: the array for a temporary that is not a local variable.
        numbers: the expressions of "number" entries, by storage.
    """

    def __init__(
        self, layout: Layout, names: Names, array_of: Callable[[Ref], np.ndarray],
        numbers: dict[int, str],
    ) -> None:  # fmt: skip
        self.layout, self.names, self.array_of, self.numbers = layout, names, array_of, numbers
        self.arrays: dict[Any, np.ndarray] = {}
        self.windows: dict[Any, str] = {}  # local names of parts of slots
        self.slot_lines: list[str] = []
        self.reads: list[str] = []  # of 0-d arrays, to be put before the next call
        self.known: dict[Any, str] = {}  # which 0-d arrays have been read into local variables
        self.slot_names: dict[int, str] = {}
        self.copies: dict[int, np.ndarray] = {}

    # Operands

    def is_local(self, ref: Ref) -> bool:
        """Whether an array is a local variable."""
        number = ref.storage.number
        return number in self.layout.scalars or number in self.layout.rebound

    def array(self, ref: Ref) -> np.ndarray:
        """The array that stands for ``ref`` in every replay."""
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
        """A copy of a constant, which nobody else can write to."""
        number, base = ref.storage.number, ref.storage.base
        if ref.array.nbytes <= base.nbytes // 2 or not base.flags.forc:
            return ref.array.copy("K")
        if number not in self.copies:
            self.copies[number] = base.copy("K")
        copy = self.copies[number]
        a = ref.array
        return np.ndarray(a.shape, a.dtype, copy.ravel("K").view(np.uint8), ref.offset, a.strides)

    def operand(self, ref: Ref) -> str:
        """An array as the source names it."""
        if ref.storage.kind == SLOT:
            return self.window(ref)
        if self.is_local(ref):
            return f"v{ref.storage.number}"
        return self.names.of(self.array(ref), "a")

    def scalar(self, ref: Ref) -> str:
        """A 0-d array as a NumPy scalar."""
        if self.is_local(ref):
            return f"v{ref.storage.number}"
        if ref.storage.kind == CONSTANT:
            return self.names.of(self.scalar_of(ref), "s")
        name = self.known.get(ref.key)
        if name is None:
            name = f"u{len(self.reads)}_{len(self.known)}_{ref.storage.number}"
            self.known[ref.key] = name
            self.reads.append(f"{name} = {self.operand(ref)}[()]")
        return name

    def scalar_of(self, ref: Ref) -> Any:
        key = ("scalar", *ref.key)
        if key not in self.arrays:
            self.arrays[key] = ref.array[()]
        return self.arrays[key]

    def window(self, ref: Ref) -> str:
        """A part of a slot's array, as a local variable."""
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
            made = f"ndarray({a.shape}, {kind}, {base}, {ref.offset}, {a.strides})"
        self.slot_lines.append(f"{name} = {made}")
        return name

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
        """The source of one entry, after what it reads as scalars for the first time."""
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
            number = entry.outs[0].storage.number
            expression = self.numbers.get(number)
            if expression is None:
                return []
            return [f"{self.operand(entry.outs[0])}[()] = {expression}"]
        if entry.kind == "ufunc":
            return [self.ufunc(entry)]
        if entry.kind == "reduce":
            return [self.reduction(entry)]
        if entry.kind == "effect":
            return [self.effect(entry)]
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
        (out,) = entry.outs
        function = self.names.of(entry.fn, "f")
        args = [self.value(a) for a in entry.args]
        given = dict(entry.kwargs)
        local = self.is_local(out)
        target = "None" if local else self.operand(out)
        left = f"v{out.storage.number} = " if local else ""
        if entry.fn.__name__ == "reduce" and set(given) <= {"axis", "dtype", "keepdims"}:
            rest = [self.value(given.get(n, d)) for n, d in (("axis", 0), ("dtype", None))]
            keep = [self.value(given["keepdims"])] if given.get("keepdims") else []
            tail = [] if local and not keep else [target]
            return f"{left}{function}({', '.join([*args, *rest, *tail, *keep])})"
        named = [f"{name}={self.value(v)}" for name, v in given.items()]
        named += [] if local else [f"out={target}"]
        return f"{left}{function}({', '.join([*args, *named])})"

    def effect(self, entry: Entry) -> str:
        args = entry.args
        if entry.fn is operator.setitem:
            index = args[1]
            if type(index) is tuple and len(index) == 1:
                index = index[0]
            plain = "..." if index is ... else self.value(index)
            return f"{self.operand(args[0])}[{plain}] = {self.value(args[2])}"
        if entry.fn is np.copyto and len(args) == 2 and set(entry.kwargs) <= {"casting"}:
            return f"{self.operand(args[0])}[...] = {self.value(args[1])}"
        return self.plain_call(entry)

    def plain_call(self, entry: Entry) -> str:
        args = [self.value(a) for a in entry.args]
        if getattr(entry.fn, "__objclass__", None) is np.ndarray:  # scalars have it too
            first, *args = args
            named = [f"{name}={self.value(v)}" for name, v in entry.kwargs.items()]
            return f"{first}.{entry.fn.__name__}({', '.join([*args, *named])})"
        named = [
            f"{name}={self.value(v)}" if name.isidentifier() else "" for name, v in
            entry.kwargs.items()
        ]  # fmt: skip
        return f"{self.names.of(entry.fn, 'f')}({', '.join([*args, *named])})"

    def call(self, entry: Entry) -> list[str]:
        outs = entry.outs
        if len(outs) == 1 and of_any_shape(entry):
            given = self.names.of(entry.outs[0].array.shape)
            name = f"v{outs[0].storage.number}"
            lines = [f"{name} = {self.plain_call(entry)}",
                     f"if {name}.shape != {given}: raise {self.names.of(Reshaped)}"]  # fmt: skip
            local = self.is_local(outs[0])
            return lines if local else [*lines, f"{self.operand(outs[0])}[...] = {name}"]
        if len(outs) == 1 and entry.fn in COPY_CALLS and not self.is_local(outs[0]):
            return [f"{self.operand(outs[0])}[...] = {self.value(entry.args[0])}"]
        if len(outs) == 1 and self.is_local(outs[0]):
            if entry.fn is np.ndarray.__getitem__:
                index = entry.args[1]
                return [f"v{outs[0].storage.number} = "
                        f"{self.operand(entry.args[0])}[{self.value(index)}]"]  # fmt: skip
            return [f"v{outs[0].storage.number} = {self.plain_call(entry)}"]
        if len(outs) == 1:
            return [f"{self.operand(outs[0])}[...] = {self.plain_call(entry)}"]
        lines = [f"parts = {self.plain_call(entry)}"]
        if of_any_shape(entry):
            shapes = self.names.of([out.array.shape for out in outs])
            lines.append(
                f"if [p.shape for p in parts] != {shapes}: raise {self.names.of(Reshaped)}"
            )
        for position, out in enumerate(outs):
            if self.is_local(out):
                lines.append(f"v{out.storage.number} = parts[{position}]")
            elif out.storage.number in self.layout.storages:
                lines.append(f"{self.operand(out)}[...] = parts[{position}]")
        return lines
