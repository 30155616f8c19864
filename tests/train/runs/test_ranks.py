"""Training under `mpiexec`: the same bits as in one process, and what happens when one fails."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.distributed.test_programs import MPIEXEC, needs_mpi, of_mpich
from tests.patience import wait_until
from tests.several import processes_here
from tests.train.examples import left_by, record_of
from tests.train.runs.test_events import curves

ROOT = Path(__file__).parents[3]
pytestmark = needs_mpi
QUIET = ("log.plots=false", "log.tensorboard=false")
BCE = (f"{ROOT}/configs/bce_classification.yaml", *QUIET)
BOOM = """
import nanotorch as torch
from nanotorch.train import Callback, register_callback

@register_callback
class Boom(Callback):
    def on_step(self, loop):
        if loop.step == 3 and torch.distributed.get_rank() == 1:
            raise ValueError("out of sorts")
"""
LATE = """
import time
import nanotorch as torch
from nanotorch.train import Callback, register_callback

@register_callback
class Late(Callback):
    def on_step(self, loop):
        if loop.step == 2:  # rank 1 goes on with this sum while it waits in the third step
            time.sleep(0.1 * (torch.distributed.get_rank() == 0))
            self.sum = torch.distributed.all_reduce(torch.ones(1), async_op=True)
"""


NORMALIZED = f"""
experiment: classification
data: {{csv: {ROOT}/configs/data/breast_cancer.csv, target: diagnosis, positive: malignant}}
model:
  layers: [{{name: Linear, out_features: 16}}, BatchNorm1d, ReLU, {{name: Linear, out_features: 1}}]
loss: BCEWithLogitsLoss
optimizer: {{name: SGD, lr: 1e-2, momentum: 0.9}}
train: {{steps: 40, batch_size: 30}}
"""


LEARNING = ("linear_regression", "bce_classification", "digits_cnn", "characters")
EACH = """-c
import sys
from nanotorch.train import train
for run in sys.argv[1:]:
    train(*run.split(), "log.plots=false", "log.tensorboard=false", verbose=False)
"""


def started(count: int, *words: str, program: str = "train") -> subprocess.Popen[str]:
    """Start a script in several processes, in one without a launcher."""
    pool = ["-m", "mpi4py.futures"] * (program == "sweep" and count > 1)
    script = program.split("\n", 1) if program == EACH else [f"{ROOT}/scripts/{program}.py"]
    command = [sys.executable, *pool, *script, *words]
    command = [str(MPIEXEC), "-n", str(count), *command] if count > 1 else command
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


def done(count: int, *words: str, program: str = "train") -> tuple[int, str, str]:
    """Return the exit code of a script, and what it prints."""
    process = started(count, *words, program=program)
    out, error = process.communicate(timeout=120)
    return process.returncode, out, error


def told(count: int, *words: str, program: str = "train") -> str:
    """Return what a script prints, which has to succeed."""
    code, out, error = done(count, *words, program=program)
    assert code == 0, out + error
    return out


def trained(count: int, name: str, config: str, *words: str) -> Path:
    """Train; return the run's directory."""
    keys = [word.partition("=")[0] for word in words]
    quiet = [word for word in QUIET if word.partition("=")[0] not in keys]
    told(count, "--config", config, f"log.name={name}", *quiet, *words)
    return newest()


def newest() -> Path:
    return Path("runs", Path("runs/latest.txt").read_text("utf-8").strip())


def equal(first: Path, second: Path) -> bool:
    return left_by(first) == left_by(second)


def of_one(config: str, count: int, batch: int, *words: str) -> Path:
    """Train in one process that accumulates the shares of `count`, each of so many samples."""
    more = (f"train.batch_size={batch}", f"train.accumulate={count}", "train.compile=false")
    return trained(1, "one", config, *words, *more)


