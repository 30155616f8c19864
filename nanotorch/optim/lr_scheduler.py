"""Schedulers, which change the learning rates of an optimizer from step to step."""

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Literal

from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.ops.arguments import require, require_value
from nanotorch.optim.optimizer import Group, Optimizer, watch_steps

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip

# A learning rate is a number or a tensor; a tensor is changed in place, so that the optimizer keeps
# the user's tensor.


Rate = Any  # a float or a tensor
Factor = Callable[[int], float]  # of the epoch

ORDER = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before "
    f"`lr_scheduler.step()`. See more details at {ORDER}"
)
TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
    "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
    "Failure to do this will result in PyTorch skipping the first value of the learning rate "
    f"schedule. See more details at {ORDER}"
)
EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
NO_LEAST = "The number of param groups in the `optimizer` ({}) differs from that of `min_lrs` ({})"
STRATEGY = "anneal_strategy must be one of 'cos' or 'linear', instead got {}"
OTHER = (
    "{} expects schedulers of one optimizer, none of which is a `ReduceLROnPlateau`, but got "
    "another one at index {}"
)


class LRScheduler:
    """The base of schedulers, which change the learning rates of an optimizer's groups.

    Call `step` after the optimizer's, once per epoch or once per batch. The first scheduler stores
    the rate of each group in the group as ``initial_lr``. Every subclass defines `get_lr`.

    Args:
        optimizer: the optimizer.
        last_epoch: the number of steps before; -1 starts a new schedule. Default: -1.

    Attributes:
        base_lrs: the initial rate of each group.
        last_epoch: the number of steps since the start.

    Raises:
        TypeError: if ``optimizer`` is not an optimizer.
        KeyError: if ``last_epoch`` is not -1 and a group has no initial rate.
    """

    _parts: ClassVar[str] = ""  # the attribute that holds functions or schedulers
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Rate]
    _step_count: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = check_optimizer(optimizer)
        for position, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_value(group["lr"]))
            elif "initial_lr" not in group:
                message = f"param 'initial_lr' is not specified in param_groups[{position}] "
                raise KeyError(f"{message}when resuming scheduler with last_epoch >= 0.")
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the first rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer; of functions and schedulers, their attributes."""
        state = {k: v for k, v in vars(self).items() if k not in ("optimizer", self._parts)}
        if self._parts:
            state[self._parts] = state_of(vars(self)[self._parts])
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the attributes of a `state_dict`; the rates of the optimizer do not change."""
        state = dict(state_dict)
        if self._parts:
            restore(vars(self)[self._parts], state.pop(self._parts))
        vars(self).update(state)

    def get_last_lr(self) -> list[Rate]:
        """The rates that this scheduler set last, one per group; tensors are copies."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The next rate of each group, for `step`; users call `get_last_lr` instead."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Set the next rates.

        Args:
            epoch: deprecated; move to this epoch, by the closed form if there is one.

        Warns:
            UserWarning: for an ``epoch``, or if the optimizer has not stepped since the creation.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warn(OVERRIDDEN)
            elif not getattr(self.optimizer, "_opt_called", False):
                warn(TOO_EARLY)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Count the step, compute the rates and set them."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set(closed or self.get_lr)

    def _set(self, compute: Any) -> None:
        """Set the rates that ``compute`` returns."""
        self._get_lr_called_within_step = True
        try:
            rates = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_option(group, "lr", rate)
        self._last_lr = values(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The former name of `LRScheduler`."""


