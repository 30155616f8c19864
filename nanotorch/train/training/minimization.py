"""Function minimization: the optimizer moves a point instead of weights."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.train.config.build import Schedule, merge_errors
from nanotorch.train.config.schema import MinimizationConfig, Stop
from nanotorch.train.config.sections import ConfigError
from nanotorch.train.runs.plots import Plot, Records, trajectory, value_curve, way
from nanotorch.train.runs.run_directory import OptimizerState
from nanotorch.train.training.experiment import Experiment, Recorder, Report
from nanotorch.train.training.loop import Callback, Loop, TraceStep, Write
from nanotorch.train.training.metrics import align_rows, screen
from nanotorch.train.training.step import TrainingStep, gradient_norm, searches

MOST_CURVES = 10
"""The most coordinates, or starts, with a curve of their own."""
MOST_ROWS = 50
"""The most starts with a line in the report."""
MOST_SHOWN = 40
"""The most characters of a point."""
LINES, LEFT = 20, 38
"""The approximate number of progress lines, and the characters of each before the point."""


class Minimization(Experiment):
    """A function, one or several points, and the optimizer that moves them.

    Several points are the columns of one tensor, and the sum of their values is differentiated.
    Each point moves as it would alone, unless the optimizer uses all coordinates together.
    """

    blamed = "function"

    def __init__(self, config: MinimizationConfig) -> None:
        self.config = config
        torch.manual_seed(config.seed)
        self.function = config.function.known.expression()
        points = config.function.points
        start = points[0] if len(points) == 1 else list(zip(*points, strict=True))
        self.x = torch.tensor(start, requires_grad=True)
        self.steps = config.function.iterations
        try:
            self.optimizer = config.optimizer.build([self.x])
            self._schedule: Schedule | None = None
            if config.scheduler is not None:  # there is one epoch, so that schedules count steps
                by_steps = config.scheduler.changed({"interval": "step"})
                self._schedule = Schedule(by_steps, self.optimizer, 1, self.steps, "")
            self._listening = [component.build() for component in config.callbacks]
        except ConfigError as error:
            raise merge_errors(error, config) from None
        self._optimizer_state = OptimizerState(self.optimizer)
        self._module = FunctionModule(self.function, config.function.name)
        move = define_step(self._module, self.x, self.optimizer)
        self.training_step = TrainingStep(move, self.optimizer, config.function.compile, self.steps)
        self.values = np.full(len(points), math.nan)
        """The value of each of several points before the latest step."""

    def batches(self, start: int) -> Iterable[Any]:
        return itertools.repeat((), self.steps - start)

    def step(self, batch: Any) -> tuple[float, int]:
        value = self.taken(batch)
        if value.dim() == 0:
            return value.item(), 1
        self.values = value.detach().numpy().copy()
        finite = self.values[np.isfinite(self.values)]
        return float(finite.min() if finite.size else self.values[0]), 1

    @property
    def best(self) -> int:
        """The index of the point with the least value before the latest step."""
        return int(np.nanargmin(self.values)) if not np.isnan(self.values).all() else 0

    def points(self) -> NDArray[np.float32]:
        """Return the current points, shape (points, dimensions)."""
        x: NDArray[np.float32] = self.x.detach().numpy()
        return x[None] if x.ndim == 1 else x.T

    def describe(self) -> str:
        function = self.config.function
        points = [[float(value) for value in point] for point in function.points]
        start, said = shown_point(points[0]), ""
        if len(points) > 1:
            start, said = f"{len(points)} points", "; each line shows the one with the least value"
        return (
            f"minimization of {function.formula} from {start}\n"
            f"{self.config.optimizer.name}, {self.steps} iterations{said}"
        )

    def callbacks(self, recorder: Recorder) -> Sequence[Callback | None]:
        log, stop, events = self.config.log, self.config.function.stop, recorder.events
        return [
            # First, so that the last point is recorded.
            StopWhenGoodEnough(self, stop) if stop else None,
            RecordPoints(self, recorder.write, log.every),
            ShowPoints(self) if log.progress else None,
            self._schedule,
            TraceStep(events.step) if events else None,
            *self._listening,
        ]

    def graph(self) -> tuple[nn.Module, torch.Tensor]:
        return self._module, self.x.detach().clone()

    def charts(self) -> Mapping[str, Sequence[str]]:
        shown = {"value": "value", "coordinates": "x", "gradient norm": "gradient_norm"}
        charts = {title: [f"objective/{tag}"] for title, tag in shown.items()}
        return {**charts, "learning rate": ["lr"]}

    def learned(self) -> Mapping[str, torch.Tensor]:
        return {"x": self.x}

    state = learned

    def training_state(self) -> dict[str, Any]:
        return {"x": self.x, "optimizer": self._optimizer_state.state()}

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        with torch.no_grad():
            self.x.copy_(state["x"].reshape(self.x.shape))
        self._optimizer_state.load_state(state["optimizer"])

    @property
    def final_model(self) -> nn.Module:
        return self._module

    def outputs(self, *inputs: Any) -> torch.Tensor:
        with torch.no_grad():
            return self.function(*map(torch.as_tensor, inputs))

    def plots(self, records: Records) -> Iterable[Plot | None]:
        points = self.config.function.points
        yield value_curve(records)
        if len(points[0]) == 2:
            shown = [tags(k if len(points) > 1 else None) for k in range(len(points))]
            starts = zip(points, shown[:MOST_CURVES], strict=False)
            ways = [way(records, *start) for start in starts]
            yield trajectory(ways, self._values, self.config.function.formula)

    def _values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the function's values at points of shape (2, N)."""
        with torch.no_grad():
            return self.function(torch.from_numpy(points)).numpy()

    def report(self) -> Report:
        with torch.no_grad():
            values = self.function(self.x).numpy().reshape(-1)
        points, known = self.points(), self.config.function.known
        best = int(np.nanargmin(values)) if np.isfinite(values).any() else 0
        value = float(values[best])
        results = {"function/value": value}
        lines = [f"f = {value:.4g} at {shown_point(points[best])}"]
        nearest = known.distance(points[best].tolist())
        if nearest is not None:
            distance, place = nearest
            results["function/distance"] = distance
            results["function/excess"] = known.excess(value, points.shape[1])
            lines.append(f"the nearest known minimum, {shown_point(place)}, is {distance:.4g} away")
        if len(points) > 1:
            lines += ["", self._table(values, points)]
        return Report("\n".join(lines), results, value)

    def _table(self, values: NDArray[np.float32], points: NDArray[np.float32]) -> str:
        """Return a table with a line for each start, the least value first."""
        function = self.config.function
        rows = [["start", "end", "value", *(["distance"] if function.known.minima else [])]]
        for index in np.argsort(values, kind="stable")[:MOST_ROWS]:
            nearest = function.known.distance(points[index].tolist())
            places = [shown_point(point) for point in (function.points[index], points[index])]
            row = [*places, f"{values[index]:.4g}"]
            rows.append(row if nearest is None else [*row, f"{nearest[0]:.3g}"])
        more = len(points) - MOST_ROWS
        return align_rows(rows) + (f"\nand {more} more" if more > 0 else "")


