"""`histogram` and `histogramdd`: how many values fall between edges."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination, integer, kind_of, refused_element
from nanotorch._core.batch_functions import NO_RULE, looped, never, under_vmap
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, public
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.ranges import linspace

histogram_result = named_tuple("histogram", "hist", "bin_edges")
histogramdd_result = named_tuple("histogramdd", "hist", "bin_edges", out=False)

FORMS = (
    "Tensor input, Tensor bins, *, Tensor weight = None, bool density = False, tuple of Tensors "
    "out = None",
    "Tensor input, int bins = 100, *, tuple of floats range = None, Tensor weight = None, bool "
    "density = False, tuple of Tensors out = None",
)
FORMS_OF_GRIDS = tuple(
    f"Tensor input, {bins}, tuple of floats range = None, Tensor weight = None, bool density = "
    "False"
    for bins in ("int bins", "tuple of ints bins", "tuple of Tensors bins")
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
    points = input._array.reshape(-1, 1)
    vector = None if weight is None else weight.reshape(-1)
    weights = weights_of(points, vector, points.shape[:1])
    counts, edges = counted(points, [bins], range, weights, density)
    edges_seen = edges[0].copy() if given else edges[0]
    return histogram_result((wrap(counts), wrap(edges_seen)))


@public
@under_vmap(never(NO_RULE.format("histogramdd")))
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Any:
    """How many points fall into each cell of a grid.

    Args:
        input: points, ``(..., n)``.
        bins: into how many parts the grid divides each of the n axes, a number for all or one for
            each; or for each the edges, a vector in ascending order.
        range: the first and the last edge of each axis, one after another. Default: the least and
            the greatest coordinate.
        weight: for how many each point counts, ``(...)``. Default: 1.
        density: divide by the sum and the volumes of cells, so that the integral is 1.

    Returns:
        The named tuple ``(hist, bin_edges)``, of a tensor of n dimensions and n vectors.

    Raises:
        RuntimeError, NotImplementedError: as `histogram`.
    """
    array = input._array
    if array.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    *many, axes = array.shape
    parts = [bins] * axes if integer(bins) is not None else bins
    if not isinstance(parts, (tuple, list)):
        raise combination("histogramdd", (input, bins), FORMS_OF_GRIDS)
    if weight is not None and not isinstance(weight, Tensor):
        raise combination("histogramdd", (input, bins), FORMS_OF_GRIDS, weight=weight)
    given = bool(parts) and integer(parts[0]) is None
    for position, one in enumerate(parts):
        if given and not isinstance(one, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 1, but got {kind_of(one)}"
            )
        if not given and integer(one) is None:
            raise refused_element(parts, position, ("histogramdd", "bins", 2))
    if len(parts) != axes and given:
        raise RuntimeError(
            f"torch.histogramdd: expected {axes} sequences of bin edges for a {axes}-dimensional "
            f"histogram but got {len(parts)}"
        )
    if len(parts) != axes:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    weights = weights_of(array, weight, many)
    points = array.reshape(math.prod(many), axes)
    counts, edges = counted(points, parts, range, weights, density)
    return histogramdd_result(
        (wrap(counts), tuple(parts) if given else tuple(wrap(e) for e in edges))
    )


def weights_of(points: Array, weight: Tensor | None, shape: Sequence[int]) -> Array | None:
    """The weights of points as a vector, if there are some, and they have this shape."""
    if weight is None:
        return None
    if list(weight.shape) != list(shape):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            f"input tensor excluding its innermost dimension, but got input with shape "
            f"{list(points.shape)} and weight with shape {list(weight.shape)}"
        )
    weights: Array = weight._array.reshape(-1)
    if weights.dtype != points.dtype:
        names = [dtypes.C_NAMES[dtypes.of_array(a).name] for a in (points, weights)]
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({names[0]}), and weight({names[1]})"
        )
    return weights


def counted(
    points: Array, bins: Sequence[Any], limits: Any, weights: Array | None, density: bool
) -> tuple[Array, list[Array]]:
    """The counts of points (N, n) in the cells of a grid, and its edges."""
    kind = points.dtype
    count = len(bins)
    for axis, number in enumerate(bins):
        parts = number.numel() - 1 if isinstance(number, Tensor) else number
        if parts <= 0:
            raise RuntimeError(
                f"torch.histogram(): bins must be > 0, but got {parts} for dimension {axis}"
            )
    if kind not in (np.float32, np.float64):
        name = dtypes.of_array(points).char
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{name}'")
    if any(isinstance(one, Tensor) for one in bins):
        edges = [edges_given(points, axis, one._array) for axis, one in enumerate(bins)]
    else:
        if limits is not None and len(limits) != 2 * count:
            raise RuntimeError(
                f"torch.histogramdd: for a {count}-dimensional histogram range should have "
                f"{2 * count} elements, but got {len(limits)}"
            )
        edges = []
        for axis, number in enumerate(bins):
            asked = None if limits is None else limits[2 * axis : 2 * axis + 2]
            low, high = limits_of(points[:, axis], axis, asked)
            dtype = dtypes.of_array(points)
            edges.append(linspace(low, high, number + 1, dtype=dtype)._array)
    hist = in_cells(points, edges, weights)
    if density:
        hist = hist / hist.sum()
        for axis, one in enumerate(edges):
            hist = hist / np.diff(one).reshape([-1 if d == axis else 1 for d in range(count)])
    return hist.astype(kind), edges


def edges_given(points: Array, axis: int, edges: Array) -> Array:
    """The edges of one axis, if they are a vector of the points' dtype."""
    if edges.dtype != points.dtype:
        names = [dtypes.C_NAMES[dtypes.of_array(a).name] for a in (points, edges)]
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
            f"input with dtype {names[0]} and bins for dimension {axis} with dtype {names[1]}"
        )
    if edges.ndim != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.ndim} "
            f"dimensions in the bins tensor for dimension {axis}"
        )
    return edges


def limits_of(values: Array, axis: int, asked: Sequence[float] | None) -> tuple[float, float]:
    """The first and the last edge of one axis."""
    if asked is not None:
        low, high = float(asked[0]), float(asked[1])
    elif values.size:
        low, high = float(values.min()), float(values.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {axis}'s range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for "
            f"dimension {axis}"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def in_cells(points: Array, edges: Sequence[Array], weights: Array | None) -> Array:
    """How many points, or how much weight, lie in each cell."""
    shape = [len(e) - 1 for e in edges]
    inside = np.full(len(points), bool(edges))  # points of no dimensions are not counted
    at = np.zeros(len(points), np.int64)
    for axis, one in enumerate(edges):
        values = points[:, axis]
        inside &= (values >= one[0]) & (values <= one[-1])
        place = np.searchsorted(one, values, side="right") - 1
        at = at * shape[axis] + np.minimum(place, shape[axis] - 1)
    chosen = None if weights is None else weights[inside]
    return np.bincount(at[inside], chosen, minlength=math.prod(shape)).reshape(shape)
