"""Several runs: what a sweep varies, what becomes of its runs, and runs side by side."""

import contextlib
import csv
import itertools
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from nanotorch.train import RunResult, commands, load_config, train
from nanotorch.train.cli import main as train_command
from nanotorch.train.config import schema
from nanotorch.train.config.components import CALLBACKS
from nanotorch.train.config.load import settings_in
from nanotorch.train.config.sections import ConfigError
from nanotorch.train.runs import sweep
from nanotorch.train.runs.run import how_to_resume
from nanotorch.train.runs.run_directory import locked, step_of
from nanotorch.train.runs.sweep import (
    Outcome,
    combinations,
    differing,
    parse_axis,
    rank_outcomes,
    read_outcome,
    rows,
)
from tests.patience import LONG, wait_until
from tests.several import posix, processes_here
from tests.train.examples import (
    CLASSIFICATION,
    MINIMIZATION,
    REGRESSION,
    mistake,
    refusal_of,
    said,
    write_example,
)

FAILS = """\
from nanotorch.train import Callback, register_callback

@register_callback
class Fails(Callback):
    def on_step(self, loop):
        if loop.task.optimizer.param_groups[0]["lr"] == 5:
            raise ValueError("5 is too much")
"""
QUIET = "log={tensorboard: false, plots: false}"


