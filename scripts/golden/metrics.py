"""Write `tests/golden/metrics.json`: scikit-learn's answers for the metrics of the trainer.

Run it where scikit-learn is: `python scripts/golden/metrics.py`.
"""

import importlib
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Not needed to check this package.
sklearn: Any = importlib.import_module("sklearn")
metrics: Any = importlib.import_module("sklearn.metrics")

TARGET = Path(__file__).parents[2] / "tests" / "golden" / "metrics.json"

Array = NDArray[np.float64]


def regression(prediction: Array, target: Array) -> dict[str, float]:
    """Return scikit-learn's measures of predicted numbers."""
    return {
        "mae": metrics.mean_absolute_error(target, prediction),
        "rmse": math.sqrt(metrics.mean_squared_error(target, prediction)),
        "r2": metrics.r2_score(target, prediction),
    }


def classification(score: Array, target: Array) -> dict[str, float]:
    """Return scikit-learn's measures of predicted classes and of their scores."""
    predicted = (score >= 0.5).astype(int)
    return {
        "accuracy": metrics.accuracy_score(target, predicted),
        "precision": metrics.precision_score(target, predicted, zero_division=0),
        "recall": metrics.recall_score(target, predicted, zero_division=0),
        "f1": metrics.f1_score(target, predicted, zero_division=0),
        "auc": metrics.roc_auc_score(target, score),
        "average_precision": metrics.average_precision_score(target, score),
        "brier": metrics.brier_score_loss(target, score),
        "log_loss": metrics.log_loss(target, score, labels=[0, 1]),
    }


def many_classes(probability: Array, target: Array) -> dict[str, float]:
    """Return scikit-learn's measures of many classes."""
    predicted, labels = probability.argmax(axis=1), np.arange(probability.shape[1])
    one_hot = np.eye(len(labels))[target.astype(int)]
    macro: dict[str, Any] = {"average": "macro", "zero_division": 0}
    return {
        "accuracy": metrics.accuracy_score(target, predicted),
        "precision": metrics.precision_score(target, predicted, **macro),
        "recall": metrics.recall_score(target, predicted, **macro),
        "f1": metrics.f1_score(target, predicted, **macro),
        "auc": metrics.roc_auc_score(target, probability, multi_class="ovr"),
        "average_precision": metrics.average_precision_score(one_hot, probability),
        "brier": metrics.brier_score_loss(target, probability, labels=labels),
        "log_loss": metrics.log_loss(target, probability, labels=labels),
    }


def regression_cases(random: np.random.Generator) -> dict[str, tuple[Array, Array]]:
    """Return predictions and targets, with the corners of the definitions."""
    target = random.normal(100, 30, 50)
    return {
        "noisy": (target + random.normal(0, 10, 50), target),
        "worse than the mean": (random.normal(0, 90, 50), target),
        "perfect": (target, target),
        "constant target": (target[:5], np.full(5, 3.0)),
        "constant target, hit": (np.full(5, 3.0), np.full(5, 3.0)),
        "one sample": (np.array([1.0]), np.array([2.0])),
    }


def classification_cases(random: np.random.Generator) -> dict[str, tuple[Array, Array]]:
    """Return scores and classes, with ties, empty predictions and missing classes."""
    target = (random.random(80) < 0.3).astype(float)
    score = np.clip(0.35 * target + random.random(80) * 0.65, 0, 1)
    return {
        "overlapping": (score, target),
        "with ties": (np.round(score, 1), target),
        "all tied": (np.full(80, 0.5), target),
        "separated": (0.9 * target + 0.05, target),
        "reversed": (0.95 - 0.9 * target, target),
        "nothing predicted": (score * 0.4, target),
        "no class 1": (score, np.zeros(80)),
        "no class 0": (score, np.ones(80)),
    }


def many_class_cases(random: np.random.Generator) -> dict[str, tuple[Array, Array]]:
    """Return probabilities and classes, with ties and classes that are never predicted."""

    def case(samples: int, classes: int, signal: float) -> tuple[Array, Array]:
        target = np.arange(samples) % classes
        score = np.exp(random.normal(size=(samples, classes)) + signal * np.eye(classes)[target])
        return score / score.sum(axis=1, keepdims=True), target.astype(float)

    tied, target = np.full((30, 3), 1 / 3), np.arange(30.0) % 3
    return {
        "three": case(60, 3, 1.0),
        "ten": case(200, 10, 2.0),
        "well told apart": case(40, 4, 9.0),
        "always the first": (tied, target),
    }


def entries(cases: dict[str, tuple[Array, Array]], measure: Any) -> list[dict[str, Any]]:
    """Return each case with its answers; null stands for NaN."""
    return [
        {
            "case": name,
            "prediction": prediction.tolist(),
            "target": target.tolist(),
            "expected": {
                key: None if math.isnan(value) else float(value)
                for key, value in measure(prediction, target).items()
            },
        }
        for name, (prediction, target) in cases.items()
    ]


def main() -> None:
    """Write the file."""
    random = np.random.default_rng(0)
    warnings.simplefilter("ignore")  # where a measure is undefined
    golden = {
        "scikit-learn": sklearn.__version__,
        "regression": entries(regression_cases(random), regression),
        "classification": entries(classification_cases(random), classification),
        "many classes": entries(many_class_cases(random), many_classes),
    }
    TARGET.write_text(json.dumps(golden) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
