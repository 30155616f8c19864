"""The rows of a layered drawing: which item stands in which row, and in which order.

After Sugiyama, Tagawa and Toda: rows by longest path, stand-ins where a link passes a row, then
sweeps that put every item at the median of its neighbours' places in the row before, keeping the
order with the fewest crossings.
"""

from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

SWEEPS = 24
PATIENCE = 6  # sweeps without a better order before giving up
EXCHANGES = 4000  # segments up to which neighbours are exchanged one by one, which is slow


class Edge(NamedTuple):
    """A link to be drawn, from an item to one in a later row.

    Attributes:
        bundle: edges from the same item with the same bundle share their way as far as possible.
        label: width and height of the label, for which room is kept near the source.
    """

    source: int
    target: int
    bundle: Hashable = None
    label: tuple[float, float] | None = None


class Segment:
    """The part of an edge, or of the common way of several, between two rows.

    Attributes:
        port_above, port_below: how far beside the centres of its items it begins and ends.
    """

    __slots__ = ("above", "below", "bundle", "port_above", "port_below")

    def __init__(self, above: int, below: int, bundle: Hashable) -> None:
        self.above, self.below, self.bundle = above, below, bundle
        self.port_above = self.port_below = 0.0


class Rows:
    """Items, the given ones and then stand-ins, in rows.

    Attributes:
        real: how many items were given.
        rank: the row of each item.
        widths, heights: of each item.
        rows: the items of each row, left to right.
        routes: for each edge, the segments it is made of.
        ups, downs: for each item, the segments that end and begin there.
    """

    def __init__(self, sizes: Sequence[tuple[float, float]], rank: list[int]) -> None:
        self.real, self.rank = len(sizes), rank
        self.widths = [width for width, _ in sizes]
        self.heights = [height for _, height in sizes]
        self.rows: list[list[int]] = []
        self.segments: list[Segment] = []
        self.routes: list[list[Segment]] = []
        self.ups: list[list[Segment]] = []
        self.downs: list[list[Segment]] = []


