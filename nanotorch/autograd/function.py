"""`Function`: an operation that the user defines by a forward and a backward on tensors."""

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core import doors
from nanotorch._core.call_site import count_write, current_site, warn
from nanotorch._core.grad_mode import is_grad_enabled, mode, no_grad
from nanotorch._core.graph import (
    CUSTOM,
    MULTI_OUTPUT,
    NO_EDGE,
    Edge,
    Node,
    check_write,
    edge_of,
    make_view,
    next_sequence,
    rebase,
)
from nanotorch._core.op import unpack_input, unpack_out
from nanotorch._core.tensor import Tensor, opened, wrap
from nanotorch.autograd.saved import hooks, pack_all
from nanotorch.func.batched import Batch, separately, under_vmap
from nanotorch.names.lookup import on_demand
from nanotorch.ops.shape import view_in

# How the outputs of a user's function enter the graph.
#
# An output may be a new tensor, a view, an unchanged input, or an input that `forward` wrote to. It
# may be one of several, or marked as having no gradient. Each case behaves as in PyTorch.


LEAF = "a leaf Variable that requires grad has been used in an in-place operation."
NO_TENSOR = ((), None)  # the shape and dtype noted for an output that is not a tensor


def finish_outputs(
    node: "BackwardCFunction", inputs: Sequence[Tensor], outputs: Any, recording: bool
) -> Any:
    """Give the outputs of `forward` their history and save the node's values; returns the outputs.

    Args:
        inputs: the arguments that are tensors.
        outputs: what `forward` returned.
        recording: whether ``node`` becomes part of the graph.
    """
    dirty = marked_tensors(node.dirty_tensors, "mark_dirty") if node.dirty_tensors else ()
    if dirty and not all(is_among(t, inputs) for t in dirty):
        warn("ctx.mark_dirty() received a tensor that was not an input")
    constants = node.non_differentiable or ()
    if constants:
        marked_tensors(constants, "mark_non_differentiable")
    several = isinstance(outputs, tuple)
    results = list(outputs) if several else [outputs]
    for t in dirty:
        if not is_among(t, results):
            raise RuntimeError("what `forward` marks as dirty must be among its outputs")
    differentiable = 0
    for number, out in enumerate(results):
        if not isinstance(out, Tensor):
            continue
        is_input, is_dirty = is_among(out, inputs), is_among(out, dirty)
        if is_dirty:
            count_write(out._cell, "a function that marks its input dirty")
        if not recording or is_among(out, constants) or out._array.dtype.kind != "f":
            results[number] = without_history(out, is_input, is_dirty)
            continue
        differentiable += 1
        if is_dirty and out.requires_grad and out._edge is None:
            raise RuntimeError(LEAF)
        if is_dirty and is_input:
            # The node follows the history of the input that was written to; its ``grad`` is reset.
            if out._view is not None and len(results) > 1:
                raise RuntimeError(
                    "a Function that writes to an input that is a view of another Tensor cannot "
                    "return more than one Tensor; write to a clone, or make it two Functions"
                )
            check_write(out)
            rebase(out, node, number, next(k for k, t in enumerate(inputs) if t is out))
            out.grad = None
        else:
            results[number] = attach_history(out, node, number, is_input)
    for out in results:
        if isinstance(out, Tensor) and out._view is not None and not is_among(out, dirty):
            out._view.origin = MULTI_OUTPUT if differentiable > 1 else CUSTOM
    if results and not dirty:
        name = node._forward_cls.__name__
        for watcher in doors.kernels:
            watcher.computed(name, tuple(results), [("input", inputs)])
    if recording:
        node._outputs = tuple([
            (t._array.shape, t._array.dtype) if isinstance(t, Tensor) else NO_TENSOR
            for t in results
        ])  # fmt: skip
        save_for_node(node)
        for observer in doors.nodes:
            observer.made(node, tuple(results), inputs)
    node.to_save = node.dirty_tensors = node.non_differentiable = None
    return tuple(results) if several else results[0]


