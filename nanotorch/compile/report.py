"""What a compiled function tells about itself."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """One plan in numbers.

    Attributes:
        kernels: calls of NumPy in a replay.
        traced: calls of NumPy in the step itself.
        bytes: of the memory that replays work in, for as long as the plan lives.
        fresh: bytes that every replay allocates.
        eager_bytes: of all arrays that the step itself allocates.
        guards: comparisons before a replay.
    """

    kernels: int
    traced: int
    bytes: int
    fresh: int
    eager_bytes: int
    guards: int


@dataclass(frozen=True)
class Report:
    """What became of a function.

    Attributes:
        name: of the function.
        problem: why it runs uncompiled, with file and line; None if it does not.
        plans: one for each variant of the step that was captured.
    """

    name: str
    problem: str | None
    plans: list[Figures]

    def __str__(self) -> str:
        if self.problem is not None:
            return f"{self.name}: uncompiled. {self.problem}"
        if not self.plans:
            return f"{self.name}: not captured yet"
        lines = [f"{self.name}: {len(self.plans)} captured"]
        lines += [
            f"  {p.kernels} kernels of {p.traced} traced; {p.guards} guards; memory {p.bytes:,} "
            f"bytes and {p.fresh:,} a step, uncompiled {p.eager_bytes:,} a step"
            for p in self.plans
        ]
        return "\n".join(lines)
