"""The graph as a tree of text for terminals."""

from collections import Counter, deque
from collections.abc import Iterator

from nanotorch.autograd.view.parts import Graph
from nanotorch.autograd.view.summary import census, counted

DEEPEST = 8  # branches inside branches before one goes on at the left margin


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
                if self.boxes[link.source].kind == "leaf":
                    self.leaves[link.target] = link.source
        self.marks: dict[str, int] = {}
        self.written: set[str] = set()
        self.postponed: deque[str] = deque()  # branches that go on at the left margin

    def lines(self, most: int) -> Iterator[str]:
        """The lines, at most so many and one about the rest."""
        for number, line in enumerate(self.all_lines()):
            if number == most:
                rest = [
                    box
                    for key, box in self.boxes.items()
                    if key not in self.written
                    and key not in self.leaves
                    and box.kind in ("op", "leaf")
                ]
                yield f"… {counted(len(rest), 'more node')}: {census(rest)}"
                return
            yield line

    def all_lines(self) -> Iterator[str]:
        for position, key in enumerate(self.graph.outputs):
            box = self.boxes[key]
            if position:
                yield ""
            if box.kind == "leaf" or not self.inputs[key]:
                yield f"{box.title or ('leaf' if box.kind == 'leaf' else 'tensor')} {box.shapes[0]}"
                continue
            ((node, number),) = self.inputs[key]
            yield from self.branch(node, number, f"{box.title}: " if box.title else "")
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
            stack += reversed(list(continued(inputs, margin)))

    def text(self, key: str, number: str, elsewhere: bool) -> str:
        """What a line says of a node, or where it is written."""
        box = self.boxes[self.leaves.get(key, key)]
        words = [box.title or box.kind, box.shapes[int(number or 0)]]
        if number:
            words.append(f"output {number} of {len(box.shapes)}")
        if elsewhere or key in self.marks or self.uses[key] > 1:
            mark = self.marks.setdefault(key, len(self.marks) + 1)
            words.append(f"→ [{mark}]" if elsewhere else f"[{mark}]")
        return " ".join(words)


def continued(inputs: list[tuple[str, str]], margin: str) -> Iterator[tuple[str, str, str, str]]:
    """The inputs of a node, with what stands before the line of each and before those below it."""
    if len(inputs) == 1:
        yield (*inputs[0], margin, margin)
        return
    for i, (key, number) in enumerate(inputs, 1):
        last = i == len(inputs)
        yield key, number, margin + ("└─ " if last else "├─ "), margin + ("   " if last else "│  ")
