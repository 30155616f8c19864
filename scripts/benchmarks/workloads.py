"""The workloads, and the candidates for each."""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks import libraries, losses, numpy_by_hand, numpy_network, problems
from benchmarks.libraries import Parts, Pass
from benchmarks.problems import Epoch, Network, Step
from benchmarks.rivals import Rival
from benchmarks.single_ops import OPERATIONS


@dataclass(frozen=True)
class Workload:
    """A computation to time.

    Attributes:
        name, group: `--only` selects by them.
        library: makes it in nanotorch or PyTorch.
        by_hand: makes it in bare NumPy.
        rival: makes it in another library, if others run it too.
        steps: the number of steps whose losses are compared.
        operations: the number of operations in a row, for a long chain.
    """

    name: str
    group: str
    library: Callable[[Any], Step | Parts]
    by_hand: Callable[[], Step]
    rival: Callable[[Rival], Step] | None = None
    steps: int = 20
    operations: int = 0


def dense(name: str, problem: Network, by_hand: Callable[[], Step], steps: int = 20) -> Workload:
    """A step of a dense network."""
    return Workload(
        name,
        "steps",
        lambda torch: libraries.network(torch, problem),
        by_hand,
        lambda rival: losses.network(rival, problem),
        steps,
    )


def network(name: str, problem: Network, steps: int = 20) -> Workload:
    """A step of a classifier of dense layers."""
    return dense(name, problem, lambda: numpy_network.classifier(problem), steps)


def chain(length: int, steps: int) -> Workload:
    """A step through ``length`` operations in a row."""
    return Workload(
        f"chain of {length:,}",
        "chains",
        lambda torch: libraries.chain(torch, length),
        lambda: numpy_by_hand.chain(length),
        lambda rival: losses.chain(rival, length),
        steps,
        length,
    )


def epoch(name: str, problem: Epoch) -> Workload:
    """An epoch through a loader."""

    def by_hand() -> Step:
        if problem.trains:
            return numpy_by_hand.training_epoch(problem)
        return Pass(numpy_by_hand.Slices(problem))

    return Workload(name, "loader", lambda torch: libraries.epoch(torch, problem), by_hand, steps=1)


WORKLOADS = [
    Workload("funcmin", "steps", libraries.funcmin, numpy_by_hand.funcmin, losses.funcmin),
    Workload(
        "rosenbrock", "steps", libraries.rosenbrock, numpy_by_hand.rosenbrock, losses.rosenbrock
    ),
    dense("linreg 32x10", problems.REGRESSION, numpy_by_hand.regression),
    dense("BCE 2-16-16-1", problems.CLASSIFIER, numpy_by_hand.classifier),
    network("MLP 64-128-10", problems.SMALL),
    network("MLP 784-256-128-10", problems.MEDIUM, 5),
    network("MLP 1024-1024-1024-10", problems.LARGE, 2),
    chain(1_000, 5),
    chain(100_000, 2),
    epoch("DataLoader epoch", Epoch()),
    epoch("DataLoader epoch, shuffled", Epoch(shuffled=True)),
    epoch("DataLoader epoch, training", Epoch(trains=True)),
    *(Workload(name, "ops", *makers, steps=1) for name, makers in OPERATIONS.items()),
]


@dataclass(frozen=True)
class Candidate:
    """One way to run a workload.

    Attributes:
        name: the name in the tables.
        make: makes the step.
        prepare: called before its turn; sets the number of threads.
        rival: whether it is left out, with a note, if it fails or computes something else.
    """

    name: str
    make: Callable[[], Step]
    prepare: Callable[[], Any] = lambda: None
    rival: bool = False


NANOTORCH, COMPILED, NUMPY, TORCH = "nanotorch", "compiled", "NumPy", "torch"


def torch_limited(threads: int) -> str:
    """The name of PyTorch with a given number of threads."""
    return f"torch, {threads} thread{'s' if threads > 1 else ''}"


class Field:
    """The installed libraries.

    Args:
        threads: the number of threads of NumPy's BLAS, and of PyTorch in addition to its default.
        rivals: other libraries.
    """

    def __init__(self, threads: int, rivals: list[Rival]) -> None:
        self.nanotorch: Any = importlib.import_module("nanotorch")
        self.compiles = callable(getattr(self.nanotorch, "compile", None))
        self.torch: Any = None
        if importlib.util.find_spec("torch") is not None:
            self.torch = importlib.import_module("torch")
            self.default = self.torch.get_num_threads()
        self.threads, self.rivals = threads, rivals

    def names(self) -> list[str]:
        """All candidates, in the order of the tables."""
        compiled = [COMPILED] if self.compiles else []
        torch = [TORCH, torch_limited(self.threads)] if self.torch else []
        return [NANOTORCH, *compiled, NUMPY, *torch, *(rival.name for rival in self.rivals)]

    def candidates(self, workload: Workload) -> list[Candidate]:
        """The candidates for a workload; NumPy first, as the others are compared with it."""
        library = workload.library
        made = [
            Candidate(NUMPY, workload.by_hand),
            Candidate(NANOTORCH, lambda: step_of(library(self.nanotorch))),
        ]
        if self.compiles and workload.group in ("steps", "chains"):
            made.append(Candidate(COMPILED, lambda: compiled_step(self.nanotorch, workload)))
        if self.torch is not None:
            numbers = {TORCH: self.default, torch_limited(self.threads): self.threads}
            made += [
                Candidate(
                    name,
                    lambda: step_of(library(self.torch)),
                    partial(self.torch.set_num_threads, number),
                )
                for name, number in numbers.items()
            ]
        if workload.rival is not None:
            made += [
                Candidate(rival.name, partial(workload.rival, rival), rival=True)
                for rival in self.rivals
                if not 0 < rival.longest < workload.operations
            ]
        return made


def step_of(made: Step | Parts) -> Step:
    """A workload's step; parts become one step."""
    return made.step() if isinstance(made, Parts) else made


def compiled_step(nanotorch: Any, workload: Workload) -> Step:
    """A workload's step, captured and replayed."""
    step: Step = nanotorch.compile(step_of(workload.library(nanotorch)))
    return step
