"""Normalization as one node."""

from typing import Any

import numpy as np

from nanotorch._core.op import Array, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.elementwise import rsqrt
from nanotorch.ops.reduction import mean_along, sum_along


def axes_but_channels(ndim: int) -> tuple[int, ...]:
    """The dimensions of (N, C, ...) without that of the channels."""
    return (0, *range(2, ndim))


def per_channel(values: Any, ndim: int) -> Any:
    """Values (C,) in a shape that broadcasts with (N, C, ...)."""
    return values if ndim == 2 else values.reshape((-1,) + (1,) * (ndim - 2))


def moments(input: Array) -> tuple[Array, Array]:
    """Mean and biased variance of each channel of (N, C, ...)."""
    axes = axes_but_channels(input.ndim)
    count = input.dtype.type(input.size // input.shape[1])
    mean = np.add.reduce(input, axes) / count
    centred = input - per_channel(mean, input.ndim)
    return mean, np.add.reduce(centred * centred, axes) / count


def standardized(
    input: Any, mean: Array, scale: Array, training: bool, eps: float
) -> tuple[Any, Any]:
    """The standardized input, and the factor that did it.

    On tensors, in a pass that is itself recorded, the statistics of the batch are computed anew,
    since they depend on the input.
    """
    if training and isinstance(input, Tensor):
        axes = axes_but_channels(input.ndim)
        centred = input - mean_along(input, axes, True)
        factor = rsqrt(mean_along(centred * centred, axes, True) + eps)
        return centred * factor, factor
    shift: Any = per_channel(mean, input.ndim)
    factor = per_channel(scale, input.ndim)
    if isinstance(input, Tensor):
        shift, factor = wrap(shift), wrap(factor)
    return (input - shift) * factor, factor


def input_slope(
    g: Any, input: Any, weight: Any, mean: Array, scale: Array, training: bool, eps: float
) -> Any:
    """The gradient of the input of `normalize_batch`."""
    hat, factor = standardized(input, mean, scale, training, eps)
    if weight is not None:
        g = g * per_channel(weight, input.ndim)
    if not training:
        return g * factor
    axes = axes_but_channels(input.ndim)
    return factor * (g - mean_along(g, axes, True) - hat * mean_along(g * hat, axes, True))


def weight_slope(g: Any, input: Any, mean: Array, scale: Array, training: bool, eps: float) -> Any:
    """The gradient of the weight of `normalize_batch`."""
    hat, _ = standardized(input, mean, scale, training, eps)
    return sum_along(g * hat, axes_but_channels(input.ndim), False)


@op(
    input=lambda g, input, weight, mean, scale, training, eps: input_slope(
        g, input, weight, mean, scale, training, eps
    ),
    weight=lambda g, input, mean, scale, training, eps: weight_slope(
        g, input, mean, scale, training, eps
    ),
    bias=lambda g: sum_along(g, axes_but_channels(g.ndim), False),
    method=False,
    public=False,
    node="NativeBatchNormBackward0",
    in_order=True,
)
def normalize_batch(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Any,
    scale: Any,
    training: bool,
    eps: float,
) -> Array:
    """``(input - mean) * scale * weight + bias`` per channel of (N, C, ...).

    Args:
        mean, scale: arrays (C,); with ``training``, the mean of ``input`` and the reciprocal of
            its standard deviation, which the gradient takes into account.
    """
    factor = scale if weight is None else scale * weight
    out = (input - per_channel(mean, input.ndim)) * per_channel(factor, input.ndim)
    return out if bias is None else out + per_channel(bias, input.ndim)