def is_among(tensor: Any, tensors: Sequence[Any]) -> bool:
    """Whether ``tensor`` itself is one of ``tensors``."""
    for t in tensors:  # noqa: SIM110 - `any` takes three times as long
        if t is tensor:
            return True
    return False


def marked_tensors(values: tuple[Any, ...] | None, function: str) -> tuple[Tensor, ...]:
    """The tensors that a method of ``ctx`` has marked; refuses other values.

    Args:
        function: the method's name, for the error.
    """
    for value in values or ():
        if not isinstance(value, Tensor):
            raise RuntimeError(f"{function} takes tensors, not {type(value).__name__}")
    return values or ()


def without_history(out: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    """An output without history. An input keeps its own: the output is then another tensor."""
    if out.requires_grad:
        if is_input:
            return out.detach()
        # A view stays as `no_grad` makes it: its base requires grad, but it is cut off from it.
        return out if out._view is not None else out.detach_()
    return view_of_whole(out) if is_input and not is_dirty else out


def view_of_whole(tensor: Tensor) -> Tensor:
    """A view of all elements of a tensor."""
    out = wrap(tensor._array)
    make_view(out, tensor, (view_in, (tensor._array.shape,), None), mode.enabled)
    return out


def attach_history(out: Tensor, node: Node, number: int, is_input: bool) -> Tensor:
    """An output with ``node`` as its history; an unchanged input becomes a view of itself."""
    if is_input:
        out = view_of_whole(out)
    if out._view is not None:
        out._view.version = out._cell[0]  # the node accounts for the writes of `forward`
    out._come_from((node, number))
    return out


def save_for_node(node: "BackwardCFunction") -> None:
    """Keep the tensors given to `save_for_backward`; of an output only the array, not the tensor,
    which would make a reference cycle."""
    values: list[Any] = []
    numbers: list[int | None] = []
    kept = node.to_save or ()
    value: Any
    for position, t in enumerate(kept):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type "
                f"{type(t).__name__}"
            )
        if t is None:
            value, number = None, None
        elif t._edge is not None and t._edge[0] is node:
            value, number = (t._array, t._cell, t._cell[0]), t._edge[1]
        else:
            value, number = (t, t._cell[0]), None
        values.append(value)
        numbers.append(number)
    node._saved, node._saved_numbers = tuple(values), tuple(numbers)
    if hooks.stack:
        kinds = ["input" if number is None else "out" for number in numbers]
        outputs = [t for t, number in zip(kept, numbers, strict=True) if number is not None]
        node._saved = pack_all(values, kinds, outputs)


# An operation of the user: a forward and a backward on tensors.
#
#     class Cube(Function):
#         @staticmethod
#         def forward(ctx, x):
#             ctx.save_for_backward(x)
#             return x * x * x
#
#         @staticmethod
#         def backward(ctx, grad):
#             (x,) = ctx.saved_tensors
#             return 3 * x * x * grad
#
#     y = Cube.apply(x)
#
# ``ctx`` is the node of the graph itself: `backward` reads there what `forward` has set. The
# operations inside `forward` are not recorded; those inside `backward` are with `create_graph`.


