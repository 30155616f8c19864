"""Run a program as Python itself does, but with nanotorch under the name `torch`."""

import builtins
import importlib.util
import io
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
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
    if first in ("-c", "-m"):
        if not rest:
            fail(f"Argument expected for the {first} option\n{usage}", 2)
        if first == "-c":
            put_first("")
            sys.argv[:] = ["-c", *rest[1:]]
            execute(lambda: compile(rest[0], "<string>", "exec", dont_inherit=True), {})
        else:
            run_module(module_spec(rest[0]), rest[1:])
    elif first == "-":
        put_first("")
        sys.argv[:] = arguments
        execute(lambda: compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True), {})
    elif first.startswith("-"):
        fail(f"unknown option {first}\n{usage}", 2)
    elif first_spec := PathFinder.find_spec("__main__", [first]):  # a directory or an archive
        put_first(str(Path(first).absolute()))
        sys.argv[:] = arguments
        execute(lambda: code_of(first_spec), attributes(first_spec) | {"__package__": ""})
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
    own = {"__file__": str(path), "__cached__": None, "__loader__": loader}
    execute(lambda: compile(source, str(path), "exec", dont_inherit=True), own)


def module_spec(name: str) -> ModuleSpec:
    """The spec of a module that is to be run, or of a package's `__main__`."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        fail(f"Error while finding module specification for {name!r} "
             f"({type(error).__name__}: {error})", 1)  # fmt: skip
    if spec is None:
        fail(f"No module named {name}", 1)
    if spec.submodule_search_locations is None:
        return spec
    inner = importlib.util.find_spec(f"{name}.__main__")
    if inner is None:
        fail(
            f"No module named {name}.__main__; {name!r} is a package and cannot be directly "
            "executed",
            1,
        )
    return inner


def code_of(spec: ModuleSpec) -> CodeType:
    """The code of a module."""
    loader: Any = spec.loader
    code: CodeType | None = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None:
        fail(f"No code object available for {spec.name}", 1)
    return code


def attributes(spec: ModuleSpec) -> dict[str, Any]:
    """What a module that is run knows of itself."""
    return {
        "__file__": spec.origin,
        "__cached__": spec.cached,
        "__loader__": spec.loader,
        "__package__": spec.parent,
        "__spec__": spec,
    }


def run_module(spec: ModuleSpec, arguments: list[str]) -> None:
    """Run a module."""
    sys.argv[:] = [str(spec.origin), *arguments]
    execute(lambda: code_of(spec), attributes(spec))


def execute(compiled: Callable[[], CodeType], own: dict[str, Any]) -> None:
    """Run code as the module `__main__`, whose errors end in Python's own way.

    Args:
        compiled: gives the code; errors of syntax are the program's too.
        own: attributes of the module.
    """
    module = ModuleType("__main__")
    vars(module).update({"__builtins__": builtins, "__package__": None} | own)
    if sys.version_info < (3, 14):  # since then it is made when it is needed
        module.__annotations__ = {}
    sys.modules["__main__"] = module
    try:
        exec(compiled(), vars(module))
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
