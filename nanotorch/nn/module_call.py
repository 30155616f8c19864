"""Calling a module: its `forward`, with the hooks around it and those of the backward pass."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from nanotorch._core.call_site import climb, ours, warn
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

# Hooks of all modules: they are called before a module's own ones, whichever module it is.


BOTH = (
    "Cannot use both regular backward hooks and full backward hooks {}. Please use only one of "
    "them."
)
BOTH_GLOBAL = BOTH.format("as a global Module hook")


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


def of_kind(kind: str) -> list[tuple[int, Entry]]:
    """The entries of one kind, with their numbers, in their order."""
    return [(number, entry) for number, entry in calls.items() if entry.kind == kind]


def hooks_of(kind: str) -> list[Callable[..., Any]]:
    """The hooks that all modules have of one kind."""
    return [entry.hook for _, entry in of_kind(kind)]


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What to register: ``value``, or what a hook gives in its place."""
    for entry in list(registrations.values()):
        if entry.kind == kind:
            replaced = entry.hook(module, name, value)
            value = value if replaced is None else replaced
    return value


def _add(kind: str, hook: Any, entries: Any = calls, **options: bool) -> RemovableHandle:
    return add_hook(entries, Entry(kind, hook, **options))  # type: ignore[arg-type]


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
    if of_kind("former_backward"):
        raise RuntimeError(BOTH_GLOBAL)
    return _add("backward", hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The same with the gradients of the last node only; see `Module.register_backward_hook`.

    Raises:
        RuntimeError: if there are hooks of `register_module_full_backward_hook`.
    """
    if of_kind("backward"):
        raise RuntimeError(BOTH_GLOBAL)
    return _add("former_backward", hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, buffer)`` when a buffer is registered; it may return another."""
    return _add("buffer", hook, registrations)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, child)`` when a child is registered; it may return another."""
    return _add("module", hook, registrations)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` when one is registered; it may return another."""
    return _add("parameter", hook, registrations)


# Backward hooks of the former kind, which see the last node of a module in place of the module.


WARNING = (
    "Using {what} is deprecated and will be removed in future versions. This hook will be missing "
    "some {missing}. Please use register_full_backward_hook to get the documented behavior."
)


def attach(
    module: Any, hooks: Sequence[Callable[..., Any]], args: tuple[Any, ...], result: Any
) -> None:
    """Let the node behind the first output call ``hook(module, grad_inputs, grad_outputs)``."""
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
    of_module = "non-full backward hooks on a Module that does not {} Tensor or a tuple of Tensors"
    when = "a non-full backward hook when {} autograd Nodes"
    if not isinstance(outputs, tuple) or not all(isinstance(o, Tensor) for o in outputs):
        what, missing = of_module.format("return a single"), "of the grad_output"
    elif not all(isinstance(a, Tensor) for a in args):
        what, missing = of_module.format("take as input a single"), "of the grad_input"
    elif len({o.grad_fn for o in outputs if o.grad_fn is not None}) > 1:
        what, missing = when.format("outputs are generated by different"), "grad_output"
    elif {a.grad_fn for a in args if a.grad_fn is not None} != {n for n, _ in node.next_functions}:
        what, missing = when.format("the forward contains multiple"), "grad_input"
    else:
        return
    warn(WARNING.format(what=what, missing=missing), FutureWarning)


# The backward hooks of a module: what they are called by, at both ends of its call.


NO_INPUT_GRAD = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since "
    "no inputs require gradients. See "
    "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)
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
        if replaced is None:
            return [lower(g, graph) for g in passed]
        check_replacements(hook, replaced, passed)
        return [lower(g, graph) for g in replaced]


def hook() -> None:
    """What messages about the hooks of modules name, as PyTorch's do."""


