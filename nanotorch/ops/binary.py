"""Elementwise functions of two and three tensors, division in all its forms, and rounding."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import ABSENT, by_own_names
from nanotorch._core.batched import elementwise
from nanotorch._core.dtypes import Number
from nanotorch._core.op import OPERANDS, Array, hidden_op, in_half, in_single, method, op
from nanotorch._core.op_source import former_order
from nanotorch._core.overloads import OVERLOADS, mismatch, overloads
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import (
    NUMBERS,
    as_number,
    inplace_form,
    need_kind,
    need_tensors,
    number_in,
    number_or_infinity,
)
from nanotorch.ops.comparison import vanishing, zero_where
from nanotorch.ops.conversion import convert
from nanotorch.ops.elementwise import (
    LN_2,
    exp,
    exp2,
    pow,
    pow_number,
    reciprocal,
    rsub,
    share,
    sub,
    true_divide,
)
from nanotorch.ops.joining import common_shape

# Division in all its forms, and rounding.


@op(input=lambda g: vanishing(g), inplace=True)
def floor(input: Array) -> Array:
    """The greatest integer that is not greater."""
    need_kind("floor_vml_cpu", input, kinds=NUMBERS)
    return np.floor(input) if input.dtype.kind == "f" else np.array(input)


@op(input=lambda g: vanishing(g), inplace=True)
def ceil(input: Array) -> Array:
    """The smallest integer that is not smaller."""
    need_kind("ceil_vml_cpu", input, kinds=NUMBERS)
    return np.ceil(input) if input.dtype.kind == "f" else np.array(input)


@op(input=lambda g: vanishing(g), inplace=True)
def trunc(input: Array) -> Array:
    """The integer part."""
    need_kind("trunc_vml_cpu", input, kinds=NUMBERS)
    return np.trunc(input) if input.dtype.kind == "f" else np.array(input)


@hidden_op(input=lambda g: vanishing(g), inplace=True, node="RoundBackward0")
def round_whole(input: Array) -> Array:
    """The nearest integer; halves go to the even one."""
    need_kind("round_vml_cpu", input, kinds=NUMBERS)
    return np.round(input) if input.dtype.kind == "f" else np.array(input)


@hidden_op(input=lambda g: vanishing(g), inplace=True, node="RoundBackward1", wide=True)
def round_decimals(input: Array, decimals: int) -> Array:
    """The nearest number of ``decimals`` digits; halves go to the even one."""
    need_kind("round_cpu" if decimals else "round_vml_cpu", input)
    return np.round(input, decimals)


@method
def round(input: Any, *, decimals: int | None = None) -> Any:
    """The nearest number of ``decimals`` digits; halves go to the even one.

    Raises:
        NotImplementedError: for digits of integers.
    """
    return round_whole(input) if decimals is None else round_decimals(input, decimals)


round_decimals_, round_whole_ = inplace_form("round_decimals"), inplace_form("round_whole")


@method(public=False)
def round_(self: Tensor, *, decimals: int | None = None) -> Tensor:
    """In-place `round`."""
    return round_whole_(self) if decimals is None else round_decimals_(self, decimals)


@op(input=lambda g: g, inplace=True)
def frac(input: Array) -> Array:
    """What `trunc` cuts off.

    Raises:
        NotImplementedError: unless the dtype is floating-point.
    """
    need_kind("frac_cpu", input)
    return input - np.trunc(input)


# Division


def check_divisor(name: str, input: Array, other: Array) -> None:
    """Refuse bools, in the words of PyTorch's kernel of that name, and integers divided by 0."""
    need_kind(f"{name}_cpu", input, kinds=NUMBERS)
    if other.dtype.kind != "f" and input.size and not other.all():
        raise RuntimeError("ZeroDivisionError")


NO_DERIVATIVE = "torch::autograd::NotImplemented"  # the node's name


