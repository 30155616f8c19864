"""Several runs: tables that compare them, and sweeps, which vary one configuration."""

import argparse
import itertools
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nanotorch._core import arguments
from nanotorch.serialization.files import write_atomically
from nanotorch.train import commands
from nanotorch.train.commands import CommandError
from nanotorch.train.config.load import CAUSED, load_config, run_name, settings_of
from nanotorch.train.config.sections import (
    ConfigError,
    Problem,
    did_you_mean,
    name_text,
    quoted,
    raise_all,
    usage_error,
)
from nanotorch.train.data.csv_file import csv_text
from nanotorch.train.runs import ranks
from nanotorch.train.runs.plots import available, comparison, no_plots, series
from nanotorch.train.runs.run import (
    DIAGNOSIS,
    FINISHED,
    NEWEST,
    RECORD,
    RUNNING,
    belongs_to_run,
    build_experiment,
    find_run,
    how_to_resume,
    read_record,
)
from nanotorch.train.runs.run_directory import (
    CHECKPOINTS,
    STEPS,
    TABLE,
    CheckpointError,
    create_run_directory,
    locked,
    read_metrics,
    step_of,
)
from nanotorch.train.training.loop import INTERRUPTED, OUT_OF_TIME, sign_of
from nanotorch.train.training.metrics import align_rows, duration, screen, wrap_to_screen

# The comparison of runs in a table.


FAVOURITES = ("validation/loss", "function/value", "test/loss", "train/loss")
"""The metrics by which runs are sorted by default: the first that was measured."""
NOT_COMPARED = ("log", "checkpoint")
SOURCES = (
    *("data.csv", "data.npz", "data.npy.x", "data.file", "data.generator.name"),
    *("function.name", "function.expression"),
)
"""The settings that name the data or the function of a run."""
UNREADABLE = "unreadable"
DIGITS = 4
"""The number of digits of metrics on the screen."""


@dataclass(frozen=True)
class Outcome:
    """One run, as its directory shows it."""

    name: str
    status: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Its settings by dotted name."""
    results: Mapping[str, float] = field(default_factory=dict)
    seconds: float = math.nan
    steps: int | None = None
    directory: Path | None = None
    spread: Mapping[str, float] = field(default_factory=dict)
    """Half the range of each metric, if this is the mean of several runs."""

    @property
    def task(self) -> str:
        """The experiment and its data, such as `classification of moons`."""
        known = {key: value for key, value in self.settings.items() if value != "null"}
        sources = [known[key].strip('"') for key in SOURCES if key in known][:1]
        names = [Path(name).name if Path(name).is_absolute() else name for name in sources]
        return " of ".join([known.get("experiment", "without a configuration"), *names])


def read_outcome(directory: Path, name: str) -> Outcome:
    """Return the outcome in a run directory; the status of a damaged one says so."""
    found = settings_of(directory / "config.yaml").items()
    settings = {key: value for key, value in found if key.split(".")[0] not in NOT_COMPARED}
    try:
        record = read_record(directory)
    except CheckpointError as error:
        return Outcome(name, f"{UNREADABLE}: {error}", settings, directory=directory)
    if record["status"] == RUNNING:
        with suppress(CheckpointError), locked(directory) as has_locks:
            record["status"] = KILLED if has_locks else RUNNING
        kept = (directory / CHECKPOINTS).glob(STEPS)
        record["steps"] = max([0, *map(step_of, kept)])
    # A record has null for numbers that are not finite.
    numbers = {**record.get("results", {}), "seconds": record.get("seconds")}
    results = {k: math.nan if value is None else float(value) for k, value in numbers.items()}
    seconds, steps = results.pop("seconds"), record.get("steps")
    return Outcome(name, record["status"], settings, results, seconds, steps, directory)


def differing(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the settings in which runs differ."""
    keys = dict.fromkeys(key for outcome in outcomes for key in outcome.settings)
    return [k for k in keys if len({outcome.settings.get(k, "null") for outcome in outcomes}) > 1]


