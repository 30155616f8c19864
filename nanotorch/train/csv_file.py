"""Tables of comma-separated values, with the line and column of every cell at hand."""

import csv
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .problems import ConfigError, Place, Problem, quoted

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
"""What other programs write between cells."""
NO_HEADER = "holds values, not the names of columns; write data.header: false"
MISSING = {"", "na", "n/a", "nan", "null", "?"}
"""What a cell without a value holds, in any case."""
NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class Row:
    """One line of a table."""

    line: int
    """Its number in the file, from 1."""
    text: str
    cells: Sequence[str]


@dataclass(frozen=True)
class CsvFile:
    """The names of columns and the rows; every row has as many cells as there are names."""

    source: str
    header: Sequence[str]
    rows: Sequence[Row]
    delimiter: str = ","

    @property
    def lacks_header(self) -> bool:
        """Whether what should be names is mostly numbers."""
        return mostly_numbers(self.header)

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column, without the blanks around them."""
        index = self.header.index(column)
        return [row.cells[index].strip() for row in self.rows]

    def without(self, columns: Sequence[str]) -> "CsvFile":
        """Return the table without the rows that lack a value in one of some columns."""
        indices = [self.header.index(column) for column in columns]
        rows = [
            row
            for row in self.rows
            if not any(row.cells[index].strip().lower() in MISSING for index in indices)
        ]
        return replace(self, rows=rows)

    def numbers(self, column: str, missing: bool = False) -> NDArray[np.float64]:
        """Return the cells of a column as numbers.

        Args:
            column: its name.
            missing: whether cells without a value are NaN, and no mistake.

        Raises:
            ConfigError: if some are not numbers; names each.
        """
        texts = self.texts(column)
        values = [float(text) if NUMBER.fullmatch(text) else math.nan for text in texts]
        problems = [
            self.problem(row, column, not_a_number(text))
            for row, text, value in zip(self.rows, texts, values, strict=True)
            if not math.isfinite(value) and not (missing and text.lower() in MISSING)
        ]
        if problems:
            raise ConfigError(problems)
        return np.array(values, dtype=np.float64)

    def problem(self, row: Row, column: str, message: str) -> Problem:
        """Return what is wrong with one cell."""
        place = Place(
            source=self.source,
            line=row.line,
            column=cell_start(row.text, self.header.index(column), self.delimiter),
        )
        return Problem(place, f"column {quoted(column)}", message)


def not_a_number(text: str) -> str:
    """Return what is wrong with a cell that should hold a number."""
    if not text:
        return "is empty"
    comma = "," in text and NUMBER.fullmatch(text.replace(",", "."))
    point = "; a number is written with a point" if comma else ""
    return f"{quoted(text)} is not a number{point}"


def cell_start(text: str, index: int, delimiter: str = ",") -> int:
    """Return the column, from 1, of the first character of a cell in its line."""
    within_quotes = False
    for position, character in enumerate(text):
        if index == 0:
            return position + 1
        if character == '"':
            within_quotes = not within_quotes
        elif character == delimiter and not within_quotes:
            index -= 1
    return len(text) + 1


def mostly_numbers(cells: Sequence[str]) -> bool:
    """Return whether more than half of some cells are numbers."""
    return 2 * sum(bool(NUMBER.fullmatch(cell)) for cell in cells) > len(cells)


def other_separator(text: str) -> str | None:
    """Return what stands between the cells of a line without commas; None if there is one cell."""
    bare = re.sub('"[^"]*"', "", text.strip())
    return None if "," in bare else next((mark for mark in SEPARATORS if mark in bare), None)


def shown_path(path: Path) -> str:
    """Return a path as short as it can be given from the current directory."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def read_csv(path: Path, delimiter: str = ",", header: bool = True) -> CsvFile:
    """Return the table in a file.

    Args:
        path: the file, in UTF-8.
        delimiter: what stands between cells.
        header: whether the first line holds the names of the columns.

    Raises:
        OSError: if the file cannot be read.
        ConfigError: if it is not a table; blank lines are passed over.
    """
    source = shown_path(path)

    def problem(line: int, column: int, message: str) -> ConfigError:
        place = Place(source=source, line=line, column=column)
        return ConfigError([Problem(place, "", message)])

    data = path.read_bytes()
    try:
        lines = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise problem(line, 1, "is not text in UTF-8") from None
    rows: list[Row] = []
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        if not rows and delimiter == "," and (mark := other_separator(text)):
            written = '"\\t"' if mark == "\t" else f"'{mark}'"
            message = f"the cells are separated by {SEPARATORS[mark]}"
            message += f"; write data.delimiter: {written}, or save the table with commas"
            raise problem(number, text.index(mark) + 1, message)
        try:
            cells = next(csv.reader([text], strict=True, delimiter=delimiter))
        except csv.Error as error:
            raise problem(number, 1, f"not comma-separated values: {error}") from None
        if rows and len(cells) != len(rows[0].cells):
            before = "header" if header else "first line"
            message = f"has {len(cells)} cells, but the {before} has {len(rows[0].cells)}"
            raise problem(number, 1, message)
        rows.append(Row(number, text, cells))
    if not header and rows:
        names = [f"column{number}" for number in range(1, len(rows[0].cells) + 1)]
        return CsvFile(source, names, rows, delimiter)
    if len(rows) < 2:
        raise problem(1, 1, "needs a header and at least one line of values under it")
    names = [cell.strip() for cell in rows[0].cells]
    check_header(names, rows[0], problem, delimiter)
    return CsvFile(source, names, rows[1:], delimiter)


def check_header(
    header: Sequence[str],
    row: Row,
    problem: Callable[[int, int, str], ConfigError],
    delimiter: str,
) -> None:
    """Refuse columns that cannot be told apart."""
    for index, name in enumerate(header):
        column = cell_start(row.text, index, delimiter)
        if name and name not in header[:index]:
            continue
        if mostly_numbers(header):
            raise problem(row.line, 1, NO_HEADER)
        message = f"a second column is called {quoted(name)}" if name else "the column has no name"
        raise problem(row.line, column, message)
