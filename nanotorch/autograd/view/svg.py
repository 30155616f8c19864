"""The graph as an SVG picture that a browser or notebook shows, in light and dark surroundings.

The background is transparent; boxes are light with dark text, and lines of a grey that stands out
from both black and white. Tooltips hold what the boxes leave out.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nanotorch.autograd.view.layout import Layout, Place, Route, lay_out
from nanotorch.autograd.view.order import Edge, from_above
from nanotorch.autograd.view.parts import Box, Graph, Link
from nanotorch.autograd.view.summary import drawable

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CELL, LINE = 7.3, 16.0  # size of a character and height of a line, at 12 pixels
PADDING_X, PADDING_Y = 11.0, 6.0
MARGIN = 12.0
LONGEST = 44  # characters of a line before its middle is left out
LABEL_HEIGHT = 16.0
ARROW = 7.0
GREY = "#828a96"

# Fill, outline, and radius of the corners, by kind of box: torchviz's colours, made lighter.
STYLES = {
    "op": ("#eceef1", "#9aa1ab", 4),
    "leaf": ("#cfe5fa", "#4b8ec4", 11),
    "saved": ("#ffe0b0", "#d48d2a", 11),
    "output": ("#d5f2b4", "#6ba23b", 11),
    "base": ("#b9d99a", "#5a8733", 11),
    "cut": ("#fafafa", "#828a96", 11),
}
DASHES = {"flow": "", "saved": "5 3", "kept": "5 3", "view": "2 3"}


class Card(NamedTuple):
    """What is written in a box: a title, a line below it, and rows of two columns."""

    title: str
    below: str
    rows: tuple[tuple[str, str], ...]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the box."""
        rows = max((cells(name) + cells(value) + 2 for name, value in self.rows), default=0)
        widest = max(cells(self.title), cells(self.below), rows)
        lines = bool(self.title) + bool(self.below) + len(self.rows) + bool(self.rows) * 0.5
        return widest * CELL + 2 * PADDING_X, lines * LINE + 2 * PADDING_Y


def svg(graph: Graph) -> str:
    """The text of an SVG picture of ``graph``, or of the part of it that can be read."""
    part, note = drawable(graph)
    keys = {key: i for i, key in enumerate(part.boxes)}
    cards = [card(box) for box in part.boxes.values()]
    links = forward(part.links, keys)
    layout = lay_out([c.size for c in cards], list(edges(links, keys)))
    remarks = note.splitlines()
    top = MARGIN + (len(remarks) * LINE + 2 * PADDING_Y + MARGIN if remarks else 0.0)
    remark_width = max(map(cells, remarks), default=0) * CELL + 2 * PADDING_X
    width = max(layout.width, remark_width) + 2 * MARGIN
    height = layout.height + top + MARGIN
    names = f"Graph of {len(part.boxes)} nodes and {len(part.links)} edges"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{names}" '
        f'font-family="{FONT}" font-size="12">'
    ]
    lines += remark(remarks, remark_width)
    left = (width - layout.width) / 2
    lines.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    lines.append(f'<g fill="none" stroke="{GREY}" stroke-width="1.3">')
    for link, route in zip(links, layout.routes, strict=True):
        lines.append(path(link, route, part))
    lines.append("</g>")
    for box, written, place in zip(part.boxes.values(), cards, layout.places, strict=True):
        lines += drawn(box, written, place)
    lines += labels(links, layout)
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


def escape(text: str) -> str:
    """A text that means itself between the tags of XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cells(text: str) -> int:
    """How many columns of a fixed-width font a text takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shortened(text: str) -> str:
    """A text without its middle, if it is long."""
    if len(text) <= LONGEST:
        return text
    half = (LONGEST - 1) // 2
    return f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"


def card(box: Box) -> Card:
    """What is written in a box."""
    rows = tuple((shortened(name), shortened(value)) for name, value in box.attributes)
    below = box.shapes[0] if box.shapes else ""
    if len(box.shapes) > 1:
        same = len(set(box.shapes)) == 1
        below = (
            f"{len(box.shapes)} \N{MULTIPLICATION SIGN} {below}"
            if same
            else shortened(", ".join(box.shapes))
        )
    return Card(shortened(box.title or box.kind), below, rows)


