"""Elementwise operations, simple before tricky."""

from typing import Any

import numpy as np

from nanotorch._core.op import Array, method, op, public
from nanotorch._core.tensor import Tensor

# Arithmetic


@op(
    input=lambda g: g,
    other=lambda g, alpha: g if alpha == 1 else g * alpha,
    cast="promote",
    dunder="add",
    inplace=True,
)
def add(input: Array, other: Array, *, alpha: float = 1) -> Array:
    """``input + alpha * other``, broadcasting."""
    return input + other if alpha == 1 else input + other * input.dtype.type(alpha)


@op(
    input=lambda g: g,
    other=lambda g, alpha: g * -alpha,
    cast="promote",
    dunder="sub",
    inplace=True,
)
def sub(input: Array, other: Array, *, alpha: float = 1) -> Array:
    """``input - alpha * other``, broadcasting.

    Raises:
        RuntimeError: for bools.
    """
    if input.dtype.kind == "b":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    return input - other if alpha == 1 else input - other * input.dtype.type(alpha)


@op(
    input=lambda g, other: g * other,
    other=lambda g, input: g * input,
    cast="promote",
    dunder="mul",
    inplace=True,
)
def mul(input: Array, other: Array) -> Array:
    """``input * other``, broadcasting."""
    return input * other


@op(
    input=lambda g, other: g / other,
    other=lambda g, input, other: -g * ((input / other) / other),
    cast="float",
    inplace=True,
    method=False,
    public=False,
    node="DivBackward0",
)
def true_divide(input: Array, other: Array) -> Array:
    """``input / other``, broadcasting; integers give the default floating-point dtype."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.true_divide(input, other)


@op(input=lambda g: -g, dunder="neg", inplace=True)
def neg(input: Array) -> Array:
    """``-input``."""
    return -input
