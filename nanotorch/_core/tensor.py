"""The tensor: an array with a history. Its operations are declared in `nanotorch.ops`."""

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nanotorch._core import doors, dtypes, grad_mode
from nanotorch._core.arguments import keep_freed_memory, require_bool
from nanotorch._core.bfloat16 import with_shared_dtype
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import C_NAMES, Shown, shown_as_one
from nanotorch._core.grad_mode import REQUIRES_GRAD, RETAIN_GRAD, mode, refuse_inside
from nanotorch._core.graph import (
    ASK,
    LEAF,
    AccumulateGrad,
    DetachedCell,
    Edge,
    FreedValues,
    HookDict,
    Node,
    RemovableHandle,
    Step,
    View,
    add_hook,
    edge_of,
    edge_to,
    keep_accumulators,
    materializing,
    view_history,
)
from nanotorch._core.layout import Exchange, Layout
from nanotorch._core.meta import MetaArray
from nanotorch._core.ownership import is_alone
from nanotorch.names.lookup import OF_TENSORS, OutOfScope, advised

if TYPE_CHECKING:
    from nanotorch._core.methods import Methods  # those that `nanotorch.ops` declares
else:
    Methods = object

NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you "
    "access the non-leaf Tensor by mistake, make sure you access the leaf Tensor instead. See "
    "github.com/pytorch/pytorch/pull/30531 for more information."
)
NO_GRADIENT = "cannot register a hook on a tensor that doesn't require gradient"
FLAG_OF_LEAVES = "you can only change requires_grad flags of leaf variables."
USE_DETACH = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation "
    "use var_no_grad = var.detach()."
)

new_node = object.__new__
# Returns the module that serves subclasses. That module needs `Tensor`, so `nanotorch` sets this.
overrides: Any = None
keep_freed_memory()  # every step makes and frees large results


