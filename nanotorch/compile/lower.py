"""Faster calls for the same bits."""

from typing import Any

import numpy as np

from nanotorch.compile.tape import CONSTANT, TEMPORARY, Entry, Ref, Tape

Array = np.ndarray
INTEGERS: dict[int, np.dtype[Any]] = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}
LARGEST = 1 << 23  # bytes of a constant that is repeated for every element


def lower(tape: Tape) -> None:
    """Replace calls by faster ones."""
    entries: list[Entry] = []
    for entry in tape.entries:
        if entry.kind == "call" and entry.fn is np.where:
            entries += masked(entry, tape) or [entry]
        else:
            if entry.kind == "ufunc" and entry.fn in (np.maximum, np.minimum):
                repeat_constant(entry, tape)
            entries.append(entry)
    tape.entries = entries


def new(tape: Tape, shape: tuple[int, ...], kind: Any) -> Ref:
    """A temporary."""
    array = np.empty(shape, kind)
    return Ref(tape.add_storage(array, TEMPORARY), array)


def masked(entry: Entry, tape: Tape) -> list[Entry]:
    """``where(mask, a, 0)``: the bits of ``a``, and those of a mask of ones and zeros.

    NumPy's `where` decides for every element, which a processor cannot foresee.
    """
    if len(entry.args) != 3 or entry.kwargs or len(entry.outs) != 1:
        return []
    mask, a, other = entry.args
    (out,) = entry.outs
    if not (isinstance(mask, Ref) and isinstance(a, Ref) and is_zero(other)):
        return []
    integer = INTEGERS.get(a.array.itemsize)
    shape = out.array.shape
    plain = all(
        x.array.shape == shape and x.array.flags.c_contiguous and x.array.ndim
        for x in (mask, a, out)
    )
    if not plain or integer is None or a.array.dtype.kind != "f" or mask.array.dtype != np.bool_:
        return []
    if a.array.dtype != out.array.dtype:
        return []
    signs, wide = new(tape, shape, np.int8), new(tape, shape, integer)
    return [
        Entry("ufunc", np.negative, (seen_as(mask, np.dtype(np.int8)),), {}, [signs], True),
        Entry("ufunc", np.positive, (signs,), {"dtype": integer}, [wide], True),
        Entry(
            "ufunc", np.bitwise_and, (seen_as(a, integer), wide), {},
            [seen_as(out, integer)], True,
        ),
    ]  # fmt: skip


def is_zero(part: Any) -> bool:
    """Whether an operand is a positive zero."""
    if isinstance(part, Ref):
        if part.storage.kind != CONSTANT or part.array.ndim:
            return False
        part = part.array[()]
    return bool(part == 0) and not np.signbit(part)


def seen_as(ref: Ref, kind: Any) -> Ref:
    """The same bits as another dtype."""
    return Ref(ref.storage, ref.array.view(kind))


def repeat_constant(entry: Entry, tape: Tape) -> None:
    """NumPy vectorizes the maximum of two arrays, but not of an array and a number."""
    shape = entry.outs[0].array.shape
    if not shape or entry.kwargs or entry.outs[0].array.nbytes > LARGEST:
        return
    for position, part in enumerate(entry.args[:2]):
        other = entry.args[1 - position]
        if (
            isinstance(part, Ref)
            and isinstance(other, Ref)
            and part.storage.kind == CONSTANT
            and part.array.ndim == 0
            and other.array.shape == shape
            and other.array.flags.c_contiguous
            and other.array.dtype == part.array.dtype
        ):
            whole = np.full(shape, part.array)
            args = list(entry.args)
            args[position] = Ref(tape.add_storage(whole, CONSTANT), whole)
            entry.args = tuple(args)
            return
