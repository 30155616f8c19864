"""See the graph: `make_dot` draws it with torchviz's conventions.

    make_dot(loss)                       # in a notebook: the picture
    make_dot(loss, values=True)          # with values and gradients
    make_dot(loss).render("loss.svg")    # for a browser; needs no Graphviz

Boxes: grey, a recorded operation; blue, a leaf whose `grad` is filled in; green, an output; dark
green, the base of an output that is a view; orange, a saved tensor; white, a constant. Arrows go
the way that values go; gradients come back against them.
"""

import html
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from nanotorch._core.anomaly import TRACE
from nanotorch._core.call_site import call_site_of, tensors_in
from nanotorch._core.graph import MODIFIED, AccumulateGrad, FreedValues, Node
from nanotorch._core.op import SAVED_AS, OpNode
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.graph_layout import Edge, Layout, Place, Route, from_above, lay_out
from nanotorch.autograd.values import GRADIENT, VALUE, known

# The recorded graph as plain data: boxes and the links between them.
#
# What is drawn and in which order is torchviz's convention: one box per node of the graph, one per
# leaf, per output, per base of an output that is a view, and on request one per saved tensor. Boxes
# hold texts only, so that a picture keeps no tensor alive and stays right when the graph changes.


BoxKind = Literal["op", "leaf", "saved", "output", "base", "cut", "constant", "module"]
# "saved" and "kept" are both from a saved tensor to the node that holds it; torchviz turns the
# links of declared operations around, but not those of a user's function.
LinkKind = Literal["flow", "saved", "kept", "view"]

LONGEST_DETAIL = 200  # characters
WORDS = {"saved": "saved tensor", "base": "base of a view"}


class Box(NamedTuple):
    """One node of the picture.

    Attributes:
        title: the class of a node, or the name of a tensor.
        shapes: of the tensor, or of the node's outputs.
        attributes: what a node keeps, by name, where that was asked for.
        details: more about it, line by line.
        values: the values and the gradients of its tensors, by `VALUE` and `GRADIENT`.
    """

    kind: BoxKind
    title: str
    shapes: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    details: str = ""
    values: tuple[tuple[str, str], ...] = ()


class Link(NamedTuple):
    """One edge of the picture, in the direction in which values flow.

    Attributes:
        label: the output's number, where the source has several, or the name under which a value
            is saved, where its box does not say it.
    """

    source: str
    target: str
    kind: LinkKind = "flow"
    label: str = ""


class Graph:
    """A picture's boxes, by keys that are the same for the same object, its links and outputs."""

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}
        self.links: list[Link] = []
        self.outputs: list[str] = []

    def redrawn(self, boxes: dict[str, Box], into: Mapping[str, str]) -> "Graph":
        """Some boxes, with their links and those of boxes that they stand for, by their keys."""
        graph = Graph()
        graph.boxes = boxes
        for link in self.links:
            ends = into.get(link.source, link.source), into.get(link.target, link.target)
            if ends[0] != ends[1] and ends[0] in boxes and ends[1] in boxes:
                graph.links.append(link._replace(source=ends[0], target=ends[1]))
        used = {link.source for link in graph.links}
        graph.outputs = [key for key in boxes if key not in used]
        return graph

    def part(self, keys: set[str]) -> "Graph":
        """Some of the boxes, and stand-ins for what they are linked to outside."""
        around = Graph()
        around.links = [link for link in self.links if keys & {link.source, link.target}]
        ends = (end for link in around.links for end in (link.source, link.target))
        into = {end: f"outside {end}" for end in ends if end not in keys}
        boxes = {key: box for key, box in self.boxes.items() if key in keys}
        cut = {place: Box("cut", self.boxes[end].title) for end, place in into.items()}
        return around.redrawn(boxes | cut, into)


def key_of(thing: object) -> str:
    """The key of a node's or tensor's box."""
    return str(id(thing))


def printable(text: str) -> str:
    """``text`` on one line, with whatever could disturb its display as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shape_text(shape: Iterable[int]) -> str:
    """``(3, 4)``; of one dimension ``(3)``, as torchviz has it."""
    return f"({', '.join(map(str, shape))})"


def value_text(value: Any) -> str:
    """A tensor by dtype and shape, anything else by its text."""
    array = value._array if isinstance(value, Tensor) else value
    if isinstance(array, np.ndarray):
        return f"{array.dtype.name} {shape_text(array.shape)}"
    return attribute_text(value)


def attribute_text(value: Any) -> str:
    """What stands for a saved value in a node's table."""
    if isinstance(value, (Tensor, np.ndarray)):
        return "[saved tensor]"
    parts = value if isinstance(value, (tuple, list)) else ()
    if any(isinstance(part, (Tensor, np.ndarray)) for part in parts):
        return "[saved tensors]"
    return printable(str(value))