def arrange(sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> Rows:
    """Put items into rows, with few crossings of the edges between them.

    Args:
        sizes: width and height of each item.
        edges: between items, by position; without cycles.
    """
    rows = Rows(sizes, rank_items(len(sizes), edges))
    split_edges(rows, edges)
    rows.rows = first_order(rows)
    reduce_crossings(rows)
    return rows


def from_above(count: int, links: Iterable[tuple[int, int]]) -> list[int]:
    """Items so that each link, from one to another, leads to a later one."""
    waiting = [0] * count
    leaving: list[list[int]] = [[] for _ in range(count)]
    for source, target in links:
        waiting[target] += 1
        leaving[source].append(target)
    order = [item for item in range(count) if not waiting[item]]
    for item in order:  # the list grows while the loop runs
        for target in leaving[item]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    return order


def rank_items(count: int, edges: Sequence[Edge]) -> list[int]:
    """The row of each item: as late as its targets allow, so that leaves stand near their use.

    An item with more links from above than to below then moves up as far as it can.
    """
    order = from_above(count, [(e.source, e.target) for e in edges])
    arriving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for edge in edges:
        length = 1 if edge.label is None else 2  # a label takes a row of its own
        arriving[edge.target].append((edge.source, length))
        leaving[edge.source].append((edge.target, length))
    height = [0] * count
    for item in reversed(order):
        height[item] = max((height[t] + length for t, length in leaving[item]), default=0)
    top = max(height, default=0)
    rank = [top - h for h in height]
    for item in order:
        if len(arriving[item]) > len(leaving[item]):
            rank[item] = max(rank[s] + length for s, length in arriving[item])
    return rank


def split_edges(rows: Rows, edges: Sequence[Edge]) -> None:
    """Cut edges into segments from row to row, with stand-ins in the rows they pass."""
    ways: dict[Hashable, list[int]] = {}
    known: dict[Hashable, Segment] = {}
    for edge in edges:
        way = ways.setdefault((edge.source, edge.bundle), [edge.source])
        length = rows.rank[edge.target] - rows.rank[edge.source]
        while len(way) < length:
            label = edge.label if len(way) == 1 and edge.label else (0.0, 0.0)
            rows.rank.append(rows.rank[edge.source] + len(way))
            rows.widths.append(label[0])
            rows.heights.append(label[1])
            way.append(len(rows.rank) - 1)
        stops = [*way[:length], edge.target]
        route = []
        for above, below in pairwise(stops):
            key = (above, below, edge.bundle)
            if key not in known:
                known[key] = Segment(above, below, edge.bundle)
            route.append(known[key])
        rows.routes.append(route)
    rows.segments = list(known.values())
    rows.ups = [[] for _ in rows.rank]
    rows.downs = [[] for _ in rows.rank]
    for segment in rows.segments:
        rows.downs[segment.above].append(segment)
        rows.ups[segment.below].append(segment)


def first_order(rows: Rows) -> list[list[int]]:
    """Rows in the order of a depth-first walk upward, which leaves inputs in their own order."""
    order: list[list[int]] = [[] for _ in range(max(rows.rank, default=-1) + 1)]
    seen = [False] * len(rows.rank)
    stack = [item for item in reversed(range(len(rows.rank))) if not rows.downs[item]]
    while stack:
        item = stack.pop()
        if seen[item]:
            continue
        seen[item] = True
        order[rows.rank[item]].append(item)
        stack += [s.above for s in reversed(rows.ups[item])]
    return order


def reduce_crossings(rows: Rows) -> None:
    """Reorder the rows, sweeping down and up in turn, and keep the best order seen."""
    best, fewest = [list(row) for row in rows.rows], crossings(rows)
    idle = 0
    for sweep in range(SWEEPS):
        if not fewest or idle >= PATIENCE:
            break
        down = sweep % 2 == 0
        for row in rows.rows[1:] if down else reversed(rows.rows[:-1]):
            sort_by_medians(rows, row, down)
        if len(rows.segments) <= EXCHANGES:
            exchange(rows)
        count = crossings(rows)
        idle += 1
        if count < fewest:
            best, fewest, idle = [list(row) for row in rows.rows], count, 0
    rows.rows = best


def places(rows: Rows) -> list[int]:
    """Where in its row each item stands."""
    place = [0] * len(rows.rank)
    for row in rows.rows:
        for i, item in enumerate(row):
            place[item] = i
    return place


def sort_by_medians(rows: Rows, row: list[int], down: bool) -> None:
    """Order a row by the medians of neighbours above (or below); others keep their places."""
    here = rows.rank[row[0]]
    place = {item: i for i, item in enumerate(rows.rows[here - 1 if down else here + 1])}
    medians: dict[int, float] = {}
    for item in row:
        near = sorted(
            place[s.above if down else s.below]
            for s in (rows.ups[item] if down else rows.downs[item])
        )
        if near:
            middle = len(near) // 2
            odd = len(near) % 2
            medians[item] = near[middle] if odd else (near[middle - 1] + near[middle]) / 2
    moved = iter(sorted(medians, key=medians.__getitem__))
    row[:] = [next(moved) if item in medians else item for item in row]


def crossings(rows: Rows) -> int:
    """How many pairs of segments cross."""
    place = places(rows)
    total = 0
    for row in rows.rows:
        ends: list[int] = []  # of the segments further left, sorted
        for item in row:
            mine = sorted(place[s.below] for s in rows.downs[item])
            total += sum(len(ends) - bisect_right(ends, end) for end in mine)
            for end in mine:
                insort(ends, end)
    return total


def exchange(rows: Rows) -> None:
    """Exchange neighbours in a row wherever that removes crossings."""
    place = places(rows)
    for row in rows.rows:
        for i in range(len(row) - 1):
            a, b = row[i], row[i + 1]
            if pair_crossings(rows, place, a, b) > pair_crossings(rows, place, b, a):
                row[i], row[i + 1] = b, a
                place[a], place[b] = i + 1, i


def pair_crossings(rows: Rows, place: Sequence[int], left: int, right: int) -> int:
    """How many segments of two items cross if one stands left of the other."""
    total = 0
    for a, b in (
        ([s.above for s in rows.ups[left]], [s.above for s in rows.ups[right]]),
        ([s.below for s in rows.downs[left]], [s.below for s in rows.downs[right]]),
    ):
        total += sum(place[x] > place[y] for x in a for y in b)
    return total
