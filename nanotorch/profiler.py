"""`torch.profiler`: the time of operations, forward and backward.

Only operations that record a node are measured, as by `SummaryWriter.trace_step`.
"""

import enum
import time
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator, ExitStack
from dataclasses import dataclass
from typing import Any

from nanotorch.names.lookup import missing_attribute, on_demand
from nanotorch.utils.tensorboard.graph import Measurements, label, measure_operations, operation

__path__: list[str] = []  # so that `torch.profiler.profiler` can be imported

ProfilerAction = enum.Enum("ProfilerAction", "NONE WARMUP RECORD RECORD_AND_SAVE", start=0)
ProfilerActivity = enum.Enum("ProfilerActivity", "CPU XPU MTIA CUDA HPU PrivateUse1", start=0)
INVALID = (
    "Invalid profiler schedule arguments. Got wait={} (need >= 0), warmup={} (need >= 0), "
    "active={} (need > 0), repeat={} (need >= 0), skip_first={} (need >= 0)."
)
COLUMNS = "Name|Self CPU %|Self CPU|CPU total %|CPU total|CPU time avg|# of Calls"


def kineto_available() -> bool:
    """Always False: Python's profiling hook measures instead."""
    return False


def supported_activities() -> set[Any]:
    """The activities that can be measured: the CPU."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Callable[[int], Any]:
    """A function from a step to a profiler's action: wait, warm up, or record.

    Args:
        wait, warmup, active: the number of steps of each action in a cycle.
        repeat: the number of cycles; 0, the default, repeats them without limit.
        skip_first: the number of steps before the first cycle. Default: 0.

    Raises:
        AssertionError: for numbers out of range.
    """
    counts = wait, warmup, active, repeat, skip_first
    assert min(*counts, active - 1) >= 0, INVALID.format(*counts)

    def action(step: int) -> Any:
        cycle, place = divmod(step - skip_first, wait + warmup + active)
        if cycle < 0 or (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


@dataclass
class Average:
    """The sum over all calls of one operation, or of one block.

    Attributes:
        key: the name: ``aten::`` and an operation's, or a node's, or a block's.
        count: the number of calls.
        cpu_time_total: microseconds in all calls.
        self_cpu_time_total: the same, without operations inside of a block.
    """

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        """Microseconds per call."""
        return self.cpu_time_total / self.count

    def add(self, nanoseconds: int, inside: int = 0) -> None:
        """Add a call of ``nanoseconds``, of which ``inside`` are those of operations in it."""
        self.count += 1
        self.cpu_time_total += nanoseconds / 1000
        self.self_cpu_time_total += (nanoseconds - inside) / 1000


def format_time(microseconds: float) -> str:
    """A time with its unit."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


class Averages(list[Average]):
    """The measurements: an `Average` for each name."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """The measurements as a table.

        Args:
            sort_by: an attribute of `Average`, largest first. Default: the order of first calls.
            row_limit: the number of rows; a negative one shows all. Default: 100.
            options: accepted for PyTorch's sake.
        """
        order = self if sort_by is None else sorted(self, key=lambda a: -getattr(a, sort_by))
        whole = sum(a.self_cpu_time_total for a in self)
        rows = [COLUMNS.split("|")]
        for a in order[: None if row_limit < 0 else row_limit]:
            row = [a.key]
            for spent in (a.self_cpu_time_total, a.cpu_time_total):
                row += f"{100 * spent / whole if whole else 0:.2f}%", format_time(spent)
            rows.append([*row, format_time(a.cpu_time), str(a.count)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        rule = "  ".join("-" * width for width in widths)
        lines = ["  ".join(t.rjust(w) for t, w in zip(r, widths, strict=True)) for r in rows]
        end = f"Self CPU time total: {format_time(whole)}"
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, end, ""])


class profile:  # noqa: N801 - PyTorch's name
    """Measures the operations of a `with` block, or of the steps that a schedule selects.

    Args:
        activities: members of `ProfilerActivity`; only the CPU is measured.
        schedule: see `schedule`. Default: all steps.
        on_trace_ready: called with this object after each recording.
        options: accepted for PyTorch's sake.

    Attributes:
        step_num: the number of calls of `step`.

    Raises:
        TypeError: for other ``activities``.
    """

    current: "profile | None" = None

    def __init__(
        self, *, activities: Iterable[Any] | None = None,
        schedule: Callable[[int], Any] | None = None,
        on_trace_ready: Callable[["profile"], Any] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        for activity in activities or ():
            if not isinstance(activity, ProfilerActivity):
                raise TypeError(f"Expected ProfilerActivity or dict, got {type(activity)}")
        self._plan, self._ready = schedule, on_trace_ready
        self.step_num = 0
        self._held: ExitStack | None = None
        self._measured: Measurements | None = None
        self._blocks: list[tuple[str, int, int]] = []

    def __enter__(self) -> "profile":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the first step."""
        self._enter_step()

    def step(self) -> None:
        """Begin the next step."""
        save = self._plan is not None and self._plan(self.step_num).name == "RECORD_AND_SAVE"
        self.step_num += 1
        if save:
            self.stop()
        self._enter_step()

    def stop(self) -> None:
        """End the recording, and call ``on_trace_ready``."""
        if self._held is not None:
            self._held.close()
            self._held = profile.current = None
            if self._ready is not None:
                self._ready(self)

    def _enter_step(self) -> None:
        records = self._plan is None or self._plan(self.step_num).name.startswith("RECORD")
        if records and self._held is None:
            self._measured, self._blocks, profile.current = Measurements(), [], self
            self._held = ExitStack()
            self._held.enter_context(measure_operations(self._measured, None))

    def _total(self) -> int:
        """The nanoseconds in operations so far."""
        done = self._measured or Measurements()
        return sum(m.nanoseconds for m in done.forward.values()) + sum(done.backward.values())

    def key_averages(self, **options: Any) -> Averages:
        """The measurements of the last recording, by name.

        Raises:
            AssertionError: before the first recording.
        """
        assert self._measured is not None, (
            "Profiler must be initialized before getting key averages"
        )
        calls = list(self._blocks)
        for node, seen in self._measured.forward.items():
            calls.append((f"aten::{label(operation(node))}", seen.nanoseconds, 0))
        calls += [(node.name(), t, 0) for node, t in self._measured.backward.items()]
        found: dict[str, Average] = {}
        for name, total, inside in calls:
            found.setdefault(name, Average(name)).add(total, inside)
        return Averages(found.values())

    def __getattr__(self, name: str) -> Any:
        raise missing_attribute(self, "profiler.profile", name)


class record_function(ContextDecorator):  # noqa: N801 - PyTorch's name
    """A `with` block, or a decorator of functions, that a profiler measures as ``name``."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> "record_function":
        current = profile.current
        self._start = current, time.perf_counter_ns(), 0 if current is None else current._total()
        return self

    def __exit__(self, *error: object) -> None:
        current, start, before = self._start
        if current is not None and current is profile.current:
            elapsed = time.perf_counter_ns() - start
            current._blocks.append((self.name, elapsed, current._total() - before))


on_demand(__name__)
