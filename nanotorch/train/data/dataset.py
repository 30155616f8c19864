"""Samples for training: read or generated, divided into parts, and standardized."""

import contextlib
import errno
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch.serialization.files import open_file, read_limited, size_of
from nanotorch.train.config.load import flow
from nanotorch.train.config.schema import Data, Generator, PartFiles, Split, TextData
from nanotorch.train.config.sections import (
    ConfigError,
    Noted,
    Place,
    Problem,
    decode_text,
    did_you_mean,
    quoted,
    raise_all,
    refusal,
    shown_path,
    unreadable,
)
from nanotorch.train.data.csv_file import (
    AS_TRAINED,
    DROP,
    MISSING,
    MOST_WRONG,
    NO_HEADER,
    NUMBER,
    CsvFile,
    mostly_numbers,
    read_csv,
)

# The preprocessing of samples, with measurements of the training part, is kept for predictions.


Array = NDArray[np.float64]
Unread = NDArray[np.generic]
"""An array that is not checked yet."""
BLOCK = 4096
"""The number of samples that are processed together."""
FILLED: Mapping[str, Callable[..., Array]] = {"mean": np.nanmean, "median": np.nanmedian}
"""The functions that compute replacements for missing numbers, by `data.missing`."""


@dataclass(frozen=True)
class Column:
    """One column of a table, and its features."""

    name: str
    categories: Sequence[str] | None = None
    """The values of a column of names, each of them a feature; None for numbers."""

    @property
    def features(self) -> list[str]:
        """The names of the features."""
        if self.categories is None:
            return [self.name]
        return [f"{self.name}={category}" for category in self.categories]

    def values(self, table: CsvFile, missing: bool) -> Array:
        """Return the features of all rows, shape (rows, features); NaN for a missing number.

        A missing name is none of the categories.
        """
        unfit = "is not a value in the training data"
        found = table.numbers(self.name, missing, known=self.categories, unfit=unfit)[:, None]
        if self.categories is None:
            return found
        return np.equal(found, np.arange(len(self.categories))).astype(np.float64)


