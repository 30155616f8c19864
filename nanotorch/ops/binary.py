"""Elementwise functions of two and three tensors: divisions, remainders, operators, clamping."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.bfloat16 import (
    Bfloat16Array,
    bfloat16,
    from_bits,
    round_to_bfloat16,
    widen,
)
from nanotorch._core.dtypes import Number
from nanotorch._core.op import OPERANDS, Array, hidden_op, method, op
from nanotorch._core.overloads import overloads
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import (
    check_kind,
    check_same_dtype,
    check_tensors,
    number_as,
    number_or_infinity,
    require,
)
from nanotorch.ops.elementwise import (
    exp,
    exp2,
    halved_where,
    pow,
    pow_number,
    reciprocal,
    rsub,
    true_divide,
    vanishing,
    zero_where,
)
from nanotorch.ops.joining import common_shape

# Divisions.


def check_divisor(name: str, input: Array, other: Array) -> None:
    """Refuse bools and integers divided by 0; ``name`` is that of PyTorch's kernel."""
    check_kind(f"{name}_cpu", input, kinds="fiu")
    if other.dtype.kind != "f" and input.size and not other.all():
        raise RuntimeError("ZeroDivisionError")


NO_DERIVATIVE = "torch::autograd::NotImplemented"  # the node's name


