"""The directory of a run: its record, its metrics, its checkpoints."""

import contextlib
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

import nanotorch as torch
from nanotorch import optim
from nanotorch.serialization import load, save
from nanotorch.serialization.files import (
    naming_file,
    read_limited,
    remove_unfinished,
    write_atomically,
)
from nanotorch.serialization.safetensors import pack_file
from nanotorch.train.config.schema import Checkpoint
from nanotorch.train.config.sections import describe_hint, name_text, quoted
from nanotorch.train.runs import ranks
from nanotorch.train.training.loop import DIVERGED, Callback, Loop, sign_of

# The state of a training in a file; a sound one exists at every moment.


KIND, VERSION = "state of a training", 2
ANEW = "start a new run with the settings in its config.yaml"
"""The advice for a run that cannot be resumed."""


class CheckpointError(Exception):
    """The error for a run that cannot be used; the text names the wrong file and the problem."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{name_text(str(path))}: {problem}")


def cannot_read(path: Path, error: OSError) -> CheckpointError:
    """Return the error for a file that the operating system cannot read."""
    return CheckpointError(path, f"cannot be read: {error.strerror or error}")


def load_checkpoint(path: Path) -> Any:
    """Return the state in a checkpoint.

    Raises:
        OSError: if the file cannot be read.
        CheckpointError: if it is no sound checkpoint of this version.
    """
    try:
        content = load(path)
    except EOFError:
        raise CheckpointError(path, "is empty") from None
    except RuntimeError as error:  # its text begins with the path
        text = str(error).removeprefix(f"{path}").lstrip(": ")
        raise CheckpointError(path, text) from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise CheckpointError(path, "is not the checkpoint of a training")
    if (version := content.get("version")) != VERSION:
        raise CheckpointError(path, f"has version {version}; this program reads {VERSION}")
    return content.get("state")


# A run directory belongs to one process at a time.


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[bool]:
    """Keep other processes from resuming the run in `directory` during the block.

    The operating system releases the lock when the process ends, even if it is killed. Yields False
    where there are no such locks, as on Windows and some network file systems.

    Raises:
        CheckpointError: if another process holds the lock.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    has_locks, descriptor = True, os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(directory, "this run is still in progress") from None
        except OSError:
            has_locks = False
        yield has_locks
    finally:
        os.close(descriptor)


# The directory of a run and its files.


LATEST, TABLE = "latest.txt", "sweep.csv"
METRICS = "metrics.jsonl"
EVENTS = "events.out.tfevents.*"
FILES = (METRICS, "run.json", "config.yaml", "preprocessing.json", "weights.safetensors")
DIRECTORIES = ("checkpoints", "plots")
LARGEST_JSON = 100_000_000
LARGEST_METRICS = 2_000_000_000


def create_run_directory(root: Path, name: str, timed: bool = True) -> Path:
    """Make the directory of a new run; returns its path.

    The path is `root/name/<time>-<suffix>`, or `root/name` if not `timed`.

    Raises:
        OSError: if it cannot be made, or `root/name` exists and `timed` is False.
    """
    parent = root / name
    parent.mkdir(parents=True, exist_ok=timed)
    if not timed:
        return parent
    directory = parent / f"{datetime.now().strftime('%Y-%m-%d_%H-%M-%S')}-{os.urandom(3).hex()}"
    directory.mkdir()
    return directory


def write_json(path: Path, value: Any, in_place: bool = False) -> None:
    """Write a JSON file atomically, or over the old one if this fails.

    Args:
        path: the file.
        value: the value to write; NaN and infinities become null.
        in_place: whether to overwrite the old file if there is no room for both; if this fails,
            too, both are lost.
    """
    text = json.dumps(finite_values(value), indent=2, ensure_ascii=False, allow_nan=False)
    data = f"{text}\n".encode("utf-8", errors="replace")
    try:
        write_atomically(path, data)
    except OSError:
        if not in_place:
            raise
        with naming_file(path), path.open("r+b") as file:
            file.write(data)
            file.truncate()


