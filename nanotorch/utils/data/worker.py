"""Worker processes that read batches ahead."""

import contextlib
import functools
import itertools
import os
import pickle
import queue
import random
import signal
import socket
import struct
import threading
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import parent_process, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

import numpy as np

from nanotorch._core.call_site import warn
from nanotorch.ops.random import manual_seed
from nanotorch.settings import pools
from nanotorch.utils.data.dataset import (
    Plan,
    Position,
    Reader,
    WorkerInfo,
    current,
    dataset_state,
    portable,
    raw_states,
    set_random_states,
)

# Messages between a loader and its workers: pickles, followed by the large arrays.


# Bytes. Smaller arrays are part of the pickle: a copy costs less than another system call.
LARGE = 1 << 16
# The loaders' ends of all channels of this process. A forked worker closes its copies of them:
# an open copy would hide from other workers that this process is gone.
ends: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()

Parts = list[Any]


def encode(message: Any) -> Parts:
    """A message as bytes: the sizes of its parts, the pickle, the large arrays."""
    large: Parts = []

    def inside(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < LARGE:
            return True
        large.append(raw)
        return False

    body = pickle.dumps(message, 5, buffer_callback=inside)
    sizes = [len(body), *(raw.nbytes for raw in large)]
    return [struct.pack(f"<{1 + len(sizes)}Q", len(sizes), *sizes) + body, *large]


def send(end: socket.socket, parts: Parts) -> None:
    """Send the parts of an encoded message."""
    for part in parts:
        end.sendall(part)


def receive(end: socket.socket) -> Any:
    """Receive the next message."""
    (count,) = struct.unpack("<Q", read(end, 8))
    first, *others = struct.unpack(f"<{count}Q", read(end, 8 * count))
    body = read(end, first)
    return pickle.loads(body, buffers=[read(end, size) for size in others])


def read(end: socket.socket, size: int) -> memoryview:
    """Read the next `size` bytes into new memory; raises EOFError at the end."""
    content = memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]
    rest = content
    while rest:
        got = end.recv_into(rest)
        if not got:
            raise EOFError
        rest = rest[got:]
    return content


# The code that runs in a worker process: it reads the samples that the loader asks for.


# Seconds without a message after which a worker checks that the loader's process is alive.
WATCH = 5.0


class KeyErrorMessage(str):
    """A string that a `KeyError` shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self


@dataclass
class Failure:
    """An exception on its way to another process.

    Attributes:
        kind: its class.
        text: its traceback.
        where: the place where it was caught, as "in DataLoader worker process 0".
    """

    kind: type[Exception]
    text: str
    where: str

    def reraise(self) -> NoReturn:
        """Raise an exception of the same class whose message contains the traceback."""
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.kind, "message", None):
            raise self.kind(message=message)  # type: ignore[call-arg]
        try:
            exception = self.kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise exception


class Ended:
    """Sent in place of a batch: a worker's stream has no more samples."""


@dataclass(frozen=True)
class Job:
    """The instructions for a worker when it starts.

    Attributes:
        plan: how to make batches.
        id, count: the number of this worker, from 0, and the number of workers.
        base_seed: the seed of the first worker's random numbers.
        init_fn: called with the worker's number.
        resume: the worker's state in the pass to resume; None for a new pass.
    """

    plan: Plan
    id: int
    count: int
    base_seed: int
    init_fn: Callable[[int], None] | None
    resume: dict[str, Any] | None

    def failure(self, error: Exception) -> Failure:
        """The `Failure` for an exception in this worker."""
        where = f"in DataLoader worker process {self.id}"
        return Failure(type(error), "".join(traceback.format_exception(error)), where)


