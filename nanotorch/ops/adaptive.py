"""Pooling over windows of different sizes, which together make up the input."""

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_ints
from nanotorch._core.batch_rules import merged
from nanotorch._core.heap import within_memory
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.given import tensor_given
from nanotorch.ops.pooling import SPREAD_2D, SPREAD_3D
from nanotorch.ops.pooling_functions import check_few
from nanotorch.ops.reduction import mean_along
from nanotorch.ops.shape import squeeze_one, unsqueeze
from nanotorch.ops.taps import RESAMPLE_TIED, Maps, Taps, along
from nanotorch.ops.windows import Ints, last


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
    if input.dtype.kind != "f":
        char = dtypes.of_array(input).char
        raise NotImplementedError(f"\"adaptive_max_pool{dims}d\" not implemented for '{char}'")
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


@op(**SPREAD_2D, node="AdaptiveMaxPool2DBackward0", batch=merged)
def adaptive_max_of_pictures(input: Array, parts: Ints) -> tuple[Array, Array]:
    """`adaptive` over the last two dimensions."""
    return adaptive(input, parts)


@op(**SPREAD_3D, node="AdaptiveMaxPool3DBackward0", batch=merged)
def adaptive_max_of_volumes(input: Array, parts: Ints) -> tuple[Array, Array]:
    """`adaptive` over the last three dimensions."""
    return adaptive(input, parts)


# Means


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


@op(**RESAMPLE_TIED, node="AdaptiveAvgPool2DBackward0", batch=merged, wide=True)
def adaptive_avg_of_pictures(input: Array, maps: Maps) -> Array:
    """The means of the parts of the last dimensions."""
    return along(input, maps)


@op(**RESAMPLE_TIED, node="AdaptiveAvgPool3DBackward0", batch=merged, wide=True)
def adaptive_avg_of_volumes(input: Array, maps: Maps) -> Array:
    """The means of the parts of the last dimensions."""
    return along(input, maps)


# As users call them


def one_number(name: str, value: Any) -> int:
    """The output size over one dimension."""
    given = (value,) if value.__class__ is int else as_ints(value)
    if len(given) != 1:
        raise RuntimeError(
            f"{name}() argument 'output_size' should contain one int (got {len(given)})"
        )
    return given[0]


def check_parts(name: str, input: Tensor, dims: int, colon: str) -> None:
    """Refuse an input of another number of dimensions, or without elements to pool."""
    shape = input._array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(shape)}"
        )
    for k in range(len(shape) - dims, len(shape)):
        if not shape[k]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(shape)} with dimension {k} being empty"
            )


@within_memory
def adaptive_mean(name: str, input: Any, size: Ints) -> Any:
    """The means of as many parts as ``size`` says."""
    dims = len(size)
    if dims == 2 and min(size) < 0:
        told = ", ".join(map(str, size))
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{told}}}"
        )
    if set(size) == {1}:  # PyTorch takes the mean here
        axes = [normal_dim(-k, input.ndim) for k in range(1, 1 + dims)]
        return mean_along(input, tuple(reversed(axes)), True)
    check_parts(name, input, dims, "")
    if input._array.dtype.kind != "f":
        raise NotImplementedError(f"\"{name}\" not implemented for '{input.dtype.char}'")
    shape = input._array.shape[-dims:]
    maps = tuple([averaged(n, o) for n, o in zip(shape, size, strict=True)])
    return (adaptive_avg_of_pictures if dims == 2 else adaptive_avg_of_volumes)(input, maps)


def adaptive_max(name: str, input: Any, size: Ints) -> Any:
    """The greatest elements of as many parts as ``size`` says, and their numbers."""
    dims = len(size)
    check_parts(name, input, dims, ":")
    if min(size) < 0:
        shape = [*input._array.shape[: input.ndim - dims], *size]
        wrong = next(n for n in size if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {wrong}: {shape}")
    return (adaptive_max_of_pictures if dims == 2 else adaptive_max_of_volumes)(input, size)


@public
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` parts of the last dimension: (N, C, L) or (C, L).

    Part k goes from ``⌊k L / output_size⌋`` to ``⌈(k + 1) L / output_size⌉``.
    """
    name = "adaptive_avg_pool1d"
    tensor_given(name, input)
    check_few(name, input)
    size = one_number(name, output_size)
    result: Tensor = adaptive_mean("adaptive_avg_pool2d", unsqueeze(input, -2), (1, size))
    return squeeze_one(result, -2)


@public
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The greatest elements of ``output_size`` parts of the last dimension, and their numbers."""
    name = "adaptive_max_pool1d"
    tensor_given(name, input)
    check_few(name, input)
    size = one_number(name, output_size)
    values, indices = adaptive_max("adaptive_max_pool2d", unsqueeze(input, -2), (1, size))
    return squeeze_one(values, -2), squeeze_one(indices, -2)
