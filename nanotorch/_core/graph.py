"""The recorded graph: nodes, accumulators of leaves, views, and how in-place writes change it."""

import gc
import itertools
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from nanotorch._core.bfloat16 import with_shared_dtype
from nanotorch._core.call_site import (
    at_site,
    count_write,
    describe_operands,
    find_site,
    operation_name,
    paragraph,
    warn,
)  # fmt: skip
from nanotorch._core.dtypes import C_NAMES, OF_NUMPY, can_cast, dtype_of
from nanotorch._core.grad_mode import InferenceCell, mode, of_inference, refuse_write
from nanotorch._core.layout import EXPANDED, check_overlap, has_overlap, is_dense
from nanotorch._core.meta import MetaArray, like_meta
from nanotorch._core.ownership import can_take

new_object = object.__new__  # makes an object without a call of `__init__`
Tensor = Any  # the class of the module `tensor`, which imports this one

# Hooks: functions kept in the order of their registration, each with a handle that removes it.


_ids = itertools.count()
# A number that is new after a hook was added or an attribute set, on modules and optimizers. While
# it is the same, an earlier check of hooks and attributes still holds.
changes = [0]
next_change = itertools.count(1).__next__  # `+= 1` can lose a change of another thread


class RemovableHandle:
    """Removes one hook; also a context manager that removes it at its end."""

    def __init__(self, hooks: "HookDict") -> None:
        self.id = next(_ids)
        self._hooks = weakref.ref(hooks)

    def remove(self) -> None:
        """Remove the hook; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class HookDict(OrderedDict[int, Callable[..., Any]]):
    """Hooks by number. A handle can hold such a dict weakly, so it keeps no graph alive."""


def add_hook(hooks: HookDict, hook: Callable[..., Any], *, first: bool = False) -> RemovableHandle:
    """Append ``hook`` to ``hooks``, or insert it before the others; returns its handle."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if first:
        hooks.move_to_end(handle.id, last=False)
    changes[0] = next_change()
    return handle


# Saved tensors that `detach_` has cut off from their history: a backward pass must refuse them.


DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
    "not supported, please use out-of-place `.detach()` instead"
)
DETACHED_PART = 2.0**-20


class DetachedCell(list[Any]):
    """The version cell of a detached tensor: the count of its former cell, plus a fraction.

    Nodes have saved versions without this fraction. Every node compares the saved version with the
    present one anyway, and this comparison finds the difference.
    """

    def __init__(self, before: list[Any]) -> None:
        super().__init__(before)
        self.before = before

    def __getitem__(self, index: Any) -> Any:
        return self.before[index] if index else self.before[0] + DETACHED_PART

    def __setitem__(self, index: Any, value: Any) -> None:
        self.before[index] = value if index else value - DETACHED_PART

    def __iter__(self) -> Iterator[Any]:
        return iter((self[0], self[1]))

    @property
    def version(self) -> float:
        """The count plus the fraction."""
        return float(self[0])


def detached_since(now: float, saved: float) -> bool:
    """Whether `detach_` was called on a tensor after one of its versions was saved."""
    return now % 1 != saved % 1


# Nodes, and the values that they save.
#
# An edge is a pair `(node, k)`: it leads to output number `k` of that node. `(None, 0)` is the edge
# to a constant. A node's sequence number is higher than those of the nodes that its edges lead to.


Edge = tuple["Node | None", int]
NO_EDGE: Edge = (None, 0)
# The edge to a view made under `no_grad` whose base requires grad. Results computed from the view
# require grad, but no gradient passes along the edge. It equals `NO_EDGE`: compare by `is`.
CUT_OFF: Edge = (NO_EDGE[0], 0)
next_sequence = itertools.count(1).__next__

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)
MODIFIED = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: [{type} {shape}]{origin} is at version {now}; expected version {expected} "
    "instead. "
)
HINT_ANOMALY = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, "
    "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
HINT_ABOVE = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. "
    "The variable in question was changed in there or anywhere later. Good luck!"
)


class Anomaly:
    """The state of anomaly mode, which all threads share."""

    enabled = False
    check_nan = True


anomaly = Anomaly()


class FreedValues:
    """Replaces a node's saved values after a backward pass has used them."""

    __slots__ = ("site",)

    def __init__(self) -> None:
        self.site = find_site(sys._getframe(2))

    def error(self, node: "Node") -> RuntimeError:
        """The error for a second use of the saved values of ``node``."""
        saved = f"{operation_name(node)} saved values{at_site(node._site)}"
        freed = f"a backward pass used and freed them{at_site(self.site)}"
        return RuntimeError(FREED + paragraph(saved, freed))


