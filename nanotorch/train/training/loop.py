"""The training loop: steps, and events for the callbacks that do everything else."""

import errno
import math
import os
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FrameType
from typing import Any, Literal, Protocol

from nanotorch.train.config.sections import SURE, closest
from nanotorch.train.runs import ranks
from nanotorch.train.training.metrics import wrap_to_screen

KEPT = ("epoch", "step", "position", "loss", "first_loss", "samples", "stop_reason")
"""The attributes of a loop that a resumed run needs."""


class Task(Protocol):
    """The steps that a loop repeats."""

    trace: Callable[[Any], AbstractContextManager[None]] | None = None
    """The context manager around the next step only; None for none."""

    def batches(self, start: int) -> Iterable[Any]:
        """Return the batches of one epoch, one per step, without the first `start`."""

    def step(self, batch: Any) -> tuple[float, int]:
        """Take one step; return the loss before it and the number of samples in this mean."""


class Callback:
    """Base of the objects that a loop calls at its events, in the order of the loop's `callbacks`.

    The loop calls `on_end` of every callback whose `on_start` it has called, the last one first,
    even after an exception. So a callback can close its files there.

    Raises:
        TypeError: for a method whose name is nearly an event's, such as `on_epoch_end`.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        events = [name for name in vars(Callback) if name.startswith("on_")]
        for name in [name for name in vars(cls) if name.startswith("on_") and name not in events]:
            longer = next((event for event in events if name.startswith(event)), None)
            meant = longer or closest(name, events, SURE)
            if meant is not None and callable(getattr(cls, name)):
                raise TypeError(f"{cls.__name__}.{name} is no event; did you mean {meant!r}?")

    def on_start(self, loop: "Loop") -> None:
        """Called before the first step of a run, and of a resumed run."""

    def on_step(self, loop: "Loop") -> None:
        """Called after each step."""

    def on_epoch(self, loop: "Loop") -> None:
        """Called after the last step of each epoch, even if the training ends within the epoch."""

    def on_settled(self, loop: "Loop") -> None:
        """Called after all `on_step`, and after all `on_epoch`: a state saved now is complete."""

    def on_end(self, loop: "Loop") -> None:
        """Called after the last event."""

    def state(self) -> Any:
        """Return the state that a resumed run needs; None if it needs none."""

    def load_state(self, state: Any) -> None:
        """Continue from a state that `state` returned."""


class Loop:
    """Repeats a task's step; it does not depend on models, files or terminals.

    Args:
        task: the batches and the step.
        steps: the number of steps in the whole training.
        callbacks: the callbacks in order; the loop skips None.
    """

    def __init__(self, task: Task, steps: int, callbacks: Sequence[Callback | None]) -> None:
        self.task = task
        self.steps = steps
        self.callbacks: Sequence[Callback] = [c for c in callbacks if c is not None]
        # Callbacks that do not override an event are skipped.
        self._on_step, self._on_settled = (
            [getattr(c, name) for c in self.callbacks if getattr(type(c), name) != nothing]
            for name, nothing in vars(Callback).items()
            if name in ("on_step", "on_settled")
        )
        self.epoch = 0
        """The current or last epoch, counted from 1."""
        self.step = 0
        """The number of steps taken."""
        self.position: int | None = None
        """The number of steps taken in the current epoch; None between two epochs."""
        self.loss = math.nan
        """The loss before the latest step."""
        self.first_loss = math.nan
        """The loss before the first step."""
        self.samples = 0
        """The number of samples that `loss` is the mean of."""
        self.measured: Mapping[str, float] = {}
        """The values measured at the end of the last epoch, if any."""
        self.stop_reason: str | None = None
        """Why the training is over before all steps are taken; None if it is not."""
        self.pause_reason: str | None = None
        """Why the loop takes no more steps now, although a resumed run can; None if it does."""
        self._wish = ""
        """The pause reason of this process alone."""
        self.save_from = math.inf
        """The value of `time.monotonic()` from which a checkpoint is due."""
        self.to_save = False
        """Whether a checkpoint is due in any process."""

    def stop(self, reason: str) -> None:
        """End the training after the current step."""
        self.stop_reason = reason

    def pause(self, reason: str) -> None:
        """Take no more steps after the current one; a resumed run continues from there."""
        self._wish = reason
        if ranks.size() == 1:
            self.pause_reason = reason

    @property
    def complete(self) -> bool:
        """Whether the training is over. Measurements and records may depend on this property."""
        return self.step >= self.steps or self.stop_reason is not None

    @property
    def done(self) -> bool:
        """Whether this loop takes no more steps, because it is over or pauses.

        Records must not depend on this property: a paused and resumed run must record the same
        values as a run without a pause.
        """
        ended = self.stop_reason is not None or self.pause_reason is not None
        return ended or self.step >= self.steps

    def run(self) -> None:
        """Take all remaining steps."""
        with ExitStack() as stack:
            for callback in self.callbacks:
                stack.callback(callback.on_end, self)
                callback.on_start(self)
            while not self.done or self.last_epoch_is_open:
                self.run_epoch()
            if self.pause_reason is not None:  # perhaps set after the last event
                self._settle()

    def state(self) -> dict[str, Any]:
        """Return the state of the loop and of its callbacks that a resumed run needs."""
        found = {name: callback.state() for name, callback in self._named()}
        kept = {name: state for name, state in found.items() if state is not None}
        return {**{name: getattr(self, name) for name in KEPT}, "callbacks": kept}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `state` returned; a callback without a state begins anew."""
        for name in KEPT:
            setattr(self, name, state[name])
        for name, callback in self._named():
            if (own := state["callbacks"].get(name)) is not None:
                callback.load_state(own)

    def _named(self) -> Iterator[tuple[str, Callback]]:
        """Yield each callback's class name, numbered if it repeats, and the callback."""
        counts: Counter[str] = Counter()
        for callback in self.callbacks:
            name = type(callback).__name__
            counts[name] += 1
            yield f"{name} {counts[name]}" if counts[name] > 1 else name, callback

    @property
    def last_epoch_is_open(self) -> bool:
        """Whether all steps are taken, but `on_epoch` is still to be called for the last epoch."""
        return self.stop_reason is None and self.step >= self.steps and self.position is not None

    def run_epoch(self) -> None:
        """Take the remaining steps of the epoch, then call the callbacks' `on_epoch`."""
        if self.position is None:
            self.epoch, self.position = self.epoch + 1, 0
        if self.step < self.steps:
            take, listeners = self.task.step, (*self._on_step, *self._on_settled)
            for batch in self.task.batches(self.position):
                self.loss, self.samples = take(batch)
                self.step, self.position = self.step + 1, self.position + 1
                if self.step == 1:
                    self.first_loss = self.loss
                self._heed()
                for listener in listeners:
                    listener(self)
                if self.done:
                    break
        paused = self.pause_reason is not None and self.step < self.steps
        if self.stop_reason is None and not paused:
            self.position, self.measured = None, {}
            for callback in self.callbacks:
                callback.on_epoch(self)
            self._settle()

    def _heed(self) -> None:
        """Agree with the other processes to pause, or save, after the same step."""
        wish, late = ranks.max_over_ranks(
            PAUSES.index(self._wish), time.monotonic() >= self.save_from
        )
        self.to_save = bool(late)
        if wish:
            self.pause_reason = PAUSES[wish]

    def _settle(self) -> None:
        for on_settled in self._on_settled:
            on_settled(self)


