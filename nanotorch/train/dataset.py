"""Samples for training: read or made up, divided into parts, and standardized."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch

from .arrays import read_arrays
from .data_settings import Data, PartFiles, Split
from .generators import Generator
from .preprocessing import Preprocessing
from .problems import Origins, quoted
from .tables import read_table

PARTS = ("train", "validation", "test")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """Inputs and targets of some samples, in the precision of the model."""

    x: NDArray[np.float32] | NDArray[np.int64]
    """Shape (samples, ...)."""
    y: NDArray[np.float32] | NDArray[np.int64]
    """Shape (samples, 1) of numbers, (samples,) of classes, (samples, places) of characters."""

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Dataset:
    """The parts, and what has to be known to treat new samples as they were treated."""

    parts: Mapping[str, Samples]
    preprocessing: Preprocessing

    @property
    def classes(self) -> Sequence[str] | None:
        """What the classes are called; None where the target is a number."""
        return self.preprocessing.classes

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many samples of each class the training part has."""
        labels = self.parts["train"].y.reshape(-1).astype(np.int64)
        return np.bincount(labels, minlength=len(self.classes or ()))


@dataclass(frozen=True)
class Wishes:
    """What the experiment wants targets to be."""

    classes: bool = False
    """Whether they are classes."""
    binary: bool = True
    """Whether these are two, whose targets are the numbers 0 and 1."""


@dataclass(frozen=True)
class RawData:
    """Samples before they are divided."""

    x: Array
    """Shape (samples, features)."""
    y: Array
    preprocessing: Preprocessing


@np.errstate(all="ignore")  # what overflows is refused
def load_dataset(
    data: Data, wishes: Wishes, generator: torch.Generator, origins: Origins
) -> Dataset:
    """Return the samples that a configuration describes.

    Args:
        data: the configuration's section.
        wishes: what targets are to be.
        generator: where all randomness comes from.
        origins: where the configuration's values were written.

    Raises:
        ConfigError: if there are no such samples.
    """
    raw = read_source(data, wishes, generator, origins)
    if wishes.classes and len(np.unique(raw.y)) < 2:
        names = raw.preprocessing.classes or ()
        message = f"all {len(raw.y)} samples are of class {names[int(raw.y[0])]}"
        raise origins.error("data.target", message)
    given = data.parts or PartFiles()
    files = {"validation": given.validation, "test": given.test}
    split = without_files(data.split, files)
    order = torch.randperm(len(raw.y), generator=generator).numpy()
    parts = divide(raw.y if data.stratify else np.zeros(len(raw.y)), order, split)
    for name, indices in parts.items():
        if not len(indices) and (name == "train" or getattr(split, name) > 0):
            message = f"leaves this part without any of the {len(raw.y)} samples; make it 0,"
            message += " or give more of them"
            raise origins.error(f"data.split.{name}", message)
    pieces = {name: (raw.x[indices], raw.y[indices]) for name, indices in parts.items()}
    for name, path in files.items():
        if path is not None:
            extra = read_file(data, path, wishes, f"data.parts.{name}", origins, raw.preprocessing)
            pieces[name] = extra.x, extra.y
    try:
        preprocessing = raw.preprocessing.fitted(pieces["train"][0], data.standardize)
    except ValueError as error:
        raise origins.error("data.missing", str(error)) from None
    samples = {
        name: Samples(preprocessing.inputs(x), targets(y, wishes))
        for name, (x, y) in pieces.items()
    }
    check_finite(samples, preprocessing, origins)
    return Dataset(samples, preprocessing)


def read_source(
    data: Data, wishes: Wishes, generator: torch.Generator, origins: Origins
) -> RawData:
    """Return all samples of the main source."""
    if data.csv is not None:
        return read_file(data, data.csv, wishes, "data.csv", origins)
    if data.npz is not None:
        return read_file(data, data.npz, wishes, "data.npz", origins)
    if data.npy is not None:
        return shaped(*read_arrays(data, None, wishes.classes, "data.npy", origins), data, origins)
    assert isinstance(data.generator, Generator)  # the section's own check
    made = data.generator.make(generator)
    classes = [str(index) for index in range(data.generator.class_count)]
    preprocessing = Preprocessing(features=made.features, target="y", classes=classes or None)
    x = np.asarray(made.x, dtype=np.float64)
    return shaped(x, np.asarray(made.y, dtype=np.float64), preprocessing, data, origins)


def read_file(
    data: Data,
    path: Path,
    wishes: Wishes,
    where: str,
    origins: Origins,
    like: Preprocessing | None = None,
) -> RawData:
    """Return the samples of a file.

    Args:
        data: the configuration's section.
        path: the file.
        wishes: what targets are to be.
        where: the path of the configuration's value that names the file.
        origins: where the configuration's values were written.
        like: what was found in the main file, whose form this one has.
    """
    if data.csv is not None:
        table = read_table(data, path, wishes.classes, wishes.binary, where, origins, like)
        return shaped(*table, data, origins)
    return shaped(*read_arrays(data, path, wishes.classes, where, origins, like), data, origins)


def shaped(
    x: Array, y: Array, preprocessing: Preprocessing, data: Data, origins: Origins
) -> RawData:
    """Return samples with the shape that the configuration gives them, kept flat until used."""
    shape, flat = x.shape[1:], x.reshape(len(x), -1)
    if data.shape is not None:
        if int(np.prod(data.shape)) != flat.shape[1]:
            message = f"has no place for {flat.shape[1]} numbers"
            raise origins.error("data.shape", f"{list(data.shape)} {message}")
        shape = data.shape
    return RawData(flat, y, replace(preprocessing, shape=tuple(int(size) for size in shape)))


def without_files(split: Split, files: Mapping[str, Path | None]) -> Split:
    """Return a split in which parts that have files of their own get nothing else."""
    kept = {name: 0.0 if files.get(name) is not None else getattr(split, name) for name in PARTS}
    total = sum(kept.values())
    return Split(**{name: fraction / total for name, fraction in kept.items()})


def targets(y: Array, wishes: Wishes) -> NDArray[np.float32] | NDArray[np.int64]:
    """Return targets as the loss wants them."""
    if wishes.classes and not wishes.binary:
        return y.astype(np.int64)
    numbers: NDArray[np.float32] = y.astype(np.float32)[:, None]
    return numbers


def check_finite(
    samples: Mapping[str, Samples], preprocessing: Preprocessing, origins: Origins
) -> None:
    """Refuse numbers that only double precision can hold."""
    finite = np.isfinite(preprocessing.scale)
    for part in samples.values():
        finite = finite & np.isfinite(part.x.reshape(len(part), finite.size)).all(axis=0)
        if not np.isfinite(part.y).all():
            finite = np.append(finite, False)
            break
    if not finite.all():
        name = [*preprocessing.features, preprocessing.target][int(np.argmin(finite))]
        message = f"values of {quoted(name)} are too large for the 32 bits of the model"
        raise origins.error("data", message)


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
