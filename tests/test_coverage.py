"""The table of what nanotorch has of PyTorch tells what is there."""

import importlib.util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def script() -> Any:
    """The module `scripts/coverage.py`."""
    spec = importlib.util.spec_from_file_location("coverage_table", ROOT / "scripts/coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_up_to_date() -> None:
    written = (ROOT / "nanotorch" / "COVERAGE.md").read_text("utf-8")
    assert written == script().table(), "run `python scripts/coverage.py`"


def test_names_are_told_apart() -> None:
    sorted_names = script().sorted_names
    found = sorted_names({"nn": ["Linear", "SyncBatchNorm", "Nothing"]}, "nn")
    assert found.pop("present") == ["Linear"]
    assert found.pop("not yet") == ["Nothing"]
    ((why, names),) = found.items()
    assert "one process" in why
    assert names == ["SyncBatchNorm"]
    assert sorted_names({"nope": ["x"]}, "nope") == {"not yet": ["x"]}
