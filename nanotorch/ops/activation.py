"""Activations, special functions, signs, and the parts of a floating-point number."""

import math
from typing import Any

import numpy as np

from nanotorch._core.dtypes import Number, as_dtype
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import OPS, Array, hidden_op, method, number, op, public
from nanotorch._core.sums import BITS, SMALL, maximum_along, select, sum_over
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import (
    LARGEST,
    check_first_tensors,
    check_kind,
    check_ndim,
    check_tensors,
    dtype_char,
    inplace_form,
    number_as,
    require,
    unsupported_dtype,
)
from nanotorch.ops.binary import clamp, clamp_to_numbers
from nanotorch.ops.elementwise import (
    cos,
    exp,
    refuse_bool,
    sin,
    square,
    tied,
    vanishing,
    zero_where,
)
from nanotorch.ops.gathering import where
from nanotorch.ops.joining import cat_along
from nanotorch.ops.memory import inplace
from nanotorch.ops.reduction import sum
from nanotorch.ops.shape import slice_along

# Activations.


@op(input=lambda g, out: tanh_backward(g, out), cast="float", inplace=True)
def tanh(input: Array) -> Array:
    """The hyperbolic tangent."""
    return np.tanh(input)


@hidden_op(
    grad=lambda g, result: tanh_backward(g, result),
    result=lambda g, grad, result: g * grad * (-2.0 * result),
    node="TanhBackwardBackward0",
    wide=True,
)
def tanh_backward(grad: Array, result: Array) -> Array:
    """``grad * (1 - result²)``: the gradient of `tanh`, from its result."""
    slope = np.multiply(result, result, out=...)
    np.subtract(number(1, slope.dtype), slope, out=slope)
    return np.multiply(grad, slope, out=slope)


@op(input=lambda g, out: sigmoid_backward(g, out), cast="float", inplace=True, wide=True)
def sigmoid(input: Array) -> Array:
    """``1 / (1 + exp(-input))``."""
    one, out = number(1, input.dtype), np.negative(input, out=...)
    np.exp(out, out=out)
    np.add(out, one, out=out)
    return np.divide(one, out, out=out)


@hidden_op(
    grad=lambda g, result: sigmoid_backward(g, result),
    result=lambda g, grad, result: g * grad * (1.0 - 2.0 * result),
    node="SigmoidBackwardBackward0",
    wide=True,
)
def sigmoid_backward(grad: Array, result: Array) -> Array:
    """``grad * ((1 - result) * result)``: the gradient of `sigmoid`, from its result."""
    slope = np.subtract(number(1, result.dtype), result, out=...)
    np.multiply(slope, result, out=slope)
    return np.multiply(grad, slope, out=slope)


@op(input=lambda g, out: relu_backward(g, out), inplace=True)
def relu(input: Array) -> Array:
    """``max(input, 0)``; its gradient at 0 is 0.

    Raises:
        NotImplementedError: for a bool tensor.
    """
    refuse_bool(input, "Boolean inputs not supported for relu")
    if input.size < SMALL:
        return np.maximum(number(0, input.dtype), input)  # this order keeps -0.0
    out = np.zeros_like(input)  # NumPy is three times as slow with a single number
    return np.maximum(out, input, out=out)


# The gradients of piecewise linear functions are operations of their own: they depend on the input,
# so they require grad, although their derivative by the input is 0.


@hidden_op(
    g=lambda g, result: relu_backward(g, result),
    result=lambda g: vanishing(g),
    node="ThresholdBackwardBackward0",
)
def relu_backward(g: Array, result: Array) -> Array:
    """The gradient of `relu`, from its result: 0 where ``result`` is 0, else ``g``.

    A product would turn an infinite ``g`` into nan. The bits are masked, since NumPy's `where` is
    several times as slow.
    """
    bits = BITS.get(result.dtype.itemsize)
    if bits is None or g.dtype != result.dtype or g.__class__ is not np.ndarray:
        return np.where(result <= 0, g.dtype.type(0), g)
    mask = np.less_equal(result, number(0, result.dtype), out=...).astype(bits)
    np.subtract(mask, number(1, bits), out=mask)  # all bits set where the gradient passes
    return np.bitwise_and(mask, g.view(bits), out=mask).view(g.dtype)


