"""What the trainer needs of an experiment."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import nanotorch as torch
from nanotorch import nn

from .callbacks import Sink
from .loop import Callback


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

    def batches(self) -> Iterable[Any]:
        """Return the batches of one epoch."""

    def step(self, batch: Any) -> tuple[float, int]:
        """Take one step; return the loss before it and how many samples that is the mean of."""

    def compilation(self) -> Mapping[str, Any]:
        """Return what became of compiling the step, for the record."""

    def describe(self) -> str:
        """Return what is about to be done, for people."""

    def files(self) -> Iterable[Path]:
        """Return the files whose content the result depends on."""

    def callbacks(self, sinks: Sequence[Sink]) -> Sequence[Callback]:
        """Return what measures, records and shows progress."""

    def graph(self) -> tuple[nn.Module, torch.Tensor] | None:
        """Return a model and an input that show its graph."""

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return what was learned."""

    def preprocessing(self) -> Mapping[str, Any] | None:
        """Return how inputs must be prepared for the model; None if as they are."""

    def report(self) -> Report:
        """Measure the result."""
