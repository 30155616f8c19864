"""What a configuration file may say of the training itself: how long, how, and what is kept."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from .problems import quoted
from .reading import Range, Section

Positive = Annotated[int, Range(low=1)]
Natural = Annotated[int, Range(low=0)]
Above = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(low=0)]
Fraction = Annotated[float, Range(low=0, high=1)]

RUN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Train(Section):
    """How long and in what portions to train."""

    epochs: Positive | None = None
    """Passes over the training part; or give `steps`."""
    steps: Positive | None = None
    """Updates of the weights; or give `epochs`."""
    batch_size: Positive | None = 32
    """Samples per batch; `null` for the whole training part."""
    shuffle: bool = True
    """Whether each epoch goes through the samples in a new order."""
    accumulate: Positive = 1
    """Batches per step; their gradients are added up so that each sample counts alike."""
    clip_norm: Above | None = None
    """The greatest norm of all gradients together; longer ones are shortened to it."""
    clip_value: Above | None = None
    """The greatest size of a gradient's element."""
    validate_every: Positive = 1
    """Epochs between two measurements of the validation part."""
    time_limit: Above | None = None
    """Seconds after which the training pauses; a resumed run has as many again."""
    overfit_batches: Positive | None = None
    """Train on the first so many batches only, in the same order: their loss should vanish."""
    fast_dev_run: bool = False
    """Whether to take two steps only, through all else that a run does, and keep nothing."""
    compile: bool = True
    """Whether the step is compiled if there are enough of them to save time; equal to the bit."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.epochs is None and self.steps is None:
            yield "", "needs 'epochs' or 'steps'"
        if self.epochs is not None and self.steps is not None:
            yield "steps", "excludes 'epochs'; remove one of the two"


@dataclass(frozen=True, kw_only=True)
class Checkpoint(Section):
    """What is kept to go on from, and of the best weights."""

    seconds: NotNegative | None = 30.0
    """Seconds between two checkpoints; `null` for one at the end only."""
    last: Positive = 2
    """How many of the newest checkpoints are kept."""
    every: Positive | None = None
    """Steps between two checkpoints that are kept for good."""
    best: Natural = 1
    """How many of the best weights are kept."""
    monitor: str = "validation/loss"
    """The measured value that tells which are best."""
    mode: Literal["min", "max"] | None = None
    """Whether less of it is better, or more; if left out, its name tells."""


@dataclass(frozen=True, kw_only=True)
class EarlyStopping(Section):
    """An end before the time, where nothing improves any more."""

    monitor: str = "validation/loss"
    """The measured value that is to improve."""
    mode: Literal["min", "max"] | None = None
    """Whether less of it is better, or more; if left out, its name tells."""
    patience: Positive = 10
    """How many measurements in a row may be no better than the best."""
    min_delta: NotNegative = 0.0
    """By how much a value must be better to count."""


@dataclass(frozen=True, kw_only=True)
class Averaging(Section):
    """Weights that are averages over the training; they are measured and kept in the end."""

    method: Literal["ema", "swa"] = "ema"
    """An exponential moving average over steps, or the mean over epochs."""
    decay: Fraction = 0.99
    """The share of the average that a step leaves, for `ema`."""
    start: Natural = 0
    """Epochs before the first weights that count."""


@dataclass(frozen=True, kw_only=True)
class Log(Section):
    """What a run leaves behind, and where."""

    dir: str = "runs"
    """Where run directories are made, relative to the current directory."""
    name: str | None = None
    """The directory of this experiment's runs; the configuration file's name if left out."""
    every: Positive = 10
    """Steps between two records of the training loss."""
    tensorboard: bool = True
    """Whether to write TensorBoard events beside the metrics."""
    histograms: Natural = 10
    """How often over the run TensorBoard gets histograms of weights and gradients."""
    plots: bool = True
    """Whether to draw plots at the end, if matplotlib is installed."""
    profile: Natural = 0
    """How many steps are timed operation by operation, for a table at the end."""
    progress: bool = True
    """Whether to show progress: a bar on a terminal, a few plain lines elsewhere."""

    def problems(self) -> Iterator[tuple[str, str]]:
        # `runs/latest.txt` names the newest run.
        name = self.name
        if name is not None and (not RUN_NAME.fullmatch(name) or name == "latest.txt"):
            allowed = "letters, digits, '_', '-' and '.', and not 'latest.txt'"
            yield "name", f"must be {allowed}, got {quoted(self.name)}"


@dataclass(frozen=True, kw_only=True)
class MinimizationLog(Log):
    """What a run leaves behind; there are few iterations, and each is of interest."""

    every: Positive = 1
    """Iterations between two points that are printed and recorded."""
