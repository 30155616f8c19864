"""`make_dot` draws the graph by torchviz's conventions.

    make_dot(loss)                       # in a notebook: the picture
    make_dot(loss, values=True)          # with values and gradients
    make_dot(loss).render("loss.svg")    # for a browser; needs no Graphviz

Boxes: grey, a recorded operation; blue, a leaf that gets a `grad`; green, an output; dark green,
the base of an output that is a view; orange, a saved tensor; white, a constant. Arrows follow the
values; gradients flow against the arrows.
"""

import html
import re
import unicodedata
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from nanotorch._core.tensor import Tensor
from nanotorch.autograd.graph_text import (
    GRADIENT,
    VALUE,
    Box,
    Graph,
    Link,
    Walk,
    collect,
    named_tensors,
)

# The rows of a layered drawing: the row of each item, and the order of the items in a row.
#
# The algorithm is that of Sugiyama, Tagawa and Toda. The longest path determines an item's row. A
# virtual item holds the place of a link that passes a row. Then sweeps move every item to the
# median of its neighbours' places in the row before. The order with the fewest crossings is kept.


SWEEPS = 24
PATIENCE = 6  # sweeps without a better order before the end
EXCHANGES = 4000  # the most segments for which neighbours are also exchanged, which is slow


class Edge(NamedTuple):
    """A link of the drawing, from an item to one in a later row.

    Attributes:
        bundle: edges from the same item with the same bundle share their way as far as possible.
        label: the width and height of the label, which lies near the source.
    """

    source: int
    target: int
    bundle: Hashable = None
    label: tuple[float, float] | None = None


class Segment:
    """The part of an edge, or of the common way of several edges, between two rows.

    Attributes:
        port_above, port_below: the x offsets of its ends from the centres of their items.
    """

    __slots__ = ("above", "below", "bundle", "port_above", "port_below")

    def __init__(self, above: int, below: int, bundle: Hashable) -> None:
        self.above, self.below, self.bundle = above, below, bundle
        self.port_above = self.port_below = 0.0