def test_some_runs_fail_and_the_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four runs, two finish, one diverges and one is ended by its own module."""
    write_example(Path(), REGRESSION)
    Path("fails.py").write_text(FAILS, encoding="utf-8")
    monkeypatch.setattr(commands, "imported", [])
    settings = ["optimizer.lr=0.125,1e-2,1e30,5", QUIET, "callbacks=[Fails]"]
    options = "--jobs 2 --import fails.py --metric validation/acuracy"
    code, out, err = said(f"sweep --config x.yaml {options}", *settings)
    del CALLBACKS.registered["Fails"]
    (directory,) = Path("runs/x_sweep").iterdir()
    assert "4 runs, 2 at a time, in runs/x_sweep/" in out
    assert "2 of 4 runs finished" in out
    with (directory / "sweep.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["optimizer.lr"] for row in rows[:2]} == {"0.125", "1e-2"}
    assert [row["optimizer.lr"] for row in rows[2:]] == ["1e30", "5"]
    assert [row["status"] for row in rows[:3]] == ["finished", "finished", "diverged"]
    losses = [float(row["validation/loss"]) for row in rows[:2]]
    assert losses == sorted(losses)
    assert {path.stem for path in directory.glob("*.log")} == {
        "lr=0.125", "lr=1e-2", "lr=1e30", "lr=5"
    }  # fmt: skip
    assert "finished after" in (directory / f"{rows[0]['run']}.log").read_text("utf-8")
    # What failed is told with its reason
    assert code == 2
    assert "lr=5 failed: see\n  " in out
    assert "\n  ValueError: 5 is too much" in out
    assert re.search(r"^lr=1e30 diverged: see\n  .*\.log\n  the loss went from ", out, re.M)
    assert "--metric: no run has measured it; known: test/loss, " in err


def test_runs_are_named_by_the_settings_in_which_they_differ() -> None:
    def of(*settings: str) -> list[str]:
        found = [*sweep.names(combinations([*map(parse_axis, settings)], None, 0))]
        assert all(schema.RUN_NAME.fullmatch(name) for name in found)
        return found

    rates = ["lr=0.1,seed=0", "lr=0.1,seed=1", "lr=-1,seed=0", "lr=-1,seed=1"]
    assert of("optimizer.lr=0.1,-1", "train.epochs=2", "seed=0:2") == rates
    assert of("optimizer={name: SGD, lr: 0.1},Adam") == ["optimizer=SGD-lr-0.1", "optimizer=Adam"]
    both = ["a.x=1,b.x=3", "a.x=1,b.x=4", "a.x=2,b.x=3", "a.x=2,b.x=4"]
    assert of("a.x=1,2", "b.x=3,4") == both
    assert of("x=[1, 2],[1,2],../1/2") == ["x=1-2", "x=1-2,2", "x=1-2,3"]
    assert of("x=a,A,b") == ["x=a", "x=A,2", "x=b"]  # macOS and Windows ignore case
    assert of("seed=3") == ["run"]
    assert of(f"x={'y' * 300},{'y' * 301}")


# The words after `sweep --config x.yaml`, and what is said of them.
MISTAKES = {
    "optimizer.lr=1,x": "command line: optimizer.lr=x: expected a number, got 'x' (text)",
    "optimizer.momentun=1,2": "command line: optimizer.momentun=1: unknown key of SGD; did you "
    "mean 'momentum'?",
    "seed=3:3": "command line: seed=3:3: has no values",
    "'optimizer.lr=log(1, 2)'": "add --random N for the number of runs",
    "log.name=a,b": "command line: log.name=...: is set by the sweep",
    "seed=0:2 seed=1": "seed=0:2 seed=1: the key is given twice; remove one of the two",
    "optimizer.lr=a,0.1,-1 seed=0:2": "command line: optimizer.lr=a: expected a number, got 'a' "
    "(text)\ncommand line: optimizer.lr=-1: Invalid learning rate: -1.0; the default is 0.001\n",
    "data.split.train=0.5,0.7 data.split.test=0.4 seed=0:2": "add up to 1.1, not 1 (in 2 of 4 "
    "runs, such as data.split.train=0.7 data.split.test=0.4 seed=0)\n",
    "seed=0 --dir x.yaml": "--dir x.yaml: cannot create a directory there: Not a dir",
    "--random 1 seed=0:9 --seed -1": "expected a whole number of at least 0, got '-1'",
    "--random 1 seed=0:9 --seed 1.5": "expected a whole number of at least 0, got '1.5'",
}


@pytest.mark.parametrize("words", MISTAKES)
def test_mistakes_are_told_before_anything_runs(words: str) -> None:
    write_example(Path(), REGRESSION)
    assert MISTAKES[words] in mistake(f"sweep --config x.yaml {words}")
    assert sorted(path.name for path in Path().iterdir()) == ["table.csv", "x.yaml"]


def under_way() -> list[Path]:
    """The runs of a sweep that have taken steps."""
    found = Path("runs").glob("*/*/*/metrics.jsonl")
    return [path.parent for path in found if path.stat().st_size]


SWEEP = "import sys; from nanotorch.train.cli import sweep; sys.exit(sweep())"


@contextlib.contextmanager
def swept(arguments: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """A sweep under way, of which two runs have taken steps; it is killed at the end."""
    write_example(Path(), REGRESSION)
    endless, pipe = "train={epochs: 100000000}", subprocess.PIPE
    command = [sys.executable, "-c", SWEEP, "--config", "x.yaml", endless, QUIET, *arguments]
    process = subprocess.Popen(
        [*command, "--jobs", "2"], start_new_session=True, stdout=pipe, stderr=pipe, text=True
    )
    try:
        wait_until(lambda: len(under_way()) >= 2)
        yield process
    finally:
        process.kill()


@posix
@pytest.mark.parametrize(
    ("number", "group", "code"),
    [
        (signal.SIGINT, True, 130),
        pytest.param(signal.SIGINT, False, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, False, 143, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_sweep_ends_its_runs(number: signal.Signals, group: bool, code: int) -> None:
    """A terminal's Ctrl-C reaches the whole group; each run still gets one signal, and pauses."""
    with swept(["seed=0:4", "log.every=1000"]) as process:
        (os.killpg if group else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err) == (code, "interrupted\n")
    assert "0 of 4 runs finished" in out
    assert out.count("to resume: ") == 2
    rest = out.partition("2 not started; to run them:\n")[2].splitlines()
    (again, _) = (line.removeprefix(f"  {commands.call_again()} ") for line in rest)
    assert train_command([*shlex.split(again), "train.epochs=1"]) == 0
    (directory,) = Path("runs/x_sweep").iterdir()
    for name in ("seed=0", "seed=1"):
        run = directory / name / "run.json"
        assert '"status": "interrupted"' in run.read_text("utf-8")
        assert [*run.parent.glob("checkpoints/step-*")]
    assert [row.split(",")[1] for row in (directory / "sweep.csv").read_text().splitlines()] == [
        "status", "interrupted", "interrupted", "not started", "not started"
    ]  # fmt: skip


