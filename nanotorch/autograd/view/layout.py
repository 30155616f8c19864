"""Where the boxes of a layered drawing stand, and the ways of the links between them.

In its own row a link runs straight down beside the boxes; it bends only between rows, where no
boxes are. So no link passes through a box.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from nanotorch.autograd.view.columns import columns, straight
from nanotorch.autograd.view.order import Edge, Rows, Segment, arrange

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
    rows = arrange(sizes, edges)
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
    place = {item: i for row in rows.rows for i, item in enumerate(row)}
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
    rows: Rows,
    edges: Sequence[Edge],
    xs: Sequence[float],
    tops: Sequence[float],
    bottoms: Sequence[float],
) -> list[Route]:
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
