"""Losses of predictions against targets."""

import math
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, as_ints, require_bool, wrong_type
from nanotorch._core.call_site import describe_operands, note_operands, warn
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.op import as_number
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.func.batched import looped, under_vmap
from nanotorch.names.lookup import advised
from nanotorch.ops import fused as kernels
from nanotorch.ops.arguments import (
    check_constants,
    check_first_tensors,
    require,
    require_value,
    unsupported_dtype,
)
from nanotorch.ops.binary import xlogy
from nanotorch.ops.elementwise import over_number, plus_number, times_number
from nanotorch.ops.joining import broadcast_tensors, common_shape
from nanotorch.ops.products import pairwise_distance
from nanotorch.ops.sequences import ctc

__all__ = (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss",
    "cross_entropy", "ctc_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss",
    "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss", "nll_loss", "poisson_nll_loss",
    "smooth_l1_loss", "triplet_margin_loss",
)  # fmt: skip

# Shared by all losses: the reduction of their elements and the checks of shapes.


def legacy_reduction(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """The reduction; PyTorch's former options ``size_average`` and ``reduce`` override it."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        reduction = "none"
    else:
        reduction = "mean" if size_average is None or size_average else "sum"
    warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{reduction}' instead."
    )
    return reduction


def checked_reduction(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """The reduction, one of "none", "mean" and "sum"; raises ValueError for others."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(reduction, size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def mismatch_error(error: type[Exception], text: str, input: Tensor, target: Tensor) -> Exception:
    """The error for a target that does not fit the input; it shows where both come from."""
    return error(text + describe_operands({"input": input, "target": target}))


def column_error(text: str, input: Tensor, target: Tensor) -> Exception:
    """`mismatch_error` for a loss of elements."""
    error, shapes = mismatch_error(ValueError, text, input, target), (input.shape, target.shape)
    return advised(error, "target column") if shapes[0] == (*shapes[1], 1) else error


def reduce_loss(values: Tensor, reduction: str) -> Tensor:
    """The elements of a loss, their mean or their sum."""
    if reduction == "none":
        return values
    return values.mean() if reduction == "mean" else values.sum()


def cast_error(result: Tensor, out: Tensor) -> RuntimeError:
    """The error for a result whose dtype cannot be cast to the dtype of ``out``."""
    return RuntimeError(
        f"result type {result.dtype.char} can't be cast to the desired output type {out.dtype.char}"
    )


def have_same_shape(input: Any, target: Any) -> bool:
    """Whether two tensors have the same shape."""
    try:
        return bool(input._array.shape == target._array.shape)
    except AttributeError:
        other: Any = target
        return bool(other.size() == input.size())  # the error is Python's own, as in PyTorch


def match_shapes(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Input and target with the same shape; broadcasts with PyTorch's warning if they differ."""
    if have_same_shape(input, target):
        return input, target
    warn(
        f"Using a target size ({target.size()}) that is different to the input size "
        f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
        "Please ensure they have the same size."
    )
    try:
        input, target = broadcast_tensors(input, target)
    except RuntimeError as error:
        raise note_operands(error, input=input, target=target) from None
    return input, target


def weight_errors(errors: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    """Errors times weights, reduced; "mean" divides by the sum of the weights."""
    require_value(weight.size() == input.size(), "Weights and input must have the same size.")
    products = errors * weight
    if reduction == "mean":
        return products.sum() / weight.sum()
    return reduce_loss(products, reduction)


# Losses of predictions against targets.
#
# ``reduction`` is "mean" (the default), "sum" or "none"; "none" returns the loss of each element.
# ``size_average`` and ``reduce`` are PyTorch's former options for the same; they warn.


# Of numbers


def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Squared errors ``(input - target)²``.

    Args:
        weight: the weight of each element; "mean" then divides by their sum. Default: None.

    Shape:
        All of the same shape; ``input`` and ``target`` otherwise broadcast, with a warning.

    Raises:
        ValueError: for an unknown ``reduction``, or a weight of another shape.
    """
    given = input
    input, target = match_shapes(input, target)
    reduction = checked_reduction(reduction, size_average, reduce)
    if weight is not None:
        difference = input - target
        return weight_errors(difference * difference, weight, given, reduction)
    if input._array.dtype.kind != "f" and target._array.dtype.kind != "f":
        raise unsupported_dtype("mse_cpu", input._array)
    return kernels.squared_error(input, target, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Absolute errors ``|input - target|``; the arguments are those of `mse_loss`."""
    given = input
    input, target = match_shapes(input, target)
    reduction = checked_reduction(reduction, size_average, reduce)
    errors = ops.abs(input - target)
    if weight is not None:
        return weight_errors(errors, weight, given, reduction)
    return reduce_loss(errors, reduction)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """Squared errors below ``beta``, absolute ones above.

    With e = ``|input - target|``: ``e² / (2 beta)`` where e < ``beta``, else ``e - beta / 2``.

    Args:
        beta: the limit, at least 0; 0 makes this `l1_loss`. Default: 1.

    Raises:
        RuntimeError: if ``beta`` is negative.

    Reference:
        Girshick, Fast R-CNN, ICCV 2015, equation 3.
    """
    input, target = match_shapes(input, target)
    reduction = checked_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduce_loss(ops.abs(input - target), reduction)
    if input._array.dtype.kind != "f" and target._array.dtype.kind != "f":
        raise unsupported_dtype("smooth_l1_cpu", input._array)
    return kernels.smooth_l1(input, target, reduction, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``delta`` times `smooth_l1_loss` with ``beta = delta``.

    Args:
        delta: the limit between squared and absolute errors, positive. Default: 1.
        weight: the weight of each element; "mean" still divides by the number of elements.

    Raises:
        RuntimeError: if ``delta`` is not positive.
        ValueError: if ``weight`` and ``input`` differ in shape.

    Reference:
        Huber, Robust Estimation of a Location Parameter, 1964.
    """
    given = input
    input, target = match_shapes(input, target)
    reduction = checked_reduction(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if input._array.dtype.kind != "f":
        if target._array.dtype.kind == "f":
            raise cast_error(target, input)
        raise unsupported_dtype("huber_cpu", input._array)
    target = target.to(input.dtype)
    if weight is not None:
        products = weight_errors(kernels.huber(input, target, "none", delta), weight, given, "none")
        return reduce_loss(products, reduction)
    return kernels.huber(input, target, reduction, delta)


# Of probabilities of two classes


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``-(target log(input) + (1 - target) log(1 - input))``, with logarithms of at least -100.

    Args:
        input: probabilities in [0, 1].
        target: probabilities, of the same shape and dtype.
        weight: the weight of each element; broadcasts. "mean" still divides by their number.

    Raises:
        ValueError: if the shapes differ.
        RuntimeError: if ``input`` is outside [0, 1], or the dtypes differ.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    if not have_same_shape(input, target):
        message = (
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
        raise column_error(message, input, target)
    if weight is not None:
        weight = weight.expand(ops.broadcast_shapes(target.shape, weight.shape))
    if input._array.dtype != target._array.dtype:
        error = RuntimeError(f"Found dtype {target.dtype.char} but expected {input.dtype.char}")
        raise advised(error, "target dtype")
    if input._array.dtype.kind != "f":
        raise unsupported_dtype("binary_cross_entropy", input._array)
    check_constants("binary_cross_entropy", weight=weight)
    return kernels.bce(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """`binary_cross_entropy` of ``sigmoid(input)``, exact for logits of any size.

    Args:
        input: logits.
        target: probabilities, of the same shape.
        weight: the weight of each element; broadcasts. "mean" still divides by their number.
        pos_weight: the weight of the positive class in each element; broadcasts; usually (C,).

    Raises:
        ValueError: if the shapes differ.
    """
    if not have_same_shape(input, target):
        message = f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        raise column_error(message, input, target)
    reduction = checked_reduction(reduction, size_average, reduce)
    if input._array.dtype.kind != "f":
        raise unsupported_dtype("log_sigmoid_cpu", input._array)
    kind = target.dtype
    if input._array.dtype != target._array.dtype:
        if not kind.is_floating_point:
            raise advised(cast_error(input, target), "target dtype")
        if kind.itemsize < input.dtype.itemsize:
            input = input.to(kind)
    if weight is not None:
        weight = weight.to(kind).expand(common_shape(tuple(weight.shape), tuple(input.shape)))
    if pos_weight is not None:
        if kind.itemsize < pos_weight.dtype.itemsize:
            pos_weight = pos_weight.to(kind)
        pos_weight = pos_weight.expand(common_shape(tuple(pos_weight.shape), tuple(input.shape)))
    if weight is not None or pos_weight is not None:
        check_constants("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
    return kernels.bce_with_logits(input, target, weight, pos_weight, reduction)


# Losses of class scores: negative log-likelihood and cross entropy.


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``-weight[target] * input[target]`` of each sample; "mean" divides by the sum of weights.

    Args:
        input: log-probabilities.
        target: class numbers in [0, C), ``int64`` or ``uint8``.
        weight: the weight of each class, (C,). Default: None, all 1.
        ignore_index: samples with this class number are ignored. Default: -100.

    Shape:
        ``input`` (C,), (N, C) or (N, C, d₁, ...); ``target`` the same without C.

    Raises:
        ValueError: if the numbers of samples differ.
        RuntimeError: if ``target`` has another shape or dtype, or ``weight`` another shape.
        IndexError: if a class number is out of range.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    ignore_index = as_int(ignore_index, "ignore_index")
    check_shapes(input, target, weight)
    if input.ndim > 2:  # PyTorch computes (N, C, d₁, ...) as (N, C, H, W)
        shape = target.shape
        if input.ndim != 4:
            input = input.reshape((*input.shape[:2], 1, -1))
            target = target.reshape((shape[0], 1, -1))
        check_constants("nll_loss2d_forward", weight=weight)
        loss = kernels.picture_nll(input, target, weight, reduction, ignore_index)
        return loss.reshape(shape) if reduction == "none" and loss.ndim != len(shape) else loss
    if input.ndim == 1:
        input, target = input.unsqueeze(0), target.reshape(1)
        reduction = "sum" if reduction == "none" else reduction
    if weight is not None:
        check_constants("nll_loss_forward", weight=weight)
    return kernels.nll(input, target, weight, reduction, ignore_index)


def check_shapes(input: Any, target: Any, weight: Tensor | None) -> None:
    """Refuse class scores, class numbers and weights whose shapes or dtypes do not match."""
    if not (isinstance(input, Tensor) and isinstance(target, Tensor)):
        check_first_tensors("nll_loss_nd", input=input, target=target)
    scores, classes = input._array.shape, target._array.shape
    if not scores:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    samples = classes[0] if classes else 0
    if len(scores) > 1 and scores[0] != samples:
        message = f"Expected input batch_size ({scores[0]}) to match target batch_size ({samples})."
        raise mismatch_error(ValueError, message, input, target)
    if len(scores) < 3 and len(classes) > 1:
        error = RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        raise advised(error, "class column") if classes[1:] == (1,) else error
    wrong = len(scores) > 2 and classes[1:] != scores[2:]
    if len(scores) == 4 or not wrong:  # PyTorch's order of checks differs for images
        kernels.check_classes(target._array)
    if len(scores) == 1 and classes:
        message = "For 1D input, 1D target must have size 1, but got target size: {}"
        require_value(samples == 1, message, samples)
    if wrong:
        message = f"Expected target size {[scores[0], *scores[2:]]}, got {list(classes)}"
        raise mismatch_error(RuntimeError, message, input, target)
    if input._array.dtype.kind != "f":
        raise unsupported_dtype(
            f"nll_loss{'2d_forward' * (len(scores) > 2)}_out_frame", input._array
        )
    check_weights(weight, scores[0] if len(scores) == 1 else scores[1])
    if weight is not None and weight._array.dtype != input._array.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.char} but found {weight.dtype.char}")
    if len(scores) > 2 and target._array.dtype == np.uint8:
        raise RuntimeError("expected scalar type Long but found Byte")


def check_weights(weight: Tensor | None, classes: int, prefix: str = "") -> None:
    """Refuse weights of a shape other than (``classes``,); ``prefix`` begins the message."""
    if weight is not None and not isinstance(weight, Tensor):
        raise wrong_type(weight, "Tensor", ("cross_entropy_loss", "weight", 3))
    if weight is not None and weight._array.shape != (classes,):
        raise RuntimeError(
            f"{prefix}weight tensor should be defined either for all {classes} classes or no "
            f"classes but got weight tensor of shape: {list(weight._array.shape)}"
        )


@under_vmap(looped)
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """`nll_loss` of ``log_softmax(input)``.

    With class probabilities p as the target: ``-Σ weight p log_softmax(input)`` over the classes;
    "mean" then divides by the number of samples.

    Args:
        input: logits.
        target: class numbers, or class probabilities of the shape of ``input``.
        weight: the weight of each class, (C,). Default: None, all 1.
        ignore_index: samples with this class number are ignored. Default: -100.
        label_smoothing: the part of the target, in [0, 1], that is spread evenly over the classes.
            Default: 0.

    Shape:
        ``input`` (C,), (N, C) or (N, C, d₁, ...); ``target`` the same, or without C.

    Raises:
        RuntimeError: if ``label_smoothing`` is out of range; see also `nll_loss`.
        ValueError, IndexError: see `nll_loss`.

    Reference:
        Szegedy et al., Rethinking the Inception Architecture for Computer Vision, CVPR 2016,
        section 7 (label smoothing).
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_first_tensors("cross_entropy_loss", input=input, target=target)
    ignore_index = as_int(ignore_index, "ignore_index")
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if weight is None and not label_smoothing:
        places = kernels.fusable_classes(input, target, ignore_index)
        if places is not None:
            return kernels.class_cross_entropy(input, target, places, reduction, ignore_index)[0]
    dim = 0 if input.ndim == 1 else 1
    if input._array.shape == target._array.shape:  # class probabilities
        if not target.is_floating_point():
            text = "Expected floating point type for target with class probabilities, got"
            raise advised(RuntimeError(f"{text} {target.dtype.char}"), "one-hot classes")
        require(ignore_index < 0, "ignore_index is not supported for floating point target")
        classes = input.size(dim)
        check_weights(weight, classes, "cross_entropy: ")
        if label_smoothing > 0.0:
            target = target * (1 - label_smoothing) + label_smoothing / (classes or 1)
        products = ops.log_softmax(input, dim) * target
        if weight is not None:
            products = products * broadcast_class_weights(weight, input.ndim)
        if reduction == "none":
            return -products.sum(dim)
        total, samples = -products.sum(), input.numel() // (classes or 1)
        return over_number(total, samples) if reduction == "mean" else total
    logs = ops.log_softmax(input, dim)
    loss = nll_loss(logs, target, weight, ignore_index=ignore_index, reduction=reduction)
    if label_smoothing == 0.0:
        return loss
    # The part of the target that is spread evenly over the classes.
    ignored = wrap(target._array == ignore_index)
    values = logs if weight is None else logs * broadcast_class_weights(weight, logs.ndim)
    even: Tensor = ops.masked_fill(-values.sum(dim), ignored, 0.0)
    if reduction == "mean":
        counts = ~ignored._array
        if weight is not None:
            counts = weight._array.take(np.where(counts, target._array, 0)) * counts
        total = np.asarray(np.add.reduce(counts, None, dtype=np.float64))
        even = even.sum() / wrap(total).to(even.dtype)
    else:
        even = reduce_loss(even, reduction)
    share = label_smoothing / logs.size(dim)
    return times_number(loss, 1 - label_smoothing) + times_number(even, share)


def broadcast_class_weights(weight: Tensor, ndim: int) -> Tensor:
    """Weights (C,) in a shape that broadcasts to scores (N, C, ...) of ``ndim`` dimensions."""
    return weight if ndim == 1 else weight.reshape((1, -1) + (1,) * (ndim - 2))


# Negative log-likelihoods of distributions, and the divergence between two.


def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """``target * (log(target) - input)`` of log-probabilities ``input``.

    Args:
        reduction: also "batchmean", the mean divergence: the sum divided by the number of samples.
            Default: "mean", over all elements.
        log_target: ``target`` contains log-probabilities, too. Default: False.

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
    check_first_tensors("kl_div", input=input, target=target)
    require_bool(log_target, ("kl_div", "log_target", 0))
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    how = checked_reduction("sum" if reduction == "batchmean" else reduction)
    if log_target:
        values = ops.exp(target) * (target - input)
    else:
        values = xlogy(target, target) - target * input
    loss = reduce_loss(values, how)
    return loss / input.size(0) if reduction == "batchmean" and input.dim() else loss


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
    size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``exp(input) - target * input``: the loss of Poisson counts with mean ``exp(input)``.

    Args:
        log_input: False if ``input`` is the mean; the loss is then
            ``input - target * log(input + eps)``. Default: True.
        full: add Stirling's approximation of ``log(target!)`` where ``target > 1``. Default: False.
        eps: keeps the logarithm away from 0. Default: 1e-8.

    Raises:
        ValueError: for an unknown ``reduction``.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_first_tensors("poisson_nll_loss", input=input, target=target)
    require_bool(log_input, "log_input")
    require_bool(full, "full")
    eps = as_number(eps, "eps", "float")
    if log_input:
        loss = ops.exp(input) - target * input
    else:
        loss = input - target * ops.log(plus_number(input, eps))
    if full:
        factorial = target * ops.log(target) - target + 0.5 * ops.log(2 * math.pi * target)
        loss = loss + factorial.masked_fill(target <= 1, 0)
    return reduce_loss(loss, reduction)


@under_vmap(looped)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``(log(var) + (input - target)² / var) / 2``: the loss of normal targets, mean ``input``.

    Args:
        var: one variance for all elements, or a tensor of the shape of ``input``. One of its sizes
            may be 1, or its last dimension may be missing.
        full: add ``log(2π) / 2``. Default: False.
        eps: the lower limit of the variances. Default: 1e-6.

    Raises:
        ValueError: for negative variances, another shape, or an unknown ``reduction``.

    Reference:
        Nix and Weigend, Estimating the mean and variance of the target probability distribution,
        1994.
    """
    if not isinstance(var, Tensor):
        var = ops.full_like(input, var)
    require_value(not (var._array < 0).any(), "var has negative entry/entries")
    if var.size() != input.size() and var.size() == input.size()[:-1]:
        var = var.unsqueeze(-1)
    pairs = zip(var.shape, input.shape, strict=False)
    fits = var.dim() == input.dim() and sum(n for n, m in pairs if n != m) <= 1
    require_value(fits, "var is of incorrect size")
    checked_reduction(reduction)
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (ops.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce_loss(loss, reduction)


# Losses of relations: pairs, triplets, angles.


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``input`` where ``target`` is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        input: distances.
        margin: the least distance without loss where ``target`` is -1. Default: 1.

    Raises:
        ValueError: for an unknown ``reduction``.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_first_tensors("hinge_embedding_loss", input=input, target=target)
    zeros = ops.zeros_like(input)
    apart = ops.where(target.ne(1), ops.clamp_min(margin - input, 0.0), zeros)
    near = ops.where(target.ne(-1), input, zeros)
    return reduce_loss(apart + near, reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``1 - cos`` where ``target`` is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        margin: the greatest cosine without loss where ``target`` is -1, in [-1, 1]. Default: 0.

    Shape:
        ``input1`` and ``input2`` (N, D) or (D,), ``target`` (N,) or ().

    Raises:
        RuntimeError: for other shapes.
        ValueError: for an unknown ``reduction``.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_first_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    dim = target.dim()
    require(dim <= 1, "0D or 1D target tensor expected, multi-target not supported")
    fits = input1.dim() == input2.dim() == dim + 1
    require(fits, "{}D target tensor expects {}D input tensors", dim, dim + 1)
    tiny = 1e-12
    squares = [(x * x).sum(dim) for x in (input1, input2)]
    lengths = [plus_number(x, tiny) if x.is_floating_point() else x + tiny for x in squares]
    cosine = (input1 * input2).sum(dim) / ops.sqrt(lengths[0] * lengths[1])
    zeros = ops.zeros_like(cosine)
    near = ops.where(target.eq(1), 1 - cosine, zeros)
    apart = ops.where(target.eq(-1), ops.clamp_min(cosine - margin, 0.0), zeros)
    return reduce_loss(near + apart, reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, -target * (input1 - input2) + margin)``.

    Args:
        target: 1 where ``input1`` should be greater, -1 where ``input2`` should.
        margin: the least difference without loss. Default: 0.

    Raises:
        RuntimeError: if the numbers of dimensions differ.
        ValueError: for an unknown ``reduction``.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_first_tensors("margin_ranking_loss", input1=input1, input2=input2, target=target)
    alike = input1.dim() == input2.dim() == target.dim()
    require(alike, "margin_ranking_loss: inputs and target should have same dimension")
    values = -target * (input1 - input2)
    values = plus_number(values, margin) if values.is_floating_point() else values + float(margin)
    return reduce_loss(ops.clamp_min(values, 0.0), reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.

    Args:
        margin: the least difference of distances without loss, positive. Default: 1.
        p: the order of the norm in the distance d. Default: 2.
        eps: keeps distances away from 0. Default: 1e-6.
        swap: use d(positive, negative) where less than d(anchor, negative). Default: False.

    Shape:
        All (N, D) or (D,).

    Raises:
        ValueError: if ``margin`` is not positive, or for an unknown ``reduction``.
        RuntimeError: if the numbers of dimensions differ.

    Reference:
        Balntas et al., Learning shallow convolutional feature descriptors with triplet losses,
        BMVC 2016.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    check_first_tensors("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    require_bool(swap, "swap")
    check_margin(margin)
    a, p_, n = anchor.ndim, positive.ndim, negative.ndim
    require(a == p_ == n, "anchor ({}D), positive ({}D) and negative ({}D) must be alike", a, p_, n)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduce_loss(ops.clamp_min(plus_number(near, margin) - far, 0.0), reduction)


def check_margin(margin: float) -> None:
    """Refuse margins that are not positive."""
    require_value(margin > 0, "margin must be greater than 0, got {}", margin)


# Of sequences


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """``-log`` of the probability of sequences of labels, summed over all alignments.

    Args:
        log_probs: the logarithms of the probabilities of C symbols at each of T steps.
        targets: the labels, without blanks.
        input_lengths: the number of steps of each sequence.
        target_lengths: the number of labels of each sequence.
        blank: the symbol between labels. Default: 0.
        reduction: "mean" divides each loss by the number of labels first.
        zero_infinity: 0 instead of infinite losses, of targets without alignment. Default: False.

    Shape:
        ``log_probs`` (T, N, C) or (T, C); ``targets`` (N, U), padded, or all labels in one vector;
        lengths (N,) or (), tensors or tuples; the result (N,) or () without reduction.

    Raises:
        RuntimeError: for shapes or lengths that do not fit, or a ``blank`` out of range.
        IndexError: for a label out of range.
        NotImplementedError: for half precision.

    Reference:
        Graves et al., Connectionist Temporal Classification, ICML 2006.
    """
    check_first_tensors("ctc_loss", log_probs=log_probs, targets=targets)
    require_bool(zero_infinity, ("ctc_loss", "zero_infinity", 7))
    lengths = []
    for name, given in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if not isinstance(given, Tensor):
            given = ops.tensor(as_ints(given), dtype=dtypes.int64)
        require(not given.is_floating_point(), "{} must be integral", name)
        lengths.append(given.reshape(-1).to(dtypes.int64))
    single = log_probs.ndim != 3
    batch = log_probs.unsqueeze(1) if single else log_probs
    text = "Expected 3-dimensional tensor, but got {}-dimensional tensor for argument #1 "
    text += "'log_probs' (while checking arguments for ctc_loss_allocate_outputs)"
    require(batch.ndim == 3, text, batch.ndim)
    losses, _ = ctc(batch, targets.to(dtypes.int64), *lengths, blank, zero_infinity)
    if zero_infinity:
        losses = ops.where(losses == math.inf, 0.0, losses)
    if checked_reduction(reduction) == "mean":
        return (losses / lengths[1].clamp_min(1)).mean()
    return losses.squeeze(0) if single and reduction == "none" else reduce_loss(losses, reduction)
