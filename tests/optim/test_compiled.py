"""Optimizers, schedulers and clipping in compiled steps: the same bits, replayed or not."""

from typing import Any

import pytest

import nanotorch as torch
from tests.compile.beside import array, compare

KINDS = ("Adadelta", "Adagrad", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop", "LBFGS")
UNCOMPILED = pytest.mark.filterwarnings("ignore:nanotorch.compile runs")


def scene(
    kind: str, inside: bool = False, clip: bool = False, epochs: list[Any] | None = None
) -> Any:
    """A model whose step trains it; schedulers are appended to ``epochs``."""

    def make() -> Any:
        model = torch.nn.Linear(4, 2)
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1)
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
            loss = evaluate()
            if clip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step(*([evaluate] if kind == "LBFGS" else []))
            return loss

        def with_schedule() -> Any:
            loss = step()
            scheduler.step()
            return loss

        return with_schedule if inside else step, lambda: list(model.parameters())

    return make


@UNCOMPILED
@pytest.mark.parametrize("kind", KINDS)
def test_optimizers_that_are_not_replayed(kind: str) -> None:
    compare(scene(kind), compiles=False)


@UNCOMPILED
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_schedule_inside_a_step_is_not_replayed(kind: str) -> None:
    compare(scene(kind, inside=True), compiles=False)


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_rates_are_read_at_every_replay(kind: str) -> None:
    schedulers: list[Any] = []

    def between(n: int, step: Any) -> None:
        position = len(seen) % 2
        seen.append(position)
        if n and n % 2 == 0:
            schedulers[position].step()

    seen: list[int] = []
    compare(scene(kind, epochs=schedulers), calls=10, between=between)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_clipped_gradients_are_replayed(kind: str) -> None:
    compare(scene(kind, clip=True))
