"""A table into samples: which columns, what their cells mean, what the target is."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .csv_file import MISSING, NO_HEADER, NUMBER, CsvFile, read_csv, shown_path
from .data_settings import Data
from .preprocessing import Column, Preprocessing
from .problems import ConfigError, Origins, Problem, did_you_mean, quoted

Array = NDArray[np.float64]

MOST_CLASSES = 1000
"""A column with more different values is not one of classes."""


def read_table(
    data: Data,
    path: Path,
    classification: bool,
    binary: bool,
    where: str,
    origins: Origins,
    like: Preprocessing | None = None,
) -> tuple[Array, Array, Preprocessing]:
    """Return the features, the targets, and how the columns became features.

    Args:
        data: the configuration's section.
        path: the file.
        classification: whether the target is a class.
        binary: whether there are two classes.
        where: the path of the configuration's value that names the file.
        origins: where the configuration's values were written.
        like: the columns and classes of another table, to be found in this one.

    Raises:
        ConfigError: if they cannot be had.
    """
    assert data.target is not None  # the section's own check
    try:
        table = read_csv(path, data.delimiter, data.header)
    except OSError as error:
        message = f"cannot read {quoted(shown_path(path))}: {error.strerror or error}"
        raise origins.error(where, message) from None
    names = data.features or tuple(name for name in table.header if name != data.target)
    if like is not None:
        names = tuple(column.name for column in like.columns)
    if not names:
        raise origins.error(where, "has no column beside the target")
    check_columns(data, table, origins)
    if data.missing == "drop":
        table = table.without([*names, data.target])
        if not table.rows:
            raise origins.error("data.missing", f"drops every row of {table.source}")
    preprocessing = like or described(data, table, names)
    problems: list[Problem] = []
    try:
        x = preprocessing.rows(table)
    except ConfigError as error:
        problems += error.problems
    try:
        if classification:
            known = None if like is None else like.classes
            classes, y = class_targets(table, data, binary, origins, known)
            preprocessing = preprocessing if like else replace(preprocessing, classes=classes)
        else:
            y = table.numbers(data.target)
    except ConfigError as error:
        problems += error.problems
    if problems:
        raise table.error(problems)
    return x, y, preprocessing


def check_columns(data: Data, table: CsvFile, origins: Origins) -> None:
    """Refuse columns that are named and not there."""
    wanted = {"data.target": data.target or ""}
    for field in ("features", "categorical"):
        columns = getattr(data, field) or ()
        wanted |= {f"data.{field}[{index}]": name for index, name in enumerate(columns)}
    problems = [
        problem
        for path, name in wanted.items()
        if name not in table.positions
        for problem in origins.error(path, no_column(name, table)).problems
    ]
    if problems:
        raise ConfigError(problems)


def described(data: Data, table: CsvFile, names: tuple[str, ...]) -> Preprocessing:
    """Return what is known of a table's columns before anything is measured."""
    categorical = set(data.categorical)
    columns = [
        Column(name, in_order(table.texts(name)) if name in categorical else None) for name in names
    ]
    return Preprocessing(
        columns=columns,
        features=[feature for column in columns for feature in column.features],
        target=str(data.target),
        delimiter=data.delimiter,
        header=data.header,
        missing=data.missing == "mean",
    )


def in_order(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the different values of a column: numbers by size, names by the alphabet.

    What stands for no value is none.
    """
    values = {text for text in texts if text.lower() not in MISSING}
    if all(NUMBER.fullmatch(value) for value in values):
        return tuple(sorted(values, key=lambda value: (float(value), value)))
    return tuple(sorted(values))


def no_column(name: str, table: CsvFile) -> str:
    """Return the message for a column that is not there."""
    message = f"{table.source} has no column {quoted(name)}"
    if table.lacks_header:
        return f"{message}: its first line {NO_HEADER}; write data.header: false"
    return message + did_you_mean(name, table.header)


def class_targets(
    table: CsvFile,
    data: Data,
    binary: bool,
    origins: Origins,
    known: Sequence[str] | None,
) -> tuple[tuple[str, ...], Array]:
    """Return the names of the classes, and the class of each sample, counted from 0."""
    assert data.target is not None
    cells = table.texts(data.target)
    classes = known or (two_classes if binary else many_classes)(cells, data, origins)
    numbers = {name: index for index, name in enumerate(classes)}
    expected = "neither 0 nor 1; CrossEntropyLoss takes more than two classes"
    expected = expected if known is None else "no class of the main table"
    missing = {cell for cell in cells if cell.lower() in MISSING and cell not in numbers}
    problems = [
        table.problem(
            row,
            data.target,
            table.no_value(cell) if cell in missing else f"{quoted(cell)} is {expected}",
        )
        for row, cell in zip(table.rows, cells, strict=True)
        if cell not in numbers
    ]
    if problems:
        raise ConfigError(problems)
    return tuple(classes), np.array([numbers[cell] for cell in cells], dtype=np.float64)


def two_classes(cells: Sequence[str], data: Data, origins: Origins) -> Sequence[str]:
    """Return the names of classes 0 and 1."""
    column, values = f"column {quoted(data.target)}", in_order(cells)
    if data.positive is None:
        if {"0", "1"} <= {*values} or {*values} <= {"0", "1"} or len(values) < 2:
            return "0", "1"
        if len(values) == 2:
            first, second = values
            message = f"{column} holds {quoted(first)} and {quoted(second)}; "
            message += f"write data.positive: {quoted(second)} if that is to be class 1"
            raise origins.error("data.target", message)
    elif data.positive not in values:
        message = f"{column} has no such value"
        raise origins.error("data.positive", message + did_you_mean(data.positive, values[:9]))
    if len(values) > 2:
        message = f"{column} has {len(values)} different values; two classes are needed"
        raise origins.error("data.target", f"{message}, or CrossEntropyLoss for more")
    return next((value for value in values if value != data.positive), ""), str(data.positive)


def many_classes(cells: Sequence[str], data: Data, origins: Origins) -> Sequence[str]:
    """Return the names of any number of classes."""
    if data.positive is not None:
        message = "is for BCEWithLogitsLoss, which has two classes; remove it"
        raise origins.error("data.positive", message)
    classes = in_order(cells)
    if len(classes) > MOST_CLASSES:
        message = f"has {len(classes)} different values; at most {MOST_CLASSES} classes are allowed"
        raise origins.error("data.target", f"column {quoted(data.target)} {message}")
    return classes