def shortened(text: str, longest: int) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def named_tensors(params: Any) -> dict[int, tuple[str, Tensor]]:
    """Tensors with their names, by `id`.

    Args:
        params: a mapping from names to tensors, pairs of them, or a module; None for the variables
            of the user's line that asks for the drawing.
    """
    if params is None:
        return tensors_in(call_site_of(sys._getframe(1))[1])
    if hasattr(params, "named_parameters"):
        params = [*params.named_buffers(), *params.named_parameters()]
    elif isinstance(params, Mapping):
        params = params.items()
    found = {}
    for name, tensor in params:
        if not isinstance(tensor, Tensor):
            kind = type(tensor).__name__
            raise TypeError(f"params: expected '{name}' to be a Tensor, got {kind}")
        found[id(tensor)] = printable(str(name)), tensor
    return found


def saved_values(node: Node) -> list[tuple[str, Any]]:
    """What a declared operation's node keeps, under PyTorch's names where those differ.

    Of a value that has been freed, or written to since, a text says so.
    """
    if not isinstance(node, OpNode):
        return []
    values: list[tuple[str, Any]] = []
    for name, _ in node.op.recipe:
        # Layers keep their `input` under that name in PyTorch, too.
        own = name == "input" and "weight" in node.op.formulas
        value = "[freed]"
        if not isinstance(node._saved, FreedValues):
            try:
                value = node.op.saved_value(node, name)
            except RuntimeError as error:
                # Anything else was raised by the user's own function that unpacks saved tensors.
                if not str(error).startswith(MODIFIED.partition("{")[0]):
                    raise
                value = "[modified in place]"
        values.append((name if own else SAVED_AS.get(name, name), value))
    return sorted(values, key=itemgetter(0))


