"""The x coordinates of a layered drawing: boxes near what they belong to, links straight.

First row by row, every item is drawn to the mean of the places of its neighbours. Then items that
should stand exactly below each other are joined to blocks, and the blocks moved as a whole.
"""

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf

from nanotorch.autograd.view.order import Rows, Segment, from_above

BETWEEN_BOXES, BETWEEN_LINES = 22.0, 12.0  # least distance in a row
ONE_SIDED, TWO_SIDED = 8, 30  # sweeps that look at the row before, and at both
HASTE = 1.6  # how far beyond its wish an item goes, which makes long chains settle soon
BLOCK_ROUNDS = 20


def columns(rows: Rows, joined: Sequence[Segment]) -> list[float]:
    """The x coordinate of every item's centre, none less than half its width.

    Args:
        joined: the segments to be drawn straight down.
    """
    xs = straightened(rows, joined, balanced(rows))
    left = min((x - w / 2 for x, w in zip(xs, rows.widths, strict=True)), default=0.0)
    return [x - left for x in xs]


def balanced(rows: Rows) -> list[float]:
    """Places that keep links short, long straight parts of links more than others."""
    xs = [0.0] * len(rows.rank)
    for turn in range(ONE_SIDED + TWO_SIDED):
        down, both = turn % 2 == 0, turn >= ONE_SIDED
        haste = HASTE if both and turn < ONE_SIDED + TWO_SIDED - 2 else 1.0
        for row in rows.rows if down else reversed(rows.rows):
            wishes, weights = [], []
            for item in row:
                wish, weight = wished(rows, item, xs, both or down, both or not down)
                wishes.append(xs[item] + haste * (wish - xs[item]))
                weights.append(weight)
            for item, x in zip(row, spaced(rows, row, wishes, weights), strict=True):
                xs[item] = x
    return xs


def wished(
    rows: Rows, item: int, xs: Sequence[float], above: bool, below: bool
) -> tuple[float, float]:
    """Where an item is drawn to by its neighbours above and below, and how strongly."""
    total = strength = 0.0
    if above:
        for s in rows.ups[item]:
            weight = pull(rows, s)
            total += weight * (xs[s.above] + s.port_above - s.port_below)
            strength += weight
    if below:
        for s in rows.downs[item]:
            weight = pull(rows, s)
            total += weight * (xs[s.below] + s.port_below - s.port_above)
            strength += weight
    return (total / strength, strength) if strength else (xs[item], 0.01)


def stand_ins(rows: Rows, segment: Segment) -> int:
    """How many ends of a segment are no boxes."""
    return (segment.above >= rows.real) + (segment.below >= rows.real)


def pull(rows: Rows, segment: Segment) -> float:
    """How much a segment is to be straight."""
    return (1.0, 2.0, 8.0)[stand_ins(rows, segment)]


