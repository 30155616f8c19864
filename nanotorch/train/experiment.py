"""What the trainer needs of an experiment."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import nanotorch as torch
from nanotorch import nn, optim

from .events import TensorBoardEvents
from .loop import Callback
from .plots import Plot
from .recorder import Recorder


@dataclass(frozen=True)
class Report:
    """What an experiment found."""

    text: str
    """For people."""
    results: Mapping[str, float] = field(default_factory=dict)
    """For programs, as in the metrics."""
    loss: float = math.nan
    """What was minimized, at the end."""


class Experiment(Protocol):
    """A task for the loop, with what goes before and after it."""

    steps: int
    """How many steps there are to take."""
    optimizer: optim.Optimizer
    """What takes them."""

    def batches(self, start: int) -> Iterable[Any]:
        """Return what the steps of one epoch are taken with, without the first `start`."""

    def step(self, batch: Any) -> tuple[float, int]:
        """Take one step; return the loss before it and how many samples that is the mean of."""

    def plain_step(self, batch: Any) -> None:
        """Take one step as it is written, uncompiled."""

    def compilation(self) -> Mapping[str, Any]:
        """Return what became of compiling the step, for the record."""

    def describe(self) -> str:
        """Return what is about to be done, for people."""

    def files(self) -> Iterable[Path]:
        """Return the files whose content the result depends on."""

    def callbacks(self, recorder: Recorder) -> Sequence[Callback]:
        """Return what measures, records and shows progress."""

    def graph(self) -> tuple[nn.Module, torch.Tensor] | None:
        """Return a model and an input that show its graph."""

    def finish(self) -> None:
        """Do what is to be done between the last step and the last measurement."""

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return what was learned."""

    def training_state(self) -> Mapping[str, Any]:
        """Return all that the steps to come depend on."""

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `training_state` returned.

        Raises:
            RuntimeError, ValueError: if it does not fit.
        """

    def plots(self, records: Sequence[Mapping[str, Any]]) -> Iterable[Plot]:
        """Draw what was found, from the metrics and the result."""

    def notes(self, events: TensorBoardEvents, step: int) -> None:
        """Add to TensorBoard what is only known at the end."""

    def profile_text(self) -> str:
        """Return where the time of steps went, if that was to be measured."""

    def preprocessing(self) -> Mapping[str, Any] | None:
        """Return how inputs must be prepared for the model; None if as they are."""

    def report(self) -> Report:
        """Measure the result."""
