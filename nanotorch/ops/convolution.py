"""Convolution and its adjoints, padding, windows as columns, pixel shuffle."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, as_ints, rename, wrong_type
from nanotorch._core.call_site import note_operands, warn_once
from nanotorch._core.dtypes import Number
from nanotorch._core.op import Array, hidden_op, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import advised
from nanotorch.ops.arguments import check_kind, check_ndim, no_form, number_as, require
from nanotorch.ops.elementwise import tied
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.resampling import TIED, Ints, Taps, index_of_last, resampling, resamplings
from nanotorch.ops.shape import slice_along, squeeze_one, unsqueeze

# Windows that slide over the last dimensions of ``(N, C, ...)``: the elements of each.


def output_sizes(size: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Ints:
    """The number of windows that fit into each dimension."""
    dims = zip(size, kernel, stride, dilation, strict=True)
    return tuple([(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in dims])


class Windows:
    """The windows over an input of one size.

    Args:
        out: the number of windows along each dimension. Default: as many as fit.

    Attributes:
        size: the size of the input.
        kernel, stride, dilation: one number for each dimension.
        start: the first index of the first window in each dimension; below 0 with padding.
        out: the number of windows along each dimension.
        places: the number of places in a row of a window, along all dimensions but the first.
        taps: two indices for each place, without the first dimension: one of an array
            ``(*kernel, ..., *out)``, the windows with an element of the input, not of the padding,
            at this place; and one of the input, these elements.
        turned: the same for arrays ``(*kernel, ..., *size)`` and ``(..., *out)``.
        single: whether each window is one element, and none lies in the padding.
    """

    def __init__(
        self, size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
        out: Ints | None = None,
    ) -> None:  # fmt: skip
        self.size, self.kernel, self.stride, self.dilation = size, kernel, stride, dilation
        self.padding, self.start = padding, tuple([-p for p in padding])
        around = tuple([n + 2 * p for n, p in zip(size, padding, strict=True)])
        self.out = output_sizes(around, kernel, stride, dilation) if out is None else out
        dims = zip(size, kernel, stride, dilation, self.start, self.out, strict=True)
        spans = [[valid_range(n, s, b + d * j, o) for j in range(k)] for n, k, s, d, b, o in dims]
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
        """The same windows with a new first dimension of size 1."""
        lead = ((1,), (1,), (1,), (0,), (1,), (1,))
        own = self.size, self.kernel, self.stride, self.padding, self.dilation, self.out
        return windows(*[a + b for a, b in zip(lead, own, strict=True)])


windows = lru_cache(1024)(Windows)  # by their sizes, which recur in every step of a model


def valid_range(size: int, stride: int, first: int, out: int) -> tuple[slice, slice]:
    """Two slices along a dimension: the places that lie in the input, and their elements of it.

    Args:
        size: the size of the input.
        stride: the distance between places.
        first: the first place; it may be negative.
        out: the number of places.
    """
    low = min(max(0, -(first // stride)), out)
    high = max(low, min(out, (size - 1 - first) // stride + 1))
    end = max((high - 1) * stride + first + 1, 0)
    return slice(low, high), slice(low * stride + first, end, stride)


# A convolution and its adjoints are matrix products. Memory decides the matrices:
#
# The rows of the input, at each place in a row of a window, are gathered below each other, so that
# the rows of a window are consecutive in memory and neighbouring windows share them: a matrix of
# them is a view. If the output has less than half as many channels, the rows of the input are used
# as they are, and the products for each place are scattered: added to the result there. A row holds
# several samples. The batch is computed in parts that fit the cache.


PART = 700_000  # bytes
LEAST = 128  # columns of a matrix
THIN = 4  # with fewer lines in a row, whole windows are faster
MANY = 1 << 14  # elements, beyond which NumPy copies lines faster as one item each
FEW = 64  # elements of a window in a group, up to which each sample has its own product


def copy_rows(input: Array, first: int, taps: Any, target: Array) -> None:
    """Copy rows of ``input`` to ``target``.

    Args:
        input: shape ``(N, G, C, rows, *across)``.
        first: the row of ``input`` that becomes the first; rows may lie in the padding.
        taps: `Windows.taps`.
        target: shape ``(*kernel, G, C, rows, N, *width)``.
    """
    k = target.ndim - input.ndim
    to, of = valid_range(input.shape[3], 1, first, target.shape[k + 2])
    # (N, G, C, rows, *across) to (G, C, rows, N, *across).
    source = input[:, :, :, of].transpose(1, 2, 3, 0, *range(4, input.ndim))
    target = target[(*(slice(None),) * (k + 2), to)]
    for here, there in taps:
        goal, values = target[here], source[there]
        if values.size > MANY and values.strides[-1] == values.itemsize:
            line = np.dtype(f"V{values.shape[-1] * values.itemsize}")
            goal, values = goal.view(line), values.view(line)
        goal[...] = values


def split_batch(samples: int, each: int, width: int) -> Iterator[slice]:
    """Yield parts of a batch, of about the same size.

    Args:
        each: the bytes of a sample.
        width: the columns of a matrix of a sample.
    """
    count = max(PART // max(each, 1), -(-LEAST // max(width, 1)), 1)
    count = -(-samples // -(-samples // count)) if samples else 1
    for start in range(0, samples, count):
        yield slice(start, min(start + count, samples))


def stacked_rows(
    block: Array, lines: int, columns: int, height: int, high: int, step: int
) -> Array:
    """Matrices of ``high`` rows of a block: a view ``(G, height, high * lines, columns)``.

    Args:
        block: shape ``(G, rows, ...)``.
        lines: the number of lines of a row.
        height: the number of matrices.
        step: the distance between the first rows of two matrices.
    """
    rows = block.reshape(*block.shape[:2], lines, columns)
    outer, row, line, item = rows.strides
    shape = (len(rows), height, high * lines, columns)
    return np.ndarray(shape, rows.dtype, rows, 0, (outer, row * step, line, item))


def write_products(
    input: Array, weight: Array, shift: Any, out: Array, first: int, step: int, taps: Any
) -> None:
    """Write the products of the weight with gathered rows of the input to ``out``.

    Args:
        input: shape ``(N, G, C, rows, *across)``.
        weight: shape ``(G, O, C, high, *kernel)``.
        shift: the bias, or None.
        out: shape ``(N, G, O, height, *width)``. Row h depends on ``high`` rows of the input, from
            ``first + h * step`` on.
        taps: `Windows.taps`.
    """
    samples, groups, outputs, height, *width = out.shape
    channels, high, *kernel = weight.shape[2:]
    lines, wide = channels * math.prod(kernel), math.prod(width)
    rows, kind, k = (height - 1) * step + high, input.dtype, len(kernel)
    matrix = np.ascontiguousarray(weight.swapaxes(2, 3))  # (G, O, high, C, *kernel)
    matrix = matrix.reshape(groups, 1, outputs, high * lines)
    line = np.dtype(f"V{width[-1] * kind.itemsize}")
    block, out = np.empty(0), out.view(line)
    bytes_each = kind.itemsize * groups * wide * (rows * lines + height * outputs)
    for part in split_batch(samples, bytes_each, wide):
        target = out[part]
        count = len(target)
        if not block.size or block.shape[-1 - k] != count:
            block = np.zeros((groups, rows, channels, *kernel, count, *width), kind)
            operand = stacked_rows(block, lines, count * wide, height, high, step)
            products = np.empty((groups, height, outputs, count * wide), kind)
            values = products.reshape(groups, height, outputs, count, *width).view(line)
            # (G, height, O, N, *width) to (N, G, O, height, *width), as in `out`.
            values = values.transpose(3, 0, 2, 1, *range(4, 4 + k))
            # (G, rows, C, *kernel, N, *width) to (*kernel, G, C, rows, N, *width).
            goal = block.transpose(*range(3, 3 + k), 0, 2, 1, *range(3 + k, 4 + 2 * k))
        copy_rows(input[part], first, taps, goal)
        np.matmul(matrix, operand, products)
        if shift is not None:
            products += shift.reshape(groups, 1, outputs, 1)
        target[...] = values


def add_products(input: Array, weight: Array, out: Array, first: int, step: int, taps: Any) -> None:
    """Add the products to ``out``, place by place; for the arguments see `write_products`."""
    samples, groups, outputs, height, *_ = out.shape
    channels, high, *kernel = weight.shape[2:]
    across, kind, k = input.shape[4:], input.dtype, len(kernel)
    lines, wide = outputs * math.prod(kernel), math.prod(across)
    rows = (height - 1) * step + high
    # (G, O, C, high, *kernel) to (G, *kernel, O, high, C).
    matrix = np.ascontiguousarray(weight.transpose(0, *range(4, 4 + k), 1, 3, 2))
    matrix = matrix.reshape(groups, 1, lines, high * channels)
    multiply: Any = np.multiply if high * channels == 1 else np.matmul
    block = np.empty(0)
    bytes_each = kind.itemsize * groups * wide * (rows * channels + height * lines)
    for part in split_batch(samples, bytes_each, wide):
        target = out[part]
        count = len(target)
        if not block.size or block.shape[-1 - k] != count:
            block = np.zeros((groups, rows, channels, count, *across), kind)
            operand = stacked_rows(block, channels, count * wide, height, high, step)
            products = np.empty((groups, height, lines, count * wide), kind)
            values = products.reshape(groups, height, *kernel, outputs, count, *across)
            # (G, height, *kernel, O, N, *across) to (*kernel, N, G, O, height, *across).
            order = (*range(2, 2 + k), 3 + k, 0, 2 + k, 1, *range(4 + k, 4 + 2 * k))
            values = values.transpose(order)
        rows_last = block.swapaxes(1, 2)  # (G, C, rows, N, *across)
        copy_rows(input[part], first, [(..., ...)], rows_last)
        multiply(matrix, operand, products)
        for here, there in taps:
            piece = target[there]
            np.add(piece, values[here], piece)


def windows_by_rows(at: Windows, lines: int, results: int) -> Windows:
    """The windows; in one row if they share too few consecutive rows.

    Args:
        lines: the number of lines of a row.
        results: the number of results for each matrix of rows.
    """
    step = at.stride[0]
    shared = len(at.size) > 1 and at.dilation[0] == 1 and step < at.kernel[0]
    return at if shared and (lines >= THIN * step**2 or results == 1) else at.in_one_row


def convolved(input: Array, weight: Array, bias: Array | None, at: Windows, groups: int) -> Array:
    """The convolution, of shape ``(N, O, *out)``."""
    samples, outputs, channels = len(input), len(weight) // groups, weight.shape[1]
    shape = (samples, len(weight), *at.out)
    at = windows_by_rows(at, channels * at.places, outputs)
    input = input.reshape(samples, groups, channels, *at.size)
    weight = weight.reshape(groups, outputs, channels, *at.kernel)
    shift: Any = None if bias is None else bias.reshape(groups, outputs, *(1,) * len(at.out))
    if at.single:
        out = pointwise(weight, input[at.taps[0][1]])
        return (out if bias is None else np.add(out, shift, out)).reshape(shape)
    out = np.empty((samples, groups, outputs, *at.out), input.dtype)
    if channels <= 2 * outputs or set(at.stride[1:]) != {1}:
        write_products(input, weight, shift, out, at.start[0], at.stride[0], at.taps)
    else:
        out[...] = 0 if shift is None else shift
        add_products(input, weight, out, at.start[0], at.stride[0], at.turned)
    return out.reshape(shape)


def pointwise(weight: Array, input: Array) -> Array:
    """The products of a weight ``(G, O, C, 1, ...)`` with an input ``(N, G, C, *size)``."""
    matrix = weight.reshape(weight.shape[:3])
    columns = np.ascontiguousarray(input).reshape(*input.shape[:3], math.prod(input.shape[3:]))
    return np.matmul(matrix, columns).reshape(*input.shape[:2], weight.shape[1], *input.shape[3:])


def convolved_back(g: Array, weight: Array, bias: Array | None, at: Windows, groups: int) -> Array:
    """The adjoint of `convolved` for the input: the transposed convolution ``(N, C, *size)``."""
    samples, outputs, channels = len(g), len(weight) // groups, weight.shape[1]
    shape = (samples, channels * groups, *at.size)
    # Zeros around `g` times an infinite or nan weight would be nan.
    finite = bool(np.isfinite(weight).all())
    gather = finite and outputs <= 2 * channels and set(at.stride) == {1}
    lines, results = (outputs, channels) if gather else (channels, outputs)
    at = windows_by_rows(at, lines * at.places, results) if finite else at.in_one_row
    g = g.reshape(samples, groups, outputs, *at.out)
    weight = weight.reshape(groups, outputs, channels, *at.kernel)
    weight = weight.swapaxes(1, 2)  # (G, C, O, *kernel): the two change their roles
    shift: Any = None if bias is None else bias.reshape(groups, channels, *(1,) * len(at.out))
    out = np.empty((samples, groups, channels, *at.size), g.dtype)
    if at.single:
        if at.out == at.size:
            out = pointwise(weight, g)
        else:
            out[...] = 0
            out[at.taps[0][1]] = pointwise(weight, g)
        return (out if bias is None else np.add(out, shift, out)).reshape(shape)
    if not gather:
        out[...] = 0 if shift is None else shift
    step, start = at.stride[0], at.start[0]
    for phase in range(step):  # rows of the result from the same rows of the kernel
        some = weight[:, :, :, phase::step][:, :, :, ::-1]
        row = max(0, -((phase + start) // step))
        target = out[:, :, :, row * step + phase + start :: step]
        if not target.size:
            continue
        if gather:
            write_products(g, some, shift, target, row - some.shape[3] + 1, 1, at.turned)
        else:
            add_products(g, some, target, row - some.shape[3] + 1, 1, at.taps)
    return out.reshape(shape)


def correlated(g: Array, input: Array, at: Windows, groups: int) -> Array:
    """The adjoint of `convolved` for the weight, of shape ``(O, C / groups, *kernel)``."""
    samples, outputs, channels = len(g), g.shape[1] // groups, input.shape[1] // groups
    shape = (g.shape[1], channels, *at.kernel)
    few = at.single or (outputs > 1 and channels * math.prod(at.kernel) <= FEW)
    at = at.in_one_row if few else windows_by_rows(at, channels * at.places, outputs)
    input = input.reshape(samples, groups, channels, *at.size)
    g = g.reshape(samples, groups, outputs, *at.out)
    total = correlated_alone(g, input, at) if few else correlated_rows(g, input, at)
    return total.reshape(shape)


def correlated_alone(g: Array, input: Array, at: Windows) -> Array:
    """`correlated` with one row and a product for each sample, without a copy of ``g``."""
    samples, groups, outputs = g.shape[:3]
    kernel, width = at.kernel[1:], at.out[1:]
    lines, wide, k = input.shape[2] * at.places, math.prod(width), len(kernel)
    total = np.zeros((groups, outputs, lines), g.dtype)
    for part in split_batch(samples, g.itemsize * groups * lines * (wide + outputs), wide):
        some, values = input[part], g[part]
        if at.single:
            columns = np.ascontiguousarray(some[at.taps[0][1]])
        else:
            columns = np.zeros((*some.shape[:4], *kernel, *width), g.dtype)
            # (N, G, C, 1, *kernel, *width) to (*kernel, G, C, 1, N, *width).
            order = (*range(4, 4 + k), 1, 2, 3, 0, *range(4 + k, 4 + 2 * k))
            copy_rows(some, 0, at.taps, columns.transpose(order))
        columns = columns.reshape(len(some), groups, lines, wide)
        columns = columns.swapaxes(2, 3)  # (N, G, wide, lines)
        total += np.matmul(values.reshape(len(some), groups, outputs, wide), columns).sum(0)
    return total


def correlated_rows(g: Array, input: Array, at: Windows) -> Array:
    """`correlated` with rows that windows share; the result is ``(G, O, C, *kernel)``."""
    samples, groups, outputs, height, *width = g.shape
    channels, (tall, *kernel), step = input.shape[2], at.kernel, at.stride[0]
    lines, wide, k, kind = channels * at.places, math.prod(width), len(kernel), g.dtype
    total = np.zeros((tall, groups, lines, outputs), kind)
    for phase in range(step):
        high, start = len(range(phase, tall, step)), at.start[0] + phase
        source, first = input[:, :, :, start % step :: step], start // step
        rows, block = height + high - 1, np.empty(0)
        bytes_each = kind.itemsize * groups * wide * (rows * lines + height * outputs)
        for part in split_batch(samples, bytes_each, wide * height):
            some = g[part]
            count, columns = len(some), len(some) * wide
            if not block.size or block.shape[-1 - k] != count:
                block = np.zeros((groups, channels, *kernel, rows, count, *width), kind)
                # (G, C, *kernel, rows, N, *width) to (*kernel, G, C, rows, N, *width).
                target = block.transpose(*range(2, 2 + k), 0, 1, *range(2 + k, 4 + 2 * k))
                memory = block.reshape(groups, lines, rows, columns)
                of_group, line, row, item = memory.strides
                size = (high, groups, lines, height * columns)
                operand = np.ndarray(size, kind, memory, 0, (row, of_group, line, item))
            copy_rows(source[part], first, at.taps, target)
            # (N, G, O, height, *width) to (G, height, N, *width, O).
            values = np.ascontiguousarray(some.transpose(1, 3, 0, *range(4, 4 + k), 2))
            values = values.reshape(groups, height * columns, outputs)
            total[phase::step] += np.matmul(operand, values)
    total = total.reshape(tall, groups, channels, *kernel, outputs)
    # (tall, G, C, *kernel, O) to (G, O, C, tall, *kernel).
    return total.transpose(1, 3 + k, 2, 0, *range(3, 3 + k))


def transposed_size(out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The smallest size of an input whose convolution has the size ``out``."""
    dims = zip(out, kernel, stride, padding, dilation, strict=True)
    return tuple([(o - 1) * s - 2 * p + d * (k - 1) + 1 for o, k, s, p, d in dims])


