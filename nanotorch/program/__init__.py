"""Programs written for PyTorch, run with nanotorch instead.

After `as_torch`, `import torch` imports nanotorch, and `import torch.nn` its `nn`: the same modules
under a second name. In all other ways `python -m nanotorch script.py` is `python script.py`.

path   the package `torch` for processes that the program starts
last   stand-ins for packages that draw PyTorch's graphs, used if these are not installed
"""

import builtins
import importlib
import io
import runpy
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, NoReturn

import nanotorch
from nanotorch.names.lookup import STAND_INS, no_module
from nanotorch.version import TorchVersion
from nanotorch.version import __version__ as pytorch_version

PATH, LAST = (str(Path(__file__).with_name(name)) for name in ("path", "last"))
# Modules that have another name here, by the part of the name after `torch.`.
ELSEWHERE = {
    "distributed.constants": "nanotorch.distributed",
    "distributed.distributed_c10d": "nanotorch.distributed",
    "utils.data._utils": "nanotorch.utils.data",
    "utils.data._utils.collate": "nanotorch.utils.data.dataset",
    "_tensor": "nanotorch._core.tensor",
}


class TorchFinder(MetaPathFinder, Loader):
    """Finds `torch.<name>` as the module of that name in nanotorch."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module `torch.<name>`; None for all others.

        Raises:
            ModuleNotFoundError: if nanotorch lacks the module.
        """
        if not fullname.startswith("torch."):
            return None
        module = counterpart(fullname.removeprefix("torch."))
        if module is None:
            raise no_module(fullname)
        spec = ModuleSpec(fullname, self)
        spec.loader_state = module, module.__spec__
        return spec

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """PyTorch as an installed distribution, for `importlib.metadata`."""
        if (getattr(context, "name", None) or "torch").lower() != "torch":  # None means all
            return ()
        from importlib.metadata import Distribution  # slow to import

        class Torch(Distribution):
            def read_text(self, filename: str) -> str | None:
                message = f"Metadata-Version: 2.1\nName: torch\nVersion: {nanotorch.__version__}\n"
                return message if filename == "METADATA" else None

            def locate_file(self, path: Any) -> Path:
                return Path(nanotorch.__file__).parent / path

        return (Torch(),)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of nanotorch, which is loaded already."""
        return spec.loader_state[0]

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import has replaced."""
        spec: Any = module.__spec__
        module.__spec__ = spec.loader_state[1]


def counterpart(name: str) -> ModuleType | None:
    """The module of nanotorch for ``torch.<name>``; None if there is none."""
    if name in ELSEWHERE:
        return importlib.import_module(ELSEWHERE[name])
    try:
        return importlib.import_module(f"nanotorch.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or not f"nanotorch.{name}.".startswith(f"{error.name}."):
            raise  # a dependency is missing, not the module
    above, _, last = name.rpartition(".")
    holder = importlib.import_module("nanotorch") if not above else counterpart(above)
    found = getattr(holder, last, None)
    return found if isinstance(found, ModuleType) else None


def as_torch() -> ModuleType:
    """Make `import torch` import nanotorch in this process; returns nanotorch.

    The modules and classes are the same by either name. Afterwards ``torch.__version__`` is the
    version of PyTorch that nanotorch follows, then a plus and nanotorch's own version. Processes
    started by `multiprocessing` do the same. A second call has no effect. If `torchviz` is not
    installed, `import torchviz` provides nanotorch's `make_dot`.

    Raises:
        RuntimeError: if PyTorch itself has been imported already.
    """
    there = sys.modules.get("torch")
    if there is nanotorch:
        return nanotorch
    if there is not None and not str(there.__file__).startswith(PATH):
        raise RuntimeError(
            f"PyTorch has been imported already, from {there.__file__}; call "
            "nanotorch.as_torch() before the first `import torch`"
        )
    version = f"{pytorch_version}+nanotorch.{nanotorch.__version__}"
    nanotorch.__version__ = TorchVersion(version)
    nanotorch.__name__ = "torch"
    sys.modules["torch"] = nanotorch
    for name, module in STAND_INS.items():
        sys.modules[name.replace("nano", "", 1)] = module
    sys.meta_path.insert(0, TorchFinder())
    sys.path.insert(0 if sys.flags.safe_path else 1, PATH)
    sys.path.append(LAST)
    return nanotorch


# Running a program as Python itself does.


USAGE = """usage: PROGRAM (script.py | folder | -m module | -c code | -) [args]

Runs a program written for PyTorch: `import torch` gives nanotorch. Everything
else is as in `python script.py`. Options of Python itself come before `-m`, as
in `python -W error -m nanotorch script.py`.
"""
# Files whose frames are above the program's own in a traceback.
ABOVE = {__file__, str(Path(__file__).parents[1] / "__main__.py"), "<frozen runpy>"}


def main(arguments: list[str], program: str) -> None:
    """Run the program that the command line names, with `sys.argv` set for it.

    Args:
        arguments: the arguments of the command line.
        program: the name of this command in its usage.
    """
    usage = USAGE.replace("PROGRAM", program)
    ABOVE.add(sys.argv[0])  # the console command, which calls this
    sys.excepthook = sys.__excepthook__  # a program shows its own errors
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
        path = Path(first).absolute()
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


def fail(message: str, status: int) -> NoReturn:
    """Exit with a message in the style of Python's own command line."""
    print(f"{sys.executable}: {message}", file=sys.stderr)
    sys.exit(status)


def put_first(directory: str) -> None:
    """Search for modules in ``directory`` first, as Python does unless its safe path is on."""
    if not sys.flags.safe_path:
        sys.path[0] = directory


def run_module(name: str, alter_argv: bool) -> None:
    """Run a module, a package's `__main__` or that of a directory, as `python -m` itself does."""
    runpy._run_module_as_main(name, alter_argv)  # type: ignore[attr-defined]


def execute(run: Callable[[], CodeType | None], **own: Any) -> None:
    """Run the program as the module `__main__`; its errors end the process as in Python itself.

    Args:
        run: runs the program, or returns its code; its syntax errors are the program's too.
        own: attributes of the module.
    """
    module = ModuleType("__main__")
    vars(module).update({"__builtins__": builtins, "__package__": None} | own)
    if sys.version_info < (3, 14):  # from 3.14 on, it is made on first use
        module.__annotations__ = {}
    sys.modules["__main__"] = module
    try:
        if (code := run()) is not None:
            exec(code, vars(module))
    except SystemExit:
        raise
    except BaseException:
        hook = sys.excepthook

        def told(kind: Any, error: BaseException, frames: TracebackType | None) -> None:
            """Print the program's part of the traceback."""
            while frames is not None and frames.tb_frame.f_code.co_filename in ABOVE:
                frames = frames.tb_next
            hook(kind, error.with_traceback(frames), frames)

        # Python itself ends the process: it prints the error, and sets the exit code of Ctrl-C.
        sys.excepthook = told
        raise