# Callbacks that stop, measure and record.


DIVERGED, INTERRUPTED, OUT_OF_TIME = "diverged", "interrupted", "out of time"
PAUSES = ("", OUT_OF_TIME, INTERRUPTED)
"""The reasons to pause; if processes give several, the last of them counts."""
LESS_IS_BETTER = ("loss", "mae", "rmse", "value", "brier", "log_loss", "distance", "excess")

Mode = Literal["min", "max"]
Tagged = Mapping[str, float]
"""Values by name, such as `train/loss`."""


Write = Callable[..., None]
"""Records measurements. Arguments: the step, the epoch, the values, and optionally values that
differ between two equal runs, such as speeds; these are shown, but not recorded."""


@contextmanager
def handle_signals(numbers: Iterable[int], handle: Callable[[int, Any], None]) -> Iterator[None]:
    """Let `handle` handle signals in the block; a signal that was ignored stays ignored."""
    before = {}
    if threading.current_thread() is threading.main_thread():  # the only one that gets signals
        kept = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, handle) for number in kept}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def leave_closed_terminal() -> None:
    """Discard further output to a terminal that has closed, where it would be an error."""
    for descriptor in (1, 2):
        try:
            os.write(descriptor, b"")
        except OSError as error:
            if error.errno == errno.EIO:
                os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


