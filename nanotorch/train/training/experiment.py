"""The interface of experiments, the recording of their runs, and trials before a training."""

import copy
import json
import math
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch._core.call_site import COMMANDS, relative_path
from nanotorch.autograd.anomaly_mode import first_nonfinite
from nanotorch.serialization.files import naming_file
from nanotorch.train.config.load import plain
from nanotorch.train.config.sections import Component, Section, refusal
from nanotorch.train.runs.plots import Plot
from nanotorch.train.runs.run_directory import EVENTS, METRICS, finite_values
from nanotorch.train.training.loop import DIVERGED, Callback, Loop, Tagged, Task
from nanotorch.train.training.metrics import align_rows
from nanotorch.train.training.step import TrainingStep
from nanotorch.utils.tensorboard import SummaryWriter
from nanotorch.utils.tensorboard.files import hparams, protos
from nanotorch.utils.tensorboard.graph import ForwardGraph, trace

Graph = tuple[nn.Module, *tuple[torch.Tensor, ...]]
"""A model and its inputs."""

# A run in TensorBoard. Other files have the record from which most of it is derived.


BINS = 60
MOST_WAITING, LONGEST_WAIT = 200, 2.0
"""The most points, and the most seconds, before buffered points are written to the file."""
# Sections that do not affect a run's results.
NOT_HYPERPARAMETERS = ("log", "checkpoint")
IN_A_WORD = ("name", "layers", "expression", "formula")
"""The keys that name a section in the table of hyperparameters."""
RESULT = "→ "
"""The prefix of results in that table; it sorts them after all settings."""


