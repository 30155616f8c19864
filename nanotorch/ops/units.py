"""Further activations, elementwise, each recorded as one node."""

import math
from typing import Any

import numpy as np

from nanotorch._core.batch_rules import elementwise
from nanotorch._core.choice import pick
from nanotorch._core.op import Array, op
from nanotorch.ops.activation import float_only, sigmoid, softplus, tanh
from nanotorch.ops.arguments import number_in
from nanotorch.ops.comparison import vanishing, zero_where
from nanotorch.ops.elementwise import exp, refuse_bool
from nanotorch.ops.hidden import inplace_form
from nanotorch.ops.joining import cat_along
from nanotorch.ops.limits import clamp, held_between
from nanotorch.ops.slicing import slice_along

LONG = np.dtype(np.int64)


def require_float(name: str, input: Array) -> None:
    """Refuse integers in the words of PyTorch's kernel of that name."""
    if input.dtype.kind != "f":
        raise float_only(name, input)


@op(
    input=lambda g, input: silu_slope(g, input),
    inplace=True,
    method=False,
    public=False,
    wide=True,
)
def silu(input: Array) -> Array:
    """``input * sigmoid(input)``."""
    require_float("silu_cpu", input)
    out = np.negative(input, out=...)
    np.exp(out, out=out)
    np.add(out, input.dtype.type(1), out=out)
    return np.divide(input, out, out=out)


def silu_slope(g: Any, input: Any) -> Any:
    """The gradient of `silu`."""
    s = sigmoid(input)
    return g * (s * (1 + input * (1 - s)))


silu_: Any = inplace_form("silu")


@op(
    input=lambda g, input: g * sigmoid(-input),
    method=False,
    public=False,
    in_order=True,
    batch=elementwise,
    wide=True,
)
def log_sigmoid(input: Array) -> Array:
    """``log(sigmoid(input))``, without overflow."""
    require_float("log_sigmoid_cpu", input)
    return np.minimum(input, 0) - np.log1p(np.exp(-np.abs(input)))


def below_one(x: Array) -> Array:
    """``exp(x) - 1``, exact near 0, as ``tanh(x / 2) (exp(x) + 1)``: NumPy's `expm1` is slow."""
    out = np.tanh(x * x.dtype.type(0.5))
    out *= np.exp(x) + x.dtype.type(1)
    return out


@op(
    input=lambda g, input, alpha, scale: elu_slope(g, input, alpha, scale),
    method=False,
    public=False,
    batch=elementwise,
    wide=True,
)
def elu(input: Array, alpha: float = 1.0, scale: float = 1.0) -> Array:
    """``scale * input`` where positive, ``scale * alpha * (exp(input) - 1)`` elsewhere."""
    require_float("elu_cpu", input)
    kind = input.dtype.type
    negative = kind(alpha * scale) * below_one(np.minimum(0, input))
    return pick(input > 0, input * kind(scale), negative)


@op(
    input=lambda g, input, alpha: celu_slope(g, input, alpha),
    method=False,
    public=False,
    batch=elementwise,
    wide=True,
)
def celu(input: Array, alpha: float = 1.0) -> Array:
    """``input`` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere.

    Raises:
        RuntimeError: if ``alpha`` is 0.
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    require_float("elu_cpu", input)
    kind = input.dtype.type
    negative = kind(alpha) * below_one(np.minimum(0, input) * kind(1.0 / alpha))
    return pick(input > 0, input, negative)


def celu_slope(g: Any, input: Any, alpha: float) -> Any:
    """The gradient of `celu`."""
    below = exp(clamp(input, None, 0.0) * (1.0 / alpha))
    return zero_where(g, input <= 0) + zero_where(g * below, input > 0)


def elu_slope(g: Any, input: Any, alpha: float, scale: float) -> Any:
    """The gradient of `elu`."""
    if alpha == scale == 1:
        return g * exp(clamp(input, None, 0.0))
    below = exp(clamp(input, None, 0.0)) * (alpha * scale)
    return zero_where(g * scale, input <= 0) + zero_where(g * below, input > 0)


@op(
    input=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
    inplace=True,
    method=False,
    public=False,
)
def hardtanh(input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """``input`` held between two limits; its gradient at the limits is 0."""
    refuse_bool(input, "Bool inputs not supported for hardtanh")
    if input.dtype.kind != "f":
        min_val, max_val = int(number_in(min_val, LONG)), int(number_in(max_val, LONG))
    return held_between(input, min_val, max_val)


hardtanh_: Any = inplace_form("hardtanh")


@op(
    g=lambda g, input, min_val, max_val: hardtanh_backward(g, input, min_val, max_val),
    input=lambda g: vanishing(g),
    method=False,
    public=False,
    batch=elementwise,
)
def hardtanh_backward(g: Array, input: Array, min_val: float, max_val: float) -> Array:
    """The gradient of `hardtanh`, by which it depends on the input though not smoothly."""
    return pick((input > min_val) & (input < max_val), g, g.dtype.type(0))


@op(
    input=lambda g, input: g * gelu_tanh_slope(input),
    method=False,
    public=False,
    node="GeluBackward0",
    batch=elementwise,
    wide=True,
)
def gelu_tanh(input: Array) -> Array:
    """`gelu.gelu_exact` with the distribution function approximated by a hyperbolic tangent."""
    require_float("GeluKernelImpl", input)
    return 0.5 * input * (1 + np.tanh(tanh_argument(input)))


def tanh_argument(input: Any) -> Any:
    """The argument of the hyperbolic tangent in `gelu_tanh`."""
    return math.sqrt(2.0 / math.pi) * (input + 0.044715 * input * input * input)


def gelu_tanh_slope(input: Any) -> Any:
    """The derivative of `gelu_tanh`."""
    t = tanh(tanh_argument(input))
    inner = math.sqrt(2.0 / math.pi) * (1 + 3 * 0.044715 * input * input)
    return 0.5 * (1 + t) + 0.5 * input * (1 - t * t) * inner


@op(
    input=lambda g, input: g * mish_slope(input),
    inplace=True,
    method=False,
    public=False,
    wide=True,
)
def mish(input: Array) -> Array:
    """``input * tanh(softplus(input))``."""
    require_float("mish_cpu", input)
    return input * np.tanh(np.logaddexp(input, input.dtype.type(0)))


def mish_slope(input: Any) -> Any:
    """The derivative of `mish`."""
    t = tanh(softplus(input))
    return t + input * sigmoid(input) * (1 - t * t)


mish_: Any = inplace_form("mish")


@op(
    input=lambda g, input, dim: glu_slope(g, input, dim),
    method=False,
    public=False,
    node="GluBackward0",
    wide=True,
)
def glu_along(input: Array, dim: int) -> Array:
    """The first half along a dimension times the sigmoid of the second."""
    require_float("glu_cpu", input)
    first, second = np.split(input, 2, dim)
    return first / (1 + np.exp(-second))


def glu_slope(g: Any, input: Any, dim: int) -> Any:
    """The gradient of `glu_along`: of the first half, then of the second."""
    half = input.shape[dim] // 2
    first, gate = slice_along(input, dim, 0, half), slice_along(input, dim, half, None)
    gate = sigmoid(gate)
    passed = g * gate
    return cat_along((passed, passed * first * (1 - gate)), dim)
