"""Groups of processes: their members, how they find each other, how one waits for others.

MPI does all communication between processes. It is imported when a group of several is made.

Processes that no MPI launcher has started become MPI processes, on one machine. The process of
rank 0 starts a guardian. The guardian runs `mpiexec` with one idle process for each rank, which
prints the variables that MPI has set in its environment. The guardian sends each rank's variables
to its process, at the address where PyTorch's processes meet. Each process keeps its connection
open until it ends, after Python has: MPI needs `mpiexec` until then.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, NoReturn
from urllib.parse import urlsplit

import numpy as np

from nanotorch._core.arguments import require_processes
from nanotorch._core.call_site import warn_once

__all__ = [
    "Backend", "GroupMember", "ProcessGroup", "Work", "destroy_process_group", "get_backend",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_process_group_ranks",
    "get_rank", "get_world_size", "group", "init_process_group", "new_group",
]  # fmt: skip

Array = np.ndarray
Steps = Iterator[Callable[[], bool]]
"""The steps of a communication. At each wait, it yields a predicate: whether it can continue."""

DEFAULT_TIMEOUT = timedelta(minutes=30)
UNINITIALIZED = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)
# The variables of launchers for rank and size: Hydra and Slurm, Hydra with ports, Open MPI.
RANKS = ("PMI_RANK", "PMI_ID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
LOCAL_RANKS = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
LOCAL_SIZES = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
SHARED = Path("/dev/shm")  # the file system of shared memory on Linux
REDUCTIONS = ("ordered", "fast")
FAREWELL = 32_763  # the tag of a process's last message: odd, unlike those of `send`
LOOK, LONG = 1.0, 60.0
"""Seconds of waiting until a process looks for ended ones, and until it prints that it waits."""


def set_rank_variables() -> None:
    """Set ``RANK``, ``WORLD_SIZE``, ``LOCAL_RANK`` and ``LOCAL_WORLD_SIZE`` from the launcher's
    variables, unless they are set."""
    pairs = {"RANK": RANKS, "WORLD_SIZE": SIZES, "LOCAL_RANK": LOCAL_RANKS,
             "LOCAL_WORLD_SIZE": LOCAL_SIZES}  # fmt: skip
    for name, sources in pairs.items():
        found = next((os.environ[s] for s in sources if s in os.environ), None)
        if found is not None:
            os.environ.setdefault(name, found)


def mpi() -> Any:
    """The module `mpi4py.MPI`; its import connects this process to the launcher.

    Raises:
        RuntimeError: if it is not installed; the message says what to install.
    """
    try:
        import mpi4py

        mpi4py.rc.finalize = False  # `connect` does it
        # Open MPI warns about networks for remote memory, which are not used here.
        os.environ.setdefault("OMPI_MCA_osc", "^ucx")
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # the latter without an MPI library
        raise RuntimeError(NEEDS_MPI.format(error)) from None
    return MPI


class ProcessGroup:
    """Processes that communicate; each has a rank in the group, from 0.

    Attributes:
        ranks: the members' ranks among all processes, in ascending order.
        timeout: seconds that a process waits for others.
        reduction: "ordered" or "fast": see `init_process_group`.
        begun: the number of collectives that this process has begun.
        left: by rank in the group, for ended processes: the number of collectives begun.
    """

    alive: ClassVar[list["ProcessGroup"]] = []

    def __init__(
        self, comm: Any, ranks: Sequence[int], timeout: timedelta, reduction: str, name: str
    ) -> None:
        self.comm, self.ranks, self.reduction = comm, tuple(ranks), reduction
        self.timeout = timeout.total_seconds()
        self._rank = 0 if comm is None else comm.Get_rank()
        self._name, self._count, self.backend = name, 0, "mpi"
        self.begun, self.left = 0, dict[int, int]()
        self.alive.append(self)
        self._windows: list[tuple[Callable[[], Any], Any]] = []

    def rank(self) -> int:
        """This process's rank in the group."""
        return self._rank

    def size(self) -> int:
        """The number of processes in the group."""
        return len(self.ranks)

    def name(self) -> str:
        """The group's name."""
        return self._name

    @property
    def group_name(self) -> str:
        """The group's name."""
        return self._name

    def rank_of(self, global_rank: int) -> int:
        """The rank in the group of a process, from its rank among all processes.

        Raises:
            ValueError: if the process is not in the group.
        """
        if global_rank not in self.ranks:
            known = ", ".join(map(str, self.ranks))
            raise ValueError(
                f"Global rank {global_rank} is not part of group {self._name} (ranks {known})"
            )
        return self.ranks.index(global_rank)

    def next_tag(self) -> int:
        """A new tag for the messages of one collective, the same in all processes.

        It is odd; messages of `send` have even tags.
        """
        self._count += 1
        return 2 * (self._count % 16_000) + 1  # MPI guarantees tags up to 32,767

    def say_farewell(self) -> list[Any]:
        """Tell the other ranks that this process ends; returns requests to keep until the end."""
        others = (k for k in range(self.size()) if k != self._rank)
        return [self.comm.Isend(np.array([self.begun]), k, FAREWELL) for k in others]

    def shared_memory(self, size: int) -> tuple[Array, Callable[[], None]] | None:
        """Allocate ``size`` bytes that all ranks share; all ranks call this.

        Memory from earlier calls is freed when no rank has arrays in it any more.

        Returns:
            the memory and a memory fence, or None if the ranks are not on one host, or it has less
            than twice as many bytes to share.

        Raises:
            RuntimeError: if the ranks want different sizes.
        """
        if self.size() == 1:
            return None
        MPI, comm = mpi(), self.comm
        Work(iter([comm.Ibarrier().Test]), "shared memory", self).wait()
        gone = np.array([alive() is None for alive, _ in self._windows], np.int8)
        comm.Allreduce(MPI.IN_PLACE, gone, MPI.MIN)
        for place in np.flatnonzero(gone)[::-1]:
            _, window = self._windows.pop(place)
            window.Unlock_all()
            window.Free()
        host = comm.Split_type(MPI.COMM_TYPE_SHARED)
        room = shutil.disk_usage(SHARED).free if SHARED.is_dir() else 2 * size
        fits = host.Get_size() == self.size() and room >= 2 * size
        host.Free()
        told = comm.allgather((size, fits))
        if len({wanted for wanted, _ in told}) > 1:
            raise RuntimeError(f"tensors differ: the ranks add up {[n for n, _ in told]} bytes")
        if not all(fit for _, fit in told):
            return None
        window = MPI.Win.Allocate_shared(0 if self._rank else size, 1, comm=comm)
        window.Lock_all()
        memory = np.frombuffer(window.Shared_query(0)[0], np.uint8)
        self._windows.append((weakref.ref(memory), window))
        np.array_split(memory, self.size())[self._rank].fill(0)  # also allocates its pages
        comm.Barrier()
        return memory, window.Sync

    def exchange(self, tag: int, sent: Mapping[int, Array], received: Mapping[int, Array]) -> Steps:
        """Send contiguous arrays to ranks, and receive others in place.

        Args:
            sent: the arrays to send, by the receiver's rank.
            received: the arrays to receive into, by the sender's rank.
        """
        me = self._rank
        if me in received:
            received[me][...] = sent[me]
        comm = self.comm
        requests = [comm.Irecv(as_mpi_bytes(a), k, tag) for k, a in received.items() if k != me]
        # Each rank begins with its successor, so that not all send to rank 0 at once.
        for k in sorted(sent, key=lambda k: (k - me) % self.size()):
            if k != me:
                requests.append(comm.Isend(as_mpi_bytes(sent[k]), k, tag))
        if requests:
            yield Arrivals(requests, [k for k in received if k != me])


