"""Nanotorch in the situations of a folder."""

import json
from typing import Any

import pytest

import nanotorch
from tests.autograd.casebook import situations
from tests.core.casebook import GOLDEN, Situation, told


def as_pytorch(*names: str, folder: str = "autograd") -> Any:
    """A test for every situation of these files: the answer is PyTorch's."""
    pairs = []
    for name in names:
        answers = json.loads((GOLDEN / f"{folder}_{name}.json").read_text("utf-8"))
        known = situations(name, folder)
        pairs += [pytest.param(ask, answers.get(key), id=key) for key, ask in known.items()]

    @pytest.mark.parametrize(("ask", "answer"), pairs)
    def test(ask: Situation, answer: Any) -> None:
        assert told(ask(nanotorch)) == answer

    return test
