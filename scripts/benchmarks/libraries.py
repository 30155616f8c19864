"""The workloads in nanotorch and PyTorch, written once: `torch` is either of them."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from benchmarks.problems import (
    FUNCTION_LR,
    LR,
    MOMENTUM,
    START,
    Array,
    Epoch,
    Network,
    Step,
    factors,
)


@dataclass(frozen=True)
class Parts:
    """The parts of a training step."""

    forward: Callable[[], Any]
    optimizer: Any

    def step(self) -> Step:
        """A function that does one step and returns the loss."""
        forward, optimizer = self.forward, self.optimizer

        def step() -> Any:
            optimizer.zero_grad()
            loss = forward()
            loss.backward()
            optimizer.step()
            return loss

        return step


def parts(torch: Any, forward: Callable[[], Any], parameters: Any, lr: float = LR) -> Parts:
    """A forward pass and the optimizer every workload has: SGD with momentum."""
    return Parts(forward, torch.optim.SGD(parameters, lr=lr, momentum=MOMENTUM))


def funcmin(torch: Any) -> Parts:
    """f(x) = x0² + (x1 - 1)²."""
    x = torch.tensor(START, requires_grad=True)
    return parts(torch, lambda: x[0] ** 2 + (x[1] - 1) ** 2, [x], FUNCTION_LR)


def rosenbrock(torch: Any) -> Parts:
    """f(x) = (1 - x0)² + 100 (x1 - x0²)²."""
    x = torch.tensor(START, requires_grad=True)

    def forward() -> Any:
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    return parts(torch, forward, [x], FUNCTION_LR)


def model(torch: Any, widths: tuple[int, ...], activation: str, values: list[Array]) -> Any:
    """A sequence of linear layers and activations with the given parameters."""
    between = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[activation]
    layers: list[Any] = []
    for inputs, outputs in pairwise(widths):
        layers += [torch.nn.Linear(inputs, outputs), between()]
    network = torch.nn.Sequential(*layers[:-1])
    with torch.no_grad():
        for parameter, value in zip(network.parameters(), values, strict=True):
            parameter.copy_(torch.tensor(value))
    return network


def network(torch: Any, problem: Network) -> Parts:
    """A dense network on one batch."""
    x, y = (torch.tensor(array) for array in problem.batch())
    net = model(torch, problem.widths, problem.activation, problem.parameters())
    losses = {
        "mse": torch.nn.MSELoss,
        "bce": torch.nn.BCEWithLogitsLoss,
        "cross_entropy": torch.nn.CrossEntropyLoss,
    }
    criterion = losses[problem.loss]()
    return parts(torch, lambda: criterion(net(x), y), net.parameters())


def chain(torch: Any, length: int) -> Parts:
    """Multiply by the same tensor again and again, and sum up."""
    start, factor = factors()
    x, y = torch.tensor(start, requires_grad=True), torch.tensor(factor)

    def forward() -> Any:
        h = x
        for _ in range(length):
            h = h * y
        return h.sum()

    return parts(torch, forward, [x])


def epoch(torch: Any, problem: Epoch) -> Step:
    """Go through a loader once; the result is the sum of the targets, or the last loss."""
    data = importlib.import_module(f"{torch.__name__}.utils.data")
    dataset = data.TensorDataset(*(torch.tensor(array) for array in problem.data()))
    loader = data.DataLoader(dataset, batch_size=problem.batch, shuffle=problem.shuffled)
    if not problem.trains:
        return Pass(loader)
    net = model(torch, (problem.columns, 1), "relu", problem.parameters())
    optimizer = torch.optim.SGD(net.parameters(), lr=LR, momentum=MOMENTUM)
    criterion = torch.nn.MSELoss()

    def train() -> Any:
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
        return loss

    return train


class Pass:
    """Iterates over a loader, and does nothing with its batches.

    Args:
        loader: yields pairs.
    """

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __call__(self) -> int:
        rows = 0
        for x, _ in self.loader:
            rows += x.shape[0]
        return rows

    def check(self) -> float:
        """A checksum that is equal for every order of the rows, if each comes with its target."""
        return sum(float((x.sum(1) * y[:, 0]).sum()) for x, y in self.loader)
