"""Convolution and its adjoints."""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, as_ints, combination, refused
from nanotorch._core.batched import Call
from nanotorch._core.call_site import warn_once
from nanotorch._core.op import Array, hidden_op, public
from nanotorch._core.sums import sum_over, sum_rows
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import NUMBERS, need_kind
from nanotorch.ops.elementwise import tied
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import slice_along, squeeze_one, unsqueeze
from nanotorch.ops.windows import (
    Ints,
    Windows,
    chunks,
    constant_pad_nd,
    cropped,
    last,
    padded,
    windows,
)

# Convolution and its adjoints: with the elements of an input's windows it is a matrix product.
#
# The elements of a window are a column of a matrix. With many channels they are a row: with
# channels last, whole rows of the kernel lie together in memory.


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


def size_of_adjoint(out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The smallest input whose convolution is of the size ``out``."""
    dims = zip(out, kernel, stride, padding, dilation, strict=True)
    return tuple([(o - 1) * s - 2 * p + d * (k - 1) + 1 for o, k, s, p, d in dims])


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
    for dim, size in enumerate(shape):  # more of them is what large output padding leaves
        if out.shape[dim] != size:
            out = slice_along(out, dim, 0, size)
    return out


def weight_slope(
    g: Any, input: Any, weight: Any, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, groups: int,
) -> Any:  # fmt: skip
    """The gradient of the weight of `convolve`."""
    pair = (input, g) if transposed else (g, input)
    numbers = weight.shape[2:], stride, padding, dilation, groups
    return tied(convolution_weight(*pair, *numbers), weight, False)


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


@hidden_op(
    input=lambda g, input, weight, stride, padding, dilation, transposed, groups: tied(
        input_slope(g, weight, input.shape, stride, padding, dilation, transposed, groups),
        input,
        False,
    ),
    weight=weight_slope,
    bias=lambda g, input, weight: tied(
        tied(sum_along(g, (0, *range(2, g.ndim)), False), input, False), weight, False
    ),
    node="ConvolutionBackward0",
    batch=convolved_of_all,
    wide=True,
)
def convolve(
    input: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints,
    transposed: bool, output_padding: Ints, groups: int,
) -> Array:  # fmt: skip
    """The convolution of (N, C, ...), or its adjoint; of numbers one for each dimension."""
    need_kind("slow_conv2d_cpu", input, kinds=NUMBERS)
    size, kernel, out_size = input.shape[2:], weight.shape[2:], None
    if transposed:
        out_size = size
        least = size_of_adjoint(size, kernel, stride, padding, dilation)
        size = tuple([n + m for n, m in zip(least, output_padding, strict=True)])
    at = windows(size, kernel, stride, padding, dilation, out_size)
    return (convolved_back if transposed else convolved)(input, weight, bias, at, groups)


@hidden_op(
    slope=lambda g, input, slope_shape, stride, padding, dilation, groups: input_slope(
        input, g, slope_shape, stride, padding, dilation, True, groups
    ),
    input=lambda g, slope, input_shape, stride, padding, dilation, groups: input_slope(
        slope, g, input_shape, stride, padding, dilation, False, groups
    ),
    wide=True,
)
def convolution_weight(
    slope: Array, input: Array, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints,
    groups: int,
) -> Array:  # fmt: skip
    """The gradient of the weight of a convolution of ``input``, from that of its result."""
    at = windows(input.shape[2:], kernel_size, stride, padding, dilation, slope.shape[2:])
    return correlated(slope, input, at, groups)


# Convolutions as users call them: their arguments, and what PyTorch says of wrong ones.


FORMS = [
    "Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, "
    f"{padding}, tuple of ints dilation = 1, int groups = 1"
    for padding in ("tuple of ints padding = 0", 'str padding = "valid"')
]
AXES = ("depth", "height", "width")
EVEN = (
    "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy "
    "of the input be created"
)


def per_dim(name: str, value: Any, dims: int, count: int) -> Ints:
    """One number for each dimension, of one for all or one for each.

    Args:
        dims: of the function.
        count: of the weight.

    Raises:
        RuntimeError: for another count.
    """
    given = as_ints(value) * (dims if value.__class__ is int else 1)
    if len(given) == 1:
        return given * count
    if len(given) != count:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {count} values to match "
            f"the convolution dimensions, but got {name}={list(given)}"
        )
    return given


def check_tensors(name: str, given: tuple[Any, ...]) -> None:
    """Refuse what is no tensor of a convolution's arguments: input, weight, bias and the rest."""
    wrong = [k for k in range(3) if not isinstance(given[k], Tensor) and (k < 2 or given[k])]
    if not wrong:
        return
    if name.startswith("conv_"):
        place = (name, ("input", "weight", "bias")[wrong[0]], wrong[0] + 1)
        raise refused(given[wrong[0]], "Tensor", place)
    # Layers give all arguments; programs usually those that differ from the default.
    count = 7 if isinstance(given[3], tuple) else 3 if given[2] is not None else 2
    raise combination(name, given[:count], FORMS)


def check_dtypes(transposed: bool, *tensors: Any) -> None:
    """Refuse input, weight and bias of different dtypes."""
    kinds = [dtypes.of_array(t._array) for t in tensors if t is not None]
    weighed = transposed and kinds[0] != kinds[1]
    if tensors[2] is not None and kinds[0] != kinds[2] and not weighed:
        a, b = (dtypes.C_NAMES[k.name] for k in (kinds[0], kinds[2]))
        raise RuntimeError(f"Input type ({a}) and bias type ({b}) should be the same")
    if kinds[0] != kinds[1]:
        if kinds[0] is dtypes.float32 and kinds[1].is_floating_point and not transposed:
            raise RuntimeError(
                f"Input type (torch.{kinds[0].char}Tensor) and weight type "
                f"(torch.{kinds[1].char}Tensor) should be the same or input should be a MKLDNN "
                "tensor and weight is a dense tensor"
            )
        raise RuntimeError(f"expected scalar type {kinds[0].char} but found {kinds[1].char}")


def check_numbers(
    stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int
) -> None:
    """Refuse numbers out of range."""
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        if len(dilation) == 1:
            raise RuntimeError("non-positive dilation is not supported")
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")


def check_shapes(input: Ints, weight: Ints, bias: Any, groups: int, transposed: bool) -> None:
    """Refuse an input, a weight and a bias whose sizes do not fit together."""
    if len(input) != len(weight):
        raise RuntimeError(
            f"Expected {len(weight)}-dimensional input for {len(weight)}-dimensional weight "
            f"{list(weight)}, but got {len(input)}-dimensional input of size {list(input)} instead"
        )
    given = "Given transposed=1, " if transposed else f"Given groups={groups}, "
    if weight[0] < groups or weight[0] % groups:
        sizes = list(weight) if weight[0] < groups else [list(weight)]
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be "
            + (f"at least {groups}" if weight[0] < groups else f"divisible by {groups}")
            + f" at dimension 0, but got weight of size {sizes} instead"
        )
    channels = weight[0] if transposed else weight[1] * groups
    if input[1] != channels:
        raise RuntimeError(
            f"{given}weight of size {list(weight)}, expected input{list(input)} to have "
            f"{channels} channels, but got {input[1]} channels instead"
        )
    outputs = weight[1] * groups if transposed else weight[0]
    if bias is not None and bias._array.shape != (outputs,):
        begin = "Given transposed=1, " if transposed else "Given "
        raise RuntimeError(
            f"{begin}weight of size {list(weight)}, expected "
            f"bias to be 1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias._array.shape)} instead"
        )


