"""The graph as a tree of text."""

from typing import Any

import pytest

import nanotorch as torch
from nanotorch.autograd import make_dot, print_graph
from nanotorch.autograd.graph_text import DEEPEST, graph_text
from tests.autograd.graph_view_cases import mlp

MLP = """\
MseLossBackward0 ()
└─ AddmmBackward0 (8, 1)
   ├─ 2.bias (1)
   ├─ ReluBackward0 (8, 16)
   │  └─ AddmmBackward0 (8, 16)
   │     ├─ 0.bias (16)
   │     └─ TBackward0 (4, 16)
   │        └─ 0.weight (16, 4)
   └─ TBackward0 (16, 1)
      └─ 2.weight (1, 16)"""

VARIABLES = """\
loss: MseLossBackward0 ()
└─ MulBackward0 (2, 1)
   ├─ AddmmBackward0 (2, 1)
   │  ├─ model.0.bias (1)
   │  └─ TBackward0 (3, 1)
   │     └─ model.0.weight (1, 3)
   └─ scale ()"""

SHARED = """\
loss: AddBackward0 (3)
├─ MulBackward0 (3) [1]
│  ├─ a (3) [2]
│  └─ leaf (3)
└─ MulBackward0 (3)
   ├─ MulBackward0 (3) → [1]
   └─ a (3) → [2]"""

OUTPUTS = """\
SumBackward0 ()
└─ MulBackward0 (2)
   ├─ SplitBackward0 (2) output 2 of 3 [1]
   │  └─ x (6)
   └─ SplitBackward0 (2) output 0 of 3 → [1]

SplitBackward0 (2) output 1 of 3 → [1]

x (6)

tensor (2, 2)"""


def leaf(*shape: int) -> Any:
    return torch.ones(shape or (3,), requires_grad=True)


COMMON = leaf()


def test_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    loss, options = mlp(torch)
    assert graph_text(loss, options["params"]) == MLP
    print_graph(loss, **options)
    assert capsys.readouterr().out == MLP + "\n"


def test_names_are_those_of_the_callers_variables(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a module or the file has them; the same in a drawing."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 1))
    scale = torch.ones((), requires_grad=True)
    loss = torch.nn.functional.mse_loss(model(torch.ones(2, 3)) * scale, torch.zeros(2, 1))
    print_graph(loss)
    assert capsys.readouterr().out == VARIABLES + "\n"
    titles = [box.title for box in make_dot(loss).graph.boxes.values() if box.kind != "op"]
    assert titles == ["loss", "model.0.bias", "model.0.weight", "scale"]
    assert "leaf" in graph_text(loss, {})
    assert graph_text(COMMON) == "COMMON (3)"


def test_what_is_used_twice_is_marked() -> None:
    a = leaf()
    y = a * leaf()
    loss = y + y * a
    assert graph_text(loss, {"a": a, "loss": loss}) == SHARED


def test_several_outputs() -> None:
    x = leaf(6)
    p, q, r = x.split(2)
    outputs = ((r * p).sum(), q, x, torch.ones(2, 2))
    assert graph_text(outputs, {"x": x}) == OUTPUTS


def test_deep_branches_go_on_at_the_margin() -> None:
    h = leaf()
    for _ in range(2 * DEEPEST + 1):
        h = h * leaf()
    first, second, third = graph_text(h, {}).split("\n\n")
    branches = "│  " * (DEEPEST - 1)
    assert f"\n{branches}├─ MulBackward0 (3) → [1]\n{branches}└─ leaf (3)\n" in first
    assert second.startswith("MulBackward0 (3) [1]\n├─ MulBackward0 (3)\n│  ├─ MulBackward0 (3)\n")
    assert third == "MulBackward0 (3) [2]\n├─ leaf (3)\n└─ leaf (3)"
    text = f"{first}\n{second}\n{third}"
    assert text.count("MulBackward0") - text.count("→") == 2 * DEEPEST + 1
    assert text.count("leaf (3)") == 2 * DEEPEST + 2
    assert max(map(len, text.splitlines())) <= 80


def test_a_branch_reached_elsewhere_is_not_written_again() -> None:
    shared = leaf().exp()
    h = shared * 1
    for _ in range(DEEPEST):
        h = h * leaf()
    sections = graph_text(h + shared).split("\n\n")
    text = "\n".join(sections)
    assert text.count("ExpBackward0 (3) [") == 1
    assert text.count("ExpBackward0 (3) → [") == 1


def test_long_texts_end_with_a_note() -> None:
    h = leaf()
    for _ in range(500):
        h = h.exp() + 1
    lines = graph_text(h, max_lines=10).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "… 991 more nodes: 495 AddBackward0, 495 ExpBackward0, 1 leaf"
    whole = graph_text(h, max_lines=5000).splitlines()
    assert graph_text(h).splitlines()[:-1] == whole[:1000]
    assert graph_text(h, max_lines=len(whole)).splitlines() == whole


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a Tensor to draw the graph of, got NoneType"):
        print_graph(None)  # type: ignore[arg-type]