def no_derivative(name: str) -> Any:
    """PyTorch has none for some operations and says so when asked."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


@op(
    input=lambda g: no_derivative("floor_divide"),
    other=lambda g: no_derivative("floor_divide"),
    cast="promote",
    inplace=True,
    node=NO_DERIVATIVE,
    inplace_node=NO_DERIVATIVE,
    wide=True,
    unrounded=("other",),
)
def floor_divide(input: Array, other: Array) -> Array:
    """``floor(input / other)``, broadcasting; its backward raises an error.

    Raises:
        RuntimeError: for an integer divided by 0.
    """
    return rounded_down(input, other)


@hidden_op(other=lambda g: no_derivative("floor_divide"), node=NO_DERIVATIVE, batch=elementwise)
def number_floor_divided(other: Array, input: Any) -> Array:
    """`floor_divide` of a Python number by a tensor."""
    return of_number(rounded_down, input, other)


def of_number(function: Callable[..., Array], number: Any, array: Array) -> Array:
    """A function of a Python number and an array, in the dtype that an operation of both has."""
    kind = dtypes.result_type([number, array])._numpy
    half, a, b = in_single(dtypes.array_of_number(number, kind), array.astype(kind, copy=False))
    result = function(a, b)
    return in_half(result) if half else result


def rounded_down(input: Array, other: Array) -> Array:
    """The kernel of division rounded down."""
    check_divisor("div_floor", input, other)
    if input.dtype.kind == "f":  # NumPy gives nan where PyTorch gives inf
        return np.where(other == 0, input / other, np.floor_divide(input, other))
    return np.floor_divide(input, other)


@hidden_op(
    # PyTorch keeps the operands, which must not be written to, though the gradients are zeros.
    input=lambda g, other: vanishing(g),
    other=lambda g, input, other: vanishing(g),
    cast="promote",
    inplace=True,
    node="DivBackward2",
    wide=True,
    unrounded=("other",),
)
def rounded_divide(input: Array, other: Array, rounding_mode: str) -> Array:
    """``input / other``, rounded to zero ("trunc") or down ("floor"); integers stay integers."""
    if rounding_mode == "floor":
        return rounded_down(input, other)
    check_divisor("div_trunc", input, other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    return ((input - np.fmod(input, other)) // other).astype(input.dtype)


# Remainders: a divisor that is a number has no gradient, and PyTorch a node for either case.


@hidden_op(
    input=lambda g: g,
    other=lambda g, input, other: -g * rounded_divide(input, other, "floor"),
    cast="promote",
    inplace=True,
    node="RemainderBackward1",
    wide=True,
)
def remainder_tensor(input: Array, other: Array) -> Array:
    """`remainder` of two tensors."""
    return with_sign_of_divisor(input, other)


@hidden_op(input=lambda g: g, cast="promote", inplace=True, node="RemainderBackward0", wide=True)
def remainder_number(input: Array, other: Array) -> Array:
    """`remainder` by a Python number."""
    return with_sign_of_divisor(input, other)


@hidden_op(other=lambda g: no_derivative("remainder"), node=NO_DERIVATIVE, batch=elementwise)
def number_remainder(other: Array, input: Any) -> Array:
    """`remainder` of a Python number by a tensor."""
    return of_number(with_sign_of_divisor, input, other)


def with_sign_of_divisor(input: Array, other: Array) -> Array:
    """The kernel of `remainder`; a zero keeps the sign of the dividend, unlike NumPy's."""
    check_divisor("remainder", input, other)
    if input.dtype.kind != "f":
        return np.remainder(input, other)
    rest = np.fmod(input, other)
    return np.where((rest != 0) & ((rest < 0) != (other < 0)), rest + other, rest)


@hidden_op(
    input=lambda g: g,
    other=lambda g, input, other: -g * rounded_divide(input, other, "trunc"),
    cast="promote",
    numbers=False,
    inplace=True,
    node="FmodBackward1",
    wide=True,
)
def fmod_tensor(input: Array, other: Array) -> Array:
    """`fmod` of two tensors."""
    check_divisor("fmod", input, other)
    return np.fmod(input, other)


@hidden_op(
    input=lambda g: g,
    cast="promote",
    numbers="other",
    inplace=True,
    node="FmodBackward0",
    wide=True,
)
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
    """``input - floor(input / other) * other``: has the sign of ``other``, as Python's `%`.

    Raises:
        RuntimeError: for an integer divided by 0.
    """


