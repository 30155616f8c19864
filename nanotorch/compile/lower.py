"""Faster calls for the same bits."""

from typing import Any

import numpy as np

from nanotorch.compile.passes import PRODUCTS
from nanotorch.compile.tape import CONSTANT, SLOT, TEMPORARY, Entry, Ref, Tape

Array = np.ndarray
INTEGERS: dict[int, np.dtype[Any]] = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}
# Where a row pays to be copied to all rows: how many there are, how long, and bytes of all.
ROWS, COLUMNS, SMALL = 16, 256, 1 << 16
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
            if is_elementwise(entry):
                one_as_scalar(entry)
                entries += row_spread(entry)
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


def is_elementwise(entry: Entry) -> bool:
    """Whether an entry computes a new array element by element from two, one of its own shape."""
    if entry.kind != "ufunc" or entry.kwargs or not entry.fresh or len(entry.args) != 2:
        return False
    (out,) = entry.outs
    arrays = [part.array for part in entry.args if isinstance(part, Ref)]
    return (
        len(arrays) == 2
        and entry.fn not in PRODUCTS
        and out.storage.kind == TEMPORARY
        and out.array.ndim > 0
        and any(array.shape == out.array.shape for array in arrays)
    )


def one_as_scalar(entry: Entry) -> None:
    """An operand of one element as a 0-d array, with which NumPy needs half the time."""
    if entry.outs[0].array.size > 1:
        entry.args = tuple(
            [
                Ref(part.storage, part.array.reshape(()))
                if part.array.size == 1 and part.array.ndim and part.storage.kind != SLOT
                else part
                for part in entry.args
            ]
        )


def row_spread(entry: Entry) -> list[Entry]:
    """A small row that is added to all rows is first copied to all: the same bits, faster.

    NumPy would make a call of the inner loop for each row.
    """
    (out,) = entry.outs
    array = out.array
    for position, part in enumerate(entry.args):
        other = entry.args[1 - position]
        if (
            array.ndim == 2
            and part.array.shape in (array.shape[1:], (1, *array.shape[1:]))
            and array.shape[0] >= ROWS
            and 1 < array.shape[1] <= COLUMNS
            and array.nbytes <= SMALL
            and array.dtype == part.array.dtype == other.array.dtype
            and array.flags.c_contiguous
            and other.array.shape == array.shape
        ):
            args = list(entry.args)
            args[position] = out
            entry.args, entry.fresh = tuple(args), False
            return [Entry("effect", np.copyto, (out, part), {}, [out], False)]
    return []


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
