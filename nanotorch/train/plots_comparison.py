"""The curves of several runs in one figure."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .plots import figure, scale_values

Curve = tuple[str, NDArray[np.float64], NDArray[np.float64]]
"""What it is called, its steps and its values."""

MOST_NAMED = 12
"""Curves that a legend has room for."""


def comparison(curves: Sequence[Curve], metric: str) -> Any:
    """Draw a measure of several runs over their steps; the best run comes first."""
    made, (axes,) = figure(width=7.5, height=4.6)
    for name, steps, values in curves:
        marker = "o" if len(steps) <= 30 else None
        axes.plot(steps, values, label=name, marker=marker, markersize=3)
    axes.set(title=metric, xlabel="step", ylabel=metric)
    scale_values(axes, np.concatenate([values for _, _, values in curves]))
    if len(curves) <= MOST_NAMED:
        made.legend(loc="outside lower center")  # names are long, and would hide the curves
    axes.grid(visible=True, color="#e2e8f0")
    return made
