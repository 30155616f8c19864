"""The tape: which NumPy calls a step makes, in order, on which memory; and making it shorter."""

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from nanotorch._core.graph import AccumulateGrad, Edge
from nanotorch._core.layout import address
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.autograd.graph import reachable_nodes
from nanotorch.optim.flat_buffer import Part, align, aligned_zeros, memory_owner

# The tape: which NumPy calls a step makes, in order, on which memory.
#
# Arrays are told apart by the memory they lie in. A view needs no entry of its own: it is a place
# in memory that is known already.


Array = np.ndarray
T = TypeVar("T")

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
        self.array = layout_only(self.array)

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


@dataclass(eq=False, slots=True)
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
        return refs_in(*self.args, *self.kwargs.values())

    def reads(self) -> list[Ref]:
        """The arrays whose former values matter."""
        if self.fresh or self.kind not in ("ufunc", "reduce"):
            return self.inputs()
        partly = self.kwargs.get("where", True) is not True
        return self.inputs() + [
            out for out in self.outs if partly or out.array.nbytes != out.storage.base.nbytes
        ]


def parts(kind: type[T], *values: Any) -> list[T]:
    """What there is of a class in a structure of arguments, or in a result."""
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


def refs_in(*values: Any) -> list[Ref]:
    """The arrays in a structure of arguments."""
    return parts(Ref, *values)


def map_parts(value: Any, change: Callable[[Any], Any]) -> Any:
    """A structure of arguments with something else in place of each part."""
    if type(value) in (tuple, list):
        return type(value)([map_parts(part, change) for part in value])
    if type(value) is dict:
        return {name: map_parts(part, change) for name, part in value.items()}
    return change(value)


def map_refs(value: Any, change: Callable[[Ref], Any]) -> Any:
    """A structure of arguments with something else in place of each array."""
    return map_parts(value, lambda part: change(part) if isinstance(part, Ref) else part)


def layout_only(array: Array) -> Array:
    """An array of the same layout without memory, not to be touched."""
    return as_strided(np.empty(1, array.dtype), array.shape, array.strides, writeable=False)


def memory_offsets(arrays: Sequence[Array]) -> tuple[tuple[int, int, int], ...]:
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


# Numbers that a replay computes anew: expressions of the options of optimizers.


class Leaf:
    """Where a number comes from: ``container[key]``, or the value of a 0-d array.

    Attributes:
        late: of an array: whether the step itself has written it before.
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
        name_of: gives the name of a leaf, or of a Python number.
    """
    if isinstance(expression, tuple):
        return expression[0].format(*[expression_source(part, name_of) for part in expression[1:]])
    return str(name_of(expression))


# What a step leaves behind, besides what it writes to memory.


class Slot:
    """A tensor that may be another one at each call.

    Attributes:
        path: how to find it among the arguments, as source; None for a leaf's gradient.
        tensor: the one of the trace.
        leaf: whose gradient it is.
    """

    __slots__ = ("array", "leaf", "path", "storage", "tensor")

    def __init__(
        self, path: str | None, tensor: Tensor, storage: Storage, leaf: Tensor | None = None
    ) -> None:
        self.path, self.tensor, self.storage, self.leaf = path, tensor, storage, leaf
        self.array = tensor._array

    def forget(self) -> None:
        """Hold no memory any more."""
        empty = np.empty(0, np.float32)
        self.array, self.storage.base = empty, empty
        self.tensor = wrap(empty) if self.leaf is None else self.leaf


class Result:
    """A tensor that the step returns.

    Attributes:
        ref: its values.
        edge: the node that made it in the trace, if it requires grad, with a graph that is used
            up; or which output it is of the node of all results that have a graph.
        cell: the class of its version cell, which inference tensors have of their own.
    """

    __slots__ = ("cell", "edge", "ref")

    def __init__(self, ref: Ref, edge: Edge | int | None, cell: type) -> None:
        self.ref, self.edge, self.cell = ref, edge, cell


class Gradient:
    """What became of a leaf's ``grad``: None, or a new tensor of ``ref``'s values."""

    __slots__ = ("leaf", "ref")

    def __init__(self, leaf: Tensor, ref: Ref | None) -> None:
        self.leaf, self.ref = leaf, ref


