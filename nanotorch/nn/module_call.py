"""Calling a module: its `forward`, with the hooks around it and those of the backward pass."""

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import NO_EDGE, Node, next_sequence
from nanotorch._core.hook_calls import lift, lower
from nanotorch._core.hooks import HookDict, RemovableHandle, add_hook
from nanotorch._core.origins import climb, ours
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import CUSTOM, View, edge_of
from nanotorch.nn import former_hooks

getframe = sys._getframe
NO_INPUT_GRAD = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since "
    "no inputs require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)
SILENCED = (
    "module forward hook with ``always_call=True`` raised an exception that was silenced as "
    "another error was raised in forward: {error}"
)


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
    _is_ours = False  # whether `forward` is the framework's own

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        code = getattr(cls.forward, "__code__", None)
        cls._is_ours = code is not None and ours[code.co_filename]

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
            hooks = tuple(self._backward_hooks.values())
            former, backward = ((), hooks) if self._is_full_backward_hook else (hooks, ())
            backward_pre = tuple(self._backward_pre_hooks.values())
            for number, hook in list(self._forward_pre_hooks.items()):
                args, kwargs = self._call_pre_hook(number, hook, args, kwargs)
            passage = Passage(self, backward, backward_pre) if backward or backward_pre else None
            if passage is not None:
                args = passage.enter(args)
            result = self.forward(*args, **kwargs)
            for number, hook in list(self._forward_hooks.items()):
                called.add(number)
                replaced = self._call_forward_hook(number, hook, args, kwargs, result)
                result = result if replaced is None else replaced
            if passage is not None:
                result = passage.leave(result)
            if former:
                former_hooks.attach(self, former, args, result)
            return result
        except Exception:
            for number, hook in list(self._forward_hooks.items()):
                if number in self._forward_hooks_always_called and number not in called:
                    try:
                        replaced = self._call_forward_hook(number, hook, args, kwargs, result)
                        result = result if replaced is None else replaced
                    except Exception as error:
                        warnings.warn(SILENCED.format(error=error), stacklevel=3)
            raise

    def _call_pre_hook(
        self, number: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if number not in self._forward_pre_hooks_with_kwargs:
            result = hook(self, args)
            if result is None:
                return args, kwargs
            return (result if isinstance(result, tuple) else (result,)), kwargs
        result = hook(self, args, kwargs)
        if result is None:
            return args, kwargs
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
                f"{result}."
            )
        return result

    def _call_forward_hook(
        self,
        number: int,
        hook: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
    ) -> Any:
        if number in self._forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

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


Gradients = tuple[Tensor | None, ...]


class BackwardHookFunctionBackward(Node):
    """Passes gradients on; stands before a module's inputs and behind its outputs.

    Attributes:
        notice: called with the gradients to pass on, zeros for those that did not arrive, and with
            those that arrived; what it returns, if not None, replaces the first.
    """

    notice: Callable[[Gradients, Gradients], Gradients | None]

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        arrived = tuple(lift(g) for g in grads)
        passed = tuple(
            wrap(np.zeros(*metadata)) if g is None else g
            for g, metadata in zip(arrived, self._outputs, strict=True)
        )
        replaced = self.notice(passed, arrived)
        results = passed if replaced is None else replaced
        return [lower(g, graph) for g in results]


class Passage:
    """One call of a module with backward hooks: joins the gradients of its two ends.

    The node behind the outputs runs first and notes their gradients; the node before the inputs
    runs last and calls the hooks with both.
    """

    def __init__(
        self,
        module: ModuleCall,
        hooks: Sequence[Callable[..., Any]],
        pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs: list[int] | None = None  # positions of tensors, if any requires grad
        self.outputs: list[int] | None = None
        self.input_count = self.output_count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a node that calls the hooks."""
        self.input_count = len(args)
        args, self.inputs, node = behind_node(args)
        if node is not None:
            node.notice = self.at_inputs
        return args

    def leave(self, result: Any) -> Any:
        """The outputs, before a node that notes their gradients."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=4,
            )
        results = result if isinstance(result, tuple) else (result,)
        self.output_count = len(results)
        results, self.outputs, node = behind_node(results)
        if node is not None:
            node.notice = self.at_outputs
        return results if isinstance(result, tuple) else results[0]

    def at_inputs(self, grads: Gradients, _: Gradients) -> Gradients | None:
        """The gradients of the inputs are here: call the hooks."""
        if self.grad_outputs is None or self.inputs is None:
            return None  # they came by another way than through the module's outputs
        held = spread(self.inputs, grads, self.input_count)
        for hook in self.hooks:
            result = hook(self.module, held, self.grad_outputs)
            if result is None:
                continue
            if len(result) != len(held):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, got "
                    f"{len(result)}, but expected {len(held)}"
                )
            held = result
        self.grad_outputs = None
        return tuple(held[i] for i in self.inputs)

    def at_outputs(self, _: Gradients, grads: Gradients) -> Gradients:
        """The gradients of the outputs are here: call the pre-hooks and note what they give."""
        assert self.outputs is not None
        held = spread(self.outputs, grads, self.output_count)
        for hook in self.pre_hooks:
            result = hook(self.module, held)
            if result is None:
                continue
            if len(result) != len(held):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, got "
                    f"{len(result)}, but expected {len(held)}"
                )
            held = result
        self.grad_outputs = held
        if self.inputs is None:
            self.call_without_inputs(held)
        return tuple(held[i] for i in self.outputs)

    def call_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        """Call the hooks of a module none of whose inputs requires grad."""
        self.grad_outputs = None
        if self.hooks:
            warnings.warn(NO_INPUT_GRAD, stacklevel=2)
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.input_count, grad_outputs)
            nothing = isinstance(result, tuple) and all(g is None for g in result)
            if result is not None and not nothing:
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )


def behind_node(
    values: tuple[Any, ...],
) -> tuple[tuple[Any, ...], list[int] | None, BackwardHookFunctionBackward | None]:
    """Put the tensors of a tuple behind one node that passes gradients on.

    Returns:
        The tuple, of its own type; the positions of the tensors; the node. The latter are None
        if no tensor requires grad or nothing is recorded.
    """
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not mode.enabled or not any(t.requires_grad for t in tensors):
        return values, None, None
    node = BackwardHookFunctionBackward()
    node._sequence = next_sequence()
    node.next_functions = tuple(edge_of(t) if t.requires_grad else NO_EDGE for t in tensors)
    node._outputs = tuple((t._array.shape, t._array.dtype) for t in tensors)
    positions: list[int] = []
    passed = list(values)
    for position, value in enumerate(values):
        if isinstance(value, Tensor):
            passed[position] = stand_in(value, node, len(positions))
            positions.append(position)
    kind: Any = type(values)
    return (tuple(passed) if kind is tuple else kind(*passed)), positions, node


def stand_in(tensor: Tensor, node: Node, number: int) -> Tensor:
    """A view of the whole tensor as output ``number`` of ``node``, which must not be written to."""
    out = tensor.detach()
    if tensor.requires_grad:
        out._requires_grad, out._edge = True, (node, number)
        view = tensor._view
        base, steps = (tensor, ()) if view is None else (view.base, view.steps)
        out._view = View(base, steps, out._cell[0], CUSTOM)
    return out


def spread(positions: list[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """A tuple of ``count`` entries with the values at their positions and None elsewhere."""
    held: list[Any] = [None] * count
    for position, value in zip(positions, values, strict=True):
        held[position] = value
    return tuple(held)
