"""Elementwise operations: comparisons, logic, arithmetic, functions of one number, powers."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, rename
from nanotorch._core.dtypes import Number
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.op import OPERANDS, PUBLIC, Array, hidden_op, method, number, op, public
from nanotorch._core.overloads import overloads
from nanotorch._core.sums import HALF, SINGLE, select
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import (
    check_kind,
    check_same_dtype,
    check_tensors,
    number_as,
    refuse_lost_history,
    require,
)


@hidden_op(input=lambda g, mask: zero_where(g, mask))
def zero_where(input: Array, mask: Array) -> Array:
    """``input`` with zeros where ``mask`` is true; formulas replace inf and nan with it."""
    return select(mask, input.dtype.type(0), input)


@hidden_op(input=lambda g, mask: halved_where(g, mask))
def halved_where(input: Array, mask: Array) -> Array:
    """``input``, halved where ``mask`` is true: two equal elements share a gradient."""
    return select(mask, input * input.dtype.type(0.5), input)


@hidden_op()
def vanishing(input: Array) -> Array:
    """Zeros without a derivative: the gradient of a function that is flat almost everywhere."""
    return np.zeros_like(input)


@hidden_op(input=lambda g: g, to=lambda g, zeros: vanishing(g) if zeros else None)
def tied(input: Array, to: Array, zeros: bool = True) -> Array:
    """A gradient that does not depend on ``to``, although PyTorch's backward computes with ``to``.

    The result requires grad if ``to`` does; its derivative by ``to`` is zeros, or None without
    ``zeros``.
    """
    return input


# Comparisons: operands broadcast and are cast to a common dtype; the result is bool.


@op(cast="promote", numbers="other")
def eq(input: Array, other: Array) -> Array:
    """``input == other``, elementwise."""
    return np.equal(input, other)


@op(cast="promote", numbers="other")
def ne(input: Array, other: Array) -> Array:
    """``input != other``, elementwise."""
    return np.not_equal(input, other)


@op(cast="promote", numbers="other")
def lt(input: Array, other: Array) -> Array:
    """``input < other``, elementwise."""
    return np.less(input, other)


@op(cast="promote", numbers="other")
def le(input: Array, other: Array) -> Array:
    """``input <= other``, elementwise."""
    return np.less_equal(input, other)


@op(cast="promote", numbers="other")
def gt(input: Array, other: Array) -> Array:
    """``input > other``, elementwise."""
    return np.greater(input, other)


@op(cast="promote", numbers="other")
def ge(input: Array, other: Array) -> Array:
    """``input >= other``, elementwise."""
    return np.greater_equal(input, other)


def comparison(function: Callable[..., Any], name: str) -> Any:
    """Define a comparison operator of `Tensor`. It returns `NotImplemented` for other types: then
    ``==`` is False and ``!=`` is True, as for any Python objects."""

    def compare(self: Tensor, other: Any) -> Any:
        if name == "__eq__" and isinstance(other, np.ndarray) and other.dtype in dtypes.OF_NUMPY:
            other = wrap(other)  # only `==` accepts an ndarray
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return method(compare, name=name, public=False)


for _operator in (eq, ne, lt, le, gt, ge):
    comparison(_operator, f"__{_operator.__name__}__")


# Logic: any nonzero value is true.


@op(inplace=True, cast="promote", numbers=False)
def logical_and(input: Array, other: Array) -> Array:
    """``input and other``, elementwise."""
    return np.logical_and(input, other)


@op(inplace=True, cast="promote", numbers=False)
def logical_or(input: Array, other: Array) -> Array:
    """``input or other``, elementwise."""
    return np.logical_or(input, other)


@op(inplace=True, cast="promote", numbers=False)
def logical_xor(input: Array, other: Array) -> Array:
    """Whether exactly one of ``input`` and ``other`` is true, elementwise."""
    return np.logical_xor(input, other)


@op(inplace=True)
def logical_not(input: Array) -> Array:
    """``not input``, elementwise."""
    return np.logical_not(input)


# Bits of integers; logic of bools.


@op(inplace=True, cast="promote", dunder="and")
def bitwise_and(input: Array, other: Array) -> Array:
    """``input & other``, for integers and bools."""
    check_kind("bitwise_and_cpu", input, other, kinds="iub")
    return np.bitwise_and(input, other)


@op(inplace=True, cast="promote", dunder="or")
def bitwise_or(input: Array, other: Array) -> Array:
    """``input | other``, for integers and bools."""
    check_kind("bitwise_or_cpu", input, other, kinds="iub")
    return np.bitwise_or(input, other)


@op(inplace=True, cast="promote", dunder="xor")
def bitwise_xor(input: Array, other: Array) -> Array:
    """``input ^ other``, for integers and bools."""
    check_kind("bitwise_xor_cpu", input, other, kinds="iub")
    return np.bitwise_xor(input, other)


@op(inplace=True)
def bitwise_not(input: Array) -> Array:
    """``~input``, for integers; `logical_not` for bools."""
    check_kind("bitwise_not_cpu", input, kinds="iub")
    return np.bitwise_not(input)


@op(cast="promote", inplace=True, numbers=False)
def gcd(input: Array, other: Array) -> Array:
    """The greatest common divisor of integers."""
    check_kind("gcd_cpu", input, kinds="iu")
    return np.gcd(input, other)


@op(cast="promote", inplace=True, numbers=False)
def lcm(input: Array, other: Array) -> Array:
    """The least common multiple of integers."""
    check_kind("lcm_cpu", input, kinds="iu")
    return np.lcm(input, other)


@op(cast="promote", inplace=True, dunder="lshift")
def bitwise_left_shift(input: Array, other: Array) -> Array:
    """``input << other``; 0 where ``other`` is negative or at least the number of bits."""
    check_kind("lshift_cpu", input, kinds="iu")
    beyond = (other < 0) | (other >= 8 * input.itemsize)
    return np.where(beyond, input.dtype.type(0), np.left_shift(input, np.where(beyond, 0, other)))


@op(cast="promote", inplace=True, dunder="rshift")
def bitwise_right_shift(input: Array, other: Array) -> Array:
    """``input >> other``; copies of the sign bit fill the upper bits."""
    check_kind("rshift_cpu", input, kinds="iu")
    most = 8 * input.itemsize - 1
    beyond = (other < 0) | (other > most)
    moved = np.right_shift(input, np.where(beyond, other.dtype.type(most), other))
    return moved if input.dtype.kind == "i" else np.where(beyond, input.dtype.type(0), moved)


@method(name="__invert__", public=False)
def inverted(self: Tensor) -> Tensor:
    """The operator `~`: `bitwise_not`.

    Raises:
        TypeError: for a floating-point tensor.
    """
    if self.is_floating_point():
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return bitwise_not(self)


# Tests


@op()
def isnan(input: Array) -> Array:
    """Whether each element is nan."""
    return np.isnan(input)


@op()
def isinf(input: Array) -> Array:
    """Whether each element is inf or -inf."""
    return np.isinf(input)


@op(check=refuse_lost_history)
def isfinite(input: Array) -> Array:
    """Whether each element is neither infinite nor nan."""
    return np.isfinite(input)


@hidden_op(cast="promote", numbers=False, check=refuse_lost_history)
def elements_close(input: Array, other: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    """The kernel of `isclose`."""
    return np.isclose(input, other, rtol, atol, equal_nan)


@method
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, or both are equal, elementwise.

    Args:
        equal_nan: whether nan counts as equal to nan.

    Raises:
        RuntimeError: for different dtypes, or a negative tolerance.
    """
    check_tensors(input, other)
    check_same_dtype(input, other, text="{} did not match {}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        require(tolerance >= 0, "isclose(): negative {} {:g}", name, tolerance)
    return elements_close(input, other, rtol, atol, equal_nan)


@method
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements of ``input`` and ``other`` are close: see `isclose`."""
    with no_grad():  # the history is not asked for
        return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether ``input`` and ``other`` have the same shape and values."""
    check_tensors(input, other)
    a, b = input._array, other._array
    return a.shape == b.shape and bool((a == b).all())


@public
def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a `Tensor`."""
    return isinstance(obj, Tensor)


# Arithmetic and functions.
#
# Kernels may divide by zero and overflow: `grad_mode` turns off NumPy's warnings about both.


LN_2, LN_10 = math.log(2.0), math.log(10.0)


def refuse_bool(input: Array, message: str) -> None:
    """Raise NotImplementedError with PyTorch's ``message`` for bools."""
    if input.dtype.kind == "b":
        raise NotImplementedError(message)


NO_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead."
)
NO_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
    "`logical_xor()` operator instead."
)


