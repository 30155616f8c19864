"""Windows as columns and back, and channels exchanged with space: `unfold`, `pixel_shuffle`."""

import math

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int
from nanotorch._core.batch_rules import leading, merged
from nanotorch._core.op import Array, op
from nanotorch.ops.windows import Ints, cropped, padded, windows


def refuse_integers(name: str, array: Array) -> None:
    """Refuse integers, in the words of PyTorch's kernel of that name."""
    if array.dtype.kind in "iu":
        char = dtypes.of_array(array).char
        raise NotImplementedError(f"\"{name}\" not implemented for '{char}'")


@op(
    input=lambda g, input_shape, size, stride, padding, dilation: col2im(
        g, tuple(input_shape[-2:]), size, stride, padding, dilation
    ),
    method=False,
    public=False,
    node="Im2ColBackward0",
    batch=merged,
    wide=True,
)
def im2col(input: Array, size: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Array:
    """The windows of ``size`` over (N, C, H, W) or (C, H, W) as columns."""
    refuse_integers("im2col_out_cpu", input)
    at = windows(input.shape[-2:], size, stride, padding, dilation, None, True)
    source = padded(input, padding)
    batch = source.reshape(-1, *source.shape[-3:])
    shape = (*input.shape[:-3], input.shape[-3] * math.prod(size), at.count)
    return at.of(batch).reshape(shape).copy()


@op(
    g=lambda g, size, stride, padding, dilation: im2col(g, size, stride, padding, dilation),
    method=False,
    public=False,
    node="Col2ImBackward0",
    batch=merged,
    wide=True,
)
def col2im(
    g: Array, out_size: Ints, size: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Array:
    """The adjoint of `im2col`: columns added to where they belong."""
    refuse_integers("col2im_out_cpu", g)
    at = windows(out_size, size, stride, padding, dilation, None, True)
    places = math.prod(size)
    channels = g.shape[-2] // places
    lead = g.shape[:-2]
    out = np.zeros((math.prod(lead), channels, *at.size), g.dtype)
    at.add(g.reshape(len(out), channels, places, at.count), out)
    return np.ascontiguousarray(cropped(out, padding)).reshape(*lead, channels, *out_size)


# Channels and space


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
    r = as_int(upscale_factor)
    if input.ndim < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
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
    r = as_int(downscale_factor)
    if input.ndim < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{input.ndim} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, channels, height, width = input.shape
    for name, dim, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({dim})={size} is not divisible by {r}"
            )
    parts = input.reshape(-1, channels, height // r, r, width // r, r).transpose(0, 1, 3, 5, 2, 4)
    return parts.reshape(*lead, channels * r * r, height // r, width // r)
