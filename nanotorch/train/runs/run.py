"""A run from its configuration to its files, and the resumption of runs."""

import copy
import hashlib
import math
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from html import escape
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NotRequired, TypedDict

import numpy as np

import nanotorch as torch
from nanotorch import nn
from nanotorch.autograd.graph_text import print_text
from nanotorch.serialization import load, save
from nanotorch.serialization.files import (
    open_file,
    read_limited,
    remove_unfinished,
    write_atomically,
)
from nanotorch.train.commands import TRAIN, as_options, call_again, check_once, imported
from nanotorch.train.config.components import REFUSALS
from nanotorch.train.config.load import (
    LoadedConfig,
    dump_config,
    homes,
    load_config,
    settings_in,
    settings_of,
    shipped,
)
from nanotorch.train.config.schema import (
    FIT,
    AnyConfig,
    FitConfig,
    MinimizationConfig,
    TrainedConfig,
)
from nanotorch.train.config.sections import (
    ABSENT,
    SUFFIXES,
    ConfigError,
    Place,
    Problem,
    did_you_mean,
    name_text,
    quoted,
    raise_all,
    refusal,
)
from nanotorch.train.runs import ranks, run_directory
from nanotorch.train.runs.plots import available, curve_picture, draw, no_plots
from nanotorch.train.runs.run_directory import CheckpointError
from nanotorch.train.training.experiment import Experiment, Recorder, StopWhenDiverged
from nanotorch.train.training.loop import (
    DIVERGED,
    INTERRUPTED,
    OUT_OF_TIME,
    Loop,
    StopOnSignal,
    readable_warnings,
)
from nanotorch.train.training.metrics import align_rows, duration, screen, wrap_to_screen
from nanotorch.train.training.minimization import Minimization
from nanotorch.train.training.step import compilation_text
from nanotorch.train.training.supervised import Supervised, Training

# `run.json`: the versions, the data and the outcome of a run.


RECORD = "run.json"
FINISHED, RUNNING = "finished", "running"


class RecordValues(TypedDict):
    """The values in `run.json`."""

    status: str
    id: str
    data: dict[str, str]
    imports: NotRequired[list[str]]
    processes: NotRequired[int]
    seconds: NotRequired[float]
    steps: NotRequired[int]
    results: NotRequired[dict[str, float | None]]
    resumed: NotRequired[list[dict[str, Any]]]


class Record:
    """The contents of `run.json`.

    `begin` writes the file. The end of the `with` block writes it again if the run has begun.

    Args:
        directory: the directory of the run.
        values: the contents at the beginning.
        seconds: the duration of the run before it was resumed.
    """

    def __init__(self, directory: Path, values: dict[str, Any], seconds: float = 0.0) -> None:
        self._path, self.values, self._begun = directory / RECORD, values, False
        self._start = time.monotonic() - seconds

    def begin(self) -> None:
        """Write the values that are known when a run begins."""
        run_directory.write_json(self._path, self.values)
        self._begun = True

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if not self._begun:
            return
        if kind is not None:
            interrupted = issubclass(kind, KeyboardInterrupt)
            self.values["status"] = "interrupted" if interrupted else "failed"
        self.values["seconds"] = round(self.seconds, 3)
        try:
            run_directory.write_json(self._path, self.values, in_place=True)
        except OSError:
            if kind is None:
                raise  # otherwise the error that ended the run is reported

    @property
    def seconds(self) -> float:
        """The duration of the run so far, in seconds."""
        return time.monotonic() - self._start


def read_record(directory: Path) -> dict[str, Any]:
    """Return the contents of a run's `run.json`."""
    values = run_directory.read_json(directory / RECORD, RecordValues)
    if values["status"] == FINISHED and not {"steps", "results"} <= values.keys():
        message = f"is finished, but lacks steps or results; {run_directory.ANEW}"
        raise CheckpointError(directory / RECORD, message)
    return values


def is_complete(directory: Path, values: Mapping[str, Any], chosen: Path | None) -> bool:
    """Return whether nothing of a run is left to do, unless from an earlier checkpoint `chosen`."""
    return values["status"] == FINISHED and chosen is None and (directory / WEIGHTS).exists()


