"""Functions of signals and images: padding, pooling, resampling and normalization."""

import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core.arguments import (
    as_int,
    as_ints,
    require_bool,
    with_memory_errors,
    wrong_type,
)
from nanotorch._core.bfloat16 import widen
from nanotorch._core.call_site import count_write, warn
from nanotorch._core.dtypes import BFLOAT16
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import as_number, widened
from nanotorch._core.out import Out, with_out
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor
from nanotorch.func.batched import Batch, Batched, batch_tensor, make_sample, separately, under_vmap
from nanotorch.names.lookup import advised
from nanotorch.ops import fused
from nanotorch.ops import resampling as kernels
from nanotorch.ops.arguments import (
    check_constants,
    check_first_tensors,
    check_input,
    check_kind,
    check_same_dtype,
    require,
    require_value,
    unsupported_dtype,
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
    output_sizes,
    pad_by_mode,
    pixel_shuffle,
    pixel_unshuffle,
)
from nanotorch.ops.elementwise import plus_number
from nanotorch.ops.reduction import Dims
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
    "avg_pool3d", "batch_norm", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "fold", "grid_sample", "group_norm", "instance_norm",
    "interpolate", "layer_norm", "local_response_norm", "max_pool1d", "max_pool2d", "max_pool3d",
    "normalize", "pad", "pixel_shuffle", "pixel_unshuffle", "rms_norm", "unfold", "upsample",
)  # fmt: skip

# Padding.


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """``input`` with further elements around its last dimensions.

    Args:
        pad: the numbers of elements before and after, the last dimension first; a negative number
            removes elements.
        mode: "constant", or for the last one, two or three dimensions of (C, ...) or (N, C, ...):
            "reflect" (mirror at the borders), "replicate" (repeat the border) or "circular"
            (continue periodically). Default: "constant".
        value: the constant. Default: 0.

    Raises:
        RuntimeError: if ``pad`` has an odd length, or numbers for more dimensions or elements than
            ``input`` has.
        NotImplementedError: for another mode, or a number of dimensions that the mode lacks.
    """
    check_input("pad", input)
    if not isinstance(pad, (tuple, list)):
        raise wrong_type(pad, "tuple of ints", ("pad", "pad", 2))
    numbers = as_ints(pad, ("pad", "pad", 2))
    fits = not len(numbers) % 2 and len(numbers) <= 2 * input._array.ndim
    require(fits, "pad(): {} numbers for {} dimensions", len(numbers), input._array.ndim)
    if mode == "constant":
        number = 0 if value is None else as_number(value, ("pad", "value", 4), "float")
        return constant_pad_nd(input, numbers, float(number))
    require(not value, 'Padding mode "{}" doesn\'t take in value argument', mode)
    return pad_by_mode(input, numbers, mode)


# Windows as columns, and back.


Number = int | Sequence[int]
Ints = tuple[int, ...]


def pair(name: str, value: Number) -> Ints:
    """A pair of numbers, from one number for both dimensions or one for each."""
    given = (value, value) if isinstance(value, int) else as_ints(value)
    if len(given) == 1:
        return given * 2
    require(len(given) == 2, "It is expected {} equals to 2, but got size {}", name, len(given))
    return given


def pairs(**given: Number) -> list[Ints]:
    """The pairs of numbers of `unfold` and `fold`; raises RuntimeError if one is out of range."""
    found = {name: pair(name, value) for name, value in given.items()}
    for name, (height, width) in found.items():
        low = 0 if name == "padding" else 1
        if min(height, width) < low:
            raise RuntimeError(f"{name} should be at least {low}, but got {height} and {width}")
    return [*found.values()]


