"""Which figures a fitted model gets, by what it predicts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dataset import PARTS, Dataset
from .kinds import Characters, Kind, ManyClasses, Numbers, TwoClasses
from .plots import Plot
from .plots_supervised import (
    Array,
    confusion,
    decision_boundary,
    decision_regions,
    fitted_line,
    predictions,
    residuals,
    roc_curves,
)

MOST_POINTS = 2000
"""Samples of a part that are drawn."""
MOST_CURVES = 10
"""Classes that get curves of their own."""

Predict = Callable[[NDArray[Any]], NDArray[np.float32]]
Part = tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]
"""Inputs, targets and the model's outputs."""


def predicted_plots(kind: Kind, dataset: Dataset, predict: Predict) -> Iterator[Plot | None]:
    """Yield the figures that show what a model predicts."""
    parts = outputs_of(dataset, predict, MOST_POINTS)
    if isinstance(kind, Numbers):
        yield from number_plots(dataset, parts, predict)
    elif isinstance(kind, TwoClasses):
        yield from two_class_plots(kind, dataset, parts, predict)
    elif isinstance(kind, ManyClasses) and not isinstance(kind, Characters):
        yield from many_class_plots(kind, dataset, parts, predict)


def outputs_of(dataset: Dataset, predict: Predict, most: int | None = None) -> dict[str, Part]:
    """Return what the model gives for the samples of each part that has some."""
    found = {}
    for name in PARTS:
        x, y = dataset.parts[name].x[:most], dataset.parts[name].y[:most]
        if len(x):
            found[name] = x, y, predict(x)
    return found


def number_plots(
    dataset: Dataset, parts: Mapping[str, Part], predict: Predict
) -> Iterator[Plot | None]:
    """Yield the figures of predicted numbers."""
    target = dataset.preprocessing.target
    pairs = {name: (flat(p), flat(y)) for name, (_, y, p) in parts.items()}
    yield predictions(pairs, target)
    yield residuals(pairs, target)
    if names := names_of_features(dataset, 1):
        samples = {name: (x, flat(y)) for name, (x, y, _) in parts.items()}
        yield fitted_line(samples, lambda x: flat(predict(x)), names[0], target)


def two_class_plots(
    kind: TwoClasses, dataset: Dataset, parts: Mapping[str, Part], predict: Predict
) -> Iterator[Plot | None]:
    """Yield the figures of one of two classes."""
    classes = list(dataset.classes or ())
    pairs = {name: (flat(kind.probability(p)), flat(y)) for name, (_, y, p) in parts.items()}
    yield roc_curves(pairs, f"ROC curve of class {classes[1]}")
    part = last(pairs)
    score, y = pairs[part]
    yield confusion((score >= 0.5).astype(np.int64), y.astype(np.int64), classes, part)
    if names := names_of_features(dataset, 2):
        samples = {name: (x, flat(y)) for name, (x, y, _) in parts.items()}
        probability = lambda x: flat(kind.probability(predict(x)))  # noqa: E731
        yield decision_boundary(samples, probability, names, classes)


def many_class_plots(
    kind: ManyClasses, dataset: Dataset, parts: Mapping[str, Part], predict: Predict
) -> Iterator[Plot | None]:
    """Yield the figures of one of many classes."""
    classes = list(dataset.classes or ())
    part = last(parts)
    _, y, outputs = parts[part]
    yield confusion(outputs.argmax(axis=1), y.astype(np.int64), classes, part)
    if len(classes) <= MOST_CURVES:
        probability = kind.probability(outputs)
        against_rest = {
            name: (probability[:, k], (y == k).astype(np.float64)) for k, name in enumerate(classes)
        }
        yield roc_curves(against_rest, f"ROC curves of the classes, {part}")
    if names := names_of_features(dataset, 2):
        samples = {name: (x, flat(y)) for name, (x, y, _) in parts.items()}
        yield decision_regions(samples, lambda x: predict(x).argmax(axis=1), names, classes)


def recall_curves(
    kind: Kind, dataset: Dataset, predict: Predict
) -> Iterator[tuple[str, Array, Array]]:
    """Yield a name, labels and scores for each curve of precision over recall."""
    if isinstance(kind, TwoClasses):
        for part, (_, y, outputs) in outputs_of(dataset, predict).items():
            yield part, flat(y), flat(kind.probability(outputs))
    elif isinstance(kind, ManyClasses) and not isinstance(kind, Characters):
        classes = list(dataset.classes or ())
        parts = outputs_of(dataset, predict)
        part = last(parts)
        _, y, outputs = parts[part]
        probability = kind.probability(outputs)
        for k, name in enumerate(classes[:MOST_CURVES]):
            yield f"{part}/{name}", (y == k).astype(np.float64), probability[:, k]


def names_of_features(dataset: Dataset, count: int) -> list[str]:
    """Return the names of the features if there are so many, else nothing."""
    shape = dataset.parts["train"].x.shape[1:]
    names = list(dataset.preprocessing.features or ())
    if shape != (count,):
        return []
    return names if len(names) == count else [f"x{i}" for i in range(count)]


def last(parts: Mapping[str, Any]) -> str:
    """Return the name of the part that is nearest to new samples: the test part, if there is."""
    return list(parts)[-1]


def flat(values: NDArray[Any]) -> Array:
    """Return one double per sample."""
    return values.reshape(-1).astype(np.float64)
