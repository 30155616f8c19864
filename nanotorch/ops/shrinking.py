"""Further activations made of straight lines, each recorded as one node.

As in `activation`, their gradients are operations of their own.
"""

from typing import Any

import numpy as np

from nanotorch._core.batch_rules import elementwise
from nanotorch._core.choice import pick
from nanotorch._core.op import Array, method, op
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor
from nanotorch.ops.activation import float_only
from nanotorch.ops.arguments import number_in
from nanotorch.ops.comparison import tied, vanishing
from nanotorch.ops.elementwise import refuse_bool
from nanotorch.ops.given import tensors_given
from nanotorch.ops.hidden import inplace_form
from nanotorch.ops.masking import where

THIRD = 1 / 3
SIXTH = float(np.float32(1 / 6))  # PyTorch's slope of `hardsigmoid` in any precision


@op(
    input=lambda g, input, threshold: threshold_backward(g, input, threshold),
    method=False,
    public=False,
    batch=elementwise,
)
def threshold(input: Array, threshold: float, value: float) -> Array:
    """``input`` where it is greater than ``threshold``, else ``value``; nan stays."""
    refuse_bool(input, "\"threshold_cpu\" not implemented for 'Bool'")
    kind = input.dtype
    limit = number_in(threshold, SINGLE if kind == HALF else kind)
    return pick(input <= limit, number_in(value, kind), input)


@op(
    g=lambda g, input, threshold: threshold_backward(g, input, threshold),
    input=lambda g: vanishing(g),
    method=False,
    public=False,
    batch=elementwise,
)
def threshold_backward(g: Array, input: Array, threshold: float) -> Array:
    """The gradient of `threshold`: ``g`` where the input passes."""
    return pick(input <= threshold, g.dtype.type(0), g)


@op(
    input=lambda g, input, lambd: hardshrink_backward(g, input, lambd),
    public=False,
    batch=elementwise,
)
def hardshrink(input: Array, lambd: float = 0.5) -> Array:
    """``input`` outside [-lambd, lambd], 0 inside."""
    if input.dtype.kind != "f":
        raise float_only("hardshrink_cpu", input)
    limit = number_in(lambd, input.dtype)
    return pick((input >= -limit) & (input <= limit), input.dtype.type(0), input)


@op(
    g=lambda g, input, lambd: hardshrink_backward(g, input, lambd),
    input=lambda g: vanishing(g),
    method=False,
    public=False,
    batch=elementwise,
)
def hardshrink_backward(g: Array, input: Array, lambd: float) -> Array:
    """The gradient of `hardshrink`, and of `softshrink`: ``g`` outside [-lambd, lambd]."""
    return pick((input < -lambd) | (input > lambd), g, g.dtype.type(0))


@op(
    input=lambda g, input, lambd: hardshrink_backward(g, input, lambd),
    method=False,
    public=False,
    batch=elementwise,
)
def softshrink(input: Array, lambd: float = 0.5) -> Array:
    """``input`` moved towards 0 by ``lambd``, and 0 from [-lambd, lambd] on.

    Raises:
        RuntimeError: for a negative ``lambd``.
    """
    if input.dtype.kind != "f":
        raise float_only("softshrink_check", input)
    if not 0 <= lambd <= np.finfo(input.dtype).max:
        kind = {"float16": "Half", "float32": "Float", "float64": "Double"}[input.dtype.name]
        most = np.finfo(input.dtype).max
        raise RuntimeError(
            f"lambda must be in range [0, {most:g}] for input dtype {kind}, but found {lambd:g}"
        )
    limit = input.dtype.type(lambd)
    return input - np.clip(input, -limit, limit)


@op(
    input=lambda g, input: hardsigmoid_backward(g, input),
    inplace=True,
    method=False,
    public=False,
    wide=True,
)
def hardsigmoid(input: Array) -> Array:
    """``input + 3`` held between 0 and 6, divided by 6."""
    if input.dtype.kind != "f":
        raise float_only("hardsigmoid_cpu", input)
    held = np.clip(input + 3, 0, 6)
    return held / 6


@op(
    g=lambda g, input: hardsigmoid_backward(g, input),
    input=lambda g: vanishing(g),
    method=False,
    public=False,
    batch=elementwise,
    wide=True,
)
def hardsigmoid_backward(g: Array, input: Array) -> Array:
    """The gradient of `hardsigmoid`: a sixth between -3 and 3."""
    return pick((input > -3) & (input < 3), g * SIXTH, g.dtype.type(0))


@op(
    input=lambda g, input: hardswish_backward(g, input),
    inplace=True,
    method=False,
    public=False,
    wide=True,
)
def hardswish(input: Array) -> Array:
    """``input * hardsigmoid(input)``."""
    if input.dtype.kind != "f":
        raise float_only("hardswish_cpu", input)
    held = np.clip(input + 3, 0, 6)
    held *= input
    return held / 6


@op(
    grad=lambda g, input: hardswish_backward(g, input),
    input=lambda g, grad, input: where((input > -3) & (input < 3), g * grad * THIRD, 0.0),
    method=False,
    public=False,
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


@op(
    input=lambda g, input, weight: tied(where(input > 0, g, g * weight), input),
    weight=lambda g, input, weight: tied(where(input > 0, 0.0, g * input), weight),
    method=False,
    public=False,
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
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.char} and {weight.dtype.char}"
        )
    if not input.is_floating_point():
        raise float_only("prelu_cpu", input._array)
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    ndim, count = input.ndim, weight.numel()
    if count != 1:
        if not ndim:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.size(1) if ndim > 1 else 1
        if channels != count:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
    shape = (1, count, *(1,) * (ndim - 2)) if ndim > 1 else (count,) * ndim
    result: Tensor = prelu_kernel(input, weight.view(shape))
    return result
