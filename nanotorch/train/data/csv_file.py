"""Tables of comma-separated values; errors name the line and column of a cell."""

import contextlib
import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nanotorch.serialization.files import open_file, read_limited, size_of
from nanotorch.train.config.sections import (
    Problem,
    decode_text,
    did_you_mean,
    place_within,
    quoted,
    raise_all,
    refusal,
    shown_path,
)

Array = NDArray[np.float64]
Texts = NDArray[np.object_]

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
"""Delimiters that programs write, and their names in messages."""
NO_HEADER = "has values instead of column names"
MISSING = {"", "na", "n/a", "nan", "null", "?"}
"""The texts of cells without a value, in lower case."""
AS_NAN = {form: "nan" for text in MISSING for form in (text, text.upper(), text.title())}
QUOTED = re.compile(r'"(?:[^"]++|"")*+"')
LARGEST_TABLE = 1_000_000_000
MOST_COLUMNS = 100_000
QUOTED_MARK = "\x1f"
"""The replacement of a delimiter inside a quoted cell."""
BLOCK = 20_000
"""The number of lines that are read at once."""
MOST_WRONG = 3
"""The most wrong cells in a column that are reported one by one."""
DROP = "data.missing: drop leaves such rows out"
AS_TRAINED = "fill it in, or train with data.missing: mean"
FILL = "data.missing: mean fills in the column's mean, drop leaves the row out"
NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)


@dataclass(frozen=True)
class Row:
    """One row of a table: a line, or several if a quoted cell has line breaks."""

    line: int
    """The number of its first line in the file, from 1."""
    text: str
    cells: Sequence[str]