def default_metric(outcomes: Sequence[Outcome]) -> str | None:
    """Return the metric by which runs are sorted by default; None without any of `FAVOURITES`."""
    measured = {name for outcome in outcomes for name in outcome.results}
    return next((name for name in FAVOURITES if name in measured), None)


def rank_outcomes(outcomes: Sequence[Outcome], metric: str | None) -> list[Outcome]:
    """Return the runs sorted by `metric`: the best first, those without it last."""
    if metric is None:
        return list(outcomes)
    sign = sign_of(metric, None)

    def key(outcome: Outcome) -> tuple[bool, float]:
        value = outcome.results.get(metric, math.nan)
        return math.isnan(value), 0.0 if math.isnan(value) else sign * value

    return sorted(outcomes, key=key)


def merge_seeds(outcomes: Sequence[Outcome], settings: Sequence[str]) -> list[Outcome]:
    """Return outcomes with the mean of finished runs that differ only in the seed.

    Args:
        outcomes: the runs.
        settings: the settings in which they differ.
    """
    alike: dict[tuple[str, ...], list[Outcome]] = {}
    for run in outcomes:
        own = tuple(run.settings.get(key, "") for key in settings if key != "seed")
        alike.setdefault(own if run.status == FINISHED else (run.name,), []).append(run)
    means = []
    for runs in alike.values():
        first, names = runs[0], dict.fromkeys(name for run in runs for name in run.results)
        values = {name: [run.results.get(name, math.nan) for run in runs] for name in names}
        mean = Outcome(
            f"{len(runs)} runs",
            FINISHED,
            {key: value for key, value in first.settings.items() if key != "seed"},
            {name: float(np.mean(found)) for name, found in values.items()},
            float(np.mean([run.seconds for run in runs])),
            first.steps if len({run.steps for run in runs}) == 1 else None,
            spread={name: (max(found) - min(found)) / 2 for name, found in values.items()},
        )
        means.append(mean if len(runs) > 1 else first)
    return means


def rows(
    outcomes: Sequence[Outcome], settings: Sequence[str], metrics: Sequence[str], digits: int = 6
) -> list[list[str]]:
    """Return a table: a header and a row for each run."""
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
    """Return the metrics to show: `metric`, and those of the same part, such as `test/`.

    For runs without `metric`, their own default metrics come next after it.
    """
    if metric is None:
        return []
    others = [default_metric([outcome]) for outcome in outcomes if metric not in outcome.results]
    part = f"{metric.partition('/')[0]}/"
    same = [name for run in outcomes for name in run.results if name.startswith(part)]
    return list(dict.fromkeys([metric, *filter(None, others), *same]))


def table(outcomes: Sequence[Outcome], settings: Sequence[str], metric: str | None) -> str:
    """Return runs as lines that fit the screen, the best first, with as many metrics as fit.

    Runs that differ only in the seed share a line. If the settings in which runs differ are too
    wide for a line, each run is a column.
    """
    runs = rank_outcomes(merge_seeds(outcomes, settings), metric)
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
    if measures:  # the first name keeps the part, which holds for the others, too
        measures[0] = (str(metric), *measures[0][1:])
    fitting = [*shown, *measures[:1]]
    for measure in measures[1:]:
        if table_width([*fitting, measure]) > screen():
            break
        fitting.append(measure)
    lines = list(zip(*fitting, strict=True))
    turned = table_width(fitting) > screen() >= table_width(lines)
    fitting = [*shown, *measures] if turned else lines
    words = [f"{each} steps" if head == "steps" else each for head, each, *_ in equal if each]
    notes = [f"all: {', '.join(words)}"] if words else []
    if len(runs) < len(outcomes):
        notes.append("runs that differ only in the seed share a line: mean ± half the range")
    notes += [f"{run.name}: {run.status}" for run in runs if ":" in run.status]
    return "\n".join([align_rows(fitting), *map(wrap_to_screen, notes)])