def check_fits(size: Ints, kernel: Ints, padding: Ints, dilation: Ints) -> None:
    """Refuse a kernel larger than the padded input."""
    sizes = [n + 2 * p for n, p in zip(size, padding, strict=True)]
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    if any(n < k for n, k in zip(sizes, spans, strict=True)):
        raise RuntimeError(
            "Calculated padded input size per channel: ("
            + " x ".join(map(str, sizes)) + "). Kernel size: ("
            + " x ".join(map(str, spans))
            + "). Kernel size can't be greater than actual input size"
        )  # fmt: skip


def check_adjoint(
    size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, rest: Ints
) -> None:
    """Refuse too much output padding, and a result of a transposed convolution without elements."""
    least = size_of_adjoint(size, kernel, stride, padding, dilation)
    out = tuple([n + r for n, r in zip(least, rest, strict=True)])
    if len(size) == 1:  # PyTorch takes a signal for a picture of one row
        size, out, stride, dilation = ((1, *ints) for ints in (size, out, stride, dilation))
        rest = (0, *rest)
    if any(r >= s and r >= d for r, s, d in zip(rest, stride, dilation, strict=True)):
        named = {"output_padding": rest, "stride": stride, "dilation": dilation}
        told = [
            f"{name}_{axis}: {n}"
            for name, numbers in named.items()
            for axis, n in zip(AXES[-len(size) :], numbers, strict=True)
        ]
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            + " ".join(told)
        )
    if min(out) < 1:
        sizes = [" x ".join(map(str, ints)) for ints in (size, out)]
        raise RuntimeError(
            f"Given input size per channel: ({sizes[0]}). Calculated output size per channel: "
            f"({sizes[1]}). Output size is too small"
        )


def check_ndim(name: str, input: Tensor, dims: int) -> bool:
    """Whether the input is no batch, but one sample.

    Raises:
        RuntimeError: if it is neither.
    """
    ndim = input._array.ndim
    if ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got "
            f"input of size: {list(input._array.shape)}"
        )
    return ndim == dims + 1


