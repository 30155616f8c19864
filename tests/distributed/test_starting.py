"""How processes begin and end: alone, by a launcher, by `spawn`; with errors, without MPI."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import distributed as dist
from nanotorch import multiprocessing as mp
from nanotorch import nn
from nanotorch.distributed import run as starting
from nanotorch.distributed.run import main
from nanotorch.nn.parallel import DistributedDataParallel
from tests.distributed.test_programs import MPIEXEC, compare, needs_mpi, of_mpich
from tests.distributed.test_programs import run as ended
from tests.distributed.worker import main as work

RUN = (sys.executable, "-m", "nanotorch.distributed.run", "--nproc-per-node", "2")


@pytest.fixture
def alone() -> Any:
    """A group of one process."""
    dist.init_process_group()
    yield dist.group.WORLD
    dist.destroy_process_group()


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


def test_one_process_needs_no_mpi(alone: Any) -> None:
    assert "mpi4py.MPI" not in sys.modules
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "mpi")
    x = torch.tensor([1.0, 2.0])
    dist.all_reduce(x, dist.ReduceOp.AVG)
    dist.broadcast(x, 0)
    parts = [torch.zeros(2)]
    dist.all_gather(parts, x)
    assert torch.equal(parts[0], x)
    found: list[Any] = [None]
    dist.all_gather_object(found, {"x": x})
    assert torch.equal(found[0]["x"], x)
    model = DistributedDataParallel(nn.Linear(2, 1))
    model(x).sum().backward()
    assert torch.equal(model.module.weight.grad, x[None])
    assert list(torch.utils.data.DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]
    with pytest.raises(AttributeError, match=r"'join': out of scope. All .* DistributedSampler"):
        model.join  # noqa: B018


def test_the_group_ends(alone: Any) -> None:
    dist.destroy_process_group()
    assert not dist.is_initialized()
    for call in (dist.get_rank, dist.barrier, lambda: dist.all_reduce(torch.ones(1))):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        torch.utils.data.DistributedSampler(range(3))
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()
    dist.init_process_group("gloo")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"backend": "xyz"}, "'xyz' is none of 'mpi', 'gloo' and 'nccl'"),
        ({"rank": 2, "world_size": 2}, "rank 2 is not in the range of 2 processes, 0 to 1"),
        ({"reduction": "quick"}, "'quick' is none of 'ordered', 'fast'"),
        ({"rank": 0, "world_size": 2}, "environment variable MASTER_ADDR expected, but not set"),
        ({"rank": 0, "world_size": 2, "init_method": "file:///x"}, "is not an address like tcp://"),
    ],
)
def test_arguments_that_do_not_fit(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()


def test_a_variable_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "two")
    with pytest.raises(ValueError, match="WORLD_SIZE is 'two', not a whole number"):
        dist.init_process_group()


@pytest.mark.parametrize("given", ["", "LOUD"])
def test_a_level_of_checks_that_there_is_not(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", given)
    with pytest.raises(ValueError, match=f"must be OFF, INFO, or DETAIL, not '{given}'"):
        dist.get_debug_level()


def test_without_mpi4py_the_extra_is_named() -> None:
    code = "import sys; sys.modules['mpi4py'] = None; import nanotorch.distributed as d"
    code += "; d.init_process_group()"
    status, _, told = ended(sys.executable, "-c", code, PMI_RANK="0", PMI_SIZE="2")
    assert status == 1
    assert re.search(r"needs mpi4py and an MPI library .* pip install -e '\.\[distributed\]'", told)


@needs_mpi
def test_a_program_of_several_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "names = [os.environ[n] for n in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE')]\n"
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group()\n"
        "x = torch.ones(1)\n"
        "dist.all_reduce(x)\n"
        "assert names == [str(dist.get_rank())] * 2 + ['2']\n"
        "open(f'{sys.argv[1]}/{names[0]}', 'w').write(f'{x.item()} {__name__}')\n"
    )
    assert ended(*RUN, str(script), str(tmp_path))[0] == 0
    assert [(tmp_path / str(k)).read_text() for k in range(2)] == ["2.0 __main__"] * 2


def test_windows_waits_for_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """There, `exec` starts a process and ends this one, with success."""
    command = [sys.executable, "-c", "import sys; sys.exit(3)"]
    monkeypatch.setattr(sys, "argv", ["run", "a.py"])
    monkeypatch.setattr(starting, "launcher", lambda: "mpiexec")
    started, run = list[list[str]](), subprocess.run
    monkeypatch.setattr(
        subprocess, "run", lambda words, check: started.append(words) or run(command, check=check)
    )
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        with pytest.raises(SystemExit) as ends:
            main()
    assert (ends.value.code, started[0][:3], started[0][-1]) == (3, ["mpiexec", "-n", "1"], "a.py")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--nproc-per-node", "x", "a.py"], "a number of processes or auto, got 'x'"),
        (["--nnodes", "2", "a.py"], "to use several machines, call the launcher itself"),
        ([], "the following arguments are required: program"),
    ],
)
def test_a_command_line_that_does_not_fit(
    arguments: list[str], text: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert text in capsys.readouterr().err


FAILING = """
import os, sys, torch, torch.distributed as dist
first = os.environ["RANK"] == "0"
if not first and {before}:
    {action}
