"""Windows over the last dimensions, padding, and pictures in other sizes or seen by a grid."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_int, as_ints, named
from nanotorch._core.batched import Call, apart, leading, merged
from nanotorch._core.dtypes import Number
from nanotorch._core.op import Array, hidden_op, op
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import (
    as_number,
    need_kind,
    need_ndim,
    need_one_dtype,
    number_in,
    require,
)
from nanotorch.ops.elementwise import tied
from nanotorch.ops.joining import stack_along
from nanotorch.ops.reduction import sum_along

# Windows that slide over the last dimensions of ``(N, C, ...)``: which elements of the input are
# theirs.


Ints = tuple[int, ...]


def last(parts: Iterable[Any]) -> tuple[Any, ...]:
    """An index of the last dimensions."""
    return (..., *parts)


def planes(indices: Array, dims: int, size: Ints) -> Array:
    """Numbers within the last dimensions as numbers in the whole array."""
    lead = indices.shape[: indices.ndim - dims]
    starts = np.arange(math.prod(lead)) * math.prod(size)
    return (indices.reshape(len(starts), -1) + starts[:, None]).reshape(-1)


def padded(input: Array, padding: Ints, after: Ints | None = None, value: Any = 0) -> Array:
    """``input`` in order in memory, with ``value`` around its last dimensions.

    Args:
        after: the padding behind, where it is not that before.
    """
    after = padding if after is None else after
    if not (any(padding) or any(after)):
        return np.ascontiguousarray(input)
    lead = input.ndim - len(padding)
    sizes = zip(input.shape[lead:], padding, after, strict=True)
    shape = input.shape[:lead] + tuple([n + p + q for n, p, q in sizes])
    out = np.zeros(shape, input.dtype) if value == 0 else np.full(shape, value, input.dtype)
    inner = zip(padding, input.shape[lead:], strict=True)
    out[last(slice(p, p + n) for p, n in inner)] = input
    return out


def positions(size: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Ints:
    """How many windows fit into each dimension."""
    dims = zip(size, kernel, stride, dilation, strict=True)
    return tuple([(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in dims])


class Windows:
    """The windows over an input of one size.

    Args:
        out: if there are more windows than are wanted, how many these are.

    Attributes:
        size: of the input.
        kernel, stride, dilation: along each dimension.
        start: where the first window begins, along each dimension; below 0 with padding.
        out: how many windows there are along each dimension.
        places: how many places the rows of a window have, along all dimensions but the first.
        taps: for each of them two indices: of an array ``(*kernel, ..., *out)``, where the windows
            are whose element there is one of the input, no padding; and of an input, where these
            elements are. The first dimension is left out.
        turned: the same for arrays ``(*kernel, ..., *size)`` and ``(..., *out)``.
        single: whether each window is one element, and none is in the padding.
    """

    def __init__(
        self, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
        out: Ints | None = None,
    ) -> None:  # fmt: skip
        self.size, self.kernel, self.stride, self.dilation = size, kernel, stride, dilation
        self.padding, self.start = padding, tuple([-p for p in padding])
        around = tuple([n + 2 * p for n, p in zip(size, padding, strict=True)])
        self.out = positions(around, kernel, stride, dilation) if out is None else out
        dims = zip(size, kernel, stride, dilation, self.start, self.out, strict=True)
        spans = [[inside(n, s, b + d * j, o) for j in range(k)] for n, k, s, d, b, o in dims]
        self.taps: list[tuple[Any, Any]] = []
        self.turned: list[tuple[Any, Any]] = []
        for place in product(*map(range, kernel[1:])):
            pairs = [span[j] for span, j in zip(spans[1:], place, strict=True)]
            here, there = ([pair[k] for pair in pairs] for k in (0, 1))
            self.taps.append(((*place, ..., *here), (..., *there)))
            self.turned.append(((*place, ..., *there), (..., *here)))
        self.places = len(self.taps)
        self.single = set(kernel) == {1} and not any(padding)

    @cached_property
    def in_one_row(self) -> "Windows":
        """The same windows with a dimension of size 1 in front of the others."""
        lead = ((1,), (1,), (1,), (0,), (1,), (1,))
        own = self.size, self.kernel, self.stride, self.padding, self.dilation, self.out
        return windows(*[a + b for a, b in zip(lead, own, strict=True)])


windows = lru_cache(1024)(Windows)  # by sizes: models ask for the same ones again and again


def inside(size: int, stride: int, first: int, out: int) -> tuple[slice, slice]:
    """Along a dimension: which of ``out`` places, ``stride`` apart, are in the input; these places.

    Args:
        size: of the input.
        first: the first place.
    """
    low = min(max(0, -(first // stride)), out)
    high = max(low, min(out, (size - 1 - first) // stride + 1))
    end = max((high - 1) * stride + first + 1, 0)
    return slice(low, high), slice(low * stride + first, end, stride)


# Each element along a dimension as a weighted sum of few others: what enlarges, pads and averages.
#
# `Taps` say which others, and with which weights; their adjoint adds each back to where it came
# from.


Place = slice | Array  # of elements along a dimension


class Taps:
    """For each element along a dimension the elements that it is made of.

    Args:
        size: of the dimension before.
        index: ``(T, n)`` or ``(n,)``: where the T elements are that make each of n.
        weights: ``(T, n)``; without them each is a copy of one.
    """

    def __init__(self, size: int, index: Array, weights: Array | None = None) -> None:
        rows = np.atleast_2d(index)
        self.size, self.out = size, rows.shape[1]
        every = np.arange(self.out)
        self.steps = [
            Step(every, row, None if weights is None else weights[k]) for k, row in enumerate(rows)
        ]
        self.steps_back = ways_back(rows, weights)

    def apply(self, input: Array, dim: int) -> Array:
        """The new elements along ``dim``."""
        return gathered(self.steps, self.out, input, dim)

    def back(self, g: Array, dim: int) -> Array:
        """The adjoint of `apply`."""
        return gathered(self.steps_back, self.size, g, dim)


class Step:
    """Elements that are added, times weights, at places of which no two are the same."""

    def __init__(self, target: Array, source: Array, weights: Array | None) -> None:
        self.count = len(target)
        self.target, self.source = place(target), place(source)
        self.weights = weights

    def part(self, input: Array, dim: int) -> Array:
        """What is added; perhaps a view."""
        if isinstance(self.source, slice):
            part = input[(*(slice(None),) * dim, self.source)]
        else:
            part = input.take(self.source, dim)
        if self.weights is None:
            return part
        row = self.weights.astype(part.dtype)
        return part * row.reshape((-1,) + (1,) * (part.ndim - dim - 1))


def place(index: Array) -> Place:
    """Places at equal distances as a slice, which is faster."""
    if len(index) == 1:
        return slice(int(index[0]), int(index[0]) + 1)
    steps = set((index[1:] - index[:-1]).tolist())
    if len(steps) == 1 and min(steps) > 0:
        return slice(int(index[0]), int(index[-1]) + 1, steps.pop())
    return index


def ways_back(rows: Array, weights: Array | None) -> list[Step]:
    """The adjoint: in step k, to each place comes what was made of it for the k-th time."""
    places = rows.reshape(-1)
    origins = np.tile(np.arange(rows.shape[1]), len(rows))
    shares = None if weights is None else weights.reshape(-1)
    if shares is not None:
        used = shares != 0
        places, origins, shares = places[used], origins[used], shares[used]
    order = np.argsort(places, kind="stable")
    ascending = places[order]
    turn = np.arange(len(order)) - np.searchsorted(ascending, ascending)
    steps = []
    for k in range(int(turn.max(initial=-1)) + 1):
        now = order[turn == k]
        steps.append(Step(places[now], origins[now], None if shares is None else shares[now]))
    return steps


def gathered(steps: Sequence[Step], size: int, input: Array, dim: int) -> Array:
    """The sum of all steps, along a dimension of the new ``size``."""
    first = steps[0] if steps else None
    if first is not None and first.count == size and isinstance(first.target, slice):
        part = first.part(input, dim)
        out = np.ascontiguousarray(part) if first.weights is not None else part.copy()
        steps = steps[1:]
    else:
        out = np.zeros((*input.shape[:dim], size, *input.shape[dim + 1 :]), input.dtype)
    for step in steps:
        out[(*(slice(None),) * dim, step.target)] += step.part(input, dim)
    return out


Maps = Sequence[Taps | None]  # of the last dimensions; None for one that stays as it is


def along(input: Array, maps: Maps, back: bool = False) -> Array:
    """All taps, or their adjoints, one dimension after the other."""
    out, first = input, input.ndim - len(maps)
    for k, taps in enumerate(maps):
        if taps is not None:
            out = (taps.back if back else taps.apply)(out, first + k)
    if out is input:
        return input.copy()
    return out.astype(input.dtype, copy=False)


@hidden_op(input=lambda g, maps, back: resample(g, maps, not back), batch=merged, wide=True)
def resample(input: Array, maps: Maps, back: bool = False) -> Array:
    """The elements that ``maps`` make of the last dimensions, or the adjoint of that."""
    return along(input, maps, back)


# PyTorch's backward takes the input of some of them as well.
TIED: dict[str, Any] = {"input": lambda g, input, maps: tied(resample(g, maps, True), input)}


def resampling(name: str, **declared: Any) -> Any:
    """`resample` by another name, as an operation with a node of its own."""

    def kernel(input: Array, maps: Maps) -> Array:
        """The elements that ``maps`` make of the last dimensions."""
        return along(input, maps)

    formula = {"input": lambda g, maps: resample(g, maps, True)}
    return hidden_op(**{**formula, "batch": merged, **declared})(named(kernel, name))


def resamplings(name: str, **declared: Any) -> tuple[Any, ...]:
    """`resampling` over one, two and three dimensions."""
    return tuple([resampling(f"{name}{dims}d", **declared) for dims in (1, 2, 3)])


# Padding: a constant, or the input's own elements, around the last dimensions.


@op(input=lambda g, pad: constant_pad_nd(g, [-n for n in as_ints(pad)]), method=False)
def constant_pad_nd(input: Array, pad: Sequence[int], value: Number = 0) -> Array:
    """``input`` with ``value`` around its last dimensions.

    Args:
        pad: how many before and after, the last dimension first; negative ones cut off.

    Raises:
        RuntimeError: for an odd count, more dimensions than there are, or more cut off than there
            is.
    """
    pad, ndim, kind = as_ints(pad), input.ndim, input.dtype
    require(not len(pad) % 2, "Length of pad must be even but instead it equals {}", len(pad))
    require(len(pad) <= 2 * ndim, "pad(): {} numbers for {} dimensions", len(pad), ndim)
    lead = ndim - len(pad) // 2
    dims = list(zip(input.shape[lead:], pad[::2][::-1], pad[1::2][::-1], strict=True))
    if any(n + min(b, 0) + min(a, 0) < 0 for n, b, a in dims):
        raise RuntimeError("narrow(): length must be non-negative.")
    kept = last(slice(max(-b, 0), n + min(a, 0)) for n, b, a in dims)
    if max(pad, default=0) <= 0:
        return input[kept].copy("K")
    shape = (*input.shape[:lead], *[n + b + a for n, b, a in dims])
    out = np.full(shape, number_in(as_number(value), kind), kind)
    out[last(slice(max(b, 0), n + b + min(a, 0)) for n, b, a in dims)] = input[kept]
    return out


# With the input's own elements


@lru_cache(256)
def around(mode: str, size: int, before: int, after: int) -> Taps | None:
    """Around the elements themselves: mirrored at the outermost, these again and again, or those
    of the other side."""
    if not (before or after):
        return None
    index = np.arange(-before, size + after)
    if mode == "reflect":
        return Taps(size, size - 1 - np.abs(size - 1 - np.abs(index)))
    if mode == "replicate":
        return Taps(size, np.clip(index, 0, size - 1))
    start, kept = max(-before, 0), size + min(before, 0) + min(after, 0)
    index = np.arange(-max(before, 0), kept + max(after, 0))
    return Taps(size, start + index % max(kept, 1))


MODES = {
    "reflect": resamplings("reflection_pad", **TIED),
    "replicate": resamplings("replication_pad", **TIED),
    # PyTorch copies the parts one by one into a new tensor, whose node is that of such copies.
    "circular": (resampling("circular_pad", node="torch::autograd::CopySlices"),) * 3,
}


def pad_as(input: Tensor, pad: tuple[int, ...], mode: str) -> Tensor:
    """``input`` with its own elements around its last dimensions.

    Raises:
        NotImplementedError: for another mode, or another count of dimensions than PyTorch takes.
        RuntimeError: for more padding than there are elements.
    """
    require(mode in MODES, "Unrecognised padding mode {}", mode, error=NotImplementedError)
    shape = input._array.shape
    dims = len(pad) // 2
    fits = len(pad) in (2, 4, 6) and len(shape) in (dims + 1, dims + 2)
    text = "pad(): mode {!r} does not take {} numbers for {} dimensions"
    require(fits, text, mode, len(pad), len(shape), error=NotImplementedError)
    pairs = list(zip(shape[-dims:], pad[::2][::-1], pad[1::2][::-1], strict=True))
    check_pad(input._array, pairs, mode)
    return MODES[mode][dims - 1](input, tuple([around(mode, *pair) for pair in pairs]))


def check_pad(array: Array, pairs: list[tuple[int, int, int]], mode: str) -> None:
    """Refuse padding that the input has no elements for.

    Args:
        pairs: for each of the last dimensions its size, and how much comes before and after.
    """
    shape, dims = array.shape, len(pairs)
    if mode == "circular":
        once = all(max(before, after) <= size for size, before, after in pairs)
        require(once, "Padding value causes wrapping around more than once.")
        kept = all(size + before + after >= 0 for size, before, after in pairs)
        require(kept, "Negative padding value is resulting in an empty dimension")
        return
    batch = len(shape) == dims + 2
    require(0 not in shape[1 if batch else 0 :], "pad(): no elements in shape {}", shape)
    if mode == "reflect":
        for k, (size, before, after) in reversed(list(enumerate(pairs))):
            if max(before, after) >= size:
                raise RuntimeError(
                    f"Argument #{2 * (dims - k) + 2}: Padding size should be less than the "
                    f"corresponding input dimension, but got: padding ({before}, {after}) at "
                    f"dimension {len(shape) - dims + k} of input {list(shape)}"
                )
    out = [size + before + after for size, before, after in pairs]
    require(min(out) > 0, "pad(): input {} would be left with {}", shape, out)
    name = "reflection" if mode == "reflect" else "replication"
    need_kind(f"{name}_pad{dims}d", array, kinds="fiu")


# Windows as columns and back, and channels exchanged with space: `unfold`, `pixel_shuffle`.


@hidden_op(
    input=lambda g, input_shape, size, stride, padding, dilation: col2im(
        g, tuple(input_shape[-2:]), size, stride, padding, dilation
    ),
    node="Im2ColBackward0",
    batch=merged,
    wide=True,
)
def im2col(input: Array, size: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """The windows of ``size`` over (N, C, H, W) or (C, H, W) as columns."""
    need_kind("im2col_out_cpu", input, kinds="fb")
    at = windows(input.shape[-2:], size, stride, padding, dilation).in_one_row
    *lead, channels = input.shape[:-2]
    out = np.zeros((*lead, channels, *size, *at.out[1:]), input.dtype)
    columns = np.moveaxis(out, (-4, -3), (0, 1))
    for here, there in at.taps:
        columns[here] = input[there]
    return out.reshape(*lead, channels * at.places, math.prod(at.out))


@hidden_op(
    g=lambda g, size, stride, padding, dilation: im2col(g, size, stride, padding, dilation),
    node="Col2ImBackward0",
    batch=merged,
    wide=True,
)
def col2im(
    g: Array, out_size: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Array:
    """The adjoint of `im2col`: columns added to where they belong."""
    need_kind("col2im_out_cpu", g, kinds="fb")
    at = windows(out_size, size, stride, padding, dilation).in_one_row
    *lead, rows, _ = g.shape
    columns = g.reshape(*lead, rows // at.places, *size, *at.out[1:])
    out = np.zeros((*lead, rows // at.places, *out_size), g.dtype)
    columns = np.moveaxis(columns, (-4, -3), (0, 1))
    for here, there in at.taps:
        out[there] += columns[here]
    return out


# Channels and space


def factor_of(name: str, argument: str, given: Any, input: Array) -> int:
    """By how much a picture is enlarged or reduced, if it is one and the factor is positive."""
    factor = as_int(given)
    need_ndim(name, input, 3)
    require(factor > 0, "{} expects a positive {}, but got {}", name, argument, factor)
    return factor


@op(
    input=lambda g, upscale_factor: pixel_unshuffle(g, upscale_factor),
    method=False,
    in_order=True,
    batch=leading,
)
def pixel_shuffle(input: Array, upscale_factor: int) -> Array:
    """(..., C · r², H, W) as (..., C, H · r, W · r): r² channels make squares of r by r.

    Raises:
        RuntimeError: for fewer than three dimensions, a factor that is not positive, channels that
            do not divide by its square.

    Reference:
        Shi et al., Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
        Convolutional Neural Network, CVPR 2016.
    """
    r = factor_of("pixel_shuffle", "upscale_factor", upscale_factor, input)
    *lead, channels, height, width = input.shape
    require(not channels % (r * r), "pixel_shuffle(): {} channels for {}", channels, r * r)
    parts = input.reshape(-1, channels // (r * r), r, r, height, width).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(*lead, channels // (r * r), height * r, width * r)


@op(
    input=lambda g, downscale_factor: pixel_shuffle(g, downscale_factor),
    method=False,
    in_order=True,
    batch=leading,
)
def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """(..., C, H · r, W · r) as (..., C · r², H, W): the inverse of `pixel_shuffle`.

    Raises:
        RuntimeError: for fewer than three dimensions, a factor that is not positive, sizes that do
            not divide by it.
    """
    r = factor_of("pixel_unshuffle", "downscale_factor", downscale_factor, input)
    *lead, channels, height, width = input.shape
    for size in (height, width):
        require(not size % r, "pixel_unshuffle(): size {} is no multiple of {}", size, r)
    parts = input.reshape(-1, channels, height // r, r, width // r, r).transpose(0, 1, 3, 5, 2, 4)
    return parts.reshape(*lead, channels * r * r, height // r, width // r)


# Pictures made larger or smaller: which elements each new one is made of, and how much of each.


CUBIC = -0.75  # the slope of the cubic kernel at 1; with anti-aliasing it is -0.5


# By mode: those over one, two and three dimensions; of how many the operation is, and that.
NEAREST_OF = {
    "nearest": resamplings("upsample_nearest"),
    "nearest-exact": resamplings("upsample_nearest_exact"),
}
SMOOTH = {
    "linear": (1, resampling("upsample_linear1d", wide=True)),
    "bilinear": (2, resampling("upsample_bilinear2d", wide=True)),
    "bicubic": (2, resampling("upsample_bicubic2d", wide=True)),
    "trilinear": (3, resampling("upsample_trilinear3d", wide=True)),
}
ANTIALIASED = {
    mode: resampling(f"upsample_{mode}2d_aa", wide=True) for mode in ("bilinear", "bicubic")
}


def step_of(size: int, out: int, scale: float | None) -> float:
    """How far neighbours of the result are apart in the input."""
    return 1.0 / scale if scale is not None and scale > 0 else size / out


@lru_cache(256)
def nearest(size: int, out: int, scale: float | None, exact: bool) -> Taps:
    """The nearest element: that below the left end of each new one, or (exact) its middle."""
    step = np.float32(step_of(size, out, scale))
    k = np.arange(out, dtype=np.float32)
    if exact:
        index = np.floor((k + np.float32(0.5)) * step)
    elif out == size:
        index = k
    elif out == 2 * size:
        index = k // 2
    else:
        index = np.floor(k * step)
    return Taps(size, np.minimum(index.astype(np.int64), size - 1))


def sources(size: int, out: int, scale: float | None, align_corners: bool, kind: np.dtype) -> Array:
    """Where the new elements lie between the old ones, in the precision of ``kind``."""
    k = np.arange(out).astype(kind)
    if align_corners:
        return k * kind.type((size - 1) / (out - 1) if out > 1 else 0.0)
    half = kind.type(0.5)
    return (k + half) * kind.type(step_of(size, out, scale)) - half


@lru_cache(256)
def linear(
    size: int, out: int, scale: float | None, align_corners: bool, kind: np.dtype
) -> Taps | None:
    """The two neighbours, weighted by their nearness."""
    if size == out and (align_corners or scale is None):
        return None
    at = np.maximum(sources(size, out, scale, align_corners, kind), 0)
    left = np.minimum(np.floor(at).astype(np.int64), size - 1)
    right = np.minimum(left + 1, size - 1)
    share = np.clip(at - left, 0, 1)
    return Taps(size, np.stack([left, right]), np.stack([1 - share, share]))


def cubic_kernel(distance: Array, a: float) -> Array:
    """The weight of an element at a distance.

    Reference:
        Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981.
    """
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


@lru_cache(256)
def cubic(
    size: int, out: int, scale: float | None, align_corners: bool, kind: np.dtype
) -> Taps | None:
    """The four neighbours, weighted by a cubic kernel; beyond a border is the border."""
    if size == out and (align_corners or scale is None):
        return None
    at = sources(size, out, scale, align_corners, kind)
    left = np.floor(at)
    places = left + np.arange(-1, 3)[:, None]
    index = np.clip(places, 0, size - 1).astype(np.int64)
    return Taps(size, index, cubic_kernel(at - places, CUBIC))


@lru_cache(256)
def smooth(
    size: int, out: int, scale: float | None, align_corners: bool, curved: bool
) -> Taps | None:
    """As `linear` or `cubic`, of as many elements as a new one covers."""
    if size == out and (align_corners or scale is None):
        return None
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = step_of(size, out, scale)
    reach = (2.0 if curved else 1.0) * max(step, 1.0)
    middle = (np.arange(out) + 0.5) * step
    start = np.maximum((middle - reach + 0.5).astype(np.int64), 0)
    stop = np.minimum((middle + reach + 0.5).astype(np.int64), size)
    k = np.arange(max(math.ceil(reach) * 2 + 1, 1))[:, None]
    distance = (k + start - middle + 0.5) / max(step, 1.0)
    if curved:
        weights = cubic_kernel(distance, -0.5)
    else:
        weights = np.maximum(1 - np.abs(distance), 0)
    weights = np.where(k < stop - start, weights, 0)
    return Taps(size, np.minimum(start + k, size - 1), weights / weights.sum(0))


# Pictures seen through a grid of places: `grid_sample`, and the grids of affine maps.
#
# What is seen at a place is a sum over the elements around it, each times one weight for every
# dimension. The derivative along a dimension is the same sum with the derivatives of its weights,
# so that one operation, which is told how often to differentiate along each, has all of them.


BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
Orders = tuple[int, ...]
Options = tuple[int, int, bool]  # interpolation, padding, whether corners are aligned
FAR = 1e9  # where a place lies that is farther away, or nowhere

# The cubic kernel of nearest and of farther elements: coefficients, the constant first.
NEAR = (1.0, 0.0, -2.25, 1.25)
OUTER = (3.0, -6.0, 3.75, -0.75)


def reflected(at: Array, size: int, align_corners: bool) -> tuple[Array, Array]:
    """Places mirrored at the borders until they are inside, and the sign of their slope."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(at), np.zeros_like(at)
    away = at - low
    turns, rest = np.floor(np.abs(away) / span), np.fmod(np.abs(away), span)
    even = turns % 2 == 0
    sign = np.where(even, 1.0, -1.0) * np.where(away < 0, -1.0, 1.0)
    return np.where(even, rest + low, span - rest + low), sign