@overloads(
    {"Tensor input, Tensor other": fmod_tensor, "Tensor input, Number other": fmod_number},
    inplace=True,
)
def fmod(input: Any, other: Any) -> Any:
    """``input - trunc(input / other) * other``: has the sign of ``input``, as C's `fmod`.

    Raises:
        RuntimeError: for an integer divided by 0.
    """


@method
def div(input: Any, other: Any = ABSENT, *, rounding_mode: str | None = None, **named: Any) -> Any:
    """``input / other``, broadcasting; without rounding, integers give the default float dtype.

    Args:
        rounding_mode: None, "trunc" (to zero) or "floor" (down).

    Raises:
        RuntimeError: for another mode; for an integer divided by 0 with rounding.
    """
    if named:
        return by_own_names(div, named, input=input, other=other, rounding_mode=rounding_mode)
    if rounding_mode is None:
        return true_divide(input, other)
    check_rounding(rounding_mode)
    return rounded_divide(input, other, rounding_mode)


def check_rounding(mode: str) -> None:
    """Refuse an unknown way of rounding."""
    if mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )


rounded_divide_ = inplace_form("rounded_divide")


@method(public=False)
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """In-place `div`."""
    if rounding_mode is None:
        return self.true_divide_(other)
    check_rounding(rounding_mode)
    return rounded_divide_(self, other, rounding_mode)


# Operators of tensors that PyTorch computes by other operations than their name says.


Binary = Callable[[Any, Any], Any]