class Rows:
    """Items in rows: first the given ones, then virtual ones.

    Attributes:
        real: the number of given items.
        rank: the row of each item.
        widths, heights: the size of each item.
        rows: the items of each row, left to right.
        routes: the segments of each edge.
        ups, downs: for each item, the segments that end and begin there.
    """

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> None:
        self.real = len(sizes)
        self.rank = self.rank_items(edges)
        self.widths = [width for width, _ in sizes]
        self.heights = [height for _, height in sizes]
        self.routes: list[list[Segment]] = []
        # Cut edges into segments from row to row, with virtual items in the rows that they pass.
        ways: dict[Hashable, list[int]] = {}
        known: dict[tuple[int, int, Hashable], Segment] = {}
        for edge in edges:
            way = ways.setdefault((edge.source, edge.bundle), [edge.source])
            length = self.rank[edge.target] - self.rank[edge.source]
            while len(way) < length:
                label = edge.label if len(way) == 1 and edge.label else (0.0, 0.0)
                self.rank.append(self.rank[edge.source] + len(way))
                self.widths.append(label[0])
                self.heights.append(label[1])
                way.append(len(self.rank) - 1)
            stops = [*way[:length], edge.target]
            keys = [(above, below, edge.bundle) for above, below in pairwise(stops)]
            for key in keys:
                if key not in known:
                    known[key] = Segment(*key)
            self.routes.append([known[key] for key in keys])
        self.segments = list(known.values())
        self.ups: list[list[Segment]] = [[] for _ in self.rank]
        self.downs: list[list[Segment]] = [[] for _ in self.rank]
        for segment in self.segments:
            self.downs[segment.above].append(segment)
            self.ups[segment.below].append(segment)
        self.rows = self.first_order()

    def rank_items(self, edges: Sequence[Edge]) -> list[int]:
        """The row of each item: as low as its targets allow, so that leaves are near their use.

        An item with more links from above than to below then moves up as far as it can.
        """
        count = self.real
        order = topological_order(count, [(e.source, e.target) for e in edges])
        arriving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        for edge in edges:
            length = 1 if edge.label is None else 2  # a label needs a row of its own
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

    def first_order(self) -> list[list[int]]:
        """Rows in the order of a depth-first walk up, which leaves inputs in their own order."""
        order: list[list[int]] = [[] for _ in range(max(self.rank, default=-1) + 1)]
        seen = [False] * len(self.rank)
        stack = [item for item in reversed(range(len(self.rank))) if not self.downs[item]]
        while stack:
            item = stack.pop()
            if seen[item]:
                continue
            seen[item] = True
            order[self.rank[item]].append(item)
            stack += [s.above for s in reversed(self.ups[item])]
        return order

    def reduce_crossings(self) -> None:
        """Reorder the rows, sweeping down and up in turn, and keep the best order seen."""
        best, fewest = [list(row) for row in self.rows], self.crossings()
        idle = 0
        for sweep in range(SWEEPS):
            if not fewest or idle >= PATIENCE:
                break
            down = sweep % 2 == 0
            for row in self.rows[1:] if down else reversed(self.rows[:-1]):
                self.sort_by_medians(row, down)
            if len(self.segments) <= EXCHANGES:
                self.exchange()
            count = self.crossings()
            idle += 1
            if count < fewest:
                best, fewest, idle = [list(row) for row in self.rows], count, 0
        self.rows = best

    def places(self) -> dict[int, int]:
        """The position of each item in its row."""
        return {item: i for row in self.rows for i, item in enumerate(row)}

    def sort_by_medians(self, row: list[int], down: bool) -> None:
        """Order a row by the medians of the neighbours' places in the row before.

        Items without such neighbours keep their places.

        Args:
            down: whether the row before is the one above; else it is the one below.
        """
        here = self.rank[row[0]]
        place = {item: i for i, item in enumerate(self.rows[here - 1 if down else here + 1])}
        medians: dict[int, float] = {}
        for item in row:
            near = sorted(
                place[s.above if down else s.below]
                for s in (self.ups[item] if down else self.downs[item])
            )
            if near:
                medians[item] = (near[(len(near) - 1) // 2] + near[len(near) // 2]) / 2
        moved = iter(sorted(medians, key=medians.__getitem__))
        row[:] = [next(moved) if item in medians else item for item in row]

    def crossings(self) -> int:
        """The number of pairs of segments that cross."""
        place = self.places()
        total = 0
        for row in self.rows:
            ends: list[int] = []  # sorted lower ends of the segments further left
            for item in row:
                mine = sorted(place[s.below] for s in self.downs[item])
                total += sum(len(ends) - bisect_right(ends, end) for end in mine)
                for end in mine:
                    insort(ends, end)
        return total

    def exchange(self) -> None:
        """Exchange neighbours in a row if this removes crossings."""
        place = self.places()
        for row in self.rows:
            for i in range(len(row) - 1):
                a, b = row[i], row[i + 1]
                if self.pair_crossings(place, a, b) > self.pair_crossings(place, b, a):
                    row[i], row[i + 1] = b, a
                    place[a], place[b] = i + 1, i

    def pair_crossings(self, place: Mapping[int, int], left: int, right: int) -> int:
        """The number of crossings between the segments of two items, for this order of them."""
        ups, downs = self.ups, self.downs
        above = (place[a.above] > place[b.above] for a in ups[left] for b in ups[right])
        below = (place[a.below] > place[b.below] for a in downs[left] for b in downs[right])
        return sum(above) + sum(below)

    def set_ports(self, joined: Iterable[Segment]) -> None:
        """Spread the points where segments meet a box, in the order of their other ends.

        Straight segments meet the middle of the box: so the boxes of a long path lie exactly below
        each other.

        Args:
            joined: the segments to draw straight.
        """
        place = self.places()
        above = {s.below: s for s in joined}
        below = {s.above: s for s in above.values()}
        for item in range(self.real):
            entering = sorted(self.ups[item], key=lambda s: place[s.above])
            main = [s is above.get(item) for s in entering]
            for s, offset in zip(entering, side_offsets(main, self.widths[item]), strict=True):
                s.port_below = offset
            # All links of one output leave the box at one point.
            ways: dict[Hashable, list[Segment]] = {}
            for s in self.downs[item]:
                ways.setdefault(s.bundle, []).append(s)
            leaving = sorted(
                ways.values(), key=lambda way: sum(place[s.below] for s in way) / len(way)
            )
            main = [any(s is below.get(item) for s in way) for way in leaving]
            for way, offset in zip(leaving, side_offsets(main, self.widths[item]), strict=True):
                for s in way:
                    s.port_above = offset


def topological_order(count: int, links: Iterable[tuple[int, int]]) -> list[int]:
    """The items in an order in which every link leads to a later item."""
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


# The x coordinates of a layered drawing: linked boxes are near each other, links are straight.
#
# Items that should lie exactly below each other are joined to blocks. All blocks begin as far right
# as their neighbours allow. Then each in turn moves to the place where its links are shortest.


BETWEEN_BOXES, BETWEEN_LINES = 22.0, 12.0  # least distance in a row
ROUNDS = 40
PULL = (1.0, 2.0, 8.0)  # weights of straightness, by the number of a segment's virtual ends


def count_virtual_ends(rows: Rows, segment: Segment) -> int:
    """The number of a segment's ends that are virtual items, not boxes."""
    return (segment.above >= rows.real) + (segment.below >= rows.real)


def straight_segments(rows: Rows) -> list[Segment]:
    """The segments to draw straight down: at most one above and below an item, without crossings.

    The middle parts of long links come first, then the links with the longest path above them.
    """
    depth = [0] * len(rows.rank)  # the number of boxes on the longest path to an item
    for row in rows.rows:
        for item in row:
            behind = max((depth[s.above] for s in rows.ups[item]), default=0)
            depth[item] = behind + (item < rows.real)
    place = rows.places()
    chosen: list[Segment] = []
    for row in rows.rows[1:]:
        taken: list[tuple[int, int]] = []  # places above and below
        segments = []
        for item in row:
            # Choose the segment with the longest path above it. Of several, choose the middle one;
            # of an even number, none: the item then lies between them.
            longest = max((depth[s.above] for s in rows.ups[item]), default=0)
            among = [s for s in rows.ups[item] if depth[s.above] == longest]
            if len(among) % 2:
                segments.append(sorted(among, key=lambda s: place[s.above])[len(among) // 2])
        segments.sort(key=lambda s: ((1, 2, 0)[count_virtual_ends(rows, s)], -depth[s.above]))
        for s in segments:
            above, below = place[s.above], place[s.below]
            if all((above - a) * (below - b) > 0 for a, b in taken):
                taken.append((above, below))
                chosen.append(s)
    return chosen


class Blocks:
    """Blocks of items joined by straight segments: a place per block, an offset per item."""

    def __init__(self, rows: Rows, joined: Sequence[Segment]) -> None:
        size = len(rows.rank)
        self.block, self.offset = [-1] * size, [0.0] * size
        joint = {s.below: s for s in joined}
        self.count = 0
        for row in rows.rows:
            for item in row:
                s = joint.get(item)
                if s is None:
                    self.block[item] = self.count
                    self.count += 1
                else:
                    self.block[item] = self.block[s.above]
                    self.offset[item] = self.offset[s.above] + s.port_above - s.port_below
        # The least distances between neighbouring blocks, by pairs from left to right.
        gaps: dict[tuple[int, int], float] = {}
        for row in rows.rows:
            for a, b in pairwise(row):
                pair = (self.block[a], self.block[b])
                space = BETWEEN_LINES if a >= rows.real <= b else BETWEEN_BOXES
                gap = (rows.widths[a] + rows.widths[b]) / 2 + space
                gap += self.offset[a] - self.offset[b]
                gaps[pair] = max(gap, gaps.get(pair, gap))
        self.rights: list[list[tuple[int, float]]] = [[] for _ in range(self.count)]
        self.lefts: list[list[tuple[int, float]]] = [[] for _ in range(self.count)]
        for (a, b), gap in gaps.items():
            self.rights[a].append((b, gap))
            self.lefts[b].append((a, gap))
        self.order = topological_order(self.count, gaps)
        # The links of each block: the other block, its distance to the right with which the link is
        # straight, and the weight of straightness.
        self.links: list[list[tuple[int, float, float]]] = [[] for _ in range(self.count)]
        for s in rows.segments:
            a, b = self.block[s.above], self.block[s.below]
            if a != b:
                apart = self.offset[s.above] + s.port_above - self.offset[s.below] - s.port_below
                weight = PULL[count_virtual_ends(rows, s)]
                self.links[a].append((b, apart, weight))
                self.links[b].append((a, -apart, weight))

    def x_coordinates(self, widths: Sequence[float]) -> list[float]:
        """The x coordinate of every item's centre, at least half the item's width."""
        places = [0.0] * self.count
        for a in reversed(self.order):
            places[a] = min((places[b] - gap for b, gap in self.rights[a]), default=0.0)
        for turn in range(ROUNDS):
            # A row of blocks can move right if the rightmost moves first.
            self.adjust(places, reversed(self.order) if turn % 2 else self.order)
        xs = [places[b] + offset for b, offset in zip(self.block, self.offset, strict=True)]
        left = min((x - w / 2 for x, w in zip(xs, widths, strict=True)), default=0.0)
        return [x - left for x in xs]

    def adjust(self, places: list[float], order: Iterable[int]) -> None:
        """Move each block in turn to the weighted mean of its links' ends, as far as there is room.

        A move never increases the sum of the links' squared lengths.
        """
        for block in order:
            total = strength = 0.0
            for other, apart, weight in self.links[block]:
                total += weight * (places[other] - apart)
                strength += weight
            if strength:
                wish = total / strength
                least = max((places[a] + gap for a, gap in self.lefts[block]), default=-inf)
                most = min((places[b] - gap for b, gap in self.rights[block]), default=inf)
                places[block] = max(least, min(wish, most))


# The places of boxes in a layered drawing, and the ways of the links between them.
#
# Inside a row, a link runs straight down between boxes. It bends only between rows, where there are
# no boxes. So no link passes through a box.


PORT = 18.0  # distance between the points where links meet a box
GAP, WIDEST_GAP = 30.0, 84.0  # height of the space between two rows
STEEPNESS = 0.14  # the part of a link's way to the side that this space is high


class Place(NamedTuple):
    """The centre and size of a box."""

    x: float
    y: float
    width: float
    height: float


class Route(NamedTuple):
    """The way of an edge; if it begins like that of an earlier edge, only the part after that.

    Attributes:
        stations: `(x, from, to)` of each vertical part; between two of them the way bends.
        label: the centre of the label, if it is on this part of the way.
    """

    stations: tuple[tuple[float, float, float], ...]
    label: tuple[float, float] | None


class Layout(NamedTuple):
    """A drawing: the places of the items and the routes of the edges, in the given order."""

    places: list[Place]
    routes: list[Route]
    width: float
    height: float


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> Layout:
    """The layout of items in rows, with routes for the edges between them.

    Args:
        sizes: the width and height of each item.
        edges: the edges between items, by position, without cycles.
    """
    rows = Rows(sizes, edges)
    rows.reduce_crossings()
    joined = straight_segments(rows)
    rows.set_ports(joined)
    xs = Blocks(rows, joined).x_coordinates(rows.widths)
    tops, bottoms, y = [], [], 0.0
    for row in rows.rows:
        tops.append(y)
        bottoms.append(y + max(rows.heights[item] for item in row))
        aside = (abs(exit_of(s, xs) - entry_of(s, xs)) for i in row for s in rows.downs[i])
        # Rows are further apart if a link between them goes far to the side.
        gap = min(max(GAP, STEEPNESS * max(aside, default=0.0)), WIDEST_GAP)
        y = bottoms[-1] + gap
    middle = [(tops[r] + bottoms[r]) / 2 for r in rows.rank]
    places = [Place(xs[i], middle[i], rows.widths[i], rows.heights[i]) for i in range(len(sizes))]
    routes = routes_between_rows(rows, edges, xs, tops, bottoms, middle)
    width = max((x + w / 2 for x, w in zip(xs, rows.widths, strict=True)), default=0.0)
    return Layout(places, routes, width, bottoms[-1] if bottoms else 0.0)


def side_offsets(main: Sequence[bool], width: float) -> list[float]:
    """Offsets from the centre of a side of ``width``, 0 for the one marked in ``main``."""
    centre = main.index(True) if True in main else (len(main) - 1) / 2
    furthest = max(centre, len(main) - 1 - centre)
    step = min(PORT, (width / 2 - 8) / furthest) if furthest > 0 else 0.0
    return [(i - centre) * step for i in range(len(main))]


def exit_of(segment: Segment, xs: Sequence[float]) -> float:
    return xs[segment.above] + segment.port_above


def entry_of(segment: Segment, xs: Sequence[float]) -> float:
    return xs[segment.below] + segment.port_below


def routes_between_rows(
    rows: Rows, edges: Sequence[Edge], xs: Sequence[float], tops: Sequence[float],
    bottoms: Sequence[float], middle: Sequence[float],
) -> list[Route]:  # fmt: skip
    """The ways from the bottom of a source, through the rows between, to the top of a target."""
    gone: set[int] = set()  # virtual items that an earlier route passes
    routes = []
    for edge, segments in zip(edges, rows.routes, strict=True):
        stations = []
        for segment in segments:
            item, x = segment.above, exit_of(segment, xs)
            low = bottoms[rows.rank[item]]
            if item == edge.source:
                stations.append((x, middle[item] + rows.heights[item] / 2, low))
            elif item in gone:
                stations = [(x, low, low)]
            else:
                stations.append((x, tops[rows.rank[item]], low))
                gone.add(item)
        end = middle[edge.target] - rows.heights[edge.target] / 2
        stations.append((entry_of(segments[-1], xs), tops[rows.rank[edge.target]], end))
        label = None
        if edge.label is not None and len(stations) > len(segments):
            first = segments[0].below
            label = (xs[first], middle[first])
        routes.append(Route(tuple(stations), label))
    return routes


# The graph as an SVG picture for browsers and notebooks with a light or dark background.
#
# The background is transparent. Boxes are light with dark text; lines have a grey that is visible
# on both black and white. Tooltips hold the details that the boxes leave out.


FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CELL, LINE = 7.3, 16.0  # size of a character and height of a line, at 12 pixels
PADDING_X, PADDING_Y = 11.0, 6.0
MARGIN = 12.0
LONGEST = 44  # characters of a line before its middle is left out
LABEL_HEIGHT = 16.0
ARROW = 7.0
BLACK, DARK, GREY = "#1f2328", "#57606a", "#828a96"

# Fill, outline, and radius of the corners, by kind of box: torchviz's colours, made lighter.
STYLES = {
    "op": ("#eceef1", "#9aa1ab", 4),
    "leaf": ("#cfe5fa", "#4b8ec4", 11),
    "saved": ("#ffe0b0", "#d48d2a", 11),
    "output": ("#d5f2b4", "#6ba23b", 11),
    "base": ("#b9d99a", "#5a8733", 11),
    "cut": ("#fafafa", "#828a96", 11),
    "constant": ("#ffffff", "#9aa1ab", 11),
    "module": ("#e5dcf5", "#8866c2", 4),
}
COLOURS = {VALUE: "#1a7f37", GRADIENT: "#0969da"}
DASHED = ' stroke-dasharray="{} 3"'
DASHES = {
    "flow": "", "saved": DASHED.format(5), "kept": DASHED.format(5), "view": DASHED.format(2),
}  # fmt: skip


class Card(NamedTuple):
    """The texts of a box: a title, a line below it, and rows of two columns."""

    title: str
    below: str
    rows: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, box: Box) -> "Card":
        """The texts of ``box``, shortened."""
        rows = tuple(
            (shorten_middle(name), shorten_middle(value))
            for name, value in (*box.attributes, *box.values)
        )
        below = shorten_middle(", ".join(box.shapes))
        if len(box.shapes) > 1 and len(set(box.shapes)) == 1:
            below = f"{len(box.shapes)} \N{MULTIPLICATION SIGN} {box.shapes[0]}"
        return cls(shorten_middle(box.title or box.kind), below, rows)

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of the box."""
        rows = max(
            (text_width(name) + text_width(value) + 2 for name, value in self.rows), default=0
        )
        widest = max(text_width(self.title), text_width(self.below), rows)
        lines = bool(self.title) + bool(self.below) + len(self.rows) + bool(self.rows) * 0.5
        return widest * CELL + 2 * PADDING_X, lines * LINE + 2 * PADDING_Y


def svg(graph: Graph, *, keys: bool = False) -> str:
    """The source of an SVG picture of ``graph``, or of its readable part if it is too large.

    Args:
        keys: whether boxes keep their keys in the graph, which differ from run to run, instead of
            numbers.
    """
    part, note = graph.readable()
    numbers = {key: i for i, key in enumerate(part.boxes)}
    cards = [Card.of(box) for box in part.boxes.values()]
    links = without_cycles(part.links, numbers)
    layout = lay_out([c.size for c in cards], list(edges(links, numbers)))
    remarks = note.splitlines()
    top = MARGIN + (len(remarks) * LINE + 2 * PADDING_Y + MARGIN if remarks else 0.0)
    remark_width = max(map(text_width, remarks), default=0) * CELL + 2 * PADDING_X
    width = max(layout.width, remark_width) + 2 * MARGIN
    height = layout.height + top + MARGIN
    names = f"Graph of {len(part.boxes)} nodes and {len(part.links)} edges"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{names}" '
        f'font-family="{FONT}" font-size="12">'
    ]
    if remarks:
        height_of_note = top - 2 * MARGIN
        lines.append(rect(MARGIN, MARGIN, remark_width, height_of_note, 4, "#fff6d6", "#c9a227"))
    for i, line in enumerate(remarks):
        y = MARGIN + PADDING_Y + (i + 0.75) * LINE
        lines.append(text(MARGIN + PADDING_X, y, line, "start", "#3c3a2f"))
    left = (width - layout.width) / 2
    lines.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    lines.append(f'<g fill="none" stroke="{GREY}" stroke-width="1.3">')
    labels: list[str] = []
    for link, route in zip(links, layout.routes, strict=True):
        lines.append(draw_link(link, route, part))
        if route.label is not None:
            x, y = route.label
            wide = text_width(link.label) * CELL + 10
            at = x - wide / 2, y - LABEL_HEIGHT / 2
            labels.append(rect(*at, wide, LABEL_HEIGHT, 8, "#ffffff", GREY, ' stroke-width="0.8"'))
            labels.append(text(x, y + 3.8, link.label, "middle", "#3d444d", "11"))
    lines.append("</g>")
    for (key, box), written, place in zip(part.boxes.items(), cards, layout.places, strict=True):
        lines += draw_box(key if keys else str(numbers[key]), box, written, place)
    return "\n".join([*lines, *labels, "</g>", "</svg>"]) + "\n"


escape = partial(html.escape, quote=False)  # for texts between tags


def text_width(text: str) -> int:
    """The width of a text in columns of a fixed-width font."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten_middle(text: str) -> str:
    """A text of at most `LONGEST` characters; a longer one loses its middle."""
    if len(text) <= LONGEST:
        return text
    half = (LONGEST - 1) // 2
    return f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"


def without_cycles(links: Sequence[Link], keys: dict[str, int]) -> list[Link]:
    """The links, some reversed so that there are no cycles: a node may save its own result."""
    flows = [k for k in links if k.kind not in ("saved", "kept")]
    ends = [(keys[k.source], keys[k.target]) for k in flows]
    place = {item: i for i, item in enumerate(topological_order(len(keys), ends))}
    return [
        link
        if place[keys[link.source]] < place[keys[link.target]]
        else link._replace(source=link.target, target=link.source)
        for link in links
    ]


def edges(links: Sequence[Link], keys: dict[str, int]) -> Iterator[Edge]:
    """The links as edges of the layout: similar links share their way, equal ones do not."""
    seen: Counter[Link] = Counter()
    for link in links:
        label = (text_width(link.label) * CELL + 10, LABEL_HEIGHT) if link.label else None
        yield Edge(keys[link.source], keys[link.target], (link.kind, link.label, seen[link]), label)
        seen[link] += 1


def text(
    x: float, y: float, content: str, anchor: str, colour: str, size: str = "", row: str = ""
) -> str:
    """The SVG source of a line of text.

    Args:
        y: the height of the base line.
        row: the name of the row in the box.
    """
    more = f' font-size="{size}"' if size else ""
    more += f' data-row="{row}"' if row else ""
    more += ' xml:space="preserve"' if "  " in content else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{more}>'
        f"{escape(content)}</text>"
    )


def rect(
    left: float, top: float, width: float, height: float, radius: int, fill: str, outline: str,
    more: str = "",
) -> str:  # fmt: skip
    """The SVG source of a rectangle with round corners."""
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{radius}" fill="{fill}" stroke="{outline}"{more}/>'
    )


def draw_box(key: str, box: Box, written: Card, place: Place) -> Iterator[str]:
    """The SVG source of a box with its texts and its tooltip."""
    fill, outline, radius = STYLES[box.kind]
    left, top = place.x - place.width / 2, place.y - place.height / 2
    dashed = DASHED.format(4) if box.kind == "cut" else ""
    yield f'<g data-kind="{box.kind}" data-key="{key}">'
    rows = [f"{name}: {value}" for name, value in box.attributes]
    yield f"<title>{escape(box.details or chr(10).join([box.title, *rows]))}</title>"
    yield rect(left, top, place.width, place.height, radius, fill, outline, dashed)
    y = top + PADDING_Y - LINE * 0.25
    for content, colour, size in ((written.title, BLACK, ""), (written.below, DARK, "11")):
        if content:
            y += LINE
            yield text(place.x, y, content, "middle", colour, size)
    if written.rows:
        rule = y + LINE * 0.5
        yield f'<path d="M{left:.1f} {rule:.1f}h{place.width:.1f}" stroke="{outline}"/>'
        y += LINE * 0.5
    kinds = [""] * len(box.attributes) + [name for name, _ in box.values]
    for row, (name, value) in zip(kinds, written.rows, strict=True):
        y += LINE
        colour = COLOURS[row.split()[0]] if row else DARK
        yield text(left + PADDING_X, y, name, "start", colour if row else BLACK, row=row)
        yield text(left + place.width - PADDING_X, y, value, "end", colour, row=row)
    yield "</g>"


def draw_link(link: Link, route: Route, graph: Graph) -> str:
    """The SVG source of a link: straight at its stations, with smooth bends between them."""
    (x, start, y), *others = route.stations
    way = [f"M{x:.1f} {start:.1f}"]
    arrow = link.kind in ("flow", "view")
    for number, (next_x, top, bottom) in enumerate(others, 1):
        way.append(f"V{y:.1f}")
        half = (y + top) / 2
        way.append(f"C{x:.1f} {half:.1f} {next_x:.1f} {half:.1f} {next_x:.1f} {top:.1f}")
        x, y = next_x, bottom
        if arrow and number == len(others):
            y -= ARROW * 0.6
    way.append(f"V{y:.1f}")
    dashes = DASHES[link.kind]
    ends = [graph.boxes[key].title or graph.boxes[key].kind for key in (link.source, link.target)]
    title = escape(f"{ends[0]} \N{RIGHTWARDS ARROW} {ends[1]}")
    if link.label:
        title += escape(f" ({link.label})")
    tip = route.stations[-1][2]
    head = (
        f'<path d="M{x:.1f} {tip:.1f}l{-ARROW / 2} {-ARROW}h{ARROW}z" fill="{GREY}" stroke="none"/>'
    )
    return (
        f'<g data-kind="{link.kind}"><title>{title}</title><path d="{"".join(way)}"{dashes}/>'
        f"{head if arrow else ''}</g>"
    )


# The drawing that users get.

FILL = {
    "leaf": "lightblue",
    "saved": "orange",
    "output": "darkolivegreen1",
    "base": "darkolivegreen3",
}
NODE_STYLE = (
    "align=left fontname=monospace fontsize=10 height=0.2 ranksep=0.1 shape=box style=filled"
)
LINK_STYLE = {"saved": "dir=none", "kept": "dir=none", "view": "style=dotted"}
FORMATS = ("svg", "dot", "gv")


class GraphView:
    """A drawing of a graph. It holds only texts, no tensors.

    Attributes:
        format: the format that `render` writes if the file's name has no suffix for one.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.format = "svg"

    @property
    def source(self) -> str:
        """The whole graph in DOT, Graphviz's language, as torchviz writes it."""
        boxes, links = self.graph.boxes, self.graph.links
        size = max(12, 0.15 * (len(boxes) + len(links)))
        lines = [f'\tgraph [size="{size:g},{size:g}"]', f"\tnode [{NODE_STYLE}]"]
        for key, box in boxes.items():
            fill = f" fillcolor={FILL[box.kind]}" if box.kind in FILL else ""
            rows, label = (*box.attributes, *box.values), box.title
            if rows:
                names, values = (max(map(len, column)) for column in zip(*rows, strict=True))
                table = [f"{name:<{names}}: {value:>{values}}" for name, value in rows]
                label = "\n".join([label, "-" * max(names + values + 2, len(label)), *table])
            elif box.kind != "op":
                label += f"\n {box.shapes[0]}"
            lines.append(f"\t{key} [label={quoted(label)}{fill}]")
        for link in links:
            ends = (link.source, link.target)
            if link.kind == "saved":
                ends = (link.target, link.source)
            styles = [LINK_STYLE[link.kind]] if link.kind in LINK_STYLE else []
            if link.label:
                styles.append(f"label={quoted(link.label)}")
            more = f" [{' '.join(styles)}]" if styles else ""
            lines.append(f"\t{ends[0]} -> {ends[1]}{more}")
        return "\n".join(["digraph {", *lines, "}"]) + "\n"

    @property
    def svg(self) -> str:
        """The picture; if the graph is too large to read, only the part nearest the outputs."""
        return svg(self.graph)

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        boxes, links = len(self.graph.boxes), len(self.graph.links)
        return f"<GraphView of {boxes} nodes and {links} edges>"

    def save(self, path: str | PathLike[str]) -> str:
        """Write the drawing to a file; returns its path.

        Args:
            path: the file. Its suffix is the format: ``.svg``, or ``.dot`` or ``.gv`` for DOT.

        Raises:
            ValueError: for another suffix.
        """
        target = Path(path)
        name = target.suffix.removeprefix(".")
        if name not in FORMATS:
            raise ValueError(
                f"cannot write a graph as '{name}', only as svg, dot or gv; for other formats save "
                "it as dot and convert that by Graphviz's own program"
            )
        text = self.svg if name == "svg" else self.source
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        return str(target)

    def render(
        self, filename: str | PathLike[str], directory: str | PathLike[str] | None = None,
        view: bool = False, cleanup: bool = False, format: str | None = None,
    ) -> str:  # fmt: skip
        """Write the drawing to a file and add the format as a suffix if needed; returns its path.

        Args:
            filename: the file's name.
            directory: the folder of the file; default: the current one.
            view: whether to open the file in a browser.
            cleanup: ignored; Graphviz's `render` leaves a DOT file next to the picture.
            format: "svg", "dot" or "gv"; default: the suffix of ``filename``, or the attribute.

        Raises:
            ValueError: for another format.
        """
        target = Path(directory or "", filename)
        wanted = format or self.format
        if target.suffix.removeprefix(".") not in ((format,) if format else FORMATS):
            target = target.with_name(f"{target.name}.{wanted}")
        written = self.save(target)
        if view:
            import webbrowser  # slow to import, and rarely used

            webbrowser.open(target.resolve().as_uri())
        return written


def make_dot(
    var: Tensor | Iterable[Tensor], params: Any = None, show_attrs: bool = False,
    show_saved: bool = False, max_attr_chars: int = 50, values: bool = False,
) -> GraphView:  # fmt: skip
    """Draw the graph of one or several tensors.

    Args:
        var: one output or several.
        params: names for tensors: a mapping from names to tensors, pairs of both, or a module.
            Default: the caller's variables, and the parameters of modules among them.
        show_attrs: whether each box lists the values that its node saves.
        show_saved: whether each saved tensor gets a box of its own.
        max_attr_chars: the largest number of characters for one value of ``show_attrs``.
        values: whether to write values in green and gradients in blue. Values are shown if the
            graph keeps them; gradients for leaves, for tensors that retain them and, after
            `explain`, for all. Operations get their symbols, constants get boxes. A large tensor is
            shown by its min, mean and max.

    Returns:
        The drawing, which notebooks show and which can be saved as SVG or DOT.

    Raises:
        TypeError: if an output or a value of ``params`` is not a tensor.
    """
    walk = Walk(named_tensors(params), show_attrs, show_saved, max_attr_chars)
    graph = collect(walk, var)
    return GraphView(walk.with_values() if values else graph)


def quoted(text: str) -> str:
    """A text as a DOT string, with escapes for all special characters."""
    escaped = re.sub(r"&(?=#?\w+;)", "&amp;", text)  # Graphviz reads entities of HTML
    escaped = escaped.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
