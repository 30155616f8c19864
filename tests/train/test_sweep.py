"""Sweeps: one run's failure stops no other, and the table tells of all."""

import csv
from pathlib import Path

import pytest

from nanotorch.train import sweep
from tests.train.examples import REGRESSION, write_example

QUIET = "log={tensorboard: true, plots: false, histograms: 0}"


def test_some_runs_fail_and_the_others_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    write_example(Path(), REGRESSION)
    settings = ["optimizer.lr=1e-2,1e30", "seed=0,1"]
    assert sweep.main(["--config", "x.yaml", "--jobs", "2", *settings, QUIET]) == 1
    out = capsys.readouterr().out
    assert "4 runs, 2 at a time, in runs/x_sweep/" in out
    assert "2 of 4 runs finished" in out
    (directory,) = Path("runs/x_sweep").iterdir()
    with (directory / "sweep.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["optimizer.lr"] for row in rows] == ["1e-2", "1e-2", "1e30", "1e30"]
    assert [row["status"] for row in rows] == ["finished"] * 2 + ["diverged"] * 2
    losses = [float(row["validation/loss"]) for row in rows[:2]]
    assert losses == sorted(losses)
    assert sorted(path.name for path in directory.glob("*.log")) == [
        f"run{k}.log" for k in range(4)
    ]
    assert "finished after" in (directory / f"{rows[0]['run']}.log").read_text("utf-8")


def test_hyperparameters_of_runs_are_in_tensorboard() -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    write_example(Path(), REGRESSION)
    assert sweep.main(["--config", "x.yaml", "optimizer.lr=0.125", QUIET]) == 0
    (directory,) = Path("runs/x_sweep").glob("*/run0/*")
    accumulator = EventAccumulator(str(directory)).Reload()
    contents = accumulator.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    data = plugin_data_pb2.HParamsPluginData.FromString(contents)
    assert data.session_start_info.hparams["optimizer.lr"].number_value == 0.125


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["optimizer.lr=1,x"], "command line: optimizer.lr=x: expected a number, got 'x' (text)"),
        (
            ["optimizer.momentun=1,2"],
            "command line: optimizer.momentun=1: unknown key; did you mean 'momentum'?",
        ),
        (["seed=3:3"], "command line: seed=3:3: has no values"),
        (["optimizer.lr=log(1, 2)"], "say how many runs by --random N"),
    ],
)
def test_mistakes_are_told_before_anything_runs(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_example(Path(), REGRESSION)
    assert sweep.main(["--config", "x.yaml", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["table.csv", "x.yaml"]