class StopOnSignal(Callback):
    """Lets Ctrl-C, SIGTERM and a closed terminal pause the run after the current step.

    A second signal ends the run at once, except that of a closed terminal, which may send several.
    Use it in a `with` statement. Before `on_start` and after `on_end` there is no step to wait for,
    so the first signal raises `KeyboardInterrupt` there.
    """

    numbers = tuple(n for n in signal.Signals if n.name in ("SIGINT", "SIGTERM", "SIGHUP"))
    """The signals; Windows has no SIGHUP, which tells of a closed terminal."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._handling = ExitStack()
        self._loop: Loop | None = None

    def __enter__(self) -> "StopOnSignal":
        self._handling.enter_context(handle_signals(self.numbers, self._handle))
        return self

    def __exit__(self, *error: object) -> None:
        self._handling.close()

    def on_start(self, loop: Loop) -> None:
        self._loop = loop

    def on_end(self, loop: Loop) -> None:
        self._loop = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if closed := signal.Signals(number).name == "SIGHUP":
            leave_closed_terminal()
        if self.received is not None:
            if not closed:
                self._handling.close()
                signal.raise_signal(number)
            return
        self.received = signal.Signals(number)
        if self._loop is None:
            raise KeyboardInterrupt
        self._loop.pause(INTERRUPTED)


class StopInTime(Callback):
    """Pauses the run after `seconds`, counted from its start or resumption."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._end = seconds, math.inf

    def on_start(self, loop: Loop) -> None:
        self._end = time.monotonic() + self._seconds

    def on_step(self, loop: Loop) -> None:
        if time.monotonic() >= self._end:
            loop.pause(OUT_OF_TIME)


class StopEarly(Callback):
    """Ends the run when a measured value has not improved for `patience` measurements.

    Args:
        monitor: the value's name.
        mode: "min" if a lower value is better, "max" if a higher one is; None decides by the name.
        patience: the number of measurements in a row without improvement.
        min_delta: the least difference that counts as an improvement.
    """

    def __init__(self, monitor: str, mode: Mode | None, patience: int, min_delta: float) -> None:
        self._monitor, self._sign = monitor, sign_of(monitor, mode)
        self._patience, self._min_delta = patience, min_delta
        self._best, self._waited = math.inf, 0

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
    """Return 1 if a lower value of `monitor` is better, -1 if a higher one is."""
    if mode is None:
        mode = "min" if monitor.rpartition("/")[2] in LESS_IS_BETTER else "max"
    return 1 if mode == "min" else -1


class RecordSteps(Callback):
    """Records the training loss every few steps, and shows the speed of the steps.

    Args:
        write: records the values.
        every: the number of steps between two records.
        details: returns more values of the latest step.
    """

    def __init__(self, write: Write, every: int, details: Callable[[], Tagged] = dict) -> None:
        self._write, self._every, self._details = write, every, details

    def on_start(self, loop: Loop) -> None:
        self._samples, self._steps = 0, 0
        self._since, self._waited = time.perf_counter(), ranks.waiting_time()

    def on_step(self, loop: Loop) -> None:
        self._samples, self._steps = self._samples + loop.samples, self._steps + 1
        if loop.step % self._every == 0 or loop.complete:
            seconds, waited = time.perf_counter() - self._since, ranks.waiting_time() - self._waited
            speed = {"train/samples_per_second": self._samples / seconds}
            if ranks.size() > 1:
                speed["train/seconds_waited_per_step"] = waited / self._steps
            self.on_start(loop)
            values = {"train/loss": loop.loss, **self._details()}
            self._write(loop.step, loop.epoch, values, speed)

    def on_epoch(self, loop: Loop) -> None:
        self.on_start(loop)  # exclude the time of measurements between epochs


class RecordEpochs(Callback):
    """Records each epoch's mean training loss and, every few epochs, the values of `measure`."""

    def __init__(self, write: Write, measure: Callable[[], Tagged], every: int) -> None:
        self._write, self._measure, self._every = write, measure, every
        self._sum, self._samples = 0.0, 0

    def on_step(self, loop: Loop) -> None:
        self._sum += loop.loss * loop.samples
        self._samples += loop.samples

    def on_epoch(self, loop: Loop) -> None:
        mean = self._sum / self._samples if self._samples else math.nan
        values, self._sum, self._samples = {"train/epoch_loss": mean}, 0.0, 0
        if loop.epoch % self._every == 0 or loop.complete:
            values |= self._measure()
        loop.measured = values
        self._write(loop.step, loop.epoch, values)

    def state(self) -> Any:
        return self._sum, self._samples

    def load_state(self, state: Any) -> None:
        total, samples = state
        self._sum, self._samples = float(total), int(samples)


class EveryFewEpochs(Callback):
    """Calls `function` with the number of steps every few epochs, and after the last."""

    def __init__(self, function: Callable[[int], None], every: int) -> None:
        self._function, self._every = function, every

    def on_epoch(self, loop: Loop) -> None:
        if loop.epoch % self._every == 0 or loop.complete:
            self._function(loop.step)


# A trace of one real step, for TensorBoard's page of graphs.


TRACED = 2
"""The number of the traced step; the first step of a run differs from the others."""


