"""Python's `multiprocessing`, functions run in several new processes, and shared memory.

Arguments of a `Process` and objects in a `Queue` are copied, also tensors. A tensor in shared
memory (`Tensor.share_memory_`) is not copied: all processes see the same values.
"""

import multiprocessing
import multiprocessing.connection
import shutil
import signal
import tempfile
import traceback
import weakref
from collections.abc import Callable, Sequence
from multiprocessing import *  # noqa: F403 - PyTorch's module has these names too
from multiprocessing.heap import Arena
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np

from nanotorch._core.arguments import WEBASSEMBLY, require_processes
from nanotorch._core.bfloat16 import Bfloat16Array
from nanotorch._core.layout import address, compact_copy, owner_of
from nanotorch.names.lookup import on_demand, stand_in

__path__: list[str] = []  # so that the import of a submodule raises an error with the reason
IN_SPAWN = (
    "ProcessContext ProcessException ProcessExitedException ProcessRaisedException SpawnContext "
    "spawn start_processes"
)
stand_in(f"{__name__}.spawn", {__name__: IN_SPAWN})
NEED_PROCESSES = (
    "Array Barrier BoundedSemaphore Condition Event JoinableQueue Lock Manager Pool Process Queue "
    "RLock RawArray RawValue Semaphore SimpleQueue Value"
)


class ProcessException(Exception):  # noqa: N818 - PyTorch's name
    """The error for a failed process.

    Attributes:
        error_index: the index of the process.
        pid: its process ID.
    """

    def __init__(self, msg: str, error_index: int, pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(vars(self).values())


class ProcessRaisedException(ProcessException):
    """The error for a function that raised one; the message contains the traceback."""


class ProcessExitedException(ProcessException):
    """The error for a process that ended with an exit code other than 0, or by a signal.

    Attributes:
        exit_code: the exit code; for a signal, its number times -1.
        signal_name: the signal's name, or None.
    """

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int,
        signal_name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Callable[..., Any], index: int, args: Sequence[Any], report: str) -> None:
    """Call the function in a new process; if it fails, write its traceback to ``report``."""
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent gets the same signal
    except Exception:
        Path(report).write_text(traceback.format_exc(), "utf-8")
        raise SystemExit(1) from None


class ProcessContext:
    """Processes that run one function.

    Attributes:
        processes: the processes, in order.
    """

    def __init__(self, processes: Sequence[Any], reports: Sequence[str]) -> None:
        self.processes, self._reports = list(processes), [Path(report) for report in reports]

    def pids(self) -> list[int | None]:
        """The IDs of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait until a process ends; if it has failed, terminate the others.

        Args:
            timeout: the longest time to wait, in seconds. Default: no limit.

        Returns:
            whether all processes have ended.

        Raises:
            ProcessRaisedException: if the function raised an error in one of them.
            ProcessExitedException: if one failed in another way.
        """
        waiting = [p for p in self.processes if p.exitcode is None]
        if waiting and not any(p.exitcode for p in self.processes):  # one may have failed before
            ended = multiprocessing.connection.wait([p.sentinel for p in waiting], timeout=timeout)
            for process in waiting:
                if process.sentinel in ended:
                    process.join()  # sets its exit code
        failed = [k for k, p in enumerate(self.processes) if p.exitcode]
        if not failed:
            return all(p.exitcode is not None for p in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join()
        # An error in one process makes others fail, too, which may even end before it.
        killed = [k for k in failed if not self._reports[k].exists()]
        reported = [k for k, report in enumerate(self._reports) if report.exists()]
        reported.sort(key=lambda k: self._reports[k].stat().st_mtime_ns)
        raise self._failure((killed or reported)[0])

    def _failure(self, index: int) -> ProcessException:
        process, report = self.processes[index], self._reports[index]
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
    """Memory that processes share; arrays are views of it.

    Args:
        arena: Python's object for the memory, which can be sent to other processes.
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
    """The shared memory of an array; None if it is in other memory."""
    base = owner_of(array).base
    return base if isinstance(base, Memory) else None


def send_array(array: np.ndarray) -> Any:
    """The reduction of an array for another process: its place in shared memory, or its values."""
    memory = memory_of(array)
    if memory is None:
        return array.__reduce_ex__(2)
    offset = address(array) - memory.__array_interface__["data"][0]
    return array_in_memory, (type(array), array.shape, array.dtype, memory, offset, array.strides)


for _kind in (np.ndarray, Bfloat16Array):
    ForkingPickler.register(_kind, send_array)


def share(tensor: Any) -> Any:
    """Move a tensor to shared memory, unless it is there; returns the tensor."""
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
    """The names that `set_sharing_strategy` accepts."""
    return set(STRATEGIES)


def get_sharing_strategy() -> str:
    """The sharing strategy that was set last; it has no effect."""
    return _strategy[0]


def set_sharing_strategy(new_strategy: str) -> None:
    """Set the sharing strategy, without effect.

    Raises:
        AssertionError: for an unknown name.
    """
    assert new_strategy in STRATEGIES
    _strategy[0] = new_strategy


def start_processes(
    fn: Callable[..., Any], args: Sequence[Any] = (), nprocs: int = 1, join: bool = True,
    daemon: bool = False, start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run ``fn(i, *args)`` in new processes, for i from 0 to ``nprocs`` - 1; also called `spawn`.

    Args:
        fn: a function at the top level of a module, where the processes can import it.
        args: the arguments after i.
        nprocs: the number of processes. Default: 1.
        join: wait until all have ended. Default: True.
        daemon: end the processes when this one ends. Default: False.
        start_method: "spawn", "fork" or "forkserver". Default: "spawn".

    Returns:
        None, or the processes if ``join`` is False.

    Raises:
        ProcessException: if one of them fails.
        RuntimeError: in WebAssembly.
    """
    require_processes("start_processes()")
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


class Refused:
    """What needs processes, in WebAssembly: Python's own errors there name parts of Python."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        require_processes(f"multiprocessing.{type(self).__name__}")


if WEBASSEMBLY:
    globals().update({name: type(name, (Refused,), {}) for name in NEED_PROCESSES.split()})


on_demand(__name__)
