"""Values and formulas as short texts, and the graph as a tree of text."""
# ruff: noqa: RUF001 - the texts have multiplication signs

import importlib
import io
import math
import re
import sys
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch._core.op import OPS
from nanotorch.autograd import explain, make_dot, print_graph
from nanotorch.autograd.graph_text import DEEPEST, declaration, formulas, graph_text, short_value
from nanotorch.ops import FAMILIES
from tests.autograd.pictures import Picture

FIGURE = """\
z: + AddBackward0 = 16.0, grad 1.0
├─ × MulBackward0 = 16.0, grad 1.0
│  ├─ x = 4.0, grad 8.0 [1]
│  └─ x = 4.0, grad 8.0 → [1]
└─ sin SinBackward0 = 1.7485e-07, grad 1.0
   └─ × MulBackward0 = 6.2832, grad 1.0
      ├─ y = 3.1416, grad 2.0
      └─ constant = 2.0
"""


def leaves(*values: Any) -> list[torch.Tensor]:
    return [torch.tensor(value, requires_grad=True) for value in values]


def test_the_figure_of_a_textbook(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = leaves(4.0, math.pi)
    z = x * x + torch.sin(2 * y)
    explain(z)
    print_graph(z, values=True)
    assert capsys.readouterr().out == FIGURE
    picture = make_dot(z, values=True).svg
    coloured = dict.fromkeys(re.findall(r'fill="(#\w+)" data-row="(\w+)"', picture))
    assert list(coloured) == [("#1a7f37", "value"), ("#0969da", "grad")]
    assert not list(Picture(picture).problems())
    texts = [texts for _, texts in Picture(picture).boxes]
    assert ["x", "value", "4.0", "grad", "8.0"] in texts
    assert ["constant", "value", "2.0"] in texts
    assert ["z: + AddBackward0", "value", "16.0", "grad", "1.0"] in texts
    source = make_dot(z, values=True).source
    assert '[label="constant\\n----------\\nvalue: 2.0"]' in source
    assert '[label="× MulBackward0\\n--------------\\nvalue: 16.0\\ngrad :  1.0"]' in source


def test_without_a_recording_what_the_graph_keeps_is_shown() -> None:
    x, y = leaves(4.0, 0.5)
    product = x * x
    product.retain_grad()
    z = product + torch.sin(2 * y)
    text = graph_text(z, values=True)
    assert "× MulBackward0 = 16.0\n" in text
    assert "sin SinBackward0 = 0.84147\n" in text
    z.backward()
    freed = graph_text(z, values=True)
    assert "× MulBackward0 = 16.0, grad 1.0\n" in freed  # the tensor lives, and retains it
    assert "\n└─ sin SinBackward0\n" in freed
    assert "y = 0.5, grad 1.0806" in freed


def test_numbers_that_are_not_saved_are_not_guessed() -> None:
    (x,) = leaves(4.0)
    text = graph_text(((x + 1) + 1).exp(), values=True)
    assert text.count(" = ") == 2  # x and the result
    text = graph_text([(2 * x + 1).tanh(), x], values=True)
    assert "+ AddBackward0\n" in text  # its constant is neither that of the product, nor x
    w = torch.ones(2, requires_grad=True)
    z = (w * 3).exp()
    with torch.no_grad():
        w.add_(1)
    text = graph_text(z, values=True)
    assert "× MulBackward0 (2)\n" in text  # w has changed since
    assert "w (2) = [2.0, 2.0]" in text


def test_values_of_variables_are_known() -> None:
    (x,) = leaves(3.0)
    first = x + 1
    second = first - 1
    first.retain_grad()
    loss = second.square()
    loss.backward()
    text = graph_text(loss, values=True)
    assert "first: + AddBackward0 = 4.0, grad 6.0" in text
    assert "second: − SubBackward0 = 3.0\n" in text
    assert "− SubBackward0\n" in graph_text(loss, {"first": first}, values=True)


def test_large_tensors_by_shape_and_range() -> None:
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    target = torch.zeros(3, 4)
    with explain():
        loss = (x - target).abs().sum()
        loss.backward()
    box = next(b for b in make_dot(loss, values=True).graph.boxes.values() if b.title == "x")
    assert box.shapes == ("(3, 4)",)
    ranges = (("value", "min 0 mean 5.5 max 11"), ("grad", "min 0 mean 0.917 max 1"))
    assert box.values == ranges
    assert "target (3, 4) = min 0 mean 0 max 0" in graph_text(loss, values=True)


def test_several_outputs_have_rows_of_their_own() -> None:
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, _ = x.sort()
    parts = (values * 1).split([1, 2])
    explain(parts[0].sum() * parts[1].sum())
    boxes = make_dot(parts, values=True).graph.boxes.values()
    rows = next(b.values for b in boxes if "Split" in b.title)
    assert ("grad 0", "[5.0]") in rows
    assert ("grad 1", "[1.0, 1.0]") in rows
    assert "Backward0 (1), value 0 [1.0], value 1 [2.0, 3.0], " in graph_text(parts, values=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2"),
        (2.0, "2.0"),
        (1 / 3, "0.33333"),
        (np.float32(0.1), "0.1"),
        (math.nan, "nan"),
        (True, "True"),
        (torch.tensor([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (torch.tensor([0.5, -math.inf]), "[0.5, -inf]"),
        (torch.zeros(0), "[]"),
        (torch.arange(9) > 3, "min 0 mean 0.556 max 1"),
        ((1, [torch.ones(2)]), "(1, ([1.0, 1.0],))"),
    ],
)
def test_values_are_shown_in_short(value: object, text: str) -> None:
    assert short_value(value) == text


def test_the_source_of_every_formula_is_found() -> None:
    for family in FAMILIES["nanotorch.ops"].split():
        importlib.import_module(f"nanotorch.ops.{family}")
    assert nn.functional
    found = [declaration(f.__code__) for op in OPS.values() for f in op.formulas.values()]
    assert len(found) > 400


X, Y, ONES = leaves(2.0, -3.0, [[1.0] * 4] * 3)


@pytest.mark.parametrize(
    ("out", "known"),
    [
        (X * Y, [("g · other", "1.0 × (-3.0)"), ("g · input", "1.0 × 2.0")]),
        (X.reciprocal(), [("-g · (out · out)", "-1.0 × (0.5 × 0.5)")]),
        # Of branches the one that is taken.
        (torch.add(X, Y, alpha=1), [("g", "1.0"), ("g", "1.0")]),
        (torch.add(X, Y, alpha=4), [("g", "1.0"), ("g · alpha", "1.0 × 4")]),
        (X**2, [("g · (exponent · input)", "1.0 × (2 × 2.0)")]),
        (X**3, [("g · (exponent · input ** (exponent - 1))", "1.0 × (3 × 2.0 ** (3 - 1))")]),
        # Large values keep their names.
        (ONES.exp(), [("g · out", "")]),
        (ONES * 2.0, [("g · other", "g × 2.0")]),
    ],
)
def test_a_formula_as_it_is_declared_and_with_numbers(out: Any, known: Any) -> None:
    arrived = [np.ones(out.shape, np.float32)[()]]
    assert formulas(out.grad_fn, arrived, arrived * 2)[: len(known)] == known


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


def test_a_stream_that_cannot_encode_the_lines_of_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a file or a pipe on Windows, which has a code page."""
    x, y = leaves(4.0, math.pi)
    for encoding, times in (("cp1252", "\xd7"), ("ascii", r"\xd7")):
        stream = io.TextIOWrapper(io.BytesIO(), encoding)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", stream)
            print_graph(x * x + torch.sin(2 * y), values=True)
        shown = stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
        assert shown.splitlines()[1:4] == [
            r"+- \xd7 MulBackward0 = 16.0", "|  +- x = 4.0 [1]", "|  +- x = 4.0 -> [1]"
        ], times  # fmt: skip


def leaf(*shape: int) -> Any:
    return torch.ones(shape or (3,), requires_grad=True)


COMMON = leaf()


def test_names_are_those_of_the_callers_variables(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a module or the file has them; the same in a drawing."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 1))
    scale = torch.ones((), requires_grad=True)
    loss = torch.nn.functional.mse_loss(model(torch.ones(2, 3)) * scale, torch.zeros(2, 1))
    print_graph(loss)
    print_graph(loss, dict(model.named_parameters(prefix="model")) | {"scale": scale, "loss": loss})
    assert capsys.readouterr().out == 2 * (VARIABLES + "\n")
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
