"""Normalization of channels, over the batch or over groups of channels, each as one node."""

import math
from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.op import Array, op
from nanotorch.ops.standardizing import Kept, Plan, normalize, slopes


def channels(shape: tuple[int, ...], affine: bool) -> Plan:
    """The plan of a batch normalization of (N, C, ...): (N, C, L), each channel a group."""
    n, c = shape[:2]
    inner = math.prod(shape[2:])
    return Plan((n, c, inner), (0, 2), (1, c, 1), (0, 2), (c,) if affine else None)


def groups(shape: tuple[int, ...], count: int, affine: bool) -> Plan:
    """The plan of a group normalization of (N, C, ...): (N, count, C / count, L)."""
    n, c = shape[:2]
    each = c // count
    inner = math.prod(shape[2:])
    weight = (1, count, each, 1)
    return Plan((n, count, each, inner), (2, 3), weight, (0, 3), (c,) if affine else None)


@op(
    input=slopes,
    weight=slopes,
    bias=slopes,
    joint=True,
    method=False,
    public=False,
    node="NativeBatchNormBackward0",
)
def normalize_batch(
    input: Array, weight: Array | None, bias: Array | None, plan: Any, eps: float, kept: Kept
) -> Array:
    """``(input - mean) * scale * weight + bias`` per channel of (N, C, ...).

    Args:
        plan: of `channels`.
        kept: for the gradients; mean and scale stand there if they are fixed.
    """
    return normalize(input, weight, bias, plan, eps, kept)


@op(
    input=slopes,
    weight=slopes,
    bias=slopes,
    joint=True,
    method=False,
    public=False,
    node="NativeGroupNormBackward0",
    seen=3,
)
def normalize_groups(
    input: Array, weight: Array | None, bias: Array | None, plan: Any, eps: float, kept: Kept
) -> Array:
    """`normalize_batch` within each sample, over groups of channels.

    Args:
        plan: of `groups`.
        kept: for the gradients.
    """
    if input.dtype.kind != "f":
        char = dtypes.of_array(input).char
        raise NotImplementedError(f"\"GroupNormKernelImpl\" not implemented for '{char}'")
    return normalize(input, weight, bias, plan, eps, kept)
