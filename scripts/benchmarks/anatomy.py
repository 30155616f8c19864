"""The division of the time of one training step of nanotorch.

The parts of the step are timed as they are. Then the kernels and formulas of all operations are
wrapped in a clock, in the namespaces from which the operations call them. The rest of a part's time
is nanotorch's own.
"""

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.libraries import Parts
from benchmarks.measuring import turn
from benchmarks.problems import Step
from nanotorch._core.graph import AccumulateGrad
from nanotorch._core.op import OPS

SECONDS = 1.0  # of each kind of run
BLOCKS = 10
COSTLIEST = 12  # kernels and formulas in the list
PARTS = ("zero_grad", "forward", "backward", "optimizer.step")
clock = time.perf_counter


class Meter:
    """Counts and times kernels and formulas.

    Attributes:
        part: the part of the step to which calls are booked.
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
        """A function with a clock around it; the time of its own calls is included."""

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
        """A block in which all operations have a clock around them."""
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


def in_parts(parts: Parts, enter: Callable[[str], None]) -> Callable[[], list[float]]:
    """A step that returns the seconds of its parts; it calls ``enter`` with the name of each."""
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
    """The numbers of nodes and leaves in the graph of a loss."""
    seen = {loss.grad_fn}
    waiting = [loss.grad_fn]
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                waiting.append(node)
    leaves = sum(isinstance(node, AccumulateGrad) for node in seen)
    return len(seen) - leaves, leaves


@dataclass(frozen=True)
class Item:
    """The cost of one kernel or formula in a part of a step.

    Attributes:
        calls, us: per step.
    """

    part: str
    kind: str
    name: str
    calls: float
    us: float


def items(meters: list[Meter], steps: int) -> list[Item]:
    """The booked costs, the largest first; times are the median of several meters."""
    found = []
    for key, (calls, _) in meters[0].booked.items():
        times = [(m.booked[key][1] - calls * m.cost) / steps * 1e6 for m in meters]
        found.append(Item(*key, calls / steps, max(statistics.median(times), 0.0)))
    return sorted(found, key=lambda item: -item.us)


def inside(booked: list[Item], us: float) -> str:
    """The components of a part that takes ``us`` microseconds, as text."""
    texts, rest = [], us
    for kind in ("kernel", "formula"):
        chosen = [item for item in booked if item.kind == kind]
        if chosen:
            spent = sum(item.us for item in chosen)
            texts.append(f"{sum(item.calls for item in chosen):.0f} {kind}s {spent:.1f} µs")
            rest -= spent
    return ", ".join([*texts, f"else {max(rest, 0):.1f} µs"]) if texts else ""


def describe(name: str, parts: Parts, by_hand: Step) -> str:
    """The report: parts, their components, and the costliest kernels and formulas.

    All measurements take turns, so that they are consistent on a busy machine.
    """
    step = parts.step()
    for _ in range(3):
        step()
    steps = max(int(SECONDS / BLOCKS / turn(step, 3)), 3)
    whole, hand, times, meters = [], [], [], []
    plain = in_parts(parts, lambda part: None)
    for _ in range(BLOCKS):
        whole.append(turn(step, steps))
        hand.append(turn(by_hand, steps))
        times += [plain() for _ in range(steps)]
        meter = Meter()
        watched = in_parts(parts, partial(setattr, meter, "part"))
        with meter.watching():
            for _ in range(steps):
                watched()
        meters.append(meter)
    medians = [statistics.median(values) * 1e6 for values in zip(*times, strict=True)]
    booked = items(meters, steps)
    nodes, leaves = count_nodes(parts.forward())
    text = [
        f"{name}: a step takes {statistics.median(whole) * 1e6:.1f} µs, by hand in NumPy "
        f"{statistics.median(hand) * 1e6:.1f} µs. Its graph has {nodes} nodes and {leaves} leaves.",
        "",
    ]
    for part, us in zip(PARTS, medians, strict=True):
        of_it = inside([item for item in booked if item.part == part], us)
        text.append(f"{part:15}{us:10.1f} µs {us / sum(medians):5.0%}  {of_it}".rstrip())
    text.append("")
    for item in booked[:COSTLIEST]:
        per_call = f"{item.calls:6.0f} x {item.us / item.calls:8.2f} µs = {item.us:9.1f} µs"
        text.append(f"{per_call}  {item.part:10} {item.kind:8} {item.name}")
    return "\n".join(text)