# Held while a `Recorded` materializes, and while a node or a leaf gets the place of its hooks.
materializing = threading.RLock()


class Unusual(Exception):  # noqa: N818 - not an error: it selects the other sweep
    """Raised when `quick_sweep` cannot run a node: `Sweep` runs it, or raises the true error."""


class NodeHooks:
    """The hooks of one node, made when the first is registered."""

    __slots__ = ("after", "before", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, HookDict] = {}  # by output number: Tensor.register_hook
        self.retain: dict[int, Callable[[Any], None]] = {}  # by output number: retain_grad
        self.before = HookDict()
        self.after = HookDict()


class Node:
    """A recorded operation: turns gradients of its outputs into gradients of its inputs.

    Attributes:
        _edges: one edge per differentiable input.
        _outputs: `(shape, dtype)` of each output; every arriving gradient is brought to these.
        _visible_outputs: the number of outputs that users see; 0 for all.
        _saved: the values that the formulas need; a `FreedValues` once freed.
        plain: whether no user can see the node run: it has no hooks and no user's function.
        multi: whether the node may have several outputs.
        keeps_values: whether the node has values that a backward pass frees.
        leads: for each output, the positions of the edges that depend on it; None if all do.
    """

    # Class attributes are the defaults: a new node sets only what differs. The engine's own
    # attributes have an underscore: users of `autograd.Function` set attributes on its nodes.
    _sequence = 0
    _edges: tuple[Any, ...] = ()
    _back: Any  # runs the node in `quick_sweep`
    _outputs: tuple[tuple[tuple[int, ...], Any], ...] = ()
    _visible_outputs = 0
    _saved: "tuple[Any, ...] | FreedValues" = ()
    _hooks: NodeHooks | None = None
    _site: Any = None  # the `Site` of the user's line that made the node, if it is known
    # Called when a `Recorded` materializes as this class. `by_name` groups the saved values: one
    # item for each name in the formulas. `unfold` replaces the node by several nodes.
    by_name: Any = staticmethod(lambda recorded: recorded)
    unfold: Any = None
    # Set on the node of a write to a view: the node from that view to its base, while it lives.
    _view_node: "weakref.ref[Node] | None" = None
    together = False  # whether the inputs are one list, whose gradients come from one formula
    # Whether `apply` returns only new arrays that nothing else refers to, or the arriving gradient.
    fresh_gradients = False
    # Whether `apply` is called even if no gradient has arrived.
    runs_on_nothing = False
    plain = False
    multi = True
    keeps_values = True
    leads: "Sequence[set[int]] | None" = None

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        """The gradients of the inputs, from those of the outputs; unused for a `NO_EDGE`.

        Args:
            grads: one per output: ndarrays, or Tensors if ``graph``; None means zero.
            graph: whether formulas run on Tensors, for ``create_graph`` or under `vmap`.
        """
        raise NotImplementedError

    def apply_bare(self, g: Any) -> Sequence[Any]:
        """`apply` on arrays, for a node with one output."""
        return self.apply((g,), False)

    def name(self) -> str:
        """The name of the node's class in PyTorch."""
        return type(self).__name__

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes on this node."""
        return self.__dict__.setdefault("_metadata", {})

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        """One edge per differentiable input: a node and an output number; `(None, 0)` for none."""
        for node, _ in self._edges:
            if node.__class__ is Recorded:
                node.materialize()
        return self._edges

    def materialize(self) -> "Node":
        """The node in the form that users see, as `Recorded` explains."""
        return self

    @property
    def requires_grad(self) -> bool:
        """Whether any gradient leaves this node."""
        return any(node is not None for node, _ in self.next_functions)

    def _sequence_nr(self) -> int:
        return int(self._sequence)

    def own_hooks(self) -> NodeHooks:
        """The node's hooks, created on first use."""
        with materializing:
            if self._hooks is None:
                self._hooks, self.plain = NodeHooks(), False
        return self._hooks

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this node; its result replaces
        ``grad_inputs``. Returns a handle that removes the hook."""
        return add_hook(self.own_hooks().after, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this node; its result replaces ``grad_outputs``.
        Returns a handle that removes the hook."""
        return add_hook(self.own_hooks().before, hook)

    def __call__(self, *grads: Any) -> Any:
        """Apply the node by hand to gradients of its outputs (Tensors or None), recording it."""
        own = len(self._outputs)
        expected = self._visible_outputs or own
        if len(grads) != expected:
            raise TypeError(f"expected {expected} arguments, got {len(grads)} instead")
        results = tuple(self.apply([*grads, *[None] * own][:own], True))
        return results[0] if len(results) == 1 else results

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"


