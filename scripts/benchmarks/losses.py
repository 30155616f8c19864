"""The losses that rivals differentiate, in a rival's own functions, with parameters and data."""

from typing import Any

import numpy as np

from benchmarks.problems import FUNCTION_LR, LR, START, Network, Step, factors
from benchmarks.rivals import Rival


def funcmin(rival: Rival) -> Step:
    """f(x) = x0² + (x1 - 1)²."""

    def loss(_: Rival, p: Any) -> Any:
        return p[0][0] ** 2 + (p[0][1] - 1) ** 2

    return rival.step(loss, [np.array(START, np.float32)], [], FUNCTION_LR)


def rosenbrock(rival: Rival) -> Step:
    """f(x) = (1 - x0)² + 100 (x1 - x0²)²."""

    def loss(_: Rival, p: Any) -> Any:
        x = p[0]
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    return rival.step(loss, [np.array(START, np.float32)], [], FUNCTION_LR)


def network(rival: Rival, problem: Network) -> Step:
    """A dense network; weights have shape (in, out), classes are one-hot."""

    def loss(rival: Rival, p: Any, x: Any, y: Any) -> Any:
        for i in range(0, len(p) - 2, 2):
            x = getattr(rival, problem.activation)(rival.linear(x, p[i], p[i + 1]))
        return getattr(rival, problem.loss)(rival.linear(x, p[-2], p[-1]), y)

    x, y = problem.batch()
    if problem.loss == "cross_entropy":
        y = np.eye(problem.widths[-1], dtype=np.float32)[y]
    parameters = [np.ascontiguousarray(array.T) for array in problem.parameters()]
    return rival.step(loss, parameters, [x, y], LR)


def chain(rival: Rival, length: int) -> Step:
    """Multiply by the same array again and again, and sum up."""

    def loss(rival: Rival, p: Any, y: Any) -> Any:
        h = p[0]
        for _ in range(length):
            h = h * y
        return rival.sum(h)

    start, factor = factors()
    return rival.step(loss, [start], [factor], LR)
