"""Programs that the fuzzer found: nanotorch now does with them what PyTorch did."""

import copy
import json
from pathlib import Path
from typing import Any

import nanotorch
from tests.answers import in_pytorchs_words
from tests.core.fuzz_cases import CASES
from tests.core.programs import difference, outcome, untold
from tests.several import each, in_parts

KNOWN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "fuzz.json").read_text("utf-8")
)


def check(name: str) -> None:
    told = untold_of(outcome(nanotorch, CASES[name]))
    told["errors"] = in_pytorchs_words(told["errors"], KNOWN[name]["errors"])
    assert difference(untold(KNOWN[name]), told) is None


@in_parts(CASES, 25)
def test_as_pytorch(names: list[str]) -> None:
    each(names, check)


def untold_of(state: Any) -> Any:
    """A state with lists for tuples, as JSON gives it back."""
    if isinstance(state, dict):
        return {k: untold_of(v) for k, v in state.items()}
    return [untold_of(v) for v in state] if isinstance(state, (list, tuple)) else state


def test_a_difference_is_seen() -> None:
    each(CASES, check_control)


def check_control(name: str) -> None:
    """Each part of an outcome is compared."""
    expected = untold(KNOWN[name])
    for change in (
        lambda s: s["state"]["t0"].update(version=99),
        lambda s: s["state"]["t0"].update(values=s["state"]["t0"]["values"] + 1e-6),
        lambda s: s["errors"].append(None),
        lambda s: s["state"]["log"].append("more"),
    ):
        changed = copy.deepcopy(expected)
        change(changed)
        assert difference(expected, changed) is not None
