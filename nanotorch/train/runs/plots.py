"""Figures of a run. Only this module imports matplotlib, and only when it draws."""

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nanotorch.serialization.files import naming_file
from nanotorch.train.commands import install_command
from nanotorch.train.config.build import Characters, Kind, ManyClasses, Numbers, TwoClasses
from nanotorch.train.data.dataset import PARTS, Dataset
from nanotorch.train.training.metrics import (
    Array,
    confusion_matrix,
    flatten,
    regression_metrics,
    roc_auc,
    thresholds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BLUE, ORANGE, GREEN, RED, GREY = "#2b6cb0", "#dd6b20", "#2f855a", "#c53030", "#718096"
PART_COLORS = {"train": BLUE, "validation": ORANGE, "test": GREEN}
DASHED: dict[str, Any] = {"color": GREY, "linewidth": 1.2, "linestyle": "--"}
STYLE: dict[Any, Any] = {
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "axes.formatter.limits": (-3, 4), "axes.formatter.use_mathtext": True,  # else numbers overlap
    "axes.axisbelow": True, "axes.titlesize": 11, "axes.titleweight": "bold",
    "axes.labelsize": 10, "font.size": 9.5, "grid.color": "#e2e8f0", "grid.linewidth": 0.8,
    "legend.frameon": False, "lines.linewidth": 1.8,
}  # fmt: skip
RESOLUTION = 130
ANIMATION_RESOLUTION = 75
WIDE, NARROW = 8.0, 300.0
"""The ratio of the greatest value to the least from which an axis is logarithmic, and the ratio up
to which it has numbers between the powers of ten."""

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Moving:
    """The moving part of a figure.

    Attributes:
        axes: the axes with the moving part.
        artists: the artists of the figure that are not in the background of the animation.
        start: draws the moving part into axes of the same limits; returns a function that changes
            it to the frame with the given number.
        frames: the number of frames.
        speed: the number of frames per second.
    """

    axes: "Axes"
    artists: Sequence[Any]
    start: Callable[["Axes"], Callable[[int], Any]]
    frames: int
    speed: int

    def save(self, figure: "Figure", path: Path) -> None:
        """Write an animation of a figure; its background is drawn once."""
        from matplotlib.animation import FuncAnimation, PillowWriter
        from matplotlib.figure import Figure

        for artist in self.artists:
            artist.set_visible(False)
        figure.set_dpi(ANIMATION_RESOLUTION)
        width, height = figure.get_size_inches()
        front = Figure(figsize=(width, height), dpi=ANIMATION_RESOLUTION)
        front.figimage(pixels(figure), zorder=-1)
        axes = front.add_axes(self.axes.get_position().bounds)
        axes.set(xlim=self.axes.get_xlim(), ylim=self.axes.get_ylim())
        axes.set_axis_off()
        movement = FuncAnimation(front, self.start(axes), self.frames)
        with naming_file(path):
            movement.save(path, PillowWriter(fps=self.speed))


@dataclass(frozen=True)
class Plot:
    """A figure with its name, and its moving part if it has one."""

    name: str
    figure: "Figure"
    moving: Moving | None = None


def available() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def figure(rows: int = 1, columns: int = 1, width: float = 6.0, height: float = 4.2) -> Any:
    """Return a figure without a window, and a list of its axes; sizes are inches per axes."""
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


def draw(place: Path, plots: Iterable[Plot | None]) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Draw plots into the directory `place`; yield the name of each, and its picture."""
    from matplotlib import rc_context
    from matplotlib.image import imsave

    place.mkdir(exist_ok=True)
    with rc_context(STYLE):
        for plot in filter(None, plots):
            path = place / f"{plot.name}.png"
            image = pixels(plot.figure)
            with naming_file(path):
                imsave(path, image)
            if plot.moving is not None:
                plot.moving.save(plot.figure, path.with_suffix(".gif"))
            yield plot.name, image


def no_plots() -> str:
    """Return the message that plots need matplotlib, with the command that installs it."""
    return f"no plots: they need matplotlib:\n  {install_command('matplotlib')}"


def series(records: Records, name: str, by: str = "epoch") -> tuple[Any, Any]:
    """Return the values of a curve over `by`, with their abscissas first; null becomes NaN."""
    points = [(r[by], r[name]) for r in records if name in r]
    values = [np.nan if value is None else value for _, value in points]
    return np.array([x for x, _ in points]), np.array(values, dtype=np.float64)


def loss_curves(records: Records) -> Plot | None:
    """Draw the losses of the epochs, and the learning rate if it changes; None without losses."""
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
        label = f"best validation loss: {y[best]:.4g} in epoch {x[best]:g}"
        top.plot(x[best], y[best], "o", color=RED, markersize=7, label=label, zorder=5)
    top.set(title="Loss", xlabel="epoch", ylabel="loss")
    scale_values(top, np.concatenate([y for _, y in found.values()]))
    top.legend()
    whole_numbers(top)
    if changing:
        axes[1].plot(steps, rates, color=GREY)
        axes[1].set(title="Learning rate", xlabel="step", ylabel="learning rate")
    return Plot("loss", made)


def scale_values(axes: "Axes", values: Any) -> None:
    """Make the vertical axis logarithmic if the values are of very different sizes."""
    from matplotlib.ticker import LogLocator

    finite = values[np.isfinite(values)]
    positive = finite[finite > 0]
    if len(positive) and finite.min() >= 0 and positive.max() > WIDE * positive.min():
        axes.set_yscale("log", nonpositive="clip")  # a zero lies below the visible range
        narrow = positive.max() < NARROW * positive.min()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
    if len(finite) < len(values):
        axes.set_title(f"{axes.get_title()} (ended by numbers that are not finite)")


def whole_numbers(axes: "Axes") -> None:
    """Let the horizontal axis show only whole numbers, even around a single one."""
    low, high = axes.dataLim.intervalx
    if low == high:
        axes.set_xlim(low - 1, high + 1)
    locator: Any = axes.xaxis.get_major_locator()
    locator.set_params(integer=True)


# Figures of minimizations.


Function = Callable[[Array], Array]
"""From points, shape (2, N), to values, shape (N,)."""

SURFACE_GRID = 160
SURFACE_MARGIN = 0.25
LEVELS = 24
MOST_MARKERS = 150
MOST_FRAMES = 32
SECONDS = 4.0
"""The duration of the animation, if there are enough points."""
STAR: dict[str, Any] = {"color": "gold", "markeredgecolor": "black", "markersize": 15}
FAR = 50.0
"""The greatest distance of a visible point from the median, in distances of the start from it."""


def value_curve(records: Records) -> Plot | None:
    """Draw the function's value before each step; None without finite values."""
    steps, values = series(records, "function/value", "step")
    if not np.isfinite(values).any():
        return None
    made, (axes,) = figure()
    axes.plot(steps, values, color=BLUE, marker="o" if len(steps) <= 60 else None, markersize=3.5)
    axes.set(title="Value", xlabel="step", ylabel="f before the step")
    scale_values(axes, values)
    whole_numbers(axes)
    return Plot("value", made)


def curve_picture(records: Records) -> str:
    """Return the curve of losses, or of a function's values, as SVG; "" if there is none."""
    from matplotlib import rc_context

    picture = StringIO()
    with rc_context(STYLE | {"svg.fonttype": "none"}):
        plot = loss_curves(records) or value_curve(records)
        if plot is not None:
            plot.figure.savefig(picture, format="svg")
    return "".join(picture.getvalue().partition("<svg")[1:])


def way(records: Records, start: Sequence[float], tags: Sequence[str]) -> Array:
    """Return the start and the recorded points, but for far ones, shape (points, 2)."""
    coordinates = [series(records, tag, "step")[1] for tag in tags]
    points = np.vstack([np.asarray(start), np.stack(coordinates, axis=1)])
    finite = np.logical_and.reduce(np.isfinite(points), axis=1)
    middle = np.median(points[finite], axis=0) if finite.any() else np.zeros(2)
    distance = np.abs(np.where(finite[:, None], points, np.inf) - middle).max(axis=1)
    scale = max(float(distance[0]), 1.0)
    return points[distance <= FAR * scale if np.isfinite(scale) else finite]


def trajectory(ways: Sequence[Array], function: Function, formula: str) -> Plot | None:
    """Draw an animation of the ways on contour lines of a function of two variables.

    Args:
        ways: the visible points of each start, shape (points, 2).
        function: the function of points.
        formula: its formula, for the title.
    """
    ways = [points for points in ways if len(points) > 1]
    if not ways:
        return None
    made, (axes,) = figure(width=6.8, height=5.4)
    from matplotlib.colors import BoundaryNorm

    a, b = square_grid(np.concatenate(ways))
    values = function(np.stack([a.ravel(), b.ravel()])).reshape(a.shape)
    finite = values[np.isfinite(values)]
    levels = np.array([0.0, 1.0])
    if len(finite) and finite.min() < finite.max():  # levels are closer near the least value
        low, high = float(finite.min()), float(np.quantile(finite, 0.995))
        levels = low + (high - low) * np.linspace(0, 1, LEVELS) ** 2.5
    filled = axes.contourf(a, b, values, levels, cmap="viridis_r", alpha=0.75, extend="both",
                           norm=BoundaryNorm(levels, 256, extend="both"))  # fmt: skip
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
    gone = np.arange(longest, dtype=np.float64)
    if longest > MOST_FRAMES:  # frames divide the way evenly instead of the steps, which shrink
        gone[:] = 0
        for points in ways:
            gone[1 : len(points)] += np.linalg.norm(np.diff(points, axis=0), axis=1)
        gone = gone.cumsum()
    frames = np.unique(np.searchsorted(gone, np.linspace(0, gone[-1], MOST_FRAMES)) + 1)

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
    # The last frame stays for a second before the animation repeats.
    return Plot("trajectory", made, Moving(axes, whole, begin, len(frames) + speed, speed))


def square_grid(points: Array) -> tuple[Array, Array]:
    """Return a grid around points; its shorter side is at least 0.35 of the longer one."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = np.maximum(high - low, max(0.35 * float((high - low).max()), 1e-3))
    middle, half = (low + high) / 2, size * (0.5 + SURFACE_MARGIN)
    ranges = zip(middle - half, middle + half, strict=True)
    a, b = np.meshgrid(*(np.linspace(*ends, SURFACE_GRID) for ends in ranges))
    return a, b


# Figures of fitted models.


Pairs = Mapping[str, tuple[Array, Array]]
"""Part -> predictions and targets, with a number for each sample."""
Drawn = Mapping[str, tuple[NDArray[np.float32], Array]]
"""Part -> features, and targets or classes."""
Predict = Callable[[NDArray[np.float32]], Array]

GRID = 200
MARGIN = 0.08
MOST_CLASSES = 12
"""The most classes with which the cells of a confusion matrix have room for numbers."""


def predictions(pairs: Pairs, name: str) -> Plot:
    """Draw predicted against true values; `name` is the target's."""
    made, (axes,) = figure(height=5.0, width=5.4)
    low, high = padded_range(np.concatenate([np.concatenate(pair) for pair in pairs.values()]))
    axes.plot([low, high], [low, high], **DASHED, zorder=1)
    for part, (p, y) in pairs.items():
        label = f"{part}, R² = {regression_metrics(p, y)['r2']:.3f}"
        axes.scatter(y, p, s=16, color=PART_COLORS[part], alpha=0.6, linewidths=0, label=label)
    axes.set(title="Predicted and true values", xlabel=f"true {name}", ylabel=f"predicted {name}",
             xlim=(low, high), ylim=(low, high), aspect="equal")  # fmt: skip
    axes.legend(loc="upper left")
    return Plot("predictions", made)


def residuals(pairs: Pairs, name: str) -> Plot:
    """Draw the errors of predictions against the predictions, and their distribution."""
    made, (left, right) = figure(1, 2, width=4.6, height=4.0)
    errors = {part: y - p for part, (p, y) in pairs.items()}
    for part, (p, _) in pairs.items():
        left.scatter(p, errors[part], s=14, color=PART_COLORS[part], alpha=0.6, linewidths=0)
    left.axhline(0, **DASHED)
    left.set(title="Residuals", xlabel=f"predicted {name}", ylabel="true - predicted")
    low, high = padded_range(np.concatenate(list(errors.values())))
    edges = np.linspace(low, high, 21)
    for part, error in errors.items():
        look = {"density": True, "color": PART_COLORS[part]}
        label = f"{part}, deviation {error.std():.3g}"
        right.hist(error, edges, histtype="stepfilled", alpha=0.3, **look)
        right.hist(error, edges, histtype="step", linewidth=1.5, label=label, **look)
    right.axvline(0, **DASHED)
    right.set(title="Distribution of residuals", xlabel="true - predicted", ylabel="density")
    right.set_ylim(top=right.get_ylim()[1] * 1.25)
    right.legend(loc="upper left", frameon=True, framealpha=0.9, edgecolor="none")
    return Plot("residuals", made)


def roc_curves(pairs: Pairs, title: str) -> Plot | None:
    """Draw the ROC curve of each part or class, from scores and targets of 0 or 1."""
    made, (axes,) = figure(height=5.0, width=5.4)
    axes.plot([0, 1], [0, 1], **DASHED, label="chance")
    drawn = 0
    for number, (name, (score, y)) in enumerate(pairs.items()):
        if 0 < y.sum() < len(y):
            hits, found = thresholds(score, y == 1)
            false, true = (np.append(0, n / n[-1]) for n in (found - hits, hits))
            label = f"{name}, AUC = {roc_auc(score, y == 1):.4f}"
            axes.plot(false, true, color=PART_COLORS.get(name, f"C{number}"), label=label)
            drawn += 1
    axes.set(title=title, xlabel="false positive rate",
             ylabel="true positive rate", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01),
             aspect="equal")  # fmt: skip
    axes.legend(loc="lower right")
    return Plot("roc", made) if drawn else None


