"""Function minimization: the point itself is what is learned."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nanotorch as torch
from nanotorch import nn, optim

from .callbacks import Sink
from .components import OPTIMIZERS
from .experiment import Report
from .expression import Expression, parse_expression
from .loop import Callback, Loop
from .problems import Origins
from .schema import MinimizationConfig
from .step import TrainingStep

MOST_CURVES = 10
"""Coordinates that get a curve of their own."""


class Minimization:
    """A function, a point, and the optimizer that moves it.

    Raises:
        ConfigError: if the optimizer refuses its arguments.
    """

    def __init__(self, config: MinimizationConfig, origins: Origins) -> None:
        self.config = config
        torch.manual_seed(config.seed)
        self.function = parse_expression(config.function.formula)
        self.x = torch.tensor(list(config.function.start), requires_grad=True)
        self.optimizer = OPTIMIZERS.build(config.optimizer, "optimizer", origins, [self.x])
        self.steps = config.function.iterations
        move = moving(self.function, self.x, self.optimizer)
        self._move = TrainingStep(move, config.function.compile, self.steps)

    def batches(self) -> Iterable[Any]:
        """Return the iterations; there is one epoch."""
        return range(self.steps)

    def step(self, batch: Any) -> tuple[float, int]:
        """Move the point; return the value before the move."""
        return self._move.call().item(), 1

    def compilation(self) -> Mapping[str, Any]:
        """Return what became of compiling the step."""
        return self._move.record()

    def describe(self) -> str:
        """Return the function and where the search begins."""
        function = self.config.function
        start = [float(value) for value in function.start]
        return (
            f"minimization of {function.formula} from {start}\n"
            f"{self.config.optimizer.name}, {self.steps} iterations; each line is the value before"
            " a step and the point after it"
        )

    def files(self) -> Iterable[Path]:
        """Return nothing: there is no data."""
        return []

    def callbacks(self, sinks: Sequence[Sink]) -> Sequence[Callback]:
        """Return what prints and records the points."""
        log = self.config.log
        return [RecordPoints(self.x, sinks, log.every, shown=log.progress)]

    def graph(self) -> tuple[nn.Module, torch.Tensor]:
        """Return the function as a module, and the point."""
        return FunctionModule(self.function), self.x.detach().clone()

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return the point."""
        return {"x": self.x}

    def preprocessing(self) -> None:
        """Return nothing: points are as they are."""

    def report(self) -> Report:
        """Return the value at the last point."""
        with torch.no_grad():
            value = self.function(self.x).item()
        text = f"f = {value:.6g} at {self.x.detach().numpy()}"
        return Report(text, {"function/value": value}, value)


def moving(
    function: Expression, x: torch.Tensor, optimizer: optim.Optimizer
) -> Callable[[], torch.Tensor]:
    """Return what moves a point downhill, and gives the value before."""
    evaluate = function.evaluate

    def minimization_step() -> torch.Tensor:
        y: torch.Tensor = evaluate(x)
        optimizer.zero_grad()
        y.backward()
        optimizer.step()
        return y

    return minimization_step


class FunctionModule(nn.Module):
    """A function of a vector in the shape that graphs are drawn from."""

    def __init__(self, function: Expression) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the value at `x`."""
        return self.function(x)


class RecordPoints(Callback):
    """Records, and prints if `shown`, the value before a step and the point after it."""

    def __init__(self, x: torch.Tensor, sinks: Sequence[Sink], every: int, shown: bool) -> None:
        self._x = x
        self._sinks = sinks
        self._every = every
        self._shown = shown

    def on_step(self, loop: Loop) -> None:
        if loop.step % self._every and not loop.done:
            return
        point = self._x.detach().numpy()
        if self._shown:
            print(loop.loss, point, flush=True)
        values = {"function/value": loop.loss}
        values |= {f"x/{i}": float(value) for i, value in enumerate(point[:MOST_CURVES])}
        for sink in self._sinks:
            sink.write(loop.step, loop.epoch, values)