def run_worker(job: Job, end: socket.socket) -> None:
    """Answer the loader's messages until it is gone.

    A message is a triple: the number of a pass, the number of a batch, and its indices. An answer
    is a quadruple: the number of the pass; the number of the batch; the batch, a `Failure` or
    `Ended`; the worker's state after it. When a pass begins, the number of the batch is None, and
    the third entry of the answer is the random state before the pass.
    """
    # Undo the parent's signal handlers and open sockets that a forked process inherits.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Ctrl-C reaches the whole process group. The loader's process decides what it means, and may
    # continue to load. Programs that the dataset starts still get it; SIG_IGN would be inherited.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    if hasattr(signal, "pthread_sigmask"):  # blocked while this process was started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in list(ends):
        other.close()
    if (held := blas_control()) is not None:
        held.limit(limits=1)
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    outbox: queue.SimpleQueue[Parts | None] = queue.SimpleQueue()

    def take_in() -> None:
        """Put messages in the inbox, and None when the loader is gone."""
        # The process that started this one may be a fork server instead of the loader's.
        loader, starter = parent_process(), os.getppid()

        def alone() -> bool:
            return os.getppid() != starter or not (loader and loader.is_alive())

        with contextlib.suppress(EOFError, OSError):
            while not alone():
                if wait([end], WATCH):
                    inbox.put(receive(end))
        inbox.put(None)
        # A loader that stops its workers ends the slow ones; a killed loader cannot.
        while not alone():
            time.sleep(WATCH)
        time.sleep(WATCH)
        os._exit(1)

    # Two threads: batches are sent while the next ones are read, and messages are always received,
    # so that the loader never waits for a worker that waits for the loader.
    threading.Thread(target=take_in, daemon=True).start()

    def give_out() -> None:
        with contextlib.suppress(OSError):  # the loader is gone
            while (parts := outbox.get()) is not None:
                send(end, parts)

    sender = threading.Thread(target=give_out, daemon=True)
    sender.start()
    try:
        seed = job.base_seed + job.id
        current[0] = WorkerInfo(job.id, job.count, seed, job.plan.dataset)
        answer_requests(job, seed, inbox, outbox)
    finally:
        current[0] = None
        outbox.put(None)
        sender.join()


@functools.cache
def blas_control() -> Any:
    """The control of the threads of matrix products; None if there is none.

    Finding it takes longer than a fork, so the loader calls this before it forks.
    """
    return pools()


def answer_requests(
    job: Job, seed: int, inbox: "queue.SimpleQueue[Any]", outbox: "queue.SimpleQueue[Parts | None]"
) -> None:
    """Read the requested batches until the inbox holds None, and put the answers in the outbox."""
    reading = Reading(job, seed)
    trouble: Failure | None = None  # of the start of a pass; sent in place of its batches
    over = False
    while (message := inbox.get()) is not None:
        run, number, indices = message
        value: Any
        if number is None:
            over, trouble = False, None
        if over:
            continue
        try:
            value = reading.begin() if number is None else trouble or reading.read(indices)
        except Exception as error:
            value = job.failure(error)
            if number is None:
                value, trouble = None, value
            elif job.plan.streams and isinstance(error, StopIteration):
                value, over = Ended(), True
        state = reading.state()
        try:
            parts = encode((run, number, value, state))
        except Exception as error:  # it cannot be pickled: send the reason
            if isinstance(value, Failure):  # its class exists in this process only
                value.kind = RuntimeError
            else:
                value = job.failure(error)
            parts = encode((run, number, value, state))
        outbox.put(parts)
        del value, message, indices, parts


class Reading:
    """Reads batches, pass after pass, and reports its position.

    Args:
        job: the worker's instructions.
        seed: the seed of the random numbers.
    """

    def __init__(self, job: Job, seed: int) -> None:
        self._job, self._seed = job, seed
        self._position = Position({})
        self._begun = False
        self.read: Reader

    def begin(self) -> bytes:
        """Begin or resume a pass; returns the random state before it, pickled."""
        plan, resume = self._job.plan, None
        if not self._begun:
            resume = self._first()
        before = pickle.dumps(raw_states(), 5)
        self._position = Position({})
        skipped = 0
        if resume is not None:
            self._position.ended = resume["ended"]
            if resume["dataset"] is not None:
                plan.dataset.load_state_dict(resume["dataset"])
            elif plan.streams:
                skipped = resume["samples"]
        self.read = plan.reader(self._position, skipped)
        if resume is not None and resume["random"] is not None:
            set_random_states(resume["random"])
        self._begun = True
        return before

    def _first(self) -> dict[str, Any] | None:
        """Seed the random numbers and call `init_fn`; returns the state that the pass resumes."""
        job = self._job
        random.seed(self._seed)
        manual_seed(self._seed)
        words = [job.id, job.base_seed & 0xFFFFFFFF, job.base_seed >> 32, 0]
        np.random.seed(np.random.SeedSequence(words).generate_state(4))  # noqa: NPY002 - users' code draws from it
        if job.init_fn is not None:
            job.init_fn(job.id)
        if job.resume is not None and job.resume["begun"] is not None:
            set_random_states(job.resume["begun"])
        return job.resume

    def state(self) -> bytes:
        """The random states, the dataset's state, and whether its stream has ended, pickled."""
        dataset = dataset_state(self._job.plan.dataset)
        return pickle.dumps((raw_states(), dataset, self._position.ended), 5)