class Arrivals:
    """A predicate: whether messages have arrived.

    Args:
        requests: the MPI requests of all messages, received ones first.
        sources: the senders' ranks of the received ones.
    """

    def __init__(self, requests: list[Any], sources: list[int]) -> None:
        self._requests, self._sources = requests, sources

    def __call__(self) -> bool:
        return bool(self._requests[0].Testall(self._requests))

    def missing(self) -> list[int]:
        """The ranks whose message has not arrived."""
        pairs = zip(self._sources, self._requests, strict=False)
        return [k for k, request in pairs if not request.Test()]


def as_mpi_bytes(array: Array) -> Any:
    """The bytes of a contiguous array, as MPI accepts them."""
    return array.reshape(-1).view(np.uint8).data


class Work:
    """A communication that has begun.

    Args:
        steps: its steps.
        name: the name of the public function.
        home: the group.
        result: the tensors that it writes to.
        peer: the receiver's or sender's rank of a message, -1 for any; None for a collective.
    """

    waited = 0.0
    """The seconds that this process has waited in total."""
    _begun: ClassVar[weakref.WeakSet["Work"]] = weakref.WeakSet()

    def __init__(
        self, steps: Steps, name: str, home: ProcessGroup, result: Any = None,
        peer: int | None = None,
    ) -> None:  # fmt: skip
        self._steps, self._home, self._result, self._peer = steps, home, result, peer
        self._told = f"{name} on rank {home.rank()} of group {home.name()}"
        home.begun += peer is None
        self._turn = home.begun
        self._ready: Callable[[], bool] | None = lambda: True
        self.is_completed()  # begins
        Work._begun.add(self)

    @staticmethod
    def go_on() -> None:
        """Continue all communications of this process as far as possible without waiting."""
        for work in [*Work._begun]:
            if work.is_completed():
                Work._begun.discard(work)

    def is_completed(self) -> bool:
        """Whether the communication is done; continues it as far as possible without waiting."""
        while self._ready is not None:
            ready, self._ready = self._ready, None  # stays None after an error
            try:
                if not ready():
                    self._ready = ready
                    return False
            except Exception as error:  # MPI's, whose class is known only where it is installed
                raise RuntimeError(
                    f"{self._told}: {error}. Set TORCH_DISTRIBUTED_DEBUG=DETAIL to see where "
                    "the ranks differ"
                ) from error
            self._ready = next(self._steps, None)
        return True

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the communication is done.

        Args:
            timeout: the longest time to wait. Default: the group's.

        Returns:
            True.

        Raises:
            RuntimeError: after ``timeout``, or if a process that it needs has ended.
        """
        limit = self._home.timeout if timeout is None else timeout.total_seconds()
        begin, pause, due, long = time.monotonic(), 0.0, LOOK, LONG
        while not self.is_completed():
            waited = time.monotonic() - begin
            if waited > due:
                due = waited + LOOK
                if (gone := self._gone()) and not self.is_completed():  # not at the last moment
                    ended = f"{self._names(gone)} has ended without taking part"
                    raise RuntimeError(f"{self._told}: {ended}")
            if waited > limit:
                answer = f"an answer from {self._names(self._missing())}"
                raise RuntimeError(f"{self._told}: timed out after {limit:g} s without {answer}")
            if waited > long:
                long, missing = limit, self._missing()
                if {*range(self._home.rank())} <= {*missing}:  # the lowest waiting rank
                    message = f"has waited {waited:.0f} s for {self._names(missing)}"
                    print(f"{self._told}: {message}", file=sys.stderr, flush=True)
            Work.go_on()  # others may wait for these
            # Other processes may need this core: yield at first, sleep later.
            pause = 0.0 if waited < 1e-3 else min(pause + 2e-5, 1e-3)
            time.sleep(pause)
        Work.waited += time.monotonic() - begin
        return True

    def _gone(self) -> set[int]:
        """The ranks in the group that have ended without taking part in this."""
        comm, left, status = self._home.comm, self._home.left, mpi().Status()
        while comm.Iprobe(tag=FAREWELL, status=status):
            comm.Recv(begun := np.empty(1, np.int64), source := status.Get_source(), FAREWELL)
            left[source] = int(begun[0])
        if self._peer is not None:
            return {self._peer} & left.keys()
        return {rank for rank, count in left.items() if count < self._turn}

    def _missing(self) -> list[int]:
        """The ranks in the group whose messages are missing, as far as that is known."""
        if isinstance(self._ready, Arrivals):
            return self._ready.missing()
        return [] if self._peer in (None, -1) else [self._peer]

    def _names(self, ranks: Iterable[int]) -> str:
        """Ranks in the group as text: their ranks among all processes."""
        found = ", ".join(str(self._home.ranks[k]) for k in sorted(ranks))
        return f"rank {found}" if found else "others"

    def is_success(self) -> bool:
        """Whether the communication has ended."""
        return self._ready is None

    def result(self) -> Any:
        """The tensors that the communication has written to."""
        return self._result

    def get_future(self) -> "Work":
        """The work itself, which also has the methods of a future."""
        return self

    def value(self) -> Any:
        """The same as `result`: the value of a future."""
        return self._result

    done = is_completed


class Backend(str):
    """The name of a backend in lower case; every accepted one means MPI here."""

    UNDEFINED, GLOO, NCCL, MPI = "undefined", "gloo", "nccl", "mpi"
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": MPI}

    def __new__(cls, name: str) -> str:  # type: ignore[misc]  # as in PyTorch
        return name.lower()


class GroupMember:
    """Holds the group of all processes.

    Attributes:
        WORLD: that group; None before `init_process_group`.
        NON_GROUP_MEMBER: the result of `new_group` in processes that are not in the group.
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


