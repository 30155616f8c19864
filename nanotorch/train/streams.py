"""What surrounds a command: readers who may leave, as in `train.py ... | head`, and signals."""

import contextlib
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

PATIENCE = 30.0
"""Seconds between a request to end and a demand."""


class Unread(io.FileIO):
    """A descriptor to which writing goes on when nobody reads any more."""

    def write(self, data: Any) -> int:
        """Write some or all of the bytes; return how many."""
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


@contextlib.contextmanager
def patient_streams() -> Iterator[None]:
    """Let standard output and error, in the block, outlive their readers, or the lack of any.

    What cannot be encoded is shown by its code.
    """
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        sys.stdout, sys.stderr = (patient(stream, stack) for stream in before)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def patient(stream: TextIO | None, stack: contextlib.ExitStack) -> TextIO:
    """Return a stream to the same place, which `stack` will close.

    A terminal, which always has a reader, and what is no file stay as they are.
    """
    if stream is None:  # as in `train.py >&-`
        return stack.enter_context(Path(os.devnull).open("w"))
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    try:
        descriptor = stream.fileno()
    except OSError:  # in memory
        return stream
    if stream.isatty():
        return stream
    stream.flush()
    stack.enter_context(contextlib.suppress(OSError))  # of what is left in the buffer
    return stack.enter_context(
        io.TextIOWrapper(
            io.BufferedWriter(Unread(descriptor, "w", closefd=False)),
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
    )


class Ended(KeyboardInterrupt):
    """Somebody else than Ctrl-C asks the program to end."""

    number = signal.SIGTERM


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM interrupt the block as Ctrl-C does."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise Ended

    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread only
        return
    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_with_input() -> None:
    """Let SIGTERM reach this process when its standard input ends, as it does with its owner.

    A second one, later, ends a run whose step does not end.
    """
    held = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # what else reads from there finds nothing
    os.close(nothing)

    def watch() -> None:
        while os.read(held, 1):
            pass
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(PATIENCE)

    threading.Thread(target=watch, daemon=True).start()


def number_of(interruption: KeyboardInterrupt) -> int:
    """Return the number of the signal that interrupted."""
    return int(getattr(interruption, "number", signal.SIGINT))


def signal_name(number: int) -> str:
    """Return what a signal is called."""
    try:
        return signal.Signals(number).name
    except ValueError:  # one of those for real time, of which few have names
        return f"signal {number}"
