"""What the processes of a group send each other: sums, copies, pieces of tensors, messages.

A collective is declared as a generator of what it does with flat arrays, in the place of the
tensors; `collective` makes the function that users call. Sums are taken in the order of the ranks,
so that they have the bits of one process that adds up in that order.
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
"""`Steps` that end with a result."""

SMALL = 16_384  # bytes: such arrays go to all at once, instead of in pieces
LINE = 64  # bytes of memory that a processor takes at once


class ReduceOp(enum.Enum):
    """How values of several ranks become one."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = range(8)

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


reduce_op = ReduceOp
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # PyTorch's own name of the type
SUM = ReduceOp.SUM
UFUNCS: dict[ReduceOp, np.ufunc] = {
    SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply, ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum, ReduceOp.BAND: np.bitwise_and, ReduceOp.BOR: np.bitwise_or,
    ReduceOp.BXOR: np.bitwise_xor,
}  # fmt: skip
MPI_NAMES = {"PRODUCT": "PROD", "AVG": "SUM"}  # where MPI's names differ
KNOWN_TO_MPI = "bBhilqfd"  # the dtypes that each MPI can add: not bool, not float16


class DebugLevel(enum.IntEnum):
    """How much is checked: with DETAIL that all ranks do the same, before each collective."""

    OFF, INFO, DETAIL = range(3)


_level: list[DebugLevel | None] = [None]


def get_debug_level() -> DebugLevel:
    """The level: what was set, or else the variable ``TORCH_DISTRIBUTED_DEBUG``, or OFF.

    Raises:
        ValueError: if the variable names none.
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
    """Choose the level, in all ranks alike."""
    _level[0] = DebugLevel(level)


# How a collective is declared.


def collective(
    writes: str = "", like: Sequence[str] = ()
) -> Callable[[Callable[P, Steps]], Callable[P, Work | None]]:
    """Make a function that users call of a generator.

    The generator gets a `ProcessGroup` as ``group``, flat contiguous arrays in place of tensors,
    and ranks in the group as ``src`` and ``dst``.

    Args:
        writes: the argument that is written to, one tensor or several.
        like: the arguments that all ranks have alike, of tensors their shapes and dtypes.
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
    """An argument as a collective gets it: flat arrays for tensors."""
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
    """Do the steps, then put what was computed in copies where it belongs."""
    yield from steps
    several = isinstance(targets, (list, tuple))
    pairs = zip(targets, arrays, strict=True) if several else [(targets, arrays)]
    for target, array in pairs:
        if target is not None and not target._array.flags.c_contiguous:
            target._array[...] = array.reshape(target._array.shape)


def root_rank(group: ProcessGroup, name: str, rank: int | None, local: int | None) -> int:
    """The rank in the group that is meant by ``src`` or ``group_src``; default: the first."""
    if rank is not None and local is not None:
        raise ValueError(f"Can't specify both group_{name} and {name}")
    if local is None:
        return group.rank_of(rank or 0)
    if not 0 <= local < group.size():
        raise ValueError(f"group_{name} {local} is not in a group of {group.size()}")
    return local


def description(value: Any) -> str:
    """What is compared of an argument: a tensor's dtype and shape, or the value."""
    if isinstance(value, Tensor):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(description, value))}]"
    return str(value)


def compare(group: ProcessGroup, name: str, arguments: dict[str, str]) -> None:
    """Check that all ranks do the same.

    Raises:
        RuntimeError: if they do not; the text names two ranks and what they do.
    """
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
    """What the ranks' arrays come to, one after the other; the first one becomes it."""
    total, *rest = (p.view(Bfloat16Array) if p.dtype == BFLOAT16 else p for p in parts)
    with np.errstate(all="ignore"):
        for part in rest:
            UFUNCS[op](total, part, out=total)
        if op is ReduceOp.AVG:
            np.divide(total, len(parts), out=total)
    return parts[0]


def check_op(op: Any, array: Array) -> None:
    """Refuse an operation that an array's dtype does not have."""
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
    """Send each rank its piece, and add up what comes for this one.

    Returns:
        the total, or None if no piece is for this rank.
    """
    own = sent.get(group.rank())
    if own is not None:
        check_op(op, own)
    parts = [] if own is None else [np.empty_like(own) for _ in range(group.size())]
    yield from group.exchange(tag, sent, dict(enumerate(parts)))
    return combine(parts, op) if parts else None


@collective(writes="tensor", like=("tensor", "op"))
def all_reduce(
    tensor: Any, op: ReduceOp = SUM, group: Any = None, async_op: bool = False
) -> Steps:  # fmt: skip
    """Let each rank's ``tensor`` become the sum of all, or what else ``op`` makes of them."""
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
    """A sum over ranks of one host, in memory that they share: nothing is sent.

    Each rank writes its numbers, adds up one piece of all of them, in the order of the ranks, and
    reads the whole.

    Args:
        group: the ranks.
        table: of their numbers and the sum, as `shared_sum` makes it.
        order: lets the others see what was written before, and this rank what they have written.

    Attributes:
        own: where this rank writes.
        total: the sum, from the end of `steps` until the next ones begin.
    """

    def __init__(self, group: ProcessGroup, table: Array, order: Callable[[], None]) -> None:
        rows, me = table["numbers"], group.rank()
        self.own, self.total = rows[me], rows[-1]
        *self._parts, self._piece = np.array_split(rows, group.size(), 1)[me]
        self._arrivals, self._group, self._order = table["arrivals"][:-1], group, order

    def steps(self, op: ReduceOp = SUM) -> Steps:
        """Combine what all have written; at the end each may write again."""
        yield self._arrive()
        np.copyto(self._piece, self._parts[0])
        combine([self._piece, *self._parts[1:]], op)
        yield self._arrive()

    def _arrive(self) -> "SharedSum":
        self._order()
        self._arrivals[self._group.rank()] += 1
        return self

    def __call__(self) -> bool:
        """Whether all ranks have come as far as this one."""
        if self.missing():
            self._group.comm.Iprobe()  # MPI sends when it is called
            return False
        self._order()
        return True

    def missing(self) -> list[int]:
        """The ranks that have not."""
        goal = self._arrivals[self._group.rank()]
        return [k for k, reached in enumerate(self._arrivals.tolist()) if reached < goal]