# The worker processes of a loader: starting them, hearing from them, stopping them.


# Seconds for a worker to finish its batch before it is terminated.
PATIENCE = 5.0
HOLDS_BACK = hasattr(signal, "pthread_sigmask")
NOT_PICKLED = (
    "Got pickle error when attempting to start a worker Process. This might be because the worker "
    "Process arguments are not picklable. Python 3.14+ changed the multiprocessing start method in "
    "non-Mac POSIX platforms to 'forkserver', which requires the worker Process arguments to be "
    "picklable. You can also try multiprocessing.set_start_method('fork')."
)


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """A block that delays Ctrl-C; a process started in it blocks Ctrl-C until `run_worker`.

    Otherwise a worker that is still starting, or has read only half of its job, would end with a
    traceback.
    """
    if not HOLDS_BACK:
        yield
        return
    held: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    # The new process inherits the mask. In this process a mask is not enough: the system delivers
    # the signal to an unmasked thread, such as one of BLAS, and Python runs the handler in the main
    # thread.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if handler is not None:
        signal.signal(signal.SIGINT, lambda number, frame: held.append(number))
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if held:
            signal.raise_signal(signal.SIGINT)


class WorkerPool:
    """Worker processes, and the channels to them.

    They are stopped when the pool is dropped, at the latest when the program ends.

    Args:
        jobs: one for each worker.
        context: the context of `multiprocessing` that starts them.
    """

    def __init__(self, jobs: list[Job], context: Any) -> None:
        self.processes: list[BaseProcess] = []
        self.ends: list[socket.socket] = []
        self.stop = weakref.finalize(self, stop, self.processes, self.ends, os.getpid())
        blas_control()
        if HOLDS_BACK and context.get_start_method() != "fork":
            # Its first start would unblock the interrupts that `delay_interrupts` blocks.
            resource_tracker.ensure_running()
        for job in jobs:
            own, other = socket.socketpair()
            ends.add(own)
            self.ends.append(own)
            process = context.Process(target=run_worker, args=(job, other), daemon=True)
            try:
                with delay_interrupts():
                    process.start()
                    self.processes.append(process)
            except (TypeError, AttributeError, pickle.PicklingError):
                warn(NOT_PICKLED)
                raise
            finally:
                other.close()

    def send(self, worker: int, message: Any) -> None:
        """Send a message to a worker; if that has died, `receive` raises the error."""
        with contextlib.suppress(OSError):
            send(self.ends[worker], encode(message))

    def receive(self, workers: list[int], timeout: float = 0) -> tuple[int, Any]:
        """Receive the next answer of one of ``workers``; returns the worker and the answer.

        Raises:
            RuntimeError: if a worker has died, or after ``timeout`` seconds, unless that is 0.
        """
        asked = {self.ends[worker]: worker for worker in workers}
        due = time.monotonic() + timeout if timeout else float("inf")
        while True:
            ready: list[Any] = wait(list(asked), max(0, min(PATIENCE, due - time.monotonic())))
            if ready:
                worker = asked[ready[0]]
                try:
                    return worker, receive(ready[0])
                except (EOFError, OSError):
                    self._raise_exit(worker)
            if time.monotonic() >= due:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            for worker in workers:
                # A dead worker's end may still be open in a process that it forked.
                if not self.processes[worker].is_alive():
                    self._raise_exit(worker)

    def _raise_exit(self, worker: int) -> NoReturn:
        process = self.processes[worker]
        process.join(PATIENCE)
        code = process.exitcode or 0
        if code < 0:
            how = f"is killed by signal: {signal.strsignal(-code)}. "
        else:
            how = (
                f"exited unexpectedly with exit code {code}. Details are lost due to "
                "multiprocessing. Rerunning with num_workers=0 may give better error trace."
            )
        reason = RuntimeError(f"DataLoader worker (pid {process.pid}) {how}")
        raise RuntimeError(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly"
        ) from reason