class TensorBoardEvents:
    """The metrics as curves, with the model's graph, histograms, plots and the configuration.

    Args:
        directory: the run's directory.
        resumed_at: the step from which a resumed run continues; None for a new run.
    """

    def __init__(self, directory: Path, resumed_at: int | None = None) -> None:
        self._directory = directory
        self._resumed_at = resumed_at
        self._waiting: list[tuple[int, float, Mapping[str, float]]] = []
        """The step, time and values of points that are not in the file yet."""

    @cached_property
    def writer(self) -> SummaryWriter:
        """The writer of the file, which is created on the first use."""
        purge = None if self._resumed_at is None else self._resumed_at + 1
        return SummaryWriter(str(self._directory), purge_step=purge)

    def describe(self, config: str, experiment: "Experiment") -> None:
        """Add the configuration's text, the charts, and the model's graph."""
        self.text("config", config, 0)
        charts = {title: ["Multiline", tags] for title, tags in experiment.charts().items()}
        self.writer.add_custom_scalars({"curves": charts})
        model, *x = experiment.graph()  # `trace` changes neither them nor the random state
        self.writer._add_structure(ForwardGraph(model, trace(model, x)))

    def text(self, tag: str, text: str, step: int) -> None:
        """Add a text, which is shown verbatim."""
        self.writer.add_text(tag, f"```\n{text}\n```", step)

    def step(self, model: nn.Module) -> AbstractContextManager[None]:
        """Trace the step in the block; add its graphs, with each operation's time and memory."""
        return self.writer.trace_step(model)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve."""
        now = time.time()
        self._waiting.append((step, now, values))
        # Points written together take a fifth of the time of points written between steps.
        if len(self._waiting) >= MOST_WAITING or now > self._waiting[0][1] + LONGEST_WAIT:
            self._write_waiting()

    @staticmethod
    def tag(name: str) -> str:
        """Return the tag of a curve; tags of one group, such as `loss/train`, are shown together.

        TensorBoard opens the first groups of tags in alphabetical order: accuracy and loss, or
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
        for step, now, values in self._waiting:
            points = [
                p.Summary.Value(tag=self.tag(name), simple_value=value)
                for name, value in values.items()
                if not name.startswith("final/")
            ]
            if points:  # one event for all, as `add_scalar` for each takes twice as long
                self.writer._file().add(p.Event(summary=p.Summary(value=points)), step, now)
        self._waiting.clear()

    def histograms(self, step: int, named: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Add a histogram of the finite elements of each tensor with more than one."""
        for tag, tensor in named:
            values = tensor.detach().numpy()
            finite = values[np.isfinite(values)]
            if finite.size > 1:
                # TensorBoard shows 30 bins; its default of 1500 would take 30 times as long.
                edges = np.histogram_bin_edges(finite.astype(np.float64), BINS)
                self.writer.add_histogram(tag, finite, step, bins=edges.tolist())

    def outcome(
        self, config: Section, experiment: "Experiment", report: "Report", step: int
    ) -> None:
        """Add the final report, and the run's row in the table of hyperparameters.

        The row also has the final measurements, since a curve of one point would show nothing. Its
        other measures are the last values of the run's curves. No description of the columns is
        written: TensorBoard would use that of a single run, but without any it finds the columns
        of all runs and begins with those in which the runs differ.
        """
        self.text("results", report.text, step)
        groups = experiment.optimizer.param_groups
        size = sum(parameter.numel() for group in groups for parameter in group["params"])
        row = {**dict(hyperparameters(config)), "Parameters": size, "Steps": step}
        row |= {f"{RESULT}{name}": value for name, value in finite_values(report.results).items()}
        _, *summaries = hparams(row, ())
        for summary in summaries:
            self.writer._file().add(protos().Event(summary=summary), step)

    def flush(self) -> None:
        """Write everything to the disk."""
        self._write_waiting()
        self.writer.flush()

    def close(self) -> None:
        """Write everything to the disk, and close the files."""
        try:
            self._write_waiting()
        finally:
            if "writer" in vars(self):
                self.writer.close()


def hyperparameters(section: Section | Component, path: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the settings of a configuration by dotted names, and a word for each section.

    Names that all runs have are capitalized, so that they come first: TensorBoard draws parallel
    coordinates only of runs that have all the columns that it shows.
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
    """Return a component and its arguments other than defaults, such as `Linear(16)`."""
    usual = component.registry.keys(component.name)
    shown = [
        short_form(value) if isinstance(value, Component) else str(value)
        for key, value in component.arguments.items()
        if value != usual[key].default and not isinstance(value, bool)
    ]
    return component.name + (f"({', '.join(shown)})" if shown else "")


def sizes(directory: Path) -> dict[str, int]:
    """Return the size in bytes of each file of events in a directory."""
    return {path.name: path.stat().st_size for path in directory.glob(EVENTS)}


# The measurements of a run, in its files.


ENCODER = json.JSONEncoder(allow_nan=False)


class Recorder:
    """Records the metrics of a run in `metrics.jsonl` and, optionally, for TensorBoard.

    `metrics.jsonl` has a JSON object per line: the record that everything else is derived from.
    It has no times, so that two runs of the same configuration are equal byte for byte.

    Args:
        directory: the run's directory.
        tensorboard: whether to write events.
        resumed: the result of `position` at the checkpoint, and its step; None for a new run.
    """

    def __init__(
        self, directory: Path, tensorboard: bool, resumed: tuple[Mapping[str, Any], int] | None
    ) -> None:
        self._path = directory / METRICS
        self._position: Mapping[str, Any] | None
        self._position, step = resumed or (None, None)
        self.events = TensorBoardEvents(directory, step) if tensorboard else None

    def begin(self) -> None:
        """Open the files; remove measurements after the checkpoint, which are taken again.

        No reader of the events then sees a step twice, even if it ignores that a file continues
        another. This also removes an incomplete event of a killed writer.
        """
        with naming_file(self._path):
            self._file = self._path.open("a", encoding="utf-8", newline="\n")
        if self._position is None:
            return
        kept = {METRICS: self._position["metrics"], **self._position["events"]}
        for path in (self._path, *self._path.parent.glob(EVENTS)):
            with naming_file(path):
                if path.name not in kept:
                    path.unlink()
                elif path.stat().st_size > kept[path.name]:
                    os.truncate(path, kept[path.name])

    def write(self, step: int, epoch: int, values: Tagged, passing: Tagged | None = None) -> None:
        """Record the values measured after `step`; the `passing` ones go only to TensorBoard.

        The operating system has the line when this returns.
        """
        record = {"step": step, "epoch": epoch, **finite_values(values)}
        with naming_file(self._path):
            self._file.write(ENCODER.encode(record) + "\n")
            self._file.flush()
        if self.events is not None:
            self.events.write(step, {**values, **passing} if passing else values)

    def position(self) -> dict[str, Any]:
        """Write everything to the disk; return the sizes of the files in bytes."""
        with naming_file(self._path):
            os.fsync(self._file.fileno())
        if self.events is not None:
            self.events.flush()
        return {"metrics": self._path.stat().st_size, "events": sizes(self._path.parent)}

    def close(self) -> None:
        """Write everything to the disk, and close the files."""
        try:
            with naming_file(self._path), self._file:
                os.fsync(self._file.fileno())
        finally:
            if self.events is not None:
                self.events.close()


# The interface of experiments.


@dataclass(frozen=True)
class Report:
    """The result of an experiment."""

    text: str
    """The results as text for users."""
    results: Mapping[str, float] = field(default_factory=dict)
    """The results for programs, by the names of the metrics."""
    loss: float = math.nan
    """The minimized quantity at the end."""
    warning: str = ""
    """Why the result is useless; "" if it is not."""


class Experiment(Task, Protocol):
    """Base of the tasks for the loop, with the work before and after the steps."""

    steps: int
    """The number of steps in the whole training."""
    blamed: str = "model"
    """The section of the configuration that errors of the computation name."""
    optimizer: optim.Optimizer
    """The optimizer that the steps use."""
    training_step: TrainingStep
    """The function that takes a step."""

    def taken(self, batch: Sequence[Any], usual: bool = True) -> Any:
        """Take a step, compiled if it is `usual` and not traced; return its result."""
        if self.trace is None:
            return (self.training_step.call if usual else self.training_step.plain)(*batch)
        watching, self.trace = self.trace(self.graph()[0]), None
        with watching:
            return self.training_step.plain(*batch)

    def endless(self, start: int) -> Iterator[Any]:
        """Yield the batches of steps, epoch after epoch, without the first `start`."""
        while True:
            yield from self.batches(start)
            start = 0

    def describe(self) -> str:
        """Return a description of the experiment for users."""

    def files(self) -> Iterable[Path]:
        """Return the files on whose content the result depends."""
        return ()

    def callbacks(self, recorder: Recorder) -> Sequence[Callback | None]:
        """Return the callbacks that measure, record and show progress; the loop skips None."""

    def graph(self) -> Graph:
        """Return a model and its inputs, to trace its graph."""

    @property
    def final_model(self) -> nn.Module:
        """The model to measure and keep; of a minimization, the function."""

    def outputs(self, *inputs: Any) -> torch.Tensor:
        """Return the outputs of `final_model` for samples in the form of the data."""

    def charts(self) -> Mapping[str, Sequence[str]]:
        """Return chart title -> the tags of the curves that TensorBoard draws together."""
        return {}

    def finish(self) -> None:
        """Do the work between the last step and the last measurement."""
        return

    def learned(self) -> Mapping[str, torch.Tensor]:
        """Return the tensors that the steps change, by name."""

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return the learned tensors by PyTorch's names."""

    def training_state(self) -> dict[str, Any]:
        """Return the state on which all later steps depend."""

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state that `training_state` returned.

        Raises:
            RuntimeError, ValueError: if it does not fit.
        """

    def plots(self, records: Sequence[Mapping[str, Any]]) -> Iterable[Plot | None]:
        """Return the figures of the metrics and the result."""

    def notes(self, events: TensorBoardEvents, step: int) -> None:
        """Add to TensorBoard the facts that are known only at the end."""
        return

    def profile_text(self) -> str:
        """Return tables of the time of steps; "" if it was not measured."""
        return ""

    def preprocessing(self) -> Mapping[str, Any] | None:
        """Return the preparation of the model's inputs, for JSON; None if there is none."""
        return None

    def report(self) -> Report:
        """Return the measured result."""


# One step before a training, to find the mistakes that would end the training at once.


@np.errstate(all="ignore")  # numbers that are not finite are reported
def try_step(experiment: Experiment) -> str:
    """Take one step, without writing files; return a report.

    Raises:
        ConfigError: if the loss or a gradient is not finite.
    """
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


# A proposal for the learning rate: the loss while the rate rises from step to step, then trials.


LOWEST, HIGHEST, STEPS = 1e-7, 10.0, 100
SMOOTHING = 0.9
"""The share of the previous mean of losses in the next mean."""
TOO_LARGE = 4.0
"""The multiple of its least value at which the smoothed loss ends the rise of the rate."""
ROWS, WIDTH = 20, 40
FIRST = 10
"""The number of steps before the mean is reliable."""
TRIALS, FACTOR = 6, math.sqrt(10)
"""The number of rates that are tried, and the ratio of each to the next."""
NEAR = 0.1
"""The share of the greatest fall of the loss that an equally good rate may miss."""


def find_rate(experiment: Experiment, steps: int = STEPS) -> str:
    """Return a report of how an experiment's loss depends on the rate; changes the experiment.

    Reference:
        Smith, Cyclical Learning Rates for Training Neural Networks, WACV 2017.
    """
    beginning = copy.deepcopy(experiment.training_state())

    @np.errstate(all="ignore")
    def swept(first: float, factor: float) -> tuple[list[float], list[float]]:
        """Return the rate of each step and the smoothed loss before it, until the loss diverges."""
        experiment.load_training_state(copy.deepcopy(beginning))
        rates, losses, mean = list[float](), list[float](), 0.0
        for step, batch in zip(range(1, steps + 1), experiment.endless(0), strict=False):
            rate = first * factor ** (step - 1)
            for group in experiment.optimizer.param_groups:
                group["lr"] = rate
            mean = SMOOTHING * mean + (1 - SMOOTHING) * experiment.step(batch)[0]
            smoothed = mean / (1 - SMOOTHING**step)  # corrects the initial mean of 0
            if not math.isfinite(smoothed):
                break
            rates.append(rate)
            losses.append(smoothed)
            if smoothed > TOO_LARGE * max(min(losses), 0) and step > FIRST:
                break
        return rates, losses

    rates, losses = swept(LOWEST, (HIGHEST / LOWEST) ** (1 / max(steps - 1, 1)))
    if not losses:
        return "the loss is not finite at the first step"
    # A loss that falls at a momentary rate may diverge if this rate is kept: so rates are tried.
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
    """Return a table of the tried rates, with the best one and others that are nearly as good.

    Args:
        found: rate -> the loss after `steps` steps at this rate; infinity if it diverged.
        first: the loss before the first step.
        steps: the number of steps.
    """
    best, least = min(found.items(), key=lambda item: item[1])
    rows = [["learning rate", f"loss after {steps} steps"]]
    rows += [[f"{r:.1e}", f"{x:.5g}" if x < math.inf else "diverges"] for r, x in found.items()]
    if not least < first:
        return f"{align_rows(rows)}\nthe loss falls at none of these rates, so none is proposed"
    most = min(NEAR * (first - least), abs(least))
    near = [rate for rate, loss in found.items() if loss - least <= most]
    said = "no other rate comes close, so try rates around it"
    if len(near) > 1:
        said = f"rates from {min(near):.1e} to {max(near):.1e} do nearly as well"
    return (
        f"{align_rows(rows)}\nthe best rate for {steps} steps; {said}:\n  optimizer.lr={best:.1e}"
    )


# The origin of a loss that is not finite: the last steps are repeated in anomaly mode.


EVERY = 500
"""Steps between two remembered states: the most steps that are repeated."""


class StopWhenDiverged(Callback):
    """Ends the run at the first loss that is not finite, as later steps cannot repair it.

    It must be the first of the callbacks. It remembers a recent state, and the learning rates of
    the steps since then.
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
        """Return the step and the operation that first computed a number that is not finite.

        The task stays as it was.
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
                task.training_step.plain(*batch)
            except RuntimeError as error:  # anomaly mode ends a backward pass by an error
                if first_nonfinite() is None:
                    return f"step {number}: {error}"
            if (operation := first_nonfinite()) is not None:
                return f"step {number}: {operation}"
            spoilt = [name for name, tensor in task.state().items()
                      if not np.isfinite(tensor.detach().numpy()).all()]  # fmt: skip
            if spoilt:
                what = f"{type(optimizer).__name__}'s update made {', '.join(spoilt)}"
                return f"step {number}: {what} infinite or nan, from finite gradients"
        return ""

    def _remember(self, step: int, position: int | None) -> None:
        self._step, self._position = step, position
        self._state = copy.deepcopy(self._task.training_state())
        self._rates: list[list[Any]] = []
