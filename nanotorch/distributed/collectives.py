"""Communication in a group of processes: sums, copies, pieces of tensors, messages.

A collective is declared as a generator that works on flat arrays instead of tensors; `collective`
makes the public function from it. Sums are computed in the order of the ranks: they equal, bit for
bit, the sum that one process computes in that order.
"""

import enum
import functools
import inspect
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec

import numpy as np

from nanotorch._core.bfloat16 import Bfloat16Array
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import BFLOAT16, dtype_of
from nanotorch._core.tensor import Tensor
from nanotorch.distributed.group import (
    Array,
    Arrivals,
    ProcessGroup,
    Steps,
    Work,
    as_mpi_bytes,
    get_rank,
    member_of,
    mpi,
)

__all__ = [
    "ReduceOp", "reduce_op", "P2POp", "DebugLevel", "get_debug_level", "set_debug_level",
    "all_reduce", "reduce", "broadcast", "all_gather", "all_gather_into_tensor", "gather",
    "scatter", "reduce_scatter", "reduce_scatter_tensor", "all_to_all_single",
    "barrier", "send", "recv", "isend", "irecv", "batch_isend_irecv",
]  # fmt: skip

P = ParamSpec("P")
Total = Generator[Callable[[], bool], None, Any]
"""`Steps` that return a result at their end."""

SMALL = 16_384  # bytes: arrays up to this size are sent whole, larger ones in pieces
LINE = 64  # bytes of a cache line


class ReduceOp(enum.Enum):
    """The operations that reduce the values of several ranks to one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = range(8)

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


reduce_op = ReduceOp
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # PyTorch's name for the type
SUM = ReduceOp.SUM
UFUNCS: dict[ReduceOp, np.ufunc] = {
    SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum, ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or,
    ReduceOp.BXOR: np.bitwise_xor,
}  # fmt: skip
MPI_NAMES = {"PRODUCT": "PROD", "AVG": "SUM"}  # where MPI's names differ
KNOWN_TO_MPI = "bBhilqfd"  # the dtypes that each MPI can add: not bool, not float16


class DebugLevel(enum.IntEnum):
    """The amount of checks: DETAIL checks before each collective that all ranks call the same."""

    OFF, INFO, DETAIL = range(3)


_level: list[DebugLevel | None] = [None]


def get_debug_level() -> DebugLevel:
    """The debug level: the one set, or else that in ``TORCH_DISTRIBUTED_DEBUG``, or OFF.

    Raises:
        ValueError: if the environment variable does not name a level.
    """
    if _level[0] is None:
        name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
        if name not in DebugLevel.__members__:
            raise ValueError(
                f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, not {name!r}."
            )
        return DebugLevel[name]
    return _level[0]


def set_debug_level(level: DebugLevel) -> None:
    """Set the debug level. All ranks need the same one."""
    _level[0] = DebugLevel(level)


# How a collective is declared.


def collective(
    writes: str = "", like: Sequence[str] = ()
) -> Callable[[Callable[P, Steps]], Callable[P, Work | None]]:
    """Make the public function of a collective from a generator.

    The generator gets a `ProcessGroup` as ``group``, flat contiguous arrays instead of tensors, and
    ranks in the group as ``src`` and ``dst``.

    Args:
        writes: the argument that is written to, one tensor or several.
        like: the arguments that must be equal in all ranks; of tensors, shapes and dtypes.
    """

    def declared(steps: Callable[P, Steps]) -> Callable[P, Work | None]:
        signature, name = inspect.signature(steps), steps.__name__

        @functools.wraps(steps)
        def call(*args: P.args, **kwargs: P.kwargs) -> Work | None:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.arguments
            group = given["group"] = member_of(given["group"])
            if group is None:
                warn(f"Running {name} on global rank {get_rank()} which does not belong to the "
                     "given group.")  # fmt: skip
                return None
            for key in ("src", "dst"):
                if key in given:
                    given[key] = root_rank(group, key, given[key], given[f"group_{key}"])
            if get_debug_level() == DebugLevel.DETAIL and group.size() > 1:
                compare(group, name, {key: description(given[key]) for key in like})
            targets = given.get(writes)
            for key, value in given.items():
                given[key] = flattened(key, value)
            inner = finish(steps(**given), targets, given.get(writes))  # type: ignore[call-arg]
            work = Work(inner, name, group, targets)
            if given["async_op"]:
                return work
            work.wait()
            return None

        return call

    return declared


def flattened(name: str, value: Any) -> Any:
    """An argument with flat arrays instead of tensors.

    Raises:
        TypeError: for another type in place of a tensor.
    """
    if isinstance(value, Tensor):
        return np.ascontiguousarray(value._array).reshape(-1)
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], int):
        return [flattened(name, v) for v in value]
    if name in ("tensor", "input", "output", "tensor_list", "input_list"):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    return value


def finish(steps: Steps, targets: Any, arrays: Any) -> Steps:
    """Do the steps, then copy the results into the targets that are not contiguous."""
    yield from steps
    several = isinstance(targets, (list, tuple))
    pairs = zip(targets, arrays, strict=True) if several else [(targets, arrays)]
    for target, array in pairs:
        if target is not None and not target._array.flags.c_contiguous:
            target._array[...] = array.reshape(target._array.shape)


def root_rank(group: ProcessGroup, name: str, rank: int | None, local: int | None) -> int:
    """The rank in the group from ``src``, a rank among all, or ``group_src``; default: 0.

    Raises:
        ValueError: if both are given, or the rank is not in the group.
    """
    if rank is not None and local is not None:
        raise ValueError(f"Can't specify both group_{name} and {name}")
    if local is None:
        return group.rank_of(rank or 0)
    if not 0 <= local < group.size():
        raise ValueError(f"group_{name} {local} is not in a group of {group.size()}")
    return local


def description(value: Any) -> str:
    """The text that ranks compare of an argument: a tensor's dtype and shape, or the value."""
    if isinstance(value, Tensor):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(description, value))}]"
    return str(value)


