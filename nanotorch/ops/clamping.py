"""Values held between limits, which are numbers or tensors."""

import functools
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination
from nanotorch._core.batched import elementwise
from nanotorch._core.dtypes import Number
from nanotorch._core.layout import refuse_overlap
from nanotorch._core.op import OPS, Array, hidden_op, method
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import inplace_form, number_in
from nanotorch.ops.comparison import halved_where, zero_where
from nanotorch.ops.joining import common_shape

NO_LIMIT = "torch.clamp: At least one of 'min' or 'max' must not be None"
FORMS = "Tensor min = None, Tensor max = None", "Number min = None, Number max = None"


def inside(input: Any, min: float | None, max: float | None) -> Any:
    """Where a clamped value may still move: strictly between the limits."""
    if min is None:
        return input < max
    return input > min if max is None else (input > min) & (input < max)


@hidden_op(
    input=lambda g, input, min, max: zero_where(g, ~inside(input, min, max)),
    inplace=True,
    node="ClampBackward1",
)
def clamp_numbers(input: Array, min: Number | None, max: Number | None) -> Array:
    """`clamp` with limits that are Python numbers or None."""
    if input.dtype.kind != "f":
        limits = [limit for limit in (min, max) if limit is not None]
        input = input.astype(dtypes.result_type([input, *limits])._numpy, copy=False)
        if input.dtype.kind == "b":
            end = "" if len(limits) == 2 else "min_" if max is None else "max_"
            raise NotImplementedError(f"\"clamp_{end}scalar_cpu\" not implemented for 'Bool'")
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
        if min is not None:
            return np.maximum(number_in(min, kind), input)
        return input.copy() if max is None else np.minimum(number_in(max, kind), input)
    least, most = ends(kind)
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


@hidden_op(
    input=lambda g, input, min, max: input_share(g, input, min, max),
    min=lambda g, input, min, max: min_share(g, input, min, max),
    max=lambda g, input, min, max: max_share(g, input, min, max),
    inplace=True,
    node="ClampBackward0",
    batch=elementwise,
)
def clamp_tensors(input: Array, min: Array | None, max: Array | None) -> Array:
    """`clamp` with limits that are tensors, in the dtype of all of them together."""
    limits = [limit for limit in (min, max) if limit is not None]
    kind = dtypes.result_type([input, *limits])._numpy
    out = input.astype(kind, copy=False)
    try:
        if min is not None:
            out = np.maximum(out, min.astype(kind, copy=False))
        return out if max is None else np.minimum(out, max.astype(kind, copy=False))
    except ValueError:
        functools.reduce(common_shape, [a.shape for a in (input, *limits)])
        raise


clamp_numbers_, clamp_tensors_ = inplace_form("clamp_numbers"), inplace_form("clamp_tensors")


def of_one_kind(name: str, input: Tensor, min: Any, max: Any) -> bool:
    """Whether the limits are tensors.

    Raises:
        RuntimeError: if both are None.
        TypeError: unless both are numbers, or both tensors.
        NotImplementedError: for bools between two tensors.
    """
    if min is None and max is None:
        raise RuntimeError(NO_LIMIT)
    given = [limit for limit in (min, max) if limit is not None]
    tensors = [isinstance(limit, Tensor) for limit in given]
    if all(tensors):
        if len(given) == 2 and input._array.dtype.kind == "b":
            raise NotImplementedError("\"clamp_cpu\" not implemented for 'Bool'")
        return True
    if any(tensors) or not all(isinstance(n, (bool, int, float, np.generic)) for n in given):
        raise combination(name, given, FORMS)
    return False


@method
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """``input`` held between two limits; ``max`` wins where it is the smaller.

    Args:
        min, max: both Python numbers, or both tensors that broadcast with ``input``; or one of
            them None.

    Raises:
        RuntimeError: if both are None.
        TypeError: for limits of different kinds.
    """
    tensors = of_one_kind("clamp", input, min, max)
    return (clamp_tensors if tensors else clamp_numbers)(input, min, max)


@method
def clamp_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """In-place `clamp`."""
    if not of_one_kind("clamp_", input, min, max):
        check_kind(input, min, max)
        return clamp_numbers_(input, min, max)
    for limit in (min, max):
        if limit is not None and limit._cell is input._cell:
            refuse_overlap(input, limit)
    kind = input._array.dtype
    # What is written in place has all its operands; a limit that is not given is out of reach.
    least, most = (wrap(np.array(end, kind)) for end in ends(kind))
    return clamp_tensors_(input, least if min is None else min, most if max is None else max)


