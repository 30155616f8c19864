"""Convolution, pooling, padding, and pictures made larger or smaller."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_int, as_ints, refused, within_memory
from nanotorch._core.call_site import warn
from nanotorch._core.layout import normal_dim
from nanotorch._core.out import Out, with_out
from nanotorch._core.tensor import Tensor
from nanotorch.ops import resampling as kernels
from nanotorch.ops.arguments import (
    as_number,
    need_kind,
    need_value,
    require,
    tensor_given,
    tensors_given,
    unsupported,
)
from nanotorch.ops.convolution import (
    col2im,
    constant_pad_nd,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    im2col,
    pad_as,
    pixel_shuffle,
    pixel_unshuffle,
    positions,
)
from nanotorch.ops.resampling import (
    ANTIALIASED,
    GRID_SAMPLER,
    NEAREST_OF,
    SMOOTH,
    adaptive_avg_pool1d,
    affine_grid_generator,
    avg_pool1d,
)

__all__ = (
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "affine_grid", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "fold", "grid_sample", "interpolate", "max_pool1d", "max_pool2d",
    "max_pool3d", "pad", "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
)  # fmt: skip

# Padding.


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """``input`` with more elements around its last dimensions.

    Args:
        pad: how many before and after, the last dimension first; negative ones cut off.
        mode: "constant", or with its own elements: "reflect" (mirrored at the borders), "replicate"
            (the border repeated), "circular" (continued periodically), for the last one, two or
            three dimensions of (C, ...) or (N, C, ...).
        value: of the constant. Default: 0.

    Raises:
        RuntimeError: for an odd count of numbers, for more than there are dimensions, for more
            than there are elements.
        NotImplementedError: for another mode, or another count of dimensions than it takes.
    """
    tensor_given("pad", input)
    if not isinstance(pad, (tuple, list)):
        raise refused(pad, "tuple of ints", ("pad", "pad", 2))
    numbers = as_ints(pad, ("pad", "pad", 2))
    fits = not len(numbers) % 2 and len(numbers) <= 2 * input._array.ndim
    require(fits, "pad(): {} numbers for {} dimensions", len(numbers), input._array.ndim)
    if mode == "constant":
        number = 0 if value is None else as_number(value, ("pad", "value", 4), "float")
        return constant_pad_nd(input, numbers, float(number))
    require(not value, 'Padding mode "{}" doesn\'t take in value argument', mode)
    return pad_as(input, numbers, mode)


# Windows as columns and back; channels exchanged with space.


Number = int | Sequence[int]
Ints = tuple[int, ...]


def pair(name: str, value: Number) -> Ints:
    """A number for both dimensions, or one for each."""
    given = (value, value) if isinstance(value, int) else as_ints(value)
    if len(given) == 1:
        return given * 2
    require(len(given) == 2, "It is expected {} equals to 2, but got size {}", name, len(given))
    return given


def pairs(**given: Number) -> list[Ints]:
    """The numbers of `unfold` and `fold`, one for each dimension, if none is out of range."""
    found = {name: pair(name, value) for name, value in given.items()}
    for name, numbers in found.items():
        low = 0 if name == "padding" else 1
        require(
            min(numbers) >= low, "{} should be at least {}, but got {} and {}", name, low, *numbers
        )
    return [*found.values()]


def unfold(
    input: Tensor, kernel_size: Number, dilation: Number = 1, padding: Number = 0,
    stride: Number = 1,
) -> Tensor:  # fmt: skip
    """The windows of a picture, each as a column.

    Args:
        kernel_size: (K, L), the size of the windows: a number, or one per dimension.
        dilation, padding, stride: see `conv2d`.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W); the result (N, C · K · L, windows) or without N.

    Raises:
        RuntimeError: for numbers out of range, and if there are no windows.
    """
    tensor_given("im2col", input)
    size, between, around, step = pairs(
        kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    shape = input._array.shape
    normal_dim(2, len(shape))  # the error for fewer dimensions is an index's, as in PyTorch
    told = "unfold(): the input must be (N, C, H, W) or (C, H, W), and not empty but for N, not {}"
    require(len(shape) < 5 and 0 not in shape[-3:], told, list(shape))
    spatial = tuple([n + 2 * p for n, p in zip(shape[-2:], around, strict=True)])
    out = positions(spatial, size, step, between)
    require(min(out) > 0, "no window of size {} fits into an input of size {}", size, shape[-2:])
    return im2col(input, size, step, around, between)


def fold(
    input: Tensor, output_size: Number, kernel_size: Number, dilation: Number = 1,
    padding: Number = 0, stride: Number = 1,
) -> Tensor:  # fmt: skip
    """Columns added to where `unfold` takes them from.

    Args:
        output_size: (H, W) of the result.
        kernel_size, dilation, padding, stride: see `unfold`.

    Shape:
        ``input`` (N, C · K · L, windows) or without N; the result (N, C, H, W) or (C, H, W).

    Raises:
        RuntimeError: for numbers out of range, and sizes that do not fit.
    """
    tensor_given("col2im", input)
    wanted = pair("output_size", output_size)
    size, between, around, step = pairs(
        kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    shape = input._array.shape
    fits = len(shape) in (2, 3) and 0 not in shape[-2:] and not shape[-2] % (size[0] * size[1])
    require(fits, "Expected columns (N, C * {} * {}, windows), but got: {}", *size, list(shape))
    spatial = tuple([n + 2 * p for n, p in zip(wanted, around, strict=True)])
    rows, columns = positions(spatial, size, step, between)
    fits = rows * columns == shape[-1] and min(rows, columns) > 0
    require(fits, "fold(): {} columns for {} * {} windows", shape[-1], rows, columns)
    return col2im(input, wanted, size, step, around, between)


# Pooling: one number for each window.


# The greatest


def max_pool1d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The greatest elements of windows over one dimension; see `max_pool2d`.

    Raises:
        NotImplementedError: for integers, if they are not asked for with indices; see there.
    """
    tensor_given("max_pool1d", input)
    if input._array.dtype.kind != "f" and not return_indices:
        raise unsupported("max_pool1d_impl", input._array)
    pair: Any = kernels.max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return pair if return_indices else pair[0]


