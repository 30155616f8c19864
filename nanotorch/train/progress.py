"""How far a run is: a bar on a terminal, a few plain lines elsewhere."""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .loop import Callback, Loop

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

    That a step runs uncompiled is told even where warnings are errors: the training continues.
    """

    def show(message: Warning | str, *place: object) -> None:
        from tqdm import tqdm

        tqdm.write(f"warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", "nanotorch.compile runs", UserWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


class Progress(Callback):
    """Says how far the run is; the last thing said is what it came to."""

    def __init__(self) -> None:
        self._start, self._first = 0.0, 0
        """The step that was taken last when the run was started, or resumed."""
        self._told = 0
        """The step of the last line."""
        self._validation: tuple[int, float] | None = None
        """The epoch of the last measurement, and the loss."""

    def on_start(self, loop: Loop) -> None:
        self._start = time.monotonic()
        self._first = self._told = loop.step

    def on_epoch(self, loop: Loop) -> None:
        if "validation/loss" in loop.measured:
            self._validation = loop.epoch, loop.measured["validation/loss"]

    def on_end(self, loop: Loop) -> None:
        if self._told < loop.step:
            self._tell(loop)

    def _tell(self, loop: Loop) -> None:
        self._told = loop.step
        speed = (loop.step - self._first) / max(time.monotonic() - self._start, 1e-9)
        text = f"epoch {loop.epoch}, step {loop.step}/{loop.steps}: loss {loop.loss:.5g}"
        if self._validation is not None:
            epoch, loss = self._validation
            new = epoch == loop.epoch and loop.position is None
            text += f", validation loss {loss:.5g}" + ("" if new else f" after epoch {epoch}")
        print(f"{text}, {speed:,.0f} steps/s", flush=True)


class ProgressBar(Progress):
    """A bar with speed, remaining time and loss, for a terminal; one line takes its place."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: tqdm[Any] | None = None
        self._updated = 0.0

    def on_start(self, loop: Loop) -> None:
        from tqdm import tqdm

        super().on_start(loop)
        self._bar = tqdm(
            total=loop.steps, initial=loop.step, unit=" steps", dynamic_ncols=True,
            file=sys.stderr, bar_format=BAR_FORMAT, leave=False,
        )  # fmt: skip

    def on_step(self, loop: Loop) -> None:
        now = time.monotonic()
        if now - self._updated < BAR_INTERVAL:
            return
        assert self._bar is not None
        self._updated = now
        # Numbers of a fixed width, so that the bar does not change its length at every update.
        text = f"loss {loop.loss:<8.3g}"
        if self._validation is not None:
            epoch, loss = self._validation
            text += f" val({epoch}) {loss:<8.3g}"
        self._bar.set_description_str(f"epoch {loop.epoch}", refresh=False)
        self._bar.set_postfix_str(text, refresh=False)
        self._bar.update(loop.step - self._bar.n)

    def on_end(self, loop: Loop) -> None:
        if self._bar is not None:
            self._bar.close()
        super().on_end(loop)


class ProgressLines(Progress):
    """A few lines over the whole run, for files and pipes."""

    def on_step(self, loop: Loop) -> None:
        # Epochs longer than the distance of two lines do not keep the reader waiting.
        if self._due(loop) > 1 and not loop.complete:
            self._tell(loop)

    def on_epoch(self, loop: Loop) -> None:
        super().on_epoch(loop)
        if self._due(loop) > 0:
            self._tell(loop)

    def _due(self, loop: Loop) -> int:
        """Return how many lines' distance there is since the last one."""
        return loop.step * LINES // loop.steps - self._told * LINES // loop.steps


def progress() -> Callback:
    """Return what shows progress on a terminal, or where there is none."""
    return ProgressBar() if sys.stderr.isatty() else ProgressLines()