def test_where_there_are_no_signals_the_end_of_input_asks_a_run_to_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows has none: `terminate` and `os.kill` end a process at once."""
    program = """
        import os, signal, sys, time
        from nanotorch.train import commands
        os.name, os.kill = "nt", None
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        commands.end_with_input()
        print("begun", flush=True)
        while True:
            time.sleep(0.01)
    """
    processes, log = sweep.Processes(), tmp_path / "log"
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with ThreadPoolExecutor(1) as pool:
        code = pool.submit(processes.run, command, log, True)
        wait_until(lambda: log.exists() and log.read_bytes())
        with monkeypatch.context() as patch:
            patch.setattr(os, "name", "nt")
            processes.end()
        try:
            assert code.result(LONG) == 7
        finally:
            processes.interrupt()


def pid_of(run: Path) -> int:
    """The process of a run, which holds its lock."""
    (pid,) = processes_here(f"log.name={run.name}")
    return pid


linux = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="reads Linux's /proc")


@linux
@pytest.mark.slow
def test_a_killed_run_costs_no_other_one_its_place_in_the_table() -> None:
    with swept(["seed=0:3"]) as process:
        killed, other = sorted(under_way())
        os.kill(pid_of(killed), signal.SIGKILL)
        os.kill(pid_of(other), signal.SIGKILL)
        wait_until(lambda: len(under_way()) >= 3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err) == (130, "interrupted\n")
    assert "seed=0 killed by SIGKILL: see\n  " in out
    assert f"  to resume: {commands.call_again()} --resume {killed}\n" in out
    (table,) = Path("runs").glob("*/*/sweep.csv")
    statuses = [row.split(",")[1] for row in table.read_text("utf-8").splitlines()]
    assert statuses == ["status", "killed by SIGKILL", "killed by SIGKILL", "interrupted"]


@linux
def test_the_runs_of_a_killed_sweep_pause() -> None:
    with swept(["seed=0:2"]) as process:
        pids = [pid_of(run) for run in under_way()]
    process.communicate(timeout=LONG)
    try:
        wait_until(lambda: not {*pids} & {*processes_here()})
    finally:
        for pid in {*pids} & {*processes_here()}:
            os.kill(pid, signal.SIGKILL)
    for run in under_way():
        assert '"status": "interrupted"' in (run / "run.json").read_text("utf-8")
        assert [*run.glob("checkpoints/step-*")]


def test_what_the_system_refuses_to_a_run_is_its_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    write_example(Path(), REGRESSION)
    monkeypatch.setattr("nanotorch.train.runs.sweep.subprocess.Popen", refuse)
    assert said("sweep --config x.yaml seed=0:2", QUIET)[0] == 1
    (table,) = Path("runs").glob("*/*/sweep.csv")
    assert table.read_text("utf-8").count("failed: [Errno 12] Cannot allocate memory") == 2


VALUES = {
    "optimizer.lr=1e-1,1e-2": ["1e-1", "1e-2"],
    "seed=0:3": ["0", "1", "2"],
    "train.batch_size=8:33:8": ["8", "16", "24", "32"],
    "seed=7": ["7"],
    "optimizer={name: SGD, lr: 0.1},{name: Adam, betas: [0.9, 0.99]},Adam": [
        "{name: SGD, lr: 0.1}", "{name: Adam, betas: [0.9, 0.99]}", "Adam",
    ],
    "data.target='a,b',c": ["'a,b'", "c"],
}  # fmt: skip


def test_values() -> None:
    assert {argument: parse_axis(argument).values for argument in VALUES} == VALUES
    assert combinations([parse_axis("a=1,2"), parse_axis("b=0:2")], None, 0) == [
        ["a=1", "b=0"], ["a=1", "b=1"], ["a=2", "b=0"], ["a=2", "b=1"],
    ]  # fmt: skip


NO_VALUES = {
    "seed": "expected key=values, as in optimizer.lr=1e-1,1e-2 or seed=0:5",
    "seed=": "expected key=values, as in optimizer.lr=1e-1,1e-2 or seed=0:5",
    "seed=10:0": "has no values",
    "seed=0:3:0": "has no values",
    "seed=0:99999999": "has 99,999,999 values; at most 10,000",
    "seed=1,2,1": "has the value '1' twice",
    "lr=log(0, 1)": "log needs positive numbers",
    "lr=log(2, 1)": "log needs the smaller number first",
    "lr=log(a, 1)": "log needs two numbers",
    "lr=uniform(0, inf)": "uniform needs the smaller number first",
    "lr=normal(0, 1)": "'normal' is not a distribution; known: log, uniform, integers",
    "lr=cauchy(0, 1)": "'cauchy' is not a distribution; known: log, uniform, integers",
}


def test_what_is_no_list_of_values() -> None:
    refusal = refusal_of(parse_axis)
    told = {argument: f"command line: {argument}: {text}" for argument, text in NO_VALUES.items()}
    assert {argument: refusal(argument) for argument in NO_VALUES} == told


def test_random_ones_are_drawn_and_fixed_by_the_seed() -> None:
    arguments = ["lr=log(1e-4, 1e-1)", "p=uniform(0, 0.5)", "n=integers(2, 4)", "seed=0:9"]
    axes = [parse_axis(argument) for argument in arguments]
    first, again, other = (combinations(axes, 400, seed) for seed in (0, 0, 1))
    assert first == again != other
    numbers = np.array([[float(part.split("=")[1]) for part in run] for run in first])
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    assert (low >= [1e-4, 0, 2, 0]).all()
    assert (high <= [1e-1, 0.5, 4, 8]).all()
    assert set(numbers[:, 2]) == {2, 3, 4}
    middle = math.log10(float(np.median(numbers[:, 0])))
    assert -3 < middle < -2


def test_draws_that_cannot_be() -> None:
    for settings, number, message in (
        (["lr=log(1e-4, 1e-1)"], None, "add --random N for the number of runs"),
        (["a=0:1000", "b=0:1000"], None, "makes 1,000,000 runs"),
        (["a=0:3", "b=integers(0, 1)"], 7, "there seem to be only 6 different runs"),
    ):
        with pytest.raises(ConfigError, match=message):
            combinations([*map(parse_axis, settings)], number, 0)
    axes = [parse_axis("a=0:3"), parse_axis("b=integers(0, 1)")]
    assert len({tuple(run) for run in combinations(axes, 6, 0)}) == 6  # no run is made twice


SETTINGS = ("log.plots=false", "log.progress=false", "log.histograms=0")


def run_of(text: str, *overrides: str) -> RunResult:
    write_example(Path(), text)
    return train(load_config("x.yaml", [*SETTINGS, *overrides]), verbose=False)


def compared(words: str = "runs") -> list[str]:
    """The lines that `compare` prints."""
    code, out, errors = said(f"compare {words}")
    assert (code, errors) == (0, "")
    return out.splitlines()


@pytest.fixture
def runs() -> list[Path]:
    settings = [("seed=0", "optimizer.lr=0.01"), ("seed=1", "optimizer.lr=0.1")]
    return [run_of(CLASSIFICATION, *each).directory for each in settings]


@posix
def test_where_runs_differ_and_what_came_of_them(runs: list[Path]) -> None:
    outcomes = [read_outcome(directory, directory.name) for directory in runs]
    assert differing(outcomes) == ["seed", "optimizer.lr"]
    lines = compared()
    assert lines[0] == "classification of moons: 2 runs"
    assert lines[1].split()[:4] == ["run", "seconds", "seed", "optimizer.lr"]
    assert lines[1].split()[4:6] == ["validation/loss", "accuracy"]
    best = rank_outcomes(outcomes, "validation/loss")[0]
    assert best.name.endswith(lines[2].split()[0])  # what the names differ in
    assert lines[4:-1] == ["all: finished, 5 steps", f"best validation/loss: x/{best.name}"]
    assert lines[-1] == "  in runs"
    assert all(len(line) <= 80 for line in lines)
    # Of some measures more is better.
    lines = compared(f"{runs[0]} {runs[1]} --metric train/accuracy")
    values = [float(line.split()[4]) for line in lines[-5:-3]]
    assert values == sorted(values, reverse=True)
    # A run counts once, and the newest has a name.
    lines = compared(f"runs {runs[0]} {runs[0]}/../{runs[0].name} latest")
    assert lines[0] == "classification of moons: 2 runs"
    assert runs[1].name in "".join(compared("latest"))


def test_a_plot(runs: list[Path]) -> None:
    compared("runs --plot c.png")
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    own = runs[0] / "plots" / "loss.png"
    own.parent.mkdir()
    own.write_bytes(b"")
    message = f"error: --plot: {own} is a picture of a run; choose another name\n"
    assert said(f"compare runs --plot {own}") == (2, "", message)
    assert own.read_bytes() == b""


def test_what_cannot_be_compared(runs: list[Path]) -> None:
    Path("empty").mkdir()
    for words, message in {
        "nowhere": "nowhere: there is no such run",
        "empty": "empty: contains no runs",
        "''": "contains no runs",
        "runs --plot no/c.png": "--plot: cannot write no/c.png: No such file or dir",
        "runs --plot /proc/a.png": "--plot: cannot write /proc/a.png: No such file or dir",
        "runs --plot c.foo": "--plot writes .png, .svg, .pdf, not 'c.foo'",
        "runs --plot d.png --metric train/accuracy": "train/accuracy has no curve",
        "runs --metric x/y": "no run has measured 'x/y'",
    }.items():
        assert message in mistake(f"compare {words}")


def test_a_damaged_run_spoils_nothing(runs: list[Path]) -> None:
    (runs[0] / "run.json").write_text("{", "utf-8")
    (runs[1] / "config.yaml").write_text(":", "utf-8")
    code, out, _ = said("compare runs")
    assert (code, "unreadable:" in out) == (1, True)


@posix
def test_a_killed_run_is_told_from_one_that_runs(runs: list[Path]) -> None:
    record = runs[0] / "run.json"
    record.write_text(record.read_text("utf-8").replace('"finished"', '"running"'), "utf-8")
    with locked(runs[0]):
        assert read_outcome(runs[0], "").status == "running"
    (newest,) = (runs[0] / "checkpoints").glob("step-*")
    for step in (step_of(newest), 0):  # the steps that are not lost
        outcome = read_outcome(runs[0], "")
        assert (outcome.status, outcome.steps) == ("killed", step)
        *_, how, again = compared()
        assert how.startswith("to resume ")
        assert again == f"  {how_to_resume(runs[0])}"
        newest.unlink(missing_ok=True)


def test_tables_of_outcomes() -> None:
    outcomes = [Outcome("a", "failed"), Outcome("b", "diverged", results={"loss": math.nan})]
    assert [row[-1] for row in rows(outcomes, [], ["loss"])] == ["loss", "", "nan"]
    # Names that repeat the settings are left out.
    runs = [Outcome(f"lr={lr}", "finished", {"lr": lr}, {"test/loss": 1.0}) for lr in "12"]
    first, *_ = sweep.table(runs, ["lr"], "test/loss").splitlines()
    assert first.split() == ["seconds", "lr", "test/loss"]
    # Many settings are lines, and numbers that are equal no difference.
    one = {f"a.long.name.{k}": str(k) for k in range(9)}
    runs = [Outcome("a", "finished", one, {"test/loss": 1.0}), Outcome("b", "finished", {})]
    lines = sweep.table(runs, differing(runs), "test/loss").splitlines()
    assert lines[0].split() == ["run", "a", "b"]
    assert lines[2].split() == ["a.long.name.0", "0"]
    assert settings_in("a: 0.0\nb: 1e-3\nc: 1.5") == settings_in("a: 0\nb: 0.001\nc: 1.5")


def test_runs_of_all_kinds() -> None:
    """Each task has a table: the measures of one kind mean nothing for another."""
    for text in (CLASSIFICATION, REGRESSION, MINIMIZATION):
        run_of(text)
    run_of(MINIMIZATION, "optimizer.lr=0.3")
    tables = [table.splitlines() for table in "\n".join(compared()).split("\n\n")]
    assert sorted(table[0] for table in tables) == [
        "classification of moons: 1 run",
        "minimization of x[0]**2 + (x[1] - 1)**2: 2 runs",
        "regression of table.csv: 1 run",
    ]
    heads = {table[0].split()[0]: table[1].split() for table in tables}
    assert heads["minimization"] == ["run", "seconds", "optimizer.lr", "function/value"]
    assert heads["regression"][4:6] == ["validation/loss", "mae"]


@pytest.mark.usefixtures("runs")
def test_a_loss_is_compared_with_the_same_one_only() -> None:
    layers = "model.layers=[{name: Linear, out_features: 2}]"
    run_of(CLASSIFICATION, "loss=CrossEntropyLoss", layers)
    told = "validation/loss cannot be compared: the losses are BCEWithLogitsLoss and"
    lines = compared()
    assert lines[lines.index(told) + 1] == "  CrossEntropyLoss"


def test_seeds_are_one_line() -> None:
    each = itertools.product(("0.01", "0.1"), range(3))
    runs = [run_of(CLASSIFICATION, f"optimizer.lr={lr}", f"seed={seed}") for lr, seed in each]
    results = [run.results["validation/loss"] for run in runs]
    out = "\n".join(compared())
    assert "runs that differ only in the seed share a line: mean ± half the range\n" in out
    for values in (results[:3], results[3:]):
        half = (max(values) - min(values)) / 2
        assert f" {sum(values) / 3:.4g} ± {half:.2g} " in out
    assert out.count("3 runs ") == 2
    assert "best validation/loss: " in out
