"""Function minimization: the point itself is what is learned."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn, optim

from .callbacks import Sink
from .components import OPTIMIZERS
from .events import TensorBoardEvents
from .experiment import Report
from .expression import Expression, parse_expression
from .loop import Callback, Loop
from .plots import Plot, Records
from .plots_minimization import trajectory, value_curve
from .problems import Origins
from .reading import Component
from .schedules import STEP, Schedule
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
        self._schedule = self._make_schedule(origins)
        move = moving(self.function, self.x, self.optimizer)
        self._move = TrainingStep(move, config.function.compile, self.steps)

    def _make_schedule(self, origins: Origins) -> Schedule | None:
        if self.config.scheduler is None:
            return None
        # There is one epoch, so that only steps can be meant.
        name, arguments = self.config.scheduler.name, self.config.scheduler.arguments
        by_steps = Component(name, {**arguments, "interval": STEP})
        return Schedule(by_steps, self.optimizer, 1, self.steps, "", origins)

    def batches(self, start: int) -> Iterable[Any]:
        """Return the iterations that are left; there is one epoch."""
        return range(start, self.steps)

    def step(self, batch: Any) -> tuple[float, int]:
        """Move the point; return the value before the move."""
        return self._move.call().item(), 1

    def plain_step(self, batch: Any) -> None:
        """Move the point by the step as it is written, uncompiled."""
        self._move.plain()

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

    def callbacks(self, recorder: Sink) -> Sequence[Callback]:
        """Return what prints and records the points, and changes the learning rate."""
        log = self.config.log
        recording = RecordPoints(self.x, recorder, log.every, shown=log.progress)
        return [recording, self._schedule] if self._schedule else [recording]

    def graph(self) -> tuple[nn.Module, torch.Tensor]:
        """Return the function as a module, and the point."""
        return FunctionModule(self.function), self.x.detach().clone()

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return the point."""
        return {"x": self.x}

    def training_state(self) -> dict[str, Any]:
        """Return all that the steps to come depend on."""
        return {"x": self.x, "optimizer": self.optimizer.state_dict()}

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `training_state` returned.

        Raises:
            RuntimeError, ValueError: if it is of another point or optimizer.
        """
        with torch.no_grad():
            self.x.copy_(state["x"].reshape(self.x.shape))
        self.optimizer.load_state_dict(state["optimizer"])

    def preprocessing(self) -> None:
        """Return nothing: points are as they are."""

    def plots(self, records: Records) -> Iterable[Plot]:
        """Draw the values and, in two dimensions, the way over the contour lines."""
        start = np.array(self.config.function.start, dtype=np.float64)
        plots = [value_curve(records)]
        if len(start) == 2:
            formula = self.config.function.formula
            plots.append(trajectory(records, start, self._values, formula))
        return [plot for plot in plots if plot is not None]

    def _values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's values at points of shape (2, N)."""
        with torch.no_grad():
            together = self.function.evaluate(torch.from_numpy(points))
            if together.shape == points.shape[1:]:
                return together.numpy()
            # Something in the function is a mean or a sum over the coordinates.
            columns = torch.from_numpy(np.ascontiguousarray(points.T))
            return np.array([self.function.evaluate(column).item() for column in columns])

    def notes(self, events: TensorBoardEvents, step: int) -> None:
        """Add nothing: the curves tell everything."""

    def profile_text(self) -> str:
        """Return nothing: there are no modules to tell apart."""
        return ""

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

    def __init__(self, x: torch.Tensor, sink: Sink, every: int, shown: bool) -> None:
        self._x = x
        self._sink = sink
        self._every = every
        self._shown = shown

    def on_step(self, loop: Loop) -> None:
        if loop.step % self._every and not loop.complete:
            return
        point = self._x.detach().numpy()
        if self._shown:
            print(loop.loss, point, flush=True)
        values = {"function/value": loop.loss}
        values |= {f"x/{i}": float(value) for i, value in enumerate(point[:MOST_CURVES])}
        self._sink.write(loop.step, loop.epoch, values)
