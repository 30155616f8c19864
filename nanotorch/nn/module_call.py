"""The call of a module: its `forward`, the hooks around it and those of the backward pass."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from nanotorch._core.arguments import ABSENT
from nanotorch._core.call_site import (
    WHERE,
    at_site,
    call_site_of,
    describe_operands,
    find_site,
    ours,
    warn,
)
from nanotorch._core.engine import check_replacements, lift, lower
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import (
    ASK,
    CUSTOM,
    NO_EDGE,
    HookDict,
    Node,
    RemovableHandle,
    View,
    add_hook,
    edge_of,
    next_sequence,
)
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.names.lookup import advised

BOTH = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use "
    "only one of them."
)


# Hooks of all modules: they run before a module's own.


every_before, every_after = HookDict(), HookDict()


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before every `forward`; see `register_forward_pre_hook`."""
    return add_hook(every_before, hook)


def register_module_forward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after every `forward`; see `register_forward_hook`."""
    return add_hook(every_after, hook)


# Backward hooks of the former kind: they see only the last node of a module.


WARNING = (
    "A non-full backward hook sees the gradients of one node only, and this module has others. "
    "Please use register_full_backward_hook to get the documented behavior."
)


def attach_backward_hooks(
    module: Any, hooks: Sequence[Callable[..., Any]], args: tuple[Any, ...], result: Any
) -> None:
    """Register ``hook(module, grad_inputs, grad_outputs)`` at the node of the first output."""
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next(v for v in first.values() if isinstance(v, Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda given, of, hook=hook: hook(module, given, of))
    outputs = (result,) if isinstance(result, Tensor) else result
    simple = isinstance(outputs, tuple) and all(isinstance(x, Tensor) for x in (*outputs, *args))
    if not simple or (
        len({o.grad_fn for o in outputs if o.grad_fn is not None}) > 1
        or {a.grad_fn for a in args if a.grad_fn is not None} != {n for n, _ in node.next_functions}
    ):
        warn(WARNING, FutureWarning)


# Full backward hooks: a node at each end of a module's call runs them.


NO_INPUT_GRAD = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since "
    "no inputs require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)
Gradients = tuple[Tensor | None, ...]


class BackwardHookFunctionBackward(Node):
    """The node at a module's inputs and at its outputs, which passes gradients on.

    Attributes:
        notice: a function of the gradients to pass on, with zeros for missing ones, and of the
            gradients that arrived. Its result, unless None, replaces the gradients to pass on.
    """

    notice: Callable[[Gradients, Gradients], Gradients | None]

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        arrived = tuple(lift(g) for g in grads)
        passed = tuple(
            wrap(np.zeros(*metadata)) if g is None else g
            for g, metadata in zip(arrived, self._outputs, strict=True)
        )
        replaced = self.notice(passed, arrived)
        if replaced is None:
            return [lower(g, graph) for g in passed]
        check_replacements(hook, replaced, passed)
        return [lower(g, graph) for g in replaced]


def hook() -> None:
    """The function that errors about module hooks name, as in PyTorch."""


class BackwardHooks:
    """One call of a module with backward hooks: joins the gradients at both ends.

    In the backward pass, the node at the outputs runs first and keeps their gradients. The node at
    the inputs runs last and calls the hooks with the gradients of both ends.
    """

    def __init__(self, module: Any, hooks: Sequence[Any], pre_hooks: Sequence[Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs: list[int] | None = None  # positions of tensors; None if none requires grad
        self.outputs: list[int] | None = None
        self.input_count = self.output_count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments as outputs of a node that calls the hooks."""
        self.input_count = len(args)
        args, self.inputs = put_behind_node(args, self.at_inputs)
        return args

    def leave(self, result: Any) -> Any:
        """The results as outputs of a node that keeps their gradients."""
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
            )
        results = result if isinstance(result, tuple) else (result,)
        self.output_count = len(results)
        results, self.outputs = put_behind_node(results, self.at_outputs)
        return results if isinstance(result, tuple) else results[0]

    def at_inputs(self, grads: Gradients, _: Gradients) -> Gradients | None:
        """Call the hooks once the gradients of the inputs are known."""
        if self.grad_outputs is None or self.inputs is None:
            return None  # the gradients did not come through the module's outputs
        held = place_values(self.inputs, grads, self.input_count)
        for hook in self.hooks:
            given = hook(self.module, held, self.grad_outputs)
            held = replace_gradients(held, given, "hook returned an invalid number of grad_input")
        self.grad_outputs = None
        return tuple(held[i] for i in self.inputs)

    def at_outputs(self, _: Gradients, grads: Gradients) -> Gradients:
        """Call the pre-hooks with the gradients of the outputs; keep the results."""
        assert self.outputs is not None
        held = place_values(self.outputs, grads, self.output_count)
        for hook in self.pre_hooks:
            given = hook(self.module, held)
            held = replace_gradients(
                held, given, "pre hook returned an invalid number of grad_output"
            )
        self.grad_outputs = held
        if self.inputs is None:  # no node at the inputs: call the hooks here
            self.grad_outputs = None
            if self.hooks:
                warn(NO_INPUT_GRAD)
            for hook in self.hooks:
                result = hook(self.module, (None,) * self.input_count, held)
                nothing = isinstance(result, tuple) and all(g is None for g in result)
                if result is not None and not nothing:
                    raise RuntimeError("a backward hook has no input's gradient to replace here")
        return tuple(held[i] for i in self.outputs)


