"""The memory of one candidate in a process of its own: `python -m benchmarks.memory`.

Prints as JSON the resident megabytes after the import of the library, after the given numbers of
steps, and at the peak.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.problems import Step
from benchmarks.workloads import COMPILED, NUMPY, TORCH, WORKLOADS, compiled_step, step_of

STATUS = Path("/proc/self/status")


def resident(peak: bool = False) -> float:
    """Resident megabytes; if the system does not say, the peak until now.

    `ru_maxrss` is the last resort: it begins with the parent process's memory.
    """
    if STATUS.exists():
        field = "VmHWM:" if peak else "VmRSS:"
        lines = STATUS.read_text("ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))
    resource = importlib.import_module("resource")
    most: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024**2 if sys.platform == "darwin" else 1024)


def main(who: str, name: str, marks: list[int]) -> dict[str, float]:
    """Train, and measure the memory after each number of steps in ``marks``."""
    (workload,) = [w for w in WORKLOADS if w.name == name]
    library: Any = None
    if who != NUMPY:
        library = importlib.import_module("torch" if who == TORCH else "nanotorch")
    if who == TORCH:
        library.set_num_threads(int(os.environ.get("OPENBLAS_NUM_THREADS", "1")))
    found = {"loaded": resident()}
    step: Step
    if who == NUMPY:
        step = workload.by_hand()
    else:
        made = compiled_step if who == COMPILED else lambda lib, w: step_of(w.library(lib))
        step = made(library, workload)
    for count in range(1, max(marks) + 1):
        step()
        if count in marks:
            found[str(count)] = resident()
    return found | {"peak": resident(peak=True)}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], [int(mark) for mark in sys.argv[3:]])))
