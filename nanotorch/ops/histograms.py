"""`histogram`: how many values fall between edges."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination, integer
from nanotorch._core.batch_functions import looped, under_vmap
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.ranges import linspace

histogram_result = named_tuple("histogram", "hist", "bin_edges")

FORMS = (
    "Tensor input, Tensor bins, *, Tensor weight = None, bool density = False, tuple of Tensors "
    "out = None",
    "Tensor input, int bins = 100, *, tuple of floats range = None, Tensor weight = None, bool "
    "density = False, tuple of Tensors out = None",
)


@method
@under_vmap(looped)
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many elements fall between edges.

    Args:
        bins: how many parts of equal width there are; or their edges, a vector in ascending order.
            Default: 100.
        range: the first and the last edge. Default: the least and the greatest element.
        weight: for how many each element counts; shaped as ``input``. Default: 1.
        density: divide by the sum and the widths, so that the integral is 1.

    Returns:
        The named tuple ``(hist, bin_edges)``. Elements outside of the edges are not counted; one
        on the last edge is.

    Raises:
        NotImplementedError: for dtypes other than float32 and float64.
        RuntimeError: for arguments that do not fit, and a range that is not finite.
    """
    given = isinstance(bins, Tensor)
    if not (given or integer(bins) is not None):
        raise combination("histogram", (input, bins), FORMS)
    if given and range is not None:
        raise combination("histogram", (input, bins), FORMS, range=range)
    if weight is not None and not isinstance(weight, Tensor):
        raise combination("histogram", (input, bins), FORMS, weight=weight)
    points = input._array.reshape(-1)
    weights = weights_of(points, weight)
    dtype = input.dtype
    parts = bins.numel() - 1 if given else bins
    if parts <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {parts} for dimension 0")
    if points.dtype not in (np.float32, np.float64):
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{dtype.char}'")
    if given:
        edges = edges_given(points, bins._array).copy()
    else:
        low, high = limits_of(points, range)
        edges = linspace(low, high, parts + 1, dtype=dtype)._array
    counts = in_cells(points, edges, weights)
    if density:
        counts = counts / counts.sum() / np.diff(edges)
    return histogram_result((wrap(counts.astype(points.dtype)), wrap(edges)))


def weights_of(points: Array, weight: Tensor | None) -> Array | None:
    """The weights of points as a vector, if there are some, and one for each."""
    if weight is None:
        return None
    weights: Array = weight._array.reshape(-1)
    if weights.shape != points.shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            f"input tensor excluding its innermost dimension, but got input with shape "
            f"{[points.size, 1]} and weight with shape {[weights.size]}"
        )
    if weights.dtype != points.dtype:
        names = [dtypes.C_NAMES[dtypes.of_array(a).name] for a in (points, weights)]
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({names[0]}), and weight({names[1]})"
        )
    return weights


def edges_given(points: Array, edges: Array) -> Array:
    """The edges, if they are a vector of the points' dtype."""
    if edges.dtype != points.dtype:
        names = [dtypes.C_NAMES[dtypes.of_array(a).name] for a in (points, edges)]
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
            f"input with dtype {names[0]} and bins for dimension 0 with dtype {names[1]}"
        )
    if edges.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} "
            "dimensions in the bins tensor for dimension 0"
        )
    return edges


def limits_of(values: Array, asked: Sequence[float] | None) -> tuple[float, float]:
    """The first and the last edge."""
    if asked is not None and len(asked) != 2:
        raise RuntimeError(
            "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but "
            f"got {len(asked)}"
        )
    if asked is not None:
        low, high = float(asked[0]), float(asked[1])
    elif values.size:
        low, high = float(values.min()), float(values.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension 0's range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
            "dimension 0"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def in_cells(values: Array, edges: Array, weights: Array | None) -> Array:
    """How many values, or how much weight, lie between neighbouring edges."""
    inside = (values >= edges[0]) & (values <= edges[-1])
    last = len(edges) - 2
    at = np.minimum(np.searchsorted(edges, values, side="right") - 1, last)
    chosen = None if weights is None else weights[inside]
    return np.bincount(at[inside], chosen, minlength=last + 1)