def shared_sum(group: ProcessGroup, count: int, dtype: np.dtype) -> SharedSum | None:
    """Where all ranks of a group, which all call this, can add up so many numbers of each.

    Returns:
        None if they are not on one host, or it lacks memory to share.
    """
    line = np.dtype({
        "names": ["arrivals", "numbers"], "formats": [np.int64, (dtype, (count,))],
        "offsets": [0, LINE], "itemsize": LINE * (1 - -count * dtype.itemsize // LINE),
    })  # fmt: skip
    found = group.shared_memory((group.size() + 1) * line.itemsize)
    return None if found is None else SharedSum(group, found[0].view(line), found[1])


kept_sum = functools.lru_cache(64)(shared_sum)  # as all ranks call it alike, they forget alike


@collective(writes="tensor", like=("tensor", "dst", "op"))
def reduce(
    tensor: Any, dst: int | None = None, op: ReduceOp = SUM, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Steps:  # fmt: skip
    """Let the ``tensor`` of rank ``dst`` become the sum of all; the others stay as they are."""
    check_op(op, tensor)
    sent: dict[Any, Array] = {dst: tensor}
    total = yield from reduce_pieces(group, group.next_tag(), sent, op)
    if total is not None:
        tensor[:] = total


@collective(writes="output", like=("output", "op"))
def reduce_scatter(
    output: Any, input_list: Any, op: ReduceOp = SUM, group: Any = None, async_op: bool = False
) -> Steps:
    """Let ``output`` of rank k become the sum of all ranks' ``input_list[k]``."""
    check_op(op, output)
    sent = by_rank("input_list", group, input_list, output)
    output[:] = yield from reduce_pieces(group, group.next_tag(), sent, op)


@collective(writes="output", like=("output", "input", "op"))
def reduce_scatter_tensor(
    output: Any, input: Any, op: ReduceOp = SUM, group: Any = None, async_op: bool = False
) -> Steps:
    """Let ``output`` of rank k become the sum of all ranks' k-th pieces of ``input``."""
    check_op(op, output)
    sent = by_rank("input", group, input, output)
    output[:] = yield from reduce_pieces(group, group.next_tag(), sent, op)


# Copies.


def by_rank(name: str, group: ProcessGroup, pieces: Any, one: Array) -> dict[int, Array]:
    """The pieces, or those of an array, by their ranks; all are to be like another array."""
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
    """Send an array to all ranks, and receive theirs."""
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
    """Let ``tensor_list[k]`` become the ``tensor`` of rank k, in all ranks."""
    yield from to_all(group, tensor, by_rank("tensor_list", group, tensor_list, tensor))


@collective(writes="output_tensor", like=("input_tensor",))
def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Steps:
    """Let the k-th piece of ``output_tensor`` become the ``input_tensor`` of rank k."""
    received = by_rank("output_tensor", group, output_tensor, input_tensor)
    yield from to_all(group, input_tensor, received)


@collective(writes="gather_list", like=("tensor", "dst"))
def gather(
    tensor: Any, gather_list: Any = None, dst: int | None = None, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Steps:  # fmt: skip
    """Let ``gather_list[k]`` of rank ``dst`` become the ``tensor`` of rank k."""
    received = root_pieces("destination", dst, group, "gather_list", gather_list, tensor)
    yield from group.exchange(group.next_tag(), {dst: tensor}, received)


@collective(writes="tensor", like=("tensor", "src"))
def scatter(
    tensor: Any, scatter_list: Any = None, src: int | None = None, group: Any = None,
    async_op: bool = False, group_src: int | None = None,
) -> Steps:  # fmt: skip
    """Let the ``tensor`` of rank k become ``scatter_list[k]`` of rank ``src``."""
    sent = root_pieces("source", src, group, "scatter_list", scatter_list, tensor)
    yield from group.exchange(group.next_tag(), sent, {src: tensor})


def root_pieces(
    role: str, root: int | None, group: ProcessGroup, name: str, pieces: Any, one: Array
) -> dict[int, Array]:
    """The pieces by their ranks, which only the root gives.

    Raises:
        ValueError: if another gives them, or the root does not.
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
    """Let the k-th piece of ``output`` become rank k's piece of ``input`` for this rank.

    Args:
        output_split_sizes, input_split_sizes: how many rows each piece has; default: equally many.
    """
    received = dict(enumerate(split("output", output, output_split_sizes, group)))
    sent = dict(enumerate(split("input", input, input_split_sizes, group)))
    yield from group.exchange(group.next_tag(), sent, received)


def split(name: str, array: Array, rows: Sequence[int] | None, group: ProcessGroup) -> list[Array]:
    """A flat array in pieces of so many rows each."""
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
    """Wait until all ranks are here."""
    if group.size() > 1:
        yield group.comm.Ibarrier().Test


# Messages between two ranks.


def start_message(
    send: bool, tensor: Tensor, rank: int | None, group: Any, tag: int, group_rank: int | None
) -> tuple[Work, list[int]]:
    """Begin to send or receive; the list gets the rank, among all, that has sent."""
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
    """Send a tensor to a rank; its memory may be written to afterwards."""
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
    """A message to come, for `batch_isend_irecv`.

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
    """Begin several messages."""
    return [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]
