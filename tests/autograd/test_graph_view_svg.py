"""The picture: well-formed, complete, nothing over anything else, and readable when large."""

import random
import sys
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest

import nanotorch as torch
from nanotorch.autograd import make_dot
from nanotorch.autograd.graph_text import PART, PART_ROW, WHOLE, Tree
from nanotorch.autograd.graph_view import Edge, GraphView, Rows
from tests.autograd.graph_view_cases import CASES, Case
from tests.autograd.pictures import Picture


def leaf(*shape: int) -> Any:
    return torch.ones(shape or (3,), requires_grad=True)


def attention(heads: int) -> Any:
    """Many branches that meet, links over many rows, and values used again."""
    torch.manual_seed(0)
    x, w = torch.randn(5, 8), leaf(8, 24)
    q, k, v = (x @ w).split(8, 1)
    parts = []
    for i in range(heads):
        a, b, c = q[:, i : i + 2], k[:, i : i + 2], v[:, i : i + 2]
        parts.append((a @ b.t() / 1.4).softmax(-1) @ c)
    return torch.cat(parts, 1).sum() + q.sum()


def recurrent(steps: int) -> Any:
    w, u, b = leaf(8, 8), leaf(4, 8), leaf(8)
    h = torch.zeros(2, 8)
    for _ in range(steps):
        h = torch.tanh(torch.ones(2, 4) @ u + h @ w + b)
    return h.sum()


def random_graph(seed: int) -> Any:
    """Products and parts of what was made before; links of any length, in bundles and labelled."""
    choose = random.Random(seed)
    made = [leaf(6) for _ in range(3)]
    for _ in range(choose.randint(4, 20)):
        a, b = choose.choices(made, k=2)
        made += [a * b] if choose.random() < 0.6 else torch.cat([a, b]).split(6)
    return sum(t.sum() for t in choose.sample(made, 3))


VIEWS = {
    **CASES,
    "attention": lambda torch: (attention(4), {"show_saved": True, "show_attrs": True}),
    "recurrent": lambda torch: (recurrent(12), {"show_saved": True}),
    **{
        f"random {seed}": lambda torch, seed=seed: (random_graph(seed), {"show_saved": seed % 2})
        for seed in range(16)
    },
}


@pytest.mark.parametrize("case", VIEWS.values(), ids=VIEWS)
def test_the_picture_shows_the_graph(case: Case) -> None:
    views = []
    for _ in range(2):  # programs that are alike give one picture
        var, options = case(torch)
        views.append(make_dot(var, **options))
    view, again = views
    assert again.svg == view.svg
    picture = Picture(view.svg)
    assert list(picture.problems()) == []
    boxes = Counter(box.title or box.kind for box in view.graph.boxes.values())
    assert Counter(texts[0] for _, texts in picture.boxes) == boxes
    kinds = Counter(link.kind for link in view.graph.links)
    assert Counter(kind for kind, _, _ in picture.links) == kinds
    labels = {link.label for link in view.graph.links} - {""}
    assert {label for _, label in picture.labels} == labels


def test_a_box_says_what_it_is() -> None:
    var, options = CASES["mlp"](torch)
    view = make_dot(var, **options, show_attrs=True)
    texts = {texts[0]: texts[1:] for _, texts in Picture(view.svg).boxes}
    assert texts["2.weight"] == ["(1, 16)"]
    assert texts["output"] == ["()"]
    assert texts["ReluBackward0"] == ["(8, 16)", "result", "[saved tensor]"]
    assert "<title>leaf 2.weight\nfloat32 (1, 16), 16 elements\ngrad: none yet</title>" in view.svg
    assert "<title>ReluBackward0\noutput: float32 (8, 16)\nsaved result:" in view.svg
    assert "<title>2.weight \N{RIGHTWARDS ARROW} AccumulateGrad</title>" in view.svg


def test_outputs_of_a_node() -> None:
    x = leaf(5)
    p, q = x.split(4)
    texts = [t for _, t in Picture(make_dot((p, q)).svg).boxes]
    assert ["SplitBackward0", "(4), (1)"] in texts
    texts = [t for _, t in Picture(make_dot(x.split(1)[0]).svg).boxes]
    assert ["SplitBackward0", "5 \N{MULTIPLICATION SIGN} (1)"] in texts