@dataclass(frozen=True)
class Preprocessing:
    """Converts the rows of a table, or arrays, to inputs: (value - mean) / scale.

    `preprocessing.json` has these fields under the same names.
    """

    later: ClassVar = ("target_mean", "target_scale")
    """The fields that older files lack."""

    columns: Sequence[Column] = ()
    """The columns of the table; none for arrays."""
    features: Sequence[str] = ()
    """The name of each feature."""
    mean: Array = field(default_factory=lambda: np.zeros(0))
    """The number subtracted from each feature."""
    scale: Array = field(default_factory=lambda: np.zeros(0))
    """The divisor of each feature after the subtraction."""
    fill: Array = field(default_factory=lambda: np.zeros(0))
    """The replacement of missing numbers in each feature, before the subtraction."""
    shape: tuple[int, ...] = ()
    """The shape of one sample."""
    target: str = "y"
    target_mean: float = 0.0
    """The number subtracted from a target that is a number."""
    target_scale: float = 1.0
    """The divisor of such a target after the subtraction."""
    classes: Sequence[str] | None = None
    """The names of the classes in order; None if the target is a number."""
    delimiter: str = ","
    header: bool = True
    missing: bool = False
    """Whether numbers may be missing."""

    def of_table(self) -> "Preprocessing":
        """Return the preprocessing of a table whose columns are the features, if there was none."""
        return self if self.columns else replace(self, columns=[*map(Column, self.features)])

    def flawed(self, x: Array) -> str:
        """Return which of the features, shape (samples, features), cannot be used; else ""."""
        bad = np.isinf(x) if self.missing else ~np.isfinite(x)
        for row, feature in np.argwhere(bad)[:1].tolist():
            name = self.features[feature] if self.features else f"x{feature}"
            found = f"row {row}: {quoted(name)} is {x[row, feature]}"
            return found + f"; {AS_TRAINED}" * bool(np.isnan(x[row, feature]))
        return ""

    def rows(self, table: CsvFile, trained: str = "") -> Array:
        """Return the features of a table, not standardized, shape (rows, features).

        Args:
            table: the table; it may have further columns.
            trained: the run that was trained on these columns, for the message if one is missing.
        """
        missing = [column.name for column in self.columns if column.name not in table.positions]
        if missing:
            names = ", ".join(map(quoted, missing[:3]))
            names += f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            message = f"has no column {names}"
            message += f", which {trained} was trained on" if trained else ""
            message += did_you_mean(missing[0], table.header, of_data=True)
            if mostly_numbers(table.header):
                message = f"the first line {NO_HEADER}, such as {names}"
            raise refusal("", message, Place(source=table.source))
        found, end, noted = np.empty((table.count, len(self.features))), 0, Noted()
        for column in self.columns:
            start, end = end, end + len(column.features)
            with noted:
                found[:, start:end] = column.values(table, self.missing)
        raise_all(table.in_order(noted))
        return found

    def fitted(self, x: Array, standardize: bool | str, missing: str) -> "Preprocessing":
        """Return the preprocessing with the mean, scale and fill of the training part.

        Args:
            x: the features of the training part, shape (samples, features).
            standardize: as in `moments`.
            missing: the replacement of missing numbers, a key of `FILLED` if they are allowed.

        Raises:
            ConfigError: if a feature has no value at all.
        """
        fill = np.zeros(x.shape[1])
        if self.missing:
            counts = np.sum(~np.isnan(x), axis=0)
            if not counts.all():
                empty = [quoted(self.features[int(k)]) for k in np.flatnonzero(counts == 0)]
                message = f"the training part has no value of {', '.join(empty)}"
                raise refusal("data.missing", message)
            fill = FILLED[missing](x, axis=0)
        mean, scale = moments(x, standardize, fill)
        return replace(self, mean=mean, scale=scale, fill=fill)

    def inputs(self, x: Array) -> NDArray[np.float32]:
        """Return features, shape (samples, features), as standardized inputs of the model."""
        scaled, end = np.empty(x.shape, dtype=np.float32), 0
        for block in blocks(x, self.fill if self.missing else math.nan):
            start, end = end, end + len(block)
            scaled[start:end] = (block - self.mean) / self.scale
        return scaled.reshape(len(x), *self.shape)

    def own_units(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return standardized targets, or outputs of the model, in the units of the target."""
        if (self.target_mean, self.target_scale) == (0, 1):
            return values
        return values.astype(np.float64) * self.target_scale + self.target_mean

    def coefficients(self, weights: Array) -> Array:
        """Return a linear model's coefficients and intercept in the units of the data.

        Args:
            weights: the model's weights for standardized inputs; the last one is its bias.
        """
        slopes = weights[:-1] / self.scale
        own = np.append(slopes, weights[-1] - slopes @ self.mean) * self.target_scale
        own[-1] += self.target_mean
        return own

    def record(self) -> dict[str, Any]:
        """Return the fields as values for JSON."""
        arrays = {name: getattr(self, name).tolist() for name in ("mean", "scale", "fill")}
        columns, shape = [vars(column) for column in self.columns], list(self.shape)
        return {**vars(self), **arrays, "columns": columns, "shape": shape}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Preprocessing":
        """Return the preprocessing of a `record`.

        Raises:
            ValueError: if its parts do not fit together.
        """
        columns = [Column(c["name"], c["categories"]) for c in record["columns"]]
        mean, scale, fill = (np.array(record[k], np.float64) for k in ("mean", "scale", "fill"))
        count, shape = len(mean), tuple(record["shape"])
        classes, delimiter = record["classes"], record["delimiter"]
        center, unit = record.get("target_mean", 0.0), record.get("target_scale", 1.0)
        sound = np.isfinite([*mean, *scale, *fill, center, unit]).all()
        if not sound or not scale.all() or not unit:
            raise ValueError("mean, scale and fill must be finite numbers, and scale not 0")
        if {len(scale), len(fill)} != {count} or min(shape, default=1) < 1:
            raise ValueError("mean, scale and fill must be as long, and shape must be sizes")
        if count and math.prod(shape) != count:
            raise ValueError(f"a shape of {list(shape)} does not fit {count} features")
        if columns and sum(len(column.features) for column in columns) != count:
            raise ValueError(f"the columns do not make {count} features")
        if len(record["features"]) not in ((count,) if columns else (0, count)):
            raise ValueError(f"has {len(record['features'])} feature names for {count} features")
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise ValueError(f"the delimiter cannot be {quoted(delimiter)}")
        if classes is not None and (len(set(classes)) < len(classes) or not classes):
            raise ValueError("the classes must be different from each other")
        found = {own.name: record[own.name] for own in fields(cls) if own.name in record}
        arrays = {"mean": mean, "scale": scale, "fill": fill}
        return cls(**{**found, **arrays, "columns": columns, "shape": shape})


def blocks(x: NDArray[Any], fill: Array | float) -> Iterator[Array]:
    """Yield blocks of rows in double precision, with `fill` instead of NaN."""
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK].astype(np.float64)
        yield np.where(np.isnan(block), fill, block)


def moments(
    x: NDArray[Any], standardize: bool | str, fill: Array | float = 0.0
) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of each feature.

    Args:
        x: the features, shape (samples, features).
        standardize: if False, return means of 0 and deviations of 1; `together` for one mean and
            one deviation over all features.
        fill: the replacement of missing numbers.
    """
    features = x.shape[1]
    if not standardize:
        return np.zeros(features), np.ones(features)
    axis, count = (None, x.size) if standardize == "together" else (0, len(x))
    mean = sum(block.sum(axis) for block in blocks(x, fill)) / count
    square = sum(np.square(block - mean).sum(axis) for block in blocks(x, fill)) / count
    mean, scale = (np.broadcast_to(value, features) for value in (mean, np.sqrt(square)))
    # A constant feature carries no information; rounding leaves it a scale near zero.
    constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)
    return mean, np.where(constant, 1.0, scale)


