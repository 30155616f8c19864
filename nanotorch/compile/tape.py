"""The tape: which NumPy calls a step makes, in order, on which memory.

Arrays are told apart by the memory they lie in. A view needs no entry of its own: it is a place in
memory that is known already.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nanotorch._core.copying import address
from nanotorch.optim.home import Part, owner

Array = np.ndarray

# Where a piece of memory comes from.
OUTSIDE = "outside"  # a tensor that exists before and after the step
SLOT = "slot"  # a tensor that may be another one at each call: an argument, or a leaf's gradient
CONSTANT = "constant"  # the same at every call
TEMPORARY = "temporary"  # made by the step


class Storage:
    """A piece of memory: the array that owns it, and where it comes from.

    Attributes:
        expression: of the number that it holds, if it is one that replays compute anew.
    """

    __slots__ = ("base", "expression", "kind", "number")

    def __init__(self, base: Array, kind: str, number: int) -> None:
        self.base, self.kind, self.number = base, kind, number
        self.expression: Any = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.number}: {self.base.dtype}{list(self.base.shape)}>"


class Ref:
    """An array of a step: a view of a storage."""

    __slots__ = ("array", "known_offset", "storage")

    def __init__(self, storage: Storage, array: Array) -> None:
        self.storage, self.array = storage, array
        self.known_offset: int | None = None

    @property
    def offset(self) -> int:
        """Where its first element lies, in bytes from that of the storage."""
        if self.known_offset is not None:
            return self.known_offset
        return address(self.array) - address(self.storage.base)

    def let_go(self) -> None:
        """Keep the layout, and no memory."""
        self.known_offset = self.offset
        self.array = hollow(self.array)

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for arrays of the same elements in the same layout."""
        a = self.array
        return (self.storage.number, self.offset, a.shape, a.strides, a.dtype.str)

    @property
    def whole(self) -> bool:
        """Whether it is the storage's own array."""
        a, b = self.array, self.storage.base
        return a is b or (a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype)


class Entry:
    """One call on the tape.

    Attributes:
        kind: "ufunc" and "reduce" take an ``out``; "call" gives new arrays; "draw" does so from a
            random generator; "effect" writes to some of its arguments; "number" is a 0-d array of
            a number that Python computes.
        args, kwargs: with a `Ref` in place of each array.
        outs: what it makes or writes to.
        fresh: whether ``outs`` are new memory.
        opaque: whether it may raise or depend on more than its arguments' layout.
    """

    __slots__ = ("args", "fn", "fresh", "kind", "kwargs", "opaque", "outs")

    def __init__(
        self,
        kind: str,
        fn: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        outs: Sequence[Ref],
        fresh: bool,
        opaque: bool = False,
    ) -> None:
        self.kind, self.fn, self.args, self.kwargs = kind, fn, tuple(args), kwargs
        self.outs, self.fresh, self.opaque = tuple(outs), fresh, opaque

    @property
    def name(self) -> str:
        """How reports call it."""
        return getattr(self.fn, "__name__", str(self.fn))

    def inputs(self) -> Iterator[Ref]:
        """The arrays among the arguments."""
        yield from refs_in(self.args)
        yield from refs_in(self.kwargs)

    def reads(self) -> Iterator[Ref]:
        """The arrays whose former values matter."""
        yield from self.inputs()
        if not self.fresh and self.kind in ("ufunc", "reduce"):
            for out in self.outs:
                if self.kwargs.get("where", True) is not True or not covers(out):
                    yield out

    def __repr__(self) -> str:
        return f"{self.kind} {self.name}{self.args} -> {self.outs}"


def covers(ref: Ref) -> bool:
    """Whether a write to ``ref`` leaves nothing of the storage's former values."""
    return ref.array.size * ref.array.itemsize == ref.storage.base.nbytes


def refs_in(value: Any) -> Iterator[Ref]:
    """The arrays in a structure of arguments."""
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from refs_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from refs_in(part)


def replaced(value: Any, change: Callable[[Ref], Any]) -> Any:
    """A structure of arguments with something else in place of each array."""
    if isinstance(value, Ref):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)([replaced(part, change) for part in value])
    if type(value) is dict:
        return {name: replaced(part, change) for name, part in value.items()}
    return value


def hollow(array: Array) -> Array:
    """An array of the same layout without memory, not to be touched."""
    return as_strided(np.empty(1, array.dtype), array.shape, array.strides, writeable=False)


def shifts(arrays: Sequence[Array]) -> tuple[tuple[int, int, int], ...]:
    """Pairs of arrays that may share memory, by position, and how many bytes lie between them."""
    return tuple(
        (i, j, address(b) - address(a))
        for j, b in enumerate(arrays)
        for i, a in enumerate(arrays[:j])
        if np.may_share_memory(a, b)
    )


def holders(arrays: Iterable[Array]) -> frozenset[int]:
    """The `id` of everything an array that shares memory with one of these may be a view of."""
    found: set[int] = set()
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            found.add(id(base))
            base = base.base
        if isinstance(base, Part):
            found.add(id(base))
    return frozenset(found)


class Tape:
    """The entries of one step, and the memory they work on."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.storages: list[Storage] = []
        self.by_owner: dict[int, Storage] = {}
        self.slots: list[tuple[int, int, Storage]] = []

    def add_storage(self, base: Array, kind: str) -> Storage:
        """Memory that was not known before."""
        storage = Storage(base, kind, len(self.storages))
        self.storages.append(storage)
        if kind != SLOT:
            self.by_owner[id(base)] = storage
        return storage

    def add_slot(self, array: Array) -> Storage:
        """The memory of an array that may be another one at the next call."""
        storage = self.add_storage(array, SLOT)
        low, high = np.lib.array_utils.byte_bounds(array)
        self.slots.append((low, high, storage))
        return storage

    def find(self, array: Array) -> Storage | None:
        """The storage in whose memory an array lies."""
        if self.slots:
            low, high = np.lib.array_utils.byte_bounds(array)
            for start, stop, storage in self.slots:
                if start <= low and high <= stop and array.size:
                    return storage
        return self.by_owner.get(id(owner(array)))

    def ref(self, array: Array) -> Ref:
        """An array as an operand; memory nobody has seen is a constant."""
        storage = self.find(array)
        if storage is None:
            storage = self.add_storage(owner(array), CONSTANT)
        return Ref(storage, array)

    def new(self, array: Array) -> Ref:
        """An array that an entry has made."""
        return Ref(self.add_storage(owner(array), TEMPORARY), array)

    def rollback(self, mark: int) -> None:
        """Forget the entries after the first ``mark``."""
        del self.entries[mark:]