def brought_inside(at: Array, size: int, padding: int, align_corners: bool) -> tuple[Array, Array]:
    """Places as the padding moves them, and the slope of that."""
    slope = np.ones_like(at)
    if padding == REFLECTION:
        at, slope = reflected(at, size, align_corners)
    if padding != ZEROS:
        slope = np.where((at > 0) & (at < size - 1), slope, 0)
        at = np.clip(at, 0, size - 1)
    return at, slope


def polynomial(coefficients: Sequence[float], x: Array, order: int) -> Array:
    """The derivative of this order of a polynomial."""
    found = np.polynomial.polynomial.polyder(coefficients, order)
    return np.asarray(np.polynomial.polynomial.polyval(x, found))


Tap = tuple[Array, Array]  # which element of a dimension, with which weight


def taps(grid: Array, size: int, options: Options, order: int) -> list[Tap]:
    """The elements around places of one dimension, and derivatives of their weights.

    Args:
        grid: the places; the picture is between -1 and 1.
    """
    mode, padding, align_corners = options
    scale = (size - 1) / 2 if align_corners else size / 2
    at = np.clip(np.nan_to_num(grid * scale + (size - 1) / 2, nan=-FAR), -FAR, FAR)
    at = at.astype(grid.dtype, copy=False)
    if mode == BICUBIC:
        return cubic_taps(at, size, options, order, scale)
    at, slope = brought_inside(at, size, padding, align_corners)
    slope = slope * scale
    if mode == NEAREST:
        places = [(np.rint(at), np.full(at.shape, 0.0 if order else 1.0))]
    else:
        left = np.floor(at)
        right = at - left
        shares = (1 - right, right) if order == 0 else (-slope, slope)
        if order > 1:
            shares = (0 * slope, 0 * slope)
        places = [(left, shares[0]), (left + 1, shares[1])]
    return [masked(place, weight, size, grid.dtype) for place, weight in places]


