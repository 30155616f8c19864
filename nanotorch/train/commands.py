"""The common parts of all commands: options, streams, signals, and imports of user modules."""

import argparse
import contextlib
import importlib.util
import inspect
import io
import os
import shlex
import shutil
import signal
import sys
import threading
import time
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

from nanotorch.train.config.sections import (
    ABSENT,
    COMMAND_LINE,
    OVERRIDE_STEP,
    SUFFIXES,
    ConfigError,
    Place,
    check_readable,
    closest,
    name_text,
    quoted,
    usage_error,
)
from nanotorch.train.runs import ranks

# The options and exit codes of the commands.


class CommandError(Exception):
    """The error for a request that a command cannot do."""


class Parser(argparse.ArgumentParser):
    """A parser whose help has examples and whose errors have one line.

    Args:
        program: the command as the user types it.
        document: the description and, after a blank line, the end of the help, in which `program`
            replaces `PROGRAM`.
        usage: the beginning of the help. Default: made from the arguments.
    """

    def __init__(self, program: str, document: str | None, usage: str | None = None) -> None:
        description, _, examples = inspect.cleandoc(document or "").partition("\n\n")
        super().__init__(
            prog=program,
            usage=usage,
            description=description,
            epilog=examples.replace("PROGRAM", program),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        """End the program with the message alone: `--help` shows the usage."""
        _, unknown, options = message.partition("unrecognized arguments: ")
        if unknown:
            message = self._no_option(options.split()[0])
        self.exit(2, f"{self.prog}: error: {message}; see --help\n")

    def parse_intermixed_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed options; a configuration without `--config` is an error."""
        command = list(sys.argv[1:] if args is None else args)
        sources = {"--config", "--resume", "--list", "--help", "-h"}
        if not sources & {word.partition("=")[0] for word in command}:
            # Most of the trainer, which help does not need.
            from nanotorch.train.config.load import shipped

            known = (*shipped(), *SUFFIXES, ".csv")
            file = next((w for w in command if w.endswith(known) and "=" not in w), "")
            table = f"FILE data.csv={file}, where FILE describes the model"
            if file:
                self.error(f"write --config {table if file.endswith('.csv') else file}")
        return super().parse_intermixed_args(command, namespace)

    def _no_option(self, given: str) -> str:
        """Return the message for an unknown argument, such as `--epochs=5`."""
        # Most of the trainer, which help does not need.
        from nanotorch.train.config.load import homes

        option, _, value = given.partition("=")
        key = option.lstrip("-").replace("-", "_")
        home = next(iter(homes(key)), "")
        takes_keys = any("key=" in str(a.metavar) for a in self._get_positional_actions())
        said = f"{option} is not an option"
        if "." in home and takes_keys:
            return f"{said}; write {home}={value or 'VALUE'}"
        if key in ABSENT:
            return f"{said}: {ABSENT[key]}; remove it"
        near = closest(option, self._option_string_actions)
        return f"{said}; did you mean {near}?" if near else said


def check_once(overrides: Sequence[str]) -> None:
    """Refuse overrides that give a key two values."""
    given: dict[Any, str] = {}
    for override in overrides:
        key = tuple(OVERRIDE_STEP.findall(override.partition("=")[0]))
        if (before := given.setdefault(key, override)) is not override:
            message = "the key is given twice; remove one of the two"
            raise usage_error(f"{before} {override}", message)


def exit_code(run: Callable[[], int], unreadable: int = 2) -> int:
    """Run a command, and print its error if there is one; returns the exit code.

    Args:
        run: does the work and returns the code.
        unreadable: the code for errors of the operating system.
    """
    from nanotorch.train.runs.run_directory import CheckpointError

    try:
        code = run()
        sys.stdout.flush()
        return code
    except ConfigError as error:
        return ranks.end_rank(str(error), 2)
    except (CheckpointError, CommandError) as error:
        return ranks.end_rank(f"error: {error}", 2)
    except KeyboardInterrupt as error:
        return ranks.end_rank("\ninterrupted", 128 + number_of(error))
    except OSError as error:
        name = "" if error.filename is None else f"{name_text(str(error.filename))}: "
        return ranks.end_rank(f"error: {name}{error.strerror or error}", unreadable)


# Streams whose readers may end, as in `train.py ... | head`, and signals.


PATIENCE = 30.0
"""Seconds between the two SIGTERMs of `end_with_input`."""


class Unread(io.FileIO):
    """A descriptor that discards what is written once its reader has ended."""

    def write(self, data: Any) -> int:
        """Write some or all of the bytes; returns their number."""
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


@contextlib.contextmanager
def lasting_streams() -> Iterator[None]:
    """Let standard output and error work without a reader in the block.

    Characters that the stream cannot encode appear as escapes.
    """
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        sys.stdout, sys.stderr = (lasting_stream(stream, stack) for stream in before)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def lasting_stream(stream: TextIO | None, stack: contextlib.ExitStack) -> TextIO:
    """Return a stream to the same target that works without its reader; `stack` closes it.

    A terminal always has a reader, so it is returned as it is, like a stream that is no file.
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
    stack.enter_context(contextlib.suppress(OSError))  # errors when the buffer is flushed
    raw = io.BufferedWriter(Unread(descriptor, "w", closefd=False))
    lasting = io.TextIOWrapper(
        raw, stream.encoding, stream.errors, None, stream.line_buffering, stream.write_through
    )
    return stack.enter_context(lasting)


class Ended(KeyboardInterrupt):
    """Raised for a signal other than Ctrl-C that ends the program."""

    number = signal.SIGTERM

    @staticmethod
    def handle(number: int, frame: object) -> None:
        """Raise this exception, as Ctrl-C raises KeyboardInterrupt."""
        raise Ended


def end_with_input() -> None:
    """Send SIGTERM to this process when its standard input ends, because its owner has ended.

    A second SIGTERM follows after `PATIENCE`, for a run whose step does not end.
    """
    held = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # other readers of standard input find it empty
    os.close(nothing)

    def watch() -> None:
        while os.read(held, 1):
            pass
        for _ in range(2):
            if os.name == "posix":  # this also interrupts a system call of the main thread
                os.kill(os.getpid(), signal.SIGTERM)
            else:  # Windows's `kill` would end the process at once
                signal.raise_signal(signal.SIGTERM)
            time.sleep(PATIENCE)

    threading.Thread(target=watch, daemon=True).start()


def number_of(interruption: KeyboardInterrupt) -> int:
    """Return the number of the signal that caused an interruption."""
    return int(getattr(interruption, "number", signal.SIGINT))


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have no names
        return f"signal {number}"


# `--import`: user modules that register more components for configurations.
#
# A configuration never runs code; the command may.


GUARD = 'put what it runs under `if __name__ == "__main__":`'
PACKAGE = str(Path(__file__).parents[1])
TRAIN = "python -m nanotorch.train"
imported: list[str] = []
"""The imported modules, by the names in the command."""
_under_way: set[str] = set()


def add_option(parser: ArgumentParser) -> None:
    """Add the option `--import` with the destination `imports`; a command may repeat it."""
    text = "import your own module or file.py, which registers layers, losses and so on"
    options: dict[str, Any] = {"dest": "imports", "default": [], "metavar": "MODULE"}
    parser.add_argument("--import", action="append", help=text, **options)


def as_options(names: Sequence[str]) -> list[str]:
    """Return the options of a command that import the modules `names`."""
    return [part for name in names for part in ("--import", name)]


def call_again(program: str = TRAIN) -> str:
    """Return the command that calls a program, with the modules that this one imported, from here.

    Args:
        program: a script in the folder of the current one, `python -m ...`, or the console
            command `nanotorch ...`.
    """
    own = sys.argv[0]
    if program.startswith("nanotorch "):
        shown = "nanotorch" if shutil.which("nanotorch") == own else own
        return shlex.join([shown, *program.split()[1:], *as_options(imported)])
    script = own if Path(own).name == Path(program).name else program
    words = program.split()[1:] if program.startswith("python ") else [script]
    return shlex.join([python_command(), *words, *as_options(imported)])


def python_command() -> str:
    """Return the command that calls this Python from this directory."""
    python, here = Path(sys.executable), Path.cwd()
    shown = str(python.relative_to(here) if python.is_relative_to(here) else python)
    return "python" if shutil.which("python") == str(python) else shown


def install_command(package: str) -> str:
    """Return the command that installs a package for this Python."""
    command = [python_command(), "-m", "pip", "install", package]
    if importlib.util.find_spec("pip") is None:
        command = ["uv", "pip", "install", "--python", python_command(), package]
    return shlex.join(command)


def import_components(names: Sequence[str]) -> None:
    """Import modules by name or by file; names are also looked up in the current directory."""
    for name in names:
        if name in imported:
            continue
        if name in _under_way:
            message = f"starts a training when it is imported; {GUARD}"
            raise usage_error(f"--import {name}", message)
        _under_way.add(name)
        try:
            import_module(name)
            imported.append(name)
        except ConfigError:
            raise
        except (Exception, SystemExit) as error:
            raise usage_error(f"--import {name}", locate_error(error)) from None
        finally:
            _under_way.discard(name)


def import_module(name: str) -> None:
    """Import a module by name or by file; a file can import modules in its own folder."""
    is_file, path, option = name.endswith(".py"), Path(name).resolve(), f"--import {name}"
    if is_file:
        check_readable("", Path(name), Place(source=COMMAND_LINE + option))
    elif not all(part.isidentifier() for part in name.split(".")):
        raise usage_error(option, f"{quoted(name)} is not a valid module name")
    place = str(path.parent if is_file else Path.cwd())
    if place not in sys.path:
        sys.path.insert(0, place)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(path.stem if is_file else name)
    except ModuleNotFoundError as error:
        if is_file or error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # it imports something else that is missing
        there = os.path.isfile(f"{name}.py")  # noqa: PTH113 - that of Path refuses names too long
        file = f"; did you mean {name}.py?" if there else ""
        message = f"no module {quoted(error.name)} in this directory or on Python's path{file}"
        raise usage_error(option, message) from None
    if is_file and Path(module.__file__ or "").resolve() != path:
        raise usage_error(option, f"another module is called {quoted(path.stem)}; rename the file")


def locate_error(error: BaseException) -> str:
    """Return an error's text with the user's line that raised it."""
    kind = type(error).__name__
    if isinstance(error, SystemExit):
        return f"exits when it is imported; {GUARD}"
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}:{error.offset}: {kind}: {error.msg}"
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and not frame.filename.startswith(PACKAGE)
    ]
    where = f"{own[-1].filename}:{own[-1].lineno}: " if own else ""
    return f"{where}{kind}: {error}"
