"""The targets for nanotorch's speed and memory, and whether they are reached."""

from dataclasses import dataclass, replace

from benchmarks.measuring import Row
from benchmarks.workloads import COMPILED, NANOTORCH, NUMPY, TORCH


@dataclass(frozen=True)
class Target:
    """A limit on a ratio of two candidates' figures.

    Attributes:
        row: the name of the workload.
        above, below: the candidates whose figures are divided.
        limit: the limit of the quotient.
        at_least: whether the quotient must be at least the limit; if not, at most.
    """

    row: str
    above: str
    below: str
    limit: float
    at_least: bool

    def quotient(self, rows: list[Row]) -> float | None:
        """The quotient of the medians; None if one was not measured."""
        for row in rows:
            figures = row["figures"]
            if row["name"] == self.row and self.above in figures and self.below in figures:
                return float(figures[self.above]["median"] / figures[self.below]["median"])
        return None

    def reached(self, quotient: float) -> bool:
        """Whether a quotient reaches the target."""
        return quotient >= self.limit if self.at_least else quotient <= self.limit


FASTER = {  # times than PyTorch with the same number of threads
    "funcmin": 12.0,
    "rosenbrock": 12.0,
    "linreg 32x10": 12.0,
    "BCE 2-16-16-1": 7.0,
    "MLP 64-128-10": 4.0,
    "MLP 784-256-128-10": 1.5,
    "MLP 1024-1024-1024-10": 0.9,
    "chain of 1,000": 3.0,
    "DataLoader epoch": 30.0,
    "DataLoader epoch, shuffled": 30.0,
}
COMPILED_BY_HAND = {  # times NumPy's at most
    "funcmin": 1.5,
    "rosenbrock": 1.5,
    "linreg 32x10": 1.5,
    "BCE 2-16-16-1": 1.25,
    "MLP 64-128-10": 1.15,
    "MLP 784-256-128-10": 1.1,
    "MLP 1024-1024-1024-10": 1.05,
}
MEMORY = 1.2  # times PyTorch's at most
IMPORT = 10.0  # times cheaper than PyTorch's


def targets(torch: str) -> list[Target]:
    """All targets; ``torch`` is the name of PyTorch with the same number of threads."""
    found = [Target(row, torch, NANOTORCH, limit, True) for row, limit in FASTER.items()]
    found.append(Target("import, CPU time", TORCH, NANOTORCH, IMPORT, True))
    found += [Target(r, COMPILED, NUMPY, limit, False) for r, limit in COMPILED_BY_HAND.items()]
    for what in ("peak memory", "added by training"):
        for name in ("MLP 784-256-128-10", "MLP 1024-1024-1024-10"):
            for who in (NANOTORCH, COMPILED):
                found.append(Target(f"{what}, {name}", who, TORCH, MEMORY, False))
    return found


def report(rows: list[Row], torch: str) -> tuple[str, bool]:
    """A line for each measured target, and whether all of them are reached."""
    lines, good = [], True
    for target in targets(torch):
        quotient = target.quotient(rows)
        if quotient is None:
            continue
        reached = target.reached(quotient)
        good = good and reached
        bound = f"at {'least' if target.at_least else 'most'} {target.limit:g}"
        if target.below == NANOTORCH:
            also = replace(target, below=COMPILED).quotient(rows)
            bound += "" if also is None else f"; / {COMPILED} = {also:.2f}"
        lines.append(
            f"{'reached' if reached else 'MISSED':8} {target.row:42} "
            f"{target.above} / {target.below} = {quotient:.2f}, {bound}"
        )
    return "\n".join(lines), good
