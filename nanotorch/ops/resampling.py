"""Resampling: pooling, images resized, and images sampled at a grid of positions."""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from nanotorch._core.arguments import as_int, as_ints, rename, require_bool, with_memory_errors
from nanotorch._core.dtypes import INT64
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import OPS, Array, hidden_op, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import check_input, check_kind, check_ndim, check_same_dtype, require
from nanotorch.ops.elementwise import tied
from nanotorch.ops.gathering import add_along, gather_backward
from nanotorch.ops.joining import stack_along
from nanotorch.ops.reduction import mean_along, sum_along
from nanotorch.ops.shape import reshape, squeeze_one, unsqueeze

Ints = tuple[int, ...]


def index_of_last(parts: Iterable[Any]) -> tuple[Any, ...]:
    """An index of the last dimensions, one of ``parts`` for each."""
    return (..., *parts)


# Weighted sums of a few elements along a dimension; they resize, pad and average.
#
# `Taps` holds the indices and weights of these elements. Its adjoint adds each result back to the
# elements that it came from.


class Taps:
    """New elements along a dimension, each a weighted sum of T old ones.

    Args:
        size: the size of the old dimension.
        index: ``(T, n)`` or ``(n,)``: the indices of the old elements of each of the n new ones.
            Without weights, an index out of range means 0. With weights, all are in range.
        weights: ``(T, n)``. Default: ones.
    """

    def __init__(self, size: int, index: Array, weights: Array | None = None) -> None:
        rows = np.atleast_2d(index)
        self.size, self.out = size, rows.shape[1]
        self.steps, self.steps_back = [], []
        for k, row in enumerate(rows):
            every = np.flatnonzero((row >= 0) & (row < size))
            pair, share = (every, row[every]), None if weights is None else weights[k]
            self.steps.append(Step(*pair, share))
            self.steps_back.append(Step(*pair[::-1], share))
        if weights is None and (rows[:, 1:] > rows[:, :-1]).all():
            return
        # The adjoint. An old element has several uses: step k adds the gradient of its k-th use.
        used = np.flatnonzero(np.ones_like(rows) if weights is None else weights)
        places, origins = rows.reshape(-1)[used], used % max(self.out, 1)
        order = np.argsort(places, kind="stable")
        ascending = places[order]
        turn = np.arange(len(order)) - np.searchsorted(ascending, ascending)
        self.steps_back = []
        for k in range(int(turn.max(initial=-1)) + 1):
            now = order[turn == k]
            share = None if weights is None else weights.reshape(-1)[used[now]]
            self.steps_back.append(Step(places[now], origins[now], share))

    def apply(self, input: Array, dim: int) -> Array:
        """The new elements along ``dim``."""
        return apply_taps(self.steps, self.out, input, dim)

    def back(self, g: Array, dim: int) -> Array:
        """The adjoint of `apply`."""
        return apply_taps(self.steps_back, self.size, g, dim)


class Step:
    """An addition of source elements, times weights, to target elements, each at most once."""

    def __init__(self, target: Array, source: Array, weights: Array | None) -> None:
        self.count = len(target)
        self.target, self.source = as_slice(target), as_slice(source)
        self.weights = weights

    def part(self, input: Array, dim: int) -> Array:
        """The elements to add; perhaps a view of ``input``."""
        if isinstance(self.source, slice):
            part = input[(*(slice(None),) * dim, self.source)]
        else:
            part = input.take(self.source, dim)
        if self.weights is None:
            return part
        row = self.weights.astype(part.dtype)
        return part * row.reshape((-1,) + (1,) * (part.ndim - dim - 1))


def as_slice(index: Array) -> slice | Array:
    """``index`` as a slice, which is faster, if its steps are equal and positive."""
    if len(index) == 1:
        return slice(int(index[0]), int(index[0]) + 1)
    steps = set((index[1:] - index[:-1]).tolist())
    if len(steps) == 1 and min(steps) > 0:
        return slice(int(index[0]), int(index[-1]) + 1, steps.pop())
    return index


def apply_taps(steps: Sequence[Step], size: int, input: Array, dim: int) -> Array:
    """The sum of all steps; dimension ``dim`` of the result has ``size`` elements."""
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


Maps = Sequence[Taps | None]  # for each of the last dimensions; None leaves it as it is


def apply_along_dims(input: Array, maps: Maps, back: bool = False) -> Array:
    """``input`` with all taps, or their adjoints if ``back``, applied along the last dimensions."""
    out, first = input, input.ndim - len(maps)
    for k, taps in enumerate(maps):
        if taps is not None:
            out = (taps.back if back else taps.apply)(out, first + k)
    if out is input:
        return input.copy()
    return out.astype(input.dtype, copy=False)


