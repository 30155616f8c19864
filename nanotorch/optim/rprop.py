"""Rprop."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.elementwise import sign
from nanotorch.optim.elementwise import Array, Elementwise, Numbers, State, zeros
from nanotorch.optim.flat_buffer import check_learning_rate, number, scalar
from nanotorch.optim.optimizer import Group, refuse_differentiable


class Rprop(Elementwise):
    """Resilient backpropagation: every element has a step size, of the gradient only signs count.

    For the gradient g of a parameter p, each step computes

        s ← η⁺ s  where g has the sign of the gradient before,  η⁻ s  where it has the other;
            held between the least and the greatest step size
        g ← 0     where it has the other sign
        p ← p - sign(g) · s

    Args:
        params: see `Optimizer`.
        lr: the first step size, at least 0; a number or a tensor of one element. Default: 1e-2.
        etas: η⁻ and η⁺, 0 < η⁻ < 1 < η⁺. Default: (0.5, 1.2).
        step_sizes: the least and the greatest step size. Default: (1e-6, 50).
        capturable: only for accelerators: steps refuse it.
        foreach: accepted; PyTorch's choice of implementation.
        maximize: ascend instead of descend.
        differentiable: only False.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation Learning: The
        RPROP Algorithm, ICNN 1993.
    """

    decaying: ClassVar[bool] = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def _begin(self, p: Array, group: Group) -> State:
        return {**zeros(p, "prev"), "step_size": wrap(np.full_like(p, number(group["lr"])))}

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        values = (*group["etas"], *group["step_sizes"], 1.0)
        return tuple(scalar(value, dtype) for value in values)

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        shrink, grow, least, greatest, same = numbers
        before, size = state["prev"]._array, state["step_size"]._array
        agreement = g * before
        turned = agreement < 0
        size *= np.where(turned, shrink, np.where(agreement > 0, grow, same))
        np.maximum(size, least, out=size)
        np.minimum(size, greatest, out=size)
        np.copyto(before, g)
        before[turned] = 0
        p -= sign(before) * size
