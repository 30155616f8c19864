"""Losses of margins between scores, each recorded as one node.

``reduction`` is "none", "mean" or "sum".
"""

from typing import Any

import numpy as np

from nanotorch._core.batch_rules import per_sample
from nanotorch._core.op import Array, op
from nanotorch.ops.activation import float_only
from nanotorch.ops.arguments import refuse_half
from nanotorch.ops.elementwise import exp
from nanotorch.ops.limits import clamp
from nanotorch.ops.loss import kept, per_element, reduced
from nanotorch.ops.masking import where
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import reshape

# One right class


def excess(input: Any, chosen: Any, margin: float) -> Any:
    """By how much each class comes nearer to the chosen one than the margin; 0 for that itself."""
    score = sum_along(where(chosen, input, 0.0), (1,), True)
    return where(chosen, 0.0, clamp(input - score + margin, 0.0, None))


def by_class(
    g: Any, input: Any, chosen: Any, scale: Any, p: int, margin: float, reduction: str
) -> Any:
    """The gradient of `multi_margin`."""
    g = per_element(g, chosen.shape[:1], reduction)
    over = excess(reshape(input, chosen.shape), chosen, margin)
    slope = 2 * over if p == 2 else where(over > 0, 1.0, over)
    slope = slope * scale * reshape(g, (-1, 1))
    return reshape(slope - where(chosen, sum_along(slope, (1,), True), 0.0), input.shape)


@op(
    input=lambda g, input, chosen, scale, p, margin, reduction: by_class(
        g, input, chosen, scale, p, margin, reduction
    ),
    method=False,
    public=False,
    node="MultiMarginLossBackward0",
)
def multi_margin(
    input: Array,
    chosen: Array,
    scale: Array,
    p: int,
    margin: float,
    reduction: str,
    shape: tuple[int, ...],
) -> Array:
    """``scale * Σ max(0, margin - input[right] + input[other])ᵖ`` over the other classes.

    Args:
        input: scores (N, C), or (C,) of one sample.
        chosen: which class is right, (N, C) with one true value in each row.
        scale: (N, 1).
        p: 1 or 2.
        shape: of the losses of the samples.
    """
    if input.size:
        refuse_half("multi_margin_loss_cpu_kernel", input)
    if input.dtype.kind != "f":
        raise float_only("multi_margin_loss_cpu_kernel", input)
    over = excess(input.reshape(chosen.shape), chosen, margin)
    if p == 2:
        over = over * over
    return reduced(np.add.reduce(over * scale, 1).reshape(shape), reduction)


# Several right classes


def pairs_over(input: Array, times: Array, others: Array) -> tuple[Array, Array]:
    """For each sample the sum over pairs of a right and another class of what lies between less
    than 1, and its derivative by the scores.
    """
    slope = np.zeros_like(input)
    total = np.zeros(len(input), input.dtype)
    for c in np.flatnonzero(times.any(0)):
        weight = times[:, c : c + 1] * others
        over = input - input[:, c : c + 1] + input.dtype.type(1)
        weight *= over > 0
        total += np.add.reduce(over * weight, 1)
        slope += weight
        slope[:, c] -= np.add.reduce(weight, 1)
    return total, slope


@op(method=False, public=False, wide=True)
def margins_slope(input: Array, times: Array, others: Array) -> Array:
    """The derivative of the sums of `multilabel_margin`, which is constant almost everywhere."""
    return pairs_over(input, times, others)[1]


def by_pair(g: Any, input: Any, times: Any, others: Any, reduction: str) -> Any:
    """The gradient of `multilabel_margin`."""
    share = reshape(per_element(g, times.shape[:1], reduction), (-1, 1)) / times.shape[1]
    return reshape(share * margins_slope(reshape(input, times.shape), times, others), input.shape)


@op(
    input=lambda g, input, times, others, reduction: by_pair(g, input, times, others, reduction),
    method=False,
    public=False,
    node="MultilabelMarginLossBackward0",
)
def multilabel_margin(input: Array, times: Array, others: Array, reduction: str) -> Array:
    """``Σ max(0, 1 - input[right] + input[other]) / C`` over all pairs of classes.

    Args:
        input: scores (N, C), or (C,) of one sample.
        times: how often each class is named as right, (N, C).
        others: 1 for the classes that are not, else 0, (N, C).
    """
    refuse_half("multilabel_margin_loss_forward_out_frame", input)
    if input.dtype.kind != "f":
        raise float_only("multilabel_margin_loss_forward_out_frame", input)
    total = pairs_over(input.reshape(times.shape), times, others)[0]
    losses = total / input.dtype.type(times.shape[1])
    return reduced(losses.reshape(input.shape[:-1]), reduction)


# Two classes


def soft_slope(g: Any, input: Any, target: Any, reduction: str) -> Any:
    """The gradient of `soft_margin`."""
    power = exp(-target * input)
    share = per_element(g, power.shape, reduction)
    return kept(share * (-target * power / (power + 1)), input, target)


@op(
    input=lambda g, input, target, reduction: soft_slope(g, input, target, reduction),
    cast="promote",
    method=False,
    public=False,
    node="SoftMarginLossBackward0",
    batch=per_sample,
)
def soft_margin(input: Array, target: Array, reduction: str) -> Array:
    """``log(1 + exp(-target * input))``."""
    return reduced(np.log1p(np.exp(-target * input)), reduction)