def best(outcomes: Sequence[Outcome], metric: str | None) -> str:
    """Return the best run and its directory as text; "" if runs cannot be compared."""
    first = rank_outcomes(outcomes, metric)[0]
    if metric not in first.results or first.directory is None or len(outcomes) < 2:
        return ""
    *_, folder, name = first.directory.absolute().parts  # only both together identify a run
    return f"best {metric}: {folder}/{name}\n  in {first.directory.parent.parent}"


def table_width(columns: Sequence[Sequence[str]]) -> int:
    """Return the width of a table with these columns, in characters."""
    return sum(2 + max(map(len, column)) for column in columns) - 2


FORMATS = (".png", ".svg", ".pdf")


def compare(options: argparse.Namespace) -> int:
    """Compare the runs that the options name; return the exit code."""
    if options.plot is not None:
        path = Path(options.plot)
        if path.suffix.lower() not in FORMATS:
            raise CommandError(f"--plot writes {', '.join(FORMATS)}, not {quoted(options.plot)}")
        if belongs_to_run(path):
            taken = f"{name_text(options.plot)} is a picture of a run"
            raise CommandError(f"--plot: {taken}; choose another name")
        if not available():
            raise CommandError(no_plots())
    found: dict[Path, Path] = {}
    for name in options.runs:
        path = Path(name)
        if name == NEWEST and not path.exists():
            path, _ = find_run(name)
        inner = [path] if (path / RECORD).is_file() else []
        if not inner and name and path.is_dir():
            inner = [record.parent for record in sorted(path.rglob(RECORD))]
        if not inner:
            lacking = "contains no runs" if path.is_dir() else "there is no such run"
            lacking = "is a file; give the directory of its run" if path.is_file() else lacking
            raise CommandError(f"{name_text(name)}: {lacking}")
        for directory in inner:
            found.setdefault(directory.resolve(), directory)
    outcomes = [read_outcome(directory, str(directory)) for directory in found.values()]
    measured = {name for outcome in outcomes for name in outcome.results}
    if options.metric is not None and options.metric not in measured:
        meant = did_you_mean(options.metric, sorted(measured))
        raise CommandError(f"no run has measured {options.metric!r}{meant}")
    tasks: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        tasks.setdefault(outcome.task, []).append(outcome)
    if options.plot is not None:  # first, since it may fail
        metric = options.metric or default_metric(outcomes)
        draw(rank_outcomes(outcomes, metric), metric or "", Path(options.plot))
    print("\n\n".join(compare_task(name, runs, options.metric) for name, runs in tasks.items()))
    if options.plot is not None:
        print(f"\n{options.plot}")
    return int(any(outcome.status.startswith(UNREADABLE) for outcome in outcomes))


def compare_task(task: str, outcomes: Sequence[Outcome], metric: str | None) -> str:
    """Return the comparison of the runs of one task as text."""
    # Names are the parts in which the directories differ, without a day that all share.
    places = [outcome.directory.parts for outcome in outcomes if outcome.directory is not None]
    levels = enumerate(itertools.zip_longest(*places))
    first = next((level for level, same in levels if len({*same}) > 1), -1)
    for end in range(first + 1, max(map(len, places)) + 1):
        names = ["/".join(place[first : end or None]) for place in places]
        if len({*names}) == len(names):
            break
    days = {name.partition("_")[0] for name in names}
    if len(days) == 1 < len(names) and "/" not in "".join(names):
        names = [name.partition("_")[2] or name for name in names]
    outcomes = [replace(run, name=name) for run, name in zip(outcomes, names, strict=True)]
    if not any(metric in outcome.results for outcome in outcomes):
        metric = default_metric(outcomes)
    count = f"{len(outcomes)} run{'s' if len(outcomes) > 1 else ''}"
    lines = [wrap_to_screen(f"{task}: {count}"), table(outcomes, differing(outcomes), metric)]
    losses = sorted({o.settings.get("loss.name", "") for o in outcomes if metric in o.results})
    if metric is not None and metric.endswith("/loss") and len(losses) > 1:
        lines.append(
            wrap_to_screen(f"{metric} cannot be compared: the losses are {' and '.join(losses)}")
        )
    lines += filter(None, [best(outcomes, metric)])
    for run in [run for run in outcomes if run.status in (KILLED, INTERRUPTED, OUT_OF_TIME)][-1:]:
        assert run.directory is not None  # every run that was found has one
        again = how_to_resume(run.directory, run.settings.get("experiment", ""))
        lines.append(f"to resume {run.name}:\n  {again}")
    return "\n".join(lines)