NO_FORWARD = "You must implement the forward function for custom autograd.Function."
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use "
    "it with backward mode AD."
)
INSTANCE = (
    "{} should not be instantiated. Methods on autograd functions are all static, so you should "
    "invoke them on the class itself. Instantiating an autograd function will raise an error in a "
    "future version of PyTorch."
)
CALLED = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward method. (Example: "
    "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


class FunctionCtx:
    """The argument ``ctx`` of `forward`, `setup_context` and `backward`.

    Any attribute may be set on it. Save inputs and outputs by `save_for_backward`, which checks
    that nothing writes to them before the backward pass.
    """

    to_save: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    materialize_grads = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`, which reads them from ``ctx.saved_tensors``.

        A later call replaces the tensors of an earlier one. Second derivatives pass through saved
        inputs and outputs, not through intermediate results.
        """
        self.to_save = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare the inputs that `forward` writes to; `forward` must also return them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare the outputs without a gradient; `backward` still gets an argument for each."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether `backward` gets zeros, not None, for outputs that no gradient reached.

        Args:
            value: True, the default, for zeros.

        Raises:
            TypeError: if ``value`` is not a bool.
        """
        if not isinstance(value, bool):
            raise TypeError("set_materialize_grads takes a bool")
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx, Node):
    """The node of a user's function, and its ``ctx``; each function has a subclass."""

    runs_on_nothing = True  # `backward` may return gradients even if none arrives
    needs_input_grad: tuple[bool, ...]
    _forward_cls: "type[Function]"
    _is_tensor: tuple[bool, ...]  # for each argument of `apply`
    # For each saved tensor, its output number; None for an input.
    _saved_numbers: tuple[int | None, ...] = ()

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`.

        Raises:
            RuntimeError: if they were freed, or if one was written to since.
        """
        values = opened(self) if type(self._saved) is not tuple else self._saved
        return tuple(
            None if kept is None
            else unpack_input(kept, self, True) if number is None
            else unpack_out(kept, self, True, number)
            for kept, number in zip(values, self._saved_numbers, strict=True)
        )  # fmt: skip

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        arguments = [
            self._argument(g, shape, dtype)
            for g, (shape, dtype) in zip(grads, self._outputs, strict=True)
        ]
        results = self._forward_cls.backward(self, *arguments)
        results = self._checked(results if isinstance(results, tuple) else (results,))
        return results if graph else [r if r is None else r._array for r in results]

    def _argument(self, g: Any, shape: tuple[int, ...], dtype: Any) -> Tensor | None:
        """A gradient in the form that `backward` gets."""
        if g is None:
            # An output that is not a tensor has no dtype.
            return wrap(np.zeros(shape, dtype)) if self.materialize_grads and dtype else None
        if isinstance(g, Tensor):
            return g
        if not g.flags.writeable and g.size <= 1:
            g = np.array(g)  # as in PyTorch, `backward` may write to a gradient of one element
        return wrap(g)

    def _checked(self, results: tuple[Any, ...]) -> list[Any]:
        """The checked results of `backward`, one for each argument that is a tensor."""
        is_tensor = self._is_tensor
        surplus = results[len(is_tensor) :]
        if len(results) < len(is_tensor) or any(r is not None for r in surplus):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{len(is_tensor)}, got {len(results)})"
            )
        gradients = []
        for position, (result, needed) in enumerate(zip(results, is_tensor, strict=False)):
            if needed:
                if result is not None and not isinstance(result, Tensor):
                    kind = type(result).__name__
                    raise RuntimeError(f"expected Variable or None (got {kind})")
                gradients.append(result)
            elif result is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{position + 1}, but the corresponding forward input was not a Variable"
                )
        return gradients

    def name(self) -> str:
        """The function's name followed by `Backward`."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


class FunctionMeta(type):
    """Makes a node class for each subclass of `Function`."""

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        members = {"_forward_cls": cls, "__module__": __name__}
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), members)


# A user's function under `vmap`.


NEEDS_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...),"
    " it must override the setup_context staticmethod."
)
NO_RULE = (
    "You tried to vmap over {}, but it does not have vmap support. Please override and implement "
    "the vmap staticmethod or set generate_vmap_rule=True."
)


