"""The tape: the NumPy calls of a step, in order, with their memory; and its reduction."""

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nanotorch._core.graph import AccumulateGrad, Edge
from nanotorch._core.layout import address
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.autograd.graph import reachable_nodes
from nanotorch.optim.flat_buffer import Part, align, aligned_zeros, memory_owner

# The tape: the NumPy calls of a step, in order, with their memory.
#
# Arrays are identified by their memory. A view needs no entry of its own: it is a place in memory
# that is already known.


Array = np.ndarray
T = TypeVar("T")

# The kinds of memory, by origin.
OUTSIDE = "outside"  # a tensor that exists before and after the step
SLOT = "slot"  # a tensor that may differ at each call: an argument, or a leaf's gradient
CONSTANT = "constant"  # the same at every call
TEMPORARY = "temporary"  # made by the step


class Storage:
    """A piece of memory: the array that owns it, and its kind.

    Attributes:
        expression: the expression of the number in it, if replays compute this number; else None.
    """

    __slots__ = ("base", "expression", "kind", "number")

    def __init__(self, base: Array, kind: str, number: int) -> None:
        self.base, self.kind, self.number = base, kind, number
        self.expression: Any = None


class Ref:
    """An array of a step: a view of a storage.

    Attributes:
        offset: the bytes from the first element of the storage to that of the array.
    """

    __slots__ = ("array", "offset", "storage")

    def __init__(self, storage: Storage, array: Array) -> None:
        self.storage, self.array = storage, array
        self.offset = address(array) - address(storage.base)

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that is equal for arrays of the same elements in the same layout."""
        a = self.array
        return (self.storage.number, self.offset, a.shape, a.strides, a.dtype.str)

    @property
    def whole(self) -> bool:
        """Whether the array has the layout of the whole storage."""
        a, b = self.array, self.storage.base
        return a is b or (a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype)


@dataclass(eq=False, slots=True)
class Entry:
    """One call on the tape.

    Attributes:
        kind: "ufunc" and "reduce" accept an ``out``; "call" returns new arrays; "draw" returns new
            arrays of random numbers; "effect" writes to some of its arguments; "number" makes a 0-d
            array of a number that Python computes.
        args, kwargs: the arguments, with a `Ref` in place of each array.
        outs: the arrays that the call makes or writes to.
        fresh: whether ``outs`` are new memory.
        opaque: whether the call may raise or depend on more than its arguments' layout.
    """

    kind: str
    fn: Callable[..., Any]
    args: Sequence[Any]
    kwargs: dict[str, Any]
    outs: Sequence[Ref]
    fresh: bool
    opaque: bool = False

    def __post_init__(self) -> None:
        self.args, self.outs = tuple(self.args), tuple(self.outs)

    def inputs(self) -> list[Ref]:
        """The arrays among the arguments."""
        return parts(Ref, *self.args, *self.kwargs.values())

    def reads(self) -> list[Ref]:
        """The arrays whose former values the call reads or keeps in part."""
        if self.fresh or self.kind not in ("ufunc", "reduce"):
            return self.inputs()
        partly = self.kwargs.get("where", True) is not True
        return self.inputs() + [
            out for out in self.outs if partly or out.array.nbytes != out.storage.base.nbytes
        ]


def parts(kind: type[T], *values: Any) -> list[T]:
    """The instances of ``kind`` in structures of arguments or results."""
    found: list[T] = []
    queue = list(values)
    for value in queue:  # the list grows while the loop runs
        if isinstance(value, kind):
            found.append(value)
        elif isinstance(value, (tuple, list)):
            queue.extend(value)
        elif isinstance(value, dict):
            queue.extend(value.values())
    return found


def map_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """A structure of arguments with ``change(part)`` in place of each part."""
    if type(value) in (tuple, list):
        return type(value)([map_parts(part, change) for part in value])
    if type(value) is dict:
        return {name: map_parts(part, change) for name, part in value.items()}
    return change(value)


def map_refs(value: Any, change: Callable[[Ref], Any]) -> Any:
    """A structure of arguments with ``change(ref)`` in place of each array."""
    return map_parts(value, lambda part: change(part) if isinstance(part, Ref) else part)


def layout_only(array: Array) -> Array:
    """An array of the same layout without its memory; its elements must not be used."""
    return as_strided(np.empty(1, array.dtype), array.shape, array.strides, writeable=False)


def memory_offsets(arrays: Sequence[Array]) -> tuple[tuple[int, int, int], ...]:
    """The pairs of arrays that may share memory: two positions and the distance in bytes."""
    return tuple(
        (i, j, address(b) - address(a))
        for j, b in enumerate(arrays)
        for i, a in enumerate(arrays[:j])
        if np.may_share_memory(a, b)
    )


def holders(arrays: Iterable[Array]) -> frozenset[int]:
    """The `id` of every possible `base` of a view of the memory of these arrays."""
    found: set[int] = set()
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray):
            found.add(id(base))
            base = base.base
        if isinstance(base, Part):
            found.add(id(base))
    return frozenset(found)


# Numbers that a replay computes: expressions of the options of optimizers.


class Leaf:
    """The origin of a number: ``container[key]``, or the value of the 0-d array ``container``.

    Attributes:
        late: whether the step itself writes the array before this read.
    """

    __slots__ = ("container", "key", "late")

    def __init__(self, container: Any, key: Any = None, late: bool = False) -> None:
        self.container, self.key, self.late = container, key, late


# An expression: a `Leaf`, a Python number, or `(format, operands...)`.
Expression = Any


def leaves(expression: Expression) -> list[Leaf]:
    """The leaves of an expression, in order."""
    if isinstance(expression, Leaf):
        return [expression]
    if isinstance(expression, tuple):
        return [leaf for part in expression[1:] for leaf in leaves(part)]
    return []


def expression_source(expression: Expression, name_of: Any) -> str:
    """An expression as Python source.

    Args:
        name_of: returns the source of a leaf, or of a Python number.
    """
    if isinstance(expression, tuple):
        return expression[0].format(*[expression_source(part, name_of) for part in expression[1:]])
    return str(name_of(expression))


# The effects of a step, in addition to its writes to memory.


class Slot:
    """A tensor that may differ at each call.

    Attributes:
        path: the source that finds the tensor among the arguments; None for a leaf's gradient.
        tensor: the tensor of the trace.
        leaf: the leaf whose gradient the tensor is; None for an argument.
    """

    __slots__ = ("array", "leaf", "path", "storage", "tensor")

    def __init__(
        self, path: str | None, tensor: Tensor, storage: Storage, leaf: Tensor | None = None
    ) -> None:
        self.path, self.tensor, self.storage, self.leaf = path, tensor, storage, leaf
        self.array = tensor._array

    def forget(self) -> None:
        """Drop the memory."""
        empty = np.empty(0, np.float32)
        self.array, self.storage.base = empty, empty
        self.tensor = wrap(empty) if self.leaf is None else self.leaf


class Result:
    """A tensor that the step returns.

    Attributes:
        ref: the values.
        edge: None for a tensor that does not require grad; the edge to the node of the trace, whose
            graph is used up; or the output number, for a result with a graph.
        cell: the class of the version cell: inference tensors have one of their own.
    """

    __slots__ = ("cell", "edge", "ref")

    def __init__(self, ref: Ref, edge: Edge | int | None, cell: type) -> None:
        self.ref, self.edge, self.cell = ref, edge, cell


class Gradient:
    """The new ``grad`` of a leaf: None, or a new tensor with the values of ``ref``."""

    __slots__ = ("leaf", "ref")

    def __init__(self, leaf: Tensor, ref: Ref | None) -> None:
        self.leaf, self.ref = leaf, ref


class Count:
    """The change of a version cell.

    Attributes:
        slot: the slot of the cell's tensor; None for a tensor that is the same at each call.
        times: the number of writes.
        rest: the contents of the cell after the count.
    """

    __slots__ = ("cell", "rest", "slot", "times")

    def __init__(self, cell: list[Any], slot: Any, times: int, rest: list[Any]) -> None:
        self.cell, self.slot, self.times, self.rest = cell, slot, times, rest


def has_graph(out: Tensor, outside: Container[Any] = ()) -> bool:
    """Whether a tensor can go backward: no pass has freed the saved values of its graph.

    Args:
        outside: nodes that do not count.
    """
    found = [node for node in reachable_nodes([out.grad_fn]) if node not in outside]
    nodes = [node for node in found if not isinstance(node, AccumulateGrad)]
    kept = [isinstance(node._saved, tuple) for node in nodes if node.keeps_values]
    return out.grad_fn is not None and (any(kept) or not kept)


# Changes of a tape: the uses of storages, and the replacement of arrays.


class Uses:
    """The entries that write and read each storage, and the arrays that they use.

    Attributes:
        writers, readers: by storage number, the positions of entries.
        refs: by storage number, the arrays.
    """

    def __init__(self, entries: list[Entry]) -> None:
        self.writers: defaultdict[int, list[int]] = defaultdict(list)
        self.readers: defaultdict[int, list[int]] = defaultdict(list)
        self.refs: defaultdict[int, list[Ref]] = defaultdict(list)
        for position, entry in enumerate(entries):
            for ref in (*entry.inputs(), *entry.outs):
                self.refs[ref.storage.number].append(ref)
            for ref in entry.reads():
                self.readers[ref.storage.number].append(position)
            for out in entry.outs:
                self.writers[out.storage.number].append(position)

    def last_read(self, storage: Storage) -> int:
        """The position of the last entry that reads a storage; -1 for none."""
        return self.readers[storage.number][-1] if self.readers[storage.number] else -1


def substitute(entries: list[Entry], before: Ref, after: Ref, written: bool = False) -> None:
    """Replace ``before`` by ``after``, of the same layout, in all entries that read it.

    Args:
        written: whether to replace it also in entries that write it.
    """
    flat: Array = after.storage.base.ravel("K").view(np.uint8)  # a view: see `owns_memory`
    shift = after.offset - address(before.array)

    def change(ref: Ref) -> Ref:
        """The view of ``after`` that corresponds to ``ref``, if that is a view of ``before``."""
        if ref.storage is not before.storage:
            return ref
        a, at = ref.array, address(ref.array) + shift
        return Ref(after.storage, np.ndarray(a.shape, a.dtype, flat, at, a.strides))

    for entry in entries:
        if any(ref.storage is before.storage for ref in entry.inputs()):
            entry.args = map_refs(entry.args, change)
            entry.kwargs = map_refs(entry.kwargs, change)
        if written:
            entry.outs = tuple(map(change, entry.outs))


def owns_memory(ref: Ref) -> bool:
    """Whether new views of an array's memory can be made."""
    base = ref.storage.base
    return ref.storage.kind != SLOT and (base.flags.c_contiguous or base.flags.f_contiguous)