# Sums and products


@op(
    input=lambda g: g,
    other=lambda g, alpha: g if alpha == 1 else g * alpha,
    cast="promote", dunder="add", inplace=True, one_step=True, arithmetic=True,
)  # fmt: skip
def add(input: Array, other: Array, *, alpha: Number = 1) -> Array:
    """``input + alpha * other``, broadcasting.

    Raises:
        RuntimeError: for a float ``alpha`` with integers.
    """
    if alpha == 1 and alpha.__class__ is int:
        return input + other
    return sum_with(input, other, alpha)


@op(
    input=lambda g: g,
    other=lambda g, alpha: g * -alpha,
    cast="promote", dunder="sub", refuse_bool=NO_BOOL, inplace=True, arithmetic=True,
)  # fmt: skip
def sub(input: Array, other: Array, *, alpha: Number = 1) -> Array:
    """``input - alpha * other``, broadcasting.

    Raises:
        NotImplementedError: for bools.
        RuntimeError: for a float ``alpha`` with integers.
    """
    if alpha == 1 and alpha.__class__ is int and input.dtype.kind != "b":
        return input - other
    refuse_bool(input, NO_BOOLS)
    return sum_with(input, other, alpha, -1)


def sum_with(input: Array, other: Array, alpha: Number, sign: int = 1) -> Array:
    """``input + sign * alpha * other``, of one dtype; half precision is rounded only once.

    Refuses an ``alpha`` of a higher category than this dtype: a float for integers, say.
    """
    kind = other.dtype
    if isinstance(alpha, bool):
        require(kind.kind == "b", "Boolean alpha only supported for Boolean results.")
    elif isinstance(alpha, float) and kind.kind != "f":
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    factor = number_as(sign * alpha, kind)
    if kind == HALF:
        total = np.add(input, other * SINGLE.type(factor), dtype=SINGLE)
        return total.astype(HALF)
    return input + other * factor


