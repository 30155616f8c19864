"""The directory of a run: what it was, what it measured, what it learned; its checkpoints."""

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
from typing import Any, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

import nanotorch as torch
from nanotorch import optim
from nanotorch.serialization import load, pack_file, save
from nanotorch.serialization.files import (
    naming_file,
    read_limited,
    remove_unfinished,
    write_atomically,
)

from . import ranks
from .config import describe_hint, name_text, quoted
from .loop import DIVERGED, Callback, Loop, LoopState, sign_of
from .schema import Checkpoint

# The state of a training in a file, written so that one that is sound is always there.


KIND, VERSION = "state of a training", 2


class CheckpointError(Exception):
    """A run cannot be resumed; the text says which of its files is wrong, and how."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{name_text(str(path))}: {problem}")


def cannot_read(path: Path, error: OSError) -> CheckpointError:
    """Return the error about what the operating system does not let one read."""
    return CheckpointError(path, f"cannot be read: {error.strerror or error}")


def load_checkpoint(path: Path) -> Any:
    """Return the state that was written; raises an OSError if the file cannot be read."""
    try:
        content = load(path)
    except EOFError:
        raise CheckpointError(path, "is empty") from None
    except RuntimeError as error:  # whose text begins with the path
        text = str(error).removeprefix(f"{path}").lstrip(": ")
        raise CheckpointError(path, text) from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise CheckpointError(path, "holds something else than the state of a training")
    if (version := content.get("version")) != VERSION:
        raise CheckpointError(path, f"has version {version}; this program reads {VERSION}")
    return content.get("state")


def same_structure(value: Any, own: Any) -> bool:
    """Return whether a value has the members of another one, and these are of the same kinds."""
    if isinstance(own, dict) and isinstance(value, dict):
        return value.keys() == own.keys() and all(
            same_structure(value[key], own[key]) for key in own
        )
    if isinstance(own, list | tuple) and isinstance(value, list | tuple):
        return len(value) == len(own) and all(map(same_structure, value, own))
    if isinstance(own, str):  # one of a few words
        return bool(value == own)
    return type(value) is type(own) or {type(value), type(own)} <= {int, float}


# A run directory belongs to one process at a time.


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes from resuming the run in `directory` during the block.

    The lock is the operating system's: it ends with the process, however that ends. Where there
    are no such locks (on Windows), nothing is checked.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(directory, "this run is still going on") from None
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(descriptor)


# The directory of a run: what it was, what it measured, what it learned.


LATEST, TABLE = "latest.txt", "sweep.csv"
METRICS = "metrics.jsonl"
EVENTS = "events.out.tfevents.*"
FILES = (METRICS, "run.json", "config.yaml", "preprocessing.json", "weights.safetensors")
DIRECTORIES = ("checkpoints", "plots")
LARGEST_JSON = 100_000_000
LARGEST_METRICS = 2_000_000_000
DEEPEST_JSON = 20


def create_run_directory(root: Path, name: str, timed: bool = True) -> Path:
    """Make and return `root/name/<time>-<suffix>`, which no other run has or will have.

    If it is not `timed`, it is `root/name`, unless there is one.

    Raises:
        OSError: if it cannot be made.
    """
    parent = root / name
    parent.mkdir(parents=True, exist_ok=timed)
    if not timed:
        return parent
    while True:
        time = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        directory = parent / f"{time}-{os.urandom(3).hex()}"
        # Two runs may start in the same instant: whoever makes the directory owns it.
        with contextlib.suppress(FileExistsError):
            directory.mkdir()
            return directory


def write_json(path: Path, value: Any, in_place: bool = False) -> None:
    """Write a JSON file atomically; or in place of the old one, if there is no room for both.

    Args:
        path: where to.
        value: what.
        in_place: whether that is allowed: where even this fails, both are lost.
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


def read_json(path: Path, hint: Any) -> Any:
    """Return what a JSON file of a run says.

    Args:
        path: the file.
        hint: what that must be, as `find_mismatch` takes it.
    """
    try:
        value = json.loads(read_limited(path, LARGEST_JSON))
        problem = "is nested too deeply" if is_deep(value) else find_mismatch(value, hint)
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ValueError, RecursionError) as error:
        problem = f"is not JSON: {error}"
    if problem is None:
        return value
    raise CheckpointError(path, problem)


def read_metrics(directory: Path) -> list[Mapping[str, Any]]:
    """Return what a run measured, a line of `metrics.jsonl` each; damaged ones are left out."""
    found: list[Mapping[str, Any]] = []
    try:
        lines = read_limited(directory / METRICS, LARGEST_METRICS).splitlines()
    except OSError:
        return []
    for line in lines:
        with contextlib.suppress(ValueError, RecursionError):
            values = json.loads(line, parse_int=float)
            if not isinstance(values, dict) or not {"step", "epoch"} <= values.keys():
                continue
            if all(value is None or isinstance(value, float) for value in values.values()):
                found.append(values)
    return found


