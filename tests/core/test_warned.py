"""Warnings point at the line of the user's that caused them; some are given once only."""

import copy
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch._core import call_site
from nanotorch.nn import functional as F
from nanotorch.utils.data import DataLoader, random_split

Cause = Callable[[], Any]
x, byte = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.uint8)
picture = torch.ones(1, 1, 2, 2)


def leaf() -> Any:
    return torch.ones(1, requires_grad=True)


def scheduler() -> Any:
    return torch.optim.lr_scheduler.StepLR(torch.optim.SGD([leaf()], 0.1), 1)


# Each on one line, which is where the warning has to point.
# fmt: off
EACH_TIME: dict[str, Cause] = {
    "byte index": lambda: x[byte],
    "copy": lambda: torch.tensor(x),
    "resized": lambda: torch.add(x, x, out=torch.ones(2)),
    "list index": lambda: torch.ones(3, 3)[[[0, 1], [1, 2]]],
    "grad of no leaf": lambda: (leaf() * 2).grad,
    "too early": lambda: scheduler().step(),
    "epoch": lambda: scheduler().step(1),
    "get_lr": lambda: scheduler().get_lr(),
    "softmax": lambda: F.softmax(x),
    "Softmax": lambda: nn.Softmax()(x),
    "Sequential": lambda: nn.Sequential(nn.Sequential(nn.LogSoftmax()))(x),
    "mse_loss": lambda: F.mse_loss(x, torch.ones(2, 1)),
    "MSELoss": lambda: nn.MSELoss()(x, torch.ones(2, 1)),
    "size_average": lambda: nn.MSELoss(size_average=True),
    "reduce": lambda: F.mse_loss(x, x, reduce=True),
    "kl_div": lambda: nn.KLDivLoss()(x, x),
    "grid_sample": lambda: F.grid_sample(picture, torch.zeros(1, 2, 2, 2)),
    "affine_grid": lambda: F.affine_grid(torch.zeros(1, 2, 3), (1, 1, 2, 2)),
    "gumbel_softmax": lambda: F.gumbel_softmax(x, eps=1.0),
    "dropout2d": lambda: F.dropout2d(torch.ones(2, 3, 4)),
    "upsample": lambda: F.upsample(picture, scale_factor=2),
    "empty weights": lambda: nn.Linear(0, 1),
    "normal": lambda: nn.init.normal(torch.ones(2)),
    "recurrent dropout": lambda: nn.LSTM(2, 2, dropout=0.5),
    "hardtanh": lambda: nn.Hardtanh(min_value=0.0),
    "clip_grad_norm": lambda: nn.utils.clip_grad_norm(leaf(), 1.0),
    "weight_norm": lambda: nn.utils.weight_norm(nn.Linear(2, 2)),
    "matmul precision": lambda: torch.set_float32_matmul_precision("x"),
    "volatile": lambda: torch.autograd.Variable(x, volatile=True),
    "grad_variables": lambda: torch.autograd.backward(leaf().sum(), grad_variables=torch.tensor(1.0)),  # noqa: E501
    "autocast": lambda: torch.autocast("cuda"),
    "former autocast": lambda: torch.cuda.amp.autocast(),
    "former scaler": lambda: torch.cuda.amp.GradScaler(),
    "empty split": lambda: random_split([1, 2], [1.0, 0.0]),
    "workers": lambda: DataLoader([1], num_workers=1000),
    "transformer": lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(2, 1, 2), 1),
    "covariance": lambda: torch.ones(3, 2)[:, :1].cov(),
    "hook lost": lambda: copy.copy(hooked()),
}
ONCE: dict[str, Cause] = {
    "former order": lambda: x.add(2, x),
    "T": lambda: torch.ones(3, 2, 2).T,
    "read-only": lambda: torch.from_numpy(np.broadcast_to(np.ones(3), (3,))),
    "bytes": lambda: torch.frombuffer(b"ab", dtype=torch.uint8),
    "create_graph": lambda: leaf().sum().backward(create_graph=True),
    "arrays": lambda: torch.tensor([np.ones(3), np.ones(3)]),
    "even": lambda: F.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2), padding="same"),
    "number": lambda: float(leaf()),
    "meshgrid": lambda: torch.meshgrid(x[0], x[0]),
    "tensor type": lambda: torch.set_default_tensor_type(torch.FloatTensor),
}
# fmt: on


def hooked() -> Any:
    tensor = leaf()
    tensor.register_hook(print)
    return tensor


@pytest.fixture(autouse=True)
def _as_if_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_site, "said", set())


def given(*causes: Cause) -> list[warnings.WarningMessage]:
    """The warnings that calls give, each of which Python shows once a line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for cause in causes:
            cause()
    return [w for w in caught if "gave nan" not in str(w.message)]


@pytest.mark.parametrize("name", EACH_TIME)
def test_each_line_is_told_of(name: str) -> None:
    """Two lines give two warnings, of which each points at its own."""
    cause = EACH_TIME[name]
    globals().pop("__warningregistry__", None)
    places = [(w.filename, w.lineno) for w in given(cause, cause)]
    assert set(places) == {(__file__, cause.__code__.co_firstlineno)}
    elsewhere = FunctionType(cause.__code__.replace(co_firstlineno=1), globals())
    assert [w.lineno for w in given(elsewhere)][:1] == [1]


@pytest.mark.parametrize("name", ONCE)
def test_some_are_told_once(name: str) -> None:
    """What PyTorch says but once says which line was the first."""
    cause = ONCE[name]
    places = [(w.filename, w.lineno) for w in given(cause, cause)]
    assert places == [(__file__, cause.__code__.co_firstlineno)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cause()


def test_what_is_told_once_can_be_told_always() -> None:
    torch.set_warn_always(True)
    try:
        first, second = given(lambda: x.add(2, x), lambda: x.sub(2, x))
    finally:
        torch.set_warn_always(False)
    assert first.lineno == second.lineno
    assert not torch.is_warn_always_enabled()