@hidden_op(
    input=lambda g: -g,
    cast="promote", numbers="other", refuse_bool=NO_BOOL, node="RsubBackward1",
)  # fmt: skip
def rsub(input: Array, other: Array) -> Array:
    """``other - input`` for a Python number ``other``."""
    refuse_bool(input, NO_BOOLS)
    return other - input


@op(
    input=lambda g, other: g * other,
    other=lambda g, input: g * input,
    cast="promote", dunder="mul", inplace=True, unrounded=("input", "other"), arithmetic=True,
)  # fmt: skip
def mul(input: Array, other: Array) -> Array:
    """``input * other``, broadcasting."""
    return input * other


@op(
    input=lambda g, other: g / other,
    other=lambda g, input, other: -g * ((input / other) / other),
    cast="float", dunder="truediv", inplace=True, public=False, node="DivBackward0",
    unrounded=("other",),
)  # fmt: skip
def true_divide(input: Array, other: Array) -> Array:
    """``input / other``, broadcasting; integers become the default floating-point dtype."""
    return np.true_divide(input, other)


PUBLIC["true_divide"] = true_divide  # `div` is a function of its own, which can round


@op(input=lambda g: -g, dunder="neg", inplace=True)
def neg(input: Array) -> Array:
    """``-input``.

    Raises:
        NotImplementedError: for bools.
    """
    refuse_bool(
        input,
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
        "invert a mask, use the `~` or `logical_not()` operator instead.",
    )
    return np.negative(input)


@method
def positive(input: Tensor) -> Tensor:
    """``+input``: the tensor itself.

    Raises:
        NotImplementedError: for bools.
    """
    check_tensors(input)
    refuse_bool(input._array, "The `+` operator, on a bool tensor is not supported.")
    return input