def is_deep(value: Any, most: int = DEEPEST_JSON) -> bool:
    """Return whether a value of JSON is nested more deeply than any that a run writes."""
    inner = value.values() if isinstance(value, dict) else value
    return not most or (isinstance(value, dict | list) and any(is_deep(v, most - 1) for v in inner))


LISTS: Mapping[Any, Any] = dict.fromkeys((Sequence, tuple, np.ndarray), list)
"""What JSON has lists for."""


def find_mismatch(value: Any, hint: Any, where: str = "") -> str | None:
    """Return what is wrong with a value that a type hint describes; None if nothing is.

    A `TypedDict` says which members there must be, and so does a dataclass, but for those that it
    has had only `later`; there may be others.
    """
    typed, arguments = is_typeddict(hint) or is_dataclass(hint), get_args(hint)
    kind = dict if typed else LISTS.get(get_origin(hint), get_origin(hint))
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
    """Return the message for a value that is not what was expected."""
    place = f"{where.rstrip('.')}: " if where else ""
    return f"{place}expected {expected}, got {quoted(value)}"


def finite_values(value: Any) -> Any:
    """Return `value` with null for NaN and infinities, which JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_values(item) for item in value]
    return value


def versions() -> dict[str, str]:
    """Return what a run's numbers may depend on."""
    from importlib import metadata  # it takes long to import

    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("numpy", "PyYAML", "safetensors", "tensorboardX", "tqdm"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    own = {"nanotorch": str(torch.__version__), "numpy": np.__version__}
    return found | own | {"byte order": sys.byteorder}


# Which checkpoints of a run are kept, and which of them a resumed run continues from.


CHECKPOINTS = "checkpoints"
STEPS = "step-*.safetensors"
BEST = "best-*.safetensors"


class Position(TypedDict):
    """How long the files of measurements were."""

    metrics: int
    events: dict[str, int]


class State(TypedDict):
    """What is kept in a checkpoint."""

    run: str
    loop: LoopState
    task: dict[str, Any]
    recorder: Position
    seconds: float


def step_of(path: Path) -> int:
    """Return the step in a file's name; -1 if there is none."""
    digits = path.stem.partition("-")[2]
    return int(digits) if digits.isdecimal() else -1


class Checkpoints(Callback):
    """Keeps the newest checkpoints, some for good, and the best weights.

    It is to be the last of the callbacks, so that what is kept of the others is up to date.

    Args:
        directory: of the run.
        settings: how often, and how many.
        gather: returns the state to keep, having brought the metrics to the disk.
        weights: returns the weights that may be the best.
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
        """Value times sign, and step; the best first."""
        self._unwritten: dict[int, dict[str, torch.Tensor]] = {}
        """The weights of those that are not in a file yet."""

    def on_start(self, loop: Loop) -> None:
        self._directory.mkdir(exist_ok=True)
        remove_unfinished(self._directory)
        for path in newest_first(self._directory):
            # Damaged, or of a future that will be another one: its metrics have been cut off.
            if step_of(path) > loop.step:
                remove(path)
        self._wait(loop)

    def on_epoch(self, loop: Loop) -> None:
        value = loop.measured.get(self._settings.monitor, math.nan)
        if not math.isfinite(value) or not self._settings.best:
            return
        candidate = (self._sign * value, loop.step)
        # Of equal ones the first is the best.
        best = sorted([*self._best, candidate])[: self._settings.best]
        if candidate in best:
            named = self._weights().items()
            self._unwritten[loop.step] = {name: tensor.detach().clone() for name, tensor in named}
        self._best, kept = best, {step for _, step in best}
        self._unwritten = {step: w for step, w in self._unwritten.items() if step in kept}

    def on_settled(self, loop: Loop) -> None:
        if loop.stop_reason == DIVERGED:
            return  # the newest checkpoint shall be one from which something can be done
        every = self._settings.every
        for_good = every is not None and loop.step % every == 0
        ends = loop.done and not loop.last_epoch_is_open
        due = for_good or ends or loop.to_save
        if due and self._last != (loop.step, loop.position):
            self._last = loop.step, loop.position
            self._save(loop)
            self._wait(loop)

    def _save(self, loop: Loop) -> None:
        """Write a checkpoint; then remove those it makes superfluous."""
        state = self._gather(loop)  # of several processes all have a part in it
        if ranks.rank():
            return
        for step, weights in self._unwritten.items():
            save(weights, self._best_file(step))
        self._unwritten.clear()
        data = pack_file({"kind": KIND, "version": VERSION, "state": state})
        path = self._directory / f"step-{loop.step:08}.safetensors"
        write_atomically(path, data, load_checkpoint)  # which has to find it right
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
        # What has been surpassed since is gone, and will be surpassed again.
        best = [(float(value), int(step)) for value, step in state]
        there = [entry for entry in best if self._best_file(entry[1]).exists()]
        self._best = there[: self._settings.best]

    def _best_file(self, step: int) -> Path:
        return self._directory / f"best-{step:08}.safetensors"

    def _wait(self, loop: Loop) -> None:
        seconds, loop.to_save = self._settings.seconds, False
        loop.save_from = math.inf if seconds is None else time.monotonic() + seconds


def remove(path: Path) -> None:
    """Remove a checkpoint; a directory in its place is nothing of ours, and set aside."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_suffix(f".{os.urandom(4).hex()}"))
    else:
        path.unlink()


def newest_first(directory: Path) -> list[Path]:
    """Return the checkpoints in a directory.

    Raises:
        OSError: if it cannot be read, which `glob` would take for an empty one.
    """
    try:
        found = [path for path in directory.iterdir() if path.match(STEPS)]
    except FileNotFoundError:
        return []
    return sorted(found, key=step_of, reverse=True)


def newest_state(
    run: Path, identity: str, chosen: Path | None
) -> tuple[Any, list[CheckpointError]]:
    """Return the state in a run's newest checkpoint that is sound, None if there is no checkpoint.

    Also what is wrong with newer ones.

    Args:
        run: the run's directory, in which nothing may be in the way of its files.
        identity: what the run's checkpoints say of whose they are.
        chosen: the checkpoint to take instead, if one is meant.
    """
    for path in run.iterdir():
        if path.name in DIRECTORIES and not path.is_dir():
            raise CheckpointError(path, "is no directory, and in the way of one; move it away")
        if (path.name in FILES or path.match(EVENTS)) and not path.is_file():
            raise CheckpointError(path, "is no file, and in the way of one; move it away")
    if chosen is not None:
        return own_state(chosen, identity), []
    problems: list[CheckpointError] = []
    try:
        paths = newest_first(run / CHECKPOINTS)
    except OSError as error:
        raise cannot_read(run / CHECKPOINTS, error) from None
    for path in paths:
        try:
            return own_state(path, identity), problems
        except CheckpointError as error:
            problems.append(error)
    if problems:
        listed = "\n  ".join(map(str, problems))
        raise CheckpointError(run, f"none of its checkpoints can be used:\n  {listed}")
    return None, []


def own_state(path: Path, identity: str) -> Any:
    """Return the state in a checkpoint of the run `identity`."""
    try:
        state = load_checkpoint(path)
    except OSError as error:
        raise cannot_read(path, error) from None
    if problem := find_mismatch(state, State):
        raise CheckpointError(path, problem)
    loop, files = state["loop"], state["recorder"]
    lengths = files["metrics"], *files["events"].values()
    step, epoch, position = loop["step"], loop["epoch"], loop["position"] or 0
    possible = min(step, epoch, position, *lengths) >= 0 and 0 <= state["seconds"] < math.inf
    possible &= step_of(path) in (-1, step) and (epoch == 0) == (step == 0)
    if not possible or epoch - 1 + (position or 1) > step:  # one in each epoch before
        raise CheckpointError(path, f"says that it is of step {step} in epoch {epoch}")
    if state["run"] != identity:
        other = f"is of another run, {quoted(state['run'])}, not {quoted(identity)}"
        raise CheckpointError(path, other)
    return state


# An optimizer's state in a checkpoint, and what a changed configuration makes of it.


Options = Sequence[Mapping[str, Any]]


class OptimizerState:
    """The state of an optimizer, with the options that it began with.

    A state holds the options as they are now, after a schedule has changed some. So it takes those
    of the beginning to tell what the user has changed since.

    Args:
        optimizer: with a schedule already, if there is to be one.
    """

    def __init__(self, optimizer: optim.Optimizer) -> None:
        self._optimizer = optimizer
        groups = optimizer.param_groups
        self._began: Options = [{k: v for k, v in g.items() if k != "params"} for g in groups]

    def state(self) -> dict[str, Any]:
        """Return what `load_state` continues from."""
        name, state = type(self._optimizer).__name__, self._optimizer.state_dict()
        return {"name": name, "began": self._began, "state": state}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, with the options that are no longer those it began with.

        Raises:
            ValueError: if it is of another optimizer, of other groups, or has not kept what an
                option needs.
        """
        name = type(self._optimizer).__name__
        if state["name"] != name:
            raise ValueError(f"the optimizer is {name}, but was {state['name']}")
        self._optimizer.load_state_dict(state["state"])
        groups = self._optimizer.param_groups
        for group, before, now in zip(groups, state["began"], self._began, strict=True):
            if not same_structure({key: group[key] for key in before}, before):
                raise ValueError("the optimizer's options are not of the kinds they were")
            for key, value in now.items():
                was = before.get(key)
                if was == value:
                    continue
                # An option may need what is kept from the first step on, and was not.
                past = key == "history_size" or (key in ("amsgrad", "centered") and bool(value))
                rmsprop = isinstance(self._optimizer, optim.RMSprop)
                if past or (key == "momentum" and rmsprop and not was):
                    raise ValueError(f"the optimizer's {key} is {value}, but was {was}")
                # A schedule goes on where it has come to, from the new rate.
                scheduled = key == "lr" and "initial_lr" in now and before["lr"]
                group[key] = float(group["lr"] * value / was) if scheduled else value
