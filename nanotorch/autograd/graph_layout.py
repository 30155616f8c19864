"""Where the boxes of a drawn graph lie."""

from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

# The rows of a layered drawing: which item stands in which row, and in which order.
#
# After Sugiyama, Tagawa and Toda: rows by longest path, stand-ins where a link passes a row, then
# sweeps that put every item at the median of its neighbours' places in the row before, keeping the
# order with the fewest crossings.


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

    def __init__(self, sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> None:
        self.real, self.rank = len(sizes), rank_items(len(sizes), edges)
        self.widths = [width for width, _ in sizes]
        self.heights = [height for _, height in sizes]
        self.routes: list[list[Segment]] = []
        # Edges are cut into segments from row to row, with stand-ins in the rows that they pass.
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
        self.rows = first_order(self)


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


def places(rows: Rows) -> dict[int, int]:
    """Where in its row each item stands."""
    return {item: i for row in rows.rows for i, item in enumerate(row)}


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
            medians[item] = (near[(len(near) - 1) // 2] + near[len(near) // 2]) / 2
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


def pair_crossings(rows: Rows, place: Mapping[int, int], left: int, right: int) -> int:
    """How many segments of two items cross if one stands left of the other."""
    above = (place[a.above] > place[b.above] for a in rows.ups[left] for b in rows.ups[right])
    below = (place[a.below] > place[b.below] for a in rows.downs[left] for b in rows.downs[right])
    return sum(above) + sum(below)


# The x coordinates of a layered drawing: boxes near what they belong to, links straight.
#
# Items that should stand exactly below each other are joined to blocks. All blocks begin as far
# right as those beside them allow; then each in turn moves to where its links are shortest.


BETWEEN_BOXES, BETWEEN_LINES = 22.0, 12.0  # least distance in a row
ROUNDS = 40
PULL = (1.0, 2.0, 8.0)  # how much a segment is to be straight, by its ends that are no boxes


def columns(rows: Rows, joined: Sequence[Segment]) -> list[float]:
    """The x coordinate of every item's centre, none less than half its width.

    Args:
        joined: the segments to be drawn straight down.
    """
    blocks = Blocks(rows, joined)
    places = blocks.packed()
    for turn in range(ROUNDS):
        # A row of blocks that all want to go right can if the rightmost goes first.
        blocks.adjust(places, reversed(blocks.order) if turn % 2 else blocks.order)
    xs = [places[b] + offset for b, offset in zip(blocks.block, blocks.offset, strict=True)]
    left = min((x - w / 2 for x, w in zip(xs, rows.widths, strict=True)), default=0.0)
    return [x - left for x in xs]


def stand_ins(rows: Rows, segment: Segment) -> int:
    """How many ends of a segment are no boxes."""
    return (segment.above >= rows.real) + (segment.below >= rows.real)


def distance(rows: Rows, a: int, b: int) -> float:
    """The least distance of the centres of two neighbours in a row."""
    space = BETWEEN_LINES if a >= rows.real <= b else BETWEEN_BOXES
    return (rows.widths[a] + rows.widths[b]) / 2 + space


def straight(rows: Rows) -> list[Segment]:
    """Segments to be drawn straight down: at most one above and below an item, none crossing.

    The middle parts of long links come first, then the links with the longest way behind them.
    """
    depth = [0] * len(rows.rank)  # boxes on the longest way to an item
    for row in rows.rows:
        for item in row:
            behind = max((depth[s.above] for s in rows.ups[item]), default=0)
            depth[item] = behind + (item < rows.real)
    place = places(rows)
    chosen: list[Segment] = []
    for row in rows.rows[1:]:
        taken: list[tuple[int, int]] = []  # places above and below
        segments = [s for item in row for s in main_segments(rows.ups[item], depth, place)]
        segments.sort(key=lambda s: ((1, 2, 0)[stand_ins(rows, s)], -depth[s.above]))
        for s in segments:
            above, below = place[s.above], place[s.below]
            if all((above - a) * (below - b) > 0 for a, b in taken):
                taken.append((above, below))
                chosen.append(s)
    return chosen


def main_segments(
    ups: Sequence[Segment], depth: Sequence[int], place: Mapping[int, int]
) -> list[Segment]:
    """The segment into an item with the longest way behind it; of several the middle one.

    Of an even number there is none: the item then stands between them.
    """
    longest = max((depth[s.above] for s in ups), default=0)
    among = sorted((s for s in ups if depth[s.above] == longest), key=lambda s: place[s.above])
    return [among[len(among) // 2]] if len(among) % 2 else []


class Blocks:
    """Items joined by straight segments; each block has one place, each item a fixed offset."""

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
        # Which block must stand right of which, and how far.
        gaps: dict[tuple[int, int], float] = {}
        for row in rows.rows:
            for a, b in pairwise(row):
                pair = (self.block[a], self.block[b])
                gap = distance(rows, a, b) + self.offset[a] - self.offset[b]
                gaps[pair] = max(gap, gaps.get(pair, gap))
        self.rights: list[list[tuple[int, float]]] = [[] for _ in range(self.count)]
        self.lefts: list[list[tuple[int, float]]] = [[] for _ in range(self.count)]
        for (a, b), gap in gaps.items():
            self.rights[a].append((b, gap))
            self.lefts[b].append((a, gap))
        self.order = from_above(self.count, gaps)
        # The links that leave each block: with each go how far right of the block the other would
        # stand for the link to be straight, and the weight of that.
        self.links: list[list[tuple[int, float, float]]] = [[] for _ in range(self.count)]
        for s in rows.segments:
            a, b = self.block[s.above], self.block[s.below]
            if a != b:
                apart = self.offset[s.above] + s.port_above - self.offset[s.below] - s.port_below
                weight = PULL[stand_ins(rows, s)]
                self.links[a].append((b, apart, weight))
                self.links[b].append((a, -apart, weight))

    def packed(self) -> list[float]:
        """Places as far right as the blocks to the right of each allow."""
        places = [0.0] * self.count
        for a in reversed(self.order):
            places[a] = min((places[b] - gap for b, gap in self.rights[a]), default=0.0)
        return places

    def adjust(self, places: list[float], order: Iterable[int]) -> None:
        """Move each block in turn to the mean of what its links lead to, as far as there is room.

        Moving a block never makes the links longer, in the mean of squares.
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


# Where the boxes of a layered drawing stand, and the ways of the links between them.
#
# In its own row a link runs straight down beside the boxes; it bends only between rows, where no
# boxes are. So no link passes through a box.


PORT = 18.0  # distance of the points where links meet a box
GAP, WIDEST_GAP = 30.0, 84.0  # height of the space between two rows
STEEPNESS = 0.14  # how much of a link's way to the side that space grows by


class Place(NamedTuple):
    """A box by its centre and size."""

    x: float
    y: float
    width: float
    height: float


class Route(NamedTuple):
    """The way of an edge, or, if it begins like that of an earlier one, from where it leaves that.

    Attributes:
        stations: `(x, from, to)`: straight down there; between two of them it bends.
        label: the centre of its label, if that is on this part of the way.
    """

    stations: tuple[tuple[float, float, float], ...]
    label: tuple[float, float] | None


class Layout(NamedTuple):
    """A drawing: places of the items and routes of the edges, in the order they were given in."""

    places: list[Place]
    routes: list[Route]
    width: float
    height: float


def lay_out(sizes: Sequence[tuple[float, float]], edges: Sequence[Edge]) -> Layout:
    """Place items in rows and route the edges between them.

    Args:
        sizes: width and height of each item.
        edges: between items, by position; without cycles.
    """
    rows = Rows(sizes, edges)
    reduce_crossings(rows)
    joined = straight(rows)
    set_ports(rows, joined)
    xs = columns(rows, joined)
    tops, bottoms = bands(rows, xs)
    middle = [(tops[r] + bottoms[r]) / 2 for r in rows.rank]
    places = [Place(xs[i], middle[i], rows.widths[i], rows.heights[i]) for i in range(len(sizes))]
    routes = trace(rows, edges, xs, tops, bottoms)
    width = max((x + w / 2 for x, w in zip(xs, rows.widths, strict=True)), default=0.0)
    return Layout(places, routes, width, bottoms[-1] if bottoms else 0.0)


def set_ports(rows: Rows, joined: Iterable[Segment]) -> None:
    """Spread the points where segments meet a box, in the order of where they come from.

    Segments to be drawn straight meet it in its middle, so that the boxes on a long way stand
    exactly below each other.
    """
    place = places(rows)
    above = {s.below: s for s in joined}
    below = {s.above: s for s in above.values()}
    for item in range(rows.real):
        entering = sorted(rows.ups[item], key=lambda s: place[s.above])
        main = [s is above.get(item) for s in entering]
        for s, offset in zip(entering, spread(main, rows.widths[item]), strict=True):
            s.port_below = offset
        # What leaves a box leaves it at one point, for each of its outputs.
        ways: dict[Hashable, list[Segment]] = {}
        for s in rows.downs[item]:
            ways.setdefault(s.bundle, []).append(s)
        leaving = sorted(ways.values(), key=lambda way: sum(place[s.below] for s in way) / len(way))
        main = [any(s is below.get(item) for s in way) for way in leaving]
        for way, offset in zip(leaving, spread(main, rows.widths[item]), strict=True):
            for s in way:
                s.port_above = offset


def spread(main: Sequence[bool], width: float) -> list[float]:
    """Offsets from the centre of a side of ``width``; 0 for what is marked as the main one."""
    centre = main.index(True) if True in main else (len(main) - 1) / 2
    furthest = max(centre, len(main) - 1 - centre)
    step = min(PORT, (width / 2 - 8) / furthest) if furthest > 0 else 0.0
    return [(i - centre) * step for i in range(len(main))]


def bands(rows: Rows, xs: Sequence[float]) -> tuple[list[float], list[float]]:
    """Top and bottom of each row; rows are further apart where links have far to go sideways."""
    tops, bottoms = [], []
    y = 0.0
    for row in rows.rows:
        tops.append(y)
        y += max(rows.heights[item] for item in row)
        bottoms.append(y)
        aside = (abs(exit_of(s, xs) - entry_of(s, xs)) for i in row for s in rows.downs[i])
        y += min(max(GAP, STEEPNESS * max(aside, default=0.0)), WIDEST_GAP)
    return tops, bottoms


def exit_of(segment: Segment, xs: Sequence[float]) -> float:
    return xs[segment.above] + segment.port_above


def entry_of(segment: Segment, xs: Sequence[float]) -> float:
    return xs[segment.below] + segment.port_below


def trace(
    rows: Rows, edges: Sequence[Edge], xs: Sequence[float], tops: Sequence[float],
    bottoms: Sequence[float],
) -> list[Route]:  # fmt: skip
    """The ways from the bottom of a source, through the rows between, to the top of a target."""
    middle = [(tops[r] + bottoms[r]) / 2 for r in rows.rank]
    gone: set[int] = set()  # stand-ins that some route passes already
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
