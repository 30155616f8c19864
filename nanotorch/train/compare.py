"""The command line of comparisons: what several runs were, and what came of them.

examples:
  PROGRAM runs/two_moons runs/bce_classification/2026-01-31_12-00-00-abcdef
  PROGRAM runs/two_moons_sweep/2026-01-31_12-00-00-abcdef --metric validation/accuracy
  PROGRAM runs/two_moons latest --plot comparison.png

A directory stands for every run in it, `latest` for the newest. Exit codes: 0 done, 2 a mistake.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nanotorch.serialization.files import naming

from .commands import CommandError, Parser, exit_code, lasting_streams
from .config import named
from .load import settings_of
from .loop import LESS_IS_BETTER
from .metrics import aligned
from .plots import NO_PLOTS, available, comparison, series
from .run import NEWEST, RECORD, find, read_record
from .run_directory import CheckpointError, read_metrics

# Runs side by side: what each was, what came of it, in a table.


FAVOURITES = ("validation/loss", "function/value", "test/loss", "train/loss")
"""Of the measures, which runs are ordered by if nobody says."""
NOT_COMPARED = ("log", "checkpoint")
MOST_SETTINGS = 8
"""With more in the table, it is wider than a screen."""


@dataclass(frozen=True)
class Outcome:
    """One run, seen from outside."""

    name: str
    status: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Its settings by their dotted names."""
    results: Mapping[str, float] = field(default_factory=dict)
    seconds: float = math.nan
    steps: int | None = None
    directory: Path | None = None


def read_outcome(directory: Path, name: str) -> Outcome:
    """Return what a run directory holds; a damaged one is an outcome, too."""
    try:
        record = read_record(directory)
    except CheckpointError as error:
        return Outcome(name, f"unreadable: {error}", directory=directory)
    found = settings_of(directory / "config.yaml").items()
    settings = {key: value for key, value in found if key.split(".")[0] not in NOT_COMPARED}
    # In a record null stands for what is not finite.
    numbers = {**record.get("results", {}), "seconds": record.get("seconds")}
    results = {k: math.nan if value is None else float(value) for k, value in numbers.items()}
    seconds, steps = results.pop("seconds"), record.get("steps")
    return Outcome(name, record["status"], settings, results, seconds, steps, directory)


