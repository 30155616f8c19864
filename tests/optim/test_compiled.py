"""Optimizers, schedulers and clipping in compiled steps: the same bits, replayed or not."""

from typing import Any

import pytest

import nanotorch as torch
from tests.compile.beside import array, compare

KINDS = (
    "SGD", "Adam", "AdamW", "Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop",
    "Rprop",
)  # fmt: skip
# Options that make them compute in other ways.
WAYS: list[tuple[str, dict[str, Any]]] = [
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
SOME_KINDS = pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=[pytest.mark.slow] * (k not in ("SGD", "Adam", "ASGD"))) for k in KINDS],
)
UNCOMPILED = pytest.mark.filterwarnings("ignore:nanotorch.compile runs")


def scene(
    kind: str,
    inside: bool = False,
    clip: bool = False,
    epochs: list[Any] | None = None,
    times: int = 1,
    **options: Any,
) -> Any:
    """A model whose step trains it; schedulers are appended to ``epochs``."""

    def make() -> Any:
        model = torch.nn.Linear(4, 2)
        optimizer = getattr(torch.optim, kind)(model.parameters(), **{"lr": 0.1, **options})
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        x = array(3, 4)
        if epochs is not None:
            epochs.append(scheduler)

        def evaluate() -> Any:
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            return loss

        def step() -> Any:
            for _ in range(times):
                loss = evaluate()
                if clip:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
            return loss

        def with_closure() -> Any:
            return optimizer.step(evaluate)

        def with_schedule() -> Any:
            loss = step()
            scheduler.step()
            return loss

        def state() -> list[Any]:
            held = [t for entry in optimizer.state.values() for t in entry.values()]
            averages = [t for t in held if isinstance(t, torch.Tensor)]
            return [*model.parameters(), *averages]

        if times == 0:
            return with_closure, state
        return with_schedule if inside else step, state

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_optimizers_are_replayed(kind: str) -> None:
    compare(scene(kind), calls=12)


@pytest.mark.parametrize(("kind", "options"), WAYS)
def test_options_are_replayed(kind: str, options: dict[str, Any]) -> None:
    compare(scene(kind, **options), calls=12)


@UNCOMPILED
@SOME_KINDS
def test_two_steps_in_one(kind: str) -> None:
    compare(scene(kind, times=2), calls=8, compiles=kind != "ASGD")


def test_lbfgs_is_not_replayed() -> None:
    with pytest.warns(UserWarning, match=r"test_compiled\.py:\d+: the step of `LBFGS` depends"):
        compare(scene("LBFGS", times=0), compiles=False)


@UNCOMPILED
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_schedule_inside_a_step_is_not_replayed(kind: str) -> None:
    compare(scene(kind, inside=True), compiles=False)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_clipped_gradients_are_replayed(kind: str) -> None:
    compare(scene(kind, clip=True))
