"""Python's `multiprocessing`, functions run in several new processes, and memory that they share.

Tensors go from process to process as copies, those in shared memory (`Tensor.share_memory_`) as
what they are: arguments of a `Process`, and what a `Queue` carries.
"""

import multiprocessing
import multiprocessing.connection
import shutil
import signal
import tempfile
import traceback
import weakref
from collections.abc import Callable, Sequence
from multiprocessing import *  # noqa: F403 - all of them are here as well, as in PyTorch
from multiprocessing.heap import Arena
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np

from nanotorch._core.bfloat16 import Bfloat16Array
from nanotorch._core.layout import address, compact_copy, owner_of
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand, stand_in

__path__: list[str] = []  # so that who imports a module in it is told why there is none
IN_SPAWN = (
    "ProcessContext ProcessException ProcessExitedException ProcessRaisedException SpawnContext "
    "spawn start_processes"
)
stand_in(f"{__name__}.spawn", {__name__: IN_SPAWN})


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """One of the processes has failed.

    Attributes:
        error_index: which of them.
        pid: the process's number.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(vars(self).values())


class ProcessRaisedException(ProcessException):
    """The function raised an error, whose traceback is told."""


class ProcessExitedException(ProcessException):
    """A process ended with another exit code than 0, or by a signal.

    Attributes:
        exit_code: the code.
        signal_name: the signal's name, if it was one.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Callable[..., Any], index: int, args: Sequence[Any], report: str) -> None:
    """What a process does: call the function, and leave its traceback in a file if it fails."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent is told by the same signal
    except Exception:
        Path(report).write_text(traceback.format_exc(), "utf-8")
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that run one function.

    Attributes:
        processes: the processes, in order.
    """

    def __init__(self, processes: Sequence[Any], reports: Sequence[str]) -> None:
        self.processes, self._reports = list(processes), list(reports)

    def pids(self) -> list[int | None]:
        """The processes' numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait until a process ends; the others are ended too if it has failed.

        Args:
            timeout: how many seconds at most; default: any time.

        Returns:
            whether all have ended.

        Raises:
            ProcessRaisedException: if the function failed in one of them.
            ProcessExitedException: if one was ended otherwise.
        """
        waiting = [p for p in self.processes if p.exitcode is None]
        if waiting and not any(p.exitcode for p in self.processes):  # one may have failed before
            ended = multiprocessing.connection.wait([p.sentinel for p in waiting], timeout=timeout)
            for process in waiting:
                if process.sentinel in ended:
                    process.join()  # which takes its exit code
        failed = [k for k, p in enumerate(self.processes) if p.exitcode]
        if not failed:
            return all(p.exitcode is not None for p in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join()
        raise self._failure(failed[0])

    def _failure(self, index: int) -> ProcessException:
        process, report = self.processes[index], Path(self._reports[index])
        if report.exists() and report.stat().st_size:
            told = report.read_text("utf-8")
            text = f"\n\n-- Process {index} terminated with the following error:\n{told}"
            return ProcessRaisedException(text, index, process.pid)
        code = process.exitcode
        name = signal.Signals(-code).name if code < 0 else None
        how = f"exit code {code}" if name is None else f"signal {name}"
        text = f"process {index} terminated with {how}"
        return ProcessExitedException(text, index, process.pid, code, name)


SpawnContext = ProcessContext


class Memory:
    """Memory that processes share, of which arrays are views.

    Args:
        arena: Python's, which knows how to be sent to another process.
    """

    def __init__(self, arena: Any) -> None:
        self.arena = arena
        self.__array_interface__ = np.frombuffer(arena.buffer, np.uint8).__array_interface__

    def __reduce__(self) -> tuple[Any, ...]:
        return Memory, (self.arena,)


def array_in_memory(
    kind: type, shape: Any, dtype: np.dtype, memory: Memory, offset: int, strides: Any
) -> np.ndarray:
    """An array in shared memory."""
    array: np.ndarray = kind(shape, dtype, np.asarray(memory), offset, strides)
    return array


def memory_of(array: np.ndarray) -> Memory | None:
    """The shared memory in which an array lies, if it does."""
    base = owner_of(array).base
    return base if isinstance(base, Memory) else None


def send_array(array: np.ndarray) -> Any:
    """An array for another process: in shared memory where it lies, else its values."""
    memory = memory_of(array)
    if memory is None:
        return array.__reduce_ex__(2)
    offset = address(array) - memory.__array_interface__["data"][0]
    return array_in_memory, (type(array), array.shape, array.dtype, memory, offset, array.strides)


for _kind in (np.ndarray, Bfloat16Array):
    ForkingPickler.register(_kind, send_array)


def share(tensor: Tensor) -> Tensor:
    """Move the values of a tensor to shared memory, unless they are there; returns the tensor."""
    if memory_of(tensor._array) is None:
        array = compact_copy(tensor._array)
        memory = Memory(Arena(max(array.nbytes, 1)))
        tensor._array = array_in_memory(
            type(array), array.shape, array.dtype, memory, 0, array.strides
        )
        tensor._array[...] = array
    return tensor


STRATEGIES = ("file_descriptor", "file_system")
_strategy = [STRATEGIES[0]]


def get_all_sharing_strategies() -> set[str]:
    """The names of PyTorch's ways to share memory, which are accepted."""
    return set(STRATEGIES)


def get_sharing_strategy() -> str:
    """The one that was chosen; it has no effect."""
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose one, without effect.

    Raises:
        AssertionError: for a name that is none of them.
    """
    assert new_strategy in STRATEGIES
    _strategy[0] = new_strategy


def start_processes(
    fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True,
    daemon: bool = False, start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in new processes, for i from 0 to ``nprocs`` - 1; also called `spawn`.

    Args:
        fn: a function that processes find by its name, at the top level of a module.
        join: wait until all have ended.
        daemon: end them when this process ends.
        start_method: how they begin: "spawn", "fork" or "forkserver".

    Returns:
        None, or the processes if they are not waited for.

    Raises:
        ProcessException: if one of them fails.
    """
    context = multiprocessing.get_context(start_method)
    reports = tempfile.mkdtemp(prefix="processes-")
    files = [str(Path(reports) / str(k)) for k in range(nprocs)]
    processes = []
    for k, file in enumerate(files):
        process = context.Process(target=_run, args=(fn, k, args, file), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
    started = ProcessContext(processes, files)
    weakref.finalize(started, shutil.rmtree, reports, ignore_errors=True)
    if not join:
        return started
    while not started.join():
        pass
    return None


spawn = start_processes


on_demand(__name__)
