"""Layers declared by their options have methods as if they were written out; their tables."""

import inspect
from xml.etree import ElementTree

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
    with pytest.raises(TypeError, match=r"^PixelShuffle.__init__\(\) missing 1 required"):
        nn.PixelShuffle()
    with pytest.raises(TypeError, match=r"^GaussianNLLLoss.__init__\(\) takes 1 positional"):
        nn.GaussianNLLLoss(True)
    with pytest.raises(TypeError, match=r"^ReLU.forward\(\) missing 1 required"):
        nn.ReLU()()


def test_a_notebook_shows_a_table_of_modules_and_parameters() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(()))
            self.inner = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Hardtanh(0.1, 20))

        def extra_repr(self) -> str:
            return "a < b"

    table = ElementTree.fromstring(Scaled()._repr_html_())
    rows = [[cell.text or "" for cell in row] for row in table]
    assert rows == [
        ["module", "layer", "parameters", "elements"],
        ["", "Scaled(a < b)", "factor []", "1"],
        ["inner", "Sequential()", "", ""],
        ["inner.0", "Linear(in_features=2, out_features=3, bias=False)", "weight [3, 2]", "6"],
        ["inner.1", "Hardtanh(min_val=0.1, max_val=20)", "", ""],
        ["all", "", "", "7"],
    ]


def test_means_of_neighbouring_channels_of_integers_are_whole_as_in_pytorch() -> None:
    x = torch.arange(24).reshape(2, 4, 3)
    out = nn.functional.local_response_norm(x, 2, 1.0, 1.0, 0.0)
    assert out.dtype == torch.float32
    assert out[1, 1].tolist() == pytest.approx([15 / 184, 16 / 212, 17 / 242])
    for dtype in (torch.int32, torch.bool):
        with pytest.raises(NotImplementedError, match="avg_pool2d"):
            nn.functional.local_response_norm(x.to(dtype), 2)
    for size in (0, -2):
        with pytest.raises(RuntimeError, match="size must be greater than zero"):
            nn.functional.local_response_norm(x.float(), size)
