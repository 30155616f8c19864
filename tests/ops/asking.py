"""Nanotorch asked the programs."""

import json
from typing import Any

import nanotorch as torch
from tests.answers import in_pytorchs_words
from tests.ops.programs import GOLDEN, Answer, answer, same, texts
from tests.several import each, in_parts


def as_pytorch(*names: str) -> Any:
    """A test of the programs in these files: the answers are PyTorch's."""
    known: dict[str, Answer] = {}
    for name in names:
        known |= json.loads((GOLDEN / f"programs_{name}.json").read_text("utf-8"))

    def check(program: str) -> None:
        told, expected = answer(torch, torch.nn.functional.linear, program), known[program]
        told = in_pytorchs_words(told, expected)
        assert same(told, expected), f"{told}\nis not\n{expected}"

    @in_parts([text for name in names for text in texts(name)], 50)
    def test(names: list[str]) -> None:
        each(names, check)

    return test
