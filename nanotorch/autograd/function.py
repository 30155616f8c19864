"""Operations of the user's own: a forward and a backward, written with tensors.

    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    y = Cube.apply(x)

``ctx`` is the node of the graph itself: what `forward` notes on it, `backward` finds there. The
forward pass is not recorded; a backward pass is, if gradients of gradients are asked for.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core.grad_mode import is_grad_enabled, mode, no_grad
from nanotorch._core.graph import NO_EDGE, Edge, Node, next_sequence
from nanotorch._core.op_runtime import unpack_input, unpack_out
from nanotorch._core.origins import here
from nanotorch._core.saving import opened
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import edge_of
from nanotorch._core.warned import warn
from nanotorch.autograd.function_outputs import settle

NO_FORWARD = "You must implement the forward function for custom autograd.Function."
NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use "
    "it with backward mode AD."
)
BOTH = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
    "implement one of them."
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
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class FunctionCtx:
    """What `forward`, `setup_context` and `backward` are given as ``ctx``.

    Any attribute may be set on it; tensors that are inputs or outputs go through
    `save_for_backward`, which checks that nothing writes to them in between.
    """

    to_save: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    materialize_grads = True

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`, which finds them in ``ctx.saved_tensors``.

        A later call replaces the former's. The gradients of gradients go through saved inputs and
        outputs, not through intermediate results.
        """
        self.to_save = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare inputs that `forward` has written to; they must be returned as well."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare outputs that have no gradient; `backward` still gets an argument for each."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros, not None, for outputs whose gradient is not known.

        Raises:
            TypeError: if ``value`` is not a bool.
        """
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got (), but "
                "expected (bool)"
            )
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx, Node):
    """The node of a user's function, and its ``ctx``; each function has a subclass."""

    runs_on_nothing = True  # `backward` may do more than pass on what arrives
    needs_input_grad: tuple[bool, ...]
    _forward_cls: "type[Function]"
    _is_tensor: tuple[bool, ...]  # for each argument of `apply`
    _saved_numbers: tuple[
        int | None, ...
    ] = ()  # which saved tensors are outputs, and which of them

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`.

        Raises:
            RuntimeError: if they have been freed, or one has been written to since.
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
        results = self._user_backward()(self, *arguments)
        results = self._checked(results if isinstance(results, tuple) else (results,))
        return results if graph else [r if r is None else r._array for r in results]

    def _argument(self, g: Any, shape: tuple[int, ...], dtype: Any) -> Tensor | None:
        """A gradient that arrived as `backward` is to see it."""
        if g is None:
            # An output that is no tensor has no dtype either.
            return wrap(np.zeros(shape, dtype)) if self.materialize_grads and dtype else None
        if isinstance(g, Tensor):
            return g
        if not g.flags.writeable and g.size <= 1:
            g = np.array(g)  # broadcast, but nobody else's: PyTorch lets `backward` write to it
        return wrap(g)

    def _user_backward(self) -> Callable[..., Any]:
        cls = self._forward_cls
        if cls.vjp is Function.vjp:
            return cls.backward
        if cls.backward is not Function.backward:
            raise RuntimeError(BOTH)
        return cls.vjp

    def _checked(self, results: tuple[Any, ...]) -> list[Any]:
        """What `backward` returned for the arguments that are tensors, one for each.

        Raises:
            RuntimeError: if it is not a gradient or None for each argument of the function.
        """
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
        """The function's name and `Backward`."""
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


class Function(metaclass=FunctionMeta):
    """Base of a user's own operations: subclass it and call ``apply`` of the subclass.

    Write `forward` with ``ctx`` as its first parameter, or without it and `setup_context` beside
    it; and `backward`, which returns a gradient or None for each argument of `forward`.
    """

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
        """Note on ``ctx`` what `backward` needs; if overridden, `forward` gets no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments from those of the outputs."""
        raise NotImplementedError(NO_BACKWARD)

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`; write one of the two."""
        raise NotImplementedError(NO_BACKWARD)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call `forward`, and record it if an argument that is a tensor requires grad."""
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
            node._sequence, node._site = next_sequence(), here()
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
        return settle(node, inputs, outputs, recording)


def positional(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], separate: bool
) -> tuple[Any, ...]:
    """The arguments of `apply` by position, as gradients are returned for them.

    Args:
        separate: `forward` takes no ``ctx``, and its defaults count as arguments.

    Raises:
        TypeError: if they do not fit the signature.
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
        self._sequence, self._site = next_sequence(), here()
        self._edges = edges
        self._outputs = tuple((t._array.shape, t._array.dtype) for t in results)

    def name(self) -> str:
        return "torch::autograd::Error"

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        raise RuntimeError(TWICE)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that computes outside the graph: a gradient of its gradient fails."""

    @functools.wraps(fn)
    def backward(ctx: Any, *args: Any) -> Any:
        with no_grad():
            results = fn(ctx, *args)
        if not is_grad_enabled() or not any(
            isinstance(a, Tensor) and a.requires_grad for a in args
        ):
            return results
        single = not isinstance(results, tuple)
        values = (results,) if single else results
        # Each result leads to a leaf of its own, so that the graph shows where it ends.
        leaves = [None if r is None else r.detach()._set_requires_grad() for r in values]
        tensors = [t for t in leaves if t is not None]
        edges = tuple([NO_EDGE if t is None else edge_of(t) for t in leaves])
        node = Error(edges, tensors)
        refusing = iter([_output(t, node, k) for k, t in enumerate(tensors)])
        final = tuple(None if t is None else next(refusing) for t in leaves)
        return final[0] if single else final

    return backward


def _output(tensor: Tensor, node: Node, number: int) -> Tensor:
    out = wrap(tensor._array)
    out._edge, out._requires_grad = (node, number), True
    return out
