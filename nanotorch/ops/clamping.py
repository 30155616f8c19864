"""Values held between limits, which are numbers or tensors."""

import functools
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batched import elementwise
from nanotorch._core.dtypes import Number
from nanotorch._core.op import Array, hidden_op
from nanotorch._core.overloads import overloads
from nanotorch.ops.arguments import NUMBERS, need_kind, number_in
from nanotorch.ops.comparison import halved_where, zero_where
from nanotorch.ops.joining import common_shape

NO_LIMIT = "torch.clamp: At least one of 'min' or 'max' must not be None"


def inside(input: Any, min: float | None, max: float | None) -> Any:
    """Where a clamped value may still move: strictly between the limits."""
    if min is None:
        return input < max
    return input > min if max is None else (input > min) & (input < max)


def by_numbers(input: Array, min: Number | None, max: Number | None) -> Array:
    """``input`` between limits that are Python numbers or None.

    Raises:
        RuntimeError: if both are None.
    """
    if min is None and max is None:
        raise RuntimeError(NO_LIMIT)
    if input.dtype.kind != "f":
        limits = [limit for limit in (min, max) if limit is not None]
        input = input.astype(dtypes.result_type([input, *limits])._numpy, copy=False)
        end = "" if len(limits) == 2 else "min_" if max is None else "max_"
        need_kind(f"clamp_{end}scalar_cpu", input, kinds=NUMBERS)
    return held_between(input, min, max)


def held_between(input: Array, min: Number | None, max: Number | None) -> Array:
    """``input`` between two numbers, of which integers may lie beyond the ends of its type.

    Raises:
        RuntimeError: for numbers that leave nothing of the type, or a float beyond its limits.
    """
    kind = input.dtype
    if kind.kind == "f":
        if min is not None and max is not None:
            return input.clip(number_in(min, kind), number_in(max, kind))
        # In this order -0.0 stays what it is.
        if max is not None:
            return np.minimum(number_in(max, kind), input)
        return input if min is None else np.maximum(number_in(min, kind), input)
    info = np.iinfo(kind)
    least, most = info.min, info.max
    low, high = least if min is None else min, most if max is None else max
    for name, limit, outside in (("min", low, low > most), ("max", high, high < least)):
        dtypes.refuse_beyond(limit)
        if outside:
            raise RuntimeError(
                f"Clamp {name} value {limit:g} is outside the representable range of "
                f"{dtypes.OF_NUMPY[kind].char}"
            )
    return np.clip(input, low if low > least else least, high if high < most else most)


# Limits that are tensors. A tie is shared in halves, unless the limits leave no room between them;
# what is not a number is on no side of a limit.


def input_share(g: Any, input: Any, min: Any, max: Any) -> Any:
    """The gradient of a clamped input."""
    if min is None:
        return zero_where(halved_where(g, input == max), input > max)
    if max is None:
        return zero_where(halved_where(g, input == min), input < min)
    tie = ((input == min) | (input == max)) & (min < max)
    return zero_where(halved_where(g, tie), (input < min) | (input > max))


def min_share(g: Any, input: Any, min: Any, max: Any) -> Any:
    """The gradient of the lower limit, which stands where it is not above the upper one."""
    halves = halved_where(g, input == min)
    if max is None:
        return zero_where(halves, input > min)
    return zero_where(halves, ~(((min < max) & (input <= min)) | ((min == max) & (input < min))))


def max_share(g: Any, input: Any, min: Any, max: Any) -> Any:
    """The gradient of the upper limit."""
    if min is None:
        return zero_where(halved_where(g, input == max), input < max)
    tie = (input == max) & (min < max)
    beyond = (min > max) | ((min <= max) & (input > max))
    return zero_where(halved_where(g, tie), ~(tie | beyond))


