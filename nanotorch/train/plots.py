"""Figures of a run. All of matplotlib that is used is imported here, when it is."""

import importlib.util
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nanotorch.serialization.files import naming

from .recorder import METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .events import TensorBoardEvents

DIRECTORY = "plots"
NO_PLOTS = "no plots: they need matplotlib, `pip install matplotlib`"

BLUE, ORANGE, GREEN, RED, GREY = "#2b6cb0", "#dd6b20", "#2f855a", "#c53030", "#718096"
PART_COLORS = {"train": BLUE, "validation": ORANGE, "test": GREEN}
STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.labelsize": 10,
    "font.size": 9.5,
    "grid.color": "#e2e8f0",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}
RESOLUTION = 130
WIDE = 20.0
"""The ratio of the largest value to the least from which an axis is logarithmic."""

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Plot:
    """A figure with its name, and how to move it if it moves."""

    name: str
    figure: "Figure"
    frames: int = 0
    move: Callable[[int], Any] = int
    """Changes the figure to what it shows in a frame."""


class Drawable(Protocol):
    """What has plots."""

    def plots(self, records: Records) -> Iterable[Plot]:
        """Draw what was found, from the metrics and the result."""


def available() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def figure(rows: int = 1, columns: int = 1, width: float = 6.0, height: float = 4.2) -> Any:
    """Return a figure, which no window system knows of, and its axes in one list."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width * columns, height * rows), layout="constrained", dpi=RESOLUTION)
    axes = made.subplots(rows, columns, squeeze=False)
    return made, list(axes.flat)


def styled(plots: Callable[[], Iterable[Plot]]) -> list[Plot]:
    """Return the plots, drawn in the style of this module."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        return list(plots())


def draw(
    directory: Path, experiment: Drawable, events: "TensorBoardEvents | None", step: int
) -> None:
    """Draw the plots of a run into `plots/` in its directory, and into TensorBoard."""
    from matplotlib import rc_context
    from matplotlib.animation import FuncAnimation, PillowWriter

    lines = (directory / METRICS).read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    place = directory / DIRECTORY
    place.mkdir(exist_ok=True)
    for plot in styled(lambda: experiment.plots(records)):
        path = place / f"{plot.name}.png"
        with naming(path), rc_context(STYLE):
            plot.figure.savefig(path)
            if events is not None:
                events.figure(f"plots/{plot.name}", plot.figure, step)
            if plot.frames:
                # The constrained layout would shift the axes from frame to frame.
                plot.figure.set_layout_engine("none")
                moving = FuncAnimation(plot.figure, plot.move, plot.frames)
                moving.save(path.with_suffix(".gif"), PillowWriter(fps=12), dpi=80)


def steps_of_color(levels: Any) -> Any:
    """Return what gives each level its own color, however far apart they are."""
    from matplotlib.colors import BoundaryNorm

    return BoundaryNorm(levels, 256, extend="both")


def series(records: Records, name: str, by: str = "epoch") -> tuple[Any, Any]:
    """Return the abscissas and the values of a curve; what was not finite is NaN."""
    points = [(r[by], r[name]) for r in records if name in r]
    values = [np.nan if value is None else value for _, value in points]
    return np.array([x for x, _ in points]), np.array(values, dtype=np.float64)


def loss_curves(records: Records) -> Plot | None:
    """Draw the losses of the epochs, and the learning rate if it changes."""
    curves = {"train": "train/epoch_loss", "validation": "validation/loss"}
    found = {part: series(records, name) for part, name in curves.items()}
    found = {part: xy for part, xy in found.items() if np.isfinite(xy[1]).any()}
    if not found:
        return None
    steps, rates = series(records, "train/lr", "step")
    changing = len(set(rates)) > 1
    made, axes = figure(2 if changing else 1, height=2.9 if changing else 4.2)
    top: Axes = axes[0]
    for part, (x, y) in found.items():
        marker = "o" if len(x) <= 30 else None
        top.plot(x, y, color=PART_COLORS[part], label=part, marker=marker, markersize=3.5)
    if "validation" in found:
        x, y = found["validation"]
        best = int(np.nanargmin(y))
        label = f"best validation loss: {y[best]:.4g} in epoch {x[best]}"
        top.plot(x[best], y[best], "o", color=RED, markersize=7, label=label, zorder=5)
    values = np.concatenate([y for _, y in found.values()])
    scale_values(top, values)
    top.set(title="Loss", xlabel="epoch", ylabel="loss")
    top.legend()
    if changing:
        axes[1].plot(steps, rates, color=GREY)
        axes[1].set(title="Learning rate", xlabel="step", ylabel="learning rate")
        scale_values(axes[1], rates)
    return Plot("loss", made)


def scale_values(axes: "Axes", values: Any) -> None:
    """Let the vertical axis be logarithmic where values of all sizes are to be seen."""
    finite = values[np.isfinite(values)]
    if len(finite) and finite.min() > 0 and finite.max() > WIDE * finite.min():
        axes.set_yscale("log")
    if len(finite) and len(finite) < len(values):
        axes.set_title(f"{axes.get_title()} (ended by numbers that are not finite)")
