"""What a run measures, in its files."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanotorch.serialization.files import naming

from . import events
from .checkpoint import CheckpointError
from .events import TensorBoardEvents
from .run_directory import METRICS, finite

ENCODER = json.JSONEncoder(allow_nan=False)


class JsonLines:
    """Metrics as one JSON object per line: the record that everything else is derived from.

    There are no times in it, so that two runs of the same configuration are equal byte for byte.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with naming(path):
            self._file = path.open("a", encoding="utf-8")

    def write(self, step: int, epoch: int, values: Mapping[str, float]) -> None:
        """Append a line; it is in the operating system's hands when this returns."""
        record = {"step": step, "epoch": epoch, **finite(values)}
        with naming(self._path):
            self._file.write(ENCODER.encode(record) + "\n")
            self._file.flush()

    def flush(self) -> None:
        """Return when everything is on the disk."""
        with naming(self._path):
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Bring everything to the disk."""
        with naming(self._path), self._file:
            self.flush()


class Recorder:
    """The metrics of a run, and the same for TensorBoard if that is wanted.

    Args:
        directory: of the run.
        tensorboard: whether to write events.
        resumed: what `position` returned where a resumed run goes on, and the step.

    Raises:
        CheckpointError: if the files are not those of the position.
    """

    def __init__(
        self, directory: Path, tensorboard: bool, resumed: tuple[Mapping[str, Any], int] | None
    ) -> None:
        self._directory = directory
        self._resumed_at = None if resumed is None else resumed[0]
        if self._resumed_at is not None:
            path, size = directory / METRICS, self._resumed_at["metrics"]
            if not 0 <= size <= (path.stat().st_size if path.exists() else 0):
                raise CheckpointError(path, "has lost lines that its checkpoint knows of")
        self.events: TensorBoardEvents | None = None
        if tensorboard:
            step = None if resumed is None else resumed[1]
            self.events = TensorBoardEvents(directory, step)

    def begin(self) -> None:
        """Undo what was written after the checkpoint, as it will be measured again; open files."""
        if self._resumed_at is not None:
            path = self._directory / METRICS
            with naming(path), path.open("ab") as file:
                file.truncate(self._resumed_at["metrics"])
            events.cut_back(self._directory, self._resumed_at["events"])
        self.lines = JsonLines(self._directory / METRICS)

    def write(
        self,
        step: int,
        epoch: int,
        values: Mapping[str, float],
        passing: Mapping[str, float] | None = None,
    ) -> None:
        """Keep what was measured after `step`; only TensorBoard shows what is `passing`."""
        self.lines.write(step, epoch, values)
        if self.events is not None:
            self.events.write(step, {**values, **passing} if passing else values)

    def position(self) -> dict[str, Any]:
        """Bring everything to the disk; return how long the files are."""
        self.lines.flush()
        if self.events is not None:
            self.events.flush()
        metrics = (self._directory / METRICS).stat().st_size
        return {"metrics": metrics, "events": events.sizes(self._directory)}

    def close(self) -> None:
        """Bring everything to the disk."""
        try:
            self.lines.close()
        finally:
            if self.events is not None:
                self.events.close()
