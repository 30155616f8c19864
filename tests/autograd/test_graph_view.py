"""`make_dot`: torchviz's conventions, names, saved values, and files."""

import json
import re
import weakref
import webbrowser
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch.autograd import make_dot
from nanotorch.autograd.graph_view import GraphView
from tests.autograd.graph_view_cases import CASES, Case, mlp, statements
from tests.several import uncollected

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "graph_view.json").read_text("utf-8"))


def drawn(case: Case) -> Any:
    var, options = case(torch)
    return json.loads(json.dumps(statements(make_dot(var, **{"params": {}} | options).source)))


def titles(view: GraphView, kind: str) -> list[str]:
    return [box.title for box in view.graph.boxes.values() if box.kind == kind]


def details(view: GraphView) -> str:
    return "\n".join(box.details for box in view.graph.boxes.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_as_torchviz_draws_it(case: Case) -> None:
    assert drawn(case) == GOLDEN[case.__name__]


def test_another_graph_is_another_drawing() -> None:
    def wrong(torch: Any) -> Any:
        var, options = mlp(torch)
        return var * 2, options

    assert drawn(wrong) != GOLDEN["mlp"]
    names = {**GOLDEN["mlp"], "nodes": GOLDEN["mlp"]["nodes"][::-1]}
    assert drawn(mlp) != names


def test_keys_are_ids() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    source = make_dot(y, {"x": x}).source
    assert f'\t{id(x)} [label="x\\n (3)" fillcolor=lightblue]' in source
    assert f"\t{id(y.grad_fn)} -> {id(y)}\n" in source


@pytest.mark.parametrize("kind", ["mapping", "pairs", "module"])
def test_names_come_from(kind: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    params: Any = model
    if kind != "module":
        params = model.named_parameters()
    if kind == "mapping":
        params = dict(params)
    assert titles(make_dot(model(torch.ones(1, 2)), params), "leaf") == ["0.bias", "0.weight"]


def test_a_name_goes_before_that_of_a_saved_value() -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    view = make_dot(w * x, {"x": x}, show_saved=True)
    assert titles(view, "saved") == ["x"]
    assert [k.label for k in view.graph.links if k.kind == "saved"] == ["other"]
    assert titles(make_dot(w * x, {}, show_saved=True), "saved") == ["other"]


def test_what_became_a_leaf_later_is_none_of_this_graph() -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    y = w * x
    x.requires_grad_()
    view = make_dot(y, {}, show_saved=True)
    assert (titles(view, "leaf"), titles(view, "saved")) == ([""], ["other"])


def test_saved_leaves_say_under_which_name() -> None:
    x, w = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    view = make_dot(w * x, {"x": x}, show_saved=True)
    assert titles(view, "saved") == []
    assert {k.label for k in view.graph.links if k.kind == "saved"} == {"self", "other"}


def test_numbers_of_outputs() -> None:
    x = torch.ones(6, requires_grad=True)
    p, _, r = x.split(2)
    view = make_dot((r * p).sum())
    assert [k.label for k in view.graph.links if k.label] == ["2", "0"]
    assert '[label="2"]' in view.source


def test_the_drawing_keeps_nothing_alive() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp() * x
    view = make_dot(y, show_attrs=True, show_saved=True)
    source = view.source
    gone = [weakref.ref(x), weakref.ref(y.grad_fn)]
    with uncollected():
        del x, y
        assert [ref() for ref in gone] == [None, None]
    assert view.source == source
    assert "AccumulateGrad" in view._repr_svg_()


def test_drawing_leaves_the_graph_as_it_is() -> None:
    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()
    make_dot(y, show_attrs=True, show_saved=True)
    y.backward()
    assert x.grad.tolist() == pytest.approx([5.43656] * 3)


def test_after_backward_saved_values_are_freed() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.exp().sum()
    assert "grad: none yet" in details(make_dot(y))
    y.backward()
    view = make_dot(y, show_attrs=True, show_saved=True)
    assert titles(view, "saved") == []
    assert "result: [freed]" in view.source
    assert "saved result: [freed]" in details(view)
    assert "grad: float32 (3)" in details(view)


def test_a_saved_value_that_was_written_to_is_told() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    y.add_(1)
    view = make_dot(z, show_attrs=True, show_saved=True)
    assert "self : [modified in place]" in view.source
    assert titles(view, "saved") == ["other"]


def test_values_packed_by_the_user() -> None:
    x = torch.ones(3, requires_grad=True)
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
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.variable = ctx.op = "mine"
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    y = Double.apply(x)
    view = make_dot(y, {"x": x}, show_attrs=True, show_saved=True)
    assert titles(view, "op") == ["DoubleBackward", "AccumulateGrad"]
    assert [k.kind for k in view.graph.links] == ["flow", "flow", "kept", "flow"]
    y.sum().backward()
    assert [k.kind for k in make_dot(y).graph.links] == ["flow", "flow", "flow"]


def test_an_output_that_its_own_node_keeps() -> None:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    y = Same.apply(torch.ones(3, requires_grad=True))
    node = type(y.grad_fn)
    node.saved_tensors, former = property(lambda _: (y,)), node.saved_tensors
    try:
        view = make_dot(y)
        assert [k.kind for k in view.graph.links] == ["flow", "flow", "kept", "flow"]
        assert view.svg.count("<rect") == 4
    finally:
        node.saved_tensors = former


def test_long_attributes_are_cut() -> None:
    x = torch.ones(40, requires_grad=True)
    view = make_dot(x.repeat(*[1] * 40), show_attrs=True, max_attr_chars=10)
    rows = view.source.partition("RepeatBackward0\\n")[2]
    assert re.search(r": \(1, 1, \.\.\.", rows), rows
    assert max(map(len, details(view).splitlines())) <= 200


def test_anomaly_mode_tells_the_line() -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="Anomaly"), torch.autograd.detect_anomaly():
        y = x.exp()
    assert "y = x.exp()" in details(make_dot(y))
    assert "exp()" not in details(make_dot(x.exp()))


HOSTILE = [
    'a"b', "\\", "\\n", "<b>&amp;</b>]]>", "\n\x00\x1b[31m", "\u202eb", "\ud800", '"];x [', "",
]  # fmt: skip
DOT_NAMES = ['a"b', "\\", "\\n", "<b>&amp;amp;</b>]]>", r"\n\x00\x1b[31m", r"\u202eb", r"\ud800"]
DOT_NAMES += ['"];x [', ""]


def test_hostile_names() -> None:
    leaves = [torch.ones(2, requires_grad=True) for _ in HOSTILE]
    view = make_dot(torch.stack(leaves).sum(), zip(HOSTILE, leaves, strict=True))
    nodes = [label for label, fill in statements(view.source)["nodes"] if fill == "lightblue"]
    assert nodes == [f"{name}\n (2)" for name in DOT_NAMES]
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
    return make_dot(torch.ones(3, requires_grad=True).exp())


def test_texts_of_a_drawing(view: GraphView) -> None:
    assert str(view) == view.source
    assert view.source.startswith('digraph {\n\tgraph [size="12,12"]\n\tnode [align=left ')
    assert view.source.endswith("}\n")
    assert repr(view) == "<GraphView of 4 nodes and 3 edges>"
    assert view._repr_svg_() == view.svg
    assert view.svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" ')


@pytest.mark.parametrize("suffix", ["svg", "dot", "gv"])
def test_the_suffix_is_the_format(view: GraphView, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new" / f"graph.{suffix}"
    assert view.save(path) == str(path)
    assert path.read_text("utf-8") == (view.svg if suffix == "svg" else view.source)
    assert view.render(path) == str(path)


def test_render_adds_the_format(view: GraphView, tmp_path: Path) -> None:
    assert view.render("net.v2", tmp_path) == str(tmp_path / "net.v2.svg")
    assert view.render(tmp_path / "net.svg", format="dot") == str(tmp_path / "net.svg.dot")
    assert view.render(tmp_path / "net.gv", format="svg", cleanup=True).endswith("net.gv.svg")
    view.format = "gv"
    assert view.render("net", str(tmp_path)) == str(tmp_path / "net.gv")
    assert len(list(tmp_path.iterdir())) == 4


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
