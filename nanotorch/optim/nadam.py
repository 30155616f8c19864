"""NAdam."""

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
    counter,
    number,
    refuse_negative,
    scalar,
)
from nanotorch.optim.optimizer import Group, refuse_differentiable


class NAdam(Elementwise):
    """NAdam: Adam with Nesterov's momentum, which also looks ahead along the gradient.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p        (decoupled: p ← p - lr · weight_decay · p instead)
        μ ← β₁ (1 - ½ 0.96^(t · momentum_decay)),  μ' ← the same for t + 1
        Π ← Π μ
        m ← β₁ m + (1 - β₁) g
        v ← β₂ v + (1 - β₂) g²
        d ← √(v / (1 - β₂ᵗ)) + eps
        p ← p - lr (1 - μ) / (1 - Π) · g / d - lr μ' / (1 - Π μ') · m / d

    Args:
        params: see `Optimizer`.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 2e-3.
        betas: β₁ and β₂, in [0, 1). Default: (0.9, 0.999).
        eps: at least 0. Default: 1e-8.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        momentum_decay: at least 0. Default: 4e-3.
        decoupled_weight_decay: see above. Default: False.
        foreach: accepted; PyTorch's choice of implementation.
        maximize: ascend instead of descend.
        capturable: only for accelerators: steps refuse it.
        differentiable: only False.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Dozat, Incorporating Nesterov Momentum into Adam, ICLR 2016 workshop.
    """

    later: ClassVar[dict[str, Any]] = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }
    counters: ClassVar[tuple[str, ...]] = ("step", "mu_product")
    capturable: ClassVar[tuple[str, ...]] = ("params, mu_products",)
    writes: ClassVar[int] = 2

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        refuse_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def _begin(self, p: Array, group: Group) -> State:
        return {"mu_product": counter(1.0), **zeros(p, "exp_avg", "exp_avg_sq")}

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        beta1, beta2 = (number(beta) for beta in group["betas"])
        decay = group["momentum_decay"]
        values = (beta2, 1 - beta2, 1 - beta2**t, group["eps"])
        return (
            approaching(1 - beta1, dtype),
            *(scalar(value, dtype) for value in values),
            beta1 * (1.0 - 0.5 * 0.96 ** (t * decay)),
            beta1 * (1.0 - 0.5 * 0.96 ** ((t + 1) * decay)),
            number(group["lr"]),
        )

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        gain1, beta2, gain2, correction, eps, mu, next_mu, lr = numbers
        m, v = state["exp_avg"]._array, state["exp_avg_sq"]._array
        approach(m, g, gain1)
        accumulate(v, g, beta2, gain2)
        d = np.sqrt(v / correction)
        d += eps
        products = state["mu_product"]._array
        products *= mu
        product = products.item()  # one per parameter, since betas may change between steps
        p += g * scalar(-lr * (1.0 - mu) / (1.0 - product), p.dtype) / d
        p += m * scalar(-lr * next_mu / (1.0 - product * next_mu), p.dtype) / d
