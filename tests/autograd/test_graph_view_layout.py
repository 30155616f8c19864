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
    columns,
    distance,
    lay_out,
    spread,
    straight,
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
def test_nothing_overlaps(graph: Graphs) -> None:
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


@settings(max_examples=60)
@given(graphs())
def test_links_lead_down_beside_the_boxes(graph: Graphs) -> None:
    sizes, edges = graph
    layout = lay_out(sizes, edges)
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


@settings(max_examples=40)
@given(graphs())
def test_rows_and_order(graph: Graphs) -> None:
    sizes, edges = graph
    rank = Rows(sizes, edges).rank
    assert all(rank[e.target] - rank[e.source] >= (1 if e.label is None else 2) for e in edges)
    assert min(rank) == 0
    rows = arrange(sizes, edges)
    assert sorted(i for row in rows.rows for i in row) == list(range(len(rows.rank)))
    assert all(rows.rank[i] == r for r, row in enumerate(rows.rows) for i in row)
    for edge, route in zip(edges, rows.routes, strict=True):
        assert (route[0].above, route[-1].below) == (edge.source, edge.target)
        assert all(a.below == b.above for a, b in pairwise(route))
    fewest = rows.crossings()
    assert fewest == slowly_counted(rows)
    rows.rows = rows.first_order()
    assert fewest <= rows.crossings()


def slowly_counted(rows: Rows) -> int:
    place = {item: i for row in rows.rows for i, item in enumerate(row)}
    total = 0
    for row in rows.rows:
        segments = [s for item in row for s in rows.downs[item]]
        for i, s in enumerate(segments):
            for t in segments[:i]:
                above = place[s.above] - place[t.above]
                total += above * (place[s.below] - place[t.below]) < 0
    return total


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


@settings(max_examples=40)
@given(graphs())
def test_straight_segments_are_straight_and_do_not_cross(graph: Graphs) -> None:
    rows = arrange(*graph)
    joined = straight(rows)
    rows.set_ports(joined)
    xs = columns(rows, joined)
    place = {item: i for row in rows.rows for i, item in enumerate(row)}
    assert len({s.above for s in joined}) == len({s.below for s in joined}) == len(joined)
    for i, s in enumerate(joined):
        assert xs[s.above] + s.port_above == pytest.approx(xs[s.below] + s.port_below)
        for t in joined[:i]:
            if rows.rank[s.above] == rows.rank[t.above]:
                assert (place[s.above] < place[t.above]) == (place[s.below] < place[t.below])
    for row in rows.rows:
        for a, b in pairwise(row):
            assert xs[b] - xs[a] >= distance(rows, a, b) - 1e-6


def test_blocks_move_to_what_they_are_linked_with() -> None:
    rows = arrange([(10.0, 10.0)] * 4, [Edge(0, 2), Edge(1, 3)])
    blocks = Blocks(rows, [])
    places = [0.0, 100.0, 50.0, 90.0]
    gap = distance(rows, 0, 1)
    assert blocks.block == [0, 1, 2, 3]
    blocks.adjust(places, [2])
    assert places == [0.0, 100.0, 0.0, 90.0]
    blocks.adjust(places, [3, 1])
    assert places == [0.0, 100.0, 0.0, 100.0]
    places = [0.0, gap, 40.0, 40 + gap]
    blocks.adjust(places, [0, 1])
    assert places == [0.0, 40 + gap, 40.0, 40 + gap], "the first had no room, the second had"


def test_ports_are_spread_over_a_side() -> None:
    assert spread([], 100) == []
    assert spread([False], 100) == [0.0]
    assert spread([False, False], 100) == [-9.0, 9.0]
    assert spread([True, False, False], 100) == [0.0, 18.0, 36.0]
    crowded = spread([False] * 50, 100)
    assert crowded[0] == pytest.approx(-42)
    assert crowded[-1] == pytest.approx(42)


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
