"""The greatest elements of windows at random places."""

from itertools import product
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.op import Array, op
from nanotorch.ops.pooling import SPREAD_2D, SPREAD_3D
from nanotorch.ops.windows import Ints


def starts(samples: Array, size: int, out: int, kernel: int) -> Array:
    """Where ``out`` windows begin, at steps of two neighbouring lengths: ``(..., out)``."""
    last = size - kernel
    found = np.full((*samples.shape, out), last, np.int64)
    if out > 1:
        alpha = samples.dtype.type(last) / samples.dtype.type(out - 1)
        k = np.arange(out - 1).astype(samples.dtype)
        u = samples[..., None]
        found[..., :-1] = ((k + u) * alpha).astype(np.int64) - (u * alpha).astype(np.int64)
    return found


def check_room(size: Ints, out: Ints, kernel: Ints) -> None:
    """Refuse more windows than there is room for; PyTorch wants one more element of volumes."""
    dims = len(size)
    name = f"fractional_max_pool{dims}d" + ("_out" if dims == 3 else "") + "()"
    words = ("time", "height", "width")[-dims:]
    for k in (0, 1) if dims == 2 else (0, 2, 1):
        if out[k] + kernel[k] - 1 + (dims == 3) > size[k]:
            raise RuntimeError(
                f"{name}: pool {words[k]} {kernel[k]} too large relative to input {words[k]} "
                f"{size[k]}"
            )


def greatest_at_random(
    input: Array, samples: Array, kernel: Ints, out: Ints
) -> tuple[Array, Array]:
    """The greatest element of each window, and its number in the last dimensions.

    Args:
        samples: ``(N, C, d)``, in [0, 1); of pictures the width's come first.
    """
    dims = len(out)
    size = input.shape[-dims:]
    check_room(size, out, kernel)
    if input.dtype.kind != "f":
        char = dtypes.of_array(input).char
        raise NotImplementedError(f"\"check_uniform_bounds\" not implemented for '{char}'")
    order = range(dims)[::-1] if dims == 2 else range(dims)
    begin = [
        starts(samples[..., j], n, o, k)
        for j, n, o, k in zip(order, size, out, kernel, strict=True)
    ]
    flat = input.reshape(*samples.shape[:2], -1)
    best: Any = None
    numbers: Any = None
    for place in product(*map(range, kernel)):
        number: Any = 0
        for axis, (first, k, n) in enumerate(zip(begin, place, size, strict=True)):
            shape = [1] * dims
            shape[axis] = out[axis]
            number = number * n + (first + k).reshape(*first.shape[:2], *shape)
        part = np.take_along_axis(flat, number.reshape(*number.shape[:2], -1), 2)
        part = part.reshape(number.shape)
        if best is None:
            best, numbers = part, number
            continue
        greater = (part > best) | np.isnan(part)
        best, numbers = np.where(greater, part, best), np.where(greater, number, numbers)
    shape = [*input.shape[: input.ndim - dims], *out]
    return best.reshape(shape), numbers.reshape(shape)


@op(**SPREAD_2D, node="FractionalMaxPool2DBackward0")
def fractional_max_of_pictures(
    input: Array, samples: Array, kernel_size: Ints, parts: Ints
) -> tuple[Array, Array]:
    """`greatest_at_random` over the last two dimensions."""
    return greatest_at_random(input, samples, kernel_size, parts)


@op(**SPREAD_3D, node="FractionalMaxPool3DBackward0")
def fractional_max_of_volumes(
    input: Array, samples: Array, kernel_size: Ints, parts: Ints
) -> tuple[Array, Array]:
    """`greatest_at_random` over the last three dimensions."""
    return greatest_at_random(input, samples, kernel_size, parts)
