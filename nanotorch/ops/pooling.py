"""The greatest element of each window, where it lies, and what leads back there."""

import math
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from nanotorch._core import dtypes
from nanotorch._core.batch_rules import merged
from nanotorch._core.op import Array, op
from nanotorch.ops.comparison import tied
from nanotorch.ops.windows import Ints, last, padded


class Pooling:
    """Windows over the last dimensions, as pooling takes them.

    Attributes:
        size: of these dimensions.
        padding, after: before the first element, and behind the last as far as windows reach.
        out: how many windows there are along each dimension.
        places: for each element of the kernel, those of all windows in the padded input.
    """

    def __init__(
        self, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints
    ) -> None:
        self.size, self.padding, self.out = size, padding, out
        self.kernel, self.stride, self.dilation = kernel, stride, dilation
        dims = zip(size, kernel, stride, padding, dilation, out, strict=True)
        self.after = tuple(
            [max((o - 1) * s + d * (k - 1) + 1 - n - p, 0) for n, k, s, p, d, o in dims]
        )
        pieces = [
            [slice(j, j + (o - 1) * s + 1, s) for j in range(0, k * d, d)]
            for k, s, d, o in zip(kernel, stride, dilation, out, strict=True)
        ]
        self.places = [last(at) for at in product(*pieces)]
        self.steps = [math.prod(size[k + 1 :]) for k in range(len(size))]

    def firsts(self) -> list[Array]:
        """Along each dimension, the first element of each window; negative in the padding."""
        dims = zip(self.out, self.stride, self.padding, strict=True)
        return [np.arange(o) * s - p for o, s, p in dims]

    @cached_property
    def origins(self) -> Array:
        """The number in the input, not padded, of each window's first element: ``out``."""
        total: Any = 0
        for first, step in zip(self.firsts(), self.steps, strict=True):
            total = np.add.outer(total, first * step)
        return np.asarray(total)

    @cached_property
    def numbers(self) -> Array:
        """By how much the number of each element of a window exceeds that of the first."""
        total: Any = 0
        for k, d, step in zip(self.kernel, self.dilation, self.steps, strict=True):
            total = np.add.outer(total, np.arange(k) * (d * step))
        return np.asarray(total).reshape(-1)

    @cached_property
    def entries(self) -> Array:
        """Which element of each window is the first that is not in the padding: ``out``."""
        total: Any = 0
        for k, (first, d) in enumerate(zip(self.firsts(), self.dilation, strict=True)):
            steps = math.prod(self.kernel[k + 1 :])
            total = np.add.outer(total, -(np.minimum(first, 0) // d) * steps)
        return np.asarray(total)


pooling = lru_cache(64)(Pooling)
FEW = 64


def lowest(kind: np.dtype[Any]) -> Any:
    """A number that no element of this dtype is below."""
    return -np.inf if kind.kind == "f" else np.iinfo(kind).min


def one_by_one(source: Array, at: Pooling) -> tuple[Array, Array]:
    """`greatest`, but for nan and the padding, by running over the elements of the windows."""
    best = np.array(source[at.places[0]], order="C")
    which = np.zeros(best.shape, np.min_scalar_type(len(at.places) - 1))
    for number, place in enumerate(at.places[1:], 1):
        part = np.ascontiguousarray(source[place])
        greater = part > best
        np.maximum(best, part, out=best)
        np.maximum(which, np.multiply(greater, number, dtype=which.dtype), out=which)
    return best, which


def at_once(source: Array, at: Pooling) -> tuple[Array, Array]:
    """`one_by_one` for few windows of many elements."""
    dims = len(at.size)
    spans = [d * (k - 1) + 1 for k, d in zip(at.kernel, at.dilation, strict=True)]
    views = sliding_window_view(source, spans, tuple(range(-dims, 0)))
    begin = [slice(0, (o - 1) * s + 1, s) for o, s in zip(at.out, at.stride, strict=True)]
    views = views[last((*begin, *[slice(None, None, d) for d in at.dilation]))]
    flat = views.reshape(*views.shape[:-dims], len(at.places))
    which = flat.argmax(-1)
    return np.take_along_axis(flat, which[..., None], -1)[..., 0], which


def greatest(input: Array, at: Pooling) -> tuple[Array, Array]:
    """The greatest element of each window, and which of its elements it is.

    The first of equal ones; the last nan, if there is any.
    """
    source = padded(input, at.padding, at.after, lowest(input.dtype))
    few = math.prod(at.out) <= FEW < len(at.places)
    best, which = (at_once if few else one_by_one)(source, at)
    if any(at.padding):  # where all are the lowest number, the first that is not padding
        which = np.maximum(which, at.entries)
    if input.dtype.kind == "f" and np.isnan(np.add.reduce(best, None)):
        for number, place in enumerate(at.places):
            which[np.isnan(source[place])] = number
    return best, which


def pooled(input: Array, at: Pooling) -> tuple[Array, Array]:
    """The greatest element of each window, and its number in the input."""
    dims = len(at.size)
    if input.dtype.kind == "b":
        char = dtypes.of_array(input).char
        raise NotImplementedError(f"\"max_pool{dims}d\" not implemented for '{char}'")
    best, which = greatest(input, at)
    count = math.prod(at.out)
    numbers = at.numbers.take(which.reshape(-1, count) if count else which)
    if count:
        numbers += at.origins.reshape(-1)
    return best, numbers.reshape(best.shape)


def planes(indices: Array, dims: int, size: Ints) -> Array:
    """Numbers within the last dimensions as numbers in the whole array."""
    lead = indices.shape[: indices.ndim - dims]
    starts = np.arange(math.prod(lead)) * math.prod(size)
    return (indices.reshape(len(starts), -1) + starts[:, None]).reshape(-1)


@op(
    g=lambda g, indices, size: pool_pick(g, indices, len(size)),
    method=False,
    public=False,
    batch=merged,
)
def pool_spread(g: Array, indices: Array, size: Ints) -> Array:
    """Zeros of the last dimensions ``size``, with ``g`` added at ``indices`` within them."""
    dims = len(size)
    out = np.zeros((*g.shape[: g.ndim - dims], *size), g.dtype)
    if g.size:
        np.add.at(out.reshape(-1), planes(indices, dims, size), g.reshape(-1))
    return out


@op(
    input=lambda g, indices, input_shape, dims: pool_spread(
        g, indices, tuple(input_shape[len(input_shape) - dims :])
    ),
    method=False,
    public=False,
    batch=merged,
)
def pool_pick(input: Array, indices: Array, dims: int) -> Array:
    """The elements at ``indices`` within the last dimensions."""
    if not indices.size:
        return np.empty(indices.shape, input.dtype)
    size = input.shape[input.ndim - dims :]
    return input.reshape(-1)[planes(indices, dims, size)].reshape(indices.shape)


# How operations are declared that take elements of the last two or three dimensions.
PICKED: dict[str, Any] = {"aux": ("indices",), "method": False, "public": False}
SPREAD_2D: dict[str, Any] = PICKED | {
    "input": lambda g, input, indices: tied(pool_spread(g, indices, tuple(input.shape[-2:])), input)
}
SPREAD_3D: dict[str, Any] = PICKED | {
    "input": lambda g, input, indices: tied(pool_spread(g, indices, tuple(input.shape[-3:])), input)
}


@op(**SPREAD_2D, node="MaxPool2DWithIndicesBackward0", batch=merged)
def max_pool_of_pictures(input: Array, at: Pooling) -> tuple[Array, Array]:
    """The greatest element of windows over the last two dimensions, and its number there."""
    return pooled(input, at)


@op(**SPREAD_3D, node="MaxPool3DWithIndicesBackward0", batch=merged)
def max_pool_of_volumes(input: Array, at: Pooling) -> tuple[Array, Array]:
    """The greatest element of windows over the last three dimensions, and its number there."""
    return pooled(input, at)
