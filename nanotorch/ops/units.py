"""Further activations, elementwise, each recorded as one node."""

import math
from typing import Any

import numpy as np

from nanotorch._core.op import Array, op
from nanotorch.ops.activation import sigmoid, tanh
from nanotorch.ops.comparison import vanishing, zero_where
from nanotorch.ops.elementwise import exp
from nanotorch.ops.erf import erf
from nanotorch.ops.limits import clamp

ROOT_1_2PI = 1.0 / math.sqrt(2.0 * math.pi)


@op(
    input=lambda g, input: g * (sigmoid(input) * (1 + input * (1 - sigmoid(input)))),
    method=False,
    public=False,
)
def silu(input: Array) -> Array:
    """``input * sigmoid(input)``."""
    return input / (1 + np.exp(-input))


@op(input=lambda g, input: g * sigmoid(-input), method=False, public=False, in_order=True)
def log_sigmoid(input: Array) -> Array:
    """``log(sigmoid(input))``, without overflow."""
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


@op(
    input=lambda g, input, alpha, scale: elu_slope(g, input, alpha, scale),
    method=False,
    public=False,
)
def elu(input: Array, alpha: float = 1.0, scale: float = 1.0) -> Array:
    """``scale * input`` where positive, ``scale * alpha * (exp(input) - 1)`` elsewhere."""
    kind = input.dtype.type
    negative = kind(alpha * scale) * np.expm1(np.minimum(input, 0))
    return np.where(input > 0, input * kind(scale), negative)


def elu_slope(g: Any, input: Any, alpha: float, scale: float) -> Any:
    """The gradient of `elu`."""
    below = exp(clamp(input, None, 0.0)) * (alpha * scale)
    return zero_where(g * scale, input <= 0) + zero_where(g * below, input > 0)


@op(
    input=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
    method=False,
    public=False,
)
def hardtanh(input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """``input`` held between two limits; its gradient at the limits is 0."""
    return np.clip(input, input.dtype.type(min_val), input.dtype.type(max_val))


@op(
    g=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
    input=lambda g: vanishing(g),
    method=False,
    public=False,
)
def hardtanh_backward(g: Array, input: Array, min_val: float, max_val: float) -> Array:
    """The gradient of `hardtanh`, by which it depends on the input though not smoothly."""
    return np.where((input > min_val) & (input < max_val), g, 0)


@op(
    input=lambda g, input: g * (phi(input) + input * exp(-0.5 * input * input) * ROOT_1_2PI),
    method=False,
    public=False,
    node="GeluBackward0",
)
def gelu_exact(input: Array) -> Array:
    """``input`` times the normal distribution function at ``input``."""
    return input * phi(input).astype(input.dtype, copy=False)


def phi(input: Any) -> Any:
    """The normal distribution function."""
    return 0.5 * (1 + erf(input * math.sqrt(0.5)))


@op(
    input=lambda g, input: g * gelu_tanh_slope(input),
    method=False,
    public=False,
    node="GeluBackward0",
)
def gelu_tanh(input: Array) -> Array:
    """`gelu_exact` with the distribution function approximated by a hyperbolic tangent."""
    return 0.5 * input * (1 + np.tanh(tanh_argument(input)))


def tanh_argument(input: Any) -> Any:
    """The argument of the hyperbolic tangent in `gelu_tanh`."""
    return math.sqrt(2.0 / math.pi) * (input + 0.044715 * input * input * input)


def gelu_tanh_slope(input: Any) -> Any:
    """The derivative of `gelu_tanh`."""
    t = tanh(tanh_argument(input))
    inner = math.sqrt(2.0 / math.pi) * (1 + 3 * 0.044715 * input * input)
    return 0.5 * (1 + t) + 0.5 * input * (1 - t * t) * inner
