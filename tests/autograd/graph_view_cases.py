"""Graphs to draw, for nanotorch and PyTorch alike, and what is compared of the drawings.

Each case takes the framework and returns the arguments of `make_dot`.
"""

import ast
import re
import textwrap
from collections.abc import Callable
from typing import Any

from tests.autograd.golden_function import make

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


def cases(text: str) -> dict[str, Case]:
    """The cases of lines with a title, each with statements of which the last one draws."""

    def program(statements: str) -> Case:
        def case(torch: Any) -> Any:
            def leaf(*shape: int) -> Any:
                return torch.ones(shape, requires_grad=True)

            def draw(var: Any, params: Any = (), **options: Any) -> Any:
                return var, {"params": dict(params), **options}

            torch.manual_seed(0)
            names = {"torch": torch, "nn": torch.nn, "leaf": leaf, "draw": draw, "make": make}
            *before, last = ast.parse(textwrap.dedent(statements)).body
            exec(compile(ast.Module(before, []), "<case>", "exec"), names)
            return eval(compile(ast.unparse(last), "<case>", "eval"), names)

        return case

    parts = [part.partition("\n") for part in re.split(r"\n(?=\S)", text.strip())]
    return {title: program(statements) for title, _, statements in parts}


CASES = cases("""
chain
    x = leaf(3)
    draw((x * 2 + 1).exp().sum(), {"x": x})
shared_nodes
    a, b = leaf(3), leaf(3)
    y = a * b
    draw((y + (y * a).tanh()).sum(), {"a": a, "b": b})
unnamed_leaves
    draw((leaf(2) - leaf(1)).mean())
same_input_twice
    x = leaf(2)
    draw(x * x, {"x": x})
several_outputs_of_a_node
    x = leaf(6)
    p, q, r = (x * 2).split(2)
    draw((q * p - r * q).sum(), {"x": x})
mlp
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    loss = nn.functional.mse_loss(model(torch.ones(8, 4)), torch.zeros(8, 1))
    draw(loss, model.named_parameters())
several_outputs
    a, b = leaf(3), leaf(3)
    y = (a * b).exp()
    draw((y.sum(), y, a), {"a": a, "y": y})
view_of_a_leaf
    x = leaf(4)
    draw(x[1:], {"x": x})
view_of_a_result
    x = leaf(4)
    y = x.exp()
    draw(y.view(2, 2), {"x": x, "y": y})
view_without_a_graph
    draw(torch.ones(4)[1:])
leaf
    x = leaf(4)
    draw(x, {"x": x})
no_graph
    draw(torch.ones(2, 3))
written_in_place
    a, b = leaf(3), leaf(3)
    y = a * 2
    y.mul_(b)
    y[0] = b.sum()
    draw(y, {"a": a, "b": b})
saved_values
    a, b = leaf(3), leaf(3)
    draw((a.tanh() * b).exp().sum(), {"a": a, "b": b}, show_saved=True)
saved_attributes
    a, b = leaf(3), leaf(3)
    draw(a.sigmoid() * torch.ones(3) * b, {"a": a}, show_attrs=True, show_saved=True)
short_attributes
    draw(leaf(3) * leaf(3), show_attrs=True, max_attr_chars=6)
users_function
    def forward(ctx, x, y):
        ctx.save_for_backward(x + 1, y + 2)
        return x * y
    a, b = leaf(3), leaf(3)
    draw(make(torch, forward).apply(a, b.exp()), {"a": a, "b": b})
quotes_in_names
    x = leaf(3)
    draw(x.exp(), {'"x" [a] -> <b> {c|d} & ü': x})
""")
