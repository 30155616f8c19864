"""The training loop: steps, and the events that everything else is attached to."""

import math
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol


class Task(Protocol):
    """What a loop repeats."""

    def batches(self) -> Iterable[Any]:
        """Return the batches of one epoch."""

    def step(self, batch: Any) -> tuple[float, int]:
        """Take one step; return the loss before it and how many samples that is the mean of."""


class Callback:
    """Base of what listens to a loop. The callbacks of an event are called in their order.

    `on_end` is called for every callback whose `on_start` was called, last first, however the
    loop ends: an exception in a step or in another callback does not leave a file open.
    """

    def on_start(self, loop: "Loop") -> None:
        """Before the first step."""

    def on_step(self, loop: "Loop") -> None:
        """After each step."""

    def on_epoch(self, loop: "Loop") -> None:
        """After the last step of each epoch, also of one that the end of the training cuts."""

    def on_end(self, loop: "Loop") -> None:
        """After the last event."""


class Loop:
    """Repeats a task's step; knows nothing of models, files or terminals.

    Args:
        task: what to repeat.
        steps: how often.
        callbacks: what listens.
    """

    def __init__(self, task: Task, steps: int, callbacks: Sequence[Callback]) -> None:
        self.task = task
        self.steps = steps
        self.callbacks = callbacks
        self.epoch = 0
        """The epoch under way or just ended, counted from 1."""
        self.step = 0
        """Steps taken."""
        self.loss = math.nan
        """The loss before the latest step."""
        self.first_loss = math.nan
        """The loss before the first step."""
        self.samples = 0
        """How many samples that loss is the mean of."""
        self.stop_reason: str | None = None
        """Why no further step is to be taken; None while nothing has gone wrong."""

    def stop(self, reason: str) -> None:
        """Take no further step after the present one."""
        self.stop_reason = reason

    @property
    def done(self) -> bool:
        """Whether the last step has been taken."""
        return self.step >= self.steps or self.stop_reason is not None

    def run(self) -> None:
        """Take all steps."""
        with ExitStack() as stack:
            for callback in self.callbacks:
                stack.callback(callback.on_end, self)
                callback.on_start(self)
            while not self.done:
                self._run_epoch()

    def _run_epoch(self) -> None:
        self.epoch += 1
        for batch in self.task.batches():
            self.loss, self.samples = self.task.step(batch)
            self.step += 1
            if self.step == 1:
                self.first_loss = self.loss
            for callback in self.callbacks:
                callback.on_step(self)
            if self.done:
                break
        if self.stop_reason is None:
            for callback in self.callbacks:
                callback.on_epoch(self)
