"""Names of a module that are imported when they are used, and errors for those that are missing."""

import dis
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from nanotorch.names.scope import why_not

IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def on_demand(module: str, origins: Mapping[str, str] | None = None) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module.

    Args:
        module: its name.
        origins: where names are found that it has, but does not import before they are used: the
            module that defines the name, or the name itself as ``package.name`` if it is a module.
    """
    known = origins or {}

    def __getattr__(name: str) -> Any:  # noqa: N807 - what a module's must be called
        if name in known:
            found = importlib.import_module(known[name])
            value = found if known[name].endswith(f".{name}") else getattr(found, name)
            setattr(sys.modules[module], name, value)
            return value
        raise missing(module, name)

    return __getattr__


def missing(module: str, name: str) -> Exception:
    """The error for a name that a module lacks: Python's, with the reason if there is one.

    ``from module import name`` swallows an AttributeError and its text; it gets an ImportError.
    """
    place = module.removeprefix("nanotorch").removeprefix(".")
    shown = f"torch.{place}" if place else "torch"
    why = None if name.startswith("__") else why_not(place, name)
    if why is None:
        return AttributeError(f"module '{shown}' has no attribute '{name}'", name=name)
    frame = sys._getframe(2)
    if frame.f_code.co_code[frame.f_lasti] == IMPORT_FROM:
        text = f"cannot import name '{name}' from '{shown}': {told(why)}"
        return ImportError(text, name=shown)
    return AttributeError(f"module '{shown}' has no attribute '{name}': {told(why)}", name=name)


def told(why: str) -> str:
    """A reason as the end of an error's text."""
    return f"out of scope. {why[0].upper()}{why[1:]}."
