"""Metrics agree with scikit-learn's, whose answers are stored."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nanotorch.train.metrics import (
    class_metrics,
    classification_metrics,
    confusion_matrix,
    regression_metrics,
)

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "metrics.json").read_text("utf-8"))
CASES = [
    pytest.param(measure, entry, id=entry["case"])
    for kind, measure in [
        ("regression", regression_metrics),
        ("classification", classification_metrics),
        ("many classes", class_metrics),
    ]
    for entry in GOLDEN[kind]
]


@pytest.mark.parametrize(("measure", "entry"), CASES)
def test_metrics_are_scikit_learn_s(measure: Callable[..., Any], entry: dict[str, Any]) -> None:
    found = measure(entry["prediction"], entry["target"])
    expected = {
        name: math.nan if value is None else value for name, value in entry["expected"].items()
    }
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)
    assert all(type(value) is float for value in found.values())


def test_columns_and_precisions_do_not_matter() -> None:
    prediction = np.array([[0.25], [0.75], [0.5]], dtype=np.float32)
    target = np.array([0, 1, 1])
    assert classification_metrics(prediction, target[:, None])["accuracy"] == 1
    assert regression_metrics(prediction, target)["mae"] == pytest.approx(1 / 3)


def test_a_confusion_matrix_has_a_row_per_class_and_a_column_per_prediction() -> None:
    matrix = confusion_matrix([0, 1, 1, 2, 1], [0, 1, 2, 2, 0], 4)
    assert matrix.tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]


def test_classes_that_do_not_occur_spoil_no_mean() -> None:
    probability = np.array([[0.7, 0.2, 0.1, 0], [0.2, 0.7, 0.1, 0], [0.6, 0.3, 0.1, 0]])
    found = class_metrics(probability, [0, 1, 0])
    assert (found["recall"], found["auc"], found["average_precision"]) == (1, 1, 1)
    assert math.isnan(class_metrics(probability[:1], [0])["auc"])


def test_what_was_thought_impossible_costs_much_but_not_everything() -> None:
    assert classification_metrics([0.0, 1.0], [1, 0])["log_loss"] == pytest.approx(36.04, abs=0.01)
