"""See the graph: `make_dot` draws it with torchviz's conventions, `print_graph` writes it out.

    make_dot(loss, params=model)                       # in a notebook: the picture
    make_dot(loss, params=model).render("loss.svg")    # for a browser; needs no Graphviz
    print_graph(loss, params=model)                    # for a terminal

Boxes: grey, a recorded operation; blue, a leaf whose `grad` is filled in; green, an output; dark
green, the base of an output that is a view; orange, a saved tensor. Arrows go the way that values
go; gradients come back against them.
"""

import re
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.autograd.view.parts import Box, Graph, Walk, named_tensors, svg, tree

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
MOST_LINES = 1000


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
        text = self._in_format(target.suffix.removeprefix("."))
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

    def _in_format(self, name: str) -> str:
        if name == "svg":
            return self.svg
        if name in FORMATS:
            return self.source
        raise ValueError(
            f"cannot write a graph as '{name}', only as svg, dot or gv; for other formats save it "
            "as dot and convert that by Graphviz's own program"
        )


def make_dot(
    var: Tensor | Iterable[Tensor],
    params: Any = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> GraphView:
    """Draw the graph behind one or several tensors.

    Args:
        var: the outputs.
        params: names for tensors: a mapping from names to tensors, pairs of them, or a module.
        show_attrs: write into each box what its node keeps for the backward pass.
        show_saved: give each tensor that is kept a box of its own.
        max_attr_chars: the longest text for one value of ``show_attrs``.

    Returns:
        The drawing, which a notebook shows and which can be saved as SVG or DOT.

    Raises:
        TypeError: if an output is no tensor, or what ``params`` names is none.
    """
    walk = Walk(named_tensors(params), show_attrs, show_saved, max_attr_chars)
    return GraphView(collect(walk, var))


def graph_text(
    var: Tensor | Iterable[Tensor], params: Any = None, max_lines: int = MOST_LINES
) -> str:
    """The graph behind one or several tensors as a tree of text, outputs first.

    A node with one input has it on the next line, in the same column; several inputs branch off
    below it in their order. ``[1]`` marks a node that is used more than once, ``→ [1]`` its other
    uses, and also where a branch too far to the right goes on below. Accumulators are left out.

    Args:
        var: the outputs.
        params: names for tensors, as for `make_dot`.
        max_lines: stop after so many and say what is left out.

    Raises:
        TypeError: if an output is no tensor, or what ``params`` names is none.
    """
    return tree(collect(Walk(named_tensors(params)), var), max_lines)


def print_graph(var: Tensor | Iterable[Tensor], params: Any = None) -> None:
    """Print `graph_text`.

    Args:
        var: the outputs.
        params: names for tensors, as for `make_dot`.

    Raises:
        TypeError: if an output is no tensor, or what ``params`` names is none.
    """
    print(graph_text(var, params))


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
    if box.kind != "op":
        return f"{box.title}\n {box.shapes[0]}"
    if not box.attributes:
        return box.title
    names = max(len(name) for name, _ in box.attributes)
    values = max(len(value) for _, value in box.attributes)
    rule = "-" * max(names + values + 2, len(box.title))
    rows = [f"{name:<{names}}: {value:>{values}}" for name, value in box.attributes]
    return "\n".join([box.title, rule, *rows])


def quoted(text: str) -> str:
    """A string of DOT in which nothing has a meaning of its own but the line break."""
    escaped = re.sub(r"&(?=#?\w+;)", "&amp;", text)  # Graphviz reads entities of HTML
    escaped = escaped.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