class TraceStep(Callback):
    """Traces one step of the run.

    Args:
        trace: a context manager that traces the step inside it.
    """

    def __init__(self, trace: Callable[[Any], AbstractContextManager[None]]) -> None:
        self._trace = trace

    def on_start(self, loop: Loop) -> None:
        self._before = min(TRACED, loop.steps) - 1
        """The number of steps before the traced one."""
        self.on_step(loop)

    def on_step(self, loop: Loop) -> None:
        # Another active profiler would leave nothing to see.
        if loop.step == self._before and sys.getprofile() is None:
            loop.task.trace = self._trace


# The progress of a run: a few lines, and a bar on a terminal.


BAR_INTERVAL = 0.1
"""Seconds between two updates of the progress bar, so that its cost per step is negligible."""
BAR_FORMAT = "{desc} |{bar}| {elapsed} elapsed, {remaining} left{postfix}"
LINES = 10
"""The approximate number of progress lines."""


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Show each warning of the block as one line, above the progress bar if there is one.

    The warning about an uncompiled step never becomes an error: the training continues.
    """

    def show(message: Warning | str, *place: object) -> None:
        from tqdm import tqdm

        tqdm.write(wrap_to_screen(f"warning: {message}"), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", "nanotorch.compile runs", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


class Progress(Callback):
    """Prints a line every few epochs, or several per epoch if there are few, and one at the end.

    Args:
        epochs: the number of epochs in the run.
        validate_every: the number of epochs between two measurements; lines follow measurements.
        bar: whether a bar below the lines shows each moment, as on a terminal.
    """

    def __init__(self, epochs: int, validate_every: int = 1, bar: bool = False) -> None:
        self._epochs, self._with_bar, self._updated = epochs, bar, 0.0
        self._every = math.ceil(epochs / LINES / validate_every) * validate_every

    def on_start(self, loop: Loop) -> None:
        from tqdm import tqdm

        self._bar = tqdm(
            total=loop.steps, initial=loop.step, dynamic_ncols=True, file=sys.stderr,
            bar_format=BAR_FORMAT, leave=False, disable=not self._with_bar,
        )  # fmt: skip
        self._start, self._first = time.monotonic(), loop.step
        """The time of the start or resumption, and the number of steps taken before it."""
        self._told = loop.step
        """The step of the last line."""
        self._epoch = math.ceil(loop.steps / self._epochs)
        self._within = math.ceil(self._epoch / max(LINES // self._epochs, 1))
        """Steps in an epoch, and steps between two lines within an epoch."""

    def on_step(self, loop: Loop) -> None:
        assert loop.position is not None
        inside = loop.position < self._epoch and not loop.complete
        if inside and loop.position % self._within == 0:
            self._tell(loop)
        if self._bar.disable or (now := time.monotonic()) - self._updated < BAR_INTERVAL:
            return
        self._updated = now
        self._bar.set_description_str(f"epoch {loop.epoch}/{self._epochs}", refresh=False)
        # The loss has a fixed width, so that the bar keeps its length.
        self._bar.set_postfix_str(f"{self._speed(loop)}, loss {loop.loss:<8.3g}", refresh=False)
        self._bar.update(loop.step - self._bar.n)

    def on_epoch(self, loop: Loop) -> None:
        if loop.epoch % self._every == 0 or loop.complete:
            self._tell(loop)

    def on_end(self, loop: Loop) -> None:
        self._bar.close()
        if self._told < loop.step:
            self._tell(loop)

    def _tell(self, loop: Loop) -> None:
        self._told = loop.step
        text = f"epoch {loop.epoch:{len(str(self._epochs))}}/{self._epochs}"
        if loop.position is not None:
            text += f", step {loop.step}/{loop.steps}"
        measured = loop.measured if loop.position is None else {}
        text += f": loss {format_loss(measured.get('train/epoch_loss', loop.loss))}"
        if "validation/loss" in measured:
            text += f", validation loss {format_loss(measured['validation/loss'])}"
        say(f"{text}, {self._speed(loop)}")

    def _speed(self, loop: Loop) -> str:
        """Return the mean speed of the steps since the start, as text."""
        rate = (loop.step - self._first) / max(time.monotonic() - self._start, 1e-9)
        if rate < 1:
            return f"{1 / max(rate, 1e-9):.1f} s/step"
        return f"{rate:,.0f} steps/s" if rate >= 10 else f"{rate:.1f} steps/s"


def format_loss(loss: float) -> str:
    """Return a loss with four digits; trailing zeros align losses in a column."""
    return f"{loss:#.4g}".rstrip(".")


def say(text: str) -> None:
    """Print a text, above the progress bar if there is one."""
    from tqdm import tqdm

    tqdm.write(text, file=sys.stdout)
    sys.stdout.flush()
