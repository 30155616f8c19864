"""Time operations and training steps of nanotorch beside NumPy by hand, and torch if installed.

    python scripts/bench.py                 # everything, as a table of microseconds and ratios
    python scripts/bench.py --only steps    # training steps only
    python scripts/bench.py --json out.json

All candidates of a workload run interleaved in one process, so that a machine whose speed drifts
slows them alike: read the ratios, not the microseconds. Before anything is timed, the losses (or
values) of all candidates are compared, so that nobody wins by computing something else.
"""

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

# One thread for everybody: set before NumPy or torch load their libraries.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402 - after the thread limits

Step = Callable[[], Any]
ROUNDS = 15
SECONDS_PER_ROUND = 0.02


# Training steps: zero_grad, forward, loss, backward, SGD with momentum; all float32. `torch` is
# either library. Each maker returns a function that makes one step and returns the loss.


def data(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and a target that is 0 or 1."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(rows, columns)).astype(np.float32)
    return features, (features.sum(1, keepdims=True) > 0).astype(np.float32)


def weights(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    """The same starting weights for every candidate."""
    generator = np.random.default_rng(1)
    return [(generator.normal(size=s) * 0.5).astype(np.float32) for s in shapes]


def minimization(torch: Any) -> Step:
    """f(x) = x0^2 + (x1 - 1)^2."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.01, momentum=0.5)

    def step() -> Any:
        optimizer.zero_grad()
        loss = x[0] ** 2 + (x[1] - 1) ** 2
        loss.backward()
        optimizer.step()
        return loss

    return step


def minimization_numpy() -> Step:
    x, v = np.array([1.0, 2.0], np.float32), np.zeros(2, np.float32)
    target, g = np.array([0.0, 1.0], np.float32), np.empty(2, np.float32)
    half, two, lr = np.float32(0.5), np.float32(2), np.float32(0.01)

    def step() -> Any:
        np.subtract(x, target, out=g)
        loss = np.dot(g, g)
        np.multiply(g, two, out=g)
        np.multiply(v, half, out=v)
        np.add(v, g, out=v)
        np.multiply(v, lr, out=g)
        np.subtract(x, g, out=x)
        return loss

    return step


def fill(torch: Any, model: Any, values: list[np.ndarray]) -> None:
    """Give the model the common starting weights."""
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), values, strict=True):
            parameter.copy_(torch.tensor(value))


def regression(torch: Any) -> Step:
    """Linear regression, 32 x 10 -> 1, mean squared error."""
    x, y = (torch.tensor(a) for a in data(32, 10))
    model = torch.nn.Linear(10, 1)
    fill(torch, model, weights((1, 10), (1,)))
    return training(torch, model, torch.nn.MSELoss(), x, y)


def classification(torch: Any) -> Step:
    """Binary classifier 2-16-16-1 with tanh, 64 rows, cross entropy of logits."""
    x, y = (torch.tensor(a) for a in data(64, 2))
    nn = torch.nn
    layers = [nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1)]
    model = nn.Sequential(*layers)
    fill(torch, model, weights((16, 2), (16,), (16, 16), (16,), (1, 16), (1,)))
    return training(torch, model, nn.BCEWithLogitsLoss(), x, y)


def training(torch: Any, model: Any, criterion: Any, x: Any, y: Any) -> Step:
    """One step of the usual loop."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


class Momentum:
    """SGD with momentum by hand, on preallocated buffers."""

    def __init__(self, parameters: list[np.ndarray]) -> None:
        self.parameters = parameters
        self.grads = [np.empty_like(p) for p in parameters]
        self.velocities = [np.zeros_like(p) for p in parameters]
        self.lr, self.momentum = np.float32(0.01), np.float32(0.9)

    def step(self) -> None:
        for p, g, v in zip(self.parameters, self.grads, self.velocities, strict=True):
            np.multiply(v, self.momentum, out=v)
            np.add(v, g, out=v)
            np.multiply(v, self.lr, out=g)
            np.subtract(p, g, out=p)


def regression_numpy() -> Step:
    x, y = data(32, 10)
    w, b = weights((1, 10), (1,))
    optimizer = Momentum([w, b])
    gw, gb = optimizer.grads
    error, scaled = np.empty((32, 1), np.float32), np.empty((32, 1), np.float32)
    share, n = np.float32(2 / 32), np.float32(32)

    def step() -> Any:
        np.matmul(x, w.T, out=error)
        np.add(error, b, out=error)
        np.subtract(error, y, out=error)
        loss = np.dot(error[:, 0], error[:, 0]) / n
        np.multiply(error, share, out=scaled)
        np.matmul(scaled.T, x, out=gw)
        np.add.reduce(scaled, 0, out=gb)
        optimizer.step()
        return loss

    return step


def classification_numpy() -> Step:
    x, y = data(64, 2)
    w1, b1, w2, b2, w3, b3 = weights((16, 2), (16,), (16, 16), (16,), (1, 16), (1,))
    optimizer = Momentum([w1, b1, w2, b2, w3, b3])
    gw1, gb1, gw2, gb2, gw3, gb3 = optimizer.grads
    h1, h2, g1, g2 = (np.empty((64, 16), np.float32) for _ in range(4))
    z, e, values = (np.empty((64, 1), np.float32) for _ in range(3))
    one, n = np.float32(1), np.float32(64)

    def hidden(inputs: np.ndarray, w: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        np.matmul(inputs, w.T, out=out)
        np.add(out, b, out=out)
        np.tanh(out, out=out)

    def back(g: np.ndarray, h: np.ndarray, w: np.ndarray, above: np.ndarray) -> None:
        np.matmul(above, w, out=g)
        np.multiply(h, h, out=h)
        np.subtract(one, h, out=h)
        np.multiply(g, h, out=g)

    def step() -> Any:
        hidden(x, w1, b1, h1)
        hidden(h1, w2, b2, h2)
        np.matmul(h2, w3.T, out=z)
        np.add(z, b3, out=z)
        np.abs(z, out=e)
        np.negative(e, out=e)
        np.exp(e, out=e)
        np.log1p(e, out=values)
        loss = (np.add.reduce(np.maximum(z, 0) - z * y + values, None)) / n
        np.divide(one, np.exp(-z) + one, out=z)
        np.subtract(z, y, out=z)
        np.divide(z, n, out=z)
        np.matmul(z.T, h2, out=gw3)
        np.add.reduce(z, 0, out=gb3)
        back(g2, h2, w3, z)
        np.matmul(g2.T, h1, out=gw2)
        np.add.reduce(g2, 0, out=gb2)
        back(g1, h1, w2, g2)
        np.matmul(g1.T, x, out=gw1)
        np.add.reduce(g1, 0, out=gb1)
        optimizer.step()
        return loss

    return step


STEPS: dict[str, tuple[Callable[[Any], Step], Callable[[], Step]]] = {
    "function minimization": (minimization, minimization_numpy),
    "linear regression 32x10": (regression, regression_numpy),
    "BCE classifier 2-16-16-1": (classification, classification_numpy),
}


# Single operations on 8 x 8 float32; `grad` records, `+ backward` sweeps as well.


def operation(name: str, on: Callable[[Any, Any, Any], Any], bare: Callable[..., Any]) -> Any:
    """Makers of the operation for a library and for NumPy."""
    a = np.random.default_rng(0).uniform(0.5, 1.5, (8, 8)).astype(np.float32)
    b = np.random.default_rng(1).uniform(0.5, 1.5, (8, 8)).astype(np.float32)

    def library(torch: Any) -> Step:
        grad = "grad" in name
        x, y = torch.tensor(a, requires_grad=grad), torch.tensor(b)
        if "backward" not in name:
            return lambda: on(torch, x, y)
        ones = torch.ones(8, 8)

        def both() -> Any:
            x.grad = None
            out = on(torch, x, y)
            out.backward(ones)
            return out

        return both

    return library, lambda: lambda: bare(a, b)


def chain(torch: Any, x: Any, y: Any) -> Any:
    """Ten operations in a row."""
    for _ in range(10):
        x = x * y
    return x


def chain_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    for _ in range(10):
        a = a * b
    return a


def chain_both_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    out, g = chain_numpy(a, b), np.ones_like(a)
    for _ in range(10):
        g = g * b
    return out


WORKLOADS: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
    ("mul", lambda torch, x, y: x * y, np.multiply),
    ("mul, grad", lambda torch, x, y: x * y, np.multiply),
    ("add number, grad", lambda torch, x, y: x + 2.0, lambda a, b: a + np.float32(2)),
    ("exp, grad", lambda torch, x, y: torch.exp(x), lambda a, b: np.exp(a)),
    ("matmul, grad", lambda torch, x, y: x @ y, np.matmul),
    ("sum, grad", lambda torch, x, y: x.sum(), lambda a, b: np.add.reduce(a, None)),
    ("row x[2], grad", lambda torch, x, y: x[2], lambda a, b: a[2]),
    ("10 x mul, grad", chain, chain_numpy),
    ("10 x mul, grad + backward", chain, chain_both_numpy),
]
OPS = {name: operation(name, on, bare) for name, on, bare in WORKLOADS}


def value(result: Any) -> np.ndarray:
    """A loss or result as an array."""
    return np.asarray(result.detach().numpy() if hasattr(result, "detach") else result)


def compare(name: str, made: dict[str, Step], steps: int) -> None:
    """Let every candidate make some steps, and insist that their results agree."""
    results = {}
    for who, step in made.items():
        for _ in range(steps):
            last = step()
        results[who] = value(last)
    reference = results["numpy"]
    for who, result in results.items():
        if not np.allclose(result, reference, rtol=1e-4, atol=1e-6):
            sys.exit(f"{name}: {who} computes {result}, numpy {reference}")


def time_all(made: dict[str, Step]) -> dict[str, list[float]]:
    """Microseconds per call, one figure a round, the candidates taking turns."""
    calls = {}
    for who, step in made.items():
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < SECONDS_PER_ROUND:
            step()
            count += 1
        calls[who] = max(count, 1)
    figures: dict[str, list[float]] = {who: [] for who in made}
    for _ in range(ROUNDS):
        for who, step in made.items():
            n = calls[who]
            start = time.perf_counter()
            for _ in range(n):
                step()
            figures[who].append((time.perf_counter() - start) / n * 1e6)
    return figures


def libraries() -> dict[str, Any]:
    """nanotorch, and torch where it is installed."""
    found = {"nanotorch": importlib.import_module("nanotorch")}
    if importlib.util.find_spec("torch") is not None:
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        found["torch"] = torch
    return found


def run(only: str | None) -> list[dict[str, Any]]:
    """Compare and time every workload; one row each."""
    found = libraries()
    rows = []
    for group, workloads in (("ops", OPS), ("steps", STEPS)):
        if only not in (None, group):
            continue
        for name, (library, by_hand) in workloads.items():
            made = {"numpy": by_hand()} | {who: library(lib) for who, lib in found.items()}
            compare(name, made, 20 if group == "steps" else 1)
            figures = time_all(made)
            row: dict[str, Any] = {"group": group, "name": name}
            for who, values in figures.items():
                row[who] = {"median": statistics.median(values), "min": min(values)}
            rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text: median microseconds and ratios."""
    with_torch = any("torch" in row for row in rows)
    head = f"{'':28}{'numpy us':>10}{'nanotorch us':>14}{'x numpy':>9}"
    lines = [head + (f"{'torch us':>10}{'x faster than torch':>21}" if with_torch else "")]
    for row in rows:
        mine, bare = row["nanotorch"]["median"], row["numpy"]["median"]
        line = f"{row['name']:28}{bare:10.2f}{mine:14.2f}{mine / bare:9.1f}"
        if "torch" in row:
            line += f"{row['torch']['median']:10.2f}{row['torch']['median'] / mine:21.1f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["ops", "steps"], help="one group of workloads")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    arguments = parser.parse_args()
    rows = run(arguments.only)
    print(table(rows))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:  # noqa: PTH123
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
