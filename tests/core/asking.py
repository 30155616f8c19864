"""Nanotorch in the situations of the casebook."""

from typing import Any

import pytest

import nanotorch as torch
from tests.answers import Situation, golden, told
from tests.core.casebook import situations


def as_pytorch(*names: str) -> Any:
    """A test for every situation of these files: the answer is PyTorch's."""
    known = {name: golden(name) for name in names}
    pairs = [
        pytest.param(ask, known[name].get(key), id=key)
        for name in names
        for key, ask in situations(name).items()
    ]

    @pytest.mark.parametrize(("ask", "answer"), pairs)
    def test(ask: Situation, answer: Any) -> None:
        assert told(ask(torch)) == answer

    return test