def read_json(path: Path, hint: Any, advice: str = ANEW) -> Any:
    """Return the value in a JSON file of a run.

    Args:
        path: the file.
        hint: the type hint of the value, as in `find_mismatch`.
        advice: what to do if the file cannot be used.
    """
    try:
        value = json.loads(read_limited(path, LARGEST_JSON))
        problem = find_mismatch(value, hint)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except (ValueError, RecursionError) as error:
        problem = f"is not JSON: {error}"
    if problem is None:
        return value
    raise CheckpointError(path, f"{problem}; {advice}")


def read_metrics(directory: Path) -> list[Mapping[str, Any]]:
    """Return the values in each line of `metrics.jsonl`, without damaged lines."""
    found: list[Mapping[str, Any]] = []
    try:
        lines = read_limited(directory / METRICS, LARGEST_METRICS).splitlines()
    except OSError:
        return []
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError):
            values = json.loads(line, parse_int=float)
            known = isinstance(values, dict) and {"step", "epoch"} <= values.keys()
            if known and all(isinstance(value, float | None) for value in values.values()):
                found.append(values)
    return found


def find_mismatch(value: Any, hint: Any, where: str = "") -> str | None:
    """Return why a value does not fit a type hint; None if it does.

    A `TypedDict` names the members that must be there, and so does a dataclass, except those that
    it lists as `later`. Other members are allowed.
    """
    hint = getattr(hint, "__value__", hint)  # from NumPy 2.5 on, `NDArray` is an alias of a type
    typed, arguments = is_typeddict(hint) or is_dataclass(hint), get_args(hint)
    kind: Any = dict if typed else get_origin(hint)
    kind = list if kind in (Sequence, tuple, np.ndarray) else kind
    if kind in (Union, UnionType):
        found = [find_mismatch(value, member, where) for member in arguments]
        return None if None in found else found[0]
    if kind in (dict, list):
        if not isinstance(value, kind):
            return wrong_value_text(where, "an object" if kind is dict else "a list", value)
        hints, later = get_type_hints(hint) if typed else {}, getattr(hint, "later", ())
        needed = getattr(hint, "__required_keys__", hints.keys() - {"later", *later})
        if typed and (lacking := needed - value.keys()):
            return f"lacks {', '.join(sorted(f'{where}{key}' for key in lacking))}"
        for key, inner in value.items() if kind is dict else enumerate(value):
            wanted = hints.get(str(key), Any) if typed else arguments[kind is dict]
            wanted = float if get_origin(hint) is np.ndarray else wanted
            if problem := find_mismatch(inner, wanted, f"{where}{key}."):
                return problem
        return None
    if hint is float and type(value) is int and abs(value) <= 1e300:
        return None
    return (
        None
        if hint is Any or type(value) is hint
        else wrong_value_text(where, describe_hint(hint), value)
    )


def wrong_value_text(where: str, expected: str, value: Any) -> str:
    """Return the message for an unexpected value."""
    place = f"{where.rstrip('.')}: " if where else ""
    return f"{place}expected {expected}, got {quoted(value)}"


