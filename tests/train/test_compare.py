"""Runs side by side."""

import math
from pathlib import Path

import pytest

from nanotorch.train import compare, load_config, train
from nanotorch.train.compare import Outcome, differing, ranked, read_outcome, rows
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
    assert compare.main(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].split()[:6] == ["run", "status", "steps", "seconds", "seed", "optimizer.lr"]
    best = ranked(outcomes, "validation/loss")[0]
    assert best.name in lines[1]


def test_more_is_better_of_some(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([*map(str, runs), "--metric", "train/accuracy"]) == 0
    lines = capsys.readouterr().out.splitlines()[-2:]
    values = [float(line.split()[6]) for line in lines]
    assert values == sorted(values, reverse=True)


def test_a_plot(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main(["runs", "--plot", "c.png"]) == 0
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    assert compare.main(["runs", "--metric", "train/accuracy", "--plot", "d.png"]) == 2
    assert "train/accuracy has no curve" in capsys.readouterr().err


def test_mistakes(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    for arguments, message in (
        (["nowhere"], "nowhere: there is no such run"),
        (["empty"], "empty: has no runs in it"),
        (["nowhere", "--plot", "no/c.png"], "--plot: cannot write no/c.png: there is no such d"),
        (["runs", "--metric", "x/y"], "no run has measured 'x/y'"),
        ([""], "has no runs in it"),
        (["runs", "--plot", "c.foo"], "--plot writes .png, .svg, .pdf, not 'c.foo'"),
    ):
        assert compare.main(arguments) == 2
        assert message in capsys.readouterr().err


def test_a_damaged_run_spoils_nothing(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    (runs[0] / "run.json").write_text("{", "utf-8")
    (runs[1] / "config.yaml").write_text(":", "utf-8")
    assert compare.main(["runs"]) == 0
    assert "unreadable: " in capsys.readouterr().out


def test_what_was_not_measured_is_left_blank() -> None:
    outcomes = [Outcome("a", "failed"), Outcome("b", "diverged", results={"loss": math.nan})]
    assert [row[-1] for row in rows(outcomes, [], ["loss"])] == ["loss", "", "nan"]


def test_runs_of_all_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a column with what it was; the measures of one kind mean nothing for another."""
    for text in (CLASSIFICATION, REGRESSION, MINIMIZATION):
        write_example(Path(), text)
        train(load_config("x.yaml", QUIET))
    capsys.readouterr()
    assert compare.main(["runs"]) == 0
    text = capsys.readouterr().out
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line}
    assert lines["status"] == ["status"] + ["finished"] * 3
    assert sorted(lines["experiment"][1:]) == ["classification", "minimization", "regression"]
    (value,) = lines["function/value"][1:]  # the others have none
    assert float(value) >= 0
    assert "validation/loss is not one measure here, but BCEWithLogitsLoss and MSELoss" in text


def test_a_run_counts_once_and_the_newest_has_a_name(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert compare.main(["runs", str(runs[0]), f"{runs[0]}/../{runs[0].name}", "latest"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert compare.main(["latest"]) == 0
    assert runs[1].name in capsys.readouterr().out
