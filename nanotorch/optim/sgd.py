"""Stochastic gradient descent."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from nanotorch._core.call_site import here
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.optim.flat_buffer import check_one_number, factor, flat_of, number, scalar
from nanotorch.optim.optimizer import Closure, Group, Optimizer, evaluate, refuse_differentiable

Array = np.ndarray


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum if wanted.

    For the gradient g of a parameter p, each step computes

        g ← g + weight_decay · p
        b ← momentum · b + (1 - dampening) · g      (b ← g in the first step)
        p ← p - lr · b                              (nesterov: p ← p - lr · (g + momentum · b))

    Args:
        params: see `Optimizer`.
        lr: the learning rate, at least 0; a number or a tensor of one element. Default: 1e-3.
        momentum: at least 0. Default: 0.
        dampening: of the momentum. Default: 0.
        weight_decay: strength of the L2 penalty, at least 0. Default: 0.
        nesterov: step along the gradient plus momentum; needs momentum and no dampening.
        maximize: ascend instead of descend.
        foreach, fused: accepted; PyTorch's choice of implementation. Default: None.
        differentiable: only False.

    Raises:
        ValueError: for an option out of its range.
        NotImplementedError: if it should be ``differentiable``.

    Reference:
        Sutskever, Martens, Dahl and Hinton, On the importance of initialization and momentum in
        deep learning, ICML 2013; the momentum here is not multiplied by the learning rate.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        check_one_number(lr)
        if number(lr) < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if number(weight_decay) < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, defaults)
        refuse_differentiable(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("nesterov", "maximize", "foreach", "differentiable", "fused"):
                group.setdefault(name, None if name == "foreach" else False)

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters that have a gradient.

        Args:
            closure: evaluates the model anew and returns the loss, which `step` returns then.
        """
        loss = evaluate(closure)
        writer = ("SGD.step", here())
        for group in self.param_groups:
            lr, rate, momentum = number(group["lr"]), None, group["momentum"]
            kind = None  # of which the rate is
            plain = not (momentum or group["weight_decay"] or group["maximize"])
            flat = None if plain else flat_of(self, group)
            if flat is not None and (not momentum or "momentum_buffer" in flat.state):
                g = direction(flat.array, flat.grad, flat.state, group)
                np.multiply(g, factor(lr, g.dtype), out=flat.grad)
                np.subtract(flat.array, flat.grad, out=flat.array)
                flat.note(1, writer)
                continue
            for p in group["params"]:
                if p._grad is not None:
                    array, g = p._array, p._grad._array
                    if not plain:
                        g = direction(array, g, self.state[p] if momentum else {}, group)
                    if rate is None or array.dtype != kind:
                        kind, rate = array.dtype, factor(lr, array.dtype)
                    np.subtract(array, g * rate, out=array)
                    cell = p._cell
                    cell[0] += 1
                    cell[1] = writer
        return loss


def direction(p: Array, g: Array, state: dict[str, Any], group: Group) -> Array:
    """What to step along: the gradient of a parameter with decay and momentum."""
    dtype, momentum, dampening = p.dtype, group["momentum"], group["dampening"]
    decay = number(group["weight_decay"])
    if group["maximize"]:
        g = -g
    if decay:
        g = (g + p * factor(decay, dtype)).astype(dtype, copy=False)
    if not momentum:
        return g
    if state.get("momentum_buffer") is None:
        state["momentum_buffer"] = wrap(np.array(g))
        held = state["momentum_buffer"]._array
    else:
        held = state["momentum_buffer"]._array
        held *= scalar(momentum, dtype)
        held += g * factor(1 - dampening, dtype) if dampening else g
    if not group["nesterov"]:
        return held
    return (g + held * factor(momentum, dtype)).astype(dtype, copy=False)
