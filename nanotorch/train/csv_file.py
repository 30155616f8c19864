"""Tables of comma-separated values, with the line and column of every cell at hand."""

import csv
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .problems import ConfigError, Place, Problem, quoted

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
    """A header and the rows under it; every row has as many cells as the header."""

    source: str
    header: Sequence[str]
    rows: Sequence[Row]

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column, without the blanks around them."""
        index = self.header.index(column)
        return [row.cells[index].strip() for row in self.rows]

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return the cells of a column as numbers.

        Raises:
            ConfigError: if some are not; names each.
        """
        texts = self.texts(column)
        values = [float(text) if NUMBER.fullmatch(text) else math.nan for text in texts]
        problems = [
            self.problem(row, column, f"{quoted(text)} is not a number" if text else "is empty")
            for row, text, value in zip(self.rows, texts, values, strict=True)
            if not math.isfinite(value)
        ]
        if problems:
            raise ConfigError(problems)
        return np.array(values, dtype=np.float64)

    def problem(self, row: Row, column: str, message: str) -> Problem:
        """Return what is wrong with one cell."""
        place = Place(
            source=self.source,
            line=row.line,
            column=cell_start(row.text, self.header.index(column)),
        )
        return Problem(place, f"column {quoted(column)}", message)


def cell_start(text: str, index: int) -> int:
    """Return the column, from 1, of the first character of a cell in its line."""
    within_quotes = False
    for position, character in enumerate(text):
        if index == 0:
            return position + 1
        if character == '"':
            within_quotes = not within_quotes
        elif character == "," and not within_quotes:
            index -= 1
    return len(text) + 1


def shown_path(path: Path) -> str:
    """Return a path as short as it can be given from the current directory."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def read_csv(path: Path) -> CsvFile:
    """Return the table in a file.

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
        try:
            cells = next(csv.reader([text], strict=True))
        except csv.Error as error:
            raise problem(number, 1, f"not comma-separated values: {error}") from None
        if rows and len(cells) != len(rows[0].cells):
            message = f"has {len(cells)} cells, but the header has {len(rows[0].cells)}"
            raise problem(number, 1, message)
        rows.append(Row(number, text, cells))
    if len(rows) < 2:
        raise problem(1, 1, "needs a header and at least one line of values under it")
    header = [cell.strip() for cell in rows[0].cells]
    for index, name in enumerate(header):
        column = cell_start(rows[0].text, index)
        if not name:
            raise problem(rows[0].line, column, "the column has no name")
        if name in header[:index]:
            raise problem(rows[0].line, column, f"a second column is called {quoted(name)}")
    return CsvFile(source, header, rows[1:])