class Count:
    """How a version cell changed.

    Attributes:
        slot: whose tensor has the cell, where it may be another one at each call.
        rest: what stands in it behind the count.
    """

    __slots__ = ("cell", "rest", "slot", "times")

    def __init__(self, cell: list[Any], slot: Any, times: int, rest: list[Any]) -> None:
        self.cell, self.slot, self.times, self.rest = cell, slot, times, rest


def has_graph(out: Tensor) -> bool:
    """Whether somebody may go backward from a tensor: no pass has freed what its graph kept."""
    nodes = [n for n in reachable_nodes([out.grad_fn]) if not isinstance(n, AccumulateGrad)]
    kept = [isinstance(node._saved, tuple) for node in nodes if node.keeps_values]
    return out.grad_fn is not None and (any(kept) or not kept)


# Changing a tape: who uses what, and one array in place of another.


class Uses:
    """Which entries write and read each storage, and as which arrays."""

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
        """The last entry that reads it; -1 for none."""
        return self.readers[storage.number][-1] if self.readers[storage.number] else -1


def move_view(ref: Ref, before: Ref, after: Ref) -> Ref:
    """A view of ``before`` as the same view of ``after``, which lies in memory alike."""
    shift = address(ref.array) - address(before.array)
    base, flat = (
        after.storage.base,
        after.storage.base.ravel("K"),
    )  # which is a view: see `owns_memory`
    at = address(after.array) - address(base) + shift
    shape, strides = ref.array.shape, ref.array.strides
    return Ref(after.storage, np.ndarray(shape, ref.array.dtype, flat.view(np.uint8), at, strides))


def substitute(entries: list[Entry], before: Ref, after: Ref, written: bool = False) -> None:
    """Let everything that reads ``before`` read ``after``, and, if asked, what writes it, too."""

    def change(ref: Ref) -> Ref:
        return move_view(ref, before, after) if ref.storage is before.storage else ref

    for entry in entries:
        if any(ref.storage is before.storage for ref in entry.inputs()):
            entry.args = map_refs(entry.args, change)
            entry.kwargs = map_refs(entry.kwargs, change)
        if written:
            entry.outs = tuple(map(change, entry.outs))


def same_layout(a: Ref, b: Ref) -> bool:
    """Whether two arrays have one shape, dtype and layout."""
    x, y = a.array, b.array
    return x.shape == y.shape and x.strides == y.strides and x.dtype == y.dtype


def owns_memory(ref: Ref) -> bool:
    """Whether views of an array's memory can be made anew."""
    base = ref.storage.base
    return ref.storage.kind != SLOT and (base.flags.c_contiguous or base.flags.f_contiguous)


# Which temporaries share memory, and which need none.


# On NumPy's scalars these are operators, which are much faster than functions on 0-d arrays.
OPERATORS: dict[Any, str] = {
    np.add: "{} + {}", np.subtract: "{} - {}", np.multiply: "{} * {}",
    np.true_divide: "{} / {}", np.negative: "-{}",
}  # fmt: skip
PRODUCTS = (np.matmul, np.ndarray.dot)
# Bytes from which on an operand is overwritten. Below, that saves little memory and much time is
# lost: a processor waits for what it has just written before it reads it.
IN_PLACE = 1 << 14


