"""Schedules of the learning rate that a configuration may name."""

import math
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.optim import lr_scheduler

from .checkpoint import alike
from .components import REFUSALS, Components
from .loop import Callback, Loop
from .problems import Origins
from .reading import Component
from .settings import Natural, Positive

EPOCH, STEP = "epoch", "step"

# What the schedule's length is called; if left out, it is the training's.
LENGTHS = {
    "CosineAnnealingLR": "T_max",
    "OneCycleLR": "total_steps",
    "PolynomialLR": "total_iters",
}
PERIODS = ("step_size", "T_0", "T_mult", "step_size_up", "step_size_down", *LENGTHS.values())
"""Numbers of epochs or steps, which are not nothing."""
MOST_TRIED = 10_000
"""Changes of the rate that are tried before a training: mistakes come to light in the first."""
# Made for changes after every step.
BY_STEPS = ("CyclicLR", "OneCycleLR")
# Handled by the trainer, or functions, which a file cannot hold.
NOT_CONFIGURABLE = ("optimizer", "last_epoch", "epochs", "steps_per_epoch", "scale_fn")
PLATEAU = "ReduceLROnPlateau"


@dataclass(frozen=True, eq=False)
class Schedules(Components):
    """The schedulers of `optim.lr_scheduler`, each with `interval`: what it counts.

    `warmup` is how many of these the rate rises linearly before.
    """

    __hash__ = object.__hash__  # of what stands in a union of type hints

    def hints(self, name: str) -> Mapping[str, Any]:
        """Return the type of each argument that a configuration may give."""
        found = {key: hint for key, hint in super().hints(name).items() if self._offered(key)}
        found |= dict.fromkeys([key for key in found if key in PERIODS], Positive)
        if length := LENGTHS.get(name):
            found[length] = Positive | None
        if name == "CyclicLR":
            found["step_size_down"] = Positive | None
        if name == "MultiStepLR":
            found["milestones"] = tuple[int, ...]
        return found | {"interval": Literal["epoch", "step"], "warmup": Natural}

    def defaults(self, name: str) -> Mapping[str, Any]:
        """Return the value of each argument that may be left out."""
        found = {key: value for key, value in super().defaults(name).items() if self._offered(key)}
        if length := LENGTHS.get(name):
            found[length] = None
        return found | {"interval": STEP if name in BY_STEPS else EPOCH, "warmup": 0}

    def _offered(self, argument: str) -> bool:
        return argument not in NOT_CONFIGURABLE


SCHEDULES = Schedules(
    "a scheduler",
    lr_scheduler,
    (
        *("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR"),
        *("CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", PLATEAU),
    ),
)


class Schedule(Callback):
    """Changes an optimizer's learning rate as the training goes on.

    Args:
        component: the scheduler that the configuration names.
        optimizer: whose rate to change.
        epochs, steps: how many the training has.
        monitor: the measured value that a plateau is one of.
        origins: where the configuration's values were written.

    Raises:
        ConfigError: if the scheduler refuses its arguments.
    """

    def __init__(
        self,
        component: Component,
        optimizer: optim.Optimizer,
        epochs: int,
        steps: int,
        monitor: str,
        origins: Origins,
    ) -> None:
        self._monitor = monitor
        arguments = dict(component.arguments)
        self._interval, warmup = arguments.pop("interval"), arguments.pop("warmup")
        self._name = component.name + (" after warm-up" if warmup else "")
        length = steps if self._interval == STEP else epochs
        if name := LENGTHS.get(component.name):
            arguments.setdefault(name, max(length - warmup, 1))
        if component.name == PLATEAU and warmup:
            raise origins.error("scheduler.warmup", f"cannot go before {PLATEAU}")
        fixed = component.arguments.items()
        self._arguments = {k: v for k, v in fixed if k not in LENGTHS.values()}
        bare = Component(component.name, arguments)
        trial = build(bare, warmup, like(optimizer), origins)
        if problem := trial_problem(trial, length, self._interval):
            raise origins.error("scheduler", problem)
        self._scheduler = build(bare, warmup, optimizer, origins)

    def on_step(self, loop: Loop) -> None:
        if self._interval == STEP:
            self._advance(loop.loss)

    def on_epoch(self, loop: Loop) -> None:
        if self._interval == EPOCH:
            self._advance(loop.measured.get(self._monitor))

    def state(self) -> Any:
        return {
            "name": self._name,
            "arguments": self._arguments,
            "state": self._scheduler.state_dict(),
        }

    def load_state(self, state: Any) -> None:
        if state["name"] != self._name:
            raise ValueError(f"the scheduler is {self._name}, but was {state['name']}")
        for name, value in self._arguments.items():
            if state["arguments"][name] != value:
                before = state["arguments"][name]
                raise ValueError(f"the scheduler's {name} is {value}, but was {before}")
        configured = {*LENGTHS.values(), *self._arguments}
        kept = without(configured, state["state"])
        if not alike(kept, without(configured, self._scheduler.state_dict())):
            raise ValueError("the scheduler's state is not its own")
        self._scheduler.load_state_dict(kept)
        for scheduler in (self._scheduler, *getattr(self._scheduler, "_schedulers", ())):
            if hasattr(scheduler, "base_lrs"):  # which may have been changed
                groups = scheduler.optimizer.param_groups
                scheduler.base_lrs = [group["initial_lr"] for group in groups]

    def _advance(self, value: float | None) -> None:
        if isinstance(self._scheduler, lr_scheduler.ReduceLROnPlateau):
            if value is not None:
                self._scheduler.step(value)
        else:
            self._scheduler.step()


