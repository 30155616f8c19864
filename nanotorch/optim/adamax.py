"""Adamax."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.optim.elementwise import (
    Array,
    Elementwise,
    Numbers,
    State,
    approach,
    approaching,
    zeros,
)
from nanotorch.optim.flat_buffer import (
    check_betas,
    check_learning_rate,
    number,
    refuse_negative,
    scalar,
)
from nanotorch.optim.optimizer import Group, refuse_differentiable


class Adamax(Elementwise):
    """Adamax: Adam with the greatest of the fading gradients in place of their root mean square.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p
        m ← β₁ m + (1 - β₁) g
        u ← max(β₂ u, |g| + eps)
        p ← p - lr / (1 - β₁ᵗ) · m / u

    Args:
        params: see `Optimizer`.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 2e-3.
        betas: β₁ and β₂, in [0, 1). Default: (0.9, 0.999).
        eps: at least 0. Default: 1e-8.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        foreach: accepted; PyTorch's choice of implementation.
        maximize: ascend instead of descend.
        differentiable: only False.
        capturable: only for accelerators: steps refuse it.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 2.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        refuse_negative(epsilon=eps)
        check_betas(betas)
        refuse_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def _begin(self, p: Array, group: Group) -> State:
        return zeros(p, "exp_avg", "exp_inf")

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        beta1, beta2 = (number(beta) for beta in group["betas"])
        step = -number(group["lr"]) / (1 - beta1**t)
        values = (beta2, group["eps"], step)
        return approaching(1 - beta1, dtype), *(scalar(value, dtype) for value in values)

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        gain, beta2, eps, step = numbers
        m, u = state["exp_avg"]._array, state["exp_inf"]._array
        approach(m, g, gain)
        u *= beta2
        magnitude = np.abs(g)
        magnitude += eps
        np.maximum(u, magnitude, out=u)
        p += m * step / u
