"""What was found, as text for people."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-3
"""A least squares loss below this fraction of the one that was reached is taken for zero."""

LONG = 1e8

HEADINGS = {"mae": "MAE", "rmse": "RMSE", "r2": "R2", "auc": "AUC", "f1": "F1"}
HEADINGS |= {"average_precision": "AP", "brier": "Brier"}


def metrics_table(results: Mapping[str, float], samples: Mapping[str, int]) -> str:
    """Return a table with a row per part and a column per metric.

    Args:
        results: `part/metric` -> value.
        samples: part -> number of samples; parts without any have no row.
    """
    parts = [part for part, count in samples.items() if count]
    metrics = [name.split("/")[1] for name in results if name.startswith(f"{parts[0]}/")]
    rows = [["part", "samples", *(HEADINGS.get(metric, metric) for metric in metrics)]]
    for part in parts:
        values = [number(results[f"{part}/{metric}"]) for metric in metrics]
        rows.append([part, str(samples[part]), *values])
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return rows of cells as lines, the first columns flush left, the others right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def matrix_text(matrix: NDArray[np.int64], classes: Sequence[str]) -> str:
    """Return a confusion matrix: a row per class, a column per prediction."""
    rows = [["is \\ predicted", *classes]]
    rows += [[name, *map(str, row)] for name, row in zip(classes, matrix, strict=True)]
    return aligned(rows)


def number(value: float) -> str:
    """Return four decimals, or four digits of what would be too long."""
    return f"{value:.4f}" if abs(value) < LONG else f"{value:.3e}"


def least_squares_text(best: float, reached: float) -> str:
    """Return the closed-form training loss beside the one that was reached."""
    text = f"closed-form least squares: training loss {best:.4f}"
    if best < ROUNDING * reached:
        return text  # the samples lie on a line, and a percentage of nothing says nothing
    above = round(100 * (reached - best) / best, 4) + 0.0  # which is never -0
    return f"{text}; this run's is {above:.4f} % above it"


def duration(seconds: float) -> str:
    """Return a time span as people say it."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"