def unfold(
    input: Tensor, kernel_size: Number, dilation: Number = 1, padding: Number = 0,
    stride: Number = 1,
) -> Tensor:  # fmt: skip
    """The windows of an image, each as a column.

    Args:
        kernel_size: the size (K, L) of the windows: a number, or one per dimension.
        dilation, padding, stride: see `conv2d`. Default: 1, 0 and 1.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W); the result (N, C · K · L, windows) or without N.

    Raises:
        RuntimeError: if a number is out of range, or no window fits.
    """
    check_input("im2col", input)
    size, between, around, step = pairs(
        kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    shape = input._array.shape
    normal_dim(2, len(shape))  # fewer dimensions raise IndexError, as in PyTorch
    message = (
        "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
        "dimensions for input, but got: {}"
    )
    require(len(shape) < 5 and 0 not in shape[-3:], message, list(shape))
    spatial = tuple([n + 2 * p for n, p in zip(shape[-2:], around, strict=True)])
    out = output_sizes(spatial, size, step, between)
    require(min(out) > 0, "no window of size {} fits into an input of size {}", size, shape[-2:])
    return im2col(input, size, step, around, between)


def fold(
    input: Tensor, output_size: Number, kernel_size: Number, dilation: Number = 1,
    padding: Number = 0, stride: Number = 1,
) -> Tensor:  # fmt: skip
    """The sum of windows, given as columns, at their places: the adjoint of `unfold`.

    Args:
        output_size: the size (H, W) of the result.
        kernel_size, dilation, padding, stride: see `unfold`.

    Shape:
        ``input`` (N, C · K · L, windows) or without N; the result (N, C, H, W) or (C, H, W).

    Raises:
        RuntimeError: if a number is out of range, or the sizes do not match.
    """
    check_input("col2im", input)
    wanted = pair("output_size", output_size)
    size, between, around, step = pairs(
        kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
    )
    shape = input._array.shape
    fits = len(shape) in (2, 3) and 0 not in shape[-2:] and not shape[-2] % (size[0] * size[1])
    require(fits, "Expected columns (N, C * {} * {}, windows), but got: {}", *size, list(shape))
    spatial = tuple([n + 2 * p for n, p in zip(wanted, around, strict=True)])
    rows, columns = output_sizes(spatial, size, step, between)
    fits = rows * columns == shape[-1] and min(rows, columns) > 0
    require(fits, "fold(): got {} columns for {} * {} windows", shape[-1], rows, columns)
    return col2im(input, wanted, size, step, around, between)


# Pooling: one number for each window.


# Maxima


def max_pool1d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The greatest element of each window over the last dimension; see `max_pool2d`.

    Raises:
        NotImplementedError: for integers without ``return_indices``.
    """
    check_input("max_pool1d", input)
    if input._array.dtype.kind != "f" and not return_indices:
        raise unsupported_dtype("max_pool1d_impl", input._array)
    numbers = kernel_size, stride, padding, dilation
    return kernels.max_pool("max_pool1d", input, *numbers, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The greatest element of each window over the last two dimensions.

    Args:
        kernel_size: the size K of the windows: a number, or one per dimension, as in the next ones.
        stride: the distance s between windows. Default: K.
        padding: the padding p at each border, at most half a window. Default: 0.
        dilation: the distance d between elements of a window. Default: 1.
        ceil_mode: let the last window reach beyond the padding. Default: False.
        return_indices: return the indices of the elements, too. Default: False.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W); the result's height is
        ``⌊(H + 2p - d (K - 1) - 1) / s⌋ + 1``.

    Raises:
        RuntimeError: if a number is out of range, or the shapes do not match.
    """
    numbers = kernel_size, stride, padding, dilation
    return kernels.max_pool("max_pool2d", input, *numbers, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Tensor:  # fmt: skip
    """The greatest element of each window over the last three dimensions; see `max_pool2d`."""
    numbers = kernel_size, stride, padding, dilation
    return kernels.max_pool("max_pool3d", input, *numbers, ceil_mode, return_indices)


# Means


def avg_pool2d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window over the last two dimensions; see `max_pool2d`.

    Args:
        count_include_pad: count padding as elements with value zero. Default: True.
        divisor_override: the divisor of the sums. Default: the number of elements.
    """
    how = ceil_mode, count_include_pad, divisor_override
    return kernels.mean_pool("avg_pool2d", input, kernel_size, stride, padding, *how)


def avg_pool3d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window over the last three dimensions; see `avg_pool2d`."""
    how = ceil_mode, count_include_pad, divisor_override
    return kernels.mean_pool("avg_pool3d", input, kernel_size, stride, padding, *how)


avg_pool2d = with_out(__name__, "avg_pool2d", avg_pool2d, Out("avg_pool2d", strict=True))
avg_pool3d = with_out(__name__, "avg_pool3d", avg_pool3d, Out("avg_pool3d", strict=True))


def sizes(value: Number, dims: int) -> tuple[int, ...]:
    """A tuple with one number per dimension, from one number for all or a sequence."""
    return (value,) * dims if isinstance(value, int) else tuple(value)


# Parts: windows by the size of the output


def adaptive(name: str, input: Tensor, output_size: Any) -> Any:
    """The mean or greatest element of each part, by ``name``; see `adaptive_avg_pool2d`."""
    check_input(name, input)
    require(output_size is not None, "object of type 'NoneType' has no len()", error=TypeError)
    dims, mean = int(name[-2]), "avg" in name
    given = (as_int(output_size),) * dims if isinstance(output_size, int) else tuple(output_size)
    require(len(given) == dims, "{}: output_size must be {}", name, dims)
    shape = (*(0,) * dims, *input._array.shape)[-dims:]
    size = tuple([n if o is None else o for n, o in zip(shape, given, strict=True)])
    return (kernels.adaptive_mean if mean else kernels.adaptive_max)(name, input, size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of (h, w) parts of (N, C, H, W) or (C, H, W).

    Along a dimension, part k covers ``⌊k H / h⌋`` up to, not including, ``⌈(k + 1) H / h⌉``.

    Args:
        output_size: a number, or one per dimension; None keeps the size of the input.
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


# Images of another size.


Sizes = int | Sequence[int] | None
Scales = float | Sequence[float] | None
AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)


@with_memory_errors
def interpolate(
    input: Tensor, size: Sizes = None, scale_factor: Scales = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """The input resampled to another size.

    Args:
        size: the size of the result: a number, or one per dimension.
        scale_factor: the size of the result relative to the input, instead of ``size``.
        mode: "nearest", "nearest-exact", "area" (means of parts); "linear" for one dimension,
            "bilinear" and "bicubic" for two, "trilinear" for three. Default: "nearest".
        align_corners: align the centers, not the edges, of the outermost elements. Default: False.
        recompute_scale_factor: compute the scale from the rounded sizes. Default: False.
        antialias: for "bilinear" and "bicubic", average over all elements that an element of a
            smaller result covers. Default: False.

    Shape:
        ``input`` (N, C, L), (N, C, H, W) or (N, C, D, H, W); the result (N, C, *size).

    Raises:
        ValueError: unless exactly one of ``size`` and ``scale_factor`` is given, with one number
            per dimension, and the options match the mode.
        NotImplementedError: if the mode is unknown, or for another number of dimensions.
        RuntimeError: if a size is not positive.
    """
    input.dim()  # a value that is not a tensor raises Python's error, as in PyTorch
    if mode not in SMOOTH and align_corners is not None:
        raise ValueError(f"align_corners option can only be set with the modes {[*SMOOTH]}")
    if antialias and not (mode in ("bilinear", "bicubic") and input._array.ndim == 4):
        raise ValueError("antialias requires mode='bilinear' or mode='bicubic' and a 4-D tensor")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate() requires exactly one of size and scale_factor")
    if size is not None and recompute_scale_factor:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    shape, kind = input._array.shape, input._array.dtype
    dims = len(shape[2:])
    given: Any = scale_factor if size is None else size
    if not isinstance(given, (tuple, list)):
        given = (given,) * dims
    if len(given) != dims:
        raise ValueError(
            f"interpolate(): expected one number for each dimension of {shape[2:]}, but got {given}"
        )
    scales: Any = (None,) * dims
    if size is not None:
        out = as_ints(given)
    else:
        whole: Any = math.floor if recompute_scale_factor else int
        out = tuple([whole(n * s) for n, s in zip(shape[2:], given, strict=True)])
        scales = scales if recompute_scale_factor else given
    modes = (*SMOOTH, *NEAREST_OF, "area")
    if mode not in modes:
        raise NotImplementedError(f"mode must be one of {modes}, not {mode!r}")
    known = (SMOOTH[mode][0],) if mode in SMOOTH else (1, 2, 3)
    if dims not in known:
        needs = " or ".join(f"{n + 2}D" for n in known)
        message = f"Got {input.dim()}D input, but {mode} mode needs {needs} input"
        raise NotImplementedError(message)
    if mode == "area":
        return AREA[dims - 1](input, out[0] if dims == 1 else out)
    message = "Input and output sizes should be greater than 0, but got {} and {}"
    require(0 not in shape[1:] and min(out) > 0, message, shape, out)
    if kind.kind != "f" and not (kind == np.uint8 and mode in NEAREST_OF):
        raise unsupported_dtype(f"upsample_{mode}{dims}d", input._array)
    numbers = list(zip(shape[2:], out, scales, strict=True))
    corners = bool(align_corners)
    if mode in NEAREST_OF:
        operation: Any = NEAREST_OF[mode][dims - 1]
        maps: list[Any] = [kernels.nearest_taps(*each, mode == "nearest-exact") for each in numbers]
    elif antialias:
        check_kind("compute_index_ranges_weights", input._array, kinds="biuf", half=False)
        operation = ANTIALIASED[mode]
        maps = [kernels.blend_taps(*each, corners, mode == "bicubic", None) for each in numbers]
    else:
        operation = SMOOTH[mode][1]
        kind = np.dtype(np.float64 if input._array.dtype == np.float64 else np.float32)
        maps = [kernels.blend_taps(*each, corners, mode == "bicubic", kind) for each in numbers]
    return operation(input, tuple(maps))


def upsample(
    input: Tensor, size: Sizes = None, scale_factor: Scales = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """The former name of `interpolate`.

    Warns:
        UserWarning: always.
    """
    warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.")
    return interpolate(input, size, scale_factor, mode, align_corners)


# Images sampled at the points of a grid.


MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDING = {"zeros": 0, "border": 1, "reflection": 2}
UNIT_SIZE = (
    "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
    "align_corners=True. This is not an intended use case of affine_grid. See the documentation of "
    "affine_grid for details."
)
CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """Images sampled at the points of a grid.

    Args:
        grid: points (x, y) or (x, y, z); the image extends from -1 to 1 in each coordinate.
        mode: "bilinear", "nearest" or "bicubic". Default: "bilinear".
        padding_mode: the values outside the image: "zeros", the nearest "border" element, or its
            mirror image ("reflection"). Default: "zeros".
        align_corners: whether -1 and 1 are the centers of the outermost elements, not their outer
            edges. Default: False.

    Shape:
        ``input`` (N, C, H, W), ``grid`` (N, h, w, 2), the result (N, C, h, w); or ``input``
        (N, C, D, H, W), ``grid`` (N, d, h, w, 3), the result (N, C, d, h, w).

    Raises:
        ValueError: for another mode.
        RuntimeError: if shapes or dtypes do not match.

    Warns:
        UserWarning: if ``align_corners`` is not given.

    Reference:
        Jaderberg et al., Spatial Transformer Networks, NeurIPS 2015.
    """
    for name, value, known in (("mode", mode, MODES), ("padding_mode", padding_mode, PADDING)):
        if value not in known:
            raise ValueError(f"expected {name} to be one of {list(known)}, but got: '{value}'")
    if align_corners is None:
        warn(CHANGED)
    check_first_tensors("grid_sampler", input=input, grid=grid)
    shape, places = input._array.shape, grid._array.shape
    dims = len(shape) - 2
    fits = dims in (2, 3) and len(places) == dims + 2 and places[-1] == dims
    fits = fits and shape[0] == places[0] and 0 not in shape[2:]
    require(fits, "grid_sampler(): input {} and grid {} do not fit", list(shape), list(places))
    sampler = GRID_SAMPLER[dims]
    flag = align_corners is not None and align_corners
    require_bool(flag, ("grid_sampler", "align_corners", 5))
    return sampler(input, grid, MODES[mode], PADDING[padding_mode], flag)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """A grid for `grid_sample`: the points of an image under an affine map.

    Args:
        theta: the maps, each a matrix and a shift: (N, 2, 3) for images, (N, 3, 4) for volumes.
        size: the size (N, C, H, W) or (N, C, D, H, W) of the result of `grid_sample`.
        align_corners: see `grid_sample`.

    Shape:
        The result (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: if ``theta`` has another shape or dtype, or a size is not positive.
        NotImplementedError: if ``size`` has another length.

    Warns:
        UserWarning: if ``align_corners`` is not given, or true for a size of 1.
    """
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    out = tuple(size)
    dims = len(out) - 2
    if dims not in (2, 3):
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes. Got size {out}.")
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(f"Expected matrices of shape Nx{dims}x{dims + 1}. Got {theta.shape}.")
    if align_corners is None:
        warn(CHANGED)
    if align_corners and min(out[2:]) == 1:
        warn(UNIT_SIZE)
    else:
        require_value(min(out) > 0, "Expected non-zero, positive output size. Got {}", out)
    flag = align_corners is not None and align_corners
    require_bool(flag, ("affine_grid_generator", "align_corners", 3))
    return affine_grid_generator(theta, out, flag)


# Normalizations under `vmap`.


NOT_BATCHED = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
    "updated in place, were not batched: set track_running_stats to False"
)


def normalize_batched(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """The rule of normalizations: one call for all samples.

    The samples join the first dimension; for `batch_norm`, they join the channels, each with its
    own running values. `instance_norm` with running values runs once per sample.
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    given, affine = bound.arguments, {name: bound.arguments[name] for name in ("weight", "bias")}
    channels = "training" in given
    updates = given.get("training", given.get("use_input_stats"))
    if channels and updates:
        check_several_values(given["input"].shape)
    running = {
        name: given[name] for name in ("running_mean", "running_var") if given.get(name) is not None
    }
    if updates and not all(isinstance(value, Batched) for value in running.values()):
        raise RuntimeError(NOT_BATCHED)
    if running and not channels:
        return separately(function, batch, args, kwargs)
    given |= {name: batch_tensor(value, batch).reshape(-1) for name, value in running.items()}
    apart = channels or any(isinstance(value, Batched) for value in affine.values())
    if apart:
        given |= dict.fromkeys(affine)
    input = batch_tensor(given["input"], batch)
    if channels:
        input = input.movedim(0, 1)
    given["input"] = input.flatten(int(channels), 1 + channels)
    out: Any = function(*bound.args, **bound.kwargs).reshape(input.shape)
    out = make_sample(out.movedim(1, 0) if channels else out, batch)
    for name, value in affine.items() if apart else ():
        if value is not None:
            value = value.view((-1,) + (1,) * (out.ndim - 2))
            out = out * value if name == "weight" else out + value
    return out


def check_several_values(shape: Sequence[int]) -> None:
    """Refuse a shape (N, C, ...) with only one value per channel: it has no variance."""
    if shape[0] * math.prod(shape[2:]) == 1:
        message = "Expected more than 1 value per channel when training, got input size "
        raise advised(ValueError(f"{message}{shape}"), "single value")


MIXED = "mixed dtype (CPU): "


@under_vmap(normalize_batched)
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``(input - mean) / √(variance + eps) * weight + bias`` per channel.

    Args:
        running_mean, running_var: the running values, (C,); evaluation uses them, training moves
            them towards the batch's mean and (unbiased) variance.
        weight, bias: (C,). Default: ones and zeros.
        training: use the mean and (biased) variance of the batch. Default: False.
        momentum: the weight of a new batch in the running values, in [0, 1]. Default: 0.1.
        eps: added to the variance. Default: 1e-5.

    Shape:
        ``input`` (N, C) or (N, C, ...); the result the same.

    Raises:
        ValueError: if training has one value per channel; if ``eps`` is negative, or zero in
            training.
        RuntimeError: if a running value is missing in evaluation, or has another size.

    Reference:
        Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing
        Internal Covariate Shift, ICML 2015, algorithms 1 and 2.
    """
    require_bool(training, "training")
    momentum = as_number(momentum, "momentum", "float")
    if training:
        check_several_values(input.shape)
    if eps < 0.0 or (training and eps == 0.0):
        what = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {what}, but got {eps}")
    normal_dim(1, input._array.ndim)  # fewer dimensions raise IndexError, as in PyTorch
    return normalize_channels(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def normalize_channels(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None,
    bias: Tensor | None, training: bool, momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """`batch_norm` without its checks of ``eps`` and dimensions."""
    if not input._array.size:
        return normalize_empty(input, weight, bias)
    shape = input._array.shape
    given = {
        "running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias,
    }  # fmt: skip
    for name, tensor in given.items():
        if tensor is None:
            if name.startswith("running") and not training:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif tensor._array.size != shape[1]:
            message = f"{name} should contain {shape[1]} elements not {tensor._array.size}"
            raise RuntimeError(message)
    if input._array.dtype.kind != "f":
        raise unsupported_dtype("batch_norm", input._array)
    check_mixed_dtype(input, weight, bias, running_mean, running_var)
    check_constants("native_batch_norm", running_mean=running_mean, running_var=running_var)
    plan = fused.channel_plan(shape, weight is not None or bias is not None)
    if training:
        kept = fused.Moments()
        variance = fused.moments(input._array, plan, kept)
        kept.scale = fused.reciprocal_root(variance, eps)
        count = input._array.size // plan.shape[1]
        unbiased = variance * variance.dtype.type(count / (count - 1) if count > 1 else math.nan)
        for running, new in ((running_mean, kept.mean), (running_var, unbiased)):
            if running is not None:  # moves towards the new value, in place
                array, number = running._array, running._array.dtype.type
                array *= number(1 - momentum)
                array += (new * number(momentum)).reshape(array.shape)
                count_write(running._cell, "batch_norm")
    else:
        assert running_mean is not None
        assert running_var is not None
        mean, variance = widen(list(widened(running_mean._array, running_var._array)))
        scale = fused.reciprocal_root(variance, eps).reshape(plan.weight)
        # A copy: the next batch in training moves the running values.
        kept = fused.Moments(mean.reshape(plan.weight).copy(), scale, fixed=True)
    return fused.normalize_batch(input, weight, bias, plan, eps, kept)


def normalize_empty(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """The result for an empty input; the gradients of weight and bias are zeros."""
    out = input.clone() if weight is None else input * weight[0]
    return out if bias is None else out + bias[0]


def check_mixed_dtype(input: Tensor, *parameters: Tensor | None) -> None:
    """Refuse parameters of another dtype than the input's, except float32 with 16-bit inputs."""
    kind = input._array.dtype
    kinds = {p._array.dtype for p in parameters if p is not None}
    if not kinds - {kind}:
        return
    if kinds - {SINGLE}:
        raise RuntimeError(MIXED + "expect parameter to have scalar type of Float")
    if kind not in (HALF, BFLOAT16):
        raise RuntimeError(MIXED + "all inputs must share same datatype.")


@under_vmap(normalize_batched)
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``(input - mean) / √(variance + eps) * weight + bias`` per sample and channel.

    Args:
        running_mean, running_var: the running values, (C,). With ``use_input_stats``, they move
            towards the means over samples of mean and (unbiased) variance; without, they are used.
        weight, bias: (C,). Default: ones and zeros.
        use_input_stats: use mean and (biased) variance of each sample. Default: True.
        momentum: the weight of a new batch in the running values, in [0, 1]. Default: 0.1.
        eps: added to the variance. Default: 1e-5.

    Shape:
        ``input`` (N, C, ...); the result the same.

    Raises:
        ValueError: for one value per sample and channel with ``use_input_stats``.
        RuntimeError: if a running value is missing or has another size.

    Reference:
        Ulyanov, Vedaldi and Lempitsky, Instance Normalization: The Missing Ingredient for Fast
        Stylization, 2016.
    """
    require_bool(use_input_stats, "use_input_stats")
    momentum, shape = as_number(momentum, "momentum", "float"), input._array.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )
    n, c = shape[:2]
    given = (running_mean, running_var, weight, bias)
    repeated: Any = [None if t is None else t.repeat(n) for t in given]
    if not input._array.size:
        return normalize_empty(input, weight, bias)
    rows = input.contiguous().view((1, n * c, *shape[2:]))
    mean, var, w, b = repeated
    out = normalize_channels(rows, mean, var, w, b, use_input_stats, momentum, eps)
    for running, moved in zip(given[:2], repeated, strict=False):
        if use_input_stats and running is not None:
            running.detach().copy_(moved.view((n, c)).mean(0))
    return out.view(shape)


@under_vmap(normalize_batched)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``(input - mean) / √(variance + eps) * weight + bias`` per sample and group of channels.

    Args:
        num_groups: the number of groups, which are of equal size.
        weight, bias: (C,). Default: ones and zeros.
        eps: added to the variance. Default: 1e-5.

    Shape:
        ``input`` (N, C, ...); the result the same.

    Raises:
        ValueError: for one value per group.
        RuntimeError: if ``num_groups`` does not divide C, or weight or bias have another shape.

    Reference:
        Wu and He, Group Normalization, ECCV 2018.
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor, not {input.dim()}")
    shape = input._array.shape
    check_several_values([shape[0] * shape[1] // num_groups, num_groups, *shape[2:]])
    fits = num_groups > 0 and shape[1] and not shape[1] % num_groups
    require(fits, "group_norm(): {} channels are not divisible by {}", shape[1], num_groups)
    check_affine("group_norm", shape[1:2], weight, bias)
    check_mixed_dtype(input, weight if weight is not None else bias)
    if weight is not None and bias is not None:
        check_same_dtype(weight, bias)
    require(math.prod(shape[2:]), "Expected HxW to be greater than 0, got 0")
    plan = fused.group_plan(shape, num_groups, weight is not None or bias is not None)
    return fused.normalize_groups(input, weight, bias, plan, eps, fused.Moments())


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``(input - mean) / √(variance + eps) * weight + bias`` over the last dimensions.

    Args:
        normalized_shape: the sizes of these dimensions.
        weight, bias: of shape ``normalized_shape``. Default: ones and zeros.
        eps: added to the variance. Default: 1e-5.

    Raises:
        TypeError: if ``normalized_shape`` is not a sequence of integers.
        RuntimeError: if the shape of the input does not end in ``normalized_shape``, or weight or
            bias have another shape.

    Reference:
        Ba, Kiros and Hinton, Layer Normalization, 2016.
    """
    check_input("layer_norm", input)
    check_mixed_dtype(input, weight, bias)
    shape = checked_shape("layer_norm", input, normalized_shape, weight, bias)
    affine = weight is not None or bias is not None
    plan = fused.layer_plan(input._array.shape, shape, affine)
    return fused.normalize_last(input, weight, bias, plan, eps, fused.Moments())


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:  # fmt: skip
    """``input / √(mean(input²) + eps) * weight`` over the last dimensions.

    Args:
        normalized_shape: the sizes of these dimensions.
        weight: of shape ``normalized_shape``. Default: ones.
        eps: added to the mean square. Default: the machine epsilon of the dtype.

    Raises:
        TypeError: if ``normalized_shape`` is not a sequence of integers.
        ValueError: if the input has fewer dimensions.
        RuntimeError: if the shape of the input does not end in ``normalized_shape``, or the weight
            has another shape.

    Reference:
        Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
    """
    check_input("rms_norm", input)
    shape = checked_shape("rms_norm", input, normalized_shape, weight, None)
    check_kind("rms_norm", input._array)
    x: Any = input.float() if input._array.itemsize == 2 else input
    if eps is None:
        eps = float(np.finfo(x._array.dtype).eps)
    axes = tuple(range(-len(shape), 0))
    scaled: Any = x * ops.rsqrt(plus_number(x.pow(2).mean(axes, True), eps))
    if weight is not None:
        scaled = scaled * weight
    return scaled.contiguous().to(input.dtype)


def check_affine(name: str, shape: tuple[int, ...], *parameters: Tensor | None) -> None:
    """Refuse a weight or a bias of a shape other than ``shape``."""
    for p in parameters:
        if p is not None and p._array.shape != shape:
            message = f"weight and bias must be of shape {list(shape)}, not {list(p._array.shape)}"
            raise RuntimeError(f"{name}(): {message}")


def checked_shape(
    name: str, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None
) -> tuple[int, ...]:
    """``normalized_shape`` as a tuple; raises unless input, weight and bias match it."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise wrong_type(normalized_shape, "tuple of ints", (name, "normalized_shape", 2))
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional")
    check_affine(name, shape, weight, bias)
    if name == "rms_norm" and input._array.ndim < len(shape):
        raise ValueError(f"Input tensor must have at least {len(shape)} dimensions")
    if input._array.shape[-len(shape) :] != shape:
        expected = ", ".join(map(str, ("*", *shape)))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{expected}], "
            f"but got input of size{list(input._array.shape)}"
        )
    return shape


# Normalization by the norm of vectors, and by neighbouring channels.


def normalize(
    input: Tensor, p: float = 2.0, dim: Dims = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Vectors divided by their norms.

    Args:
        p: the order of the norm. Default: 2.
        dim: the dimension of the vectors, or several dimensions. Default: 1.
        eps: the lower limit of the norms. Default: 1e-12.
        out: the tensor for the result. Default: a new one.

    Raises:
        IndexError: if ``dim`` is out of range.
    """
    norms = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return ops.div(input, norms) if out is None else ops.div(input, norms, out=out)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``input / (k + alpha * s) ** beta``, where s is the mean square of neighbouring channels.

    Args:
        size: the number of these channels, centered on the channel itself.
        alpha, beta, k: the numbers in the formula. Default: 1e-4, 0.75 and 1.

    Shape:
        ``input`` (N, C, ...) with one or more further dimensions; the result the same.

    Raises:
        ValueError: for fewer dimensions.

    Reference:
        Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional Neural
        Networks, NeurIPS 2012, section 3.3.
    """
    require_value(
        input.dim() >= 3, "Expected an input of 3 dimensions or more, not {}", input.dim()
    )
    if not input.numel():
        return input
    require(size > 0, "local_response_norm(): size must be greater than zero, got {}", size)
    squares = fused.mean_of_neighbours(input.mul(input), size, size // 2)
    return input / squares.mul(alpha).add(k).pow(beta)
