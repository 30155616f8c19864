"""Losses compared, then times taken, all candidates of a workload taking turns."""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.problems import Array, Step
from benchmarks.workloads import Candidate, Workload

Row = dict[str, Any]
ROUNDS = (2, 15)  # at least and at most
SECONDS_PER_TURN = 0.02
SECONDS_PER_WORKLOAD = 8.0


@dataclass
class Ready:
    """A candidate whose losses agree, ready to be timed.

    Attributes:
        seconds: the approximate time of a call.
        calls: the number of calls in a turn.
    """

    candidate: Candidate
    step: Step
    seconds: float
    calls: int = 1


def value(result: Any) -> Array:
    """A loss or result of any library as an array."""
    if hasattr(result, "detach"):
        result = result.detach()
    if hasattr(result, "numpy"):
        return np.asarray(result.numpy())
    data = getattr(result, "data", None)  # an array in MyGrad and DeZero
    return np.asarray(data if isinstance(data, np.ndarray) else result)


def losses(step: Step, steps: int) -> tuple[list[Array], float]:
    """The results of ``steps`` steps, and the seconds of the last; `check` is used if it exists."""
    call = getattr(step, "check", step)
    found = []
    for _ in range(steps):
        start = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - start
        found.append(np.array(value(result)))
    return found, seconds


def ready(workload: Workload, candidates: list[Candidate]) -> tuple[list[Ready], list[str]]:
    """Run some steps of each candidate, and compare the losses with those of the first.

    Returns:
        The candidates that agree, and a note for each rival that fails or differs.

    Raises:
        SystemExit: if nanotorch or PyTorch fails or differs.
    """
    made: list[Ready] = []
    notes: list[str] = []
    reference: list[Array] = []
    for candidate in candidates:
        candidate.prepare()
        try:
            step = candidate.make()
            found, seconds = losses(step, workload.steps)
        except Exception as error:
            if not candidate.rival:
                raise
            notes.append(f"{workload.name}: {candidate.name} fails: {str(error)[:80]!r}")
            continue
        reference = reference or found
        if agree(found, reference):
            made.append(Ready(candidate, step, seconds))
            continue
        note = f"{workload.name}: {candidate.name} computes {found[-1]}, NumPy {reference[-1]}"
        if not candidate.rival:
            sys.exit(note)
        notes.append(note)
    return made, notes


def agree(found: list[Array], reference: list[Array]) -> bool:
    """Whether losses are equal up to the rounding of float32."""
    return all(
        a.shape == b.shape and np.isfinite(a).all() and np.allclose(a, b, rtol=1e-5, atol=1e-6)
        for a, b in zip(found, reference, strict=True)
    )


def turn(step: Step, calls: int) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(calls):
        step()
    return (time.perf_counter() - start) / calls


def count_calls(entry: Ready) -> None:
    """Find the number of calls in a turn."""
    if entry.seconds < 1:  # a longer time is known well enough from the comparison of losses
        entry.seconds = turn(entry.step, 1)
    while entry.seconds * entry.calls < SECONDS_PER_TURN / 2:
        entry.calls = max(int(SECONDS_PER_TURN / 2 / entry.seconds), entry.calls * 2)
        entry.seconds = turn(entry.step, entry.calls)
    entry.calls = max(round(SECONDS_PER_TURN / entry.seconds), 1)


def take_times(entries: list[Ready]) -> dict[str, list[float]]:
    """Microseconds per call, one figure a round, the candidates taking turns."""
    for entry in entries:
        entry.candidate.prepare()
        count_calls(entry)
    seconds = sum(entry.seconds * entry.calls for entry in entries)
    rounds = min(max(int(SECONDS_PER_WORKLOAD / seconds), ROUNDS[0]), ROUNDS[1])
    figures: dict[str, list[float]] = {entry.candidate.name: [] for entry in entries}
    gc.collect()
    gc.freeze()  # so that the collector does not scan the objects of the other libraries
    for _ in range(rounds):
        for entry in entries:
            entry.candidate.prepare()
            figures[entry.candidate.name].append(turn(entry.step, entry.calls) * 1e6)
    gc.unfreeze()
    return figures


def row(name: str, group: str, unit: str, figures: dict[str, list[float]]) -> Row:
    """The report of a workload: for each candidate the median and the minimum."""
    summary = {
        who: {"median": statistics.median(values), "min": min(values), "rounds": len(values)}
        for who, values in figures.items()
    }
    return {"name": name, "group": group, "unit": unit, "figures": summary, "notes": []}


def measure(workload: Workload, candidates: list[Candidate]) -> Row:
    """Time one workload."""
    entries, notes = ready(workload, candidates)
    return row(workload.name, workload.group, "us", take_times(entries)) | {"notes": notes}


def announce(text: str) -> None:
    """Print the current measurement to the error stream."""
    print(f"\r{text:40}\r", end="", file=sys.stderr, flush=True)


def run(workloads: list[Workload], candidates: Callable[[Workload], list[Candidate]]) -> list[Row]:
    """Measure every workload."""
    rows = []
    for workload in workloads:
        announce(workload.name)
        rows.append(measure(workload, candidates(workload)))
    return rows
