"""What may happen to a node as it is made: its saved values packed by the user's functions.

Recording an operation looks only at whether `observers` is empty, so neither this nor anomaly
mode costs anything while it is off.
"""

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core.anomaly import note_origin
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import NO_EDGE, AccumulateGrad, Edge, FreedValues, Node, anomaly
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.views import edge_of

PACK_WRITES = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Please open an issue if you need to perform in-place operations on the input to a pack hook."
)

# One entry for each thread's context of packing, and for everyone else who looks on.
observers: list[object] = []


@contextmanager
def one_node_each() -> Iterator[None]:
    """Make a node for every operation in the block, none that stands for several."""
    looking = object()
    observers.append(looking)
    try:
        yield
    finally:
        observers.remove(looking)


class _Hooks(threading.local):
    """Per thread: the pairs (pack, unpack), innermost last, and why there may be none."""

    def __init__(self) -> None:
        self.stack: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []
        self.refusal: str | None = None


hooks = _Hooks()


class Packed(tuple[Any, ...]):
    """The saved values of a node, some of them as `PackedValue`."""


class PackedValue(NamedTuple):
    """One saved tensor as the user's function packed it, with its place in the graph."""

    value: Any
    unpack: Callable[[Any], Any]
    of_output: bool
    edge: Edge
    requires_grad: bool


def observe(node: Node, out: Any) -> None:
    """Do to a new node what this thread has asked for.

    Args:
        out: the tensor it belongs to, or several.
    """
    if anomaly.enabled:
        note_origin(node)
    if hooks.stack:
        op: Any = node.op  # type: ignore[attr-defined]
        kinds, saved = [kind for _, kind in op.recipe], node._saved
        assert not isinstance(saved, FreedValues)
        outs = [
            out[op.number_of(name)] if op.results else out
            for name, kind in op.recipe
            if kind == "out"
        ]
        node._saved, node.plain = pack_all(saved, kinds, outs), False
        edge = None if getattr(out, "_view", None) is None else out._view.base._edge
        if edge is not None and edge[0] is not None and edge[0]._saved == (node,):
            edge[0].plain = False  # the history of a base whose view was written to runs the node


def pack_all(values: Sequence[Any], kinds: Sequence[str], outputs: Sequence[Any]) -> Packed:
    """Put the saved tensors among ``values`` through the innermost pack function.

    Args:
        kinds: for each value, "out" for an output's array with its version, "input" or "aux" for
            a tensor with its version, and anything else for what is no tensor.
        outputs: the tensors that entries of kind "out" stand for, in their order.
    """
    packed = list(values)
    remaining = iter(outputs)
    for position, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        if kind in ("out", "input", "aux"):
            tensor = next(remaining) if kind == "out" else value and value[0]
            if value is not None and not tensor._is_number:
                packed[position] = pack(tensor, kind == "out")
    return Packed(packed)


def pack(tensor: Tensor, of_output: bool) -> PackedValue:
    """One tensor, packed.

    Raises:
        RuntimeError: if the function writes to the tensor.
    """
    pack_hook, unpack_hook = hooks.stack[-1]
    version = tensor._cell[0]
    before, mode.enabled = mode.enabled, False
    try:
        value = pack_hook(tensor)
    finally:
        mode.enabled = before
    if tensor._cell[0] != version:
        raise RuntimeError(PACK_WRITES)
    # An output leads to its own node, which must not hold itself.
    edge = NO_EDGE if of_output else edge_of(tensor)
    return PackedValue(value, unpack_hook, of_output, edge, tensor.requires_grad)


def opened(node: Node) -> tuple[Any, ...]:
    """The saved values of a node as operations save them, packed ones unpacked.

    Raises:
        RuntimeError: if they have been freed.
        TypeError: if an unpack function returns no tensor.
    """
    saved = node._saved
    if isinstance(saved, FreedValues):
        raise saved.error(node)
    return tuple(unpack(v) if isinstance(v, PackedValue) else v for v in saved)


def unpack(packed: PackedValue) -> tuple[Any, ...]:
    """A tensor that was packed, as operations save it."""
    result = packed.unpack(packed.value)
    if not isinstance(result, Tensor):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(result).__name__}"
        )
    if packed.of_output:
        return (result._array, [0, None], 0)
    return (with_history(result._array, packed.edge, packed.requires_grad), 0)


def with_history(array: np.ndarray, edge: Edge, requires_grad: bool) -> Tensor:
    """A tensor of ``array`` that stands where ``edge`` leads."""
    out = wrap(array)
    out._requires_grad = requires_grad
    node, _ = edge
    if isinstance(node, AccumulateGrad):
        out._accumulator_ref = weakref.ref(node)
    else:
        out._edge = edge
    return out
