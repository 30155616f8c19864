"""Compiled training steps of small convolutional networks beside the steps themselves."""

from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import array, compare

MODELS: dict[str, Callable[[], Any]] = {
    "two convolutions": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(6, 3),
    ),
    "same size": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3, padding="same"), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(64, 3),
    ),
    "strides and groups": lambda: nn.Sequential(
        nn.Conv2d(2, 4, 3, 2, 1, groups=2, padding_mode="reflect"), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
    ),
    "overlapping pools": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 1), nn.MaxPool2d(3, 2, 1), nn.AdaptiveMaxPool2d((2, 3)), nn.Flatten(),
        nn.Linear(18, 3),
    ),
    "there and back": lambda: nn.Sequential(
        nn.Conv2d(2, 3, 2, 2), nn.GELU(), nn.ConvTranspose2d(3, 2, 2, 2), nn.ZeroPad2d((0, -2)),
        nn.Upsample(scale_factor=0.5, mode="bilinear"), nn.Flatten(),
        nn.Linear(24, 3),
    ),
    "channels and space": lambda: nn.Sequential(
        nn.PixelUnshuffle(2), nn.Conv2d(8, 4, 3), nn.PixelShuffle(2),
        nn.ReplicationPad2d(1), nn.Flatten(), nn.Linear(36, 3),
    ),
    "signals": lambda: nn.Sequential(
        nn.Flatten(2), nn.Conv1d(2, 4, 3, dilation=2), nn.ReLU(), nn.MaxPool1d(3), nn.Flatten(),
        nn.Linear(80, 3),
    ),
}  # fmt: skip


def training(model: str) -> Any:
    """A scene of the usual step."""
    made = MODELS[model]()
    chosen = optim.SGD(made.parameters(), lr=0.1, momentum=0.9)
    x, y = array(5, 2, 8, 8), array(5, 3, seed=1).argmax(1)

    def step() -> Any:
        chosen.zero_grad()
        loss = F.cross_entropy(made(x), y)
        loss.backward()
        chosen.step()
        return loss

    return step, lambda: list(made.parameters())


@pytest.mark.parametrize("model", MODELS)
def test_networks(model: str) -> None:
    compare(lambda: training(model))


def test_nan_in_a_window() -> None:
    """Whether there is one is asked anew at every replay."""

    def make() -> Any:
        x = array(1, 1, 4, 4).requires_grad_()

        def step(value: Any) -> Any:
            x.grad = None
            F.max_pool2d(x * value, 2).sum().backward()
            return x.grad.clone()

        return step, lambda: [x]

    values = [1.0, 2.0, 1.0, 3.0, float("nan"), 1.0, float("inf"), 2.0]
    compare(make, arguments=lambda n: (torch.full((1, 1, 4, 4), values[n]),))
