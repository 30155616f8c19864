"""Nanotorch asked the programs."""

import json
from typing import Any

import pytest

import nanotorch as torch
from tests.ops.programs import GOLDEN, Answer, answer, same, texts


def as_pytorch(*names: str) -> Any:
    """A test for every program of these files: the answer is PyTorch's."""
    pairs = []
    for name in names:
        known = json.loads((GOLDEN / f"programs_{name}.json").read_text("utf-8"))
        pairs += [pytest.param(text, known.get(text), id=text) for text in texts(name)]

    @pytest.mark.parametrize(("program", "expected"), pairs)
    def test(program: str, expected: Answer | None) -> None:
        told = answer(torch, torch.nn.functional.linear, program)
        assert same(told, expected), f"{told}\nis not\n{expected}"

    return test