def draw(outcomes: Sequence[Outcome], metric: str, path: Path) -> None:
    """Draw the curves of a metric in several runs into a file."""
    curves, settings = [], differing(outcomes)[:3]
    for outcome in outcomes:
        assert outcome.directory is not None  # every run that was found has one
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
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(f"--plot: cannot write {name_text(str(path))}: {reason}") from None


# The axes of a sweep: `optimizer.lr=1e-1,1e-2`, `seed=0:5`, `optimizer.lr=log(1e-4, 1e-1)`.


RANGE = re.compile(r"(-?\d{1,9}):(-?\d{1,9})(?::(\d{1,9}))?", re.ASCII)
DRAWS: Mapping[str, Callable[[np.random.Generator, float, float], str]] = {
    "log": lambda draw, a, b: f"{math.exp(draw.uniform(math.log(a), math.log(b))):.6g}",
    "uniform": lambda draw, a, b: f"{draw.uniform(a, b):.6g}",
    "integers": lambda draw, a, b: str(int(draw.integers(int(a), int(b) + 1))),
}
DRAW = re.compile(r"([A-Za-z_]+)\((?:\s*([^,()]+?)\s*,\s*([^,()]+?)\s*|.*)\)", re.ASCII)
MOST_VALUES = 10_000
MOST_DRAWS = 100
"""The number of draws per wanted run after which the search for different runs ends."""


@dataclass(frozen=True)
class Axis:
    """A setting and its possible values."""

    key: str
    draw: Callable[[np.random.Generator], str]
    """Returns a random value as text."""
    values: Sequence[str] = ()
    """The values as text; () if they are drawn between two numbers."""


def parse_axis(argument: str) -> Axis:
    """Return the axis of `key=values`.

    Commas outside of brackets and quotes separate values. `a:b` and `a:b:step` are the integers
    from a to b without b. `log(a, b)`, `uniform(a, b)` and `integers(a, b)` draw random values.
    """
    key, equals, text = argument.partition("=")
    text = text.strip()
    if not equals or not key or not text:
        raise usage_error(argument, "expected key=values, as in optimizer.lr=1e-1,1e-2 or seed=0:5")
    if call := DRAW.fullmatch(text):
        kind, first, last = call.groups()
        if kind not in DRAWS or not first:
            message = f"{quoted(kind)} is not a distribution{did_you_mean(kind, DRAWS)}"
            raise usage_error(argument, message)
        try:
            low, high = float(first), float(last)
        except ValueError:
            raise usage_error(argument, f"{kind} needs two numbers") from None
        if not (-math.inf < low < high < math.inf):
            raise usage_error(argument, f"{kind} needs the smaller number first")
        if kind == "log" and low <= 0:
            raise usage_error(argument, "log needs positive numbers")
        return Axis(key, lambda random: DRAWS[kind](random, low, high))
    if numbers := RANGE.fullmatch(text):
        first, end, step = (int(number or 1) for number in numbers.groups())
        found = range(first, end, step) if step else range(0)
        if not found or len(found) > MOST_VALUES:
            has = f"{len(found):,} values; at most {MOST_VALUES:,}" if found else "no values"
            raise usage_error(argument, f"has {has}")
        values = [str(number) for number in found]
    else:
        values = [value.strip() for value in split_values(text)]
    for value, count in Counter(values).items():
        if count > 1:
            raise usage_error(argument, f"has the value {quoted(value)} twice")
    return Axis(key, lambda random: values[int(random.integers(len(values)))], values)


