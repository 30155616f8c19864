"""A run directory belongs to one process at a time."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .checkpoint import CheckpointError


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other processes from going on with the run in `directory` during the block.

    The lock is the operating system's: it ends with the process, however that ends. Where there
    are no such locks (on Windows), nothing is checked.

    Raises:
        CheckpointError: if another process has it.
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
