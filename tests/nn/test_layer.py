"""Layers declared by their options have methods as if they were written out."""

import inspect

import pytest

import nanotorch as torch
from nanotorch import nn


def test_options_are_the_arguments_of_the_constructor() -> None:
    assert str(inspect.signature(nn.LeakyReLU)) == (
        "(negative_slope: float = 0.01, inplace: bool = False) -> None"
    )
    made = nn.LeakyReLU(0.5)
    assert (made.negative_slope, made.inplace) == (0.5, False)
    assert made(torch.tensor([-2.0, 2.0])).tolist() == [-1.0, 2.0]
    assert not hasattr(nn.LeakyReLU, "negative_slope")
    with pytest.raises(TypeError, match=r"^Threshold.__init__\(\) missing 2 required"):
        nn.Threshold()
    with pytest.raises(TypeError, match=r"^GaussianNLLLoss.__init__\(\) takes 1 positional"):
        nn.GaussianNLLLoss(True)
    with pytest.raises(TypeError, match=r"^ReLU.forward\(\) missing 1 required"):
        nn.ReLU()()
