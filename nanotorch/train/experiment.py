"""What the trainer needs of an experiment, how it is recorded, and how it is tried."""

import copy
import json
import math
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch._core.call_site import COMMANDS, relative_path
from nanotorch.autograd.anomaly_mode import first_nonfinite
from nanotorch.serialization.files import naming_file
from nanotorch.utils.tensorboard import SummaryWriter
from nanotorch.utils.tensorboard.files import hparams, protos
from nanotorch.utils.tensorboard.graph import ForwardGraph, trace

from .config import Component, Section, refusal
from .load import plain
from .loop import DIVERGED, Callback, Loop, Tagged, Task
from .metrics import align_rows
from .plots import Plot
from .run_directory import EVENTS, METRICS, CheckpointError, finite_values
from .step import TrainingStep

Graph = tuple[nn.Module, *tuple[torch.Tensor, ...]]
"""A model and its inputs."""

# A run in TensorBoard: everything here is derived from what is recorded elsewhere, or is seen.


BINS = 60
MOST_WAITING, LONGEST_WAIT = 200, 2.0
"""How many points, and for how many seconds, are kept from the file."""
# What does not tell one run's outcome from another's.
NOT_HYPERPARAMETERS = ("log", "checkpoint")
IN_A_WORD = ("name", "layers", "expression", "formula")
"""What a section is called by in the table of hyperparameters."""
RESULT = "→ "
"""What results begin with in that table, so that they come after all settings."""