class Walk:
    """Collects the graph behind some outputs.

    Args:
        named: tensors with their names, by `id`.
        show_attrs: put what nodes keep into their boxes.
        show_saved: give saved tensors boxes of their own.
        max_attr_chars: the longest text for one value.
    """

    def __init__(
        self, named: Mapping[int, tuple[str, Tensor]], show_attrs: bool = False,
        show_saved: bool = False, max_attr_chars: int = 50,
    ) -> None:  # fmt: skip
        self.names = {number: name for number, (name, _) in named.items()}
        self.tensors = [tensor for _, tensor in named.values()]
        self.show_attrs, self.show_saved = show_attrs, show_saved
        self.longest = max(max_attr_chars, 3)
        self.graph = Graph()
        self.nodes: list[Node] = []
        self.outputs: list[Tensor] = []
        # Tensors made by reading saved values: while they live, no other gets their `id`.
        self.held: list[Tensor] = []

    def add_output(self, tensor: Tensor) -> None:
        """Add an output, everything behind it, and its base if it is a view."""
        key = key_of(tensor)
        if key not in self.graph.outputs:
            self.graph.outputs.append(key)
            self.outputs.append(tensor)
        known = self.graph.boxes.get(key)
        if known is not None and known.kind != "saved":
            return
        self.add_tensor(tensor, "output")
        base = tensor._base
        if base is not None:
            if key_of(base) not in self.graph.boxes:
                self.add_tensor(base, "base")
            self.link(base, tensor, "view")

    def add_tensor(self, tensor: Tensor, kind: BoxKind) -> None:
        """Add a tensor's box and everything behind it."""
        self.box_tensor(tensor, kind)
        node = tensor.grad_fn
        if node is not None:
            self.add_node(node)
            self.link(node, tensor, label=self.number(node, tensor.output_nr))

    def add_node(self, root: Node) -> None:
        """Add a node and everything behind it, each node after those it was reached from."""
        if not self.enter(root):
            return
        path = [(root, iter(root.next_functions))]
        while path:
            node, edges = path[-1]
            for target, number in edges:
                if target is None:
                    continue
                self.link(target, node, label=self.number(target, number))
                if self.enter(target):
                    path.append((target, iter(target.next_functions)))
                    break
            else:
                self.add_kept(node)
                path.pop()

    def enter(self, node: Node) -> bool:
        """Add a node's own boxes; False if they are there already."""
        key = key_of(node)
        if key in self.graph.boxes:
            return False
        self.nodes.append(node)
        # Reading packed values calls the user's functions, which is done only when asked for.
        readable = self.show_attrs or self.show_saved or type(node._saved) is tuple
        values = saved_values(node) if readable or isinstance(node._saved, FreedValues) else []
        for name, value in values if self.show_saved else ():
            parts = {name: value}
            if isinstance(value, tuple):
                parts = {f"{name}[{i}]": part for i, part in enumerate(value)}
            for label, part in parts.items():
                self.add_value(node, part, label, "saved")
        if isinstance(node, AccumulateGrad):
            self.box_tensor(node.variable, "leaf")
            self.link(node.variable, node)
        attributes = tuple(
            (name, shortened(attribute_text(value), self.longest))
            for name, value in values
            if self.show_attrs
        )
        shapes = tuple(shape_text(shape) for shape, _ in node._outputs)
        title = printable(type(node).__name__)
        details = "\n".join(node_details(node, values))
        self.graph.boxes[key] = Box("op", title, shapes, attributes, details)
        return True

    def add_kept(self, node: Node) -> None:
        """Add boxes for the tensors that a user's function keeps."""
        if isinstance(node, (OpNode, AccumulateGrad)) or not hasattr(type(node), "saved_tensors"):
            return
        with suppress(RuntimeError):  # freed, which is no reason not to draw the rest
            for tensor in node.saved_tensors or ():  # type: ignore[attr-defined]
                self.add_value(node, tensor, "", "kept")

    def add_value(self, node: Node, tensor: Any, name: str, kind: LinkKind) -> None:
        """Add the box of a saved tensor, unless it has one, and link it to its node."""
        if not isinstance(tensor, Tensor):
            return
        self.held.append(tensor)
        if key_of(tensor) not in self.graph.boxes:
            self.box_tensor(tensor, "saved", name)
        self.link(tensor, node, kind, name)

    def finished(self) -> Graph:
        """The graph, without the labels of links that repeat what their box says."""
        for position, link in enumerate(self.graph.links):
            titled = link.label == self.graph.boxes[link.source].title
            if link.kind in ("saved", "kept") and titled:
                self.graph.links[position] = link._replace(label="")
        return self.graph

    def made(self) -> dict[Any, Tensor]:
        """The outputs and the named tensors, by the nodes that made them and their outputs."""
        made = {}
        for tensor in (*self.tensors, *self.outputs):
            with suppress(RuntimeError):  # of a view whose history is lost
                made[tensor.grad_fn, tensor.output_nr] = tensor
        return made

    def with_values(self) -> Graph:
        """The graph with values and gradients, and with constants. A leaf and its accumulator
        share a box, and so do an output and its node."""
        boxes, made = self.graph.boxes, self.made()
        into = {key_of(t): key_of(t.grad_fn) for t in self.outputs if t.grad_fn is not None}
        for node, seen in known(self.nodes, made).items():
            key = key_of(node)
            if isinstance(node, AccumulateGrad):
                into[key] = key = key_of(node.variable)
            own = [self.names.get(id(t), "") for edge, t in made.items() if edge[0] is node]
            words = [f"{name}:" for name in filter(None, own or seen.names)]
            title = " ".join(filter(None, [*words, seen.symbol, boxes[key].title]))
            shapes = tuple(shape.replace("()", "") for shape in boxes[key].shapes)  # of a number
            rows = tuple(seen.rows())
            boxes[key] = boxes[key]._replace(title=title, shapes=shapes, values=rows)
            for number, (name, shape, text) in enumerate(seen.constants):
                shown_shape, row = shape_text(shape) if shape else "", (VALUE, text)
                boxes[f"{key}0{number}"] = Box("constant", name, (shown_shape,), values=(row,))
                self.graph.links.append(Link(f"{key}0{number}", key))
        return self.graph.redrawn({k: b for k, b in boxes.items() if k not in into}, into)

    def box_tensor(self, tensor: Tensor, kind: BoxKind, name: str = "") -> None:
        """Add or replace a tensor's box; a name that the user has given goes before any other."""
        title = self.names.get(id(tensor), "" if kind == "leaf" else name)
        shape = shape_text(tensor._array.shape)
        lines = [f"{WORDS.get(kind, kind)} {title}".rstrip()]
        lines += [f"{value_text(tensor)}, {tensor._array.size:,} elements"]
        if kind == "leaf":
            lines += [f"grad: {'none yet' if tensor._grad is None else value_text(tensor._grad)}"]
        self.graph.boxes[key_of(tensor)] = Box(kind, title, (shape,), (), "\n".join(lines))

    def link(self, source: Any, target: Any, kind: LinkKind = "flow", label: str = "") -> None:
        self.graph.links.append(Link(key_of(source), key_of(target), kind, label))

    def number(self, node: Node, number: int) -> str:
        """How a link says which output of a node it comes from: nothing if there is only one."""
        return str(number) if len(node._outputs) > 1 else ""


