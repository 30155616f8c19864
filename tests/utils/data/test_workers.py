"""Worker processes: they answer as PyTorch's, and none is left behind, whatever happens."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.utils.data import DataLoader, Dataset, TensorDataset, get_worker_info
from tests.patience import LONG, wait_until

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="the datasets of these tests need a fork"),
    # From Python 3.12 on, forking beside threads, NumPy's among them, is warned of.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
]

FORK = multiprocessing.get_context("fork") if os.name == "posix" else None


class Items(Dataset[Any]):
    """What a function gives for an index."""

    def __init__(self, item: Callable[[int], Any], size: int = 12) -> None:
        self.item, self.size = item, size

    def __getitem__(self, index: int) -> Any:
        return self.item(index)

    def __len__(self) -> int:
        return self.size


def loader(item: Callable[[int], Any], *args: Any, **options: Any) -> DataLoader:
    options = {"num_workers": 2, "multiprocessing_context": "fork", **options}
    return DataLoader(Items(item), *args, **options)


def alive(pid: int) -> bool:
    """Whether there is such a process, be it that nobody has asked for its end."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_the_end_of(pids: Any) -> None:
    wait_until(lambda: not any(alive(int(pid)) for pid in pids))


def pid_of(index: int) -> int:
    return os.getpid()