# The samples of a configuration: a table, arrays in NumPy files, or generated samples.


MOST_CLASSES = 1000
"""The most different values of a column of classes."""
MOST_NAMES = 100
"""The most different names in a column, unless the configuration lists it as `categorical`."""
MOST_NUMBERS = 200_000_000
LARGEST_ARRAYS = 16 * MOST_NUMBERS
"""The most bytes in a file, and in a member of an archive once unpacked."""
PARTS = ("train", "validation", "test")
Targets = Literal["regression", "binary", "classes"]
"""The kinds of targets: numbers; 0 or 1 as numbers; or classes, counted from 0."""


Raw = tuple[NDArray[Any], NDArray[Any], Preprocessing]
"""Samples before the split: x, shape (samples, features), not in memory yet if a NumPy file holds
it; y; and their preprocessing."""


class SampleReader:
    """Reads the samples that a configuration describes; raises a `ConfigError` if it cannot.

    Args:
        data: the section `data` of the configuration.
        targets: the kind of the targets.
    """

    def __init__(self, data: Data, targets: Targets) -> None:
        self._data, self._targets = data, targets

    def read(self, stream: torch.Generator) -> Raw:
        """Return all samples of the main source; a generator uses random numbers of `stream`."""
        data = self._data
        if path := data.csv or data.npz:
            return self.read_file(path, "data.csv" if data.csv else "data.npz")
        if data.npy is not None:
            both = [(getattr(data.npy, k), None, *[f"data.npy.{k}"] * 2) for k in ("x", "y")]
            return self._arrays(both, data.npy.y.stem, None)
        assert isinstance(data.generator, Generator)  # the section's own check
        made = data.generator.make(stream)
        classes = [str(index) for index in range(data.generator.class_count)]
        preprocessing = Preprocessing(features=made.features, target="y", classes=classes or None)
        x, y = (np.asarray(numbers, dtype=np.float64) for numbers in (made.x, made.y))
        return self._shaped(x, y, preprocessing)

    def read_file(self, path: Path, where: str, like: Preprocessing | None = None) -> Raw:
        """Return the samples of a file.

        Args:
            path: the file.
            where: the dotted path of the configuration value that names it.
            like: the preprocessing of the main file, which this file must fit.
        """
        data = self._data
        if data.csv is not None:
            return self._table(path, where, like)
        both = [(path, getattr(data, k), where, f"data.{k}") for k in ("inputs", "target")]
        return self._arrays(both, str(data.target), like)

    def _shaped(self, x: NDArray[Any], y: NDArray[Any], preprocessing: Preprocessing) -> Raw:
        """Return samples with their shape in the preprocessing; the array itself stays flat."""
        shape, flat = self._data.shape or x.shape[1:], x.reshape(len(x), -1)
        if math.prod(shape) != flat.shape[1]:
            message = f"{list(shape)} does not fit the {flat.shape[1]} numbers of a sample"
            raise refusal("data.shape", message)
        return flat, y, replace(preprocessing, shape=tuple(int(size) for size in shape))

    def _table(self, path: Path, where: str, like: Preprocessing | None) -> Raw:
        data, target = self._data, str(self._data.target)
        try:
            named = [*(data.categorical or ()), *[target] * (self._targets != "regression")]
            table = read_csv(path, data.delimiter, data.header, named=named)
        except OSError as error:
            raise unreadable(where, path, error) from None
        left_out = {target, *data.exclude}
        names = data.features or tuple(name for name in table.header if name not in left_out)
        if like is not None:
            names = tuple(column.name for column in like.columns)
        if not names:
            raise refusal(where, "has no column other than the target")
        wanted = {"data.target": target}
        for option in ("features", "exclude", "categorical"):
            columns = getattr(data, option) or ()
            wanted |= {f"data.{option}[{index}]": name for index, name in enumerate(columns)}
        lacks = f"{table.source} has no column"
        bare = f": its first line {NO_HEADER}; write data.header: false"
        bare *= mostly_numbers(table.header)
        raise_all(
            Problem(path, f"{lacks} {quoted(name)}{bare or meant}")
            for path, name in wanted.items()
            if name not in table.positions
            for meant in [did_you_mean(name, table.header, of_data=True)]
        )
        if data.missing == "drop":
            table = table.without([*names, target])
            if not table.count:
                raise refusal("data.missing", f"drops every row of {table.source}")
        if (preprocessing := like) is None:
            held = {name: sorted_values(table.texts(name)) for name in data.categorical or ()}
            if data.categorical is None:
                held = {name: few for name in names if (few := category_names(table, name))}
            found = [Column(name, held.get(name)) for name in names]
            preprocessing = Preprocessing(
                columns=found,
                features=[feature for column in found for feature in column.features],
                target=target,
                delimiter=data.delimiter,
                header=data.header,
                missing=data.missing in FILLED,
            )
        noted = Noted()
        with noted:
            x = preprocessing.rows(table)
        with noted:
            if self._targets == "regression":
                if few := category_names(table, target):
                    message = f"column {quoted(target)} holds names, such as {quoted(few[0])}"
                    message += "; experiment: classification predicts names"
                    raise refusal("data.target", message)
                y = table.numbers(target, advice=DROP)
            else:
                classes, expected = preprocessing.classes or (), "is not a class in the main table"
                if like is None:
                    classes = self._classes(sorted_values(table.texts(target)))
                    expected = "is neither 0 nor 1; CrossEntropyLoss takes more than two classes"
                y = table.numbers(target, advice=DROP, known=classes, unfit=expected)
                preprocessing = replace(preprocessing, classes=classes)
        problems = table.in_order(noted)
        advice = self._advice(table, preprocessing) if problems and like is None else ()
        raise_all([*problems, *advice])
        return self._shaped(x, y, preprocessing)

    def _advice(self, table: CsvFile, preprocessing: Preprocessing) -> Iterator[Problem]:
        """Yield a problem with the settings that make a table with wrong cells readable."""
        data, lists = self._data, dict[str, list[str]]()
        for column in preprocessing.columns:
            name, texts = column.name, table.texts(column.name)
            told = [text for text in texts if text.lower() not in MISSING]
            of_names = column.categories is not None or category_names(table, name) is not None
            wrong = () if of_names else [text for text in told if not NUMBER.fullmatch(text)]
            if unfit := len(wrong) > MOST_WRONG or 2 * len(told) < len(texts):
                lists.setdefault("exclude", [*data.exclude]).append(name)
            elif of_names and data.categorical is not None:
                lists.setdefault("categorical", []).append(name)
            if not unfit:
                lists.setdefault("features", []).append(name)
        kept = lists.pop("features", [])
        if data.features is not None and lists.pop("exclude", []):
            lists["features"] = kept
        if lists.get("categorical") == list(data.categorical or ()):
            del lists["categorical"]
        settings = [shlex.quote(f"data.{key}={flow(names)}") for key, names in lists.items()]
        if settings:
            if data.missing == "refuse" and table.without(kept).count < table.count:
                settings.append("data.missing=mean")
            yield Problem("data", f"this table can be read with {' '.join(settings)}")

    def _classes(self, values: tuple[str, ...]) -> tuple[str, ...]:
        """Return the classes in order; `values` are the different values of the target column."""
        column, positive = f"column {quoted(self._data.target)}", self._data.positive
        counted = f"{column} has {len(values)} different values"
        if self._targets == "classes" and (positive is None or len(values) > 2):
            if positive is not None:
                raise refusal("data.positive", f"is for two classes, but {counted}; remove it")
            if len(values) > MOST_CLASSES:
                message = f"{counted}; at most {MOST_CLASSES} classes are allowed"
                raise refusal("data.target", message)
            return values
        if positive is None:
            if {"0", "1"} <= {*values} or {*values} <= {"0", "1"} or len(values) < 2:
                return "0", "1"
            if len(values) == 2:
                first, second = map(quoted, values)
                message = f"{column} holds {first} and {second}; write data.positive: {second}"
                raise refusal("data.target", f"{message} to make that class 1")
        elif positive not in values:
            meant = did_you_mean(positive, values[:9], of_data=True)
            message = f"{column} has no such value{meant}"
            raise refusal("data.positive", message)
        if len(values) > 2:
            message = f"{counted}; two classes are needed, or CrossEntropyLoss for more"
            raise refusal("data.target", message)
        return next((value for value in values if value != positive), ""), str(positive)

    def _arrays(
        self, both: Sequence[tuple[Any, ...]], target: str, like: Preprocessing | None
    ) -> Raw:
        """Return the samples in two arrays.

        Args:
            both: the arguments of `_load` for the inputs and for the targets.
            target: the name of the target.
            like: as in `read_file`.
        """
        (x, y), (x_path, y_path) = [self._load(*of) for of in both], [path for *_, path in both]
        if x.ndim < 2 or (not x[:1].size and len(x)):
            message = f"has the shape {x.shape}; expected samples with at least one feature each"
            raise refusal(x_path, message)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if y.shape != x.shape[:1]:
            raise refusal(y_path, f"has the shape {y.shape}, but there are {len(x)} samples")
        if not len(x):
            raise refusal(x_path, "has no samples")
        inputs, classes = numbers(x, x_path), None
        if self._targets == "regression":
            targets = numbers(y, y_path)
        elif y.dtype.kind not in "biuU":
            message = f"holds {y.dtype}; classes are whole numbers or text"
            more = "; save it with .astype(int)" if y.dtype.kind == "f" else ""
            raise refusal(y_path, message + more)
        else:
            values, places = np.unique(y, return_inverse=True)
            names = [str(value) for value in values]
            classes = names if like is None or like.classes is None else list(like.classes)
            for name in [name for name in names if name not in classes]:
                raise refusal(y_path, f"has the class {quoted(name)}, which the main file lacks")
            code = np.array([classes.index(name) for name in names], dtype=np.float64)
            targets = code[places]
        features = [f"x{index}" for index in range(math.prod(x.shape[1:]))]
        own = Preprocessing(features=features, target=target, classes=classes)
        return self._shaped(inputs, targets, like or own)

    def _load(self, path: Path, name: str | None, where: str, named: str) -> Unread:
        """Return the array `name` of an archive, or the array of a file of one if `name` is None.

        `where` and `named` are the dotted paths of the configuration values that name the file
        and the array.
        """
        shown = shown_path(path)
        try:
            with opened_arrays(path) as found:
                single = isinstance(found, np.ndarray)
                if single != (name is None):
                    message = "one array; use data.npy"
                    message = message if single else "several arrays; use data.npz"
                    raise refusal(where, f"{quoted(shown)} contains {message}")
                if not single and name not in found:
                    message = f"{shown} has no array {quoted(name)}"
                    raise refusal(named, message + did_you_mean(str(name), found, of_data=True))
                array: Unread = found if single else found[name]
                return array
        except ConfigError:
            raise
        except Exception as error:  # a damaged file can cause many kinds
            objects = any(words in str(error) for words in ("Object arrays", "Python objects"))
            reason = "it holds objects, which could run code" if objects else ""
            reason = getattr(error, "strerror", None) or reason or "not a valid NumPy file"
        raise unreadable(where, path, reason)


