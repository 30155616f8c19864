"""`LRScheduler`, the base class: when rates change, and what is kept of them.

A learning rate may be a number or a tensor; a tensor is changed in place, so that it stays the
one that the optimizer was given.
"""

from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.optim.optimizer import Group, Optimizer
from nanotorch.optim.step_order import watch_steps

Rate = Any  # a float or a tensor

ORDER = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before "
    f"`lr_scheduler.step()`. See more details at {ORDER}"
)
TOO_EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
    "In PyTorch 1.1.0 and later, you should call them in the opposite order: "
    "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
    "will result in PyTorch skipping the first value of the learning rate schedule. "
    f"See more details at {ORDER}"
)
EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the "
    "scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
UNINITIALIZED = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with "
    "last_epoch >= 0.\nThis typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the "
    "optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


class LRScheduler:
    """Changes the learning rates of an optimizer's groups; every subclass has its own `get_lr`.

    It is stepped after the optimizer, once an epoch or once a batch. The rate that a group has
    when its first scheduler is made stays in it as ``initial_lr``.

    Args:
        optimizer: whose rates to change.
        last_epoch: how many steps there were before; -1 to begin. Default: -1.

    Attributes:
        base_lrs: the initial rate of each group.
        last_epoch: how many steps there were since the beginning.

    Raises:
        TypeError: if ``optimizer`` is none.
        KeyError: if it should go on, but the groups have no initial rate.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Rate]
    _step_count: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked(optimizer)
        for position, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(UNINITIALIZED.format(position))
        self.base_lrs = values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Give the groups their first rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {key: value for key, value in vars(self).items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the attributes of a `state_dict`; the optimizer's rates are its own affair."""
        vars(self).update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """The rate of each group as this scheduler has last set them; tensors are copies."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """Compute the next rate of each group; `get_last_lr` is what users look for."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Give the groups their next rates.

        Args:
            epoch: deprecated; go to this epoch, by the closed form if there is one.

        Warns:
            UserWarning: if the optimizer has not stepped since the scheduler was made, or for an
                ``epoch``.
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
        """Count, compute the rates and set them."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._set(closed or self.get_lr)

    def _set(self, compute: Any) -> None:
        """Set what ``compute`` returns."""
        self._get_lr_called_within_step = True
        try:
            rates = compute()
        finally:
            self._get_lr_called_within_step = False
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            put(group, "lr", rate)
        self._last_lr = values(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The former name."""


class Formula(LRScheduler):
    """A scheduler whose rates are computed by `_rates`."""

    def get_lr(self) -> list[Rate]:
        """Compute the next rate of each group; `get_last_lr` is what users look for."""
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, "
                "please use `get_last_lr()`."
            )
        return self._rates()

    def _rates(self) -> list[Rate]:
        raise NotImplementedError

    def _current(self, factor: Rate = None) -> list[Rate]:
        """The rates as they are, or each times a factor."""
        if factor is None:
            return values(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def checked(optimizer: Any) -> Optimizer:
    """Refuse what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def copied(value: Any) -> Any:
    """A number, or a copy of a tensor."""
    return value.clone() if isinstance(value, Tensor) else value


def values(optimizer: Optimizer, key: str) -> list[Any]:
    """An option of all groups; tensors are copies."""
    return [copied(group[key]) for group in optimizer.param_groups]


def put(group: Group, key: str, value: Any) -> None:
    """Set an option of a group; a tensor stays and takes the value."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.squeeze() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each group, from a list of them or one for all.

    Raises:
        ValueError: if there are not as many values as groups.
    """
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in range(groups)]
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {groups}."
        )
    return [copied(entry) for entry in value]
