"""Schedules that repeat, and schedules made of others."""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Literal

from nanotorch.optim.lr_scheduler.scheduler import (
    Formula,
    LRScheduler,
    Rate,
    ReduceLROnPlateau,
    checked,
    per_group,
    put,
    values,
)
from nanotorch.optim.optimizer import Group, Optimizer

# Schedulers whose rates rise and fall, while the momentum does the opposite.


class _Cyclic(Formula):
    """A scheduler that also cycles the momentum, or β₁ where an optimizer has that instead."""

    use_beta1: bool

    def _prepare_momentum(
        self, optimizer: Optimizer, lower: Any, upper: Any, begin: bool
    ) -> tuple[list[float], list[float]]:
        """Find the bounds for each group, and note them there; begin at the upper one."""
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must have momentum or betas with `cycle_momentum`")
        self.use_beta1 = "betas" in optimizer.defaults
        bounds = (
            per_group("base_momentum", optimizer, lower),
            per_group("max_momentum", optimizer, upper),
        )
        if begin:
            for base, greatest, group in zip(*bounds, optimizer.param_groups, strict=True):
                self._set_momentum(group, greatest)
                group["max_momentum"] = greatest
                group["base_momentum"] = base
        return bounds

    def _set_momentum(self, group: Group, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_Cyclic):
    """Rates rise and fall between two bounds, linearly.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        base_lr, max_lr: the bounds; lists for those of each group.
        step_size_up: how many steps a rise takes. Default: 2000.
        step_size_down: how many a fall takes. Default: as a rise.
        mode: "triangular"; "triangular2", where each cycle is half as high; "exp_range", where
            the height is ``gamma ** steps``. Default: "triangular".
        gamma: see there. Default: 1.
        scale_fn: the height in place of a mode.
        scale_mode: what ``scale_fn`` is a function of, "cycle" (from 1) or "iterations".
        cycle_momentum: move the momentum against the rates. Default: True.
        base_momentum, max_momentum: its bounds. Default: 0.8 and 0.9.

    Raises:
        ValueError: for another mode, or if the optimizer has no momentum to cycle.
        TypeError: if ``optimizer`` is none.

    Reference:
        Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017.
    """

    _parts = "_scale_fn_custom"

    def __init__(
        self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
        step_size_up: int = 2000, step_size_down: int | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle", cycle_momentum: bool = True,
        base_momentum: float = 0.8, max_momentum: float = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.optimizer = checked(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                put(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom, self.scale_mode = scale_fn, scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._prepare_momentum(
                optimizer, base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """How high a cycle is, or the cycle that a step is in."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1.0 if self.mode == "triangular" else 1 / (2.0 ** (x - 1))

    def _rates(self) -> list[Rate]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        rising = x <= self.step_ratio
        height = x / self.step_ratio if rising else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            bounds = zip(self.base_momentums, self.max_momentums, strict=True)
            momenta = [high - (high - low) * height * scale for low, high in bounds]
            for group, momentum in zip(self.optimizer.param_groups, momenta, strict=True):
                self._set_momentum(group, momentum)
        return [
            low + (high - low) * height * scale
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]


class OneCycleLR(_Cyclic):
    """Rates rise to ``max_lr``, then fall far below where they began, in a given number of steps.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        max_lr: the greatest rate; a list for that of each group.
        total_steps: how many steps there are; or
        epochs, steps_per_epoch: both, of which it is the product.
        pct_start: the share of steps in which rates rise, a float in [0, 1]. Default: 0.3.
        anneal_strategy: "cos" or "linear". Default: "cos".
        cycle_momentum: move the momentum against the rates. Default: True.
        base_momentum, max_momentum: its bounds. Default: 0.85 and 0.95.
        div_factor: rates begin at ``max_lr / div_factor``. Default: 25.
        final_div_factor: and end at that by ``final_div_factor``. Default: 1e4.
        three_phase: fall to the beginning as fast as rates rose, then to the end. Default: False.

    Raises:
        ValueError: for an argument out of its range, if the optimizer has no momentum to cycle,
            and at the step after the last one.
        TypeError: if ``optimizer`` is none.

    Reference:
        Smith and Topin, Super-Convergence: Very Fast Training of Neural Networks Using Large
        Learning Rates, 2017.
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
        epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos", cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.optimizer = checked(optimizer)
        self.total_steps = steps_of(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        greatest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for rate, group in zip(greatest, optimizer.param_groups, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Rate, end: Rate, share: float) -> Rate:
        """On the way from one value to another."""
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def _rates(self) -> list[Rate]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        begin = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            begin = phase["end_step"]
        share = (step - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(start, end, share))
        return rates


def steps_of(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """How many steps there are in all."""
    given = {"total_steps": total_steps}
    if total_steps is None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return total_steps or epochs * steps_per_epoch


def phases(total: int, rise: float, three: bool) -> list[dict[str, Any]]:
    """The phases of `OneCycleLR`: when each ends, and the options between which it goes."""
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    up = float(rise * total) - 1
    bounds = [(up, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three:
        down = float(2 * rise * total) - 2
        bounds.append((down, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
        bounds.append((total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
    else:
        bounds.append((total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
    return [dict(zip(names, phase, strict=True)) for phase in bounds]


# Schedulers made of schedulers.


class _Combined(LRScheduler):
    """A scheduler that steps others."""

    _parts = "_schedulers"

    def _take(self, optimizer: Any, schedulers: Sequence[LRScheduler], none: str) -> None:
        """Keep schedulers; refuse those of another optimizer, that want a metric, or none."""
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler{none}, but got no scheduler.")
        for position, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} needs schedulers, but at index {position} there is none")
            if isinstance(scheduler, ReduceLROnPlateau) or optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects schedulers of one optimizer, none of which is a "
                    f"`ReduceLROnPlateau`, but got another one at index {position}"
                )
        self._schedulers = schedulers
        self.optimizer = optimizer


class SequentialLR(_Combined):
    """One scheduler after the other, each until its milestone.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        schedulers: of the same optimizer.
        milestones: at which epochs the second, the third and so on begin.

    Raises:
        ValueError: if there are no schedulers, or some of another optimizer, or not one
            milestone less.
        TypeError: if one is no scheduler.
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int],
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self._take(optimizer, schedulers, "")
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR expects {len(schedulers) - 1} milestones for {len(schedulers)} "
                f"schedulers, but got {len(milestones)}"
            )
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            put(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the first step of all schedulers, which they do when they are made.

        Args:
            sched: the scheduler to begin with. Default: this one.
        """
        pending = [self if sched is None else sched]
        while pending:
            scheduler = pending.pop()
            if hasattr(scheduler, "_schedulers"):
                pending += scheduler._schedulers
            elif hasattr(scheduler, "last_epoch"):
                scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Step the scheduler whose turn it is; at its milestone it begins."""
        self.last_epoch += 1
        position = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[position]
        if position > 0 and self._milestones[position - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """All schedulers at once, each changing the rates that the one before it leaves.

    Args:
        schedulers: of the same optimizer.
        optimizer: Default: that of the first scheduler.

    Raises:
        ValueError: if there are no schedulers, or some of another optimizer.
        TypeError: if one is no scheduler.
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        first = schedulers[0].optimizer if len(schedulers) else None
        self._take(optimizer or first, schedulers, " to be chained")
        self._last_lr = values(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Step them all."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self.optimizer, "lr")