def max_pool2d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The greatest element of each window over the last two dimensions.

    Args:
        kernel_size: the size K of the windows: a number, or one per dimension, as for the rest.
        stride: s, how far neighbouring windows are apart. Default: K.
        padding: p, how far windows reach beyond the borders; at most half a window.
        dilation: d, how far neighbouring elements of a window are apart.
        ceil_mode: let the last window reach beyond the padding.
        return_indices: whether to return where each is, too.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W); the result's height is
        ``⌊(H + 2p - d (K - 1) - 1) / s⌋ + 1``.

    Raises:
        RuntimeError: for numbers out of range and shapes that do not fit.
    """
    pair: Any = kernels.max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return pair if return_indices else pair[0]


def max_pool3d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The greatest elements of windows over the last three dimensions; see `max_pool2d`."""
    pair: Any = kernels.max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return pair if return_indices else pair[0]


# Means


def avg_pool2d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window over the last two dimensions; see `max_pool2d`.

    Args:
        count_include_pad: whether padding counts as elements that are zero.
        divisor_override: by what sums are divided instead of the number of elements.
    """
    return kernels.mean_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


def avg_pool3d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window over the last three dimensions; see `avg_pool2d`."""
    return kernels.mean_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip


avg_pool2d = with_out(__name__, "avg_pool2d", avg_pool2d, Out("avg_pool2d", strict=True))
avg_pool3d = with_out(__name__, "avg_pool3d", avg_pool3d, Out("avg_pool3d", strict=True))


def sizes(value: Number, dims: int) -> tuple[int, ...]:
    """One number, such as a window's size, for each dimension."""
    return (value,) * dims if isinstance(value, int) else tuple(value)


# Parts


