"""An event file: what is added is in the file, in order, when `flush` returns."""

import contextlib
import itertools
import os
import re
import socket
import time
import weakref
from pathlib import Path
from typing import Any

from nanotorch.utils.tensorboard.protos import protos
from nanotorch.utils.tensorboard.record_file import RecordFile

# Distinguishes the files that one process opens within one second.
_serial = itertools.count()


class EventFile:
    """Appends events to a new file in `log_dir`, in the thread of the caller.

    tensorboardX's own writer hands events to a thread through a queue, which its `flush` does not
    drain, and truncates the file of a run that was started in the same second.

    Args:
        log_dir: the directory, created if need be.
        suffix: the end of the file's name.
        flush_secs: the longest time an event stays in memory while others follow it.
    """

    def __init__(self, log_dir: str, suffix: str = "", flush_secs: float = 120) -> None:
        directory = Path(log_dir)
        directory.mkdir(parents=True, exist_ok=True)
        self.log_dir = log_dir
        self._flush_secs = flush_secs
        self._record = RecordFile(directory / _new_name(directory, suffix))
        # Unlike atexit, this lets go of a writer that is dropped before the program ends.
        self._close = weakref.finalize(self, _close, self._record)
        self.add(protos().Event(file_version="brain.Event:2"))
        self.flush()

    def add(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Append an event; `step` and `walltime` default to 0 and now."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self._record.write(event.SerializeToString())
        if time.monotonic() > self._flush_due:
            self.flush()

    _flush_due = float("inf")

    def flush(self) -> None:
        """Return when all events are on the disk."""
        if self._close.alive:
            self._record.flush()
            self._flush_due = time.monotonic() + self._flush_secs

    def close(self) -> None:
        """Flush and close the file; doing so again has no effect.

        Raises:
            OSError: if what was added cannot be written; the file is closed all the same.
        """
        try:
            self.flush()
        finally:
            self._close()


def _close(record: RecordFile) -> None:
    """Close a file that has been flushed, or whose owner is gone and can be told nothing."""
    with contextlib.suppress(OSError):
        record.close()


def _new_name(directory: Path, suffix: str) -> str:
    """Name a file after all present ones.

    Readers take a run's files in the order of their names, so that a run resumed within the
    second in which it was interrupted must not sort before its first part.
    """
    names = (re.search(r"\.tfevents\.(\d+)\.", path.name) for path in directory.iterdir())
    latest = max((int(found[1]) for found in names if found), default=0)
    seconds = max(int(time.time()), latest + 1)
    where = f"{socket.gethostname()}.{os.getpid()}.{next(_serial)}"
    return f"events.out.tfevents.{seconds:010d}.{where}{suffix}"