def belongs_to_run(path: Path) -> bool:
    """Return whether a file exists and belongs to a run, or is `latest.txt` or `sweep.csv`."""
    if not path.exists():
        return False
    folders = path.resolve().parents[:2]
    beside = path.name in (run_directory.LATEST, run_directory.TABLE)
    return beside or any((folder / RECORD).exists() for folder in folders)


def checksums(experiment: Experiment) -> dict[str, str]:
    """Return the SHA-256 of each file on whose content the result depends, by file name."""
    found = {}
    for path in experiment.files():
        with open_file(path) as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    return found


def now() -> str:
    """Return the date, time and time zone in ISO format."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


# A run from its configuration to its files.


LARGEST_RISE = 1e6
"""A run has failed if its loss exceeds the first loss by this factor."""
DIAGNOSIS = "the loss "
"""The first words of the message about a run that has diverged."""
WEIGHTS = "weights.safetensors"
MORE = "raise train.epochs or train.steps"
"""The advice for continuing a finished run."""


MOST_ROWS = 20
"""The most rows of a history that prints whole; a longer one shows its first and last rows."""


class History(dict[str, list[float]]):
    """The values that a training measured after each epoch, a column per name; prints as a table.

    A value that was not measured is NaN. `plt.plot(history["epoch"], history["train/loss"])` draws
    a curve, and `pandas.DataFrame(history)` makes a data frame. A minimization has steps instead
    of epochs.
    """

    def __init__(self, records: Sequence[Mapping[str, float | None]] = ()) -> None:
        first, other = "epoch", "step"
        rows = [row for row in records if "train/epoch_loss" in row]
        if not rows:  # a minimization has only steps
            first, other = other, first
            rows = [row for row in records if not any(name.startswith("final/") for name in row)]
        for name in [name for name in dict.fromkeys(chain((first,), *rows)) if name != other]:
            values = [math.nan if (value := row.get(name)) is None else value for row in rows]
            self[name.replace("epoch_loss", "loss")] = values

    def __repr__(self) -> str:
        rows = [[f"{value:.5g}" for value in row] for row in zip(*self.values(), strict=True)]
        if len(rows) > MOST_ROWS:
            rows[MOST_ROWS // 2 : -MOST_ROWS // 2] = [["..."] * len(self)]
        return align_rows([list(self), *rows]) if self else "nothing was measured"


@dataclass
class RunResult:
    """The result of a run."""

    directory: Path
    """The directory of its files; a temporary one no longer exists."""
    status: str
    """`finished`, `diverged`, or, if the run can resume, `interrupted` or `out of time`."""
    results: dict[str, float]
    """The final measurements, such as `test/accuracy`; empty if the run can resume."""
    exit_code: int
    """The exit code of the command."""
    restore: Callable[[], Experiment] = field(repr=False)
    """Returns the experiment, with its trained weights."""

    @cached_property
    def task(self) -> Experiment:
        """The experiment that was run."""
        return self.restore()

    @property
    def model(self) -> nn.Module:
        """The trained model; of a minimization, the function."""
        return self.task.final_model

    @cached_property
    def history(self) -> History:
        """The values measured after each epoch."""
        return History(self._records)

    @cached_property
    def _records(self) -> list[Mapping[str, Any]]:
        return run_directory.read_metrics(self.directory)

    def _repr_html_(self) -> str:
        """The status and results, the curve of the loss if matplotlib is installed, the history."""
        results = [f"{name} {value:.5g}" for name, value in self.results.items()]
        told, place = escape(", ".join([self.status, *results])), escape(str(self.directory))
        curve = curve_picture(self._records) if available() else ""
        numbers = f"<summary>numbers</summary><pre>{escape(repr(self.history))}</pre>"
        return f"<p>{told}<br><code>{place}</code></p>{curve}<details>{numbers}</details>"

    def predict(self, *inputs: Any) -> torch.Tensor:
        """Return the model's outputs for samples in the form of the training data.

        For classes they are scores. For numbers they are predictions in the units of the target.

        Args:
            inputs: an array or a tensor, samples first; several if the model needs several. For a
                model of a table they are features, or cells as in the table, such as
                `[[85, 3, "Berlin"]]`; or a data frame, a mapping from names to columns, or a list
                of mappings from names to cells, in which the order does not matter, further
                columns are ignored, and None is an empty cell. They are standardized like the
                training data.

        Raises:
            ValueError: if they do not fit the training data: a column lacks, for example.
        """
        return self.task.outputs(*inputs)


def build_experiment(loaded: LoadedConfig) -> Experiment:
    """Return the experiment of a configuration; writes no files."""
    with loaded.told(build_experiment):
        if isinstance(loaded.config, MinimizationConfig):
            return Minimization(loaded.config)
        assert isinstance(loaded.config, TrainedConfig)
        return Supervised(loaded.config)


def train(
    config: LoadedConfig | str | Path | Mapping[str, Any],
    *overrides: str,
    command: Sequence[str] = (),
    program: str = TRAIN,
    verbose: bool = True,
    **unknown: object,
) -> RunResult:
    """Train the model, or minimize the function, of a configuration; returns the run's result.

        run = train("two_moons", "optimizer.lr=0.1", "train.epochs=20")
        print(run.history)
        print(run.results["test/accuracy"], run.directory)
        run.predict([[0.5, 0.25]])

    Args:
        config: a YAML file, the name of a configuration that nanotorch ships, such as `two_moons`,
            a mapping with the sections of such a file, or a result of `load_config`. With
            `train.fast_dev_run`, the run's directory is temporary and removed at the end.
        overrides: values that replace those of the configuration, each `key=value`.
        command: the command line, for the record.
        program: the command that calls the trainer, for the message about resuming.
        verbose: whether to print the progress and the results.

    Raises:
        ConfigError: before anything is written; names every mistake.
        TypeError: for an unknown argument.
    """
    for key, value in unknown.items():
        told = ABSENT.get(key, "settings are texts, such as 'train.epochs=5'")
        told = f"write it as a text: '{homes(key)[0]}={value}'" if homes(key) else told
        told = f"call nanotorch.train.resume({value!r})" if key == "resume" else told
        raise TypeError(f"train() has no argument {key!r}; {told}")
    if not isinstance(config, LoadedConfig):
        config = load_config(config, overrides)
        check_once(overrides)
        for note in config.notes if verbose else ():
            print(note, file=sys.stderr)
    elif overrides:
        raise TypeError("this configuration is loaded already; give the overrides to load_config")
    loaded, verbose = join_ranks(config, verbose)
    return start_run(loaded, build_experiment(loaded), command, program, verbose)


def join_ranks(loaded: LoadedConfig, verbose: bool) -> tuple[LoadedConfig, bool]:
    """Join the other processes; return this process's configuration, and whether it prints.

    Only rank 0 prints and draws plots, and only if the user wants them.
    """
    config, log = loaded.config, loaded.config.log
    ranks.join(config.train.reduction if isinstance(config, FitConfig) else "ordered")
    first = not ranks.rank()
    verbose = verbose and first
    shown = {"progress": log.progress and verbose, "plots": log.plots and first}
    return with_log(loaded, **shown), verbose


def with_log(loaded: LoadedConfig, **changes: Any) -> LoadedConfig:
    """Return a configuration with `changes` in its section `log`."""
    log: Any = replace(loaded.config.log, **changes)
    return replace(loaded, config=replace(loaded.config, log=log))


def start_run(
    loaded: LoadedConfig,
    experiment: Experiment,
    command: Sequence[str],
    program: str,
    verbose: bool,
    scratch: bool = False,
) -> RunResult:
    """Run an experiment in a new directory; a temporary one if `scratch`."""
    with ranks.watch_ranks(), ExitStack() as stack:
        rehearsed = is_rehearsal(loaded.config)
        scratch = scratch or rehearsed or ranks.rank() > 0
        if scratch:
            place = stack.enter_context(TemporaryDirectory(prefix="nanotorch-"))
            loaded = with_log(loaded, dir=place)
        root, name = Path(loaded.config.log.dir), loaded.config.log.name
        name = "run" if name is None else name  # a configuration made in Python has no file name
        try:
            directory = run_directory.create_run_directory(root, name, loaded.config.log.timed)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            in_the_way = isinstance(error, NotADirectoryError | FileExistsError)
            for path in (root / name).parents if in_the_way else ():
                if (path.exists() or path.is_symlink()) and not path.is_dir():
                    reason = f"'{name_text(str(path))}' is not a directory"
            message = f"cannot create a run directory in '{name_text(str(root / name))}': {reason}"
            with loaded.told():
                raise refusal("log.dir", message) from None
        try:
            values: dict[str, Any] = {"status": RUNNING, "id": os.urandom(8).hex()}
            values |= {"command": list(command), "imports": list(imported), "started": now()}
            values |= {"versions": run_directory.versions(), "data": checksums(experiment)}
            record = Record(directory, values | ranks.rank_facts())
            # No warnings of NumPy: a loss that is not finite ends the run anyway.
            with run_directory.locked(directory), record, np.errstate(all="ignore"):
                result = Run(loaded, experiment, directory, record, program, verbose, scratch).run()
        finally:
            with suppress(OSError):  # the directory is not empty if the run has begun
                directory.rmdir()
        if rehearsed and verbose:
            print("fast_dev_run: the run directory is removed", flush=True)
        if scratch:
            _ = result.history  # read it before the directory is removed
        return result


def is_rehearsal(config: AnyConfig) -> bool:
    """Return whether a run has `train.fast_dev_run`: only a check, which keeps no files."""
    return isinstance(config, FitConfig) and config.train.fast_dev_run


@dataclass
class Run:
    """One run in its directory, from its beginning or from a checkpoint."""

    loaded: LoadedConfig
    experiment: Experiment
    directory: Path
    record: Record
    program: str
    verbose: bool = True
    temporary: bool = False
    """Whether the directory is removed at the end."""
    saved: Mapping[str, Any] | None = None
    """The state of the checkpoint from which a resumed run continues; None for a new run."""
    fresh: bool = True
    """Whether the configuration is new; an earlier stop reason then no longer holds."""
    finished: bool = False
    """Whether the run was finished, so that resuming it needs more steps."""

    def __post_init__(self) -> None:
        self._signals = StopOnSignal()
        self._finite = StopWhenDiverged(self.experiment)

    @property
    def _config(self) -> AnyConfig:
        return self.loaded.config

    def run(self) -> RunResult:
        """Take the steps, measure the result and write the files; returns the result."""
        try:
            with self._signals:
                return self._run()
        except KeyboardInterrupt:  # outside of steps, or by a second signal
            if ranks.size() > 1:  # processes at different places cannot wait for each other
                raise
            self.record.values["status"] = INTERRUPTED
            self._say(f"\n{INTERRUPTED}")
            self._say_how_to_resume()
            return self._result(INTERRUPTED, {}, self._code_of_signal())
        except OSError:
            self._say_how_to_resume(" once this is fixed")
            raise

    def _run(self) -> RunResult:
        experiment = self.experiment
        if self.verbose:
            where = "" if self.temporary else f"run directory: {self.directory}\n"
            self._say(f"{wrap_to_screen(experiment.describe())}\n{where}")
        if self._config.log.plots and not available():
            self._say(no_plots())
        resumed = None
        if self.saved is not None:
            resumed = self.saved["recorder"], self.saved["loop"]["step"]
        shown = self._config.log.tensorboard and not ranks.rank()
        recorder = Recorder(self.directory, shown, resumed)
        loop = self.make_loop(recorder)
        with ExitStack() as stack:
            self._signals.on_start(loop)  # delays signals until the run can be resumed
            if self.saved is not None:
                remove_unfinished(self.directory)
            # Nothing was written before this line. `--resume` needs record and configuration.
            self.record.begin()
            if self.fresh:
                write_atomically(self.directory / "config.yaml", dump_config(self.loaded).encode())
            root = Path(self._config.log.dir)
            # A text file instead of a link: TensorBoard would show a link as a second run.
            latest = f"{Path(os.path.relpath(self.directory, root)).as_posix()}\n"
            with suppress(OSError):  # a mere convenience, which must not end a training
                remove_unfinished(root, run_directory.LATEST)
                write_atomically(root / run_directory.LATEST, latest.encode())
            if (preprocessing := experiment.preprocessing()) is not None:
                run_directory.write_json(self.directory / "preprocessing.json", preprocessing)
            recorder.begin()
            stack.callback(recorder.close)
            if recorder.events is not None and loop.step == 0:
                recorder.events.describe(dump_config(self.loaded), experiment)
            with readable_warnings():
                loop.run()
            if loop.complete:
                return self._finish(loop, recorder)
        return self._pause(loop)

    def make_loop(self, recorder: Recorder) -> Loop:
        """Return the loop with all its callbacks."""

        def gather(loop: Loop) -> dict[str, Any]:
            seconds, position = self.record.seconds, recorder.position()
            kept = {"run": self.record.values["id"], "loop": loop.state(), "seconds": seconds}
            return {**kept, "task": self.experiment.training_state(), "recorder": position}

        experiment, settings = self.experiment, self._config.checkpoint
        keeping = run_directory.Checkpoints(self.directory, settings, gather, experiment.state)
        callbacks = [self._finite, self._signals, *experiment.callbacks(recorder), keeping]
        loop = Loop(experiment, experiment.steps, callbacks)
        if self.saved is not None and "task" in self.saved:
            with fitting(self.directory):
                loop.load_state(self.saved["loop"])
            if self.fresh:
                loop.stop_reason = None
            if self.finished and loop.complete:
                raise CheckpointError(
                    self.directory, f"has taken all its {loop.step} steps; {MORE}"
                )
        return loop

    def _finish(self, loop: Loop, recorder: Recorder) -> RunResult:
        experiment, directory = self.experiment, self.directory
        cause = self._finite.explain() if loop.stop_reason == DIVERGED else ""
        experiment.finish()
        report = experiment.report()
        first, last = loop.first_loss, report.loss
        diverged = loop.stop_reason == DIVERGED or not math.isfinite(last)
        diverged = diverged or last - first > LARGEST_RISE * max(abs(first), 1.0)
        status = DIVERGED if diverged else FINISHED
        final = {f"final/{name}": value for name, value in report.results.items()}
        recorder.write(loop.step, loop.epoch, final)
        save(experiment.state(), directory / WEIGHTS)
        if self._config.log.plots and available():
            plots = experiment.plots(run_directory.read_metrics(directory))
            for name, image in draw(directory / "plots", plots):
                if recorder.events is not None:
                    picture, writer = image[..., :3], recorder.events.writer
                    writer.add_image(f"plots/{name}", picture, loop.step, dataformats="HWC")
        if recorder.events is not None:
            experiment.notes(recorder.events, loop.step)
            recorder.events.outcome(self._config, experiment, report, loop.step)

        if diverged:
            last = last if math.isfinite(loop.loss) else loop.loss
            rate = experiment.optimizer.param_groups[0]["lr"]
            said = f"{DIAGNOSIS}went from {first:.4g} to {last:.4g}"
            said += f"; try an optimizer.lr below {rate:.4g}"
            if not math.isfinite(first):
                said = f"{DIAGNOSIS}is {first} before the first step, whatever the optimizer.lr"
            self._say(wrap_to_screen(f"\n{said}"))
            if cause:
                self._say(f"the first number that was not finite:\n{cause}")
        else:
            compiled = compilation_text(experiment.training_step.record())
            profile = experiment.profile_text()
            texts = [report.text, compiled, profile and f"\n{profile}"]
            self._say(wrap_to_screen("\n".join(["", *filter(None, texts)])))
        early = f": {loop.stop_reason}" if loop.stop_reason not in (None, DIVERGED) else ""
        self._end(loop, status, report.results, early)
        if report.warning and not diverged and not is_rehearsal(self._config):
            self._say(wrap_to_screen(f"warning: {report.warning}"))
        return self._result(status, dict(report.results), int(diverged))

    def _pause(self, loop: Loop) -> RunResult:
        """End a run that can resume; its checkpoint is already written."""
        status = loop.pause_reason or INTERRUPTED
        save(self.experiment.state(), self.directory / WEIGHTS)
        self._end(loop, status, {})
        self._say_how_to_resume()
        code = 0 if status == OUT_OF_TIME else self._code_of_signal()
        return self._result(status, {}, code)

    def _result(self, status: str, results: dict[str, float], code: int) -> RunResult:
        self.experiment.final_model.eval()
        return RunResult(self.directory, status, results, code, lambda: self.experiment)

    def _say(self, text: str) -> None:
        if self.verbose:
            print_text(text)

    def _code_of_signal(self) -> int:
        return 128 + (self._signals.received or signal.SIGINT)

    def _say_how_to_resume(self, condition: str = "") -> None:
        written = (self.directory / "config.yaml").exists()
        if written and not self.temporary:
            again = how_to_resume(self.directory, self._config.experiment, self.program)
            line = f"to resume{condition}: {again}"
            if sys.stdout.isatty() and len(line) > screen():
                line = line.replace(": ", ":\n  ", 1)
            self._say(line)

    def _end(self, loop: Loop, status: str, results: Mapping[str, float], more: str = "") -> None:
        step = self.experiment.training_step.record()
        self.record.values |= {"status": status, "steps": loop.step, "step": step}
        self.record.values["results"] = dict(results)
        spent = duration(self.record.seconds)
        steps = "1 step" if loop.step == 1 else f"{loop.step} steps"
        self._say(f"{status} after {steps}, {spent}{more}")


# Resuming a run: it takes the same steps as an uninterrupted run.


def how_to_resume(directory: Path, experiment: str = "", program: str = TRAIN) -> str:
    """Return the command, or the call of `fit`, that resumes a run."""
    if experiment == FIT:
        return f"fit(..., resume={str(directory)!r})"
    launcher = f"mpiexec -n {ranks.size()} " * (ranks.size() > 1)
    return f"{launcher}{call_again(program)} --resume {shlex.quote(str(directory))}"


FROM_THE_BEGINNING: dict[str, Any] = {
    "recorder": {"metrics": 0, "events": {}}, "loop": {"step": 0}, "seconds": 0.0
}  # fmt: skip
"""The state of a run that ended before its first checkpoint."""
NEWEST = "latest"
LARGEST_NOTE = 10_000
FIXED = (
    *("experiment", "seed", "data."),
    *("function.name", "function.expression", "function.start"),
)
"""The settings that cannot change in a resumed run, and the beginnings of such settings."""
NEWER = "data.standardize_target"
"""A setting that is false for runs whose configuration lacks it."""
LENGTHS = ("train.batch_size", "train.accumulate", "train.overfit_batches")
"""The settings that determine the number of steps in an epoch."""


def resume(
    target: str | Path,
    *overrides: str,
    command: Sequence[str] = (),
    program: str = TRAIN,
    verbose: bool = True,
) -> RunResult:
    """Resume a run that was interrupted or killed, from its newest sound checkpoint.

    Weights and metrics become those of an uninterrupted run.

        resume("latest")
        resume("runs/two_moons/2026-01-31_12-00-00-abcdef", "train.epochs=80")

    Args:
        target: the run's directory, one of its checkpoints, or `latest` for the run that
            `runs/latest.txt` names; `elsewhere/latest` for runs in another directory.
        overrides: values that replace those of the run, each `key=value`.
        command: the command line, for the record.
        program: the command that calls the trainer, for the message about resuming.
        verbose: whether to print the progress and the results.

    Raises:
        CheckpointError: if there is nothing to resume; names the wrong file and the problem.
        ConfigError: if an override is wrong.
    """
    directory, chosen = find_run(target)
    values = read_record(directory)
    loaded, verbose = join_ranks(load_own_config(directory, overrides), verbose)
    check_once(overrides)
    if is_complete(directory, values, chosen) and not overrides:
        if verbose:
            print(f"{directory}:\nfinished after {values['steps']} steps; nothing is left to do")
            print(f"to continue it, {MORE}", flush=True)
        return finished_result(directory, values, lambda: build_experiment(loaded))
    if overrides:  # they must not make another experiment, or mix the parts of the data
        both = (settings_in(dump_config(each)) for each in (load_own_config(directory), loaded))
        place, (old, new) = Place(source=f"command line: {' '.join(overrides)}"), both
        problems = []
        for key in [key for key in {**old, **new} if old.get(key) != new.get(key)]:
            if key.startswith(FIXED):
                message = "cannot change in a resumed run; start a new one"
                problems.append(Problem(key, message, place))
            elif key in LENGTHS and new.get("train.epochs", "null") != "null":
                message = "changes how many steps an epoch has; give train.steps=N as well"
                problems.append(Problem(key, message, place))
        raise_all(problems)
    for note in loaded.notes if verbose else ():
        print(note, file=sys.stderr)
    experiment = build_experiment(loaded)
    for name, checksum in checksums(experiment).items():
        if values["data"].get(name) != checksum:
            message = "has changed since the run began; restore it, or start a new run"
            raise CheckpointError(Path(name), message)
    run = Run(loaded, experiment, directory, Record(directory, values), program, verbose)
    return continue_run(run, chosen, bool(overrides), command)


def continue_run(
    run: "Run", chosen: Path | None, changed: bool, command: Sequence[str]
) -> RunResult:
    """Run an experiment from a checkpoint on.

    Args:
        run: the run, with its previous record.
        chosen: the checkpoint; None for the newest sound one.
        changed: whether the configuration has changed.
        command: the command line, for the record.
    """
    directory, experiment, values = run.directory, run.experiment, run.record.values
    steps, status = values.get("steps", 0), values["status"]
    if status == DIVERGED and not changed:
        message = f"diverged after {steps} steps, and would again; change optimizer.lr, for example"
        raise CheckpointError(directory, message)
    with ranks.watch_ranks(), ExitStack() as stack:
        if not ranks.rank():
            stack.enter_context(run_directory.locked(directory))
        state, problems = run_directory.newest_state(directory, values["id"], chosen)
        for problem in problems if not ranks.rank() else ():
            print(f"warning: {problem}; continuing from the one before", file=sys.stderr)
        if state is None and steps and status not in (DIVERGED, RUNNING):
            message = f"has taken {steps} steps, but its checkpoints are gone"
            raise CheckpointError(directory, f"{message}; {run_directory.ANEW}")
        state = state or FROM_THE_BEGINNING
        if "task" in state:
            # Loaders and optimizers use their state only when they continue: a step is tried first.
            with fitting(chosen or directory), np.errstate(all="ignore"):
                experiment.load_training_state(copy.deepcopy(state["task"]))
                batch = next(experiment.endless(state["loop"]["position"] or 0))
                experiment.training_step.plain(*batch)
                experiment.load_training_state(state["task"])
        if (taken := state["loop"]["step"]) > experiment.steps:
            message = f"has taken {taken} steps, but is now to take only {experiment.steps}"
            raise CheckpointError(directory, f"{message}; {MORE}")
        before = values.get("processes", 1)
        if run.verbose and before != ranks.size():
            message = "sums are rounded in another order, so the last digits change"
            print(f"processes: {ranks.size()} (before: {before}); {message}")
        ranks.max_over_ranks(0)  # wait: rank 0 may write only after all have read
        if ranks.rank():
            place = stack.enter_context(TemporaryDirectory(prefix="nanotorch-"))
            run.loaded = with_log(run.loaded, dir=place)
            run.directory, run.temporary = Path(place), True
            state = {**state, "recorder": FROM_THE_BEGINNING["recorder"]}
        again = {"at": now(), "step": taken, "command": list(command)}
        resumed = [*values.get("resumed", ()), again]
        run.saved, run.fresh = state, changed
        run.finished = is_complete(directory, values, chosen)
        values = {**values, **ranks.rank_facts(), "resumed": resumed, "status": RUNNING}
        run.record = Record(run.directory, values, state["seconds"])
        if run.verbose:
            begins = f"resuming after step {taken} of {experiment.steps}"
            print(begins if taken else "no checkpoint yet: starting from the beginning", flush=True)
        with run.record, np.errstate(all="ignore"):
            return run.run()


def finished_result(
    directory: Path, values: dict[str, Any], build: Callable[[], Experiment]
) -> RunResult:
    """Return the result of a run that needs no more steps."""

    def restore() -> Experiment:
        experiment = build()
        if isinstance(experiment, Training):
            experiment.model.load_state_dict(load(directory / WEIGHTS))
        experiment.final_model.eval()
        return experiment

    return RunResult(directory, FINISHED, values["results"], 0, restore)


def load_own_config(directory: Path, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Return the configuration in a run's directory, with overrides."""
    path, settings = directory / "config.yaml", settings_of(directory / "config.yaml")
    if settings.get("experiment") == FIT:
        raise CheckpointError(directory, "is a run of `fit`: call it again with resume=True")
    if settings.get("experiment") == "regression" and NEWER not in settings:
        overrides = (f"{NEWER}=false", *overrides)
    try:
        return load_config(path, overrides)
    except ConfigError as error:
        try:
            imports = read_record(directory).get("imports", ())
        except CheckpointError:
            imports = ()
        missing = [name for name in imports if name not in imported]
        message, place = "restore what has changed since the run began, or start a new run", path
        if missing:
            message = f"the run was made with {' '.join(as_options(missing))}; add this again"
            place = directory / RECORD
        elif not all(str(problem.place).startswith(str(path)) for problem in error.problems):
            raise
        advice = Problem("", message, Place(source=str(place)))
        raise ConfigError([*error.problems, advice]) from None