def cubic_taps(at: Array, size: int, options: Options, order: int, scale: float) -> list[Tap]:
    """`taps` of the four elements around each place; the padding moves each of them."""
    left = np.floor(at)
    x = at - left
    found = []
    for k in range(-1, 3):
        distance, sign = (x - k, 1) if k <= 0 else (k - x, -1)
        kernel = NEAR if k in (0, 1) else OUTER
        weight = polynomial(kernel, distance, order) * (sign * scale) ** order
        place = brought_inside(left + k, size, options[1], options[2])[0]
        found.append(masked(np.rint(place), weight, size, at.dtype))
    return found


def masked(place: Array, weight: Array, size: int, kind: np.dtype) -> Tap:
    """A tap whose weight is 0 where it lies outside."""
    within = (place >= 0) & (place < size)
    index = np.where(within, place, 0).astype(np.int64)
    return index, np.where(within, weight, 0).astype(kind)


def all_taps(grid: Array, size: Sequence[int], options: Options, orders: Orders) -> list[Tap]:
    """The elements around places ``(N, P, d)``, numbered in the whole picture, and their weights.

    The last dimension of the picture comes first in the grid.
    """
    dims = len(size)
    each = [
        taps(grid[..., dims - 1 - k], n, options, orders[dims - 1 - k]) for k, n in enumerate(size)
    ]
    found = []
    for combination in product(*each):
        index, weight = combination[0]
        for (more, share), n in zip(combination[1:], size[1:], strict=True):
            index, weight = index * n + more, weight * share
        found.append((index, weight))
    return found


