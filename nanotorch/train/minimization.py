"""Function minimization: the point itself is what is learned."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn, optim

from .build import build_callbacks
from .components import OPTIMIZERS
from .config import ConfigError, Origins
from .experiment import Recorder, Report, TensorBoardEvents
from .functions import Expression, evaluated
from .loop import Callback, Loop, Sink, TraceStep
from .metrics import aligned
from .plots import Plot, Records, trajectory, value_curve, way
from .reading import Component
from .run_directory import OptimizerState
from .schema import STEP, MinimizationConfig, Schedule, Stop, with_others
from .step import TrainingStep, searches

MOST_CURVES = 10
"""Coordinates, or starts, that get a curve of their own."""
MOST_ROWS = 50
"""Starts that get a line in the report."""


class Minimization:
    """A function, a point or several, and the optimizer that moves them.

    Several points are the columns of one tensor: the sum of their values is differentiated, so
    that each moves as it would alone, but for optimizers that look at all coordinates at once.

    Raises:
        ConfigError: if the optimizer refuses its arguments.
    """

    def __init__(self, config: MinimizationConfig, origins: Origins) -> None:
        self.config = config
        torch.manual_seed(config.seed)
        self.function = config.function.known.expression()
        points = config.function.points
        start = points[0] if len(points) == 1 else list(zip(*points, strict=True))
        self.x = torch.tensor(start, requires_grad=True)
        self.steps = config.function.iterations
        try:
            self.optimizer = OPTIMIZERS.build(config.optimizer, "optimizer", origins, [self.x])
            self._schedule = self._make_schedule(origins)
            self._listening = build_callbacks(config.callbacks, origins)
        except ConfigError as error:
            raise with_others(error, config, origins) from None
        self._optimizer_state = OptimizerState(self.optimizer)
        self._module = FunctionModule(self.function)
        move = moving(self._module, self.x, self.optimizer)
        wanted = config.function.compile
        self._move = TrainingStep(move, self.optimizer, wanted, self.steps)
        self._trace: Callable[[nn.Module], AbstractContextManager[None]] | None = None
        """What shows TensorBoard the next step, if that is the one to show."""
        self.values = np.full(len(points), math.nan)
        """The value of each point before the latest step, where there are several."""

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
        """Move the points; return the least value before the move."""
        if self._trace is None:
            value = self._move.call()
        else:
            with self._trace(self._module):
                value = self._move.plain()
            self._trace = None
        if value.dim() == 0:
            return value.item(), 1
        self.values = value.detach().numpy().copy()
        return least(self.values), 1

    def points(self) -> NDArray[np.float32]:
        """Return the points as they are, shape (points, dimensions)."""
        x: NDArray[np.float32] = self.x.detach().numpy()
        return x[None] if x.ndim == 1 else x.T

    def plain_step(self, batch: Any) -> None:
        """Move the points by the step as it is written, uncompiled."""
        self._move.plain()

    def compilation(self) -> Mapping[str, Any]:
        """Return what became of compiling the step."""
        return self._move.record()

    def describe(self) -> str:
        """Return the function and where the search begins."""
        function = self.config.function
        points = [[float(value) for value in point] for point in function.points]
        single = len(points) == 1
        start = str(points[0]) if single else f"{len(points)} points"
        said = "the value before a step and the point after it"
        said = said if single else "the least value before a step and the point that had it, after"
        return (
            f"minimization of {function.formula} from {start}\n"
            f"{self.config.optimizer.name}, {self.steps} iterations; each line is {said}"
        )

    def files(self) -> Iterable[Path]:
        """Return nothing: there is no data."""
        return []

    def callbacks(self, recorder: Recorder) -> Sequence[Callback]:
        """Return what ends the search, records the points, and changes the learning rate."""
        log, stop, events = self.config.log, self.config.function.stop, recorder.events
        listening: list[Callback | None] = [
            # First, so that the last point is recorded.
            StopWhenGoodEnough(self, stop) if stop else None,
            RecordPoints(self, recorder, log.every, shown=log.progress),
            self._schedule,
            TraceStep(partial(setattr, self, "_trace", events.step)) if events else None,
            *self._listening,
        ]
        return [callback for callback in listening if callback is not None]

    def graph(self) -> tuple[nn.Module, torch.Tensor]:
        """Return the function as a module, and the points."""
        return self._module, self.x.detach().clone()

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return the points."""
        return {"x": self.x}

    def finish(self) -> None:
        """Do nothing: the last point is the result."""

    def training_state(self) -> dict[str, Any]:
        """Return all that the steps to come depend on."""
        return {"x": self.x, "optimizer": self._optimizer_state.state()}

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `training_state` returned.

        Raises:
            RuntimeError, ValueError: if it is of another point or optimizer.
        """
        with torch.no_grad():
            self.x.copy_(state["x"].reshape(self.x.shape))
        self._optimizer_state.load_state(state["optimizer"])

    def preprocessing(self) -> None:
        """Return nothing: points are as they are."""

    def plots(self, records: Records) -> Iterable[Plot]:
        """Draw the values and, in two dimensions, the way over the contour lines."""
        points = self.config.function.points
        plots = [value_curve(records)]
        if len(points[0]) == 2:
            formula = self.config.function.formula
            shown = [tags(k if len(points) > 1 else None) for k in range(len(points))]
            ways = [
                way(records, *start) for start in zip(points, shown[:MOST_CURVES], strict=False)
            ]
            plots.append(trajectory(ways, self._values, formula))
        return [plot for plot in plots if plot is not None]

    def _values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's values at points of shape (2, N)."""
        with torch.no_grad():
            return evaluated(self.function, torch.from_numpy(points)).numpy()

    def notes(self, events: TensorBoardEvents, step: int) -> None:
        """Add nothing: the curves tell everything."""

    def profile_text(self) -> str:
        """Return nothing: there are no modules to tell apart."""
        return ""

    def report(self) -> Report:
        """Return the values at the last points, and how far the nearest known minima are."""
        with torch.no_grad():
            values = evaluated(self.function, self.x).numpy().reshape(-1)
        points, known = self.points(), self.config.function.known
        best = int(np.nanargmin(values)) if np.isfinite(values).any() else 0
        value = float(values[best])
        results = {"function/value": value}
        lines = [f"f = {value:.6g} at {points[best]}"]
        nearest = known.distance(points[best].tolist())
        if nearest is not None:
            distance, place = nearest
            results["function/distance"] = distance
            results["function/excess"] = known.excess(value, points.shape[1])
            shown = ", ".join(f"{part:g}" for part in place)
            lines.append(f"the nearest known minimum, ({shown}), is {distance:.6g} away")
        if len(points) > 1:
            lines += ["", self._table(values, points)]
        return Report("\n".join(lines), results, value)

    def _table(self, values: NDArray[np.float32], points: NDArray[np.float32]) -> str:
        """Return a line for each start, the best end first."""
        function = self.config.function
        rows = [["start", "end", "value", *(["distance"] if function.known.minima else [])]]
        for index in np.argsort(values, kind="stable")[:MOST_ROWS]:
            nearest = function.known.distance(points[index].tolist())
            row = [str(list(function.points[index])), str(points[index]), f"{values[index]:.6g}"]
            rows.append(row if nearest is None else [*row, f"{nearest[0]:.3g}"])
        more = len(points) - MOST_ROWS
        return aligned(rows) + (f"\nand {more} more" if more > 0 else "")


