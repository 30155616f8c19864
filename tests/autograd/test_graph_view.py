"""`make_dot`: torchviz's conventions, names, saved values, and files."""

import json
import re
import weakref
import webbrowser
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch.autograd import make_dot
from nanotorch.autograd.graph_view import GraphView
from tests.autograd.golden_function import make
from tests.autograd.graph_view_cases import CASES, statements
from tests.several import uncollected

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "graph_view.json").read_text("utf-8"))


def titles(view: GraphView, kind: str) -> list[str]:
    return [box.title for box in view.graph.boxes.values() if box.kind == kind]


def details(view: GraphView) -> str:
    return "\n".join(box.details for box in view.graph.boxes.values())


@pytest.mark.parametrize("name", CASES)
def test_as_torchviz_draws_it(name: str) -> None:
    var, options = CASES[name](torch)
    assert json.loads(json.dumps(statements(make_dot(var, **options).source))) == GOLDEN[name]


def test_keys_are_ids() -> None:
    x = leaf()
    y = x.exp()
    source = make_dot(y, {"x": x}).source
    assert f'\t{id(x)} [label="x\\n (3)" fillcolor=lightblue]' in source
    assert f"\t{id(y.grad_fn)} -> {id(y)}\n" in source


@pytest.mark.parametrize("named", [lambda m: m, nn.Module.named_parameters,
                                   lambda m: dict(m.named_parameters())])  # fmt: skip
def test_names_come_from(named: Any) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    view = make_dot(model(torch.ones(1, 2)), named(model))
    assert titles(view, "leaf") == ["0.bias", "0.weight"]


def leaf() -> Any:
    return torch.ones(3, requires_grad=True)


def labels(view: GraphView) -> set[str]:
    return {link.label for link in view.graph.links if link.kind == "saved"}


def test_names_of_saved_values() -> None:
    x, w = torch.ones(3), leaf()
    y = w * x
    view = make_dot(y, {"x": x}, show_saved=True)
    assert (titles(view, "saved"), labels(view)) == (["x"], {"other"})
    assert titles(make_dot(y, {}, show_saved=True), "saved") == ["other"]
    x.requires_grad_()  # what became a leaf later is none of this graph
    view = make_dot(y, {}, show_saved=True)
    assert (titles(view, "leaf"), titles(view, "saved")) == ([""], ["other"])
    view = make_dot(w * x, {"x": x}, show_saved=True)
    assert (titles(view, "saved"), labels(view)) == ([], {"self", "other"})


def test_numbers_of_outputs() -> None:
    x = torch.ones(6, requires_grad=True)
    p, _, r = x.split(2)
    view = make_dot((r * p).sum())
    assert [k.label for k in view.graph.links if k.label] == ["2", "0"]
    assert '[label="2"]' in view.source


def test_the_drawing_keeps_nothing_alive() -> None:
    x = leaf()
    y = x.exp() * x
    view = make_dot(y, show_attrs=True, show_saved=True)
    source = view.source
    gone = [weakref.ref(x), weakref.ref(y.grad_fn)]
    with uncollected():
        del x, y
        assert [ref() for ref in gone] == [None, None]
    assert view.source == source
    assert "AccumulateGrad" in view._repr_svg_()


def test_after_backward_saved_values_are_freed() -> None:
    x = leaf()
    y = x.exp().sum()
    assert "grad: none yet" in details(make_dot(y, show_attrs=True, show_saved=True))
    y.backward()
    assert x.grad.tolist() == pytest.approx([2.71828] * 3)
    view = make_dot(y, show_attrs=True, show_saved=True)
    assert titles(view, "saved") == []
    assert "result: [freed]" in view.source
    assert "saved result: [freed]" in details(view)
    assert "grad: float32 (3)" in details(view)


def test_a_saved_value_that_was_written_to_is_told() -> None:
    x = leaf()
    y = x * 2
    z = y * y
    y.add_(1)
    view = make_dot(z, show_attrs=True, show_saved=True)
    assert "self : [modified in place]" in view.source
    assert titles(view, "saved") == ["other"]


def test_values_packed_by_the_user() -> None:
    x = leaf()
    calls = []
    unpack = lambda packed: calls.append(packed) or packed[0]  # noqa: E731 - a hook
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t,), unpack):
        y = x.exp()
    make_dot(y)
    assert calls == [], "unpacked without need"
    assert titles(make_dot(y, show_saved=True), "saved") == ["result"]
    assert calls
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 1 / 0):
        y = x.exp()
    with pytest.raises(ZeroDivisionError):
        make_dot(y, show_saved=True)


