"""A training that is saved and loaded goes on as if nothing had happened, to the bit."""

import io
from collections.abc import Callable
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.optim import lr_scheduler
from tests.optim.golden_schedulers import _makers

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True}, "Adam": {"lr": 0.01, "amsgrad": True},
    "AdamW": {"lr": torch.tensor(0.01)}, "Adadelta": {}, "Adagrad": {}, "Adamax": {}, "ASGD": {},
    "LBFGS": {"max_iter": 3, "line_search_fn": "strong_wolfe"}, "NAdam": {}, "RAdam": {},
    "RMSprop": {"centered": True, "momentum": 0.5}, "Rprop": {},
}  # fmt: skip
SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    **_makers(torch),
    "plateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=1),
}


def training(optimizer: str, scheduler: str) -> tuple[Any, Any, Any]:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))
    groups = [{"params": part.parameters()} for part in (model[:2], model[3])]
    params = model.parameters() if optimizer == "LBFGS" else groups
    chosen = getattr(torch.optim, optimizer)(params, **OPTIMIZERS[optimizer])
    return model, chosen, SCHEDULERS[scheduler](chosen)


def step(model: Any, optimizer: Any, scheduler: Any) -> float:
    """One step, always on the same data; returns the loss before it."""
    x, y = torch.linspace(-1, 1, 24).view(8, 3), torch.linspace(0, 1, 8).view(8, 1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    loss: float = optimizer.step(closure).item()
    if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
        scheduler.step(loss)
    else:
        scheduler.step()
    return loss


CASES = [*((name, "lambda") for name in OPTIMIZERS), *(("SGD", name) for name in SCHEDULERS)]


@pytest.mark.parametrize(("optimizer", "scheduler"), CASES)
@pytest.mark.filterwarnings("ignore:Seems like `optimizer.step\\(\\)`")  # a new scheduler's view
def test_a_training_goes_on(optimizer: str, scheduler: str) -> None:
    parts = training(optimizer, scheduler)
    for _ in range(3):
        step(*parts)
    names = ("model", "optimizer", "scheduler")
    file = io.BytesIO()
    torch.save({n: p.state_dict() for n, p in zip(names, parts, strict=True)}, file)
    expected = [step(*parts) for _ in range(5)]

    file.seek(0)
    state = torch.load(file)
    others = training(optimizer, scheduler)
    for name, part in zip(names, others, strict=True):
        part.load_state_dict(state[name])
    assert [step(*others) for _ in range(5)] == expected
