"""Activations in place that PyTorch records as other nodes than those that give a new tensor.

Most find their gradient from the result, since the input is gone. That needs functions that keep
the sign: a slope or scale below zero is an error of the backward pass.
"""

from typing import Any

from nanotorch._core.op import OPS, Array
from nanotorch.ops.activation import leaky_relu
from nanotorch.ops.comparison import tied
from nanotorch.ops.inplace import writer
from nanotorch.ops.masking import where
from nanotorch.ops.shrinking import threshold, threshold_backward
from nanotorch.ops.units import celu, elu

KERNELS = {o.__name__: OPS[o.__name__].kernel for o in (leaky_relu, elu, celu, threshold)}
NEGATIVE = (
    "In-place {0} backward calculation is triggered with a negative slope which is not supported. "
    "This is caused by calling in-place forward function with a negative slope, please call "
    "out-of-place version instead."
)
REPORT = (
    " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place "
    "leakRelu backward calculation with negative slope"
)


def leaky_slope(g: Any, out: Any, negative_slope: float) -> Any:
    """The gradient of `leaky_relu` by its result."""
    if negative_slope < 0:
        raise RuntimeError(NEGATIVE.format("leakyReLu") + REPORT)
    return tied(where(out > 0, g, g * negative_slope), out)


def exponential_slope(g: Any, out: Any, alpha: float, scale: float, rate: float) -> Any:
    """The gradient of `elu` by its result, which is ``alpha * scale * (exp(rate * x) - 1)``."""
    if alpha < 0:
        raise RuntimeError(NEGATIVE.format("elu"))
    below = where(out < 0, out, 0.0)  # at 0 itself, the second derivative is 0
    return where(out > 0, g * scale, g * ((below + alpha * scale) * rate))


@writer(
    input=lambda g, out, negative_slope: leaky_slope(g, out, negative_slope),
    node="LeakyReluBackward1",
    wide=True,
)
def leaky_relu_(input: Array, negative_slope: float = 0.01) -> Array:
    """`leaky_relu`, written into ``input``."""
    result: Array = KERNELS["leaky_relu"](input, negative_slope)
    return result


@writer(
    input=lambda g, out, alpha, scale: exponential_slope(g, out, alpha, scale, 1.0),
    node="EluBackward1",
    wide=True,
)
def elu_(input: Array, alpha: float = 1.0, scale: float = 1.0) -> Array:
    """`elu`, written into ``input``."""
    result: Array = KERNELS["elu"](input, alpha, scale)
    return result


@writer(
    input=lambda g, out, alpha: exponential_slope(g, out, alpha, 1.0, 1.0 / alpha),
    node="CeluBackward1",
    wide=True,
)
def celu_(input: Array, alpha: float = 1.0) -> Array:
    """`celu`, written into ``input``."""
    result: Array = KERNELS["celu"](input, alpha)
    return result


@writer(
    input=lambda g, input, threshold: threshold_backward(g, input, threshold),
    node="ThresholdBackward1",
    expanded="",
)
def threshold_(input: Array, threshold: float, value: float) -> Array:
    """`threshold`, written into ``input``."""
    result: Array = KERNELS["threshold"](input, threshold, value)
    return result
