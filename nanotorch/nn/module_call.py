"""Calling a module: its `forward`, with the hooks around it and those of the backward pass."""

import sys
from collections.abc import Callable
from typing import Any

from nanotorch._core.grad_mode import mode
from nanotorch._core.hooks import HookDict, RemovableHandle, add_hook
from nanotorch._core.origins import climb, ours
from nanotorch._core.warned import warn
from nanotorch.nn import former_hooks
from nanotorch.nn.every_module import Entry, calls, of_kind
from nanotorch.nn.passage import Passage

getframe = sys._getframe
SILENCED = (
    "module forward hook with ``always_call=True`` raised an exception that was silenced as "
    "another error was raised in forward: {error}"
)


def hooks_of(kind: str) -> list[Callable[..., Any]]:
    """The hooks that all modules have of one kind."""
    return [entry.hook for _, entry in of_kind(kind)]


class ModuleCall:
    """`__call__` and the registration of hooks; a base of `Module`."""

    # In the order of PyTorch's look-up, so that a missing `super().__init__()` reads the same.
    _backward_hooks: HookDict
    _backward_pre_hooks: HookDict
    _forward_hooks: HookDict
    _forward_pre_hooks: HookDict
    # Which of the hooks above, by their numbers, were registered with these options.
    _forward_hooks_with_kwargs: set[int]
    _forward_hooks_always_called: set[int]
    _forward_pre_hooks_with_kwargs: set[int]
    _is_full_backward_hook: bool | None = None  # of which kind they are
    # Whether nothing of the user's runs in `forward`, as functions that a layer is given do.
    _is_ours = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_is_ours" not in vars(cls):
            module = sys.modules.get(cls.__module__)
            cls._is_ours = ours[getattr(module, "__file__", None) or ""]

    def forward(self, *input: Any) -> Any:
        """What the module computes; every subclass has its own.

        Raises:
            NotImplementedError: if it has not.
        """
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or calls
        ):
            return self._call_with_hooks(args, kwargs)
        recording = mode.enabled
        if recording is True and self._is_ours:
            # Nodes made in there come from the user's call of this module.
            mode.enabled = site = climb(getframe(1)) or True
        elif recording.__class__ is tuple and not self._is_ours:
            mode.enabled = site = True  # the user's own code
        else:
            return self.forward(*args, **kwargs)
        try:
            return self.forward(*args, **kwargs)
        finally:
            if mode.enabled is site:
                mode.enabled = recording

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recording = mode.enabled
        if recording.__class__ is not tuple:
            return self._call_between_hooks(args, kwargs)
        mode.enabled = True  # hooks are the user's own code
        try:
            return self._call_between_hooks(args, kwargs)
        finally:
            if mode.enabled is True:
                mode.enabled = recording

    def _call_between_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()
        result = None
        try:
            former, backward = self._backward_hooks_of_both()
            backward_pre = (*hooks_of("backward_pre"), *self._backward_pre_hooks.values())
            for entry in self._all_forward_pre_hooks():
                args, kwargs = self._call_pre_hook(entry, args, kwargs)
            passage = Passage(self, backward, backward_pre) if backward or backward_pre else None
            if passage is not None:
                args = passage.enter(args)
            result = self.forward(*args, **kwargs)
            for number, entry in self._all_forward_hooks():
                called.add(number)
                result = self._call_forward_hook(entry, args, kwargs, result)
            if passage is not None:
                result = passage.leave(result)
            if former:
                former_hooks.attach(self, former, args, result)
            return result
        except Exception:
            for number, entry in self._all_forward_hooks():
                if entry.always and number not in called:
                    try:
                        result = self._call_forward_hook(entry, args, kwargs, result)
                    except Exception as error:
                        warn(SILENCED.format(error=error))
            raise

    def _backward_hooks_of_both(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Those of the former kind and the full ones."""
        own = tuple(self._backward_hooks.values())
        former, full = ((), own) if self._is_full_backward_hook else (own, ())
        return (*hooks_of("former_backward"), *former), (*hooks_of("backward"), *full)

    def _all_forward_pre_hooks(self) -> list[Entry]:
        every = [entry for _, entry in of_kind("forward_pre")]
        for number, hook in self._forward_pre_hooks.items():
            with_kwargs = number in self._forward_pre_hooks_with_kwargs
            every.append(Entry("forward_pre", hook, with_kwargs))
        return every

    def _all_forward_hooks(self) -> list[tuple[int, Entry]]:
        every = list(of_kind("forward"))
        for number, hook in self._forward_hooks.items():
            with_kwargs = number in self._forward_hooks_with_kwargs
            always = number in self._forward_hooks_always_called
            every.append((number, Entry("forward", hook, with_kwargs, always)))
        return every

    def _call_pre_hook(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not entry.with_kwargs:
            result = entry.hook(self, args)
            if result is None:
                return args, kwargs
            return (result if isinstance(result, tuple) else (result,)), kwargs
        result = entry.hook(self, args, kwargs)
        if result is None:
            return args, kwargs
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                f"{result}."
            )
        return result

    def _call_forward_hook(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        """The result, or what the hook gives in its place."""
        given = (args, kwargs, result) if entry.with_kwargs else (args, result)
        replaced = entry.hook(self, *given)
        return result if replaced is None else replaced

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before `forward`.

        Args:
            hook: what it returns, if not None, replaces the positional arguments.
            prepend: put it before the hooks that are there. Default: after them.
            with_kwargs: call ``hook(module, args, kwargs)``, which returns None or a pair of new
                arguments and keyword arguments.
        """
        handle = add_hook(self._forward_pre_hooks, hook, first=prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs.add(handle.id)
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after `forward`.

        Args:
            hook: what it returns, if not None, replaces the output.
            prepend: put it before the hooks that are there. Default: after them.
            with_kwargs: call ``hook(module, args, kwargs, output)``.
            always_call: call it even if `forward` raises; its own errors are then warnings.
        """
        handle = add_hook(self._forward_hooks, hook, first=prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs.add(handle.id)
        if always_call:
            self._forward_hooks_always_called.add(handle.id)
        return handle

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the inputs' gradients are known.

        Both are tuples with None for what is not a tensor. What the hook returns, if not None,
        replaces ``grad_input``. The module's forward receives views of its arguments, and the
        caller views of the outputs; neither may be changed in place.

        Args:
            prepend: put it before the hooks that are there. Default: after them.

        Raises:
            RuntimeError: if there are hooks of `register_backward_hook`.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(former_hooks.BOTH)
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` with the gradients of the last node only.

        Raises:
            RuntimeError: if there are hooks of `register_full_backward_hook`.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(former_hooks.BOTH)
        self._is_full_backward_hook = False
        return add_hook(self._backward_hooks, hook)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are known.

        What it returns, if not None, replaces ``grad_output`` in all that follows.

        Args:
            prepend: put it before the hooks that are there. Default: after them.
        """
        return add_hook(self._backward_pre_hooks, hook, first=prepend)
