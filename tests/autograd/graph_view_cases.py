"""Graphs to draw, for nanotorch and PyTorch alike, and what is compared of the drawings.

Each case takes the framework and returns the arguments of `make_dot`.
"""

import re
from collections.abc import Callable
from typing import Any

Case = Callable[[Any], tuple[Any, dict[str, Any]]]

STATEMENT = re.compile(
    r'\t(?P<node>\d+) \[label=(?P<label>"(?:[^"\\]|\\.)*"|\w+)(?: fillcolor=(?P<fill>\w+))?\]'
    r"|\t(?P<source>\d+) -> (?P<target>\d+)(?: \[(?P<styles>[^\]]*)\])?"
)


def statements(source: str) -> dict[str, Any]:
    """The nodes and edges of a DOT text, with numbers for keys, in the order of definition.

    Of several definitions of a node the last counts, as it does for Graphviz. Labels of edges are
    left out, since torchviz has none.
    """
    nodes: dict[str, list[str]] = {}
    edges = []
    for found in STATEMENT.finditer(source):
        if found["node"]:
            nodes[found["node"]] = [unquoted(found["label"]), found["fill"] or ""]
        else:
            styles = re.sub(r'label="[^"]*"', "", found["styles"] or "").strip()
            edges.append((found["source"], found["target"], styles))
    number = {key: i for i, key in enumerate(nodes)}
    return {
        "nodes": list(nodes.values()),
        "edges": [[number[a], number[b], styles] for a, b, styles in edges],
    }


def unquoted(label: str) -> str:
    if not label.startswith('"'):
        return label
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], label[1:-1])


def leaves(torch: Any, *sizes: int) -> list[Any]:
    return [torch.ones(size, requires_grad=True) for size in sizes]


def chain(torch: Any) -> Any:
    (x,) = leaves(torch, 3)
    return (x * 2 + 1).exp().sum(), {"params": {"x": x}}


def shared_nodes(torch: Any) -> Any:
    a, b = leaves(torch, 3, 3)
    y = a * b
    return (y + (y * a).tanh()).sum(), {"params": {"a": a, "b": b}}


def unnamed_leaves(torch: Any) -> Any:
    a, b = leaves(torch, 2, 1)
    return (a - b).mean(), {}


def same_input_twice(torch: Any) -> Any:
    (x,) = leaves(torch, 2)
    return x * x, {"params": {"x": x}}


def several_outputs_of_a_node(torch: Any) -> Any:
    (x,) = leaves(torch, 6)
    p, q, r = (x * 2).split(2)
    return (q * p - r * q).sum(), {"params": {"x": x}}


def mlp(torch: Any) -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    loss = nn.functional.mse_loss(model(torch.ones(8, 4)), torch.zeros(8, 1))
    return loss, {"params": dict(model.named_parameters())}


def several_outputs(torch: Any) -> Any:
    a, b = leaves(torch, 3, 3)
    y = (a * b).exp()
    return (y.sum(), y, a), {"params": {"a": a, "y": y}}


def view_of_a_leaf(torch: Any) -> Any:
    (x,) = leaves(torch, 4)
    return x[1:], {"params": {"x": x}}


def view_of_a_result(torch: Any) -> Any:
    (x,) = leaves(torch, 4)
    y = x.exp()
    return y.view(2, 2), {"params": {"x": x, "y": y}}


def view_without_a_graph(torch: Any) -> Any:
    return torch.ones(4)[1:], {}


def leaf(torch: Any) -> Any:
    (x,) = leaves(torch, 4)
    return x, {"params": {"x": x}}


def no_graph(torch: Any) -> Any:
    return torch.ones(2, 3), {}


def written_in_place(torch: Any) -> Any:
    a, b = leaves(torch, 3, 3)
    y = a * 2
    y.mul_(b)
    y[0] = b.sum()
    return y, {"params": {"a": a, "b": b}}


def saved_values(torch: Any) -> Any:
    a, b = leaves(torch, 3, 3)
    return (a.tanh() * b).exp().sum(), {"params": {"a": a, "b": b}, "show_saved": True}


def saved_attributes(torch: Any) -> Any:
    a, b = leaves(torch, 3, 3)
    y = a.sigmoid() * torch.ones(3) * b
    return y, {"params": {"a": a}, "show_attrs": True, "show_saved": True}


def short_attributes(torch: Any) -> Any:
    a, b = leaves(torch, 3, 3)
    return a * b, {"show_attrs": True, "max_attr_chars": 6}


def users_function(torch: Any) -> Any:
    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(y + 1, y + 2)
            return x * y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, grad

    a, b = leaves(torch, 3, 3)
    return Product.apply(a, b.exp()), {"params": {"a": a, "b": b}}


def quotes_in_names(torch: Any) -> Any:
    (x,) = leaves(torch, 3)
    return x.exp(), {"params": {'"x" [a] -> <b> {c|d} & ü': x}}


CASES: list[Case] = [
    chain, shared_nodes, unnamed_leaves, same_input_twice, several_outputs_of_a_node, mlp,
    several_outputs, view_of_a_leaf, view_of_a_result, view_without_a_graph, leaf, no_graph,
    written_in_place, saved_values, saved_attributes, short_attributes, users_function,
    quotes_in_names,
]  # fmt: skip