def least(values: NDArray[np.float32]) -> float:
    """Return the least of some numbers; those that are none are passed over while others are."""
    finite = values[np.isfinite(values)]
    return float(finite.min() if finite.size else values[0])


def moving(
    function: nn.Module, x: torch.Tensor, optimizer: optim.Optimizer
) -> Callable[[], torch.Tensor]:
    """Return what moves points downhill, and gives the values before."""
    several = x.dim() > 1

    def minimization_step() -> torch.Tensor:
        y = function(x)
        optimizer.zero_grad()
        (y.sum() if several else y).backward()
        optimizer.step()
        return y

    def searching_step() -> torch.Tensor:
        first: list[torch.Tensor] = []

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            y = function(x)
            first.append(y)
            total = y.sum() if several else y
            total.backward()
            return total

        optimizer.step(closure)
        return first[0].detach()

    return searching_step if searches(optimizer) else minimization_step


def tags(start: int | None) -> tuple[str, str]:
    """Return what the coordinates of a point in the plane, or of one of several, are called."""
    prefix = "x/" if start is None else f"points/start{start}_x"
    return f"{prefix}0", f"{prefix}1"


class FunctionModule(nn.Module):
    """A function of a vector in the shape that graphs are drawn from."""

    def __init__(self, function: Expression) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the value at `x`."""
        return evaluated(self.function, x)


class StopWhenGoodEnough(Callback):
    """Ends the search when one of the conditions holds for each point."""

    def __init__(self, minimization: Minimization, stop: Stop) -> None:
        self._task = minimization
        self._stop = stop
        self._previous = minimization.points().copy()

    def on_step(self, loop: Loop) -> None:
        points = self._task.points()
        moved = np.linalg.norm(points - self._previous, axis=1)
        self._previous = points.copy()
        values = self._task.values if len(points) > 1 else np.array([loop.loss])
        grad = self._task.x.grad
        slopes = (
            np.full(len(points), np.inf) if grad is None else np.linalg.norm(grad.numpy(), axis=0)
        )
        found = {
            "the gradient is shorter than": (slopes, self._stop.gradient_norm),
            "the value is below": (values, self._stop.value),
            "steps are shorter than": (moved, self._stop.step),
        }
        for text, (numbers, limit) in found.items():
            if limit is not None and np.all(numbers <= limit):
                loop.stop(f"{text} {limit:g}")


class RecordPoints(Callback):
    """Records, and prints if `shown`, the least value before a step and its point after it."""

    def __init__(self, minimization: Minimization, sink: Sink, every: int, shown: bool) -> None:
        self._task = minimization
        self._sink = sink
        self._every = every
        self._shown = shown

    def on_step(self, loop: Loop) -> None:
        if loop.step % self._every and not loop.complete:
            return
        points, before = self._task.points(), self._task.values
        several = len(points) > 1
        point = (
            points[np.nanargmin(before)] if several and not np.isnan(before).all() else points[0]
        )
        if self._shown:
            print(loop.loss, point, flush=True)
        values = {"function/value": loop.loss}
        values |= {f"x/{i}": float(value) for i, value in enumerate(point[:MOST_CURVES])}
        if several:
            starts = enumerate(before[:MOST_CURVES])
            values |= {f"function/start{k}": float(value) for k, value in starts}
            if points.shape[1] == 2:  # the way of each is drawn
                for k, place in enumerate(points[:MOST_CURVES]):
                    values |= dict(zip(tags(k), map(float, place), strict=True))
        self._sink.write(loop.step, loop.epoch, values)