class BackwardHooks:
    """One call of a module with backward hooks: joins the gradients of its two ends.

    The node behind the outputs runs first and notes their gradients; the node before the inputs
    runs last and calls the hooks with both.
    """

    def __init__(self, module: Any, hooks: Sequence[Any], pre_hooks: Sequence[Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.inputs: list[int] | None = None  # positions of tensors, if any requires grad
        self.outputs: list[int] | None = None
        self.input_count = self.output_count = 0

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, behind a node that calls the hooks."""
        self.input_count = len(args)
        args, self.inputs = behind_node(args, self.at_inputs)
        return args

    def leave(self, result: Any) -> Any:
        """The outputs, before a node that notes their gradients."""
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
            )
        results = result if isinstance(result, tuple) else (result,)
        self.output_count = len(results)
        results, self.outputs = behind_node(results, self.at_outputs)
        return results if isinstance(result, tuple) else results[0]

    def at_inputs(self, grads: Gradients, _: Gradients) -> Gradients | None:
        """The gradients of the inputs are here: call the hooks."""
        if self.grad_outputs is None or self.inputs is None:
            return None  # they came by another way than through the module's outputs
        held = spread(self.inputs, grads, self.input_count)
        for hook in self.hooks:
            given = hook(self.module, held, self.grad_outputs)
            held = replaced(held, given, "hook returned an invalid number of grad_input")
        self.grad_outputs = None
        return tuple(held[i] for i in self.inputs)

    def at_outputs(self, _: Gradients, grads: Gradients) -> Gradients:
        """The gradients of the outputs are here: call the pre-hooks and note what they give."""
        assert self.outputs is not None
        held = spread(self.outputs, grads, self.output_count)
        for hook in self.pre_hooks:
            given = hook(self.module, held)
            held = replaced(held, given, "pre hook returned an invalid number of grad_output")
        self.grad_outputs = held
        if self.inputs is None:  # nothing follows that would call the other hooks
            self.grad_outputs = None
            if self.hooks:
                warn(NO_INPUT_GRAD)
            for hook in self.hooks:
                result = hook(self.module, (None,) * self.input_count, held)
                nothing = isinstance(result, tuple) and all(g is None for g in result)
                if result is not None and not nothing:
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always "
                        "return None or None for all gradients."
                    )
        return tuple(held[i] for i in self.outputs)


def replaced(held: tuple[Any, ...], given: Any, wrong: str) -> tuple[Any, ...]:
    """The gradients, or as many that a hook gave in their place."""
    if given is None:
        return held
    if len(given) != len(held):
        raise RuntimeError(f"Backward {wrong}, got {len(given)}, but expected {len(held)}")
    return given


def behind_node(
    values: tuple[Any, ...], notice: Callable[[Gradients, Gradients], Gradients | None]
) -> tuple[tuple[Any, ...], list[int] | None]:
    """Put the tensors of a tuple behind one node that passes gradients on.

    Returns:
        The tuple, of its own type, and the positions of the tensors; None if none of them requires
        grad or nothing is recorded.
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
        passed[position] = stand_in(tensor, node, number)
    kind: Any = type(values)
    return (tuple(passed) if kind is tuple else kind(*passed)), positions


def stand_in(tensor: Tensor, node: Node, number: int) -> Tensor:
    """A view of the whole tensor as output ``number`` of ``node``, which must not be written to."""
    out = tensor.detach()
    if tensor.requires_grad:
        view = tensor._view
        base, steps = (tensor, ()) if view is None else (view.base, view.steps)
        out._view, out._history = View(base, steps, out._cell[0], CUSTOM), ASK
        out._come_from((node, number))
    return out


def spread(positions: list[int], values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """A tuple of ``count`` entries with the values at their positions and None elsewhere."""
    held = dict(zip(positions, values, strict=True))
    return tuple(map(held.get, range(count)))


getframe = sys._getframe
SILENCED = (
    "module forward hook with ``always_call=True`` raised an exception that was silenced as "
    "another error was raised in forward: {error}"
)


Signature = TypeVar("Signature", covariant=True)


class HasForward(Protocol[Signature]):
    """What has a `forward`, for type checkers."""

    @property
    def forward(self) -> Signature: ...


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

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
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
            frame = getframe(1)
            code = frame.f_code
            site = climb(frame) or True if ours[code.co_filename] else (code, frame.f_lasti)
            mode.enabled = site
        elif recording.__class__ is tuple and not self._is_ours:
            mode.enabled = site = True  # the user's own code
        else:
            return self.forward(*args, **kwargs)
        try:
            return self.forward(*args, **kwargs)
        finally:
            if mode.enabled is site:
                mode.enabled = recording

    if TYPE_CHECKING:  # a call takes what `forward` takes, and returns what it returns
        forward: Callable[..., Any]

        @property
        def __call__(self: "HasForward[Signature]") -> Signature: ...

    else:

        def forward(self, *input: Any) -> Any:
            """What the module computes; every subclass has its own.

            Raises:
                NotImplementedError: if it has not.
            """
            raise NotImplementedError(
                f'Module [{type(self).__name__}] is missing the required "forward" function'
            )

        __call__ = _call_impl

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
            former, backward = hooks_of("former_backward"), hooks_of("backward")
            (backward if self._is_full_backward_hook else former).extend(
                self._backward_hooks.values()
            )
            backward_pre = (*hooks_of("backward_pre"), *self._backward_pre_hooks.values())
            for _, entry in self._entries("forward_pre"):
                args, kwargs = self._call_pre_hook(entry, args, kwargs)
            ends = BackwardHooks(self, backward, backward_pre) if backward or backward_pre else None
            if ends is not None:
                args = ends.enter(args)
            result = self.forward(*args, **kwargs)
            for number, entry in self._entries("forward"):
                called.add(number)
                result = self._call_forward_hook(entry, args, kwargs, result)
            if ends is not None:
                result = ends.leave(result)
            if former:
                attach(self, former, args, result)
            return result
        except Exception:
            for number, entry in self._entries("forward"):
                if entry.always and number not in called:
                    try:
                        result = self._call_forward_hook(entry, args, kwargs, result)
                    except Exception as error:
                        warn(SILENCED.format(error=error))
            raise

    def _entries(self, kind: str) -> list[tuple[int, Entry]]:
        """The hooks around `forward`, "forward" or "forward_pre": of all modules, and its own."""
        entries, own = of_kind(kind), vars(self)
        for number, hook in own[f"_{kind}_hooks"].items():
            with_kwargs = number in own[f"_{kind}_hooks_with_kwargs"]
            always = kind == "forward" and number in self._forward_hooks_always_called
            entries.append((number, Entry(kind, hook, with_kwargs, always)))
        return entries

    def _call_pre_hook(
        self, entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        result = entry.hook(self, *((args, kwargs) if entry.with_kwargs else (args,)))
        if result is None:
            return args, kwargs
        if not entry.with_kwargs:
            return (result if isinstance(result, tuple) else (result,)), kwargs
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
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:  # fmt: skip
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
            raise RuntimeError(BOTH.format("on a single Module"))
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, first=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` with the gradients of the last node only.

        Raises:
            RuntimeError: if there are hooks of `register_full_backward_hook`.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(BOTH.format("on a single Module"))
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
