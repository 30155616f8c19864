"""Plots: which there are, that they show what was measured, and life without matplotlib."""

import importlib.util
import json
import math
import shlex
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nanotorch.train import RunResult
from nanotorch.train.runs import plots
from nanotorch.train.runs.plots import loss_curves, roc_curves, series, trajectory
from tests.train import examples
from tests.train.examples import CLASSIFICATION, MANY, MINIMIZATION, REGRESSION

MOONS = {"loss", "roc", "confusion", "boundary"}
PLOTS = {
    "regression": (REGRESSION, [], {"loss", "predictions", "residuals"}),
    "one feature": (
        REGRESSION, ["data.features=[a]"], {"loss", "predictions", "residuals", "fit"}
    ),
    "two features": (CLASSIFICATION, [], MOONS),
    "two dimensions": (MINIMIZATION, [], {"value", "trajectory"}),
    "three dimensions": (
        MINIMIZATION, ["function={expression: sum(x), start: [1, 2, 3], iterations: 3}"], {"value"}
    ),
    "several starts": (
        MINIMIZATION, ["function.start=[[1, 2], [3, 4]]"], {"value", "trajectory"}
    ),
    "a mean over coordinates": (
        MINIMIZATION,
        ["function.expression=mean(x)**2 + x[0]**2"],
        {"value", "trajectory"},
    ),
    "a run that diverged": (
        MINIMIZATION, ["function.iterations=400", "optimizer.lr=50"], {"value", "trajectory"}
    ),
    "no validation part": (
        CLASSIFICATION, ["data.split={train: 1, validation: 0, test: 0}"], MOONS
    ),
    "many classes": (MANY, [], MOONS),
}  # fmt: skip

EACH_KIND = ("one feature", "two features", "two dimensions")


def result_of(text: str, *overrides: str) -> RunResult:
    return examples.result_of(text, "log.plots=true", *overrides)


@pytest.mark.parametrize(
    "case",
    [case if case in EACH_KIND else pytest.param(case, marks=pytest.mark.slow) for case in PLOTS],
)
def test_a_run_leaves_its_plots(case: str) -> None:
    text, overrides, expected = PLOTS[case]
    result = result_of(text, *overrides, "log.tensorboard=true")
    paths = list((result.directory / "plots").iterdir())
    animated = {"trajectory.gif"} if "trajectory" in expected else set()
    assert {path.name for path in paths} == {f"{name}.png" for name in expected} | animated
    for path in paths:
        assert min(imread(path).shape[:2]) > 300
    events = EventAccumulator(str(result.directory)).Reload()
    assert set(events.Tags()["images"]) == {f"plots/{name}" for name in expected}


def test_without_matplotlib_a_line_tells(monkeypatch, capsys) -> None:
    find = importlib.util.find_spec
    hidden = {"matplotlib": None}
    monkeypatch.setattr(
        plots.importlib.util, "find_spec", lambda name: hidden.get(name, name) and find(name)
    )
    result = result_of(REGRESSION)
    assert result.status == "finished"
    assert "<svg" not in result._repr_html_()
    assert not (result.directory / "plots").exists()
    lines = capsys.readouterr().out.splitlines()
    command = shlex.split(lines[lines.index("no plots: they need matplotlib:") + 1])
    assert command[1:] == ["-m", "pip", "install", "matplotlib"]
    shown = subprocess.run(  # by the environment that the run was in
        [command[0], "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True
    )
    assert shown.stdout == f"{sys.prefix}\n"


def test_curves_are_those_of_the_metrics() -> None:
    more = ["train={epochs: 5}", "scheduler={name: StepLR, step_size: 2}", "log.plots=false"]
    result = result_of(CLASSIFICATION, *more)
    lines = (result.directory / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    plot = loss_curves(records)
    top, bottom = plot.figure.axes
    drawn = {line.get_label(): line.get_xydata() for line in top.get_lines()}
    for part, name in (("train", "train/epoch_loss"), ("validation", "validation/loss")):
        x, y = series(records, name)
        np.testing.assert_array_equal(drawn[part], np.stack([x, y], axis=1))
    best = min(r["validation/loss"] for r in records if "validation/loss" in r)
    assert any(f"best validation loss: {best:.4g} in epoch" in str(label) for label in drawn)
    assert bottom.get_title() == "Learning rate"


def test_losses_of_few_epochs() -> None:
    records = [{"epoch": 1, "train/epoch_loss": 2.0}, {"epoch": 2, "train/epoch_loss": None}]
    np.testing.assert_array_equal(series(records, "train/epoch_loss")[1], [2.0, np.nan])
    plot = loss_curves(records)  # what was not finite leaves a gap
    assert plot.figure.axes[0].get_title() == "Loss (ended by numbers that are not finite)"
    assert loss_curves(records[1:]) is None
    plot = loss_curves([{"epoch": 1, "step": 3, "train/epoch_loss": 2.0}])
    assert plot.figure.axes[0].get_xlim() == (0, 2)  # between whole numbers


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1, 2, 3], "linear"), ([0.001, 1], "log"), ([0, 0.001, 1], "log"), ([-1, 1, 50], "linear")],
)
def test_values_of_all_sizes_are_seen(values: list[float], scale: str) -> None:
    _, (axes,) = plots.figure()
    axes.plot(values)
    plots.scale_values(axes, np.array(values, dtype=float))
    assert axes.get_yscale() == scale


