"""Making a tape shorter: constants, repeated work, copies of what stays, and dead work.

Every pass keeps the order of the entries that remain, and each of those computes the very bits it
computed before.
"""

from collections import defaultdict
from typing import Any

import numpy as np

from nanotorch.compile.hyper import Leaf
from nanotorch.compile.rewriting import Uses, alike, moved, owned, split_writes, substitute
from nanotorch.compile.tape import (
    CONSTANT,
    TEMPORARY,
    Entry,
    Ref,
    Tape,
    covers,
    replaced,
)

Array = np.ndarray
PRODUCTS = (np.matmul, np.dot)
# For these, `x op 1` (or 0) is `x`, bit for bit. Adding 0 is not: -0.0 + 0.0 is 0.0.
NEUTRAL: dict[Any, float] = {
    (np.multiply, 0): 1,
    (np.multiply, 1): 1,
    (np.true_divide, 1): 1,
    (np.subtract, 1): 0,
}
COPIES = (np.positive,)
COPY_CALLS = (np.ndarray.copy, np.array, np.ndarray.__getitem__)


def simplify(tape: Tape, escaping: list[Ref]) -> None:
    """Apply all passes.

    Args:
        escaping: what is seen after the step; slots and what lies outside are always.
    """
    kept = {ref.storage.number for ref in escaping}
    share_numbers(tape)
    fold_constants(tape, kept)
    kept = split_writes(tape, escaping)
    for _ in range(2):  # what is the same is found once its operands are
        drop_repetitions(tape, kept)
        drop_copies(tape, kept)
    compute_in_copies(tape, kept)
    shrink_constants(tape)
    drop_dead(tape, kept)


def share_numbers(tape: Tape) -> None:
    """One array for all numbers of one expression."""
    known: dict[Any, Ref] = {}
    gone: set[int] = set()
    for position, entry in enumerate(tape.entries):
        if entry.kind == "number":
            (out,) = entry.outs
            key = (name_of(entry.args[0]), out.array.dtype)
            if key in known:
                substitute(tape.entries[position:], out, known[key])
                gone.add(position)
            else:
                known[key] = out
    tape.entries = [e for n, e in enumerate(tape.entries) if n not in gone]


def name_of(expression: Any) -> Any:
    """Equal for expressions that say the same."""
    if isinstance(expression, Leaf):
        return (id(expression) if expression.late else id(expression.container), expression.key)
    if isinstance(expression, tuple):
        return tuple(name_of(part) for part in expression)
    return (type(expression), expression)


def compute_in_copies(tape: Tape, kept: set[int]) -> None:
    """What is only computed to be copied is computed where the copy lies."""
    for position in range(len(tape.entries) - 1, -1, -1):
        entry = tape.entries[position]
        if entry.kind not in ("call", "ufunc") or not entry.fresh or len(entry.outs) != 1:
            continue
        source = source_of(entry)
        (out,) = entry.outs
        if source is None or source.storage.kind != TEMPORARY or not alike(out, source):
            continue
        uses = Uses(tape.entries)
        number = source.storage.number
        if (
            number in kept
            or not covers(source)
            or not covers(out)
            or uses.writers[out.storage.number] != [position]
            or not uses.writers[number]
            or any(writer >= position for writer in uses.writers[number])
            or tape.entries[uses.writers[number][0]].kind == "number"
            or not (owned(source) and owned(out))
        ):
            continue
        for other in tape.entries:
            if other is not entry:
                other.outs = tuple(
                    [moved(r, source, out) if r.storage.number == number else r for r in other.outs]
                )
        del tape.entries[position]
        substitute(tape.entries, source, out)


def fold_constants(tape: Tape, kept: set[int]) -> None:
    """What is computed from constants alone is a constant, with the value it had in the trace."""
    uses = Uses(tape.entries)
    dropped: set[int] = set()
    for position, entry in enumerate(tape.entries):
        outs = {out.storage for out in entry.outs}
        if entry.kind in ("number", "draw") or any(out.kind != TEMPORARY for out in outs):
            continue
        for storage in outs:
            writers = uses.writers[storage.number]
            if storage.number in kept or writers[-1] != position or len(outs) > 1:
                continue
            inputs = [
                ref.storage
                for writer in writers
                for ref in tape.entries[writer].inputs()
                if ref.storage is not storage
            ]
            late = all(reader > position or reader in writers
                       for reader in uses.readers[storage.number])  # fmt: skip
            plain = all(tape.entries[w].kind not in ("number", "draw") for w in writers)
            if late and plain and all(source.kind == CONSTANT for source in inputs):
                storage.kind = CONSTANT
                dropped.update(writers)
    tape.entries = [e for n, e in enumerate(tape.entries) if n not in dropped]


def replaceable(out: Ref, entry: Entry, position: int, uses: Uses, kept: set[int]) -> bool:
    """Whether ``entry`` alone defines a temporary that nobody sees later."""
    return (
        entry.fresh
        and len(entry.outs) == 1
        and out.storage.kind == TEMPORARY
        and out.storage.number not in kept
        and uses.writers[out.storage.number] == [position]
        and out.whole
    )


