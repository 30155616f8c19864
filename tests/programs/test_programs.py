"""Programs written for PyTorch print with nanotorch what they print with PyTorch."""

import json
import re
from pathlib import Path

import pytest

from tests.several import PYTHON, ended

HERE = Path(__file__).parent
KNOWN: dict[str, list[str]] = json.loads(
    (HERE.parent / "golden" / "whole_programs.json").read_text("utf-8")
)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def output(name: str) -> list[str]:
    """The lines that a program prints when it is run by nanotorch."""
    code, shown, error = ended(PYTHON, "-W", "error", "-m", "nanotorch", f"{name}.py", cwd=HERE)
    assert (code, error) == (0, "")
    return shown.splitlines()


def assert_alike(actual: str, expected: str) -> None:
    """The same text; integers equal, other numbers up to three units of the last digit.

    Numbers that are printed follow hundreds of steps of single precision, in which the rounding
    of sums, which differs between machines, has grown.
    """
    assert NUMBER.sub("#", actual).split() == NUMBER.sub("#", expected).split()
    for a, e in zip(NUMBER.findall(actual), NUMBER.findall(expected), strict=True):
        if "." not in e:
            assert a == e, f"{actual!r} is not {expected!r}"
            continue
        digits, _, power = e.partition("e")
        unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
        tolerance = max(3.01 * unit, 1e-4 * abs(float(e)))
        assert abs(float(a) - float(e)) <= tolerance, f"{actual!r} is not {expected!r}"


def test_every_program_is_known() -> None:
    programs = {path.stem for path in HERE.glob("*.py") if not path.name.startswith("test_")}
    assert programs == set(KNOWN)


LONG = ("adversaries", "names", "polynomial", "reinforce", "waves")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in KNOWN]
)
def test_a_program(name: str) -> None:
    lines = output(name)
    for actual, expected in zip(lines, KNOWN[name], strict=True):
        assert_alike(actual, expected)


@pytest.mark.parametrize(
    "other", ["loss 0.5010, 3", "loss 0.5001, 4", "loss 0.5001", "Loss 0.5001, 3"]
)
def test_a_difference_is_seen(other: str) -> None:
    assert_alike("loss 0.5002, 3", "loss 0.5001, 3")
    with pytest.raises((AssertionError, ValueError)):
        assert_alike(other, "loss 0.5001, 3")