@hidden_op(
    input=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope),
    wide=True,
)
def leaky_relu(input: Array, negative_slope: Number = 0.01) -> Array:
    """``input`` where positive, ``negative_slope * input`` elsewhere."""
    check_kind("leaky_relu_cpu", input)
    slope = input.dtype.type(negative_slope)
    low = input * slope
    if 0 < slope <= 1:  # in a third of the time
        return np.maximum(input, low)
    return select(input > 0, input, low)


@hidden_op(
    g=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope),
    input=lambda g: vanishing(g),
)
def leaky_relu_backward(g: Array, input: Array, negative_slope: Number) -> Array:
    """The gradient of `leaky_relu`."""
    if 0 <= negative_slope <= 1:
        return g * np.maximum((input > 0).astype(g.dtype), g.dtype.type(negative_slope))
    return select(input > 0, g, g * g.dtype.type(negative_slope))


@hidden_op(
    input=lambda g, input, beta, threshold: where(
        input * beta > threshold, g, g * sigmoid(input * beta)
    ),
    wide=True,
)
def softplus(input: Array, beta: Number = 1, threshold: Number = 20) -> Array:
    """``log(1 + exp(beta * input)) / beta``; ``input`` where ``beta * input > threshold``."""
    check_kind("softplus_cpu", input)
    scaled = input * input.dtype.type(beta)
    smooth = np.log1p(np.exp(np.minimum(scaled, threshold))) / input.dtype.type(beta)
    return select(scaled > threshold, input, smooth)


# Softmax along a dimension. Both functions subtract the maximum, so that no exponential overflows.


@hidden_op(
    input=lambda g, out, dim: out * (g - sum(g * out, dim, True)),
    node="SoftmaxBackward0",
    in_order=True,
    wide=True,
)
def softmax_along(input: Array, dim: int) -> Array:
    """The kernel of `softmax`."""
    if input.dtype.kind != "f":
        return refuse_integers("softmax", input, dim)
    if input.ndim == 0:
        return np.exp(input - input)  # 1, but nan for nan and infinity
    e = np.subtract(input, maximum_along(input, dim), out=...)
    np.exp(e, out=e)
    return np.divide(e, sum_over(e, (dim,), True), out=e)


@hidden_op(
    input=lambda g, out, dim: g - exp(out) * sum(g, dim, True),
    node="LogSoftmaxBackward0",
    in_order=True,
    wide=True,
)
def log_softmax_along(input: Array, dim: int) -> Array:
    """The kernel of `log_softmax`: ``input - log(sum(exp(input)))`` along ``dim``."""
    if input.dtype.kind != "f":
        return refuse_integers("log_softmax", input, dim)
    if input.ndim == 0:
        return input - input
    shifted = input - maximum_along(input, dim)
    total = sum_over(np.exp(shifted), (dim,), True)
    return np.subtract(shifted, np.log(total), out=shifted)


def refuse_integers(name: str, input: Array, dim: int) -> Array:
    """Raise PyTorch's error for a dtype that is not floating-point, unless ``input`` is empty."""
    if input.size:
        last = "lastdim_" if dim in (-1, input.ndim - 1) else ""
        raise unsupported_dtype(f"{name}_{last}kernel_impl", input)
    return np.empty_like(input)


@method
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``exp(input)`` divided by its sum along ``dim``: numbers in [0, 1] with sum 1.

    Args:
        dim: a dimension of ``input``.
        dtype: the dtype of the computation and of the result. Default: that of ``input``.
    """
    held = input if dtype is None else input.to(as_dtype(dtype))
    return softmax_along(held, normal_dim(dim, held.ndim))


@method
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, without overflow.

    Args:
        dim: a dimension of ``input``.
        dtype: the dtype of the computation and of the result. Default: that of ``input``.
    """
    held = input if dtype is None else input.to(as_dtype(dtype))
    return log_softmax_along(held, normal_dim(dim, held.ndim))


# Further activations, elementwise, each recorded as one node.


def silu_formula(g: Any, input: Any) -> Any:
    """The gradient of `silu`."""
    s = sigmoid(input)
    return g * (s * (1 + input * (1 - s)))


@hidden_op(input=silu_formula, inplace=True, wide=True)
def silu(input: Array) -> Array:
    """``input * sigmoid(input)``."""
    check_kind("silu_cpu", input)
    out = np.negative(input, out=...)
    np.exp(out, out=out)
    np.add(out, input.dtype.type(1), out=out)
    return np.divide(input, out, out=out)


