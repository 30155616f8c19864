"""Division in all its forms, rounding, and limits; and the operators that choose among them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core.op import OPERANDS, Array, method, op
from nanotorch._core.tensor import Tensor
from nanotorch.ops.elementwise import maximum, minimum, pow, reciprocal, rsub, sub, true_divide


@op(input=lambda g: g * 0.0, inplace=True)
def floor(input: Array) -> Array:
    """The greatest integer that is not greater."""
    return np.floor(input) if input.dtype.kind == "f" else input.copy()


@op(input=lambda g: g * 0.0, inplace=True)
def ceil(input: Array) -> Array:
    """The smallest integer that is not smaller."""
    return np.ceil(input) if input.dtype.kind == "f" else input.copy()


@op(input=lambda g: g * 0.0, inplace=True)
def trunc(input: Array) -> Array:
    """The integer part."""
    return np.trunc(input) if input.dtype.kind == "f" else input.copy()


@op(input=lambda g: g * 0.0, inplace=True)
def round(input: Array, *, decimals: int = 0) -> Array:
    """The nearest number of ``decimals`` digits; halves go to the even one."""
    return np.round(input, decimals) if input.dtype.kind == "f" else input.copy()


@op(input=lambda g: g, inplace=True)
def frac(input: Array) -> Array:
    """What `trunc` cuts off."""
    return input - np.trunc(input)


# Division


def refuse_zero(other: Array) -> None:
    """Integers have no infinity to return."""
    if other.dtype.kind != "f" and not other.all():
        raise RuntimeError("ZeroDivisionError")


@op(cast="promote", inplace=True)
def floor_divide(input: Array, other: Array) -> Array:
    """``floor(input / other)``, broadcasting; has no gradient.

    Raises:
        RuntimeError: for an integer divided by 0.
    """
    refuse_zero(other)
    if input.dtype.kind == "f":  # NumPy gives nan where PyTorch gives inf
        return np.where(other == 0, input / other, np.floor_divide(input, other))
    return np.floor_divide(input, other)


@op(
    input=lambda g: g,
    other=lambda g, input, other: -g * floor(input / other),
    cast="promote",
    inplace=True,
    dunder="mod",
)
def remainder(input: Array, other: Array) -> Array:
    """``input - floor(input / other) * other``: has the sign of ``other``, as Python's `%`.

    Raises:
        RuntimeError: for an integer divided by 0.
    """
    refuse_zero(other)
    return np.remainder(input, other)


@op(
    input=lambda g: g,
    other=lambda g, input, other: -g * trunc(input / other),
    cast="promote",
    inplace=True,
)
def fmod(input: Array, other: Array) -> Array:
    """``input - trunc(input / other) * other``: has the sign of ``input``, as C's `fmod`.

    Raises:
        RuntimeError: for an integer divided by 0.
    """
    refuse_zero(other)
    return np.fmod(input, other)


@op(
    input=lambda g: g * 0.0,
    other=lambda g: g * 0.0,
    cast="promote",
    method=False,
    public=False,
    node="DivBackward2",
)
def rounded_divide(input: Array, other: Array, rounding_mode: str) -> Array:
    """``input / other``, rounded to zero ("trunc") or down ("floor"); integers stay integers."""
    refuse_zero(other)
    if rounding_mode == "floor":
        return np.floor_divide(input, other)
    if input.dtype.kind == "f":
        return np.trunc(input / other)
    return ((input - np.fmod(input, other)) // other).astype(input.dtype)


@method
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """``input / other``, broadcasting; without rounding, integers give the default float dtype.

    Args:
        rounding_mode: None, "trunc" (to zero) or "floor" (down).

    Raises:
        RuntimeError: for another mode; for an integer divided by 0 with rounding.
    """
    if rounding_mode is None:
        return true_divide(input, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    return rounded_divide(input, other, rounding_mode)


@method
def div_(self: Tensor, other: Any) -> Tensor:
    """In-place `div`."""
    return self.true_divide_(other)


# Limits


def inside(input: Any, min: float | None, max: float | None) -> Any:
    """Where a clamped value may still move: strictly between the limits."""
    if min is None:
        return input < max
    return input > min if max is None else (input > min) & (input < max)


@op(
    input=lambda g, input, min, max: g * inside(input, min, max),
    inplace=True,
    method=False,
    public=False,
    node="ClampBackward1",
)
def clamp_numbers(input: Array, min: float | None, max: float | None) -> Array:
    """`clamp` with limits that are Python numbers or None."""
    if input.dtype.kind != "f" and (isinstance(min, float) or isinstance(max, float)):
        input = input.astype(np.float32)
    return np.clip(input, min, max)


def both_limits(input: Any, min: Any, max: Any) -> tuple[Any, Any, Any]:
    """The shares of input, min and max in the gradient where the limits are tensors."""
    ordered = min <= max
    apart = min < max
    at_min, at_max = input == min, input == max
    to_input = ordered & (((input > min) & (input < max)) | (at_min & at_max))
    half = (at_min | at_max) & apart
    return (
        1.0 * to_input + 0.5 * half,
        1.0 * (ordered & (input < min)) + 0.5 * (at_min & apart),
        1.0 * (~ordered | (input > max)) + 0.5 * (at_max & apart),
    )


@op(
    input=lambda g, input, min, max: g * both_limits(input, min, max)[0],
    min=lambda g, input, min, max: g * both_limits(input, min, max)[1],
    max=lambda g, input, min, max: g * both_limits(input, min, max)[2],
    cast="promote",
    method=False,
    public=False,
    node="ClampBackward0",
)
def clamp_tensors(input: Array, min: Array, max: Array) -> Array:
    """`clamp` with limits that are tensors."""
    return np.minimum(np.maximum(input, min), max)


@method
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """``input`` held between two limits; ``max`` wins where it is the smaller.

    Args:
        min, max: Python numbers, tensors that broadcast with ``input``, or None (not both).

    Raises:
        RuntimeError: if both are None.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if min is None:
            return minimum(input, max)
        if max is None:
            return maximum(input, min)
        return clamp_tensors(input, min, max)
    return clamp_numbers(input, min, max)


@method
def clamp_(self: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """In-place `clamp` with limits that are Python numbers."""
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return self.clamp_numbers_(min, max)


method(clamp, name="clip")
method(clamp_, name="clip_", public=False)


# Operators that PyTorch computes by other operations than their name says


def operator(function: Callable[[Any, Any], Any], name: str) -> None:
    """Install ``__name__`` for tensors and numbers."""

    def apply(self: Tensor, other: Any) -> Any:
        return function(self, other) if isinstance(other, OPERANDS) else NotImplemented

    method(apply, name=f"__{name}__", public=False)


operator(sub, "sub")
operator(lambda self, other: rsub(self, other), "rsub")
operator(lambda self, other: self.sub_(other), "isub")
operator(true_divide, "truediv")
operator(lambda self, other: reciprocal(self) * other, "rtruediv")
operator(lambda self, other: self.div_(other), "itruediv")
operator(floor_divide, "floordiv")
operator(lambda self, other: floor_divide(other, self), "rfloordiv")
operator(lambda self, other: self.floor_divide_(other), "ifloordiv")
operator(pow, "pow")
operator(lambda self, other: pow(other, self), "rpow")
operator(lambda self, other: self.pow_(other), "ipow")
