"""RMSprop."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.optim.elementwise import (
    Array,
    Elementwise,
    Numbers,
    State,
    accumulate,
    approach,
    approaching,
    zeros,
)
from nanotorch.optim.flat_buffer import check_learning_rate, number, refuse_negative, scalar
from nanotorch.optim.optimizer import Group, refuse_differentiable


class RMSprop(Elementwise):
    """RMSprop: steps in units of the gradient's running root mean square.

    For the gradient g of a parameter p, each step computes

        g ← g + weight_decay · p
        v ← alpha · v + (1 - alpha) g²
        m ← alpha · m + (1 - alpha) g               (centered: v - m² stands for v below)
        b ← momentum · b + g / (√v + eps)           (without momentum: b ← g / (√v + eps))
        p ← p - lr · b

    Args:
        params: see `Optimizer`.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 1e-2.
        alpha: how much of the running averages stays, at least 0. Default: 0.99.
        eps: at least 0. Default: 1e-8.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        momentum: at least 0. Default: 0.
        centered: divide by the standard deviation instead. Default: False.
        capturable: only for accelerators: steps refuse it.
        foreach: accepted; PyTorch's choice of implementation.
        maximize: ascend instead of descend.
        differentiable: only False.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Tieleman and Hinton, Lecture 6.5, COURSERA: Neural Networks for Machine Learning, 2012;
        Graves, Generating Sequences With Recurrent Neural Networks, 2013 (centered).
    """

    later: ClassVar[dict[str, Any]] = {"momentum": 0, "centered": False, **Elementwise.later}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        refuse_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def _begin(self, p: Array, group: Group) -> State:
        momentum = ["momentum_buffer"] if group["momentum"] > 0 else []
        return zeros(p, "square_avg", *momentum, *(["grad_avg"] if group["centered"] else []))

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        alpha, momentum = group["alpha"], group["momentum"]
        return (
            scalar(alpha, dtype),
            scalar(1 - alpha, dtype),
            approaching(1 - alpha, dtype) if group["centered"] else None,
            scalar(group["eps"], dtype),
            scalar(momentum, dtype) if momentum > 0 else None,
            scalar(-number(group["lr"]), dtype),
        )

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        alpha, gain, centering, eps, momentum, step = numbers
        v = state["square_avg"]._array
        accumulate(v, g, alpha, gain)
        if centering is not None:
            m = state["grad_avg"]._array
            approach(m, g, centering)
            v = v - m * m
        scale = np.sqrt(v)
        scale += eps
        if momentum is None:
            p += g * step / scale
            return
        b = state["momentum_buffer"]._array
        b *= momentum
        b += g / scale
        p += b * step
