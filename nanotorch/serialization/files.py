"""Files: written whole or not at all, and read only if they are regular files."""

import contextlib
import errno
import io
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

Parts = Sequence[bytes | memoryview]
"""The bytes of a file in parts, to save the copy into one."""

STEP = 1 << 16
"""The bytes that `read_limited` reads at once beyond the size of a file."""


# On Windows a file that another process has open, such as a scanner of new files, keeps its name.
RETRIES = (0.01, 0.05, 0.2, 1.0) if os.name == "nt" else ()
"""Seconds between the attempts to replace a file."""

UNFINISHED = re.compile(r"\..+\.(json|yaml|safetensors|txt)-[0-9a-f]{8}")
"""The names of a run's files while `write_atomically` writes them."""


@contextlib.contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """A block in which errors of the operating system name the file ``path``."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # without it, the error is a sentence of its own
            error.filename = str(path)
        raise


def write_atomically(
    path: Path, data: bytes | Parts, check: Callable[[Path], object] | None = None
) -> None:
    """Write a file so that, after a crash, it is either whole or as it was before.

    Args:
        path: the file.
        data: its bytes, in one part or several.
        check: called with the path of the new file before that replaces the old one.
    """
    fresh = path.with_name(f".{path.name}-{os.urandom(4).hex()}")
    with naming_file(path):
        try:
            with fresh.open("xb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(file.fileno())
            if check is not None:
                check(fresh)
            replace(fresh, path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    # The new name survives a crash only once its directory is on the disk; WASI has no such call.
    if os.name == "posix" and sys.platform != "wasi":
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace(fresh: Path, path: Path) -> None:
    """Give a new file the name of an old one."""
    for seconds in RETRIES:
        try:
            fresh.replace(path)
            return
        except PermissionError:
            time.sleep(seconds)
    fresh.replace(path)


def remove_unfinished(directory: Path, name: str = "*") -> None:
    """Remove the partial files of a process that was killed while it wrote `name`."""
    for path in directory.glob(f".{name}-*"):
        if UNFINISHED.fullmatch(path.name) and (path.is_file() or path.is_symlink()):
            path.unlink(missing_ok=True)


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file to read its bytes; raises OSError for a pipe or a device."""

    def without_waiting(name: str, flags: int) -> int:  # opening a pipe would wait for a writer
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    file = io.FileIO(path, opener=without_waiting)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "is a device or a pipe, not a file", os.fspath(path))
    return io.BufferedReader(file)


def size_of(file: BinaryIO) -> int:
    """Return the size of a file in bytes."""
    return os.fstat(file.fileno()).st_size


def read_limited(path: Path, largest: int) -> bytes:
    """Return the bytes of a file; raises OSError if there are more than `largest`."""
    try:
        file = open_file(path)
    except ValueError:  # such as a NUL in the name
        raise OSError(errno.EINVAL, "is not a file name", str(path)) from None
    with file, naming_file(path):
        data, size = b"", size_of(file)
        if size <= largest:
            data = file.read(size)  # Python allocates as many bytes as it is asked for
            # A file may hold more than its size: it grows, or the system does not know.
            while len(data) <= largest and (more := file.read(min(STEP, largest + 1 - len(data)))):
                data += more
    if max(size, len(data)) > largest:
        raise OSError(errno.EFBIG, f"has more than {largest:,} bytes", str(path))
    return data


def write(f: Any, data: Parts) -> None:
    """Write parts to a path or to an object with a method ``write``."""
    if not isinstance(f, (str, os.PathLike)):
        if not hasattr(f, "write"):
            raise AttributeError(
                "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
            )
        for part in data:
            f.write(part)
        return
    path = Path(os.path.realpath(f))  # a link stays one, to the new file
    if not path.parent.is_dir():
        raise RuntimeError(f"Parent directory {Path(os.fspath(f)).parent} does not exist.")
    if path.exists() and not path.is_file():  # a pipe or /dev/null must not be replaced
        with path.open("wb") as file:
            file.writelines(data)
        return
    write_atomically(path, data)


def file_bytes(f: Any) -> BinaryIO:
    """Return the file at a path, or the rest of a file object's bytes, as a file in memory."""
    if isinstance(f, (str, os.PathLike)):
        return open_file(f)
    if not hasattr(f, "read"):
        raise AttributeError(
            f"'{type(f).__name__}' object has no attribute 'read'. nanotorch.load reads from a "
            "path or from a file object that was opened in binary mode"
        )
    data = f.read()
    if isinstance(data, str):
        raise TypeError("the file object gives text; open the file in binary mode, 'rb'")
    return io.BytesIO(data)