def input_formula(
    g: Any, weight: Any, shape: Ints, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, groups: int,
) -> Any:  # fmt: skip
    """The gradient of `convolve` by its input, of ``shape``: the adjoint convolution."""
    rest: Ints = (0,) * len(stride)
    if not transposed:
        least = transposed_size(g.shape[2:], weight.shape[2:], stride, padding, dilation)
        rest = tuple([n - m for n, m in zip(shape[2:], least, strict=True)])
    out = convolve(g, weight, None, stride, padding, dilation, not transposed, rest, groups)
    for dim, size in enumerate(shape):  # large output padding leaves more elements
        if out.shape[dim] != size:
            out = slice_along(out, dim, 0, size)
    return out


@hidden_op(
    input=lambda g, input, weight, stride, padding, dilation, transposed, groups: tied(
        input_formula(g, weight, input.shape, stride, padding, dilation, transposed, groups),
        input,
        False,
    ),
    weight=lambda g, input, weight, stride, padding, dilation, transposed, groups: tied(
        convolution_weight(
            *((input, g) if transposed else (g, input)),
            weight.shape[2:],
            stride,
            padding,
            dilation,
            groups,
        ),
        weight,
        False,
    ),
    bias=lambda g, input, weight: tied(
        tied(sum_along(g, (0, *range(2, g.ndim)), False), input, False), weight, False
    ),
    node="ConvolutionBackward0",
    wide=True,
)
def convolve(
    input: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, output_padding: Ints, groups: int,
) -> Array:  # fmt: skip
    """The convolution of (N, C, ...), or its adjoint; ``stride`` etc. are one per dimension."""
    check_kind("slow_conv2d_cpu", input, kinds="fiu")
    size, kernel, out_size = input.shape[2:], weight.shape[2:], None
    if transposed:
        out_size = size
        least = transposed_size(size, kernel, stride, padding, dilation)
        size = tuple([n + m for n, m in zip(least, output_padding, strict=True)])
    at = windows(size, kernel, stride, padding, dilation, out_size)
    return (convolved_back if transposed else convolved)(input, weight, bias, at, groups)