method(positive, name="__pos__", public=False)


@op(input=lambda g, out: -g * (out * out), cast="float", inplace=True)
def reciprocal(input: Array) -> Array:
    """``1 / input``."""
    return np.reciprocal(input)


# Roots


@op(input=lambda g, out: g / (2 * out), cast="float", inplace=True)
def sqrt(input: Array) -> Array:
    """The square root; nan for negative numbers."""
    return np.sqrt(input)


@op(input=lambda g, out: -0.5 * g * (out * out * out), cast="float", inplace=True, wide=True)
def rsqrt(input: Array) -> Array:
    """``1 / sqrt(input)``."""
    return 1 / np.sqrt(input)


# Exponentials and logarithms


@op(input=lambda g, out: g * out, cast="float", inplace=True)
def exp(input: Array) -> Array:
    """The exponential function."""
    return np.exp(input)


@op(input=lambda g, out: g * out * LN_2, cast="float", inplace=True)
def exp2(input: Array) -> Array:
    """``2 ** input``."""
    return np.exp2(input)


@op(input=lambda g, out: g * (out + 1), cast="float", inplace=True)
def expm1(input: Array) -> Array:
    """``exp(input) - 1``, exact near 0."""
    return np.expm1(input)


@op(input=lambda g, input: g / input, cast="float", inplace=True)
def log(input: Array) -> Array:
    """The natural logarithm; -inf at 0, nan below."""
    return np.log(input)


@op(input=lambda g, input: g / (input * LN_2), cast="float", inplace=True)
def log2(input: Array) -> Array:
    """The logarithm to base 2."""
    return np.log2(input)


@op(input=lambda g, input: g / (input * LN_10), cast="float", inplace=True)
def log10(input: Array) -> Array:
    """The logarithm to base 10."""
    return np.log10(input)


@op(input=lambda g, input: g / (input + 1), cast="float", inplace=True, node="Log1PBackward0")
def log1p(input: Array) -> Array:
    """``log(1 + input)``, exact near 0."""
    return np.log1p(input)


# Trigonometry, angles in radians


@op(input=lambda g, input: g * cos(input), cast="float", inplace=True)
def sin(input: Array) -> Array:
    """The sine of an angle in radians."""
    return np.sin(input)


@op(input=lambda g, input: g * -sin(input), cast="float", inplace=True)
def cos(input: Array) -> Array:
    """The cosine of an angle in radians."""
    return np.cos(input)


@op(input=lambda g, out: g * (1 + out * out), cast="float", inplace=True)
def tan(input: Array) -> Array:
    """The tangent of an angle in radians."""
    return np.tan(input)


@op(input=lambda g, input: g * rsqrt(1 - input * input), cast="float", inplace=True)
def asin(input: Array) -> Array:
    """The inverse sine, in [-pi/2, pi/2]; nan outside [-1, 1]."""
    return np.arcsin(input)


@op(input=lambda g, input: g * -rsqrt(1 - input * input), cast="float", inplace=True)
def acos(input: Array) -> Array:
    """The inverse cosine, in [0, pi]; nan outside [-1, 1]."""
    return np.arccos(input)


@op(input=lambda g, input: g / (input * input + 1), cast="float", inplace=True)
def atan(input: Array) -> Array:
    """The inverse tangent, in [-pi/2, pi/2]."""
    return np.arctan(input)


@op(
    input=lambda g, input, other: other * divide_by_squares(g, input, other),
    other=lambda g, input, other: -input * divide_by_squares(g, input, other),
    cast="float", inplace=True, numbers=False,
)  # fmt: skip
def atan2(input: Array, other: Array) -> Array:
    """The angle of the point with x ``other`` and y ``input``, in [-pi, pi]."""
    return np.arctan2(input, other)


def divide_by_squares(g: Any, input: Any, other: Any) -> Any:
    """``g / (input**2 + other**2)``, 0 at the origin."""
    square = input * input + other * other
    return g * zero_where(1 / square, square == 0)


@op(input=lambda g, input: g * cosh(input), cast="float", inplace=True)
def sinh(input: Array) -> Array:
    """The hyperbolic sine."""
    return np.sinh(input)