def find_run(target: str | Path) -> tuple[Path, Path | None]:
    """Return a run's directory, and the checkpoint that `target` names, else None.

    Args:
        target: a run's directory or one of its checkpoints; `latest`; a directory of runs, or its
            name in `runs`, for the newest of them.
    """
    path = Path(target)
    try:
        if path.name == NEWEST and not path.exists():
            note = (path.parent if path.parent.name else Path("runs")) / run_directory.LATEST
            try:
                name = read_limited(note, LARGEST_NOTE).decode("utf-8", "replace").strip()
            except FileNotFoundError:
                message = f"is missing: no run yet; train one: {call_again()} --config FILE"
                raise CheckpointError(note, message) from None
            path = note.parent / name
            outside = Path(name).is_absolute() or ".." in Path(name).parts
            if outside or not any((path / file).exists() for file in (RECORD, "config.yaml")):
                message = f"names {quoted(name)}, which is no run in {note.parent}; name the run"
                raise CheckpointError(note, f"{message} itself instead of {NEWEST}")
        for place in (path, Path("runs") / path):
            # Python 3.13's `glob` raises ValueError for a name with a null character.
            runs = place.glob("*/config.yaml") if place.is_dir() else ()
            if not (place / "config.yaml").exists() and (found := [*runs]):
                path = max(file.parent for file in found)  # their names begin with the time
                break
        chosen = path if path.is_file() else None
        directory = path.parent if chosen else path
        if directory.name == run_directory.CHECKPOINTS:
            directory = directory.parent
        if not path.exists():
            if (folder := path.parent).name == run_directory.CHECKPOINTS and folder.is_dir():
                meant = did_you_mean(path.name, sorted(file.name for file in folder.iterdir()))
                raise CheckpointError(path, f"there is no such checkpoint{meant}")
            if str(target) in shipped():
                message = f"has no run yet; train it: {call_again()} --config {path}"
                raise CheckpointError(path, message)
            known = {file.parents[1].name for file in Path("runs").glob("*/*/config.yaml")}
            meant = did_you_mean(str(target), sorted(known))
            raise CheckpointError(path, f"there is no such run{meant}")
        if not (directory / "config.yaml").is_file():
            message = "is not the directory of a run: it has no config.yaml"
            if path.suffix == Path(WEIGHTS).suffix:
                message = "is not in the directory of its run; move it back there"
            message += "; restore it, or start a new run" * (directory / RECORD).exists()
            began = f"; train it: {call_again()} --config {path}" if path.suffix in SUFFIXES else ""
            raise CheckpointError(path, message + began)
    except OSError as error:  # a name that is too long, for example
        raise run_directory.cannot_read(Path(error.filename or target), error) from None
    return directory, chosen


@contextmanager
def fitting(source: Path) -> Iterator[None]:
    """Tell of an error in the block as of a checkpoint that does not fit the configuration."""
    try:
        yield
    except REFUSALS as error:
        message = f"{error}; restore the settings, or start a new run"
        raise CheckpointError(source, f"does not fit this configuration: {message}") from None
