"""Edges of the graph in the place of tensors, and hooks for several tensors."""

from collections.abc import Callable
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


def watched(torch: Any, mode: str, use: Callable[[Any, Any, Any], Any]) -> list[Any]:
    """What a hook for three leaves is called with in two backward passes."""
    leaves = [leaf(torch, float(k)) for k in (1, 2, 3)]
    log: list[Any] = []
    handle = torch.autograd.graph.register_multi_grad_hook(leaves, log.append, mode=mode)
    use(*(t * k for k, t in enumerate(leaves, 1))).backward()
    first = len(log)
    (leaves[0] * leaves[1] * leaves[2]).backward()
    handle.remove()
    handle.remove()
    sum(leaves).backward()
    return [log[:first], log[first:]]


def hooks_for_several(torch: Any) -> Any:
    return [
        watched(torch, mode, use)
        for mode in ("all", "any")
        for use in (lambda a, b, c: a + b, lambda a, b, c: a * b * c, lambda a, b, c: c)
    ]


def order_of_hooks(torch: Any) -> Any:
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    y, z = a * 2, b * 3
    log: list[Any] = []
    torch.autograd.graph.register_multi_grad_hook(
        (a, b, y, z), lambda grads: log.append([g is None for g in grads])
    )
    for name, t in zip("abyz", (a, b, y, z), strict=True):
        t.register_hook(lambda g, name=name: log.append(name))
    (y * z).backward()
    return log


def refused_hooks(torch: Any) -> Any:
    register, x = torch.autograd.graph.register_multi_grad_hook, leaf(torch, 1.0)
    register((x,), lambda grads: 3)
    (x * 2).backward()
    return [
        raised(register, (x, torch.ones(1)), print),
        raised(register, (x,), print, mode="some"),
        x.grad,
    ]


def hooks_for_a_while(torch: Any) -> Any:
    x = leaf(torch, 1.0)
    log: list[Any] = []
    with torch.autograd.graph.register_multi_grad_hook((x,), log.append):
        (x * 2).backward()
    (x * 2).backward()
    return log
