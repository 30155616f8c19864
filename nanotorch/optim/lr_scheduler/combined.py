"""Schedulers made of schedulers."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from nanotorch.optim.lr_scheduler.plateau import ReduceLROnPlateau
from nanotorch.optim.lr_scheduler.scheduler import LRScheduler, put, values
from nanotorch.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    """A scheduler that steps others."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
        """Refuse schedulers without an optimizer, or with another one, or that want a metric."""
        name = type(self).__name__
        for position, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(
                    f"{name} at index {position} should have `optimizer` as its attribute."
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, but got one at index "
                    f"{position} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(scheduler).__name__} at index {position} has "
                    f"{scheduler.optimizer}, which is different from {type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer, with the state of each scheduler."""
        state = {key: value for key, value in super().state_dict().items() if key != "_schedulers"}
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes of a `state_dict`, and those of each scheduler."""
        state = dict(state_dict)
        for scheduler, held in zip(self._schedulers, state.pop("_schedulers"), strict=True):
            scheduler.load_state_dict(held)
        super().load_state_dict(state)


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
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler, but got no scheduler."
            )
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                "the number of milestone points, but got number of schedulers "
                f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            put(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = schedulers[bisect_right(milestones, 0)].get_last_lr()

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
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no "
                "scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        self._check(optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = values(optimizer, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Step them all."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values(self.optimizer, "lr")
