"""Signs, kinds of numbers, and the parts of a floating-point number."""

import math
from typing import Any

import numpy as np

from nanotorch._core.batch_rules import elementwise, one_by_one
from nanotorch._core.dtypes import Number
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import as_number, need_tensors, number_in
from nanotorch.ops.comparison import vanishing
from nanotorch.ops.inplace import blank
from nanotorch.ops.reduction import sum_all

# Signs


# Input and result are named only to notice, as PyTorch does, that they were written to.
@op(input=lambda g, input, out: vanishing(g), inplace=True)
def sgn(input: Array) -> Array:
    """The sign, as -1, 0 or 1; 0 for what is not a number."""
    if input.dtype.kind == "f":
        return (input > 0).astype(input.dtype) - (input < 0)
    return input.copy() if input.dtype.kind == "b" else np.sign(input)


@op(input=lambda g, input: vanishing(g), cast="float", wide=True)
def angle(input: Array) -> Array:
    """The angle of a real number in the complex plane: π below 0, else 0."""
    values = np.where(input < 0, input.dtype.type(math.pi), input.dtype.type(0))
    return np.where(np.isnan(input), input, values)


# Kinds of numbers


@op(batch=elementwise)
def isneginf(input: Array) -> Array:
    """Whether each element is minus infinity."""
    return np.isneginf(input) if input.dtype.kind == "f" else np.zeros(input.shape, bool)


@op(batch=elementwise)
def isposinf(input: Array) -> Array:
    """Whether each element is plus infinity."""
    return np.isposinf(input) if input.dtype.kind == "f" else np.zeros(input.shape, bool)


@op(batch=elementwise)
def isreal(input: Array) -> Array:
    """Whether each element is a real number, as all of them are."""
    return np.ones_like(input, bool)


@method
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has numbers below zero."""
    need_tensors(input)
    return input._array.dtype.kind in "if"


@method
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    need_tensors(input, other)
    return input._array.shape == other._array.shape


# Parts of a number


@op(g=lambda g, exponent: halved(g, exponent), method=False, public=False, batch=elementwise)
def halved(g: Array, exponent: Array) -> Array:
    """``g / 2**exponent``."""
    return np.ldexp(g, -exponent)


@op(
    input=lambda g, exponent: halved(g, exponent),
    aux=("exponent",),
    method=False,
    public=False,
    node="FrexpBackward0",
    batch=elementwise,
)
def mantissa_and_exponent(input: Array) -> tuple[Array, Array]:
    """The kernel of `frexp`."""
    if input.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    mantissa, exponent = np.frexp(input)
    return mantissa, exponent


frexp_result = named_tuple("frexp", "mantissa", "exponent")


@method
def frexp(input: Any) -> Any:
    """Numbers as ``mantissa * 2**exponent``, with mantissas of size 1/2 to 1.

    Returns:
        the named tuple ``(mantissa, exponent)``; the latter in int32.

    Raises:
        RuntimeError: for integers and bools.
    """
    return frexp_result(mantissa_and_exponent(input))


# New values in the same shape


@op(input=lambda g: blank(g), method=False, public=False, node="FillBackward0", batch=elementwise)
def filled_by_number(input: Array, value: Number) -> Array:
    """A number in the shape of ``input``."""
    return np.full_like(input, number_in(value, input.dtype))


@op(
    input=lambda g: blank(g),
    value=lambda g: sum_all(g),
    method=False,
    public=False,
    node="FillBackward1",
    batch=one_by_one,
)
def filled_by_tensor(input: Array, value: Array) -> Array:
    """The value of a 0-d tensor in the shape of ``input``."""
    if value.ndim:
        raise RuntimeError(
            "fill_ only supports 0-dimension value tensor but got tensor with "
            f"{value.ndim} dimensions."
        )
    return np.full_like(input, value)


@public
def fill(input: Tensor, value: Any) -> Any:
    """A number, or the value of a 0-d tensor, in the shape and dtype of ``input``.

    Raises:
        RuntimeError: for a number that the dtype does not hold, or a tensor with dimensions.
    """
    if isinstance(value, Tensor):
        return filled_by_tensor(input, value)
    return filled_by_number(input, as_number(value))


@public
def detach(input: Tensor) -> Tensor:
    """`Tensor.detach`: the same values without a history."""
    need_tensors(input)
    return input.detach()