@dataclass(frozen=True)
class CsvFile:
    """The names of the columns and the rows; every row has one cell per column."""

    source: str
    header: Sequence[str]
    count: int
    """The number of rows."""
    read: Callable[[], Sequence[Row]]
    """Returns the rows with their lines in the file."""
    delimiter: str = ","
    configured: bool = True
    """Whether the user's configuration says how to read tables; messages then name its keys."""
    floats: Mapping[str, Array] = field(default_factory=dict)
    """The columns of numbers that NumPy has read; NaN is a missing value."""
    words: Mapping[str, Texts] = field(default_factory=dict)
    """The columns of texts that were read along with them."""

    @cached_property
    def rows(self) -> Sequence[Row]:
        """The rows; for a large table they need much time and memory."""
        return self.read()

    @cached_property
    def positions(self) -> dict[str, int]:
        """The index of each column."""
        return {name: index for index, name in enumerate(self.header)}

    def texts(self, column: str) -> list[str]:
        """Return the cells of a column, without surrounding blanks."""
        if column in self.words:
            return self.words[column].tolist()
        index = self.positions[column]
        return [row.cells[index].strip() for row in self.rows]

    def without(self, columns: Sequence[str]) -> "CsvFile":
        """Return the table without the rows that lack a value in any of `columns`."""
        whole = np.ones(self.count, dtype=bool)
        for column in columns:
            if column in self.floats:
                whole &= ~np.isnan(self.floats[column])
            else:
                whole &= [text.lower() not in MISSING for text in self.texts(column)]
        (kept,) = np.nonzero(whole)
        return replace(
            self,
            count=len(kept),
            read=lambda: [self.rows[index] for index in kept.tolist()],
            floats={name: numbers[kept] for name, numbers in self.floats.items()},
            words={name: texts[kept] for name, texts in self.words.items()},
        )

    def numbers(
        self,
        column: str,
        missing: bool = False,
        advice: str = FILL,
        known: Sequence[str] | None = None,
        unfit: str = "",
    ) -> Array:
        """Return the cells of a column as numbers, or their indices in `known`.

        Args:
            column: its name.
            missing: whether cells without a value become NaN; otherwise they are a mistake.
            advice: the advice in the message about such a mistake.
            known: the possible values of cells; None for numbers.
            unfit: the message about any other value.

        Raises:
            ConfigError: names every wrong cell, or the first of many.
        """
        found = self.floats.get(column) if known is None else None
        if found is not None and (missing or not np.isnan(found).any()):
            return found
        texts = self.texts(column)
        value = {text: float(index) for index, text in enumerate(known or ())}
        if known is None:
            value = {text: float(text) for text in {*texts} if NUMBER.fullmatch(text)}
        said = dict[str, tuple[str, str]]()
        """For each wrong text, the mistake and the advice."""
        for text in [text for text in {*texts} if not math.isfinite(value.get(text, math.nan))]:
            do = ""
            if text.lower() in MISSING:
                if missing:
                    continue
                wrong = f"{quoted(text)} is a missing value" if text else "is empty"
                do = f"; {advice if self.configured else AS_TRAINED}"
            elif known is not None:
                wrong = f"{quoted(text)} {unfit}"
                do = "" if self.configured else did_you_mean(text, known, of_data=True)
            elif text in value:
                wrong = f"{quoted(text)} is too large"
            else:
                wrong = f"{quoted(text)} is not a number"
                if NUMBER.fullmatch(text.replace(",", "")):
                    do = "; write a decimal point, and no commas"
                elif advice == DROP and not any(character.isdigit() for character in text):
                    do = "; experiment: classification predicts names"  # it is the target
            said[text] = wrong, do
        cells = zip(self.rows, texts, strict=True) if said else ()
        told = [(row, *said[text]) for row, text in cells if text in said]
        many = len(told) > MOST_WRONG
        more = f" (and {len(told) - 1} more cells)" if many else ""
        shown = told[:1] if many else told
        raise_all(self.problem(row, column, f"{wrong}{more}{do}") for row, wrong, do in shown)
        return np.array([value.get(text, math.nan) for text in texts], dtype=np.float64)

    def problem(self, row: Row, column: str, message: str) -> Problem:
        """Return the problem `message` about one cell, with its place."""
        starts = [*cell_starts(row.text, self.delimiter)]
        place = place_within(self.source, row.line, row.text, starts[self.positions[column]])
        return Problem(f"column {quoted(column)}", message, place)

    def in_order(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return the problems sorted: first those outside the table, then by line and column."""
        own = {p: p.place for p in problems if p.place and p.place.source == self.source}
        return sorted(problems, key=lambda p: (own[p].line, own[p].column) if p in own else (0, 0))


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


def mostly_numbers(cells: Sequence[str]) -> bool:
    """Return whether more than half of the cells are numbers."""
    return 2 * sum(bool(NUMBER.fullmatch(cell)) for cell in cells) > len(cells)


def read_csv(
    path: Path,
    delimiter: str = ",",
    header: bool = True,
    configured: bool = True,
    named: Sequence[str] = (),
) -> CsvFile:
    """Return the table in a file, without its blank lines.

    Args:
        path: the file, in UTF-8.
        delimiter: the character between cells.
        header: whether the first line holds the names of the columns.
        configured: whether the user's configuration says how to read it; messages name its keys.
        named: columns whose cells are names, even if they look like numbers.

    Raises:
        OSError: if the file cannot be read.
        ConfigError: if it is not a table.
    """
    read = partial(read_with_places, path, delimiter, header, configured)
    try:
        names, floats, words = read_fast(path, delimiter, header, named)
    except (ValueError, csv.Error):  # the slow reader knows more forms, and places of mistakes
        names, rows = read()
        return CsvFile(shown_path(path), names, len(rows), lambda: rows, delimiter, configured)
    count = len(next(iter([*floats.values(), *words.values()])))
    rest = delimiter, configured, floats, words
    return CsvFile(shown_path(path), names, count, lambda: read()[1], *rest)


def read_fast(
    path: Path, delimiter: str, header: bool, named: Sequence[str]
) -> tuple[list[str], dict[str, Array], dict[str, Texts]]:
    """Return the names of the columns, the columns of numbers, and those of texts.

    NumPy reads the numbers. `read_with_places` reads the tables that this function refuses.

    Raises:
        ValueError: for any mistake, a line break in a cell, or a single column.
        csv.Error: if a quote is not closed in its line.
    """
    blocks, columns = list[Array](), list[int]()
    texts: dict[int, list[str]] = {}
    known: dict[str, str] = {}  # so that equal texts share memory
    with open_file(path) as file, io.TextIOWrapper(file, "utf-8-sig") as whole:
        if size_of(file) > LARGEST_TABLE:
            raise ValueError
        lines = plain_lines(whole, delimiter)
        first = next(lines, "").split(delimiter)
        names = [cell.replace(QUOTED_MARK, delimiter).strip() for cell in first]
        if not header:
            names = [f"column{number}" for number in range(1, len(first) + 1)]
            lines = chain([delimiter.join(first)], lines)
        if not 1 < len(names) <= MOST_COLUMNS or len({*names} - {""}) < len(names):
            raise ValueError
        while block := [*islice(lines, BLOCK)]:
            if not blocks:
                for index, cell in enumerate(map(str.strip, block[0].split(delimiter))):
                    number = NUMBER.fullmatch(cell) or cell.lower() in MISSING
                    if names[index] in named or not number:
                        texts[index] = []
                columns = [index for index in range(len(names)) if index not in texts]
            blocks.append(block_of_numbers(block, delimiter, columns))
            for line in block if texts else ():
                cells = line.split(delimiter)
                for index, found in texts.items():
                    cell = cells[index].replace(QUOTED_MARK, delimiter).strip()
                    found.append(known.setdefault(cell, cell))
    numbers = np.concatenate(blocks)  # ValueError if there are none
    floats = {names[k]: numbers[:, i] for i, k in enumerate(columns)}
    return names, floats, {names[k]: np.array(found, object) for k, found in texts.items()}


def plain_lines(lines: Iterable[str], delimiter: str) -> Iterator[str]:
    """Yield the lines of a table without quotes and without blank lines.

    A delimiter inside quotes becomes a `QUOTED_MARK`.

    Raises:
        ValueError: if a line has another number of cells than the first, or a `QUOTED_MARK`.
        csv.Error: if a quote is not closed in its line.
    """
    count = None
    for whole in lines:
        if (line := whole).isspace():
            continue
        if '"' in line:
            cells = next(csv.reader([line], delimiter=delimiter, strict=True))
            line = delimiter.join([cell.replace(delimiter, QUOTED_MARK) for cell in cells])
        found = line.count(delimiter)
        count = found if count is None else count
        if found != count or (QUOTED_MARK in line and QUOTED_MARK in whole):
            raise ValueError
        yield line


def block_of_numbers(lines: Sequence[str], delimiter: str, columns: Sequence[int]) -> Array:
    """Return the numbers in `columns` of the lines, with NaN for cells without a value.

    Raises:
        ValueError: if a cell holds anything else.
    """
    if not columns:
        return np.empty((len(lines), 0))
    options: dict[str, Any] = {"delimiter": delimiter, "comments": None, "ndmin": 2}
    with contextlib.suppress(ValueError):
        numbers = np.loadtxt(lines, usecols=columns, **options)
        if np.isfinite(numbers).all():
            return numbers
    # A value is missing, or wrong.
    rows = [line.rstrip("\n").split(delimiter) for line in lines]
    filled = (delimiter.join([AS_NAN.get(cell, cell) for cell in cells]) for cells in rows)
    numbers = np.loadtxt(filled, usecols=columns, **options)
    for row, column in np.argwhere(~np.isfinite(numbers)):
        if rows[row][columns[column]].strip().lower() not in MISSING:
            raise ValueError
    return numbers


def read_with_places(
    path: Path, delimiter: str, header: bool, configured: bool
) -> tuple[list[str], list[Row]]:
    """Return the names of the columns and the rows of a table; errors name their places."""
    source, rows = shown_path(path), list[Row]()

    def error(message: str, line: int = 1, text: str = "", position: int = 0) -> Exception:
        return refusal("", message, place_within(source, line, text, position))

    def check_delimiter(line: int, text: str) -> None:
        bare = QUOTED.sub("", text.strip())
        mark = next((mark for mark in SEPARATORS if mark in bare), delimiter)
        # A header with blanks is one name if there are none between values.
        values = (inner for inner in lines[line:] if inner.strip())
        is_name = header and mark == " " and not any(" " in inner.strip() for inner in values)
        if delimiter in bare or mark == delimiter or is_name:
            return
        written = '"\\t"' if mark == "\t" else f"'{mark}'"
        message = f"the cells are separated by {SEPARATORS[mark]}"
        expected = SEPARATORS.get(delimiter, quoted(delimiter))
        if configured:
            message += f"; write data.delimiter: {written}, or save the table with {expected}"
        else:
            message += f", but the training data by {expected}; save the table like that"
        raise error(message, line, text, text.index(mark))

    text = decode_text(read_limited(path, LARGEST_TABLE), source, "; save it as UTF-8")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = [*io.StringIO(text, newline="\n")]
    reader = csv.reader(lines, strict=True, delimiter=delimiter)
    while (line := reader.line_num + 1) <= len(lines):
        if not rows and lines[line - 1].strip():
            check_delimiter(line, lines[line - 1])
        try:
            cells = next(reader)
        except csv.Error as problem:
            rest = "".join(lines[line - 1 :])
            for start in cell_starts(rest, delimiter):
                if rest[start : start + 1] == '"' and not QUOTED.match(rest, start):
                    raise error("this quote is not closed", line, rest, start) from None
            raise error(f"not comma-separated values: {problem}", line) from None
        row = Row(line, "".join(lines[line - 1 : reader.line_num]).removesuffix("\n"), cells)
        if not row.text.strip():
            continue
        if rows and len(cells) != len(rows[0].cells):
            before = "header" if header else "first line"
            count = f"{len(cells)} cell{'s' * (len(cells) > 1)}"
            raise error(f"has {count}, but the {before} has {len(rows[0].cells)}", line)
        if len(cells) > MOST_COLUMNS:
            message = f"has {len(cells):,} cells; a table has at most {MOST_COLUMNS:,} columns"
            raise error(message, line)
        rows.append(row)
    if len(rows) < 1 + header:
        more = "a header and at least one line of values under it"
        raise error(f"needs {more if header else 'at least one line of values'}")
    names = [f"column{number}" for number in range(1, len(rows[0].cells) + 1)]
    if header:
        first = rows.pop(0)
        names = [cell.strip() for cell in first.cells]
        seen = {""}
        for name, start in zip(names, cell_starts(first.text, delimiter), strict=True):
            if name not in seen:
                seen.add(name)
                continue
            if mostly_numbers(names):
                more = "; write data.header: false" if configured else ""
                raise error(NO_HEADER + more, first.line)
            message = f"two columns are called {quoted(name)}; rename one"
            if not name:
                message = "the column has no name; give it one, or remove it"
                message += "" if start else " (pandas: index=False)"
            raise error(message, first.line, first.text, start)
    return names, rows


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as comma-separated values; floats are the shortest texts that read back equal."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
