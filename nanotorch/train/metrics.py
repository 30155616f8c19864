"""How good predictions are: plain NumPy, in double precision, with scikit-learn's conventions.

Every measure is an average over samples. To combine averages over unequal batches, weight each
by its number of samples, as `WeightedMean` does.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class WeightedMean:
    """The mean of values that stand for different numbers of samples."""

    def __init__(self) -> None:
        self._sum = 0.0
        self._weight = 0

    def add(self, value: float, samples: int) -> None:
        """Take in the mean of a batch."""
        self._sum += value * samples
        self._weight += samples

    @property
    def value(self) -> float:
        """The mean over all samples, NaN if there were none."""
        return self._sum / self._weight if self._weight else math.nan


def regression_metrics(prediction: ArrayLike, target: ArrayLike) -> dict[str, float]:
    """Return mean absolute error, root mean square error and R², the explained variance.

    R² = 1 - Σ(y - p)² / Σ(y - ȳ)². For a constant target it is 1 if every prediction is right,
    else 0, and for less than two samples NaN.
    """
    p, y = flat(prediction), flat(target)
    error = p - y
    residual, total = float(np.sum(error**2)), float(np.sum((y - y.mean()) ** 2))
    if len(y) < 2:
        r2 = math.nan
    elif total == 0:
        r2 = float(residual == 0)
    else:
        r2 = 1 - residual / total
    return {
        "mae": float(np.mean(np.abs(error))),
        "rmse": math.sqrt(residual / len(y)),
        "r2": r2,
    }


def classification_metrics(score: ArrayLike, target: ArrayLike) -> dict[str, float]:
    """Return accuracy, precision, recall, F1 and the area under the ROC curve.

    Args:
        score: the probability of class 1; from 0.5 on it is predicted.
        target: 0 or 1 for each sample.
    """
    s, positive = flat(score), flat(target) == 1
    predicted = s >= 0.5
    hits = int(np.sum(predicted & positive))
    precision = ratio(hits, int(predicted.sum()))
    recall = ratio(hits, int(positive.sum()))
    return {
        "accuracy": float(np.mean(predicted == positive)),
        "precision": precision,
        "recall": recall,
        "f1": ratio(2 * hits, int(predicted.sum()) + int(positive.sum())),
        "auc": roc_auc(s, positive),
    }


def roc_auc(score: Array, positive: NDArray[np.bool_]) -> float:
    """Return the probability that a sample of class 1 scores above one of class 0.

    That is the Mann-Whitney statistic: with average ranks for ties,
    (Σ ranks of class 1 - n₁(n₁ + 1)/2) / (n₀·n₁). NaN if a class is missing.
    """
    ones = int(positive.sum())
    zeros = len(positive) - ones
    if not ones or not zeros:
        return math.nan
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def ratio(part: int, whole: int) -> float:
    """Return `part / whole`, 0 where nothing was predicted or nothing is to be found."""
    return part / whole if whole else 0.0


def flat(values: ArrayLike) -> Array:
    """Return one double per sample."""
    return np.asarray(values, dtype=np.float64).reshape(-1)
