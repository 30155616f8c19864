"""Arithmetic with a number that PyTorch records as nodes of their own."""

from typing import Any

from nanotorch._core.batch_rules import elementwise
from nanotorch._core.op import Array, op


@op(
    input=lambda g, other: g * other,
    method=False,
    public=False,
    node="MulBackward1",
    batch=elementwise,
    wide=True,
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
    wide=True,
)
def over_number(input: Array, other: float) -> Array:
    """``input / other`` in the dtype of ``input``."""
    return input / input.dtype.type(other)


@op(input=lambda g: g, method=False, public=False, node="AddBackward1", batch=elementwise)
def plus_number(input: Array, other: float) -> Array:
    """``input + other`` in the dtype of ``input``."""
    return input + input.dtype.type(other)


# As PyTorch's composed functions multiply and divide: integers become floating-point


def times(values: Any, number: float) -> Any:
    """``values * number``."""
    return times_number(values, number) if values.is_floating_point() else values * number


def over(values: Any, number: float) -> Any:
    """``values / number``."""
    return over_number(values, number) if values.is_floating_point() else values / number
