"""Averaged stochastic gradient descent."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.optim.elementwise import Array, Elementwise, Numbers, State, zeros
from nanotorch.optim.flat_buffer import (
    check_learning_rate,
    counter,
    number,
    refuse_negative,
    scalar,
)
from nanotorch.optim.optimizer import Group, refuse_differentiable


class ASGD(Elementwise):
    """Averaged stochastic gradient descent.

    The state ``ax`` holds the average of the parameter since step ``t0``. For the gradient g of a
    parameter p, step t computes

        g ← g + weight_decay · p
        p ← p - lambd · η · p - η · g           (η is lr in the first step)
        a ← a + μ (p - a)                       (μ is 1 in the first step)
        η ← lr / (1 + lambd · lr · t)^alpha
        μ ← 1 / max(1, t - t0)

    Args:
        params: see `Optimizer`.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 1e-2.
        lambd: strength of the decay, at least 0. Default: 1e-4.
        alpha: the power of the learning rate's decline, at least 0. Default: 0.75.
        t0: when averaging begins. Default: 1e6.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        foreach: accepted; PyTorch's choice of implementation.
        maximize: ascend instead of descend.
        differentiable: only False.
        capturable: only for accelerators: steps refuse it.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, SIAM Journal
        on Control and Optimization 30, 1992.
    """

    counters: ClassVar[tuple[str, ...]] = ("step", "eta", "mu")
    capturable: ClassVar[tuple[str, ...]] = ("params, mus, etas,",)
    writes: ClassVar[int] = 2

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        refuse_negative(lambd=lambd, alpha=alpha, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def _begin(self, p: Array, group: Group) -> State:
        numbers = {"eta": counter(number(group["lr"])), "mu": counter(1.0)}
        return {**numbers, **zeros(p, "ax")}

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        lr, lambd = number(group["lr"]), group["lambd"]
        eta = lr / (1 + lambd * lr * t) ** group["alpha"]
        return lambd, eta, 1 / max(1, t - group["t0"])

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        lambd, next_eta, next_mu = numbers
        eta, mu, average = (state[name]._array for name in ("eta", "mu", "ax"))
        step = eta.item()
        p *= scalar(1 - lambd * step, p.dtype)
        p -= g * scalar(step, p.dtype)
        if mu.item() == 1:
            np.copyto(average, p)
        else:
            average += (p - average) * mu.astype(p.dtype)
        eta[()] = next_eta
        mu[()] = next_mu
