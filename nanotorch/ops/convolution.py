"""Convolution and its adjoints: with the elements of an input's windows it is a matrix product.

The elements of a window are a column of a matrix. With many channels they are a row: with channels
last, whole rows of the kernel lie together in memory.
"""

import math
from typing import Any

import numpy as np

from nanotorch._core.batch_rules import Call
from nanotorch._core.op import Array, op
from nanotorch._core.sums import sum_over, sum_rows
from nanotorch.ops.comparison import tied
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.slicing import slice_along
from nanotorch.ops.windows import Ints, Windows, chunks, cropped, last, padded, windows

# Fewer elements side by side, or fewer outputs, and rows are slower than columns.
LEAST_RUN, LEAST_OUTPUTS = 24, 16
MOST_WINDOWS = 1024  # of a sample
# More windows than this in a sample, and a product for each sample beats one for all.
MOST_JOINED = 256


def in_groups(weight: Array, groups: int) -> Array:
    """A weight ``(O, C / groups, *kernel)`` as matrices ``(groups, O / groups, ...)``."""
    return weight.reshape(groups, weight.shape[0] // groups, -1)


def in_rows(inputs: int, outputs: int, at: Windows, groups: int) -> bool:
    """Whether windows as rows are faster than as columns."""
    wide = inputs * at.kernel[-1] >= LEAST_RUN and outputs >= LEAST_OUTPUTS
    few = len(at.out) > 1 and math.prod(at.out) <= MOST_WINDOWS
    return groups == 1 and wide and few and math.prod(at.kernel) > 1


def convolved_rows(input: Array, weight: Array, at: Windows) -> Array:
    """`convolved`, with windows as rows."""
    samples, outputs, count = len(input), len(weight), math.prod(at.out)
    matrix = np.ascontiguousarray(np.moveaxis(weight, 1, -1)).reshape(outputs, -1)
    out = np.empty((samples, outputs, count), input.dtype)
    for part, rows in at.rows(input):
        if count > MOST_JOINED:
            np.matmul(matrix, rows.swapaxes(1, 2), out[part])
        else:
            joined = rows.reshape(-1, rows.shape[2]) @ matrix.T
            out[part] = joined.reshape(-1, count, outputs).swapaxes(1, 2)
    return out.reshape(samples, outputs, *at.out)


def convolved(input: Array, weight: Array, bias: Array | None, at: Windows, groups: int) -> Array:
    """The convolution ``(N, O, *out)``."""
    samples, outputs = len(input), len(weight)
    if in_rows(input.shape[1], outputs, at, groups):
        out = convolved_rows(input, weight, at)
        if bias is not None:
            out += bias.reshape((-1,) + (1,) * len(at.out))
        return out
    matrix, source = in_groups(weight, groups), padded(input, at.padding)
    out = np.empty((samples, groups, outputs // groups, math.prod(at.whole)), input.dtype)
    for part in chunks(samples, source[0].nbytes * math.prod(at.kernel) if samples else 0):
        np.matmul(matrix, at.columns(source[part], groups), out[part, :, :, : at.count])
    out = out.reshape(samples, outputs, *at.whole)
    out = out[last(map(slice, at.out))]
    if bias is not None:
        shift = bias.reshape((-1,) + (1,) * len(at.out))
        return np.add(out, shift, None if at.flat else out)
    return np.ascontiguousarray(out)


def convolved_back(g: Array, weight: Array, bias: Array | None, at: Windows, groups: int) -> Array:
    """The adjoint of `convolved` for its input: the transposed convolution ``(N, C, *size)``."""
    samples, outputs = g.shape[:2]
    channels = weight.shape[1] * groups
    single = outputs == groups == channels
    finite = (single or in_rows(outputs, channels, at, groups)) and np.isfinite(weight).all()
    if finite:  # zeros around make no nan
        around = mirrored(g.shape[2:], at)
        if around is not None:
            turned = weight[last((slice(None, None, -1),) * len(at.kernel))]
            turned = turned if single else turned.swapaxes(0, 1)
            return convolved(g, np.ascontiguousarray(turned), bias, around, groups)
    matrix = in_groups(weight, groups).swapaxes(1, 2)
    values = at.among(g, groups)
    places = math.prod(at.kernel)
    out = np.zeros((samples, channels, *at.size), g.dtype)
    for part in chunks(samples, channels * places * at.count * g.itemsize):
        if outputs == groups:  # no sums, at which alone BLAS is good
            each = weight.reshape(groups, -1, places, 1)
            rows = (each[:, :, k] * values[part] for k in range(places))
            at.add_each((row.reshape(-1, channels, at.count) for row in rows), out[part])
        else:
            columns = np.matmul(matrix, values[part])
            at.add(columns.reshape(-1, channels, places, at.count), out[part])
    out = cropped(out, at.padding)
    if bias is not None:
        out += bias.reshape((-1,) + (1,) * len(at.out))
    return out


def mirrored(out: Ints, at: Windows) -> Windows | None:
    """The windows by which a convolution with the turned kernel is the adjoint.

    So it is where windows are next to each other. None for others.

    Args:
        out: the size of the result.
    """
    size = tuple([n - 2 * p for n, p in zip(at.size, at.padding, strict=True)])
    spans = [d * (k - 1) for k, d in zip(at.kernel, at.dilation, strict=True)]
    padding = tuple([s - p for s, p in zip(spans, at.padding, strict=True)])
    if set(at.stride) != {1} or min(padding) < 0:
        return None
    around = windows(out, at.kernel, at.stride, padding, at.dilation)
    return around if around.out == size else None


def correlated(g: Array, input: Array, at: Windows, groups: int) -> Array:
    """The adjoint of `convolved` for its weight ``(O, C / groups, *kernel)``."""
    samples, outputs = g.shape[:2]
    if in_rows(input.shape[1], outputs, at, groups):
        return correlated_rows(g, input, at)
    rows = input.shape[1] // groups * math.prod(at.kernel)
    source, out = padded(input, at.padding), outputs // groups
    if at.flat and outputs == groups == input.shape[1]:
        rows_of_g = at.among(g, groups)[:, :, 0]
        sums = [sum_rows(np.vecdot(piece, rows_of_g)) for piece in at.shifted(source)]
        return np.stack(sums, 1).reshape(outputs, 1, *at.kernel)
    values = at.among(g, groups, True)
    total = np.zeros((groups, rows, out), g.dtype)
    for part in chunks(samples, groups * rows * max(at.count, out) * g.itemsize):
        columns, among = at.columns(source[part], groups), values[part]
        if at.count >= rows:  # the products of samples are small beside their columns
            total += sum_over(np.matmul(columns, among), (0,))
        else:
            left = columns.transpose(1, 2, 0, 3).reshape(groups, rows, -1)
            total += np.matmul(left, among.swapaxes(0, 1).reshape(groups, -1, out))
    return np.ascontiguousarray(total.swapaxes(1, 2)).reshape(
        outputs, input.shape[1] // groups, *at.kernel
    )


def correlated_rows(g: Array, input: Array, at: Windows) -> Array:
    """The adjoint of `convolved_rows` for its weight."""
    samples, outputs = g.shape[:2]
    channels, count = input.shape[1], math.prod(at.out)
    values = g.reshape(samples, outputs, count)
    total = np.zeros((outputs, channels * math.prod(at.kernel)), g.dtype)
    for part, rows in at.rows(input):
        if count > MOST_JOINED:
            total += np.matmul(values[part], rows).sum(0)
        else:
            left = values[part].swapaxes(0, 1).reshape(outputs, -1)
            total += left @ rows.reshape(-1, rows.shape[2])
    total = total.reshape(outputs, *at.kernel, channels)
    return np.ascontiguousarray(np.moveaxis(total, -1, 1))


def refuse_bools(input: Array) -> None:
    """BLAS does not multiply them."""
    if input.dtype.kind == "b":
        raise NotImplementedError("\"slow_conv2d_cpu\" not implemented for 'Bool'")


def size_of_adjoint(out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The smallest input whose convolution is of the size ``out``."""
    dims = zip(out, kernel, stride, padding, dilation, strict=True)
    return tuple([(o - 1) * s - 2 * p + d * (k - 1) + 1 for o, k, s, p, d in dims])


def fitted(value: Any, shape: Ints) -> Any:
    """The first elements along each dimension; more of them is what large output padding leaves."""
    for dim, size in enumerate(shape):
        if value.shape[dim] != size:
            value = slice_along(value, dim, 0, size)
    return value


def input_slope(
    g: Any, weight: Any, shape: Ints, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, groups: int,
) -> Any:  # fmt: skip
    """The gradient of the input of `convolution`, of ``shape``: a convolution the other way."""
    rest: Ints = (0,) * len(stride)
    if not transposed:
        least = size_of_adjoint(g.shape[2:], weight.shape[2:], stride, padding, dilation)
        rest = tuple([n - m for n, m in zip(shape[2:], least, strict=True)])
    out = convolve(g, weight, None, stride, padding, dilation, not transposed, rest, groups)
    return fitted(out, shape)


def weight_slope(
    g: Any, input: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, groups: int,
) -> Any:  # fmt: skip
    """The gradient of the weight of `convolution`."""
    pair = (input, g) if transposed else (g, input)
    return convolution_weight(*pair, kernel, stride, padding, dilation, groups)


def sum_of_channels(g: Any) -> Any:
    """The gradient of a bias."""
    return sum_along(g, (0, *range(2, g.ndim)), False)


def convolved_of_all(call: Call) -> Any:
    """`convolve` of each sample: all in one batch, or, where weights differ, as groups."""
    size, bias = call.batch.size, call.args["bias"]
    shift = None if bias is None else call.whole("bias")
    if not call.is_batched("weight"):
        input = call.whole("input")
        if call.is_batched("input"):
            out = call.again(input=input.flatten(0, 1), bias=None)
            out = out.unflatten(0, (size, input.shape[1]))
        else:
            out = call.again(bias=None).unsqueeze(0)
    else:
        input, weight = call.repeated("input"), call.whole("weight")
        groups = call.args["groups"]
        joined = input.transpose(0, 1).flatten(1, 2)
        out = call.again(input=joined, weight=weight.flatten(0, 1), bias=None, groups=size * groups)
        out = out.unflatten(1, (size, out.shape[1] // size)).transpose(0, 1)
    if shift is not None:
        each = shift.shape[0] if call.is_batched("bias") else 1
        out = out + shift.reshape((each, 1, -1) + (1,) * (out.ndim - 3))
    return out


@op(
    input=lambda g, input, weight, stride, padding, dilation, transposed, groups: tied(
        input_slope(g, weight, input.shape, stride, padding, dilation, transposed, groups),
        input,
        False,
    ),
    weight=lambda g, input, weight, stride, padding, dilation, transposed, groups: tied(
        weight_slope(g, input, weight.shape[2:], stride, padding, dilation, transposed, groups),
        weight,
        False,
    ),
    bias=lambda g, input, weight: tied(tied(sum_of_channels(g), input, False), weight, False),
    method=False,
    public=False,
    node="ConvolutionBackward0",
    batch=lambda call: convolved_of_all(call),
    wide=True,
)
def convolve(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Array:
    """The convolution of (N, C, ...), or its adjoint; of numbers one for each dimension."""
    refuse_bools(input)
    size, kernel, out_size = input.shape[2:], weight.shape[2:], None
    if transposed:
        out_size = size
        least = size_of_adjoint(size, kernel, stride, padding, dilation)
        size = tuple([n + m for n, m in zip(least, output_padding, strict=True)])
    at = windows(size, kernel, stride, padding, dilation, out_size)
    return (convolved_back if transposed else convolved)(input, weight, bias, at, groups)


@op(
    slope=lambda g, input, slope_shape, stride, padding, dilation, groups: input_slope(
        input, g, slope_shape, stride, padding, dilation, True, groups
    ),
    input=lambda g, slope, input_shape, stride, padding, dilation, groups: input_slope(
        slope, g, input_shape, stride, padding, dilation, False, groups
    ),
    method=False,
    public=False,
    wide=True,
)
def convolution_weight(
    slope: Array,
    input: Array,
    kernel_size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Array:
    """The gradient of the weight of a convolution of ``input``, from that of its result."""
    refuse_bools(slope)
    at = windows(input.shape[2:], kernel_size, stride, padding, dilation, slope.shape[2:])
    return correlated(slope, input, at, groups)
