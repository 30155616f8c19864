"""The metrics of predictions, and texts and tables for users."""

import math
import shutil
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Metrics in plain NumPy, in double precision, with scikit-learn's conventions.


Array = NDArray[np.float64]
Bools = NDArray[np.bool_]


def regression_metrics(prediction: ArrayLike, target: ArrayLike) -> dict[str, float]:
    """Return the mean absolute error, the root mean square error and R², the explained variance.

    R² = 1 - Σ(y - p)² / Σ(y - ȳ)². For a constant target it is 1 if every prediction is right,
    else 0. For fewer than two samples it is NaN.
    """
    p, y = flatten(prediction), flatten(target)
    error = p - y
    residual, total = float(np.sum(error**2)), float(np.sum((y - y.mean()) ** 2))
    r2 = math.nan
    if len(y) >= 2:
        r2 = 1 - residual / total if total else float(residual == 0)
    return {"mae": float(np.mean(np.abs(error))), "rmse": math.sqrt(residual / len(y)), "r2": r2}


def classification_metrics(score: ArrayLike, target: ArrayLike) -> dict[str, float]:
    """Return the metrics of two classes.

    Accuracy, precision, recall, F1, the areas under the ROC curve and under the curve of precision
    over recall, the Brier score (mean square error of the probability) and the log loss.

    Args:
        score: the probability of class 1, which is predicted from 0.5 on.
        target: 0 or 1 for each sample.
    """
    s, positive = flatten(score), flatten(target) == 1
    predicted = s >= 0.5
    return {
        "accuracy": float(np.mean(predicted == positive)),
        **one_class(s, positive, predicted),
        "brier": float(np.mean((s - positive) ** 2)),
        "log_loss": log_loss(np.where(positive, s, 1 - s)),
    }


def one_class(score: Array, positive: Bools, predicted: Bools) -> dict[str, float]:
    """Return the metrics of one class against all others."""
    hits, found, true = (int(np.sum(k)) for k in (predicted & positive, predicted, positive))
    return {
        "precision": ratio(hits, found),
        "recall": ratio(hits, true),
        "f1": ratio(2 * hits, found + true),
        "auc": roc_auc(score, positive),
        "average_precision": average_precision(score, positive),
    }


def class_metrics(probability: ArrayLike, target: ArrayLike) -> dict[str, float]:
    """Return the metrics of several classes.

    Precision, recall, F1 and both areas are means over classes, each against all others. The
    first three include classes that occur or are predicted, the areas those that occur in some
    samples, but not in all. The Brier score sums the square errors of a sample's probabilities.

    Args:
        probability: shape (samples, classes); the greatest is predicted.
        target: the number of the class for each sample, counted from 0.
    """
    p, y = np.asarray(probability, dtype=np.float64), np.asarray(target).reshape(-1).astype(int)
    chosen = p.argmax(axis=1)
    found = {k: one_class(p[:, k], y == k, chosen == k) for k in {*chosen.tolist(), *y.tolist()}}
    ranked = [k for k in found if 0 < np.sum(y == k) < len(y)]
    over = {"auc": ranked, "average_precision": ranked}
    names = ("precision", "recall", "f1", "auc", "average_precision")
    means = {n: [found[k][n] for k in sorted(over.get(n, found))] for n in names}
    return {
        "accuracy": float(np.mean(chosen == y)),
        **{name: float(np.mean(values)) if values else math.nan for name, values in means.items()},
        "brier": float(np.mean(np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1))),
        "log_loss": log_loss(p[np.arange(len(y)), y]),
    }


def confusion_matrix(predicted: ArrayLike, target: ArrayLike, classes: int) -> NDArray[np.int64]:
    """Return the number of samples for each true class (rows) and predicted class (columns)."""
    pair = np.asarray(target).reshape(-1) * classes + np.asarray(predicted).reshape(-1)
    counts: NDArray[np.int64] = np.bincount(pair.astype(int), minlength=classes**2)
    return counts.reshape(classes, classes)


def log_loss(probability: Array) -> float:
    """Return -mean(log p), where p is the predicted probability of each sample's true class."""
    tiny = float(np.finfo(np.float64).eps)  # a probability of 0 costs 36, not infinity
    return float(-np.mean(np.log(np.clip(probability, tiny, 1 - tiny))))


def roc_auc(score: Array, positive: Bools) -> float:
    """Return the probability that a sample of class 1 scores above one of class 0.

    This is the Mann-Whitney statistic: with average ranks for ties,
    (Σ ranks of class 1 - n₁(n₁ + 1)/2) / (n₀·n₁). It is NaN if a class is missing.
    """
    ones = int(positive.sum())
    zeros = len(positive) - ones
    if not ones or not zeros:
        return math.nan
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def average_precision(score: Array, positive: Bools) -> float:
    """Return Σ (Rₙ - Rₙ₋₁)·Pₙ over all thresholds, from the highest score to the lowest.

    Rₙ is the recall and Pₙ the precision if class 1 is predicted for all samples with at least the
    n-th highest score. The result is 0 if no sample is of class 1.
    """
    if not positive.any():
        return 0.0
    hits, found = thresholds(score, positive)
    return float(np.sum(np.diff(hits, prepend=0) * (hits / found)) / hits[-1])


def thresholds(score: Array, positive: Bools) -> tuple[Array, Array]:
    """Return the numbers of class 1, and of all samples, with each score or more, highest first."""
    order = np.argsort(-score, kind="stable")
    (last,) = np.append(np.diff(score[order]) != 0, True).nonzero()  # the last of equal scores
    return np.cumsum(positive[order], dtype=np.float64)[last], (last + 1).astype(np.float64)


