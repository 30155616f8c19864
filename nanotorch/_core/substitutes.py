"""Functions that have other code while a mode is on: at all other times the mode costs nothing."""

import inspect
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any, ClassVar, TypeVar

from nanotorch._core.arguments import EMPTY, LazySignature, copy_function

F = TypeVar("F", bound=Callable[..., Any])


class Substitutes:
    """Switches functions to other code while any thread needs it.

    The other code finds what to call in a keyword default of the function. The functions have no
    such argument, so their own code does not see it.

    Args:
        keyword: the name of this default.
        code: a function with the other code.
        first: whether the code of other kinds applies where both are on.

    Attributes:
        running: how many times the mode is on, in all threads.
        functions: the functions, each with its other code.
    """

    kinds: ClassVar[list["Substitutes"]] = []  # of two that are on, the code of the last applies
    own: ClassVar[dict[Any, CodeType]] = {}  # of each function, its own code
    copies: ClassVar[dict[Any, list[Any]]] = {}  # of a function, its copies: they share its rules
    lock: ClassVar[Any] = threading.RLock()

    def __init__(self, keyword: str, code: Any, first: bool = False) -> None:
        self.keyword, self.code, self.running = keyword, code.__code__, 0
        self.functions: dict[Any, CodeType] = {}
        self.kinds.insert(0 if first else len(self.kinds), self)

    def add(self, function: Any, asked: Any) -> None:
        """Add a function; a module may be imported first while the mode is on.

        Args:
            asked: the keyword default, which the other code calls.
        """
        with self.lock:
            own = self.own.setdefault(function, function.__code__)
            if not (hasattr(function, "__signature__") or hasattr(function, "__wrapped__")):
                # Without it, the signature would be that of the other code.
                own_form = copy_function(function, function.__qualname__)
                function.__signature__ = LazySignature(
                    lambda: list(inspect.signature(own_form).parameters.values()),
                    function.__annotations__.get("return", EMPTY),
                )
            # Python asks for as many free variables as the function has; none is read.
            self.functions[function] = self.code.replace(co_freevars=own.co_freevars)
            function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), self.keyword: asked}
            self._settle(function)

    def count(self, more: int) -> None:
        """Count that the mode begins (+1) or ends (-1) in a thread."""
        with self.lock:
            before, self.running = self.running, self.running + more
            if not (before and self.running):
                for function in self.functions:
                    self._settle(function)

    def _settle(self, function: Any) -> None:
        """Give a function the code that it must have now."""
        code = self.own[function]
        for kind in self.kinds:
            if kind.running and function in kind.functions:
                code = kind.functions[function]
        if function.__code__ is not code:
            function.__code__ = code


def share_rule(function: Any, copy: F) -> F:
    """Give a copy of a function the other code that the function has, or gets later."""
    Substitutes.copies.setdefault(function, []).append(copy)
    for kind in Substitutes.kinds:
        if asked := (function.__kwdefaults__ or {}).get(kind.keyword):
            kind.add(copy, asked)
    return copy
