"""`out=` as PyTorch has it."""

import inspect
from typing import Any

import pytest

import nanotorch as torch
from tests.answers import Situation, assert_same, golden, told
from tests.core.casebook import situations

SITUATIONS, ANSWERS = situations("out"), golden("out")


@pytest.mark.parametrize("name", SITUATIONS)
def test_as_pytorch(name: str) -> None:
    ask: Situation = SITUATIONS[name]
    answer: Any = told(ask(torch))
    assert_same(answer, ANSWERS[name], name)


def test_help_tells_of_it() -> None:
    assert inspect.signature(torch.add).parameters["out"].default is None
    assert "out" not in inspect.signature(torch.Tensor.add).parameters