def raise_unusual(*args: Any) -> None:
    """The `_back` of a node that `quick_sweep` cannot run, for example while it materializes."""
    raise Unusual


class OneOutput:
    """A descriptor: `_outputs` of a `Recorded` with one output, from its `_shape` and `_dtype`."""

    def __get__(self, node: Any, owner: Any) -> Any:
        return ((node._shape, node._dtype),)


class Recorded(Node):
    """A new node, in a form that is quick to make and that `quick_sweep` can run.

    The node materializes when a user looks at it or `Sweep` runs it. Then it gets the class of its
    operation, edges in place of histories, and one saved value for each name.

    Attributes:
        _back: a function that makes the gradients of the inputs and sends them along the edges. Its
            attribute `kind` is the class that the node gets.
        _edges: the history of each differentiable input: None, the leaf itself, a node, or an edge.
        _shape, _dtype: of the output; a node with several outputs has `_outputs` instead.
        _offset: the offset of the call's instruction, if `_site` is the code object alone.
    """

    plain = True
    multi = False
    _shape: tuple[int, ...]
    _dtype: np.dtype
    _back: Any
    _offset: int
    _outputs: Any = OneOutput()

    @property
    def next_functions(self) -> tuple[Edge, ...]:
        return self.materialize().next_functions

    def name(self) -> str:
        return self.materialize().name()

    def own_hooks(self) -> NodeHooks:
        return self.materialize().own_hooks()

    def materialize(self) -> Node:
        with materializing:
            if self.__class__ is Recorded:
                kind, self._back = self._back.kind, raise_unusual
                saved = self._saved
                if not self.multi:
                    self._outputs = ((self._shape, self._dtype),)
                self._edges = tuple([edge_to(history) for history in self._edges])
                if saved.__class__ is tuple:
                    self._saved = kind.by_name(saved)
                if isinstance(self._site, CodeType):
                    self._site = (self._site, self._offset)
                if kind.unfold is None:
                    self.__class__ = kind
                else:
                    kind.unfold(self)
                del self._back
        return self


# The history of a tensor, `Tensor._history`, is one of these:
#
#     None          a constant: it does not require grad
#     LEAF          a leaf that requires grad
#     a node        the tensor is its only output
#     an edge       the tensor is one of several outputs
#     ASK           `history_of` must find it: a view, a leaf with hooks, an inference tensor
LEAF, ASK = object(), object()


# Held while a leaf's gradient is read and replaced, since other threads may add to the same leaf.
# One lock serves all leaves: an accumulator lives no longer than its graph.
accumulating = threading.RLock()


def accumulate_into(variable: Any, g: Any, owned: bool) -> None:
    """Add a bare gradient to the gradient of a leaf. The caller holds `accumulating`.

    The leaf takes over its first gradient without a copy if nothing else refers to the array
    (``owned``) or its memory, and if the strides are the leaf's. Otherwise it gets a `copy_like`.
    """
    held = variable._grad
    array = (variable if held is None else held)._array
    if g.shape != array.shape:  # an operation such as `t_` has reshaped the leaf since
        add_reshaped(variable, variable._lift(g))
    elif held is not None:
        if not array.flags.c_contiguous:
            check_overlap(array)
        np.add(array, g, out=array, casting="same_kind")
        held._cell[0] += 1
    else:
        variable._grad = variable._lift(g if owned and can_take(g, array) else copy_like(g, array))


def copy_like(g: Any, array: np.ndarray) -> np.ndarray:
    """A copy of ``g`` with the strides of ``array``; contiguous if those leave gaps."""
    if isinstance(array, MetaArray):
        return like_meta(array)
    if array.ndim < 2 or (g.strides == array.strides and g.flags.c_contiguous):
        return np.array(g) if array.__class__ is np.ndarray else with_shared_dtype(g[...]).copy("K")
    copy = np.empty_like(array, g.dtype, "K" if is_dense(array) else "C")
    copy[...] = g
    return copy


