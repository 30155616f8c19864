"""Measurements in fresh processes: the cost of an import, and memory."""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measuring import Row, announce, row
from benchmarks.rivals import Rival
from benchmarks.workloads import COMPILED, NANOTORCH, NUMPY, TORCH

SCRIPTS = Path(__file__).parents[1]
IMPORTS = 5
STEPS = 50
MARKS = (1_000, 10_000)
TRAINED = ("MLP 784-256-128-10", "MLP 1024-1024-1024-10")
GROWING = "BCE 2-16-16-1"
CPU_TIME = """
import time
start = time.process_time()
{before}
import {module}
print(time.process_time() - start)
"""


@functools.cache
def bytecode() -> tempfile.TemporaryDirectory[str]:
    """The directory for bytecode, so that all packages have it, even in read-only folders.

    It is deleted when the process ends.
    """
    return tempfile.TemporaryDirectory()


def python(*arguments: str) -> Any:
    """The output of a fresh interpreter, read as JSON."""
    paths = [str(SCRIPTS), str(SCRIPTS.parent), *sys.path[1:]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    environment |= {"PYTHONPYCACHEPREFIX": bytecode().name, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def imports(names: list[str], rivals: list[Rival]) -> Row:
    """The processor's time to import each library, NumPy included, the libraries taking turns."""
    modules = {NANOTORCH: "nanotorch", NUMPY: "numpy", TORCH: "torch"}
    modules = {who: module for who, module in modules.items() if who in names}
    modules |= {rival.name: rival.module for rival in rivals}
    before = {rival.name: rival.before_import for rival in rivals}
    seconds: dict[str, list[float]] = {who: [] for who in modules}
    for turn in range(IMPORTS + 1):
        for who, module in modules.items():
            announce(f"import {module}")
            code = CPU_TIME.format(before=before.get(who, ""), module=module)
            took = python("-c", code)
            if turn:  # the first reads the files from the disk and writes bytecode
                seconds[who].append(took * 1e6)
    return row("import, CPU time", "import", "us", seconds)


def memory(who: str, name: str, marks: tuple[int, ...]) -> dict[str, float]:
    """One candidate's megabytes."""
    announce(f"memory of {who}")
    found: dict[str, float] = python("-m", "benchmarks.memory", who, name, *map(str, marks))
    return found


def memories(names: list[str]) -> list[Row]:
    """For two networks: memory after the import, at the peak, and its growth in training."""
    rows: list[Row] = []
    for name in TRAINED:
        found = {who: memory(who, name, (STEPS,)) for who in trained(names)}
        peak = {who: [f["peak"]] for who, f in found.items()}
        added = {who: [f["peak"] - f["loaded"]] for who, f in found.items()}
        loaded = {who: [f["loaded"]] for who, f in found.items()}
        if not rows:
            rows.append(row("memory once imported", "memory", "MB", loaded))
        rows.append(row(f"peak memory, {name}", "memory", "MB", peak))
        rows.append(row(f"added by training, {name}", "memory", "MB", added))
    return rows


def growth(names: list[str]) -> Row:
    """The growth of memory in a long training of the small classifier."""
    grown = {}
    for who in trained(names):
        found = memory(who, GROWING, MARKS)
        grown[who] = [found[str(MARKS[1])] - found[str(MARKS[0])]]
    name = f"growth, steps {MARKS[0]:,} to {MARKS[1]:,}"
    return row(name, "memory", "MB", grown) | {"absolute": True}


def trained(names: list[str]) -> list[str]:
    """The candidates whose memory is measured."""
    return [who for who in (NANOTORCH, COMPILED, NUMPY, TORCH) if who in names]


def run(pattern: re.Pattern[str], names: list[str], rivals: list[Rival]) -> list[Row]:
    """The rows whose names match ``pattern``."""
    rows = []
    if pattern.search("import"):
        rows.append(imports(names, rivals))
    if pattern.search("memory"):
        rows += [*memories(names), growth(names)]
    return rows