def seen(input: Array, grid: Array, options: Options, orders: Orders) -> Array:
    """What is seen of ``(N, C, ...)`` at the places ``(N, ..., d)``."""
    need_one_dtype(input, grid)
    need_kind(f"grid_sampler_{input.ndim - 2}d_cpu_kernel_impl", input)
    n, channels, *size = input.shape
    out = np.zeros((n, channels, grid[0, ..., 0].size if n else 0), input.dtype)
    flat = input.reshape(n, channels, -1) if input.size else input
    places = grid.reshape(n, out.shape[2], len(size))
    for index, weight in all_taps(places, size, options, orders) if out.size else ():
        out += np.take_along_axis(flat, index[:, None], 2) * weight[:, None]
    return out.reshape(n, channels, *grid.shape[1:-1])


def slope_of_grid(g: Any, input: Any, grid: Any, options: Options, orders: Orders) -> Any:
    """The gradient of the places: along each dimension that of what is seen there."""
    parts = []
    for k in range(len(orders)):
        more = tuple([n + (k == j) for j, n in enumerate(orders)])
        parts.append(sum_along(g * sample(input, grid, options, more), (1,), False))
    return stack_along(parts, -1)


@hidden_op(
    input=lambda g, grid, input_shape, options, orders: sample_spread(
        g, grid, tuple(input_shape), options, orders
    ),
    grid=slope_of_grid, batch=merged, wide=True,
)  # fmt: skip
def sample(input: Array, grid: Array, options: Options, orders: Orders) -> Array:
    """`seen`, differentiated along each dimension as often as ``orders`` says."""
    return seen(input, grid, options, orders)


