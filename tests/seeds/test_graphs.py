"""Graphs: built, differentiated, paused, and their leaves."""

from typing import Any

import nanotorch as torch
from nanotorch.autograd import make_dot


def test_the_picture_of_a_graph_names_the_leaves_that_require_grad() -> None:
    w, b = torch.ones(5, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    x = torch.ones(5)
    z = x.dot(w) + b
    view = make_dot(z, params={"x": x, "w": w, "b": b})
    for label in ("AddBackward0", "DotBackward0", "AccumulateGrad", "w\\n (5)", "b\\n ()"):
        assert label in view.source
    assert "x\\n (5)" not in view.source
    assert "<svg" in view.svg


def test_a_slice_assignment_costs_a_node_each() -> None:
    """Which is why joining is the faster way: its backward pass copies each gradient once."""
    parts = [torch.randn(1, 8, 8, requires_grad=True) for _ in range(50)]
    joined = torch.cat(parts, dim=0)
    written = torch.empty(50, 8, 8)
    for i, part in enumerate(parts):
        written[i] = part[0]
    assert len(nodes_behind(joined)) == 1 + 50
    # For each: the write, the selection of the part, its accumulator.
    assert len(nodes_behind(written)) == 3 * 50


def nodes_behind(tensor: torch.Tensor) -> list[Any]:
    found = [tensor.grad_fn]
    for node in found:
        found += [n for n, _ in node.next_functions if n is not None and n not in found]
    return found
