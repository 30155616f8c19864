"""Adam and AdamW."""

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.optim.elementwise import Elementwise, Numbers, State, zeros
from nanotorch.optim.flat_buffer import (
    check_betas,
    check_learning_rate,
    number,
    refuse_negative,
    scalar,
)
from nanotorch.optim.optimizer import Group, refuse_differentiable

Array = np.ndarray


class Adam(Elementwise):
    """Adam: steps in units of the gradient's running mean over its running root mean square.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p          (decoupled: p ← p - lr · weight_decay · p instead)
        m ← β₁ m + (1 - β₁) g
        v ← β₂ v + (1 - β₂) g²            (amsgrad: below, the greatest v so far stands for v)
        p ← p - lr / (1 - β₁ᵗ) · m / (√v / √(1 - β₂ᵗ) + eps)

    Args:
        params: see `Optimizer`.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 1e-3.
        betas: β₁ and β₂, in [0, 1). Default: (0.9, 0.999).
        eps: at least 0. Default: 1e-8.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        amsgrad: see above. Default: False.
        maximize: ascend instead of descend.
        foreach, fused: accepted; PyTorch's choice of implementation.
        capturable: only for accelerators: steps refuse it.
        differentiable: only False.
        decoupled_weight_decay: see above; this is `AdamW`. Default: False.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1;
        Reddi, Kale and Kumar, On the Convergence of Adam and Beyond, ICLR 2018 (amsgrad).
    """

    later: ClassVar[dict[str, Any]] = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_moments(betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def _begin(self, p: Array, group: Group) -> State:
        return zeros(p, "exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else []))

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        beta1, beta2 = (number(beta) for beta in group["betas"])
        same = (1 - beta1, beta2, 1 - beta2, group["eps"])
        return (
            *(scalar(value, dtype) for value in same),
            np.array((1 - beta2**t) ** 0.5, dtype),
            np.array(-number(group["lr"]) / (1 - beta1**t), dtype),
            group["amsgrad"],
        )

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        gain1, beta2, gain2, eps, root, step, amsgrad = numbers
        m, v = state["exp_avg"]._array, state["exp_avg_sq"]._array
        m += (g - m) * gain1
        v *= beta2
        v += g * gain2 * g
        if amsgrad:
            greatest = state["max_exp_avg_sq"]._array
            v = np.maximum(greatest, v, out=greatest)
        scale = np.sqrt(v)
        scale /= root
        scale += eps
        p += m * step / scale


class AdamW(Adam):
    """Adam with decoupled weight decay, which shrinks the parameters and leaves the moments alone.

    The arguments are those of `Adam`; ``weight_decay`` is 1e-2 by default.

    Reference:
        Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # also when the state is one of Adam's
            group["decoupled_weight_decay"] = True


def check_moments(betas: Any, eps: float, weight_decay: float) -> None:
    """Refuse options of Adam that are out of their range."""
    refuse_negative(epsilon=eps)
    check_betas(betas)
    refuse_negative(weight_decay=weight_decay)
    if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor)):
        raise ValueError("betas must be either both floats or both Tensors")
    for position, beta in enumerate(betas):
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{position}] must be 1-element")