def confusion(
    predicted: NDArray[np.int64], true: NDArray[np.int64], classes: Sequence[str], part: str
) -> Plot:
    """Draw the confusion matrix of a part."""
    count = len(classes)
    matrix = confusion_matrix(predicted, true, count)
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    size = min(4.4 + 0.35 * count, 9.0)
    made, (axes,) = figure(width=size + 0.6, height=size)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    made.colorbar(image, ax=axes, shrink=0.8, label="share of the true class")
    if count <= MOST_CLASSES:
        for (row, column), share in np.ndenumerate(shares):
            text = f"{matrix[row, column]}\n{100 * share:.1f} %" if share else "0"
            axes.text(column, row, text, ha="center", va="center",
                      color="white" if share > 0.55 else "#1a202c")  # fmt: skip
    right = np.trace(matrix) / max(matrix.sum(), 1)
    axes.set(title=f"Confusion matrix, {part}: accuracy {right:.3f}", xlabel="predicted",
             ylabel="true", xticks=range(count), yticks=range(count))  # fmt: skip
    long = count > 4 and max(map(len, classes)) > 3
    axes.set_xticklabels(classes, rotation=90 if long else 0)
    axes.set_yticklabels(classes, rotation=0 if count > 4 else 90, va="center")
    axes.grid(visible=False)
    return Plot("confusion", made)


