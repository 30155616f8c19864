"""Normalization over the last dimensions, as one node."""

import math
from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.batch_rules import Call, in_line
from nanotorch._core.op import Array, op
from nanotorch.ops.elementwise import add, mul
from nanotorch.ops.standard_rows import standardize
from nanotorch.ops.standardizing import Kept, Plan, canonical, slopes


def last_dimensions(shape: tuple[int, ...], normalized: tuple[int, ...], affine: bool) -> Plan:
    """The plan of a layer normalization: rows of all that is normalized together."""
    columns = math.prod(normalized)
    rows = math.prod(shape[: len(shape) - len(normalized)])
    return Plan((rows, columns), (1,), (1, columns), (0,), normalized if affine else None)


def normalized_of_all(call: Call) -> Any:
    """`normalize_last` of each sample; weights and biases of samples are applied afterwards."""
    input, eps, plan = call.repeated("input"), call.args["eps"], call.args["plan"]
    rows = input.numel() // plan.shape[1]
    plan = plan._replace(shape=(rows, plan.shape[1]))
    weight, bias = call.args["weight"], call.args["bias"]
    if not call.is_batched("weight") and not call.is_batched("bias"):
        return normalize_last(input, weight, bias, plan, eps, Kept())
    out = normalize_last(input, None, None, plan._replace(affine=None), eps, Kept())
    for name, apply in (("weight", mul), ("bias", add)):
        if call.args[name] is not None:
            value = call.repeated(name)
            out = apply(out, in_line(value, value.ndim - 1, input.ndim - 1))
    return out


@op(
    input=slopes,
    weight=slopes,
    bias=slopes,
    joint=True,
    method=False,
    public=False,
    node="NativeLayerNormBackward0",
    batch=lambda call: normalized_of_all(call),
    wide=True,
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
