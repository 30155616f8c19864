"""Classes and functions that a file may name: nanotorch's own, and those that a program allows.

Objects of them get their class and attributes, without a call of their code.
"""

import importlib
import pickle
import sys
from collections.abc import Iterable
from contextlib import suppress
from types import FunctionType
from typing import Any

from nanotorch.names.lookup import STAND_INS
from nanotorch.nn.module import Module
from nanotorch.optim.lr_scheduler import LRScheduler
from nanotorch.optim.optimizer import Optimizer

noted: list[Any] = []


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow classes and functions, or pairs of one and its name, in the files that `load` reads."""
    noted.extend(entry for entry in safe_globals if entry not in noted)


def get_safe_globals() -> list[Any]:
    """The classes and functions that `add_safe_globals` has allowed."""
    return list(noted)


def clear_safe_globals() -> None:
    """Forget the classes and functions that `add_safe_globals` has allowed."""
    noted.clear()


class safe_globals:  # noqa: N801 - PyTorch's name
    """A context in which `load` allows some more classes and functions, as `add_safe_globals`."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self.before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        noted[:] = self.before


OWN = ("nanotorch.nn.", "nanotorch.ops.")  # modules whose layers and functions any file may name
PUBLIC = ("nanotorch", "nanotorch.nn.functional", "nanotorch.nn.init")  # the functions among them
NOT_ALLOWED = (
    "Weights only load failed: the file holds {0}, which was not an allowed global by default. If "
    "you trust it, use `torch.serialization.add_safe_globals([{0}])`, or load the file with "
    "weights_only=False"
)


def name_of(value: Any) -> str | None:
    """The name by which `named` finds a class or function again; None if there is none."""
    name = f"{getattr(value, '__module__', None)}:{getattr(value, '__qualname__', None)}"
    return name if definition_at(name) is value else None


def definition_at(name: str) -> Any:
    """The class or function that an imported module defines under a name, or None."""
    module, _, path = name.partition(":")
    if module.startswith(OWN):
        with suppress(ImportError):
            importlib.import_module(module)
    first, *inner = path.split(".")
    found: Any = getattr(sys.modules.get(module), first, None)
    for part in inner:  # of classes alone: a property of an instance is code
        found = getattr(found, part, None) if isinstance(found, type) else None
    # A name that the module merely imports does not count, unless it is a stand-in for a removed
    # module's or one that PyTorch has there. A second name does: `torch.ger` is `outer`.
    named = hasattr(found, "__qualname__")
    if (named and found.__module__ == module) or module in STAND_INS:
        return found
    from nanotorch.names.scope import HOMES  # few files need it

    return found if module.partition(".")[2] in HOMES else None


def allowed_by_program(known: str) -> Any:
    """What `add_safe_globals` has allowed under a name; None if there is nothing."""
    for entry in noted:
        value, own = entry if isinstance(entry, tuple) else (entry, None)
        if known == (own or f"{value.__module__}.{value.__qualname__}"):
            return value
    return None


def named(name: str, weights_only: bool | None) -> Any:
    """The class or function that a file names.

    Raises:
        pickle.UnpicklingError: if the file must not name it.
        RuntimeError: if it does not exist.
    """
    known = name.replace(":", ".")
    if (value := allowed_by_program(known)) is not None:
        return value
    trusted = weights_only is False
    found = definition_at(name) if trusted or name.startswith(OWN) else None
    # Any file may name layers and the functions that layers use. Other functions may execute their
    # arguments, and a module calls its hooks with values from the file.
    if isinstance(found, type):
        harmless = issubclass(found, Module)
    else:
        own = getattr(found, "__qualname__", "")
        homes = map(importlib.import_module, PUBLIC if own else ())
        harmless = any(getattr(home, own, None) is found for home in homes)
    # The collector calls `__del__`, with attributes from the file.
    if not harmless and (not trusted or hasattr(found, "__del__")):
        shown = known[:200].encode("utf-8", "backslashreplace").decode("utf-8")
        raise pickle.UnpicklingError(NOT_ALLOWED.format(shown))
    if found is None:
        raise RuntimeError(f"there is no {known}; define or import it before the file is loaded")
    return found


STATEFUL = (Optimizer, LRScheduler)


def is_plain_object(value: Any) -> bool:
    """Whether an object consists of its class and attributes alone, also for pickle."""
    kind: Any = type(value)
    return (
        hasattr(value, "__dict__")
        and not isinstance(value, (type, FunctionType, *STATEFUL))
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not hasattr(kind, "__setstate__")
        and kind.__basicsize__ == Module.__basicsize__  # neither slots nor C fields
    )


def fill(made: Any, attributes: Iterable[tuple[str, Any]]) -> None:
    """Give an object its attributes. The hooks and parts of a module keep their containers."""
    own = vars(made)
    for key, value in attributes:
        if isinstance(own.get(key), (dict, set)):
            own[key].update(value)
        else:
            own[key] = value