group = GroupMember


def world() -> ProcessGroup:
    """The group of all processes.

    Raises:
        ValueError: before `init_process_group`.
    """
    if (found := GroupMember.WORLD) is None:
        raise ValueError(UNINITIALIZED)
    return found


def member_of(given: Any) -> ProcessGroup | None:
    """The group from an argument ``group``; None if this process is not in it."""
    if given is None or given is GroupMember.WORLD:
        return world()
    return given if isinstance(given, ProcessGroup) else None


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
    world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
    pg_options: Any = None, device_id: Any = None, *, reduction: str = "ordered",
) -> None:  # fmt: skip
    """Join the default group, the group of all processes; all processes call this.

    Processes from an MPI launcher find each other through it. Other processes, on one machine, find
    each other by ``rank``, ``world_size`` and an address; they need MPICH's `mpiexec`. One process
    alone needs no MPI.

    Args:
        backend: "mpi", "gloo" or "nccl"; all of them mean MPI here.
        init_method: the address where processes without a launcher meet, ``tcp://host:port``.
            Default: ``MASTER_ADDR`` and ``MASTER_PORT`` of the environment.
        timeout: the longest time to wait for other processes. Default: 30 minutes.
        world_size, rank: the number of processes, and the number of this one, from 0. Default: the
            launcher's, or ``WORLD_SIZE`` and ``RANK`` of the environment, or one process.
        group_name: the group's name. Default: "0".
        store, pg_options, device_id: accepted for PyTorch's sake.
        reduction: the order in which `all_reduce` adds. "ordered": the order of the ranks; each run
            and each MPI computes the same bits. "fast": if messages are needed, an order that MPI
            chooses; a sum of n numbers differs by at most (n - 1) roundings of the sum of their
            absolute values.

    Raises:
        ValueError: if the default group exists already, or for invalid arguments.
        RuntimeError: if MPI is not installed; the message says what to install.
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    kinds = {part.rpartition(":")[2] for part in (backend or "mpi").lower().split(",")}
    if not kinds <= {"mpi", "gloo", "nccl"}:
        refuse(f"backend {backend!r} is none of 'mpi', 'gloo' and 'nccl', which all mean MPI here")
    if reduction not in REDUCTIONS:
        refuse(f"reduction {reduction!r} is none of {', '.join(map(repr, REDUCTIONS))}")
    set_rank_variables()
    me, size, comm = env_number("RANK", rank, 0), env_number("WORLD_SIZE", world_size, 1), None
    if not 0 <= me < size:
        refuse(f"rank {me} is not in the range of {size} processes, 0 to {size - 1}")
    limit = DEFAULT_TIMEOUT if timeout is None else timeout
    if size > 1 or is_launched():
        require_processes("a group of several processes")
        if not is_launched():
            join_guardian(init_method, me, size, limit.total_seconds())
            end_all_with_an_error()
        comm = connect(me, size)
    whole = ProcessGroup(comm, range(size), limit, reduction, group_name or "0")
    whole.backend, GroupMember.WORLD = backend or "mpi", whole
    if not me and size > 1 and kinds != {"mpi"}:
        warn_once(f"the backend {backend!r} means MPI here")


def is_launched() -> bool:
    """Whether an MPI launcher has started this process."""
    return any(name in os.environ for name in RANKS)


def env_number(name: str, given: int, default: int) -> int:
    """The argument ``given`` if it is not negative, or else the environment variable ``name``."""
    if given >= 0:
        return given
    text = os.environ.get(name, "") or str(default)
    if not text.isdecimal():
        refuse(f"the environment variable {name} is {text!r}, not a whole number")
    return int(text)


def connect(rank: int, size: int) -> Any:
    """An MPI communicator of all processes; each finalizes MPI when it ends without an error.

    Args:
        rank, size: this process's rank and the number of processes, by arguments or environment.

    Raises:
        ValueError: if MPI reports others.
    """
    import multiprocessing.util  # calls its finalizers in forked processes, too

    MPI = mpi()
    comm = MPI.COMM_WORLD.Dup()
    if (comm.Get_rank(), comm.Get_size()) != (rank, size):
        refuse(
            f"this is rank {rank} of {size} by its arguments or its environment, and rank "
            f"{comm.Get_rank()} of {comm.Get_size()} by its launcher"
        )

    def leave() -> None:
        error = sys.exc_info()[1]
        failed = error is not None and getattr(error, "code", 1) not in (None, 0)
        if not failed and not MPI.Is_finalized():
            _kept = [made.say_farewell() for made in ProcessGroup.alive if made.comm is not None]
            MPI.Finalize()  # waits for the others: a failed process must not call it

    multiprocessing.util.Finalize(None, leave, exitpriority=0)
    return comm


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group. Default: the group of all processes, and with it all others.

    Raises:
        AssertionError: if there is no group.
    """
    left = member_of(group) if group is not None else GroupMember.WORLD
    assert left is not None, "Process group cannot be None"
    if left is GroupMember.WORLD:
        GroupMember.WORLD = None
        ProcessGroup.alive.clear()
    if left.comm is not None:
        left.comm.Free()
        left.comm = None


