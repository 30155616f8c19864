"""L-BFGS, with its line search."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core.call_site import current_site
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.optim.optimizer import Closure, Group, Optimizer, evaluate
from nanotorch.optim.rules import check_learning_rate, number, scalar

# The step length: a line search for the strong Wolfe conditions.
#
# A function of the distance t must fall enough for its slope at 0 (Armijo's condition, factor
# `DECREASE`) and be flat enough (the curvature condition, factor `FLATNESS`). The search moves on
# from a first guess until two points enclose a good one; then it narrows the interval.
#
# Reference:
#     Nocedal and Wright, Numerical Optimization, 2006, algorithms 3.5 and 3.6; the interpolation is
#     equation 3.59; the safeguards are those of Schmidt, minFunc, 2005, as in PyTorch.


DECREASE, FLATNESS = 1e-4, 0.9
TOLERANCE = 1e-9  # the search ends if no element can move further than this
Number = Any  # a float, or a NumPy scalar of the parameters' dtype


class Point(NamedTuple):
    """A distance ``t`` and the function there: value, gradient, slope along the direction."""

    t: Number
    f: float
    g: np.ndarray
    slope: Number


def strong_wolfe(
    at: Callable[[Number], Point], start: Point, t: Number, length: Number, evaluations: int
) -> tuple[Point, int]:
    """The best point of a search for the strong Wolfe conditions, and the count of evaluations.

    Args:
        at: a function that evaluates the point at a distance.
        start: the point at distance 0.
        t: the first guess.
        length: the largest absolute value in the direction.
        evaluations: the greatest number of evaluations after the first.
    """
    ends, done, steps = enclose(at, start, t, evaluations)
    low, high = by_value(ends)
    stuck = False
    while not done and steps < evaluations:
        left, right = sorted((ends[0].t, ends[1].t))
        if abs(ends[1].t - ends[0].t) * length < TOLERANCE:
            break
        t, stuck = keep_inside(cubic_minimum(ends[0], ends[1], left, right), left, right, stuck)
        point = at(t)
        steps += 1
        if too_high(point, start) or point.f >= ends[low].f:
            ends[high] = point
            low, high = by_value(ends)
            continue
        if is_flat(point, start):
            done = True
        elif point.slope * (ends[high].t - ends[low].t) >= 0:
            ends[high] = ends[low]
        ends[low] = point
    return ends[low], steps + 1


def enclose(
    at: Callable[[Number], Point], start: Point, t: Number, evaluations: int
) -> tuple[list[Point], bool, int]:
    """Move on until two points enclose a good one, or one is good.

    Returns:
        The points, whether one is good, and the number of steps.
    """
    before, point = start, at(t)
    for step in range(evaluations):
        if too_high(point, start) or (step > 1 and point.f >= before.f):
            return [before, point], False, step
        if is_flat(point, start):
            return [point], True, step
        if point.slope >= 0:
            return [before, point], False, step
        least = t + 0.01 * (t - before.t)
        t = cubic_minimum(before, point, least, t * 10)
        before, point = point, at(t)
    return [start, point], False, evaluations


def too_high(point: Point, start: Point) -> bool:
    """Whether the function at ``point`` has not fallen enough."""
    return bool(point.f > start.f + DECREASE * point.t * start.slope)


def is_flat(point: Point, start: Point) -> bool:
    """Whether the slope at ``point`` is small enough."""
    return bool(abs(point.slope) <= -FLATNESS * start.slope)


def by_value(ends: list[Point]) -> tuple[int, int]:
    """The index of the lower of two points, and that of the higher."""
    return (0, 1) if ends[0].f <= ends[-1].f else (1, 0)


def cubic_minimum(a: Point, b: Point, least: Number, greatest: Number) -> Number:
    """The minimum, within bounds, of the cubic through two points with their slopes."""
    rise = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = rise**2 - a.slope * b.slope
    if not square >= 0:
        return (least + greatest) / 2.0
    root = np.sqrt(square)
    if a.t > b.t:
        a, b = b, a
    share = (b.slope + root - rise) / (b.slope - a.slope + 2 * root)
    return min(max(b.t - (b.t - a.t) * share, least), greatest)


def keep_inside(t: Number, left: Number, right: Number, stuck: bool) -> tuple[Number, bool]:
    """Move a distance away from the ends, at least every second time that it is too close.

    Args:
        stuck: whether the previous distance was too close and not moved.

    Returns:
        The distance, and whether it is still too close.
    """
    margin = 0.1 * (right - left)
    if not min(right - t, t - left) < margin:
        return t, False
    if not (stuck or t >= right or t <= left):
        return t, True
    return (right - margin if abs(t - right) < abs(t - left) else left + margin), False


# L-BFGS.


Array = np.ndarray
OPTIONS = (
    "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn maximize"
)
LEAST_CURVATURE = 1e-10  # changes with less curvature are not stored


class LBFGS(Optimizer):
    """L-BFGS: Newton's method with a Hessian estimated from the gradients of recent iterations.

    A step is up to ``max_iter`` iterations on all parameters as one vector x,

        x ← x - t H g

    with the gradient g and an approximation H of the inverse Hessian, built from the last
    ``history_size`` changes of x and g. In the first iteration H is 1 and t is
    lr · min(1, 1 / Σ|g|); later, t is lr. A line search starts from this t.

    Args:
        params: see `Optimizer`; one group only.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 1.
        max_iter: the greatest number of iterations per step. Default: 20.
        max_eval: the greatest number of calls of the closure per step. Default: max_iter · 5 / 4.
        tolerance_grad: a step ends if no element of the gradient is larger. Default: 1e-7.
        tolerance_change: a step ends if the loss or all parameters change less than this. Default:
            1e-9.
        history_size: the number of stored changes. Default: 100.
        line_search_fn: "strong_wolfe", or None for no search. Default: None.
        maximize: ascend instead of descend. Default: False.

    Raises:
        ValueError: if ``lr`` is out of range, or for several groups.

    Reference:
        Nocedal and Wright, Numerical Optimization, 2006, algorithms 7.4 and 7.5.
    """

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1, max_iter: int = 20,
        max_eval: int | None = None, tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9,
        history_size: int = 100, line_search_fn: str | None = None, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        check_learning_rate(lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        given = locals()
        super().__init__(params, {name: given[name] for name in OPTIONS.split()})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Closure) -> Any:  # type: ignore[override]
        """Do up to ``max_iter`` iterations.

        Args:
            closure: a function that evaluates the model with its gradients and returns the loss.

        Returns:
            The loss before the first iteration.

        Raises:
            RuntimeError: if ``line_search_fn`` is unknown.
        """
        (group,) = self.param_groups
        if not group["params"]:
            return evaluate(closure)
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        objective = Objective(group, closure)
        first = objective.evaluate()
        state["func_evals"] += 1
        if np.abs(objective.g).max() > group["tolerance_grad"]:
            self._iterate(group, state, objective)
        return first

    def _iterate(self, group: Group, state: dict[str, Any], objective: "Objective") -> None:
        """Do all iterations of a step."""
        memory = Memory(state, group["history_size"])
        t, d = as_array(state.get("t")), as_array(state.get("d"))
        before_g, before_loss = as_array(state.get("prev_flat_grad")), state.get("prev_loss")
        evaluations, lr = 1, number(group["lr"])
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            g = objective.g
            if d is None:  # the first iteration, or a repeat after an interrupt in it
                d, t = -g, min(1.0, 1.0 / np.abs(g).sum()) * lr
                memory.forget()
            else:
                memory.learn(g - before_g, d * t)
                d, t = memory.direction(g), lr
            before_g, before_loss = g, objective.loss
            slope = g.dot(d)
            if slope > -group["tolerance_change"]:
                break
            t, evaluated = self._advance(group, objective, t, d, slope, iteration, evaluations)
            evaluations += evaluated
            state["func_evals"] += evaluated
            if (
                evaluations >= group["max_eval"]
                or np.abs(objective.g).max() <= group["tolerance_grad"]
                or np.abs(d * t).max() <= group["tolerance_change"]
                or abs(objective.loss - before_loss) < group["tolerance_change"]
            ):
                break
        before = {"prev_flat_grad": as_state(before_g), "prev_loss": before_loss}
        state.update(d=as_state(d), t=as_state(t), **memory.kept(), **before)

    def _advance(
        self, group: Group, objective: "Objective", t: Number, d: Array, slope: Number,
        iteration: int, evaluations: int,
    ) -> tuple[Number, int]:  # fmt: skip
        """Move along ``d``; returns the distance and the number of calls of the closure."""
        search = group["line_search_fn"]
        if search is None:
            objective.move(t, d)
            if iteration == group["max_iter"]:  # the loss would not be used
                return t, 0
            objective.evaluate()
            return t, 1
        if search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        values = [p._array.copy() for p in group["params"]]
        start = Point(0, objective.loss, objective.g, slope)

        def at(t: Number) -> Point:
            objective.move(t, d)
            objective.evaluate()
            objective.put_back(values)
            return Point(t, objective.loss, objective.g, objective.g.dot(d))

        room = group["max_eval"] - evaluations
        point, evaluated = strong_wolfe(at, start, t, np.abs(d).max(), room)
        objective.loss, objective.g = point.f, point.g
        objective.move(point.t, d)
        return point.t, evaluated


class Objective:
    """The minimized function of all parameters as one vector: its value and gradient there."""

    loss: float
    g: Array

    def __init__(self, group: Group, closure: Closure) -> None:
        self.params: list[Tensor] = group["params"]
        self.closure = closure
        self.maximize = group.get("maximize", False)
        self.writer = ("LBFGS.step", current_site())

    def evaluate(self) -> Any:
        """Call the closure, store the loss and the gradient; returns the closure's result."""
        loss = evaluate(self.closure)
        value = float(loss.detach() if isinstance(loss, Tensor) else loss)
        self.loss = -value if self.maximize else value
        parts = [
            np.zeros(p._array.size, p._array.dtype) if p._grad is None else p._grad._array.ravel()
            for p in self.params
        ]
        self.g = np.concatenate(parts)
        if self.maximize:
            np.negative(self.g, out=self.g)
        return loss

    def move(self, t: Number, d: Array) -> None:
        """Move the parameters by ``t`` along ``d``."""
        start = 0
        for p in self.params:
            array = p._array
            part = d[start : start + array.size].reshape(array.shape)
            array += part * scalar(t, array.dtype)
            start += array.size
            self._wrote(p)

    def put_back(self, values: list[Array]) -> None:
        """Restore former values of the parameters."""
        for p, value in zip(self.params, values, strict=True):
            p._array[...] = value
            self._wrote(p)

    def _wrote(self, p: Tensor) -> None:
        p._cell[0] += 1
        p._cell[1] = self.writer


