"""Normalization over the last dimensions, as one node."""

from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.op import Array, op
from nanotorch.ops.elementwise import rsqrt
from nanotorch.ops.reduction import mean_along, sum_along


def last(ndim: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions that are normalized: as many of the last as ``shape`` has."""
    return tuple(range(ndim - len(shape), ndim))


def standardized(input: Any, shape: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """The standardized input, and the factor that did it."""
    axes = last(input.ndim, shape)
    centred = input - mean_along(input, axes, True)
    factor = rsqrt(mean_along(centred * centred, axes, True) + eps)
    return centred * factor, factor


def input_slope(g: Any, input: Any, weight: Any, shape: tuple[int, ...], eps: float) -> Any:
    """The gradient of the input of `normalize_last`."""
    hat, factor = standardized(input, shape, eps)
    if weight is not None:
        g = g * weight
    axes = last(input.ndim, shape)
    return factor * (g - mean_along(g, axes, True) - hat * mean_along(g * hat, axes, True))


def first(g: Any, shape: tuple[int, ...]) -> Any:
    """The sum over all dimensions that are not normalized."""
    axes = tuple(range(g.ndim - len(shape)))
    return sum_along(g, axes, False) if axes else g


@op(
    input=lambda g, input, weight, shape, eps: input_slope(g, input, weight, shape, eps),
    weight=lambda g, input, shape, eps: first(g * standardized(input, shape, eps)[0], shape),
    bias=lambda g, shape: first(g, shape),
    method=False,
    public=False,
    node="NativeLayerNormBackward0",
    in_order=True,
)
def normalize_last(
    input: Array, weight: Array | None, bias: Array | None, shape: tuple[int, ...], eps: float
) -> Array:
    """``(input - mean) / √(variance + eps) * weight + bias`` over the last dimensions.

    Args:
        shape: of those dimensions, of ``weight`` and of ``bias``.
    """
    if input.dtype.kind != "f":
        char = dtypes.of_array(input).char
        raise NotImplementedError(f"\"LayerNormKernelImpl\" not implemented for '{char}'")
    out, _ = standardized(input, shape, eps)
    if weight is not None:
        out = out * weight
    return out if bias is None else out + bias
