"""Losses of predictions against targets.

``reduction`` is "mean" (the default), "sum" or "none", which gives the loss of every element.
``size_average`` and ``reduce`` are PyTorch's former way to say that; they warn.
"""

from nanotorch import ops
from nanotorch._core.origins import about_operands
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.reduction import (
    checked_reduction,
    matched,
    same_sizes,
    uncastable,
    weighted,
)
from nanotorch.nn.functional.reduction import (
    reduce as reduced,
)
from nanotorch.ops import loss as kernels
from nanotorch.ops.activation import float_only
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.given import constants_given
from nanotorch.ops.robust_loss import huber, smooth_l1

# Of numbers


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared errors ``(input - target)²``.

    Args:
        weight: of each element; the mean is then over the weights.

    Shape:
        All of one shape; others broadcast, with a warning.

    Raises:
        ValueError: for an unknown ``reduction``, or a weight of another shape.
    """
    given = input
    input, target = matched(input, target)
    reduction = checked_reduction(reduction, size_average, reduce)
    if weight is not None:
        difference = input - target
        return weighted(difference * difference, weight, given, reduction)
    if input._array.dtype.kind != "f" and target._array.dtype.kind != "f":
        raise NotImplementedError(f"\"mse_cpu\" not implemented for '{input.dtype.char}'")
    loss: Tensor = kernels.squared_error(input, target, reduction)
    return loss


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute errors ``|input - target|``; the arguments are those of `mse_loss`."""
    given = input
    input, target = matched(input, target)
    reduction = checked_reduction(reduction, size_average, reduce)
    errors = ops.abs(input - target)
    if weight is not None:
        return weighted(errors, weight, given, reduction)
    return reduced(errors, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared errors near zero, absolute ones beyond: for e = ``|input - target|``,
    ``e² / (2 beta)`` where e < ``beta`` and ``e - beta / 2`` elsewhere.

    Args:
        beta: at least 0; with 0 this is `l1_loss`. Default: 1.

    Raises:
        RuntimeError: for a negative ``beta``.

    Reference:
        Girshick, Fast R-CNN, ICCV 2015, equation 3.
    """
    input, target = matched(input, target)
    reduction = checked_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced(ops.abs(input - target), reduction)
    if input._array.dtype.kind != "f" and target._array.dtype.kind != "f":
        raise float_only("smooth_l1_cpu", input._array)
    loss: Tensor = smooth_l1(input, target, reduction, beta)
    return loss


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``delta`` times `smooth_l1_loss` with ``beta = delta``.

    Args:
        delta: positive. Default: 1.
        weight: of each element; the mean is over the elements nevertheless.

    Raises:
        RuntimeError: if ``delta`` is not positive.
        ValueError: if ``weight`` and ``input`` differ in shape.

    Reference:
        Huber, Robust Estimation of a Location Parameter, 1964.
    """
    given = input
    input, target = matched(input, target)
    reduction = checked_reduction(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if input._array.dtype.kind != "f":
        if target._array.dtype.kind == "f":
            raise uncastable(target, input)
        raise float_only("huber_cpu", input._array)
    target = target.to(input.dtype)
    if weight is not None:
        products = weighted(huber(input, target, "none", delta), weight, given, "none")
        return reduced(products, reduction)
    loss: Tensor = huber(input, target, reduction, delta)
    return loss


# Of probabilities of two classes


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(target log(input) + (1 - target) log(1 - input))``, with logarithms held above -100.

    Args:
        input: probabilities in [0, 1].
        target: probabilities too, of the same shape and dtype.
        weight: of each element; broadcasts. The mean is over the elements nevertheless.

    Raises:
        ValueError: if the shapes differ.
        RuntimeError: for an ``input`` outside [0, 1], or dtypes that differ.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    if not same_sizes(input, target):
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
            + about_operands({"input": input, "target": target})
        )
    if weight is not None:
        weight = weight.expand(ops.broadcast_shapes(target.shape, weight.shape))
    if input._array.dtype != target._array.dtype:
        raise RuntimeError(f"Found dtype {target.dtype.char} but expected {input.dtype.char}")
    if input._array.dtype.kind != "f":
        raise float_only("binary_cross_entropy", input._array)
    constants_given("binary_cross_entropy", weight=weight)
    loss: Tensor = kernels.bce(input, target, weight, reduction)
    return loss


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, exact for logits of any size.

    Args:
        input: logits.
        target: probabilities, of the same shape.
        weight: of each element; broadcasts. The mean is over the elements nevertheless.
        pos_weight: of the positive part of each element; broadcasts, most often one per class.

    Raises:
        ValueError: if the shapes differ.
    """
    if not same_sizes(input, target):
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
            + about_operands({"input": input, "target": target})
        )
    reduction = checked_reduction(reduction, size_average, reduce)
    if input._array.dtype.kind != "f":
        raise float_only("log_sigmoid_cpu", input._array)
    kind = target.dtype
    if kind != input.dtype:
        if not kind.is_floating_point:
            raise uncastable(input, target)
        if kind.itemsize < input.dtype.itemsize:
            input = input.to(kind)
    if weight is not None:
        weight = weight.to(kind).expand(common_shape(tuple(weight.shape), tuple(input.shape)))
    if pos_weight is not None:
        if kind.itemsize < pos_weight.dtype.itemsize:
            pos_weight = pos_weight.to(kind)
        pos_weight = pos_weight.expand(common_shape(tuple(pos_weight.shape), tuple(input.shape)))
    constants_given("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    loss: Tensor = kernels.bce_with_logits(input, target, weight, pos_weight, reduction)
    return loss
