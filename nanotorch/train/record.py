"""`run.json`: what ran, on what, and how it ended."""

import hashlib
import json
import secrets
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from .checkpoint import CheckpointError
from .experiment import Experiment
from .imports import imported
from .run_directory import rewrite_json, versions, write_json

NAME = "run.json"


class Record:
    """What `run.json` says. It is written at the start of a run and at its end.

    Args:
        directory: of the run.
        values: what it says.
        seconds: how long the run has taken before it was resumed.
    """

    def __init__(self, directory: Path, values: dict[str, Any], seconds: float = 0.0) -> None:
        self._path = directory / NAME
        self._start = time.monotonic() - seconds
        self.values = values

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


def new_record(directory: Path, experiment: Experiment, command: Sequence[str]) -> Record:
    """Return the record of a run that begins."""
    values: dict[str, Any] = {
        "status": "running",
        "id": secrets.token_hex(8),
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
    path = directory / NAME
    try:
        values = json.loads(path.read_text("utf-8"))
        if isinstance(values, dict) and isinstance(values.get("id"), str):
            return values
        problem = "does not say which run it is of"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    except ValueError as error:
        problem = f"is not JSON: {error}"
    raise CheckpointError(path, problem)


def checksums(experiment: Experiment) -> dict[str, str]:
    """Return the SHA-256 of each file whose content the result depends on."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in experiment.files()}


def now() -> str:
    """Return the date, the time and the zone."""
    return datetime.now().astimezone().isoformat(timespec="seconds")
