"""Many small checks in one test, since to start a test takes longer than most; other programs."""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

import nanotorch as torch

T = TypeVar("T")
ROOT = Path(__file__).parents[1]
PYTHON = sys.executable
posix = pytest.mark.skipif(os.name != "posix", reason="the signals, locks and terminals of POSIX")


def each(things: Iterable[T], *checks: Callable[[T], Any]) -> None:
    """Make every check of everything, with the same seed; fail with the errors of all that fail."""
    errors: list[BaseException] = []
    for thing in things:
        for check in checks:
            torch.manual_seed(0)
            try:
                check(thing)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"{check.__name__}: {thing}")
                errors.append(error)
    if errors:
        raise BaseExceptionGroup(f"{len(errors)} checks fail", errors)


@contextmanager
def uncollected() -> Iterator[None]:
    """A block in which the garbage collector frees nothing: what goes is in no reference cycle."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def in_parts(names: Iterable[str], size: int) -> pytest.MarkDecorator:
    """A test for ``size`` of the names at a time, called by the first and the last."""
    left = list(names)
    parts = [left[k : k + size] for k in range(0, len(left), size)]
    ids = [f"{part[0]} to {part[-1]}" for part in parts]
    return pytest.mark.parametrize("names", parts, ids=ids)


def in_threads(work: Callable[[int], None], count: int) -> None:
    """Run ``work`` in threads that start together; an error in one fails the test."""
    barrier, errors = threading.Barrier(count), []

    def run(number: int) -> None:
        try:
            barrier.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every container of a tree with every key of it."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            found.append((node, key))
            if isinstance(node[key], dict | list):
                waiting.append(node[key])
    return found


def ended(
    *command: object, cwd: Path = ROOT, input: str | None = None, **variables: str
) -> tuple[int, str, str]:
    """The exit code of a program that finds this package, and all that it writes."""
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, input=input, capture_output=True, text=True, check=False,
        timeout=300, env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def processes_here(word: str | None = None) -> list[int]:
    """Other processes that work in this directory, those whose commands have a word (Linux)."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended since, or is somebody else's
            words = (path / "cmdline").read_text().split("\0")
            if (path / "cwd").samefile(Path.cwd()) and (word is None or word in words):
                found.append(int(path.name))
    return sorted({*found} - {os.getpid()})
