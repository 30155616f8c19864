"""Windows that slide over the last dimensions: their elements, what pads and blends them."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_int, as_ints, named
from nanotorch._core.batched import leading, merged
from nanotorch._core.dtypes import Number
from nanotorch._core.op import Array, hidden_op, op
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import NUMBERS, as_number, need_kind, need_ndim, number_in, require
from nanotorch.ops.elementwise import tied

# Windows that slide over the last dimensions of ``(N, C, ...)``: which elements of the input are
# theirs.


Ints = tuple[int, ...]


def last(parts: Iterable[Any]) -> tuple[Any, ...]:
    """An index of the last dimensions."""
    return (..., *parts)


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
    need_kind(f"{name}_pad{dims}d", array, kinds=NUMBERS)


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
