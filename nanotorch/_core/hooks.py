"""Hooks: functions kept in the order of their registration, each with a handle that removes it."""

import itertools
import weakref
from collections.abc import Callable
from typing import Any

_ids = itertools.count()
# How often a hook was added or an attribute of a module or an optimizer set. Who has looked at
# these and seen a number here need not look again until it is another.
changes = [0]


class RemovableHandle:
    """Removes one hook; also a context manager that removes it at its end."""

    def __init__(self, hooks: "HookDict") -> None:
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class HookDict(dict[int, Callable[..., Any]]):
    """A dict that a handle can hold weakly, so that a handle keeps no graph alive."""

    __slots__ = ("__weakref__",)


def add_hook(hooks: HookDict, hook: Callable[..., Any], *, first: bool = False) -> RemovableHandle:
    """Append ``hook`` to ``hooks``, or put it before the others."""
    changes[0] += 1
    handle = RemovableHandle(hooks)
    if first:
        others = dict(hooks)
        hooks.clear()
        hooks[handle.id] = hook
        hooks.update(others)
    else:
        hooks[handle.id] = hook
    return handle
