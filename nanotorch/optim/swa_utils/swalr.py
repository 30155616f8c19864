"""A schedule of rates for averages of weights."""

import math
from collections.abc import Callable
from typing import Any, Literal

from nanotorch.optim.lr_scheduler.scheduler import Formula, Rate, per_group
from nanotorch.optim.optimizer import Optimizer


class SWALR(Formula):
    """Rates go from what they are to ``swa_lr``, and stay.

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        swa_lr: the final rate; a list for that of each group.
        anneal_epochs: in how many steps, at least 0. Default: 10.
        anneal_strategy: "cos" or "linear". Default: "cos".

    Raises:
        ValueError: for an argument out of its range.
    """

    anneal_func: Callable[[float], float]

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = per_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _set_anneal_func(self, strategy: str) -> None:
        """How far rates have come after a share of the steps."""
        self._anneal_strategy = strategy
        self.anneal_func = half_cosine if strategy == "cos" else straight

    def _rates(self) -> list[Rate]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        length = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / length)))
        now = self.anneal_func(max(0, min(1, step / length)))
        return [
            group["swa_lr"] * now + origin(group["lr"], group["swa_lr"], before) * (1 - now)
            for group in self.optimizer.param_groups
        ]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer and the function."""
        return {key: value for key, value in super().state_dict().items() if key != "anneal_func"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes of a `state_dict`."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)


def straight(share: float) -> float:
    """Linearly from 0 to 1."""
    return share


def half_cosine(share: float) -> float:
    """From 0 to 1 along half a cosine wave."""
    return (1 - math.cos(math.pi * share)) / 2


def origin(rate: Rate, final: Rate, share: float) -> Rate:
    """The rate from which a share of the way to the final one has led here."""
    return final if share == 1 else (rate - share * final) / (1 - share)