def split_values(text: str) -> Iterator[str]:
    """Yield the texts between commas outside of brackets and quotes."""
    depth, quote, start = 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[]{}()":
            depth += 1 if character in "[{(" else -1
        elif character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def combinations(axes: Sequence[Axis], count: int | None, seed: int) -> list[list[str]]:
    """Return the overrides of each run: all combinations, or `count` different random ones."""
    if count is None:
        for axis in axes:
            if not axis.values:
                message = "draws random values; add --random N for the number of runs"
                raise usage_error(f"{axis.key}=...", message)
        if (total := math.prod(len(axis.values) for axis in axes)) > MOST_VALUES:
            raise usage_error("sweep", f"makes {total:,} runs; at most {MOST_VALUES:,}")
        all_values = ([f"{axis.key}={value}" for value in axis.values] for axis in axes)
        return [[*overrides] for overrides in itertools.product(*all_values)]
    random = np.random.default_rng(seed)
    found: dict[tuple[str, ...], None] = {}
    for _ in range(MOST_DRAWS * count):
        found[tuple(f"{axis.key}={axis.draw(random)}" for axis in axes)] = None
        if len(found) == count:
            return [list(overrides) for overrides in found]
    raise usage_error(f"--random {count}", f"there seem to be only {len(found)} different runs")


# The command line of sweeps: many runs of one configuration, and one table of their results.
#
# Each run is a process of its own, so that a run that fails does not affect the others.


NOT_STARTED = "not started"
KILLED = "killed"
KILLED_BY = f"{KILLED} by"
LONGEST = 90
"""The most characters of a run's name, without a number at the end."""
OWN = ("log.dir", "log.name", "log.timed", "log.progress")
"""The settings that the sweep itself makes for each run."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def sweep(options: argparse.Namespace) -> int:
    """Run the sweep that the options describe; return the exit code."""
    if arguments.WEBASSEMBLY:
        raise usage_error("sweep", arguments.NO_PROCESSES)
    pool: Any = None
    if ranks.launched() > 1:
        if (futures := sys.modules.get("mpi4py.futures")) is None:
            again = "mpiexec -n 9 python -m mpi4py.futures $(which nanotorch) sweep ..."
            raise usage_error("mpiexec", f"each process would do the whole sweep; write {again}")
        pool = futures.MPIPoolExecutor(initializer=handle_signals)
    commands.import_components(options.imports)
    commands.check_once(options.settings)
    axes = [parse_axis(argument) for argument in options.settings]
    for axis in axes:
        if axis.key in OWN:
            message = "is set by the sweep: each run gets a directory in --dir"
            raise usage_error(f"{axis.key}=...", message)
    chosen = combinations(axes, options.random, options.seed)
    check(options.config, chosen)
    name = run_name(Path(options.config).stem)
    try:
        directory = create_run_directory(Path(options.dir), f"{name}_sweep")
    except (OSError, ValueError) as error:
        message = f"cannot create a directory there: {getattr(error, 'strerror', None) or error}"
        raise usage_error(f"--dir {options.dir}", message) from None
    jobs = options.jobs if pool is None else pool.num_workers
    print(f"{len(chosen)} runs, {jobs} at a time, in {directory}", flush=True)
    runs = Runs(["--config", options.config], directory, jobs, pool)
    outcomes, interruption = runs.all(chosen)
    code = report_outcomes(outcomes, [axis.key for axis in axes], options.metric, directory)
    if interruption is None:
        return code
    if left := [outcome for outcome in outcomes if outcome.status == NOT_STARTED]:
        print(f"{len(left)} not started; to run them:")
        for outcome in left:
            print(f"  {commands.call_again()} {shlex.join(runs.arguments(outcome))}")
    print("interrupted", file=sys.stderr)
    return 128 + commands.number_of(interruption)


def check(config: str, chosen: Sequence[list[str]]) -> None:
    """Refuse a sweep if any run would end before its first step; names each mistake once.

    Args:
        config: the configuration file.
        chosen: the overrides of each run.
    """
    found: dict[Problem, list[list[str]]] = {}
    for overrides in chosen:
        try:
            build_experiment(load_config(config, overrides))
        except ConfigError as error:
            for problem in error.problems:
                if problem.message is not CAUSED:
                    found.setdefault(problem, []).append(overrides)
    told = []
    for problem, runs in found.items():
        if not problem.commanded and len(runs) < len(chosen):
            own = f"in {len(runs)} of {len(chosen)} runs, such as {' '.join(runs[0])}"
            told.append(replace(problem, message=f"{problem.message} ({own})"))
        else:
            told.append(problem)
    raise_all(told)


class Processes:
    """The processes of runs that this process has started."""

    def __init__(self) -> None:
        self.ended = False
        """Whether no more processes are started."""
        self._running = set["subprocess.Popen[bytes]"]()
        self._lock = threading.RLock()  # a signal may interrupt it

    def run(self, command: Sequence[str], log: Path, alone: bool) -> int | None:
        """Run a command; return its exit code, or None if it was not started.

        Args:
            command: the command.
            log: the file for its output.
            alone: whether no other run works at the same time; if one does, use one thread.
        """
        unset = ranks.SIZES + ranks.RANKS  # a run is a single process, even under `mpiexec`
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        with log.open("wb") as file:
            with self._lock:
                if self.ended:
                    return None
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,  # it closes when this process ends, even if killed
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    # One thread per core in each run would be slower than one thread.
                    env=kept if alone else kept | dict.fromkeys(THREADS, "1"),
                    # The sweep receives a terminal's Ctrl-C, and passes it on once.
                    process_group=0 if os.name == "posix" else None,
                    creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                )
                self._running.add(process)
            with process:
                code = process.wait()
        with self._lock:
            self._running.discard(process)
        return code

    def end(self) -> None:
        """Start no more processes, and interrupt the running ones."""
        with self._lock:
            self.ended = True
            self.interrupt()

    def interrupt(self, *_: object) -> None:
        """Let the running processes write a checkpoint and end; a second call ends them at once."""
        with self._lock:
            for process in self._running:
                if os.name == "posix" or process.stdin is None or process.stdin.closed:
                    process.terminate()
                else:  # `terminate` would kill it at once; it pauses when its input ends
                    process.stdin.close()


_here = Processes()
"""The runs that a worker process has started."""


def work(command: Sequence[str], log: Path) -> int | None:
    """Run a command in a worker process; return its exit code."""
    return _here.run(command, log, False)


def handle_signals() -> None:
    """Let Ctrl-C and SIGTERM interrupt the current run of a worker; rank 0 does the rest."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _here.interrupt)


