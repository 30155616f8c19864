"""Refusals of options that are out of their range, in PyTorch's words."""

from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.optim.arrays import number

CAPTURABLE_ON = "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']"


def check_one_number(lr: Any) -> None:
    """Refuse a learning rate of several numbers."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_learning_rate(lr: Any) -> None:
    """Refuse a learning rate that is negative, nan, or several."""
    check_one_number(lr)
    if not 0.0 <= number(lr):  # noqa: SIM300 - as Python's message for a text tells it
        raise ValueError(f"Invalid learning rate: {lr}")


def refuse_negative(**options: Any) -> None:
    """Refuse an option, called by its name in messages, that is not at least 0."""
    for name, value in options.items():
        if not 0.0 <= number(value):  # noqa: SIM300 - as above
            raise ValueError(f"Invalid {name} value: {value}")


def check_betas(betas: Any) -> None:
    """Refuse factors of running averages that are not in [0, 1)."""
    for position, beta in enumerate(betas[:2]):
        if not 0.0 <= number(beta) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {position}: {beta}")


def refuse_capturable(subjects: str = "params", where: str = CAPTURABLE_ON) -> None:
    """Refuse a step whose numbers should stay on an accelerator.

    Args:
        subjects: what besides ``state_steps`` would have to be there.
        where: the devices that could do it.
    """
    raise AssertionError(
        f"If capturable=True, {subjects} and state_steps must be on supported devices: {where}."
    )
