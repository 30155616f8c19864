"""RAdam."""

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
from nanotorch.optim.flat_buffer import (
    check_betas,
    check_learning_rate,
    number,
    refuse_negative,
    scalar,
)
from nanotorch.optim.optimizer import Group, refuse_differentiable


class RAdam(Elementwise):
    """RAdam: Adam whose first steps are plain momentum, until the variance is known well enough.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p        (decoupled: p ← p - lr · weight_decay · p instead)
        m ← β₁ m + (1 - β₁) g
        v ← β₂ v + (1 - β₂) g²
        N ← 2 / (1 - β₂) - 1,  n ← N - 2 t β₂ᵗ / (1 - β₂ᵗ)
        r ← √((n - 4)(n - 2) N / ((N - 4)(N - 2) n))
        p ← p - lr · m / (1 - β₁ᵗ) · r √(1 - β₂ᵗ) / (√v + eps)      (if n > 5; else
        p ← p - lr · m / (1 - β₁ᵗ))

    Args:
        params: see `Optimizer`.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 1e-3.
        betas: β₁ and β₂, in [0, 1). Default: (0.9, 0.999).
        eps: at least 0. Default: 1e-8.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        decoupled_weight_decay: see above. Default: False.
        foreach: accepted; PyTorch's choice of implementation.
        maximize: ascend instead of descend.
        capturable: only for accelerators: steps refuse it.
        differentiable: only False.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Liu, Jiang, He, Chen, Liu, Gao and Han, On the Variance of the Adaptive Learning Rate and
        Beyond, ICLR 2020, algorithm 2; the threshold is 5, not 4.
    """

    later: ClassVar[dict[str, Any]] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "capturable": False,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def _begin(self, p: Array, group: Group) -> State:
        return zeros(p, "exp_avg", "exp_avg_sq")

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        beta1, beta2 = (number(beta) for beta in group["betas"])
        correction = 1 - beta2**t
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / correction
        known = length > 5.0
        rectified = (length - 4) * (length - 2) * longest if known else 0.0
        rectified /= (longest - 4) * (longest - 2) * length if known else 1.0
        values = (beta2, 1 - beta2, group["eps"], 1 - beta1**t, -number(group["lr"]))
        scale = scalar((correction * rectified) ** 0.5, dtype) if known else None
        return approaching(1 - beta1, dtype), *(scalar(value, dtype) for value in values), scale

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        gain1, beta2, gain2, eps, correction, lr, scale = numbers
        m, v = state["exp_avg"]._array, state["exp_avg_sq"]._array
        approach(m, g, gain1)
        accumulate(v, g, beta2, gain2)
        step = m / correction
        step *= lr
        if scale is not None:
            d = np.sqrt(v)
            d += eps
            step *= scale / d
        p += step
