"""Samples that programs give: arrays, rows of cells, and tables whose columns have names."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nanotorch.train.config.sections import ConfigError, Place, Problem, did_you_mean, quoted
from nanotorch.train.data.csv_file import CsvFile, Row
from nanotorch.train.data.dataset import Array, Preprocessing

PREDICT = "predict()"
Name = Hashable
"""The name of a column: text, or a number if a data frame was made without names."""


@contextmanager
def errors_of_predict() -> Iterator[None]:
    """Turn the errors of samples in the block into ValueErrors that name `predict`."""
    try:
        yield
    except ConfigError as error:  # it names the place
        raise ValueError(str(error)) from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{PREDICT}: {error}") from None


@dataclass(frozen=True)
class Cells(CsvFile):
    """The cells of a program's table, as those of a file; errors name rows, counted from 0."""

    columns: Mapping[Name, NDArray[Any]] = field(default_factory=dict)

    def texts(self, column: str) -> list[str]:
        found = self.columns[column].tolist()
        # A data frame holds whole numbers as floats if some are missing.
        cells = (int(x) if isinstance(x, float) and x.is_integer() else x for x in found)
        return ["" if x is None or str(x) in ("<NA>", "NaT") else str(x).strip() for x in cells]

    def problem(self, row: Row, column: str, message: str) -> Problem:
        place = Place(source=self.source)
        return Problem(f"row {row.line}, column {quoted(column)}", message, place)


@dataclass(frozen=True)
class Frame:
    """The columns of a table by name."""

    keys: Mapping[Name, Sequence[Name]]
    """Each name -> the names as they were given; blanks around them do not count, as in a file."""
    values: Callable[[Any], Any]
    """Returns the values of a column."""

    def arrays(self, names: Sequence[Name]) -> dict[Name, NDArray[Any]]:
        """Return the columns `names` as arrays of one length.

        Raises:
            ValueError: if there is no such column, or it is no list of values.
        """
        found: dict[Name, NDArray[Any]] = {}
        for name in names:
            if not (keys := self.keys.get(name, ())):
                meant = did_you_mean(str(name), map(str, self.keys), of_data=True)
                raise ValueError(f"has no column {quoted(name)}{meant}")
            if len(keys) > 1:
                raise ValueError(f"has two columns called {quoted(name)}; rename one")
            found[name] = values = np.asarray(self.values(keys[0]))
            first = found[names[0]]
            if values.ndim != 1 or values.shape != first.shape:
                expected = f"{len(first)} values" if first.ndim else "a list of values"
                got = f"expected {expected}, got shape {values.shape}"
                raise ValueError(f"column {quoted(name)}: {got}")
        return found

    def cells(self, names: Sequence[str]) -> Cells:
        """Return those of the columns `names` that there are, as cells.

        Raises:
            ValueError: if they are no lists of values of one length.
        """
        columns = self.arrays([name for name in names if name in self.keys])
        count = len(next(iter(columns.values()), ()))
        numbers = {name: x for name, x in columns.items() if x.dtype.kind in "biuf"}
        finite = {str(name): x for name, x in numbers.items() if not np.isinf(x).any()}
        return Cells(
            source=PREDICT,
            header=[name for name in self.keys if isinstance(name, str)],
            count=count,
            read=lambda: [Row(index, "", ()) for index in range(count)],
            configured=False,
            floats={name: x.astype(np.float64) for name, x in finite.items()},
            columns=columns,
        )


def frame_of(x: Any) -> Frame | None:
    """Return a table's columns by name; None for samples without names.

    Tables are data frames, which have `columns`; mappings from names to columns; and lists of
    mappings from names to cells.
    """
    keys: Any = x  # the names as they were given
    rows = isinstance(x, list | tuple) and x and all(isinstance(row, Mapping) for row in x)
    if rows:
        keys = dict.fromkeys(key for row in x for key in row)
    elif not isinstance(x, Mapping):
        if not (hasattr(x, "columns") and hasattr(x, "__getitem__")):
            return None
        keys = x.columns

    def cells(key: Any) -> list[Any]:
        for index, row in enumerate(x):
            if key not in row:
                raise ValueError(f"row {index} has no column {quoted(key)}")
        return [row[key] for row in x]

    found: dict[Name, list[Name]] = {}
    for key in keys:
        found.setdefault(key.strip() if isinstance(key, str) else key, []).append(key)
    return Frame(found, cells if rows else x.__getitem__)


def array_of(x: Any, names: Sequence[Name] | None) -> Any:
    """Return the columns `names` of a table as an array; `x` itself if it has no names.

    Args:
        x: the samples.
        names: the columns in order; None for all in their own order.
    """
    if (frame := frame_of(x)) is None:
        return x
    return np.column_stack([*frame.arrays([*frame.keys] if names is None else names).values()])


def rows_of(x: Any, preprocessing: Preprocessing) -> Array:
    """Return samples as the features of a model, not standardized, shape (samples, features).

    Args:
        x: an array of features, an array of the cells of each row, or a table.
        preprocessing: that of a table.

    Raises:
        ValueError: if their form does not fit.
        ConfigError: if a table lacks a column, or cells are not as in the training data.
    """
    names, count = [c.name for c in preprocessing.columns], math.prod(preprocessing.shape)
    if (frame := frame_of(x)) is None:
        cells = np.asarray(x)
        of_names = any(column.categories for column in preprocessing.columns)
        by_column = cells.dtype.kind in "OU" or (of_names and len(names) != count)
        if by_column and cells.ndim == 2 and cells.shape[1] == len(names):
            frame = Frame({name: [k] for k, name in enumerate(names)}, lambda k: cells[:, k])
        elif cells.ndim == 0 or cells.size != len(cells) * count:
            message = f"takes {count} numbers for each sample, samples first"
            message += f", or the cells of {', '.join(names)}" * of_names
            raise ValueError(f"{message}; got an array of shape {cells.shape}")
    if frame is None:
        rows = cells.astype(np.float64).reshape(len(cells), count)
        if problem := preprocessing.flawed(rows):
            raise ValueError(problem)
        return rows
    if not names:
        raise ValueError("the model's features have no names; give it an array")
    return preprocessing.rows(frame.cells(names), "the model")


def codes_of(x: Any) -> NDArray[Any]:
    """Return the codes of a text's characters, shape (samples, places).

    Raises:
        ValueError: if they are anything else.
    """
    codes = np.asarray(x)
    if codes.ndim != 2 or codes.dtype.kind not in "iu":
        raise ValueError("takes codes of characters, shape (samples, places)")
    return codes
