"""Losses of class scores: negative log likelihood and cross entropy."""

from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core.arguments import refused
from nanotorch._core.batch_functions import looped, under_vmap
from nanotorch._core.origins import about_operands
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.functional.reduction import checked_reduction
from nanotorch.nn.functional.reduction import reduce as reduced
from nanotorch.ops import loss as kernels
from nanotorch.ops.activation import float_only
from nanotorch.ops.given import constants_given, tensors_given
from nanotorch.ops.picture_loss import picture_nll
from nanotorch.ops.scalar import over_number, times_number


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-weight[target] * input[target]`` of each sample; the mean is over the weights.

    Args:
        input: log-probabilities.
        target: class numbers in [0, C), ``int64`` or ``uint8``.
        weight: of each class, (C,).
        ignore_index: samples of this class number count for nothing. Default: -100.

    Shape:
        ``input`` (C,), (N, C) or (N, C, d₁, ...); ``target`` the same without C.

    Raises:
        ValueError: if the numbers of samples differ.
        RuntimeError: for targets of other shapes or dtypes, or not as many weights as classes.
        IndexError: for a class number out of range.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_shapes(input, target, weight)
    if input.ndim > 2:
        return of_pictures(input, target, weight, reduction, ignore_index)
    if input.ndim == 1:
        input, target = input.unsqueeze(0), target.reshape(1)
        reduction = "sum" if reduction == "none" else reduction
    constants_given("nll_loss_forward", weight=weight)
    loss: Tensor = kernels.nll(input, target, weight, reduction, ignore_index)
    return loss


def of_pictures(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int
) -> Tensor:
    """`nll_loss` of (N, C, d₁, ...), which PyTorch computes as (N, C, H, W)."""
    shape = target.shape
    if input.ndim != 4:
        input = input.reshape((*input.shape[:2], 1, -1))
        target = target.reshape((shape[0], 1, -1))
    constants_given("nll_loss2d_forward", weight=weight)
    loss: Tensor = picture_nll(input, target, weight, reduction, ignore_index)
    return loss.reshape(shape) if reduction == "none" and loss.ndim != len(shape) else loss


def check_shapes(input: Any, target: Any, weight: Tensor | None) -> None:
    """Refuse scores, class numbers and weights that do not fit together."""
    tensors_given("nll_loss_nd", input=input, target=target)
    scores, classes = input._array.shape, target._array.shape
    if not scores:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    samples = classes[0] if classes else 0
    if len(scores) == 1 and len(classes) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(scores) != 1 and scores[0] != samples:
        raise ValueError(
            f"Expected input batch_size ({scores[0]}) to match target batch_size ({samples})."
            + about_operands({"input": input, "target": target})
        )
    if len(scores) == 2 and len(classes) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    misfit = len(scores) > 2 and classes[1:] != scores[2:]
    if len(scores) == 4 or not misfit:  # PyTorch takes other classes of places for pictures
        kernels.check_kind(target._array)
    if len(scores) == 1 and classes and samples != 1:
        raise ValueError(
            f"For 1D input, 1D target must have size 1, but got target size: {samples}"
        )
    if misfit:
        expected = [scores[0], *scores[2:]]
        raise RuntimeError(
            f"Expected target size {expected}, got {list(classes)}"
            + about_operands({"input": input, "target": target})
        )
    if input._array.dtype.kind != "f":
        raise float_only(f"nll_loss{'2d_forward' * (len(scores) > 2)}_out_frame", input._array)
    check_weights(weight, scores[0] if len(scores) == 1 else scores[1])
    if weight is not None and weight._array.dtype != input._array.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.char} but found {weight.dtype.char}")
    if len(scores) > 2 and target._array.dtype == np.uint8:
        raise RuntimeError("expected scalar type Long but found Byte")


def check_weights(weight: Tensor | None, classes: int, prefix: str = "") -> None:
    """Refuse weights that are not one per class."""
    if weight is not None and not isinstance(weight, Tensor):
        raise refused(weight, "Tensor", ("cross_entropy_loss", "weight", 3))
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"{prefix}weight tensor should be defined either for all {classes} classes or no "
            f"classes but got weight tensor of shape: {list(weight._array.shape)}"
        )


@under_vmap(looped)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """`nll_loss` of ``log_softmax(input)``; or with class probabilities p as the target,
    ``-Σ weight p log_softmax(input)`` over the classes, whose mean is over the samples.

    Args:
        input: logits.
        target: class numbers, or probabilities of the shape of ``input``.
        weight: of each class, (C,).
        ignore_index: samples of this class number count for nothing. Default: -100.
        label_smoothing: the share, in [0, 1], of the target that is spread evenly over the
            classes. Default: 0.

    Shape:
        ``input`` (C,), (N, C) or (N, C, d₁, ...); ``target`` the same, or without C.

    Raises:
        RuntimeError, ValueError, IndexError: as `nll_loss`; for ``label_smoothing`` out of range.

    Reference:
        Szegedy et al., Rethinking the Inception Architecture for Computer Vision, CVPR 2016,
        section 7 (label smoothing).
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("cross_entropy_loss", input=input, target=target)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if input._array.shape == target._array.shape:
        return of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing)
    logs = ops.log_softmax(input, 0 if input.ndim == 1 else 1)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0.0:
        return loss
    even = spread_evenly(logs, target, weight, ignore_index, reduction)
    classes = logs.size(0 if logs.ndim == 1 else 1)
    shares = 1 - label_smoothing, label_smoothing / classes
    return times_number(loss, shares[0]) + times_number(even, shares[1])


def spread_evenly(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """The part of a smoothed cross entropy that asks for all classes alike."""
    dim = 0 if logs.ndim == 1 else 1
    ignored = wrap(target._array == ignore_index)
    values = logs if weight is None else logs * per_class(weight, logs.ndim)
    losses: Tensor = ops.masked_fill(-values.sum(dim), ignored, 0.0)
    if reduction != "mean":
        return reduced(losses, reduction)
    counted = ~ignored
    if weight is None:
        mean: Tensor = ops.masked_select(losses, counted).mean()
        return mean
    chosen = weight._array.take(target._array[counted._array])
    return losses.sum() / float(np.add.reduce(chosen, None))


def per_class(weight: Tensor, ndim: int) -> Tensor:
    """Weights (C,) in a shape that broadcasts with scores (N, C, ...)."""
    shaped: Tensor = weight if ndim == 1 else weight.reshape((1, -1) + (1,) * (ndim - 2))
    return shaped


def of_probabilities(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    """`cross_entropy` with class probabilities as the target."""
    if not target.is_floating_point():
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{target.dtype.char}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    dim = 0 if input.ndim == 1 else 1
    classes = input.size(dim)
    check_weights(weight, classes, "cross_entropy: ")
    logs = ops.log_softmax(input, dim)
    if label_smoothing > 0.0:
        target = target * (1 - label_smoothing) + label_smoothing / (classes or 1)
    products = logs * target
    if weight is not None:
        products = products * per_class(weight, input.ndim)
    if reduction == "none":
        return -products.sum(dim)
    total = -products.sum()
    samples = input.numel() // (classes or 1)
    return over_number(total, samples) if reduction == "mean" else total
