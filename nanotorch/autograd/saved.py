"""Hooks on saved tensors: nodes keep what the functions of `saved_tensors_hooks` make of them."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from nanotorch._core.doors import Observer
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import NO_EDGE, CopySlices, FreedValues, edge_of
from nanotorch._core.op import OpNode
from nanotorch._core.tensor import Packed, PackedValue, Tensor

PACK_WRITES = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Please open an issue if you need to perform in-place operations on the input to a pack hook."
)


class _Hooks(threading.local):
    """Per thread: the pairs (pack, unpack), innermost last."""

    def __init__(self) -> None:
        self.stack: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []


hooks = _Hooks()


def pack_all(values: Sequence[Any], kinds: Sequence[str], outputs: Sequence[Any]) -> Packed:
    """The saved ``values`` with their tensors packed by the innermost pack function.

    Args:
        kinds: for each value, "out" for an output's array with its version, "input" or "aux" for
            a tensor with its version, and any other text for a value that is not a tensor.
        outputs: the tensors of the values of kind "out", in their order.
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
    """A tensor packed by the innermost pack function.

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
    # The edge of an output leads to the node that saves it: the node would hold itself.
    edge = NO_EDGE if of_output else edge_of(tensor)
    return PackedValue(value, unpack_hook, of_output, edge, tensor.requires_grad)


class _Packing(Observer):
    """Packs the values that each new node of an operation saves, in a block of this thread."""

    def made(self, node: Any, out: Any, arguments: Sequence[Any]) -> None:
        saved = node._saved
        if not (hooks.stack and isinstance(node, OpNode)) or isinstance(saved, Packed):
            return
        op, kinds = node.op, [kind for _, kind in node.op.recipe]
        assert not isinstance(saved, FreedValues)
        outs = [
            out[op.number_of(name)] if op.results else out
            for name, kind in op.recipe
            if kind == "out"
        ]
        node._saved, node.plain = pack_all(saved, kinds, outs), False
        edge = None if getattr(out, "_view", None) is None else out._view.base._edge
        if edge is not None and isinstance(edge[0], CopySlices) and edge[0]._saved == (node,):
            edge[0].plain = False  # the `CopySlices` runs this node


packing = _Packing()
