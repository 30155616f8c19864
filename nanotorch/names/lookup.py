"""Names of a module that are imported when they are used, and errors for those that are missing."""

import dis
import importlib
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

from nanotorch.names.scope import why_not

IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def on_demand(
    module: str,
    origins: Mapping[str, str] | None = None,
    change: Callable[[str, str, Any], Any] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a module.

    Args:
        module: its name.
        origins: names that it has, but does not import before they are used, separated by blanks,
            by the module that defines them; the module's own name stands for modules inside it.
        change: what functions go through, with the module and their names.
    """
    known = {name: origin for origin, names in (origins or {}).items() for name in names.split()}

    def __getattr__(name: str) -> Any:  # noqa: N807 - what a module's must be called
        origin = known.get(name)
        if origin is None:
            raise missing(module, name)
        if origin == module:
            return importlib.import_module(f"{module}.{name}")  # which sets the attribute
        value = getattr(importlib.import_module(origin), name)
        if change is not None and isinstance(value, FunctionType):
            value = change(module, name, value)
        setattr(sys.modules[module], name, value)
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*vars(sys.modules[module]), *known})

    return __getattr__, __dir__


# Modules that `stand_in` has made, by name.
STAND_INS: dict[str, ModuleType] = {}


def stand_in(name: str, origins: Mapping[str, str]) -> ModuleType:
    """A module where PyTorch has one, of names that are at home elsewhere: see `on_demand`.

    It is there to be imported by its ``name`` from then on.
    """
    module: Any = ModuleType(name, "Names that are at home elsewhere, where PyTorch has them.")
    module.__getattr__, module.__dir__ = on_demand(name, origins)
    sys.modules[name] = STAND_INS[name] = module
    if sys.modules.get("torch") is sys.modules.get("nanotorch"):
        sys.modules[name.replace("nano", "", 1)] = module
    return module


def missing(module: str, name: str) -> Exception:
    """The error for a name that a module lacks: Python's, with the reason if there is one.

    ``from module import name`` swallows an AttributeError and its text; it gets an ImportError.
    """
    place = module.removeprefix("nanotorch").removeprefix(".")
    shown = f"torch.{place}" if place else "torch"
    why = "" if name.startswith("__") else reason(place, name)
    frame = sys._getframe(2)
    if why and frame.f_code.co_code[frame.f_lasti] == IMPORT_FROM:
        return ImportError(f"cannot import name '{name}' from '{shown}'{why}", name=shown)
    return AttributeError(f"module '{shown}' has no attribute '{name}'{why}", name=name)


def no_module(fullname: str) -> ModuleNotFoundError:
    """The error for a module that there is not: Python's, with the reason if there is one."""
    place, _, name = fullname.partition(".")[2].rpartition(".")
    return ModuleNotFoundError(f"No module named '{fullname}'{reason(place, name)}", name=fullname)


class NoModules:
    """The last of Python's finders: it tells why none has found a module of nanotorch."""

    @staticmethod
    def find_spec(fullname: str, path: object, target: object = None) -> None:
        """Raises the error if there is a reason to tell."""
        if fullname.startswith("nanotorch.") and ": " in str(error := no_module(fullname)):
            raise error


sys.meta_path.append(NoModules)


class OutOfScope:
    """An attribute that there is not: who asks for it is told why.

    Args:
        place: where the type stands, as `why_not` has it.
    """

    __slots__ = ("name", "place")

    def __init__(self, place: str, name: str) -> None:
        self.place, self.name = place, name

    def __get__(self, value: object, kind: type) -> Any:
        raise missing_attribute(kind if value is None else value, self.place, self.name)


def missing_attribute(value: object, place: str, name: str) -> AttributeError:
    """The error for an attribute that an object lacks, with the reason if there is one.

    Args:
        place: where the object's type stands, as `why_not` has it.
    """
    why = "" if name.startswith("_") else reason(place, name)
    owner = f"'{type(value).__name__}' object"
    if isinstance(value, type):
        owner = f"type object '{value.__name__}'"
    text = f"{owner} has no attribute '{name}'{why}"
    return AttributeError(text, name=name, obj=value)


def reason(place: str, name: str) -> str:
    """Why there is no such name, as the end of an error's text; nothing if that is not known."""
    why = why_not(place, name)
    return "" if why is None else f": {told(why)}"


def told(why: str) -> str:
    """A reason as the end of an error's text, to which Python may add what one could mean."""
    return f"out of scope. {why[0].upper()}{why[1:]}"
