"""Which checkpoints of a run are kept, and which of them a resumed run goes on from."""

import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import nanotorch as torch
from nanotorch.serialization import save
from nanotorch.serialization.files import remove_unfinished

from .callbacks import DIVERGED, sign_of
from .checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from .loop import Callback, Loop
from .problems import quoted
from .run_directory import misfit
from .settings import Checkpoint

DIRECTORY = "checkpoints"
NEWEST = "step-*.safetensors"
BEST = "best-*.safetensors"


class LoopState(TypedDict):
    """Where a loop was."""

    epoch: int
    step: int
    position: int | None
    loss: float
    first_loss: float
    samples: int
    stop_reason: str | None
    callbacks: dict[str, Any]


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
        self._directory = directory / DIRECTORY
        self._settings = settings
        self._gather = gather
        self._weights = weights
        self._sign = sign_of(settings.monitor, settings.mode)
        self._due = math.inf
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
        self._wait()

    def on_epoch(self, loop: Loop) -> None:
        value = loop.measured.get(self._settings.monitor, math.nan)
        if not math.isfinite(value) or not self._settings.best:
            return
        candidate = (self._sign * value, loop.step)
        # Of equal ones the first is the best.
        best = sorted([*self._best, candidate])[: self._settings.best]
        if candidate in best:
            weights = {name: tensor.detach().clone() for name, tensor in self._weights().items()}
            self._unwritten[loop.step] = weights
        self._best = best
        kept = {step for _, step in best}
        self._unwritten = {step: w for step, w in self._unwritten.items() if step in kept}

    def on_settled(self, loop: Loop) -> None:
        if loop.stop_reason == DIVERGED:
            return  # the newest checkpoint shall be one from which something can be done
        every = self._settings.every
        for_good = every is not None and loop.step % every == 0
        ends = loop.done and not loop.last_epoch_is_open
        if for_good or ends or time.monotonic() >= self._due:
            self.save(loop)

    def save(self, loop: Loop) -> None:
        """Write a checkpoint, unless it is there; then remove those it makes superfluous."""
        if self._last == (loop.step, loop.position):
            return
        for step, weights in self._unwritten.items():
            save(weights, self._best_file(step))
        self._unwritten.clear()
        save_checkpoint(self._directory / f"step-{loop.step:08}.safetensors", self._gather(loop))
        self._last = loop.step, loop.position
        self._remove_superfluous()
        self._wait()

    def state(self) -> Any:
        return self._best

    def load_state(self, state: Any) -> None:
        # What has been surpassed since is gone, and will be surpassed again.
        best = [(float(value), int(step)) for value, step in state]
        there = [entry for entry in best if self._best_file(entry[1]).exists()]
        self._best = there[: self._settings.best]

    def _best_file(self, step: int) -> Path:
        return self._directory / f"best-{step:08}.safetensors"

    def _wait(self) -> None:
        seconds = self._settings.seconds
        self._due = math.inf if seconds is None else time.monotonic() + seconds

    def _remove_superfluous(self) -> None:
        every = self._settings.every
        for path in newest_first(self._directory)[self._settings.last :]:
            if every is None or step_of(path) % every:
                remove(path)
        best = {step for _, step in self._best}
        for path in self._directory.glob(BEST):
            if step_of(path) not in best:
                remove(path)


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
        found = [path for path in directory.iterdir() if path.match(NEWEST)]
    except FileNotFoundError:
        return []
    return sorted(found, key=step_of, reverse=True)


def newest_state(run: Path, identity: str) -> tuple[Any, list[CheckpointError]]:
    """Return the state in a run's newest checkpoint that is sound, None if there is no checkpoint.

    Also what is wrong with newer ones.

    Args:
        run: the run's directory.
        identity: what the run's checkpoints say of whose they are.

    Raises:
        CheckpointError: if none of the checkpoints is sound, or nobody can tell.
    """
    problems: list[CheckpointError] = []
    try:
        paths = newest_first(run / DIRECTORY)
    except OSError as error:
        raise unreadable(run / DIRECTORY, error) from None
    for path in paths:
        try:
            return own_state(path, identity), problems
        except CheckpointError as error:
            problems.append(error)
    if problems:
        raise CheckpointError(
            run, "none of its checkpoints can be used:\n  " + "\n  ".join(map(str, problems))
        )
    return None, []


def own_state(path: Path, identity: str) -> Any:
    """Return the state in a checkpoint of the run `identity`.

    Raises:
        CheckpointError: if it is damaged, of another run, or cannot be read.
    """
    try:
        state = load_checkpoint(path)
    except OSError as error:
        raise unreadable(path, error) from None
    if problem := misfit(state, State):
        raise CheckpointError(path, problem)
    loop, files = state["loop"], state["recorder"]
    lengths = files["metrics"], *files["events"].values()
    if min(loop["step"], loop["epoch"], loop["position"] or 0, *lengths) < 0:
        raise CheckpointError(path, "is of a step before the first")
    if step_of(path) not in (-1, loop["step"]):
        raise CheckpointError(path, f"is of step {loop['step']}")
    fewest = loop["epoch"] - 1 + (loop["position"] or 1)  # one in each epoch before
    if fewest > loop["step"] or (loop["epoch"] == 0) != (loop["step"] == 0):
        begun = f"{loop['position']} steps into epoch" if loop["position"] else "of epoch"
        raise CheckpointError(path, f"is of step {loop['step']}, and {begun} {loop['epoch']}")
    if not 0 <= state["seconds"] < math.inf:
        raise CheckpointError(path, f"is of a run that has taken {state['seconds']} seconds")
    if state["run"] != identity:
        raise CheckpointError(
            path, f"is of another run, {quoted(state['run'])}, not {quoted(identity)}"
        )
    return state


def unreadable(path: Path, error: OSError) -> CheckpointError:
    """Return the error about what the operating system does not let one read."""
    return CheckpointError(path, f"cannot be read: {error.strerror or error}")