def stop(processes: list[BaseProcess], ends: list[socket.socket], owner: int) -> None:
    """Let workers finish their current batch, then terminate, and at last kill, those left."""
    if os.getpid() != owner:  # a copy in a forked process
        return
    for end in ends:
        with contextlib.suppress(OSError):  # the worker has ended before
            end.shutdown(socket.SHUT_RDWR)
        end.close()
    for ask in (None, "terminate", "kill"):
        left = [process for process in processes if process.is_alive()]
        due = time.monotonic() + PATIENCE
        for process in left:
            if ask:
                getattr(process, ask)()
        for process in left:
            process.join(max(0, due - time.monotonic()))


# The assignment of batches to workers.


@dataclass
class WorkerRow:
    """The loader's knowledge of a worker.

    Attributes:
        resumed: the state that it resumed, from `state` in another process; None for none.
        begun: its random state at the start of the pass; None before it has reported that.
        told: its latest report: random state, dataset's state, whether that has ended; or None.
        active: whether its stream may have more samples in this pass.
        tasks: the number of batches that it has tried to read in this pass.
    """

    resumed: dict[str, Any] | None = None
    begun: bytes | None = None
    told: bytes | None = None
    active: bool = True
    tasks: int = 0

    def state(self) -> dict[str, Any]:
        """The worker's state, as tensors, numbers, strings, dicts and lists."""
        state = self.resumed or {"begun": None, "random": None, "dataset": None, "ended": False}
        if self.begun is not None:
            state = {**state, "begun": portable(pickle.loads(self.begun))}
        if self.told is not None:
            raw, dataset, ended = pickle.loads(self.told)
            state = {**state, "random": portable(raw), "dataset": dataset, "ended": ended}
        return {**state, "active": self.active, "tasks": self.tasks}


class WorkerTable:
    """Hands the batches of a pass to workers in turn.

    Args:
        count: the number of workers.
        prefetch: the number of batches that each worker reads in advance.
        in_order: whether batches are returned in the order of their requests.
    """

    def __init__(self, count: int, prefetch: int, in_order: bool) -> None:
        self.rows = [WorkerRow() for _ in range(count)]
        self.room = prefetch * count
        self.in_order = in_order
        self.clear()

    def clear(self) -> None:
        """Begin a new pass."""
        for row in self.rows:
            row.active, row.tasks = True, 0
        self._turn = 0
        self._numbers = itertools.count()
        # The requested batches: the number of each, and its worker.
        self._asked: deque[tuple[int, int]] = deque()

    def next_worker(self) -> int | None:
        """The next worker in turn that has more to read; None if there is none.

        Unless `in_order`, it must also have room for another batch.
        """
        count = len(self.rows)
        active = sum(row.active for row in self.rows)
        for _ in range(count):
            worker, self._turn = self._turn, (self._turn + 1) % count
            if self.rows[worker].active:
                busy = sum(owner == worker for _, owner in self._asked)
                if self.in_order or busy < self.room // active:
                    return worker
        return None

    def add(self, worker: int) -> int:
        """Note a request to a worker; returns the number of the batch."""
        number = next(self._numbers)
        self._asked.append((number, worker))
        return number

    def waited_for(self) -> list[int]:
        """The workers, one of which must send the next batch; empty if no request is open."""
        owners = [worker for _, worker in self._asked]
        return owners[:1] if self.in_order else sorted(set(owners))

    def done(self, number: int, worker: int) -> None:
        """Note that a worker has sent a batch."""
        self._asked.remove((number, worker))
        self.rows[worker].tasks += 1

    def retire(self, worker: int) -> None:
        """Note that a worker's stream has no more samples."""
        self.rows[worker].active = False
        self._asked = deque(task for task in self._asked if task[1] != worker)

    def state(self) -> dict[str, Any]:
        """The states of the workers, the open requests, and whose turn it is.

        Raises:
            RuntimeError: unless `in_order`.
        """
        if not self.in_order:
            raise RuntimeError("a DataLoader with in_order=False has no position to be saved")
        return {
            "members": [row.state() for row in self.rows],
            "asked": [worker for _, worker in self._asked],
            "turn": self._turn,
        }

    def resume(self, state: dict[str, Any], mid_pass: bool) -> list[int]:
        """Continue from a state; returns the workers that read the next batches, in order.

        Args:
            state: the result of `state` for as many workers.
            mid_pass: whether it is from within a pass; if not, only the workers' own states count.
        """
        for row, told in zip(self.rows, state["members"], strict=True):
            row.resumed = told
            if mid_pass:
                row.active, row.tasks = told["active"], told["tasks"]
        if not mid_pass:
            return []
        self._turn = state["turn"]
        return list(state["asked"])


