"""Noticing that somebody replaces a function of the library, which a replay would not call."""

import sys
from collections.abc import Mapping
from types import CodeType, ModuleType
from typing import Any

from nanotorch._core.hooks import changes

# How often something in one of the library's modules was set or deleted.
patches = [0]


class WatchedModule(ModuleType):
    """A module of the library, once something is compiled: it counts what is set in it."""

    def __setattr__(self, name: str, value: Any) -> None:
        changes[0] += 1
        patches[0] += 1
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        changes[0] += 1
        patches[0] += 1
        super().__delattr__(name)


def watch_library() -> None:
    """Let the library's modules count what is set in them."""
    for name, module in sys.modules.copy().items():
        if name.partition(".")[0] == "nanotorch" and type(module) is ModuleType:
            module.__class__ = WatchedModule


def is_watched(module: ModuleType) -> bool:
    """Whether a module counts what is set in it."""
    return type(module) is WatchedModule


class Used:
    """What the library's code found in its modules: nothing of it may be another when replayed.

    Args:
        library: the code that ran, with the globals it saw.
    """

    def __init__(self, library: Mapping[CodeType, dict[str, Any]]) -> None:
        self.found: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}
        self.seen = patches[0]
        for code, space in library.items():
            for name in code.co_names:
                if name in space:
                    value = space[name]
                    self.found[id(space), name] = (space, value)
                    if isinstance(value, WatchedModule):
                        self.take_from(vars(value), code)

    def take_from(self, space: dict[str, Any], code: CodeType) -> None:
        """What code may ask of another module."""
        for name in code.co_names:
            if name in space:
                self.found[id(space), name] = (space, space[name])

    def unchanged(self) -> bool:
        """Whether all of it is what it was."""
        now = patches[0]
        if now != self.seen:
            items = self.found.items()
            if any(space.get(name) is not value for (_, name), (space, value) in items):
                return False
            self.seen = now
        return True
