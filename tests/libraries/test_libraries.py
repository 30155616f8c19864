"""Libraries built on PyTorch print with nanotorch what they print with PyTorch.

Each program needs its library, without PyTorch; those that are not installed are skipped.
"""

import importlib.metadata
import json
import runpy
import sys
from pathlib import Path

import pytest

from tests.programs.test_programs import assert_alike

HERE = Path(__file__).parent
KNOWN: dict[str, list[str]] = json.loads(
    (HERE.parent / "golden" / "libraries.json").read_text("utf-8")
)
SCRIPT = runpy.run_path(str(HERE.parents[1] / "scripts" / "libraries.py"))


def test_every_program_is_known() -> None:
    assert {path.stem.removesuffix("_") for path in HERE.glob("*_.py")} == set(KNOWN)


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_a_library(name: str) -> None:
    path = HERE / f"{name}_.py"
    try:
        importlib.metadata.distribution(SCRIPT["described"](path)[0])
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed")
    lines, error = SCRIPT["run"](sys.executable, path, ours=True)
    assert not error
    for actual, expected in zip(lines, KNOWN[name], strict=True):
        assert_alike(actual, expected)
