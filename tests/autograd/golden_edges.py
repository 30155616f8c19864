"""Edges of the graph in the place of tensors."""

from typing import Any

from tests.answers import name_of, raised
from tests.autograd.golden_function import leaf


def edges(torch: Any) -> Any:
    edge_of, x = torch.autograd.graph.get_gradient_edge, leaf(torch, 1.0, 2.0)
    y = x * 2
    part = y.unbind(0)[1]
    edge = edge_of(y)
    return [
        edge.node is y.grad_fn, [name_of(edge.node), edge.output_nr],
        [name_of(edge_of(x).node), edge_of(x).output_nr],
        [name_of(edge_of(part).node), edge_of(part).output_nr], list(edge._fields),
        isinstance(edge, tuple), raised(edge_of, torch.ones(1)),
    ]  # fmt: skip


def edges_as_inputs(torch: Any) -> Any:
    edge_of, grad = torch.autograd.graph.get_gradient_edge, torch.autograd.grad
    x, unused = leaf(torch, 1.0, 2.0), leaf(torch, 3.0)
    y = x * 2
    s = (y * y).sum()
    yield from [
        grad(s, edge_of(y), retain_graph=True),
        grad(s, [edge_of(x), y], retain_graph=True),
        raised(grad, s, [edge_of(unused)], retain_graph=True),
        grad(s, [edge_of(unused)], retain_graph=True, allow_unused=True),
        grad(s, [edge_of(x)], retain_graph=True, materialize_grads=True),
        raised(grad, s, [edge_of(unused)], retain_graph=True, materialize_grads=True),
    ]
    s.backward(inputs=[edge_of(x)])
    yield x.grad


def edges_as_roots(torch: Any) -> Any:
    edge_of, grad = torch.autograd.graph.get_gradient_edge, torch.autograd.grad
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    yield from [
        grad(edge_of(y), x, torch.tensor([1.0, 3.0]), retain_graph=True),
        raised(grad, edge_of(y), x),
        grad(torch.autograd.graph.GradientEdge(y.grad_fn, 0), x, torch.ones(2), retain_graph=True),
        grad(edge_of(y.sum()), x, retain_graph=True),
    ]
    torch.autograd.backward([edge_of(y)], [torch.ones(2)])
    yield x.grad
