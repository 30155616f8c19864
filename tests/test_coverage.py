"""The table of what nanotorch has of PyTorch tells what is there."""

import json
import re
import runpy
from functools import reduce
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nanotorch as torch
from nanotorch._core.dtypes import AbsentDtype
from nanotorch.names.scope import REASONS

ROOT = Path(__file__).parents[1]


def script() -> Any:
    """What `scripts/coverage.py` defines."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "scripts/coverage.py")))


def test_the_table_is_up_to_date() -> None:
    written = (ROOT / "nanotorch" / "COVERAGE.md").read_text("utf-8")
    assert written == script().table(), "run `python scripts/coverage.py`"


def test_every_name_is_present_or_out_of_scope() -> None:
    tables = json.loads((ROOT / "tests" / "golden" / "names.json").read_text("utf-8"))
    places = script().PLACES
    missing = {place: script().sorted_names(tables, place).get("not yet", []) for place in places}
    assert {place: names for place, names in missing.items() if names} == {}
    assert {"nn.functional", "utils.data", "nn.utils"} <= set(places)


def test_nothing_that_is_there_is_named_as_out_of_scope() -> None:
    known = json.loads((ROOT / "tests" / "golden" / "names.json").read_text("utf-8"))
    listed = [name for reason in REASONS for name in reason.names.split()]
    exact = [name for name in listed if not set(name) & set("\\*+?[")]
    wrong = []
    for place, names in known.items():
        here: Any = reduce(lambda a, b: getattr(a, b, None), filter(None, place.split(".")), torch)
        for name in names:
            value = getattr(here, name, None)
            outside = isinstance(value, ModuleType) and not value.__name__.startswith("nano")
            if value is None or outside or isinstance(value, AbsentDtype):
                continue
            dotted = f"{place or 'torch'}.{name}"
            wrong += [dotted for e in exact if re.fullmatch(e, dotted if "." in e else name)]
    assert wrong == []
    assert "SyncBatchNorm" in exact


def test_names_are_told_apart() -> None:
    sorted_names = script().sorted_names
    found = sorted_names({"nn": ["Linear", "SyncBatchNorm", "Nothing"]}, "nn")
    assert found.pop("present") == ["Linear"]
    assert found.pop("not yet") == ["Nothing"]
    ((why, names),) = found.items()
    assert "one process" in why
    assert names == ["SyncBatchNorm"]
    assert sorted_names({"nope": ["x"]}, "nope") == {"not yet": ["x"]}