dist.init_process_group()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
for step in range(3):
    if not first and step == 2:
        {action}
    model(torch.ones(1, 2)).sum().backward()
"""
TOLD = r"rank 1 of 2 ends all processes(.|\n)*Error: broken"
GONE = (
    r"rank 0 of 2 ends all processes(.|\n)*DistributedData.* rank 1 has ended without taking part"
)
BARE = (MPIEXEC, "-n", "2", sys.executable, "-m", "nanotorch")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "before", "start", "text"),
    [
        ("raise ValueError('broken')", 0, BARE, TOLD),
        ("raise ValueError('broken')", 1, BARE, TOLD),
        ("sys.exit(3)", 0, BARE, GONE),
        ("sys.exit()", 0, BARE, GONE),
        ("sys.exit(3)", 1, RUN, r"rank 1 of 2 \(PID \d+ on .+\): exit code 3"),
        ("os._exit(3)", 0, RUN, r"rank 1 of 2 \(PID \d+ on .+\): exit code 3"),
        ("os.kill(os.getpid(), 9)", 0, RUN, r"rank 1 of 2 \(PID \d+ on .+\): killed by SIGKILL"),
        ("raise KeyboardInterrupt", 0, RUN, "KeyboardInterrupt"),
        ("os.kill(os.getpid(), 15)", 0, RUN, r"rank 1 of 2 \(PID \d+ on .+\): killed by SIGTERM"),
    ],
)
def test_all_end_with_one(
    tmp_path: Path, action: str, before: int, start: tuple[str, ...], text: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(FAILING.format(action=action, before=before))
    status, _, told = ended(*start, str(script))
    assert status not in (0, None)
    assert re.search(f"{text}$", told, re.MULTILINE)


def spawned(rank: int, folder: str, size: int) -> None:
    work(folder, rank, size)


@of_mpich
@pytest.mark.slow
def test_processes_of_spawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", free_port())
    mp.spawn(spawned, (str(tmp_path), 2), nprocs=2)
    compare(tmp_path, 2)


def failing(rank: int, action: str) -> None:
    """Fail in the second process; the first waits for it."""
    dist.init_process_group(rank=rank, world_size=2)
    if rank and action == "raise":
        raise ValueError("broken")
    if rank:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()


@of_mpich
@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "text"), [("raise", "Process 1(.|\n)*broken"), ("kill", "process 1.*SIGKILL")]
)
def test_spawn_tells_who_has_failed(
    action: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", free_port())
    with pytest.raises(mp.ProcessException, match=text):
        mp.spawn(failing, (action,), nprocs=2)


@of_mpich
@pytest.mark.slow
def test_processes_that_do_not_come() -> None:
    code = "import nanotorch.distributed as d, datetime as t; d.init_process_group(rank={}, "
    code += f"world_size=2, init_method='tcp://127.0.0.1:{free_port()}', "
    code += "timeout=t.timedelta(seconds=0.5))"
    status, _, told = ended(sys.executable, "-c", code.format(1))
    assert status == 1
    assert "rank 0 cannot be reached at 127.0.0.1:" in told
    status, _, told = ended(sys.executable, "-c", code.format(0))
    assert status == 1
    assert "not all of 2 ranks have connected within 0.5 s" in told