def compare(group: ProcessGroup, name: str, arguments: dict[str, str]) -> None:
    """Raise RuntimeError unless all ranks call the same; the message names two ranks and calls."""
    text = f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"
    own = np.zeros(512, np.uint8)
    told = text.encode()[: own.size]
    own[: len(told)] = np.frombuffer(told, np.uint8)
    notes = [np.empty_like(own) for _ in range(group.size())]
    Work(to_all(group, own, dict(enumerate(notes))), text, group).wait()
    texts = [bytes(note).rstrip(b"\0").decode(errors="replace") for note in notes]
    me, mine = group.ranks[group.rank()], texts[group.rank()]
    for rank, other in zip(group.ranks, texts, strict=True):
        if other != mine:
            raise RuntimeError(
                f"Detected mismatch between collectives on ranks. Rank {me} is running collective: "
                f"{mine}, but Rank {rank} is running collective: {other}."
            )


# Sums.


def combine(parts: Sequence[Array], op: ReduceOp) -> Array:
    """Reduce the ranks' arrays in order, into the first one, which is returned."""
    total, *rest = (p.view(Bfloat16Array) if p.dtype == BFLOAT16 else p for p in parts)
    with np.errstate(all="ignore"):
        for part in rest:
            UFUNCS[op](total, part, out=total)
        if op is ReduceOp.AVG:
            np.divide(total, len(parts), out=total)
    return parts[0]


def check_op(op: Any, array: Array) -> None:
    """Refuse an operation that does not exist for an array's dtype.

    Raises:
        TypeError: for a value that is no `ReduceOp`.
        RuntimeError: for a `ReduceOp` that the dtype lacks.
    """
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be one of torch.distributed.ReduceOp, but got {op!r}")
    kind = dtype_of(array)
    if op is ReduceOp.AVG and not kind.is_floating_point:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {kind.char}"
        )
    if op.name in ("BAND", "BOR", "BXOR") and kind.is_floating_point:
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")


def reduce_pieces(group: ProcessGroup, tag: int, sent: Mapping[int, Array], op: ReduceOp) -> Total:
    """Send each rank its piece, and reduce the pieces for this rank.

    Args:
        sent: the pieces, by rank.

    Returns:
        the result, or None if no piece is for this rank.
    """
    own = sent.get(group.rank())
    parts = [] if own is None else [np.empty_like(own) for _ in range(group.size())]
    yield from group.exchange(tag, sent, dict(enumerate(parts)))
    return combine(parts, op) if parts else None