def test_large_batches_nobody_wants_do_not_keep_a_worker_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It ends by itself; one that waited would have to be terminated."""
    monkeypatch.setattr("nanotorch.utils.data.worker.PATIENCE", LONG)
    batches = iter(loader(lambda i: np.zeros(2**22), None))
    next(batches)
    processes = batches.pool.processes  # type: ignore[attr-defined]
    del batches
    assert [process.exitcode for process in processes] == [0, 0]


def test_no_process_outlives_its_pass() -> None:
    pids = {int(batch) for batch in loader(pid_of)}
    assert len(pids) == 2
    assert os.getpid() not in pids
    for batch in loader(pid_of, 2):  # a loop that is left early
        pids |= set(batch.tolist())
        break
    assert not any(map(alive, pids))


def test_kept_workers_end_with_the_loader() -> None:
    kept = loader(pid_of, persistent_workers=True)
    first, second = ({int(batch) for batch in kept} for _ in range(2))
    assert first == second

    def drop() -> None:
        nonlocal kept
        del kept

    child = multiprocessing.get_context("fork").Process(target=drop)
    child.start()
    child.join()
    assert child.exitcode == 0
    assert {int(batch) for batch in kept} == first  # a copy in a forked process stops nobody
    assert all(map(alive, first))
    del kept
    assert not any(map(alive, first))


def test_a_killed_worker_is_told_of_and_the_others_end() -> None:
    taken = FORK.Event()

    def item(index: int) -> int:
        if index == 5:
            taken.wait(LONG)  # what was read before
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    batches = iter(loader(item))
    seen = {int(next(batches)) for _ in range(5)}
    taken.set()
    with pytest.raises(RuntimeError, match=r"worker \(pid\(s\) \d+\) exited unexpectedly") as told:
        next(batches)
    assert "is killed by signal: Killed" in str(told.value.__cause__)
    wait_for_the_end_of(seen)


@pytest.mark.parametrize(("name", "told"), [("SIGKILL", "Killed"), ("SIGTERM", "Terminated")])
def test_a_worker_killed_from_outside_between_passes(name: str, told: str) -> None:
    def handle(number: int, frame: Any) -> None:
        raise AssertionError("a worker runs the program's handler")

    before = signal.signal(signal.SIGTERM, handle)
    try:
        kept = loader(pid_of, persistent_workers=True)
        pids = {int(batch) for batch in kept}
        os.kill(min(pids), signal.Signals[name])
        with pytest.raises(RuntimeError, match="exited unexpectedly") as caught:
            list(kept)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert f"killed by signal: {told}" in str(caught.value.__cause__)
    del caught  # whose frames hold the workers
    wait_for_the_end_of(pids)
    assert not {int(batch) for batch in kept} & pids


def test_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nanotorch.utils.data.worker.PATIENCE", 0.2)
    slow = loader(lambda i: time.sleep(LONG if i == 3 else 0), collate_fn=str, timeout=0.2)
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        list(slow)


def test_workers_work_side_by_side() -> None:
    """Each waits within its batch until the other has come as far."""
    both = FORK.Barrier(2, timeout=LONG)
    assert len(list(loader(lambda i: both.wait(), None, sampler=range(4)))) == 4


@pytest.mark.parametrize("size", [1, 2**20])
def test_batches_are_read_in_advance(size: int) -> None:
    """Those, too, that do not fit into the channel: a worker sends while it reads."""
    read = FORK.Semaphore(0)

    def item(index: int) -> np.ndarray:
        read.release()
        return np.zeros(size)

    batches = iter(loader(item, None, prefetch_factor=3))
    next(batches)
    assert all(read.acquire(timeout=LONG) for _ in range(1 + 2 * 3))


def test_long_lists_of_indices_and_large_batches_do_not_block_each_other() -> None:
    many = TensorDataset(torch.arange(600_000.0))
    parts = list(DataLoader(many, 100_000, shuffle=True, num_workers=2))
    assert float(sum(part.double().sum() for (part,) in parts)) == 600_000 * 599_999 / 2


def test_what_cannot_be_sent_is_told() -> None:
    class OwnError(Exception):
        pass

    def fails(index: int) -> int:
        raise OwnError("of a class inside a function")

    with pytest.raises(
        (AttributeError, TypeError), match=r"Caught .* in DataLoader worker process"
    ):
        list(loader(lambda i: lambda: i, None))
    with pytest.raises(RuntimeError, match="OwnError: of a class inside a function"):
        list(loader(fails))


def test_without_order_the_slow_do_not_hold_up_the_fast() -> None:
    taken = FORK.Event()

    def item(index: int) -> int:
        if index == 0:
            taken.wait(LONG)
        return index

    batches = iter(loader(item, None, in_order=False))
    first = next(batches)
    taken.set()
    assert first != 0
    assert sorted([first, *batches]) == list(range(12))


SCRIPT = """
    import functools, os, signal, threading, time, warnings
    warnings.simplefilter("ignore")
    from nanotorch.utils.data import DataLoader, Dataset, get_worker_info

    class Slow(Dataset):
        def __getitem__(self, index):
            time.sleep(0.02)
            return os.getpid()
        def __len__(self):
            return 1000

    from nanotorch.utils.data import worker
    worker.WATCH = 0.1  # here and, as they import this module, in the workers

    class Stuck(Slow):
        def __getitem__(self, index):
            print(os.getpid(), flush=True)
            time.sleep(600)

    def main(**options):
        pids = set()
        try:
            for number, batch in enumerate(DataLoader(Slow(), num_workers=2, **options)):
                pids.add(int(batch))
                if number == 4:
                    print(*pids, flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            raise
"""


def started(tmp_path: Path, call: str) -> tuple[subprocess.Popen[str], list[str]]:
    """A program in a group of processes of its own, and the numbers of its workers."""
    script = tmp_path / "script.py"
    script.write_text(f'{textwrap.dedent(SCRIPT)}\nif __name__ == "__main__":\n    {call}\n')
    program = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert program.stdout
    return program, program.stdout.readline().split()


@pytest.mark.parametrize(
    "options", ["", pytest.param('multiprocessing_context="spawn"', marks=pytest.mark.slow)]
)
def test_ctrl_c(tmp_path: Path, options: str) -> None:
    """The program ends at once with one traceback, its own."""
    program, pids = started(tmp_path, f"main({options})")
    os.killpg(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=LONG)
    assert out == "interrupted\n"
    assert program.returncode == -signal.SIGINT
    assert err.count("Traceback") == 1
    wait_for_the_end_of(pids)


CONTEXTS = pytest.mark.parametrize(
    "context", ["fork", *(pytest.param(c, marks=pytest.mark.slow) for c in ("spawn", "forkserver"))]
)

# Ctrl-C at the worst of moments: a worker's process is there and has not been told its job. The
# thread stands for those of BLAS, to which the system hands what the main thread holds back.
AT_THE_START = """
    import _posixsubprocess

    def interrupted(*args, start=None):
        pid = start(*args)
        if pid and "resource_tracker" not in str(args):
            os.killpg(0, signal.SIGINT)
            time.sleep(0)  # Python looks for signals
        return pid

    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    for module, name in (os, "fork"), (_posixsubprocess, "fork_exec"):
        setattr(module, name, functools.partial(interrupted, start=getattr(module, name)))
"""


@CONTEXTS
def test_ctrl_c_while_workers_start(tmp_path: Path, context: str) -> None:
    """Workers that are on their way do not end with a traceback of their own."""
    before = textwrap.indent(textwrap.dedent(AT_THE_START), "    ")
    program, _ = started(
        tmp_path, f'{before.strip()}\n    main(multiprocessing_context="{context}")'
    )
    _, err = program.communicate(timeout=LONG)
    assert err.count("Traceback") == 1
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    assert program.returncode == -signal.SIGINT


@CONTEXTS
def test_a_program_that_is_killed_leaves_no_worker_that_is_busy(
    context: str, tmp_path: Path
) -> None:
    call = f'list(DataLoader(Stuck(), num_workers=1, multiprocessing_context="{context}"))'
    program, pids = started(tmp_path, call)
    assert int(pids[0]) != program.pid
    program.kill()
    program.wait(timeout=LONG)
    wait_for_the_end_of(pids)
    program.communicate(timeout=LONG)


@CONTEXTS
def test_workers_wait_for_a_loader_that_takes_its_time(context: str, tmp_path: Path) -> None:
    options = f'num_workers=1, prefetch_factor=1, multiprocessing_context="{context}"'
    call = f"batches = iter(DataLoader(Slow(), {options})); next(batches); time.sleep(1); " \
        "print(len([next(batches) for _ in range(9)]))"  # fmt: skip
    program, said = started(tmp_path, call)
    _, err = program.communicate(timeout=LONG)
    assert (said, program.returncode, err) == (["9"], 0, "")


LEAVING = "batches = iter(DataLoader(Slow(), num_workers=2)); print(*map(int, (next(batches), "
ENDS = ("main()", True), (f"{LEAVING}next(batches))))", False)


@pytest.mark.parametrize(("call", "kill"), ENDS)
def test_a_program_that_ends_leaves_no_workers(call: str, kill: bool, tmp_path: Path) -> None:
    program, pids = started(tmp_path, call)
    if kill:
        program.kill()
    _, err = program.communicate(timeout=LONG)
    assert (program.returncode, err) == (-signal.SIGKILL if kill else 0, "")
    wait_for_the_end_of(pids)


class Known(Dataset[Any]):
    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return index, info.id, torch.rand(1)

    def __len__(self) -> int:
        return 6


@pytest.mark.parametrize("context", ["spawn", pytest.param("forkserver", marks=pytest.mark.slow)])
def test_other_ways_to_start_give_the_same(context: str) -> None:
    passes = []
    for way in ("fork", context):
        torch.manual_seed(2)
        given = DataLoader(Known(), 2, True, num_workers=2, multiprocessing_context=way)
        passes.append(list(given))
    for one, other in zip(*passes, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_what_cannot_be_started_is_warned_of() -> None:
    local = loader(lambda i: i, multiprocessing_context="spawn")
    with (
        pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker"),
        pytest.raises((AttributeError, TypeError)),
    ):
        iter(local)