def decision_regions(
    parts: Drawn,
    decide: Callable[[NDArray[np.float32]], NDArray[Any]],
    features: Sequence[str],
    classes: Sequence[str],
    regions: bool,
) -> Plot:
    """Draw the decisions over two features, with the samples.

    The color of a sample is its class. Samples that were not trained on have an edge.

    Args:
        parts: part -> features and classes of the samples.
        decide: from features to the class if `regions`, else to the probability of class 1.
        features, classes: their names.
        regions: whether to draw a region for each class; if not, draw the boundary of two.
    """
    from matplotlib.colors import LinearSegmentedColormap

    made, (axes,) = figure(width=6.0 if regions else 6.6, height=5.0)
    both = np.concatenate([x for x, _ in parts.values()])
    a, b = np.meshgrid(*(np.linspace(*padded_range(both[:, k]), GRID) for k in range(2)))
    grid = np.stack([a.ravel(), b.ravel()], axis=1).astype(np.float32)
    decided = decide(grid).reshape(a.shape)
    if regions:
        colors = [f"C{k % 10}" for k in range(len(classes))]
        axes.contourf(a, b, decided, np.arange(len(classes) + 1) - 0.5, colors=colors, alpha=0.25)
        for k in range(len(classes)):  # a line around each region
            axes.contour(a, b, decided == k, [0.5], colors="black", linewidths=0.8)
    else:
        colors = [BLUE, ORANGE]
        shades = LinearSegmentedColormap.from_list("shades", [BLUE, "white", ORANGE])
        filled = axes.contourf(a, b, decided, np.linspace(0, 1, 21), cmap=shades, alpha=0.6)
        label = f"probability of class {classes[1]}"
        made.colorbar(filled, ax=axes, ticks=[0, 0.25, 0.5, 0.75, 1], label=label)
        axes.contour(a, b, decided, [0.5], colors="black", linewidths=1.4)
    for part, (x, y) in parts.items():
        look: dict[str, Any] = {"s": 12, "edgecolors": "none", "alpha": 0.6}
        if part != "train":
            look = {"s": 22, "edgecolors": "black", "alpha": 0.9}
        for value, color in enumerate(colors):
            name = f"class {classes[value]}" if part == "train" else None
            axes.scatter(*x[y == value].T, color=color, linewidths=0.7, label=name, **look)
    if len(parts) > 1:
        look = {"s": 22, "edgecolors": "black", "linewidths": 0.7}
        axes.scatter([], [], color="none", label="not trained on", **look)
    title = "Decision regions" if regions else "Decision boundary"
    axes.set(title=title, xlabel=features[0], ylabel=features[1])
    axes.grid(visible=False)
    axes.legend(loc="upper right", frameon=True, framealpha=0.85)
    return Plot("boundary", made)


