"""Schedulers that multiply the rates by a factor."""

import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from nanotorch.optim.lr_scheduler.scheduler import Formula, Rate
from nanotorch.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class _Functions(Formula):
    """A scheduler with a function of the epoch for each group."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1
    ) -> None:
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas: list[Any] = [lr_lambda] * groups
        elif len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        self._check()
        super().__init__(optimizer, last_epoch)

    def _check(self) -> None:
        """Refuse functions."""

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer and functions; of callable objects, theirs."""
        state = {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}
        state["lr_lambdas"] = [attributes(function) for function in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes of a `state_dict`, and those of callable objects."""
        state = dict(state_dict)
        for function, held in zip(self.lr_lambdas, state.pop("lr_lambdas"), strict=True):
            if held is not None:
                vars(function).update(held)
        super().load_state_dict(state)


def attributes(function: Any) -> dict[str, Any] | None:
    """A copy of a callable object's attributes; None for a function."""
    return None if isinstance(function, types.FunctionType) else vars(function).copy()


class LambdaLR(_Functions):
    """Rates are the initial ones times a function of the epoch.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        lr_lambda: the function, or a list of one for each group.

    Raises:
        ValueError: if there are not as many functions as groups.
    """

    def _rates(self) -> list[Rate]:
        return [
            base * factor(self.last_epoch)
            for factor, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_Functions):
    """Each step multiplies the rates by a function of the epoch.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        lr_lambda: the function, or a list of one for each group.

    Raises:
        ValueError: if there are not as many functions as groups.
        TypeError: if one cannot be called.
    """

    def _check(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )

    def _rates(self) -> list[Rate]:
        if self._is_initial:
            return self._current()
        return [
            group["lr"] * factor(self.last_epoch)
            for factor, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]


class StepLR(Formula):
    """Rates fall by a factor every ``step_size`` steps.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        step_size: how many steps a rate stays.
        gamma: the factor. Default: 0.1.
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        stays = self.last_epoch == 0 or self.last_epoch % self.step_size != 0
        return self._current(None if stays else self.gamma)

    def _get_closed_form_lr(self) -> list[Rate]:
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(Formula):
    """Rates fall by a factor at some epochs.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        milestones: the epochs; one may occur several times.
        gamma: the factor. Default: 0.1.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self.last_epoch not in self.milestones:
            return self._current()
        return self._current(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Rate]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(Formula):
    """Rates are multiplied by a factor for the first ``total_iters`` epochs.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        factor: in [0, 1]. Default: 1/3.
        total_iters: how long. Default: 5.

    Raises:
        ValueError: for a factor out of its range.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self.last_epoch == 0:
            return self._current(self.factor)
        return self._current(1.0 / self.factor if self.last_epoch == self.total_iters else None)

    def _get_closed_form_lr(self) -> list[Rate]:
        over = self.last_epoch >= self.total_iters
        return [base * (self.factor + over * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(Formula):
    """The factor of the rates goes linearly from one value to another in ``total_iters`` epochs.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        start_factor: in (0, 1]. Default: 1/3.
        end_factor: in [0, 1]. Default: 1.
        total_iters: how long. Default: 5.

    Raises:
        ValueError: for a factor out of its range.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
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
        return [
            base * (self.start_factor + rise * passed / self.total_iters) for base in self.base_lrs
        ]


class ExponentialLR(Formula):
    """Each step multiplies the rates by a factor.

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
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(Formula):
    """Rates fall to 0 as ``(1 - epoch / total_iters) ** power``.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        total_iters: how long. Default: 5.
        power: Default: 1.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._current()
        now = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._current((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Rate]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]
