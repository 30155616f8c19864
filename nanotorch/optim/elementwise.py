"""`Elementwise`, what optimizers have in common that update every element by itself."""

from typing import Any, ClassVar

import numpy as np

from nanotorch._core.call_site import here
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.optim.flat_buffer import count, counter, flat_of, number, refuse_capturable, scalar
from nanotorch.optim.optimizer import Closure, Group, Optimizer, evaluate

Array = np.ndarray
State = dict[str, Tensor]
Numbers = tuple[Any, ...]


class Elementwise(Optimizer):
    """An optimizer whose step is the same few array operations for every parameter.

    A subclass has the formulas: `_begin`, `_numbers` and `_update`. What is here holds for all of
    them: the count of steps, ascent (``maximize``), and decay of the weights, added to the
    gradient or (``decoupled_weight_decay``) applied to the parameter.

    Attributes:
        later: the options that states from before them do not have, with what stands for them.
        counters: the state that is one number per parameter.
        capturable: what `refuse_capturable` is told.
        writes: how often `_update` writes to a parameter, as PyTorch counts it.
        decaying: whether there is a weight decay; a group's own is not looked at otherwise.
    """

    later: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    counters: ClassVar[tuple[str, ...]] = ("step",)
    capturable: ClassVar[tuple[str, ...]] = ()
    writes: ClassVar[int] = 1
    decaying: ClassVar[bool] = True

    def _begin(self, p: Array, group: Group) -> State:
        """The state of a parameter before its first step, but for the count."""
        raise NotImplementedError

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        """The numbers in the formulas at step t, as 0-d arrays of the parameters' dtype."""
        raise NotImplementedError

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        """Change a parameter in place by its gradient, which must not be changed."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self.later.items():
                group.setdefault(name, value)
            for p in group["params"]:
                held = self.state.get(p) or {}
                for name in self.counters:
                    if name in held and not isinstance(held[name], Tensor):
                        held[name] = counter(held[name])

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters that have a gradient.

        Args:
            closure: evaluates the model anew and returns the loss, which `step` returns then.
        """
        loss = evaluate(closure)
        writer = (f"{type(self).__name__}.step", here())
        for group in self.param_groups:
            key, numbers = None, ()
            alike = self.counters == ("step",) and not group.get("capturable")
            flat = flat_of(self, group) if alike else None
            if flat is not None and flat.counts:
                dtype = flat.array.dtype
                numbers = self._numbers(group, flat.count(), dtype)
                flat.note(self._apply(flat.array, flat.grad, flat.state, group, numbers), writer)
                continue
            for p in group["params"]:
                if p._grad is None:
                    continue
                state = self.state[p] or self._start(p, group)
                if group.get("capturable"):
                    refuse_capturable(*self.capturable)
                t, dtype = count(state["step"]._array), p._array.dtype
                if key != (t, dtype):  # most often the same for all parameters
                    key, numbers = (t, dtype), self._numbers(group, t, dtype)
                p._cell[0] += self._apply(p._array, p._grad._array, state, group, numbers)
                p._cell[1] = writer
        return loss

    def _apply(self, p: Array, g: Array, state: State, group: Group, numbers: Numbers) -> int:
        """Change a parameter in place, with decay; how often PyTorch writes to it."""
        decay, shrink = decays(group) if self.decaying else (0, None)
        if group["maximize"]:
            g = -g
        if shrink is not None:
            p *= scalar(shrink, p.dtype)
        elif decay:
            g = g + p * scalar(decay, p.dtype)
        self._update(p, g, state, numbers)
        return self.writes + (shrink is not None)

    def _start(self, p: Tensor, group: Group) -> State:
        """The state before the first step."""
        state: State = self.state[p]
        state["step"] = counter(0.0)
        state.update(self._begin(p._array, group))
        return state


def decays(group: Group) -> tuple[float, float | None]:
    """How much of a parameter joins its gradient; else what a parameter is multiplied with."""
    decay = number(group.get("weight_decay", 0))
    if decay and group.get("decoupled_weight_decay"):
        return 0, 1 - number(group["lr"]) * decay
    return decay, None


def zeros(p: Array, *names: str) -> State:
    """State of a parameter's shape and memory order, all zeros."""
    return {name: wrap(np.zeros_like(p)) for name in names}


def accumulate(average: Array, g: Array, keep: Array, gain: Array) -> None:
    """``average ← keep · average + gain · g²``, in place."""
    average *= keep
    scaled = g * gain
    scaled *= g
    average += scaled


def approaching(gain: float, dtype: np.dtype) -> tuple[bool, Array]:
    """For `approach`: from which side to compute the average, and the share of the difference."""
    near = gain < 0.5
    return near, scalar(gain if near else 1 - gain, dtype)


def approach(average: Array, g: Array, gain: tuple[bool, Array]) -> None:
    """``average ← average + gain · (g - average)``, in place, with the smaller rounding error."""
    near, share = gain
    difference = g - average
    difference *= share
    if near:
        average += difference
    else:
        np.subtract(g, difference, out=average)
