"""Arithmetic with a number that PyTorch records as nodes of their own."""

from nanotorch._core.batch_rules import elementwise
from nanotorch._core.op import Array, op


@op(
    input=lambda g, other: g * other,
    method=False,
    public=False,
    node="MulBackward1",
    batch=elementwise,
)
def times_number(input: Array, other: float) -> Array:
    """``input * other`` in the dtype of ``input``."""
    return input * input.dtype.type(other)


@op(
    input=lambda g, other: g / other,
    method=False,
    public=False,
    node="DivBackward1",
    batch=elementwise,
)
def over_number(input: Array, other: float) -> Array:
    """``input / other`` in the dtype of ``input``."""
    return input / input.dtype.type(other)


@op(input=lambda g: g, method=False, public=False, node="AddBackward1", batch=elementwise)
def plus_number(input: Array, other: float) -> Array:
    """``input + other`` in the dtype of ``input``."""
    return input + input.dtype.type(other)