class TensorBoardEvents:
    """The metrics as curves, with the model's graph, histograms, plots and the configuration.

    Args:
        directory: of the run.
        resumed_at: the step a resumed run continues from; None for a new one.
    """

    def __init__(self, directory: Path, resumed_at: int | None = None) -> None:
        self._directory = directory
        self._resumed_at = resumed_at
        self._waiting: list[tuple[int, float, Mapping[str, float]]] = []
        """Step, time and values of points that are not in the file yet."""

    @cached_property
    def writer(self) -> SummaryWriter:
        """What writes the file, which is begun when there is something for it."""
        purge = None if self._resumed_at is None else self._resumed_at + 1
        return SummaryWriter(str(self._directory), purge_step=purge)

    def naming(self) -> AbstractContextManager[None]:
        """Let errors of the operating system in the block tell the directory."""
        return naming_file(self._directory)

    def describe(self, config: str, experiment: "Experiment") -> None:
        """Add the configuration's text, the charts of several curves, and the model's graph."""
        self.text("config", config, 0)
        with self.naming():
            charts = {title: ["Multiline", tags] for title, tags in experiment.charts().items()}
            self.writer.add_custom_scalars({"curves": charts})
            model, *x = experiment.graph()  # are left as they were, and so is what is random
            self.writer._add_structure(ForwardGraph(model, trace(model, x)))

    def text(self, tag: str, text: str, step: int) -> None:
        """Add a text, shown as it stands."""
        with self.naming():
            self.writer.add_text(tag, f"```\n{text}\n```", step)

    def image(self, tag: str, image: NDArray[np.uint8], step: int) -> None:
        """Add a picture, shape (height, width, 3)."""
        with self.naming():
            self.writer.add_image(tag, image, step, dataformats="HWC")

    @contextmanager
    def step(self, model: nn.Module) -> Iterator[None]:
        """Add the graphs of a step, the block, with the time and memory of its operations."""
        with self.naming(), self.writer.trace_step(model):
            yield

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        now = time.time()
        self._waiting.append((step, now, values))
        # One after the other at once they take a fifth of the time that they take between steps.
        if len(self._waiting) >= MOST_WAITING or now > self._waiting[0][1] + LONGEST_WAIT:
            self._write_waiting()

    @staticmethod
    def tag(name: str) -> str:
        """Return the tag of what a curve shows: `validation/loss` stands beside `train/loss`.

        TensorBoard opens the first groups of tags, in alphabetical order: accuracy and loss, or
        the rate and the objective. The first five tags are axes of its parallel coordinates.
        """
        part, _, measure = name.partition("/")
        if measure in ("loss", "accuracy"):
            return f"{measure}/{part}"
        if part in ("function", "x"):
            return f"objective/{'x' * (part == 'x')}{measure}"
        return {"train/lr": "lr", "train/gradient_norm": "model/gradient_norm"}.get(name, name)

    def _write_waiting(self) -> None:
        p = protos()
        with self.naming():
            for step, now, values in self._waiting:
                points = [
                    p.Summary.Value(tag=self.tag(name), simple_value=value)
                    for name, value in values.items()
                    if not name.startswith("final/")
                ]
                if points:  # in one event: `add_scalar` for each takes twice as long
                    self.writer._file().add(p.Event(summary=p.Summary(value=points)), step, now)
        self._waiting.clear()

    def histograms(self, step: int, named: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Add the distribution of the finite elements of each tensor, if there are several."""
        with self.naming():
            for tag, tensor in named:
                values = tensor.detach().numpy()
                finite = values[np.isfinite(values)]
                if finite.size > 1:
                    # TensorBoard shows 30 bins; its usual 1500 would take 30 times as long.
                    low, high = float(finite.min()), float(finite.max())
                    margin = 0.0 if low < high else 0.5
                    edges = np.linspace(low - margin, high + margin, BINS + 1)
                    self.writer.add_histogram(tag, finite, step, bins=edges.tolist())

    def outcome(
        self, config: Section, experiment: "Experiment", report: "Report", step: int
    ) -> None:
        """Add the final report, and the run's row in the table of hyperparameters.

        What was measured at the end stands in the row as well: a curve of one point says nothing.
        The other measures are the last values of the run's curves. What columns there are is left
        for TensorBoard to find out from all runs: of several descriptions it would take just one,
        and without any it begins with the columns in which the runs differ.
        """
        self.text("results", report.text, step)
        groups = experiment.optimizer.param_groups
        size = sum(parameter.numel() for group in groups for parameter in group["params"])
        row = {**dict(hyperparameters(config)), "Parameters": size, "Steps": step}
        row |= {f"{RESULT}{name}": value for name, value in finite_values(report.results).items()}
        _, *summaries = hparams(row, ())
        with self.naming():
            for summary in summaries:
                self.writer._file().add(protos().Event(summary=summary), step)

    def flush(self) -> None:
        """Return when everything is on the disk."""
        self._write_waiting()
        with self.naming():
            self.writer.flush()

    def close(self) -> None:
        """Bring everything to the disk."""
        try:
            self._write_waiting()
        finally:
            if "writer" in vars(self):
                with self.naming():
                    self.writer.close()


def hyperparameters(section: Section | Component, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield what a configuration says: its sections in a word each, and settings by dotted names.

    What all runs have is capitalized, and so comes first: TensorBoard draws parallel coordinates
    only of runs that have all the columns it shows.
    """
    for key, value in plain(section).items():
        name = f"{path}{key}"
        if (not path and key in NOT_HYPERPARAMETERS) or value in (None, ()):
            continue
        if isinstance(value, Section | Component):
            word = getattr(value, "source", "") or getattr(value, "formula", "")
            if isinstance(value, Component):
                word = value.name
            elif layers := getattr(value, "layers", ()):
                word = " ".join(map(short_form, layers))
            if word and not path:
                yield "Model" if key == "function" else key.capitalize(), word
            yield from hyperparameters(value, f"{name}.")
        elif isinstance(value, str) and not path:
            yield key.capitalize(), value
        elif key in IN_A_WORD or isinstance(value, Path):
            continue
        elif isinstance(value, tuple) and isinstance(value[0], Component):
            yield name, " ".join(map(short_form, value))
        else:
            yield name, value


def short_form(component: Component) -> str:
    """Return a component with what is not its default, as `Linear(16)`."""
    usual = component.registry.keys(component.name)
    shown = [
        short_form(value) if isinstance(value, Component) else str(value)
        for key, value in component.arguments.items()
        if value != usual[key].default and not isinstance(value, bool)
    ]
    return component.name + (f"({', '.join(shown)})" if shown else "")


def sizes(directory: Path) -> dict[str, int]:
    """Return how long each file of events in a directory is."""
    return {path.name: path.stat().st_size for path in directory.glob(EVENTS)}


def truncate_events(directory: Path, sizes: Mapping[str, int]) -> None:
    """Undo what was added to the files of events since they had the given sizes.

    So no reader sees a step twice, neither one that heeds a file's notice of being a continuation
    nor one that does not; and what a killed writer left half written is gone.
    """
    for path in directory.glob(EVENTS):
        with naming_file(path):
            if path.name not in sizes:
                path.unlink()
            elif path.stat().st_size > sizes[path.name]:
                os.truncate(path, sizes[path.name])


# What a run measures, in its files.


ENCODER = json.JSONEncoder(allow_nan=False)


class Recorder:
    """The metrics of a run, and the same for TensorBoard if that is wanted.

    `metrics.jsonl` has a JSON object per line: the record that everything else is derived from.
    There are no times in it, so that two runs of the same configuration are equal byte for byte.

    Args:
        directory: of the run.
        tensorboard: whether to write events.
        resumed: what `position` returned where a resumed run continues, and the step.
    """

    def __init__(
        self, directory: Path, tensorboard: bool, resumed: tuple[Mapping[str, Any], int] | None
    ) -> None:
        self._path = directory / METRICS
        self._position: Mapping[str, Any] | None
        self._position, step = resumed or (None, None)
        if self._position is not None:
            size = self._position["metrics"]
            if not 0 <= size <= (self._path.stat().st_size if self._path.exists() else 0):
                raise CheckpointError(self._path, "has lost lines that its checkpoint knows of")
        self.events = TensorBoardEvents(directory, step) if tensorboard else None

    def begin(self) -> None:
        """Undo what was written after the checkpoint, as it will be measured again; open files."""
        with naming_file(self._path):
            self._file = self._path.open("a", encoding="utf-8")
            if self._position is not None:
                self._file.truncate(self._position["metrics"])
        if self._position is not None:
            truncate_events(self._path.parent, self._position["events"])

    def write(self, step: int, epoch: int, values: Tagged, passing: Tagged | None = None) -> None:
        """Keep what was measured after `step`; only TensorBoard shows what is `passing`.

        The line is in the operating system's hands when this returns.
        """
        record = {"step": step, "epoch": epoch, **finite_values(values)}
        with naming_file(self._path):
            self._file.write(ENCODER.encode(record) + "\n")
            self._file.flush()
        if self.events is not None:
            self.events.write(step, {**values, **passing} if passing else values)

    def position(self) -> dict[str, Any]:
        """Bring everything to the disk; return how long the files are."""
        with naming_file(self._path):
            os.fsync(self._file.fileno())
        if self.events is not None:
            self.events.flush()
        return {"metrics": self._path.stat().st_size, "events": sizes(self._path.parent)}

    def close(self) -> None:
        """Bring everything to the disk."""
        try:
            with naming_file(self._path), self._file:
                os.fsync(self._file.fileno())
        finally:
            if self.events is not None:
                self.events.close()


# What the trainer needs of an experiment.


@dataclass(frozen=True)
class Report:
    """What an experiment found."""

    text: str
    """For people."""
    results: Mapping[str, float] = field(default_factory=dict)
    """For programs, as in the metrics."""
    loss: float = math.nan
    """What was minimized, at the end."""
    warning: str = ""
    """Why the result is of no use, if it is of none."""


class Experiment(Task, Protocol):
    """Base of the tasks for the loop, with what goes before and after the steps."""

    steps: int
    """How many steps there are to take."""
    blamed: str = "model"
    """The section of the configuration that says what is computed."""
    optimizer: optim.Optimizer
    """What takes them."""
    training_step: TrainingStep
    """What one of them does."""

    def plain_step(self, batch: Sequence[Any]) -> None:
        """Take one step as it is written, uncompiled."""
        self.training_step.plain(*batch)

    def taken(self, batch: Sequence[Any], usual: bool = True) -> Any:
        """Return what a step gives, compiled if it is a usual one and nothing watches it."""
        if self.trace is None:
            return (self.training_step.call if usual else self.training_step.plain)(*batch)
        watching, self.trace = self.trace(self.graph()[0]), None
        with watching:
            return self.training_step.plain(*batch)

    def endless(self, start: int) -> Iterator[Any]:
        """Yield what steps are taken with, epoch after epoch, without the first `start`."""
        while True:
            yield from self.batches(start)
            start = 0

    def describe(self) -> str:
        """Return what is about to be done, for people."""

    def files(self) -> Iterable[Path]:
        """Return the files whose content the result depends on."""
        return ()

    def callbacks(self, recorder: Recorder) -> Sequence[Callback | None]:
        """Return what measures, records and shows progress; None for what is not wanted."""

    def graph(self) -> Graph:
        """Return a model and the inputs that show its graph."""

    @property
    def final_model(self) -> nn.Module:
        """What is measured and kept; of a minimization, the function."""

    def outputs(self, *inputs: Any) -> torch.Tensor:
        """Return what that gives for samples as they stand in the data."""

    def charts(self) -> Mapping[str, Sequence[str]]:
        """Return which curves TensorBoard draws together, by the charts' titles."""
        return {}

    def finish(self) -> None:
        """Do what is to be done between the last step and the last measurement."""
        return

    def learned(self) -> Mapping[str, torch.Tensor]:
        """Return what the steps change, by name."""

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return what was learned, under PyTorch's names."""

    def training_state(self) -> dict[str, Any]:
        """Return all that the steps to come depend on."""

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what `training_state` returned.

        Raises:
            RuntimeError, ValueError: if it does not fit.
        """

    def plots(self, records: Sequence[Mapping[str, Any]]) -> Iterable[Plot | None]:
        """Draw what was found, from the metrics and the result."""

    def notes(self, events: TensorBoardEvents, step: int) -> None:
        """Add to TensorBoard what is only known at the end."""
        return

    def profile_text(self) -> str:
        """Return where the time of steps went, if that was to be measured."""
        return ""

    def preprocessing(self) -> Mapping[str, Any] | None:
        """Return how inputs must be prepared for the model; None if as they are."""
        return None

    def report(self) -> Report:
        """Measure the result."""


# One forward and backward pass, to find out before a training what would end it at once.


@np.errstate(all="ignore")  # what is not finite is told
def try_step(experiment: Experiment) -> str:
    """Return what became of one step; nothing is written."""
    batch = next(experiment.endless(0))
    loss, samples = experiment.step(batch)
    blamed, parameters = experiment.blamed, experiment.learned()
    said = f"a batch of {samples} samples" if blamed == "model" else "at the start"
    if not np.isfinite(loss):
        raise refusal("loss" if blamed == "model" else blamed, f"{said}: the loss is {loss}")
    for name, p in parameters.items():
        if p.grad is not None and not np.isfinite(p.grad.numpy()).all():
            raise refusal(blamed, f"{said}: the gradient of {name} is not finite")
    unused = [name for name, p in parameters.items() if p.grad is None]
    text = f"{said}: loss {loss:.6g}, all gradients are finite"
    return f"{text}; without gradient: {', '.join(unused)}" if unused else text


# A learning rate to begin with: the loss while the rate rises from step to step, then trials.


LOWEST, HIGHEST, STEPS = 1e-7, 10.0, 100
SMOOTHING = 0.9
"""The share of the mean of the losses before in the next one."""
TOO_LARGE = 4.0
"""How many times its least value the loss becomes before the rate rises no further."""
ROWS, WIDTH = 20, 40
FIRST = 10
"""Steps before the mean is worth anything."""
TRIALS, FACTOR = 6, math.sqrt(10)
"""How many rates are tried, and how many times the next one each is."""
NEAR = 0.1
"""The share of the way to the least loss that a rate may lack to be as good."""


def find_rate(experiment: Experiment, steps: int = STEPS) -> str:
    """Return how the loss of an experiment, which is changed by this, depends on the rate.

    Reference:
        Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017.
    """
    beginning = copy.deepcopy(experiment.training_state())

    @np.errstate(all="ignore")
    def swept(first: float, factor: float) -> tuple[list[float], list[float]]:
        """Return the rate of each step and the smoothed loss before, until that runs away."""
        experiment.load_training_state(copy.deepcopy(beginning))
        rates, losses, mean = list[float](), list[float](), 0.0
        for step, batch in zip(range(1, steps + 1), experiment.endless(0), strict=False):
            rate = first * factor ** (step - 1)
            for group in experiment.optimizer.param_groups:
                group["lr"] = rate
            mean = SMOOTHING * mean + (1 - SMOOTHING) * experiment.step(batch)[0]
            smoothed = mean / (1 - SMOOTHING**step)  # as if the mean had begun with a loss
            if not math.isfinite(smoothed):
                break
            rates.append(rate)
            losses.append(smoothed)
            if smoothed > TOO_LARGE * max(min(losses), 0) and step > FIRST:
                break
        return rates, losses

    rates, losses = swept(LOWEST, (HIGHEST / LOWEST) ** (1 / max(steps - 1, 1)))
    if not losses:
        return "the loss is not finite from the beginning"
    # At a rate that rises, the loss still falls where it would run away if the rate stayed.
    highest, found = rates[int(np.argmin(losses))], dict[float, float]()
    for rate in (highest / FACTOR**k for k in range(TRIALS)):
        _, tried = swept(rate, 1.0)
        found[rate] = tried[-1] if len(tried) == steps else math.inf
    low, first = min(losses), losses[0]
    high = min(max(losses), low + 2 * (first - low))
    rows = [["learning rate", "loss", ""]]
    for index in np.unique(np.linspace(0, len(rates) - 1, ROWS).astype(int)):
        share = min((losses[index] - low) / (high - low), 1) if high > low else 0
        bar = "#" * round(WIDTH * share)
        rows.append([f"{rates[index]:.2e}", f"{losses[index]:.5g}", bar.ljust(WIDTH)])
    return f"{align_rows(rows)}\n\n{propose_rate(found, first, steps)}"


def propose_rate(found: Mapping[float, float], first: float, steps: int) -> str:
    """Return the rate that trains best, and which others are nearly as good.

    Args:
        found: rate -> the loss after so many steps at that rate; infinity if it ran away.
        first: the loss before.
        steps: how many.
    """
    best, least = min(found.items(), key=lambda item: item[1])
    rows = [["learning rate", f"loss after {steps} steps"]]
    rows += [[f"{r:.1e}", f"{x:.5g}" if x < math.inf else "runs away"] for r, x in found.items()]
    if not least < first:
        return (
            f"{align_rows(rows)}\nthe loss falls at none of these rates, of which none is proposed"
        )
    most = min(NEAR * (first - least), abs(least))
    near = [rate for rate, loss in found.items() if loss - least <= most]
    said = "no other rate tried comes near: look closer around it"
    if len(near) > 1:
        said = f"rates from {min(near):.1e} to {max(near):.1e} do nearly as well"
    return (
        f"{align_rows(rows)}\nthe best rate for {steps} steps; {said}:\n  optimizer.lr={best:.1e}"
    )


# Where a loss that is not finite came from: the last steps again, watched by anomaly mode.


EVERY = 500
"""Steps between two states that are remembered: so many are taken again at most."""


class StopWhenDiverged(Callback):
    """Ends the run at the first loss that is not a number: no later step could mend it.

    It is to be the first of the callbacks. It remembers a state of not long ago, and the learning
    rates of the steps since.
    """

    def __init__(self, task: Experiment) -> None:
        self._task = task

    def on_start(self, loop: Loop) -> None:
        self._remember(loop.step, loop.position)

    def on_step(self, loop: Loop) -> None:
        if not math.isfinite(loop.loss):
            loop.stop(DIVERGED)
        self._rates.append([group["lr"] for group in self._task.optimizer.param_groups])

    def on_settled(self, loop: Loop) -> None:
        if loop.step - self._step >= EVERY and loop.stop_reason is None:
            self._remember(loop.step, loop.position)

    def explain(self) -> str:
        """Return which operation was the first to make a number that is not finite, and when.

        The task is left as it was.
        """
        task, now = self._task, copy.deepcopy(self._task.training_state())
        task.load_training_state(self._state)
        try:
            with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
                warnings.simplefilter("ignore")
                lines = self._repeat().split("\n")
                return "\n".join(line for line in lines if relative_path(COMMANDS) not in line)
        finally:
            task.load_training_state(now)

    def _repeat(self) -> str:
        task, optimizer = self._task, self._task.optimizer
        batches = task.endless(self._position or 0)
        taken = zip(self._rates, batches, strict=False)
        for number, (rates, batch) in enumerate(taken, self._step + 1):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate
            try:
                task.plain_step(batch)
            except RuntimeError as error:  # a backward pass that anomaly mode has ended
                if first_nonfinite() is None:
                    return f"step {number}: {error}"
            if (operation := first_nonfinite()) is not None:
                return f"step {number}: {operation}"
            spoilt = [name for name, tensor in task.state().items()
                      if not np.isfinite(tensor.detach().numpy()).all()]  # fmt: skip
            if spoilt:
                what = f"{type(optimizer).__name__}'s update made {', '.join(spoilt)}"
                return f"step {number}: {what} infinite or nan, of finite gradients"
        return ""

    def _remember(self, step: int, position: int | None) -> None:
        self._step, self._position = step, position
        self._state = copy.deepcopy(self._task.training_state())
        self._rates: list[list[Any]] = []