class Formula(LRScheduler):
    """The base of schedulers with a formula for the rates, in `_rates`."""

    def get_lr(self) -> list[Rate]:
        """The next rate of each group, for `step`; users call `get_last_lr` instead."""
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, "
                "please use `get_last_lr()`."
            )
        return self._rates()

    def _rates(self) -> list[Rate]:
        raise NotImplementedError

    def _current(self, factor: float | None = None) -> list[Rate]:
        """The present rates, times a factor if one is given."""
        if factor is None:
            return values(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _initial(self, factor: float) -> list[Rate]:
        """The initial rates, each times a factor."""
        return [base * factor for base in self.base_lrs]


def check_optimizer(optimizer: Any) -> Optimizer:
    """``optimizer``; raises TypeError unless it is an optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def state_of(part: Any) -> Any:
    """The attributes of a scheduler or a callable object; None for a function."""
    if isinstance(part, (list, tuple)):
        return [state_of(each) for each in part]
    if hasattr(part, "get_last_lr"):
        return part.state_dict()
    return None if part is None or isinstance(part, types.FunctionType) else vars(part).copy()


def restore(part: Any, state: Any) -> None:
    """Restore the attributes of a scheduler or a callable object."""
    if isinstance(part, (list, tuple)):
        for each, held in zip(part, state, strict=True):
            restore(each, held)
    elif hasattr(part, "get_last_lr"):
        part.load_state_dict(state)
    elif state is not None:
        vars(part).update(state)


def copy_value(value: Any) -> Any:
    """A number, or a copy of a tensor."""
    return value.clone() if isinstance(value, Tensor) else value


def values(optimizer: Optimizer, key: str) -> list[Any]:
    """The values of an option, one per group; tensors are copies."""
    return [copy_value(group[key]) for group in optimizer.param_groups]


def set_option(group: Group, key: str, value: Any) -> None:
    """Set an option of a group; if it is a tensor, in place."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value per group, from a list or one value for all; ``name`` is for the error."""
    groups = len(optimizer.param_groups)
    entries = value if isinstance(value, (list, tuple)) else [value] * groups
    message = "{} must have the same length as optimizer.param_groups, {}"
    require_value(len(entries) == groups, message, name, groups)
    return [copy_value(entry) for entry in entries]


class _Functions(Formula):
    """The base of schedulers with a function of the epoch per group, or one for all."""

    _parts = "lr_lambdas"

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1
    ) -> None:
        self.optimizer = optimizer
        self.lr_lambdas = per_group("lr_lambdas", optimizer, lr_lambda)
        for function in self.lr_lambdas:
            message, kind = "lr_lambda should be a function, but got {}", type(function).__name__
            require(callable(function), message, kind, error=TypeError)
        super().__init__(optimizer, last_epoch)

    def _times(self, rates: Iterable[Rate]) -> list[Rate]:
        """The rates of the groups, each times the result of its function."""
        pairs = zip(rates, self.lr_lambdas, strict=True)
        return [rate * factor(self.last_epoch) for rate, factor in pairs]


class LambdaLR(_Functions):
    """Sets the initial rates times ``lr_lambda``, a function of the epoch or one per group.

    Raises:
        ValueError: unless there is one function per group.
        TypeError: if a function is not callable.
    """

    def _rates(self) -> list[Rate]:
        return self._times(self.base_lrs)


class MultiplicativeLR(_Functions):
    """Multiplies the rates in each step by ``lr_lambda``, a function of the epoch or one per group.

    Raises:
        ValueError: unless there is one function per group.
        TypeError: if a function is not callable.
    """

    def _rates(self) -> list[Rate]:
        rates = self._current()
        return rates if self._is_initial else self._times(rates)


class StepLR(Formula):
    """Multiplies the rates by a factor every ``step_size`` steps.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        step_size: the number of steps with the same rate.
        gamma: the factor. Default: 0.1.
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        falls = self.last_epoch and self.last_epoch % self.step_size == 0
        return self._current(self.gamma if falls else None)

    def _get_closed_form_lr(self) -> list[Rate]:
        return self._initial(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(Formula):
    """Multiplies the rates by a factor at each milestone.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        milestones: the epochs; an epoch may occur several times.
        gamma: the factor. Default: 0.1.
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self.last_epoch not in self.milestones:
            return self._current()
        return self._current(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Rate]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return self._initial(self.gamma**passed)


