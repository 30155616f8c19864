"""Comparisons, logic and tests of values; none has a gradient but the masks made with them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batched import NO_RULE, elementwise, leading, never, under_vmap
from nanotorch._core.op import OPERANDS, Array, hidden_op, method, op, public
from nanotorch._core.sums import pick
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import need_kind, need_tensors

NO_ALLCLOSE = (
    "vmap over torch.allclose isn't supported yet. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)


@hidden_op(input=lambda g, mask: zero_where(g, mask))
def zero_where(input: Array, mask: Array) -> Array:
    """``input`` with zeros where ``mask`` is true: what formulas put in place of inf and nan."""
    return pick(mask, input.dtype.type(0), input)


@hidden_op(input=lambda g, mask: halved_where(g, mask))
def halved_where(input: Array, mask: Array) -> Array:
    """``input``, of which half where ``mask`` is true: the gradient of one of two equals."""
    return pick(mask, input * input.dtype.type(0.5), input)


@hidden_op()
def vanishing(input: Array) -> Array:
    """Zeros, which depend on nothing: the gradient of what is flat almost everywhere."""
    return np.zeros_like(input)


@hidden_op(input=lambda g: g, to=lambda g, zeros: vanishing(g) if zeros else None, batch=leading)
def tied(input: Array, to: Array, zeros: bool = True) -> Array:
    """A gradient that PyTorch's backward computes from ``to`` as well, though it does not change
    with it: so it requires grad where ``to`` does, and its own gradient by it is zeros or None."""
    return input


# Comparisons broadcast and bring their operands to a common dtype; their result is bool.


@op(cast="promote", numbers="other")
def eq(input: Array, other: Array) -> Array:
    """``input == other``."""
    return np.equal(input, other)


@op(cast="promote", numbers="other")
def ne(input: Array, other: Array) -> Array:
    """``input != other``."""
    return np.not_equal(input, other)


@op(cast="promote", numbers="other")
def lt(input: Array, other: Array) -> Array:
    """``input < other``."""
    return np.less(input, other)


@op(cast="promote", numbers="other")
def le(input: Array, other: Array) -> Array:
    """``input <= other``."""
    return np.less_equal(input, other)


@op(cast="promote", numbers="other")
def gt(input: Array, other: Array) -> Array:
    """``input > other``."""
    return np.greater(input, other)


@op(cast="promote", numbers="other")
def ge(input: Array, other: Array) -> Array:
    """``input >= other``."""
    return np.greater_equal(input, other)


def comparison(function: Callable[..., Any], name: str) -> Any:
    """An operator of `Tensor`: False or True for foreign types, as for any Python object."""

    def compare(self: Tensor, other: Any) -> Any:
        if name == "__eq__" and isinstance(other, np.ndarray) and other.dtype in dtypes.OF_NUMPY:
            other = wrap(other)  # the only operator that takes an array for a tensor
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return method(compare, name=name, public=False)


for _operator in (eq, ne, lt, le, gt, ge):
    comparison(_operator, f"__{_operator.__name__}__")


# Logic: any nonzero value is true.


@op(inplace=True, cast="promote", numbers=False)
def logical_and(input: Array, other: Array) -> Array:
    """``input and other``, elementwise."""
    return np.logical_and(input, other)


@op(inplace=True, cast="promote", numbers=False)
def logical_or(input: Array, other: Array) -> Array:
    """``input or other``, elementwise."""
    return np.logical_or(input, other)


@op(inplace=True, cast="promote", numbers=False)
def logical_xor(input: Array, other: Array) -> Array:
    """Whether exactly one of two is true, elementwise."""
    return np.logical_xor(input, other)


@op(inplace=True)
def logical_not(input: Array) -> Array:
    """``not input``, elementwise."""
    return np.logical_not(input)


# Bits of integers; logic of bools.


@op(inplace=True, cast="promote", dunder="and")
def bitwise_and(input: Array, other: Array) -> Array:
    """``input & other``."""
    need_kind("bitwise_and_cpu", input, other, kinds="iub")
    return np.bitwise_and(input, other)


@op(inplace=True, cast="promote", dunder="or")
def bitwise_or(input: Array, other: Array) -> Array:
    """``input | other``."""
    need_kind("bitwise_or_cpu", input, other, kinds="iub")
    return np.bitwise_or(input, other)


@op(inplace=True, cast="promote", dunder="xor")
def bitwise_xor(input: Array, other: Array) -> Array:
    """``input ^ other``."""
    need_kind("bitwise_xor_cpu", input, other, kinds="iub")
    return np.bitwise_xor(input, other)


@op(inplace=True)
def bitwise_not(input: Array) -> Array:
    """``~input``: logical for bools."""
    need_kind("bitwise_not_cpu", input, kinds="iub")
    return np.bitwise_not(input)


@op(cast="promote", inplace=True, numbers=False)
def gcd(input: Array, other: Array) -> Array:
    """The greatest common divisor of integers."""
    need_kind("gcd_cpu", input, kinds="iu")
    return np.gcd(input, other)


@op(cast="promote", inplace=True, numbers=False)
def lcm(input: Array, other: Array) -> Array:
    """The least common multiple of integers."""
    need_kind("lcm_cpu", input, kinds="iu")
    return np.lcm(input, other)


@op(cast="promote", inplace=True, dunder="lshift")
def bitwise_left_shift(input: Array, other: Array) -> Array:
    """``input << other``: bits move up; by a negative number, or by all there are, none is left."""
    need_kind("lshift_cpu", input, kinds="iu")
    beyond = (other < 0) | (other >= 8 * input.itemsize)
    return np.where(beyond, input.dtype.type(0), np.left_shift(input, np.where(beyond, 0, other)))


@op(cast="promote", inplace=True, dunder="rshift")
def bitwise_right_shift(input: Array, other: Array) -> Array:
    """``input >> other``: bits move down, and those of the sign move in."""
    need_kind("rshift_cpu", input, kinds="iu")
    most = 8 * input.itemsize - 1
    beyond = (other < 0) | (other > most)
    moved = np.right_shift(input, np.where(beyond, other.dtype.type(most), other))
    return moved if input.dtype.kind == "i" else np.where(beyond, input.dtype.type(0), moved)


@method(name="__invert__", public=False)
def inverted(self: Tensor) -> Tensor:
    """`bitwise_not` as the operator `~`.

    Raises:
        TypeError: for floats.
    """
    if self.is_floating_point():
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return bitwise_not(self)


# Tests


@op(batch=elementwise)
def isnan(input: Array) -> Array:
    """Whether each element is not a number."""
    return np.isnan(input)


@op(batch=elementwise)
def isinf(input: Array) -> Array:
    """Whether each element is infinite."""
    return np.isinf(input)


@op(batch=elementwise)
def isfinite(input: Array) -> Array:
    """Whether each element is neither infinite nor nan."""
    return np.isfinite(input)


@hidden_op(cast="promote", numbers=False)
def elements_close(input: Array, other: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    """The kernel of `isclose`."""
    return np.isclose(input, other, rtol, atol, equal_nan)


@method
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``, or both are equal.

    Raises:
        RuntimeError: if the two have different dtypes, or for a tolerance below zero.
    """
    need_tensors(input, other)
    if input.dtype != other.dtype:
        raise RuntimeError(f"{input.dtype.char} did not match {other.dtype.char}")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not tolerance >= 0:
            raise RuntimeError(
                f"{name} must be greater than or equal to zero, but got {tolerance:g}"
            )
    return elements_close(input, other, rtol, atol, equal_nan)


@method
@under_vmap(never(NO_ALLCLOSE))
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close to each other: see `isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@method
@under_vmap(never(NO_RULE.format("equal")))
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and values."""
    need_tensors(input, other)
    a, b = input._array, other._array
    return a.shape == b.shape and bool((a == b).all())


@public
def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a `Tensor`."""
    return isinstance(obj, Tensor)
