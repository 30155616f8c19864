"""What is drawn of a graph that is too large to be read: the part nearest its outputs."""

from collections import Counter
from collections.abc import Iterable

from nanotorch.autograd.view.parts import Box, Graph, Link

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
    drawn: dict[str, None] = {}
    for level in levels:
        room = min(PART_ROW, PART - len(drawn))
        drawn.update(dict.fromkeys(level[: max(room, 0)]))
    part = Graph()
    part.boxes = {key: box for key, box in graph.boxes.items() if key in drawn}
    left_out: Counter[str] = Counter()
    for link in graph.links:
        if link.target in drawn and link.source in drawn:
            part.links.append(link)
        elif link.target in drawn:
            left_out[link.target] += 1
    for target, count in left_out.items():
        key = f"cut {target}"
        part.boxes[key] = Box("cut", f"\N{HORIZONTAL ELLIPSIS} {counted(count, 'more input')}")
        part.links.append(Link(key, target))
    note = f"{counted(len(drawn), 'node')} of {len(graph.boxes):,} drawn, nearest the output"
    return part, f"{note}\nin all: {census(graph.boxes.values())}"


def distances(graph: Graph) -> list[list[str]]:
    """The boxes by how many links they are away from the nearest output."""
    arriving = graph.arriving()
    level = list(graph.outputs)
    seen = set(level)
    levels = []
    while level:
        levels.append(level)
        following: dict[str, None] = {}
        for key in level:
            following.update((k.source, None) for k in arriving[key] if k.source not in seen)
        seen.update(following)
        level = list(following)
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
