"""A learning rate to begin with: the loss while the rate rises from step to step."""

import math
from dataclasses import dataclass

import numpy as np

from nanotorch import optim

from .experiment import Experiment
from .loop import Callback, Loop
from .report import aligned

LOWEST, HIGHEST, STEPS = 1e-7, 10.0, 100
SMOOTHING = 0.9
"""The share of the mean of the losses before in the next one."""
TOO_LARGE = 4.0
"""How many times its least value the loss becomes before the rate rises no further."""
ROWS, WIDTH = 20, 40
FIRST = 10
"""Steps before the mean is worth anything."""


@dataclass(frozen=True)
class Found:
    """What a rising rate has shown."""

    rates: list[float]
    losses: list[float]
    """The smoothed loss before the step at each rate."""
    suggestion: float | None
    """Where the loss fell fastest; None if it never fell."""


class RateSweep(Callback):
    """Multiplies the learning rate by a factor after each step, until the loss runs away."""

    def __init__(self, optimizer: optim.Optimizer, steps: int) -> None:
        self._optimizer = optimizer
        self._factor = (HIGHEST / LOWEST) ** (1 / max(steps - 1, 1))
        self._mean = 0.0
        self.rates: list[float] = []
        self.losses: list[float] = []

    def on_start(self, loop: Loop) -> None:
        self._set(LOWEST)

    def on_step(self, loop: Loop) -> None:
        rate = LOWEST * self._factor ** (loop.step - 1)
        self._mean = SMOOTHING * self._mean + (1 - SMOOTHING) * loop.loss
        smoothed = self._mean / (1 - SMOOTHING**loop.step)  # as if the mean had begun with a loss
        if not math.isfinite(smoothed):
            loop.stop("not finite")
            return
        self.rates.append(rate)
        self.losses.append(smoothed)
        if smoothed > TOO_LARGE * max(min(self.losses), 0) and loop.step > FIRST:
            loop.stop("runs away")
        self._set(rate * self._factor)

    def _set(self, rate: float) -> None:
        for group in self._optimizer.param_groups:
            group["lr"] = rate


def find_rate(experiment: Experiment, steps: int = STEPS) -> Found:
    """Return how the loss of an experiment, which is changed by this, depends on the rate.

    Reference:
        Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017.
    """
    sweep = RateSweep(experiment.optimizer, steps)
    with np.errstate(all="ignore"):
        Loop(experiment, steps, [sweep]).run()
    return Found(sweep.rates, sweep.losses, steepest(sweep.rates, sweep.losses))


def steepest(rates: list[float], losses: list[float]) -> float | None:
    """Return the rate at which the loss falls fastest, over the logarithm of the rate."""
    if len(losses) < FIRST + 3:
        return None
    lowest = int(np.argmin(losses))
    slopes = np.gradient(np.array(losses), np.log(rates))[FIRST : max(lowest, FIRST + 1)]
    best = int(np.argmin(slopes))
    return rates[FIRST + best] if slopes[best] < 0 else None


def rate_text(found: Found) -> str:
    """Return the losses over the rates as a table, and the suggestion."""
    if not found.losses:
        return "the loss is not finite from the beginning"
    low = min(found.losses)
    high = min(max(found.losses), low + 2 * (found.losses[0] - low))
    chosen = np.unique(np.linspace(0, len(found.rates) - 1, ROWS).astype(int))
    rows = [["learning rate", "loss", ""]]
    for index in chosen:
        loss = found.losses[index]
        length = round(WIDTH * min((loss - low) / (high - low), 1)) if high > low else 0
        rows.append([f"{found.rates[index]:.2e}", f"{loss:.5g}", "#" * length])
    table = "\n".join(
        f"{line}  {bar}".rstrip()
        for line, bar in zip(aligned([r[:2] for r in rows]).splitlines(),
                             [r[2] for r in rows], strict=True)
    )  # fmt: skip
    if found.suggestion is None:
        return f"{table}\nthe loss falls nowhere: no rate can be suggested"
    text = f"the loss falls fastest near {found.suggestion:.1e}; a rate up to there is a good start"
    return f"{table}\n{text}: optimizer.lr={found.suggestion:.1e}"