def forward(links: Sequence[Link], keys: dict[str, int]) -> list[Link]:
    """The links so that none closes a cycle: a saved value may be what its node has computed."""
    flows = [k for k in links if k.kind not in ("saved", "kept")]
    order = from_above(len(keys), [(keys[k.source], keys[k.target]) for k in flows])
    names = list(keys)
    position = {names[item]: i for i, item in enumerate(order)}
    return [
        link
        if position[link.source] < position[link.target]
        else Link(link.target, link.source, link.kind, link.label)
        for link in links
    ]


def edges(links: Sequence[Link], keys: dict[str, int]) -> Iterator[Edge]:
    """The links as the layout wants them: alike ones share their way, but not equal ones."""
    seen: Counter[Link] = Counter()
    for link in links:
        label = (cells(link.label) * CELL + 10, LABEL_HEIGHT) if link.label else None
        yield Edge(keys[link.source], keys[link.target], (link.kind, link.label, seen[link]), label)
        seen[link] += 1


def remark(lines: Sequence[str], width: float) -> Iterator[str]:
    """The note above the picture."""
    if lines:
        height = len(lines) * LINE + 2 * PADDING_Y
        yield (
            f'<rect x="{MARGIN}" y="{MARGIN}" width="{width:.1f}" height="{height:.1f}" rx="4" '
            'fill="#fff6d6" stroke="#c9a227"/>'
        )
    for i, line in enumerate(lines):
        y = MARGIN + PADDING_Y + (i + 0.75) * LINE
        yield text(MARGIN + PADDING_X, y, line, "start", "#3c3a2f")


def text(x: float, y: float, content: str, anchor: str, colour: str, size: str = "") -> str:
    """One line of text; ``y`` is that of its base line."""
    sized = f' font-size="{size}"' if size else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{sized} '
        f'xml:space="preserve">{escape(content)}</text>'
    )


def drawn(box: Box, written: Card, place: Place) -> Iterator[str]:
    """A box with its texts and its tooltip."""
    fill, outline, radius = STYLES[box.kind]
    left, top = place.x - place.width / 2, place.y - place.height / 2
    dashed = ' stroke-dasharray="4 3"' if box.kind == "cut" else ""
    yield f'<g data-kind="{box.kind}">'
    rows = [f"{name}: {value}" for name, value in box.attributes]
    yield f"<title>{escape(box.details or chr(10).join([box.title, *rows]))}</title>"
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{radius}" fill="{fill}" stroke="{outline}"{dashed}/>'
    )
    y = top + PADDING_Y - LINE * 0.25
    if written.title:
        y += LINE
        yield text(place.x, y, written.title, "middle", "#1f2328")
    if written.below:
        y += LINE
        yield text(place.x, y, written.below, "middle", "#57606a", "11")
    if written.rows:
        rule = y + LINE * 0.5
        yield f'<path d="M{left:.1f} {rule:.1f}h{place.width:.1f}" stroke="{outline}"/>'
        y += LINE * 0.5
    for name, value in written.rows:
        y += LINE
        yield text(left + PADDING_X, y, name, "start", "#1f2328")
        yield text(left + place.width - PADDING_X, y, value, "end", "#57606a")
    yield "</g>"


def path(link: Link, route: Route, graph: Graph) -> str:
    """A link: straight down at its stations, in a smooth bend from one to the next."""
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
    dashes = f' stroke-dasharray="{DASHES[link.kind]}"' if DASHES[link.kind] else ""
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


def labels(links: Sequence[Link], layout: Layout) -> Iterator[str]:
    """The labels of links, over the lines."""
    for link, route in zip(links, layout.routes, strict=True):
        if route.label is None:
            continue
        x, y = route.label
        width = cells(link.label) * CELL + 10
        yield (
            f'<rect x="{x - width / 2:.1f}" y="{y - LABEL_HEIGHT / 2:.1f}" width="{width:.1f}" '
            f'height="{LABEL_HEIGHT}" rx="8" fill="#ffffff" stroke="{GREY}" stroke-width="0.8"/>'
        )
        yield text(x, y + 3.8, link.label, "middle", "#3d444d", "11")
