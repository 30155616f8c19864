"""Negative log likelihoods of distributions, and the divergence between two."""

import math
from typing import Any

from nanotorch import ops
from nanotorch._core.batch_functions import looped, under_vmap
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.nn.functional.reduction import checked_reduction
from nanotorch.nn.functional.reduction import reduce as reduced
from nanotorch.ops.given import tensors_given
from nanotorch.ops.scalar import plus_number


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``target * (log(target) - input)``, where ``input`` are log-probabilities.

    Args:
        reduction: also "batchmean", for the sum divided by the number of samples, which is the
            divergence. Default: "mean", over all elements.
        log_target: ``target`` are log-probabilities too. Default: False.

    Raises:
        ValueError: for an unknown ``reduction``.

    Warns:
        UserWarning: for "mean".

    Reference:
        Kullback and Leibler, On Information and Sufficiency, 1951.
    """
    if size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    elif reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release."
        )
    tensors_given("kl_div", input=input, target=target)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    how = checked_reduction("sum" if reduction == "batchmean" else reduction)
    if log_target:
        values = ops.exp(target) * (target - input)
    else:
        values = ops.xlogy(target, target) - target * input
    loss = reduced(values, how)
    return loss / input.size(0) if reduction == "batchmean" and input.dim() else loss


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``exp(input) - target * input``: of counts whose logarithm of the mean is ``input``.

    Args:
        log_input: otherwise ``input`` is the mean: ``input - target * log(input + eps)``.
        full: add Stirling's approximation of ``log(target!)`` where ``target > 1``.
            Default: False.
        eps: Default: 1e-8.

    Raises:
        ValueError: for an unknown ``reduction``.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("poisson_nll_loss", input=input, target=target)
    if log_input:
        loss = ops.exp(input) - target * input
    else:
        loss = input - target * ops.log(plus_number(input, eps))
    if full:
        factorial = target * ops.log(target) - target + 0.5 * ops.log(2 * math.pi * target)
        loss = loss + factorial.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@under_vmap(looped)
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """``(log(var) + (input - target)² / var) / 2``: of targets around ``input``.

    Args:
        var: the variances, or one number for all; of the shape of ``input``, or with 1 in place of
            one size, or without the last.
        full: add ``log(2π) / 2``. Default: False.
        eps: variances are held above it. Default: 1e-6.

    Raises:
        ValueError: for negative variances, another shape, an unknown ``reduction``.

    Reference:
        Nix and Weigend, Estimating the mean and variance of the target probability distribution,
        1994.
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = ops.full_like(input, var)
    elif (var._array < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif (
            input.dim() != var.dim()
            or sum(n for n, m in zip(var.shape, input.shape, strict=True) if n != m) != 1
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (ops.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)
