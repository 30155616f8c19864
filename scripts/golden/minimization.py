"""Write `tests/golden/minimization.json`: PyTorch's results when it minimizes functions.

For each function of the trainer's list, and for the expression in the shipped configuration, the
value before each step and the point after it. Run it where torch is:
`python scripts/golden/minimization.py`.
"""

import importlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

torch: Any = importlib.import_module("torch")  # not needed to check this package

TARGET = Path(__file__).parents[2] / "tests" / "golden" / "minimization.json"


def shipped(x: Any) -> Any:
    """The function of `configs/function_minimization.yaml`."""
    return x[0] ** 2 + (x[1] - 1) ** 2


def rosenbrock(x: Any) -> Any:
    """A curved valley."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def himmelblau(x: Any) -> Any:
    """Four equal minima."""
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


def sphere(x: Any) -> Any:
    """The squared distance from the origin."""
    return torch.sum(x**2)


def waves(x: Any) -> Any:
    """Every function that expressions may call."""
    return (
        torch.sin(x[0]) * torch.cos(x[1])
        + torch.exp(-x[0])
        + torch.log(x[1] + 4)
        + torch.sqrt(x[0] + 9)
        + torch.tanh(x[1])
        + torch.tan(x[0] / 9)
        + torch.abs(x[1])
        + torch.mean(x)
    )


def rastrigin(x: Any) -> Any:
    """A bowl of local minima."""
    return torch.sum(x**2 - 10 * torch.cos(2 * math.pi * x) + 10)


def ackley(x: Any) -> Any:
    """A plain with a hole."""
    root = torch.exp(-0.2 * torch.sqrt(torch.mean(x**2)))
    return -20 * root - torch.exp(torch.mean(torch.cos(2 * math.pi * x))) + 20 + math.e


def styblinski_tang(x: Any) -> Any:
    """Two minima along each coordinate."""
    return torch.sum(x**4 - 16 * x**2 + 5 * x) / 2


def ellipsoid(x: Any) -> Any:
    """A quadratic of any dimension."""
    return torch.sum((torch.arange(len(x), dtype=x.dtype) + 1) * (x - 1) ** 2)


CASES: list[tuple[Callable[[Any], Any], list[float], str, dict[str, float]]] = [
    (shipped, [1, 2], "SGD", {"lr": 1, "momentum": 0.5}),
    (shipped, [-3, 0.5], "Adam", {"lr": 0.3}),
    (rosenbrock, [-1.5, 2], "SGD", {"lr": 1e-3, "momentum": 0.9}),
    (himmelblau, [0, 0], "SGD", {"lr": 0.01}),
    (sphere, [1, -2, 3, 0.25], "SGD", {"lr": 0.1, "momentum": 0.9}),
    (waves, [0.5, -1.25], "SGD", {"lr": 0.05}),
    (rastrigin, [1.3, -0.7, 2.1], "SGD", {"lr": 2e-3, "momentum": 0.5}),
    (ackley, [2, -1.5], "Adam", {"lr": 0.1}),
    (styblinski_tang, [0.5, -3, 1], "SGD", {"lr": 0.01}),
    (ellipsoid, [3, -2, 0.5, 7], "SGD", {"lr": 0.05, "momentum": 0.5}),
    (ellipsoid, [3, -2, 0.5, 7], "LBFGS", {"lr": 0.25, "max_iter": 3}),
]


def descent(
    function: Callable[[Any], Any], start: list[float], optimizer: str, arguments: dict[str, float]
) -> dict[str, Any]:
    """Return 20 iterations."""
    x = torch.tensor([float(value) for value in start], requires_grad=True)
    opt = getattr(torch.optim, optimizer)([x], **arguments)
    lines = []

    def closure() -> Any:
        opt.zero_grad()
        y = function(x)
        y.backward()
        return y

    for _ in range(20):
        y = opt.step(closure)
        lines.append([y.item(), *x.detach().tolist()])
    return {
        "function": function.__name__,
        "start": start,
        "optimizer": {"name": optimizer, **arguments},
        "lines": lines,
    }


def main() -> None:
    """Write the file."""
    golden = {"torch": torch.__version__, "descents": [descent(*case) for case in CASES]}
    TARGET.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