def new_group(
    ranks: Iterable[int] | None = None, timeout: timedelta | None = None,
    backend: str | None = None, pg_options: Any = None, use_local_synchronization: bool = False,
    group_desc: str | None = None, device_id: Any = None,
) -> Any:  # fmt: skip
    """Make a group of some of the processes; all processes call this, not only its members.

    Args:
        ranks: the members' ranks, in any order. Default: all.
        timeout: the longest time to wait for other processes. Default: the default group's.
        backend: the result of `get_backend`; it means MPI here.
        group_desc: the group's name.
        pg_options, use_local_synchronization, device_id: accepted for PyTorch's sake.

    Returns:
        the group, or `GroupMember.NON_GROUP_MEMBER` in processes that are not in it.

    Raises:
        ValueError: for ranks that do not exist or occur twice.
    """
    whole = world()
    chosen = sorted(whole.ranks if ranks is None else ranks)
    if len(set(chosen)) != len(chosen) or not set(chosen) <= set(whole.ranks):
        raise ValueError(f"new_group: ranks {chosen} are not distinct ranks below {whole.size()}")
    inside, comm = whole.rank() in chosen, None
    if whole.comm is not None:
        comm = whole.comm.Split(0 if inside else mpi().UNDEFINED, whole.rank())
    if not inside:
        return GroupMember.NON_GROUP_MEMBER
    limit = timedelta(seconds=whole.timeout) if timeout is None else timeout
    made = ProcessGroup(comm, chosen, limit, whole.reduction, group_desc or str(id(comm)))
    made.backend = backend or whole.backend
    return made


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in a group, by default in that of all; -1 if it is not in the group."""
    found = member_of(group)
    return -1 if found is None else found.rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes in a group, by default of all; -1 if this one is not in it."""
    found = member_of(group)
    return -1 if found is None else found.size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of a group's backend, as given when it was made; "mpi" by default.

    Raises:
        ValueError: if this process is not in the group.
    """
    found = member_of(group)
    if found is None:
        raise ValueError("Invalid process group specified")
    return found.backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks of a group's members among all processes."""
    return list((member_of(group) or world()).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank among all processes, from a rank in a group."""
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group, from a rank among all processes."""
    return group.rank_of(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's rank among those of its machine.

    Raises:
        RuntimeError: if the environment does not say, and there is no ``fallback_rank``.
    """
    set_rank_variables()
    if "LOCAL_RANK" not in os.environ and fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment; give fallback_rank")
    return int(os.environ.get("LOCAL_RANK", fallback_rank or 0))


def end_all_with_an_error() -> None:
    """Install a hook: an error that ends this process ends all processes."""
    hook = sys.excepthook

    def tell(kind: Any, error: Any, frames: Any) -> None:
        who = f"rank {os.environ.get('RANK', '?')} of {os.environ.get('WORLD_SIZE', '?')}"
        print(f"{who} ends all processes, because of an error:", file=sys.stderr)
        hook(kind, error, frames)
        end_all(1)

    sys.excepthook = tell


# How processes that no MPI launcher has started find each other.


NEEDS_MPI = (
    "training in several processes needs mpi4py and an MPI library ({}). Install the extra "
    "`distributed`, from a checkout: pip install -e '.[distributed]'"
)
# The program of an idle process. The first ends when its input ends, and with it all.
IDLE = """
import json, os, sys, time
own = {k: v for k, v in os.environ.items() if k.startswith(("PMI", "MPI_"))}
print(json.dumps(own), flush=True)
if own.get("PMI_ID") == "0":
    sys.stdin.read()
    os.kill(os.getpid(), 15)
time.sleep(10**8)
"""


def end_all(code: int) -> NoReturn:
    """End all processes that the launcher has started, even before they have joined MPI."""
    sys.stdout.flush()
    sys.stderr.flush()
    time.sleep(0.3)  # Hydra drops output that it has not read by then
    if "HYDI_CONTROL_FD" in os.environ:  # MPI's own `Abort` works only after all have joined
        with contextlib.suppress(OSError):
            os.write(int(os.environ["PMI_FD"]), f"cmd=abort exitcode={code}\n".encode())
        time.sleep(1)
    if MPI := sys.modules.get("mpi4py.MPI"):
        MPI.COMM_WORLD.Abort(code)
        time.sleep(1)
    with contextlib.suppress(OSError):  # Hydra's proxy would stay on a host that is cut off
        if Path(f"/proc/{os.getppid()}/comm").read_text("utf-8").startswith("hydra_pmi_proxy"):
            os.kill(os.getppid(), signal.SIGTERM)
    os._exit(code)


def refuse(text: str) -> NoReturn:
    """Raise PyTorch's error for arguments of `init_process_group`."""
    raise ValueError(f"Error initializing torch.distributed: {text}")


def launcher() -> str:
    """The path of `mpiexec`: this Python's environment's, or else the one in ``PATH``.

    Raises:
        RuntimeError: if there is none, and in WebAssembly.
    """
    require_processes("mpiexec")
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise RuntimeError(NEEDS_MPI.format("there is no mpiexec"))
    return found


def address(init_method: str | None) -> tuple[str, int]:
    """The host and port where the processes meet."""
    if init_method in (None, "env://"):
        for name in ("MASTER_ADDR", "MASTER_PORT"):
            if not os.environ.get(name):
                refuse(f"environment variable {name} expected, but not set")
        init_method = f"tcp://{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    parts = urlsplit(str(init_method))
    if parts.scheme != "tcp" or not parts.hostname or not parts.port:
        refuse(f"{init_method!r} is not an address like tcp://localhost:29500")
    return parts.hostname, parts.port


def join_guardian(init_method: str | None, rank: int, size: int, timeout: float) -> None:
    """Get an MPI process's environment from the guardian, and set it; rank 0 starts the guardian.

    Args:
        init_method: the address.
        timeout: seconds to wait for other processes.

    Raises:
        RuntimeError: if other processes do not connect, or there is no `mpiexec` of MPICH.
    """
    place, end = address(init_method), time.monotonic() + timeout
    if not rank:
        version = subprocess.run([launcher(), "--version"], capture_output=True, check=False)
        if b"HYDRA" not in version.stdout:
            raise RuntimeError(
                "processes that no launcher has started need MPICH's mpiexec; start them by "
                "mpiexec, or by python -m nanotorch.distributed.run"
            )
        with socket.create_server(place) as server:
            server.set_inheritable(True)
            number = server.fileno()
            call = f"from {__name__} import run_guardian; run_guardian({size}, {number}, {timeout})"
            command = [sys.executable, "-c", call]
            subprocess.Popen(command, pass_fds=(number,), start_new_session=True)
    while True:
        try:
            line = socket.create_connection(place)
            break
        except OSError:
            if time.monotonic() > end:
                raise RuntimeError(f"rank 0 cannot be reached at {place[0]}:{place[1]}") from None
            time.sleep(0.02)
    line.sendall(rank.to_bytes(4, "little"))
    try:
        with line.makefile() as file:
            told = file.readline()
    except OSError:
        told = ""
    line.detach()  # keeps the connection open until the process ends
    if not told:
        raise RuntimeError(
            f"not all of {size} ranks have connected within {timeout:g} s, or mpiexec has failed"
        )
    os.environ.update(json.loads(told))


def run_guardian(size: int, number: int, timeout: float) -> None:
    """Run the guardian until all processes have ended.

    Args:
        number: the file descriptor of the listening socket.
    """
    command = [launcher(), "-pmi-port", "-n", str(size), sys.executable, "-c", IDLE]
    server, pipe = socket.socket(fileno=number), subprocess.PIPE
    lines: list[tuple[socket.socket, dict[str, str]]] = []
    server.settimeout(1)
    parent, end = os.getppid(), time.monotonic() + timeout
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as started:
        assert started.stdout is not None
        text = ""
        while text.count("}") < size and (part := started.stdout.readline()):
            text += part.decode()  # a line may hold two
        parts = map(json.loads, re.findall("{[^}]*}", text))
        found = {int(own["PMI_ID"]): own for own in parts}
        try:
            while len(lines) < size:
                if os.getppid() != parent or time.monotonic() > end:
                    raise TimeoutError
                with contextlib.suppress(TimeoutError):
                    line, _ = server.accept()
                    lines.append((line, found[int.from_bytes(line.recv(4), "little")]))
            for line, own in lines:
                line.sendall(json.dumps(own).encode() + b"\n")
            for line, _ in lines:
                line.recv(1)
        except (OSError, KeyError):  # a process is missing or has ended, or mpiexec has failed
            pass
        started.terminate()


set_rank_variables()
if is_launched() and os.environ.get("WORLD_SIZE") != "1":
    end_all_with_an_error()