def check_kind(input: Tensor, *limits: Number | None) -> None:
    """Refuse to write what numbers of a higher kind leave of a tensor."""
    given = [limit for limit in limits if limit is not None]
    kind, into = dtypes.result_type([input._array, *given]), input.dtype
    if not dtypes.can_cast(kind, into):
        raise RuntimeError(
            f"result type {kind.char} can't be cast to the desired output type "
            f"{dtypes.C_NAMES[into.name]}"
        )


def ends(kind: np.dtype) -> tuple[Number, Number]:
    """The least and the greatest value of a type."""
    if kind.kind == "f":
        return -np.inf, np.inf
    if kind.kind == "b":
        return False, True
    info = np.iinfo(kind)
    return info.min, info.max


method(clamp, name="clip")
method(clamp_, name="clip_")


# Values held on one side of a limit, which is a number or a tensor.


BY_NUMBERS, BY_TENSORS = OPS["clamp_numbers"].kernel, OPS["clamp_tensors"].kernel


@hidden_op(
    input=lambda g, input, min: zero_where(g, ~inside(input, min, None)),
    inplace=True,
    node="ClampMinBackward0",
)
def least_number(input: Array, min: Number) -> Array:
    """`clamp_min` with a Python number."""
    result: Array = BY_NUMBERS(input, min, None)
    return result


@hidden_op(
    input=lambda g, input, min: input_share(g, input, min, None),
    min=lambda g, input, min: min_share(g, input, min, None),
    inplace=True,
    node="ClampMinBackward1",
    batch=elementwise,
)
def least_tensor(input: Array, min: Array) -> Array:
    """`clamp_min` with a tensor."""
    result: Array = BY_TENSORS(input, min, None)
    return result


@hidden_op(
    input=lambda g, input, max: zero_where(g, ~inside(input, None, max)),
    inplace=True,
    node="ClampMaxBackward0",
)
def most_number(input: Array, max: Number) -> Array:
    """`clamp_max` with a Python number."""
    result: Array = BY_NUMBERS(input, None, max)
    return result


@hidden_op(
    input=lambda g, input, max: input_share(g, input, None, max),
    max=lambda g, input, max: max_share(g, input, None, max),
    inplace=True,
    node="ClampMaxBackward1",
    batch=elementwise,
)
def most_tensor(input: Array, max: Array) -> Array:
    """`clamp_max` with a tensor."""
    result: Array = BY_TENSORS(input, None, max)
    return result


least_number_, least_tensor_ = inplace_form("least_number"), inplace_form("least_tensor")
most_number_, most_tensor_ = inplace_form("most_number"), inplace_form("most_tensor")


def chosen(name: str, input: Any, limit: Any, by_number: Any, by_tensor: Any) -> Any:
    """What a limit of this type calls for.

    Raises:
        TypeError: unless it is a number or a tensor.
    """
    if isinstance(limit, Tensor):
        return by_tensor
    if not isinstance(limit, (bool, int, float, np.generic)):
        end = name.removesuffix("_")[-3:]
        out = "" if name.endswith("_") else ", *, Tensor out = None"
        forms = [f"Tensor input, {kind} {end}{out}" for kind in ("Tensor", "Number")]
        raise combination(name, (input, limit), forms)
    return by_number


@method
def clamp_min(input: Any, min: Any) -> Any:
    """``input``, or ``min`` where that is greater.

    Args:
        min: a number, or a tensor that broadcasts with ``input``.
    """
    return chosen("clamp_min", input, min, least_number, least_tensor)(input, min)


@method
def clamp_min_(input: Tensor, min: Any) -> Tensor:
    """In-place `clamp_min`."""
    if isinstance(min, (bool, int, float)):
        check_kind(input, min)
    result: Tensor = chosen("clamp_min_", input, min, least_number_, least_tensor_)(input, min)
    return result


@method
def clamp_max(input: Any, max: Any) -> Any:
    """``input``, or ``max`` where that is smaller.

    Args:
        max: a number, or a tensor that broadcasts with ``input``.
    """
    return chosen("clamp_max", input, max, most_number, most_tensor)(input, max)


@method
def clamp_max_(input: Tensor, max: Any) -> Tensor:
    """In-place `clamp_max`."""
    if isinstance(max, (bool, int, float)):
        check_kind(input, max)
    result: Tensor = chosen("clamp_max_", input, max, most_number_, most_tensor_)(input, max)
    return result