def padded_range(values: NDArray[Any]) -> tuple[float, float]:
    """Return the range of the finite values, with a margin; (-0.08, 1.08) without any."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    margin = MARGIN * (high - low) or 0.5
    return low - margin, high + margin


# The curves of several runs in one figure.


Curve = tuple[str, NDArray[np.float64], NDArray[np.float64]]
"""The name, the steps and the values of a curve."""

MOST_NAMED = 12
"""The most curves for which a legend has room."""


def comparison(curves: Sequence[Curve], metric: str) -> Any:
    """Draw a metric of several runs over their steps, in the order of `curves`."""
    made, (axes,) = figure(width=7.5, height=4.6)
    for name, steps, values in curves:
        marker = "o" if len(steps) <= 30 else None
        axes.plot(steps, values, label=name, marker=marker, markersize=3)
    axes.set(title=metric, xlabel="step", ylabel=metric)
    scale_values(axes, np.concatenate([values for _, _, values in curves]))
    if len(curves) <= MOST_NAMED:
        made.legend(loc="outside lower center")  # long names inside would hide the curves
    axes.grid(visible=True, color="#e2e8f0")
    return made


# The figures of a fitted model, which depend on the kind of prediction.


MOST_POINTS = 2000
"""The most samples of a part that are drawn."""
MOST_CURVES = 10
"""The most classes with curves of their own."""

AnyPredict = Callable[[NDArray[Any]], NDArray[Any]]
Parts = Mapping[str, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]
"""Part -> inputs, targets and outputs; targets and outputs are in the target's own units."""


