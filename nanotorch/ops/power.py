"""Powers."""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination
from nanotorch._core.batch_rules import elementwise
from nanotorch._core.op import Array, method, op
from nanotorch._core.op_runtime import number
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import number_in
from nanotorch.ops.comparison import vanishing, zero_where
from nanotorch.ops.elementwise import log, refuse_bool
from nanotorch.ops.hidden import inplace_form


@op(
    input=lambda g, input, exponent: power_slope(g, input, exponent),
    inplace=True,
    method=False,
    public=False,
    node="PowBackward0",
    arithmetic=True,
)
def pow_number(input: Array, exponent: float) -> Array:
    """``input ** exponent`` for a Python number, which PyTorch computes apart."""
    kind: str = input.dtype.kind
    if kind != "f" and isinstance(exponent, float):
        input = input.astype(dtypes.default.numpy)
    elif kind == "b":
        if isinstance(exponent, bool):
            return np.logical_or(input, not exponent)
        input = input.astype(np.int64)
    if exponent == 2:
        return input * input
    if input.dtype.kind != "f":
        if exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return np.power(input, number_in(exponent, input.dtype))
    special = NUMBER_POWERS.get(exponent)
    if special is None or (input.dtype == HALF and exponent in (0.5, -0.5)):
        convert = number_in if input.dtype == HALF else dtypes.array_of_number
        return np.power(input, convert(exponent, input.dtype))
    if input.dtype == HALF:
        return special(input.astype(SINGLE)).astype(HALF)
    return special(input)


def power_slope(g: Any, input: Any, exponent: float) -> Any:
    """The gradient of a power."""
    if exponent == 0:
        return vanishing(g)
    plain = exponent == 2 and not isinstance(input, Tensor)  # the usual one, and the same bits
    return g * (exponent * (input if plain else pow_number(input, exponent - 1)))


NUMBER_POWERS: dict[float, Any] = {
    0.5: np.sqrt,
    1: np.positive,
    3: lambda x: x * x * x,
    -0.5: lambda x: 1 / np.sqrt(x),
    -1: np.reciprocal,
    -2: lambda x: 1 / (x * x),
}


@op(
    # The result is named only to notice, as PyTorch does, that it was written to.
    input=lambda g, input, exponent, out: zero_where(
        g * (exponent * pow_tensor(input, exponent - 1)), exponent == 0
    ),
    exponent=lambda g, input, exponent, out: (
        g * zero_where(out * log(input), (input == 0) & (exponent >= 0))
    ),
    cast="promote",
    inplace=True,
    method=False,
    public=False,
    node="PowBackward1",
)
def pow_tensor(input: Array, exponent: Array) -> Array:
    """``input ** exponent`` for two tensors."""
    if input.dtype.kind == "b":
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    return (whole_power if exponent.dtype.kind == "i" else real_power)(input, exponent)


def real_power(input: Array, exponent: Array) -> Array:
    """Powers of real numbers: those of -inf and -0.0 by 0.5 are inf and 0.0, other than roots."""
    # NumPy takes the root if it sees one exponent only. A step that is traced, as `type` alone
    # tells, is to hold for other values.
    if type(exponent) is not np.ndarray or (exponent == 0.5).any():
        signless = (exponent == 0.5) & ((input == 0) | (input == -math.inf))
        input = np.where(signless, np.abs(input), input)
    return np.power(input, exponent)


def whole_power(input: Array, exponent: Array) -> Array:
    """Powers of integers, rounded towards zero where the exponent is negative."""
    if not exponent.size or exponent.min() >= 0:
        return np.power(input, exponent)
    units = np.where(exponent % 2, input, 1) * (np.abs(input) == 1)  # all others vanish
    return np.where(exponent < 0, units, np.power(input, np.maximum(exponent, 0)))


@op(
    exponent=lambda g, input, exponent, out: (
        zero_where(g * (out * -math.inf), exponent >= 0)
        if input == 0
        else g * (out * (math.log(input) if input > 0 else math.nan))
    ),
    method=False,
    public=False,
    node="PowBackward2",
    batch=elementwise,
)
def pow_base(exponent: Array, input: Any) -> Array:
    """``input ** exponent`` for a Python number ``input``."""
    exponent = exponent.astype(dtypes.result_type([exponent, input])._numpy, copy=False)
    refuse_bool(exponent, "\"pow\" not implemented for 'Bool'")
    base = number(input, exponent.dtype)
    return whole_power(base, exponent) if exponent.dtype.kind == "i" else np.power(base, exponent)


POWER_FORMS = (
    "Tensor input, Tensor exponent, *, Tensor out = None",
    "Number self, Tensor exponent, *, Tensor out = None",
    "Tensor input, Number exponent, *, Tensor out = None",
)


@method
def pow(input: Any, exponent: Any) -> Any:
    """``input ** exponent``, broadcasting; one of the two may be a Python number.

    Raises:
        RuntimeError: for negative integer powers of integers.
    """
    kind = exponent.__class__
    if (kind is int or kind is float) and isinstance(input, Tensor):
        return pow_number(input, exponent)
    if isinstance(exponent, (Tensor, np.ndarray, np.generic)):
        if isinstance(input, (Tensor, np.ndarray, np.generic)):
            return pow_tensor(input, exponent)
        if isinstance(input, (bool, int, float)):
            return pow_base(exponent, input)
    elif isinstance(exponent, (bool, int, float)) and isinstance(
        input, (Tensor, np.ndarray, np.generic)
    ):
        return pow_number(input, exponent)
    raise combination("pow", (input, exponent), POWER_FORMS)


pow_number_, pow_tensor_ = inplace_form("pow_number"), inplace_form("pow_tensor")


@method(public=False)
def pow_(self: Tensor, exponent: Any) -> Tensor:
    """In-place `pow`."""
    if isinstance(exponent, Tensor):
        return pow_tensor_(self, exponent)
    if not isinstance(exponent, (bool, int, float, np.generic)):
        raise combination("pow_", (exponent,), ("Number exponent", "Tensor exponent"))
    return pow_number_(self, exponent)


@method
def square(input: Any) -> Any:
    """``input ** 2``."""
    return pow_number(input, 2)