def operator(
    function: Binary, name: str, also: tuple[type, ...] = (), by_number: Binary | None = None
) -> None:
    """Install ``__name__`` for tensors and numbers, and operands of further types.

    Args:
        by_number: what stands for ``function`` where the other operand is a Python number.
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


operator(sub, "sub")
operator(lambda self, other: rsub(self, other), "rsub")
operator(lambda self, other: self.sub_(other), "isub")
operator(true_divide, "truediv")
# As in PyTorch, an array can be divided by a tensor, though it cannot be added to one.
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
    cast="promote",
    inplace=True,
    numbers=False,
    wide=True,
)
def hypot(input: Array, other: Array) -> Array:
    """``sqrt(input**2 + other**2)``, without overflow."""
    need_kind("hypot_cpu", input)
    return np.hypot(input, other)


@op(
    input=lambda g, input, other: g / (1 + exp(other - input)),
    other=lambda g, input, other: g / (1 + exp(input - other)),
    cast="promote",
    numbers=False,
    wide=True,
)
def logaddexp(input: Array, other: Array) -> Array:
    """``log(exp(input) + exp(other))``, without overflow."""
    need_kind("logaddexp_cpu", input)
    return np.logaddexp(input, other)


@op(
    input=lambda g, input, other: g / (1 + exp2(other - input)),
    other=lambda g, input, other: g / (1 + exp2(input - other)),
    cast="promote",
    numbers=False,
    wide=True,
)
def logaddexp2(input: Array, other: Array) -> Array:
    """``log2(2**input + 2**other)``, without overflow."""
    need_kind("logaddexp2_cpu", input)
    return np.logaddexp2(input, other)


@op(
    input=lambda g, input, other: zero_where(g, input == other),
    other=lambda g: vanishing(g),
    cast="promote",
    inplace=True,
    numbers=False,
)
def nextafter(input: Array, other: Array) -> Array:
    """The next number that floating point can tell from ``input``, towards ``other``."""
    need_kind("nextafter_cpu", input)
    return np.nextafter(input, other)


def first_wins(g: Any, input: Any, other: Any, less: Any) -> Any:
    """The gradient of the first of two of which the better counts, or which is no nan.

    Args:
        less: where it is the worse.
    """
    lost = less | ((input != input) & (other == other))
    return share(g, lost, input == other)


def second_wins(g: Any, input: Any, other: Any, less: Any) -> Any:
    """As `first_wins`, of the second; of two nans the first counts."""
    return share(g, less | (other != other), input == other)


@op(
    input=lambda g, input, other: first_wins(g, input, other, input < other),
    other=lambda g, input, other: second_wins(g, input, other, other < input),
    cast="promote",
    numbers=False,
)
def fmax(input: Array, other: Array) -> Array:
    """The greater of two; if one is nan, the other."""
    return np.fmax(input, other)


@op(
    input=lambda g, input, other: first_wins(g, input, other, input > other),
    other=lambda g, input, other: second_wins(g, input, other, other > input),
    cast="promote",
    numbers=False,
)
def fmin(input: Array, other: Array) -> Array:
    """The smaller of two; if one is nan, the other."""
    return np.fmin(input, other)


@op(
    # The result is named only to notice, as PyTorch does, that it was written to.
    input=lambda g, other, out: g * exp2(other),
    other=lambda g, out: g * (out * LN_2),
    inplace=True,
    numbers=False,
    overlap=True,
    batch=elementwise,
)
def ldexp(input: Array, other: Array) -> Array:
    """``input * 2**other``; the power is computed in the type of ``other``, if that has one, but of
    one exponent without dimensions in double, if the result is."""
    common_shape(input.shape, other.shape)
    kind = dtypes.result_type([input, other])
    common = kind._numpy if kind.is_floating_point else dtypes.default.numpy
    own = other.dtype.kind == "f" and (other.ndim or common != np.float64)
    power = np.exp2(other if own else other.astype(common))
    return np.multiply(input.astype(common), power.astype(common))


@op(
    input=lambda g: no_derivative("heaviside"),
    values=lambda g: no_derivative("heaviside"),
    inplace=True,
    node=NO_DERIVATIVE,
    inplace_node=NO_DERIVATIVE,
    batch=elementwise,
)
def heaviside(input: Array, values: Array) -> Array:
    """0 for negative numbers and nan, 1 for positive ones, ``values`` at 0.

    Raises:
        RuntimeError: for two dtypes.
    """
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    common_shape(input.shape, values.shape)
    return np.where(input == 0, values, (input > 0).astype(input.dtype))


# The sign of another number


def same_size(g: Any, input: Any, out: Any) -> Any:
    """The gradient of a number that was given a sign."""
    return g * zero_where(out / input, input == 0)


@hidden_op(
    input=same_size,
    other=lambda g, out: vanishing(g),
    cast="float",
    inplace=True,
    node="CopysignBackward0",
)
def copysign_tensor(input: Array, other: Array) -> Array:
    """``input`` with the sign of a tensor."""
    return np.copysign(input, other)


@hidden_op(input=same_size, cast="float", inplace=True, node="CopysignBackward1")
def copysign_number(input: Array, other: float) -> Array:
    """``input`` with the sign of a number."""
    return np.copysign(input, dtypes.array_of_number(other, input.dtype))


@overloads(
    {"Tensor input, Tensor other": copysign_tensor, "Tensor input, Number other": copysign_number},
    inplace=True,
)
def copysign(input: Any, other: Any) -> Any:
    """The absolute value of ``input`` with the sign of ``other``, a tensor or a number."""


# input * log(other)


def times_log(input: Array, other: Any) -> Array:
    """``input * log(other)``: 0 for an ``input`` of 0, but nan for any ``other`` that is nan."""
    product = np.where(input == 0, input.dtype.type(0), input * np.log(other))
    return np.where(np.isnan(other), input.dtype.type(math.nan), product)


def by_log(g: Any, other: Any, cut: Any) -> Any:
    """The gradient of a factor of `log(other)`, 0 where ``cut``."""
    return zero_where(xlogy(g, other), cut)


@hidden_op(
    input=lambda g, input, other: by_log(g, other, (input == 0) & (other <= 0)),
    other=lambda g, input, other: g * input / other,
    cast="float",
    inplace=True,
    node="XlogyBackward0",
)
def xlogy_tensors(input: Array, other: Array) -> Array:
    """`xlogy` of two tensors."""
    return times_log(input, other)


@hidden_op(other=lambda g, input, other: g * input / other, cast="float", node="XlogyBackward1")
def number_xlogy(other: Array, input: float) -> Array:
    """`xlogy` of a number by a tensor."""
    return times_log(dtypes.array_of_number(input, other.dtype), other)


@hidden_op(
    input=lambda g, input, other: by_log(g, other, (input == 0) & (not other > 0)),
    cast="float",
    inplace=True,
    node="XlogyBackward2",
)
def xlogy_number(input: Array, other: float) -> Array:
    """`xlogy` of a tensor by a number."""
    return times_log(input, dtypes.array_of_number(other, input.dtype))


@overloads(
    {
        "Tensor input, Tensor other": xlogy_tensors,
        "Number self, Tensor other": number_xlogy,
        "Tensor input, Number other": xlogy_number,
    },
    inplace=True,
)
def xlogy(input: Any, other: Any) -> Any:
    """``input * log(other)``, 0 where ``input`` is; one of the two may be a number.

    Where ``other`` is nan, so is the result.
    """


# Powers in double precision


@method
def float_power(input: Any, exponent: Any) -> Any:
    """``input ** exponent`` in double precision; one of the two may be a number."""
    pair = (input, exponent)
    known = all(isinstance(n, (Tensor, np.generic, bool, int, float)) for n in pair)
    if not known or not any(isinstance(n, Tensor) for n in pair):
        raise mismatch(OVERLOADS["pow"], "float_power", *pair)
    double = [convert(n, dtypes.float64) if isinstance(n, Tensor) else float(n) for n in pair]
    return pow(*double)


@method(public=False)
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place `float_power`.

    Raises:
        RuntimeError: unless the tensor is of double precision.
    """
    kind = dtypes.of_array(self._array)
    if kind is not dtypes.float64:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {kind.char} but the operation's result "
            "requires dtype Double"
        )
    return self.pow_(exponent)


