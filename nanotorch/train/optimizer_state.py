"""An optimizer's state in a checkpoint, and what a changed configuration makes of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from nanotorch import optim

from .checkpoint import alike

Options = Sequence[Mapping[str, Any]]


class OptimizerState:
    """The state of an optimizer, with the options that it began with.

    A state holds the options as they are now, after a schedule has changed some. So it takes those
    of the beginning to tell what the user has changed since.

    Args:
        optimizer: with a schedule already, if there is to be one.
    """

    def __init__(self, optimizer: optim.Optimizer) -> None:
        self._optimizer = optimizer
        self._began: Options = [
            {key: value for key, value in group.items() if key != "params"}
            for group in optimizer.param_groups
        ]

    def state(self) -> dict[str, Any]:
        """Return what `load_state` goes on from."""
        return {
            "name": type(self._optimizer).__name__,
            "began": self._began,
            "state": self._optimizer.state_dict(),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, with the options that are no longer those it began with.

        Raises:
            ValueError: if it is of another optimizer, of other groups, or has not kept what an
                option needs.
        """
        name = type(self._optimizer).__name__
        if state["name"] != name:
            raise ValueError(f"the optimizer is {name}, but was {state['name']}")
        self._optimizer.load_state_dict(state["state"])
        groups = self._optimizer.param_groups
        for group, before, now in zip(groups, state["began"], self._began, strict=True):
            if not alike({key: group[key] for key in before}, before):
                raise ValueError("the optimizer's options are not of the kinds they were")
            for key, value in now.items():
                was = before.get(key)
                if was == value:
                    continue
                if needs_its_past(self._optimizer, key, was, value):
                    raise ValueError(f"the optimizer's {key} is {value}, but was {was}")
                group[key] = changed_rate(group, before, now) if key == "lr" else value


def needs_its_past(optimizer: optim.Optimizer, key: str, before: Any, now: Any) -> bool:
    """Return whether an option needs what is kept from the first step on, and was not."""
    if key == "momentum":
        return isinstance(optimizer, optim.RMSprop) and not before
    return key == "history_size" or (key in ("amsgrad", "centered") and bool(now))


def changed_rate(
    group: Mapping[str, Any], before: Mapping[str, Any], now: Mapping[str, Any]
) -> float:
    """Return the learning rate to go on with: where a schedule has come to, from the new one."""
    if "initial_lr" not in now or not before["lr"]:
        return float(now["lr"])
    return float(group["lr"] * now["lr"] / before["lr"])
