"""Views that share memory, and what an in-place write means for the graph."""

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.call_site import warn, wrote
from nanotorch._core.dtypes import C_NAMES, can_cast, of_array
from nanotorch._core.grad_mode import InferenceCell, mode, refuse_write
from nanotorch._core.graph import (
    CUT_OFF,
    NO_EDGE,
    AccumulateGrad,
    Edge,
    FreedValues,
    Node,
    next_sequence,
    short_name,
)
from nanotorch._core.layout import EXPANDED, check_places, repeats

if TYPE_CHECKING:
    from nanotorch._core.tensor import Tensor


# Why a write to a view, or to memory that it shares, is refused.


# How a view came about, where that forbids writing to it under grad mode.
TRACKED, NO_GRAD, INFERENCE = "tracked", "no_grad", "inference"
MULTI_OUTPUT, CUSTOM = "multi_output", "custom"

DIRECT = "is being modified inplace"
INDIRECT = "its base or another view of its base has been modified inplace"
CLARIFY = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {mode} block (if you "
    "don't want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
TEXTS = {
    NO_GRAD: CLARIFY.format(mode="no_grad"),
    INFERENCE: CLARIFY.format(mode="inference_mode"),
    MULTI_OUTPUT: (
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one."
    ),
    CUSTOM: (
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    ),
}


def refused_write(origin: str, edge: Edge | None, *, indirect: bool) -> RuntimeError:
    """The error for a write to a view of this origin.

    Args:
        edge: the view's place in the graph.
        indirect: whether its base or another view was written to, not the view itself.
    """
    node, number = edge or (None, 0)
    what = INDIRECT if indirect else DIRECT
    who = "A view" if node is None else f"Output {number} of {short_name(node)} is a view"
    if origin in (NO_GRAD, INFERENCE) or node is None:
        which = "" if node is None else " of a view which"
        about, now = "no_grad mode", "with grad mode enabled"
        if origin is INFERENCE:
            about, now = "inference mode", "in normal mode"
        text = f"{who}{which} was created in {about} and {what} {now}."
    else:
        text = f"{who} and {what}."
    return RuntimeError(f"{text} {TEXTS[origin]}")


# Views that share memory, and what an in-place write means for the graph.
#
# A tensor and all its views share one version cell. A view knows its base and the steps that lead
# from the base to it. After a write, the base's history includes the write (`CopySlices`), and
# every other view takes its history from the base anew when it is next asked for it.


# One step from a base to a view: a function of a Tensor or ndarray, its static arguments, and
# which of its outputs is meant (None where it has one).
Step = tuple[Callable[..., Any], tuple[Any, ...], int | None]

LEAF_WRITE = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF_WRITE = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)


class View:
    """What a view remembers: its base, the way from there, and the version it last saw."""

    __slots__ = ("base", "origin", "shaped", "steps", "version")

    def __init__(
        self,
        base: "Tensor",
        steps: tuple[Step, ...],
        version: int,
        origin: str,
        shaped: np.ndarray | None = None,
    ) -> None:
        self.base, self.steps, self.version, self.origin = base, steps, version, origin
        # The base's array when the first step was taken: `t_` and its kin may change it.
        self.shaped = base._array if shaped is None else shaped

    def way(self) -> tuple[Step, ...]:
        """The steps from the base as it is now."""
        past, undone = self.base._past, []
        if past and self.base._array is not self.shaped:
            for array, undo in reversed(past):
                undone.append(undo)
                if array is self.shaped:
                    break
        return (*undone, *self.steps)


new_view = object.__new__


def make_view(out: "Tensor", source: "Tensor", step: Step) -> None:
    """Declare ``out`` a view of ``source``, which `step` makes."""
    view = source._view
    if mode.enabled:
        origin = TRACKED if step[2] is None else MULTI_OUTPUT
    else:
        origin = INFERENCE if mode.enabled is None else NO_GRAD
    out._cell = cell = source._cell
    if cell.__class__ is InferenceCell:  # an inference tensor has no history to follow
        return
    out._view = made = new_view(View)  # without the call of its `__init__`
    made.version = cell[0]
    if view is None:
        made.base, made.steps, made.shaped, made.origin = source, (step,), source._array, origin
    else:
        made.base, made.steps, made.shaped = view.base, (*view.steps, step), view.shaped
        made.origin = view.origin if origin is TRACKED else origin