@hidden_op(input=lambda g, maps, back: resample(g, maps, not back), wide=True)
def resample(input: Array, maps: Maps, back: bool = False) -> Array:
    """``maps`` applied along the last dimensions, or their adjoints if ``back``."""
    return apply_along_dims(input, maps, back)


# In PyTorch, the backward pass of some of them also depends on the input.
TIED: dict[str, Any] = {"input": lambda g, input, maps: tied(resample(g, maps, True), input)}


def resampling(name: str, **declared: Any) -> Any:
    """`resample` as an operation ``name`` with its own node."""

    def kernel(input: Array, maps: Maps) -> Array:
        """``maps`` applied along the last dimensions."""
        return apply_along_dims(input, maps)

    formula = {"input": lambda g, maps: resample(g, maps, True)}
    return hidden_op(**{**formula, **declared})(rename(kernel, name))


def resamplings(name: str, **declared: Any) -> tuple[Any, ...]:
    """The operations `resampling` over one, two and three dimensions."""
    return tuple([resampling(f"{name}{dims}d", **declared) for dims in (1, 2, 3)])


# Max pooling: the greatest element of each window, its index, and the gradient.


class Pooling:
    """The windows of a pooling over the last dimensions.

    Attributes:
        size: the sizes of these dimensions.
        padding: the padding before the first element of each dimension.
        out: the number of windows along each dimension.
        firsts: for each dimension, the index where each window begins; negative in the padding.
    """

    def __init__(
        self, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints
    ) -> None:
        self.size, self.padding, self.out = size, padding, out
        self.kernel, self.stride, self.dilation = kernel, stride, dilation
        dims = zip(out, stride, padding, strict=True)
        self.firsts = [np.arange(o) * s - p for o, s, p in dims]
        self.steps = [math.prod(size[k + 1 :]) for k in range(len(size))]

    @cached_property
    def after(self) -> Ints:
        """The padding after the last element of each dimension, as far as windows reach."""
        dims = zip(self.firsts, self.kernel, self.dilation, self.size, strict=True)
        return tuple([max(int(at[-1]) + d * (k - 1) + 1 - n, 0) for at, k, d, n in dims])

    @cached_property
    def places(self) -> list[Any]:
        """For each element of the kernel, an index of this element of all padded windows."""
        dims = zip(self.kernel, self.stride, self.dilation, self.out, strict=True)
        pieces = [
            [slice(j, j + (o - 1) * s + 1, s) for j in range(0, k * d, d)] for k, s, d, o in dims
        ]
        return [index_of_last(at) for at in product(*pieces)]

    @cached_property
    def origins(self) -> Array:
        """The flat index, in the input without padding, of each window's first element: ``out``."""
        return outer_sum(self.firsts, self.steps)

    @cached_property
    def numbers(self) -> Array:
        """The flat index of each element of a window, relative to the first one."""
        dims = zip(self.kernel, self.dilation, strict=True)
        return outer_sum([np.arange(k, dtype=INT64) * d for k, d in dims], self.steps).reshape(-1)

    @cached_property
    def entries(self) -> Array:
        """The number, in each window, of the first element outside of the padding: ``out``."""
        steps = [math.prod(self.kernel[k + 1 :]) for k in range(len(self.kernel))]
        dims = zip(self.firsts, self.dilation, strict=True)
        return outer_sum([-(np.minimum(first, 0) // d) for first, d in dims], steps)

    @cached_property
    def sums(self) -> Maps:
        """The taps that sum each window, along the dimensions in order."""
        dims = zip(self.size, self.firsts, self.kernel, strict=True)
        return [
            None if k == 1 and len(first) == n else Taps(n, first + np.arange(k)[:, None])
            for n, first, k in dims
        ]


def outer_sum(parts: list[Array], factors: Sequence[int]) -> Array:
    """The outer sum of vectors, each times its factor: a dimension for each vector."""
    return reduce(np.add.outer, [a * n for a, n in zip(parts, factors, strict=True)])


def pool_by_element(source: Array, at: Pooling) -> tuple[Array, Array]:
    """`max_pooled` without rules for nan and padding, in a loop over the kernel's elements."""
    best = np.array(source[at.places[0]], order="C")
    which = np.zeros(best.shape, np.min_scalar_type(len(at.places) - 1))
    for number, place in enumerate(at.places[1:], 1):
        part = np.ascontiguousarray(source[place])
        greater = part > best
        np.maximum(best, part, out=best)
        np.maximum(which, np.multiply(greater, number, dtype=which.dtype), out=which)
    return best, which


def pool_by_window(source: Array, at: Pooling) -> tuple[Array, Array]:
    """`pool_by_element`, for few windows with many elements."""
    dims = len(at.size)
    spans = [d * (k - 1) + 1 for k, d in zip(at.kernel, at.dilation, strict=True)]
    views = sliding_window_view(source, spans, tuple(range(-dims, 0)))
    begin = [slice(0, (o - 1) * s + 1, s) for o, s in zip(at.out, at.stride, strict=True)]
    views = views[index_of_last((*begin, *[slice(None, None, d) for d in at.dilation]))]
    flat = views.reshape(*views.shape[:-dims], len(at.places))
    which = flat.argmax(-1)
    return np.take_along_axis(flat, which[..., None], -1)[..., 0], which


def max_pooled(input: Array, at: Pooling) -> tuple[Array, Array]:
    """The greatest element of each window, and its flat index in the input.

    Of equal elements, the first; if a window contains nan, its last nan.
    """
    check_kind(f"max_pool{len(at.size)}d", input, kinds="fiu")
    source, floating = np.ascontiguousarray(input), input.dtype.kind == "f"
    if any(at.padding) or any(at.after):
        sizes = list(zip(at.size, at.padding, at.after, strict=True))
        shape = (*input.shape[: -len(sizes)], *[n + p + q for n, p, q in sizes])
        source = np.full(shape, -np.inf if floating else np.iinfo(input.dtype).min, input.dtype)
        source[index_of_last(slice(p, p + n) for n, p, _ in sizes)] = input
    count = math.prod(at.out)
    best, which = (pool_by_window if count <= 64 < len(at.places) else pool_by_element)(source, at)
    if any(at.padding):  # if all elements are the lowest number, the first outside of the padding
        which = np.maximum(which, at.entries)
    if floating and np.isnan(np.add.reduce(best, None)):
        for number, place in enumerate(at.places):
            which[np.isnan(source[place])] = number
    numbers = at.numbers.take(which.reshape(-1, count) if count else which)
    if count:
        numbers += at.origins.reshape(-1)
    return best, numbers.reshape(best.shape)


def define_max_pool(name: str, dims: int, kernel: Any) -> Any:
    """The operation ``name``: the elements that ``kernel`` chooses, and their flat indices."""

    def picked(input: Array, parts: Any) -> tuple[Array, Array]:
        """The greatest element of each part of the last dimensions, and its flat index there."""
        return kernel(input, parts)

    def slope(g: Any, input: Any, indices: Any) -> Any:
        lead, size = tuple(g.shape[: g.ndim - dims]), tuple(input.shape[-dims:])
        planes = math.prod(lead)
        rows, whole = (planes, math.prod(indices.shape[len(lead) :])), (planes, math.prod(size))
        out = gather_backward(reshape(g, rows), whole, 1, reshape(indices, rows))
        return tied(reshape(out, (*lead, *size)), input)

    return hidden_op(input=slope, aux=("indices",))(rename(picked, name))


MAX_POOL = {
    dims: define_max_pool(f"max_pool{dims}d_with_indices", dims, max_pooled) for dims in (2, 3)
}


# Average pooling: the means of windows.


def divide_by_counts(values: Array, at: Pooling, with_padding: bool, divisor: int | None) -> Array:
    """Sums divided by ``divisor``, or by the size of each window; integers round towards zero."""
    by: Any = divisor
    if divisor is None:
        around = [p * with_padding for p in at.padding]
        ends = zip(at.firsts, at.kernel, at.size, around, strict=True)
        inside = [np.minimum(a + k, n + p) - np.maximum(a, -p) for a, k, n, p in ends]
        by = reduce(np.multiply.outer, [np.maximum(count, 1) for count in inside])
        by = by if by.min() < by.max() else by.max()
    if values.dtype.kind in "iu":
        return np.trunc(values / by).astype(values.dtype)
    return values / np.asarray(by).astype(values.dtype)


@hidden_op(
    g=lambda g, at, with_padding, divisor: AVG_POOL[2](g, at, with_padding, divisor),
    wide=True,
)  # fmt: skip
def avg_pool_backward(g: Array, at: Pooling, with_padding: bool, divisor: int | None) -> Array:
    """The gradient of the means of windows."""
    return apply_along_dims(divide_by_counts(g, at, with_padding, divisor), at.sums, True)


def define_avg_pool(dims: int) -> Any:
    """The operation for the means of windows over the last ``dims`` dimensions."""

    def means(input: Array, at: Pooling, with_padding: bool, divisor: int | None) -> Array:
        """The sum of each window, divided by the number of its elements or by ``divisor``."""
        name = "avg_pool3d_out_frame" if dims == 3 else "avg_pool2d"
        if input.dtype != np.int64:
            check_kind(name, input, half=False)
        return divide_by_counts(apply_along_dims(input, at.sums), at, with_padding, divisor)

    def slope(g: Any, input: Any, at: Any, with_padding: Any, divisor: Any) -> Any:
        return tied(avg_pool_backward(g, at, with_padding, divisor), input)

    rename(means, f"avg_pool{dims}d")
    return hidden_op(input=slope, wide=dims == 2)(means)


AVG_POOL: dict[int, Any] = {dims: define_avg_pool(dims) for dims in (2, 3)}


# The public functions of pooling: their arguments, and PyTorch's errors for wrong ones.


POSITIONS = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5}
FITTING = 2**31  # windows over several dimensions are counted in 32 bits


def per_dim(name: str, what: str, value: Any, dims: int) -> Ints:
    """``value`` as one number for each dimension; it may be one number for all."""
    if value.__class__ is int and -FITTING <= value < FITTING:
        return (value,) * dims
    one = as_int(value) if value.__class__ is int else value
    given = as_ints(one, (name, what, POSITIONS[what]))
    if dims > 1 and not all(-FITTING <= n < FITTING for n in given):
        raise RuntimeError("value cannot be converted to type int without overflow")
    require(len(given) in (1, dims), "{}(): {} must be 1 or {} numbers", name, what, dims)
    return given * dims if len(given) == 1 else given


def numbers(
    name: str, dims: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[Ints, Ints, Ints, Ints]:
    """The kernel size, stride, padding and dilation; the default stride is the kernel size."""
    kernel = per_dim(name, "kernel_size", kernel_size, dims)
    beside = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    return (
        kernel,
        kernel if beside else per_dim(name, "stride", stride, dims),
        per_dim(name, "padding", padding, dims),
        per_dim(name, "dilation", dilation, dims),
    )


def check_elements(input: Tensor, dims: int) -> None:
    """Refuse a wrong number of dimensions, or a dimension of size 0 other than the batch."""
    shape = input._array.shape
    batch = len(shape) == dims + 2
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[1 if batch else 0 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim "
            f"batch size for input, but got:{list(shape)}"
        )


@lru_cache(64)
def windows_of(
    name: str, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool,
    channels: int,
) -> Pooling:  # fmt: skip
    """The windows over the last dimensions of ``size``; raises RuntimeError if there are none."""
    out: Ints = ()
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        require(min(k, s, d) > 0, "kernel_size, stride and dilation must be greater than zero")
        require(p >= 0, "pad must be non-negative, but got pad: {}", p)
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
        beyond = ceil and (count - 1) * s >= n + p  # the last window begins after the input
        out += (count - 1 if beyond else count,)
    if name == "avg_pool3d":
        fits = all(n >= k for n, k in zip(size, kernel, strict=True))
        require(fits, "avg_pool3d(): kernel {} is larger than the input {}", kernel, size)
    if min(out) < 1:
        sizes = ["x".join(map(str, (channels, *ints))) for ints in (size, out)]
        raise RuntimeError(
            f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is "
            "too small"
        )
    return Pooling(size, kernel, stride, padding, dilation, out)


# Maxima


def max_pool(
    name: str, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, return_indices: bool,
) -> Any:  # fmt: skip
    """The maxima of windows over 1 to 3 dimensions, with their indices if ``return_indices``."""
    check_input(name, input)
    require_bool(ceil_mode, "ceil_mode")
    dims = int(name[-2])
    each = numbers(name, dims, kernel_size, stride, padding, dilation)
    if dims == 1:
        check_elements(input, 1)
        k, s, p, d = each
        require(p[0] <= k[0] // 2, "max_pool1d(): padding must be at most half of kernel_size")
        input, each = unsqueeze(input, -2), ((1, *k), (1, *s), (0, *p), (1, *d))
    else:
        check_ndim(name, input, dims + 1, dims + 2)
        if 0 in input._array.shape:
            check_elements(input, dims)
    shape, planar = input._array.shape, max(dims, 2)
    at = windows_of(name, shape[-planar:], *each, bool(ceil_mode), shape[-planar - 1])
    found = MAX_POOL[planar](input, at)[: 1 + bool(return_indices)]
    found = tuple([squeeze_one(t, -2) for t in found]) if dims == 1 else found
    return found if return_indices else found[0]


# Means


def check_signal(name: str, input: Any) -> None:
    """Refuse a shape other than (N, C, L) and (C, L)."""
    check_input(name, input)
    check_ndim(name, input, 2, 3)


def mean_pool(
    name: str, input: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: Any,
) -> Any:  # fmt: skip
    """The means of windows over two or three dimensions."""
    check_input(name, input)
    dims = int(name[-2])
    each = numbers(name, dims, kernel_size, stride, padding)
    shape = input._array.shape
    divisor = None if divisor_override is None else as_int(divisor_override)
    require(divisor != 0, "divisor must be not zero")
    if dims == 2:
        normal_dim(-3, len(shape))
    check_elements(input, dims)
    at = windows_of(name, shape[-dims:], *each, bool(ceil_mode), shape[-dims - 1])
    return AVG_POOL[dims](input, at, bool(count_include_pad), divisor)


@public
def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The means of windows over the last dimension; see `max_pool2d` for the other arguments.

    Args:
        input: (N, C, L) or (C, L).
        count_include_pad: whether the padding counts, as zeros. Default: True.
    """
    name = "avg_pool1d"
    check_signal(name, input)
    kernel, stride, padding, _ = numbers(name, 1, kernel_size, stride, padding)
    row = unsqueeze(input, -2), (1, *kernel), (1, *stride), (0, *padding)
    return squeeze_one(mean_pool("avg_pool2d", *row, ceil_mode, count_include_pad, None), -2)


# Adaptive pooling: windows of different sizes, which cover the input.


def part_bounds(size: int, out: int) -> tuple[Array, Array]:
    """The first indices and the ends of ``out`` windows that cover ``size`` elements.

    The windows overlap unless ``out`` divides ``size``.
    """
    k = np.arange(out)
    return k * size // out, -(-(k + 1) * size // out)


def adaptive(input: Array, out: Ints) -> tuple[Array, Array]:
    """The greatest element of each part of the last dimensions, and its flat index there."""
    dims = len(out)
    size = input.shape[input.ndim - dims :]
    check_kind(f"adaptive_max_pool{dims}d", input)
    ends = [part_bounds(n, o) for n, o in zip(size, out, strict=True)]
    longest = [int((stop - start).max(initial=1)) for start, stop in ends]
    best: Any = None
    numbers: Any = None
    for at in product(*map(range, longest)):
        # A shorter part repeats its last element, which is not greater than itself.
        rows = [np.minimum(start + k, stop - 1) for k, (start, stop) in zip(at, ends, strict=True)]
        part = input[index_of_last(np.ix_(*rows))]
        number = np.ravel_multi_index(np.ix_(*rows), size)
        if best is None:
            best, numbers = part, np.broadcast_to(number, part.shape).astype(INT64)
            continue
        greater = (part > best) | np.isnan(part)
        best = np.where(greater, part, best)
        numbers = np.where(greater, number, numbers)
    return np.ascontiguousarray(best), np.ascontiguousarray(numbers)


ADAPTIVE_MAX = {
    dims: define_max_pool(f"adaptive_max_pool{dims}d", dims, adaptive) for dims in (2, 3)
}


# Means


@lru_cache(256)
def mean_taps(size: int, out: int) -> Taps | None:
    """The taps for the means of ``out`` parts of ``size`` elements; None if nothing changes."""
    if size == out:
        return None
    start, stop = part_bounds(size, out)
    length = stop - start
    k = np.arange(int(length.max(initial=1)))[:, None]
    weights = np.where(k < length, 1.0 / np.maximum(length, 1), 0.0)
    return Taps(size, np.minimum(start + k, np.maximum(stop - 1, 0)), weights)


ADAPTIVE_AVG = {dims: resampling(f"adaptive_avg_pool{dims}d", wide=True, **TIED) for dims in (2, 3)}


# The public functions


def signal_output_size(name: str, input: Any, value: Any) -> Ints:
    """The output size of a signal, as of an image of one row."""
    check_signal(name, input)
    given = as_ints(value)
    require(len(given) == 1, "{}(): output_size must have one number, not {}", name, len(given))
    return (1, *given)


def check_pool_input(name: str, input: Tensor, dims: int) -> None:
    """Refuse a wrong number of dimensions, or dimensions to pool without elements."""
    shape = input._array.shape
    check_ndim(name, input, dims + 1, dims + 2)
    require(0 not in shape[-dims:], "{}(): nothing to pool in shape {}", name, shape)


@with_memory_errors
def adaptive_mean(name: str, input: Any, size: Ints) -> Any:
    """The means of ``size`` parts of the last dimensions."""
    dims = len(size)
    require(dims != 2 or min(size) >= 0, "{}(): negative output_size {}", name, size)
    if set(size) == {1}:  # PyTorch calls `mean` here
        axes = [normal_dim(-k, input.ndim) for k in range(1, 1 + dims)]
        return mean_along(input, tuple(reversed(axes)), True)
    check_pool_input(name, input, dims)
    check_kind(name, input._array)
    shape = input._array.shape[-dims:]
    maps = tuple([mean_taps(n, o) for n, o in zip(shape, size, strict=True)])
    return ADAPTIVE_AVG[dims](input, maps)


def adaptive_max(name: str, input: Any, size: Ints) -> Any:
    """The maxima of ``size`` parts of the last dimensions, and their flat indices."""
    dims = len(size)
    check_pool_input(name, input, dims)
    require(min(size) >= 0, "{}(): negative output_size {}", name, size)
    return ADAPTIVE_MAX[dims](input, size)


@public
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` parts of the last dimension.

    Part k ranges from ``⌊k L / output_size⌋`` to before ``⌈(k + 1) L / output_size⌉``. The input
    is (N, C, L) or (C, L).
    """
    size = signal_output_size("adaptive_avg_pool1d", input, output_size)
    return squeeze_one(adaptive_mean("adaptive_avg_pool2d", unsqueeze(input, -2), size), -2)


@public
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The maxima, and their indices, of ``output_size`` parts as in `adaptive_avg_pool1d`."""
    size = signal_output_size("adaptive_max_pool1d", input, output_size)
    values, indices = adaptive_max("adaptive_max_pool2d", unsqueeze(input, -2), size)
    return squeeze_one(values, -2), squeeze_one(indices, -2)


# Images resized: the source elements of each new element, and their weights.


CUBIC = -0.75  # the slope of the cubic kernel at 1; with anti-aliasing it is -0.5


# By mode: NEAREST_OF has operations over one, two and three dimensions; SMOOTH has one operation
# with its number of dimensions.
NEAREST_OF = {
    "nearest": resamplings("upsample_nearest"),
    "nearest-exact": resamplings("upsample_nearest_exact"),
}
SMOOTH = {
    mode: (dims, resampling(f"upsample_{mode}{dims}d", wide=True))
    for mode, dims in (("linear", 1), ("bilinear", 2), ("bicubic", 2), ("trilinear", 3))
}
ANTIALIASED = {
    mode: resampling(f"upsample_{mode}2d_aa", wide=True) for mode in ("bilinear", "bicubic")
}


def resize_step(size: int, out: int, scale: float | None) -> float:
    """The distance, in elements of the input, of neighbours in the result."""
    return 1.0 / scale if scale is not None and scale > 0 else size / out


@lru_cache(256)
def nearest_taps(size: int, out: int, scale: float | None, exact: bool) -> Taps:
    """The taps for the element at the left end of each new one, or at its middle if ``exact``."""
    step = np.float32(resize_step(size, out, scale))
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


def cubic_kernel(distance: Array, a: float) -> Array:
    """The weight of an element at ``distance``; ``a`` is the slope of the kernel at 1.

    Reference:
        Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981.
    """
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


@lru_cache(256)
def blend_taps(
    size: int, out: int, scale: float | None, align_corners: bool, cubic: bool,
    kind: np.dtype | None,
) -> Taps | None:  # fmt: skip
    """The taps for two neighbours with linear weights, or four with weights of a cubic kernel.

    Args:
        kind: the dtype of the positions. None: anti-aliasing, by all elements under a new one.
    """
    if size == out and (align_corners or scale is None):
        return None
    step = resize_step(size, out, scale)
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    if kind is None:
        reach = (2.0 if cubic else 1.0) * max(step, 1.0)
        middle = (np.arange(out) + 0.5) * step
        start = np.maximum((middle - reach + 0.5).astype(np.int64), 0)
        stop = np.minimum((middle + reach + 0.5).astype(np.int64), size)
        k = np.arange(max(math.ceil(reach) * 2 + 1, 1))[:, None]
        distance = (k + start - middle + 0.5) / max(step, 1.0)
        near = cubic_kernel(distance, -0.5) if cubic else np.maximum(1 - np.abs(distance), 0)
        weights = np.where(k < stop - start, near, 0)
        return Taps(size, np.minimum(start + k, size - 1), weights / weights.sum(0))
    half = kind.type(0.0 if align_corners else 0.5)
    at = (np.arange(out).astype(kind) + half) * kind.type(step) - half
    if cubic:  # the elements at the border continue beyond it
        places = np.floor(at) + np.arange(-1, 3)[:, None]
        index = np.clip(places, 0, size - 1).astype(np.int64)
        return Taps(size, index, cubic_kernel(at - places, CUBIC))
    at = np.maximum(at, 0)
    left = np.minimum(np.floor(at).astype(np.int64), size - 1)
    share = np.clip(at - left, 0, 1)
    return Taps(
        size, np.stack([left, np.minimum(left + 1, size - 1)]), np.stack([1 - share, share])
    )


# Images sampled at a grid of positions: `grid_sample`, and the grids of affine maps.
#
# The sample at a position is a sum over the elements around it, each times one weight for every
# dimension. The derivative along a dimension is the same sum with the derivatives of its weights.
# One operation computes them all; its argument `orders` is the order of the derivative along each.


NEAREST, BICUBIC = 1, 2  # 0: bilinear
ZEROS, _, REFLECTION = range(3)
Options = tuple[int, int, bool]  # interpolation, padding, whether corners are aligned
FAR = 1e9  # the limit of positions; nan becomes -FAR

# The coefficients, from the constant, of the cubic kernel for distances up to 1 and from 1 to 2.
NEAR = (1.0, 0.0, -2.25, 1.25)
OUTER = (3.0, -6.0, 3.75, -0.75)


def clip_coordinates(
    at: Array, size: int, padding: int, align_corners: bool
) -> tuple[Array, Array]:
    """Positions after padding, and the derivative of these."""
    slope = np.ones_like(at)
    if padding == REFLECTION:  # reflect positions at the borders until they are inside
        low, span = (0.0, max(size - 1.0, 1.0)) if align_corners else (-0.5, float(size))
        away = np.abs(at - low)
        even = np.floor(away / span) % 2 == 0
        rest = np.fmod(away, span)
        slope = np.where(even, 1.0, -1.0) * np.where(at < low, -1.0, 1.0)
        at = np.where(even, rest + low, span - rest + low)
    if padding != ZEROS:
        slope = np.where((at > 0) & (at < size - 1), slope, 0)
        at = np.clip(at, 0, size - 1)
    return at, slope


Tap = tuple[Array, Array]  # the index of an element along a dimension, and its weight


def grid_taps(grid: Array, size: int, options: Options, order: int) -> list[Tap]:
    """The elements around positions in one dimension, and the derivatives of their weights.

    Args:
        grid: the positions; the image lies between -1 and 1.
        order: the order of the derivatives.
    """
    mode, padding, align_corners = options
    scale = (size - 1) / 2 if align_corners else size / 2
    at = np.clip(np.nan_to_num(grid * scale + (size - 1) / 2, nan=-FAR), -FAR, FAR)
    at = at.astype(grid.dtype, copy=False)
    places = []
    if mode == BICUBIC:  # the padding applies to each element, not to the position
        left = np.floor(at)
        for k in range(-1, 3):
            distance, sign = (at - left - k, 1) if k <= 0 else (k - (at - left), -1)
            factors = np.polynomial.polynomial.polyder(NEAR if k in (0, 1) else OUTER, order)
            weight = np.polynomial.polynomial.polyval(distance, factors) * (sign * scale) ** order
            place = clip_coordinates(left + k, size, padding, align_corners)[0]
            places.append((np.rint(place), weight))
    else:
        at, slope = clip_coordinates(at, size, padding, align_corners)
        if mode == NEAREST:
            places.append((np.rint(at), np.full(at.shape, 0.0 if order else 1.0)))
        else:
            left = np.floor(at)
            share = slope * (scale if order == 1 else 0) if order else at - left
            places += [(left, -share if order else 1 - share), (left + 1, share)]
    found = []
    for place, weight in places:  # elements outside of the image count as 0
        within = (place >= 0) & (place < size)
        index = np.where(within, place, 0).astype(np.int64)
        found.append((index, np.where(within, weight, 0).astype(grid.dtype)))
    return found


def grid_taps_of_all(grid: Array, size: Sequence[int], options: Options, orders: Ints) -> list[Tap]:
    """The elements around positions ``(N, P, d)``, by flat index, and their weights.

    The last dimension of the image comes first in the grid.
    """
    dims = len(size)
    each = [
        grid_taps(grid[..., dims - 1 - k], n, options, orders[dims - 1 - k])
        for k, n in enumerate(size)
    ]
    found = []
    for combination in product(*each):
        index, weight = combination[0]
        for (more, share), n in zip(combination[1:], size[1:], strict=True):
            index, weight = index * n + more, weight * share
        found.append((index, weight))
    return found


def grid_formula(g: Any, input: Any, grid: Any, options: Options, orders: Ints) -> Any:
    """The gradient of the positions: the derivatives of the samples along each dimension."""
    parts = []
    for k in range(len(orders)):
        more = tuple([n + (k == j) for j, n in enumerate(orders)])
        parts.append(sum_along(g * sample(input, grid, options, more), (1,), False))
    return stack_along(parts, -1)


@hidden_op(
    input=lambda g, grid, input_shape, options, orders: sample_spread(
        g, grid, tuple(input_shape), options, orders
    ),
    grid=grid_formula, wide=True,
)  # fmt: skip
def sample(input: Array, grid: Array, options: Options, orders: Ints) -> Array:
    """The samples of ``(N, C, ...)`` at the positions ``(N, ..., d)``.

    Args:
        orders: the order of the derivative along each dimension; 0 for the samples themselves.
    """
    check_same_dtype(input, grid)
    check_kind(f"grid_sampler_{input.ndim - 2}d_cpu_kernel_impl", input)
    n, channels, *size = input.shape
    out = np.zeros((n, channels, grid[0, ..., 0].size if n else 0), input.dtype)
    flat = input.reshape(n, channels, -1) if input.size else input
    places = grid.reshape(n, out.shape[2], len(size))
    for index, weight in grid_taps_of_all(places, size, options, orders) if out.size else ():
        out += np.take_along_axis(flat, index[:, None], 2) * weight[:, None]
    return out.reshape(n, channels, *grid.shape[1:-1])


@hidden_op(
    slope=lambda g, grid, options, orders: sample(g, grid, options, orders),
    grid=lambda g, slope, grid, options, orders: grid_formula(slope, g, grid, options, orders),
    wide=True,
)  # fmt: skip
def sample_spread(
    slope: Array, grid: Array, shape: tuple[int, ...], options: Options, orders: Ints
) -> Array:
    """The adjoint of `sample` with respect to its input."""
    n, channels, *size = shape
    out = np.zeros(shape, slope.dtype)
    flat = slope.reshape(n, channels, math.prod(slope.shape[2:]))
    places = grid.reshape(n, flat.shape[2], len(size))
    for index, weight in grid_taps_of_all(places, size, options, orders) if flat.size else ():
        each = np.broadcast_to(index[:, None], flat.shape)
        add_along(out.reshape(n, channels, -1), 2, each, flat * weight[:, None])
    return out


def grid_sampler(dims: int) -> Any:
    """The operation that samples images ``(N, C, H, W)`` at ``(N, h, w, 2)``, or volumes."""
    still = (0,) * dims

    def kernel(
        input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Array:
        """The samples of ``input`` at the positions ``grid``.

        Args:
            interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
            padding_mode: 0 zeros, 1 border, 2 reflection.
            align_corners: whether -1 and 1 mean the centers of the outermost elements, rather than
                their outer edges.
        """
        options = interpolation_mode, padding_mode, align_corners
        return OPS["sample"].kernel(input, grid, options, still)

    declared = hidden_op(
        input=lambda g, input, grid, interpolation_mode, padding_mode, align_corners: tied(
            sample_spread(
                g, grid, tuple(input.shape),
                (interpolation_mode, padding_mode, align_corners), still,
            ),
            input, False,
        ),
        grid=lambda g, input, grid, interpolation_mode, padding_mode, align_corners: grid_formula(
            g, input, grid, (interpolation_mode, padding_mode, align_corners), still
        ),
        node=f"GridSampler{dims}DBackward0", wide=True,
    )  # fmt: skip
    return declared(rename(kernel, f"grid_sampler_{dims}d"))


GRID_SAMPLER = {dims: grid_sampler(dims) for dims in (2, 3)}


# Grids


def base_grid(size: Sequence[int], align_corners: bool, kind: np.dtype) -> Array:
    """The positions of an image's elements, each followed by 1: ``(P, d + 1)``."""
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n, dtype=kind) if n > 1 else np.zeros(n, kind)
        lines.append(line if align_corners else line * kind.type((n - 1) / n))
    places = np.meshgrid(*lines, indexing="ij")[::-1]
    return np.stack([*places, np.ones(size, kind)], -1).reshape(-1, len(size) + 1)


@op(
    theta=lambda g, size, align_corners: affine_grid_backward(g, size, align_corners),
    method=False,
    wide=True,
)
def affine_grid_generator(theta: Array, size: Sequence[int], align_corners: bool) -> Array:
    """The positions ``(N, H, W, 2)`` of an image's elements, mapped by ``theta``.

    Args:
        theta: ``(N, 2, 3)``, or ``(N, 3, 4)`` for volumes: a matrix and a translation.
        size: ``(N, C, H, W)``, the shape of the samples.
        align_corners: see `grid_sample`.

    Raises:
        RuntimeError: for other sizes.
    """
    require(len(size) in (4, 5), "affine_grid(): size must have 4 or 5 numbers, not {}", len(size))
    n, _, *spatial = size
    moved = np.matmul(base_grid(spatial, align_corners, theta.dtype), theta.swapaxes(1, 2))
    shape = [n, *spatial, len(spatial)]
    fits = moved.size == math.prod(shape)
    require(fits, "shape '{}' is invalid for input of size {}", shape, moved.size)
    return moved.reshape(shape)


@hidden_op(
    g=lambda g, size, align_corners: affine_grid_generator(g, size, align_corners),
    wide=True,
)
def affine_grid_backward(g: Array, size: Sequence[int], align_corners: bool) -> Array:
    """The adjoint of `affine_grid_generator`."""
    n, _, *spatial = size
    places = base_grid(spatial, align_corners, g.dtype)
    return np.matmul(g.reshape(n, len(places), len(spatial)).swapaxes(1, 2), places)
