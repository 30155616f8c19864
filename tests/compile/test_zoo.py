"""Compiled training steps of models, losses and optimizers beside the steps themselves."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.nn import functional as F
from tests.compile.beside import array, compare

MODELS: dict[str, Callable[[], Any]] = {
    "linear": lambda: nn.Linear(6, 3),
    "no bias": lambda: nn.Linear(6, 3, bias=False),
    "tanh": lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)),
    "relu": lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(),
                                  nn.Linear(8, 3)),
    "sigmoid": lambda: nn.Sequential(nn.Linear(6, 8), nn.Sigmoid(), nn.Linear(8, 3)),
    "gelu": lambda: nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)),
    "leaky": lambda: nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(), nn.Linear(8, 3)),
    "elu": lambda: nn.Sequential(nn.Linear(6, 8), nn.ELU(), nn.Linear(8, 3)),
    "silu": lambda: nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 3)),
    "softplus": lambda: nn.Sequential(nn.Linear(6, 8), nn.Softplus(), nn.Linear(8, 3)),
    "batch norm": lambda: nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(),
                                        nn.Linear(8, 3)),
    "layer norm": lambda: nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.Linear(8, 3)),
    "dropout": lambda: nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.Linear(8, 3)),
    "softmax": lambda: nn.Sequential(nn.Linear(6, 3), nn.Softmax(1)),
}  # fmt: skip
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "mse": lambda out, y: F.mse_loss(out, y),
    "mse sum": lambda out, y: F.mse_loss(out, y, reduction="sum"),
    "l1": lambda out, y: F.l1_loss(out, y),
    "huber": lambda out, y: F.huber_loss(out, y),
    "smooth l1": lambda out, y: F.smooth_l1_loss(out, y),
    "bce": lambda out, y: F.binary_cross_entropy(torch.sigmoid(out), torch.sigmoid(y)),
    "bce with logits": lambda out, y: F.binary_cross_entropy_with_logits(out, torch.sigmoid(y)),
    "cross entropy": lambda out, y: F.cross_entropy(out, y.argmax(1)),
    "nll": lambda out, y: F.nll_loss(F.log_softmax(out, 1), y.argmax(1)),
    "by hand": lambda out, y: ((out - y) ** 2).mean() + 0.1 * out.abs().sum(),
}
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "decay": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01),
    "dampening": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.1),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "maximize": lambda p: optim.SGD(p, lr=0.01, momentum=0.9, maximize=True),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "adam maximize": lambda p: optim.Adam(p, lr=0.01, maximize=True, betas=(0.8, 0.9)),
}


def training(model: str, loss: str, optimizer: str) -> Any:
    """A scene of the usual step."""
    made = MODELS[model]()
    chosen = OPTIMIZERS[optimizer](made.parameters())
    criterion, x, y = LOSSES[loss], array(5, 6), array(5, 3, seed=1)

    def step() -> Any:
        chosen.zero_grad()
        value = criterion(made(x), y)
        value.backward()
        chosen.step()
        return value

    def state() -> list[Any]:
        held = [t for entry in chosen.state.values() for t in entry.values()]
        return [*made.parameters(), *made.buffers(), *[t for t in held if t is not None]]

    return step, state


ALIKE = ("mse sum", "l1", "smooth l1", "nll", "decay", "dampening", "maximize", "adam maximize")
"""Of these there is a near relative, or the same operation under another name."""


def usual_of(names: Iterable[str]) -> list[Any]:
    """Parameters, of which those that are like others are slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in ALIKE)) for name in names]


@pytest.mark.parametrize("model", MODELS)
def test_models(model: str) -> None:
    compare(lambda: training(model, "mse", "momentum"))


@pytest.mark.parametrize("loss", usual_of(LOSSES))
@pytest.mark.parametrize("model", ["tanh", pytest.param("batch norm", marks=pytest.mark.slow)])
def test_losses(model: str, loss: str) -> None:
    compare(lambda: training(model, loss, "momentum"))


@pytest.mark.parametrize("optimizer", usual_of(OPTIMIZERS))
@pytest.mark.parametrize("model", ["relu", pytest.param("linear", marks=pytest.mark.slow)])
def test_optimizers(model: str, optimizer: str) -> None:
    compare(lambda: training(model, "mse", optimizer), calls=10)