def define_step(
    function: nn.Module, x: torch.Tensor, optimizer: optim.Optimizer
) -> Callable[..., Any]:
    """Return the step: a function that moves the points, and returns the values before."""
    several = x.dim() > 1

    def minimization_step() -> torch.Tensor:
        y = function(x)
        optimizer.zero_grad()
        (y.sum() if several else y).backward()
        optimizer.step()
        return y

    def searching_step() -> torch.Tensor:
        values: list[torch.Tensor] = []

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            values.append(function(x))
            total = values[-1].sum() if several else values[-1]
            total.backward()
            return total

        optimizer.step(closure)
        return values[0].detach()

    return searching_step if searches(optimizer) else minimization_step


def tags(start: int | None) -> tuple[str, str]:
    """Return the tags of both coordinates of the only point, or of the point number `start`."""
    prefix = "x/" if start is None else f"points/start{start}_x"
    return f"{prefix}0", f"{prefix}1"


class FunctionModule(nn.Module):
    """A function as a module, with its name in drawings of graphs."""

    def __init__(self, function: Callable[..., torch.Tensor], name: str | None) -> None:
        super().__init__()
        self.function, self._name = function, name or "function"

    def _get_name(self) -> str:
        return self._name

    def forward(self, *x: torch.Tensor) -> torch.Tensor:
        """Return the value at `x`."""
        return self.function(*x)


