"""Division in all its forms, and rounding."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import ABSENT, by_own_names
from nanotorch._core.batch_rules import elementwise
from nanotorch._core.op import Array, method, op
from nanotorch._core.op_runtime import in_half, in_single
from nanotorch._core.tensor import Tensor
from nanotorch.ops.comparison import vanishing
from nanotorch.ops.elementwise import true_divide
from nanotorch.ops.hidden import inplace_form


def refuse_bool(name: str, input: Array) -> None:
    """Refuse bools in PyTorch's words."""
    if input.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}_vml_cpu\" not implemented for 'Bool'")


@op(input=lambda g: vanishing(g), inplace=True)
def floor(input: Array) -> Array:
    """The greatest integer that is not greater."""
    refuse_bool("floor", input)
    return np.floor(input) if input.dtype.kind == "f" else np.array(input)


@op(input=lambda g: vanishing(g), inplace=True)
def ceil(input: Array) -> Array:
    """The smallest integer that is not smaller."""
    refuse_bool("ceil", input)
    return np.ceil(input) if input.dtype.kind == "f" else np.array(input)


@op(input=lambda g: vanishing(g), inplace=True)
def trunc(input: Array) -> Array:
    """The integer part."""
    refuse_bool("trunc", input)
    return np.trunc(input) if input.dtype.kind == "f" else np.array(input)


@op(input=lambda g: vanishing(g), inplace=True, method=False, public=False, node="RoundBackward0")
def round_whole(input: Array) -> Array:
    """The nearest integer; halves go to the even one."""
    refuse_bool("round", input)
    return np.round(input) if input.dtype.kind == "f" else np.array(input)


@op(
    input=lambda g: vanishing(g),
    inplace=True,
    method=False,
    public=False,
    node="RoundBackward1",
    wide=True,
)
def round_decimals(input: Array, decimals: int) -> Array:
    """The nearest number of ``decimals`` digits; halves go to the even one."""
    if input.dtype.kind != "f":
        name = "round_cpu" if decimals else "round_vml_cpu"
        kind = dtypes.of_array(input).char
        raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")
    return np.round(input, decimals)


@method
def round(input: Any, *, decimals: int | None = None) -> Any:
    """The nearest number of ``decimals`` digits; halves go to the even one.

    Raises:
        NotImplementedError: for digits of integers.
    """
    return round_whole(input) if decimals is None else round_decimals(input, decimals)


round_decimals_, round_whole_ = inplace_form("round_decimals"), inplace_form("round_whole")


@method(public=False)
def round_(self: Tensor, *, decimals: int | None = None) -> Tensor:
    """In-place `round`."""
    return round_whole_(self) if decimals is None else round_decimals_(self, decimals)


@op(input=lambda g: g, inplace=True)
def frac(input: Array) -> Array:
    """What `trunc` cuts off.

    Raises:
        NotImplementedError: unless the dtype is floating-point.
    """
    if input.dtype.kind != "f":
        name = dtypes.of_array(input).char
        raise NotImplementedError(f"\"frac_cpu\" not implemented for '{name}'")
    return input - np.trunc(input)


# Division


def check_divisor(name: str, input: Array, other: Array) -> None:
    """Refuse bools, in the words of PyTorch's kernel of that name, and integers divided by 0."""
    if input.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if other.dtype.kind != "f" and input.size and not other.all():
        raise RuntimeError("ZeroDivisionError")


NO_DERIVATIVE = "torch::autograd::NotImplemented"  # the node's name


def no_derivative(name: str) -> Any:
    """PyTorch has none for some operations and says so when asked."""
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


@op(
    input=lambda g: no_derivative("floor_divide"),
    other=lambda g: no_derivative("floor_divide"),
    cast="promote",
    inplace=True,
    node=NO_DERIVATIVE,
    inplace_node=NO_DERIVATIVE,
    wide=True,
    unrounded=("other",),
)
def floor_divide(input: Array, other: Array) -> Array:
    """``floor(input / other)``, broadcasting; its backward raises an error.

    Raises:
        RuntimeError: for an integer divided by 0.
    """
    return rounded_down(input, other)


@op(
    other=lambda g: no_derivative("floor_divide"),
    method=False,
    public=False,
    node=NO_DERIVATIVE,
    batch=elementwise,
)
def number_floor_divided(other: Array, input: Any) -> Array:
    """`floor_divide` of a Python number by a tensor."""
    return of_number(rounded_down, input, other)


def of_number(function: Callable[..., Array], number: Any, array: Array) -> Array:
    """A function of a Python number and an array, in the dtype that an operation of both has."""
    kind = dtypes.result_type([number, array])._numpy
    half, a, b = in_single(dtypes.array_of_number(number, kind), array.astype(kind, copy=False))
    result = function(a, b)
    return in_half(result) if half else result


def rounded_down(input: Array, other: Array) -> Array:
    """The kernel of division rounded down."""
    check_divisor("div_floor", input, other)
    if input.dtype.kind == "f":  # NumPy gives nan where PyTorch gives inf
        return np.where(other == 0, input / other, np.floor_divide(input, other))
    return np.floor_divide(input, other)


