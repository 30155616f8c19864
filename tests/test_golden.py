"""In every golden case nanotorch answers as PyTorch does."""

import json
import warnings
from typing import Any

import pytest

import nanotorch as torch
from tests.answers import (
    GOLDEN,
    Case,
    assert_same,
    cases,
    files,
    golden,
    in_pytorchs_words,
    leaves,
    module,
    own_words,
    told,
)

# Where numbers need to agree up to rounding only, and warnings are no answer. The depth and the
# number of terms of sums are the file's `ROUNDING`, as `tolerances.rounding` takes them.
ROUNDED = ("data", "distributions", "func", "nn", "optim", "program", "tensorboard")
CASES = [
    pytest.param(name, case, answer, id=f"{name}-{key}")
    for name in files()
    for answers in [golden(name)]
    for key, case in cases(name).items()
    for answer in [answers.get(key)]
]


@pytest.mark.filterwarnings("ignore:This overload", "ignore:Creating a tensor from a list")
@pytest.mark.parametrize(("name", "case", "expected"), CASES)
def test_answer_is_pytorchs(name: str, case: Case, expected: Any) -> None:
    rounding = getattr(module(name), "ROUNDING", None)
    if rounding is None and not name.startswith(ROUNDED):
        assert in_pytorchs_words(told(case(torch)), expected) == expected
        return
    with warnings.catch_warnings(
        action="ignore"
    ):  # as when PyTorch was asked; `warned` sees them all
        answer = told(case(torch))
    assert_same(in_pytorchs_words(answer, expected), expected, **rounding or {})


def test_every_file_has_cases_and_answers() -> None:
    for name in files():
        assert cases(name).keys() == golden(name).keys(), name
    assert sum(1 for name in files() for _ in leaves(golden(name))) > 10_000


def test_own_words_stand_for_refusals_of_pytorch() -> None:
    known = "".join(path.read_text("utf-8") for path in GOLDEN.glob("*.json"))
    for text in own_words():
        assert known.count(json.dumps(text)[1:-1]) > 1, f"{text}: no golden answer"
    refusal = {"a": ["RuntimeError: no"]}
    assert in_pytorchs_words(refusal, {"a": ["RuntimeError: yes"]}) == refusal


def test_another_answer_is_seen() -> None:
    expected = {"numbers": [1.0, 2.0], "dtype": "float32", "shape": [2]}
    assert_same({"numbers": [1.0, 2.0 + 1e-7], "dtype": "float32", "shape": [2]}, expected)
    for answer in ([1.0, 2.001], [1.0, float("nan")], [1.0, 2]):
        with pytest.raises(AssertionError):
            assert_same({"numbers": answer, "dtype": "float32", "shape": [2]}, expected)
    for answer in ({"a": 1}, {"a": True, "b": 1.0}, {"a": 1, "b": 1.01}):
        with pytest.raises(AssertionError):
            assert_same(answer, {"a": 1, "b": 1.0})
