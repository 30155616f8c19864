"""What a fitted model does, as figures."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .metrics import roc_auc
from .plots import BLUE, GREY, ORANGE, PART_COLORS, RED, Plot, between, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]
Pairs = Mapping[str, tuple[Array, Array]]
"""Part -> predictions and targets, a number for each sample."""
Predict = Callable[[NDArray[np.float32]], Array]

GRID = 200
MARGIN = 0.08
MOST_CLASSES = 12
"""Up to so many, the cells of a confusion matrix have room for their numbers."""


def predictions(pairs: Pairs, name: str) -> Plot:
    """Draw predicted over true values."""
    made, (axes,) = figure(height=5.0, width=5.4)
    both = np.concatenate([np.concatenate(pair) for pair in pairs.values()])
    low, high = padded(both)
    axes.plot([low, high], [low, high], color=GREY, linewidth=1.2, linestyle="--", zorder=1)
    for part, (p, y) in pairs.items():
        axes.scatter(y, p, s=16, color=PART_COLORS[part], alpha=0.6, linewidths=0,
                     label=f"{part}, R² = {explained(p, y):.3f}")  # fmt: skip
    axes.set(title="Predicted and true values", xlabel=f"true {name}", ylabel=f"predicted {name}",
             xlim=(low, high), ylim=(low, high), aspect="equal")  # fmt: skip
    axes.legend(loc="upper left")
    return Plot("predictions", made)


def residuals(pairs: Pairs, name: str) -> Plot:
    """Draw what predictions are wrong by: over the prediction, and how often."""
    made, (left, right) = figure(1, 2, width=4.6, height=4.0)
    errors = {part: y - p for part, (p, y) in pairs.items()}
    for part, (p, _) in pairs.items():
        left.scatter(p, errors[part], s=14, color=PART_COLORS[part], alpha=0.6, linewidths=0)
    left.axhline(0, color=GREY, linewidth=1.2, linestyle="--")
    left.set(title="Residuals", xlabel=f"predicted {name}", ylabel="true - predicted")
    low, high = padded(np.concatenate(list(errors.values())))
    edges = np.linspace(low, high, 21)
    for part, error in errors.items():
        right.hist(error, edges, density=True, histtype="stepfilled", alpha=0.3,
                   color=PART_COLORS[part])  # fmt: skip
        right.hist(error, edges, density=True, histtype="step", color=PART_COLORS[part],
                   linewidth=1.5, label=f"{part}, deviation {error.std():.3g}")  # fmt: skip
    right.axvline(0, color=GREY, linewidth=1.2, linestyle="--")
    right.set(title="Distribution of residuals", xlabel="true - predicted", ylabel="density")
    right.set_ylim(top=right.get_ylim()[1] * 1.25)
    right.legend(loc="upper left", frameon=True, framealpha=0.9, edgecolor="none")
    return Plot("residuals", made)


def fitted_line(
    parts: Mapping[str, tuple[NDArray[np.float32], Array]],
    predict: Predict,
    feature: str,
    name: str,
) -> Plot:
    """Draw the samples of one feature, and what the model makes of it."""
    made, (axes,) = figure()
    for part, (x, y) in parts.items():
        axes.scatter(x[:, 0], y, s=14, color=PART_COLORS[part], alpha=0.55, linewidths=0,
                     label=part)  # fmt: skip
    low, high = padded(np.concatenate([x[:, 0] for x, _ in parts.values()]))
    line = np.linspace(low, high, GRID, dtype=np.float32)[:, None]
    axes.plot(line[:, 0], predict(line), color=RED, label="model")
    axes.set(title="Samples and model", xlabel=feature, ylabel=name, xlim=(low, high))
    axes.legend()
    return Plot("fit", made)


def roc_curves(pairs: Pairs, title: str) -> Plot | None:
    """Draw the ROC curve of each part or class; scores are predictions, targets 0 or 1."""
    made, (axes,) = figure(height=5.0, width=5.4)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1.2, linestyle="--", label="chance")
    drawn = 0
    for number, (name, (score, y)) in enumerate(pairs.items()):
        if 0 < y.sum() < len(y):
            false, true = roc(score, y == 1)
            label = f"{name}, AUC = {roc_auc(score, y == 1):.4f}"
            axes.plot(false, true, color=PART_COLORS.get(name, f"C{number}"), label=label)
            drawn += 1
    axes.set(title=title, xlabel="false positive rate",
             ylabel="true positive rate", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01),
             aspect="equal")  # fmt: skip
    axes.legend(loc="lower right")
    return Plot("roc", made) if drawn else None


def roc(score: Array, positive: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the rates of false and true positives at all thresholds, from the highest."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)  # equal scores pass a threshold together
    hits = np.cumsum(positive[order])[last]
    misses = np.cumsum(~positive[order])[last]
    return np.append(0, misses / misses[-1]), np.append(0, hits / hits[-1])


def confusion(
    predicted: NDArray[np.int64], true: NDArray[np.int64], classes: Sequence[str], part: str
) -> Plot:
    """Draw how often samples of each class are taken for which."""
    count = len(classes)
    matrix = np.zeros((count, count), dtype=np.int64)
    np.add.at(matrix, (true, predicted), 1)
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


def decision_boundary(
    parts: Mapping[str, tuple[NDArray[np.float32], Array]],
    predict: Predict,
    features: Sequence[str],
    classes: Sequence[str],
) -> Plot:
    """Draw the probability of class 1 over two features, with the samples.

    Args:
        parts: part -> features and classes of the samples.
        predict: from features to that probability.
        features, classes: their names.
    """
    made, (axes,) = figure(width=6.6, height=5.0)
    a, b, grid = grid_around(np.concatenate([x for x, _ in parts.values()]))
    probability = predict(grid).reshape(a.shape)
    levels = np.linspace(0, 1, 21)
    filled = axes.contourf(
        a, b, probability, levels, cmap=between(BLUE, "white", ORANGE), alpha=0.6
    )
    made.colorbar(filled, ax=axes, ticks=[0, 0.25, 0.5, 0.75, 1],
                  label=f"probability of class {classes[1]}")  # fmt: skip
    axes.contour(a, b, probability, [0.5], colors="black", linewidths=1.4)
    scatter_classes(axes, parts, classes, (BLUE, ORANGE))
    axes.set(title="Decision boundary", xlabel=features[0], ylabel=features[1])
    axes.grid(visible=False)
    axes.legend(loc="upper right", frameon=True, framealpha=0.85)
    return Plot("boundary", made)


def decision_regions(
    parts: Mapping[str, tuple[NDArray[np.float32], Array]],
    decide: Callable[[NDArray[np.float32]], NDArray[np.int64]],
    features: Sequence[str],
    classes: Sequence[str],
) -> Plot:
    """Draw which of many classes is chosen over two features, with the samples."""
    made, (axes,) = figure(width=6.0, height=5.0)
    a, b, grid = grid_around(np.concatenate([x for x, _ in parts.values()]))
    chosen = decide(grid).reshape(a.shape)
    edges = np.arange(len(classes) + 1) - 0.5
    colors = [f"C{k % 10}" for k in range(len(classes))]
    axes.contourf(a, b, chosen, edges, colors=colors, alpha=0.25)
    for k in range(len(classes)):  # a line around each region
        axes.contour(a, b, chosen == k, [0.5], colors="black", linewidths=0.8)
    scatter_classes(axes, parts, classes, colors)
    axes.set(title="Decision regions", xlabel=features[0], ylabel=features[1])
    axes.grid(visible=False)
    axes.legend(loc="upper right", frameon=True, framealpha=0.85)
    return Plot("boundary", made)


def grid_around(x: NDArray[np.float32]) -> tuple[Array, Array, NDArray[np.float32]]:
    """Return the coordinates of a grid around points of the plane, and its points."""
    (low0, high0), (low1, high1) = padded(x[:, 0]), padded(x[:, 1])
    a, b = np.meshgrid(np.linspace(low0, high0, GRID), np.linspace(low1, high1, GRID))
    return a, b, np.stack([a.ravel(), b.ravel()], axis=1).astype(np.float32)


def scatter_classes(
    axes: "Axes",
    parts: Mapping[str, tuple[NDArray[np.float32], Array]],
    classes: Sequence[str],
    colors: Sequence[str],
) -> None:
    """Draw samples: their class is the color, and what was not trained on has an edge."""
    for part, (x, y) in parts.items():
        held_out = part != "train"
        for value, color in enumerate(colors):
            chosen = x[y == value]
            axes.scatter(chosen[:, 0], chosen[:, 1], s=22 if held_out else 12, color=color,
                         edgecolors="black" if held_out else "none", linewidths=0.7,
                         alpha=0.9 if held_out else 0.6,
                         label=f"class {classes[value]}" if not held_out else None)  # fmt: skip
    if len(parts) > 1:
        axes.scatter([], [], s=22, color="none", edgecolors="black", linewidths=0.7,
                     label="not trained on")  # fmt: skip


def padded(values: NDArray[Any]) -> tuple[float, float]:
    """Return the range of values, with a margin."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    margin = MARGIN * (high - low) or 0.5
    return low - margin, high + margin


def explained(prediction: Array, target: Array) -> float:
    """Return R², the explained share of the variance."""
    total = float(np.sum((target - target.mean()) ** 2))
    return 1 - float(np.sum((target - prediction) ** 2)) / total if total else float("nan")
