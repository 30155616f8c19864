"""How samples become inputs of a model: what was measured on the training part, kept for later."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from .csv_file import MISSING, NO_HEADER, CsvFile
from .problems import ConfigError, Place, Problem, did_you_mean, quoted

Array = NDArray[np.float64]


class ColumnRecord(TypedDict):
    """A column as JSON has it."""

    name: str
    categories: list[str] | None


class PreprocessingRecord(TypedDict):
    """What there is in `preprocessing.json`."""

    features: list[str]
    columns: list[ColumnRecord]
    shape: list[int]
    mean: list[float]
    scale: list[float]
    fill: list[float]
    target: str
    classes: list[str] | None
    delimiter: str
    header: bool
    missing: bool


def nothing() -> Array:
    """Return what stands for numbers that have not been measured."""
    return np.zeros(0)


@dataclass(frozen=True)
class Column:
    """One column of a table, and the features it becomes."""

    name: str
    categories: Sequence[str] | None = None
    """The values it holds, where these are names; each is a feature."""

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        if self.categories is None:
            return [self.name]
        return [f"{self.name}={category}" for category in self.categories]

    def values(self, table: CsvFile, missing: bool) -> Array:
        """Return the features of all rows, shape (rows, features); NaN where a number is missing.

        A name that is missing is none of the categories.

        Raises:
            ConfigError: if a cell is not what the column holds; names each.
        """
        if self.categories is None:
            return table.numbers(self.name, missing)[:, None]
        texts = table.texts(self.name)
        known = {category: index for index, category in enumerate(self.categories)}
        problems = [
            table.problem(row, self.name, self._refusal(text, table))
            for row, text in zip(table.rows, texts, strict=True)
            if text not in known and not (missing and text.lower() in MISSING)
        ]
        if problems:
            raise ConfigError(problems)
        index = np.array([known.get(text, -1) for text in texts])
        ones: Array = (index[:, None] == np.arange(len(known))).astype(np.float64)
        return ones

    def _refusal(self, text: str, table: CsvFile) -> str:
        if text.lower() in MISSING:
            return table.no_value(text)
        return f"{quoted(text)} is not a value that training has seen"


@dataclass(frozen=True)
class Preprocessing:
    """From the rows of a table, or arrays, to inputs: (value - mean) / scale."""

    columns: Sequence[Column] = ()
    """Those of the table; none for arrays."""
    features: Sequence[str] = ()
    """The name of each input."""
    mean: Array = field(default_factory=nothing)
    """Subtracted from each feature."""
    scale: Array = field(default_factory=nothing)
    """What each feature is then divided by."""
    fill: Array = field(default_factory=nothing)
    """What takes the place of missing numbers before."""
    shape: tuple[int, ...] = ()
    """The shape of one sample."""
    target: str = "y"
    classes: Sequence[str] | None = None
    """What classes are called, in their order; None where the target is a number."""
    delimiter: str = ","
    header: bool = True
    missing: bool = False
    """Whether numbers may be missing."""

    def rows(self, table: CsvFile) -> Array:
        """Return the features of a table, as they stand there.

        Raises:
            ConfigError: if a column is missing, or a cell is not what it should be.
        """
        missing = [column.name for column in self.columns if column.name not in table.positions]
        if missing:
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            message = f"has no column {', '.join(map(quoted, missing[:3]))}{more}"
            message += did_you_mean(missing[0], table.header)
            if table.lacks_header:
                message = f"{NO_HEADER}, such as {', '.join(map(quoted, missing[:3]))}{more}"
            raise ConfigError([Problem(Place(source=table.source), "", message)])
        found: list[Array] = []
        problems: list[Problem] = []
        for column in self.columns:
            try:
                found.append(column.values(table, self.missing))
            except ConfigError as error:
                problems += error.problems
        if problems:
            raise table.error(problems)
        return np.concatenate(found, axis=1)

    def fitted(self, x: Array, standardize: bool | str) -> "Preprocessing":
        """Return the preprocessing with what is measured on the training part `x`.

        Raises:
            ValueError: if a feature has no value at all.
        """
        fill = np.zeros(x.shape[1])
        if self.missing:
            counts = np.sum(~np.isnan(x), axis=0)
            empty = [name for name, count in zip(self.features, counts, strict=True) if not count]
            if empty:
                message = f"the training part has no value of {', '.join(map(quoted, empty))}"
                raise ValueError(message)
            fill = np.nansum(x, axis=0) / counts
        mean, scale = moments(np.where(np.isnan(x), fill, x), standardize)
        return replace(self, mean=mean, scale=scale, fill=fill)

    def inputs(self, x: Array) -> NDArray[np.float32]:
        """Return features, shape (samples, features), as inputs of the model."""
        filled = np.where(np.isnan(x), self.fill, x) if self.missing else x
        scaled: NDArray[np.float32] = ((filled - self.mean) / self.scale).astype(np.float32)
        return scaled.reshape(len(x), *self.shape)

    def record(self) -> PreprocessingRecord:
        """Return everything as JSON has it."""
        return {
            "features": list(self.features),
            "columns": [
                {"name": c.name, "categories": None if c.categories is None else [*c.categories]}
                for c in self.columns
            ],
            "shape": list(self.shape),
            "mean": self.mean.tolist(),
            "scale": self.scale.tolist(),
            "fill": self.fill.tolist(),
            "target": self.target,
            "classes": None if self.classes is None else list(self.classes),
            "delimiter": self.delimiter,
            "header": self.header,
            "missing": self.missing,
        }

    @classmethod
    def from_record(cls, record: PreprocessingRecord) -> "Preprocessing":
        """Return what `record` gave.

        Raises:
            ValueError: if its parts do not fit together.
        """
        columns = [Column(c["name"], c["categories"]) for c in record["columns"]]
        mean, scale, fill = (np.array(record[k], np.float64) for k in ("mean", "scale", "fill"))
        count, shape = len(mean), tuple(record["shape"])
        classes, delimiter = record["classes"], record["delimiter"]
        if not np.isfinite([*mean, *scale, *fill]).all() or not scale.all():
            raise ValueError("mean, scale and fill must be finite numbers, and scale not 0")
        if {len(scale), len(fill)} != {count} or min(shape, default=1) < 1:
            raise ValueError("mean, scale and fill must be of as many features, and shape of sizes")
        if count and math.prod(shape) != count:
            raise ValueError(f"a shape of {list(shape)} has no place for {count} features")
        if columns and sum(len(column.features) for column in columns) != count:
            raise ValueError(f"the columns do not make {count} features")
        if len(record["features"]) not in (0, count):
            raise ValueError(f"names {len(record['features'])} features of {count}")
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ValueError(f"the delimiter cannot be {quoted(delimiter)}")
        if classes is not None and (len(set(classes)) < len(classes) or not classes):
            raise ValueError("the classes must be different from each other")
        return cls(
            columns,
            record["features"],
            mean,
            scale,
            fill,
            shape,
            record["target"],
            classes,
            delimiter,
            record["header"],
            record["missing"],
        )


def moments(x: Array, standardize: bool | str) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each feature, or what changes nothing.

    Args:
        x: shape (samples, features).
        standardize: whether to; `together` for one mean and one deviation of all features.
    """
    features = x.shape[1]
    if not standardize:
        return np.zeros(features), np.ones(features)
    if standardize == "together":
        mean, scale = np.full(features, x.mean()), np.full(features, x.std())
    else:
        mean, scale = x.mean(axis=0), x.std(axis=0)
    # A constant feature carries no information; rounding leaves it a scale near zero.
    constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(constant, 1.0, scale)
