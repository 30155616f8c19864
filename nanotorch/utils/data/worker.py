"""What runs in a worker process: it reads the samples that the loader asks for."""

import contextlib
import functools
import os
import pickle
import queue
import random
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import Any, NoReturn

import numpy as np

from nanotorch._core.threads import pools
from nanotorch.ops.generator import manual_seed
from nanotorch.utils.data.channel import Parts, encode, ends, receive, send
from nanotorch.utils.data.position import Position, dataset_state, raw_states, set_random_states
from nanotorch.utils.data.reading import Plan, Reader
from nanotorch.utils.data.worker_info import WorkerInfo, current

# Seconds after which a worker that hears nothing looks whether the loader's process still is.
WATCH = 5.0


class KeyErrorMessage(str):
    """A text that a `KeyError` shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return self


@dataclass
class Failure:
    """An exception on its way to another process.

    Attributes:
        kind: its class.
        text: its traceback.
        where: it was caught.
    """

    kind: type[Exception]
    text: str
    where: str

    def reraise(self) -> NoReturn:
        """Raise one of the same class whose message holds the traceback.

        Raises:
            RuntimeError: in place of classes that cannot be made of a message.
        """
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
    """In place of a batch: the stream of a worker has no more."""


@dataclass(frozen=True)
class Job:
    """All that a worker is told when it starts.

    Attributes:
        plan: how to make batches.
        id, count: which worker it is, and of how many.
        base_seed: the seed of the first worker's random numbers.
        init_fn: called with the worker's number.
        resume: where the worker goes on; None at the beginning.
    """

    plan: Plan
    id: int
    count: int
    base_seed: int
    init_fn: Callable[[int], None] | None
    resume: dict[str, Any] | None

    def failure(self, error: Exception) -> Failure:
        """An exception of this worker."""
        where = f"in DataLoader worker process {self.id}"
        return Failure(type(error), "".join(traceback.format_exception(error)), where)


def work(job: Job, end: socket.socket) -> None:
    """Answer the loader's messages until it is gone.

    Messages are the number of a pass that begins, and triples of that number, the number of a
    batch and its indices. Answers are quadruples: the number of the pass; the number of the batch;
    the batch or what is in its place; the worker's state thereafter. When a pass begins, the second
    is None and the third the state of the random numbers before.
    """
    set_up_process(job)
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    outbox: queue.SimpleQueue[Parts | None] = queue.SimpleQueue()
    # Batches are sent while the next ones are read; and as messages are always taken in, the
    # loader never waits for a worker that waits for the loader.
    threading.Thread(target=take_in, args=(end, inbox), daemon=True).start()
    sender = threading.Thread(target=give_out, args=(end, outbox), daemon=True)
    sender.start()
    try:
        seed = job.base_seed + job.id
        current.info = WorkerInfo(job.id, job.count, seed, job.plan.dataset)
        answer(job, seed, inbox, outbox)
    finally:
        current.info = None
        outbox.put(None)
        sender.join()


@functools.cache
def blas() -> Any:
    """What controls the threads of matrix products; None if it cannot be done.

    To find it takes longer than to fork, which is why the loader asks before.
    """
    return pools()


def set_up_process(job: Job) -> None:
    """Undo what a forked process has of its parent and a worker should not have."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Ctrl-C reaches the whole group of processes. What it means is for the loader's to say, which
    # may well go on loading; programs that the dataset starts still get it, unlike with SIG_IGN.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    if hasattr(signal, "pthread_sigmask"):  # it was held back when this process was started
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for other in list(ends):
        other.close()
    if (held := blas()) is not None:
        held.limit(limits=1)


def take_in(end: socket.socket, inbox: "queue.SimpleQueue[Any]") -> None:
    """Put messages in the inbox, and None when the loader is gone."""
    # What has started this process need not be the loader's own, but a server that forks for it.
    loader, starter = parent_process(), os.getppid()

    def alone() -> bool:
        return os.getppid() != starter or not (loader and loader.is_alive())

    with contextlib.suppress(EOFError, OSError):
        while not alone():
            if wait([end], WATCH):
                inbox.put(receive(end))
    inbox.put(None)
    # A loader that stops its workers ends those that are slow; one that was killed cannot.
    while not alone():
        time.sleep(WATCH)
    time.sleep(WATCH)
    os._exit(1)


def give_out(end: socket.socket, outbox: "queue.SimpleQueue[Parts | None]") -> None:
    """Send answers until there is None, or the loader gone."""
    with contextlib.suppress(OSError):
        while (parts := outbox.get()) is not None:
            send(end, parts)


def answer(
    job: Job,
    seed: int,
    inbox: "queue.SimpleQueue[Any]",
    outbox: "queue.SimpleQueue[Parts | None]",
) -> None:
    """Read what is asked for."""
    reading = Reading(job, seed)
    trouble: Failure | None = None  # of the start of a pass; told in place of its batches
    over = False
    while (message := inbox.get()) is not None:
        value: Any
        if not isinstance(message, tuple):
            over, trouble = False, None
            try:
                value = reading.begin()
            except Exception as error:
                value, trouble = None, job.failure(error)
            outbox.put(encode((message, None, value, reading.state())))
            continue
        run, number, indices = message
        if over:
            continue
        try:
            value = trouble or reading.read(indices)
        except Exception as error:
            over = job.plan.streams and isinstance(error, StopIteration)
            value = Ended() if over else job.failure(error)
        outbox.put(encoded(job, run, number, value, reading.state()))
        del value, message, indices


class Reading:
    """Reads batches, pass after pass, and tells where it stands.

    Args:
        job: what to read.
        seed: of the random numbers.
    """

    def __init__(self, job: Job, seed: int) -> None:
        self._job, self._seed = job, seed
        self._position = Position({})
        self._begun = False
        self.read: Reader

    def begin(self) -> bytes:
        """Begin a pass, or go on with one; returns the state of the random numbers before."""
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
        """What comes before the first pass; returns where that goes on."""
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
        """The random numbers, what the dataset tells of itself, and whether it has ended."""
        dataset = dataset_state(self._job.plan.dataset)
        return pickle.dumps((raw_states(), dataset, self._position.ended), 5)


def encoded(job: Job, run: int, number: int, value: Any, state: bytes) -> Parts:
    """An answer, or why it cannot be sent."""
    try:
        return encode((run, number, value, state))
    except Exception as error:
        if isinstance(value, Failure):  # of a class that only this process knows
            value.kind = RuntimeError
        else:
            value = job.failure(error)
        return encode((run, number, value, state))
