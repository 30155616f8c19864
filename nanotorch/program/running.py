"""Run a program as Python itself does, but with nanotorch under the name `torch`."""

import builtins
import io
import runpy
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

from nanotorch.program.alias import as_torch

USAGE = """usage: PROGRAM (script.py | directory | -m module | -c code | -) [argument]

Runs a program written for PyTorch: `import torch` gives nanotorch. Everything else is as in
`python script.py`. Options of Python itself come before `-m`, as in
`python -W error -m nanotorch script.py`.
"""
# Files whose frames stand above the program's own in a traceback.
ABOVE = {__file__, str(Path(__file__).parents[1] / "__main__.py"), "<frozen runpy>"}


def main(arguments: list[str], program: str) -> None:
    """Run the program that the command line names; `sys.argv` is what the program gets.

    Args:
        arguments: those of the command line.
        program: how this was called, for its usage.
    """
    usage = USAGE.replace("PROGRAM", program)
    ABOVE.add(sys.argv[0])  # the console command, which calls this
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage, end="", file=sys.stdout if arguments else sys.stderr)
        sys.exit(0 if arguments else 2)
    first, *rest = arguments
    as_torch()
    if first in ("-c", "-m") and not rest:
        fail(f"Argument expected for the {first} option\n{usage}", 2)
    if first == "-c":
        put_first("")
        sys.argv[:] = ["-c", *rest[1:]]
        execute(lambda: compile(rest[0], "<string>", "exec", dont_inherit=True))
    elif first == "-m":
        sys.argv[:] = rest
        execute(lambda: run_module(rest[0], True))
    elif first == "-":
        put_first("")
        sys.argv[:] = arguments
        execute(lambda: compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True))
    elif first.startswith("-"):
        fail(f"unknown option {first}\n{usage}", 2)
    elif PathFinder.find_spec("__main__", [first]):  # a directory or an archive
        sys.path[0] = str(Path(first).absolute())
        sys.argv[:] = arguments
        execute(lambda: run_module("__main__", False))
    else:
        run_script(first, arguments)


def fail(message: str, status: int) -> NoReturn:
    """End with a message of the kind that Python gives for its command line."""
    print(f"{sys.executable}: {message}", file=sys.stderr)
    sys.exit(status)


def put_first(directory: str) -> None:
    """Search for modules in ``directory`` first, as Python does unless it was told not to."""
    if not sys.flags.safe_path:
        sys.path[0] = directory


def run_script(script: str, arguments: list[str]) -> None:
    """Run a file."""
    path = Path(script).absolute()
    try:
        with io.open_code(str(path)) as file:
            source = file.read()
    except OSError as error:
        fail(f"can't open file '{path}': [Errno {error.errno}] {error.strerror}", 2)
    put_first(str(path.resolve().parent))
    sys.argv[:] = arguments
    loader = SourceFileLoader("__main__", str(path))
    code = lambda: compile(source, str(path), "exec", dont_inherit=True)  # noqa: E731
    execute(code, __file__=str(path), __cached__=None, __loader__=loader)


def run_module(name: str, alter_argv: bool) -> None:
    """Run a module, a package's `__main__` or that of a directory, as `python -m` itself does."""
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]


def execute(run: Callable[[], CodeType | None], **own: Any) -> None:
    """Run the program as the module `__main__`, whose errors end in Python's own way.

    Args:
        run: runs it, or gives its code; errors of syntax are the program's too.
        own: attributes of the module.
    """
    module = ModuleType("__main__")
    vars(module).update({"__builtins__": builtins, "__package__": None} | own)
    if sys.version_info < (3, 14):  # since then it is made when it is needed
        module.__annotations__ = {}
    sys.modules["__main__"] = module
    try:
        if (code := run()) is not None:
            exec(code, vars(module))
    except SystemExit:
        raise
    except BaseException:
        # Python ends the process: it tells the error, and how it was ended by Ctrl-C.
        sys.excepthook = without_frames_above(sys.excepthook)
        raise


Hook = Callable[[type[BaseException], BaseException, TracebackType | None], Any]


def without_frames_above(hook: Hook) -> Hook:
    """A hook for uncaught errors that sees only the program's part of a traceback."""

    def told(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
        while frames is not None and frames.tb_frame.f_code.co_filename in ABOVE:
            frames = frames.tb_next
        hook(kind, error.with_traceback(frames), frames)

    return told
