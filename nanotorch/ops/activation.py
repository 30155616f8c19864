"""Activations, elementwise and along a dimension."""

from typing import Any

import numpy as np

from nanotorch._core.batched import elementwise
from nanotorch._core.dtypes import as_dtype
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import OPS, Array, hidden_op, method, number, op
from nanotorch._core.sums import BITS, SMALL, maximum_along, pick, sum_over
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import (
    inplace_form,
    need_kind,
    need_ndim,
    number_in,
    require,
    tensors_given,
    unsupported,
)
from nanotorch.ops.binary import clamp, held_between
from nanotorch.ops.elementwise import exp, refuse_bool, tied, vanishing, zero_where
from nanotorch.ops.gathering import where
from nanotorch.ops.inplace import writer
from nanotorch.ops.joining import cat_along
from nanotorch.ops.reduction import sum
from nanotorch.ops.shape import slice_along


@op(input=lambda g, out: tanh_backward(g, out), cast="float", inplace=True)
def tanh(input: Array) -> Array:
    """Hyperbolic tangent."""
    return np.tanh(input)


@hidden_op(
    grad=lambda g, result: tanh_backward(g, result),
    result=lambda g, grad, result: g * grad * (-2.0 * result),
    node="TanhBackwardBackward0",
    batch=elementwise,
    wide=True,
)
def tanh_backward(grad: Array, result: Array) -> Array:
    """``grad * (1 - result²)``: the gradient of `tanh`, by its result."""
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
    batch=elementwise,
    wide=True,
)
def sigmoid_backward(grad: Array, result: Array) -> Array:
    """``grad * ((1 - result) * result)``: the gradient of `sigmoid`, by its result."""
    slope = np.subtract(number(1, result.dtype), result, out=...)
    np.multiply(slope, result, out=slope)
    return np.multiply(grad, slope, out=slope)


@op(input=lambda g, out: relu_backward(g, out), inplace=True)
def relu(input: Array) -> Array:
    """``max(input, 0)``; its gradient at 0 is 0.

    Raises:
        NotImplementedError: for bools.
    """
    refuse_bool(input, "Boolean inputs not supported for relu")
    if input.size < SMALL:
        return np.maximum(number(0, input.dtype), input)  # in this order -0.0 stays what it is
    out = np.zeros_like(input)  # NumPy takes three times as long against a single number
    return np.maximum(out, input, out=out)


# The gradients of functions made of straight lines are operations of their own: they depend on
# where they are taken, so they require grad, though their derivative by it is 0.


@hidden_op(
    g=lambda g, result: relu_backward(g, result),
    result=lambda g: vanishing(g),
    node="ThresholdBackwardBackward0",
    batch=elementwise,
)
def relu_backward(g: Array, result: Array) -> Array:
    """The gradient of `relu`, by its result: ``g`` but where that is 0.

    Not a product: no nan comes of an infinite ``g``. The bits are masked, since NumPy's `where`
    takes several times as long.
    """
    bits = BITS.get(result.dtype.itemsize)
    if bits is None or g.dtype != result.dtype or g.__class__ is not np.ndarray:
        return np.where(result <= 0, g.dtype.type(0), g)
    mask = np.less_equal(result, number(0, result.dtype), out=...).astype(bits)
    np.subtract(mask, number(1, bits), out=mask)  # all bits set where the gradient passes
    return np.bitwise_and(mask, g.view(bits), out=mask).view(g.dtype)


@hidden_op(
    input=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope),
    batch=elementwise,
    wide=True,
)
def leaky_relu(input: Array, negative_slope: float = 0.01) -> Array:
    """``input`` where positive, ``negative_slope * input`` elsewhere."""
    need_kind("leaky_relu_cpu", input)
    return pick(input > 0, input, input * input.dtype.type(negative_slope))


@hidden_op(
    g=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope),
    input=lambda g: vanishing(g),
    batch=elementwise,
)
def leaky_relu_backward(g: Array, input: Array, negative_slope: float) -> Array:
    """The gradient of `leaky_relu`."""
    return pick(input > 0, g, g * g.dtype.type(negative_slope))


