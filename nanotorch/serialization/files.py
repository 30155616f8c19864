"""Files that are written whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

Parts = Sequence[bytes | memoryview]
"""The bytes of a file in parts, which need not be copied to be one."""


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let errors of the operating system in the block tell which file they are about."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:  # else it is Python's own, and a sentence
            error.filename = str(path)
        raise


def write_atomically(
    path: Path, data: bytes | Parts, check: Callable[[Path], object] | None = None
) -> None:
    """Write a file that is either whole or, after a crash, what it was before.

    Args:
        path: where to.
        data: what, in one part or several.
        check: is called with what was written, before it takes the place of what was there.
    """
    fresh = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    with naming(path):
        try:
            with fresh.open("xb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
                file.flush()
                os.fsync(file.fileno())
            if check is not None:
                check(fresh)
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    if os.name == "posix":  # the new name is only safe once its directory is
        descriptor = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write(f: Any, data: Parts) -> None:
    """Write parts to a path or to an object with a method ``write``.

    Raises:
        AttributeError: for what is neither.
        RuntimeError: if the directory is not there.
    """
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
    if path.exists() and not path.is_file():  # a pipe or /dev/null is not to be replaced
        with path.open("wb") as file:
            file.writelines(data)
        return
    write_atomically(path, data)


def read(f: Any) -> bytes:
    """Return what is in a file, or in a file object from where it stands.

    Raises:
        AttributeError: for what is neither a path nor a file object.
    """
    if isinstance(f, (str, os.PathLike)):
        return Path(f).read_bytes()
    if not hasattr(f, "read"):
        raise AttributeError(
            f"'{type(f).__name__}' object has no attribute 'read'. nanotorch.load reads from a "
            "path or from a file object that was opened in binary mode"
        )
    data = f.read()
    if isinstance(data, str):
        raise TypeError("the file object gives text; open the file in binary mode, 'rb'")
    return bytes(data)