@hidden_op(
    slope=lambda g, input, slope_shape, stride, padding, dilation, groups: input_formula(
        input, g, slope_shape, stride, padding, dilation, True, groups
    ),
    input=lambda g, slope, input_shape, stride, padding, dilation, groups: input_formula(
        slope, g, input_shape, stride, padding, dilation, False, groups
    ),
    wide=True,
)
def convolution_weight(
    slope: Array, input: Array, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints,
    groups: int,
) -> Array:  # fmt: skip
    """The gradient of a convolution of ``input`` by the weight, from ``slope``, the result's."""
    at = windows(input.shape[2:], kernel_size, stride, padding, dilation, slope.shape[2:])
    return correlated(slope, input, at, groups)


# Convolutions as users call them: their arguments, and PyTorch's errors for wrong ones.


EVEN = (
    "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy "
    "of the input be created"
)


def per_dim(name: str, value: Any, dims: int, count: int) -> Ints:
    """An argument, one number or one for each dimension, as one number for each dimension.

    Args:
        dims: the number of dimensions in the name of the function.
        count: the number of dimensions of the kernel.

    Raises:
        RuntimeError: for another number of numbers.
    """
    given = as_ints(value) * (dims if value.__class__ is int else 1)
    if len(given) == 1:
        return given * count
    require(len(given) == count, "{}: expected one number or {}, not {}", name, count, given)
    return given