class ConstantLR(Formula):
    """Multiplies the rates by a factor for the first ``total_iters`` epochs.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        factor: the factor, in [0, 1]. Default: 1/3.
        total_iters: the number of epochs. Default: 5.

    Raises:
        ValueError: if ``factor`` is out of range.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self.last_epoch == 0:
            return self._current(self.factor)
        return self._current(1.0 / self.factor if self.last_epoch == self.total_iters else None)

    def _get_closed_form_lr(self) -> list[Rate]:
        over = self.last_epoch >= self.total_iters
        return self._initial(self.factor + over * (1 - self.factor))


class LinearLR(Formula):
    """Multiplies the rates by a factor that changes linearly over ``total_iters`` epochs.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        start_factor: the first factor, in (0, 1]. Default: 1/3.
        end_factor: the last factor, in [0, 1]. Default: 1.
        total_iters: the number of epochs. Default: 5.

    Raises:
        ValueError: if a factor is out of range.
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
        total_iters: int = 5, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be in (0, 1].")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self.last_epoch == 0:
            return self._current(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._current(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Rate]:
        passed = min(self.total_iters, self.last_epoch)
        rise = self.end_factor - self.start_factor
        return self._initial(self.start_factor + rise * passed / self.total_iters)


class ExponentialLR(Formula):
    """Multiplies the rates by a factor in each step.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        gamma: the factor.
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        return self._current(None if self._is_initial else self.gamma)

    def _get_closed_form_lr(self) -> list[Rate]:
        return self._initial(self.gamma**self.last_epoch)


class PolynomialLR(Formula):
    """Multiplies the initial rates by ``(1 - epoch / total_iters) ** power``, down to 0.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        total_iters: the number of epochs. Default: 5.
        power: the exponent. Default: 1.
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._current((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Rate]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return self._initial(left**self.power)


def wave(scheduler: Any, position: float, length: float) -> list[Rate]:
    """The rates at ``position`` in half a cosine wave of ``length`` steps, to ``eta_min``."""
    height, low = 1 + math.cos(math.pi * position / length), scheduler.eta_min
    return [low + (base - low) * height / 2 for base in scheduler.base_lrs]


class CosineAnnealingLR(Formula):
    """Moves the rates along half a cosine wave to ``eta_min``, and back in further steps.

        lr = eta_min + (initial lr - eta_min) (1 + cos(π epoch / T_max)) / 2

    Each step multiplies the distance from ``eta_min`` by the ratio of two values of this formula.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        T_max: the number of steps in half a wave.
        eta_min: the least rate. Default: 0.

    Reference:
        Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR 2017,
        equation 5, without restarts.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        epoch, T_max, low = self.last_epoch, self.T_max, self.eta_min
        groups = self.optimizer.param_groups
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and epoch > 0:  # a subclass skipped the initial step
            return wave(self, epoch, T_max)
        if (epoch - 1 - T_max) % (2 * T_max) == 0:  # at the least rate, the ratio is infinite
            height = 1 - math.cos(math.pi / T_max)
            return [
                group["lr"] + (base - low) * height / 2
                for base, group in zip(self.base_lrs, groups, strict=True)
            ]
        height = 1 + math.cos(math.pi * epoch / T_max)
        ratio = height / (1 + math.cos(math.pi * (epoch - 1) / T_max))
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Rate]:
        return wave(self, self.last_epoch, self.T_max)


class CosineAnnealingWarmRestarts(Formula):
    """Moves the rates along half a cosine wave to ``eta_min``, then restarts.

        lr = eta_min + (initial lr - eta_min) (1 + cos(π T_cur / T_i)) / 2

    `step` accepts fractions of an epoch: ``scheduler.step(epoch + batch / batches)``.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        T_0: the number of steps in the first wave.
        T_mult: the factor of the length from one wave to the next. Default: 1.
        eta_min: the least rate. Default: 0.

    Raises:
        ValueError: if an argument is out of range or of another type.

    Reference:
        See `CosineAnnealingLR`.
    """

    T_cur: float

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min}")
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min, self.T_cur = T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        return wave(self, self.T_cur, self.T_i)

    def step(self, epoch: Any = None) -> None:
        """Set the next rates.

        Args:
            epoch: the new epoch, at least 0, also between two epochs. Default: the next one.

        Raises:
            ValueError: if ``epoch`` is negative.
        """
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:  # find the wave of the epoch
            epoch = epoch or 0
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            if epoch < self.T_0:
                self.T_i, self.T_cur = self.T_0, epoch
            elif self.T_mult == 1:
                self.T_cur = epoch % self.T_0
            else:  # n waves end at T_0 (T_multⁿ - 1) / (T_mult - 1)
                n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
                self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
                self.T_i = self.T_0 * self.T_mult**n
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr)


class ReduceLROnPlateau(LRScheduler):
    """Reduces the rates when a metric stops improving.

    After ``patience`` steps without a new best value, the next such step reduces the rates.

    Args:
        optimizer: the optimizer.
        mode: "min" if lower values are better, or "max". Default: "min".
        factor: the factor of a reduction, less than 1. Default: 0.1.
        patience: the number of bad steps without reduction. Default: 10.
        threshold: the least improvement that counts. Default: 1e-4.
        threshold_mode: "rel", relative to the best value, or "abs". Default: "rel".
        cooldown: the number of steps after a reduction that do not count as bad. Default: 0.
        min_lr: the least rate, or a list of one per group. Default: 0.
        eps: the least difference between old and new rate. Default: 1e-8.

    Raises:
        ValueError: if an argument is out of range.
        TypeError: if ``optimizer`` is not an optimizer.
    """

    def __init__(
        self, optimizer: Optimizer, mode: Literal["min", "max"] = "min", factor: float = 0.1,
        patience: int = 10, threshold: float = 1e-4, threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0, min_lr: list[float] | float = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        self.optimizer = check_optimizer(optimizer)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = per_group("min_lrs", optimizer, min_lr)
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = values(optimizer, "lr")
        self._set_mode(mode, threshold, threshold_mode)
        self._reset()

    def _reset(self) -> None:
        """Reset the best value and the counts; programs for PyTorch call this method."""
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def _set_mode(self, mode: str, threshold: float, threshold_mode: str) -> None:
        """Set the modes and the worst value; refuses unknown modes."""
        told = ("mode", mode, "min", "max"), ("threshold mode", threshold_mode, "rel", "abs")
        for what, given, *known in told:
            require_value(given in known, "{} {} is unknown!", what, given)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Compare the metric with the best value; reduce the rates if necessary.

        Args:
            metrics: the metric, a number or a tensor of one element.
            epoch: deprecated; the number of this epoch.

        Raises:
            RuntimeError: if the list ``min_lr`` has no entry for a new group.
        """
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = values(self.optimizer, "lr")

    def _reduce_lr(self) -> None:
        """Multiply the rates by `factor`, down to the least rates."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            require(self.default_min_lr is not None, NO_LEAST, len(groups), len(self.min_lrs))
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                set_option(group, "lr", after)

    @property
    def in_cooldown(self) -> bool:
        """Whether bad steps do not count yet."""
        return self.cooldown_counter > 0

    def _is_better(self, value: float, best: float) -> bool:
        """Whether a value is better than the best one by more than the threshold."""
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            best *= 1.0 + sign * self.threshold
        else:
            best += sign * self.threshold
        return value < best if self.mode == "min" else value > best

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the attributes of a `state_dict`."""
        super().load_state_dict(state_dict)
        self._set_mode(self.mode, self.threshold, self.threshold_mode)


class _Cyclic(Formula):
    """The base of schedulers that also cycle the momentum, or β₁ if the optimizer has betas."""

    use_beta1: bool

    def _prepare_momentum(
        self, optimizer: Optimizer, lower: Any, upper: Any, begin: bool
    ) -> tuple[list[float], list[float]]:
        """The bounds per group; with ``begin``, stores them there and sets the upper one."""
        known = not optimizer.defaults.keys().isdisjoint(("momentum", "betas"))
        require_value(known, "optimizer must have momentum or betas with `cycle_momentum`")
        self.use_beta1 = "betas" in optimizer.defaults
        least = per_group("base_momentum", optimizer, lower)
        most = per_group("max_momentum", optimizer, upper)
        if begin:
            for low, high, group in zip(least, most, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group.update(max_momentum=high, base_momentum=low)
        return least, most

    def _set_momentum(self, group: Group, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_Cyclic):
    """Moves the rates up and down between two bounds, linearly.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        base_lr, max_lr: the bounds, or lists of one per group.
        step_size_up: the number of steps up. Default: 2000.
        step_size_down: the number of steps down. Default: the same as up.
        mode: "triangular"; "triangular2" halves the height in each cycle; "exp_range" has the
            height ``gamma ** steps``. Default: "triangular".
        gamma: the base for "exp_range". Default: 1.
        scale_fn: a function that returns the height, instead of ``mode``.
        scale_mode: the argument of ``scale_fn``: "cycle", from 1 (default), or "iterations".
        cycle_momentum: move the momentum opposite to the rates. Default: True.
        base_momentum, max_momentum: the bounds of the momentum. Default: 0.8 and 0.9.

    Raises:
        ValueError: for another mode, or if the optimizer has no momentum to cycle.
        TypeError: if ``optimizer`` is not an optimizer.

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
        self.optimizer = check_optimizer(optimizer)
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        known = scale_fn is not None or mode in ("triangular", "triangular2", "exp_range")
        require_value(known, "mode is invalid and scale_fn is None")
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
        """The height of cycle ``x``, or after ``x`` steps."""
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
    """Moves the rates up to ``max_lr``, then far below the initial ones, once in ``total_steps``.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        max_lr: the greatest rate, or a list of one per group.
        total_steps: the number of steps. Default: ``epochs * steps_per_epoch``.
        epochs, steps_per_epoch: the factors of the number of steps, without ``total_steps``.
        pct_start: the part of the steps with rising rates, a float in [0, 1]. Default: 0.3.
        anneal_strategy: "cos" or "linear". Default: "cos".
        cycle_momentum: move the momentum opposite to the rates. Default: True.
        base_momentum, max_momentum: the bounds of the momentum. Default: 0.85 and 0.95.
        div_factor: the initial rate is ``max_lr / div_factor``. Default: 25.
        final_div_factor: the final rate is the initial one over ``final_div_factor``. Default: 1e4.
        three_phase: fall to the initial rate as fast as the rise, then further. Default: False.

    Raises:
        ValueError: if an argument is out of range, if the optimizer has no momentum to cycle, and
            in `step` after ``total_steps``.
        TypeError: if ``optimizer`` is not an optimizer.

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
        self.optimizer = check_optimizer(optimizer)
        given: dict[str, Any] = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        given = given if total_steps is None else {"total_steps": total_steps}
        for name, value in given.items():
            whole = isinstance(value, int) and value > 0
            require_value(whole, "Expected positive integer {}, but got {}", name, value)
        self.total_steps = math.prod(given.values())
        self._schedule_phases = phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        require_value(anneal_strategy in ("cos", "linear"), STRATEGY, anneal_strategy)
        self._anneal_func_type = anneal_strategy
        greatest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for rate, group in zip(greatest, optimizer.param_groups, strict=True):
                begin = rate / div_factor
                group.update(initial_lr=begin, max_lr=rate, min_lr=begin / final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._prepare_momentum(optimizer, base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Rate, end: Rate, share: float) -> Rate:
        """The value at ``share``, in [0, 1], of the way from ``start`` to ``end``."""
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def _rates(self) -> list[Rate]:
        step = self.last_epoch
        message = "Tried to step {} times. The specified number of total steps is {}"
        require_value(step <= self.total_steps, message, step, self.total_steps)
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


def phases(total: int, rise: float, three: bool) -> list[dict[str, Any]]:
    """The phases of `OneCycleLR`: the last step of each, and the group options at its ends."""
    names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    up = float(rise * total) - 1
    bounds = [(up, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
    if three:
        down = float(2 * rise * total) - 2
        bounds.append((down, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
    begin = ("initial_lr", "max_momentum") if three else ("max_lr", "base_momentum")
    bounds.append((total - 1, begin[0], "min_lr", begin[1], "max_momentum"))
    return [dict(zip(names, phase, strict=True)) for phase in bounds]


class _Combined(LRScheduler):
    """The base of schedulers that step other schedulers."""

    _parts = "_schedulers"

    def _take(self, optimizer: Any, schedulers: Sequence[LRScheduler], none: str) -> None:
        """Keep schedulers; refuse none, one of another optimizer, or one that needs a metric."""
        name = type(self).__name__
        message = "{} expects at least one scheduler{}, but got no scheduler."
        require_value(len(schedulers), message, name, none)
        for position, scheduler in enumerate(schedulers):
            message = "{} needs schedulers, but at index {} there is none"
            require(hasattr(scheduler, "optimizer"), message, name, position, error=TypeError)
            fits = optimizer == scheduler.optimizer and not isinstance(scheduler, ReduceLROnPlateau)
            require_value(fits, OTHER, name, position)
        self._schedulers = schedulers
        self.optimizer = optimizer


class SequentialLR(_Combined):
    """Runs several schedulers in order, each until its milestone.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        schedulers: schedulers of this optimizer.
        milestones: the first epochs of the second, the third and further schedulers.

    Raises:
        ValueError: for no schedulers, one of another optimizer, or a wrong number of milestones.
        TypeError: if one is not a scheduler.
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
            set_option(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Undo the initial step of a scheduler and of all schedulers in it.

        Args:
            sched: the scheduler. Default: this one.
        """
        scheduler = self if sched is None else sched
        for inner in getattr(scheduler, "_schedulers", ()):
            self.recursive_undo(inner)
        if not hasattr(scheduler, "_schedulers") and hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Step the scheduler of this epoch; at a milestone, start the next scheduler."""
        self.last_epoch += 1
        position = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[position]
        if position > 0 and self._milestones[position - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Runs several schedulers in every step; each changes the rates that the previous one set.

    Args:
        schedulers: schedulers of one optimizer.
        optimizer: the optimizer. Default: that of the first scheduler.

    Raises:
        ValueError: if there are no schedulers, or one of another optimizer.
        TypeError: if one is not a scheduler.
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        first = schedulers[0].optimizer if len(schedulers) else None
        self._take(optimizer or first, schedulers, " to be chained")
        self._last_lr = values(self.optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Step all schedulers."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self.optimizer, "lr")


on_demand(__name__)
