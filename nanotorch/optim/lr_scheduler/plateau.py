"""A scheduler that waits for a metric to stop improving."""

import math
from typing import Any, Literal

from nanotorch._core.warned import warn
from nanotorch.optim.lr_scheduler.scheduler import EPOCH, LRScheduler, checked, put, values
from nanotorch.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Reduces the rates when a metric has stopped improving.

    After ``patience`` steps without a new best value, the next such step multiplies the rates.

    Args:
        optimizer: whose rates to change.
        mode: "min" if less is better, or "max". Default: "min".
        factor: what to multiply by, less than 1. Default: 0.1.
        patience: how many bad steps to wait for. Default: 10.
        threshold: by how much a value must be better. Default: 1e-4.
        threshold_mode: "rel", as a share of the best value, or "abs". Default: "rel".
        cooldown: how many steps after a reduction do not count. Default: 0.
        min_lr: the least rate; a list for one in each group. Default: 0.
        eps: a rate is not reduced by less. Default: 1e-8.

    Raises:
        ValueError: for an argument out of its range.
        TypeError: if ``optimizer`` is none.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        self.optimizer = checked(optimizer)
        groups = len(optimizer.param_groups)
        self.default_min_lr: float | None = None
        if not isinstance(min_lr, (list, tuple)):
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        elif len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        else:
            self.min_lrs = list(min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = values(optimizer, "lr")
        self._set_mode(mode, threshold, threshold_mode)
        self._reset()

    def _set_mode(self, mode: str, threshold: float, threshold_mode: str) -> None:
        """Refuse other modes; decide what is worse than anything."""
        if mode not in {"min", "max"}:
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in {"rel", "abs"}:
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self) -> None:
        """Forget what was seen."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at the metric, and reduce the rates if it is time.

        Args:
            metrics: a number or a tensor of one.
            epoch: deprecated; which epoch this is.

        Raises:
            RuntimeError: if groups have joined for which ``min_lr`` has no entry.
        """
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
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
        """Multiply the rates, but not below the least ones."""
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due "
                    "to a new param group being added to the optimizer. Please modify the "
                    "`min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            before = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                put(group, "lr", after)

    @property
    def in_cooldown(self) -> bool:
        """Whether steps do not count yet."""
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
        """Take over the attributes of a `state_dict`."""
        super().load_state_dict(state_dict)
        self._set_mode(self.mode, self.threshold, self.threshold_mode)