@collective(writes="tensor", like=("tensor", "op"))
def all_reduce(
    tensor: Any, op: ReduceOp = SUM, group: Any = None, async_op: bool = False
) -> Steps:  # fmt: skip
    """Reduce the ``tensor`` of all ranks by ``op``, into each of them. Default: the sum."""
    check_op(op, tensor)
    size = group.size()
    if size == 1:
        return
    if tensor.nbytes > SMALL and not async_op:
        shared = kept_sum(group, tensor.size, tensor.dtype)
        if shared is not None:
            shared.own[:] = tensor
            yield from shared.steps(op)
            tensor[:] = shared.total
            return
    if group.reduction == "fast" and tensor.dtype.char in KNOWN_TO_MPI:
        MPI = mpi()
        known = getattr(MPI, MPI_NAMES.get(op.name, op.name))
        yield group.comm.Iallreduce(MPI.IN_PLACE, tensor, known).Test
        if op is ReduceOp.AVG:
            np.divide(tensor, size, out=tensor)
        return
    tag = group.next_tag()
    if tensor.nbytes <= SMALL:
        tensor[:] = yield from reduce_pieces(group, tag, dict.fromkeys(range(size), tensor), op)
        return
    pieces = np.array_split(tensor, size)
    total = yield from reduce_pieces(group, tag, dict(enumerate(pieces)), op)
    everywhere = dict.fromkeys(range(size), total)
    yield from group.exchange(tag, everywhere, dict(enumerate(pieces)))


class SharedSum(Arrivals):
    """A sum over the ranks of one host, in shared memory, without messages.

    Each rank writes its numbers, reduces one piece of all ranks' numbers in the order of the ranks,
    and reads the whole result.

    Args:
        group: the ranks.
        table: the memory for their numbers and the sum, made by `shared_sum`.
        order: a memory fence: earlier writes of all ranks are visible to all after it.

    Attributes:
        own: the numbers of this rank, to write to.
        total: the sum, valid from the end of `steps` until the next `steps` begin.
    """

    def __init__(self, group: ProcessGroup, table: Array, order: Callable[[], None]) -> None:
        rows, me = table["numbers"], group.rank()
        self.own, self.total = rows[me], rows[-1]
        *self._parts, self._piece = np.array_split(rows, group.size(), 1)[me]
        self._arrivals, self._group, self._order = table["arrivals"][:-1], group, order

    def steps(self, op: ReduceOp = SUM) -> Steps:
        """Reduce the numbers of all ranks; afterwards each may write again."""
        yield self._arrive()
        np.copyto(self._piece, self._parts[0])
        combine([self._piece, *self._parts[1:]], op)
        yield self._arrive()

    def _arrive(self) -> "SharedSum":
        self._order()
        self._arrivals[self._group.rank()] += 1
        return self

    def __call__(self) -> bool:
        """Whether all ranks have arrived where this one is."""
        if self.missing():
            self._group.comm.Iprobe()  # MPI makes progress only when it is called
            return False
        self._order()
        return True

    def missing(self) -> list[int]:
        """The ranks that have not arrived where this one is."""
        goal = self._arrivals[self._group.rank()]
        return [k for k, reached in enumerate(self._arrivals.tolist()) if reached < goal]