def report_outcomes(
    outcomes: list[Outcome], keys: list[str], metric: str | None, directory: Path
) -> int:
    """Print the table, and write it to the file `TABLE`; return the exit code."""
    measured = sorted({name for outcome in outcomes for name in outcome.results})
    known = metric is None or metric in measured or not measured
    metric = metric if metric in measured else default_metric(outcomes)
    order, metrics = rank_outcomes(outcomes, metric), chosen_metrics(outcomes, metric)
    file = directory / TABLE
    write_atomically(file, csv_text(rows(order, keys, metrics)).encode())
    print(f"\n{table(outcomes, keys, metric)}")
    failed = [outcome for outcome in outcomes if outcome.status != "finished"]
    finished = len(outcomes) - len(failed)
    print(f"\n{finished} of {len(outcomes)} runs finished; the whole table:\n  {file}")
    if found := best(outcomes, metric):
        print(found)
    for outcome in failed:
        if outcome.status != NOT_STARTED:
            log = directory / f"{outcome.name}.log"
            print(f"{outcome.name} {outcome.status}: see\n  {log}")
            lines = list[str]()  # the last line of its output, or the reason why it diverged
            with suppress(OSError):
                text = log.read_text("utf-8", "replace")
                lines = [line for line in text.splitlines() if line.strip()]
            for line in ([line for line in lines if line.startswith(DIAGNOSIS)] or lines)[-1:]:
                print(wrap_to_screen(f"  {line}"))
        if outcome.status.startswith(KILLED_BY) and outcome.directory is not None:
            print(f"  to resume: {how_to_resume(outcome.directory)}")
    if not known:
        print(f"--metric: no run has measured it; known: {', '.join(measured)}", file=sys.stderr)
        return 2
    return 1 if failed else 0