def by_tensors(input: Array, min: Array | None, max: Array | None) -> Array:
    """``input`` between limits that are arrays or None, in the dtype of all of them together."""
    limits = [limit for limit in (min, max) if limit is not None]
    if len(limits) == 2:
        need_kind("clamp_cpu", input, kinds=NUMBERS)
    kind = dtypes.result_type([input, *limits])._numpy
    out = input.astype(kind, copy=False)
    try:
        if min is not None:
            out = np.maximum(out, min.astype(kind, copy=False))
        return out if max is None else np.minimum(out, max.astype(kind, copy=False))
    except ValueError:
        functools.reduce(common_shape, [a.shape for a in (input, *limits)])
        raise


# By numbers, then by tensors


@hidden_op(
    input=lambda g, input, min, max: zero_where(g, ~inside(input, min, max)),
    inplace=True,
    c_names=True,
    node="ClampBackward1",
)
def clamp_numbers(input: Array, min: Number | None, max: Number | None) -> Array:
    """`clamp` with Python numbers."""
    return by_numbers(input, min, max)


@hidden_op(
    input=lambda g, input, min: zero_where(g, ~inside(input, min, None)),
    inplace=True,
    c_names=True,
    node="ClampMinBackward0",
)
def clamp_min_number(input: Array, min: Number) -> Array:
    """`clamp_min` with a Python number."""
    return by_numbers(input, min, None)


@hidden_op(
    input=lambda g, input, max: zero_where(g, ~inside(input, None, max)),
    inplace=True,
    c_names=True,
    node="ClampMaxBackward0",
)
def clamp_max_number(input: Array, max: Number) -> Array:
    """`clamp_max` with a Python number."""
    return by_numbers(input, None, max)


@hidden_op(
    input=input_share,
    min=min_share,
    max=max_share,
    inplace=True,
    overlap=False,
    node="ClampBackward0",
    batch=elementwise,
)
def clamp_tensors(input: Array, min: Array | None, max: Array | None) -> Array:
    """`clamp` with tensors."""
    return by_tensors(input, min, max)


@hidden_op(
    input=lambda g, input, min: input_share(g, input, min, None),
    min=lambda g, input, min: min_share(g, input, min, None),
    inplace=True,
    node="ClampMinBackward1",
    batch=elementwise,
)
def clamp_min_tensor(input: Array, min: Array) -> Array:
    """`clamp_min` with a tensor."""
    return by_tensors(input, min, None)


@hidden_op(
    input=lambda g, input, max: input_share(g, input, None, max),
    max=lambda g, input, max: max_share(g, input, None, max),
    inplace=True,
    node="ClampMaxBackward1",
    batch=elementwise,
)
def clamp_max_tensor(input: Array, max: Array) -> Array:
    """`clamp_max` with a tensor."""
    return by_tensors(input, None, max)


@overloads(
    {
        "Tensor input, Tensor min = None, Tensor max = None": clamp_tensors,
        "Tensor input, Number min = None, Number max = None": clamp_numbers,
    },
    inplace=True,
)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """``input`` held between two limits; ``max`` wins where it is the smaller.

    Args:
        min, max: both Python numbers, or both tensors that broadcast with ``input``; or one of
            them None.

    Raises:
        RuntimeError: if both are None.
        TypeError: for limits of different kinds.
    """


@overloads(
    {"Tensor input, Tensor min": clamp_min_tensor, "Tensor input, Number min": clamp_min_number},
    inplace=True,
)
def clamp_min(input: Any, min: Any) -> Any:
    """``input``, or ``min`` where that is greater.

    Args:
        min: a number, or a tensor that broadcasts with ``input``.
    """


@overloads(
    {"Tensor input, Tensor max": clamp_max_tensor, "Tensor input, Number max": clamp_max_number},
    inplace=True,
)
def clamp_max(input: Any, max: Any) -> Any:
    """``input``, or ``max`` where that is smaller.

    Args:
        max: a number, or a tensor that broadcasts with ``input``.
    """
