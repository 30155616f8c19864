"""The layered drawing of any graph: rows, crossings, distances."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nanotorch.autograd.graph_view import (
    Blocks,
    Edge,
    Rows,
    lay_out,
    least_distance,
)

Graphs = tuple[list[tuple[float, float]], list[Edge]]


def arrange(sizes: list[tuple[float, float]], edges: list[Edge]) -> Rows:
    rows = Rows(sizes, edges)
    rows.reduce_crossings()
    return rows


@st.composite
def graphs(draw: st.DrawFn) -> Graphs:
    """Boxes of several sizes and edges without cycles, some labelled, some in bundles."""
    count = draw(st.integers(1, 24))
    seed = draw(st.integers(0, 2**32))
    return random_graph(count, draw(st.floats(0.2, 3)), random.Random(seed))


def random_graph(count: int, density: float, rng: random.Random) -> Graphs:
    sizes = [(rng.uniform(20, 160), rng.uniform(20, 60)) for _ in range(count)]
    edges = []
    for i in range(int(count * density) if count > 1 else 0):
        a, b = sorted(rng.sample(range(count), 2))
        label = (rng.uniform(10, 60), 16.0) if rng.random() < 0.2 else None
        edges.append(Edge(a, b, (rng.randrange(2), label, i if rng.random() < 0.3 else 0), label))
    return sizes, list(dict.fromkeys(edges))


@settings(max_examples=60)
@given(graphs())
def test_nothing_overlaps_and_links_lead_down_beside_the_boxes(graph: Graphs) -> None:
    sizes, edges = graph
    layout = lay_out(sizes, edges)
    for place, (width, height) in zip(layout.places, sizes, strict=True):
        assert (place.width, place.height) == (width, height)
        assert place.x - width / 2 + 1e-6 >= 0
        assert place.x + width / 2 <= layout.width + 1e-6
        assert place.y - height / 2 >= 0
        assert place.y + height / 2 <= layout.height + 1e-6
    for i, a in enumerate(layout.places):
        for b in layout.places[:i]:
            aside = abs(a.x - b.x) - (a.width + b.width) / 2
            below = abs(a.y - b.y) - (a.height + b.height) / 2
            assert aside >= 20 or below >= 20
    for edge, route in zip(edges, layout.routes, strict=True):
        source, target = layout.places[edge.source], layout.places[edge.target]
        ys = [y for _, top, bottom in route.stations for y in (top, bottom)]
        assert all(a <= b + 1e-6 for a, b in pairwise(ys))
        assert ys[0] >= source.y + source.height / 2 - 1e-6
        assert ys[-1] == pytest.approx(target.y - target.height / 2)
        assert abs(route.stations[-1][0] - target.x) < target.width / 2
        for number, box in enumerate(layout.places):
            top, bottom = box.y - box.height / 2, box.y + box.height / 2
            left, right = box.x - box.width / 2, box.x + box.width / 2
            for x, start, end in route.stations:
                down = start < bottom - 1e-6 and top + 1e-6 < end
                assert not (down and left < x < right), (edge, number)
            for (_, _, start), (_, end, _) in pairwise(route.stations):
                assert end <= top + 1e-6 or start >= bottom - 1e-6, "bends beside a box"


def test_crossings_are_removed() -> None:
    rng = random.Random(0)
    sizes = [(50.0, 20.0)] * 40
    there = list(range(20, 40))
    rng.shuffle(there)
    edges = [Edge(i, there[i]) for i in range(20)]
    assert arrange(sizes, edges).crossings() == 0
    both = Edge(0, 2), Edge(0, 3), Edge(1, 2), Edge(1, 3)
    assert arrange(sizes[:4], both).crossings() == 1
    before = after = 0
    for seed in range(20):
        rows = arrange(*random_graph(20, 1.5, random.Random(seed)))
        after += rows.crossings()
        rows.rows = rows.first_order()
        before += rows.crossings()
    assert 0 < after < 0.7 * before


def test_blocks_move_to_what_they_are_linked_with() -> None:
    rows = arrange([(10.0, 10.0)] * 4, [Edge(0, 2), Edge(1, 3)])
    blocks = Blocks(rows, [])
    places = [0.0, 100.0, 50.0, 90.0]
    gap = least_distance(rows, 0, 1)
    assert blocks.block == [0, 1, 2, 3]
    blocks.adjust(places, [2])
    assert places == [0.0, 100.0, 0.0, 90.0]
    blocks.adjust(places, [3, 1])
    assert places == [0.0, 100.0, 0.0, 100.0]
    places = [0.0, gap, 40.0, 40 + gap]
    blocks.adjust(places, [0, 1])
    assert places == [0.0, 40 + gap, 40.0, 40 + gap], "the first had no room, the second had"


def test_a_bundle_is_drawn_once() -> None:
    sizes = [(50.0, 20.0)] * 5
    chain = [Edge(i, i + 1) for i in range(4)]
    apart = [Edge(0, 3, "a"), Edge(0, 4, "b")]
    together = [Edge(0, 3, "a", (20.0, 10.0)), Edge(0, 4, "a", (20.0, 10.0))]
    stations = [len(r.stations) for r in lay_out(sizes, chain + apart).routes]
    assert stations == [2, 2, 2, 2, 4, 5]
    routes = lay_out(sizes, chain + together).routes
    assert [len(r.stations) for r in routes] == [2, 2, 2, 2, 4, 3]
    assert [r.label is not None for r in routes] == [False] * 4 + [True, False]


def test_nothing_to_draw() -> None:
    layout = lay_out([], [])
    assert (layout.places, layout.routes, layout.width, layout.height) == ([], [], 0.0, 0.0)