def replay(steps: Sequence[Step], start: Any) -> Any:
    """Take the steps from a base (or an ndarray of its shape) to the view."""
    for function, arguments, number in steps:
        start = function(start, *arguments)
        if number is not None:
            start = start[number]
    return start


def leaf_edge(tensor: "Tensor") -> Edge:
    """The edge to the accumulator of a leaf that requires grad."""
    reference = tensor._accumulator_ref
    node = None if reference is None else reference()
    return (tensor._new_accumulator() if node is None else node, 0)


def edge_of(tensor: "Tensor") -> Edge:
    """Where the gradient of ``tensor`` goes: up to date for views, an accumulator for leaves."""
    edge = tensor._edge if tensor._view is None else view_edge(tensor)
    if edge is not None:
        return edge
    # The flag, not the property: a view made under `no_grad` is cut off from its base for good.
    if tensor._requires_grad:
        return leaf_edge(tensor)
    return CUT_OFF if tensor.requires_grad else NO_EDGE


def view_edge(tensor: "Tensor") -> Edge | None:
    """The edge of a view, taken anew from its base if anything wrote to their memory since."""
    view = tensor._view
    assert view is not None
    version = tensor._cell[0]
    if version != view.version and (tensor._edge is not None or view.base.requires_grad):
        if view.origin is not TRACKED:
            raise refused_write(view.origin, tensor._edge, indirect=True)
        former, tensor._edge = tensor._edge, (AsStridedBackward0(view), 0)
        tensor._requires_grad = True
        if tensor._leaf_hooks is not None:
            tensor._leaf_hooks.clear()  # it is no leaf any more
        if tensor._retains_grad:
            retain_anew(tensor, former)
        view.version = version
    return tensor._edge


class AsStridedBackward0(Node):
    """From a view to its base in one step: the formulas of all the steps between, in turn."""

    plain = True
    multi = keeps_values = False

    def __init__(self, view: View) -> None:
        base = view.base
        self.shape = base._array.shape
        stand_in = base._alias()
        stand_in._requires_grad = True
        before, mode.enabled = mode.enabled, True
        try:
            out = replay(view.way(), stand_in)
        finally:
            mode.enabled = before
        self.chain: list[tuple[Node, int]] = []
        node, number = out._edge
        self._outputs = (node._outputs[number],)
        while not isinstance(node, AccumulateGrad):
            self.chain.append((node, number))
            node, number = node.next_functions[0]
        self._sequence = next_sequence()
        self._edges = (edge_of(base),)

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        g = grads[0]
        if g is None:
            return (None,)
        if graph and 0 in g.shape:  # as in PyTorch, the gradient of nothing has no history
            return (g._lift(np.zeros(self.shape, g._array.dtype)),)
        for node, number in self.chain:
            arrived = [None] * len(node._outputs)
            arrived[number] = g
            g = node.apply(arrived, graph)[0]
        return (g,)


class CopySlices(Node):
    """The history of a base whose view was written to: the write's node, and the rest as it was."""

    multi = False

    def __init__(self, base: "Tensor", write: Node, steps: Sequence[Step], position: int) -> None:
        self._saved, self._site = (write,), write._site
        self.plain = write.plain
        self.steps, self.position = steps, position
        array = base._array
        # The steps may depend on the order in which the base's dimensions lie in memory.
        self.order = tuple(sorted(range(array.ndim), key=lambda d: -array.strides[d]))
        self._outputs = ((array.shape, array.dtype),)
        edges = list(write.next_functions)
        edges[position] = edge_of(base)
        self._edges = tuple(edges)
        self._sequence = next_sequence()

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        g = grads[0]
        if g is None:
            return (None,) * len(self.next_functions)
        if isinstance(self._saved, FreedValues):
            raise self._saved.error(self)
        (write,) = self._saved
        rest = self.copy_of(g if graph else np.asarray(g))
        part = replay(self.steps, rest)
        before = part.clone() if graph else np.array(part)
        results = list(write.apply([before], graph))
        through, results[self.position] = results[self.position], rest
        if graph:
            part.zero_() if through is None else part.copy_(through)
        elif through is None:
            part[...] = 0
        else:
            check_places(part)
            part[...] = through
        return results

    def copy_of(self, g: Any) -> Any:
        """A copy of ``g`` that lies in memory as the base does."""
        order = self.order
        inverse = tuple(sorted(range(len(order)), key=order.__getitem__))
        sizes = tuple([g.shape[d] for d in order])
        if isinstance(g, np.ndarray):
            rest = np.empty(sizes, g.dtype).transpose(inverse)
            rest[...] = g
            return rest
        return g.permute(order).reshape(-1).clone().view(sizes).permute(inverse)

    @property
    def metadata(self) -> dict[Any, Any]:
        """That of the write's node, which knows the call."""
        saved = self._saved
        return super().metadata if isinstance(saved, FreedValues) else saved[0].metadata