# Integers


@op(cast="promote", inplace=True, numbers=False)
def gcd(input: Array, other: Array) -> Array:
    """The greatest common divisor of integers."""
    need_kind("gcd_cpu", input, kinds="iu")
    return np.gcd(input, other)


@op(cast="promote", inplace=True, numbers=False)
def lcm(input: Array, other: Array) -> Array:
    """The least common multiple of integers."""
    need_kind("lcm_cpu", input, kinds="iu")
    return np.lcm(input, other)


@op(cast="promote", inplace=True, dunder="lshift")
def bitwise_left_shift(input: Array, other: Array) -> Array:
    """``input << other``: bits move up; by a negative number, or by all there are, none is left."""
    need_kind("lshift_cpu", input, kinds="iu")
    beyond = (other < 0) | (other >= 8 * input.itemsize)
    return np.where(beyond, input.dtype.type(0), np.left_shift(input, np.where(beyond, 0, other)))


@op(cast="promote", inplace=True, dunder="rshift")
def bitwise_right_shift(input: Array, other: Array) -> Array:
    """``input >> other``: bits move down, and those of the sign move in."""
    need_kind("rshift_cpu", input, kinds="iu")
    most = 8 * input.itemsize - 1
    beyond = (other < 0) | (other > most)
    moved = np.right_shift(input, np.where(beyond, other.dtype.type(most), other))
    return moved if input.dtype.kind == "i" else np.where(beyond, input.dtype.type(0), moved)


# Elementwise functions of three tensors: a way between two, and products added.


NAMES = {"Long": "long int", "Half": "c10::Half", "Byte": "unsigned char", "Char": "signed char"}
NAMES |= {"Short": "short int"}


def check_alike(input: Array, **others: Any) -> None:
    """Refuse tensors of another dtype than the first."""
    own, *rest = (dtypes.of_array(array).char for array in (input, *others.values()))
    for name, kind in zip(others, rest, strict=True):
        if kind != own:
            raise RuntimeError(
                f"expected dtype {NAMES.get(own, own.lower())} for `{name}` but got dtype "
                f"{NAMES.get(kind, kind.lower())}"
            )


