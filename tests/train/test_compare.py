"""Runs side by side."""

import itertools
import math
from pathlib import Path

import pytest

from nanotorch.train import cli, load_config, sweep, train
from nanotorch.train.load import settings_in
from nanotorch.train.sweep import Outcome, differing, ranked, read_outcome, rows
from tests.train.examples import CLASSIFICATION, MINIMIZATION, REGRESSION, write_example

QUIET = ("log.plots=false", "log.progress=false", "log.histograms=0")


@pytest.fixture
def runs() -> list[Path]:
    write_example(Path(), CLASSIFICATION)
    settings = [("seed=0", "optimizer.lr=0.01"), ("seed=1", "optimizer.lr=0.1")]
    return [train(load_config("x.yaml", [*QUIET, *each])).directory for each in settings]


def test_where_runs_differ_and_what_came_of_them(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = [read_outcome(directory, directory.name) for directory in runs]
    assert differing(outcomes) == ["seed", "optimizer.lr"]
    capsys.readouterr()
    assert cli.compare(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "classification of moons: 2 runs"
    assert lines[1].split()[:4] == ["run", "seconds", "seed", "optimizer.lr"]
    assert lines[1].split()[4:6] == ["validation/loss", "accuracy"]
    best = ranked(outcomes, "validation/loss")[0]
    assert best.name.endswith(lines[2].split()[0])  # what the names differ in
    assert lines[4:-1] == ["all: finished, 5 steps", f"best validation/loss: x/{best.name}"]
    assert lines[-1] == "  in runs"
    assert all(len(line) <= 80 for line in lines)


def test_more_is_better_of_some(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.compare([*map(str, runs), "--metric", "train/accuracy"]) == 0
    lines = capsys.readouterr().out.splitlines()[-5:-3]
    values = [float(line.split()[4]) for line in lines]
    assert values == sorted(values, reverse=True)


def test_a_plot(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.compare(["runs", "--plot", "c.png"]) == 0
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    assert cli.compare(["runs", "--metric", "train/accuracy", "--plot", "d.png"]) == 2
    assert "train/accuracy has no curve" in capsys.readouterr().err
    own = runs[0] / "plots" / "loss.png"
    own.parent.mkdir()
    own.write_bytes(b"")
    assert cli.compare(["runs", "--plot", str(own)]) == 2
    message = f"error: --plot: {own} is a picture of a run; choose another name\n"
    assert capsys.readouterr() == ("", message)
    assert own.read_bytes() == b""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="/proc is Linux's")
def test_a_picture_that_cannot_be_written(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert cli.compare(["runs", "--plot", "/proc/a.png"]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error == "error: --plot: cannot write /proc/a.png: No such file or directory\n"


def test_mistakes(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    for arguments, message in (
        (["nowhere"], "nowhere: there is no such run"),
        (["empty"], "empty: has no runs in it"),
        (["runs", "--plot", "no/c.png"], "--plot: cannot write no/c.png: No such file or dir"),
        (["runs", "--metric", "x/y"], "no run has measured 'x/y'"),
        ([""], "has no runs in it"),
        (["runs", "--plot", "c.foo"], "--plot writes .png, .svg, .pdf, not 'c.foo'"),
    ):
        assert cli.compare(arguments) == 2
        assert message in capsys.readouterr().err


def test_a_damaged_run_spoils_nothing(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    (runs[0] / "run.json").write_text("{", "utf-8")
    (runs[1] / "config.yaml").write_text(":", "utf-8")
    assert cli.compare(["runs"]) == 0
    assert "unreadable: " in capsys.readouterr().out


def test_what_was_not_measured_is_left_blank() -> None:
    outcomes = [Outcome("a", "failed"), Outcome("b", "diverged", results={"loss": math.nan})]
    assert [row[-1] for row in rows(outcomes, [], ["loss"])] == ["loss", "", "nan"]


def test_runs_of_all_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    """Each task has a table: the measures of one kind mean nothing for another."""
    for text in (CLASSIFICATION, REGRESSION, MINIMIZATION):
        write_example(Path(), text)
        train(load_config("x.yaml", QUIET))
    train(load_config("x.yaml", [*QUIET, "optimizer.lr=0.3"]))
    capsys.readouterr()
    assert cli.compare(["runs"]) == 0
    tables = [table.splitlines() for table in capsys.readouterr().out.split("\n\n")]
    assert sorted(table[0] for table in tables) == [
        "classification of moons: 1 run",
        "minimization of x[0]**2 + (x[1] - 1)**2: 2 runs",
        "regression of table.csv: 1 run",
    ]
    heads = {table[0].split()[0]: table[1].split() for table in tables}
    assert heads["minimization"] == ["run", "seconds", "optimizer.lr", "function/value"]
    assert heads["regression"][4:6] == ["validation/loss", "mae"]


def test_a_loss_is_compared_with_the_same_one_only(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    loss = ["loss=CrossEntropyLoss", "model.layers=[{name: Linear, out_features: 2}]"]
    train(load_config("x.yaml", [*QUIET, *loss]))
    capsys.readouterr()
    assert cli.compare(["runs"]) == 0
    told = (
        "validation/loss is not one measure here, but BCEWithLogitsLoss and\n  CrossEntropyLoss\n"
    )
    assert told in capsys.readouterr().out


def test_seeds_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    write_example(Path(), CLASSIFICATION)
    results = []
    for rate, seed in itertools.product(("0.01", "0.1"), range(3)):
        loaded = load_config("x.yaml", [*QUIET, f"optimizer.lr={rate}", f"seed={seed}"])
        results.append(train(loaded).results["validation/loss"])
    capsys.readouterr()
    assert cli.compare(["runs"]) == 0
    out = capsys.readouterr().out
    assert "a line for the runs that differ only in the seed: mean ± half the range\n" in out
    for values in (results[:3], results[3:]):
        half = (max(values) - min(values)) / 2
        assert f" {sum(values) / 3:.4g} ± {half:.2g} " in out
    assert out.count("3 runs ") == 2
    assert "best validation/loss: " in out


def test_names_that_repeat_the_settings_are_left_out() -> None:
    runs = [Outcome(f"lr={lr}", "finished", {"lr": lr}, {"test/loss": 1.0}) for lr in "12"]
    lines = sweep.table(runs, ["lr"], "test/loss").splitlines()
    assert lines[0].split() == ["seconds", "lr", "test/loss"]


def test_many_settings_are_lines() -> None:
    one = {f"a.long.name.{k}": str(k) for k in range(9)}
    runs = [Outcome("a", "finished", one, {"test/loss": 1.0}), Outcome("b", "finished", {})]
    lines = sweep.table(runs, differing(runs), "test/loss").splitlines()
    assert lines[0].split() == ["run", "a", "b"]
    assert lines[2].split() == ["a.long.name.0", "0"]


def test_a_run_counts_once_and_the_newest_has_a_name(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert cli.compare(["runs", str(runs[0]), f"{runs[0]}/../{runs[0].name}", "latest"]) == 0
    assert capsys.readouterr().out.startswith("classification of moons: 2 runs\n")
    assert cli.compare(["latest"]) == 0
    assert runs[1].name in capsys.readouterr().out


def test_numbers_that_are_equal_are_no_difference() -> None:
    assert settings_in("a: 0.0\nb: 1e-3\nc: 1.5") == settings_in("a: 0\nb: 0.001\nc: 1.5")