# Batches that worker processes read in advance.


class WorkerBatches(Iterator[Any]):
    """The iterator over the batches that a loader's workers read.

    Args:
        pool: the workers.
        table: assigns batches to workers.
        timeout: seconds to wait for a batch; 0 waits without limit.
        keeps: whether the workers wait for another pass when one is over.
    """

    def __init__(self, pool: WorkerPool, table: WorkerTable, timeout: float, keeps: bool) -> None:
        self.pool, self.table = pool, table
        self._timeout, self._keeps = timeout, keeps
        self._run = 0

    def begin(self, indices: Iterator[Any], position: Position, asked: Sequence[int]) -> None:
        """Begin or resume a pass.

        Args:
            indices: the indices of the batches to read.
            position: counts the batches.
            asked: the workers that read the first batches; if empty, workers read them in turn.
        """
        self._indices, self.position = indices, position
        self._run += 1
        for worker in range(len(self.table.rows)):
            self.pool.send(worker, (self._run, None, None))
        # Workers first answer the requests of the pass before.
        for worker, row in enumerate(self.table.rows if self._run > 1 else ()):
            while True:
                _, (run, number, value, state) = self.pool.receive([worker])
                if run == self._run and number is None:
                    break
            row.begun, row.told = value, state
        turns: Sequence[int | None] = asked or [None] * self.table.room
        for turn in turns:
            self._ask(turn)

    @property
    def usable(self) -> bool:
        """Whether the workers can read another pass."""
        return self.pool.stop.alive

    def __next__(self) -> Any:
        try:
            value = self._next_value()
        except BaseException:
            # A channel that was left in the middle of a message cannot be used again.
            self.pool.stop()
            raise
        if isinstance(value, Failure):
            value.reraise()
        if isinstance(value, Ended):
            raise StopIteration
        return value

    def _next_value(self) -> Any:
        """The next batch, or a worker's `Failure` in its place; `Ended` if all have ended."""
        while self.usable and (workers := self.table.waited_for()):
            worker, (run, number, value, state) = self.pool.receive(workers, self._timeout)
            if run != self._run:  # requested in a pass that was abandoned
                continue
            row = self.table.rows[worker]
            row.told = state
            if number is None:
                row.begun = value
                continue
            if isinstance(value, Ended):
                self.table.retire(worker)
                self._ask()
                continue
            self.table.done(number, worker)
            self._ask()
            self.position.batches += 1
            return value
        self.position.finished = True
        if not self._keeps:
            self.pool.stop()
        return Ended()

    def _ask(self, worker: int | None = None) -> None:
        """Request the next batch, if any, from ``worker`` or, by default, the next in turn."""
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        if worker is None:
            worker = self.table.next_worker()
        if worker is not None:
            self.pool.send(worker, (self._run, self.table.add(worker), indices))
