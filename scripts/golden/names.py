"""Write `nanotorch/names/pytorch.json`: the public names of PyTorch's modules and classes.

    python scripts/golden/names.py

The modules are those that nanotorch has too. Names that they import from elsewhere do not count.
`from module import *` does not bring the names after a `-`.
"""

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from pathlib import Path
from types import BuiltinFunctionType, ModuleType
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "nanotorch" / "names" / "pytorch.json"
CLASSES = [
    "Generator", "Size", "Tensor", "autograd.Function", "device", "finfo", "iinfo", "nn.Module",
    "nn.Parameter", "optim.Optimizer", "optim.lr_scheduler.LRScheduler", "profiler.profile",
]  # fmt: skip
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """A module, and those of its submodules that nanotorch has."""
    from coverage import is_nothing

    from nanotorch.program import counterpart

    yield package
    for name in submodules(package):
        found = counterpart(f"{package.__name__}.{name}".partition(".")[2])
        with suppress(ModuleNotFoundError):  # `tensorboard`, which a module needs, may be missing
            if found is not None and not is_nothing(found):
                yield from modules(importlib.import_module(f"{package.__name__}.{name}"))


def submodules(package: Any) -> set[str]:
    """The names of the public submodules of a module or class."""
    found = pkgutil.iter_modules(getattr(package, "__path__", ()))
    return {module.name for module in found if module.name[0] != "_"}


def is_own(holder: Any, name: str) -> bool:
    """Whether a name is a module's or class's own, not imported from elsewhere."""
    value, listed = getattr(holder, name, None), getattr(holder, "__all__", ())
    if isinstance(value, ModuleType):
        return value.__name__ == f"{holder.__name__}.{name}"
    home = getattr(value, "__module__", None)
    is_file = isinstance(holder, ModuleType) and not hasattr(holder, "__path__")
    if name in listed:
        return True
    if not isinstance(home, str):  # a number, say
        return name != "TYPE_CHECKING" and not (is_file and listed)
    if is_file and not (isinstance(value, BuiltinFunctionType) and "functional" in holder.__name__):
        return home == holder.__name__ and not isinstance(value, TypeVar)
    return home.partition(".")[0] in ("torch", "builtins")


def names_of(holder: Any) -> list[str]:
    """The public names of a module or class."""
    shown = {name for name in dir(holder) if name[0] != "_" and is_own(holder, name)}
    return sorted(shown | submodules(holder))


def marked_names(module: ModuleType) -> str:
    """The public names of a module, with a mark for those that a star import does not bring."""
    brought: dict[str, Any] = {}
    exec(f"from {module.__name__} import *", brought)
    return " ".join(name if name in brought else f"-{name}" for name in names_of(module))


def main() -> None:
    """Ask PyTorch for all its names."""
    torch = importlib.import_module("torch")
    names = {module.__name__.partition(".")[2]: marked_names(module) for module in modules(torch)}
    for place in CLASSES:
        names[place] = " ".join(names_of(reduce(getattr, place.split("."), torch)))
    names = dict(sorted(names.items()))
    TARGET.write_text(json.dumps(names, indent=0) + "\n", "utf-8")
    print(f"{TARGET}: {len(names)} places, {TARGET.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
