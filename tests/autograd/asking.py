"""Nanotorch in the situations of a folder."""

from typing import Any

import pytest

import nanotorch as torch
from tests.answers import Situation, golden, told
from tests.autograd.casebook import situations


def as_pytorch(*names: str, folder: str = "autograd") -> Any:
    """A test for every situation of these files: the answer is PyTorch's."""
    pairs = []
    for name in names:
        answers = golden(f"{folder}_{name}")
        known = situations(name, folder)
        pairs += [pytest.param(ask, answers.get(key), id=key) for key, ask in known.items()]

    @pytest.mark.parametrize(("ask", "answer"), pairs)
    def test(ask: Situation, answer: Any) -> None:
        assert told(ask(torch)) == answer

    return test
