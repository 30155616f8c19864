"""How far a run is: a few lines, and a bar on a terminal."""

import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .loop import Callback, Loop
from .metrics import fitted

if TYPE_CHECKING:
    from tqdm import tqdm

BAR_INTERVAL = 0.1
"""Seconds between two updates of the progress bar, so that it costs nothing per step."""
BAR_FORMAT = "{desc} |{bar}| {elapsed} elapsed, {remaining} left{postfix}"
LINES = 10
"""About how many lines of progress there are."""


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Show warnings of the block as a line each, above the bar if there is one.

    That a step runs uncompiled is told even where warnings are errors: the training continues.
    """

    def show(message: Warning | str, *place: object) -> None:
        from tqdm import tqdm

        tqdm.write(fitted(f"warning: {message}"), file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", "nanotorch.compile runs", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


class Progress(Callback):
    """Prints a line every few epochs, or several an epoch if there are few; the last at the end.

    Args:
        epochs: how many the run has.
        validate_every: how many of them are between two measurements: a line carries its own.
    """

    def __init__(self, epochs: int, validate_every: int = 1) -> None:
        self._epochs = epochs
        self._every = math.ceil(epochs / LINES / validate_every) * validate_every
        self._epoch, self._within = 0, 0
        """Steps of an epoch, and between two lines of one."""
        self._start, self._first = 0.0, 0
        """When the run was started, or resumed, and the step that was taken last."""
        self._told = 0
        """The step of the last line."""

    def on_start(self, loop: Loop) -> None:
        self._start = time.monotonic()
        self._first = self._told = loop.step
        self._epoch = math.ceil(loop.steps / self._epochs)
        self._within = math.ceil(self._epoch / max(LINES // self._epochs, 1))

    def on_step(self, loop: Loop) -> None:
        assert loop.position is not None
        inside = loop.position < self._epoch and not loop.complete
        if inside and loop.position % self._within == 0:
            self._tell(loop)

    def on_epoch(self, loop: Loop) -> None:
        if loop.epoch % self._every == 0 or loop.complete:
            self._tell(loop)

    def on_end(self, loop: Loop) -> None:
        if self._told < loop.step:
            self._tell(loop)

    def _tell(self, loop: Loop) -> None:
        self._told = loop.step
        text = f"epoch {loop.epoch:{len(str(self._epochs))}}/{self._epochs}"
        if loop.position is not None:
            text += f", step {loop.step}/{loop.steps}"
        measured = loop.measured if loop.position is None else {}
        text += f": loss {shown(measured.get('train/epoch_loss', loop.loss))}"
        if "validation/loss" in measured:
            text += f", validation loss {shown(measured['validation/loss'])}"
        say(f"{text}, {self._speed(loop)}")

    def _speed(self, loop: Loop) -> str:
        """Return how fast the steps have been since the start."""
        rate = (loop.step - self._first) / max(time.monotonic() - self._start, 1e-9)
        if rate < 1:
            return f"{1 / max(rate, 1e-9):.1f} s/step"
        return f"{rate:,.0f} steps/s" if rate >= 10 else f"{rate:.1f} steps/s"


def shown(loss: float) -> str:
    """Return four digits, zeros at the end included, so that losses stand below each other."""
    return f"{loss:#.4g}".rstrip(".")


class ProgressBar(Progress):
    """The lines, and below them a bar, for a terminal."""

    def __init__(self, epochs: int, validate_every: int = 1) -> None:
        super().__init__(epochs, validate_every)
        self._bar: tqdm[Any] | None = None
        self._updated = 0.0

    def on_start(self, loop: Loop) -> None:
        from tqdm import tqdm

        super().on_start(loop)
        self._bar = tqdm(
            total=loop.steps, initial=loop.step, dynamic_ncols=True, file=sys.stderr,
            bar_format=BAR_FORMAT, leave=False,
        )  # fmt: skip

    def on_step(self, loop: Loop) -> None:
        super().on_step(loop)
        now = time.monotonic()
        if now - self._updated < BAR_INTERVAL:
            return
        assert self._bar is not None
        self._updated = now
        self._bar.set_description_str(f"epoch {loop.epoch}/{self._epochs}", refresh=False)
        # Numbers of a fixed width, so that the bar does not change its length at every update.
        self._bar.set_postfix_str(f"{self._speed(loop)}, loss {loop.loss:<8.3g}", refresh=False)
        self._bar.update(loop.step - self._bar.n)

    def on_end(self, loop: Loop) -> None:
        if self._bar is not None:
            self._bar.close()
        super().on_end(loop)


def say(text: str) -> None:
    """Print a text, above the bar if there is one."""
    from tqdm import tqdm

    tqdm.write(text, file=sys.stdout)
    sys.stdout.flush()


def progress(epochs: int, validate_every: int = 1) -> Callback:
    """Return what shows progress on a terminal, or where there is none."""
    return (ProgressBar if sys.stderr.isatty() else Progress)(epochs, validate_every)
