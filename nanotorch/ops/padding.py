"""Padding: a constant, or the input's own elements, around the last dimensions."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_ints
from nanotorch._core.batch_rules import merged
from nanotorch._core.dtypes import Number
from nanotorch._core.op import Array, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import as_number, number_in
from nanotorch.ops.taps import RESAMPLE, RESAMPLE_TIED, Maps, Taps, along
from nanotorch.ops.windows import last


@op(
    input=lambda g, pad: constant_pad(g, tuple([-n for n in pad]), 0),
    method=False,
    public=False,
    node="ConstantPadNdBackward0",
)
def constant_pad(input: Array, pad: tuple[int, ...], value: Number) -> Array:
    """The kernel of `constant_pad_nd`."""
    before, after = pad[::2][::-1], pad[1::2][::-1]
    lead = input.ndim - len(before)
    dims = list(zip(input.shape[lead:], before, after, strict=True))
    shape = (*input.shape[:lead], *[n + b + a for n, b, a in dims])
    kept = last(slice(max(-b, 0), n + min(a, 0)) for n, b, a in dims)
    if max(pad, default=0) <= 0:
        return input[kept].copy("K")
    kind = input.dtype
    out = np.full(shape, number_in(value, kind), kind)
    into = [slice(max(b, 0), n + b + min(a, 0)) for n, b, a in dims]
    out[last(into)] = input[kept]
    return out


@public
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Number = 0) -> Tensor:
    """``input`` with ``value`` around its last dimensions.

    Args:
        pad: how many before and after, the last dimension first; negative ones cut off.

    Raises:
        RuntimeError: for an odd count, more dimensions than there are, or more cut off than there
            is.
    """
    pad, shape = as_ints(pad), input._array.shape
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * len(shape):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad "
            f"length is {len(pad)}while the input has {len(shape)}dimensions."
        )
    for size, before, after in zip(shape[::-1], pad[::2], pad[1::2], strict=False):
        if size + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    result: Tensor = constant_pad(input, pad, as_number(value))
    return result


# With the input's own elements


@lru_cache(256)
def reflected(size: int, before: int, after: int) -> Taps | None:
    """The elements around mirrored at the outermost."""
    if not (before or after):
        return None
    index = np.abs(np.arange(-before, size + after))
    last = size - 1
    return Taps(size, last - np.abs(last - index))


@lru_cache(256)
def replicated(size: int, before: int, after: int) -> Taps | None:
    """The outermost elements again and again."""
    if not (before or after):
        return None
    return Taps(size, np.clip(np.arange(-before, size + after), 0, size - 1))


@lru_cache(256)
def circled(size: int, before: int, after: int) -> Taps | None:
    """The elements of the other side."""
    if not (before or after):
        return None
    start, kept = max(-before, 0), size + min(before, 0) + min(after, 0)
    index = np.arange(-max(before, 0), kept + max(after, 0))
    return Taps(size, start + index % max(kept, 1))


@op(**RESAMPLE_TIED, node="ReflectionPad1DBackward0", batch=merged)
def reflection_pad1d(input: Array, maps: Maps) -> Array:
    """Mirrored at the borders."""
    return along(input, maps)


@op(**RESAMPLE_TIED, node="ReflectionPad2DBackward0", batch=merged)
def reflection_pad2d(input: Array, maps: Maps) -> Array:
    """Mirrored at the borders."""
    return along(input, maps)


@op(**RESAMPLE_TIED, node="ReflectionPad3DBackward0", batch=merged)
def reflection_pad3d(input: Array, maps: Maps) -> Array:
    """Mirrored at the borders."""
    return along(input, maps)


@op(**RESAMPLE_TIED, node="ReplicationPad1DBackward0", batch=merged)
def replication_pad1d(input: Array, maps: Maps) -> Array:
    """With the border repeated."""
    return along(input, maps)


@op(**RESAMPLE_TIED, node="ReplicationPad2DBackward0", batch=merged)
def replication_pad2d(input: Array, maps: Maps) -> Array:
    """With the border repeated."""
    return along(input, maps)


@op(**RESAMPLE_TIED, node="ReplicationPad3DBackward0", batch=merged)
def replication_pad3d(input: Array, maps: Maps) -> Array:
    """With the border repeated."""
    return along(input, maps)


# PyTorch copies the parts one by one into a new tensor, whose node is that of such copies.
@op(**RESAMPLE, node="torch::autograd::CopySlices", batch=merged)
def circular_pad(input: Array, maps: Maps) -> Array:
    """Continued periodically."""
    return along(input, maps)


MODES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "reflect": (reflected, (reflection_pad1d, reflection_pad2d, reflection_pad3d)),
    "replicate": (replicated, (replication_pad1d, replication_pad2d, replication_pad3d)),
    "circular": (circled, (circular_pad, circular_pad, circular_pad)),
}


def pad_as(input: Tensor, pad: tuple[int, ...], mode: str) -> Tensor:
    """``input`` with its own elements around its last dimensions.

    Raises:
        NotImplementedError: for another mode, or another count of dimensions than PyTorch takes.
        RuntimeError: for more padding than there are elements.
    """
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    shape = input._array.shape
    dims = len(pad) // 2
    if len(pad) not in (2, 4, 6) or len(shape) not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {len(shape)}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    check_pad(input._array, pad, dims, mode)
    taps, kernels = MODES[mode]
    sizes = zip(shape[-dims:], pad[::2][::-1], pad[1::2][::-1], strict=True)
    result: Tensor = kernels[dims - 1](input, tuple([taps(*size) for size in sizes]))
    return result


def check_pad(array: Array, pad: tuple[int, ...], dims: int, mode: str) -> None:
    """Refuse padding that the input has no elements for."""
    shape = array.shape
    pairs = list(zip(shape[-dims:], pad[::2][::-1], pad[1::2][::-1], strict=True))
    if mode == "circular":
        if any(max(before, after) > size for size, before, after in pairs):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if any(size + before + after < 0 for size, before, after in pairs):
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        return
    batch = len(shape) == dims + 2
    if 0 in shape[1 if batch else 0 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(shape)}"
        )
    if mode == "reflect":
        for k, (size, before, after) in reversed(list(enumerate(pairs))):
            if max(before, after) >= size:
                raise RuntimeError(
                    f"Argument #{2 * (dims - k) + 2}: Padding size should be less than the "
                    f"corresponding input dimension, but got: padding ({before}, {after}) at "
                    f"dimension {len(shape) - dims + k} of input {list(shape)}"
                )
    out = [size + before + after for size, before, after in pairs]
    if min(out) < 1 and dims == 1:
        raise RuntimeError(f"input (W: {shape[-1]}) is too small. Calculated output W: {out[0]}")
    if min(out) < 1:
        told = [[f"{n}: {v}" for n, v in zip("DHW"[-dims:], sizes, strict=True)]
                for sizes in (out, shape[-dims:])]  # fmt: skip
        raise RuntimeError(
            f"Calculated output {' '.join(told[0])} must be >= 1 in every dimension (input "
            f"{', '.join(told[1])})"
        )
    if array.dtype.kind == "b":
        name = "reflection" if mode == "reflect" else "replication"
        raise NotImplementedError(
            f"\"{name}_pad{dims}d\" not implemented for '{dtypes.of_array(array).char}'"
        )