def softplus_slope(g: Any, input: Any, beta: float, threshold: float) -> Any:
    """The gradient of `softplus`: the sigmoid below the threshold, 1 above."""
    scaled = input * beta
    linear = scaled > threshold
    return g * (linear + sigmoid(scaled) * (scaled <= threshold))


@hidden_op(input=softplus_slope, batch=elementwise, wide=True)
def softplus(input: Array, beta: float = 1, threshold: float = 20) -> Array:
    """``log(1 + exp(beta * input)) / beta``; ``input`` where ``beta * input > threshold``."""
    need_kind("softplus_cpu", input)
    scaled = input * input.dtype.type(beta)
    smooth = np.log1p(np.exp(np.minimum(scaled, threshold))) / input.dtype.type(beta)
    return pick(scaled > threshold, input, smooth)


# Along a dimension. Both subtract the maximum, so that no exponential overflows.


@hidden_op(
    input=lambda g, out, dim: out * (g - sum(g * out, dim, True)),
    node="SoftmaxBackward0",
    in_order=True,
    wide=True,
)
def softmax_along(input: Array, dim: int) -> Array:
    """``exp(input)``, divided by its sum along ``dim``."""
    if input.dtype.kind != "f":
        return nothing_of(kernel("softmax", input, dim), input)
    if input.ndim == 0:
        return np.exp(input - input)  # nan for nan and infinity
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
    """``input - log(sum(exp(input)))`` along ``dim``."""
    if input.dtype.kind != "f":
        return nothing_of(kernel("log_softmax", input, dim), input)
    if input.ndim == 0:
        return input - input
    shifted = input - maximum_along(input, dim)
    total = sum_over(np.exp(shifted), (dim,), True)
    return np.subtract(shifted, np.log(total), out=shifted)


def kernel(name: str, input: Array, dim: int) -> str:
    """PyTorch's name of what computes along ``dim``."""
    return f"{name}_lastdim_kernel_impl" if dim in (-1, input.ndim - 1) else f"{name}_kernel_impl"


def nothing_of(name: str, input: Array) -> Array:
    """What a kernel for floating-point numbers makes of others: it refuses any."""
    if input.size:
        raise unsupported(name, input)
    return np.empty_like(input)


@method
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``exp(input)`` divided by its sum along ``dim``: positive, with sum 1.

    Args:
        dim: a dimension of ``input``.
        dtype: compute in this dtype.
    """
    held = input if dtype is None else input.to(as_dtype(dtype))
    return softmax_along(held, normal_dim(dim, held.ndim))


@method
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, stable for inputs of any size.

    Args:
        dim: a dimension of ``input``.
        dtype: compute in this dtype.
    """
    held = input if dtype is None else input.to(as_dtype(dtype))
    return log_softmax_along(held, normal_dim(dim, held.ndim))


# Further activations, elementwise, each recorded as one node.


LONG = np.dtype(np.int64)


def silu_slope(g: Any, input: Any) -> Any:
    """The gradient of `silu`."""
    s = sigmoid(input)
    return g * (s * (1 + input * (1 - s)))


@hidden_op(input=silu_slope, inplace=True, wide=True)
def silu(input: Array) -> Array:
    """``input * sigmoid(input)``."""
    need_kind("silu_cpu", input)
    out = np.negative(input, out=...)
    np.exp(out, out=out)
    np.add(out, input.dtype.type(1), out=out)
    return np.divide(input, out, out=out)


silu_: Any = inplace_form("silu")


@hidden_op(input=lambda g, input: g * sigmoid(-input), in_order=True, batch=elementwise, wide=True)
def log_sigmoid(input: Array) -> Array:
    """``log(sigmoid(input))``, without overflow."""
    need_kind("log_sigmoid_cpu", input)
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


def below_one(x: Array) -> Array:
    """``exp(x) - 1``, exact near 0, as ``tanh(x / 2) (exp(x) + 1)``: NumPy's `expm1` is slow."""
    out = np.tanh(x * x.dtype.type(0.5))
    out *= np.exp(x) + x.dtype.type(1)
    return out


