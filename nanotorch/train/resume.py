"""Going on with a run: its next step is the one that would have come."""

import copy
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from nanotorch import optim
from nanotorch.serialization.files import contents

from .checkpoint import UNFIT, CheckpointError
from .checkpoints import DIRECTORY, LoopState, newest_state, own_state
from .experiment import Experiment
from .imports import as_options, imported
from .load import LoadedConfig, load_config
from .lock import locked
from .problems import ConfigError, Place, Problem
from .record import FINISHED, Record, checksums, now, read_record
from .record import NAME as RECORD
from .run import MORE, PROGRAM, Run, RunResult, Saved, build_experiment
from .run_directory import LATEST, check_files
from .schema import Config, Function, MinimizationConfig, TrainedConfig

FROM_THE_BEGINNING: dict[str, Any] = {
    "recorder": {"metrics": 0, "events": {}},
    "loop": {"step": 0},
    "seconds": 0.0,
}
"""What is known of a run that ended before its first checkpoint."""
NEWEST = "latest"
LARGEST_NOTE = 10_000
FIXED = ("experiment", "seed", "data")
"""What holds from the first step of a run to its last."""
LENGTHS = ("batch_size", "accumulate", "overfit_batches")
"""What of `train` decides how many steps an epoch has."""


def resume(
    target: str | Path,
    overrides: Sequence[str] = (),
    command: Sequence[str] = (),
    program: str = PROGRAM,
) -> RunResult:
    """Go on with a run from its newest checkpoint that is sound.

    Weights and metrics become those of a run that was never interrupted.

    Args:
        target: the run's directory, one of its checkpoints, or `latest`: what `runs/latest.txt`
            names; of runs elsewhere `elsewhere/latest`.
        overrides: `key=value` each; a value that replaces the one the run had.
        command: the command line, for the record.
        program: how the program was called, to say how to go on.

    Raises:
        CheckpointError: if there is nothing to go on from; says what is wrong with what there is.
        ConfigError: if a value is wrong.
    """
    directory, chosen = find(target)
    values = read_record(directory)
    loaded = load_own_config(directory, overrides)
    if values["status"] == FINISHED and not overrides and chosen is None:
        print(f"{directory}: finished after {values['steps']} steps; nothing is left to do")
        print(f"more of it: {MORE}", flush=True)
        return RunResult(directory, FINISHED, values["results"], 0)
    if overrides:
        check_same(load_config(directory / "config.yaml").config, loaded.config, overrides)
    with locked(directory):
        check_files(directory)
        experiment = build_experiment(loaded)
        check_data(values["data"], checksums(experiment))
        state = own_state(chosen, values["id"]) if chosen else newest(directory, values["id"])
        if "task" in state:
            load(experiment, state["task"], state["loop"], chosen or directory)
        if (taken := state["loop"]["step"]) > experiment.steps:
            raise CheckpointError(
                directory,
                f"has taken {taken} steps; now it is to take {experiment.steps}: ask for more of "
                "them, or train anew",
            )
        again = {"at": now(), "step": taken, "command": list(command)}
        values["resumed"] = [*values.get("resumed", ()), again]
        record = Record(directory, {**values, "status": "running"}, state["seconds"])
        print(f"going on after step {taken}", flush=True)
        with record, np.errstate(all="ignore"):
            saved = Saved(state, bool(overrides), values["status"] == FINISHED and chosen is None)
            return Run(loaded, experiment, directory, record, program, saved).run()