def adaptive(name: str, input: Tensor, output_size: Any) -> Any:
    """The means or greatest elements of parts; None stands for the size of the input."""
    tensor_given(name, input)
    require(output_size is not None, "object of type 'NoneType' has no len()", error=TypeError)
    dims, mean = int(name[-2]), "avg" in name
    given = (as_int(output_size),) * dims if isinstance(output_size, int) else tuple(output_size)
    require(len(given) == dims, "{}: output_size must be {}", name, dims)
    shape = (*(0,) * dims, *input._array.shape)[-dims:]
    size = tuple([n if o is None else o for n, o in zip(shape, given, strict=True)])
    return (kernels.adaptive_mean if mean else kernels.adaptive_max)(name, input, size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of (h, w) parts of (N, C, H, W) or (C, H, W).

    Along a dimension part k goes from ``⌊k H / h⌋`` to ``⌈(k + 1) H / h⌉``.

    Args:
        output_size: a number, or one per dimension; None for the size of the input.
    """
    return adaptive("adaptive_avg_pool2d", input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of (d, h, w) parts of (N, C, D, H, W); see `adaptive_avg_pool2d`."""
    return adaptive("adaptive_avg_pool3d", input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Tensor:
    """The greatest element of each part of one dimension; see `adaptive_avg_pool2d`."""
    pair: Any = kernels.adaptive_max_pool1d(input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Tensor:
    """The greatest element of each of (h, w) parts; see `adaptive_avg_pool2d`."""
    pair: Any = adaptive("adaptive_max_pool2d", input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Tensor:
    """The greatest element of each of (d, h, w) parts; see `adaptive_avg_pool2d`."""
    pair: Any = adaptive("adaptive_max_pool3d", input, output_size)
    return pair if return_indices else pair[0]


# Pictures made larger or smaller.


Sizes = int | Sequence[int] | None
Scales = float | Sequence[float] | None
AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)


@within_memory
def interpolate(
    input: Tensor, size: Sizes = None, scale_factor: Scales = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """A picture of another size.

    Args:
        size: of the result: a number, or one per dimension.
        scale_factor: by how much it is larger, where ``size`` is not given.
        mode: "nearest", "nearest-exact", "area" (means of parts); "linear" for one dimension,
            "bilinear" and "bicubic" for two, "trilinear" for three. Default: "nearest".
        align_corners: whether the middles of the outermost elements stay where they are, rather
            than the outer edges. Default: False.
        recompute_scale_factor: take the scale from the sizes, which are whole numbers.
        antialias: with "bilinear" and "bicubic": let each element be made of all that it covers.

    Shape:
        ``input`` (N, C, L), (N, C, H, W) or (N, C, D, H, W); the result (N, C, *size).

    Raises:
        ValueError: unless just one of ``size`` and ``scale_factor`` is given, as many numbers as
            there are dimensions, and options that go with the mode.
        NotImplementedError: for a mode that is not for as many dimensions.
        RuntimeError: for a size that is not positive.
    """
    input.dim()  # the error for what has none is Python's own, as in PyTorch
    told = "align_corners option can only be set with the modes {}"
    need_value(mode in SMOOTH or align_corners is None, told, [*SMOOTH])
    fits = not antialias or (mode in ("bilinear", "bicubic") and input._array.ndim == 4)
    need_value(fits, "antialias is for the modes bilinear and bicubic of 4-D tensors")
    one = (size is None) != (scale_factor is None)
    need_value(one, "interpolate() takes one of size and scale_factor")
    told = "recompute_scale_factor is not meaningful with an explicit size."
    need_value(size is None or not recompute_scale_factor, told)
    shape, kind = input._array.shape, input._array.dtype
    dims = len(shape[2:])
    given: Any = scale_factor if size is None else size
    if not isinstance(given, (tuple, list)):
        given = (given,) * dims
    told = "interpolate(): {} has not one number for each of {}"
    need_value(len(given) == dims, told, given, shape[2:])
    scales: Any = (None,) * dims
    if size is not None:
        out = as_ints(given)
    else:
        whole: Any = math.floor if recompute_scale_factor else int
        out = tuple([whole(n * s) for n, s in zip(shape[2:], given, strict=True)])
        scales = scales if recompute_scale_factor else given
    modes = (*SMOOTH, *NEAREST_OF, "area")
    require(
        mode in modes, "mode must be one of {}, not {!r}", modes, mode, error=NotImplementedError
    )
    known = (SMOOTH[mode][0],) if mode in SMOOTH else (1, 2, 3)
    if dims not in known:
        needs = " or ".join(f"{n + 2}D" for n in known)
        told = f"Got {input.dim()}D input, but {mode} mode needs {needs} input"
        raise NotImplementedError(told)
    if mode == "area":
        return AREA[dims - 1](input, out[0] if dims == 1 else out)
    told = "Input and output sizes should be greater than 0, but got {} and {}"
    require(0 not in shape[1:] and min(out) > 0, told, shape, out)
    if kind.kind != "f" and not (kind == np.uint8 and mode in NEAREST_OF):
        raise unsupported(f"upsample_{mode}{dims}d", input._array)
    numbers = list(zip(shape[2:], out, scales, strict=True))
    corners = bool(align_corners)
    if mode in NEAREST_OF:
        operation: Any = NEAREST_OF[mode][dims - 1]
        maps: list[Any] = [kernels.nearest(*each, mode == "nearest-exact") for each in numbers]
    elif antialias:
        need_kind("compute_index_ranges_weights", input._array, kinds="biuf", half=False)
        operation = ANTIALIASED[mode]
        maps = [kernels.blended(*each, corners, mode == "bicubic", None) for each in numbers]
    else:
        operation = SMOOTH[mode][1]
        kind = np.dtype(np.float64 if input._array.dtype == np.float64 else np.float32)
        maps = [kernels.blended(*each, corners, mode == "bicubic", kind) for each in numbers]
    return operation(input, tuple(maps))


def upsample(
    input: Tensor, size: Sizes = None, scale_factor: Scales = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """`interpolate` by its former name.

    Warns:
        UserWarning: that it has another name now.
    """
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


# Pictures seen through a grid of places.


MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDING = {"zeros": 0, "border": 1, "reflection": 2}
CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """Pictures seen at the places of a grid.

    Args:
        grid: places (x, y) or (x, y, z); the picture reaches from -1 to 1.
        mode: "bilinear", "nearest" or "bicubic". Default: "bilinear".
        padding_mode: what is outside: "zeros", the "border", or the picture mirrored at it
            ("reflection"). Default: "zeros".
        align_corners: whether -1 and 1 are the middles of the outermost elements, rather than their
            outer edges. Default: False.

    Shape:
        ``input`` (N, C, H, W), ``grid`` (N, h, w, 2), the result (N, C, h, w); or with one
        dimension more, and ``grid`` (N, d, h, w, 3).

    Raises:
        ValueError: for another mode.
        RuntimeError: for shapes or dtypes that do not fit.

    Warns:
        UserWarning: if ``align_corners`` is not given.

    Reference:
        Jaderberg et al., Spatial Transformer Networks, NeurIPS 2015.
    """
    for name, value, known in (("mode", mode, MODES), ("padding_mode", padding_mode, PADDING)):
        told = "expected {} to be one of {}, but got: '{}'"
        need_value(value in known, told, name, list(known), value)
    if align_corners is None:
        warn(CHANGED)
    tensors_given("grid_sampler", input=input, grid=grid)
    shape, places = input._array.shape, grid._array.shape
    dims = len(shape) - 2
    fits = dims in (2, 3) and len(places) == dims + 2 and places[-1] == dims
    fits = fits and shape[0] == places[0] and 0 not in shape[2:]
    require(fits, "grid_sampler(): input {} and grid {} do not fit", list(shape), list(places))
    sampler = GRID_SAMPLER[dims]
    return sampler(input, grid, MODES[mode], PADDING[padding_mode], bool(align_corners))


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places to which affine maps take those of a picture, for `grid_sample`.

    Args:
        theta: (N, 2, 3) for pictures, (N, 3, 4) for volumes: a matrix and a shift.
        size: (N, C, H, W) or (N, C, D, H, W) of the result of `grid_sample`.
        align_corners: as for `grid_sample`.

    Shape:
        The result (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: for maps of another shape or dtype, and sizes that are not positive.
        NotImplementedError: for another number of dimensions.

    Warns:
        UserWarning: if ``align_corners`` is not given.
    """
    floats = theta.is_floating_point()
    need_value(floats, "Expected theta to have floating point type, but got {}", theta.dtype)
    out = tuple(size)
    dims = len(out) - 2
    told = "affine_grid only supports 4D and 5D sizes. Got size {}."
    require(dims in (2, 3), told, out, error=NotImplementedError)
    fits = theta.ndim == 3 and tuple(theta.shape[-2:]) == (dims, dims + 1)
    need_value(fits, "Expected matrices of shape Nx{}x{}. Got {}.", dims, dims + 1, theta.shape)
    if align_corners is None:
        warn(CHANGED)
    need_value(min(out) > 0, "Expected non-zero, positive output size. Got {}", out)
    return affine_grid_generator(theta, out, bool(align_corners))