def add_reshaped(variable: Any, grad: Any) -> None:
    """Add a gradient, with broadcasting, to the gradient of a leaf of another shape."""
    if variable._grad is not None:
        variable._grad.add_(grad)
    elif is_dense(variable._array):
        empty = np.empty_like(variable._array, grad._array.dtype)
        variable._grad = variable._lift(empty).copy_(grad)
    else:
        contiguous = grad.contiguous()
        variable._grad = grad.clone() if contiguous is grad else contiguous


class AccumulateGrad(Node):
    """The node of a leaf, where the graph ends: adds every arriving gradient to ``variable.grad``.

    The leaf holds its accumulator by a weak reference; the accumulator holds its leaf by a strong
    one. So a graph keeps its leaves alive, and a leaf without a graph is in no reference cycle.
    """

    multi = keeps_values = False
    variable: Tensor
    # Held while a gradient is added and hooks run, which may use it up, in any thread.
    lock: Any

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def apply(self, grads: Sequence[Any], graph: bool) -> Sequence[Any]:
        self.accumulate(grads[0]._array if grads[0] is not None else None, False)
        return ()

    def __call__(self, *grads: Any) -> Any:
        super().__call__(*grads)
        return ()

    def own_hooks(self) -> NodeHooks:
        if self.variable._history is LEAF:
            self.variable._history = ASK
        return super().own_hooks()

    def accumulate(self, grad: Any, owned: bool, recorded: bool = False) -> None:
        """Add a bare gradient to the leaf's gradient; see `accumulate_into`.

        A recorded one is added out of place: the graph of gradients needs the former values.
        """
        variable = self.variable
        with self.lock:
            if variable.requires_grad:  # the user may have turned it off since
                if not variable.is_leaf:
                    raise RuntimeError("leaf variable has been moved into the graph interior")
                with accumulating:
                    if grad is not None and not recorded:
                        accumulate_into(variable, grad, owned)
                    elif grad is not None and variable._grad is None:
                        add_reshaped(variable, grad)
                    elif grad is not None:
                        variable._grad = variable._grad + grad
            self.call_post_hooks()

    def call_post_hooks(self) -> None:
        """Call the leaf's post-accumulate hooks in order."""
        hooks = self.variable._post_accumulate_hooks
        if hooks:
            for hook in list(hooks.values()):
                result = hook(self.variable)
                if result is None:
                    continue
                if not hasattr(result, "_array"):
                    kind = type(result).__name__
                    raise TypeError(f"expected Variable, but hook returned '{kind}'")
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def short_name(node: Node) -> str:
    """The name of a node in messages: Sum1 for `SumBackward1`, Mul for `MulBackward0`."""
    name, backward, number = node.name().rpartition("Backward")
    if not backward or (number and not number.isdigit()):
        return node.name()
    return name + number.removeprefix("0")


def modified_error(
    array: Any,
    origin: tuple["Node | None", int],
    cell: list[Any],
    expected: int,
    node: Node | None = None,
    name: str = "",
) -> RuntimeError:
    """The error for a saved value that an in-place operation has changed since.

    Args:
        array: the present value.
        origin: the edge to the tensor that the value belongs to.
        cell: the version cell of its memory.
        expected: the version that was saved.
        node, name: the node that saved the value, and its name there, if they are known.
    """
    char, shape = OF_NUMPY[array.dtype].char, list(array.shape)
    kind = "CPUBoolType" if char == "Bool" else f"torch.{char}Tensor"  # as PyTorch has it
    versions = {"now": int(cell[0]), "expected": int(expected)}
    maker, number = origin
    where = ""
    if maker is not None and not isinstance(maker, AccumulateGrad):
        where = f", which is output {number} of {short_name(maker)},"
    parts = []
    if node is not None:
        parts = [f"{operation_name(node)} saved it as {name}{at_site(node._site)}"]
    if cell[1] is not None:
        writer, site = cell[1]
        parts.append(f"{writer} changed it{at_site(site)}")
    return RuntimeError(
        MODIFIED.format(type=kind, shape=shape, origin=where, **versions)
        + (HINT_ABOVE if anomaly.enabled else HINT_ANOMALY)
        + paragraph(*parts)
    )


# The refusals of writes to views and to the memory of views, and their reasons.


# The origins of views. Only `TRACKED` allows recorded writes to the view.
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


