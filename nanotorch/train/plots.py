"""Figures of a run. All of matplotlib that is used is imported here, when it is."""

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nanotorch.serialization.files import naming

from .run_directory import read_metrics

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
ANIMATION_RESOLUTION = 75
WIDE, NARROW = 8.0, 300.0
"""From what ratio of the largest value to the least an axis is logarithmic; up to which ratio it
has numbers between the powers of ten."""

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Moving:
    """What moves in a figure.

    Attributes:
        axes: where.
        artists: what of the figure is not part of the background.
        start: draws the rest into axes of the same limits; returns what changes it to a frame.
        frames: how many there are.
        speed: how many are shown in a second.
    """

    axes: "Axes"
    artists: Sequence[Any]
    start: Callable[["Axes"], Callable[[int], Any]]
    frames: int
    speed: int


@dataclass(frozen=True)
class Plot:
    """A figure with its name, and what moves in it."""

    name: str
    figure: "Figure"
    moving: Moving | None = None


class Drawable(Protocol):
    """What has plots."""

    def plots(self, records: Records) -> Iterable[Plot]:
        """Draw what was found, from the metrics and the result."""


def available() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def figure(rows: int = 1, columns: int = 1, width: float = 6.0, height: float = 4.2) -> Any:
    """Return a figure, which no window system knows of, and its axes in one list."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width * columns, height * rows), layout="constrained", dpi=RESOLUTION)
    FigureCanvasAgg(made)
    axes = made.subplots(rows, columns, squeeze=False)
    return made, list(axes.flat)


def pixels(figure: "Figure") -> NDArray[np.uint8]:
    """Return a figure as an image, shape (height, width, 4)."""
    canvas: Any = figure.canvas
    canvas.draw()
    return np.array(canvas.buffer_rgba())


def draw(
    directory: Path, experiment: Drawable, events: "TensorBoardEvents | None", step: int
) -> None:
    """Draw the plots of a run into `plots/` in its directory, and into TensorBoard."""
    from matplotlib import rc_context
    from matplotlib.image import imsave

    records = read_metrics(directory)
    place = directory / DIRECTORY
    place.mkdir(exist_ok=True)
    with rc_context(STYLE):
        for plot in experiment.plots(records):
            path = place / f"{plot.name}.png"
            image = pixels(plot.figure)
            with naming(path):
                imsave(path, image)
            if events is not None:
                events.image(f"plots/{plot.name}", image[..., :3], step)
            if plot.moving is not None:
                animate(plot.figure, plot.moving, path.with_suffix(".gif"))


def animate(figure: "Figure", moving: "Moving", path: Path) -> None:
    """Write an animation; what does not move is drawn once."""
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.figure import Figure

    for artist in moving.artists:
        artist.set_visible(False)
    background = pixels(figure)
    width, height = figure.get_size_inches()
    front = Figure(figsize=(width, height), dpi=ANIMATION_RESOLUTION)
    behind = front.add_axes((0, 0, 1, 1))
    behind.imshow(background, aspect="auto", interpolation="lanczos")
    behind.set_axis_off()
    axes = front.add_axes(moving.axes.get_position().bounds)
    axes.set(xlim=moving.axes.get_xlim(), ylim=moving.axes.get_ylim())
    axes.set_axis_off()
    movement = FuncAnimation(front, moving.start(axes), moving.frames)
    with naming(path):
        movement.save(path, PillowWriter(fps=moving.speed))


def between(*colors: str) -> Any:
    """Return the colors from one to the next."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("between", colors)


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
    top.set(title="Loss", xlabel="epoch", ylabel="loss")
    scale_values(top, values)
    top.legend()
    whole_numbers(top)
    if changing:
        axes[1].plot(steps, rates, color=GREY)
        axes[1].set(title="Learning rate", xlabel="step", ylabel="learning rate")
    return Plot("loss", made)


def scale_values(axes: "Axes", values: Any) -> None:
    """Let the vertical axis be logarithmic where values of all sizes are to be seen."""
    from matplotlib.ticker import LogLocator

    finite = values[np.isfinite(values)]
    positive = finite[finite > 0]
    if len(positive) and finite.min() >= 0 and positive.max() > WIDE * positive.min():
        axes.set_yscale("log", nonpositive="clip")  # a zero lies below all that is shown
        narrow = positive.max() < NARROW * positive.min()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    if len(finite) < len(values):
        axes.set_title(f"{axes.get_title()} (ended by numbers that are not finite)")


def whole_numbers(axes: "Axes") -> None:
    """Let the horizontal axis have whole numbers only, also around a single one."""
    low, high = axes.dataLim.intervalx
    if low == high:
        axes.set_xlim(low - 1, high + 1)
    locator: Any = axes.xaxis.get_major_locator()
    locator.set_params(integer=True)
