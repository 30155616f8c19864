"""What a configuration would do, before it is trained: one step, or the loss at many rates."""

import copy
import math
from collections.abc import Mapping

import numpy as np

from nanotorch import optim

from .config import refusal
from .experiment import Experiment
from .loop import Callback, Loop
from .metrics import aligned

# One forward and backward pass, to find out before a training what would end it at once.


@np.errstate(all="ignore")  # what is not finite is told
def try_step(experiment: Experiment) -> str:
    """Return what became of one step; nothing is written."""
    batch = next(iter(experiment.batches(0)))
    loss, samples = experiment.step(batch)
    blamed, parameters = experiment.blamed, experiment.learned()
    said = f"a batch of {samples} samples" if blamed == "model" else "at the start"
    if not np.isfinite(loss):
        raise refusal("loss" if blamed == "model" else blamed, f"{said}: the loss is {loss}")
    for name, p in parameters.items():
        if p.grad is not None and not np.isfinite(p.grad.numpy()).all():
            raise refusal(blamed, f"{said}: the gradient of {name} is not finite")
    unused = [name for name, p in parameters.items() if p.grad is None]
    text = f"{said}: loss {loss:.6g}, all gradients are finite"
    return f"{text}; without gradient: {', '.join(unused)}" if unused else text


# A learning rate to begin with: the loss while the rate rises from step to step, then trials.


LOWEST, HIGHEST, STEPS = 1e-7, 10.0, 100
SMOOTHING = 0.9
"""The share of the mean of the losses before in the next one."""
TOO_LARGE = 4.0
"""How many times its least value the loss becomes before the rate rises no further."""
ROWS, WIDTH = 20, 40
FIRST = 10
"""Steps before the mean is worth anything."""
TRIALS, FACTOR = 6, math.sqrt(10)
"""How many rates are tried, and how many times the next one each is."""
NEAR = 0.1
"""The share of the way to the least loss that a rate may lack to be as good."""


class RateSweep(Callback):
    """Multiplies the learning rate by a factor after each step, until the loss runs away.

    Args:
        optimizer: has the rate.
        rate: the first one.
        factor: 1 for a trial of that rate.
    """

    def __init__(self, optimizer: optim.Optimizer, rate: float, factor: float) -> None:
        self._optimizer, self._rate, self._factor, self._mean = optimizer, rate, factor, 0.0
        self.rates, self.losses = list[float](), list[float]()

    def on_start(self, loop: Loop) -> None:
        self._set(self._rate)

    def on_step(self, loop: Loop) -> None:
        rate = self._rate * self._factor ** (loop.step - 1)
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


def find_rate(experiment: Experiment, steps: int = STEPS) -> str:
    """Return how the loss of an experiment, which is changed by this, depends on the rate.

    Reference:
        Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017.
    """
    beginning = copy.deepcopy(experiment.training_state())

    def swept(rate: float, factor: float) -> RateSweep:
        experiment.load_training_state(copy.deepcopy(beginning))
        sweep = RateSweep(experiment.optimizer, rate, factor)
        with np.errstate(all="ignore"):
            Loop(experiment, steps, [sweep]).run()
        return sweep

    sweep = swept(LOWEST, (HIGHEST / LOWEST) ** (1 / max(steps - 1, 1)))
    if not sweep.losses:
        return "the loss is not finite from the beginning"
    # At a rate that rises, the loss still falls where it would run away if the rate stayed.
    highest = sweep.rates[int(np.argmin(sweep.losses))]
    found = {}
    for rate in (highest / FACTOR**k for k in range(TRIALS)):
        losses = swept(rate, 1.0).losses
        found[rate] = losses[-1] if len(losses) == steps else math.inf
    return f"{rate_table(sweep.rates, sweep.losses)}\n\n{proposal(found, sweep.losses[0], steps)}"


def rate_table(rates: list[float], losses: list[float]) -> str:
    """Return the smoothed loss before the step at each rate as a table."""
    low = min(losses)
    high = min(max(losses), low + 2 * (losses[0] - low))
    rows = [["learning rate", "loss", ""]]
    for index in np.unique(np.linspace(0, len(rates) - 1, ROWS).astype(int)):
        share = min((losses[index] - low) / (high - low), 1) if high > low else 0
        bar = "#" * round(WIDTH * share)
        rows.append([f"{rates[index]:.2e}", f"{losses[index]:.5g}", bar.ljust(WIDTH)])
    return aligned(rows)


def proposal(found: Mapping[float, float], first: float, steps: int) -> str:
    """Return the rate that trains best, and which others are nearly as good.

    Args:
        found: rate -> the loss after so many steps at that rate; infinity if it ran away.
        first: the loss before.
        steps: how many.
    """
    best, least = min(found.items(), key=lambda item: item[1])
    rows = [["learning rate", f"loss after {steps} steps"]]
    rows += [[f"{r:.1e}", f"{x:.5g}" if x < math.inf else "runs away"] for r, x in found.items()]
    if not least < first:
        return f"{aligned(rows)}\nthe loss falls at none of these rates, of which none is proposed"
    most = min(NEAR * (first - least), abs(least))
    near = [rate for rate, loss in found.items() if loss - least <= most]
    said = "no other rate tried comes near: look closer around it"
    if len(near) > 1:
        said = f"rates from {min(near):.1e} to {max(near):.1e} do nearly as well"
    return f"{aligned(rows)}\nthe best rate for {steps} steps; {said}:\n  optimizer.lr={best:.1e}"