def node_details(node: Node, values: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Lines about a node."""
    yield node.name()
    several = len(node._outputs) > 1
    for number, (shape, dtype) in enumerate(node._outputs):
        yield f"output{f' {number}' if several else ''}: {dtype.name} {shape_text(shape)}"
    for name, value in values:
        yield shortened(f"saved {name}: {value_text(value)}", LONGEST_DETAIL)
    trace = vars(node).get("_metadata", {}).get(TRACE)
    if trace:  # anomaly mode was on
        yield from (printable(line.strip()) for line in trace[-1].splitlines())


# What is drawn of a graph that is too large to be read: the part nearest its outputs.


WHOLE = 600  # boxes up to which a graph is drawn whole,
WHOLE_ROW = 32  # if none of its levels has more of them than this
PART, PART_ROW = 80, 12  # of a larger one so many are drawn, in levels of at most so many


def drawable(graph: Graph) -> tuple[Graph, str]:
    """The part of a graph that can be read, and a note of what that leaves out.

    Returns:
        The graph itself and "" if it is not too large. Otherwise the boxes nearest the outputs,
        with a box of kind "cut" wherever inputs are left out, and the note.
    """
    levels = distances(graph)
    if len(graph.boxes) <= WHOLE and max(map(len, levels), default=0) <= WHOLE_ROW:
        return graph, ""
    drawn: set[str] = set()
    for level in levels:
        drawn.update(level[: max(min(PART_ROW, PART - len(drawn)), 0)])
    part = graph.redrawn({key: box for key, box in graph.boxes.items() if key in drawn}, {})
    entering = (link for link in graph.links if link.target in drawn)
    left_out = Counter(link.target for link in entering if link.source not in drawn)
    for target, count in left_out.items():
        key = f"cut {target}"
        part.boxes[key] = Box("cut", f"\N{HORIZONTAL ELLIPSIS} {counted(count, 'more input')}")
        part.links.append(Link(key, target))
    note = f"{counted(len(drawn), 'node')} of {len(graph.boxes):,} drawn, nearest the output"
    return part, f"{note}\nin all: {census(graph.boxes.values())}"


def distances(graph: Graph) -> list[list[str]]:
    """The boxes by how many links they are away from the nearest output."""
    sources: dict[str, list[str]] = {key: [] for key in graph.boxes}
    for link in graph.links:
        sources[link.target].append(link.source)
    level, levels = list(graph.outputs), []
    seen = set(level)
    while level:
        levels.append(level)
        found = (source for key in level for source in sources[key] if source not in seen)
        level = list(dict.fromkeys(found))
        seen.update(level)
    return levels


def counted(count: int, noun: str) -> str:
    """``1 node``, ``1,000 nodes``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def census(boxes: Iterable[Box], most: int = 6) -> str:
    """How many there are of each kind, the most frequent first."""
    counts = Counter(box.title if box.kind == "op" else box.kind for box in boxes)
    listed = [f"{count:,} {name}" for name, count in counts.most_common(most)]
    rest = len(counts) - len(listed)
    return ", ".join(listed + ([f"{counted(rest, 'other kind')}"] if rest else []))


# The graph as an SVG picture that a browser or notebook shows, in light and dark surroundings.
#
# The background is transparent; boxes are light with dark text, and lines of a grey that stands out
# from both black and white. Tooltips hold what the boxes leave out.


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


def svg(graph: Graph, *, keys: bool = False) -> str:
    """The text of an SVG picture of ``graph``, or of the part of it that can be read.

    Args:
        keys: whether boxes have the keys that they have in the graph, which differ from run to run.
    """
    part, note = drawable(graph)
    numbers = {key: i for i, key in enumerate(part.boxes)}
    cards = [card(box) for box in part.boxes.values()]
    links = forward(part.links, numbers)
    layout = lay_out([c.size for c in cards], list(edges(links, numbers)))
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
    if remarks:
        height_of_note = top - 2 * MARGIN
        lines.append(rect(MARGIN, MARGIN, remark_width, height_of_note, 4, "#fff6d6", "#c9a227"))
    for i, line in enumerate(remarks):
        y = MARGIN + PADDING_Y + (i + 0.75) * LINE
        lines.append(text(MARGIN + PADDING_X, y, line, "start", "#3c3a2f"))
    left = (width - layout.width) / 2
    lines.append(f'<g transform="translate({left:.1f} {top:.1f})">')
    lines.append(f'<g fill="none" stroke="{GREY}" stroke-width="1.3">')
    for link, route in zip(links, layout.routes, strict=True):
        lines.append(path(link, route, part))
    lines.append("</g>")
    for (key, box), written, place in zip(part.boxes.items(), cards, layout.places, strict=True):
        lines += drawn(key if keys else str(numbers[key]), box, written, place)
    lines += labels(links, layout)
    return "\n".join([*lines, "</g>", "</svg>"]) + "\n"


escape = partial(html.escape, quote=False)  # a text that means itself between tags


def cells(text: str) -> int:
    """How many columns of a fixed-width font a text takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def without_middle(text: str) -> str:
    """A text without its middle, if it is long."""
    if len(text) <= LONGEST:
        return text
    half = (LONGEST - 1) // 2
    return f"{text[:half]}\N{HORIZONTAL ELLIPSIS}{text[-half:]}"


def card(box: Box) -> Card:
    """What is written in a box."""
    rows = tuple(
        (without_middle(name), without_middle(value))
        for name, value in (*box.attributes, *box.values)
    )
    below = without_middle(", ".join(box.shapes))
    if len(box.shapes) > 1 and len(set(box.shapes)) == 1:
        below = f"{len(box.shapes)} \N{MULTIPLICATION SIGN} {box.shapes[0]}"
    return Card(without_middle(box.title or box.kind), below, rows)


def forward(links: Sequence[Link], keys: dict[str, int]) -> list[Link]:
    """The links so that none closes a cycle: a saved value may be what its node has computed."""
    flows = [k for k in links if k.kind not in ("saved", "kept")]
    ends = [(keys[k.source], keys[k.target]) for k in flows]
    place = {item: i for i, item in enumerate(from_above(len(keys), ends))}
    return [
        link
        if place[keys[link.source]] < place[keys[link.target]]
        else link._replace(source=link.target, target=link.source)
        for link in links
    ]


def edges(links: Sequence[Link], keys: dict[str, int]) -> Iterator[Edge]:
    """The links as the layout wants them: alike ones share their way, but not equal ones."""
    seen: Counter[Link] = Counter()
    for link in links:
        label = (cells(link.label) * CELL + 10, LABEL_HEIGHT) if link.label else None
        yield Edge(keys[link.source], keys[link.target], (link.kind, link.label, seen[link]), label)
        seen[link] += 1


def text(
    x: float, y: float, content: str, anchor: str, colour: str, size: str = "", row: str = ""
) -> str:
    """One line of text; ``y`` is that of its base line, ``row`` what of a box it tells."""
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
    """A rectangle with round corners."""
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{radius}" fill="{fill}" stroke="{outline}"{more}/>'
    )


def drawn(key: str, box: Box, written: Card, place: Place) -> Iterator[str]:
    """A box with its texts and its tooltip."""
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


def labels(links: Sequence[Link], layout: Layout) -> Iterator[str]:
    """The labels of links, over the lines."""
    for link, route in zip(links, layout.routes, strict=True):
        if route.label is None:
            continue
        x, y = route.label
        width = cells(link.label) * CELL + 10
        left, top = x - width / 2, y - LABEL_HEIGHT / 2
        yield rect(left, top, width, LABEL_HEIGHT, 8, "#ffffff", GREY, ' stroke-width="0.8"')
        yield text(x, y + 3.8, link.label, "middle", "#3d444d", "11")


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
    """A drawing of a graph. It holds texts only, no tensors.

    Attributes:
        format: what `render` writes if the file's name does not say it.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.format = "svg"

    @property
    def source(self) -> str:
        """The whole graph in Graphviz's language, DOT."""
        return "\n".join(["digraph {", *dot_lines(self.graph), "}"]) + "\n"

    @property
    def svg(self) -> str:
        """The picture; of a graph too large to be read, the part nearest the outputs."""
        return svg(self.graph)

    def _repr_svg_(self) -> str:
        return self.svg

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        boxes, links = len(self.graph.boxes), len(self.graph.links)
        return f"<GraphView of {boxes} nodes and {links} edges>"

    def save(self, path: str | PathLike[str]) -> str:
        """Write a file; returns its path.

        Args:
            path: its suffix is the format: ``.svg``, or ``.dot`` or ``.gv`` for DOT.

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
        """Write a file, whose name gets the format as suffix if it has none; returns its path.

        Args:
            directory: where to write it.
            view: open it in a browser.
            cleanup: accepted for Graphviz's sake, which leaves a file of DOT beside the picture.
            format: "svg", "dot" or "gv".

        Raises:
            ValueError: for another format.
        """
        target = Path(directory or "", filename)
        wanted = format or self.format
        if target.suffix.removeprefix(".") not in ((format,) if format else FORMATS):
            target = target.with_name(f"{target.name}.{wanted}")
        written = self.save(target)
        if view:
            import webbrowser  # slow to import, and hardly ever asked for

            webbrowser.open(target.resolve().as_uri())
        return written


def make_dot(
    var: Tensor | Iterable[Tensor], params: Any = None, show_attrs: bool = False,
    show_saved: bool = False, max_attr_chars: int = 50, values: bool = False,
) -> GraphView:  # fmt: skip
    """Draw the graph behind one or several tensors.

    Args:
        var: the outputs.
        params: names for tensors: a mapping from names to tensors, pairs of them, or a module.
            Default: the caller's variables, and the parameters of modules among them.
        show_attrs: write into each box what its node keeps for the backward pass.
        show_saved: give each tensor that is kept a box of its own.
        max_attr_chars: the longest text for one value of ``show_attrs``.
        values: write values in green, as far as they are kept, and gradients in blue: those of
            leaves, those that are retained and, after `explain`, all. Operations get their
            symbols, constants boxes; of large tensors the least, the mean and the greatest stand.

    Returns:
        The drawing, which a notebook shows and which can be saved as SVG or DOT.

    Raises:
        TypeError: if an output is no tensor, or what ``params`` names is none.
    """
    walk = Walk(named_tensors(params), show_attrs, show_saved, max_attr_chars)
    graph = collect(walk, var)
    return GraphView(walk.with_values() if values else graph)


def collect(walk: Walk, var: Tensor | Iterable[Tensor]) -> Graph:
    """The graph behind ``var``."""
    outputs = [var] if isinstance(var, Tensor) or not isinstance(var, Iterable) else list(var)
    for tensor in outputs:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected a Tensor to draw the graph of, got {type(tensor).__name__}")
        walk.add_output(tensor)
    return walk.finished()


def dot_lines(graph: Graph) -> Iterator[str]:
    """The statements of a DOT file, as torchviz has them."""
    size = max(12, 0.15 * (len(graph.boxes) + len(graph.links)))
    yield f'\tgraph [size="{size:g},{size:g}"]'
    yield f"\tnode [{NODE_STYLE}]"
    for key, box in graph.boxes.items():
        fill = f" fillcolor={FILL[box.kind]}" if box.kind in FILL else ""
        yield f"\t{key} [label={quoted(dot_label(box))}{fill}]"
    for link in graph.links:
        ends = (link.source, link.target)
        if link.kind == "saved":
            ends = (link.target, link.source)
        styles = [LINK_STYLE[link.kind]] if link.kind in LINK_STYLE else []
        if link.label:
            styles.append(f"label={quoted(link.label)}")
        yield f"\t{ends[0]} -> {ends[1]}{' [' + ' '.join(styles) + ']' if styles else ''}"


def dot_label(box: Box) -> str:
    """What torchviz writes into a box: a tensor's name and shape, a node's name and table."""
    attributes = (*box.attributes, *box.values)
    if box.kind != "op" and not box.values:
        return f"{box.title}\n {box.shapes[0]}"
    if not attributes:
        return box.title
    names = max(len(name) for name, _ in attributes)
    values = max(len(value) for _, value in attributes)
    rule = "-" * max(names + values + 2, len(box.title))
    rows = [f"{name:<{names}}: {value:>{values}}" for name, value in attributes]
    return "\n".join([box.title, rule, *rows])


def quoted(text: str) -> str:
    """A string of DOT in which nothing has a meaning of its own but the line break."""
    escaped = re.sub(r"&(?=#?\w+;)", "&amp;", text)  # Graphviz reads entities of HTML
    escaped = escaped.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
