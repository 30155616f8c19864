"""Activations, elementwise and along a dimension."""

from typing import Any

import numpy as np

from nanotorch._core.batch_rules import elementwise
from nanotorch._core.choice import BITS, SMALL, pick
from nanotorch._core.dtypes import as_dtype
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import Array, method, op
from nanotorch._core.op_runtime import number
from nanotorch._core.sums import maximum_along, sum_over
from nanotorch._core.tensor import Tensor
from nanotorch.ops.comparison import vanishing
from nanotorch.ops.elementwise import exp, refuse_bool
from nanotorch.ops.reduction import sum


@op(input=lambda g, out: tanh_backward(g, out), cast="float", inplace=True)
def tanh(input: Array) -> Array:
    """Hyperbolic tangent."""
    return np.tanh(input)


@op(
    grad=lambda g, result: tanh_backward(g, result),
    result=lambda g, grad, result: g * grad * (-2.0 * result),
    method=False,
    public=False,
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


@op(
    grad=lambda g, result: sigmoid_backward(g, result),
    result=lambda g, grad, result: g * grad * (1.0 - 2.0 * result),
    method=False,
    public=False,
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


@op(
    g=lambda g, result: relu_backward(g, result),
    result=lambda g: vanishing(g),
    method=False,
    public=False,
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


@op(
    input=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope),
    method=False,
    public=False,
    batch=elementwise,
    wide=True,
)
def leaky_relu(input: Array, negative_slope: float = 0.01) -> Array:
    """``input`` where positive, ``negative_slope * input`` elsewhere."""
    if input.dtype.kind != "f":
        raise float_only("leaky_relu_cpu", input)
    return pick(input > 0, input, input * input.dtype.type(negative_slope))


@op(
    g=lambda g, input, negative_slope: leaky_relu_backward(g, input, negative_slope),
    input=lambda g: vanishing(g),
    method=False,
    public=False,
    batch=elementwise,
)
def leaky_relu_backward(g: Array, input: Array, negative_slope: float) -> Array:
    """The gradient of `leaky_relu`."""
    return pick(input > 0, g, g * g.dtype.type(negative_slope))


@op(
    input=lambda g, input, beta, threshold: softplus_slope(g, input, beta, threshold),
    method=False,
    public=False,
    batch=elementwise,
    wide=True,
)
def softplus(input: Array, beta: float = 1, threshold: float = 20) -> Array:
    """``log(1 + exp(beta * input)) / beta``; ``input`` where ``beta * input > threshold``."""
    if input.dtype.kind != "f":
        raise float_only("softplus_cpu", input)
    scaled = input * input.dtype.type(beta)
    smooth = np.log1p(np.exp(np.minimum(scaled, threshold))) / input.dtype.type(beta)
    return pick(scaled > threshold, input, smooth)


def softplus_slope(g: Any, input: Any, beta: float, threshold: float) -> Any:
    """The gradient of `softplus`: the sigmoid below the threshold, 1 above."""
    scaled = input * beta
    linear = scaled > threshold
    return g * (linear + sigmoid(scaled) * (scaled <= threshold))


# Along a dimension. Both subtract the maximum, so that no exponential overflows.


@op(
    input=lambda g, out, dim: out * (g - sum(g * out, dim, True)),
    method=False,
    public=False,
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


@op(
    input=lambda g, out, dim: g - exp(out) * sum(g, dim, True),
    method=False,
    public=False,
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
        raise float_only(name, input)
    return np.empty_like(input)


def float_only(name: str, input: Array) -> NotImplementedError:
    """PyTorch's error for a kernel that integers do not have."""
    char = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte"}
    return NotImplementedError(
        f"\"{name}\" not implemented for '{char.get(input.dtype.name, 'Bool')}'"
    )


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
