"""Where a loss that is not finite came from: the last steps again, watched by anomaly mode."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

import nanotorch as torch
from nanotorch import optim
from nanotorch.autograd.anomaly_mode import first_nonfinite

from .loop import Callback, Loop

EVERY = 500
"""Steps between two states that are remembered: so many are taken again at most."""


class Repeatable(Protocol):
    """A task whose steps can be taken again."""

    optimizer: optim.Optimizer

    def batches(self, start: int) -> Any:
        """Return what the steps of one epoch are taken with, without the first `start`."""

    def plain_step(self, batch: Any) -> None:
        """Take a step as it is written, uncompiled."""

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return the weights."""

    def training_state(self) -> Mapping[str, Any]:
        """Return all that the steps to come depend on."""

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `training_state` returned."""


class Memory(Callback):
    """Remembers a state of not long ago, and the learning rates of the steps since."""

    def __init__(self, task: Repeatable) -> None:
        self._task = task
        self._rates: list[list[Any]] = []
        self._remember(0, None)

    def on_start(self, loop: Loop) -> None:
        self._remember(loop.step, loop.position)

    def on_step(self, loop: Loop) -> None:
        self._rates.append(rates(self._task.optimizer))

    def on_settled(self, loop: Loop) -> None:
        if loop.step - self._step >= EVERY and loop.stop_reason is None:
            self._remember(loop.step, loop.position)

    def explain(self) -> str:
        """Return which operation was the first to make a number that is not finite, and when.

        The task is left as it was.
        """
        task, now = self._task, copy.deepcopy(self._task.training_state())
        task.load_training_state(self._state)
        try:
            with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
                warnings.simplefilter("ignore")
                return self._repeat()
        finally:
            task.load_training_state(now)

    def _repeat(self) -> str:
        steps = zip(self._rates, self._batches(), strict=False)
        for number, (due, batch) in enumerate(steps, self._step + 1):
            for group, rate in zip(self._task.optimizer.param_groups, due, strict=True):
                group["lr"] = rate
            try:
                self._task.plain_step(batch)
            except RuntimeError as error:  # a backward pass that anomaly mode has ended
                if first_nonfinite() is None:
                    return f"step {number}: {error}"
            if (found := first_nonfinite()) is not None:
                return f"step {number}: {found}"
            spoilt = [name for name, tensor in self._task.state().items()
                      if not np.isfinite(tensor.detach().numpy()).all()]  # fmt: skip
            if spoilt:
                what = f"{type(self._task.optimizer).__name__}'s update made {', '.join(spoilt)}"
                return f"step {number}: {what} infinite or nan, of finite gradients"
        return ""

    def _batches(self) -> Iterator[Any]:
        start = self._position or 0
        while True:
            yield from self._task.batches(start)
            start = 0

    def _remember(self, step: int, position: int | None) -> None:
        self._step, self._position = step, position
        self._state = copy.deepcopy(self._task.training_state())
        self._rates.clear()


def rates(optimizer: optim.Optimizer) -> list[Any]:
    """Return the learning rate of each group of parameters."""
    return [group["lr"] for group in optimizer.param_groups]
