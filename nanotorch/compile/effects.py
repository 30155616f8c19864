"""What a step leaves behind, besides what it writes to memory."""

from typing import Any

from nanotorch._core.graph import AccumulateGrad, Edge, Node
from nanotorch._core.tensor import Tensor
from nanotorch.compile.tape import Ref


class Result:
    """A tensor that the step returns.

    Attributes:
        ref: its values.
        edge: the node that made it in the trace, if it requires grad; its graph is used up.
        cell: the class of its version cell, which inference tensors have of their own.
    """

    __slots__ = ("cell", "edge", "ref")

    def __init__(self, ref: Ref, edge: Edge | None, cell: type) -> None:
        self.ref, self.edge, self.cell = ref, edge, cell


class Gradient:
    """What became of a leaf's ``grad``: None, or a new tensor of ``ref``'s values."""

    __slots__ = ("leaf", "ref")

    def __init__(self, leaf: Tensor, ref: Ref | None) -> None:
        self.leaf, self.ref = leaf, ref


class Count:
    """How a version cell changed.

    Attributes:
        slot: whose tensor has the cell, where it may be another one at each call.
        rest: what stands in it behind the count.
    """

    __slots__ = ("cell", "rest", "slot", "times")

    def __init__(self, cell: list[Any], slot: Any, times: int, rest: list[Any]) -> None:
        self.cell, self.slot, self.times, self.rest = cell, slot, times, rest


def is_used_up(node: Node) -> bool:
    """Whether a backward pass has freed what a graph kept, so that there can be no other."""
    seen, queue, freed = {node}, [node], False
    for found in queue:  # the list grows while the loop runs
        if found.keeps_values and not isinstance(found, AccumulateGrad):
            if isinstance(found._saved, tuple):
                return False
            freed = True
        for target, _ in found.next_functions:
            if target is not None and target not in seen:
                seen.add(target)
                queue.append(target)
    return freed