def numbers(array: Unread, where: str) -> NDArray[Any]:
    """Return `array`; refuse elements that are not finite numbers, and too many of them."""
    if array.dtype.kind not in "biuf":
        raise refusal(where, f"holds {array.dtype}, not numbers")
    if array.size > MOST_NUMBERS:
        raise refusal(where, f"holds {array.size:,} numbers; at most {MOST_NUMBERS:,}")
    for start in range(0, len(array), BLOCK):
        for first, *rest in np.argwhere(~np.isfinite(array[start : start + BLOCK]))[:1].tolist():
            place = [start + first, *rest]
            raise refusal(where, f"the number at {place} is {array[tuple(place)]}")
    return array


def sorted_values(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the different values of a column: numbers by size, names in alphabetical order.

    Texts of missing values are left out.
    """
    values = {text for text in texts if text.lower() not in MISSING}
    if all(NUMBER.fullmatch(value) for value in values):
        return tuple(sorted(values, key=lambda value: (float(value), value)))
    return tuple(sorted(values))


def category_names(table: CsvFile, column: str) -> tuple[str, ...] | None:
    """Return the names in a column without numbers if there are few enough for features."""
    texts = () if column in table.floats else table.texts(column)
    names = {text for text in set(texts) if text.lower() not in MISSING}
    few = 0 < len(names) <= min(MOST_NAMES, table.count // 2)
    return sorted_values([*names]) if few and not any(map(NUMBER.fullmatch, names)) else None


@contextlib.contextmanager
def opened_arrays(path: Path) -> Iterator[Any]:
    """Yield the array of a file, or a mapping of the arrays in an archive, for the block.

    A single array stays in its file until its elements are used.

    Raises:
        OSError: if the file cannot be read, or is too large.
        Exception: of many kinds, if it is not a NumPy file.
    """
    with open_file(path) as file:
        large, single = size_of(file) > LARGEST_ARRAYS, file.read(6) == b"\x93NUMPY"
        file.seek(0)
        source, mode = (path, "r") if single else (file, None)
        found: Any = None if large else np.load(source, mode, allow_pickle=False)  # type: ignore[arg-type]
        members = [] if large or single else found.zip.infolist()
        if large or any(member.file_size > LARGEST_ARRAYS for member in members):
            raise OSError(errno.EFBIG, f"has more than {LARGEST_ARRAYS:,} bytes", str(path))
        yield found


# The parts of the samples, in the form that the model needs.


@dataclass(frozen=True)
class Samples:
    """Inputs and targets of samples, in the form that the model needs."""

    x: NDArray[np.float32] | NDArray[np.int64]
    """Shape (samples, ...)."""
    y: NDArray[np.float32] | NDArray[np.int64]
    """Shape (samples, 1) for numbers, (samples,) for classes, (samples, context) for characters."""

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Dataset:
    """The parts, and the preprocessing that new samples need, too."""

    parts: Mapping[str, Samples]
    preprocessing: Preprocessing

    @property
    def classes(self) -> Sequence[str] | None:
        """The names of the classes; None if the target is a number."""
        return self.preprocessing.classes

    def targets(self, part: str) -> NDArray[Any]:
        """Return the targets of a part; numbers are in their own units."""
        return self.preprocessing.own_units(self.parts[part].y)


@np.errstate(all="ignore")  # numbers that overflow are refused
def load_dataset(data: Data, targets: Targets, generator: torch.Generator) -> Dataset:
    """Return the samples that a configuration describes.

    Args:
        data: the section `data` of the configuration.
        targets: the kind of the targets.
        generator: the source of all random numbers.
    """
    reader = SampleReader(data, targets)
    x, y, preprocessing = reader.read(generator)
    if targets != "regression" and len(np.unique(y)) < 2:
        names = preprocessing.classes or ()
        message = f"all {len(y)} samples are of class {names[int(y[0])]}"
        raise refusal("data.target", message)
    files = vars(data.parts or PartFiles())
    # A part with a file of its own gets no share of the main source.
    shares = {name: 0.0 if files.get(name) else getattr(data.split, name) for name in PARTS}
    total = sum(shares.values())
    split = Split(**{name: share / total for name, share in shares.items()})
    order = torch.randperm(len(y), generator=generator).numpy()
    pieces = {}
    strata = y if data.stratify else np.zeros(len(y))
    for name, indices in split_indices(strata, order, split).items():
        if not len(indices) and (name == "train" or shares[name] > 0):
            message = f"leaves none of the {len(y)} samples in this part; raise it, or make it 0"
            raise refusal(f"data.split.{name}", message)
        pieces[name] = x[indices], y[indices].astype(np.float64)
        if path := files.get(name):
            own_x, own_y, _ = reader.read_file(path, f"data.parts.{name}", preprocessing)
            pieces[name] = np.array(own_x), own_y.astype(np.float64)
    del x, y  # they may be large
    preprocessing = preprocessing.fitted(pieces["train"][0], data.standardize, data.missing)
    if targets == "regression" and data.standardize_target:
        mean, scale = moments(pieces["train"][1][:, None], standardize=True)
        center, unit = mean.item(), scale.item()
        preprocessing = replace(preprocessing, target_mean=center, target_scale=unit)
    samples = {}
    for name in PARTS:
        x, y = pieces.pop(name)
        y = (y - preprocessing.target_mean) / preprocessing.target_scale
        wanted = y.astype(np.int64) if targets == "classes" else y.astype(np.float32)[:, None]
        samples[name] = Samples(preprocessing.inputs(x), wanted)
    finite = np.isfinite(preprocessing.scale)  # False for features that overflow 32 bits
    for part in samples.values():
        finite = finite & np.isfinite(part.x.reshape(len(part), finite.size)).all(axis=0)
    if not all(np.isfinite(part.y).all() for part in samples.values()):
        finite = np.append(finite, False)
    if not finite.all():
        name = [*preprocessing.features, preprocessing.target][int(np.argmin(finite))]
        message = f"values of {quoted(name)} are too large for the model's 32-bit numbers"
        raise refusal("data", message)
    return Dataset(samples, preprocessing)


def split_indices(
    strata: Array, order: NDArray[np.int64], split: Split
) -> dict[str, NDArray[np.int64]]:
    """Return the indices of the samples of each part, in the sequence of `order`.

    The samples of each value in `strata` are divided separately, by the same fractions.
    """
    part = np.empty(len(order), dtype=np.int64)
    shuffled = strata[order]
    for stratum in np.unique(strata):
        (members,) = np.nonzero(shuffled == stratum)
        ends, places = split_ends(split, len(members)), np.arange(len(members))
        part[members] = np.searchsorted(ends, places, side="right")
    return {name: order[part == index] for index, name in enumerate(PARTS)}


def split_ends(split: Split, count: int) -> NDArray[np.int64]:
    """Return the index at which each part of `count` samples ends."""
    ends = np.cumsum([getattr(split, name) for name in PARTS])
    return np.rint(ends / ends[-1] * count).astype(np.int64)


# Samples of a text: the target of each character is the next one.


LARGEST_TEXT = 20_000_000
MOST_PLACES = 50_000_000
"""The most characters in all samples of a part together; overlaps count several times."""


def load_text(data: TextData) -> Dataset:
    """Return the samples of a text: `context` characters, and their successors as targets.

    The parts are consecutive pieces of the text, without overlap.
    """
    try:
        text = decode_text(read_limited(data.file, LARGEST_TEXT), shown_path(data.file))
    except OSError as error:
        raise unreadable("data.file", data.file, error) from None
    text = text.replace("\r\n", "\n")
    characters = sorted(set(text))
    number = {character: index for index, character in enumerate(characters)}
    codes = np.array([number[character] for character in text], dtype=np.int64)
    pieces, parts = np.split(codes, split_ends(data.split, len(codes))[:-1]), {}
    for name, piece in zip(PARTS, pieces, strict=True):
        if getattr(data.split, name) and len(piece) <= data.context:
            message = f"leaves {len(piece)} characters; a sample needs {data.context} + 1"
            raise refusal(f"data.split.{name}", message)
        if data.context * (len(piece) // (data.stride or data.context) + 1) > MOST_PLACES:
            message = f"makes samples of more than {MOST_PLACES:,} characters"
            raise refusal("data.stride", message)
        found = np.zeros((0, data.context + 1), dtype=np.int64)
        if len(piece) > data.context:
            found = np.lib.stride_tricks.sliding_window_view(piece, data.context + 1)
        found = found[:: data.stride or data.context]
        parts[name] = Samples(found[:, :-1].copy(), found[:, 1:].copy())
    return Dataset(parts, Preprocessing(target="the next character", classes=characters))