def names(chosen: Sequence[list[str]]) -> Iterator[str]:
    """Yield a name for each run, made of the settings in which runs differ: `lr=0.1,seed=0`.

    A "-" replaces characters that directory names lack; a number at the end makes names unique.
    """
    columns = [column for column in zip(*chosen, strict=True) if len({*column}) > 1]
    keys = [column[0].partition("=")[0] for column in columns]
    ends = [key.rpartition(".")[2] for key in keys]
    short = [end if ends.count(end) == 1 else key for key, end in zip(keys, ends, strict=True)]
    taken: Counter[str] = Counter()
    for number in range(len(chosen)):
        said = []
        for key, column in zip(short, columns, strict=True):
            value = column[number].partition("=")[2]
            words = re.sub(r"(\bname:|[^A-Za-z0-9_.=+-])+", " ", value).strip(" .")
            said.append(f"{key}={words.replace(' ', '-')}")
        name = ",".join(said)[:LONGEST] or "run"
        folded = name.casefold()  # macOS and Windows ignore case in the names of files
        taken[folded] += 1
        yield name if taken[folded] == 1 else f"{name},{taken[folded]}"


@dataclass
class Runs:
    """Runs the processes of a sweep."""

    command: Sequence[str]
    """The part of the command that all runs share."""
    directory: Path
    jobs: int
    pool: Any = None
    """The executor of worker processes; None to start the runs in this process."""
    processes: Processes = field(default_factory=Processes)

    def all(self, chosen: Sequence[list[str]]) -> tuple[list[Outcome], KeyboardInterrupt | None]:
        """Run all; return their outcomes, and the interruption if there was one."""
        interruption = None
        with ThreadPoolExecutor(self.jobs) as pool:
            runs = zip(names(chosen), chosen, strict=True)
            futures = [pool.submit(self.one, *run) for run in runs]
            while True:
                try:
                    wait(futures)
                    return [future.result() for future in futures], interruption
                except KeyboardInterrupt as error:
                    interruption = error
                    self.processes.end()

    def arguments(self, outcome: Outcome) -> list[str]:
        """Return the arguments of the command that trains a run."""
        own = {**outcome.settings, "log.dir": self.directory, "log.name": outcome.name}
        settings = [f"{key}={value}" for key, value in own.items()]
        return [*self.command, *settings, "log.timed=false"]

    def one(self, name: str, overrides: list[str]) -> Outcome:
        """Run one; return its outcome."""
        outcome = Outcome(name, NOT_STARTED, dict(item.split("=", 1) for item in overrides))
        command = [sys.executable, "-m", "nanotorch.train", "--end-with-input"]
        command += commands.as_options(commands.imported)
        command += [*self.arguments(outcome), "log.progress=false"]
        log, code = self.directory / f"{name}.log", None
        try:
            if self.pool is None:
                code = self.processes.run(command, log, self.jobs == 1)
            elif not self.processes.ended:
                code = self.pool.submit(work, command, log).result()
            if code is None:
                return outcome
            outcome = self._outcome(outcome, code)
        except OSError as error:  # it must not end the sweep and lose other outcomes
            outcome = replace(outcome, status=f"failed: {error}")
        spent = "" if math.isnan(outcome.seconds) else f", {duration(outcome.seconds)}"
        print(f"{name}: {outcome.status}{spent}", flush=True)
        return outcome

    def _outcome(self, outcome: Outcome, code: int) -> Outcome:
        """Return the outcome of a run that has ended with the exit code `code`."""
        ended = self.processes.ended
        status = INTERRUPTED if ended else f"failed with exit code {code}"
        if code < 0 and not (ended and code == -signal.SIGTERM):
            status = f"{KILLED_BY} {commands.signal_name(-code)}"
        place = self.directory / outcome.name
        if not (place / RECORD).exists():
            return replace(outcome, status=status)
        read = replace(read_outcome(place, outcome.name), settings=outcome.settings)
        lost = read.status in (RUNNING, KILLED, FINISHED) and code != 0
        return replace(read, status=status) if lost else read