def same_padding(
    input: Tensor, padding: str, kernel: Ints, stride: Ints, dilation: Ints
) -> tuple[Tensor, Ints]:
    """The padding that a word means, and the input, padded where the two sides differ.

    Raises:
        RuntimeError: for another word than "valid" and "same", or a stride with "same".
    """
    if padding == "valid":
        return input, (0,) * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    more = [n % 2 for n in total]
    if any(more):  # one more behind
        warn_once(EVEN)
        input = constant_pad_nd(input, [n for m in reversed(more) for n in (0, m)])
    return input, tuple([n // 2 for n in total])


def convolution_of(
    dims: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
    groups: Any, output_padding: Any = None,
) -> Any:  # fmt: skip
    """A convolution over ``dims`` dimensions of what users give, or its adjoint.

    Args:
        output_padding: None for a convolution.
    """
    transposed = output_padding is not None
    name = f"conv_transpose{dims}d" if transposed else f"conv{dims}d"
    check_tensors(name, (input, weight, bias, stride, padding, dilation, groups))
    if not transposed:
        check_dtypes(False, input, weight, bias)
    alone = check_ndim(name, input, dims)
    if transposed:  # in PyTorch's order
        check_dtypes(True, input, weight, bias)
    if alone:
        input = unsqueeze(input, 0)
    kernel, groups = weight._array.shape[2:], as_int(groups)
    if not kernel and not transposed:
        raise RuntimeError("weight should have at least three dimensions")
    stride, dilation, rest = (
        per_dim(name, value, dims, len(kernel))
        for name, value in (
            ("stride", stride), ("dilation", dilation), ("output_padding", output_padding or 0),
        )
    )  # fmt: skip
    if isinstance(padding, str):
        input, padding = same_padding(input, padding, kernel, stride, dilation)
    else:
        padding = per_dim("padding", padding, dims, len(kernel))
    check_numbers(stride, padding, dilation, rest, groups)
    shape = input._array.shape
    check_shapes(shape, weight._array.shape, bias, groups, transposed)
    if transposed:
        check_adjoint(shape[2:], kernel, stride, padding, dilation, rest)
    else:
        check_fits(shape[2:], kernel, padding, dilation)
    out = convolve(input, weight, bias, stride, padding, dilation, transposed, rest, groups)
    return squeeze_one(out, 0) if alone else out


@public
def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The convolution of a signal: `conv2d` over one dimension.

    Shape:
        ``input`` (N, C, L) or (C, L), ``weight`` (O, C / groups, K), ``bias`` (O,).
    """
    return convolution_of(1, input, weight, bias, stride, padding, dilation, groups)


@public
def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """``out[n, o, y, x] = bias[o] + Σ weight[o, c, i, j] · input[n, c, s·y + d·i, s·x + d·j]``.

    Args:
        stride: s, how far neighbouring windows are apart: a number, or one per dimension.
        padding: how many zeros there are on both sides; "valid" for none, "same" for as many as
            keep the size.
        dilation: d, how far neighbouring elements of a window are apart.
        groups: into how many groups channels and outputs are divided; each output sees the
            channels of its group only.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W), ``weight`` (O, C / groups, K, L), ``bias`` (O,).
        The result's height is ``⌊(H + 2 padding - d (K - 1) - 1) / s⌋ + 1``.

    Raises:
        RuntimeError: for shapes that do not fit, numbers out of range, different dtypes.
    """
    return convolution_of(2, input, weight, bias, stride, padding, dilation, groups)


@public
def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The convolution of a volume: `conv2d` over three dimensions.

    Shape:
        ``input`` (N, C, D, H, W) or (C, D, H, W), ``weight`` (O, C / groups, ...), ``bias`` (O,).
    """
    return convolution_of(3, input, weight, bias, stride, padding, dilation, groups)


@public
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transposed convolution of a signal: `conv_transpose2d` over one dimension."""
    numbers = stride, padding, dilation, groups, output_padding
    return convolution_of(1, input, weight, bias, *numbers)


@public
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `conv2d` for its input, plus a bias: from its result's shape to its input's.

    Args:
        stride, padding, dilation, groups: of that convolution.
        output_padding: by how much the result is larger than the smallest input of that
            convolution; smaller than the stride or the dilation.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W), ``weight`` (C, O / groups, K, L), ``bias`` (O,). The
        result's height is ``(H - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1``.

    Raises:
        RuntimeError: for shapes that do not fit, numbers out of range, different dtypes.
    """
    numbers = stride, padding, dilation, groups, output_padding
    return convolution_of(2, input, weight, bias, *numbers)


@public
def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Tensor:  # fmt: skip
    """The transposed convolution of a volume: `conv_transpose2d` over three dimensions."""
    numbers = stride, padding, dilation, groups, output_padding
    return convolution_of(3, input, weight, bias, *numbers)