@hidden_op(
    slope=lambda g, grid, options, orders: sample(g, grid, options, orders),
    grid=lambda g, slope, grid, options, orders: slope_of_grid(slope, g, grid, options, orders),
    batch=merged, wide=True,
)  # fmt: skip
def sample_spread(
    slope: Array, grid: Array, shape: tuple[int, ...], options: Options, orders: Orders
) -> Array:
    """The adjoint of `sample` for its input."""
    n, channels, *size = shape
    out = np.zeros(shape, slope.dtype)
    flat = slope.reshape(n, channels, slope[0, 0].size if n and channels else 0)
    places = grid.reshape(n, flat.shape[2], len(size))
    for index, weight in all_taps(places, size, options, orders) if flat.size else ():
        each = np.broadcast_to(index[:, None], flat.shape)
        values = flat * weight[:, None]
        np.add.at(out.reshape(-1), planes(each, 1, (out[0, 0].size,)), values.reshape(-1))
    return out


SAMPLER: dict[str, Any] = {
    "input": lambda g, input, grid, interpolation_mode, padding_mode, align_corners: tied(
        sample_spread(
            g,
            grid,
            tuple(input.shape),
            (interpolation_mode, padding_mode, align_corners),
            (0,) * (input.ndim - 2),
        ),
        input,
        False,
    ),
    "grid": lambda g, input, grid, interpolation_mode, padding_mode, align_corners: slope_of_grid(
        g, input, grid, (interpolation_mode, padding_mode, align_corners), (0,) * (input.ndim - 2)
    ),
}