class Layout:
    """Where every temporary of a tape lies.

    Args:
        own: the numbers of storages that have memory of their own.
        escaping: what is seen afterwards.
        local: storages that calls had better make anew.

    Attributes:
        scalars: numbers of storages that are NumPy scalars in local variables.
        rebound: those that a call makes anew each time, as a local variable.
        offsets: for the others, where they lie in the common memory.
        size: of the common memory, in bytes.
    """

    def __init__(
        self, entries: list[Entry], own: set[int], escaping: list[Ref], local: set[int]
    ) -> None:
        self.entries, self.own, self.escaping, self.local = entries, own, escaping, local
        self.kept = {ref.storage.number for ref in escaping}
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
        """Whether a temporary is a scalar, or made anew by a call."""
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
            # NumPy makes the result anew as it lay in the trace, for all that is known.
            ordered = all(ref.array.flags.c_contiguous for ref in entry.inputs())
            known = entry.kind == "reduce" or (entry.kind == "ufunc" and not entry.kwargs)
            if known and (ordered or entry.fn in PRODUCTS):
                self.rebound.add(number)

    def is_scalar(self, entry: Entry) -> bool:
        """Whether a 0-d result is better a NumPy scalar."""
        if entry.kind == "reduce":
            return "where" not in entry.kwargs
        if entry.kind == "call":
            return len(entry.outs) == 1
        if entry.kind != "ufunc" or entry.kwargs:
            return False
        small = all(isinstance(a, Ref) and a.array.ndim == 0 for a in entry.args)
        return small or entry.fn in PRODUCTS

    def place(self) -> None:
        """Give every other temporary a place; those that are not needed any more make room."""
        taken: list[tuple[int, int, int]] = []  # start, stop, last use
        elsewhere = self.own | self.scalars | self.rebound
        for position, entry in enumerate(self.entries):
            for out in entry.outs:
                number = out.storage.number
                if out.storage.kind != TEMPORARY or number in elsewhere or number in self.offsets:
                    continue
                start, size = self.in_place(entry, out, position), align(out.storage.base.nbytes)
                if start is None:
                    taken = [t for t in taken if t[2] >= position]
                    start = first_gap(taken, size)
                self.offsets[number] = start
                self.size = max(self.size, start + size)
                taken.append((start, start + size, self.last_use(number)))

    def last_use(self, number: int) -> int:
        """The last entry for which a storage must keep its values."""
        if number in self.kept:
            return len(self.entries)
        return max(self.uses.last_read(self.storages[number]), self.uses.writers[number][-1])

    def in_place(self, entry: Entry, out: Ref, position: int) -> int | None:
        """Where an operand lies that is read for the last time and can be overwritten."""
        small = out.array.nbytes < IN_PLACE
        if small or entry.kind != "ufunc" or not entry.fresh or entry.fn in PRODUCTS:
            return None
        for ref in refs_in(*entry.args):
            number = ref.storage.number
            if (
                number in self.offsets
                and self.last_use(number) == position
                and ref.storage.base.nbytes == out.storage.base.nbytes
                and same_layout(ref, out)
                and ref.whole
                and sum(r.storage.number == number for r in refs_in(*entry.args)) == 1
            ):
                return self.offsets[number]
        return None

    def memory(self) -> tuple[Array, Callable[[Ref], Array]]:
        """New common memory, and what gives the arrays in it."""
        block = aligned_zeros(self.size)

        def array_of(ref: Ref) -> Array:
            if ref.storage.number not in self.offsets:  # never written to: as it is
                return ref.array
            at = self.offsets[ref.storage.number] + ref.offset
            a = ref.array
            return np.ndarray(a.shape, a.dtype, block, at, a.strides)

        return block, array_of


def first_gap(taken: list[tuple[int, int, int]], size: int) -> int:
    """The first place with room."""
    at = 0
    for start, stop, _ in sorted(taken):
        if start - at >= size:
            return at
        at = max(at, stop)
    return at


# Making a tape shorter: constants, repeated work, copies of what stays, and dead work.
#
# Every pass keeps the order of the entries that remain, and each of those computes the very bits it
# computed before.


COPY_CALLS = (np.ndarray.copy, np.array)


def entry_key(entry: Entry, versions: dict[int, int]) -> Any:
    """Equal for entries that compute the same; None if that cannot be told."""

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
    """What an entry copies, bit for bit."""
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
        return self.by_owner.get(id(memory_owner(array)))

    def ref(self, array: Array) -> Ref:
        """An array as an operand; memory nobody has seen is a constant."""
        storage = self.find(array)
        if storage is None:
            storage = self.add_storage(memory_owner(array), CONSTANT)
        return Ref(storage, array)

    def new(self, array: Array) -> Ref:
        """An array that an entry has made."""
        return Ref(self.add_storage(memory_owner(array), TEMPORARY), array)

    def fold_constants(self, kept: set[int]) -> None:
        """What is computed from constants alone is a constant, of the value that it had.

        Args:
            kept: the numbers of storages that are seen after the step.
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
        """Compute the same from the same once; read the original in place of a copy.

        As long as neither changes, and where nobody sees the second after the step.
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
                and same_layout(out, same)
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
