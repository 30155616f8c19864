"""Tables of comma-separated values, with the line and column of every cell at hand."""

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nanotorch.serialization.files import contents

from .config import ConfigError, Place, Problem, quoted, raise_all, shown_path

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
"""What programs write between cells."""
NO_HEADER = "holds values, not the names of columns"
MISSING = {"", "na", "n/a", "nan", "null", "?"}
"""What a cell without a value holds, in any case."""
QUOTED = re.compile(r'"(?:[^"]++|"")*+"')
LARGEST_TABLE = 1_000_000_000
MOST_COLUMNS = 100_000
MOST_WRONG = 3
"""Wrong cells of a column of which each is told, however many are right."""
NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class Row:
    """One line of a table; several where a quoted cell has line breaks."""

    line: int
    """The number of the first in the file, from 1."""
    text: str
    cells: Sequence[str]


@dataclass(frozen=True)
class CsvFile:
    """The names of columns and the rows; every row has as many cells as there are names."""

    source: str
    header: Sequence[str]
    rows: Sequence[Row]
    delimiter: str = ","
    configured: bool = True
    """Whether a configuration says how tables are read, and can be changed."""

    @property
    def lacks_header(self) -> bool:
        """Whether what should be names is mostly numbers."""
        return mostly_numbers(self.header)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each column stands."""
        return {name: index for index, name in enumerate(self.header)}

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column, without the blanks around them."""
        index = self.positions[column]
        return [row.cells[index].strip() for row in self.rows]

    def without(self, columns: Sequence[str]) -> "CsvFile":
        """Return the table without the rows that lack a value in one of some columns."""
        indices = [self.positions[column] for column in columns]
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
            ConfigError: if some are not numbers; names each, unless most are none.
        """
        texts = self.texts(column)
        values = [float(text) if NUMBER.fullmatch(text) else math.nan for text in texts]
        wrong = [
            (row, text)
            for row, text, value in zip(self.rows, texts, values, strict=True)
            if not math.isfinite(value) and not (missing and text.lower() in MISSING)
        ]
        most = len(wrong) > max(MOST_WRONG, len(texts) // 2)
        problems = [
            self.problem(row, column, self._not_a_number(text))
            for row, text in (wrong[:1] if most else wrong)
        ]
        if most:
            message = f"{problems[0].message}, like {len(wrong) - 1} more cells"
            names = self.configured and not any(character.isdigit() for character in wrong[0][1])
            message += "; a column of names belongs in data.categorical" if names else ""
            problems = [replace(problems[0], message=message)]
        raise_all(problems)
        return np.array(values, dtype=np.float64)

    def codes(
        self, column: str, known: Sequence[str], refusal: str, missing: bool = False
    ) -> NDArray[np.float64]:
        """Return the number that each cell of a column has among what is known.

        Args:
            column: its name.
            known: what cells may hold.
            refusal: what is said of a cell that holds something else.
            missing: whether cells without a value are NaN, and no mistake.

        Raises:
            ConfigError: if cells hold something else; names each.
        """
        number = {text: float(index) for index, text in enumerate(known)}
        texts = self.texts(column)
        raise_all(
            self.problem(
                row,
                column,
                self.no_value(text) if text.lower() in MISSING else f"{quoted(text)} {refusal}",
            )
            for row, text in zip(self.rows, texts, strict=True)
            if text not in number and not (missing and text.lower() in MISSING)
        )
        return np.array([number.get(text, math.nan) for text in texts], dtype=np.float64)

    def problem(self, row: Row, column: str, message: str) -> Problem:
        """Return what is wrong with one cell."""
        starts = [*cell_starts(row.text, self.delimiter)]
        return Problem(
            place_within(self.source, row.line, row.text, starts[self.positions[column]]),
            f"column {quoted(column)}",
            message,
        )

    def error(self, problems: Sequence[Problem]) -> ConfigError:
        """Return the error of several problems, those of the table in the order of its lines."""

        def line_and_column(problem: Problem) -> tuple[int, int]:
            place = problem.place
            if place is None or place.source != self.source:
                return 0, 0
            return place.line, place.column

        return ConfigError(sorted(problems, key=line_and_column))

    def no_value(self, text: str) -> str:
        """Return the message for a cell without a value."""
        said = f"{quoted(text)} stands for no value" if text else "is empty"
        if self.configured:
            return f"{said}; data.missing: drop leaves out such rows"
        return f"{said}; training knew none without"

    def _not_a_number(self, text: str) -> str:
        if text.lower() in MISSING:
            return self.no_value(text)
        if NUMBER.fullmatch(text):
            return f"{quoted(text)} is too large"
        comma = "," in text and NUMBER.fullmatch(text.replace(",", ""))
        point = "; a number has a point and no commas" if comma else ""
        return f"{quoted(text)} is not a number{point}"


def cell_starts(text: str, delimiter: str) -> Iterator[int]:
    """Yield the position of the first character of each cell in a row."""
    position = 0
    while True:
        yield position
        if found := QUOTED.match(text, position):
            position = found.end()
        position = text.find(delimiter, position) + 1
        if not position:
            return


def place_within(source: str, line: int, text: str, position: int) -> Place:
    """Return the place of a position in a text that begins in some line of a file."""
    line += text.count("\n", 0, position)
    return Place(source=source, line=line, column=position - text.rfind("\n", 0, position))


def mostly_numbers(cells: Sequence[str]) -> bool:
    """Return whether more than half of some cells are numbers."""
    return 2 * sum(bool(NUMBER.fullmatch(cell)) for cell in cells) > len(cells)


def other_separator(text: str, delimiter: str) -> str | None:
    """Return what stands between the cells of a line without delimiters, None if there is one."""
    bare = QUOTED.sub("", text.strip())
    return None if delimiter in bare else next((mark for mark in SEPARATORS if mark in bare), None)


class Table:
    """A file that is being read.

    Args:
        path, delimiter, header, configured: as of `read_csv`.
    """

    def __init__(self, path: Path, delimiter: str, header: bool, configured: bool) -> None:
        self._source = shown_path(path)
        self._delimiter, self._header, self._configured = delimiter, header, configured
        self._text = self._decoded(contents(path, LARGEST_TABLE))

    def read(self) -> CsvFile:
        """Return the table."""
        rows: list[Row] = []
        for line, text in self._records():
            if not text.strip():
                continue
            if not rows:
                self._check_delimiter(line, text)
            try:
                cells = next(csv.reader([text], strict=True, delimiter=self._delimiter))
            except csv.Error as error:
                message = f"not comma-separated values: {error}"
                raise self._error(message, line=line) from None
            if rows and len(cells) != len(rows[0].cells):
                before = "header" if self._header else "first line"
                message = f"has {len(cells)} cells, but the {before} has {len(rows[0].cells)}"
                raise self._error(message, line=line)
            if len(cells) > MOST_COLUMNS:
                message = f"has {len(cells):,} cells; a table has at most {MOST_COLUMNS:,} columns"
                raise self._error(message, line=line)
            rows.append(Row(line, text, cells))
        if self._header and len(rows) < 2:
            raise self._error("needs a header and at least one line of values under it")
        if not rows:
            raise self._error("needs at least one line of values")
        names = [f"column{number}" for number in range(1, len(rows[0].cells) + 1)]
        if self._header:
            names = [cell.strip() for cell in rows[0].cells]
            self._check_header(names, rows.pop(0))
        return CsvFile(self._source, names, rows, self._delimiter, self._configured)

    def _error(self, message: str, text: str = "", position: int = 0, line: int = 1) -> ConfigError:
        """Return the error about a position in a text that begins in some line."""
        return ConfigError([Problem(place_within(self._source, line, text, position), "", message)])

    def _decoded(self, data: bytes) -> str:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8-sig")
            message = f"is not text in UTF-8 (byte 0x{data[error.start]:02x}); save it as UTF-8"
            raise self._error(message, before, len(before)) from None
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def _records(self) -> Iterator[tuple[int, str]]:
        """Yield rows, each with the number of its first line; line breaks within quotes stay."""
        text, position, line = self._text, 0, 1
        while position < len(text):
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            if '"' in text[position:end]:
                end = self._end_of_record(position)
            yield line, text[position:end]
            line += text.count("\n", position, end) + 1
            position = end + 1

    def _end_of_record(self, position: int) -> int:
        text, ends = self._text, re.compile(f"[{re.escape(self._delimiter)}\n]")
        while True:
            if text[position : position + 1] == '"':
                cell = QUOTED.match(text, position)
                if cell is None:
                    raise self._error("this quote is not closed", text, position)
                position = cell.end()
            found = ends.search(text, position)
            if found is None:
                return len(text)
            if found[0] == "\n":
                return found.start()
            position = found.end()

    def _check_delimiter(self, line: int, text: str) -> None:
        mark = other_separator(text, self._delimiter)
        if mark is None or (mark == " " and self._has_one_column()):
            return
        written = '"\\t"' if mark == "\t" else f"'{mark}'"
        message = f"the cells are separated by {SEPARATORS[mark]}"
        expected = SEPARATORS.get(self._delimiter, quoted(self._delimiter))
        if self._configured:
            message += f"; write data.delimiter: {written}, or save the table with {expected}"
        else:
            message += f", those of the training by {expected}; save the table so"
        raise self._error(message, text, text.index(mark), line)

    def _has_one_column(self) -> bool:
        """Return whether a header with blanks is one name, as there are none between values."""
        _, *values = [line.strip() for line in self._text.split("\n") if line.strip()]
        return self._header and not any(" " in line for line in values)

    def _check_header(self, header: Sequence[str], row: Row) -> None:
        """Refuse columns that cannot be told apart."""
        seen = {""}
        for name, start in zip(header, cell_starts(row.text, self._delimiter), strict=True):
            if name not in seen:
                seen.add(name)
                continue
            if mostly_numbers(header):
                more = "; write data.header: false" if self._configured else ""
                raise self._error(NO_HEADER + more, line=row.line)
            message = f"a second column is called {quoted(name)}; rename one"
            message = message if name else "the column has no name; give it one, or remove it"
            raise self._error(message, row.text, start, row.line)


def read_csv(
    path: Path, delimiter: str = ",", header: bool = True, configured: bool = True
) -> CsvFile:
    """Return the table in a file.

    Args:
        path: the file, in UTF-8.
        delimiter: what stands between cells.
        header: whether the first line holds the names of the columns.
        configured: whether a configuration says how, which messages then refer to.

    Raises:
        OSError: if the file cannot be read.
        ConfigError: if it is not a table; blank lines are passed over.
    """
    return Table(path, delimiter, header, configured).read()


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as comma-separated values; numbers as short as they can be read back."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
