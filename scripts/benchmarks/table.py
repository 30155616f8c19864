"""The figures as text: tables for the terminal, for the docs and for the README."""

import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from benchmarks.measuring import Row
from benchmarks.workloads import NANOTORCH

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
TITLES = {
    "steps": "one training step",
    "chains": "one training step through a chain of operations",
    "loader": "one epoch, 10,000 x 20 in batches of 32",
    "ops": "one operation on 8 x 8",
    "import": "import in a fresh process",
    "memory": "resident memory in a fresh process",
}
IN_DOCS = ("add", "add, grad")  # of the single operations
# The rows of the README.
IN_README = {
    "funcmin": "a function of two variables",
    "linreg 32x10": "linear regression, 32 x 10",
    "BCE 2-16-16-1": "network 2-16-16-1, 64 samples",
    "MLP 64-128-10": "network 64-128-10, 64 samples",
    "MLP 784-256-128-10": "network 784-256-128-10, 64 samples",
}
ONE_THREAD, COMPILED = "torch, 1 thread", "compiled"
LABEL = 42


def figure(value: float, unit: str) -> str:
    """A time or an amount of memory, three digits and its unit."""
    if unit == "MB":
        return f"{value:.1f} MB"
    for limit, divisor, name in ((1e3, 1, "µs"), (1e6, 1e3, "ms")):
        if value < limit:
            return f"{digits(value / divisor)} {name}"
    return f"{digits(value / 1e6)} s"


def digits(value: float) -> str:
    """Three significant digits, two after the point at most."""
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def ratio(row: Row, who: str) -> str:
    """The ratio of a figure to nanotorch's; the figure itself in absolute rows."""
    figures = row["figures"]
    if who not in figures or NANOTORCH not in figures:
        return ""
    if row.get("absolute"):
        return f"{figures[who]['median']:+.1f}"
    return digits(figures[who]["median"] / figures[NANOTORCH]["median"])


def own(row: Row) -> str:
    """Nanotorch's figure."""
    if NANOTORCH not in row["figures"]:
        return ""
    if row.get("absolute"):
        return f"{ratio(row, NANOTORCH)} {row['unit']}"
    return figure(row["figures"][NANOTORCH]["median"], row["unit"])


def both(row: Row, who: str) -> str:
    """Median and minimum."""
    if who not in row["figures"]:
        return ""
    found = row["figures"][who]
    if row["unit"] == "MB":
        return figure(found["median"], "MB")
    return f"{figure(found['median'], 'us')} / {figure(found['min'], 'us')}"


def columns(rows: list[Row], names: list[str]) -> list[str]:
    """The candidates that have figures, in the order of ``names``."""
    found = {who for row in rows for who in row["figures"]}
    return [who for who in names if who in found]


def lines(
    rows: list[Row], names: list[str], width: int, cells: Callable[[Row], list[str]]
) -> Iterator[str]:
    """A table with one block per group; a comma splits a name in its head into two lines."""
    split = [name.split(", ") for name in names]
    for line in zip(*((["", *name] if len(name) == 1 else name) for name in split), strict=True):
        yield f"{'':{LABEL}}" + "".join(f"{part:>{width}}" for part in line)
    for group, members in groupby(rows, lambda row: row["group"]):
        yield TITLES[group]
        for row in members:
            texts = "".join(f"{text:>{width}}" for text in cells(row))
            yield f"  {row['name']:{LABEL - 2}}{texts}".rstrip()


def ratios(rows: list[Row], names: list[str]) -> str:
    """The table of the terminal."""
    others = [who for who in columns(rows, names) if who != NANOTORCH]

    def cells(row: Row) -> list[str]:
        return [own(row), *(ratio(row, who) for who in others)]

    return "\n".join(
        [
            "How many times as much as nanotorch the others take: above 1, nanotorch is better.",
            *lines(rows, [NANOTORCH, *others], 10, cells),
            *(note for row in rows for note in row["notes"]),
        ]
    )


def times(rows: list[Row], names: list[str]) -> str:
    """Medians and minima."""
    found = columns(rows, names)
    cells = lines(rows, found, 19, lambda row: [both(row, who) for who in found])
    return "\n".join(["Median / minimum.", *cells])


def markdown(rows: list[Row], names: list[str], about: dict[str, str]) -> str:
    """The table of the docs: nanotorch's figures, and the others' as multiples of them."""
    shown = [row for row in rows if row["group"] != "ops" or row["name"] in IN_DOCS]
    others = [who for who in columns(shown, names) if who != NANOTORCH]
    intro = f"On {about['machine']}, with {about['versions']}."
    text = [
        textwrap.fill(intro, 120, break_on_hyphens=False),
        "",
        "| | " + " | ".join([NANOTORCH, *others]) + " |",
        "| --- |" + " ---: |" * (len(others) + 1),
    ]
    for row in shown:
        if NANOTORCH not in row["figures"]:
            continue
        cells = [own(row), *(ratio(row, who) for who in others)]
        text.append(f"| {row['name']} | " + " | ".join(cells) + " |")
    return "\n".join(text)


def write(docs: Path, readme: Path, machine: str, table: str) -> None:
    """Put the table of a machine into the docs, and the ranges over all machines into the README.

    Raises:
        ValueError: if the README has no markers.
    """
    before, begin, rest = readme.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{readme} has no lines {BEGIN} and {END} to put the table between")
    heading, *sections = re.split(r"^## ", docs.read_text("utf-8"), flags=re.MULTILINE)
    by_machine = dict(section.split("\n", 1) for section in sections)
    by_machine[machine] = f"\n{table}\n"
    parts = [heading, *(f"## {name}\n{body}" for name, body in by_machine.items())]
    text = "\n\n".join(part.rstrip() for part in parts) + "\n"
    docs.write_text(text, "utf-8")
    readme.write_text("\n".join([before + BEGIN, ranges(text), END + after]), "utf-8")


def ranges(docs: str) -> str:
    """The table of the README, from those of the docs: the range of each row."""
    found: dict[str, list[dict[str, str]]] = {name: [] for name in IN_README}
    head: list[str] = []
    for line in docs.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if NANOTORCH in cells:
            head = cells
        elif cells[0] in found:
            found[cells[0]].append(dict(zip(head, cells, strict=True)))
    text = [
        "| one training step | nanotorch | PyTorch takes | beside `torch.compile` |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, rows in found.items():
        times = [float(row[ONE_THREAD]) for row in rows]
        compiled = [n / float(row[COMPILED]) for n, row in zip(times, rows, strict=True)]
        own = sorted({row[NANOTORCH] for row in rows}, key=seconds)
        text.append(
            f"| {IN_README[name]} | {' to '.join(dict.fromkeys((own[0], own[-1])))} "
            f"| {between(times)} times as long | {between(compiled)} times |"
        )
    return "\n".join(text)


def seconds(shown: str) -> float:
    """The seconds of a time such as `24.8 µs`."""
    figure, unit = shown.split()
    return float(figure) * {"µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def between(figures: list[float]) -> str:
    """The least and the most of some ratios, two digits each."""
    ends = [f"{figure:.{0 if figure >= 9.95 else 1}f}" for figure in (min(figures), max(figures))]
    return " to ".join(dict.fromkeys(ends))
