"""`out=` as PyTorch has it."""

import inspect
from typing import Any

import pytest

import nanotorch as torch
from tests.answers import Situation, assert_same, golden, told
from tests.core.casebook import situations

FILES = ("out", "out_functions", "out_layout", "out_memory")
SITUATIONS = {name: ask for file in FILES for name, ask in situations(file).items()}
ANSWERS = {name: answer for file in FILES for name, answer in golden(file).items()}


@pytest.mark.parametrize("name", SITUATIONS)
def test_as_pytorch(name: str) -> None:
    ask: Situation = SITUATIONS[name]
    answer: Any = told(ask(torch))
    assert_same(answer, ANSWERS[name], name)


def test_help_tells_of_it() -> None:
    assert inspect.signature(torch.add).parameters["out"].default is None
    assert "out" not in inspect.signature(torch.Tensor.add).parameters


def test_the_warning_of_another_shape_names_the_users_line() -> None:
    out = torch.zeros(7)
    with pytest.warns(UserWarning, match="resized") as caught:
        torch.logaddexp2(torch.ones(3), torch.ones(3), out=out)
    assert caught[0].filename == __file__


def test_memory_that_numpy_shares_does_not_grow_behind_it() -> None:
    base = torch.arange(2.0)
    part, array = base[:1], base.numpy()
    for shared in (base, part, torch.from_numpy(array)):
        with pytest.raises(RuntimeError, match="storage that is not resizable"):
            shared.resize_(9)
    assert base.shape == (2,)
    assert array.tolist() == [0, 1]
    assert torch.empty(0).resize_(2, 3).shape == (2, 3)