def differing(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the settings in which runs differ."""
    keys = dict.fromkeys(key for outcome in outcomes for key in outcome.settings)
    return [k for k in keys if len({outcome.settings.get(k, "null") for outcome in outcomes}) > 1]


def favourite(outcomes: Sequence[Outcome]) -> str | None:
    """Return the measure that runs are ordered by if nobody says."""
    measured = {name for outcome in outcomes for name in outcome.results}
    return next((name for name in FAVOURITES if name in measured), None)


def ranked(outcomes: Sequence[Outcome], metric: str | None) -> list[Outcome]:
    """Return runs, the best first, those without a measure last."""
    if metric is None:
        return list(outcomes)
    sign = 1 if metric.rpartition("/")[2] in LESS_IS_BETTER else -1

    def key(outcome: Outcome) -> tuple[bool, float]:
        value = outcome.results.get(metric, math.nan)
        return math.isnan(value), 0.0 if math.isnan(value) else sign * value

    return sorted(outcomes, key=key)


def rows(
    outcomes: Sequence[Outcome], settings: Sequence[str], metrics: Sequence[str]
) -> list[list[str]]:
    """Return a table: a header, and a row for each run."""
    found = [["run", "status", "steps", "seconds", *settings, *metrics]]
    for run in outcomes:
        steps = "" if run.steps is None else str(run.steps)
        seconds = "" if math.isnan(run.seconds) else f"{run.seconds:.1f}"
        given = [run.settings.get(key, "") for key in settings]
        shown = [f"{run.results[name]:.6g}" if name in run.results else "" for name in metrics]
        found.append([run.name, run.status, steps, seconds, *given, *shown])
    return found


def chosen_metrics(outcomes: Sequence[Outcome], metric: str | None) -> list[str]:
    """Return the measures to show: the one that runs are ordered by, and those of its part.

    Of runs that have not measured that one, the measure that they would be ordered by comes next.
    """
    if metric is None:
        return []
    others = [favourite([outcome]) for outcome in outcomes if metric not in outcome.results]
    part = f"{metric.partition('/')[0]}/"
    same = [name for run in outcomes for name in run.results if name.startswith(part)]
    return list(dict.fromkeys([metric, *filter(None, others), *same]))


def table(outcomes: Sequence[Outcome], settings: Sequence[str], metrics: Sequence[str]) -> str:
    """Return runs as lines for people, or, where they differ in much, as columns."""
    as_lines = rows(outcomes, settings, metrics)
    as_columns = aligned(list(zip(*as_lines, strict=True)))
    text = aligned(as_lines)
    narrower = as_columns.index("\n") < text.index("\n")
    return as_columns if narrower and len(settings) > MOST_SETTINGS else text


FORMATS = (".png", ".svg", ".pdf")
MOST_SHOWN = 5
"""Measures that the table has."""


def main(arguments: Sequence[str] | None = None, program: str = "scripts/compare.py") -> int:
    """Run the command line; return the exit code."""
    text = "Show runs side by side: where they differ, and what came of them."
    parser = Parser(program, text, __doc__)
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run, or a directory of runs")
    parser.add_argument("--metric", help="what runs are ordered by, such as test/accuracy")
    parser.add_argument("--plot", metavar="FILE", help="where to draw the metric's curves")
    with lasting_streams():
        options = parser.parse_args(arguments)
        return exit_code(lambda: compare(options))


def compare(options: argparse.Namespace) -> int:
    """Do what the options say; return the exit code."""
    if options.plot is not None:
        path = Path(options.plot)
        if path.suffix.lower() not in FORMATS:
            raise CommandError(f"--plot writes {', '.join(FORMATS)}, not {options.plot!r}")
        if not path.parent.is_dir() or path.is_dir():
            lacking = "it is a directory" if path.is_dir() else "there is no such directory"
            raise CommandError(f"--plot: cannot write {named(options.plot)}: {lacking}")
        if not available():
            raise CommandError(NO_PLOTS)
    outcomes = [read_outcome(directory, str(directory)) for directory in found_runs(options.runs)]
    measured = {name for outcome in outcomes for name in outcome.results}
    if options.metric is not None and options.metric not in measured:
        known = ", ".join(sorted(measured))
        raise CommandError(f"no run has measured {options.metric!r}; there are {known}")
    metric = options.metric or favourite(outcomes)
    order = ranked(outcomes, metric)
    print(table(order, differing(order), chosen_metrics(order, metric)[:MOST_SHOWN]), flush=True)
    losses = sorted({o.settings.get("loss.name", "") for o in order if metric in o.results})
    if metric is not None and metric.endswith("/loss") and len(losses) > 1:
        print(f"\n{metric} is not one measure here, but {' and '.join(losses)}", flush=True)
    if options.plot is not None:
        draw(order, metric or "", Path(options.plot))
    return 0


def found_runs(names: Sequence[str]) -> list[Path]:
    """Return the directory of every run that is meant."""
    found: dict[Path, Path] = {}
    for name in names:
        path = Path(name)
        if name == NEWEST and not path.exists():
            path, _ = find(name)
        inner = [path] if (path / RECORD).is_file() else []
        if not inner and name and path.is_dir():
            inner = [record.parent for record in sorted(path.rglob(RECORD))]
        if not inner:
            lacking = "has no runs in it" if path.is_dir() else "there is no such run"
            raise CommandError(f"{named(name)}: {lacking}")
        for directory in inner:
            found.setdefault(directory.resolve(), directory)
    return list(found.values())


def draw(outcomes: Sequence[Outcome], metric: str, path: Path) -> None:
    """Draw the curves of a metric."""
    curves, settings = [], differing(outcomes)[:3]
    for outcome in outcomes:
        assert outcome.directory is not None  # as every run that was found has one
        steps, values = series(read_metrics(outcome.directory), metric, "step")
        own = [key for key in settings if key in outcome.settings]
        label = ", ".join(f"{key}={outcome.settings[key]}" for key in own)
        if np.isfinite(values).any():
            there = np.isfinite(values)
            curves.append((label or outcome.name, steps[there], values[there]))
    if not curves:
        raise CommandError(f"{metric} has no curve in these runs")
    with naming(path):
        comparison(curves, metric).savefig(path)
    print(f"\n{path}")
