"""Measure the alternatives that the pages of `docs/design` compare.

    python scripts/bench_design.py               # all
    python scripts/bench_design.py sweeps compile

Each figure is a ratio of minima of the processor's time for candidates that take turns, with the
least and the greatest of several such ratios. Use one thread: OPENBLAS_NUM_THREADS=1.
"""

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.libraries import Parts

import nanotorch as torch
from nanotorch import nn
from nanotorch._core.engine import Sweep
from nanotorch._core.graph import FreedValues

REPEATS, ROUNDS, CALLS = 3, 100, 5
SIZES = ([2, 16, 16, 1], [64, 128, 10], [784, 256, 128, 10])


def ratios(first: Callable[[], object], second: Callable[[], object]) -> str:
    """How many times as long the first candidate takes as the second."""
    found = []
    for _ in range(REPEATS):
        best = [float("inf")] * 2
        for _ in range(ROUNDS):
            for k, candidate in enumerate((first, second)):
                start = time.process_time()
                for _ in range(CALLS):
                    candidate()
                best[k] = min(best[k], time.process_time() - start)
        found.append(best[0] / best[1])
    return f"{min(found):.2f} to {max(found):.2f}"


def problem(sizes: list[int]) -> tuple[nn.Module, Any, Callable[[], Any]]:
    """A network, its optimizer and the forward pass to its loss, for 64 samples."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for size, following in pairwise(sizes):
        layers += nn.Linear(size, following), nn.ReLU()
    model = nn.Sequential(*layers[:-1])
    x, y = torch.rand(64, sizes[0]), torch.rand(64, sizes[-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    return model, optimizer, lambda: nn.functional.mse_loss(model(x), y)


def sweeps(sizes: list[int]) -> str:
    """A forward and a backward pass, by the general sweep and by the quick one."""
    model, _, forward = problem(sizes)

    def general() -> None:
        Sweep([((forward().grad_fn, 0), np.ones((), np.float32))], FreedValues(), False).run()
        model.zero_grad()

    def quick() -> None:
        forward().backward()
        model.zero_grad()

    return f"general / quick {ratios(general, quick)}"


def versions(sizes: list[int]) -> str:
    """Other ways to notice that a saved value changes: copies of it, and checksums before use."""
    model, _, forward = problem(sizes)
    saved: list[Any] = []

    def note(tensor: Any) -> Any:
        saved.append(np.ascontiguousarray(tensor.detach().numpy()))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        forward().backward()

    def step() -> None:
        forward().backward()
        model.zero_grad()

    def copies() -> None:
        for array in saved:
            array.copy()
        step()

    def checksums() -> None:
        for array in saved * 2:  # when it is saved, and when it is used
            zlib.crc32(array)
        step()

    return f"copies {ratios(copies, step)}, checksums {ratios(checksums, step)}"


def compile(sizes: list[int]) -> str:
    """A training step, compiled and not; and the calls before the first replay."""
    _, optimizer, forward = problem(sizes)
    step = Parts(forward, optimizer).step()

    def seconds(function: Callable[[], Any], times: int) -> float:
        start = time.process_time()
        for _ in range(times):
            function()
        return time.process_time() - start

    compiled = torch.compile(step)
    first = seconds(compiled, 5)
    calls = first / (seconds(step, 200) / 200)
    return f"eager / replay {ratios(step, compiled)}; five first calls: {calls:.0f} eager ones"


def random(size: int) -> str:
    """PyTorch's numbers, and as many of NumPy's own generator."""
    own = np.random.default_rng(0)
    uniform = ratios(lambda: torch.rand(size), lambda: own.random(size, np.float32))
    normal = ratios(lambda: torch.randn(size), lambda: own.standard_normal(size, np.float32))
    order = ratios(lambda: torch.randperm(size), lambda: own.permutation(size))
    return f"rand {uniform}, randn {normal}, randperm {order}"


PAGES: dict[str, tuple[Callable[[Any], str], Sequence[Any]]] = {
    "sweeps": (sweeps, SIZES),
    "versions": (versions, SIZES),
    "compile": (compile, SIZES),
    "random": (random, (10, 1000, 100_000)),
}


def main() -> None:
    """Print the figures of the chosen pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("page", nargs="*", help=f"one or several of {', '.join(PAGES)}")
    chosen = parser.parse_args().page or [*PAGES]
    if unknown := {*chosen} - PAGES.keys():
        parser.error(f"there is no page {', '.join(sorted(unknown))}")
    for name in chosen:
        measure, cases = PAGES[name]
        print(f"{name}: {(measure.__doc__ or '').splitlines()[0]}")
        for case in cases:
            print(f"  {case}: {measure(case)}", flush=True)


if __name__ == "__main__":
    main()