MOST = 1e9
"""The ratio of the greatest output to the greatest target from which figures show nothing."""


def predicted_plots(kind: Kind, dataset: Dataset, predict: AnyPredict) -> Iterator[Plot | None]:
    """Yield the figures of a model's predictions."""
    if isinstance(kind, Characters):
        return
    parts = outputs_of(dataset, predict, MOST_POINTS)
    if not all(np.abs(p).max() < MOST * np.abs(y).max(initial=1) for _, y, p in parts.values()):
        return  # the run has diverged
    samples = {name: (x, flatten(y)) for name, (x, y, _) in parts.items()}
    (count, *more), features = dataset.parts["train"].x.shape[1:], dataset.preprocessing.features
    names = [] if more else [*(features or ())]
    if not more and len(names) != count:
        names = [f"x{i}" for i in range(count)]
    if isinstance(kind, Numbers):
        target = dataset.preprocessing.target
        pairs = {name: (flatten(p), flatten(y)) for name, (_, y, p) in parts.items()}
        yield predictions(pairs, target)
        yield residuals(pairs, target)
        if len(names) == 1:
            made, (axes,) = figure()
            for part, (x, y) in samples.items():
                look = {"s": 14, "alpha": 0.55, "linewidths": 0}
                axes.scatter(x[:, 0], y, color=PART_COLORS[part], label=part, **look)
            low, high = padded_range(np.concatenate([x[:, 0] for x, _ in samples.values()]))
            line = np.linspace(low, high, GRID, dtype=np.float32)[:, None]
            axes.plot(line[:, 0], flatten(predict(line)), color=RED, label="model")
            axes.set(title="Samples and model", xlabel=names[0], ylabel=target, xlim=(low, high))
            axes.legend()
            yield Plot("fit", made)
        return
    assert isinstance(kind, TwoClasses | ManyClasses)
    classes, two = list(dataset.classes or ()), isinstance(kind, TwoClasses)
    last, (_, y, outputs) = list(parts.items())[-1]
    if two or len(classes) <= MOST_CURVES:
        title = f"ROC curve of class {classes[1]}" if two else f"ROC curves of the classes, {last}"
        yield roc_curves(scores(kind, classes, parts), title)
    yield confusion(kind.chosen(outputs), y.reshape(-1).astype(np.int64), classes, last)
    if len(names) == 2:
        decide = kind.probability if two else kind.chosen
        yield decision_regions(samples, lambda x: decide(predict(x)), names, classes, not two)