def check_write(tensor: "Tensor") -> None:
    """Refuse an in-place write that PyTorch refuses.

    Raises:
        RuntimeError: for memory that several elements share; with grad mode on, for a leaf that
            requires grad, a view of one, and views made under `no_grad`, by `split`, `unbind` or
            by a user's function; for an inference tensor outside inference mode.
    """
    if mode.enabled:
        refuse_history(tensor)
    check_memory(tensor)


def check_memory(tensor: "Tensor", expanded: str | None = None) -> None:
    """Refuse a write to an inference tensor, or to memory that several elements share.

    Args:
        expanded: warn of the latter, by this name of a function; if "", accept it.
    """
    refuse_write(tensor._cell)
    if expanded is None:
        check_places(tensor._array)
    elif expanded and repeats(tensor._array):
        form = "indices] = tensor" if "put" in expanded else "mask] = scalar"
        warn(EXPANDED.format(expanded, form))


def refuse_history(tensor: "Tensor") -> None:
    """Refuse a write that is to be recorded to a leaf, a view of one, or a view cut off."""
    view = tensor._view
    if view is None:
        if tensor._requires_grad and tensor._edge is None:
            raise RuntimeError(LEAF_WRITE)
        return
    if view.origin is not TRACKED and tensor.requires_grad:
        raise refused_write(view.origin, tensor._edge, indirect=False)
    if view.base._edge is None and tensor.requires_grad:
        raise RuntimeError(VIEW_OF_LEAF_WRITE)
    if tensor._edge is None and tensor.requires_grad:
        # PyTorch does not look whether a write to the base has given this view a history.
        raise RuntimeError(LEAF_WRITE)


def write(tensor: "Tensor", values: np.ndarray, name: str, c_names: bool = False) -> None:
    """Store the result of the in-place operation ``name`` and count the write.

    Args:
        c_names: whether the error for a type that does not fit has its name in C.

    Raises:
        RuntimeError: if the result has another shape or a type that does not fit.
    """
    array = tensor._array
    same = values.shape == array.shape
    if not same and np.broadcast_shapes(values.shape, array.shape) != array.shape:
        raise RuntimeError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape "
            f"{list(values.shape)}"
        )
    if values.dtype != array.dtype:
        from_, to = of_array(values), of_array(array)
        if not can_cast(from_, to):
            into = C_NAMES[to.name] if c_names else to.char
            raise RuntimeError(
                f"result type {from_.char} can't be cast to the desired output type {into}"
            )
    array[...] = values
    wrote(tensor._cell, name)


def rebase(tensor: "Tensor", node: Node, number: int = 0, position: int = 0) -> None:
    """Make ``node`` the history of a tensor after a write.

    Args:
        number: which of the node's outputs the tensor is.
        position: which of the node's edges is the tensor's former one.
    """
    view = tensor._view
    if view is None:
        before, tensor._edge = tensor._edge, (node, number)
        tensor._requires_grad = True
        if tensor._retains_grad:
            retain_anew(tensor, before)
        return
    refuse_rebase(tensor)
    base = view.base
    before, base._edge = base._edge, (CopySlices(base, node, view.way(), position), 0)
    base._requires_grad = True
    if base._retains_grad:
        retain_anew(base, before)
    view.version = -1  # the view's own history is now its base's
    now = view_edge(tensor)
    if now is not None and now[0] is not None:
        node._view_node = weakref.ref(now[0])


def refuse_rebase(tensor: "Tensor") -> None:
    """Refuse a write that would give history to a view made where none is recorded, or by `split`.

    Raises:
        RuntimeError: in PyTorch's words.
    """
    view = tensor._view
    if view is not None and view.origin is not TRACKED:
        raise refused_write(view.origin, tensor._edge, indirect=False)


def retain_anew(tensor: "Tensor", former: Edge | None) -> None:
    """After a write, `retain_grad` keeps the gradient of the new value, no longer the former's."""
    if former is not None and tensor._edge is not None:
        (old, old_number), (node, number) = former, tensor._edge
        if old is not None and node is not None and old_number in old.own_hooks().retain:
            node.own_hooks().retain[number] = old.own_hooks().retain.pop(old_number)