def in_batch(apply: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """Apply a function to one sample at a time; a static method ``vmap`` itself is not called."""
    cls = args[0]
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(NEEDS_SETUP)
    if not (cls.generate_vmap_rule or hasattr(cls, "vmap")):
        raise RuntimeError(NO_RULE.format(cls.__name__))
    return separately(apply, batch, args, kwargs, copy=False, rule=in_batch)


class Function(metaclass=FunctionMeta):
    """The base class of users' operations: subclass it and call ``apply`` of the subclass.

    Define `forward` with ``ctx`` as its first parameter, or define `forward` without ``ctx`` and
    `setup_context`. Define `backward`, which returns a gradient or None for each argument of
    `forward`.

    Attributes:
        generate_vmap_rule: whether `torch.vmap` may apply the function, one sample at a time. A
            static method ``vmap`` allows this, too.
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(INSTANCE.format(type(self)), DeprecationWarning)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(CALLED)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs from the arguments of `apply`, by ``forward(ctx, *args)``."""
        raise NotImplementedError(NO_FORWARD)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Set on ``ctx`` what `backward` needs; if overridden, `forward` gets no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments from those of the outputs."""
        raise NotImplementedError(NO_BACKWARD)

    @classmethod
    @under_vmap(in_batch)
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call `forward` and record it if a tensor among the arguments requires grad."""
        separate = cls.setup_context is not Function.setup_context
        if separate or kwargs:
            args = positional(cls.forward, args, kwargs, separate)
        node = cls._backward_cls()
        node._is_tensor = tuple([isinstance(a, Tensor) for a in args])
        node.needs_input_grad = tuple([isinstance(a, Tensor) and a.requires_grad for a in args])
        inputs = [a for a in args if isinstance(a, Tensor)]
        before = mode.enabled
        recording = bool(before) and True in node.needs_input_grad
        if recording:
            node._sequence, node._site = next_sequence(), current_site()
            # Before `forward`, which may write to its arguments.
            node._edges = tuple([edge_of(t) for t in inputs])
        if before:
            mode.enabled = False
        try:
            if separate:
                outputs = cls.forward(*args)
                cls.setup_context(node, args, outputs)
            else:
                outputs = cls.forward(node, *args)
        finally:
            mode.enabled = before
        return finish_outputs(node, inputs, outputs, recording)


def positional(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], separate: bool
) -> tuple[Any, ...]:
    """The arguments of `apply` by position; `backward` returns its gradients in this order.

    Args:
        separate: whether `forward` has no ``ctx``. Then its defaults count as arguments.
    """
    parameters = list(inspect.signature(forward).parameters.values())
    signature = inspect.Signature(parameters if separate else parameters[1:])
    by_name = {n for n, p in signature.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD}
    for name in kwargs:
        if name not in by_name:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    if not separate:
        return signature.bind_partial(*args, **kwargs).args
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


class Error(Node):
    """The node of gradients that cannot be differentiated."""

    def __init__(self, edges: tuple[Edge, ...], results: Sequence[Tensor]) -> None:
        self._sequence, self._site = next_sequence(), current_site()
        self._edges = edges
        self._outputs = tuple((t._array.shape, t._array.dtype) for t in results)

    def name(self) -> str:
        return "torch::autograd::Error"

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that is not recorded: second derivatives raise RuntimeError."""

    @functools.wraps(fn)
    def backward(ctx: Any, *args: Any) -> Any:
        with no_grad():
            results = fn(ctx, *args)
        recorded = any(isinstance(a, Tensor) and a.requires_grad for a in args)
        if not (recorded and is_grad_enabled()):
            return results
        single = not isinstance(results, tuple)
        values = (results,) if single else results
        # As in PyTorch, the edge of each result ends at a leaf of its own.
        leaves = [None if r is None else r.detach()._set_requires_grad() for r in values]
        tensors = [t for t in leaves if t is not None]
        edges = tuple([NO_EDGE if t is None else edge_of(t) for t in leaves])
        node = Error(edges, tensors)
        numbers = itertools.count()
        final = tuple([
            None if t is None else attach_history(wrap(t._array), node, next(numbers), False)
            for t in leaves
        ])  # fmt: skip
        return final[0] if single else final

    return backward


on_demand(__name__)
