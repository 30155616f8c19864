"""Every path that a user can name, and everything that can be there instead of a file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nanotorch.train import cli
from tests.train.examples import CLASSIFICATION, REGRESSION, TABLE, outcome, write_example
from tests.train.test_damage import KINDS, no_hanging, posix
from tests.train.test_fuzz import TEXT

CSV = REGRESSION.replace("table.csv", "{}")
PARTS = REGRESSION.replace("target: y", "target: y\n  parts: {{validation: {}}}")
NPZ = REGRESSION.replace("csv: table.csv", "npz: {}\n  inputs: x")
NPY = REGRESSION.replace("csv: table.csv\n  target: y", "npy: {{x: {}, y: y.npy}}")
CHARACTERS = TEXT.replace("t.txt", "{}")
INHERIT = "inherit: [{}]\n" + CLASSIFICATION.replace("{", "{{").replace("}", "}}")


def checked(text: str) -> Callable[[str], tuple[int, str]]:
    """What checks a configuration that names a file."""

    def check(name: str) -> tuple[int, str]:
        Path("x.yaml").write_text(text.replace("{}", name).replace("{{", "{").replace("}}", "}"))
        return outcome(["--config", "x.yaml", "--check"])

    return check


def predicted(name: str) -> tuple[int, str]:
    write_example(Path())
    assert outcome(["--config", "x.yaml"])[0] == 0
    return outcome(["latest", name], cli.predict)


WAYS: dict[str, Callable[[str], tuple[int, str]]] = {
    "a configuration": lambda name: outcome(["--config", name, "--check"]),
    "an override": lambda name: (
        write_example(Path()),
        outcome(["--config", "x.yaml", f"data.csv={name}", "--check"]),
    )[1],
    "a base": checked(INHERIT),
    "a table": checked(CSV),
    "a table of a part": checked(PARTS),
    "an archive": checked(NPZ),
    "an array": checked(NPY),
    "a text": checked(CHARACTERS),
    "a module": lambda name: outcome(["--config", "x.yaml", "--check", "--import", name]),
    "a run to resume": lambda name: outcome(["--resume", name]),
    "runs to compare": lambda name: outcome([name], cli.compare),
    "a run to predict with": lambda name: outcome([name, "table.csv"], cli.predict),
    "a sweep's configuration": lambda name: outcome(["--config", name, "seed=1"], cli.sweep),
    "samples": predicted,
    "arrays of samples": predicted,
}
INSIDE = ("a base", "a table", "a table of a part", "an archive", "an array", "a text")
"""Where names stand in text in UTF-8."""
SUFFIXES = {
    "an archive": ".npz", "an array": ".npy", "arrays of samples": ".npz", "a module": ".py",
}  # fmt: skip


def refused(way: str, name: str) -> None:
    with no_hanging():
        code, errors = WAYS[way](name)
    assert code == 2, errors
    assert "Traceback" not in errors
    assert 0 < errors.count("\n") <= 3
    assert len(errors) < 1500


@posix
@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_there(way: str) -> None:
    write_example(Path())
    suffix = SUFFIXES.get(way, ".csv")
    for number, (kind, make) in enumerate(KINDS.items()):
        if way == "a module" and kind in ("an empty file", "a terabyte of nothing"):
            continue  # which are programs
        make(Path(f"file{number}{suffix}"))
        refused(way, f"file{number}{suffix}")


@pytest.mark.parametrize("way", WAYS)
def test_names_of_no_file(way: str) -> None:
    write_example(Path())
    suffix = SUFFIXES.get(way, ".csv")
    for name in (
        "x" * 5000 + suffix,
        "d/" * 2500 + suffix,
        "table.csv/x" + suffix,
        "none" + suffix,
    ):
        refused(way, name)
    if way not in INSIDE:
        refused(way, f"a\0b{suffix}")
        refused(way, f"\udcff{suffix}")
    assert Path("table.csv").read_text("utf-8") == TABLE