@shown_as_one
class Tensor(Layout, Exchange, Methods, metaclass=Shown):
    """An n-dimensional array whose operations can be recorded for differentiation.

    `tensor`, `zeros`, `randn` and others make tensors. `Tensor(*sizes)` has the default dtype and
    arbitrary values; `Tensor(sequence)` has the values of the sequence.
    """

    _shown = "torch.Tensor"
    # Class attributes are the defaults: a new tensor sets only what differs.
    _array: np.ndarray  # the values; an ndarray always, for 0-d tensors too
    # The version cell: the number of writes to this memory, and the name and site of the last one.
    # All views of the memory have one cell, made at the first view, save or write.
    _writes: list[Any] | None = None
    _history: Any = None  # the tensor's origin; see `LEAF`
    _view: View | None = None
    _grad: "Tensor | None" = None
    _past: tuple[tuple[np.ndarray, Step], ...] = ()  # the arrays before each `t_` and the like
    _accumulator_ref: "weakref.ref[AccumulateGrad] | None" = None
    _leaf_hooks: HookDict | None = None
    _post_accumulate_hooks: HookDict | None = None
    _retains_grad = False
    _is_number = False  # whether it replaces a Python number among an operation's operands
    __array_priority__ = 1000  # NumPy's functions of arrays and tensors return tensors

    if TYPE_CHECKING:

        def __new__(cls, *given: Any, device: Any = None) -> Any: ...

    # Subclasses

    def __init_subclass__(cls, asked: bool = False, **named: Any) -> None:
        super().__init_subclass__(**named)
        if asked or not cls.__module__.startswith("nanotorch."):
            overrides().prepare(cls)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function with tensors of this class; by default its results have this class."""
        return overrides().default(cls, func, types, args, kwargs)

    def as_subclass(self, cls: Any) -> Any:
        """A view of this tensor that is an instance of ``cls``, a subclass of `Tensor`."""
        return overrides().as_subclass(self, cls)

    @staticmethod
    def _make_subclass(cls: Any, data: "Tensor", require_grad: bool = False) -> Any:
        """A leaf of the subclass ``cls`` on the memory of ``data``."""
        return overrides().make_subclass(cls, data, require_grad)

    # Other processes

    def share_memory_(self) -> "Tensor":
        """Move the values to shared memory; returns the tensor.

        Processes that are forked later, or that get the tensor as an argument or through a queue of
        `torch.multiprocessing`, see each other's writes.

        Raises:
            RuntimeError: if another tensor has the same memory: it would stay in the old memory.
        """
        from nanotorch.multiprocessing import share  # slow to import

        if not self.is_shared() and not is_alone(self):
            raise RuntimeError(
                "share_memory_() moves the values of one tensor, and others have this one's memory:"
                " its base, its views, or the tensor whose `data` it is. Call it on a tensor, not "
                "on its `data`, before there are views and graphs of it, or share its clone()"
            )
        share(self)
        return self

    def is_shared(self) -> bool:
        """Whether the values are in memory that processes share."""
        from nanotorch.multiprocessing import memory_of  # slow to import

        return memory_of(self._array) is not None

    # Its place in the graph

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded."""
        view = self._view
        if view is None:
            return self._history is not None
        return view.history is not None or view.base.requires_grad

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if self._edge is not None:
            raise RuntimeError(FLAG_OF_LEAVES if value else FLAG_OF_LEAVES + USE_DETACH)
        if value is not True and value is not False:
            raise RuntimeError("requires_grad must be a bool")
        if value and self._array.dtype.kind != "f":
            text = "only Tensors of floating point and complex dtype can require gradients"
            raise advised(RuntimeError(text), "integer gradient")
        self._set_requires_grad(value)

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Set whether operations on this tensor are recorded; returns the tensor.

        Args:
            requires_grad: whether to record them.

        Raises:
            RuntimeError: for a dtype that is not floating-point; for an inference tensor outside
                inference mode; for False on a tensor that a recorded operation made; inside a
                function that `torch.func` transforms.
            TypeError: if ``requires_grad`` is not a bool.
        """
        require_bool(requires_grad, ("requires_grad_", "requires_grad", 1))
        refuse_inside(REQUIRES_GRAD)
        return self._set_requires_grad(requires_grad)

    def _set_requires_grad(self, requires_grad: bool = True) -> "Tensor":
        """Do the work of `requires_grad_`, also inside a function that is being transformed."""
        if requires_grad and self._array.dtype.kind != "f":
            text = "only Tensors of floating point dtype can require gradients"
            raise advised(RuntimeError(text), "integer gradient")
        if requires_grad and mode.enabled is not None and self.is_inference():
            raise RuntimeError(grad_mode.REQUIRED)
        if not requires_grad and self._edge is not None:
            raise RuntimeError(FLAG_OF_LEAVES + USE_DETACH)
        if self._edge is None:
            self._set_flag(requires_grad)
        return self

    def _set_flag(self, requires_grad: bool) -> None:
        """Set whether a leaf requires grad, without checks."""
        self._come_from(LEAF if requires_grad else None)

    def _come_from(self, history: Any) -> None:
        """Give the tensor a history: `LEAF`, an edge, or None."""
        if history is not LEAF and history is not None:
            node, number = history
            history = history if number or node is None or node.multi else node
        if self._view is not None:
            self._view.history = history
        elif history is LEAF and self._is_watched():
            self._history = ASK
        else:
            self._history = history

    def _is_watched(self) -> bool:
        """Whether `quick_sweep` cannot handle this leaf: it has hooks, is an inference tensor, or
        has an accumulator with its former shape."""
        node: Any = None if self._accumulator_ref is None else self._accumulator_ref()
        if node is not None and node._outputs[0][0] != self._array.shape:
            return True
        hooks = self._leaf_hooks, self._post_accumulate_hooks, node and node._hooks
        return hooks != (None, None, None) or self.is_inference()

    @property
    def _edge(self) -> Edge | None:
        """The edge to the node that made this tensor; for a view, it may be out of date."""
        history = self._history if self._view is None else self._view.history
        return None if history is None or history is LEAF or history is ASK else edge_to(history)

    @property
    def _cell(self) -> list[Any]:
        """The version cell."""
        if self._writes is None:
            self._writes = [0, None]
        return self._writes

    @_cell.setter
    def _cell(self, cell: list[Any]) -> None:
        self._writes = cell

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor; None for a leaf."""
        if self._view is not None:
            view_history(self)
        edge = self._edge
        return None if edge is None or edge[0] is None else edge[0].materialize()

    @property
    def output_nr(self) -> int:
        """The number of this tensor among the outputs of `grad_fn`; 0 for a leaf."""
        edge = self._edge
        return 0 if edge is None else edge[1]

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        return self.grad_fn is None

    @property
    def grad(self) -> "Tensor | None":
        """The gradient that `backward` has accumulated; None before that.

        Warns:
            UserWarning: for a non-leaf that does not retain its gradient.
        """
        if self._grad is None and not self._retains_grad and self._edge is not None:
            warn(NON_LEAF_GRAD)
        return self._grad

    @grad.setter
    def grad(self, value: "Tensor | None") -> None:
        if value is not None:
            self._check_new_grad(value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    def _check_new_grad(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if self._view is not None:
            view_history(self)  # which refuses a view whose history is lost
        if value.device != self.device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{value.device.type}' to a "
                f"tensor with device type '{self.device.type}'. Please ensure that the gradient "
                "and the tensor are on the same device"
            )
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor "
                f"of size '{list(self._array.shape)}'. Please ensure that the gradient and the "
                "tensor are the same size"
            )
        if value.dtype != self.dtype:
            kind = C_NAMES[value.dtype.name]
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{kind}' to a tensor with "
                f"grad_dtype '{self.dtype.char}'. The gradient must match the tensor's grad_dtype "
                "(defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute "
                "with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. "
                "Diverging the dtypes of a tensor and its gradient may break downstream systems "
                "that assume they match."
            )

    def _new_accumulator(self) -> AccumulateGrad:
        """Make this leaf's accumulator, which lives while a graph holds it; returns it."""
        with materializing:
            node: Any = None if self._accumulator_ref is None else self._accumulator_ref()
            if node is None:  # else another thread has made it since
                # Read `vars`: a tracer counts a read of the attribute `_array` as a use of values.
                array, node = vars(self)["_array"], new_node(AccumulateGrad)
                node.variable, node._outputs = self, ((array.shape, array.dtype),)
                node.lock = threading.RLock()
                if self._leaf_hooks is not None:
                    node.own_hooks().tensor[0] = self._leaf_hooks
                # The last step: from now on, other threads use the node.
                self._accumulator_ref = weakref.ref(node)
        return node

    @property
    def data(self) -> "Tensor":
        """A tensor with the same memory, no history, and version counts of its own."""
        out = wrap(self._array)
        if self._writes.__class__ is grad_mode.InferenceCell:
            out._writes = grad_mode.InferenceCell(mode.enabled is not None)
        return out

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @data.setter
    def data(self, value: "Tensor") -> None:
        if not isinstance(value, Tensor):
            raise TypeError("Variable data has to be a tensor, but got " + type(value).__name__)
        if value._array.dtype.kind != "f" and self.requires_grad:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        array, former = value._array, self._array
        if isinstance(array, MetaArray) is not isinstance(former, MetaArray):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                "incompatible tensor type."
            )
        if array.shape != former.shape or array.dtype != former.dtype:
            keep_accumulators(self)
        self._take_data(value)

    def _take_data(self, value: "Tensor") -> None:
        """Set ``data``, after `keep_accumulators`."""
        if value._array.dtype != self._array.dtype:
            self._accumulator_ref = None  # the accumulator has the former dtype
        self._array = value._array
        if self.is_inference() is not value.is_inference():
            self._cell = grad_mode.InferenceCell(True) if value.is_inference() else [0, None]
        if self._history is LEAF or (self._history is ASK and self._view is None):
            self._set_flag(True)

    def detach(self) -> "Tensor":
        """A tensor with the same memory and no history: a write to one changes both."""
        out = wrap(self._array)
        cell = self._writes
        if cell is None:
            cell = self._writes = [0, None]
        elif cell.__class__ is grad_mode.InferenceCell and mode.enabled is not None:
            cell = grad_mode.InferenceCell(True)
        out._writes = cell
        return out

    def detach_(self) -> "Tensor":
        """Make this tensor a leaf that does not require grad; returns the tensor.

        This has no effect in inference mode or on an inference tensor.

        Raises:
            RuntimeError: for a view.
        """
        if mode.enabled is None or self.is_inference():
            return self
        if self._view is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
                "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as the solution."
            )
        if self._edge is not None:
            self._cell = DetachedCell(self._cell)
        self._history = None
        return self

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode."""
        return isinstance(self._writes, grad_mode.InferenceCell)

    @property
    def _version(self) -> int:
        cell = self._cell
        if isinstance(cell, grad_mode.InferenceCell):
            if not cell.known:
                raise RuntimeError(grad_mode.UNTRACKED)
            return cell.version
        return int(cell[0])

    @property
    def _base(self) -> "Tensor | None":
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    # Hooks

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(grad)`` when the gradient of this tensor has been computed.

        A result of the hook other than None replaces the gradient.

        Returns:
            A handle whose ``remove()`` removes the hook.

        Raises:
            RuntimeError: if the tensor does not require grad.
        """
        if not self.requires_grad:
            raise RuntimeError(NO_GRADIENT)
        node, number = edge_of(self)
        if node is None or isinstance(node, AccumulateGrad):
            with materializing:
                if self._leaf_hooks is None:
                    self._leaf_hooks = HookDict()
                    self._set_flag(node is not None)
                if node is None:  # the view is cut off from its base: no gradient will come
                    return add_hook(self._leaf_hooks, hook)
                node.own_hooks().tensor[0] = self._leaf_hooks  # so that hooks outlive the graph
        by_output = node.own_hooks().tensor
        return add_hook(by_output.setdefault(number, HookDict()), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(tensor)`` each time after `backward` has added to this leaf's gradient.

        Returns:
            A handle whose ``remove()`` removes the hook.

        Raises:
            RuntimeError: if the tensor does not require grad or is not a leaf.
        """
        if not self.requires_grad:
            raise RuntimeError(NO_GRADIENT)
        if self.grad_fn is not None:
            text = "post accumulate grad hooks cannot be registered on non-leaf tensors"
            raise RuntimeError(text)
        with materializing:
            if self._post_accumulate_hooks is None:
                self._post_accumulate_hooks = HookDict()
                if self._view is None:  # the history of a view is `ASK` in any case
                    self._set_flag(True)
        return add_hook(self._post_accumulate_hooks, hook)

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in ``grad``; no effect on a leaf.

        Raises:
            RuntimeError: if the tensor does not require grad, or inside a function that
                `torch.func` transforms.
        """
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        refuse_inside(RETAIN_GRAD)
        if self._retains_grad or self._edge is None:
            return
        node, number = edge_of(self)
        assert node is not None
        self._retains_grad = True
        node.own_hooks().retain[number] = partial(keep_gradient, weakref.ref(self))

    @property
    def retains_grad(self) -> bool:
        """Whether this tensor is a non-leaf that keeps its gradient."""
        return self._retains_grad

    def __dir__(self) -> list[str]:
        return [*dir(type(self)), *vars(self)]

    # For the engine

    @staticmethod
    def _lift(array: Any) -> "Tensor":
        if getattr(array, "dtype", None) is dtypes.BFLOAT16:
            return wrap(with_shared_dtype(array))
        kinds = (np.ndarray, MetaArray)
        return wrap(array if array.__class__ in kinds else np.asarray(array))

    def _alias(self) -> "Tensor":
        """A tensor with the same memory and no history."""
        return wrap(self._array)

    def _cast(self, kind: np.dtype) -> "Tensor":
        return self.to(dtypes.OF_NUMPY[kind])


def keep_gradient(of: "weakref.ref[Tensor]", g: Tensor) -> None:
    """Add a gradient to the ``grad`` of a tensor that retains it, if the tensor still lives."""
    tensor = of()
    if tensor is not None:
        tensor._grad = g.clone() if tensor._grad is None else tensor._grad + g


# `__getattr__` would slow down every access to an attribute.
for _name in OF_TENSORS:
    setattr(Tensor, _name, OutOfScope("Tensor", _name))


def wrap(array: np.ndarray) -> Tensor:
    """A tensor of ``array``, without a copy."""
    out = object.__new__(Tensor)
    out._array = array
    out._history = out._view = out._writes = out._grad = None
    return out


def require_float(array: np.ndarray) -> None:
    """Refuse gradients for integers and bools."""
    if array.dtype.kind != "f":
        text = "Only Tensors of floating point and complex dtype can require gradients"
        raise advised(RuntimeError(text), "integer gradient")


def call_plainly(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class without overrides: call ``func``."""
    return func(*args, **(kwargs or {}))


# The name of an object's type in error messages.


def typename(obj: Any) -> str:
    """The name of an object's type, with its module; of a class or function, its own name.

    For a tensor, the name follows from its dtype, for example `torch.FloatTensor`. Built-in types
    have no module in their names.
    """
    if isinstance(obj, Tensor):
        return f"torch.{obj.dtype.char}Tensor"
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    name: str = named.__qualname__
    return name if module in ("", "builtins", "__builtin__") else f"{module}.{name}"


# Saved values that an observer of nodes has packed.


@contextmanager
def observe_every_node() -> Iterator[None]:
    """Context manager: every operation makes a node of its own; no node combines several."""
    observer = doors.Observer()
    doors.nodes.append(observer)
    try:
        yield
    finally:
        doors.nodes.remove(observer)


class Packed(tuple[Any, ...]):
    """The saved values of a node, some of which are `PackedValue` objects."""


class PackedValue(NamedTuple):
    """One saved tensor that the user's function has packed, with its edge in the graph."""

    value: Any
    unpack: Callable[[Any], Any]
    of_output: bool
    edge: Edge
    requires_grad: bool


def opened(node: Node) -> tuple[Any, ...]:
    """The saved values of a node, unpacked, as operations save them.

    Raises:
        RuntimeError: if the values were freed.
        TypeError: if an unpack function does not return a tensor.
    """
    saved = node._saved
    if isinstance(saved, FreedValues):
        raise saved.error(node)
    return tuple(unpack(v) if isinstance(v, PackedValue) else v for v in saved)


def unpack(packed: PackedValue) -> tuple[Any, ...]:
    """A packed tensor, unpacked, as operations save it."""
    result = packed.unpack(packed.value)
    if not isinstance(result, Tensor):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(result).__name__}"
        )
    if packed.of_output:
        return (result._array, [0, None], 0)
    out, node = wrap(result._array), packed.edge[0]
    if isinstance(node, AccumulateGrad):
        out._accumulator_ref = weakref.ref(node)
        out._set_flag(packed.requires_grad)
    elif node is not None or packed.requires_grad:
        out._come_from(packed.edge)
    return (out, 0)