def check_shapes(
    input: Ints, weight: Ints, bias: Any, transposed: bool, stride: Ints, padding: Ints,
    dilation: Ints, rest: Ints, groups: int,
) -> None:  # fmt: skip
    """Refuse an input, a weight and a bias whose sizes do not fit, and results without elements."""
    if len(input) != len(weight):
        raise RuntimeError(
            f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight "
            f"{list(weight)}, but got {len(input)}-dimensional input of size {list(input)} instead"
        )
    given = "Given transposed=1, " if transposed else f"Given groups={groups}, "
    whole = weight[0] >= groups and not weight[0] % groups
    message = "{}the first dimension of weight must be divisible by groups, but weight has size {}"
    require(whole, message, given, weight)
    channels, outputs = weight[1] * groups, weight[0]
    if transposed:
        channels, outputs = outputs, channels
    if input[1] != channels:
        error = RuntimeError(
            f"{given}weight of size {list(weight)}, expected input{list(input)} to have "
            f"{channels} channels, but got {input[1]} channels instead"
        )
        raise advised(error, "channels last") if input[3:] == (channels,) else error
    fits = bias is None or bias._array.shape == (outputs,)
    require(fits, "expected bias to be 1-dimensional with {} elements", outputs)
    if transposed:
        least = transposed_size(input[2:], weight[2:], stride, padding, dilation)
        out = tuple([n + r for n, r in zip(least, rest, strict=True)])
        fits = all(r < max(s, d) for r, s, d in zip(rest, stride, dilation, strict=True))
        require(fits, "output padding {} must be smaller than either stride or dilation", rest)
        message = "Calculated output size per channel: {}. Output size is too small"
        require(min(out) > 0, message, out)
        return
    sizes = [n + 2 * p for n, p in zip(input[2:], padding, strict=True)]
    spans = [d * (k - 1) + 1 for k, d in zip(weight[2:], dilation, strict=True)]
    if any(n < k for n, k in zip(sizes, spans, strict=True)):
        size, span = (" x ".join(map(str, numbers)) for numbers in (sizes, spans))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({size}). Kernel size: ({span}). Kernel "
            "size can't be greater than actual input size"
        )


