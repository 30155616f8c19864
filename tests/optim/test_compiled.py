"""Optimizers, schedulers and clipping in compiled steps: the same bits, replayed or not."""

from typing import Any

import pytest

import nanotorch as torch
from tests.compile.beside import array, compare, usual

KINDS = (
    "SGD", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop",
    "Rprop",
)  # fmt: skip
# Options that make them compute in other ways.
WAYS: list[tuple[str, dict[str, Any]]] = [
    *((kind, {}) for kind in KINDS),
    ("SGD", {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("Adadelta", {"weight_decay": 0.1, "rho": 0.5}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adamax", {"maximize": True, "betas": (0.5, 0.9)}),
    ("ASGD", {"t0": 4, "lambd": 0.1, "alpha": 0.5}),  # averages from the fifth step on
    ("NAdam", {"momentum_decay": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RAdam", {"betas": (0.9, 0.9), "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Rprop", {"etas": (0.3, 2.0), "step_sizes": (0.01, 0.3)}),
]


def once(optimizer: Any, evaluate: Any, schedule: Any) -> Any:
    loss = evaluate()
    optimizer.step()
    return loss


def scene(kind: str, update: Any = once, **options: Any) -> Any:
    """What makes a step that gives ``update`` an optimizer, an evaluation and a schedule."""

    def make() -> Any:
        model, x = torch.nn.Linear(4, 2), array(3, 4)
        optimizer = getattr(torch.optim, kind)(model.parameters(), **{"lr": 0.1, **options})
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

        def evaluate() -> Any:
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            return loss

        _, state = usual(model, optimizer, evaluate)
        return (lambda: update(optimizer, evaluate, schedule)), state

    return make


@pytest.mark.parametrize(("kind", "options"), WAYS)
def test_optimizers_are_replayed(kind: str, options: dict[str, Any]) -> None:
    compare(scene(kind, **options), calls=12)


def twice(optimizer: Any, evaluate: Any, schedule: Any) -> Any:
    once(optimizer, evaluate, schedule)
    return once(optimizer, evaluate, schedule)


def clipped(optimizer: Any, evaluate: Any, schedule: Any) -> Any:
    loss = evaluate()
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 0.1)
    optimizer.step()
    return loss


def scheduled(optimizer: Any, evaluate: Any, schedule: Any) -> Any:
    loss = twice(optimizer, evaluate, schedule)
    schedule.step()
    return loss


def closed(optimizer: Any, evaluate: Any, schedule: Any) -> Any:
    return optimizer.step(evaluate)


@pytest.mark.filterwarnings("ignore:nanotorch.compile runs")
@pytest.mark.parametrize(("kind", "update"), [
    *(pytest.param(kind, twice, marks=[pytest.mark.slow] * (kind not in ("SGD", "Adam", "ASGD")))
      for kind in KINDS),
    ("SGD", clipped), ("Adam", clipped), ("SGD", scheduled), ("Adam", scheduled),
])  # fmt: skip
def test_other_steps(kind: str, update: Any) -> None:
    compare(
        scene(kind, update), compiles=update is not scheduled and (kind, update) != ("ASGD", twice)
    )


def test_lbfgs_is_not_replayed() -> None:
    with pytest.warns(UserWarning, match=r"test_compiled\.py:\d+: the step of `LBFGS` depends"):
        compare(scene("LBFGS", closed), compiles=False)
