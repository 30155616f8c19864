"""How the outputs of a user's function take their place in the graph.

An output may be new, or a view; an input returned as it came, or written to; one of several, or
marked as having no gradient. What each means is what PyTorch makes of it.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nanotorch._core.anomaly import note_origin
from nanotorch._core.graph import anomaly
from nanotorch._core.origins import wrote
from nanotorch._core.saving import hooks, pack_all
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.view_errors import CUSTOM, MULTI_OUTPUT
from nanotorch._core.views import check_write, make_view, rebase
from nanotorch._core.warned import warn
from nanotorch._core.watching import look, watch
from nanotorch.ops.shape import view_in

if TYPE_CHECKING:
    from nanotorch.autograd.function import BackwardCFunction

NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The "
    "inputs that are modified inplace must all be outputs of the Function."
)
NOT_AN_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty()."
)
LEAF = "a leaf Variable that requires grad has been used in an in-place operation."
VIEW_AND_MORE = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
    "should either make sure the input is not a view (using .clone() for example) or make your "
    "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
    "inplace that returns a single Tensor and a second one that does the other operations). You "
    "can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)
NO_TENSOR = ((), None)  # stands for the shape and dtype of an output that is no tensor


def settle(
    node: "BackwardCFunction", inputs: Sequence[Tensor], outputs: Any, recording: bool
) -> Any:
    """The outputs of `forward` with their history; keeps for the node what it is to save.

    Args:
        inputs: the arguments that are tensors.
        outputs: what `forward` returned.
        recording: whether ``node`` becomes part of the graph.

    Raises:
        RuntimeError: for a write to a tensor that must not be written to, or that is not declared
            as PyTorch demands.
        TypeError: if something other than a tensor is to be saved.
    """
    dirty = check_dirty(node, inputs) if node.dirty_tensors else ()
    constants = check_constants(node) if node.non_differentiable else ()
    several = isinstance(outputs, tuple)
    results = list(outputs) if several else [outputs]
    for t in dirty:
        if not is_among(t, results):
            raise RuntimeError(NOT_RETURNED)
    differentiable = 0
    for number, out in enumerate(results):
        if not isinstance(out, Tensor):
            continue
        is_input, is_dirty = is_among(out, inputs), is_among(out, dirty)
        if is_dirty:
            wrote(out._cell, "a function that marks its input dirty")
        if not recording or is_among(out, constants) or out._array.dtype.kind != "f":
            results[number] = constant(out, is_input, is_dirty)
            continue
        differentiable += 1
        if is_dirty and out.requires_grad and out._edge is None:
            raise RuntimeError(LEAF)
        if is_dirty and is_input:
            attach_written(out, node, number, inputs, len(results))
        else:
            results[number] = attach(out, node, number, is_input)
    for out in results:
        if isinstance(out, Tensor) and out._view is not None and not is_among(out, dirty):
            out._view.origin = MULTI_OUTPUT if differentiable > 1 else CUSTOM
    if watch.on and results and not dirty:
        name = node._forward_cls.__name__
        look(name, tuple(results), [("input", inputs)], None, sys._getframe(1))
    if recording:
        node._outputs = tuple(
            [
                (t._array.shape, t._array.dtype) if isinstance(t, Tensor) else NO_TENSOR
                for t in results
            ]
        )
        save(node)
        if anomaly.enabled:
            note_origin(node)
    node.to_save = node.dirty_tensors = node.non_differentiable = None
    return tuple(results) if several else results[0]


def is_among(tensor: Any, tensors: Sequence[Any]) -> bool:
    """Whether it is one of them, itself."""
    for t in tensors:  # noqa: SIM110 - `any` takes three times as long
        if t is tensor:
            return True
    return False


def check_constants(node: "BackwardCFunction") -> tuple[Tensor, ...]:
    """The tensors marked as having no gradient."""
    for value in node.non_differentiable or ():
        if not isinstance(value, Tensor):
            raise RuntimeError(
                "mark_non_differentiable only accepts variable arguments, but got "
                f"{type(value).__name__}"
            )
    return node.non_differentiable or ()


def check_dirty(node: "BackwardCFunction", inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors marked as written to."""
    for position, value in enumerate(node.dirty_tensors or ()):
        if not isinstance(value, Tensor):
            kind = type(value).__name__
            raise RuntimeError(
                f"mark_dirty can only accept variables, but argument {position} is of type {kind}"
            )
    dirty = node.dirty_tensors or ()
    if any(not is_among(t, inputs) for t in dirty):
        warn(NOT_AN_INPUT)
    return dirty


def constant(out: Tensor, is_input: bool, is_dirty: bool) -> Tensor:
    """An output without history; inputs keep theirs and are returned as another tensor."""
    if out.requires_grad:
        if is_input:
            return out.detach()
        # As `no_grad` leaves a view: of what requires grad, and cut off from it.
        return out if out._view is not None else out.detach_()
    return seen_anew(out) if is_input and not is_dirty else out


def seen_anew(tensor: Tensor) -> Tensor:
    """A view of all of a tensor."""
    out = wrap(tensor._array)
    make_view(out, tensor, (view_in, (tensor._array.shape,), None))
    return out


def attach(out: Tensor, node: "BackwardCFunction", number: int, is_input: bool) -> Tensor:
    """An output with ``node`` as its history; an input returned as it came becomes a view."""
    if is_input:
        out = seen_anew(out)
    if out._view is not None:
        out._view.version = out._cell[0]  # what `forward` has written is the node's own affair
    out._edge, out._requires_grad = (node, number), True
    return out


def attach_written(
    out: Tensor, node: "BackwardCFunction", number: int, inputs: Sequence[Tensor], count: int
) -> None:
    """Put ``node`` on top of the history of an input that was written to; its gradient goes."""
    if out._view is not None and count > 1:
        raise RuntimeError(VIEW_AND_MORE)
    check_write(out)
    position = next(k for k, t in enumerate(inputs) if t is out)
    rebase(out, node, number, position)
    out.grad = None


def save(node: "BackwardCFunction") -> None:
    """Keep what `save_for_backward` was given: outputs without a reference to them.

    Raises:
        TypeError: for what is neither a tensor nor None.
    """
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