@hidden_op(input=lambda g, input: g * sigmoid(-input), in_order=True, wide=True)
def log_sigmoid(input: Array) -> Array:
    """``log(sigmoid(input))``, without overflow."""
    check_kind("log_sigmoid_cpu", input)
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


@hidden_op(
    input=lambda g, input, alpha, scale: (
        g * exp(clamp(input, None, 0.0))
        if alpha == scale == 1
        else g * where(input > 0, scale, exp(clamp(input, None, 0.0)) * (alpha * scale))
    ),
    wide=True,
)
def elu(input: Array, alpha: Number = 1.0, scale: Number = 1.0) -> Array:
    """``scale * input`` where positive, ``scale * alpha * (exp(input) - 1)`` elsewhere."""
    check_kind("elu_cpu", input)
    kind = input.dtype.type
    below = exp_minus_one(np.minimum(0, input))
    return select(input > 0, input * kind(scale), kind(alpha * scale) * below)


def exp_minus_one(x: Array) -> Array:
    """``exp(x) - 1`` as ``tanh(x / 2) (exp(x) + 1)``, exact near 0: NumPy's `expm1` is slow."""
    kind = x.dtype.type
    out = np.tanh(x * kind(0.5))
    out *= np.exp(x) + kind(1)
    return out


@hidden_op(
    input=lambda g, input, alpha: g * exp(clamp(input, None, 0.0) / alpha),
    wide=True,
)
def celu(input: Array, alpha: Number = 1.0) -> Array:
    """``input`` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere."""
    require(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU")
    check_kind("elu_cpu", input)
    kind = input.dtype.type
    below = exp_minus_one(np.minimum(0, input) * kind(1 / alpha))
    return select(input > 0, input, kind(alpha) * below)


@hidden_op(
    input=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
    inplace=True,
)
def hardtanh(input: Array, min_val: Number = -1.0, max_val: Number = 1.0) -> Array:
    """``input`` clamped to [``min_val``, ``max_val``]; its gradient at the limits is 0."""
    refuse_bool(input, "Bool inputs not supported for hardtanh")
    if input.dtype.kind != "f":
        min_val, max_val = (int(number_as(n, np.dtype(np.int64))) for n in (min_val, max_val))
    return clamp_to_numbers(input, min_val, max_val)


@hidden_op(
    g=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
    input=lambda g: vanishing(g),
)
def hardtanh_backward(g: Array, input: Array, min_val: Number, max_val: Number) -> Array:
    """The gradient of `hardtanh`: ``g`` strictly between the limits, else 0."""
    return select((input > min_val) & (input < max_val), g, g.dtype.type(0))


def mish_formula(g: Any, input: Any) -> Any:
    """The gradient of `mish`."""
    n = exp(clamp(input, None, 40.0))
    n = n * (n + 2)
    t = n / (n + 2)
    return g * (t + input * sigmoid(input) * (1 - t * t))


@hidden_op(input=mish_formula, inplace=True, wide=True)
def mish(input: Array) -> Array:
    """``input * tanh(softplus(input))``."""
    check_kind("mish_cpu", input)
    # The hyperbolic tangent is n / (n + 2) with n = (1 + exp(x))² - 1: NumPy's `logaddexp` is slow.
    out = np.exp(np.minimum(input, 40))
    out *= out + 2
    return input * (out / (out + 2))


def glu_formula(g: Any, input: Any, dim: int) -> Any:
    """The gradient of `glu_along`: that of the first half, then that of the second."""
    half = input.shape[dim] // 2
    first, gate = slice_along(input, dim, 0, half), slice_along(input, dim, half, None)
    gate = sigmoid(gate)
    passed = g * gate
    return cat_along((passed, passed * first * (1 - gate)), dim)


@hidden_op(input=glu_formula, node="GluBackward0", wide=True)
def glu_along(input: Array, dim: int) -> Array:
    """The first half of ``input`` along ``dim`` times the sigmoid of the second half."""
    check_kind("glu_cpu", input)
    first, second = np.split(input, 2, dim)
    return first / (1 + np.exp(-second))


# Further piecewise activations, each recorded as one node.
#
# As above, their gradients are operations of their own.


THIRD = 1 / 3
SIXTH = float(np.float32(1 / 6))  # PyTorch's slope of `hardsigmoid` in every precision


@hidden_op(input=lambda g, input: hardsigmoid_backward(g, input), inplace=True, wide=True)
def hardsigmoid(input: Array) -> Array:
    """``input + 3`` clamped to [0, 6], divided by 6."""
    check_kind("hardsigmoid_cpu", input)
    return np.clip(input + 3, 0, 6) / 6


@hidden_op(
    g=lambda g, input: hardsigmoid_backward(g, input),
    input=lambda g: vanishing(g),
    wide=True,
)
def hardsigmoid_backward(g: Array, input: Array) -> Array:
    """The gradient of `hardsigmoid`: ``g / 6`` between -3 and 3, else 0."""
    return select((input > -3) & (input < 3), g * SIXTH, g.dtype.type(0))


@hidden_op(input=lambda g, input: hardswish_backward(g, input), inplace=True, wide=True)
def hardswish(input: Array) -> Array:
    """``input * hardsigmoid(input)``."""
    check_kind("hardswish_cpu", input)
    held = np.clip(input + 3, 0, 6)
    held *= input
    return held / 6


@hidden_op(
    grad=lambda g, input: hardswish_backward(g, input),
    input=lambda g, grad, input: where((input > -3) & (input < 3), g * grad * THIRD, 0.0),
    wide=True,
)
def hardswish_backward(grad: Array, input: Array) -> Array:
    """The gradient of `hardswish`: slope ``input / 3 + 1 / 2`` from -3 to 3, 0 below, 1 above."""
    slope = select(input >= 3, input.dtype.type(1), input / 3 + 0.5)
    return grad * select(input <= -3, input.dtype.type(0), slope)


@op(input=lambda g, input, lambd: shrink_backward(g, input, lambd))
def hardshrink(input: Array, lambd: Number = 0.5) -> Array:
    """``input``, but 0 from ``-lambd`` to ``lambd``.

    Raises:
        NotImplementedError: for integers and bools.
    """
    check_kind("hardshrink_cpu", input)
    return zero_within(input, input, number_as(lambd, input.dtype))


@hidden_op(input=lambda g, input, lambd: shrink_backward(g, input, lambd))
def softshrink(input: Array, lambd: Number = 0.5) -> Array:
    """``input`` moved by ``lambd`` towards 0; 0 from ``-lambd`` to ``lambd``."""
    check_kind("softshrink_check", input)
    largest = LARGEST[input.dtype]
    message = "lambda must be in range [0, {:g}] for input dtype {}, but found {:g}"
    require(0 <= lambd <= largest, message, largest, dtype_char(input), lambd)
    moved = input - np.copysign(input.dtype.type(lambd), input)
    return select(np.abs(input) <= lambd, input * input.dtype.type(0), moved)


def zero_within(values: Array, input: Array, lambd: Any) -> Array:
    """``values``, but 0 where ``input`` is from ``-lambd`` to ``lambd``."""
    return select((input >= -lambd) & (input <= lambd), values.dtype.type(0), values)


@hidden_op(
    g=lambda g, input, lambd: shrink_backward(g, input, lambd),
    input=lambda g: vanishing(g),
)
def shrink_backward(g: Array, input: Array, lambd: Number) -> Array:
    """The gradient of `hardshrink` and `softshrink`: ``g``, but 0 where they give 0."""
    return zero_within(g, input, lambd)


@hidden_op(input=lambda g, input, threshold: threshold_backward(g, input, threshold))
def threshold(input: Array, threshold: Number, value: Number) -> Array:
    """``input`` where greater than ``threshold``, ``value`` elsewhere."""
    return above_or(input, input, threshold, value)


def above_or(values: Array, input: Array, threshold: Number, value: Number) -> Array:
    """``values`` where ``input`` is greater than ``threshold``, else ``value``; keeps nan."""
    check_kind("threshold_cpu", input, kinds="fiu")
    low = number_as(threshold, input.dtype)
    return select(input <= low, number_as(value, values.dtype), values)


@hidden_op(
    g=lambda g, input, threshold: threshold_backward(g, input, threshold),
    input=lambda g: vanishing(g),
    node="ThresholdBackwardBackward0",
)
def threshold_backward(g: Array, input: Array, threshold: Number) -> Array:
    """The gradient of `threshold`: ``g`` where ``input`` is greater than ``threshold``, else 0."""
    return above_or(g, input, threshold, 0)


hardsigmoid_, hardswish_, hardtanh_, mish_, silu_ = (
    inplace_form(name) for name in ("hardsigmoid", "hardswish", "hardtanh", "mish", "silu")
)


# Slopes that are a parameter per channel, or random per element


@hidden_op(
    input=lambda g, input, weight: tied(where(input > 0, g, g * weight), input),
    weight=lambda g, input, weight: tied(where(input > 0, 0.0, g * input), weight),
)
def prelu_kernel(input: Array, weight: Array) -> Array:
    """``input`` where positive, ``weight * input`` elsewhere; ``weight`` broadcasts."""
    return select(input > 0, input, input * weight)


@method
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, ``weight * input`` elsewhere.

    Args:
        weight: one element, or a vector with an element for each channel.

    Shape:
        ``input`` (N, C, ...) with any number of dimensions; the result has the same shape.

    Raises:
        RuntimeError: for a weight that does not fit, or for two dtypes.

    Reference:
        He et al., Delving Deep into Rectifiers, ICCV 2015, equation 1.
    """
    check_first_tensors("prelu", input=input, weight=weight)
    require(input.dtype == weight.dtype, "prelu(): weight must be of {}", input.dtype)
    check_kind("prelu_cpu", input._array)
    check_ndim("prelu", weight, 0, 1)
    ndim, count = input.ndim, weight.numel()
    if count != 1:
        check_ndim("prelu", input, 1)
        channels = input.size(1) if ndim > 1 else 1
        require(channels == count, "prelu(): expected 1 or {} weights, not {}", channels, count)
    shape = (1, count, *(1,) * (ndim - 2)) if ndim > 1 else (count,) * ndim
    return prelu_kernel(input, weight.view(shape))


@hidden_op()
def equal_slopes(input: Array, slope: float) -> Array:
    """``slope`` where ``input`` is not positive, 1 elsewhere."""
    check_kind("leaky_relu_cpu", input)
    return np.where(input > 0, 1, slope).astype(input.dtype)


@hidden_op(input=lambda g, slopes: g * slopes, node="RreluWithNoiseBackward0")
def by_slopes(input: Array, slopes: Array) -> Array:
    """``input`` times the slope of each element: `rrelu` with slopes that are drawn."""
    return input * slopes


@inplace(input=lambda g, slopes: g * slopes, node="RreluWithNoiseBackward1")
def by_slopes_(input: Array, slopes: Array) -> Array:
    """In-place `by_slopes`."""
    return input * slopes


# In-place activations, which PyTorch records as other nodes than the functions.
#
# The gradient is computed from the result, since the input is overwritten. The result must have the
# sign of the input: a negative slope or scale raises an error in the backward pass.


def not_negative(slope: float, name: str) -> float:
    """The slope itself; refuse a negative one."""
    message = "the backward pass of {} in place needs a slope that is not negative"
    require(slope >= 0, message, name)
    return slope


@inplace(
    input=lambda g, out, negative_slope: tied(
        where(out > 0, g, g * not_negative(negative_slope, "leaky_relu")), out
    ),
    node="LeakyReluBackward1", wide=True,
)  # fmt: skip
def leaky_relu_(input: Array, negative_slope: Number = 0.01) -> Array:
    """In-place `leaky_relu`."""
    return OPS["leaky_relu"].kernel(input, negative_slope)


# Below 0 the result is ``alpha * scale * (exp(x) - 1)``; at 0 the second derivative is 0.
@inplace(
    input=lambda g, out, alpha, scale: where(
        out > 0, g * scale, g * (where(out < 0, out, 0.0) + not_negative(alpha, "elu") * scale)
    ),
    node="EluBackward1", wide=True,
)  # fmt: skip
def elu_(input: Array, alpha: Number = 1.0, scale: Number = 1.0) -> Array:
    """In-place `elu`."""
    return OPS["elu"].kernel(input, alpha, scale)


@inplace(
    input=lambda g, out, alpha: where(
        out > 0, g, g * (where(out < 0, out, 0.0) / not_negative(alpha, "celu") + 1)
    ),
    node="CeluBackward1", wide=True,
)  # fmt: skip
def celu_(input: Array, alpha: Number = 1.0) -> Array:
    """In-place `celu`."""
    return OPS["celu"].kernel(input, alpha)


@inplace(
    input=lambda g, input, threshold: threshold_backward(g, input, threshold),
    node="ThresholdBackward1",
)
def threshold_(input: Array, threshold: Number, value: Number) -> Array:
    """In-place `threshold`."""
    return OPS["threshold"].kernel(input, threshold, value)


# The logarithm of the gamma function and its derivatives.
#
# The logarithm is the C library's. A recurrence leads each derivative to large arguments, where a
# series in Bernoulli numbers converges quickly. All are computed in double precision and rounded.
#
# Reference:
#     Abramowitz and Stegun, Handbook of Mathematical Functions, 6.3.18, 6.4.11, 23.2.


LARGE = 10.0
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def by_number(function: Any, input: Array) -> Array:
    """``function``, one of the C library's, of each element."""
    each: Any = np.frompyfunc(function, 1, 1)
    return np.asanyarray(each(input), input.dtype)


@op(input=lambda g, input: g * digamma(input), cast="float", inplace=True, wide=True)
def lgamma(input: Array) -> Array:
    """``log(abs(gamma(input)))``; infinite at 0 and the negative integers."""
    x = input.astype(np.float64)
    pole = (x <= 0) & (x == np.floor(x))
    values = by_number(math.lgamma, np.where(pole, 1.0, x))
    return np.where(pole, math.inf, values).astype(input.dtype)


@op(input=lambda g, input: g * digamma_slope(input, 1), cast="float", inplace=True, wide=True)
def digamma(input: Array) -> Array:
    """The derivative of `lgamma`; infinite at 0, nan at the negative integers."""
    x = input.astype(np.float64)
    low = x < 0
    values = -zeta(1, np.where(low, 1 - x, np.where(x > 0, x, 1.0)))
    # The distance to the nearest integer keeps all digits close to zero.
    values = np.where(low, values - math.pi / np.tan(math.pi * (x - np.round(x))), values)
    values = np.where(low & (x == np.floor(x)), math.nan, values)
    values = np.where(x == 0, np.copysign(math.inf, -x), np.where(x == math.inf, x, values))
    return np.where(np.isnan(x), x, values).astype(input.dtype)


def zeta(s: int, x: Array) -> Array:
    """The sum of ``(x + k)**-s`` over all k >= 0, the Hurwitz zeta function; for ``s = 1``, where
    the sum is infinite, minus `digamma`."""
    shift = np.maximum(np.ceil(LARGE - x), 0.0)
    total = np.zeros_like(x)
    for k in range(int(shift.max(initial=0.0))):
        total += np.where(k < shift, (x + k) ** -s, 0.0)
    top = x + shift
    total += 0.5 * top**-s + (-np.log(top) if s == 1 else top ** (1 - s) / (s - 1))
    factor, power = float(s), top ** -(s + 1)
    for k, b in enumerate(BERNOULLI):
        total += b / math.factorial(2 * k + 2) * factor * power
        factor *= (s + 2 * k + 1) * (s + 2 * k + 2)
        power = power / (top * top)
    return total


@hidden_op(
    input=lambda g, input, n: g * digamma_slope(input, n + 1),
    cast="float", node="PolygammaBackward0", wide=True,
)  # fmt: skip
def digamma_slope(input: Array, n: int) -> Array:
    """The ``n``-th derivative of `digamma`."""
    x = input.astype(np.float64)
    # The recurrence would need many steps from far below zero. For n = 1 the reflection formula
    # leads to positive numbers.
    low = x < 0.5 if n == 1 else np.zeros(x.shape, bool)
    sound = np.isfinite(x) & ((x > 0) | (x != np.floor(x)) | ((n == 1) & (x != 0)))
    values = zeta(n + 1, np.where(sound, np.where(low, 1 - x, x), 1.0))
    sine = np.sin(input * input.dtype.type(math.pi)).astype(np.float64)  # rounded as in PyTorch
    values = np.where(low, (math.pi / sine) ** 2 - values, values)
    values = np.where(
        sound, values, np.where(np.isinf(x), np.where(x > 0, 0.0, math.nan), math.inf)
    )
    values = (-1) ** (n + 1) * math.factorial(n) * values
    return np.where(np.isnan(x), x, values).astype(input.dtype)


# The error function.


# In single precision, erf(x) = tanh(x R(x²)) within 1e-7 before rounding. Lowest power first.
# A least-squares fit with weights that even out the relative errors; R grows for large x.
R = (1.12837927, 0.102769056, -1.91829965e-4, -6.19785641e-4, 8.76377913e-5, -5.66856649e-6,
     1.41858287e-7)  # fmt: skip


def rational_tanh(x: Array, factors: tuple[float, ...]) -> Array:
    """``tanh(x P(x²))``; ``factors`` are the coefficients of P, lowest power first.

    It needs few steps, and so is fast for many numbers.
    """
    kind = x.dtype.type
    power = np.multiply(x, x, out=...)
    out = np.multiply(power, kind(factors[-1]), out=...)
    for factor in factors[-2:0:-1]:
        out += kind(factor)
        out *= power
    out += kind(factors[0])
    out *= x
    return np.tanh(out, out=out)


def rational(x: Array, p: tuple[float, ...], q: tuple[float, ...]) -> Array:
    """``p(x) / q(x)``, for coefficients with the highest power first."""
    return np.polyval(p, x) / np.polyval(q, x)


@op(
    input=lambda g, input: g * (2.0 / math.sqrt(math.pi) * exp(-input * input)),
    cast="float", inplace=True, wide=True,
)  # fmt: skip
def erf(input: Array) -> Array:
    """``2/√π ∫₀ˣ exp(-t²) dt``; for float32 within three units of the last place."""
    if input.dtype == np.float32:
        return rational_tanh(input, R)
    return by_number(math.erf, input)


@op(
    input=lambda g, input: g * (-2.0 / math.sqrt(math.pi) * exp(-input * input)),
    cast="float", inplace=True, wide=True,
)  # fmt: skip
def erfc(input: Array) -> Array:
    """``1 - erf(input)``, exact even where it is tiny."""
    return by_number(math.erfc, input)


# Further elementwise functions of one tensor.


# Angles


@op(input=lambda g: g * (math.pi / 180), cast="float", inplace=True, wide=True)
def deg2rad(input: Array) -> Array:
    """Degrees in radians."""
    return input * input.dtype.type(math.pi / 180)


@op(input=lambda g: g * (180 / math.pi), cast="float", inplace=True, wide=True)
def rad2deg(input: Array) -> Array:
    """Radians in degrees."""
    return input * input.dtype.type(180 / math.pi)


# Values that are not finite


@op(input=lambda g, input: zero_where(g, input - input != 0), inplace=True)
def nan_to_num(
    input: Array, nan: Number | None = None, posinf: Number | None = None,
    neginf: Number | None = None,
) -> Array:  # fmt: skip
    """``input`` with nan and infinities replaced by numbers.

    Args:
        nan: the number for nan. Default: 0.
        posinf, neginf: those for inf and -inf. Default: the greatest and the lowest of the dtype.
    """
    if input.dtype.kind != "f":
        return input.copy()
    return np.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@op()
def signbit(input: Array) -> Array:
    """Whether each element has a negative sign; -0.0 has one."""
    return np.signbit(input) if input.dtype.kind == "f" else input < 0


# Functions


@op(
    input=lambda g, input, eps: where(
        (input >= (eps or 0)) & (input <= 1 - (eps or 0)),
        g / (input * (1 - input)),
        math.nan if eps is None else 0.0,
    ),
    cast="float", inplace=True, wide=True,
)  # fmt: skip
def logit(input: Array, eps: float | None = None) -> Array:
    """``log(input / (1 - input))``, the inverse of the sigmoid; nan outside [0, 1].

    Args:
        eps: clamp ``input`` to [``eps``, ``1 - eps``] first. Default: no clamping.
    """
    if eps is not None:
        kind = input.dtype.type
        input = np.clip(input, kind(eps), kind(1 - eps))
    return np.log(input / (1 - input))


@op(
    input=lambda g, input: zero_where(
        g * ((input * math.pi * cos(input * math.pi) - sin(input * math.pi))
             / (input * input * math.pi)),
        input * input * math.pi == 0,  # also where the square of a tiny number is 0
    ),
    cast="float",
    inplace=True,
    wide=True,
)  # fmt: skip
def sinc(input: Array) -> Array:
    """``sin(π input) / (π input)``; 1 at 0."""
    angle = input * input.dtype.type(math.pi)
    return np.where(input == 0, input.dtype.type(1), np.sin(angle) / angle)


# Coefficients of rational functions, highest power first: around 0, further out, and in the tails.
MIDDLE_P = (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
            4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
            1.3314166789178437745e2, 3.3871328727963666080)  # fmt: skip
MIDDLE_Q = (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
            2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
            4.2313330701600911252e1, 1.0)  # fmt: skip
OUTER_P = (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1,
           1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550,
           4.63033784615654529590, 1.42343711074968357734)  # fmt: skip
OUTER_Q = (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2,
           1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940,
           2.05319162663775882187, 1.0)  # fmt: skip
TAIL_P = (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3,
          2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580,
          5.46378491116411436990, 6.65790464350110377720)  # fmt: skip
TAIL_Q = (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5,
          7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1,
          5.99832206555887937690e-1, 1.0)  # fmt: skip


@op(
    input=lambda g, input: g * (0.5 * math.sqrt(math.pi) * exp(square(erfinv(input)))),
    cast="float", inplace=True, wide=True,
)  # fmt: skip
def erfinv(input: Array) -> Array:
    """The inverse of `erf`; infinite at 1 and -1, nan outside [-1, 1].

    Reference:
        Wichura, Algorithm AS 241: The Percentage Points of the Normal Distribution, Applied
        Statistics 37, 1988.
    """
    x = input.astype(np.float64)
    size = np.abs(x)
    middle = 0.5 * x * rational(0.180625 - 0.25 * np.minimum(size, 0.85) ** 2, MIDDLE_P, MIDDLE_Q)
    r = np.sqrt(-np.log((1 - np.clip(size, 0.85, 1 - 1e-16)) / 2))
    tails = rational(np.maximum(r - 5, 0), TAIL_P, TAIL_Q)
    far = np.where(r <= 5, rational(r - 1.6, OUTER_P, OUTER_Q), tails)
    values = np.where(size <= 0.85, middle, np.copysign(far, x)) / math.sqrt(2)
    values = np.where(size == 1, np.copysign(math.inf, x), values)
    return np.where((size > 1) | np.isnan(x), math.nan, values).astype(input.dtype)


# Properties of tensors


@public
def is_floating_point(input: Tensor) -> bool:
    """Whether ``input`` has a floating-point dtype."""
    check_tensors(input)
    return input.is_floating_point()


@public
def is_complex(input: Tensor) -> bool:
    """Whether ``input`` has a complex dtype: always False, since there is none."""
    check_tensors(input)
    return False


@public
def get_device(input: Tensor) -> int:
    """The number of the tensor's device: always -1, the CPU."""
    check_tensors(input)
    return input.get_device()


@method
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of ``input`` is not zero.

    Raises:
        RuntimeError: unless ``input`` has one element.
    """
    check_tensors(input)
    return bool(input)


# Signs, kinds of numbers, and the parts of a floating-point number.


# Signs


# The formula names input and result only so that, as in PyTorch, writes to them raise an error.
@op(input=lambda g, input, out: vanishing(g), inplace=True)
def sgn(input: Array) -> Array:
    """The sign of each element: -1, 0 or 1; 0 for nan."""
    if input.dtype.kind == "f":
        return (input > 0).astype(input.dtype) - (input < 0)
    return input.copy() if input.dtype.kind == "b" else np.sign(input)


@op(input=lambda g, input: vanishing(g), cast="float", wide=True)
def angle(input: Array) -> Array:
    """The angle of each real number in the complex plane: π below 0, nan for nan, else 0."""
    values = np.where(input < 0, input.dtype.type(math.pi), input.dtype.type(0))
    return np.where(np.isnan(input), input, values)


# Kinds of numbers


@op()
def isneginf(input: Array) -> Array:
    """Whether each element is -inf."""
    return np.isneginf(input) if input.dtype.kind == "f" else np.zeros(input.shape, bool)


@op()
def isposinf(input: Array) -> Array:
    """Whether each element is inf."""
    return np.isposinf(input) if input.dtype.kind == "f" else np.zeros(input.shape, bool)


@op()
def isreal(input: Array) -> Array:
    """Whether each element is a real number: True for all, since no dtype is complex."""
    return np.ones_like(input, bool)


@method
def is_signed(input: Tensor) -> bool:
    """Whether the dtype of ``input`` has negative numbers."""
    check_tensors(input)
    return input._array.dtype.kind in "if"


@method
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether ``input`` and ``other`` have the same shape."""
    check_tensors(input, other)
    return input._array.shape == other._array.shape


# Without a history


@public
def detach(input: Tensor) -> Tensor:
    """`Tensor.detach`: a view of ``input`` without a history."""
    check_tensors(input)
    return input.detach()