def build(
    component: Component, warmup: int, optimizer: optim.Optimizer, origins: Origins
) -> lr_scheduler.LRScheduler:
    """Return a scheduler, after a rise over `warmup` changes."""
    main: lr_scheduler.LRScheduler = SCHEDULES.build(component, "scheduler", origins, optimizer)
    if not warmup:
        return main
    rise = lr_scheduler.LinearLR(optimizer, 1 / (warmup + 1), total_iters=warmup)
    return lr_scheduler.SequentialLR(optimizer, [rise, main], [warmup])


def try_schedule(
    component: Component, parameters: Sequence[nn.Parameter], origins: Origins
) -> None:
    """Make a scheduler that an optimizer with every option has.

    Raises:
        ConfigError: if the scheduler refuses its arguments.
    """
    arguments = dict(component.arguments)
    del arguments["interval"], arguments["warmup"]
    if name := LENGTHS.get(component.name):
        arguments.setdefault(name, MOST_TRIED)
    optimizer = optim.SGD(parameters, momentum=0.5)
    SCHEDULES.build(Component(component.name, arguments), "scheduler", origins, optimizer)


def like(optimizer: optim.Optimizer) -> optim.Optimizer:
    """Return an optimizer with the same options, of nothing that matters."""
    groups = [
        {**group, "params": [torch.zeros(1, 1, requires_grad=True)]}
        for group in optimizer.param_groups
    ]
    made: Callable[..., optim.Optimizer] = type(optimizer)
    return made(groups)


@np.errstate(all="ignore")
def trial_problem(scheduler: lr_scheduler.LRScheduler, length: int, interval: str) -> str:
    """Return what becomes wrong with the rates over a training; nothing if they are right.

    Args:
        scheduler: of an optimizer that is not needed.
        length: how often the training changes the rate.
        interval: after what it does so.
    """
    groups = scheduler.optimizer.param_groups
    measured = (0.0,) if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau) else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing has been optimized, as PyTorch points out
        for change in range(min(length, MOST_TRIED) + 1):
            rates = [group["lr"] for group in groups]
            for rate in rates:
                if isinstance(rate, complex) or not 0 <= rate < math.inf:
                    when = f"after {interval} {change}" if change else "from the start"
                    return f"makes the learning rate {rate} {when}"
            if change == length:
                break
            try:
                scheduler.step(*measured)
            except REFUSALS as error:
                return f"fails after {interval} {change + 1}: {error}"
    return ""


def without(configured: Container[str], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a scheduler's own steps change; a resumed run may be a longer one."""
    kept = {key: value for key, value in state.items() if key not in configured}
    if "_schedulers" in kept:
        rise, main = kept["_schedulers"]
        kept["_schedulers"] = [rise, without(configured, main)]
    return kept