def drop_repetitions(tape: Tape, kept: set[int]) -> None:
    """Compute the same from the same once."""
    uses = Uses(tape.entries)
    known: dict[Any, tuple[int, Ref]] = {}
    versions: defaultdict[int, int] = defaultdict(int)
    gone: set[int] = set()
    for position, entry in enumerate(tape.entries):
        if entry.kind in ("ufunc", "reduce", "call") and not entry.opaque and len(entry.outs) == 1:
            (out,) = entry.outs
            key = key_of(entry, versions)
            earlier = known.get(key) if key is not None else None
            if earlier is None:
                if entry.fresh and key is not None:
                    known[key] = (position, out)
            elif replaceable(out, entry, position, uses, kept) and owned(earlier[1]):
                start, same = earlier
                last = uses.last_read(out.storage)
                if alike(out, same) and not uses.written_in(same.storage, start, last + 1):
                    substitute(tape.entries[position:], out, same)
                    uses.readers[same.storage.number].append(max(last, position))
                    uses.readers[same.storage.number].sort()
                    gone.add(position)
        for out in entry.outs:
            versions[out.storage.number] += 1
    tape.entries = [e for n, e in enumerate(tape.entries) if n not in gone]


def key_of(entry: Entry, versions: dict[int, int]) -> Any:
    """Equal for entries that compute the same; None if that cannot be told."""

    def name(ref: Ref) -> Any:
        if ref.storage.kind == CONSTANT and ref.array.size <= 16:
            return (ref.array.tobytes(), ref.array.shape, ref.array.strides, ref.array.dtype.str)
        return (*ref.key, versions[ref.storage.number])

    args, kwargs = replaced(list(entry.args), name), replaced(entry.kwargs, name)
    key = (entry.kind, entry.name, id(entry.fn), repr(args), repr(sorted(kwargs.items())))
    return None if "object at 0x" in key[3] + key[4] else key


def drop_copies(tape: Tape, kept: set[int]) -> None:
    """Read the original in place of a copy, as long as neither changes."""
    uses = Uses(tape.entries)
    gone: set[int] = set()
    for position, entry in enumerate(tape.entries):
        source = source_of(entry)
        if source is None or not owned(source):
            continue
        (out,) = entry.outs
        if not replaceable(out, entry, position, uses, kept) or not alike(out, source):
            continue
        last = uses.last_read(out.storage)
        if not uses.written_in(source.storage, position, last + 1):
            substitute(tape.entries[position:], out, source)
            uses.readers[source.storage.number].append(max(last, position))
            uses.readers[source.storage.number].sort()
            gone.add(position)
    tape.entries = [e for n, e in enumerate(tape.entries) if n not in gone]


def source_of(entry: Entry) -> Ref | None:
    """What an entry copies, bit for bit."""
    if not entry.fresh or len(entry.outs) != 1:
        return None
    if entry.kind == "ufunc" and not entry.kwargs:
        if entry.fn in COPIES:
            return entry.args[0] if isinstance(entry.args[0], Ref) else None
        for position, part in enumerate(entry.args[:2]):
            neutral = NEUTRAL.get((entry.fn, position))
            if neutral is not None and is_all(part, neutral) and len(entry.args) == 2:
                other = entry.args[1 - position]
                return other if isinstance(other, Ref) else None
    if entry.kind == "call" and entry.fn in COPY_CALLS and isinstance(entry.args[0], Ref):
        source = entry.args[0]
        if entry.fn is np.ndarray.__getitem__:
            return element_of(source, entry.args[1])
        return source
    return None


def element_of(source: Ref, index: Any) -> Ref | None:
    """One element of an array as a 0-d view."""
    items = index if isinstance(index, tuple) else (index,)
    if not all(type(item) is int for item in items):
        return None
    return Ref(source.storage, source.array[(*items, ...)])


def is_all(part: Any, value: float) -> bool:
    """Whether an operand is a constant of equal elements of this value, no negative zero."""
    if isinstance(part, Ref):
        if part.storage.kind != CONSTANT or not part.array.size:
            return False
        array = part.array
        return bool((array == value).all() and not np.signbit(array).any())
    return type(part) in (int, float) and part == value


def shrink_constants(tape: Tape) -> None:
    """A constant of equal elements becomes one element, where others give the shape."""
    for entry in tape.entries:
        if entry.kind != "ufunc" or entry.kwargs or len(entry.args) < 2 or entry.fn in PRODUCTS:
            continue
        refs = [part for part in entry.args if isinstance(part, Ref)]
        shape = entry.outs[0].array.shape
        full = [ref for ref in refs if ref.array.shape == shape and ref.storage.kind != CONSTANT]
        if not full or len(refs) != len(entry.args) or not shape:
            continue
        entry.args = tuple([one_of(ref, tape) if ref not in full else ref for ref in refs])


def one_of(ref: Ref, tape: Tape) -> Ref:
    """The element of a constant whose elements are all the same; else the constant itself."""
    array = ref.array
    if ref.storage.kind != CONSTANT or array.ndim == 0 or array.size == 0:
        return ref
    first = array[(0,) * array.ndim]
    if (
        array.size * array.itemsize < 1 << 26
        and np.all(array == first)
        and (array.dtype.kind != "f" or np.signbit(array).all() == np.signbit(array).any())
    ):
        one = np.array(first)
        return Ref(tape.add_storage(one, CONSTANT), one)
    return ref


def drop_dead(tape: Tape, kept: set[int]) -> None:
    """Drop what nobody reads; what may raise or draws numbers stays."""
    needed = set(kept)
    alive: list[Entry] = []
    for entry in reversed(tape.entries):
        outs = [out.storage for out in entry.outs]
        live = entry.opaque or entry.kind == "draw"
        if live or any(out.kind != TEMPORARY or out.number in needed for out in outs):
            alive.append(entry)
            if entry.fresh:
                needed -= {out.number for out in outs} - kept
            needed |= {ref.storage.number for ref in entry.reads()}
            if not entry.fresh:
                needed |= {out.number for out in outs}
    tape.entries = alive[::-1]