def convolution_of(
    dims: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: Any, output_padding: Any = None,
) -> Any:  # fmt: skip
    """The convolution over ``dims`` dimensions, or its adjoint, of a user's arguments.

    Args:
        output_padding: None for a convolution; numbers for the adjoint.
    """
    transposed = output_padding is not None
    name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
    values = (input, weight, bias, stride, padding, dilation, groups)
    wrong = [k for k in range(3) if not isinstance(values[k], Tensor) and (k < 2 or values[k])]
    if wrong and transposed:
        place = (name, ("input", "weight", "bias")[wrong[0]], wrong[0] + 1)
        raise wrong_type(values[wrong[0]], "Tensor", place)
    if wrong:  # layers pass all arguments; programs pass few
        raise no_form(name, *values[: 7 if isinstance(stride, tuple) else 2 + (bias is not None)])
    kinds = [dtypes.dtype_of(t._array) for t in (input, weight, bias) if t is not None]
    for what, kind in (*zip(("bias",), kinds[2:], strict=False), ("weight", kinds[1])):
        if kind != kinds[0]:
            a, b = (dtypes.C_NAMES[k.name] for k in (kinds[0], kind))
            raise RuntimeError(f"Input type ({a}) and {what} type ({b}) should be the same")
    alone = input._array.ndim == dims + 1
    if not alone and input._array.ndim != dims + 2:
        error = RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got "
            f"input of size: {list(input._array.shape)}"
        )
        raise advised(error, "one image") if input._array.ndim == dims else error
    if alone:
        input = unsqueeze(input, 0)
    kernel, groups = weight._array.shape[2:], as_int(groups)
    if not kernel and not transposed:
        raise RuntimeError("weight should have at least three dimensions")
    given = {"stride": stride, "dilation": dilation, "output_padding": output_padding or 0}
    stride, dilation, rest = (per_dim(*item, dims, len(kernel)) for item in given.items())
    if isinstance(padding, str):
        total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        if padding == "valid":
            total = [0] * len(kernel)
        else:
            require(padding == "same", "Invalid padding string: '{}'", padding)
            strided = any(s != 1 for s in stride)
            require(not strided, "padding='same' is not supported for strided convolutions")
        if any(n % 2 for n in total):  # one more zero after the input
            warn_once(EVEN)
            input = constant_pad_nd(input, [n for m in reversed(total) for n in (0, m % 2)])
        padding = tuple([n // 2 for n in total])
    else:
        padding = per_dim("padding", padding, dims, len(kernel))
    natural = min(*padding, *rest) >= 0 and min(*stride, *dilation, groups) > 0
    require(natural, "negative padding, or stride, dilation or groups below 1, is not supported")
    try:
        shapes = input._array.shape, weight._array.shape
        check_shapes(*shapes, bias, transposed, stride, padding, dilation, rest, groups)
    except RuntimeError as error:
        raise note_operands(error, input=input, weight=weight) from None
    out = convolve(input, weight, bias, stride, padding, dilation, transposed, rest, groups)
    return squeeze_one(out, 0) if alone else out


def convolution(dims: int) -> Any:
    """`conv1d`, `conv2d` or `conv3d`."""

    def function(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        """The convolution of signals (`conv1d`), pictures (`conv2d`) or volumes (`conv3d`).

        ``out[n, o, y, x] = bias[o] + Σ weight[o, c, i, j] · input[n, c, s·y + d·i, s·x + d·j]``

        Args:
            stride: s, the distance between neighbouring windows: a number, or one per dimension.
            padding: the number of zeros on both sides of each dimension; "valid" for none, "same"
                for as many as keep the size.
            dilation: d, the distance between neighbouring elements of a window.
            groups: the number of groups of channels and of outputs; an output depends only on the
                channels of its group.

        Shape:
            ``input`` (N, C, H, W) or (C, H, W), ``weight`` (O, C / groups, K, L), ``bias`` (O,),
            in one dimension without H and K, in three with D before H and one more before K.
            The result's height is ``⌊(H + 2 padding - d (K - 1) - 1) / s⌋ + 1``.

        Raises:
            RuntimeError: for shapes that do not fit, numbers out of range, different dtypes.
        """
        return convolution_of(dims, input, weight, bias, stride, padding, dilation, groups)

    return public(rename(function, f"conv{dims}d"))


def transposed_convolution(dims: int) -> Any:
    """`conv_transpose1d`, `conv_transpose2d` or `conv_transpose3d`."""

    def function(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Tensor:  # fmt: skip
        """The adjoint of a convolution with respect to its input, plus a bias.

        It maps the shape of the convolution's result to the shape of its input.

        Args:
            stride, padding, dilation, groups: those of the convolution, see `conv2d`.
            output_padding: the number of elements by which the result exceeds the smallest input
                of the convolution; less than the stride or the dilation.

        Shape:
            ``input`` (N, C, H, W) or (C, H, W), ``weight`` (C, O / groups, K, L), ``bias`` (O,),
            in one and three dimensions as for `conv2d`. The result's height is
            ``(H - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1``.

        Raises:
            RuntimeError: for shapes that do not fit, numbers out of range, different dtypes.
        """
        numbers = stride, padding, dilation, groups, output_padding
        return convolution_of(dims, input, weight, bias, *numbers)

    return public(rename(function, f"conv_transpose{dims}d"))


conv1d, conv2d, conv3d = map(convolution, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(transposed_convolution, (1, 2, 3))


# Padding: a constant, or the input's own elements, around the last dimensions.


@op(input=lambda g, pad: constant_pad_nd(g, [-n for n in as_ints(pad)]), method=False)
def constant_pad_nd(input: Array, pad: Sequence[int], value: Number = 0) -> Array:
    """``input`` with elements of ``value`` around its last dimensions.

    Args:
        pad: the number of elements before and after each dimension, the last dimension first;
            negative numbers remove elements.

    Raises:
        RuntimeError: for an odd count of numbers, too many numbers, or more elements to remove than
            a dimension has.
    """
    pad, ndim, kind = as_ints(pad), input.ndim, input.dtype
    require(not len(pad) % 2, "Length of pad must be even but instead it equals {}", len(pad))
    require(len(pad) <= 2 * ndim, "pad(): {} numbers for {} dimensions", len(pad), ndim)
    lead = ndim - len(pad) // 2
    dims = list(zip(input.shape[lead:], pad[::2][::-1], pad[1::2][::-1], strict=True))
    if any(n + min(b, 0) + min(a, 0) < 0 for n, b, a in dims):
        raise RuntimeError("narrow(): length must be non-negative.")
    kept = index_of_last(slice(max(-b, 0), n + min(a, 0)) for n, b, a in dims)
    if max(pad, default=0) <= 0:
        return input[kept].copy("K")
    shape = (*input.shape[:lead], *[n + b + a for n, b, a in dims])
    out = np.full(shape, number_as(value, kind), kind)
    out[index_of_last(slice(max(b, 0), n + b + min(a, 0)) for n, b, a in dims)] = input[kept]
    return out


# Padding with the input's own elements


@lru_cache(256)
def padding_indices(mode: str, size: int, before: int, after: int) -> Taps | None:
    """The indices of padding by ``mode``: "reflect" mirrors at the outermost elements, "replicate"
    repeats them, and any other wraps around. None without padding."""
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
    # PyTorch copies the parts one by one into a new tensor: its node is that of the copies.
    "circular": (resampling("circular_pad", node="torch::autograd::CopySlices"),) * 3,
}


def pad_by_mode(input: Tensor, pad: tuple[int, ...], mode: str) -> Tensor:
    """``input`` with its own elements around its last dimensions.

    Args:
        pad: see `constant_pad_nd`.
        mode: "reflect", "replicate" or "circular".

    Raises:
        NotImplementedError: for another mode, or a number of dimensions that PyTorch lacks.
        RuntimeError: for more padding than the input has elements.
    """
    require(mode in MODES, "Unrecognised padding mode {}", mode, error=NotImplementedError)
    shape, dims = input._array.shape, len(pad) // 2
    fits = len(pad) in (2, 4, 6) and len(shape) in (dims + 1, dims + 2)
    text = "pad(): mode {!r} does not take {} numbers for {} dimensions"
    require(fits, text, mode, len(pad), len(shape), error=NotImplementedError)
    sides = list(zip(shape[-dims:], pad[::2][::-1], pad[1::2][::-1], strict=True))
    left = [n + before + after for n, before, after in sides]
    if mode == "circular":
        once = all(max(before, after) <= n for n, before, after in sides)
        require(once, "Padding value causes wrapping around more than once.")
        require(min(left) >= 0, "Negative padding value is resulting in an empty dimension")
    else:
        batch = len(shape) == dims + 2
        require(0 not in shape[1 if batch else 0 :], "pad(): no elements in shape {}", shape)
        for k, (n, before, after) in enumerate(reversed(sides), 1):
            if mode == "reflect" and max(before, after) >= n:
                raise RuntimeError(
                    f"Argument #{2 * k + 2}: Padding size should be less than the corresponding "
                    f"input dimension, but got: padding ({before}, {after}) at dimension "
                    f"{len(shape) - k} of input {list(shape)}"
                )
        message = "pad(): the padding reduces an input of size {} to size {}"
        require(min(left) > 0, message, shape, left)
        name = "reflection" if mode == "reflect" else "replication"
        check_kind(f"{name}_pad{dims}d", input._array, kinds="fiu")
    return MODES[mode][dims - 1](input, tuple([padding_indices(mode, *each) for each in sides]))


# Windows as columns, and channels as space: `unfold`, `fold`, `pixel_shuffle`.


@hidden_op(
    input=lambda g, input_shape, size, stride, padding, dilation: col2im(
        g, tuple(input_shape[-2:]), size, stride, padding, dilation
    ),
    node="Im2ColBackward0",
    wide=True,
)
def im2col(input: Array, size: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """The windows of ``size`` over (N, C, H, W) or (C, H, W) as columns."""
    check_kind("im2col_out_cpu", input, kinds="fb")
    at = windows(input.shape[-2:], size, stride, padding, dilation).in_one_row
    *lead, channels = input.shape[:-2]
    out = np.zeros((*lead, channels, *size, *at.out[1:]), input.dtype)
    columns = np.moveaxis(out, (-4, -3), (0, 1))  # (*size, ..., C, *at.out[1:])
    for here, there in at.taps:
        columns[here] = input[there]
    return out.reshape(*lead, channels * at.places, math.prod(at.out))


@hidden_op(
    g=lambda g, size, stride, padding, dilation: im2col(g, size, stride, padding, dilation),
    node="Col2ImBackward0",
    wide=True,
)
def col2im(
    g: Array, out_size: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Array:
    """The adjoint of `im2col`: the sums of the columns at the places of their elements."""
    check_kind("col2im_out_cpu", g, kinds="fb")
    at = windows(out_size, size, stride, padding, dilation).in_one_row
    *lead, rows, _ = g.shape
    columns = g.reshape(*lead, rows // at.places, *size, *at.out[1:])
    out = np.zeros((*lead, rows // at.places, *out_size), g.dtype)
    columns = np.moveaxis(columns, (-4, -3), (0, 1))  # (*size, ..., C, *at.out[1:])
    for here, there in at.taps:
        out[there] += columns[here]
    return out


# Channels and space


def shuffle_factor(name: str, argument: str, given: Any, input: Array) -> int:
    """The factor of a pixel shuffle; refuse one that is not positive, and too few dimensions."""
    factor = as_int(given)
    check_ndim(name, input, 3)
    require(factor > 0, "{} expects a positive {}, but got {}", name, argument, factor)
    return factor


@op(
    input=lambda g, upscale_factor: pixel_unshuffle(g, upscale_factor),
    method=False,
    in_order=True,
)
def pixel_shuffle(input: Array, upscale_factor: int) -> Array:
    """(..., C · r², H, W) as (..., C, H · r, W · r): r² channels become squares of r by r.

    Raises:
        RuntimeError: for fewer than three dimensions, a factor r that is not positive, or a number
            of channels that r² does not divide.

    Reference:
        Shi et al., Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
        Convolutional Neural Network, CVPR 2016.
    """
    r = shuffle_factor("pixel_shuffle", "upscale_factor", upscale_factor, input)
    *lead, channels, height, width = input.shape
    message = "pixel_shuffle(): {} channels are not divisible by {}"
    require(not channels % (r * r), message, channels, r * r)
    parts = input.reshape(-1, channels // (r * r), r, r, height, width)
    parts = parts.transpose(0, 1, 4, 2, 5, 3)  # (N, C, H, r, W, r)
    return parts.reshape(*lead, channels // (r * r), height * r, width * r)


@op(
    input=lambda g, downscale_factor: pixel_shuffle(g, downscale_factor),
    method=False,
    in_order=True,
)
def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """(..., C, H · r, W · r) as (..., C · r², H, W): the inverse of `pixel_shuffle`.

    Raises:
        RuntimeError: for fewer than three dimensions, a factor r that is not positive, or a size
            that r does not divide.
    """
    r = shuffle_factor("pixel_unshuffle", "downscale_factor", downscale_factor, input)
    *lead, channels, height, width = input.shape
    for size in (height, width):
        require(not size % r, "pixel_unshuffle(): size {} is no multiple of {}", size, r)
    parts = input.reshape(-1, channels, height // r, r, width // r, r)
    parts = parts.transpose(0, 1, 3, 5, 2, 4)  # (N, C, r, r, H, W)
    return parts.reshape(*lead, channels * r * r, height // r, width // r)