def test_two_processes_take_the_steps_of_one() -> None:
    config, words = f"{ROOT}/configs/linear_regression.yaml", ("train.epochs=2",)
    run = trained(2, "several", config, *words, "train.batch_size=32")
    assert equal(run, of_one(config, 2, 16, *words))
    assert record_of(run)["processes"] == 2
    assert sorted(path.name for path in Path("runs").iterdir()) == ["latest.txt", "one", "several"]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_bits_of_one_process(count: int) -> None:
    for processes, place, batch in ((count, "several", 8 * count), (1, "one", 8)):
        steps = f"train.steps=14 train.batch_size={batch} train.accumulate={count // processes}"
        runs = [f"{name} {steps} log.dir={place}/{name}" for name in LEARNING]
        starts = "function.start=[[1,2],[-1,0.5],[0,3]]"
        runs.append(f"rosenbrock {starts} log.dir={place}/minimum")
        told(processes, *runs, program=EACH)
    several, one = (sorted(Path(place).glob("*/*/2*")) for place in ("several", "one"))
    assert len(several) == len(LEARNING) + 1
    assert all(map(equal, several, one))


@pytest.mark.slow
def test_a_compiled_step_exchanges_gradients() -> None:
    Path("dropping.yaml").write_text(NORMALIZED.replace("BatchNorm1d", "Dropout"), "utf-8")
    Path("late.py").write_text(LATE, "utf-8")  # who waits is not to change what is compiled when
    words = ("train.steps=1800",)
    late = ("callbacks=[Late]", "--import", "late.py")
    run = trained(2, "several", "dropping.yaml", *words, *late)
    assert record_of(run)["step"]["compiled"]
    assert equal(run, of_one("dropping.yaml", 2, 15, *words))


@pytest.mark.slow
def test_tensorboard_shows_how_long_rank_0_waits() -> None:
    words = (BCE[0], "train.epochs=2", "log.tensorboard=true")
    several, one = (curves(trained(count, f"of{count}", *words)) for count in (2, 1))
    assert several.keys() - one.keys() == {"train/seconds_waited_per_step"}


@pytest.mark.slow
def test_batch_normalization_is_that_of_the_whole_batch() -> None:
    Path("normalized.yaml").write_text(NORMALIZED, "utf-8")
    several, one = (trained(count, f"of{count}", "normalized.yaml") for count in (3, 1))
    first, second = (load_file(run / "weights.safetensors") for run in (several, one))
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_allclose(array, second[name], rtol=1e-3, atol=1e-4, err_msg=name)


@pytest.mark.slow
def test_a_run_is_resumed_to_the_same_bits_and_in_other_numbers_of_processes() -> None:
    whole = trained(3, "whole", BCE[0], "train.epochs=6")
    trained(3, "part", BCE[0], "train.epochs=6", "train.time_limit=1e-6")
    for count in (3, 1, 2):
        words = f"train.epochs={6 + count % 3}", "train.time_limit=null"
        out = told(count, "--resume", "latest", *words)
        assert (f"processes: {count} (before: " in out) == (count < 3)
        assert equal(newest(), whole) == (count == 3)


@pytest.mark.slow
def test_a_mistake_is_told_once_and_leaves_nothing() -> None:
    code, out, error = done(3, "--config", BCE[0], "train.epoch=3")
    mistake = "command line: train.epoch=3: unknown key; did you mean 'epochs'?\n"
    assert (code, out, error[: len(mistake)]) == (2, "", mistake)
    assert error.count("command line") == 1
    Path("runs").write_text("in the way", "utf-8")
    code, _, error = done(3, "--config", *BCE)
    assert code == 2
    assert error.splitlines()[0].endswith("'runs' is not a directory")
    assert error.count("cannot create") == 1