def view_write_error(origin: str, edge: Edge | None, *, indirect: bool) -> RuntimeError:
    """The error for a write to a view of this origin.

    Args:
        edge: the view's edge in the graph.
        indirect: whether the write was to its base or another view, not to the view itself.
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


# Views that share memory, and the effect of an in-place write on the graph.
#
# A tensor and all its views share one version cell. A view knows its base and the steps that lead
# from the base to the view. A write to a view gives the base a new history, a `CopySlices`. Every
# view then derives a new history from the base when its history is next read (`view_history`).


# One step from a base to a view: a function of a Tensor or ndarray, its further arguments, and
# the number of the output (None if there is only one).
Step = tuple[Callable[..., Any], tuple[Any, ...], int | None]

LEAF_WRITE = "a {}leaf Variable that requires grad is being used in an in-place operation."
ALLOWED = "To change a leaf without a record of it, write to it under `with torch.no_grad():`."


class View:
    """The relation of a view to its base.

    Attributes:
        base, steps: the base, and the steps from there to the view.
        version: the version of the memory when `history` was set.
        history: the view's own history; None if it has none, for example under `no_grad`.
        origin: how the view was made, for example `TRACKED`.
        base_array: the base's array when the view was made: operations such as `t_` replace it.
    """

    __slots__ = ("base", "base_array", "history", "origin", "steps", "version")

    def __init__(
        self, base: Tensor, steps: tuple[Step, ...], version: int, origin: str,
        base_array: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self.base, self.steps, self.version, self.origin = base, steps, version, origin
        self.history: Any = None
        self.base_array = base._array if base_array is None else base_array

    def steps_now(self) -> tuple[Step, ...]:
        """The steps from the present base; the first ones undo operations on it such as `t_`."""
        past, undone = self.base._past, []
        if past and self.base._array is not self.base_array:
            for array, undo in reversed(past):
                undone.append(undo)
                if array is self.base_array:
                    break
        return (*undone, *self.steps)


def make_view(out: Tensor, source: Tensor, step: Step, recording: Any) -> View | None:
    """Make ``out`` a view of ``source`` by one step; returns the `View`, None for inference.

    Args:
        recording: `mode.enabled`.
    """
    view, cell = source._view, source._writes
    if cell is None:
        cell = source._writes = [0, None]
    out._writes = cell
    if cell.__class__ is InferenceCell:  # an inference tensor has no history
        return None
    made: View = new_object(View)
    out._view, out._history, made.history, made.version = made, ASK, None, cell[0]
    if recording:
        origin = TRACKED if step[2] is None else MULTI_OUTPUT
    else:
        origin = INFERENCE if recording is None else NO_GRAD
    if view is None:
        made.base, made.steps, made.base_array, made.origin = source, (step,), source._array, origin
    else:
        made.base, made.steps, made.base_array = view.base, (*view.steps, step), view.base_array
        made.origin = view.origin if origin is TRACKED else origin
    return made


def replay_steps(steps: Sequence[Step], start: Any) -> Any:
    """The view that the steps lead to from ``start``, a base or an ndarray of its shape."""
    for function, arguments, number in steps:
        start = function(start, *arguments)
        if number is not None:
            start = start[number]
    return start


def history_of(tensor: Tensor, *others: Tensor | None, copies: bool = False) -> Any:
    """The history, for a new node, of an operand whose ``_history`` is `ASK`.

    Args:
        others: the other operands. An operation whose operands are all inference tensors is not
            recorded.
        copies: whether the operation is a copy, which is recorded even then.
    """
    if tensor._view is not None:
        return view_history(tensor)
    if not copies and tensor.is_inference() and of_inference(*others):
        return None
    return leaf_history(tensor)


def kept_history(tensor: Tensor) -> Any:
    """The history, for a new node, of any operand."""
    history = tensor._history
    if history is LEAF:
        return tensor
    if history is not ASK:
        return history
    return leaf_history(tensor) if tensor._view is None else view_history(tensor)


def leaf_history(leaf: Tensor) -> Any:
    """The leaf itself; the edge to its accumulator if the leaf `_is_watched`."""
    return accumulator_edge(leaf) if leaf._is_watched() else leaf


def version_of(tensor: Tensor) -> Any:
    """The number of writes to the memory of a tensor."""
    cell = tensor._writes
    return 0 if cell is None else cell[0]


def view_history(tensor: Tensor) -> Any:
    """The history of a view; a new one, from the base, if the memory was written to since."""
    view, version = tensor._view, tensor._writes[0]
    history = view.history
    if version == view.version and history.__class__ is Recorded:
        return history
    own = history is not None and history is not LEAF
    if version != view.version and (own or view.base.requires_grad):
        if view.origin is not TRACKED:
            raise view_write_error(view.origin, tensor._edge, indirect=True)
        former = tensor._edge
        view.history = AsStridedBackward0(view)
        if tensor._leaf_hooks is not None:
            tensor._leaf_hooks.clear()  # the tensor is no longer a leaf
        if tensor._retains_grad:
            move_retain_grad(tensor, former)
        view.version = version
    history = view.history
    if history is None:
        # A view made under `no_grad` is cut off from its base for good.
        return CUT_OFF if view.base.requires_grad else None
    return leaf_history(tensor) if history is LEAF else history


def edge_to(history: Any) -> Edge:
    """The edge for a history in `Recorded._edges`."""
    if history is None:
        return NO_EDGE
    if history.__class__ is tuple:
        return history
    if history.__class__ is Recorded or isinstance(history, Node):
        return (history, 0)
    return accumulator_edge(history)


def accumulator_edge(leaf: Tensor) -> Edge:
    """The edge to the accumulator of a leaf."""
    reference = leaf._accumulator_ref
    node = None if reference is None else reference()
    return (leaf._new_accumulator() if node is None else node, 0)


def keep_accumulators(*tensors: Tensor) -> None:
    """Make the accumulators of leaves whose shape or dtype is about to change.

    An accumulator keeps the shape and dtype of the gradients of existing graphs. The garbage
    collector finds the nodes of these graphs, so recording keeps no list of them.
    """
    leaves = [t for t in tensors if t.requires_grad and t._edge is None]
    for edges in gc.get_referrers(*leaves) if leaves else ():
        if type(edges) is tuple:
            for node in gc.get_referrers(edges):
                if node.__class__ is Recorded and node._edges is edges:
                    node.materialize()
    for leaf in leaves:
        if leaf._accumulator_ref is not None and leaf._accumulator_ref() is not None:
            leaf._history = ASK


def edge_of(tensor: Tensor) -> Edge:
    """The edge along which the gradient of ``tensor`` goes; for a leaf, to its accumulator."""
    return edge_to(kept_history(tensor))


class AsStridedBackward0(Node):
    """The node from a view to its base: runs the formulas of all steps between the two."""

    plain = True
    multi = keeps_values = False

    def __init__(self, view: View) -> None:
        base = view.base
        self.shape = base._array.shape
        stand_in = base._alias()
        stand_in._set_flag(True)
        before, mode.enabled = mode.enabled, True
        observed, mode.observed = mode.observed, False
        try:
            out = replay_steps(view.steps_now(), stand_in)
        finally:
            mode.enabled, mode.observed = before, observed
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
        if graph and 0 in g.shape:  # as in PyTorch, an empty gradient has no history
            return (g._lift(np.zeros(self.shape, g._array.dtype)),)
        for node, number in self.chain:
            arrived = [None] * len(node._outputs)
            arrived[number] = g
            g = node.apply(arrived, graph)[0]
        return (g,)


class CopySlices(Node):
    """The history of a base after a write to its view. The gradient of the view's elements goes
    through the node of the write; the gradient of all others goes to the base's former history."""

    multi = False

    def __init__(self, base: Tensor, write: Node, steps: Sequence[Step], position: int) -> None:
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
        part = replay_steps(self.steps, rest)
        before = part.clone() if graph else np.array(part)
        results = list(write.apply([before], graph))
        through, results[self.position] = results[self.position], rest
        if graph:
            part.zero_() if through is None else part.copy_(through)
        elif through is None:
            part[...] = 0
        else:
            check_overlap(part)
            part[...] = through
        return results

    def copy_of(self, g: Any) -> Any:
        """A copy of ``g``, with dimensions in the base's order in memory."""
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
        """The metadata of the write's node, where anomaly mode notes the call."""
        saved = self._saved
        return super().metadata if isinstance(saved, FreedValues) else saved[0].metadata


