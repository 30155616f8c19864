"""Losses of margins between scores, and of how things lie to each other."""

from collections.abc import Callable
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.activation import logsigmoid
from nanotorch.nn.functional.loss import checked_reduction, uncastable
from nanotorch.nn.functional.loss import reduced as reduced
from nanotorch.ops import loss as kernels
from nanotorch.ops.arguments import constants_given, tensors_given
from nanotorch.ops.distance import pairwise_distance
from nanotorch.ops.elementwise import plus_number
from nanotorch.ops.joining import common_shape

# Losses that ask for a margin between scores.


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
    return per_sample.mean() if reduction == "mean" else per_sample.sum()


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
    return kernels.soft_margin(input, target, reduction)


# Losses of how things lie to each other: pairs, triplets, angles.


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where ``target`` is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        input: distances.
        margin: Default: 1.

    Raises:
        ValueError: for an unknown ``reduction``.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("hinge_embedding_loss", input=input, target=target)
    zeros = ops.zeros_like(input)
    apart = ops.where(target.ne(1), ops.clamp_min(margin - input, 0.0), zeros)
    near = ops.where(target.ne(-1), input, zeros)
    return reduced(apart + near, reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where ``target`` is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        margin: from -1 to 1. Default: 0.

    Shape:
        ``input1`` and ``input2`` (N, D) or (D,), ``target`` (N,) or a number.

    Raises:
        RuntimeError: for other shapes.
        ValueError: for an unknown ``reduction``.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    dim = target.dim()
    if dim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != dim + 1 or input2.dim() != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    tiny = 1e-12
    squares = [(x * x).sum(dim) for x in (input1, input2)]
    lengths = [plus_number(x, tiny) if x.is_floating_point() else x + tiny for x in squares]
    cosine = (input1 * input2).sum(dim) / ops.sqrt(lengths[0] * lengths[1])
    zeros = ops.zeros_like(cosine)
    near = ops.where(target.eq(1), 1 - cosine, zeros)
    apart = ops.where(target.eq(-1), ops.clamp_min(cosine - margin, 0.0), zeros)
    return reduced(near + apart, reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: 1 asks for the first to be greater.

    Args:
        margin: Default: 0.

    Raises:
        RuntimeError: for different numbers of dimensions.
        ValueError: for an unknown ``reduction``.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("margin_ranking_loss", input1=input1, input2=input2, target=target)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    values = -target * (input1 - input2)
    values = plus_number(values, margin) if values.is_floating_point() else values + float(margin)
    return reduced(ops.clamp_min(values, 0.0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.

    Args:
        margin: positive. Default: 1.
        p: the order of the norm that is the distance. Default: 2.
        eps: keeps distances away from 0. Default: 1e-6.
        swap: take the distance of positive and negative if it is less than that of anchor and
            negative. Default: False.

    Shape:
        All (N, D) or (D,).

    Raises:
        ValueError: if ``margin`` is not positive; for an unknown ``reduction``.
        RuntimeError: for different numbers of dimensions.

    Reference:
        Balntas et al., Learning shallow convolutional feature descriptors with triplet losses,
        BMVC 2016.
    """
    reduction = checked_reduction(reduction, size_average, reduce)
    tensors_given("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    check_triplet(anchor, positive, negative, margin)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(ops.clamp_min(plus_number(near, margin) - far, 0.0), reduction)


def check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> None:
    """Refuse margins that are not positive, and different numbers of dimensions."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    a, p, n = anchor.ndim, positive.ndim, negative.ndim
    if not a == p == n:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {a}D, positive {p}D, and negative {n}D inputs"
        )


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any distance.

    Args:
        distance_function: of two tensors. Default: `pairwise_distance`.
        margin, swap: see there.

    Raises:
        ValueError, RuntimeError: see there.
    """
    checked_reduction(reduction)
    distance: Any = pairwise_distance if distance_function is None else distance_function
    check_triplet(anchor, positive, negative, margin)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced(ops.clamp_min(margin + near - far, 0.0), reduction)
