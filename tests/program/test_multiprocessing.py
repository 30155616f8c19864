"""`torch.multiprocessing`: Python's own, and `spawn`."""

import copy
import gc
import importlib
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


def train(rank: int, model: torch.nn.Module, done: Any, marks: Any) -> None:
    """Fit a line with the parameters of all processes, and leave a mark in a row."""
    x = torch.linspace(-1, 1, 16)[:, None]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), 2 * x + 1).backward()
        optimizer.step()
        done[rank] += 1
    marks.get().fill_(rank + 1)


def double(x: Any) -> Any:
    """Twice a tensor."""
    return x * 2


def test_it_is_pythons_own() -> None:
    assert mp.Process is multiprocessing.Process
    module = importlib.import_module("nanotorch.multiprocessing.spawn")
    assert module.ProcessRaisedException is mp.ProcessRaisedException
    assert mp.get_context("spawn").get_start_method() == "spawn"
    with mp.get_context("fork").Pool(1) as pool:
        (y,) = pool.map(double, [torch.tensor([1.0, 2.0])])
    assert torch.equal(y, torch.tensor([2.0, 4.0]))


def test_spawn_runs_a_function_in_each_process(tmp_path: Path) -> None:
    assert (
        mp.spawn(note, args=(str(tmp_path), torch.ones(2)), nprocs=2, start_method="fork") is None
    )
    assert [(tmp_path / str(k)).read_text() for k in range(2)] == ["2.0", "4.0"]


def test_the_traceback_of_a_process_is_told_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mp.start_processes(double, nprocs=1, start_method="fork")
    with pytest.raises(mp.ProcessRaisedException, match=r"(?s)Process 1 .*no such rank") as caught:
        mp.start_processes(fail, nprocs=2, start_method="fork")
    assert caught.value.error_index == 1
    started = mp.start_processes(fail, nprocs=2, join=False, start_method="fork")
    assert started is not None
    started.processes[1].join()  # one that has failed before is not waited for
    with pytest.raises(mp.ProcessRaisedException, match="no such rank"):
        started.join()
    del started, caught
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


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_train_one_model(method: str) -> None:
    """As programs of the kind of Hogwild do: all write to the same parameters, without a lock."""
    model = torch.nn.Linear(1, 1).share_memory()
    done = torch.zeros(2, dtype=torch.bfloat16).share_memory_()
    rows, marks = torch.zeros(2, 3).t().contiguous().share_memory_(), mp.get_context(method).Queue()
    started = mp.start_processes(train, (model, done, marks), 2, join=False, start_method=method)
    assert started is not None
    for k in range(2):
        marks.put(rows[:, k])
    while not started.join():
        pass
    assert done.tolist() == [100, 100]
    assert sorted(rows[0].tolist()) == [1.0, 2.0]
    assert torch.equal(rows[0], rows[2])
    torch.testing.assert_close(model.weight, torch.full((1, 1), 2.0), rtol=0, atol=0.1)
    torch.testing.assert_close(model.bias, torch.ones(1), rtol=0, atol=0.1)


def test_what_is_shared() -> None:
    model = torch.nn.BatchNorm1d(2)
    model(torch.randn(3, 2)).sum().backward()
    assert model.share_memory() is model
    assert all(t.is_shared() for t in (*model.parameters(), *model.buffers(), model.bias.grad))
    weight = model.weight
    assert weight[:1].is_shared()
    assert weight.share_memory_() is weight
    assert not any(t.is_shared() for t in (weight * 1, copy.deepcopy(weight), torch.ones(2)))
    assert torch.zeros(0).share_memory_().is_shared()


def test_what_would_stay_behind_is_refused() -> None:
    x = torch.ones(2)
    for one in (x.data, x.detach(), x[:1]):
        with pytest.raises(RuntimeError, match="others have this one's memory"):
            one.share_memory_()
    with pytest.raises(RuntimeError, match="share its clone"):
        x.share_memory_()
    assert x.clone().share_memory_().tolist() == [1.0, 1.0]
