"""Pooling: the greatest elements and the means of windows."""

import math
from functools import cached_property, lru_cache, reduce
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from nanotorch._core.arguments import as_int, as_ints, named, within_memory
from nanotorch._core.batched import merged
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, hidden_op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import need_kind, need_ndim, require, tensor_given
from nanotorch.ops.elementwise import tied
from nanotorch.ops.reduction import mean_along
from nanotorch.ops.shape import squeeze_one, unsqueeze
from nanotorch.ops.windows import TIED, Ints, Taps, last, padded, planes, resampling

# The greatest element of each window, where it lies, and what leads back there.


class Pooling:
    """Windows over the last dimensions, as pooling takes them.

    Attributes:
        size: of these dimensions.
        padding, after: before the first element, and behind the last as far as windows reach.
        out: how many windows there are along each dimension.
        pieces: for each dimension, the elements of all windows at each place of the kernel.
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
        self.pieces = [
            [slice(j, j + (o - 1) * s + 1, s) for j in range(0, k * d, d)]
            for k, s, d, o in zip(kernel, stride, dilation, out, strict=True)
        ]
        self.places = [last(at) for at in product(*self.pieces)]
        self.steps = [math.prod(size[k + 1 :]) for k in range(len(size))]

    def firsts(self) -> list[Array]:
        """Along each dimension, the first element of each window; negative in the padding."""
        dims = zip(self.out, self.stride, self.padding, strict=True)
        return [np.arange(o) * s - p for o, s, p in dims]

    @cached_property
    def origins(self) -> Array:
        """The number in the input, not padded, of each window's first element: ``out``."""
        firsts = zip(self.firsts(), self.steps, strict=True)
        return outer_sum([first * step for first, step in firsts])

    @cached_property
    def numbers(self) -> Array:
        """By how much the number of each element of a window exceeds that of the first."""
        dims = zip(self.kernel, self.dilation, self.steps, strict=True)
        return outer_sum([np.arange(k) * (d * step) for k, d, step in dims]).reshape(-1)

    @cached_property
    def entries(self) -> Array:
        """Which element of each window is the first that is not in the padding: ``out``."""
        steps = [math.prod(self.kernel[k + 1 :]) for k in range(len(self.kernel))]
        dims = zip(self.firsts(), self.dilation, steps, strict=True)
        return outer_sum([-(np.minimum(first, 0) // d) * step for first, d, step in dims])


def outer_sum(parts: list[Array]) -> Array:
    """The sums of one element of each vector: a dimension for each of them."""
    return reduce(np.add.outer, parts)


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
    need_kind(f"max_pool{len(at.size)}d", input, kinds="fiu")
    best, which = greatest(input, at)
    count = math.prod(at.out)
    numbers = at.numbers.take(which.reshape(-1, count) if count else which)
    if count:
        numbers += at.origins.reshape(-1)
    return best, numbers.reshape(best.shape)


@hidden_op(g=lambda g, indices, size: pool_pick(g, indices, len(size)), batch=merged)
def pool_spread(g: Array, indices: Array, size: Ints) -> Array:
    """Zeros of the last dimensions ``size``, with ``g`` added at ``indices`` within them."""
    dims = len(size)
    out = np.zeros((*g.shape[: g.ndim - dims], *size), g.dtype)
    if g.size:
        np.add.at(out.reshape(-1), planes(indices, dims, size), g.reshape(-1))
    return out


@hidden_op(
    input=lambda g, indices, input_shape, dims: pool_spread(
        g, indices, tuple(input_shape[len(input_shape) - dims :])
    ),
    batch=merged,
)
def pool_pick(input: Array, indices: Array, dims: int) -> Array:
    """The elements at ``indices`` within the last dimensions."""
    if not indices.size:
        return np.empty(indices.shape, input.dtype)
    size = input.shape[input.ndim - dims :]
    return input.reshape(-1)[planes(indices, dims, size)].reshape(indices.shape)


def picking(name: str, dims: int, kernel: Any) -> Any:
    """The operation ``name``: what ``kernel`` takes of the last dimensions, and from where."""

    def picked(input: Array, parts: Any) -> tuple[Array, Array]:
        """The greatest element of each part of the last dimensions, and its number there."""
        return kernel(input, parts)

    def slope(g: Any, input: Any, indices: Any) -> Any:
        return tied(pool_spread(g, indices, tuple(input.shape[-dims:])), input)

    return hidden_op(input=slope, aux=("indices",), batch=merged)(named(picked, name))


MAX_POOL = {dims: picking(f"max_pool{dims}d_with_indices", dims, pooled) for dims in (2, 3)}


# Means of windows, of equal or of different sizes.


def sums(input: Array, at: Pooling) -> Array:
    """The sum of each window: along one dimension after the other."""
    out = padded(input, at.padding, at.after)
    for dim, pieces in enumerate(at.pieces, input.ndim - len(at.size)):
        before = (slice(None),) * dim
        total = out[(*before, pieces[0])].copy()
        for piece in pieces[1:]:
            total += out[(*before, piece)]
        out = total
    return out


def spread_sums(g: Array, at: Pooling) -> Array:
    """The adjoint of `sums`."""
    lead = g.ndim - len(at.size)
    sizes = zip(at.size, at.padding, at.after, strict=True)
    out = g
    for k, ((n, p, q), pieces) in enumerate(zip(sizes, at.pieces, strict=True)):
        before = (slice(None),) * (lead + k)
        shape = (*out.shape[: lead + k], n + p + q, *out.shape[lead + k + 1 :])
        whole = np.zeros(shape, g.dtype)
        for piece in pieces:
            whole[(*before, piece)] += out
        out = whole
    kept = [slice(p, p + n) for p, n in zip(at.padding, at.size, strict=True)]
    return np.ascontiguousarray(out[last(kept)])


def counts(at: Pooling, with_padding: bool, divisor: int | None) -> Any:
    """By what the sums are divided: a number, or an array of one for each window."""
    if divisor is not None:
        return divisor
    total: Any = 1
    dims = zip(at.firsts(), at.kernel, at.size, at.padding, strict=True)
    for first, k, n, p in dims:
        stop = np.minimum(first + k, n + p)
        if with_padding:
            inside = stop - first
        else:
            inside = np.maximum(np.minimum(stop, n) - np.maximum(first, 0), 1)
        total = np.multiply.outer(total, inside)
    low, high = total.min(initial=1 << 60), total.max(initial=1)
    return int(high) if low >= high else total


def divided(values: Array, by: Any) -> Array:
    """``values / by``, in their dtype; of integers towards zero."""
    if values.dtype.kind in "iu":
        return np.trunc(values / by).astype(values.dtype)
    return values / np.asarray(by).astype(values.dtype)


@hidden_op(
    g=lambda g, at, with_padding, divisor: AVG_POOL[2](g, at, with_padding, divisor),
    batch=merged, wide=True,
)  # fmt: skip
def avg_pool_backward(g: Array, at: Pooling, with_padding: bool, divisor: int | None) -> Array:
    """The adjoint of the means of windows."""
    return spread_sums(divided(g, counts(at, with_padding, divisor)), at)


def averaging(dims: int) -> Any:
    """The means of windows over the last dimensions."""

    def means(input: Array, at: Pooling, with_padding: bool, divisor: int | None) -> Array:
        """The sum of each window divided by the number of its elements, or by ``divisor``."""
        name = "avg_pool3d_out_frame" if dims == 3 else "avg_pool2d"
        if input.dtype != np.int64:
            need_kind(name, input, half=False)
        return divided(sums(input, at), counts(at, with_padding, divisor))

    def slope(g: Any, input: Any, at: Any, with_padding: Any, divisor: Any) -> Any:
        return tied(avg_pool_backward(g, at, with_padding, divisor), input)

    named(means, f"avg_pool{dims}d")
    return hidden_op(input=slope, batch=merged, wide=dims == 2)(means)


AVG_POOL: dict[int, Any] = {dims: averaging(dims) for dims in (2, 3)}


# Pooling as users call it: the arguments, and what PyTorch says of wrong ones.


POSITIONS = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5}
FITTING = 2**31  # windows over several dimensions are counted in 32 bits


def per_dim(name: str, what: str, value: Any, dims: int) -> Ints:
    """One number for each dimension, of one for all or one for each."""
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
    """Size, stride, padding and dilation of windows, which lie side by side without a stride."""
    kernel = per_dim(name, "kernel_size", kernel_size, dims)
    beside = stride is None or (isinstance(stride, (tuple, list)) and not stride)
    return (
        kernel,
        kernel if beside else per_dim(name, "stride", stride, dims),
        per_dim(name, "padding", padding, dims),
        per_dim(name, "dilation", dilation, dims),
    )


def check_elements(input: Tensor, dims: int) -> None:
    """Refuse an input of another number of dimensions, or without elements in one but the batch."""
    shape = input._array.shape
    batch = len(shape) == dims + 2
    if len(shape) not in (dims + 1, dims + 2) or 0 in shape[1 if batch else 0 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim "
            f"batch size for input, but got:{list(shape)}"
        )


def out_size(n: int, k: int, s: int, p: int, d: int, ceil: bool) -> int:
    """How many windows there are; the last begins inside the input or its padding before."""
    require(min(k, s, d) > 0, "kernel_size, stride and dilation must be greater than zero")
    require(p >= 0, "pad must be non-negative, but got pad: {}", p)
    if p > ((k - 1) * d + 1) // 2:
        raise RuntimeError(
            "pad should be at most half of effective kernel size, but got "
            f"pad={p}, kernel_size={k} and dilation={d}"
        )
    out = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
    return out - 1 if ceil and (out - 1) * s >= n + p else out


@lru_cache(64)
def windows_of(
    name: str, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool,
    channels: int,
) -> Pooling:  # fmt: skip
    """The windows over the last dimensions of ``size``, if there are any."""
    dims = zip(size, kernel, stride, padding, dilation, strict=True)
    out = tuple([out_size(*each, ceil) for each in dims])
    if name == "avg_pool3d":
        fits = all(n >= k for n, k in zip(size, kernel, strict=True))
        require(fits, "avg_pool3d(): kernel {} is larger than the input {}", kernel, size)
    if min(out) < 1:
        sizes = ["x".join(map(str, (channels, *ints))) for ints in (size, out)]
        raise RuntimeError(
            f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is "
            "too small"
        )
    return pooling(size, kernel, stride, padding, dilation, out)


# The greatest


def max_pool(
    name: str, dims: int, input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool,
) -> Any:  # fmt: skip
    """The greatest elements of windows over two or three dimensions, and their numbers."""
    tensor_given(name, input)
    each = numbers(name, dims, kernel_size, stride, padding, dilation)
    shape = input._array.shape
    need_ndim(name, input, dims + 1, dims + 2)
    if 0 in shape:
        check_elements(input, dims)
    at = windows_of(name, shape[-dims:], *each, bool(ceil_mode), shape[-dims - 1])
    return MAX_POOL[dims](input, at)


def max_pool_signal(
    input: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    """The greatest elements of windows over one dimension, and their numbers."""
    name = "max_pool1d"
    tensor_given(name, input)
    kernel, stride, padding, dilation = numbers(name, 1, kernel_size, stride, padding, dilation)
    check_elements(input, 1)
    require(padding[0] <= kernel[0] // 2, "max_pool1d(): padding exceeds half of the kernel")
    each = (1, *kernel), (1, *stride), (0, *padding), (1, *dilation)
    shape = input._array.shape
    at = windows_of(name, (1, shape[-1]), *each, bool(ceil_mode), shape[-2])
    values, indices = MAX_POOL[2](unsqueeze(input, -2), at)
    return squeeze_one(values, -2), squeeze_one(indices, -2)


# Means as users call them


def check_signal(name: str, input: Any) -> None:
    """Refuse what is neither (N, C, L) nor (C, L)."""
    tensor_given(name, input)
    need_ndim(name, input, 2, 3)


def mean_pool(
    name: str, dims: int, input: Any, kernel_size: Any, stride: Any, padding: Any,
    ceil_mode: bool, count_include_pad: bool, divisor_override: Any,
) -> Any:  # fmt: skip
    """The means of windows over two or three dimensions."""
    tensor_given(name, input)
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
    """The means of windows over one dimension: (N, C, L) or (C, L); see `max_pool2d`.

    Args:
        count_include_pad: whether padding counts as elements that are zero.
    """
    name = "avg_pool1d"
    check_signal(name, input)
    kernel, stride, padding, _ = numbers(name, 1, kernel_size, stride, padding)
    row = unsqueeze(input, -2), (1, *kernel), (1, *stride), (0, *padding)
    return squeeze_one(mean_pool("avg_pool2d", 2, *row, ceil_mode, count_include_pad, None), -2)


# Pooling over windows of different sizes, which together make up the input.


def shares(size: int, out: int) -> tuple[Array, Array]:
    """Where the windows begin and end that divide ``size`` elements into ``out`` parts.

    Where it does not divide evenly they overlap.
    """
    k = np.arange(out)
    return k * size // out, -(-(k + 1) * size // out)


def adaptive(input: Array, out: Ints) -> tuple[Array, Array]:
    """The greatest element of each part of the last dimensions, and its number there."""
    dims = len(out)
    size = input.shape[input.ndim - dims :]
    need_kind(f"adaptive_max_pool{dims}d", input)
    ends = [shares(n, o) for n, o in zip(size, out, strict=True)]
    longest = [int((stop - start).max(initial=1)) for start, stop in ends]
    best: Any = None
    numbers: Any = None
    for at in product(*map(range, longest)):
        # The last element of a shorter part is met again; it is not greater than itself.
        rows = [np.minimum(start + k, stop - 1) for k, (start, stop) in zip(at, ends, strict=True)]
        part = input[last(np.ix_(*rows))]
        number = np.ravel_multi_index(np.ix_(*rows), size)
        if best is None:
            best, numbers = part, np.broadcast_to(number, part.shape).copy()
            continue
        greater = (part > best) | np.isnan(part)
        best = np.where(greater, part, best)
        numbers = np.where(greater, number, numbers)
    return np.ascontiguousarray(best), np.ascontiguousarray(numbers)


ADAPTIVE_MAX = {dims: picking(f"adaptive_max_pool{dims}d", dims, adaptive) for dims in (2, 3)}


# Means of windows of different sizes


@lru_cache(256)
def averaged(size: int, out: int) -> Taps | None:
    """The means of the parts into which ``size`` elements are divided."""
    if size == out:
        return None
    start, stop = shares(size, out)
    length = stop - start
    k = np.arange(int(length.max(initial=1)))[:, None]
    weights = np.where(k < length, 1.0 / np.maximum(length, 1), 0.0)
    return Taps(size, np.minimum(start + k, np.maximum(stop - 1, 0)), weights)


ADAPTIVE_AVG = {dims: resampling(f"adaptive_avg_pool{dims}d", wide=True, **TIED) for dims in (2, 3)}


# As users call them


def signal_parts(name: str, input: Any, value: Any) -> Ints:
    """The output size of a signal, as a picture of one row."""
    check_signal(name, input)
    given = as_ints(value)
    require(len(given) == 1, "{}(): output_size must have one number, not {}", name, len(given))
    return (1, *given)


def check_parts(name: str, input: Tensor, dims: int) -> None:
    """Refuse an input of another number of dimensions, or without elements to pool."""
    shape = input._array.shape
    need_ndim(name, input, dims + 1, dims + 2)
    for k in range(len(shape) - dims, len(shape)):
        require(shape[k], "{}(): dimension {} of size 0 in shape {}", name, k, shape)


@within_memory
def adaptive_mean(name: str, input: Any, size: Ints) -> Any:
    """The means of as many parts as ``size`` says."""
    dims = len(size)
    require(dims != 2 or min(size) >= 0, "{}(): negative output_size {}", name, size)
    if set(size) == {1}:  # PyTorch takes the mean here
        axes = [normal_dim(-k, input.ndim) for k in range(1, 1 + dims)]
        return mean_along(input, tuple(reversed(axes)), True)
    check_parts(name, input, dims)
    need_kind(name, input._array)
    shape = input._array.shape[-dims:]
    maps = tuple([averaged(n, o) for n, o in zip(shape, size, strict=True)])
    return ADAPTIVE_AVG[dims](input, maps)


def adaptive_max(name: str, input: Any, size: Ints) -> Any:
    """The greatest elements of as many parts as ``size`` says, and their numbers."""
    dims = len(size)
    check_parts(name, input, dims)
    require(min(size) >= 0, "{}(): negative output_size {}", name, size)
    return ADAPTIVE_MAX[dims](input, size)


@public
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` parts of the last dimension: (N, C, L) or (C, L).

    Part k goes from ``⌊k L / output_size⌋`` to ``⌈(k + 1) L / output_size⌉``.
    """
    size = signal_parts("adaptive_avg_pool1d", input, output_size)
    return squeeze_one(adaptive_mean("adaptive_avg_pool2d", unsqueeze(input, -2), size), -2)


@public
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The greatest elements of ``output_size`` parts of the last dimension, and their numbers."""
    size = signal_parts("adaptive_max_pool1d", input, output_size)
    values, indices = adaptive_max("adaptive_max_pool2d", unsqueeze(input, -2), size)
    return squeeze_one(values, -2), squeeze_one(indices, -2)