# The memory of temporaries: some share it, some need none.


# On NumPy's scalars these are operators, which are much faster than functions on 0-d arrays.
OPERATORS: dict[Any, str] = {
    np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}",
    np.true_divide: "{} / {}", np.negative: "-{}",
}  # fmt: skip
PRODUCTS = (np.matmul, np.ndarray.dot)


class Layout:
    """The place of every temporary of a tape.

    Args:
        own: the numbers of storages with memory of their own.
        escaping: the arrays that are used after the step.
        local: the numbers of storages that calls should allocate, if possible.

    Attributes:
        scalars: the numbers of storages that are NumPy scalars in local variables.
        rebound: the numbers of storages that a call allocates each time, as a local variable.
        offsets: by number, the places of all other storages in the common memory, in bytes.
        size: the size of the common memory, in bytes.
    """

    def __init__(
        self, entries: list[Entry], own: set[int], escaping: list[Ref], local: set[int]
    ) -> None:
        self.entries, self.own, self.escaping, self.local = entries, own, escaping, local
        self.uses = Uses(entries)
        self.scalars: set[int] = set()
        self.rebound: set[int] = set()
        self.offsets: dict[int, int] = {}
        self.size = 0
        self.storages: dict[int, Storage] = {}
        for position, entry in enumerate(entries):
            for out in entry.outs:
                if out.storage.kind == TEMPORARY:
                    self.storages[out.storage.number] = out.storage
                    self.classify(position, entry, out)
        self.place()

    def classify(self, position: int, entry: Entry, out: Ref) -> None:
        """Add a temporary to ``scalars`` or ``rebound`` if it belongs there."""
        number = out.storage.number
        if number in self.own or self.uses.writers[number] != [position] or not entry.fresh:
            return
        seen = [ref for ref in self.escaping if ref.storage.number == number]
        if not all(ref.key == out.key for ref in (*seen, *self.uses.refs[number])):
            return
        if out.array.ndim == 0 and self.is_scalar(entry):
            self.scalars.add(number)
        elif entry.kind in ("call", "draw"):
            self.rebound.add(number)
        elif number in self.local and out.array.flags.c_contiguous:
            # For these calls it is known that NumPy gives a new result the layout of the trace.
            ordered = all(ref.array.flags.c_contiguous for ref in entry.inputs())
            known = entry.kind == "reduce" or (entry.kind == "ufunc" and not entry.kwargs)
            if known and (ordered or entry.fn in PRODUCTS):
                self.rebound.add(number)

    def is_scalar(self, entry: Entry) -> bool:
        """Whether a 0-d result should be a NumPy scalar."""
        if entry.kind == "reduce":
            return "where" not in entry.kwargs
        if entry.kind == "call":
            return len(entry.outs) == 1
        if entry.kind != "ufunc" or entry.kwargs:
            return False
        small = all(isinstance(a, Ref) and a.array.ndim == 0 for a in entry.args)
        return small or entry.fn in PRODUCTS

    def place(self) -> None:
        """Give all other temporaries places, which are free again after their last use."""
        taken: list[tuple[int, int, int]] = []  # start, stop, last use
        elsewhere = self.own | self.scalars | self.rebound
        kept = {ref.storage.number for ref in self.escaping}
        for position, entry in enumerate(self.entries):
            for out in entry.outs:
                number = out.storage.number
                if out.storage.kind != TEMPORARY or number in elsewhere or number in self.offsets:
                    continue
                taken = [t for t in taken if t[2] >= position]
                start, size = 0, align(out.storage.base.nbytes)
                for begin, stop, _ in sorted(taken):
                    if begin - start >= size:
                        break
                    start = max(start, stop)
                self.offsets[number] = start
                self.size = max(self.size, start + size)
                last = max(self.uses.last_read(out.storage), self.uses.writers[number][-1])
                if number in kept:
                    last = len(self.entries)
                taken.append((start, start + size, last))

    def memory(self) -> tuple[Array, Callable[[Ref], Array]]:
        """New common memory, and a function that returns the arrays in it."""
        block = aligned_zeros(self.size)

        def array_of(ref: Ref) -> Array:
            if ref.storage.number not in self.offsets:  # nothing writes to it
                return ref.array
            at = self.offsets[ref.storage.number] + ref.offset
            a = ref.array
            return np.ndarray(a.shape, a.dtype, block, at, a.strides)

        return block, array_of