def elu_slope(g: Any, input: Any, alpha: float, scale: float) -> Any:
    """The gradient of `elu`."""
    if alpha == scale == 1:
        return g * exp(clamp(input, None, 0.0))
    below = exp(clamp(input, None, 0.0)) * (alpha * scale)
    return zero_where(g * scale, input <= 0) + zero_where(g * below, input > 0)


@hidden_op(input=elu_slope, batch=elementwise, wide=True)
def elu(input: Array, alpha: float = 1.0, scale: float = 1.0) -> Array:
    """``scale * input`` where positive, ``scale * alpha * (exp(input) - 1)`` elsewhere."""
    need_kind("elu_cpu", input)
    kind = input.dtype.type
    negative = kind(alpha * scale) * below_one(np.minimum(0, input))
    return pick(input > 0, input * kind(scale), negative)


@hidden_op(
    input=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
    inplace=True,
)
def hardtanh(input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """``input`` held between two limits; its gradient at the limits is 0."""
    refuse_bool(input, "Bool inputs not supported for hardtanh")
    if input.dtype.kind != "f":
        min_val, max_val = int(number_in(min_val, LONG)), int(number_in(max_val, LONG))
    return held_between(input, min_val, max_val)


hardtanh_: Any = inplace_form("hardtanh")


@hidden_op(
    g=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
    input=lambda g: vanishing(g),
    batch=elementwise,
)
def hardtanh_backward(g: Array, input: Array, min_val: float, max_val: float) -> Array:
    """The gradient of `hardtanh`, by which it depends on the input though not smoothly."""
    return pick((input > min_val) & (input < max_val), g, g.dtype.type(0))


@hidden_op(input=lambda g, input: g * mish_slope(input), inplace=True, wide=True)
def mish(input: Array) -> Array:
    """``input * tanh(softplus(input))``."""
    need_kind("mish_cpu", input)
    return input * np.tanh(np.logaddexp(input, input.dtype.type(0)))


def mish_slope(input: Any) -> Any:
    """The derivative of `mish`."""
    t = tanh(softplus(input))
    return t + input * sigmoid(input) * (1 - t * t)


mish_: Any = inplace_form("mish")


def glu_slope(g: Any, input: Any, dim: int) -> Any:
    """The gradient of `glu_along`: of the first half, then of the second."""
    half = input.shape[dim] // 2
    first, gate = slice_along(input, dim, 0, half), slice_along(input, dim, half, None)
    gate = sigmoid(gate)
    passed = g * gate
    return cat_along((passed, passed * first * (1 - gate)), dim)


@hidden_op(input=glu_slope, node="GluBackward0", wide=True)
def glu_along(input: Array, dim: int) -> Array:
    """The first half along a dimension times the sigmoid of the second."""
    need_kind("glu_cpu", input)
    first, second = np.split(input, 2, dim)
    return first / (1 + np.exp(-second))


# Further activations made of straight lines, each recorded as one node.
#
# As above, their gradients are operations of their own.


THIRD = 1 / 3
SIXTH = float(np.float32(1 / 6))  # PyTorch's slope of `hardsigmoid` in any precision


@hidden_op(input=lambda g, input: hardsigmoid_backward(g, input), inplace=True, wide=True)
def hardsigmoid(input: Array) -> Array:
    """``input + 3`` held between 0 and 6, divided by 6."""
    need_kind("hardsigmoid_cpu", input)
    held = np.clip(input + 3, 0, 6)
    return held / 6


@hidden_op(
    g=lambda g, input: hardsigmoid_backward(g, input),
    input=lambda g: vanishing(g),
    batch=elementwise,
    wide=True,
)
def hardsigmoid_backward(g: Array, input: Array) -> Array:
    """The gradient of `hardsigmoid`: a sixth between -3 and 3."""
    return pick((input > -3) & (input < 3), g * SIXTH, g.dtype.type(0))


@hidden_op(input=lambda g, input: hardswish_backward(g, input), inplace=True, wide=True)
def hardswish(input: Array) -> Array:
    """``input * hardsigmoid(input)``."""
    need_kind("hardswish_cpu", input)
    held = np.clip(input + 3, 0, 6)
    held *= input
    return held / 6


@hidden_op(
    grad=lambda g, input: hardswish_backward(g, input),
    input=lambda g, grad, input: where((input > -3) & (input < 3), g * grad * THIRD, 0.0),
    batch=elementwise,
    wide=True,
)
def hardswish_backward(grad: Array, input: Array) -> Array:
    """The gradient of `hardswish`: 0 up to -3, ``input / 3 + 1 / 2`` below 3, then 1."""
    slope = pick(input >= 3, input.dtype.type(1), input / 3 + 0.5)
    return grad * pick(input <= -3, input.dtype.type(0), slope)


hardsigmoid_: Any = inplace_form("hardsigmoid")
hardswish_: Any = inplace_form("hardswish")


# Slopes that are given per channel, or drawn per element


@hidden_op(
    input=lambda g, input, weight: tied(where(input > 0, g, g * weight), input),
    weight=lambda g, input, weight: tied(where(input > 0, 0.0, g * input), weight),
    batch=elementwise,
)
def prelu_kernel(input: Array, weight: Array) -> Array:
    """``input`` where positive, ``weight * input`` elsewhere; ``weight`` broadcasts."""
    return pick(input > 0, input, input * weight)


@method
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, ``weight * input`` elsewhere.

    Args:
        weight: of one element, or one for each channel.

    Shape:
        ``input`` (N, C, ...) of any number of dimensions; the result the same.

    Raises:
        RuntimeError: for a weight that does not fit, or dtypes that differ.

    Reference:
        He et al., Delving Deep into Rectifiers, ICCV 2015, equation 1.
    """
    tensors_given("prelu", input=input, weight=weight)
    require(input.dtype == weight.dtype, "prelu(): weight must be of {}", input.dtype)
    need_kind("prelu_cpu", input._array)
    need_ndim("prelu", weight, 0, 1)
    ndim, count = input.ndim, weight.numel()
    if count != 1:
        need_ndim("prelu", input, 1)
        channels = input.size(1) if ndim > 1 else 1
        require(channels == count, "prelu(): expected 1 or {} weights, not {}", channels, count)
    shape = (1, count, *(1,) * (ndim - 2)) if ndim > 1 else (count,) * ndim
    return prelu_kernel(input, weight.view(shape))


# Activations in place that PyTorch records as other nodes than those that give a new tensor.
#
# Most find their gradient from the result, since the input is gone. That needs functions that keep
# the sign: a slope or scale below zero is an error of the backward pass.


KERNELS = {o.__name__: OPS[o.__name__].kernel for o in (leaky_relu, elu)}
NEGATIVE = "the backward pass of {} in place needs a slope that is not negative"


def leaky_slope(g: Any, out: Any, negative_slope: float) -> Any:
    """The gradient of `leaky_relu` by its result."""
    require(negative_slope >= 0, NEGATIVE, "leaky_relu")
    return tied(where(out > 0, g, g * negative_slope), out)


def exponential_slope(g: Any, out: Any, alpha: float, scale: float) -> Any:
    """The gradient of `elu` by its result, below 0 ``alpha * scale * (exp(x) - 1)``."""
    require(alpha >= 0, NEGATIVE, "elu")
    below = where(out < 0, out, 0.0)  # at 0 itself, the second derivative is 0
    return where(out > 0, g * scale, g * (below + alpha * scale))


@writer(input=leaky_slope, node="LeakyReluBackward1", wide=True)
def leaky_relu_(input: Array, negative_slope: float = 0.01) -> Array:
    """`leaky_relu`, written into ``input``."""
    return KERNELS["leaky_relu"](input, negative_slope)


@writer(input=exponential_slope, node="EluBackward1", wide=True)
def elu_(input: Array, alpha: float = 1.0, scale: float = 1.0) -> Array:
    """`elu`, written into ``input``."""
    return KERNELS["elu"](input, alpha, scale)
