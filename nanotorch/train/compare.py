"""Comparisons: what several runs were, and what came of them."""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import numpy as np

from .commands import CommandError
from .config import named
from .load import settings_of
from .loop import LESS_IS_BETTER
from .metrics import aligned, fitted, screen
from .plots import available, comparison, no_plots, series
from .run import FINISHED, NEWEST, RECORD, find, of_a_run, read_record
from .run_directory import CheckpointError, read_metrics

# Runs side by side: what each was, what came of it, in a table.


FAVOURITES = ("validation/loss", "function/value", "test/loss", "train/loss")
"""Of the measures, which runs are ordered by if nobody says."""
NOT_COMPARED = ("log", "checkpoint")
SOURCES = (
    *("data.csv", "data.npz", "data.npy.x", "data.file", "data.generator.name"),
    *("function.name", "function.expression"),
)
"""The settings that tell what a run learned from."""
DIGITS = 4
"""Of the measures that are shown."""


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
    spread: Mapping[str, float] = field(default_factory=dict)
    """Where this is the mean of several runs, half the range of each measure."""


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


def merged(outcomes: Sequence[Outcome], settings: Sequence[str]) -> list[Outcome]:
    """Return one outcome, the mean, for all the finished runs that differ only in the seed.

    Args:
        outcomes: the runs.
        settings: those in which they differ.
    """
    alike: dict[tuple[str, ...], list[Outcome]] = {}
    for run in outcomes:
        own = tuple(run.settings.get(key, "") for key in settings if key != "seed")
        alike.setdefault(own if run.status == FINISHED else (run.name,), []).append(run)
    return [mean_of(runs) if len(runs) > 1 else runs[0] for runs in alike.values()]


def mean_of(runs: Sequence[Outcome]) -> Outcome:
    """Return the mean of several runs, with half the range of each measure."""
    names = dict.fromkeys(name for run in runs for name in run.results)
    values = {name: [run.results.get(name, math.nan) for run in runs] for name in names}
    return Outcome(
        f"{len(runs)} runs",
        FINISHED,
        {key: value for key, value in runs[0].settings.items() if key != "seed"},
        {name: float(np.mean(found)) for name, found in values.items()},
        float(np.mean([run.seconds for run in runs])),
        runs[0].steps if len({run.steps for run in runs}) == 1 else None,
        spread={name: (max(found) - min(found)) / 2 for name, found in values.items()},
    )


def rows(
    outcomes: Sequence[Outcome], settings: Sequence[str], metrics: Sequence[str], digits: int = 6
) -> list[list[str]]:
    """Return a table: a header, and a row for each run."""
    found = [["run", "status", "steps", "seconds", *settings, *metrics]]
    for run in outcomes:
        steps = "" if run.steps is None else str(run.steps)
        seconds = "" if math.isnan(run.seconds) else f"{run.seconds:.1f}"
        given = [run.settings.get(key, "") for key in settings]
        shown = [f"{run.results[m]:.{digits}g}" if m in run.results else "" for m in metrics]
        if run.spread:
            spread = [f" ± {run.spread[m]:.2g}" if m in run.spread else "" for m in metrics]
            shown = [mean + half for mean, half in zip(shown, spread, strict=True)]
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


def table(outcomes: Sequence[Outcome], settings: Sequence[str], metric: str | None) -> str:
    """Return runs as lines that fit the screen, the best first, with as many measures as fit.

    Runs that differ only in the seed are one line. Where they differ in too much for a line,
    each is a column.
    """
    runs = ranked(merged(outcomes, settings), metric)
    keys = [key for key in settings if len({run.settings.get(key, "") for run in runs}) > 1]
    metrics = chosen_metrics(runs, metric)
    brief = [replace(run, status=run.status.partition(":")[0]) for run in runs]
    columns = list(zip(*rows(brief, keys, metrics, DIGITS), strict=True))
    shown, measures = columns[: len(columns) - len(metrics)], columns[len(columns) - len(metrics) :]
    equal = [column for column in shown[1:3] if len(runs) > 1 and len({*column[1:]}) == 1]
    repeating = shown[:1] if keys and all("=" in run.name for run in runs) else []
    shown = [column for column in shown if column not in [*equal, *repeating]]
    part = f"{(metric or '').partition('/')[0]}/"
    measures = [(column[0].removeprefix(part), *column[1:]) for column in measures]
    losses = [column[1:] for column in measures if column[0] == "loss"]
    measures = [c for c in measures if c[0] != "log_loss" or c[1:] not in losses]
    if measures:  # the first one tells the part of those that follow
        measures[0] = (str(metric), *measures[0][1:])
    fitting = [*shown, *measures[:1]]
    for measure in measures[1:]:
        if breadth([*fitting, measure]) > screen():
            break
        fitting.append(measure)
    lines = list(zip(*fitting, strict=True))
    turned = breadth(fitting) > screen() >= breadth(lines)
    fitting = [*shown, *measures] if turned else lines
    words = [f"{each} steps" if head == "steps" else each for head, each, *_ in equal]
    notes = [f"all: {', '.join(words)}"] if words else []
    if len(runs) < len(outcomes):
        notes.append("a line for the runs that differ only in the seed: mean ± half the range")
    notes += [f"{run.name}: {run.status}" for run in runs if ":" in run.status]
    return "\n".join([aligned(fitting), *map(fitted, notes)])