def scores(kind: TwoClasses | ManyClasses, classes: Sequence[str], parts: Parts) -> Pairs:
    """Return scores and labels of class 1 for each part, or of each class for the last part."""
    if isinstance(kind, TwoClasses):
        return {
            name: (flatten(kind.probability(p)), flatten(y)) for name, (_, y, p) in parts.items()
        }
    _, y, outputs = list(parts.values())[-1]
    probability = kind.probability(outputs)
    return {name: (probability[:, k], 1.0 * (y == k)) for k, name in enumerate(classes)}


def outputs_of(dataset: Dataset, predict: AnyPredict, most: int | None = None) -> Parts:
    """Return inputs, targets and outputs of each part with samples, at most `most` of each."""
    found = {}
    for name in PARTS:
        x, y = dataset.parts[name].x[:most], dataset.targets(name)[:most]
        if len(x):
            found[name] = x, y, predict(x)
    return found


def recall_curves(
    kind: Kind, dataset: Dataset, predict: AnyPredict
) -> Iterator[tuple[str, Array, Array]]:
    """Yield the name, labels and scores of each curve of precision over recall."""
    if isinstance(kind, TwoClasses | ManyClasses) and not isinstance(kind, Characters):
        parts, classes = outputs_of(dataset, predict), list(dataset.classes or ())[:MOST_CURVES]
        place = "" if isinstance(kind, TwoClasses) else f"{[*parts][-1]}/"
        for name, (score, labels) in scores(kind, classes, parts).items():
            yield f"{place}{name}", labels, score