@hidden_op(**SAMPLER, node="GridSampler2DBackward0", batch=merged, wide=True)
def grid_sampler_2d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """The pictures ``(N, C, H, W)`` seen at the places ``(N, h, w, 2)``.

    Args:
        interpolation_mode: 0, 1, 2 for bilinear, nearest, bicubic.
        padding_mode: 0, 1, 2 for zeros, the border, mirrored at it.
        align_corners: whether -1 and 1 are the middles of the outermost elements.
    """
    return seen(input, grid, (interpolation_mode, padding_mode, align_corners), (0, 0))


@hidden_op(**SAMPLER, node="GridSampler3DBackward0", batch=merged, wide=True)
def grid_sampler_3d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """The volumes ``(N, C, D, H, W)`` at the places ``(N, d, h, w, 3)``; see `grid_sampler_2d`."""
    return seen(input, grid, (interpolation_mode, padding_mode, align_corners), (0, 0, 0))


# Grids


def base(size: Sequence[int], align_corners: bool, kind: np.dtype) -> Array:
    """The places of a picture's elements, and 1: ``(P, d + 1)``."""
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n, dtype=kind) if n > 1 else np.zeros(n, kind)
        lines.append(line if align_corners else line * kind.type((n - 1) / n))
    places = np.meshgrid(*lines, indexing="ij")[::-1]
    return np.stack([*places, np.ones(size, kind)], -1).reshape(-1, len(size) + 1)


