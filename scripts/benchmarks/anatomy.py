"""Where the time of one training step of nanotorch goes.

The parts of the step are timed as they are. Then the kernels and formulas of all operations are
put behind a clock, in the namespaces from which the operations call them: what a part takes beside
them is nanotorch's own.
"""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.libraries import Parts
from benchmarks.measuring import turn
from benchmarks.problems import Step
from nanotorch._core.graph import AccumulateGrad
from nanotorch._core.op import OPS

SECONDS = 1.0
PARTS = ("zero_grad", "forward", "backward", "optimizer.step")
clock = time.perf_counter


class Meter:
    """Counts and times kernels and formulas.

    Attributes:
        part: of the step, under which what is called is booked.
        booked: calls and seconds by part, kind and name.
    """

    def __init__(self) -> None:
        self.part = ""
        self.inside = False
        self.booked: defaultdict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0, 0.0])
        empty = self.behind("nothing", "", lambda: None)
        for _ in range(1000):
            empty()
        self.cost = self.booked.pop(("", "nothing", ""))[1] / 1000

    def behind(self, kind: str, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function behind a clock; what it calls itself is booked with it."""

        def timed(*args: Any, **named: Any) -> Any:
            if self.inside:
                return function(*args, **named)
            self.inside = True
            start = clock()
            try:
                return function(*args, **named)
            finally:
                entry = self.booked[self.part, kind, name]
                entry[1] += clock() - start
                entry[0] += 1
                self.inside = False

        return timed

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Put all operations behind the clock for a while."""
        originals = []
        for name, op in OPS.items():
            wanted = {"kernel": "kernel"} | {f"grad_{n}": "formula" for n in op.formulas}
            for key, kind in wanted.items():
                originals.append((op.namespace, key, op.namespace[key]))
                label = name if kind == "kernel" else f"{name}, of {key.removeprefix('grad_')}"
                op.namespace[key] = self.behind(kind, label, op.namespace[key])
        try:
            yield
        finally:
            for namespace, key, original in originals:
                namespace[key] = original

    def total(self, part: str, kind: str, steps: int) -> tuple[float, float]:
        """Calls and microseconds per step of one kind in a part."""
        found = [e for (p, k, _), e in self.booked.items() if (p, k) == (part, kind)]
        calls, seconds = sum(e[0] for e in found), sum(e[1] for e in found)
        return calls / steps, max(seconds - calls * self.cost, 0) / steps * 1e6


def in_parts(parts: Parts, enter: Callable[[str], None]) -> Callable[[], list[float]]:
    """A step that returns the seconds of its parts; ``enter`` is told each."""
    forward, optimizer = parts.forward, parts.optimizer

    def step() -> list[float]:
        enter(PARTS[0])
        times = [clock()]
        optimizer.zero_grad()
        times.append(clock())
        enter(PARTS[1])
        times.append(clock())
        loss = forward()
        times.append(clock())
        enter(PARTS[2])
        times.append(clock())
        loss.backward()
        times.append(clock())
        enter(PARTS[3])
        times.append(clock())
        optimizer.step()
        times.append(clock())
        return [b - a for a, b in zip(times[::2], times[1::2], strict=True)]

    return step


def count_nodes(loss: Any) -> tuple[int, int]:
    """Nodes and leaves of the graph behind a loss."""
    seen = {loss.grad_fn}
    waiting = [loss.grad_fn]
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    leaves = sum(isinstance(node, AccumulateGrad) for node in seen)
    return len(seen) - leaves, leaves


def inside(meter: Meter, part: str, us: float, steps: int) -> str:
    """What a part consists of."""
    texts, rest = [], us
    for kind in ("kernel", "formula"):
        calls, spent = meter.total(part, kind, steps)
        if calls:
            texts.append(f"{calls:.0f} {kind}s {spent:.1f} µs")
            rest -= spent
    return ", ".join([*texts, f"else {max(rest, 0):.1f} µs"]) if texts else ""


def costliest(meter: Meter, steps: int, count: int = 12) -> list[str]:
    """The kernels and formulas that take most of a step."""
    booked = [
        (entry[1] - entry[0] * meter.cost, entry[0], part, kind, name)
        for (part, kind, name), entry in meter.booked.items()
    ]
    return [
        f"{calls / steps:6.0f} x {seconds / calls * 1e6:8.2f} µs = "
        f"{seconds / steps * 1e6:9.1f} µs  {part:10} {kind:8} {name}"
        for seconds, calls, part, kind, name in sorted(booked, reverse=True)[:count]
    ]


def describe(name: str, parts: Parts, by_hand: Step) -> str:
    """The report: parts, what they consist of, and the costliest kernels and formulas."""
    step = parts.step()
    for _ in range(3):
        step()
    steps = max(int(SECONDS / turn(step, 3)), 3)
    whole, hand = ([turn(f, max(steps // 10, 1)) * 1e6 for _ in range(10)] for f in (step, by_hand))
    plain = in_parts(parts, lambda part: None)
    times = zip(*(plain() for _ in range(steps)), strict=True)
    medians = [statistics.median(values) * 1e6 for values in times]
    meter = Meter()
    watched = in_parts(parts, lambda part: setattr(meter, "part", part))
    with meter.watching():
        for _ in range(steps):
            watched()
    nodes, leaves = count_nodes(parts.forward())
    text = [
        f"{name}: a step takes {statistics.median(whole):.1f} µs, by hand in NumPy "
        f"{statistics.median(hand):.1f} µs. Its graph has {nodes} nodes and {leaves} leaves.",
        "",
    ]
    for part, us in zip(PARTS, medians, strict=True):
        share = us / sum(medians)
        text.append(f"{part:15}{us:10.1f} µs {share:5.0%}  {inside(meter, part, us, steps)}")
    return "\n".join([*text, "", *costliest(meter, steps)])