def test_curves_and_points_by_hand() -> None:
    plot = roc_curves({"train": (np.array([0.9, 0.8, 0.8, 0.1]), np.array([1, 1, 0, 0]))}, "")
    _, line = plot.figure.axes[0].get_lines()
    assert line.get_xydata().T.tolist() == [[0, 0, 0.5, 1], [0, 0.5, 1, 1]]
    assert roc_curves({"train": (np.zeros(3), np.ones(3))}, "") is None  # one class only
    plot = plots.confusion(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), ["no", "yes"], "test")
    axes = plot.figure.axes[0]
    assert [text.get_text() for text in axes.texts] == [
        "1\n100.0 %", "0", "1\n33.3 %", "2\n66.7 %",
    ]  # fmt: skip
    assert axes.get_title() == "Confusion matrix, test: accuracy 0.750"
    plot = plots.residuals({"test": (np.array([1.0, 2.0]), np.array([1.5, 1.0]))}, "y")
    offsets: Any = plot.figure.axes[0].collections[0].get_offsets()
    np.testing.assert_allclose(offsets, [[1, 0.5], [2, -1]])


def test_a_trajectory_goes_from_the_start_through_all_points() -> None:
    records = [{"step": 1, "x/0": 0.5, "x/1": 0.0}, {"step": 2, "x/0": 0.0, "x/1": 0.0}]
    points = plots.way(records, (1.0, 0.0), ("x/0", "x/1"))
    plot = trajectory([points], lambda p: p[0] ** 2 + p[1] ** 2, "f")
    path: Any = plot.figure.axes[0].get_lines()[0]
    np.testing.assert_array_equal(path.get_xydata(), [[1, 0], [0.5, 0], [0, 0]])
    move = plot.moving.start(plot.figure.axes[0])
    line, _ = move(0)
    assert len(line.get_xydata()) == 1
    line, _ = move(plot.moving.frames - 1)
    assert len(line.get_xydata()) == 3


def test_each_of_several_starts_has_its_way() -> None:
    ways = [np.array([[1.0, 0], [0, 0]]), np.array([[3.0, 3], [2, 2], [1, 1]]), np.zeros((1, 2))]
    plot = trajectory(ways, lambda p: p[0] ** 2 + p[1] ** 2, "f")
    lines: Any = plot.figure.axes[0].get_lines()
    assert [line.get_xydata().tolist() for line in lines[:2]] == [w.tolist() for w in ways[:2]]
    starts, ends = (line.get_xydata().tolist() for line in lines[2:])
    assert (starts, ends) == ([[1, 0], [3, 3]], [[0, 0], [1, 1]])
    *_, heads = plot.moving.start(plot.figure.axes[0])(1)
    assert heads.get_xydata().tolist() == [[0, 0], [2, 2]]
    assert trajectory(ways[2:], lambda p: p[0], "f") is None


def test_names_of_compared_runs_hide_no_curve() -> None:
    curves = [(f"{name} " * 9, np.arange(3.0), np.arange(3.0)) for name in ("first", "second")]
    made = plots.comparison(curves, "loss")
    made.canvas.draw()
    (legend,) = made.legends
    assert [text.get_text() for text in legend.get_texts()] == [name for name, *_ in curves]
    (axes,) = made.axes
    assert legend.get_window_extent().y1 < axes.get_window_extent().y0


def test_ranges_of_odd_points() -> None:
    places = [(0.0, 0.0), (1.0, 0.0), (1e9, 0.0), (math.nan, 0.0)]  # one ran away
    records = [{"step": k, "a": a, "b": b} for k, (a, b) in enumerate(places)]
    assert plots.way(records, (1.0, 1.0), ("a", "b")).tolist() == [[1, 1], [0, 0], [1, 0]]
    assert plots.padded_range(np.array([2.0])) == (1.5, 2.5)
    assert plots.padded_range(np.array([np.nan])) == (-0.08, 1.08)


@pytest.mark.parametrize("slope", [0, 1])
def test_levels_of_a_flat_function(slope: int) -> None:
    plot = trajectory([np.array([[1.0, 0], [0, 0]])], lambda p: slope * p[0] + 2, "f")
    filled: Any = plot.figure.axes[0].collections[0]
    assert (filled.levels.tolist() == [0, 1]) == (slope == 0)
    assert (np.diff(filled.levels) > 0).all()