class Memory:
    """The last changes of gradient (y) and position (s), which approximate the Hessian."""

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.state, self.size = state, size
        self.y: list[Array] = [as_array(y) for y in state.get("old_dirs") or ()]
        self.s: list[Array] = [as_array(s) for s in state.get("old_stps") or ()]
        self.ro: list[Number] = [as_array(ro) for ro in state.get("ro") or ()]
        self.scale: Number = as_array(state.get("H_diag"))

    def forget(self) -> None:
        """Reset to the state before the first iteration."""
        self.y, self.s, self.ro, self.scale = [], [], [], 1

    def learn(self, y: Array, s: Array) -> None:
        """Store a change if the function is curved along it."""
        curvature = y.dot(s)
        if not curvature > LEAST_CURVATURE:
            return
        for held, new in ((self.y, y), (self.s, s), (self.ro, 1.0 / curvature)):
            if len(held) == self.size:
                held.pop(0)
            held.append(new)
        self.scale = curvature / y.dot(y)

    def direction(self, g: Array) -> Array:
        """``-H g``, by two loops over the memory."""
        al = self.state.setdefault("al", [None] * self.size)
        weights: dict[int, Number] = {}
        d = -g
        for i in reversed(range(len(self.y))):
            weights[i] = self.s[i].dot(d) * self.ro[i]
            al[i] = as_state(weights[i])
            d -= self.y[i] * weights[i]
        d *= self.scale
        for i in range(len(self.y)):
            d += self.s[i] * (weights[i] - self.y[i].dot(d) * self.ro[i])
        return d

    def kept(self) -> dict[str, Any]:
        """The memory as entries of the optimizer's state."""
        lists = {"old_dirs": self.y, "old_stps": self.s, "ro": self.ro}
        entries = {name: [*map(as_state, values)] for name, values in lists.items()}
        return {**entries, "H_diag": as_state(self.scale)}


def as_array(value: Any) -> Any:
    """An entry of the state as an array, or as a NumPy scalar if it is 0-d."""
    return value._array[()] if isinstance(value, Tensor) else value


def as_state(value: Any) -> Any:
    """An array or NumPy scalar as a tensor for the state; a Python number unchanged."""
    return wrap(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value