@pytest.mark.slow
def test_a_mistake_that_one_process_alone_comes_upon_ends_all() -> None:
    command = [sys.executable, f"{ROOT}/scripts/train.py", "--config"]
    process = subprocess.run(
        [MPIEXEC, "-n", "1", *command, *BCE, ":", "-n", "1", *command, "absent.yaml"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    expected = "rank 1 of 2: absent.yaml: cannot be read: No such file or directory\n"
    assert (process.returncode, process.stderr[: len(expected)]) == (2, expected)


@pytest.mark.parametrize("size", [None, pytest.param("1", marks=pytest.mark.slow), "many"])
def test_another_programs_rank_hides_no_mistake(monkeypatch, size: str | None) -> None:
    monkeypatch.setenv("RANK", "3")
    if size is not None:
        monkeypatch.setenv("WORLD_SIZE", size)
    code, _, error = done(1, "--config", "absent.yaml")
    assert (code, error) == (2, "absent.yaml: cannot be read: No such file or directory\n")


@pytest.mark.slow
def test_an_error_in_one_process_ends_all() -> None:
    Path("boom.py").write_text(BOOM, "utf-8")
    begun = time.monotonic()
    words = ("--import", "boom.py", "--config", *BCE, "callbacks=[Boom]", "train.epochs=9")
    code, _, error = done(3, *words)
    assert (code, time.monotonic() - begun < 60) == (1, True)
    assert "rank 1 of 3 ends all processes" in error
    assert "ValueError: out of sorts" in error
    assert "rank 0" not in error
    assert "rank 2" not in error


@pytest.mark.slow
class TestSweep:
    WORDS = ("--config", "two_moons", "optimizer.lr=1e-1,1e-2", "seed=0:2", *QUIET)

    def test_each_process_takes_runs(self) -> None:
        words = (*self.WORDS, "train.epochs=3", "--dir")
        for count, place in ((1, "one"), (3, "several")):
            code, out, error = done(count, *words, place, program="sweep")
            assert (code, error) == (0, ""), out
            assert f"4 runs, {max(1, count - 1)} at a time" in out
            assert "4 of 4 runs finished" in out
        first, second = (
            sorted(path.parent for path in Path(place).rglob("metrics.jsonl"))
            for place in ("one", "several")
        )
        assert len(first) == 4
        for one, other in zip(first, second, strict=True):
            assert one.name == other.name
            assert equal(one, other)

    @of_mpich
    def test_ctrl_c_ends_all_with_a_checkpoint_and_a_table(self) -> None:
        process = started(3, *self.WORDS, "train.epochs=30000", program="sweep")
        files = Path("runs").rglob
        wait_until(lambda: sum(p.stat().st_size > 0 for p in files("metrics.jsonl")) == 2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
        wait_until(lambda: not members(process.pid))
        (table,) = Path("runs").rglob("sweep.csv")
        assert table.read_text("utf-8").count(",interrupted,") == 2
        assert len({path.parent for path in Path("runs").rglob("step-*")}) == 2

    def test_each_process_by_itself_would_do_everything(self) -> None:
        process = subprocess.run(
            [MPIEXEC, "-n", "2", sys.executable, f"{ROOT}/scripts/sweep.py", *self.WORDS],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert process.returncode == 2
        assert process.stderr.count("write mpiexec -n 9 python -m mpi4py.futures") == 1


def members(leader: int, program: str | None = None) -> list[int]:
    """Return the processes that a launcher has started here, whose commands name a program."""
    return [pid for pid in processes_here(program) if pid != leader]


def under_way(count: int, directory: Path, *words: str) -> subprocess.Popen[str]:
    """Start a long training; return when there is a checkpoint."""
    process = started(count, "--config", *BCE, "train.epochs=30000", f"log.dir={directory}", *words)
    wait_until(lambda: [*directory.glob("*/*/checkpoints/step-*")])
    return process


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
class TestEnds:
    @of_mpich
    def test_ctrl_c_pauses_all_after_the_same_step(self, tmp_path: Path) -> None:
        process = under_way(2, tmp_path / "r", "checkpoint.seconds=0.2")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert members(process.pid) == []
        assert re.search(r"interrupted after \d+ steps", out)
        assert "mpiexec -n 2 " in out.partition("to resume:")[2]

    @pytest.mark.parametrize("victim", [0, 1, 2])
    def test_a_process_that_is_killed_ends_all(self, victim: int, tmp_path: Path) -> None:
        process = under_way(3, tmp_path / "r", "checkpoint.seconds=0.2")
        os.kill(members(process.pid, f"{ROOT}/scripts/train.py")[victim], signal.SIGKILL)
        process.communicate(timeout=20)
        assert process.returncode != 0
        assert members(process.pid) == []
        step = max(int(p.stem[5:]) for p in (tmp_path / "r").glob("*/*/checkpoints/step-*"))
        told(3, "--resume", str(tmp_path / "r/latest"), f"train.steps={step + 50}")


@pytest.mark.slow
@of_mpich
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs Linux and root")
def test_hosts_that_are_cut_off_and_processes_that_are_killed() -> None:
    command = [sys.executable, f"{ROOT}/scripts/hosts.py", "--failures", "2", "--seed", "4"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stdout.count("equals one process") == 2
    assert process.stdout.count("resumed, equal") == 2
