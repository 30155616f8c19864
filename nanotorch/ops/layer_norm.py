"""Normalization over the last dimensions, as one node."""

import math
from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.op import Array, op
from nanotorch.ops.standard_rows import standardize
from nanotorch.ops.standardizing import Kept, Plan, canonical, slope


def last_dimensions(shape: tuple[int, ...], normalized: tuple[int, ...], affine: bool) -> Plan:
    """The plan of a layer normalization: rows of all that is normalized together."""
    columns = math.prod(normalized)
    rows = math.prod(shape[: len(shape) - len(normalized)])
    return Plan((rows, columns), (1,), (1, columns), (0,), normalized if affine else None)


@op(
    input=lambda g, input, weight, plan, eps, kept: slope(0, g, input, weight, plan, eps, kept),
    weight=lambda g, input, weight, plan, eps, kept: slope(1, g, input, weight, plan, eps, kept),
    bias=lambda g, input, weight, plan, eps, kept: slope(2, g, input, weight, plan, eps, kept),
    method=False,
    public=False,
    node="NativeLayerNormBackward0",
)
def normalize_last(
    input: Array, weight: Array | None, bias: Array | None, plan: Any, eps: float, kept: Kept
) -> Array:
    """``(input - mean) / √(variance + eps) * weight + bias`` over the last dimensions.

    Args:
        plan: of `last_dimensions`.
        kept: for the gradients.
    """
    if input.dtype.kind != "f":
        char = dtypes.of_array(input).char
        raise NotImplementedError(f"\"LayerNormKernelImpl\" not implemented for '{char}'")
    x = canonical(input, plan)
    w = None if weight is None else weight.reshape(-1)
    b = None if bias is None else bias.reshape(-1)
    out, kept.centred, kept.scale = standardize(x, w, b, eps)
    return out.reshape(input.shape).astype(input.dtype, copy=False)