def between(input: Array, end: Array, weight: Any, form: str) -> Array:
    """The kernel of `lerp`: from the nearer end, so that rounding does not miss it."""
    tensor = isinstance(weight, np.ndarray)
    if tensor and not weight.ndim:
        kind = dtypes.result_type([input, end, weight])._numpy
        input, end = input.astype(kind, copy=False), end.astype(kind, copy=False)
    need_kind(f"lerp_kernel_{form}", input)
    shape = common_shape(input.shape, end.shape)
    common_shape(shape, np.shape(weight))
    weight = weight.astype(input.dtype) if tensor else number_or_infinity(weight, input.dtype)
    way = end - input
    return np.where(np.abs(weight) < 0.5, input + weight * way, end - way * (1 - weight))


@hidden_op(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    inplace=True,
    node="LerpBackward0",
    batch=elementwise,
    wide=True,
)
def lerp_number(input: Array, end: Array, weight: float) -> Array:
    """`lerp` with a weight that is a number."""
    check_alike(input, end=end)
    return between(input, end, weight, "scalar")


@hidden_op(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    weight=lambda g, input, end: g * (end - input),
    inplace=True,
    node="LerpBackward1",
    batch=elementwise,
    wide=True,
)
def lerp_tensor(input: Array, end: Array, weight: Array) -> Array:
    """`lerp` with a weight that is a tensor."""
    check_alike(input, end=end, **({"weight": weight} if weight.ndim else {}))
    return between(input, end, weight, "tensor")


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


# Products and quotients added


@op(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * (tensor2 * value),
    tensor2=lambda g, tensor1, value: g * (tensor1 * value),
    cast="promote",
    numbers=False,
    inplace=True,
    wide=True,
)
def addcmul(input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """``input + value * tensor1 * tensor2``, broadcasting."""
    need_kind("addcmul_cpu_out", input, kinds=NUMBERS)
    return input + number_in(as_number(value), input.dtype) * tensor1 * tensor2


NO_INTEGERS = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
    "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
    "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
    "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
    "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
    "dtypes."
)


@hidden_op(
    input=lambda g, tensor2: g,  # PyTorch keeps the divisor in any case
    tensor1=lambda g, tensor2, value: g * (value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * (value * tensor1 / (tensor2 * tensor2)),
    cast="promote",
    numbers=False,
    inplace=True,
    node="AddcdivBackward0",
    wide=True,
)
def add_quotient(input: Array, tensor1: Array, tensor2: Array, value: float) -> Array:
    """The kernel of `addcdiv`."""
    if input.dtype != np.float16:
        value = number_in(value, input.dtype)
    return input + value * tensor1 / tensor2


add_quotient_ = inplace_form("add_quotient")


def require_floats(*tensors: Any) -> None:
    """A quotient of integers would have to be rounded."""
    need_tensors(*tensors)
    if all(t._array.dtype.kind != "f" for t in tensors):
        raise RuntimeError(NO_INTEGERS)


QUOTIENT = ("input", "tensor1", "tensor2")  # what `addcdiv` is given


@method
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *former: Any, value: Number = 1) -> Any:
    """``input + value * tensor1 / tensor2``, broadcasting.

    Args:
        former: the second tensor, in a call that gives the value before the two.

    Raises:
        RuntimeError: if both tensors to divide are of integers.
    """
    if former:
        given = (input, tensor1, tensor2, *former)
        return addcdiv(**former_order("addcdiv", QUOTIENT, given, value != 1, method=True))
    require_floats(tensor1, tensor2)
    return add_quotient(input, tensor1, tensor2, as_number(value))


@method(public=False)
def addcdiv_(self: Tensor, tensor1: Any, tensor2: Any, *former: Any, value: Number = 1) -> Tensor:
    """In-place `addcdiv`."""
    if former:
        given = (self, tensor1, tensor2, *former)
        return addcdiv_(
            **former_order("addcdiv_", ("self", *QUOTIENT[1:]), given, value != 1, method=True)
        )
    require_floats(tensor1, tensor2)
    return add_quotient_(self, tensor1, tensor2, as_number(value))