def ratio(part: int, whole: int) -> float:
    """Return `part / whole`; 0 if `whole` is 0."""
    return part / whole if whole else 0.0


def flatten(values: ArrayLike) -> Array:
    """Return the values as a flat array of doubles."""
    return np.asarray(values, dtype=np.float64).reshape(-1)


# Texts and tables for users.


ROUNDING = 1e-3
"""A least squares loss below this fraction of the run's loss counts as zero."""

LONG = 1e8
MOST_COEFFICIENTS = 20
"""The number of features whose coefficients are shown."""

HEADINGS = {"mae": "MAE", "rmse": "RMSE", "r2": "R2", "auc": "AUC", "f1": "F1"}
HEADINGS |= {"average_precision": "average precision", "brier": "Brier score"}
HEADINGS |= {"log_loss": "log loss"}

NARROWEST = 22
"""The least width to which `align_rows` shortens a column."""


def screen() -> int:
    """Return the number of columns of the terminal; 80 without a terminal."""
    return shutil.get_terminal_size().columns


def wrap_to_screen(text: str) -> str:
    """Return text whose lines fit the screen; longer lines are broken between words."""
    wrapper = textwrap.TextWrapper(screen(), break_long_words=False, break_on_hyphens=False)
    lines = text.split("\n")
    for k, line in enumerate(lines):
        if len(line) > wrapper.width:
            words = line.lstrip()
            wrapper.initial_indent = line[: len(line) - len(words)]
            wrapper.subsequent_indent = f"{wrapper.initial_indent}  "
            lines[k] = wrapper.fill(words)
    return "\n".join(lines)


def shorten(text: str, width: int) -> str:
    """Return text of at most `width` characters; "…" replaces the middle of a longer one."""
    tail = (width - 1) // 2
    return text if len(text) <= width else f"{text[: width - 1 - tail]}…{text[-tail:]}"


def metrics_table(results: Mapping[str, float], samples: Mapping[str, int]) -> str:
    """Return a table with a row per metric and a column per part.

    Args:
        results: `part/metric` -> value.
        samples: part -> number of samples; empty parts have no column.
    """
    parts = [part for part, count in samples.items() if count]
    metrics = [name.partition("/")[2] for name in results if name.startswith(f"{parts[0]}/")]
    rows = {m: [number(results[f"{part}/{m}"]) for part in parts] for m in metrics}
    if "log_loss" in rows and rows["log_loss"] == rows["loss"]:  # unless classes have weights
        del rows["log_loss"]
    lines = [["", *parts], ["samples", *(str(samples[part]) for part in parts)]]
    return align_rows([*lines, *([HEADINGS.get(m, m), *cells] for m, cells in rows.items())])


def align_rows(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return rows of cells as lines that fit the screen.

    Long cells of lines that are too wide are shortened. If that is not enough, the last columns
    form another block below, which repeats the first `left` columns.

    Args:
        rows: rows of equal lengths.
        left: the number of first columns that are flush left, and repeated in every block.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = screen() - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    padded = [
        [(str.ljust if k < left else str.rjust)(shorten(row[k], width), width) for row in rows]
        for k, width in enumerate(widths)
    ]
    blocks = [[*range(left)]]
    for column in range(left, len(widths)):
        needed = sum(2 + widths[k] for k in [*blocks[-1], column]) - 2
        if needed > screen() and len(blocks[-1]) > left:
            blocks.append([*range(left)])
        blocks[-1].append(column)
    lines = [zip(*[padded[column] for column in block], strict=True) for block in blocks]
    return "\n\n".join("\n".join("  ".join(line).rstrip() for line in part) for part in lines)


def matrix_text(predicted: ArrayLike, target: ArrayLike, classes: Sequence[str]) -> str:
    """Return a confusion matrix: a row per class, a column per prediction."""
    matrix = confusion_matrix(predicted, target, len(classes))
    rows = [["true \\ predicted", *classes]]
    rows += [[name, *map(str, row)] for name, row in zip(classes, matrix, strict=True)]
    return align_rows(rows)


def number(value: float) -> str:
    """Return a number with four decimals, or with four digits if it is very large."""
    return f"{value:.4f}" if abs(value) < LONG else f"{value:.3e}"


def with_prefix(number: float, unit: str = "") -> str:
    """Return a number with a prefix, such as 15.35 M, or 2.052 kB with the unit B."""
    for prefix in ("", "k", "M"):
        if number < 1000:
            return f"{number:.4g} {prefix}{unit}".rstrip()
        number /= 1000
    return f"{number:,.4g} G{unit}"


def coefficients_table(of: str, names: Sequence[str], columns: Mapping[str, list[float]]) -> str:
    """Return a table with a row per feature and one for the intercept.

    Args:
        of: the predicted quantity, which heads the first column.
        names: the names of the features.
        columns: heading -> coefficients and intercept.
    """
    columns_of_text = [[f"{x:.5g}" for x in column] for column in columns.values()]
    *rows, intercept = zip([*names, "intercept"], *columns_of_text, strict=True)
    more = len(rows) - len(shown := rows[:MOST_COEFFICIENTS])
    table = align_rows([[of, *columns], *shown, intercept])
    return table + (f"\nand {more} more features" if more else "")


def least_squares_text(best: float, reached: float) -> str:
    """Return a line that compares the closed-form training loss with the run's loss."""
    text = f"closed-form least squares: loss {best:.4f}"
    if best < ROUNDING * reached:
        return text  # the samples lie on a line, and a percentage of 0 says nothing
    above = round(100 * (reached - best) / best, 4) + 0.0  # never -0
    return f"{text}; this run's is {above:.4f} % above it"


def duration(seconds: float) -> str:
    """Return a time span as text, such as 3.2 s or 5 min 12 s."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