@op(input=lambda g, input: g * sinh(input), cast="float", inplace=True)
def cosh(input: Array) -> Array:
    """The hyperbolic cosine."""
    return np.cosh(input)


@op(
    input=lambda g, input: g * rsqrt(input * input + 1),
    cast="float", inplace=True, inplace_node="AsinhBackward1",
)  # fmt: skip
def asinh(input: Array) -> Array:
    """The inverse hyperbolic sine."""
    return np.arcsinh(input)


@op(
    input=lambda g, input: g * rsqrt(input * input - 1),
    cast="float", inplace=True, inplace_node="AcoshBackward1",
)  # fmt: skip
def acosh(input: Array) -> Array:
    """The inverse hyperbolic cosine; nan below 1."""
    return np.arccosh(input)


@op(
    input=lambda g, input: g / (1 - input * input),
    cast="float", inplace=True, inplace_node="AtanhBackward1",
)  # fmt: skip
def atanh(input: Array) -> Array:
    """The inverse hyperbolic tangent; nan outside [-1, 1]."""
    return np.arctanh(input)


# Magnitude and sign


@op(input=lambda g, input: g * sign(input), inplace=True, dunder="abs")
def abs(input: Array) -> Array:
    """The absolute value; its gradient at 0 is 0."""
    check_kind("abs_cpu", input, kinds="fiu")
    return np.abs(input)


@op(input=lambda g: vanishing(g), inplace=True)
def sign(input: Array) -> Array:
    """The sign of each element: -1, 0 or 1; 0 for nan."""
    if input.dtype.kind == "b":
        return input.copy()
    return (input > 0).astype(input.dtype) - (input < 0).astype(input.dtype)


# Rounding


@op(input=lambda g: vanishing(g), inplace=True)
def floor(input: Array) -> Array:
    """The greatest integer that is at most ``input``."""
    check_kind("floor_vml_cpu", input, kinds="fiu")
    return np.floor(input) if input.dtype.kind == "f" else np.array(input)


@op(input=lambda g: vanishing(g), inplace=True)
def ceil(input: Array) -> Array:
    """The smallest integer that is at least ``input``."""
    check_kind("ceil_vml_cpu", input, kinds="fiu")
    return np.ceil(input) if input.dtype.kind == "f" else np.array(input)


@op(input=lambda g: vanishing(g), inplace=True)
def trunc(input: Array) -> Array:
    """The integer part of each element."""
    check_kind("trunc_vml_cpu", input, kinds="fiu")
    return np.trunc(input) if input.dtype.kind == "f" else np.array(input)


@hidden_op(input=lambda g: vanishing(g), inplace=True, node="RoundBackward0")
def round_whole(input: Array) -> Array:
    """The nearest integer; halves are rounded to the even one."""
    check_kind("round_vml_cpu", input, kinds="fiu")
    return np.round(input) if input.dtype.kind == "f" else np.array(input)


@hidden_op(input=lambda g: vanishing(g), inplace=True, node="RoundBackward1", wide=True)
def round_decimals(input: Array, decimals: int) -> Array:
    """The nearest number with ``decimals`` decimals; halves are rounded to the even one."""
    decimals = as_int(decimals, "decimals")
    check_kind("round_cpu" if decimals else "round_vml_cpu", input)
    return np.round(input, decimals)


@overloads(
    {"Tensor input": round_whole, "Tensor input, *, int decimals": round_decimals}, inplace=True
)
def round(input: Any, *, decimals: int | None = None) -> Any:
    """The nearest number with ``decimals`` decimals; halves are rounded to the even one.

    Args:
        decimals: the number of decimals; negative ones round to tens, hundreds, ... Default: 0.

    Raises:
        NotImplementedError: for ``decimals`` with integers, and for bools.
    """


@op(input=lambda g: g, inplace=True)
def frac(input: Array) -> Array:
    """The fractional part of each element, ``input - trunc(input)``.

    Raises:
        NotImplementedError: unless the dtype is floating-point.
    """
    check_kind("frac_cpu", input)
    return input - np.trunc(input)


# Maximum and minimum of two


