"""Losses that are squared near zero and absolute beyond, each recorded as one node."""

from typing import Any

import numpy as np

from nanotorch._core.batch_rules import per_sample
from nanotorch._core.choice import pick
from nanotorch._core.op import Array, op
from nanotorch._core.op_runtime import wide
from nanotorch.ops.limits import clamp
from nanotorch.ops.loss import kept, per_element, reduced


def held_slope(
    g: Any, operand: Any, other: Any, reduction: str, limit: float, unit: float = 1.0
) -> Any:
    """``g`` times the difference in units, held between ``-limit`` and ``limit``."""
    difference = operand - other if unit == 1 else (operand - other) / unit
    share = per_element(g, difference.shape, reduction)
    return kept(share * clamp(difference, -limit, limit), operand, other)


@op(
    input=lambda g, input, target, reduction, delta: held_slope(g, input, target, reduction, delta),
    target=lambda g, input, target, reduction, delta: held_slope(
        g, target, input, reduction, delta
    ),
    cast="promote",
    method=False,
    public=False,
    node="HuberLossBackward0",
    batch=per_sample,
)
def huber(input: Array, target: Array, reduction: str, delta: float) -> Array:
    """For e = ``|input - target|``: ``e² / 2`` where e <= ``delta``, else a straight line on."""
    e = np.abs(wide(input) - wide(target))
    kind = e.dtype.type
    half, limit = kind(0.5), kind(delta)
    values = pick(e <= limit, half * e * e, limit * (e - half * limit))
    return reduced(values.astype(input.dtype, copy=False), reduction)


@op(
    input=lambda g, input, target, reduction, beta: held_slope(
        g, input, target, reduction, 1.0, beta
    ),
    target=lambda g, input, target, reduction, beta: held_slope(
        g, target, input, reduction, 1.0, beta
    ),
    cast="promote",
    method=False,
    public=False,
    node="SmoothL1LossBackward0",
    batch=per_sample,
)
def smooth_l1(input: Array, target: Array, reduction: str, beta: float) -> Array:
    """For e = ``|input - target|``: ``e² / (2 beta)`` where e < ``beta``, else ``e - beta / 2``."""
    e = np.abs(input - target)
    kind = e.dtype.type
    half, limit = kind(0.5), kind(beta)
    return reduced(pick(e < limit, half * e * e / limit, e - half * limit), reduction)
