"""A run from a configuration to the files it leaves behind."""

import hashlib
import math
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from nanotorch.serialization import save
from nanotorch.serialization.files import write_atomically

from .callbacks import Sink, StopOnSignal, StopWhenNotFinite, readable_warnings
from .dump import dump_config
from .experiment import Experiment
from .load import LoadedConfig
from .loop import Loop
from .minimization import Minimization
from .report import duration
from .run_directory import (
    METRICS,
    JsonLines,
    TensorBoardEvents,
    create_run_directory,
    note_latest,
    rewrite_json,
    versions,
    write_json,
)
from .schema import MinimizationConfig
from .step import compilation_text
from .supervised import Supervised

DIVERGED = 1e6
"""How many times its first size a loss grows before a run that was to make it small has failed."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    directory: Path
    status: str
    """`finished`, `diverged` or `interrupted`."""
    results: dict[str, float]
    exit_code: int


def build_experiment(loaded: LoadedConfig) -> Experiment:
    """Return everything that a run needs; nothing has been written when this fails.

    Raises:
        ConfigError: if the configuration, or the data it names, cannot be used.
    """
    if isinstance(loaded.config, MinimizationConfig):
        return Minimization(loaded.config, loaded.origins)
    return Supervised(loaded.config, loaded.origins)


def train(loaded: LoadedConfig, command: Sequence[str] = ()) -> RunResult:
    """Run an experiment; print what a person wants to see, keep what a program may need.

    Args:
        loaded: the configuration.
        command: the command line, for the record.

    Raises:
        ConfigError: before anything has been written.
    """
    experiment = build_experiment(loaded)
    directory = make_directory(loaded)
    record = Record(loaded, experiment, directory, command)
    with record, np.errstate(all="ignore"):  # a loss that is not finite ends the run by itself
        return Run(loaded, experiment, directory, record).run()


def make_directory(loaded: LoadedConfig) -> Path:
    """Return a new directory for the run."""
    root = Path(loaded.config.log.dir)
    name = loaded.config.log.name or "run"  # a configuration made in Python has no file name
    try:
        directory = create_run_directory(root, name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"cannot make a run directory there: {reason}"
        raise loaded.origins.error("log.dir", message) from None
    return directory


def has_diverged(first: float, last: float) -> bool:
    """Return whether a loss has become nothing that training could have been meant to reach."""
    return not math.isfinite(last) or last - first > DIVERGED * max(abs(first), 1.0)


class Record:
    """`run.json`: what ran, on what, and how it ended. Written at the start and at the end."""

    def __init__(
        self,
        loaded: LoadedConfig,
        experiment: Experiment,
        directory: Path,
        command: Sequence[str],
    ) -> None:
        self._path = directory / "run.json"
        self._start = time.monotonic()
        self.values: dict[str, Any] = {
            "status": "running",
            "command": list(command),
            "started": datetime.now().astimezone().isoformat(timespec="seconds"),
            "versions": versions(),
            "data": {
                path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in experiment.files()
            },
        }

    def __enter__(self) -> "Record":
        write_json(self._path, self.values)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            interrupted = issubclass(kind, KeyboardInterrupt)
            self.values["status"] = "interrupted" if interrupted else "failed"
        self.values["seconds"] = round(self.seconds, 3)
        try:
            rewrite_json(self._path, self.values)
        except OSError:
            if kind is None:
                raise  # else what ended the run is to be told

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self._start


class Run:
    """One run in its directory."""

    def __init__(
        self, loaded: LoadedConfig, experiment: Experiment, directory: Path, record: Record
    ) -> None:
        self._loaded = loaded
        self._experiment = experiment
        self._directory = directory
        self._record = record
        self._signals = StopOnSignal()

    def run(self) -> RunResult:
        """Take the steps, measure the result and keep everything."""
        config_text = dump_config(self._loaded)
        write_atomically(self._directory / "config.yaml", config_text.encode())
        note_latest(Path(self._loaded.config.log.dir), self._directory)
        print(self._experiment.describe(), flush=True)
        print(f"run directory: {self._directory}\n", flush=True)
        preprocessing = self._experiment.preprocessing()
        if preprocessing is not None:
            write_json(self._directory / "preprocessing.json", preprocessing)
        with ExitStack() as stack:
            sinks = self._open_sinks(config_text, stack)
            callbacks = [StopWhenNotFinite(), self._signals, *self._experiment.callbacks(sinks)]
            loop = Loop(self._experiment, self._experiment.steps, callbacks)
            with readable_warnings():
                loop.run()
            report = self._experiment.report()
            status = loop.stop_reason or "finished"
            if status == "finished" and has_diverged(loop.first_loss, report.loss):
                status = "diverged"
            final = {f"final/{name}": value for name, value in report.results.items()}
            for sink in sinks:
                sink.write(loop.step, loop.epoch, final)
        save(self._experiment.state(), self._directory / "weights.safetensors")
        step = self._experiment.compilation()
        self._record.values |= {"status": status, "steps": loop.step, "step": step}
        self._record.values["results"] = report.results

        print(f"\n{report.text}")
        if text := compilation_text(step):
            print(text)
        print(f"{status} after {loop.step} steps, {duration(self._record.seconds)}", flush=True)
        if status == "diverged":
            rise = f"the loss, at first {loop.first_loss:.6g}, became {report.loss:.6g}"
            print(f"{rise}; a smaller optimizer.lr may help", flush=True)
        return RunResult(self._directory, status, dict(report.results), self._exit_code(status))

    def _open_sinks(self, config_text: str, stack: ExitStack) -> list[Sink]:
        lines = JsonLines(self._directory / METRICS)
        stack.callback(lines.close)
        if not self._loaded.config.log.tensorboard:
            return [lines]
        events = TensorBoardEvents(self._directory)
        stack.callback(events.close)
        events.describe(config_text, self._experiment.graph())
        return [lines, events]

    def _exit_code(self, status: str) -> int:
        if status == "interrupted" and self._signals.received is not None:
            return 128 + self._signals.received
        return 0 if status == "finished" else 1
