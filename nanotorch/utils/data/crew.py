"""The worker processes of a loader: starting them, hearing from them, stopping them."""

import contextlib
import os
import pickle
import signal
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

from nanotorch._core.warned import warn
from nanotorch.utils.data.channel import channel, encode, receive, send
from nanotorch.utils.data.worker import Job, blas, work

# Seconds that a worker gets to finish its batch before it is terminated.
PATIENCE = 5.0
HOLDS_BACK = hasattr(signal, "pthread_sigmask")
NOT_PICKLED = (
    "Got pickle error when attempting to start a worker Process. This might be because the worker "
    "Process arguments are not picklable. Python 3.14+ changed the multiprocessing start method in "
    "non-Mac POSIX platforms to 'forkserver', which requires the worker Process arguments to be "
    "picklable. You can also try multiprocessing.set_start_method('fork')."
)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """A block in which Ctrl-C waits; a process that is started in it lets it in when it is ready.

    Else a worker that is still on its way to `set_up_process`, or that has been told only half of
    its job, would end with a traceback.
    """
    if not HOLDS_BACK:
        yield
        return
    held: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if main else None
    # The new process inherits the mask. Here it is not enough: the system hands the signal to a
    # thread without a mask, such as those of BLAS, and Python runs the handler in the main thread.
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


class Crew:
    """Worker processes, and the channels to them.

    They are stopped when the crew is dropped, at the latest when the program ends.

    Args:
        jobs: of the workers.
        context: of `multiprocessing`, which starts them.
    """

    def __init__(self, jobs: list[Job], context: Any) -> None:
        self.processes: list[BaseProcess] = []
        self.ends: list[socket.socket] = []
        self.stop = weakref.finalize(self, stop, self.processes, self.ends, os.getpid())
        blas()
        if HOLDS_BACK and context.get_start_method() != "fork":
            # When it is first needed, it lets in the interrupts that are held back.
            resource_tracker.ensure_running()
        for job in jobs:
            own, other = channel()
            self.ends.append(own)
            process = context.Process(target=work, args=(job, other), daemon=True)
            try:
                with interrupts_held_back():
                    process.start()
                    self.processes.append(process)
            except (TypeError, AttributeError, pickle.PicklingError):
                warn(NOT_PICKLED)
                raise
            finally:
                other.close()

    def send(self, worker: int, message: Any) -> None:
        """Send a message to a worker; that one has died is told when its answer is waited for."""
        try:
            send(self.ends[worker], encode(message))
        except OSError:
            return

    def receive(self, workers: list[int], timeout: float = 0) -> tuple[int, Any]:
        """The next answer of one of some workers, and which one gave it.

        Raises:
            RuntimeError: if one of them has died, or none answers for `timeout` seconds, where 0
                is for ever.
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
                    self._mourn(worker)
            if time.monotonic() >= due:
                raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
            for worker in workers:
                # Its end may be open still: in a process that it has forked.
                if not self.processes[worker].is_alive():
                    self._mourn(worker)

    def _mourn(self, worker: int) -> NoReturn:
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
    """Let workers finish the batch they are at, and see to it that they are gone."""
    if os.getpid() != owner:  # a copy in a forked process
        return
    for end in ends:
        with contextlib.suppress(OSError):  # the worker has gone first
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
