"""Schedulers along a cosine."""

import math
from typing import Any

from nanotorch.optim.lr_scheduler.scheduler import Formula, Rate
from nanotorch.optim.optimizer import Optimizer


class CosineAnnealingLR(Formula):
    """Rates go along half a cosine wave to ``eta_min``, and back if there are more steps.

        lr = eta_min + (initial lr - eta_min) (1 + cos(π epoch / T_max)) / 2

    Each step changes the rate that it finds by the ratio of neighbouring values.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        T_max: how many steps half a wave takes.
        eta_min: the least rate. Default: 0.

    Reference:
        Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR 2017,
        equation 5, without restarts.
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        epoch, T_max, low = self.last_epoch, self.T_max, self.eta_min
        groups = self.optimizer.param_groups
        if self._is_initial:
            return self._current()
        if self._step_count == 1 and epoch > 0:  # a subclass has skipped the initial step
            height = 1 + math.cos(epoch * math.pi / T_max)
            return [low + (base - low) * height / 2 for base in self.base_lrs]
        if (epoch - 1 - T_max) % (2 * T_max) == 0:  # from the least rate no ratio leads away
            height = 1 - math.cos(math.pi / T_max)
            return [
                group["lr"] + (base - low) * height / 2
                for base, group in zip(self.base_lrs, groups, strict=True)
            ]
        height = 1 + math.cos(math.pi * epoch / T_max)
        ratio = height / (1 + math.cos(math.pi * (epoch - 1) / T_max))
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Rate]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(Formula):
    """Rates go along half a cosine wave to ``eta_min``, then begin anew.

        lr = eta_min + (initial lr - eta_min) (1 + cos(π T_cur / T_i)) / 2

    `step` may be given a fraction of an epoch: ``scheduler.step(epoch + batch / batches)``.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        T_0: how many steps the first wave takes.
        T_mult: by how much every further wave is longer. Default: 1.
        eta_min: the least rate. Default: 0.

    Raises:
        ValueError: for an argument out of its range or of another type.

    Reference:
        Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR 2017,
        equation 5.
    """

    T_cur: float

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Rate]:
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """Give the groups their next rates.

        Args:
            epoch: go there, at least 0; it may be between two epochs. Default: to the next one.

        Raises:
            ValueError: for a negative epoch.
        """
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._go(0 if epoch is None else epoch)
            epoch = epoch or 0
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr)

    def _go(self, epoch: float) -> None:
        """Find the wave that an epoch is in."""
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
