"""Losses that are squared near zero and absolute beyond, each recorded as one node."""

from typing import Any

import numpy as np

from nanotorch._core.batch_rules import per_sample
from nanotorch._core.choice import pick
from nanotorch._core.op import Array, op
from nanotorch.ops.limits import clamp
from nanotorch.ops.loss import per_element, reduced


def held_slope(g: Any, difference: Any, reduction: str, limit: float) -> Any:
    """``g`` times the difference, held between ``-limit`` and ``limit``."""
    return per_element(g, difference.shape, reduction) * clamp(difference, -limit, limit)


@op(
    input=lambda g, input, target, reduction, delta: held_slope(
        g, input - target, reduction, delta
    ),
    target=lambda g, input, target, reduction, delta: held_slope(
        g, target - input, reduction, delta
    ),
    cast="promote",
    method=False,
    public=False,
    node="HuberLossBackward0",
    batch=per_sample,
    wide=True,
)
def huber(input: Array, target: Array, reduction: str, delta: float) -> Array:
    """For e = ``|input - target|``: ``e² / 2`` where e <= ``delta``, else a straight line on."""
    e = np.abs(input - target)
    kind = e.dtype.type
    half, limit = kind(0.5), kind(delta)
    return reduced(pick(e <= limit, half * e * e, limit * (e - half * limit)), reduction)


@op(
    input=lambda g, input, target, reduction, beta: held_slope(
        g, (input - target) / beta, reduction, 1.0
    ),
    target=lambda g, input, target, reduction, beta: held_slope(
        g, (target - input) / beta, reduction, 1.0
    ),
    cast="promote",
    method=False,
    public=False,
    node="SmoothL1LossBackward0",
    batch=per_sample,
    wide=True,
)
def smooth_l1(input: Array, target: Array, reduction: str, beta: float) -> Array:
    """For e = ``|input - target|``: ``e² / (2 beta)`` where e < ``beta``, else ``e - beta / 2``."""
    e = np.abs(input - target)
    kind = e.dtype.type
    half, limit = kind(0.5), kind(beta)
    return reduced(pick(e < limit, half * e * e / limit, e - half * limit), reduction)