def tie_formula(g: Any, lost: Any, tied: Any) -> Any:
    """The gradient of an operand of a maximum or minimum: 0 where ``lost``, half where ``tied``."""
    return zero_where(halved_where(g, tied), lost)


@op(
    input=lambda g, input, other: tie_formula(g, input < other, input == other),
    other=lambda g, input, other: tie_formula(g, input > other, input == other),
    cast="promote", numbers=False,
)  # fmt: skip
def maximum(input: Array, other: Array) -> Array:
    """The greater of ``input`` and ``other``; nan if either is. Equal ones share the gradient."""
    return np.maximum(input, other)


@op(
    input=lambda g, input, other: tie_formula(g, input > other, input == other),
    other=lambda g, input, other: tie_formula(g, input < other, input == other),
    cast="promote", numbers=False,
)  # fmt: skip
def minimum(input: Array, other: Array) -> Array:
    """The smaller of ``input`` and ``other``; nan if either is. Equal ones share the gradient."""
    return np.minimum(input, other)


# Powers.


def pow_formula(g: Any, input: Any, exponent: float) -> Any:
    """The gradient of `pow_number`."""
    if exponent == 0:
        return vanishing(g)
    plain = exponent == 2 and not isinstance(input, Tensor)  # faster, with the same bits
    return g * (exponent * (input if plain else pow_number(input, exponent - 1)))


@hidden_op(input=pow_formula, inplace=True, node="PowBackward0", arithmetic=True)
def pow_number(input: Array, exponent: float) -> Array:
    """`pow` with a Python number as exponent, for which PyTorch has an operation of its own."""
    kind: str = input.dtype.kind
    if kind != "f" and isinstance(exponent, np.generic):
        exponent = exponent.item()
    if kind != "f" and isinstance(exponent, float):
        input = input.astype(dtypes.default.numpy)
    elif kind == "b":
        if isinstance(exponent, bool):
            return np.logical_or(input, not exponent)
        input = input.astype(np.int64)
    if exponent == 2:
        return input * input
    if input.dtype.kind != "f":
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return np.power(input, number_as(exponent, input.dtype))
    special = NUMBER_POWERS.get(exponent)
    if special is None or (input.dtype == HALF and exponent in (0.5, -0.5)):
        convert = number_as if input.dtype == HALF else dtypes.array_of_number
        return np.power(input, convert(exponent, input.dtype))
    if input.dtype == HALF:
        return special(input.astype(SINGLE)).astype(HALF)
    return special(input)


NUMBER_POWERS: dict[float, Any] = {
    0.5: np.sqrt,
    1: np.positive,
    3: lambda x: x * x * x,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1: np.reciprocal,
    -2: lambda x: 1 / (x * x),
}


@hidden_op(
    # The formulas name `out` even if unused: as in PyTorch, a write to the result raises an error.
    input=lambda g, input, exponent, out: zero_where(
        g * (exponent * pow_tensor(input, exponent - 1)), exponent == 0
    ),
    exponent=lambda g, input, exponent, out: (
        g * zero_where(out * log(input), (input == 0) & (exponent >= 0))
    ),
    cast="promote", inplace=True, node="PowBackward1",
)  # fmt: skip
def pow_tensor(input: Array, exponent: Array) -> Array:
    """`pow` of two tensors."""
    check_kind("pow", input, kinds="fiu")
    return (pow_of_integers if exponent.dtype.kind == "i" else pow_of_reals)(input, exponent)


def pow_of_reals(input: Array, exponent: Array) -> Array:
    """Powers of real numbers; unlike the root, the power 0.5 of -inf is inf and of -0.0 is 0.0."""
    # NumPy computes a square root if the only exponent is 0.5. A traced step must be right for
    # other exponents, too: its arrays have another type and reach the general computation below.
    if type(exponent) is np.ndarray:
        if not exponent.ndim:
            if exponent.item() != 0.5:
                return np.power(input, exponent)
            root = np.sqrt(input) + 0  # no -0.0
            finite = input.min(initial=0) > -math.inf  # False with nan, too
            return root if finite else np.where(input == -math.inf, -input, root)
        apart = exponent.shape == input.shape and exponent.size > 1 and 0 not in exponent.strides
        if apart or not (exponent == 0.5).any():
            return np.power(input, exponent)
    signless = (exponent == 0.5) & ((input == 0) | (input == -math.inf))
    input = np.where(signless, np.abs(input), input)
    return np.power(input, exponent)


