"""Schedules of the learning rate that a configuration may name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nanotorch.optim import lr_scheduler

from .components import Components
from .settings import Natural

EPOCH, STEP = "epoch", "step"

# What the schedule's length is called; if left out, it is the training's.
LENGTHS = {
    "CosineAnnealingLR": "T_max",
    "OneCycleLR": "total_steps",
    "PolynomialLR": "total_iters",
}
# Made for changes after every step.
BY_STEPS = ("CyclicLR", "OneCycleLR")
# Handled by the trainer, or functions, which a file cannot hold.
NOT_CONFIGURABLE = ("optimizer", "last_epoch", "epochs", "steps_per_epoch", "scale_fn")
PLATEAU = "ReduceLROnPlateau"


@dataclass(frozen=True, eq=False)
class Schedules(Components):
    """The schedulers of `optim.lr_scheduler`, each with `interval`: what it counts.

    `warmup` is how many of these the rate rises linearly before.
    """

    __hash__ = object.__hash__  # of what stands in a union of type hints

    def hints(self, name: str) -> Mapping[str, Any]:
        """Return the type of each argument that a configuration may give."""
        found = {key: hint for key, hint in super().hints(name).items() if self._offered(key)}
        if length := LENGTHS.get(name):
            found[length] = found[length] | None
        if name == "MultiStepLR":
            found["milestones"] = tuple[int, ...]
        return found | {"interval": Literal["epoch", "step"], "warmup": Natural}

    def defaults(self, name: str) -> Mapping[str, Any]:
        """Return the value of each argument that may be left out."""
        found = {key: value for key, value in super().defaults(name).items() if self._offered(key)}
        if length := LENGTHS.get(name):
            found[length] = None
        return found | {"interval": STEP if name in BY_STEPS else EPOCH, "warmup": 0}

    def _offered(self, argument: str) -> bool:
        return argument not in NOT_CONFIGURABLE


SCHEDULES = Schedules(
    "a scheduler",
    lr_scheduler,
    (
        *("StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR"),
        *("CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", PLATEAU),
    ),
)
