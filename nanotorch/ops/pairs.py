"""Elementwise functions of two tensors; for some, one of the two may be a Python number."""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination
from nanotorch._core.batch_rules import elementwise
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor
from nanotorch.ops.comparison import vanishing, zero_where
from nanotorch.ops.conversion import convert
from nanotorch.ops.elementwise import LN_2, exp, exp2, share
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.hidden import inplace_form
from nanotorch.ops.power import POWER_FORMS, pow
from nanotorch.ops.rounding import NO_DERIVATIVE, no_derivative

TENSORS = (Tensor, np.ndarray, np.generic)
NUMBERS = (bool, int, float)


def only(kinds: str, name: str, array: Array) -> None:
    """Refuse an array whose NumPy kind is none of ``kinds``."""
    if array.dtype.kind not in kinds:
        raise NotImplementedError(
            f"\"{name}_cpu\" not implemented for '{dtypes.of_array(array).char}'"
        )


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
    only("f", "hypot", input)
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
    only("f", "logaddexp", input)
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
    only("f", "logaddexp2", input)
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
    only("f", "nextafter", input)
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


@op(
    input=lambda g, input, out: same_size(g, input, out),
    other=lambda g, out: vanishing(g),
    cast="float",
    inplace=True,
    method=False,
    public=False,
    node="CopysignBackward0",
)
def copysign_tensor(input: Array, other: Array) -> Array:
    """``input`` with the sign of a tensor."""
    return np.copysign(input, other)


@op(
    input=lambda g, input, out: same_size(g, input, out),
    cast="float",
    inplace=True,
    method=False,
    public=False,
    node="CopysignBackward1",
)
def copysign_number(input: Array, other: float) -> Array:
    """``input`` with the sign of a number."""
    return np.copysign(input, dtypes.array_of_number(other, input.dtype))


SIGN_FORMS = (
    "Tensor input, Tensor other, *, Tensor out = None",
    "Tensor input, Number other, *, Tensor out = None",
)


@method
def copysign(input: Any, other: Any) -> Any:
    """The absolute value of ``input`` with the sign of ``other``, a tensor or a number."""
    if not isinstance(input, TENSORS) or not isinstance(other, TENSORS + NUMBERS):
        raise combination("copysign", (input, other), SIGN_FORMS)
    return (copysign_tensor if isinstance(other, TENSORS) else copysign_number)(input, other)


copysign_tensor_, copysign_number_ = map(inplace_form, ("copysign_tensor", "copysign_number"))


@method(public=False)
def copysign_(self: Tensor, other: Any) -> Tensor:
    """In-place `copysign`."""
    if not isinstance(other, TENSORS[::2] + NUMBERS):
        raise combination("copysign_", (other,), ("Tensor other", "Number other"))
    return (copysign_tensor_ if isinstance(other, Tensor) else copysign_number_)(self, other)


# input * log(other)


def times_log(input: Array, other: Any) -> Array:
    """``input * log(other)``: 0 for an ``input`` of 0, but nan for any ``other`` that is nan."""
    product = np.where(input == 0, input.dtype.type(0), input * np.log(other))
    return np.where(np.isnan(other), input.dtype.type(math.nan), product)


def by_log(g: Any, other: Any, cut: Any) -> Any:
    """The gradient of a factor of `log(other)`, 0 where ``cut``."""
    return zero_where(xlogy(g, other), cut)


@op(
    input=lambda g, input, other: by_log(g, other, (input == 0) & (other <= 0)),
    other=lambda g, input, other: g * input / other,
    cast="float",
    inplace=True,
    method=False,
    public=False,
    node="XlogyBackward0",
)
def xlogy_tensors(input: Array, other: Array) -> Array:
    """`xlogy` of two tensors."""
    return times_log(input, other)


@op(
    other=lambda g, input, other: g * input / other,
    cast="float",
    method=False,
    public=False,
    node="XlogyBackward1",
)
def number_xlogy(other: Array, input: float) -> Array:
    """`xlogy` of a number by a tensor."""
    return times_log(dtypes.array_of_number(input, other.dtype), other)


@op(
    input=lambda g, input, other: by_log(g, other, (input == 0) & (not other > 0)),
    cast="float",
    inplace=True,
    method=False,
    public=False,
    node="XlogyBackward2",
)
def xlogy_number(input: Array, other: float) -> Array:
    """`xlogy` of a tensor by a number."""
    return times_log(input, dtypes.array_of_number(other, input.dtype))


XLOGY_FORMS = (
    "Tensor input, Tensor other, *, Tensor out = None",
    "Number self, Tensor other, *, Tensor out = None",
    "Tensor input, Number other, *, Tensor out = None",
)


@method
def xlogy(input: Any, other: Any) -> Any:
    """``input * log(other)``, 0 where ``input`` is; one of the two may be a number.

    Where ``other`` is nan, so is the result.
    """
    if isinstance(other, TENSORS):
        return (xlogy_tensors if isinstance(input, TENSORS) else xlogy_of_number)(input, other)
    if not isinstance(input, TENSORS) or not isinstance(other, NUMBERS):
        raise combination("xlogy", (input, other), XLOGY_FORMS)
    return xlogy_number(input, other)


def xlogy_of_number(input: float, other: Any) -> Any:
    """`number_xlogy`, its arguments in the usual order."""
    return number_xlogy(other, input)


xlogy_tensors_, xlogy_number_ = map(inplace_form, ("xlogy_tensors", "xlogy_number"))


@method
def xlogy_(input: Tensor, other: Any) -> Tensor:
    """In-place `xlogy`."""
    if not isinstance(other, TENSORS[::2] + NUMBERS):
        raise combination("xlogy_", (other,), ("Tensor other", "Number other"))
    return (xlogy_tensors_ if isinstance(other, Tensor) else xlogy_number_)(input, other)


# Powers in double precision


@method
def float_power(input: Any, exponent: Any) -> Any:
    """``input ** exponent`` in double precision; one of the two may be a number."""
    pair = (input, exponent)
    known = all(isinstance(n, (Tensor, np.generic, *NUMBERS)) for n in pair)
    if not known or not any(isinstance(n, Tensor) for n in pair):
        raise combination("float_power", pair, POWER_FORMS)
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
    only("iu", "gcd", input)
    return np.gcd(input, other)


@op(cast="promote", inplace=True, numbers=False)
def lcm(input: Array, other: Array) -> Array:
    """The least common multiple of integers."""
    only("iu", "lcm", input)
    return np.lcm(input, other)


@op(cast="promote", inplace=True, dunder="lshift")
def bitwise_left_shift(input: Array, other: Array) -> Array:
    """``input << other``: bits move up; by a negative number, or by all there are, none is left."""
    only("iu", "lshift", input)
    beyond = (other < 0) | (other >= 8 * input.itemsize)
    return np.where(beyond, input.dtype.type(0), np.left_shift(input, np.where(beyond, 0, other)))


@op(cast="promote", inplace=True, dunder="rshift")
def bitwise_right_shift(input: Array, other: Array) -> Array:
    """``input >> other``: bits move down, and those of the sign move in."""
    only("iu", "rshift", input)
    most = 8 * input.itemsize - 1
    beyond = (other < 0) | (other > most)
    moved = np.right_shift(input, np.where(beyond, other.dtype.type(most), other))
    return moved if input.dtype.kind == "i" else np.where(beyond, input.dtype.type(0), moved)
