"""Nanotorch in situations to which PyTorch's answers are known."""

import warnings
from typing import Any

import pytest

import nanotorch as torch
from tests.answers import Situation, assert_same, golden, situations, told
from tests.tolerances import TERMS


def as_pytorch(name: str, depth: float = 1, terms: int = TERMS) -> Any:
    """A test for every situation of a file: the answer is PyTorch's.

    Args:
        depth, terms: of the networks and trainings in them, as `rounding` takes them.
    """
    known = golden(name)
    pairs = [pytest.param(ask, known[key], id=key) for key, ask in situations(name).items()]

    @pytest.mark.parametrize(("ask", "expected"), pairs)
    def test(ask: Situation, expected: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as when PyTorch was asked; `warned` sees them all
            answer = told(ask(torch))
        assert_same(answer, expected, depth=depth, terms=terms)

    return test