# A shorter tape: without constant results, repeated work and needless copies.
#
# Every pass keeps the order of the remaining entries, and each of them computes the same bits.


COPY_CALLS = (np.ndarray.copy, np.array)


def entry_key(entry: Entry, versions: dict[int, int]) -> Any:
    """A key that is equal for entries that compute the same; None if this is unknown."""

    def leaf(part: Any) -> str:
        if isinstance(part, Leaf):
            return f"{id(part if part.late else part.container)}[{part.key!r}]"
        return f"{type(part)} {part!r}"

    def name(ref: Ref) -> Any:
        return (*ref.key, versions[ref.storage.number])

    if entry.opaque or not entry.fresh or len(entry.outs) != 1:
        return None
    if entry.kind == "number":
        return (expression_source(entry.args[0], leaf), entry.outs[0].array.dtype)
    if entry.kind not in ("ufunc", "reduce", "call"):
        return None
    args, kwargs = map_refs(entry.args, name), map_refs(entry.kwargs, name)
    key = (entry.kind, id(entry.fn), repr(args), repr(sorted(kwargs.items())))
    return None if "object at 0x" in key[2] + key[3] else key


def copied_source(entry: Entry) -> Ref | None:
    """The array that an entry copies bit for bit; None for any other entry."""
    if entry.kind != "call" or not entry.fresh or not isinstance(entry.args[0], Ref):
        return None
    source = entry.args[0]
    if entry.fn is np.ndarray.__getitem__:
        index = entry.args[1] if isinstance(entry.args[1], tuple) else (entry.args[1],)
        if all(type(item) is int for item in index):  # one element, as a 0-d view
            return Ref(source.storage, source.array[(*index, ...)])
    return source if entry.fn in COPY_CALLS else None


