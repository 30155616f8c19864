"""Samples for training: read or made up, divided into parts, and standardized."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch

from .csv_file import NO_HEADER, CsvFile, read_csv, shown_path
from .generators import generate
from .problems import ConfigError, Origins, did_you_mean, quoted
from .schema import Data, Split

PARTS = ("train", "validation", "test")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Features and targets of some samples, in the precision of the model."""

    x: NDArray[np.float32]
    """Shape (samples, features)."""
    y: NDArray[np.float32]
    """Shape (samples, 1)."""

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Dataset:
    """The parts, and what has to be known to treat new samples as they were treated."""

    features: Sequence[str]
    target: str
    classes: tuple[str, str] | None
    """What 0 and 1 stand for; None where the target is a number."""
    mean: Array
    """Subtracted from each feature."""
    scale: Array
    """What each feature is then divided by."""
    parts: Mapping[str, Samples]


@dataclass(frozen=True)
class RawData:
    """Samples before they are divided."""

    features: Sequence[str]
    target: str
    classes: tuple[str, str] | None
    x: Array
    y: Array


@np.errstate(all="ignore")  # what overflows is refused
def load_dataset(
    data: Data, classification: bool, generator: torch.Generator, origins: Origins
) -> Dataset:
    """Return the samples that a configuration describes.

    Args:
        data: the configuration's section.
        classification: whether the target is a class.
        generator: where all randomness comes from.
        origins: where the configuration's values were written.

    Raises:
        ConfigError: if there are no such samples.
    """
    if data.csv is not None:
        raw = table_data(data, classification, origins)
    else:
        assert data.generator is not None  # the section's own check
        classes = ("0", "1") if classification else None
        names, features, targets = generate(data.generator, generator)
        raw = RawData(names, "y", classes, features, targets)
    if classification and len(np.unique(raw.y)) < 2:
        message = f"all {len(raw.y)} samples are of class {int(raw.y[0])}"
        raise origins.error("data.target", message)

    order = torch.randperm(len(raw.y), generator=generator).numpy()
    parts = divide(raw.y if data.stratify else np.zeros(len(raw.y)), order, data.split)
    for name, indices in parts.items():
        if not len(indices) and (name == "train" or getattr(data.split, name) > 0):
            message = f"leaves this part without any of the {len(raw.y)} samples"
            raise origins.error(f"data.split.{name}", message)

    mean, scale = moments(raw.x[parts["train"]], data.standardize)
    x: NDArray[np.float32] = ((raw.x - mean) / scale).astype(np.float32)
    y: NDArray[np.float32] = raw.y.astype(np.float32)
    if not (np.isfinite(x).all() and np.isfinite(y).all() and np.isfinite(scale).all()):
        raise origins.error("data", "some values are too large for the 32 bits of the model")
    samples = {name: Samples(x[indices], y[indices, None]) for name, indices in parts.items()}
    return Dataset(raw.features, raw.target, raw.classes, mean, scale, samples)


def table_data(data: Data, classification: bool, origins: Origins) -> RawData:
    """Return the samples of a file."""
    assert data.csv is not None  # the section's own checks
    assert data.target is not None
    try:
        table = read_csv(data.csv)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot read {quoted(shown_path(data.csv))}: {reason}"
        raise origins.error("data.csv", message) from None
    features = data.features or [name for name in table.header if name != data.target]
    if not features:
        raise origins.error("data.csv", "has no column beside the target")
    wanted = {"data.target": data.target}
    wanted |= {f"data.features[{index}]": name for index, name in enumerate(data.features or ())}
    problems = [
        problem
        for path, name in wanted.items()
        if name not in table.header
        for problem in origins.error(path, no_column(name, table)).problems
    ]
    if problems:
        raise ConfigError(problems)

    columns, problems = [], []
    for name in features:
        try:
            columns.append(table.numbers(name))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    if classification:
        classes, y = class_targets(table, data, origins)
    else:
        classes, y = None, table.numbers(data.target)
    return RawData(features, data.target, classes, np.stack(columns, axis=1), y)


def no_column(name: str, table: CsvFile) -> str:
    """Return the message for a column that is not there."""
    message = f"{table.source} has no column {quoted(name)}"
    if table.lacks_header:
        return f"{message}: its first line {NO_HEADER}"
    return message + did_you_mean(name, table.header)


def class_targets(table: CsvFile, data: Data, origins: Origins) -> tuple[tuple[str, str], Array]:
    """Return the names of classes 0 and 1, and the class of each sample."""
    assert data.target is not None
    cells = table.texts(data.target)
    if data.positive is not None:
        values = sorted(set(cells))
        if data.positive not in values:
            message = f"column {quoted(data.target)} has no such value"
            raise origins.error("data.positive", message + did_you_mean(data.positive, values[:9]))
        if len(values) > 2:
            message = f"has {len(values)} different values; two classes are needed"
            raise origins.error("data.target", f"column {quoted(data.target)} {message}")
        negative = next((value for value in values if value != data.positive), "")
        targets = np.array([cell == data.positive for cell in cells], dtype=np.float64)
        return (negative, data.positive), targets
    problems = [
        table.problem(row, data.target, f"{quoted(cell)} is not 0 or 1; see data.positive")
        for row, cell in zip(table.rows, cells, strict=True)
        if cell not in ("0", "1")
    ]
    if problems:
        raise ConfigError(problems)
    return ("0", "1"), table.numbers(data.target)


def divide(strata: Array, order: NDArray[np.int64], split: Split) -> dict[str, NDArray[np.int64]]:
    """Return the indices of the samples of each part, in the sequence of `order`.

    Each value that occurs in `strata` is divided for itself, by the same fractions.
    """
    fractions = [split.train, split.validation, split.test]
    part = np.empty(len(order), dtype=np.int64)
    shuffled = strata[order]
    for stratum in np.unique(strata):
        (members,) = np.nonzero(shuffled == stratum)
        ends = np.rint(np.cumsum(fractions) / sum(fractions) * len(members))
        part[members] = np.searchsorted(ends, np.arange(len(members)), side="right")
    return {name: order[part == index] for index, name in enumerate(PARTS)}


def moments(x: Array, standardize: bool) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each feature, or what changes nothing."""
    features = x.shape[1]
    if not standardize:
        return np.zeros(features), np.ones(features)
    mean, scale = x.mean(axis=0), x.std(axis=0)
    # A constant feature carries no information; rounding leaves it a scale near zero.
    constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(constant, 1.0, scale)
