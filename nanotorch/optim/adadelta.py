"""Adadelta."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.optim.elementwise import Array, Elementwise, Numbers, State, accumulate, zeros
from nanotorch.optim.flat_buffer import (
    CAPTURABLE_ON,
    check_learning_rate,
    number,
    refuse_negative,
    scalar,
)
from nanotorch.optim.optimizer import Group, refuse_differentiable


class Adadelta(Elementwise):
    """Adadelta: steps in units of past steps over past gradients, which need no learning rate.

    For the gradient g of a parameter p, each step computes

        g ← g + weight_decay · p
        v ← rho · v + (1 - rho) g²
        d ← √(u + eps) / √(v + eps) · g
        u ← rho · u + (1 - rho) d²
        p ← p - lr · d

    Args:
        params: see `Optimizer`.
        lr: a factor of the steps, at least 0; a number or a tensor of one element. Default: 1.
        rho: how much of the running averages stays, in [0, 1]. Default: 0.9.
        eps: at least 0. Default: 1e-6.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        foreach: accepted; PyTorch's choice of implementation.
        capturable: only for accelerators: steps refuse it.
        maximize: ascend instead of descend.
        differentiable: only False.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012.
    """

    capturable: ClassVar[tuple[str, ...]] = ("params", CAPTURABLE_ON.replace(", 'xla'", ""))

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        refuse_negative(epsilon=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def _begin(self, p: Array, group: Group) -> State:
        return zeros(p, "square_avg", "acc_delta")

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        values = (group["rho"], 1 - group["rho"], group["eps"], -number(group["lr"]))
        return tuple(scalar(value, dtype) for value in values)

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        rho, gain, eps, step = numbers
        v, u = state["square_avg"]._array, state["acc_delta"]._array
        accumulate(v, g, rho, gain)
        d = np.sqrt(u + eps)
        d /= np.sqrt(v + eps)
        d *= g
        accumulate(u, d, rho, gain)
        d *= step
        p += d