def finite_values(value: Any) -> Any:
    """Return `value` with None for NaN and infinities, which JSON lacks."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_values(item) for item in value]
    return value


def versions() -> dict[str, str]:
    """Return the versions on which a run's numbers may depend."""
    from importlib import metadata  # slow to import

    found = {"python": platform.python_version(), "platform": platform.platform()}
    found |= {"nanotorch": str(torch.__version__), "numpy": np.__version__}
    for package in ("PyYAML", "safetensors", "tensorboardX", "tqdm"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found | {"byte order": sys.byteorder}


# The checkpoints of a run: which ones are kept, and from which one a resumed run continues.


CHECKPOINTS = "checkpoints"
STEPS = "step-*.safetensors"
BEST = "best-*.safetensors"


def step_of(path: Path) -> int:
    """Return the step in a file's name; -1 if there is none."""
    digits = path.stem.partition("-")[2]
    return int(digits) if digits.isdecimal() else -1


class Checkpoints(Callback):
    """Keeps the newest checkpoints, some permanent ones, and the best weights.

    It must be the last of the callbacks, so that the states of the others are up to date.

    Args:
        directory: the run's directory.
        settings: the section `checkpoint` of the configuration.
        gather: writes the metrics to the disk, and returns the state to keep.
        weights: returns the current weights, which may be the best.
    """

    def __init__(
        self,
        directory: Path,
        settings: Checkpoint,
        gather: Callable[[Loop], Mapping[str, Any]],
        weights: Callable[[], Mapping[str, torch.Tensor]],
    ) -> None:
        self._directory, self._settings = directory / CHECKPOINTS, settings
        self._gather, self._weights = gather, weights
        self._sign = sign_of(settings.monitor, settings.mode)
        self._last: tuple[int, int | None] | None = None
        """The step and the position of the newest checkpoint."""
        self._best: list[tuple[float, int]] = []
        """The signed value and the step of the best weights; the least value first."""
        self._unwritten: dict[int, dict[str, torch.Tensor]] = {}
        """The best weights that are not in a file yet, by step."""

    def on_start(self, loop: Loop) -> None:
        self._directory.mkdir(exist_ok=True)
        remove_unfinished(self._directory)
        for path in newest_first(self._directory):
            # Damaged, or later than the chosen checkpoint: its metrics have been removed.
            if step_of(path) > loop.step:
                remove(path)
        self._wait(loop)

    def on_epoch(self, loop: Loop) -> None:
        value = loop.measured.get(self._settings.monitor, math.nan)
        if not math.isfinite(value) or not self._settings.best:
            return
        candidate = (self._sign * value, loop.step)
        # Of equal values, the earliest is the best.
        best = sorted([*self._best, candidate])[: self._settings.best]
        if candidate in best:
            named = self._weights().items()
            self._unwritten[loop.step] = {name: tensor.detach().clone() for name, tensor in named}
        self._best, kept = best, {step for _, step in best}
        self._unwritten = {step: w for step, w in self._unwritten.items() if step in kept}

    def on_settled(self, loop: Loop) -> None:
        if loop.stop_reason == DIVERGED:
            return  # the newest checkpoint must be one from before the divergence
        every = self._settings.every
        for_good = every is not None and loop.step % every == 0
        ends = loop.done and not loop.last_epoch_is_open
        due = for_good or ends or loop.to_save
        if due and self._last != (loop.step, loop.position):
            self._last = loop.step, loop.position
            self._save(loop)
            self._wait(loop)

    def _save(self, loop: Loop) -> None:
        """Write a checkpoint; then remove those that are no longer needed."""
        state = self._gather(loop)  # every process takes part in this
        if ranks.rank():
            return
        for step, weights in self._unwritten.items():
            save(weights, self._best_file(step))
        self._unwritten.clear()
        data = pack_file({"kind": KIND, "version": VERSION, "state": state})
        path = self._directory / f"step-{loop.step:08}.safetensors"
        write_atomically(path, data, load_checkpoint)  # this reads it again as a check
        every = self._settings.every
        for path in newest_first(self._directory)[self._settings.last :]:
            if every is None or step_of(path) % every:
                remove(path)
        best = {step for _, step in self._best}
        for path in self._directory.glob(BEST):
            if step_of(path) not in best:
                remove(path)

    def state(self) -> Any:
        return self._best

    def load_state(self, state: Any) -> None:
        # Weights that were surpassed after this checkpoint are gone; they will be surpassed again.
        best = [(float(value), int(step)) for value, step in state]
        there = [entry for entry in best if self._best_file(entry[1]).exists()]
        self._best = there[: self._settings.best]

    def _best_file(self, step: int) -> Path:
        return self._directory / f"best-{step:08}.safetensors"

    def _wait(self, loop: Loop) -> None:
        seconds, loop.to_save = self._settings.seconds, False
        loop.save_from = math.inf if seconds is None else time.monotonic() + seconds


def remove(path: Path) -> None:
    """Remove a checkpoint; a directory of its name is not ours, and is renamed."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_suffix(f".{os.urandom(4).hex()}"))
    else:
        path.unlink()


def newest_first(directory: Path) -> list[Path]:
    """Return the checkpoints in a directory, the newest first.

    Raises:
        OSError: if it cannot be read; `glob` would show it as empty.
    """
    try:
        found = [path for path in directory.iterdir() if path.match(STEPS)]
    except FileNotFoundError:
        return []
    return sorted(found, key=step_of, reverse=True)


def newest_state(
    run: Path, identity: str, chosen: Path | None
) -> tuple[Any, list[CheckpointError]]:
    """Return the state in a run's newest sound checkpoint, and the problems of newer ones.

    The state is None if there is no checkpoint.

    Args:
        run: the run's directory.
        identity: the `id` of the run, which its checkpoints hold.
        chosen: the checkpoint to use instead of the newest; None for the newest.

    Raises:
        CheckpointError: if no checkpoint can be used, or a file or directory of another kind has
            the name of one of the run's.
    """
    for path in run.iterdir():
        if path.name in DIRECTORIES and not path.is_dir():
            raise CheckpointError(path, "should be a directory of the run; move it away")
        if (path.name in FILES or path.match(EVENTS)) and not path.is_file():
            raise CheckpointError(path, "should be a file of the run; move it away")
    problems: list[CheckpointError] = []
    try:
        paths = newest_first(run / CHECKPOINTS) if chosen is None else [chosen]
    except OSError as error:
        raise cannot_read(run / CHECKPOINTS, error) from None
    for path in paths:
        try:
            return own_state(path, run, identity), problems
        except CheckpointError as error:
            problems.append(error)
    if problems:
        message = f"none of its checkpoints can be used; {ANEW}"
        if chosen is not None:
            message = (
                "this checkpoint cannot be used; name the run, which takes its newest sound one"
            )
        raise CheckpointError(run, "\n  ".join([f"{message}:", *map(str, problems)]))
    return None, []


def own_state(path: Path, run: Path, identity: str) -> Any:
    """Return the state in a checkpoint.

    Raises:
        CheckpointError: if it is damaged, or not of the run `identity` in the directory `run`.
    """
    try:
        state = load_checkpoint(path)
    except OSError as error:
        raise cannot_read(path, error) from None
    if state["run"] != identity:
        other = f"belongs to another run, {quoted(state['run'])}, not {quoted(identity)}"
        raise CheckpointError(path, other)
    metrics = run / METRICS
    if state["recorder"]["metrics"] > (metrics.stat().st_size if metrics.exists() else 0):
        raise CheckpointError(path, f"{METRICS} lacks lines that it had then")
    return state


# An optimizer's state in a checkpoint, and its change by a new configuration.


Options = Sequence[Mapping[str, Any]]


class OptimizerState:
    """The state of an optimizer, with the options that it began with.

    The optimizer's own state holds options that a schedule may have changed. The first options
    show which ones the user has changed since.

    Args:
        optimizer: the optimizer; a schedule, if any, is already attached.
    """

    def __init__(self, optimizer: optim.Optimizer) -> None:
        self._optimizer = optimizer
        groups = optimizer.param_groups
        self._began: Options = [{k: v for k, v in g.items() if k != "params"} for g in groups]

    def state(self) -> dict[str, Any]:
        """Return the state for `load_state`."""
        name, state = type(self._optimizer).__name__, self._optimizer.state_dict()
        return {"name": name, "began": self._began, "state": state}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state, with the options that the user has changed since.

        Raises:
            ValueError: if the state is of another optimizer or of other groups, or lacks values
                that a changed option needs.
        """
        name = type(self._optimizer).__name__
        if state["name"] != name:
            raise ValueError(f"the optimizer is {name}, but was {state['name']}")
        self._optimizer.load_state_dict(state["state"])
        groups = self._optimizer.param_groups
        for group, before, now in zip(groups, state["began"], self._began, strict=True):
            for key, value in now.items():
                was = before.get(key)
                if was == value:
                    continue
                # Some options need values that must be kept from the first step on.
                past = key == "history_size" or (key in ("amsgrad", "centered") and bool(value))
                rmsprop = isinstance(self._optimizer, optim.RMSprop)
                if past or (key == "momentum" and rmsprop and not was):
                    raise ValueError(f"the optimizer's {key} is {value}, but was {was}")
                # A schedule continues at its position, scaled to the new rate.
                scheduled = key == "lr" and "initial_lr" in now and before["lr"]
                group[key] = float(group["lr"] * value / was) if scheduled else value
