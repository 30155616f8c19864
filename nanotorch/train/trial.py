"""What a configuration would do, before it is trained: one step, or the loss at many rates."""

import math

import numpy as np

from nanotorch import optim

from .config import refusal
from .experiment import Experiment
from .loop import Callback, Loop
from .metrics import aligned
from .minimization import Minimization
from .supervised import Supervised

# One forward and backward pass, to find out before a training what would end it at once.


@np.errstate(all="ignore")  # what is not finite is told
def try_step(experiment: Experiment) -> str:
    """Return what became of one forward and backward pass; nothing is written."""
    if isinstance(experiment, Minimization):
        value = experiment.function(experiment.x)
        loss, said, blamed = float(value.detach().numpy().min()), "at the start", "function"
        value.sum().backward()
        parameters = {"x": experiment.x}
    else:
        assert isinstance(experiment, Supervised)
        x, y = next(experiment.batches(0))[:2]
        value = experiment.loss(experiment.model(x), y)
        loss, said = value.item() * experiment.unit, f"a batch of {len(x)} samples"
        blamed = "model"
        value.backward()
        named = experiment.model.named_parameters()
        parameters = {name: p for name, p in named if p.requires_grad}
    if not np.isfinite(loss):
        path = "loss" if blamed == "model" else blamed
        raise refusal(path, f"{said}: the loss is {loss}")
    for name, p in parameters.items():
        if p.grad is not None and not np.isfinite(p.grad.numpy()).all():
            raise refusal(blamed, f"{said}: the gradient of {name} is not finite")
    unused = [name for name, p in parameters.items() if p.grad is None]
    text = f"{said}: loss {loss:.6g}, all gradients are finite"
    return f"{text}; without gradient: {', '.join(unused)}" if unused else text


# A learning rate to begin with: the loss while the rate rises from step to step.


LOWEST, HIGHEST, STEPS = 1e-7, 10.0, 100
SMOOTHING = 0.9
"""The share of the mean of the losses before in the next one."""
TOO_LARGE = 4.0
"""How many times its least value the loss becomes before the rate rises no further."""
ROWS, WIDTH = 20, 40
FIRST = 10
"""Steps before the mean is worth anything."""


class RateSweep(Callback):
    """Multiplies the learning rate by a factor after each step, until the loss runs away."""

    def __init__(self, optimizer: optim.Optimizer, steps: int) -> None:
        self._optimizer, self._mean = optimizer, 0.0
        self._factor = (HIGHEST / LOWEST) ** (1 / max(steps - 1, 1))
        self.rates, self.losses = list[float](), list[float]()

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


def find_rate(experiment: Experiment, steps: int = STEPS) -> str:
    """Return how the loss of an experiment, which is changed by this, depends on the rate.

    Reference:
        Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017.
    """
    sweep = RateSweep(experiment.optimizer, steps)
    with np.errstate(all="ignore"):
        Loop(experiment, steps, [sweep]).run()
    return rate_text(sweep.rates, sweep.losses)


def steepest(rates: list[float], losses: list[float]) -> float | None:
    """Return the rate at which the loss falls fastest, over the logarithm of the rate."""
    if len(losses) < FIRST + 3:
        return None
    lowest = int(np.argmin(losses))
    slopes = np.gradient(np.array(losses), np.log(rates))[FIRST : max(lowest, FIRST + 1)]
    best = int(np.argmin(slopes))
    return rates[FIRST + best] if slopes[best] < 0 else None


def rate_text(rates: list[float], losses: list[float]) -> str:
    """Return the smoothed loss before the step at each rate as a table, and a suggestion."""
    if not losses:
        return "the loss is not finite from the beginning"
    low = min(losses)
    high = min(max(losses), low + 2 * (losses[0] - low))
    rows = [["learning rate", "loss", ""]]
    for index in np.unique(np.linspace(0, len(rates) - 1, ROWS).astype(int)):
        share = min((losses[index] - low) / (high - low), 1) if high > low else 0
        bar = "#" * round(WIDTH * share)
        rows.append([f"{rates[index]:.2e}", f"{losses[index]:.5g}", bar.ljust(WIDTH)])
    table = aligned(rows)
    if (rate := steepest(rates, losses)) is None:
        return f"{table}\nthe loss falls nowhere: no rate can be suggested"
    text = f"the loss falls fastest near {rate:.1e}; a rate up to there is a good start"
    return f"{table}\n{text}:\n  optimizer.lr={rate:.1e}"