@op(
    # PyTorch keeps the operands, which must not be written to, though the gradients are zeros.
    input=lambda g, other: vanishing(g),
    other=lambda g, input, other: vanishing(g),
    cast="promote",
    inplace=True,
    method=False,
    public=False,
    node="DivBackward2",
    wide=True,
    unrounded=("other",),
)
def rounded_divide(input: Array, other: Array, rounding_mode: str) -> Array:
    """``input / other``, rounded to zero ("trunc") or down ("floor"); integers stay integers."""
    if rounding_mode == "floor":
        return rounded_down(input, other)
    check_divisor("div_trunc", input, other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    return ((input - np.fmod(input, other)) // other).astype(input.dtype)


# Remainders: a divisor that is a number has no gradient, and PyTorch a node for either case.


@op(
    input=lambda g: g,
    other=lambda g, input, other: -g * rounded_divide(input, other, "floor"),
    cast="promote",
    inplace=True,
    method=False,
    public=False,
    node="RemainderBackward1",
    wide=True,
)
def remainder_tensor(input: Array, other: Array) -> Array:
    """`remainder` of two tensors."""
    return with_sign_of_divisor(input, other)


@op(
    input=lambda g: g,
    cast="promote",
    inplace=True,
    method=False,
    public=False,
    node="RemainderBackward0",
    wide=True,
)
def remainder_number(input: Array, other: Array) -> Array:
    """`remainder` by a Python number."""
    return with_sign_of_divisor(input, other)


@op(
    other=lambda g: no_derivative("remainder"),
    method=False,
    public=False,
    node=NO_DERIVATIVE,
    batch=elementwise,
)
def number_remainder(other: Array, input: Any) -> Array:
    """`remainder` of a Python number by a tensor."""
    return of_number(with_sign_of_divisor, input, other)


def with_sign_of_divisor(input: Array, other: Array) -> Array:
    """The kernel of `remainder`; a zero keeps the sign of the dividend, unlike NumPy's."""
    check_divisor("remainder", input, other)
    if input.dtype.kind != "f":
        return np.remainder(input, other)
    rest = np.fmod(input, other)
    return np.where((rest != 0) & ((rest < 0) != (other < 0)), rest + other, rest)


@op(
    input=lambda g: g,
    other=lambda g, input, other: -g * rounded_divide(input, other, "trunc"),
    cast="promote",
    numbers=False,
    inplace=True,
    method=False,
    public=False,
    node="FmodBackward1",
    wide=True,
)
def fmod_tensor(input: Array, other: Array) -> Array:
    """`fmod` of two tensors."""
    check_divisor("fmod", input, other)
    return np.fmod(input, other)


@op(
    input=lambda g: g,
    cast="promote",
    numbers="other",
    inplace=True,
    method=False,
    public=False,
    node="FmodBackward0",
    wide=True,
)
def fmod_number(input: Array, other: Array) -> Array:
    """`fmod` by a Python number."""
    check_divisor("fmod", input, other)
    return np.fmod(input, other)


@method
def remainder(input: Any, other: Any) -> Any:
    """``input - floor(input / other) * other``: has the sign of ``other``, as Python's `%`.

    Raises:
        RuntimeError: for an integer divided by 0.
    """
    if not isinstance(other, Tensor):
        return remainder_number(input, other)
    if not isinstance(input, Tensor):
        return number_remainder(other, input)
    return remainder_tensor(input, other)


remainder_number_ = inplace_form("remainder_number")
remainder_tensor_ = inplace_form("remainder_tensor")


@method(public=False)
def remainder_(self: Tensor, other: Any) -> Tensor:
    """In-place `remainder`."""
    tensor = isinstance(other, Tensor)
    return (remainder_tensor_ if tensor else remainder_number_)(self, other)


@method
def fmod(input: Any, other: Any) -> Any:
    """``input - trunc(input / other) * other``: has the sign of ``input``, as C's `fmod`.

    Raises:
        RuntimeError: for an integer divided by 0.
    """
    return (fmod_tensor if isinstance(other, Tensor) else fmod_number)(input, other)


fmod_number_, fmod_tensor_ = inplace_form("fmod_number"), inplace_form("fmod_tensor")


@method(public=False)
def fmod_(self: Tensor, other: Any) -> Tensor:
    """In-place `fmod`."""
    return (fmod_tensor_ if isinstance(other, Tensor) else fmod_number_)(self, other)


@method
def div(input: Any, other: Any = ABSENT, *, rounding_mode: str | None = None, **named: Any) -> Any:
    """``input / other``, broadcasting; without rounding, integers give the default float dtype.

    Args:
        rounding_mode: None, "trunc" (to zero) or "floor" (down).

    Raises:
        RuntimeError: for another mode; for an integer divided by 0 with rounding.
    """
    if named:
        return by_own_names(div, named, input=input, other=other, rounding_mode=rounding_mode)
    if rounding_mode is None:
        return true_divide(input, other)
    check_rounding(rounding_mode)
    return rounded_divide(input, other, rounding_mode)


def check_rounding(mode: str) -> None:
    """Refuse an unknown way of rounding."""
    if mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )


rounded_divide_ = inplace_form("rounded_divide")


@method(public=False)
def div_(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """In-place `div`."""
    if rounding_mode is None:
        return self.true_divide_(other)
    check_rounding(rounding_mode)
    return rounded_divide_(self, other, rounding_mode)