def replace_gradients(held: tuple[Any, ...], given: Any, wrong: str) -> tuple[Any, ...]:
    """The gradients ``held`` or, unless None, a hook's replacement of the same length."""
    if given is None:
        return held
    if len(given) != len(held):
        raise RuntimeError(f"Backward {wrong}, got {len(given)}, but expected {len(held)}")
    return given


def put_behind_node(
    values: tuple[Any, ...], notice: Callable[[Gradients, Gradients], Gradients | None]
) -> tuple[tuple[Any, ...], list[int] | None]:
    """Make the tensors of a tuple outputs of one node that passes gradients on.

    Returns:
        The tuple, of the same type, and the positions of the tensors; the positions are None if no
        tensor requires grad or nothing is recorded.
    """
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not mode.enabled or not any(t.requires_grad for t in tensors):
        return values, None
    node = BackwardHookFunctionBackward()
    node.notice = notice
    node._sequence = next_sequence()
    node._edges = tuple(edge_of(t) if t.requires_grad else NO_EDGE for t in tensors)
    node._outputs = tuple((t._array.shape, t._array.dtype) for t in tensors)
    positions = [k for k, v in enumerate(values) if isinstance(v, Tensor)]
    passed = list(values)
    for number, (position, tensor) in enumerate(zip(positions, tensors, strict=True)):
        passed[position] = view_behind_node(tensor, node, number)
    kind: Any = type(values)
    return (tuple(passed) if kind is tuple else kind(*passed)), positions


def view_behind_node(tensor: Tensor, node: Node, number: int) -> Tensor:
    """A read-only view of the whole tensor, output ``number`` of ``node``."""
    out = tensor.detach()
    if tensor.requires_grad:
        view = tensor._view
        base, steps = (tensor, ()) if view is None else (view.base, view.steps)
        out._view, out._history = View(base, steps, out._cell[0], CUSTOM), ASK
        out._come_from((node, number))
    return out


