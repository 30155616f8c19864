"""Adam and AdamW."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core.origins import here
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.optim.arrays import count, counter, number
from nanotorch.optim.checks import (
    check_betas,
    check_learning_rate,
    refuse_capturable,
    refuse_negative,
)
from nanotorch.optim.optimizer import Closure, Group, Optimizer, evaluate, refuse_differentiable

Array = np.ndarray
# What states from before these options do not have.
LATER_OPTIONS = {
    "amsgrad": False,
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
    "decoupled_weight_decay": False,
    "fused": None,
}


class Adam(Optimizer):
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

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in LATER_OPTIONS.items():
                group.setdefault(name, value)
            for p in group["params"]:
                held = self.state.get(p)
                if held and not isinstance(held["step"], Tensor):
                    held["step"] = counter(held["step"])

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters that have a gradient.

        Args:
            closure: evaluates the model anew and returns the loss, which `step` returns then.
        """
        loss = evaluate(closure)
        writer = (f"{type(self).__name__}.step", here())
        for group in self.param_groups:
            key, numbers = None, None
            for p in group["params"]:
                if p._grad is None:
                    continue
                state = self.state[p] or self._start(p, group)
                t, dtype = count(state["step"]._array), p._array.dtype
                if numbers is None or key != (t, dtype):  # most often the same for all parameters
                    key, numbers = (t, dtype), Numbers.of(group, t, dtype)
                update(p._array, p._grad._array, state, group, numbers)
                p._cell[0] += 1 if numbers.shrink is None else 2  # as PyTorch counts writes
                p._cell[1] = writer
        return loss

    def _start(self, p: Tensor, group: Group) -> dict[str, Tensor]:
        """The state before the first step."""
        if group["capturable"]:
            refuse_capturable()
        state: dict[str, Tensor] = self.state[p]
        state["step"] = counter(0.0)
        for name in ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])):
            state[name] = wrap(np.zeros_like(p._array))
        return state


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


class Numbers(NamedTuple):
    """The numbers in the formulas of `Adam`, as 0-d arrays of a parameter's dtype."""

    decay: Array | None  # of the gradient's penalty
    shrink: Array | None  # 1 - lr · weight_decay, if that is decoupled
    gain1: Array  # 1 - β₁
    beta2: Array
    gain2: Array  # 1 - β₂
    root: Array  # √(1 - β₂ᵗ)
    eps: Array
    step: Array  # -lr / (1 - β₁ᵗ)

    @classmethod
    def of(cls, group: Group, t: float, dtype: np.dtype) -> "Numbers":
        """Those of a group's options at step t."""
        beta1, beta2 = (number(beta) for beta in group["betas"])
        decay, lr = number(group["weight_decay"]), number(group["lr"])
        decoupled = group["decoupled_weight_decay"]
        return cls(
            np.array(decay, dtype) if decay and not decoupled else None,
            np.array(1 - lr * decay, dtype) if decay and decoupled else None,
            np.array(1 - beta1, dtype),
            np.array(beta2, dtype),
            np.array(1 - beta2, dtype),
            np.array((1 - beta2**t) ** 0.5, dtype),
            np.array(group["eps"], dtype),
            np.array(-lr / (1 - beta1**t), dtype),
        )


def update(p: Array, g: Array, state: dict[str, Tensor], group: Group, numbers: Numbers) -> None:
    """One step of a parameter in place, by the formulas of `Adam`, each rounded as PyTorch's."""
    decay, shrink, gain1, beta2, gain2, root, eps, step = numbers
    m, v = state["exp_avg"]._array, state["exp_avg_sq"]._array
    if group["maximize"]:
        g = -g
    if shrink is not None:
        p *= shrink
    elif decay is not None:
        g = g + p * decay
    m += (g - m) * gain1
    v *= beta2
    v += g * gain2 * g
    if group["amsgrad"]:
        greatest = state["max_exp_avg_sq"]._array
        v = np.maximum(greatest, v, out=greatest)
    scale = np.sqrt(v)
    scale /= root
    scale += eps
    p += m * step / scale