def load_own_config(directory: Path, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Return the configuration of a run.

    Raises:
        ConfigError: if it is damaged, or names what a module registers that was not imported.
    """
    try:
        return load_config(directory / "config.yaml", overrides)
    except ConfigError as error:
        missing = [name for name in recorded_imports(directory) if name not in imported]
        if not missing:
            raise
        message = f"the run was made with {' '.join(as_options(missing))}; give this again"
        record = Problem(Place(source=str(directory / RECORD)), "", message)
        raise ConfigError([*error.problems, record]) from None


def recorded_imports(directory: Path) -> list[str]:
    """Return the modules that a run imported, as far as its record tells."""
    try:
        return list(read_record(directory).get("imports", ()))
    except CheckpointError:
        return []


def find(target: str | Path) -> tuple[Path, Path | None]:
    """Return a run's directory, and the checkpoint if one is meant.

    Raises:
        CheckpointError: if there is no such run.
    """
    try:
        return found(Path(target))
    except OSError as error:  # a name may be too long, for one
        raise CheckpointError(Path(target), f"cannot be read: {error.strerror or error}") from None


def found(path: Path) -> tuple[Path, Path | None]:
    """As `find`, which also tells what the operating system refuses."""
    if path.name == NEWEST and not path.exists():
        note = (path.parent if path.parent.name else Path("runs")) / LATEST
        try:
            path = note.parent / contents(note, LARGEST_NOTE).decode().strip()
        except OSError as error:
            raise CheckpointError(note, f"cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise CheckpointError(note, "is not text in UTF-8") from None
    chosen = path if path.is_file() else None
    directory = path.parent if chosen else path
    if directory.name == DIRECTORY:
        directory = directory.parent
    if not path.exists():
        raise CheckpointError(path, "there is no such run")
    if not (directory / "config.yaml").is_file():
        raise CheckpointError(directory, "is not the directory of a run: it has no config.yaml")
    return directory, chosen


def newest(directory: Path, identity: str) -> Any:
    """Return the state to go on from; tell of newer checkpoints that cannot be used."""
    state, problems = newest_state(directory, identity)
    for problem in problems:
        print(f"warning: {problem}; going on from the one before", file=sys.stderr)
    return FROM_THE_BEGINNING if state is None else state


def check_same(before: Config, now: Config, overrides: Sequence[str]) -> None:
    """Refuse what would make another experiment of a run, or mix up the parts of its data.

    Raises:
        ConfigError: naming what has changed.
    """
    place = Place(source=f"command line: {' '.join(overrides)}")
    parts = [(key, getattr(before, key, None), getattr(now, key, None)) for key in FIXED]
    if isinstance(before, MinimizationConfig) and isinstance(now, MinimizationConfig):
        parts += [("function", what(before.function), what(now.function))]
    problems = [
        Problem(place, key, "cannot change in a run that is gone on with; begin a new one")
        for key, old, new in parts
        if old != new
    ]
    if isinstance(before, TrainedConfig) and isinstance(now, TrainedConfig):
        told = "changes how many steps an epoch has; write train.epochs=null train.steps=N as well"
        problems += [
            Problem(place, f"train.{key}", told)
            for key in LENGTHS
            if now.train.epochs and getattr(before.train, key) != getattr(now.train, key)
        ]
    if problems:
        raise ConfigError(problems)


def what(function: Function) -> tuple[str, Any]:
    """Return which function is minimized, from where."""
    return function.formula, function.points


def check_data(before: dict[str, str], present: dict[str, str]) -> None:
    """Refuse to go on with other data.

    Raises:
        CheckpointError: naming the first file that has changed.
    """
    for name, checksum in present.items():
        if before.get(name) != checksum:
            raise CheckpointError(Path(name), "is not what it was when the run began")


@np.errstate(all="ignore")
def load(experiment: Experiment, state: Any, loop: LoopState, source: Path) -> None:
    """Let an experiment go on from its state.

    Loaders and optimizers use what they are given only when they go on, so a step is tried first.

    Raises:
        CheckpointError: if it does not fit, as after a change of the model.
    """
    try:
        experiment.load_training_state(copy.deepcopy(state))
        starts = (loop["position"] or 0, 0)  # the last batch of the epoch may have been taken
        for batch in chain.from_iterable(experiment.batches(start) for start in starts):
            experiment.plain_step(batch)
            break
        if loop["step"]:
            check_kept(state["optimizer"], experiment)
        experiment.load_training_state(state)
    except KeyError as error:
        raise CheckpointError(source, f"does not fit this configuration: no {error}") from None
    except UNFIT as error:
        raise CheckpointError(source, f"does not fit this configuration: {error}") from None


def check_kept(state: Any, experiment: Experiment) -> None:
    """Refuse an optimizer's state that lacks what each step keeps: most would begin it anew.

    Raises:
        ValueError: if it does, naming one.
    """
    tried = experiment.training_state()["optimizer"]
    searching = isinstance(experiment.optimizer, optim.LBFGS)
    if searching or imported or tried["began"] != state["began"]:
        return  # what is kept may differ from step to step
    kept = state["state"]["state"]
    for index, entry in tried["state"]["state"].items():
        for name in entry:
            if kept.get(index, {}).get(name) is None:
                raise ValueError(f"the optimizer has lost the {name} of parameter {index}")
