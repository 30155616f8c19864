"""What happens around the steps: stopping, measuring, recording, scheduling."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any, Literal, Protocol

import nanotorch as torch

from .loop import Callback, Loop
from .metrics import WeightedMean

DIVERGED, INTERRUPTED, OUT_OF_TIME = "diverged", "interrupted", "out of time"
LESS_IS_BETTER = ("loss", "mae", "rmse", "value", "brier", "log_loss", "distance", "excess")

Mode = Literal["min", "max"]
Tensors = Iterable[tuple[str, torch.Tensor]]


class Sink(Protocol):
    """Keeps measured values."""

    def write(
        self,
        step: int,
        epoch: int,
        values: Mapping[str, float],
        passing: Mapping[str, float] | None = None,
    ) -> None:
        """Keep what was measured after `step`.

        Args:
            step, epoch: when.
            values: what.
            passing: what differs between two equal runs: it is shown, but no part of the record.
        """


class StopWhenNotFinite(Callback):
    """Ends the run at the first loss that is not a number: no later step could mend it."""

    def on_step(self, loop: Loop) -> None:
        if not math.isfinite(loop.loss):
            loop.stop(DIVERGED)


class StopOnSignal(Callback):
    """Lets Ctrl-C and SIGTERM end the run after the present step; a second one ends it at once.

    Used in a `with` statement. In its block, but not between `on_start` and `on_end`, where there
    is no step to wait for, the first signal raises `KeyboardInterrupt`.
    """

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._previous: dict[signal.Signals, Any] = {}
        self._loop: Loop | None = None

    def __enter__(self) -> "StopOnSignal":
        if threading.current_thread() is not threading.main_thread():
            return self  # Python delivers signals to the main thread only
        for number in (signal.SIGINT, signal.SIGTERM):
            # What was started in the background with signals ignored stays so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def on_start(self, loop: Loop) -> None:
        self._loop = loop

    def on_end(self, loop: Loop) -> None:
        self._loop = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        self._restore()
        if self._loop is None:
            raise KeyboardInterrupt
        self._loop.pause(INTERRUPTED)

    def _restore(self) -> None:
        while self._previous:
            number, previous = self._previous.popitem()
            signal.signal(number, previous)


class StopInTime(Callback):
    """Pauses the run after some seconds, counted from its start or from its resumption."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = math.inf

    def on_start(self, loop: Loop) -> None:
        self._end = time.monotonic() + self._seconds

    def on_step(self, loop: Loop) -> None:
        if time.monotonic() >= self._end:
            loop.pause(OUT_OF_TIME)


class StopEarly(Callback):
    """Ends the run when a measured value has not improved for some measurements.

    Args:
        monitor: the value's name.
        mode: whether less of it is better, or more; its name tells if None.
        patience: how many measurements in a row may be no better than the best.
        min_delta: by how much a value must be better to count.
    """

    def __init__(self, monitor: str, mode: Mode | None, patience: int, min_delta: float) -> None:
        self._monitor = monitor
        self._sign = sign_of(monitor, mode)
        self._patience = patience
        self._min_delta = min_delta
        self._best = math.inf
        self._waited = 0

    def on_epoch(self, loop: Loop) -> None:
        if self._monitor not in loop.measured:
            return
        value = self._sign * loop.measured[self._monitor]
        if value < self._best - self._min_delta:
            self._best, self._waited = value, 0
            return
        self._waited += 1
        if self._waited >= self._patience and not loop.complete:
            best = self._sign * self._best
            loop.stop(f"{self._monitor} has not been better than {best:.6g} since epoch "
                      f"{loop.epoch - self._waited}")  # fmt: skip

    def state(self) -> Any:
        return {"best": self._best, "waited": self._waited}

    def load_state(self, state: Any) -> None:
        self._best, self._waited = float(state["best"]), int(state["waited"])


def sign_of(monitor: str, mode: Mode | None) -> int:
    """Return what makes less of a value times this better."""
    if mode is None:
        mode = "min" if monitor.rpartition("/")[2] in LESS_IS_BETTER else "max"
    return 1 if mode == "min" else -1


class RecordSteps(Callback):
    """Records the training loss every few steps, and shows how fast the steps are.

    Args:
        sink: where to.
        every: how many steps are between two records.
        details: returns what else is known of the latest step.
    """

    def __init__(
        self, sink: Sink, every: int, details: Callable[[], Mapping[str, float]] = dict
    ) -> None:
        self._sink = sink
        self._every = every
        self._details = details
        self._samples = 0
        self._since = 0.0

    def on_start(self, loop: Loop) -> None:
        self._since = time.perf_counter()

    def on_step(self, loop: Loop) -> None:
        self._samples += loop.samples
        if loop.step % self._every == 0 or loop.complete:
            now = time.perf_counter()
            speed = {"train/samples_per_second": self._samples / (now - self._since)}
            self._samples, self._since = 0, now
            values = {"train/loss": loop.loss, **self._details()}
            self._sink.write(loop.step, loop.epoch, values, speed)

    def on_epoch(self, loop: Loop) -> None:
        # What is measured between two epochs is no training.
        self._samples, self._since = 0, time.perf_counter()


class RecordEpochs(Callback):
    """Records each epoch's mean training loss and, every few epochs, what `measure` returns."""

    def __init__(self, sink: Sink, measure: Callable[[], Mapping[str, float]], every: int) -> None:
        self._sink = sink
        self._measure = measure
        self._every = every
        self._mean = WeightedMean()

    def on_step(self, loop: Loop) -> None:
        self._mean.add(loop.loss, loop.samples)

    def on_epoch(self, loop: Loop) -> None:
        values = {"train/epoch_loss": self._mean.value}
        self._mean = WeightedMean()
        if loop.epoch % self._every == 0 or loop.complete:
            values |= self._measure()
        loop.measured = values
        self._sink.write(loop.step, loop.epoch, values)

    def state(self) -> Any:
        return self._mean.state()

    def load_state(self, state: Any) -> None:
        total, weight = state
        self._mean = WeightedMean(float(total), int(weight))


class RecordTensors(Callback):
    """Shows TensorBoard the distributions of weights and gradients.

    Args:
        write: takes a step and named tensors.
        tensors: returns them.
        every: how many epochs are between two times.
    """

    def __init__(
        self,
        write: Callable[[int, Tensors], None],
        tensors: Callable[[], Tensors],
        every: int,
    ) -> None:
        self._write = write
        self._tensors = tensors
        self._every = every

    def on_epoch(self, loop: Loop) -> None:
        if loop.epoch % self._every == 0 or loop.complete:
            self._write(loop.step, self._tensors())