def check_write(tensor: Tensor) -> None:
    """Refuse the in-place writes that PyTorch refuses.

    Raises:
        RuntimeError: for memory that several elements share, and for an inference tensor outside
            inference mode. With grad mode on, also for a leaf that requires grad, a view of such a
            leaf, and a view made under `no_grad`, by `split`, `unbind` or by a user's function.
    """
    if mode.enabled and (tensor._view is not None or tensor._history is not None):
        refuse_history(tensor)
    if tensor._writes.__class__ is InferenceCell or 0 in tensor._array.strides:
        check_memory(tensor)


def check_memory(tensor: Tensor, expanded: str | None = None) -> None:
    """Refuse a write to an inference tensor, or to memory that several elements share.

    Args:
        expanded: a function's name: a warning in its name replaces the error for shared memory. ""
            accepts shared memory.
    """
    if tensor._writes is not None:
        refuse_write(tensor._writes)
    if expanded is None:
        check_overlap(tensor._array)
    elif expanded and has_overlap(tensor._array):
        form = "indices] = tensor" if "put" in expanded else "mask] = scalar"
        warn(EXPANDED.format(expanded, form))


def refuse_history(tensor: Tensor) -> None:
    """Refuse a recorded write to a leaf that requires grad, a view of one, or a view cut off."""
    view = tensor._view
    if view is None:
        if tensor.requires_grad and tensor._edge is None:
            raise leaf_write_error(tensor)
        return
    if view.origin is not TRACKED and tensor.requires_grad:
        raise view_write_error(view.origin, tensor._edge, indirect=False)
    if view.base._edge is None and tensor.requires_grad:
        raise leaf_write_error(tensor, "view of a ")
    if tensor._edge is None and tensor.requires_grad:
        # As PyTorch does, refuse this even if a write to the base has given the view a history.
        raise leaf_write_error(tensor)


