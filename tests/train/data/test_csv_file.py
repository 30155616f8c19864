"""Tables: what is read, and where what is wrong stands."""

import os
from pathlib import Path

import numpy as np
import pytest

from nanotorch.train.config.sections import ConfigError, shown_path
from nanotorch.train.data.csv_file import (
    FILL,
    MOST_COLUMNS,
    NO_HEADER,
    CsvFile,
    read_csv,
    read_with_places,
)
from tests.train.examples import refusal_of


def write(text: str | bytes) -> Path:
    path = Path("t.csv")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


refusal = refusal_of(lambda text: read_csv(write(text)).numbers("a"))


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n-3.5e1,x\n",
        "\ufeffa,b\r\n1,2\r\n\r\n-35,x",
        ' a ,"b"\n" 1 ",2\n-3.5e+1,"x,y"\n\n',
        '"a","b ""q"""\n+1.,2\n-35,\n'.replace('"b ""q"""', "b"),
    ],
)
def test_a_table_is_read(text: str) -> None:
    table = read_csv(write(text))
    assert list(table.header) == ["a", "b"]
    np.testing.assert_array_equal(table.numbers("a"), [1, -35])
    assert table.texts("b")[0] == "2"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quoted_cells_may_have_line_breaks(end: str) -> None:
    text = f'a,b{end}1,"u{end}v ""w"", x"{end}{end}2,5" pipe{end}'
    table = read_csv(write(text))
    assert table.texts("b") == ['u\nv "w", x', '5" pipe']
    assert [row.line for row in table.rows] == [2, 5]
    # The name of the only column may have blanks.
    table = read_csv(write(f"living area{end}1{end}{end} 2 {end}"))
    assert list(table.header) == ["living area"]
    np.testing.assert_array_equal(table.numbers("living area"), [1, 2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\nx,4\n", "t.csv:3:1: column 'a': 'x' is not a number"),
        ("b,a\n1,2\n3, y\n", "t.csv:3:3: column 'a': 'y' is not a number"),
        ('b,a\n"1,5",1_0\n', "t.csv:2:7: column 'a': '1_0' is not a number"),
        ('b,a\n1,"2,5"\n',
         "t.csv:2:3: column 'a': '2,5' is not a number; write a decimal point, and no commas"),
        ("b,a\n1,\n", f"t.csv:2:3: column 'a': is empty; {FILL}"),
        ("a\nnan\n", f"t.csv:2:1: column 'a': 'nan' is a missing value; {FILL}"),
        ("a\n1\n-inf\n", "t.csv:3:1: column 'a': '-inf' is not a number"),
        ("a\n1e999\n", "t.csv:2:1: column 'a': '1e999' is too large"),
        ("a\n٣\n", "t.csv:2:1: column 'a': '٣' is not a number"),
        ("a,b\n\n1,2,3\n", "t.csv:3:1: has 3 cells, but the header has 2"),
        ("a,b\n1\n", "t.csv:2:1: has 1 cell, but the header has 2"),
        ("a,b,a\n1,2,3\n", "t.csv:1:5: two columns are called 'a'; rename one"),
        ("a,,b\n1,2,3\n", "t.csv:1:3: the column has no name; give it one, or remove it"),
        (",a,b\n0,2,3\n", "t.csv:1:1: the column has no name; give it one, or remove it (pandas: "
         "index=False)"),
        ('a\n"1\n', "t.csv:2:1: this quote is not closed"),
        ('b,a\n"u\nv",1\nw,"2\n3,4\n', "t.csv:4:3: this quote is not closed"),
        ('b,a\n"u\nv",x\n', "t.csv:3:4: column 'a': 'x' is not a number"),
        ('a\n"1"2\n', "t.csv:2:1: not comma-separated values: ',' expected after '\"'"),
        *(
            (text, f"t.csv:{place}: the cells are separated by {name}s; write data.delimiter: "
             f"{mark}, or save the table with commas")
            for text, place, name, mark in [
                ("a;b\n1;2\n", "1:2", "semicolon", "';'"), ("a|b\n1|2\n", "1:2", "bar", "'|'"),
                ("a b\n1 2\n", "1:2", "space", "' '"), ("\nab\tc\n1\t2\n", "2:3", "tab", '"\\t"'),
                ('"a,c";"b"\n"1,5";2\n', "1:6", "semicolon", "';'"),
            ]
        ),
        ("1.5,1.5,x\n1,2,y\n", f"t.csv:1:1: {NO_HEADER}; write data.header: false"),
        ("1.5,,2\n1,2,3\n", f"t.csv:1:1: {NO_HEADER}; write data.header: false"),
        ("a,b\n", "t.csv:1:1: needs a header and at least one line of values under it"),
        ("a\n", "t.csv:1:1: needs a header and at least one line of values under it"),
        ("", "t.csv:1:1: needs a header and at least one line of values under it"),
        # Each wrong cell is named, but a column of something else is one mistake.
        ("a\n1\nx\n2\ny\n", "t.csv:3:1: column 'a': 'x' is not a number\n"
         "t.csv:5:1: column 'a': 'y' is not a number"),
        ("a\nu\nv\nw\nx\ny\n", "t.csv:2:1: column 'a': 'u' is not a number (and 4 more cells)"),
        ('a\n"1,5"\n"2,5"\n"3,5"\n"4,5"\n', "t.csv:2:1: column 'a': '1,5' is not a number (and 3 "
         "more cells); write a decimal point, and no commas"),
        ("a\n" + "1e999\n" * 5, "t.csv:2:1: column 'a': '1e999' is too large (and 4 more cells)"),
        (b"a\n1\n\xff\n", "t.csv:3:1: is not text in UTF-8 (byte 0xff); save it as UTF-8"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(text: str | bytes, message: str) -> None:
    assert refusal(text) == message


def test_paths_are_shown_from_here(tmp_path: Path) -> None:
    assert shown_path(tmp_path / "a" / "b.csv") == str(Path("a") / "b.csv")
    assert shown_path(tmp_path.parent / "c.csv") == str(tmp_path.parent / "c.csv")


def test_what_has_no_end_is_no_table() -> None:
    os.truncate(write(""), 2**40)
    told = refusal_of(read_csv, OSError)
    assert "has more than 1,000,000,000 bytes" in told(Path("t.csv"))
    if Path("/dev/zero").exists():
        assert "is a device or a pipe, not a file" in told(Path("/dev/zero"))


def test_very_many_columns() -> None:
    count = MOST_COLUMNS
    text = ",".join(f"c{number}" for number in range(count + 1))
    assert refusal(f"{text}\n") == (
        f"t.csv:1:1: has {count + 1:,} cells; a table has at most {count:,} columns"
    )
    header, row = text.rpartition(",")[0], f"{'1,' * (count - 1)}1\n"
    assert read_csv(write(f"{header}\n{row}")).texts(f"c{count - 1}") == ["1"]
    again = f"{header.rpartition(',')[0]},c7"
    assert "two columns are called 'c7'" in refusal(f"{again}\n{row}")


CELLS = ["1", "-2.5e3", " 7", "+.5 ", "1.", "1e-400", "0.1", "123456789.123456789"]
ODD = [
    "", " ", "NA", "n/a", "NaN", "?", "null", "x", "1_0", "inf", "-nan", "0x1", "1e999", "٣", "1 2",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_quick_and_careful_reading_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    odd = random.choice(ODD, 3) if seed % 2 else [""]
    share = [0, 0.02, 0.3][seed % 3]
    rows = [
        [str(random.choice(odd if random.random() < share else CELLS)) for _ in range(3)]
        for _ in range(30)
    ]
    end = ["\n", "\r\n", "\r"][seed % 3]
    lines = ["a;b;c", *(";".join([*row[:2], row[2] * (seed % 5 > 0) or "u"]) for row in rows)]
    path = write(end.join([*lines[:9], "", *lines[9:]]))
    quick = read_csv(path, ";", named=["c"])
    names, read = read_with_places(path, ";", header=True, configured=True)
    careful = CsvFile("t.csv", names, len(read), lambda: read, ";")
    assert list(quick.header) == list(careful.header)
    for missing in (False, True):
        for column in "ab":
            assert read_as(quick, column, missing) == read_as(careful, column, missing)
    assert quick.texts("c") == careful.texts("c")
    for columns in ("a", "abc"):
        without = quick.without(columns), careful.without(columns)
        assert without[0].count == without[1].count == len(without[0].rows)
        assert without[0].texts("c") == without[1].texts("c")
        assert read_as(without[0], "b", True) == read_as(without[1], "b", True)


def read_as(table: CsvFile, column: str, missing: bool) -> bytes | str:
    """What the numbers of a column are, to the bit, or what is said of them."""
    try:
        return table.numbers(column, missing).tobytes()
    except ConfigError as error:
        return str(error)


def test_numbers_names_and_holes_are_read_quickly() -> None:
    blocks = "".join(f'{i},{i / 7!r},"town, {i % 3}",{"" if i % 5 else i}\n' for i in range(10_000))
    table = read_csv(write(f'"a",b,c,d\n{blocks}'), named=["a"])
    assert (set(table.floats), set(table.words)) == ({"b", "d"}, {"a", "c"})
    assert table.texts("a") == [str(i) for i in range(10_000)]
    assert table.numbers("b").tolist() == [i / 7 for i in range(10_000)]
    assert table.texts("c")[:4] == ["town, 0", "town, 1", "town, 2", "town, 0"]
    assert np.isnan(table.numbers("d", missing=True)).sum() == 8_000
    assert table.without(["d"]).numbers("d").tolist() == [*range(0, 10_000, 5)]
    with pytest.raises(ConfigError, match=r"t\.csv:3:\d+: column 'd': is empty \(and 7999 more"):
        table.numbers("d")