def grids_of_all(call: Call, name: str) -> Any:
    """`affine_grid_generator` of each sample, or its adjoint; all in one batch."""
    whole, (count, *sizes) = call.whole(name), call.args["size"]
    total = call.batch.size * count
    return apart(
        call.again(**{name: whole.flatten(0, 1), "size": (total, *sizes)}), call.batch.size
    )


@op(
    theta=lambda g, size, align_corners: affine_grid_backward(g, size, align_corners),
    method=False,
    batch=lambda call: grids_of_all(call, "theta"),
    wide=True,
)
def affine_grid_generator(theta: Array, size: Sequence[int], align_corners: bool) -> Array:
    """The places ``(N, H, W, 2)`` to which the maps ``theta`` take those of a picture.

    Args:
        theta: ``(N, 2, 3)``, or ``(N, 3, 4)`` for volumes: a matrix and a shift.
        size: ``(N, C, H, W)`` of what is to be sampled.
        align_corners: see `grid_sampler_2d`.

    Raises:
        RuntimeError: for other sizes.
    """
    require(len(size) in (4, 5), "affine_grid(): size must have 4 or 5 numbers, not {}", len(size))
    n, _, *spatial = size
    moved = np.matmul(base(spatial, align_corners, theta.dtype), theta.swapaxes(1, 2))
    shape = (n, *spatial, len(spatial))
    try:
        return moved.reshape(shape)
    except ValueError:
        raise RuntimeError(
            f"shape '{list(shape)}' is invalid for input of size {moved.size}"
        ) from None


@hidden_op(
    g=lambda g, size, align_corners: affine_grid_generator(g, size, align_corners),
    batch=lambda call: grids_of_all(call, "g"),
    wide=True,
)
def affine_grid_backward(g: Array, size: Sequence[int], align_corners: bool) -> Array:
    """The adjoint of `affine_grid_generator`."""
    n, _, *spatial = size
    places = base(spatial, align_corners, g.dtype)
    return np.matmul(g.reshape(n, len(places), len(spatial)).swapaxes(1, 2), places)
