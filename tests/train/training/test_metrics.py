"""Metrics agree with scikit-learn's, whose answers are stored; tables and sentences of them."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nanotorch.train.training.metrics import (
    align_rows,
    class_metrics,
    classification_metrics,
    confusion_matrix,
    duration,
    least_squares_text,
    metrics_table,
    regression_metrics,
    wrap_to_screen,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "metrics.json").read_text("utf-8"))
MEASURES = {
    "regression": regression_metrics, "classification": classification_metrics,
    "many classes": class_metrics,
}  # fmt: skip
CASES = [pytest.param(MEASURES[k], e, id=e["case"]) for k in MEASURES for e in GOLDEN[k]]


@pytest.mark.parametrize(("measure", "entry"), CASES)
def test_metrics_are_scikit_learn_s(measure: Callable[..., Any], entry: dict[str, Any]) -> None:
    found = measure(entry["prediction"], entry["target"])
    expected = {k: math.nan if v is None else v for k, v in entry["expected"].items()}
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)
    assert all(type(value) is float for value in found.values())


def test_columns_and_precisions_do_not_matter() -> None:
    prediction = np.array([[0.25], [0.75], [0.5]], dtype=np.float32)
    target = np.array([0, 1, 1])
    assert classification_metrics(prediction, target[:, None])["accuracy"] == 1
    assert regression_metrics(prediction, target)["mae"] == pytest.approx(1 / 3)
    # What was thought impossible costs much, but not everything.
    assert classification_metrics([0.0, 1.0], [1, 0])["log_loss"] == pytest.approx(36.04, abs=0.01)
    # Classes that do not occur spoil no mean.
    probability = np.array([[0.7, 0.2, 0.1, 0], [0.2, 0.7, 0.1, 0], [0.6, 0.3, 0.1, 0]])
    found = class_metrics(probability, [0, 1, 0])
    assert (found["recall"], found["auc"], found["average_precision"]) == (1, 1, 1)
    assert math.isnan(class_metrics(probability[:1], [0])["auc"])
    matrix = confusion_matrix([0, 1, 1, 2, 1], [0, 1, 2, 2, 0], 4)  # a row per class
    assert matrix.tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]


def test_a_table_is_aligned_and_has_no_row_without_samples() -> None:
    results = {"train/loss": 2828.45141, "train/r2": 0.5, "test/loss": 3e22, "test/r2": math.nan}
    assert metrics_table(results, {"train": 309, "validation": 0, "test": 66}).splitlines() == [
        "             train       test",
        "samples        309         66",
        "loss     2828.4514  3.000e+22",
        "R2          0.5000        nan",
    ]
    # That of cross-entropy is the log loss, but for weights of classes.
    results = {"train/loss": 0.5, "train/accuracy": 0.5, "train/log_loss": 0.5}
    lines = ["         train", "samples     20", "loss     0.5000", "accuracy 0.5000"]
    assert metrics_table(results, {"train": 20}).split() == " ".join(lines).split()
    assert "log loss  0.6000" in metrics_table({**results, "train/log_loss": 0.6}, {"train": 20})


def test_a_table_fits_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["name", "kind", "value"], ["a" * 30, "b" * 30, "1"], ["c", "d", "20"]]
    monkeypatch.setenv("COLUMNS", "80")
    assert align_rows(rows).splitlines()[1] == f"{'a' * 30}  {'b' * 30}      1"
    monkeypatch.setenv("COLUMNS", "60")  # long cells are shortened
    wide, *_ = align_rows(rows).splitlines()[1:]
    assert len(wide) == 60
    assert wide.split() == ["a" * 12 + "…" + "a" * 12, "b" * 13 + "…" + "b" * 12, "1"]
    monkeypatch.setenv("COLUMNS", "40")  # columns stand below each other
    several = [["n", *map(str, range(100, 130))], ["x", *map(str, range(30))]]
    blocks = align_rows(several).split("\n\n")
    assert all(len(line) <= 40 for block in blocks for line in block.splitlines())
    assert [block.splitlines()[1].split()[0] for block in blocks] == ["x"] * len(blocks)
    shown = [cell for block in blocks for cell in block.splitlines()[1].split()[1:]]
    assert shown == [str(number) for number in range(30)]
    monkeypatch.setenv("COLUMNS", "20")
    path = "runs/" + "x" * 30
    assert wrap_to_screen(f"one two three four five\nsix\nin {path}").splitlines() == [
        "one two three four", "  five", "six", "in", f"  {path}",
    ]  # fmt: skip


def test_the_closed_form_stands_beside_what_was_reached() -> None:
    text = "closed-form least squares: loss "
    assert least_squares_text(2.0, 2.001) == text + "2.0000; this run's is 0.0500 % above it"
    below = 2.0 - 1e-9  # by rounding
    assert least_squares_text(2.0, below) == text + "2.0000; this run's is 0.0000 % above it"
    assert least_squares_text(1e-13, 1e-9) == text + "0.0000"


def test_durations() -> None:
    assert [*map(duration, (0.04, 119.94, 125.2))] == ["0.0 s", "119.9 s", "2 min 5 s"]