def place_values(positions: list[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """A tuple of ``count`` entries with the values at their positions and None elsewhere."""
    held = dict(zip(positions, values, strict=True))
    return tuple(map(held.get, range(count)))


# Errors of nanotorch name the module that raised them.


WORDED = (RuntimeError, ValueError, IndexError, TypeError, AssertionError)


def note_module(
    error: Exception, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Add the module and its inputs to the text of an error from its `forward`.

    Errors of the user's own code keep their text.
    """
    if type(error) not in WORDED or not error.args:
        return
    trace: Any = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
        if trace.tb_frame.f_code is ModuleCall._call_impl.__code__:
            return  # an inner module noted it already
    frame = trace.tb_frame
    found, user = call_site_of(frame) if ours[frame.f_code.co_filename] else (None, None)
    if found is None or user is None or found.module is None:
        return
    if module._is_ours:
        from nanotorch.nn.advice import advise  # errors are few

        advise(error, module, args[0] if args else next(iter(kwargs.values()), ABSENT))
    text, _, about = str(error).partition(WHERE)
    if not about:
        code, bound = getattr(module.forward, "__code__", None), hasattr(module.forward, "__self__")
        names = code.co_varnames[bound : code.co_argcount] if code else ()
        given = dict(zip(names, args, strict=False)) | kwargs
        tensors = {name: value for name, value in given.items() if isinstance(value, Tensor)}
        about = describe_operands(tensors).removeprefix(WHERE)
    place = at_site((user.f_code, user.f_lasti))
    about = about.replace(place, " on the same line")
    error.args = (f"{text}{WHERE}\n  in module {found.module}{place}{about}",)


getframe = sys._getframe
SILENCED = (
    "module forward hook with ``always_call=True`` raised an exception that was silenced as "
    "another error was raised in forward: {error}"
)


Signature = TypeVar("Signature", covariant=True)


class HasForward(Protocol[Signature]):
    """The type of an object with a `forward`, for type checkers."""

    @property
    def forward(self) -> Signature: ...


class ModuleCall:
    """A base of `Module`: `__call__` and the registration of hooks."""

    # In the order of PyTorch's look-up: the error without `super().__init__()` reads the same.
    _backward_hooks: HookDict
    _backward_pre_hooks: HookDict
    _forward_hooks: HookDict
    _forward_pre_hooks: HookDict
    # The numbers of the hooks above that were registered with these options.
    _forward_hooks_with_kwargs: set[int]
    _forward_hooks_always_called: set[int]
    _forward_pre_hooks_with_kwargs: set[int]
    _is_full_backward_hook: bool | None = None  # the kind of the backward hooks
    # Whether `forward` runs none of the user's code, such as a function among a layer's options.
    _is_ours = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_is_ours" not in vars(cls):
            module = sys.modules.get(cls.__module__)
            cls._is_ours = ours[getattr(module, "__file__", None) or ""]

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if (
                self._backward_hooks
                or self._backward_pre_hooks
                or self._forward_hooks
                or self._forward_pre_hooks
                or every_before
                or every_after
            ):
                return self._call_with_hooks(args, kwargs)
            recording = mode.enabled
            if recording is True and self._is_ours:
                # The site of nodes made in `forward` is the user's call of this module.
                frame = getframe(1)
                code = frame.f_code
                site = find_site(frame) or True if ours[code.co_filename] else (code, frame.f_lasti)
                mode.enabled = site
            elif recording.__class__ is tuple and not self._is_ours:
                mode.enabled = site = True  # the user's own code
            else:
                return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
            try:
                return self.forward(*args, **kwargs) if kwargs else self.forward(*args)
            finally:
                if mode.enabled is site:
                    mode.enabled = recording
        except Exception as error:
            note_module(error, self, args, kwargs)
            raise

    if TYPE_CHECKING:  # a call has the signature of `forward`
        forward: Callable[..., Any]

        @property
        def __call__(self: "HasForward[Signature]") -> Signature: ...

    else:

        def forward(self, *input: Any) -> Any:
            """The output of the module; every subclass defines its own.

            Raises:
                NotImplementedError: always, in this base class.
            """
            kind = type(self).__name__
            text = f'Module [{kind}] is missing the required "forward" function'
            error = NotImplementedError(text)
            from difflib import get_close_matches  # errors are few

            near = get_close_matches("forward", vars(type(self)), 1, 0.75)
            raise advised(error, "misspelt forward", kind, near[0]) if near else error

        __call__ = _call_impl

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called: set[int] = set()
        result, recording = None, mode.enabled
        if recording.__class__ is tuple:
            mode.enabled = True  # hooks are the user's own code
        try:
            full = self._is_full_backward_hook
            backward = (*self._backward_hooks.values(),) if full else ()
            backward_pre = (*self._backward_pre_hooks.values(),)
            for number, hook in [*every_before.items(), *self._forward_pre_hooks.items()]:
                args, kwargs = self._call_pre_hook(number, hook, args, kwargs)
            ends = BackwardHooks(self, backward, backward_pre) if backward or backward_pre else None
            if ends is not None:
                args = ends.enter(args)
            result = self.forward(*args, **kwargs)
            for number, hook in [*every_after.items(), *self._forward_hooks.items()]:
                called.add(number)
                result = self._call_forward_hook(number, hook, args, kwargs, result)
            if ends is not None:
                result = ends.leave(result)
            if self._backward_hooks and not full:
                attach_backward_hooks(self, list(self._backward_hooks.values()), args, result)
            return result
        except Exception:
            for number, hook in list(self._forward_hooks.items()):
                if number in self._forward_hooks_always_called and number not in called:
                    try:
                        result = self._call_forward_hook(number, hook, args, kwargs, result)
                    except Exception as error:
                        warn(SILENCED.format(error=error))
            raise
        finally:
            if recording.__class__ is tuple and mode.enabled is True:
                mode.enabled = recording

    def _call_pre_hook(
        self, number: int, hook: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        with_kwargs = number in self._forward_pre_hooks_with_kwargs
        result = hook(self, *((args, kwargs) if with_kwargs else (args,)))
        if result is None:
            return args, kwargs
        if not with_kwargs:
            return (result if isinstance(result, tuple) else (result,)), kwargs
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or (new_args, new_kwargs), but got {result}."
            )
        return result

    def _call_forward_hook(
        self, number: int, hook: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        """The result of `forward` or, unless None, the result of the hook."""
        with_kwargs = number in self._forward_hooks_with_kwargs
        replaced = hook(self, *((args, kwargs) if with_kwargs else (args,)), result)
        return result if replaced is None else replaced

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before `forward`.

        Args:
            hook: its result, unless None, replaces the positional arguments.
            prepend: call it before the other hooks, not after them. Default: False.
            with_kwargs: call ``hook(module, args, kwargs)``, which returns None or a pair of new
                arguments and keyword arguments. Default: False.
        """
        handle = add_hook(self._forward_pre_hooks, hook, first=prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs.add(handle.id)
        return handle

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:  # fmt: skip
        """Call ``hook(module, args, output)`` after `forward`.

        Args:
            hook: its result, unless None, replaces the output.
            prepend: call it before the other hooks, not after them. Default: False.
            with_kwargs: call ``hook(module, args, kwargs, output)``. Default: False.
            always_call: call it even if `forward` raises; its own errors then become warnings.
                Default: False.
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

        Both are tuples with None for values that are not tensors. The result of the hook, unless
        None, replaces ``grad_input``. `forward` receives views of its arguments, and the caller
        receives views of the outputs; neither may be changed in place.

        Args:
            hook: the function to call.
            prepend: call it before the other hooks, not after them. Default: False.

        Raises:
            RuntimeError: if the module has hooks of `register_backward_hook`.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(BOTH)
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` with the gradients of the last node only.

        Raises:
            RuntimeError: if the module has hooks of `register_full_backward_hook`.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(BOTH)
        self._is_full_backward_hook = False
        return add_hook(self._backward_hooks, hook)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` when the gradients of the outputs are known.

        Its result, unless None, replaces ``grad_output`` from there on.

        Args:
            hook: the function to call.
            prepend: call it before the other hooks, not after them. Default: False.
        """
        return add_hook(self._backward_pre_hooks, hook, first=prepend)