def spaced(
    rows: Rows, row: Sequence[int], wishes: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """The places nearest to the wishes, in weighted least squares, that keep order and distance.

    With the distances taken off, places must not decrease: that is isotonic regression, which
    merges neighbours that would violate the order into groups at their common mean.
    """
    shifts = [0.0] * len(row)
    for i in range(1, len(row)):
        shifts[i] = shifts[i - 1] + distance(rows, row[i - 1], row[i])
    groups: list[tuple[float, float, int]] = []  # mean, weight, number of items
    for wish, shift, weight in zip(wishes, shifts, weights, strict=True):
        group = (wish - shift, weight, 1)
        while groups and groups[-1][0] > group[0]:
            mean, other, count = groups.pop()
            total = other + group[1]
            group = ((mean * other + group[0] * group[1]) / total, total, count + group[2])
        groups.append(group)
    means = (mean for mean, _, count in groups for _ in range(count))
    return [mean + shift for mean, shift in zip(means, shifts, strict=True)]


def distance(rows: Rows, a: int, b: int) -> float:
    """The least distance of the centres of two neighbours in a row."""
    lines = a >= rows.real and b >= rows.real
    space = BETWEEN_LINES if lines else BETWEEN_BOXES
    return (rows.widths[a] + rows.widths[b]) / 2 + space


def straightened(rows: Rows, joined: Sequence[Segment], xs: Sequence[float]) -> list[float]:
    """The places with blocks of items moved so that the links inside each are straight lines."""
    blocks = Blocks(rows, joined)
    places = blocks.settle([blocks.mean(b, xs) for b in range(blocks.count)])
    for turn in range(BLOCK_ROUNDS):
        # A row of blocks that all want to go right can if the rightmost goes first.
        blocks.adjust(places, reversed(blocks.order) if turn % 2 else blocks.order)
    return [places[blocks.block[i]] + blocks.offset[i] for i in range(len(xs))]


def straight(rows: Rows) -> list[Segment]:
    """Segments to be drawn straight down: at most one above and below an item, none crossing.

    The middle parts of long links come first, then the links with the longest way behind them.
    """
    depth = [0] * len(rows.rank)  # boxes on the longest way to an item
    for row in rows.rows:
        for item in row:
            behind = max((depth[s.above] for s in rows.ups[item]), default=0)
            depth[item] = behind + (item < rows.real)
    place = {item: i for row in rows.rows for i, item in enumerate(row)}
    chosen: list[Segment] = []
    for row in rows.rows[1:]:
        taken: list[tuple[int, int]] = []  # places above and below, in ascending order of both
        segments = [s for item in row for s in main_segments(rows.ups[item], depth, place)]
        segments.sort(key=lambda s: ((1, 2, 0)[stand_ins(rows, s)], -depth[s.above]))
        for s in segments:
            pair = (place[s.above], place[s.below])
            at = bisect(taken, pair)
            before, after = taken[:at][-1:], taken[at:][:1]
            if all(p[0] < pair[0] and p[1] < pair[1] for p in before) and all(
                p[0] > pair[0] and p[1] > pair[1] for p in after
            ):
                taken.insert(at, pair)
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
        self.rows = rows
        size = len(rows.rank)
        self.block, self.offset = [-1] * size, [0.0] * size
        joint = {s.below: s for s in joined}
        self.members: list[list[int]] = []
        for row in rows.rows:
            for item in row:
                s = joint.get(item)
                if s is None:
                    self.block[item] = len(self.members)
                    self.members.append([item])
                else:
                    self.block[item] = self.block[s.above]
                    self.offset[item] = self.offset[s.above] + s.port_above - s.port_below
                    self.members[self.block[item]].append(item)
        self.count = len(self.members)
        self._order_blocks()
        self._link_blocks()

    def _order_blocks(self) -> None:
        """Collect which block must stand right of which, and how far, and sort them by that."""
        gaps: dict[tuple[int, int], float] = {}
        for row in self.rows.rows:
            for a, b in pairwise(row):
                pair = (self.block[a], self.block[b])
                gap = distance(self.rows, a, b) + self.offset[a] - self.offset[b]
                gaps[pair] = max(gap, gaps.get(pair, gap))
        self.rights: list[list[tuple[int, float]]] = [[] for _ in range(self.count)]
        self.lefts: list[list[tuple[int, float]]] = [[] for _ in range(self.count)]
        for (a, b), gap in gaps.items():
            self.rights[a].append((b, gap))
            self.lefts[b].append((a, gap))
        self.order = from_above(self.count, gaps)

    def _link_blocks(self) -> None:
        """Collect the links that leave each block.

        With each go how far right of the block the other would stand for the link to be straight,
        and the weight of that.
        """
        self.links: list[list[tuple[int, float, float]]] = [[] for _ in range(self.count)]
        for s in self.rows.segments:
            a, b = self.block[s.above], self.block[s.below]
            if a != b:
                apart = self.offset[s.above] + s.port_above - self.offset[s.below] - s.port_below
                weight = pull(self.rows, s)
                self.links[a].append((b, apart, weight))
                self.links[b].append((a, -apart, weight))

    def mean(self, block: int, xs: Sequence[float]) -> float:
        """Where a block would have to stand for its items to be where they are, on average."""
        members = self.members[block]
        return sum(xs[i] - self.offset[i] for i in members) / len(members)

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

    def settle(self, wishes: Sequence[float]) -> list[float]:
        """Places near the wishes that keep the distances.

        Pushing to the right where there is no room keeps them, and so does pushing to the left;
        then the mean of the two does as well.
        """
        pushed_right, pushed_left = list(wishes), list(wishes)
        for a in self.order:
            for b, gap in self.rights[a]:
                pushed_right[b] = max(pushed_right[b], pushed_right[a] + gap)
        for b in reversed(self.order):
            for a, gap in self.lefts[b]:
                pushed_left[a] = min(pushed_left[a], pushed_left[b] - gap)
        return [(a + b) / 2 for a, b in zip(pushed_right, pushed_left, strict=True)]
