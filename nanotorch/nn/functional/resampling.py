"""Pictures made larger or smaller."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.arguments import as_ints
from nanotorch._core.heap import within_memory
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
)
from nanotorch.ops import resampling as kernels
from nanotorch.ops.arguments import refuse_half

Sizes = int | Sequence[int] | None
Scales = float | Sequence[float] | None
MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
SMOOTH = ("linear", "bilinear", "bicubic", "trilinear")
# How many dimensions a mode is for, and its operations over one, two and three.
NEAREST = (kernels.upsample_nearest1d, kernels.upsample_nearest2d, kernels.upsample_nearest3d)
EXACT = (
    kernels.upsample_nearest_exact1d,
    kernels.upsample_nearest_exact2d,
    kernels.upsample_nearest_exact3d,
)
AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
OF_ONE = {
    "linear": (1, kernels.upsample_linear1d),
    "bilinear": (2, kernels.upsample_bilinear2d),
    "bicubic": (2, kernels.upsample_bicubic2d),
    "trilinear": (3, kernels.upsample_trilinear3d),
}


@within_memory
def interpolate(
    input: Tensor,
    size: Sizes = None,
    scale_factor: Scales = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
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
    check_options(input, mode, align_corners, antialias)
    out, scales = sizes(input, size, scale_factor, recompute_scale_factor)
    dims = len(out)
    check_mode(input, mode, dims)
    corners = bool(align_corners)
    if mode == "area":
        result: Tensor = AREA[dims - 1](input, out[0] if dims == 1 else out)
        return result
    check_sizes(input, mode, out)
    shape = input._array.shape[2:]
    numbers = list(zip(shape, out, scales, strict=True))
    if mode in ("nearest", "nearest-exact"):
        exact = mode == "nearest-exact"
        operation: Any = (EXACT if exact else NEAREST)[dims - 1]
        maps: list[Any] = [kernels.nearest(*each, exact) for each in numbers]
    elif antialias:
        refuse_half("compute_index_ranges_weights", input._array)
        curved = mode == "bicubic"
        operation = kernels.upsample_bicubic2d_aa if curved else kernels.upsample_bilinear2d_aa
        maps = [kernels.smooth(*each, corners, curved) for each in numbers]
    else:
        operation = OF_ONE[mode][1]
        kind = np.dtype(np.float64 if input._array.dtype == np.float64 else np.float32)
        weights = kernels.cubic if mode == "bicubic" else kernels.linear
        maps = [weights(*each, corners, kind) for each in numbers]
    resampled: Tensor = operation(input, tuple(maps))
    return resampled


def check_options(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    """Refuse options that do not go with the mode."""
    if mode not in SMOOTH and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            + " | ".join(SMOOTH)
        )
    if antialias and not (mode in ("bilinear", "bicubic") and input._array.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )


def sizes(
    input: Tensor, size: Sizes, scale_factor: Scales, recompute: bool | None
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The size of the result, and the scales that were asked for."""
    shape = input._array.shape[2:]
    dims = len(shape)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if isinstance(size, (tuple, list)):
            if len(size) != dims:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got "
                    f"input with spatial dimensions of {list(shape)} and output size of {size}. "
                    "Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size "
                    "in (o1, o2, ...,oK) format."
                )
            return as_ints(size), (None,) * dims
        return as_ints((size,) * dims), (None,) * dims
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (tuple, list)):
        if len(scale_factor) != dims:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {list(shape)} and scale_factor of shape "
                f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "scale_factor in (s1, s2, ...,sK) format."
            )
        scales = tuple(scale_factor)
    else:
        scales = (scale_factor,) * dims
    if recompute:
        return tuple([math.floor(n * s) for n, s in zip(shape, scales, strict=True)]), (
            (None,) * dims
        )
    return tuple([int(n * s) for n, s in zip(shape, scales, strict=True)]), scales


def check_mode(input: Tensor, mode: str, dims: int) -> None:
    """Refuse a mode that is not for as many dimensions."""
    if mode in OF_ONE and dims in (1, 2, 3) and (mode != "bicubic" or dims == 2):
        wanted = OF_ONE[mode][0]
        if dims != wanted:
            raise NotImplementedError(
                f"Got {dims + 2}D input, but {mode} mode needs {wanted + 2}D input"
            )
    elif dims not in (1, 2, 3) or mode not in ("nearest", "nearest-exact", "area"):
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input._array.ndim}D) for the modes: {MODES} (got {mode})"
        )


def check_sizes(input: Tensor, mode: str, out: tuple[int, ...]) -> None:
    """Refuse sizes that are not positive, and what cannot be computed."""
    shape = input._array.shape
    dims = len(out)
    if min(*shape[2:], *out) <= 0:
        axes = "DHW"[-dims:]
        told = [
            ", ".join(f"{axis}: {n}" for axis, n in zip(axes, numbers, strict=True))
            for numbers in (shape[2:], out)
        ]
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({told[0]})"
            f"{' and' if dims == 1 else ''} output ({told[1]})"
        )
    if not shape[1]:
        raise RuntimeError(
            f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(shape)}"
        )
    kind = input._array.dtype
    if kind.kind != "f" and not (kind == np.uint8 and mode in ("nearest", "nearest-exact")):
        name = "cubic" if mode == "bicubic" else "nearest" if "nearest" in mode else "linear"
        told_as = f"compute_indices_weights_{name}"
        if dims == 2 and mode != "bicubic":
            told_as = f"upsample_{'bi' * (name == 'linear')}{name}2d_channels_last"
        raise NotImplementedError(f"\"{told_as}\" not implemented for '{input.dtype.char}'")


def upsample(
    input: Tensor,
    size: Sizes = None,
    scale_factor: Scales = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` by its former name.

    Warns:
        UserWarning: that it has another name now.
    """
    deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Sizes = None, scale_factor: Scales = None) -> Tensor:
    """`interpolate` with the mode "nearest", by its former name."""
    deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Sizes = None, scale_factor: Scales = None) -> Tensor:
    """`interpolate` with the mode "bilinear" and aligned corners, by its former name."""
    deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def deprecated(name: str) -> None:
    """Say that a function has another name now."""
    warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")