class StopWhenGoodEnough(Callback):
    """Ends the search when one of the conditions holds for all points."""

    def __init__(self, minimization: Minimization, stop: Stop) -> None:
        self._task, self._stop = minimization, stop
        self._previous = minimization.points().copy()

    def on_step(self, loop: Loop) -> None:
        points = self._task.points()
        moved = np.linalg.norm(points - self._previous, axis=1)
        self._previous = points.copy()
        values = self._task.values if len(points) > 1 else np.array([loop.loss])
        grad, slopes = self._task.x.grad, np.full(len(points), np.inf)
        if grad is not None:
            slopes = np.linalg.norm(grad.numpy(), axis=0)
        found = {
            "the norm of the gradient is below": (slopes, self._stop.gradient_norm),
            "the value is below": (values, self._stop.value),
            "steps are shorter than": (moved, self._stop.step),
        }
        for text, (numbers, limit) in found.items():
            if limit is not None and np.all(numbers <= limit):
                loop.stop(f"{text} {limit:g}")


class RecordPoints(Callback):
    """Records the least value before a step and the point with it after the step."""

    def __init__(self, minimization: Minimization, write: Write, every: int) -> None:
        self._task, self._write, self._every = minimization, write, every

    def on_step(self, loop: Loop) -> None:
        if loop.step % self._every and not loop.complete:
            return
        points, before = self._task.points(), self._task.values
        several = len(points) > 1
        point = points[self._task.best][:MOST_CURVES]
        values = {"function/value": loop.loss}
        values |= {f"x/{i}": float(value) for i, value in enumerate(point)}
        if several:
            starts = enumerate(before[:MOST_CURVES])
            values |= {f"function/start{k}": float(value) for k, value in starts}
            if points.shape[1] == 2:  # for the plot of trajectories
                for k, place in enumerate(points[:MOST_CURVES]):
                    values |= dict(zip(tags(k), map(float, place), strict=True))
        values["train/lr"] = float(self._task.optimizer.param_groups[0]["lr"])
        values["function/gradient_norm"] = gradient_norm([self._task.x])
        self._write(loop.step, loop.epoch, values)


class ShowPoints(Callback):
    """Prints points at even intervals of steps, with their values and gradient norms."""

    def __init__(self, minimization: Minimization) -> None:
        self._task = minimization
        self._every = -(-minimization.steps // LINES)
        self._points: NDArray[np.float32] | None = None
        """The points before the current step, if a line shows them; else None."""

    def on_start(self, loop: Loop) -> None:
        print(f"{'iteration':>9}  {'value':>10}  {'gradient norm':>13}  point", flush=True)
        self._keep(loop)

    def on_step(self, loop: Loop) -> None:
        if self._points is not None:  # their value and gradient are known now
            grad, best, slope = self._task.x.grad, self._task.best, ""
            if grad is not None and not searches(self._task.optimizer):
                columns = grad.numpy().reshape(-1, len(self._points))
                slope = f"{np.linalg.norm(columns[:, best]):.4g}"
            point = shown_point(self._points[best], screen() - LEFT)
            print(f"{loop.step - 1:9}  {loop.loss:10.4g}  {slope:>13}  {point}", flush=True)
        self._keep(loop)

    def _keep(self, loop: Loop) -> None:
        due = loop.step % self._every == 0
        self._points = self._task.points().copy() if due else None


def shown_point(point: Iterable[float], width: int = MOST_SHOWN) -> str:
    """Return a point as text, with as many coordinates as fit into `width` characters."""
    parts = [f"{float(part):.4g}" for part in point]
    text = f"({', '.join(parts)})"
    while len(text) > width and len(parts) > 1:
        parts.pop()
        text = f"({', '.join(parts)}, ...)"
    return text