def shared_sum(group: ProcessGroup, count: int, dtype: np.dtype) -> SharedSum | None:
    """Allocate a `SharedSum` of ``count`` numbers; all ranks of the group call this.

    Returns:
        the sum, or None if the ranks are not on one host, or it lacks memory to share.
    """
    line = np.dtype({
        "names": ["arrivals", "numbers"], "formats": [np.int64, (dtype, (count,))],
        "offsets": [0, LINE], "itemsize": LINE * (1 - -count * dtype.itemsize // LINE),
    })  # fmt: skip
    found = group.shared_memory((group.size() + 1) * line.itemsize)
    return None if found is None else SharedSum(group, found[0].view(line), found[1])


kept_sum = functools.lru_cache(64)(shared_sum)  # all ranks call it alike, so they evict alike


@collective(writes="tensor", like=("tensor", "dst", "op"))
def reduce(
    tensor: Any, dst: int | None = None, op: ReduceOp = SUM, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Steps:  # fmt: skip
    """Reduce the ``tensor`` of all ranks by ``op``, into that of rank ``dst``; the others stay."""
    check_op(op, tensor)
    sent: dict[Any, Array] = {dst: tensor}
    total = yield from reduce_pieces(group, group.next_tag(), sent, op)
    if total is not None:
        tensor[:] = total


@collective(writes="output", like=("output", "op"))
def reduce_scatter(
    output: Any, input_list: Any, op: ReduceOp = SUM, group: Any = None, async_op: bool = False
) -> Steps:
    """Reduce ``input_list[k]`` of all ranks by ``op``, into ``output`` of rank k."""
    check_op(op, output)
    sent = by_rank("input_list", group, input_list, output)
    output[:] = yield from reduce_pieces(group, group.next_tag(), sent, op)


@collective(writes="output", like=("output", "input", "op"))
def reduce_scatter_tensor(
    output: Any, input: Any, op: ReduceOp = SUM, group: Any = None, async_op: bool = False
) -> Steps:
    """Reduce the k-th piece of ``input`` of all ranks by ``op``, into ``output`` of rank k."""
    check_op(op, output)
    sent = by_rank("input", group, input, output)
    output[:] = yield from reduce_pieces(group, group.next_tag(), sent, op)


# Copies.


def by_rank(name: str, group: ProcessGroup, pieces: Any, one: Array) -> dict[int, Array]:
    """The pieces, or the equal pieces of an array, by rank.

    Raises:
        RuntimeError: unless there is one for each rank, with the size and dtype of ``one``.
    """
    if isinstance(pieces, Array):
        pieces = np.array_split(pieces, group.size())
    if len(pieces) != group.size():
        raise RuntimeError(f"{name} has {len(pieces)} tensors, expected {group.size()}, one a rank")
    for k, piece in enumerate(pieces):
        if (piece.size, piece.dtype) != (one.size, one.dtype):
            raise RuntimeError(
                f"{name} has {piece.size} elements of {dtype_of(piece)} for rank {k}, "
                f"expected {one.size} of {dtype_of(one)}"
            )
    return dict(enumerate(pieces))


def to_all(group: ProcessGroup, array: Array, received: Mapping[int, Array]) -> Steps:
    """Send an array to all ranks, and receive theirs into ``received``."""
    sent = dict.fromkeys(range(group.size()), array)
    yield from group.exchange(group.next_tag(), sent, received)


@collective(writes="tensor", like=("tensor", "src"))
def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> Steps:  # fmt: skip
    """Copy the ``tensor`` of rank ``src`` to all ranks."""
    if group.size() > 1:
        yield group.comm.Ibcast(as_mpi_bytes(tensor), src).Test


@collective(writes="tensor_list", like=("tensor",))
def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Steps:
    """Copy the ``tensor`` of rank k to ``tensor_list[k]`` of all ranks."""
    yield from to_all(group, tensor, by_rank("tensor_list", group, tensor_list, tensor))


@collective(writes="output_tensor", like=("input_tensor",))
def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Steps:
    """Copy the ``input_tensor`` of rank k to the k-th piece of ``output_tensor`` of all ranks."""
    received = by_rank("output_tensor", group, output_tensor, input_tensor)
    yield from to_all(group, input_tensor, received)


@collective(writes="gather_list", like=("tensor", "dst"))
def gather(
    tensor: Any, gather_list: Any = None, dst: int | None = None, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Steps:  # fmt: skip
    """Copy the ``tensor`` of rank k to ``gather_list[k]`` of rank ``dst``."""
    received = root_pieces("destination", dst, group, "gather_list", gather_list, tensor)
    yield from group.exchange(group.next_tag(), {dst: tensor}, received)


@collective(writes="tensor", like=("tensor", "src"))
def scatter(
    tensor: Any, scatter_list: Any = None, src: int | None = None, group: Any = None,
    async_op: bool = False, group_src: int | None = None,
) -> Steps:  # fmt: skip
    """Copy ``scatter_list[k]`` of rank ``src`` to the ``tensor`` of rank k."""
    sent = root_pieces("source", src, group, "scatter_list", scatter_list, tensor)
    yield from group.exchange(group.next_tag(), sent, {src: tensor})


def root_pieces(
    role: str, root: int | None, group: ProcessGroup, name: str, pieces: Any, one: Array
) -> dict[int, Array]:
    """The pieces by rank on the root; an empty dict on other ranks.

    Raises:
        ValueError: if another rank than the root has pieces, or the root has none.
    """
    if group.rank() != root:
        if pieces:
            raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{role} ranks.")
        return {}
    if not pieces:
        raise ValueError(f"Argument ``{name}`` must be specified on {role} rank.")
    return by_rank(name, group, pieces, one)


@collective(writes="output")
def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Any = None, async_op: bool = False,
) -> Steps:  # fmt: skip
    """Copy piece k of ``input`` to rank k, and rank k's piece for this rank to piece k of
    ``output``.

    Args:
        output_split_sizes, input_split_sizes: the number of rows of each piece. Default: equal.
    """
    received = dict(enumerate(split("output", output, output_split_sizes, group)))
    sent = dict(enumerate(split("input", input, input_split_sizes, group)))
    yield from group.exchange(group.next_tag(), sent, received)


def split(name: str, array: Array, rows: Sequence[int] | None, group: ProcessGroup) -> list[Array]:
    """The pieces of a flat array, with ``rows[k]`` rows in piece k; None for equal pieces."""
    shares = [1] * group.size() if rows is None else list(rows)
    whole = max(sum(shares), 1)
    if len(shares) != group.size() or array.size % whole:
        raise RuntimeError(
            f"all_to_all_single: {name} of {array.size} elements does not split into "
            f"{shares if rows else group.size()} for {group.size()} ranks"
        )
    return np.split(array, np.cumsum(shares)[:-1] * (array.size // whole))


@collective()
def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Steps:
    """Wait until all ranks have called this."""
    if group.size() > 1:
        yield group.comm.Ibarrier().Test


# Messages between two ranks.


def start_message(
    send: bool, tensor: Tensor, rank: int | None, group: Any, tag: int, group_rank: int | None
) -> tuple[Work, list[int]]:
    """Begin to send or receive; returns the work, and a list that gets the sender's global rank."""
    home = member_of(group)
    role = "destination" if send else "source"
    if home is None:
        raise ValueError(f"{role}: this process is not in the group")
    peer = group_rank if rank is None else home.rank_of(rank)
    if peer == home.rank() or (send and peer is None):
        raise ValueError(
            f"Invalid {role} rank: {role} rank should not be the same as the rank of the current "
            "process."
        )
    source: list[int] = []

    def steps() -> Steps:
        array = np.ascontiguousarray(tensor._array)
        if send:
            yield home.comm.Isend(as_mpi_bytes(array), peer, 2 * tag).Test
            return
        found = peer
        if found is None:
            MPI = mpi()
            status = MPI.Status()
            yield lambda: home.comm.Iprobe(MPI.ANY_SOURCE, 2 * tag, status)
            found = status.Get_source()
        yield home.comm.Irecv(as_mpi_bytes(array), found, 2 * tag).Test
        source.append(home.ranks[found])
        if array is not tensor._array:
            tensor._array[...] = array

    name = "send" if send else "recv"
    return Work(steps(), name, home, tensor, -1 if peer is None else peer), source


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0,
    group_dst: int | None = None,
) -> Work:  # fmt: skip
    """Begin to send a tensor to a rank."""
    return start_message(True, tensor, dst, group, tag, group_dst)[0]


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0,
    group_src: int | None = None,
) -> Work:  # fmt: skip
    """Begin to receive a tensor from a rank, by default from any."""
    return start_message(False, tensor, src, group, tag, group_src)[0]


def send(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """Send a tensor to a rank; afterwards the tensor may be changed."""
    isend(tensor, dst, group, tag, group_dst).wait()


def recv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0,
    group_src: int | None = None,
) -> int:  # fmt: skip
    """Receive a tensor from a rank, by default from any; returns the sender's rank."""
    work, source = start_message(False, tensor, src, group, tag, group_src)
    work.wait()
    return source[0]


@dataclass
class P2POp:
    """A message for `batch_isend_irecv` to send or receive.

    Args:
        op: `isend` or `irecv`.
        peer: the rank at the other end.
    """

    op: Callable[..., Work]
    tensor: Tensor
    peer: int | None = None
    group: Any = None
    tag: int = 0
    group_peer: int | None = None


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin to send and receive several messages."""
    return [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