def no_derivative(name: str) -> Any:
    """Raise PyTorch's error for operation ``name``, which has no derivative."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


@op(
    input=lambda g: no_derivative("floor_divide"),
    other=lambda g: no_derivative("floor_divide"),
    cast="promote", inplace=True, node=NO_DERIVATIVE, inplace_node=NO_DERIVATIVE,
    unrounded=("other",),
)  # fmt: skip
def floor_divide(input: Array, other: Array) -> Array:
    """``floor(input / other)``, broadcasting; its backward raises an error.

    Raises:
        RuntimeError: for an integer divided by 0.
    """
    return floor_quotient(input, other)


@hidden_op(other=lambda g: no_derivative("floor_divide"), node=NO_DERIVATIVE)
def number_floor_divided(other: Array, input: Any) -> Array:
    """`floor_divide` of a Python number by a tensor."""
    return apply_to_number(floor_quotient, input, other)


def apply_to_number(function: Callable[..., Array], number: Any, array: Array) -> Array:
    """``function(number, array)`` in the dtype that the two promote to."""
    kind = dtypes.result_type([number, array])._numpy
    return function(dtypes.array_of_number(number, kind), array.astype(kind, copy=False))


def floor_quotient(input: Array, other: Array) -> Array:
    """The kernel of `floor_divide`."""
    if isinstance(input, Bfloat16Array) and other.size > 1:
        return bfloat16(floor_in_steps(widen(input), widen(other), round_to_bfloat16))
    check_divisor("div_floor", input, other)
    if input.dtype.kind != "f":
        return np.floor_divide(input, other)
    if input.dtype == other.dtype == HALF and other.size > 1:
        return floor_in_steps(input, other, np.asarray)
    # NumPy returns nan where PyTorch returns inf
    return np.where(other == 0, input / other, np.floor_divide(input, other))


def floor_in_steps(a: Array, b: Array, rounded: Callable[[Array], Array]) -> Array:
    """``floor(a / b)`` in half precision: as in PyTorch, each step is ``rounded``.

    A divisor of one element is a number for PyTorch, which then rounds the result only.
    """
    plain, rest = rounded(a / b), np.fmod(a, b)
    quotient = rounded(rounded(np.where(np.isinf(plain) & ~np.isinf(a), a, a - rest)) / b)
    down = (rest != 0) & ((b < 0) != (rest < 0))
    quotient = np.where(down, rounded(quotient - 1), quotient)
    whole = np.floor(quotient)
    whole = np.where(quotient - whole > 0.5, rounded(whole + 1), whole)
    whole = np.where(quotient == 0, np.copysign(0, plain), whole)
    return np.where(b == 0, plain, whole).astype(a.dtype)


@hidden_op(
    # PyTorch saves the operands although the gradients are zeros: writes to them raise an error.
    input=lambda g, other: vanishing(g),
    other=lambda g, input, other: vanishing(g),
    cast="promote", inplace=True, node="DivBackward2", unrounded=("other",),
)  # fmt: skip
def rounded_divide(input: Array, other: Array, rounding_mode: str) -> Array:
    """``input / other``, rounded to zero ("trunc") or down ("floor"); integers stay integers."""
    known = rounding_mode in ("trunc", "floor")
    require(known, "div expected rounding_mode to be 'trunc' or 'floor', not {!r}", rounding_mode)
    if rounding_mode == "floor":
        return floor_quotient(input, other)
    if isinstance(input, Bfloat16Array) and other.size > 1:
        return bfloat16(np.trunc(round_to_bfloat16(widen(input) / widen(other))))
    check_divisor("div_trunc", input, other)
    if input.dtype == other.dtype == HALF and other.size == 1:
        other = other.astype(SINGLE)
    if input.dtype.kind == "f":
        return np.trunc(input / other).astype(input.dtype, copy=False)
    return ((input - np.fmod(input, other)) // other).astype(input.dtype)


# Remainders. PyTorch has different nodes for a divisor that is a tensor and one that is a number,
# which has no gradient.


@hidden_op(
    input=lambda g: g,
    other=lambda g, input, other: -g * rounded_divide(input, other, "floor"),
    cast="promote", inplace=True, node="RemainderBackward1", wide=True,
)  # fmt: skip
def remainder_tensor(input: Array, other: Array) -> Array:
    """`remainder` of two tensors."""
    return with_sign_of_divisor(input, other)


@hidden_op(input=lambda g: g, cast="promote", inplace=True, node="RemainderBackward0", wide=True)
def remainder_number(input: Array, other: Array) -> Array:
    """`remainder` by a Python number."""
    return with_sign_of_divisor(input, other)


@hidden_op(other=lambda g: no_derivative("remainder"), node=NO_DERIVATIVE)
def number_remainder(other: Array, input: Any) -> Array:
    """`remainder` of a Python number by a tensor."""
    return apply_to_number(with_sign_of_divisor, input, other)


def with_sign_of_divisor(input: Array, other: Array) -> Array:
    """The kernel of `remainder`; unlike in NumPy, a zero keeps the sign of the dividend."""
    check_divisor("remainder", input, other)
    if input.dtype.kind != "f":
        return np.remainder(input, other)
    rest = np.fmod(input, other)
    return np.where((rest != 0) & ((rest < 0) != (other < 0)), rest + other, rest)


@hidden_op(
    input=lambda g: g,
    other=lambda g, input, other: -g * rounded_divide(input, other, "trunc"),
    cast="promote", numbers=False, inplace=True, node="FmodBackward1", wide=True,
)  # fmt: skip
def fmod_tensor(input: Array, other: Array) -> Array:
    """`fmod` of two tensors."""
    check_divisor("fmod", input, other)
    return np.fmod(input, other)


@hidden_op(
    input=lambda g: g,
    cast="promote", numbers="other", inplace=True, node="FmodBackward0", wide=True,
)  # fmt: skip
def fmod_number(input: Array, other: Array) -> Array:
    """`fmod` by a Python number."""
    check_divisor("fmod", input, other)
    return np.fmod(input, other)


@overloads(
    {
        "Tensor input, Tensor other": remainder_tensor,
        "Number self, Tensor other": number_remainder,
        "Tensor input, Number other": remainder_number,
    },
    inplace=True,
)
def remainder(input: Any, other: Any) -> Any:
    """``input - floor(input / other) * other``, with the sign of ``other``, as Python's `%`.

    Raises:
        RuntimeError: for an integer divided by 0.
    """


@overloads(
    {"Tensor input, Tensor other": fmod_tensor, "Tensor input, Number other": fmod_number},
    inplace=True,
)
def fmod(input: Any, other: Any) -> Any:
    """``input - trunc(input / other) * other``, with the sign of ``input``, as C's `fmod`.

    Raises:
        RuntimeError: for an integer divided by 0.
    """


@overloads(
    {
        "Tensor input, Tensor other": true_divide,
        "Tensor input, Tensor other, *, str rounding_mode": rounded_divide,
    },
    inplace=True,
)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """``input / other``, broadcasting; without rounding, integers become the default float dtype.

    Args:
        rounding_mode: "trunc" (towards zero) or "floor" (down). Default: no rounding.

    Raises:
        RuntimeError: for another ``rounding_mode``; for an integer divided by 0 with rounding.
    """


# Operators of tensors that PyTorch computes with operations of another name.


Binary = Callable[[Any, Any], Any]


def operator(
    function: Binary, name: str, also: tuple[type, ...] = (), by_number: Binary | None = None
) -> None:
    """Define the operator ``__name__`` of `Tensor`, for tensors and numbers.

    Args:
        also: further types of the other operand.
        by_number: the function for a Python number. Default: ``function``.
    """
    accepted = (*OPERANDS, *also)
    by_number = by_number or function

    def apply(self: Tensor, other: Any) -> Any:
        kind = other.__class__
        if kind is float or kind is int:
            return by_number(self, other)
        if kind is Tensor:
            return function(self, other)
        if not isinstance(other, accepted):
            return NotImplemented
        return function(self, other.item() if isinstance(other, np.generic) else other)

    method(apply, name=f"__{name}__", public=False)


def reversed_sub(self: Tensor, other: Any) -> Tensor:
    """``other - self``."""
    return other - self if isinstance(other, Tensor) else rsub(self, other)


operator(reversed_sub, "rsub", by_number=rsub)
operator(lambda self, other: self.sub_(other), "isub")
# As in PyTorch, an array can be divided by a tensor, but not added to one.
operator(lambda self, other: reciprocal(self) * other, "rtruediv", also=(np.ndarray,))
operator(lambda self, other: self.div_(other), "itruediv")
operator(floor_divide, "floordiv")
operator(lambda self, other: number_floor_divided(self, other), "rfloordiv")
operator(lambda self, other: self.floor_divide_(other), "ifloordiv")
operator(remainder, "mod")
operator(lambda self, other: remainder(other, self), "rmod")
operator(lambda self, other: self.remainder_(other), "imod")
operator(pow, "pow", by_number=pow_number)
operator(lambda self, other: pow(other, self), "rpow")
operator(lambda self, other: self.pow_(other), "ipow")


# Elementwise functions of two tensors; for some, one of the two may be a Python number.


@op(
    input=lambda g, input, out: g * (input / out),
    other=lambda g, other, out: g * (other / out),
    cast="promote", inplace=True, numbers=False, wide=True,
)  # fmt: skip
def hypot(input: Array, other: Array) -> Array:
    """``sqrt(input**2 + other**2)``, without overflow."""
    check_kind("hypot_cpu", input)
    return np.hypot(input, other)


@op(
    input=lambda g, input, other: g / (1 + exp(other - input)),
    other=lambda g, input, other: g / (1 + exp(input - other)),
    cast="promote", numbers=False, wide=True,
)  # fmt: skip
def logaddexp(input: Array, other: Array) -> Array:
    """``log(exp(input) + exp(other))``, without overflow."""
    check_kind("logaddexp_cpu", input)
    return np.logaddexp(input, other)


@op(
    input=lambda g, input, other: g / (1 + exp2(other - input)),
    other=lambda g, input, other: g / (1 + exp2(input - other)),
    cast="promote", numbers=False, wide=True,
)  # fmt: skip
def logaddexp2(input: Array, other: Array) -> Array:
    """``log2(2**input + 2**other)``, without overflow."""
    check_kind("logaddexp2_cpu", input)
    return np.logaddexp2(input, other)


@op(
    input=lambda g, input, other: zero_where(g, input == other),
    other=lambda g: vanishing(g),
    cast="promote", inplace=True, numbers=False,
)  # fmt: skip
def nextafter(input: Array, other: Array) -> Array:
    """The next floating-point number after ``input`` in the direction of ``other``."""
    if isinstance(input, Bfloat16Array):  # the upper half of the bits, plus one away from zero
        bits = np.nextafter(widen(input), widen(other)).view(np.uint32)
        return from_bits((bits >> 16) + (bits & 0xFFFF == 1))
    check_kind("nextafter_cpu", input)
    return np.nextafter(input, other)


@op(
    input=lambda g: no_derivative("heaviside"),
    values=lambda g: no_derivative("heaviside"),
    inplace=True, node=NO_DERIVATIVE, inplace_node=NO_DERIVATIVE,
)  # fmt: skip
def heaviside(input: Array, values: Array) -> Array:
    """0 for negative numbers and nan, 1 for positive ones, ``values`` at 0.

    Raises:
        RuntimeError: for ``values`` of another dtype.
    """
    check_same_dtype(input, values)
    common_shape(input.shape, values.shape)
    return np.where(input == 0, values, (input > 0).astype(input.dtype))


# The sign of another number.


def copysign_formula(g: Any, input: Any, out: Any) -> Any:
    """The gradient of `copysign` by ``input``; 0 at 0."""
    return g * zero_where(out / input, input == 0)


@hidden_op(
    input=copysign_formula,
    other=lambda g, out: vanishing(g),
    cast="float", inplace=True, node="CopysignBackward0",
)  # fmt: skip
def copysign_tensor(input: Array, other: Array) -> Array:
    """`copysign` with a tensor."""
    return np.copysign(input, other)


@hidden_op(input=copysign_formula, cast="float", inplace=True, node="CopysignBackward1")
def copysign_number(input: Array, other: float) -> Array:
    """`copysign` with a number."""
    return np.copysign(input, dtypes.array_of_number(other, input.dtype))


@overloads(
    {"Tensor input, Tensor other": copysign_tensor, "Tensor input, Number other": copysign_number},
    inplace=True,
)
def copysign(input: Any, other: Any) -> Any:
    """The absolute value of ``input`` with the sign of ``other``, a tensor or a number."""


@hidden_op(
    input=lambda g, input, other: zero_where(xlogy(g, other), (input == 0) & (other <= 0)),
    other=lambda g, input, other: g * input / other,
    cast="float",
)  # fmt: skip
def xlogy(input: Array, other: Array) -> Array:
    """``input * log(other)``; nan where ``other`` is nan, else 0 where ``input`` is 0."""
    product = np.where(input == 0, input.dtype.type(0), input * np.log(other))
    return np.where(np.isnan(other), input.dtype.type(math.nan), product)


# Elementwise functions of three tensors: interpolation, and products and quotients added.


def lerp_kernel(input: Array, end: Array, weight: Any, form: str) -> Array:
    """The kernel of `lerp`: it starts from the nearer end, so that the ends are exact."""
    tensor = isinstance(weight, np.ndarray)
    if tensor and not weight.ndim:
        kind = dtypes.result_type([input, end, weight])._numpy
        input, end = input.astype(kind, copy=False), end.astype(kind, copy=False)
    check_kind(f"lerp_kernel_{form}", input)
    shape = common_shape(input.shape, end.shape)
    common_shape(shape, np.shape(weight))
    weight = weight.astype(input.dtype) if tensor else number_or_infinity(weight, input.dtype)
    way = end - input
    return np.where(np.abs(weight) < 0.5, input + weight * way, end - way * (1 - weight))


@hidden_op(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    inplace=True, node="LerpBackward0", wide=True,
)  # fmt: skip
def lerp_number(input: Array, end: Array, weight: float) -> Array:
    """`lerp` with a number as ``weight``."""
    check_same_dtype(input, end)
    return lerp_kernel(input, end, weight, "scalar")


@hidden_op(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    weight=lambda g, input, end: g * (end - input),
    inplace=True, node="LerpBackward1", wide=True,
)  # fmt: skip
def lerp_tensor(input: Array, end: Array, weight: Array) -> Array:
    """`lerp` with a tensor as ``weight``."""
    check_same_dtype(input, end)
    if weight.ndim:
        check_same_dtype(input, weight)
    return lerp_kernel(input, end, weight, "tensor")


@overloads(
    {
        "Tensor input, Tensor end, Tensor weight": lerp_tensor,
        "Tensor input, Tensor end, Number weight": lerp_number,
    },
    inplace=True,
)
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """``input + weight * (end - input)``, broadcasting.

    Args:
        weight: a tensor or a number.

    Raises:
        RuntimeError: for tensors of different dtypes.
    """


# Products and quotients added.


@op(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * (tensor2 * value),
    tensor2=lambda g, tensor1, value: g * (tensor1 * value),
    cast="promote", numbers=False, inplace=True, wide=True,
)  # fmt: skip
def addcmul(input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """``input + value * tensor1 * tensor2``, broadcasting."""
    check_kind("addcmul_cpu_out", input, kinds="fiu")
    return input + number_as(value, input.dtype) * tensor1 * tensor2


def require_floats(input: Any, tensor1: Any, tensor2: Any) -> None:
    """Refuse two tensors of integers, whose quotient would have to be rounded."""
    check_tensors(input, tensor1, tensor2)
    floating = "f" in (tensor1._array.dtype.kind, tensor2._array.dtype.kind)
    require(floating, "addcdiv(): integers are not divided; convert one to floating point")


@op(
    input=lambda g, tensor2: g,  # PyTorch always saves the divisor
    tensor1=lambda g, tensor2, value: g * (value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * (value * tensor1 / (tensor2 * tensor2)),
    cast="promote",
    numbers=False,
    check=require_floats,
    inplace=True,
    wide=True,
)
def addcdiv(input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """``input + value * tensor1 / tensor2``, broadcasting.

    Raises:
        RuntimeError: if neither ``tensor1`` nor ``tensor2`` is floating-point.
    """
    if input.dtype != np.float16:
        value = number_as(value, input.dtype)
    return input + value * tensor1 / tensor2


# Values clamped between limits, which are numbers or tensors.


NO_LIMIT = "torch.clamp: At least one of 'min' or 'max' must not be None"


def is_within_limits(input: Any, min: float | None, max: float | None) -> Any:
    """Whether each element lies strictly between the limits, where its gradient passes."""
    if min is None:
        return input < max
    return input > min if max is None else (input > min) & (input < max)


def clamp_array(input: Array, min: Number | None, max: Number | None) -> Array:
    """``input`` clamped to limits that are Python numbers or None, in the dtype of all."""
    if min is None and max is None:
        raise RuntimeError(NO_LIMIT)
    if input.dtype.kind != "f":
        limits = [limit for limit in (min, max) if limit is not None]
        input = input.astype(dtypes.result_type([input, *limits])._numpy, copy=False)
        end = "" if len(limits) == 2 else "min_" if max is None else "max_"
        check_kind(f"clamp_{end}scalar_cpu", input, kinds="fiu")
    return clamp_to_numbers(input, min, max)


def clamp_to_numbers(input: Array, min: Number | None, max: Number | None) -> Array:
    """``input`` clamped to Python numbers, in its dtype; integers may be beyond its limits."""
    kind = input.dtype
    if kind.kind == "f":
        if min is not None and max is not None:
            return input.clip(number_as(min, kind), number_as(max, kind))
        # This order keeps -0.0.
        if max is not None:
            return np.minimum(number_as(max, kind), input)
        return input if min is None else np.maximum(number_as(min, kind), input)
    info = np.iinfo(kind)
    least, most = info.min, info.max
    low, high = least if min is None else min, most if max is None else max
    for name, limit, outside in (("min", low, low > most), ("max", high, high < least)):
        dtypes.check_integer_range(limit)
        require(not outside, "clamp(): {} {:g} is beyond {}", name, limit, kind)
    return np.clip(input, low if low > least else least, high if high < most else most)


# Limits that are tensors. An input equal to a limit shares the gradient with it in halves, unless
# the limits are equal or crossed. nan is neither below nor above a limit.


def clamp_input_formula(g: Any, input: Any, min: Any, max: Any) -> Any:
    """The gradient of `clamp_tensors` by ``input``."""
    if min is None:
        return zero_where(halved_where(g, input == max), input > max)
    if max is None:
        return zero_where(halved_where(g, input == min), input < min)
    tie = ((input == min) | (input == max)) & (min < max)
    return zero_where(halved_where(g, tie), (input < min) | (input > max))


def clamp_min_formula(g: Any, input: Any, min: Any, max: Any) -> Any:
    """The gradient by the lower limit; 0 where it is above the upper limit."""
    halves = halved_where(g, input == min)
    if max is None:
        return zero_where(halves, input > min)
    return zero_where(halves, ~(((min < max) & (input <= min)) | ((min == max) & (input < min))))


def clamp_max_formula(g: Any, input: Any, min: Any, max: Any) -> Any:
    """The gradient by the upper limit."""
    if min is None:
        return zero_where(halved_where(g, input == max), input < max)
    tie = (input == max) & (min < max)
    beyond = (min > max) | ((min <= max) & (input > max))
    return zero_where(halved_where(g, tie), ~(tie | beyond))


def clamp_to_arrays(input: Array, min: Array | None, max: Array | None) -> Array:
    """``input`` clamped to limits that are arrays or None, in the dtype that all promote to."""
    limits = [limit for limit in (min, max) if limit is not None]
    if len(limits) == 2:
        check_kind("clamp_cpu", input, kinds="fiu")
    kind = dtypes.result_type([input, *limits])._numpy
    out = input.astype(kind, copy=False)
    try:
        if min is not None:
            out = np.maximum(out, min.astype(kind, copy=False))
        return out if max is None else np.minimum(out, max.astype(kind, copy=False))
    except ValueError:
        functools.reduce(common_shape, [a.shape for a in (input, *limits)])
        raise


# With numbers, then with tensors.


@hidden_op(
    input=lambda g, input, min, max: zero_where(g, ~is_within_limits(input, min, max)),
    inplace=True, c_names=True, node="ClampBackward1",
)  # fmt: skip
def clamp_numbers(input: Array, min: Number | None, max: Number | None) -> Array:
    """`clamp` with Python numbers."""
    return clamp_array(input, min, max)


@hidden_op(
    input=lambda g, input, min: zero_where(g, ~is_within_limits(input, min, None)),
    inplace=True, c_names=True, node="ClampMinBackward0",
)  # fmt: skip
def clamp_min_number(input: Array, min: Number) -> Array:
    """`clamp_min` with a Python number."""
    return clamp_array(input, min, None)


@hidden_op(
    input=lambda g, input, max: zero_where(g, ~is_within_limits(input, None, max)),
    inplace=True, c_names=True, node="ClampMaxBackward0",
)  # fmt: skip
def clamp_max_number(input: Array, max: Number) -> Array:
    """`clamp_max` with a Python number."""
    return clamp_array(input, None, max)


@hidden_op(
    input=clamp_input_formula, min=clamp_min_formula, max=clamp_max_formula, inplace=True,
    overlap=False, node="ClampBackward0",
)  # fmt: skip
def clamp_tensors(input: Array, min: Array | None, max: Array | None) -> Array:
    """`clamp` with tensors."""
    return clamp_to_arrays(input, min, max)


@hidden_op(
    input=lambda g, input, min: clamp_input_formula(g, input, min, None),
    min=lambda g, input, min: clamp_min_formula(g, input, min, None),
    inplace=True, node="ClampMinBackward1",
)  # fmt: skip
def clamp_min_tensor(input: Array, min: Array) -> Array:
    """`clamp_min` with a tensor."""
    return clamp_to_arrays(input, min, None)


@hidden_op(
    input=lambda g, input, max: clamp_input_formula(g, input, None, max),
    max=lambda g, input, max: clamp_max_formula(g, input, None, max),
    inplace=True, node="ClampMaxBackward1",
)  # fmt: skip
def clamp_max_tensor(input: Array, max: Array) -> Array:
    """`clamp_max` with a tensor."""
    return clamp_to_arrays(input, None, max)


@overloads(
    {
        "Tensor input, Tensor min = None, Tensor max = None": clamp_tensors,
        "Tensor input, Number min = None, Number max = None": clamp_numbers,
    },
    inplace=True,
)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """``input`` clamped to [``min``, ``max``]; the result is ``max`` where ``max < min``.

    Args:
        min, max: two Python numbers, or two tensors that broadcast with ``input``. Default: no
            limit.

    Raises:
        RuntimeError: if both are None.
        TypeError: for a number and a tensor.
    """


@overloads(
    {"Tensor input, Tensor min": clamp_min_tensor, "Tensor input, Number min": clamp_min_number},
    inplace=True,
)
def clamp_min(input: Any, min: Any) -> Any:
    """The greater of ``input`` and ``min``, elementwise.

    Args:
        min: a number, or a tensor that broadcasts with ``input``.
    """


@overloads(
    {"Tensor input, Tensor max": clamp_max_tensor, "Tensor input, Number max": clamp_max_number},
    inplace=True,
)
def clamp_max(input: Any, max: Any) -> Any:
    """The smaller of ``input`` and ``max``, elementwise.

    Args:
        max: a number, or a tensor that broadcasts with ``input``.
    """