class Tape:
    """The entries of one step, and the memory they work on."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.storages: list[Storage] = []
        self.by_owner: dict[int, Storage] = {}
        self.slots: list[tuple[int, int, Storage]] = []

    def add_storage(self, base: Array, kind: str) -> Storage:
        """Add memory that was not known before; returns its storage."""
        storage = Storage(base, kind, len(self.storages))
        self.storages.append(storage)
        if kind != SLOT:
            self.by_owner[id(base)] = storage
        return storage

    def add_slot(self, array: Array) -> Storage:
        """Add the memory of an array that may differ at the next call; returns its storage."""
        storage = self.add_storage(array, SLOT)
        low, high = np.lib.array_utils.byte_bounds(array)
        self.slots.append((low, high, storage))
        return storage

    def find(self, array: Array) -> Storage | None:
        """The storage that an array lies in; None if its memory is unknown."""
        if self.slots:
            low, high = np.lib.array_utils.byte_bounds(array)
            for start, stop, storage in self.slots:
                if start <= low and high <= stop and array.size:
                    return storage
        return self.by_owner.get(id(memory_owner(array)))

    def ref(self, array: Array) -> Ref:
        """An array as an operand; unknown memory becomes a constant."""
        storage = self.find(array)
        if storage is None:
            storage = self.add_storage(memory_owner(array), CONSTANT)
        return Ref(storage, array)

    def new(self, array: Array) -> Ref:
        """An array that an entry makes: a new temporary."""
        return Ref(self.add_storage(memory_owner(array), TEMPORARY), array)

    def fold_constants(self, kept: set[int]) -> None:
        """Turn temporaries that are computed from constants alone into constants.

        Args:
            kept: the numbers of storages that are used after the step.
        """
        uses = Uses(self.entries)
        for position, entry in enumerate(self.entries):
            storage = entry.outs[0].storage
            if storage.kind != TEMPORARY or storage.number in kept:
                continue
            writers = uses.writers[storage.number]
            early = [r for r in uses.readers[storage.number] if r <= position and r not in writers]
            if writers[-1] == position and not early and all(
                e.kind not in ("number", "draw") and len(e.outs) == 1
                and all(r.storage is storage or r.storage.kind == CONSTANT for r in e.inputs())
                for e in map(self.entries.__getitem__, writers)
            ):  # fmt: skip
                storage.kind = CONSTANT
        self.entries = [e for e in self.entries if e.outs[0].storage.kind != CONSTANT]

    def drop_repetitions(self, kept: set[int]) -> None:
        """Compute equal results only once; read the original instead of a copy.

        This is done only while neither array changes, and not if the second one is used after the
        step.

        Args:
            kept: the numbers of storages that are used after the step.
        """
        uses = Uses(self.entries)
        known: dict[Any, tuple[int, Ref]] = {}
        versions: defaultdict[int, int] = defaultdict(int)
        alive: list[Entry] = []
        for position, entry in enumerate(self.entries):
            key, out = entry_key(entry, versions), entry.outs[0]
            start, same = position, copied_source(entry) or out
            if same is out and key is not None:
                start, same = known.setdefault(key, (position, out))
            number, last = out.storage.number, uses.last_read(out.storage)
            if (
                same is not out
                and out.array.shape == same.array.shape
                and out.array.strides == same.array.strides
                and out.array.dtype == same.array.dtype
                and owns_memory(same)
                and out.whole
                and number not in kept
                and uses.writers[number] == [position]
                and not any(start < n <= last for n in uses.writers[same.storage.number])
            ):
                substitute(self.entries[position:], out, same)
                insort(uses.readers[same.storage.number], max(last, position))
            else:
                alive.append(entry)
            for written in entry.outs:
                versions[written.storage.number] += 1
        self.entries = alive
