"""Printed tensors are PyTorch's, character for character: see `scripts/golden/printing.py`."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nanotorch._core.layout import format_tensor, get_printoptions, printoptions, set_printoptions
from tests.several import each

GOLDEN = Path(__file__).parents[1] / "golden" / "printing.json"
CASES: list[dict[str, Any]] = json.loads(GOLDEN.read_text())


@pytest.fixture(autouse=True)
def _default_options() -> Iterator[None]:
    yield
    set_printoptions(profile="default")


def array_of(case: dict[str, Any]) -> np.ndarray:
    """The array of a golden case; without values, the `arange` that the case stands for."""
    shape, dtype = case["shape"], case["dtype"]
    if "values" in case:
        return np.array(case["values"], dtype).reshape(shape)
    array = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    return array / np.array(2.0, dtype) if dtype.startswith("float") else array


def check_text(case: dict[str, Any]) -> None:
    set_printoptions(profile="default")
    set_printoptions(**case["options"])
    default, suffixes, prefix = case["default_dtype"], case["suffixes"], case["prefix"]
    text = format_tensor(array_of(case), np.dtype(default), suffixes, prefix)
    assert text == case["text"]


def test_text_is_that_of_pytorch() -> None:
    each(CASES, check_text)


def test_extreme_ratio_does_not_overflow() -> None:
    values = np.array([5e-324, 1.7e308])
    expected = "tensor([4.9407e-324, 1.7000e+308], dtype=torch.float64)"
    assert format_tensor(values) == expected


def test_a_non_contiguous_array_prints_its_elements() -> None:
    array = np.arange(6).reshape(2, 3).T
    assert format_tensor(array) == format_tensor(array.copy())


def test_options_stay_until_given_and_sci_mode_does_not() -> None:
    set_printoptions(precision=2, sci_mode=True)
    set_printoptions(edgeitems=5)
    assert get_printoptions() == {
        "precision": 2, "threshold": 1000, "edgeitems": 5, "linewidth": 80, "sci_mode": None,
    }  # fmt: skip
    set_printoptions(profile="full", precision=1)
    assert get_printoptions()["threshold"] == math.inf
    assert get_printoptions()["precision"] == 1
    assert get_printoptions()["edgeitems"] == 3


def test_an_unknown_profile_changes_nothing() -> None:
    before = get_printoptions()
    set_printoptions(profile="fancy")
    assert get_printoptions() == before


def test_printoptions_restores_also_after_an_error() -> None:
    before = get_printoptions()

    def fail_inside() -> None:
        with printoptions(precision=1, sci_mode=True):
            assert format_tensor(np.array([2.5], np.float32)) == "tensor([2.5e+00])"
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        fail_inside()
    assert get_printoptions() == before
