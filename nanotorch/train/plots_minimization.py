"""The way to a minimum, as figures."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .plots import (
    BLUE,
    RED,
    Moving,
    Plot,
    Records,
    figure,
    scale_values,
    series,
    steps_of_color,
    whole_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Function = Callable[[Array], Array]
"""From points, shape (2, N), to values, shape (N,)."""

GRID = 160
MARGIN = 0.25
LEVELS = 24
MOST_MARKERS = 150
MOST_FRAMES = 32
SECONDS = 4.0
"""How long the animation takes, if there are enough points."""
STAR: dict[str, Any] = {"color": "gold", "markeredgecolor": "black", "markersize": 15}
FAR = 50.0
"""How many times the distance of start and median a point may lie away to be shown."""


def value_curve(records: Records) -> Plot | None:
    """Draw the function's value before each step."""
    steps, values = series(records, "function/value", "step")
    if not np.isfinite(values).any():
        return None
    made, (axes,) = figure()
    axes.plot(steps, values, color=BLUE, marker="o" if len(steps) <= 60 else None, markersize=3.5)
    axes.set(title="Value", xlabel="step", ylabel="f before the step")
    scale_values(axes, values)
    whole_numbers(axes)
    return Plot("value", made)


def way(records: Records, start: Sequence[float], tags: Sequence[str]) -> Array:
    """Return the points from a start on that are worth showing, shape (points, 2)."""
    points = np.stack(
        [np.append(x, series(records, tag, "step")[1]) for x, tag in zip(start, tags, strict=True)],
        axis=1,
    )
    return points[shown(points)]


def trajectory(ways: Sequence[Array], function: Function, formula: str) -> Plot | None:
    """Draw ways on the contour lines of a function of two variables; the plot moves."""
    ways = [points for points in ways if len(points) > 1]
    if not ways:
        return None
    made, (axes,) = figure(width=6.8, height=5.4)
    a, b = square(np.concatenate(ways))
    values = function(np.stack([a.ravel(), b.ravel()])).reshape(a.shape)
    levels = contour_levels(values)
    filled = axes.contourf(a, b, values, levels, cmap="viridis_r", alpha=0.75, extend="both",
                           norm=steps_of_color(levels))  # fmt: skip
    axes.contour(a, b, values, levels, colors="white", linewidths=0.5, alpha=0.6)
    made.colorbar(filled, ax=axes, label="f", format="%.3g")
    starts, ends = (np.stack([points[i] for points in ways]) for i in (0, -1))
    marker = "o" if max(map(len, ways)) <= MOST_MARKERS else None
    line: dict[str, Any] = {"color": RED, "linewidth": 1.5, "marker": marker, "markersize": 3}
    whole = [artist for points in ways for artist in axes.plot(*points.T, **line)]
    whole[0].set_label("points")
    axes.plot(*starts.T, "o", color="white", markeredgecolor="black", markersize=8, label="start")
    whole += axes.plot(*ends.T, "*", **STAR, label="end")
    title = f"f(x) = {formula}"
    axes.set(title=title if len(title) < 70 else f"{title[:67]}...", xlabel="x[0]", ylabel="x[1]")
    axes.grid(visible=False)
    axes.legend(loc="upper right", frameon=True, framealpha=0.85)
    longest = max(map(len, ways))
    frames = np.unique(np.linspace(1, longest, min(longest, MOST_FRAMES)).astype(int))

    def begin(front: "Axes") -> Callable[[int], Any]:
        lines = [front.plot([], [], **line)[0] for _ in ways]
        (heads,) = front.plot([], [], "*", **STAR)

        def move(frame: int) -> Any:
            upto = [points[: frames[min(frame, len(frames) - 1)]] for points in ways]
            for drawn, points in zip(lines, upto, strict=True):
                drawn.set_data(*points.T)
            heads.set_data(*np.stack([points[-1] for points in upto]).T)
            return [*lines, heads]

        return move

    speed = max(round(len(frames) / SECONDS), 4)
    # The last frame stays for a second before all begins again.
    return Plot("trajectory", made, Moving(axes, whole, begin, len(frames) + speed, speed))


def shown(points: Array) -> NDArray[np.bool_]:
    """Return which points are worth showing: none that a divergence has carried off."""
    finite = np.logical_and.reduce(np.isfinite(points), axis=1)
    middle = np.median(points[finite], axis=0) if finite.any() else np.zeros(2)
    distance = np.abs(np.where(finite[:, None], points, np.inf) - middle).max(axis=1)
    scale = max(float(distance[0]), 1.0)
    return distance <= FAR * scale if np.isfinite(scale) else finite


def square(points: Array) -> tuple[Array, Array]:
    """Return a grid around points, of no less than a fifth of the longer side in the shorter."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, max(0.35 * float((high - low).max()), 1e-3))
    middle = (low + high) / 2
    low, high = middle - size * (0.5 + MARGIN), middle + size * (0.5 + MARGIN)
    a, b = np.meshgrid(np.linspace(low[0], high[0], GRID), np.linspace(low[1], high[1], GRID))
    return a, b


def contour_levels(values: Array) -> Array:
    """Return levels that lie closer the nearer they are to the least value."""
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.min() == finite.max():
        return np.array([0.0, 1.0])
    low, high = float(finite.min()), float(np.quantile(finite, 0.995))
    return low + (high - low) * np.linspace(0, 1, LEVELS) ** 2.5
