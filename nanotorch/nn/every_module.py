"""Hooks of all modules: they are called before a module's own ones, whichever module it is."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from nanotorch._core.hooks import HookDict, RemovableHandle, add_hook

BOTH = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
    "Please use only one of them."
)


class Entry(NamedTuple):
    """A hook of all modules.

    Attributes:
        kind: when it is called: "forward", "forward_pre", "backward", "former_backward",
            "backward_pre"; or for what is registered: "buffer", "module", "parameter".
        hook: the user's function.
        with_kwargs: whether it gets the keyword arguments of the call as well.
        always: whether it is called even if `forward` raises.
    """

    kind: str
    hook: Callable[..., Any]
    with_kwargs: bool = False
    always: bool = False


calls: Any = HookDict()  # by number, the entries about calls
registrations: Any = HookDict()  # and those about what is registered


def of_kind(kind: str) -> Iterator[tuple[int, Entry]]:
    """The entries of one kind, with their numbers, in their order."""
    return iter([(number, entry) for number, entry in calls.items() if entry.kind == kind])


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What to register: ``value``, or what a hook gives in its place."""
    for entry in list(registrations.values()):
        if entry.kind == kind:
            replaced = entry.hook(module, name, value)
            value = value if replaced is None else replaced
    return value


def _add(kind: str, hook: Callable[..., Any], **options: bool) -> RemovableHandle:
    return add_hook(calls, Entry(kind, hook, **options))  # type: ignore[arg-type]


def _add_registration(kind: str, hook: Callable[..., Any]) -> RemovableHandle:
    return add_hook(registrations, Entry(kind, hook))  # type: ignore[arg-type]


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before every `forward`; see `register_forward_pre_hook`."""
    return _add("forward_pre", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after every `forward`; see `register_forward_hook`."""
    return _add("forward", hook, with_kwargs=with_kwargs, always=always_call)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` of all modules; see `register_full_backward_pre_hook`."""
    return _add("backward_pre", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` of all modules.

    See `Module.register_full_backward_hook`.

    Raises:
        RuntimeError: if there are hooks of `register_module_backward_hook`.
    """
    if any(of_kind("former_backward")):
        raise RuntimeError(BOTH)
    return _add("backward", hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The same with the gradients of the last node only; see `Module.register_backward_hook`.

    Raises:
        RuntimeError: if there are hooks of `register_module_full_backward_hook`.
    """
    if any(of_kind("backward")):
        raise RuntimeError(BOTH)
    return _add("former_backward", hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a buffer is registered; it may return another."""
    return _add_registration("buffer", hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, child)`` when a child is registered; it may return another."""
    return _add_registration("module", hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when one is registered; it may return another."""
    return _add_registration("parameter", hook)
