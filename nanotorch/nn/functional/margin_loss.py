"""Losses that ask for a margin between scores."""

import numpy as np

from nanotorch import ops
from nanotorch._core.batch_functions import looped, under_vmap
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.functional.activation import logsigmoid
from nanotorch.nn.functional.reduction import checked_reduction, uncastable
from nanotorch.ops import margin_loss as kernels
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.given import constants_given, tensors_given


@under_vmap(looped)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``Σ max(0, margin - input[target] + input[c])ᵖ / C`` over the other classes c.

    Args:
        input: scores.
        target: class numbers in [0, C), ``int64``.
        p: 1 or 2. Default: 1.
        margin: Default: 1.
        weight: of each class, (C,), by that of the target. Default: ones.

    Shape:
        ``input`` (N, C) or (C,), ``target`` (N,) or a number.

    Raises:
        ValueError: for another ``p``.
        RuntimeError: for shapes, sizes or dtypes that do not fit, a class number out of range.

    Reference:
        Crammer and Singer, On the Algorithmic Implementation of Multiclass Kernel-based Vector
        Machines, JMLR 2001.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("multi_margin_loss", input=input, target=target)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    shape = input._array.shape
    check_scores(shape)
    n, c = (1, shape[0]) if len(shape) == 1 else shape
    if target.ndim > 1 or target.numel() != n:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{n}], but got {list(target.shape)}. "
            f"Input has shape {list(shape)}."
        )
    if weight is not None and weight.numel() != c:
        raise RuntimeError(f"inconsistent weight size, expected {c} but got {list(weight.shape)}")
    constants_given("multi_margin_loss", weight=weight)
    classes = numbers_of(target).reshape(-1, 1)
    if ((classes < 0) | (classes >= c)).any():
        raise RuntimeError("target out of range")
    scale = np.full((n, 1), 1 / c, input._array.dtype)
    if weight is not None:
        scale *= weight._array[classes]
    chosen, shape = wrap(classes == np.arange(c)), tuple(target.shape)
    loss: Tensor = kernels.multi_margin(input, chosen, wrap(scale), p, margin, reduction, shape)
    return loss


def check_scores(shape: tuple[int, ...]) -> None:
    """Refuse what is not one row of scores or several."""
    if len(shape) not in (1, 2) or not shape[-1]:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(shape)}"
        )


def numbers_of(target: Tensor) -> np.ndarray:
    """Class numbers as an array.

    Raises:
        RuntimeError: for another dtype than ``int64``.
    """
    if target._array.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.char}")
    return target._array


@under_vmap(looped)
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``Σ max(0, 1 - input[t] + input[c]) / C`` over the right classes t and the other ones c.

    Args:
        input: scores.
        target: numbers of the right classes, ``int64``, the first -1 ends them.

    Shape:
        ``input`` (N, C) or (C,), ``target`` the same.

    Raises:
        RuntimeError: for shapes or dtypes that do not fit, a class number out of range.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("multilabel_margin_loss", input=input, target=target)
    shape = input._array.shape
    check_scores(shape)
    if target.shape != input.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(shape)}"
        )
    if ((target._array < -1) | (target._array >= shape[-1])).any():
        raise RuntimeError("argument #2 'target' is out of range")
    classes = numbers_of(target).reshape(-1, shape[-1])
    named = np.logical_and.accumulate(classes >= 0, 1)
    times = np.zeros(classes.shape, input._array.dtype)
    row, column = np.nonzero(named)
    np.add.at(times, (row, classes[row, column]), 1)
    others = (times == 0).astype(times.dtype)
    loss: Tensor = kernels.multilabel_margin(input, wrap(times), wrap(others), reduction)
    return loss


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the classes of the binary cross entropies of logits.

    Args:
        input: logits.
        target: 0 or 1 for each class.
        weight: of each class, (C,). Default: ones.

    Shape:
        ``input`` (N, C) or (C,), ``target`` the same.

    Raises:
        ValueError: for an unknown ``reduction``.
    """
    if size_average is not None or reduce is not None:
        reduction = checked_reduction(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    dim = input.dim() - 1
    per_sample: Tensor = loss.sum(dim) / input.size(dim)
    if reduction == "none":
        return per_sample
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    total: Tensor = per_sample.mean() if reduction == "mean" else per_sample.sum()
    return total


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` for targets 1 and -1; ``target`` may broadcast.

    Raises:
        RuntimeError: for shapes that do not fit, or an ``input`` of integers.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("soft_margin_loss", input=input, target=target)
    shape = common_shape(tuple(input.shape), tuple(target.shape))
    if shape != input.shape:
        raise RuntimeError(
            f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}"
        )
    if not input.is_floating_point():
        raise uncastable(ops.zeros(0), input)
    constants_given("soft_margin_loss", target=target)
    target = target.to(input.dtype).expand(shape)
    loss: Tensor = kernels.soft_margin(input, target, reduction)
    return loss
