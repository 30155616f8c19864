"""Adagrad."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from nanotorch._core.tensor import Tensor, wrap
from nanotorch.optim.elementwise import Array, Elementwise, Numbers, State
from nanotorch.optim.flat_buffer import check_learning_rate, number, refuse_negative, scalar
from nanotorch.optim.optimizer import Group, refuse_differentiable


class Adagrad(Elementwise):
    """Adagrad: steps in units of the root of the sum of all squared gradients.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p
        s ← s + g²
        p ← p - lr / (1 + (t - 1) lr_decay) · g / (√s + eps)

    Args:
        params: see `Optimizer`.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 1e-2.
        lr_decay: at least 0. Default: 0.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        initial_accumulator_value: what the sum begins with, at least 0. Default: 0.
        eps: at least 0. Default: 1e-10.
        foreach, fused: accepted; PyTorch's choice of implementation.
        maximize: ascend instead of descend.
        differentiable: only False.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Duchi, Hazan and Singer, Adaptive Subgradient Methods for Online Learning and Stochastic
        Optimization, JMLR 12, 2011.
    """

    later: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_learning_rate(lr)
        refuse_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)
        for group in self.param_groups:  # before there are gradients, as in PyTorch
            for p in group["params"]:
                self._start(p, group)

    def _begin(self, p: Array, group: Group) -> State:
        return {"sum": wrap(np.full_like(p, self.defaults["initial_accumulator_value"]))}

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        step = -number(group["lr"]) / (1 + (t - 1) * group["lr_decay"])
        return scalar(group["eps"], dtype), scalar(step, dtype)

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        eps, step = numbers
        total = state["sum"]._array
        total += g * g
        scale = np.sqrt(total)
        scale += eps
        p += g * step / scale