def best(outcomes: Sequence[Outcome], metric: str | None) -> str:
    """Return which run is the best, and where it is."""
    first = ranked(outcomes, metric)[0]
    if metric not in first.results or first.directory is None or len(outcomes) < 2:
        return ""
    *_, folder, name = first.directory.absolute().parts  # of a sweep, it takes both to tell
    return f"best {metric}: {folder}/{name}\n  in {first.directory.parent.parent}"


def breadth(columns: Sequence[Sequence[str]]) -> int:
    """Return how wide a table of these columns is."""
    return sum(2 + max(map(len, column)) for column in columns) - 2


def short_names(names: Sequence[str]) -> list[str]:
    """Return what names of directories differ in."""
    parts = [Path(name).parts for name in names]
    if len(parts) < 2:
        return [part[-1] for part in parts]
    first = next(k for k, same in enumerate(zip_longest(*parts)) if len({*same}) > 1)
    for end in range(first + 1, max(map(len, parts)) + 1):
        found = ["/".join(part[first:end]) for part in parts]
        if len({*found}) == len(found):
            break
    alike = len({name.partition("_")[0] for name in found}) == 1 and "/" not in "".join(found)
    return [(alike and name.partition("_")[2]) or name for name in found]  # without the day


def task_of(outcome: Outcome) -> str:
    """Return what a run learned, and from what, such as `classification of moons`."""
    settings = outcome.settings
    found = [settings[key].strip('"') for key in SOURCES if settings.get(key, "null") != "null"]
    names = [Path(name).name if Path(name).is_absolute() else name for name in found[:1]]
    return " of ".join([settings.get("experiment", "without a configuration"), *names])


FORMATS = (".png", ".svg", ".pdf")


def run(options: argparse.Namespace) -> int:
    """Do what the options say; return the exit code."""
    if options.plot is not None:
        path = Path(options.plot)
        if path.suffix.lower() not in FORMATS:
            raise CommandError(f"--plot writes {', '.join(FORMATS)}, not {options.plot!r}")
        if not path.parent.is_dir() or path.is_dir():
            lacking = "it is a directory" if path.is_dir() else "there is no such directory"
            raise CommandError(f"--plot: cannot write {named(options.plot)}: {lacking}")
        if of_a_run(path):
            message = "is a picture of a run; choose another name"
            raise CommandError(f"--plot: {named(options.plot)} {message}")
        if not available():
            raise CommandError(no_plots())
    outcomes = [read_outcome(directory, str(directory)) for directory in found_runs(options.runs)]
    measured = {name for outcome in outcomes for name in outcome.results}
    if options.metric is not None and options.metric not in measured:
        known = ", ".join(sorted(measured))
        raise CommandError(f"no run has measured {options.metric!r}; there are {known}")
    tasks: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        tasks.setdefault(task_of(outcome), []).append(outcome)
    if options.plot is not None:  # first, since it may fail
        metric = options.metric or favourite(outcomes)
        draw(ranked(outcomes, metric), metric or "", Path(options.plot))
    print("\n\n".join(compared(name, runs, options.metric) for name, runs in tasks.items()))
    if options.plot is not None:
        print(f"\n{options.plot}")
    return 0


def compared(task: str, outcomes: Sequence[Outcome], metric: str | None) -> str:
    """Return the runs of one task side by side."""
    paths = short_names([str(outcome.directory) for outcome in outcomes])
    outcomes = [replace(run, name=name) for run, name in zip(outcomes, paths, strict=True)]
    if not any(metric in outcome.results for outcome in outcomes):
        metric = favourite(outcomes)
    count = f"{len(outcomes)} run{'s' if len(outcomes) > 1 else ''}"
    lines = [fitted(f"{task}: {count}"), table(outcomes, differing(outcomes), metric)]
    losses = sorted({o.settings.get("loss.name", "") for o in outcomes if metric in o.results})
    if metric is not None and metric.endswith("/loss") and len(losses) > 1:
        lines.append(fitted(f"{metric} is not one measure here, but {' and '.join(losses)}"))
    return "\n".join(filter(None, [*lines, best(outcomes, metric)]))


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
    try:
        comparison(curves, metric).savefig(path)
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"--plot: cannot write {named(str(path))}: {reason}") from None
