"""A run from a configuration to the files it leaves behind."""

import math
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeGuard

import numpy as np

from nanotorch.serialization import save
from nanotorch.serialization.files import remove_unfinished, write_atomically

from .callbacks import DIVERGED, INTERRUPTED, OUT_OF_TIME, StopOnSignal, StopWhenNotFinite
from .checkpoint import UNFIT, CheckpointError
from .checkpoints import Checkpoints
from .divergence import Memory
from .dump import dump_config
from .experiment import Experiment, Report
from .load import LoadedConfig
from .lock import locked
from .loop import Loop
from .minimization import Minimization
from .plots import NO_PLOTS, available, draw
from .problems import quoted
from .progress import readable_warnings
from .record import FINISHED, Record, new_record
from .recorder import Recorder
from .report import duration
from .run_directory import create_run_directory, note_latest, write_json
from .schema import Config, MinimizationConfig, SupervisedConfig, TextConfig
from .step import compilation_text
from .supervised import Supervised

LARGEST_RISE = 1e6
"""How many times its first size a loss grows before a run that was to make it small has failed."""
WEIGHTS = "weights.safetensors"
PROGRAM = "python -m nanotorch.train"
MORE = "give it a greater train.epochs, or train.steps"
"""How a finished run goes on."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    directory: Path
    status: str
    """`finished`, `diverged`, or, if it can resume, `interrupted` or `out of time`."""
    results: dict[str, float]
    exit_code: int


@dataclass(frozen=True)
class Saved:
    """What a resumed run goes on from."""

    state: Mapping[str, Any]
    """That of a checkpoint."""
    fresh: bool
    """Whether the configuration has changed, so that what ended the run counts no more."""
    finished: bool
    """Whether the run was finished, so that there have to be further steps."""


def build_experiment(loaded: LoadedConfig) -> Experiment:
    """Return everything that a run needs; nothing has been written when this fails.

    Raises:
        ConfigError: if the configuration, or the data it names, cannot be used.
    """
    if isinstance(loaded.config, MinimizationConfig):
        return Minimization(loaded.config, loaded.origins)
    return Supervised(loaded.config, loaded.origins)


def train(loaded: LoadedConfig, command: Sequence[str] = (), program: str = PROGRAM) -> RunResult:
    """Run an experiment; print what a person wants to see, keep what a program may need.

    Args:
        loaded: the configuration. With `train.fast_dev_run`, the run's directory is a temporary
            one, which is gone in the end.
        command: the command line, for the record.
        program: how the program was called, to say how to go on.

    Raises:
        ConfigError: before anything has been written.
    """
    experiment = build_experiment(loaded)
    with ExitStack() as stack:
        if rehearsed := is_rehearsal(config := loaded.config):
            scratch = stack.enter_context(TemporaryDirectory(prefix="nanotorch-"))
            log = replace(config.log, dir=scratch)
            loaded = replace(loaded, config=replace(config, log=log))
        directory = make_directory(loaded)
        stack.callback(remove_empty, directory)
        stack.enter_context(locked(directory))
        record = new_record(directory, experiment, command)
        with record, np.errstate(all="ignore"):  # a loss that is not finite ends the run by itself
            result = Run(loaded, experiment, directory, record, program).run()
        if rehearsed:
            print("fast_dev_run: the run directory is removed", flush=True)
        return result


def is_rehearsal(config: Config) -> TypeGuard[SupervisedConfig | TextConfig]:
    """Return whether a run is only to show that everything works, and leaves nothing behind."""
    return not isinstance(config, MinimizationConfig) and config.train.fast_dev_run


def make_directory(loaded: LoadedConfig) -> Path:
    """Return a new directory for the run."""
    root = Path(loaded.config.log.dir)
    name = loaded.config.log.name or "run"  # a configuration made in Python has no file name
    try:
        directory = create_run_directory(root, name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        for path in (root / name).parents:
            if (path.exists() or path.is_symlink()) and not path.is_dir():
                reason = f"{quoted(str(path))} is no directory"
        message = f"cannot make a run directory in {quoted(str(root / name))}: {reason}"
        raise loaded.origins.error("log.dir", message) from None
    return directory


def remove_empty(directory: Path) -> None:
    """Remove the directory of a run that has written nothing."""
    with suppress(OSError):
        directory.rmdir()


def has_diverged(first: float, last: float) -> bool:
    """Return whether a loss has become nothing that training could have been meant to reach."""
    return not math.isfinite(last) or last - first > LARGEST_RISE * max(abs(first), 1.0)


class Run:
    """One run in its directory, from its beginning or from where a checkpoint was written."""

    def __init__(
        self,
        loaded: LoadedConfig,
        experiment: Experiment,
        directory: Path,
        record: Record,
        program: str,
        saved: Saved | None = None,
    ) -> None:
        self._config = loaded.config
        self._loaded = loaded
        self._experiment = experiment
        self._directory = directory
        self._record = record
        self._program = program
        self._saved = saved
        self._signals = StopOnSignal()
        self._memory = Memory(experiment)

    def run(self) -> RunResult:
        """Take the steps, measure the result and keep everything."""
        try:
            with self._signals:
                return self._run()
        except KeyboardInterrupt:  # where there was no step to wait for, or for the second time
            return self._end_at_once()
        except OSError:
            self._say_how_to_go_on(", when there is nothing in the way")
            raise

    def _run(self) -> RunResult:
        experiment = self._experiment
        print(experiment.describe(), flush=True)
        print(f"run directory: {self._directory}\n", flush=True)
        if self._config.log.plots and not available():
            print(NO_PLOTS, flush=True)
        resumed = None
        if self._saved is not None:
            resumed = self._saved.state["recorder"], self._saved.state["loop"]["step"]
        recorder = Recorder(self._directory, self._config.log.tensorboard, resumed)
        loop = self.make_loop(recorder)
        with ExitStack() as stack:
            self._signals.on_start(loop)  # they wait: half a run could not be gone on with
            self._begin()
            recorder.begin()
            stack.callback(recorder.close)
            if recorder.events is not None and loop.step == 0:
                recorder.events.describe(dump_config(self._loaded), experiment.graph())
            with readable_warnings():
                loop.run()
            if loop.complete:
                return self._finish(loop, recorder)
        return self._pause(loop)

    def _begin(self) -> None:
        """Write what is known before the first step; until here nothing has been written.

        The record and the configuration come first: `--resume` needs both.
        """
        if self._saved is not None:
            remove_unfinished(self._directory)
        self._record.begin()
        if self._saved is None or self._saved.fresh:
            write_atomically(self._directory / "config.yaml", dump_config(self._loaded).encode())
        note_latest(Path(self._config.log.dir), self._directory)
        preprocessing = self._experiment.preprocessing()
        if preprocessing is not None:
            write_json(self._directory / "preprocessing.json", preprocessing)

    def make_loop(self, recorder: Recorder) -> Loop:
        """Return the loop with everything that listens to it."""

        def gather(loop: Loop) -> dict[str, Any]:
            return {
                "run": self._record.values["id"],
                "loop": loop.state(),
                "task": self._experiment.training_state(),
                "recorder": recorder.position(),
                "seconds": self._record.seconds,
            }

        keeping = Checkpoints(
            self._directory, self._config.checkpoint, gather, self._experiment.state
        )
        first = [StopWhenNotFinite(), self._signals]
        callbacks = [*first, *self._experiment.callbacks(recorder), self._memory, keeping]
        loop = Loop(self._experiment, self._experiment.steps, callbacks)
        if self._saved is not None and "task" in self._saved.state:
            try:
                loop.load_state(self._saved.state["loop"])
            except UNFIT as error:
                problem = f"its checkpoint does not fit this configuration: {error}"
                raise CheckpointError(self._directory, problem) from None
            if self._saved.fresh:
                loop.stop_reason = None
            if self._saved.finished and loop.complete:
                message = f"has taken all of its {loop.step} steps, so that nothing can change"
                raise CheckpointError(self._directory, f"{message}; {MORE}")
        return loop

    def _finish(self, loop: Loop, recorder: Recorder) -> RunResult:
        experiment = self._experiment
        cause = self._memory.explain() if loop.stop_reason == DIVERGED else ""
        experiment.finish()
        report = experiment.report()
        status = DIVERGED if loop.stop_reason == DIVERGED else FINISHED
        if has_diverged(loop.first_loss, report.loss):
            status = DIVERGED
        final = {f"final/{name}": value for name, value in report.results.items()}
        recorder.write(loop.step, loop.epoch, final)
        save(experiment.state(), self._directory / WEIGHTS)
        if self._config.log.plots and available():
            draw(self._directory, experiment, recorder.events, loop.step)
        if recorder.events is not None:
            experiment.notes(recorder.events, loop.step)
            recorder.events.outcome(self._config, report.results, loop.step)
        self._note(loop, status, report)

        print(f"\n{report.text}")
        for text in (compilation_text(experiment.compilation()), experiment.profile_text()):
            if text:
                print(text)
        early = f": {loop.stop_reason}" if loop.stop_reason not in (None, DIVERGED) else ""
        self._say_how_it_ended(loop, status, early)
        if status == DIVERGED:
            last = report.loss if math.isfinite(loop.loss) else loop.loss
            rise = f"the loss, at first {loop.first_loss:.6g}, became {last:.6g}"
            print(f"{rise}; a smaller optimizer.lr may help", flush=True)
            if cause:
                print(f"the first number that was not finite:\n{cause}", flush=True)
        code = 0 if status == FINISHED else 1
        return RunResult(self._directory, status, dict(report.results), code)

    def _pause(self, loop: Loop) -> RunResult:
        """End for now; the checkpoint has been written."""
        status = loop.pause_reason or INTERRUPTED
        save(self._experiment.state(), self._directory / WEIGHTS)
        self._note(loop, status, Report(""))
        self._say_how_it_ended(loop, status, "")
        self._say_how_to_go_on()
        code = 0 if status == OUT_OF_TIME else self._code_of_signal()
        return RunResult(self._directory, status, {}, code)

    def _end_at_once(self) -> RunResult:
        """End without another step or checkpoint."""
        self._record.values["status"] = INTERRUPTED
        print(f"\n{INTERRUPTED}", flush=True)
        self._say_how_to_go_on()
        return RunResult(self._directory, INTERRUPTED, {}, self._code_of_signal())

    def _code_of_signal(self) -> int:
        return 128 + (self._signals.received or signal.SIGINT)

    def _say_how_to_go_on(self, condition: str = "") -> None:
        written = (self._directory / "config.yaml").exists()
        if written and not is_rehearsal(self._config):
            run = shlex.quote(str(self._directory))
            print(f"to go on{condition}: {self._program} --resume {run}", flush=True)

    def _note(self, loop: Loop, status: str, report: Report) -> None:
        step = self._experiment.compilation()
        self._record.values |= {"status": status, "steps": loop.step, "step": step}
        self._record.values["results"] = dict(report.results)

    def _say_how_it_ended(self, loop: Loop, status: str, more: str) -> None:
        spent = duration(self._record.seconds)
        print(f"{status} after {loop.step} steps, {spent}{more}", flush=True)