def test_attributes_of_a_users_function_are_the_users() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.variable = ctx.op = "mine"
        ctx.save_for_backward(x, None)
        return x * 2

    x = leaf()
    y = make(torch, forward, lambda ctx, g: g * 2).apply(x)
    view = make_dot(y, {"x": x}, show_attrs=True, show_saved=True)
    assert titles(view, "op") == ["MineBackward", "AccumulateGrad"]
    assert [k.kind for k in view.graph.links] == ["flow", "flow", "kept", "flow"]
    y.sum().backward()
    assert [k.kind for k in make_dot(y).graph.links] == ["flow", "flow", "flow"]


def test_an_output_that_its_own_node_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    y = make(torch, lambda ctx, x: x * 2, lambda ctx, g: g).apply(leaf())
    monkeypatch.setattr(type(y.grad_fn), "saved_tensors", property(lambda _: (y,)))
    view = make_dot(y)
    assert [k.kind for k in view.graph.links] == ["flow", "flow", "kept", "flow"]
    assert view.svg.count("<rect") == 4


def test_long_attributes_are_cut() -> None:
    x = torch.ones(40, requires_grad=True)
    view = make_dot(x.repeat(*[1] * 40), show_attrs=True, max_attr_chars=10)
    rows = view.source.partition("RepeatBackward0\\n")[2]
    assert re.search(r": \(1, 1, \.\.\.", rows), rows
    assert max(map(len, details(view).splitlines())) <= 200


def test_anomaly_mode_tells_the_line() -> None:
    x = leaf()
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly():
        y = x.exp()
    assert "y = x.exp()" in details(make_dot(y))
    assert "exp()" not in details(make_dot(x.exp()))


# Names, and as they are written.
HOSTILE = {
    'a"b': 'a"b', "\\": "\\", "\\n": "\\n", "<b>&amp;</b>]]>": "<b>&amp;amp;</b>]]>",
    "\n\x00\x1b[31m": r"\n\x00\x1b[31m", "\u202eb": r"\u202eb", "\ud800": r"\ud800",
    '"];x [': '"];x [', "": "",
}  # fmt: skip


def test_hostile_names() -> None:
    leaves = [torch.ones(2, requires_grad=True) for _ in HOSTILE]
    view = make_dot(torch.stack(leaves).sum(), zip(HOSTILE, leaves, strict=True))
    nodes = [label for label, fill in statements(view.source)["nodes"] if fill == "lightblue"]
    assert nodes == [f"{name}\n (2)" for name in HOSTILE.values()]
    assert view.source.isascii()


@pytest.mark.parametrize(
    ("var", "params", "message"),
    [
        (3, None, "expected a Tensor to draw the graph of, got int"),
        ([3], None, "expected a Tensor to draw the graph of, got int"),
        (torch.ones(2), {"w": [1.0]}, "params: expected 'w' to be a Tensor, got list"),
    ],
)
def test_what_is_no_tensor_is_refused(var: Any, params: Any, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        make_dot(var, params)


@pytest.fixture
def view() -> GraphView:
    return make_dot(leaf().exp())


def test_texts_of_a_drawing(view: GraphView) -> None:
    assert str(view) == view.source
    assert view.source.startswith('digraph {\n\tgraph [size="12,12"]\n\tnode [align=left ')
    assert view.source.endswith("}\n")
    assert repr(view) == "<GraphView of 4 nodes and 3 edges>"
    assert view._repr_svg_() == view.svg
    assert view.svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" ')


def test_the_suffix_is_the_format(view: GraphView, tmp_path: Path) -> None:
    for suffix in ("svg", "dot", "gv"):
        path = tmp_path / "new" / f"graph.{suffix}"
        assert view.save(path) == str(path)
        assert path.read_text("utf-8") == (view.svg if suffix == "svg" else view.source)
        assert view.render(path) == str(path)
    assert view.render("net.v2", tmp_path) == str(tmp_path / "net.v2.svg")
    assert view.render(tmp_path / "net.svg", format="dot") == str(tmp_path / "net.svg.dot")
    assert view.render(tmp_path / "net.gv", format="svg", cleanup=True).endswith("net.gv.svg")
    view.format = "gv"
    assert view.render("net", str(tmp_path)) == str(tmp_path / "net.gv")
    assert len(list(tmp_path.iterdir())) == 5


def test_view_opens_a_browser(
    view: GraphView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    view.render("graph", tmp_path)
    assert opened == []
    view.render("graph", tmp_path, view=True)
    assert opened == [(tmp_path / "graph.svg").resolve().as_uri()]


@pytest.mark.parametrize("how", [{"filename": "a", "format": "png"}, {"filename": "a.b"}])
def test_other_formats_are_refused(view: GraphView, tmp_path: Path, how: dict[str, str]) -> None:
    name = how.get("format", "pdf")
    view.format = name
    with pytest.raises(ValueError, match=f"cannot write a graph as '{name}', only as svg, dot"):
        view.render(directory=tmp_path, **how)
    with pytest.raises(ValueError, match="cannot write a graph as 'txt'"):
        view.save(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