def leaf_write_error(tensor: Tensor, view: str = "") -> RuntimeError:
    """The error for a recorded write to a leaf, or to a ``view`` of one."""
    return RuntimeError(LEAF_WRITE.format(view) + describe_operands({"input": tensor}, ALLOWED))


def write(tensor: Tensor, values: np.ndarray, name: str, c_names: bool = False) -> None:
    """Store the result of the in-place operation ``name`` in a tensor and count the write.

    Args:
        c_names: whether the error for a dtype that does not fit uses the dtype's name in C.
    """
    array = tensor._array
    same = values is array or values.shape == array.shape  # a kernel may write to its argument
    if not same and np.broadcast_shapes(values.shape, array.shape) != array.shape:
        raise RuntimeError(
            f"output with shape {list(array.shape)} doesn't match the broadcast shape "
            f"{list(values.shape)}"
        )
    if values.dtype != array.dtype:
        from_, to = dtype_of(values), dtype_of(array)
        if not can_cast(from_, to):
            into = C_NAMES[to.name] if c_names else to.char
            raise RuntimeError(
                f"result type {from_.char} can't be cast to the desired output type {into}"
            )
    if values is not array:
        array[...] = values
    count_write(tensor._writes or tensor._cell, name, 3)


def rebase(tensor: Tensor, node: Node, number: int = 0, position: int = 0) -> None:
    """Make ``node`` the history of a tensor after a write.

    Args:
        number: the tensor's number among the node's outputs.
        position: the position of the node's edge to the tensor's former history.
    """
    view = tensor._view
    if view is None:
        before = tensor._edge
        tensor._come_from((node, number))
        if tensor._retains_grad:
            move_retain_grad(tensor, before)
        return
    refuse_rebase(tensor)
    base = view.base
    before = base._edge
    base._come_from((CopySlices(base, node.materialize(), view.steps_now(), position), 0))
    if base._retains_grad:
        move_retain_grad(base, before)
    view.version = -1  # so that `view_history` makes a new history from the base
    now = edge_of(tensor)[0]
    if now is not None:
        node._view_node = weakref.ref(now)


def refuse_rebase(tensor: Tensor) -> None:
    """Refuse a write that gives a history to a view that is not `TRACKED`."""
    view = tensor._view
    if view is not None and view.origin is not TRACKED:
        raise view_write_error(view.origin, tensor._edge, indirect=False)


def move_retain_grad(tensor: Tensor, former: Edge | None) -> None:
    """Move a tensor's `retain_grad` from its former node to its new one, after a write."""
    if former is not None and tensor._edge is not None:
        (old, old_number), (node, number) = former, tensor._edge
        if old is not None and node is not None and old_number in old.own_hooks().retain:
            node.own_hooks().retain[number] = old.own_hooks().retain.pop(old_number)
