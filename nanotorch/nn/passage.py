"""The backward hooks of a module: what they are called by, at both ends of its call."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import NO_EDGE, Node, next_sequence
from nanotorch._core.hook_calls import check_replacements, lift, lower
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import CUSTOM, View, edge_of
from nanotorch._core.warned import warn

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


class Passage:
    """One call of a module with backward hooks: joins the gradients of its two ends.

    The node behind the outputs runs first and notes their gradients; the node before the inputs
    runs last and calls the hooks with both.
    """

    def __init__(
        self,
        module: Any,
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
            warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}"
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
            warn(NO_INPUT_GRAD)
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
    node._edges = tuple(edge_of(t) if t.requires_grad else NO_EDGE for t in tensors)
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
