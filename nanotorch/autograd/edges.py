"""Places in the graph by themselves, without a tensor that keeps its values alive."""

from typing import Any, NamedTuple

from nanotorch._core.graph import Edge, Node
from nanotorch._core.tensor import Tensor
from nanotorch._core.views import edge_of


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor goes; `backward` and `grad` take it in a tensor's place.

    Attributes:
        node: the node that made the tensor, or the accumulator of a leaf.
        output_nr: which of the node's outputs the tensor is.
        ownership_token: always None.
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place of ``tensor`` in the graph.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node, number = edge_of(tensor)
    assert node is not None
    return GradientEdge(node.unfolded(), number)


def place_of(target: Tensor | GradientEdge) -> Edge:
    """The edge to a tensor, or the one given."""
    return (target.node, target.output_nr) if isinstance(target, GradientEdge) else edge_of(target)
