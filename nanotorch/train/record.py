"""`run.json`: what ran, on what, and how it ended."""

import hashlib
import os
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from nanotorch.serialization.files import opened

from .checkpoint import CheckpointError
from .experiment import Experiment
from .imports import imported
from .run_directory import read_json, rewrite_json, versions, write_json

NAME = "run.json"
FINISHED = "finished"


class RecordValues(TypedDict):
    """What there is in `run.json`."""

    status: str
    id: str
    data: dict[str, str]
    command: NotRequired[list[str]]
    imports: NotRequired[list[str]]
    seconds: NotRequired[float]
    steps: NotRequired[int]
    results: NotRequired[dict[str, float | None]]
    resumed: NotRequired[list[dict[str, Any]]]


class Record:
    """What `run.json` says. It is written when a run has begun, and when the block ends after that.

    Args:
        directory: of the run.
        values: what it says.
        seconds: how long the run has taken before it was resumed.
    """

    def __init__(self, directory: Path, values: dict[str, Any], seconds: float = 0.0) -> None:
        self._path = directory / NAME
        self._start = time.monotonic() - seconds
        self.values = values
        self._begun = False

    def begin(self) -> None:
        """Write what is known when a run begins."""
        write_json(self._path, self.values)
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
            rewrite_json(self._path, self.values)
        except OSError:
            if kind is None:
                raise  # else what ended the run is to be told

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self._start


def new_record(directory: Path, experiment: Experiment, command: Sequence[str]) -> Record:
    """Return the record of a run that begins."""
    values: dict[str, Any] = {
        "status": "running",
        "id": os.urandom(8).hex(),
        "command": list(command),
        "imports": list(imported),
        "started": now(),
        "versions": versions(),
        "data": checksums(experiment),
    }
    return Record(directory, values)


def read_record(directory: Path) -> dict[str, Any]:
    """Return what a run's record says.

    Raises:
        CheckpointError: if there is none, or it is damaged.
    """
    values = read_json(directory / NAME, RecordValues)
    if values["status"] == FINISHED and not {"steps", "results"} <= values.keys():
        raise CheckpointError(directory / NAME, "is finished, but lacks steps or results")
    return values


def checksums(experiment: Experiment) -> dict[str, str]:
    """Return the SHA-256 of each file whose content the result depends on."""
    found = {}
    for path in experiment.files():
        with opened(path) as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    return found


def now() -> str:
    """Return the date, the time and the zone."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
