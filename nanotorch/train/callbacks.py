"""What happens around the steps: stopping, measuring, recording, showing progress."""

import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from .loop import Callback, Loop
from .metrics import WeightedMean

if TYPE_CHECKING:
    from tqdm import tqdm

BAR_INTERVAL = 0.1
"""Seconds between two updates of the progress bar, so that it costs nothing per step."""
BAR_FORMAT = (
    "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{remaining}, {rate_fmt}{postfix}]"
)
LINES = 10
"""How many lines of progress are printed where there is no terminal."""


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Show warnings of the block as a line each, above the bar if there is one.

    That a step runs uncompiled is told even where warnings are errors: the training goes on.
    """

    def show(message: Warning | str, *place: object) -> None:
        from tqdm import tqdm

        tqdm.write(f"warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", "nanotorch.compile runs", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


class Sink(Protocol):
    """Keeps measured values."""

    def write(self, step: int, epoch: int, values: Mapping[str, float]) -> None:
        """Keep what was measured after `step`."""


class StopWhenNotFinite(Callback):
    """Ends the run at the first loss that is not a number: no later step could mend it."""

    def on_step(self, loop: Loop) -> None:
        if not math.isfinite(loop.loss):
            loop.stop("diverged")


class StopOnSignal(Callback):
    """Lets Ctrl-C and SIGTERM end the run after the present step; a second one ends it at once."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def on_start(self, loop: Loop) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # Python delivers signals to the main thread only

        def handle(number: int, frame: FrameType | None) -> None:
            self.received = signal.Signals(number)
            loop.stop("interrupted")
            self._restore()

        for number in (signal.SIGINT, signal.SIGTERM):
            # What was started in the background with signals ignored stays so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._previous[number] = signal.signal(number, handle)

    def on_end(self, loop: Loop) -> None:
        self._restore()

    def _restore(self) -> None:
        while self._previous:
            number, previous = self._previous.popitem()
            signal.signal(number, previous)


class RecordSteps(Callback):
    """Records the training loss every few steps."""

    def __init__(self, sinks: Sequence[Sink], every: int) -> None:
        self._sinks = sinks
        self._every = every

    def on_step(self, loop: Loop) -> None:
        if loop.step % self._every == 0 or loop.done:
            for sink in self._sinks:
                sink.write(loop.step, loop.epoch, {"train/loss": loop.loss})


class RecordEpochs(Callback):
    """Records each epoch's mean training loss and, every few epochs, what `measure` returns."""

    def __init__(
        self, sinks: Sequence[Sink], measure: Callable[[], Mapping[str, float]], every: int
    ) -> None:
        self._sinks = sinks
        self._measure = measure
        self._every = every
        self._mean = WeightedMean()
        self.latest: Mapping[str, float] = {}
        """What was measured last."""

    def on_step(self, loop: Loop) -> None:
        self._mean.add(loop.loss, loop.samples)

    def on_epoch(self, loop: Loop) -> None:
        values = {"train/epoch_loss": self._mean.value}
        self._mean = WeightedMean()
        if loop.epoch % self._every == 0 or loop.done:
            self.latest = self._measure()
            values |= self.latest
        for sink in self._sinks:
            sink.write(loop.step, loop.epoch, values)


class Progress(Callback):
    """Says how far the run is; the last thing said is what it came to.

    Args:
        latest: returns what was measured last.
    """

    def __init__(self, latest: Callable[[], Mapping[str, float]]) -> None:
        self._latest = latest
        self._start = 0.0
        self._told = 0
        """The step of the last line."""

    def on_start(self, loop: Loop) -> None:
        self._start = time.monotonic()

    def on_end(self, loop: Loop) -> None:
        if self._told < loop.step:
            self._tell(loop)

    def _tell(self, loop: Loop) -> None:
        self._told = loop.step
        speed = loop.step / max(time.monotonic() - self._start, 1e-9)
        text = f"epoch {loop.epoch}, step {loop.step}/{loop.steps}: loss {loop.loss:.5g}"
        if "validation/loss" in (latest := self._latest()):
            text += f", validation loss {latest['validation/loss']:.5g}"
        print(f"{text}, {speed:,.0f} steps/s", flush=True)


class ProgressBar(Progress):
    """A bar with speed, remaining time and loss, for a terminal; one line takes its place."""

    def __init__(self, latest: Callable[[], Mapping[str, float]]) -> None:
        super().__init__(latest)
        self._bar: tqdm[Any] | None = None
        self._updated = 0.0

    def on_start(self, loop: Loop) -> None:
        from tqdm import tqdm

        super().on_start(loop)
        self._bar = tqdm(
            total=loop.steps,
            unit=" steps",
            dynamic_ncols=True,
            file=sys.stderr,
            bar_format=BAR_FORMAT,
            leave=False,
        )

    def on_step(self, loop: Loop) -> None:
        now = time.monotonic()
        if now - self._updated >= BAR_INTERVAL:
            self._updated = now
            self._show(loop)

    def on_end(self, loop: Loop) -> None:
        if self._bar is not None:
            self._bar.close()
        super().on_end(loop)

    def _show(self, loop: Loop) -> None:
        assert self._bar is not None
        # Numbers of a fixed width, so that the bar does not change its length at every update.
        text = f"loss {loop.loss:<8.3g}"
        if "validation/loss" in (latest := self._latest()):
            text += f" val {latest['validation/loss']:<8.3g}"
        self._bar.set_description_str(f"epoch {loop.epoch}", refresh=False)
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(loop.step - self._bar.n)


class ProgressLines(Progress):
    """A few lines over the whole run, for files and pipes."""

    def on_step(self, loop: Loop) -> None:
        # Epochs longer than the distance of two lines do not keep the reader waiting.
        if self._due(loop) > 1:
            self._tell(loop)

    def on_epoch(self, loop: Loop) -> None:
        if self._due(loop) > 0:
            self._tell(loop)

    def _due(self, loop: Loop) -> int:
        """Return how many lines' distance there is since the last one."""
        return loop.step * LINES // loop.steps - self._told * LINES // loop.steps


def progress(latest: Callable[[], Mapping[str, float]]) -> Callback:
    """Return what shows progress on a terminal, or where there is none."""
    return ProgressBar(latest) if sys.stderr.isatty() else ProgressLines(latest)