def test_straight_links_stay_straight() -> None:
    def bends(view: GraphView) -> list[str]:
        links = Picture(view.svg).links
        return [title for _, title, line in links if len({round(x) for x, _ in line}) > 1]

    h = leaf()
    for _ in range(30):
        h = h.exp()
    assert bends(make_dot(h)) == []
    w = leaf()
    for _ in range(30):
        h = h.exp() * w
    # One bend where the weight's way begins, and one for each of its uses.
    assert len(bends(make_dot(h))) <= 31
    lines = [line for _, _, line in Picture(make_dot(attention(4)).svg).links]
    aside = sum(abs(a - b) for line in lines for (a, _), (b, _) in pairwise(line))
    assert aside < 10_000  # in all


def test_crossings_are_removed() -> None:
    before = after = 0
    for seed in range(20):
        choose = random.Random(seed)
        edges = {Edge(*sorted(choose.sample(range(20), 2))) for _ in range(30)}
        rows = Rows([(50.0, 20.0)] * 20, sorted(edges))
        before += rows.crossings()
        rows.reduce_crossings()
        after += rows.crossings()
    assert 0 < after < 0.7 * before


def test_hostile_names() -> None:
    names = ["<b>&amp;</b>]]>", '"', "\x00\ud800", "\u65e5\u672c", "n" * 300]
    leaves = [leaf() for _ in names]
    pairs = zip(names, leaves, strict=True)
    svg = make_dot(torch.stack(leaves).sum(), pairs).svg
    picture = Picture(svg)
    assert list(picture.problems()) == []
    shown = [t[0] for _, t in picture.boxes if t[1:] == ["(3)"] and t[0] != "AccumulateGrad"]
    assert shown == [*names[:2], r"\x00\ud800", names[3], f"{'n' * 21}…{'n' * 21}"]
    assert f"<title>leaf {names[4]}\n" in svg
    assert len(svg.encode("utf-8")) > len(svg)


def test_wide_graphs_are_cut() -> None:
    leaves = [leaf() for _ in range(300)]
    picture = Picture(make_dot(torch.stack(leaves).sum()).svg)
    assert list(picture.problems()) == []
    assert len(picture.boxes) == 2 * PART_ROW + 4
    assert ["… 288 more inputs"] in [texts for _, texts in picture.boxes]
    assert picture.note[0] == "27 nodes of 603 drawn, nearest the output"
    assert Picture(make_dot(torch.stack(leaves[:30]).sum()).svg).note == []


def test_cut_graphs_keep_their_links() -> None:
    tower = [leaf() for _ in range(256)]
    while len(tower) > 1:
        tower = [a * b for a, b in zip(tower[::2], tower[1::2], strict=True)]
    view = make_dot(tower[0], show_saved=True)
    assert len(view.graph.boxes) > WHOLE
    picture = Picture(view.svg)
    assert list(picture.problems()) == []
    assert len([texts for _, texts in picture.boxes if "more input" not in texts[0]]) <= PART
    assert len(picture.note) == 2


def test_a_graph_of_any_depth() -> None:
    x = leaf()
    h = x * 1
    for _ in range(5_000):
        h = h * x + 1
    endless = make_dot(h, {"x": x})
    assert len(endless.graph.boxes) == 10_004 > 10 * sys.getrecursionlimit()
    assert endless.source.count(" -> ") == len(endless.graph.links) == 15_003
    picture = Picture(endless.svg)
    assert list(picture.problems()) == []
    assert picture.note == [
        f"{PART} nodes of 10,004 drawn, nearest the output",
        "in all: 5,001 MulBackward0, 5,000 AddBackward0, 1 output, 1 leaf, 1 AccumulateGrad",
    ]
    assert ["… 1 more input"] in [texts for _, texts in picture.boxes]
    text = "\n".join(Tree(endless.graph).lines(10**6))
    assert text.count("MulBackward0 (3)\n") >= 5_000
    assert max(map(len, text.splitlines())) < 80
