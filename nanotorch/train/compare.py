"""The command line of comparisons: what several runs were, and what came of them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nanotorch.serialization.files import naming

from .checkpoint import CheckpointError
from .options import Parser
from .outcomes import (
    Outcome,
    chosen_metrics,
    differing,
    favourite,
    ranked,
    read_outcome,
    table,
)
from .plots import NO_PLOTS, available
from .plots_comparison import comparison
from .problems import named
from .record import NAME as RECORD
from .resume import NEWEST, find
from .run_directory import read_metrics
from .streams import patient_streams

EXAMPLES = """\
examples:
  PROGRAM runs/two_moons runs/bce_classification/2026-01-31_12-00-00-abcdef
  PROGRAM runs/two_moons_sweep/2026-01-31_12-00-00-abcdef --metric validation/accuracy
  PROGRAM runs/two_moons latest --plot comparison.png

A directory stands for every run in it, `latest` for the newest. Exit codes: 0 done, 2 a mistake.
"""
FORMATS = (".png", ".svg", ".pdf")
MOST_SHOWN = 5
"""Measures that the table has."""


def parser(program: str) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = Parser(
        program, "Show runs side by side: where they differ, and what came of them.", EXAMPLES
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run, or a directory of runs")
    parser.add_argument("--metric", help="what runs are ordered by, such as test/accuracy")
    parser.add_argument("--plot", metavar="FILE", help="where to draw the metric's curves")
    return parser


def main(arguments: Sequence[str] | None = None, program: str = "scripts/compare.py") -> int:
    """Run the command line; return the exit code."""
    command = list(sys.argv[1:] if arguments is None else arguments)
    with patient_streams():
        options = parser(program).parse_args(command)
        try:
            return compare(options)
        except OSError as error:
            print(f"error: {named(str(error))}", file=sys.stderr)
            return 2


def compare(options: argparse.Namespace) -> int:
    """Do what the options say; return the exit code."""
    if options.plot is not None and Path(options.plot).suffix.lower() not in FORMATS:
        print(f"error: --plot writes {', '.join(FORMATS)}, not {options.plot!r}", file=sys.stderr)
        return 2
    directories = found_runs(options.runs)
    if isinstance(directories, str):
        print(f"error: {directories}", file=sys.stderr)
        return 2
    outcomes = [read_outcome(directory, str(directory)) for directory in directories]
    measured = {name for outcome in outcomes for name in outcome.results}
    if options.metric is not None and options.metric not in measured:
        known = ", ".join(sorted(measured))
        print(f"error: no run has measured {options.metric!r}; there are {known}", file=sys.stderr)
        return 2
    metric = options.metric or favourite(outcomes)
    order = ranked(outcomes, metric)
    print(table(order, differing(order), chosen_metrics(order, metric)[:MOST_SHOWN]), flush=True)
    losses = sorted({o.settings.get("loss.name", "") for o in order if metric in o.results})
    if metric is not None and metric.endswith("/loss") and len(losses) > 1:
        print(f"\n{metric} is not one measure here, but {' and '.join(losses)}", flush=True)
    if options.plot is None:
        return 0
    if not available():
        print(f"error: {NO_PLOTS}", file=sys.stderr)
        return 2
    return draw(order, metric or "", Path(options.plot))


def found_runs(names: Sequence[str]) -> list[Path] | str:
    """Return every run that is meant, or what is wrong."""
    found: dict[Path, Path] = {}
    for name in names:
        path = Path(name)
        if name == NEWEST and not path.exists():
            try:
                path, _ = find(name)
            except CheckpointError as error:
                return str(error)
        inner = [path] if (path / RECORD).is_file() else sorted(path.rglob(RECORD))
        if not name or not inner:
            return (
                f"{named(name)}: {'has no runs in it' if path.is_dir() else 'there is no such run'}"
            )
        for one in inner:
            directory = one if one == path else one.parent
            found.setdefault(directory.resolve(), directory)
    return list(found.values())


def draw(outcomes: Sequence[Outcome], metric: str, path: Path) -> int:
    """Draw the curves of a metric."""
    curves = []
    settings = differing(outcomes)
    for outcome in outcomes:
        assert outcome.directory is not None  # as every run that was found has one
        points = [
            (record["step"], record[metric])
            for record in read_metrics(outcome.directory)
            if record.get(metric) is not None
        ]
        own = [key for key in settings[:3] if key in outcome.settings]
        label = ", ".join(f"{key}={outcome.settings[key]}" for key in own)
        if points:
            steps, values = np.array(points, dtype=np.float64).T
            curves.append((label or outcome.name, steps, values))
    if not curves:
        print(f"error: {metric} has no curve in these runs", file=sys.stderr)
        return 2
    with naming(path):
        comparison(curves, metric).savefig(path)
    print(f"\n{path}")
    return 0
