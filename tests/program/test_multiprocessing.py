"""`torch.multiprocessing`: Python's own, and `spawn`."""

import gc
import multiprocessing
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import multiprocessing as mp


def note(rank: int, folder: str, x: torch.Tensor) -> None:
    """Leave a sum in a file."""
    (Path(folder) / str(rank)).write_text(str((x + rank).sum().item()))


def fail(rank: int) -> None:
    """Fail in the second process; the first would take long."""
    if rank:
        raise ValueError("no such rank")
    signal.pause()


def leave(rank: int) -> None:
    """End by a signal."""
    os.kill(os.getpid(), signal.SIGKILL)


def double(x: Any) -> Any:
    """Twice a tensor."""
    return x * 2


def test_it_is_pythons_own() -> None:
    assert mp.Process is multiprocessing.Process
    assert mp.get_context("spawn").get_start_method() == "spawn"
    with mp.get_context("fork").Pool(1) as pool:
        (y,) = pool.map(double, [torch.tensor([1.0, 2.0])])
    assert torch.equal(y, torch.tensor([2.0, 4.0]))


def test_spawn_runs_a_function_in_each_process(tmp_path: Path) -> None:
    assert mp.spawn(note, args=(str(tmp_path), torch.ones(2)), nprocs=2) is None
    assert [(tmp_path / str(k)).read_text() for k in range(2)] == ["2.0", "4.0"]


def test_the_traceback_of_a_process_is_told_and_the_others_end() -> None:
    with pytest.raises(mp.ProcessRaisedException, match=r"(?s)Process 1 .*no such rank") as caught:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert caught.value.error_index == 1


def test_one_that_has_failed_before_is_not_waited_for() -> None:
    started = mp.start_processes(fail, nprocs=2, join=False, start_method="fork")
    assert started is not None
    started.processes[1].join()
    with pytest.raises(mp.ProcessRaisedException, match="no such rank"):
        started.join()


def test_no_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mp.start_processes(double, nprocs=1, start_method="fork")
    with pytest.raises(mp.ProcessRaisedException):
        mp.start_processes(fail, nprocs=2, start_method="fork")
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("before", [False, True])
def test_a_process_that_is_killed_is_told(before: bool) -> None:
    started = mp.start_processes(leave, join=False, start_method="fork")
    assert started is not None
    if before:  # it has ended by the time
        started.processes[0].join()
    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL"):
        started.join()
    assert started.processes[0].pid in started.pids()


def test_sharing_strategies_are_accepted() -> None:
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("x")