def pow_of_integers(input: Array, exponent: Array) -> Array:
    """Powers of integers, rounded towards zero where the exponent is negative."""
    if not exponent.size or exponent.min() >= 0:
        return np.power(input, exponent)
    units = np.where(exponent % 2, input, 1) * (np.abs(input) == 1)  # 1 / n is 0 for any other n
    return np.where(exponent < 0, units, np.power(input, np.maximum(exponent, 0)))


@hidden_op(
    exponent=lambda g, input, exponent, out: (
        zero_where(g * (out * -math.inf), exponent >= 0)
        if input == 0
        else g * (out * (math.log(input) if input > 0 else math.nan))
    ),
    node="PowBackward2",
)  # fmt: skip
def pow_base(exponent: Array, input: Any) -> Array:
    """`pow` of a Python number."""
    exponent = exponent.astype(dtypes.result_type([exponent, input])._numpy, copy=False)
    check_kind("pow", exponent, kinds="fiu")
    base = number(input, exponent.dtype)
    return (
        pow_of_integers(base, exponent) if exponent.dtype.kind == "i" else np.power(base, exponent)
    )


@overloads(
    {
        "Tensor input, Tensor exponent": pow_tensor,
        "Number self, Tensor exponent": pow_base,
        "Tensor input, Number exponent": pow_number,
    },
    inplace=True,
)
def pow(input: Any, exponent: Any) -> Any:
    """``input ** exponent``, broadcasting; one of the two may be a Python number.

    Raises:
        RuntimeError: for negative integer powers of integers.
    """


@method
def square(input: Any) -> Any:
    """``input ** 2``."""
    return pow_number(input, 2)


# Arithmetic with numbers, for which PyTorch has node classes of its own.


@hidden_op(input=lambda g, other: g * other, node="MulBackward1", wide=True)
def times_number(input: Array, other: float) -> Array:
    """``input * other`` in the dtype of ``input``."""
    return input * input.dtype.type(other)


@hidden_op(input=lambda g, other: g / other, node="DivBackward1", wide=True)
def over_number(input: Array, other: float) -> Array:
    """``input / other`` in the dtype of ``input``."""
    return input / input.dtype.type(other)


@hidden_op(input=lambda g: g, node="AddBackward1")
def plus_number(input: Array, other: float) -> Array:
    """``input + other`` in the dtype of ``input``."""
    return input + input.dtype.type(other)


# Products and quotients in PyTorch's composed functions: integers become floating-point.


def times(values: Any, number: float) -> Any:
    """``values * number``; floats keep their dtype."""
    return times_number(values, number) if values.is_floating_point() else values * number


def over(values: Any, number: float) -> Any:
    """``values / number``; floats keep their dtype."""
    return over_number(values, number) if values.is_floating_point() else values / number


# PyTorch's functions of complex tensors: a tensor of real numbers is its own real part.


def define_identity(name: str) -> None:
    """Define a method and a function ``name`` that return the tensor itself."""

    def same(input: Tensor) -> Tensor:
        check_tensors(input)
        return input

    rename(same, name).__doc__ = "The tensor itself, whose numbers are real."
    method(same)


for _name in ("conj", "resolve_conj", "resolve_neg"):
    define_identity(_name)


@public
def real(input: Tensor) -> Tensor:
    """The real part: the tensor itself, since its numbers are real."""
    check_tensors(input)
    return input


@public
def imag(input: Tensor) -> Tensor:
    """The imaginary part, which no tensor has, since no dtype is complex.

    Raises:
        TypeError: always.
    """
    check_tensors(input)
    raise TypeError("imag is not implemented for tensors with non-complex dtypes.")


_properties: dict[str, Any] = {f.__name__: property(f, doc=f.__doc__) for f in (real, imag)}
for _name, _property in _properties.items():
    method(_property, name=_name, public=False)
