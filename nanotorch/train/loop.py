"""The training loop: steps, and the events that everything else is attached to."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

KEPT = ("epoch", "step", "position", "loss", "first_loss", "samples", "stop_reason")
"""What a resumed run has to know of where the loop was."""


class Task(Protocol):
    """What a loop repeats."""

    def batches(self, start: int) -> Iterable[Any]:
        """Return what the steps of one epoch are taken with, without the first `start`."""

    def step(self, batch: Any) -> tuple[float, int]:
        """Take one step; return the loss before it and how many samples that is the mean of."""


class Callback:
    """Base of what listens to a loop. The callbacks of an event are called in their order.

    `on_end` is called for every callback whose `on_start` was called, last first, however the
    loop ends: an exception in a step or in another callback does not leave a file open.
    """

    def on_start(self, loop: "Loop") -> None:
        """Before the first step, and before the first that a resumed run takes."""

    def on_step(self, loop: "Loop") -> None:
        """After each step."""

    def on_epoch(self, loop: "Loop") -> None:
        """After the last step of each epoch, also of one that the end of the training cuts."""

    def on_settled(self, loop: "Loop") -> None:
        """After all `on_step`, and after all `on_epoch`: a run can resume from what is kept now."""

    def on_end(self, loop: "Loop") -> None:
        """After the last event."""

    def state(self) -> Any:
        """Return what has to be known to go on; None if nothing has."""

    def load_state(self, state: Any) -> None:
        """Go on from what `state` returned."""


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
        # Nobody is called for what he does not listen to.
        self._on_step = [c.on_step for c in callbacks if type(c).on_step is not Callback.on_step]
        self._on_settled = [
            c.on_settled for c in callbacks if type(c).on_settled is not Callback.on_settled
        ]
        self.epoch = 0
        """The epoch under way or just ended, counted from 1."""
        self.step = 0
        """Steps taken."""
        self.position: int | None = None
        """Steps taken of the epoch under way; None between two epochs."""
        self.loss = math.nan
        """The loss before the latest step."""
        self.first_loss = math.nan
        """The loss before the first step."""
        self.samples = 0
        """How many samples that loss is the mean of."""
        self.measured: Mapping[str, float] = {}
        """What was measured at the end of the epoch just ended; nothing if it was not."""
        self.stop_reason: str | None = None
        """Why the training is over before all steps are taken."""
        self.pause_reason: str | None = None
        """Why no further step is to be taken for now, though a resumed run may go on."""

    def stop(self, reason: str) -> None:
        """Take no further step after the present one: the training is over."""
        self.stop_reason = reason

    def pause(self, reason: str) -> None:
        """Take no further step after the present one; a resumed run does as if nothing were."""
        self.pause_reason = reason

    @property
    def complete(self) -> bool:
        """Whether the training is over. What is measured and recorded may depend on this."""
        return self.step >= self.steps or self.stop_reason is not None

    @property
    def done(self) -> bool:
        """Whether this loop takes no further step. What is recorded must not depend on this."""
        return (
            self.step >= self.steps or self.stop_reason is not None or self.pause_reason is not None
        )

    def run(self) -> None:
        """Take all steps that are left."""
        with ExitStack() as stack:
            for callback in self.callbacks:
                stack.callback(callback.on_end, self)
                callback.on_start(self)
            while not self.done or self.last_epoch_is_open:
                self.run_epoch()
            if self.pause_reason is not None:  # perhaps since the last event
                self._settle()

    def state(self) -> dict[str, Any]:
        """Return where the loop is, and what its callbacks have to know to go on."""
        found = {name: callback.state() for name, callback in self._named()}
        kept = {name: state for name, state in found.items() if state is not None}
        return {**{name: getattr(self, name) for name in KEPT}, "callbacks": kept}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` returned; a callback that was not there begins anew."""
        for name in KEPT:
            setattr(self, name, state[name])
        for name, callback in self._named():
            if (own := state["callbacks"].get(name)) is not None:
                callback.load_state(own)

    def _named(self) -> Iterator[tuple[str, Callback]]:
        """Yield each callback with the name of its class, and a number after the first of these."""
        counts: Counter[str] = Counter()
        for callback in self.callbacks:
            name = type(callback).__name__
            counts[name] += 1
            yield f"{name} {counts[name]}" if counts[name] > 1 else name, callback

    @property
    def last_epoch_is_open(self) -> bool:
        """Whether all steps are taken, but the end of their epoch has not been told."""
        return self.stop_reason is None and self.step >= self.steps and self.position is not None

    def run_epoch(self) -> None:
        """Take the steps of an epoch, or what is left of them, and tell of its end."""
        if self.position is None:
            self.epoch += 1
            self.position = 0
        if self.step < self.steps:
            self._take_steps(self.position)
        paused = self.pause_reason is not None and self.step < self.steps
        if self.stop_reason is None and not paused:
            self.position = None
            self.measured = {}
            for callback in self.callbacks:
                callback.on_epoch(self)
            self._settle()

    def _take_steps(self, position: int) -> None:
        take = self.task.step
        listeners = (*self._on_step, *self._on_settled)
        for batch in self.task.batches(position):
            self.loss, self.samples = take(batch)
            self.step += 1
            position += 1
            self.position = position
            if self.step == 1:
                self.first_loss = self.loss
            for listener in listeners:
                listener(self)
            if self.done:
                break

    def _settle(self) -> None:
        for on_settled in self._on_settled:
            on_settled(self)
