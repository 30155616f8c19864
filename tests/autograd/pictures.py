"""Reads an SVG picture of a graph back, and finds what is wrong with it."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Rect(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


class Picture:
    """What an SVG text shows.

    Attributes:
        boxes: of nodes, each with its texts.
        links: kind, title, and points along the line of each.
        labels: of links, each with its text.
    """

    def __init__(self, svg: str) -> None:
        self.root = ET.fromstring(svg)
        self.boxes: list[tuple[Rect, list[str]]] = []
        self.links: list[tuple[str, str, list[tuple[float, float]]]] = []
        self.labels: list[tuple[Rect, str]] = []
        self.note = [e.text for e in self.root.findall(tag("text"))]
        (canvas,) = self.root.findall(tag("g"))
        shift = [float(n) for n in NUMBER.findall(canvas.get("transform", ""))]
        size = [float(self.root.get(side, "")) for side in ("width", "height")]
        self.canvas = Rect(-shift[0], -shift[1], size[0] - shift[0], size[1] - shift[1])
        lines, *groups = canvas.findall(tag("g"))
        for group in groups:
            texts = [e.text or "" for e in group.findall(tag("text"))]
            self.boxes.append((rect(group.find(tag("rect"))), texts))
        for group in lines:
            line = group.findall(tag("path"))[0].get("d", "")
            title = group.findtext(tag("title")) or ""
            self.links.append((group.get("data-kind", ""), title, list(points(line))))
        texts = [e.text or "" for e in canvas.findall(tag("text"))]
        rects = [rect(e) for e in canvas.findall(tag("rect"))]
        self.labels = list(zip(rects, texts, strict=True))

    def problems(self) -> Iterator[str]:
        """What should not be: things over each other, outside, or links that end nowhere."""
        solid = [*((r, " ".join(t)) for r, t in self.boxes), *self.labels]
        for (a, first), (b, second) in combinations(solid, 2):
            if a.left < b.right and b.left < a.right and a.top < b.bottom and b.top < a.bottom:
                yield f"'{first}' and '{second}' overlap"
        for r, name in solid:
            c = self.canvas
            if r.left < c.left or r.right > c.right or r.top < c.top or r.bottom > c.bottom:
                yield f"'{name}' is outside"
        boxes = [r for r, _ in self.boxes]
        for _, title, line in self.links:
            for x, y in line:
                if any(
                    r.left + 1 < x < r.right - 1 and r.top + 1 < y < r.bottom - 1 for r in boxes
                ):
                    yield f"{title} goes through a box"
                    break
            x, y = line[-1]
            if not any(r.left <= x <= r.right and abs(r.top - y) < 6 for r in boxes):
                yield f"{title} ends nowhere"


def tag(name: str) -> str:
    return f"{{http://www.w3.org/2000/svg}}{name}"


def rect(element: ET.Element | None) -> Rect:
    assert element is not None
    x, y, width, height = (float(element.get(a, "")) for a in ("x", "y", "width", "height"))
    return Rect(x, y, x + width, y + height)


def points(path: str) -> Iterator[tuple[float, float]]:
    """Points along a path of straight lines down and cubic curves."""
    x = y = 0.0
    for command, rest in re.findall(r"([MVC])([^MVC]*)", path):
        numbers = [float(n) for n in NUMBER.findall(rest)]
        if command == "M":
            x, y = numbers
        elif command == "V":
            for i in range(1, 9):
                yield x, y + (numbers[0] - y) * i / 8
            y = numbers[0]
        else:
            ax, ay, bx, by, cx, cy = numbers
            for i in range(1, 17):
                t = i / 16
                u = 1 - t
                yield (
                    u**3 * x + 3 * u * u * t * ax + 3 * u * t * t * bx + t**3 * cx,
                    u**3 * y + 3 * u * u * t * ay + 3 * u * t * t * by + t**3 * cy,
                )
            x, y = cx, cy
