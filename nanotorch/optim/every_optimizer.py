"""Hooks around the steps of all optimizers."""

from collections.abc import Callable
from typing import Any

from nanotorch._core.hooks import HookDict, RemovableHandle, add_hook

before, after = HookDict(), HookDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step, before the optimizer's own hooks.

    A pair it returns replaces both.
    """
    return add_hook(before, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step, after the optimizer's own hooks."""
    return add_hook(after, hook)
