"""Losses that ask for a margin between scores."""

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.activation import logsigmoid
from nanotorch.nn.functional.reduction import checked_reduction, uncastable
from nanotorch.ops import loss as kernels
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.given import constants_given, tensors_given


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
