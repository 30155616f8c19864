"""The graph as a tree of text for terminals: `print_graph`."""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.autograd.graph_view import Box, Graph, Walk, census, collect, counted, named_tensors

MOST_LINES = 1000
DEEPEST = 14  # levels before a branch goes on at the left margin


def tree(graph: Graph, max_lines: int) -> str:
    """The tree of a graph, from its outputs to its leaves.

    Args:
        max_lines: stop after so many and say what is left out.
    """
    return "\n".join(Tree(graph).lines(max_lines))


class Tree:
    """Writes the nodes of a graph, each with its inputs once."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.boxes = graph, graph.boxes
        self.leaves: dict[str, str] = {}  # by their accumulators, which are not written
        self.inputs: dict[str, list[tuple[str, str]]] = {key: [] for key in graph.boxes}
        self.uses: Counter[str] = Counter()
        for link in graph.links:
            if link.kind == "flow":
                self.inputs[link.target].append((link.source, link.label))
                self.uses[link.source] += 1
                if self.boxes[link.target].title == "AccumulateGrad":
                    self.leaves[link.target] = link.source
        self.marks: dict[str, int] = {}
        self.written: set[str] = set()
        self.postponed: deque[str] = deque()  # branches that go on at the left margin

    def lines(self, most: int) -> Iterator[str]:
        """The lines, at most so many and one about the rest."""
        for number, line in enumerate(self.all_lines()):
            if number == most:
                known = self.written | self.leaves.keys()
                others = [box for key, box in self.boxes.items() if key not in known]
                rest = [box for box in others if box.kind in ("op", "leaf")]
                yield f"… {counted(len(rest), 'more node')}: {census(rest)}"
                return
            yield line

    def all_lines(self) -> Iterator[str]:
        for position, key in enumerate(self.graph.outputs):
            box = self.boxes[key]
            if position:
                yield ""
            node, number, before = key, "", ""
            if box.kind == "leaf" or not self.inputs[key]:
                name = box.title or ("leaf" if box.kind == "leaf" else "tensor")
                yield f"{name} {box.shapes[0]}{values_text(box)}"
                continue
            if box.kind != "op":
                ((node, number),) = self.inputs[key]
                before = f"{box.title}: " if box.title else ""
            yield from self.branch(node, number, before)
            while self.postponed:
                node = self.postponed.popleft()
                if node not in self.written:
                    yield ""
                    yield from self.branch(node, "", "")

    def branch(self, root: str, number: str, before: str) -> Iterator[str]:
        """A node and everything behind it that is not written yet."""
        stack = [(root, number, before, "")]
        while stack:
            key, number, first, margin = stack.pop()
            inputs = [] if key in self.leaves else self.inputs[key]
            again = key in self.written
            far = bool(inputs) and len(margin) >= 3 * DEEPEST
            yield first + self.text(key, number, elsewhere=again or far)
            if again:
                continue
            if far:
                self.postponed.append(key)
                continue
            self.written.update((key, self.leaves.get(key, key)))
            for position, (key, number) in reversed(list(enumerate(inputs, 1))):
                first, below = ("└─ ", "   ") if position == len(inputs) else ("├─ ", "│  ")
                stack.append((key, number, margin + first, margin + below))

    def text(self, key: str, number: str, elsewhere: bool) -> str:
        """What a line says of a node, or where it is written."""
        box = self.boxes[self.leaves.get(key, key)]
        shape = box.shapes[int(number or 0)] + values_text(box)
        words = [box.title or box.kind, *([shape.strip()] if shape else [])]
        if number:
            words.append(f"output {number} of {len(box.shapes)}")
        if elsewhere or key in self.marks or self.uses[key] > 1:
            mark = self.marks.setdefault(key, len(self.marks) + 1)
            words.append(f"→ [{mark}]" if elsewhere else f"[{mark}]")
        return " ".join(words)


def values_text(box: Box) -> str:
    """The values and gradients that a line ends with."""
    return "".join(f", {name} {value}" for name, value in box.values).replace(", value ", " = ", 1)


def graph_text(
    var: Tensor | Iterable[Tensor], params: Any = None, max_lines: int = MOST_LINES,
    values: bool = False,
) -> str:  # fmt: skip
    """The graph behind one or several tensors as a tree of text, outputs first.

    The inputs of a node branch off below it in their order. ``[1]`` marks a node that is used more
    than once, ``→ [1]`` its other uses, and also where a branch too far to the right goes on below.
    Accumulators are left out.

    Args:
        var: the outputs.
        params: names for tensors, as for `make_dot`.
        max_lines: stop after so many and say what is left out.
        values: write values and gradients, as `make_dot` does.

    Raises:
        TypeError: if an output is no tensor, or what ``params`` names is none.
    """
    walk = Walk(named_tensors(params))
    graph = collect(walk, var)
    return tree(walk.with_values() if values else graph, max_lines)


def print_graph(var: Tensor | Iterable[Tensor], params: Any = None, values: bool = False) -> None:
    """Print `graph_text`.

    Args:
        var: the outputs.
        params: names for tensors, as for `make_dot`.
        values: write values and gradients, as `make_dot` does.

    Raises:
        TypeError: if an output is no tensor, or what ``params`` names is none.
    """
    print(graph_text(var, params, values=values))
