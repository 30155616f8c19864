"""Elementwise functions of three tensors: a way between two, and products added."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination
from nanotorch._core.batch_rules import elementwise
from nanotorch._core.dtypes import Number
from nanotorch._core.former import former_order
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import as_number, need_tensors, number_in, number_or_infinity
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.hidden import inplace_form

NAMES = {"Long": "long int", "Half": "c10::Half", "Byte": "unsigned char", "Char": "signed char"}
NAMES |= {"Short": "short int"}


def check_alike(input: Array, **others: Any) -> None:
    """Refuse tensors of another dtype than the first."""
    own, *rest = (dtypes.of_array(array).char for array in (input, *others.values()))
    for name, kind in zip(others, rest, strict=True):
        if kind != own:
            raise RuntimeError(
                f"expected dtype {NAMES.get(own, own.lower())} for `{name}` but got dtype "
                f"{NAMES.get(kind, kind.lower())}"
            )


def between(input: Array, end: Array, weight: Any, form: str) -> Array:
    """The kernel of `lerp`: from the end that is nearer, lest rounding keep it from being met."""
    tensor = isinstance(weight, np.ndarray)
    if tensor and not weight.ndim:
        kind = dtypes.result_type([input, end, weight])._numpy
        input, end = input.astype(kind, copy=False), end.astype(kind, copy=False)
    if input.dtype.kind != "f":
        name = dtypes.of_array(input).char
        raise NotImplementedError(f"\"lerp_kernel_{form}\" not implemented for '{name}'")
    shape = common_shape(input.shape, end.shape)
    common_shape(shape, np.shape(weight))
    weight = weight.astype(input.dtype) if tensor else number_or_infinity(weight, input.dtype)
    way = end - input
    return np.where(np.abs(weight) < 0.5, input + weight * way, end - way * (1 - weight))


@op(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    inplace=True,
    method=False,
    public=False,
    node="LerpBackward0",
    batch=elementwise,
    wide=True,
)
def lerp_number(input: Array, end: Array, weight: float) -> Array:
    """`lerp` with a weight that is a number."""
    check_alike(input, end=end)
    return between(input, end, weight, "scalar")


@op(
    input=lambda g, weight: g * (1 - weight),
    end=lambda g, weight: g * weight,
    weight=lambda g, input, end: g * (end - input),
    inplace=True,
    method=False,
    public=False,
    node="LerpBackward1",
    batch=elementwise,
    wide=True,
)
def lerp_tensor(input: Array, end: Array, weight: Array) -> Array:
    """`lerp` with a weight that is a tensor."""
    check_alike(input, end=end, **({"weight": weight} if weight.ndim else {}))
    return between(input, end, weight, "tensor")


lerp_number_, lerp_tensor_ = inplace_form("lerp_number"), inplace_form("lerp_tensor")
LERP_FORMS = (
    "Tensor input, Tensor end, Tensor weight, *, Tensor out = None",
    "Tensor input, Tensor end, Number weight, *, Tensor out = None",
)


@method
def lerp(input: Any, end: Any, weight: Any) -> Any:
    """``input + weight * (end - input)``, broadcasting.

    Args:
        weight: a tensor or a number.

    Raises:
        RuntimeError: for tensors of different dtypes.
    """
    if not isinstance(input, Tensor) or not isinstance(end, Tensor):
        raise combination("lerp", (input, end, weight), LERP_FORMS)
    return (lerp_tensor if isinstance(weight, Tensor) else lerp_number)(input, end, weight)


@method(public=False)
def lerp_(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """In-place `lerp`."""
    return (lerp_tensor_ if isinstance(weight, Tensor) else lerp_number_)(self, end, weight)


# Products and quotients added


@op(
    input=lambda g: g,
    tensor1=lambda g, tensor2, value: g * (tensor2 * value),
    tensor2=lambda g, tensor1, value: g * (tensor1 * value),
    cast="promote",
    numbers=False,
    inplace=True,
    wide=True,
)
def addcmul(input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """``input + value * tensor1 * tensor2``, broadcasting."""
    if input.dtype.kind == "b":
        raise NotImplementedError("\"addcmul_cpu_out\" not implemented for 'Bool'")
    return input + number_in(as_number(value), input.dtype) * tensor1 * tensor2


NO_INTEGERS = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
    "perform a true division of tensor1 and tensor2. The historic addcdiv behavior can be "
    "implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer "
    "inputs and as (input + value * tensor1 / tensor2) for float inputs. The future addcdiv "
    "behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all "
    "dtypes."
)


@op(
    input=lambda g, tensor2: g,  # PyTorch keeps the divisor in any case
    tensor1=lambda g, tensor2, value: g * (value / tensor2),
    tensor2=lambda g, tensor1, tensor2, value: -g * (value * tensor1 / (tensor2 * tensor2)),
    cast="promote",
    numbers=False,
    inplace=True,
    method=False,
    public=False,
    node="AddcdivBackward0",
    wide=True,
)
def add_quotient(input: Array, tensor1: Array, tensor2: Array, value: float) -> Array:
    """The kernel of `addcdiv`."""
    if input.dtype != np.float16:
        value = number_in(value, input.dtype)
    return input + value * tensor1 / tensor2


add_quotient_ = inplace_form("add_quotient")


def require_floats(*tensors: Any) -> None:
    """A quotient of integers would have to be rounded."""
    need_tensors(*tensors)
    if all(t._array.dtype.kind != "f" for t in tensors):
        raise RuntimeError(NO_INTEGERS)


QUOTIENT = ("input", "tensor1", "tensor2")  # what `addcdiv` is given


@method
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *former: Any, value: Number = 1) -> Any:
    """``input + value * tensor1 / tensor2``, broadcasting.

    Args:
        former: the second tensor, in a call that gives the value before the two.

    Raises:
        RuntimeError: if both tensors to divide are of integers.
    """
    if former:
        given = (input, tensor1, tensor2, *former)
        return addcdiv(**former_order("addcdiv", QUOTIENT, given, value != 1, method=True))
    require_floats(tensor1, tensor2)
    return add_quotient(input, tensor1, tensor2, as_number(value))


@method(public=False)
def addcdiv_(self: Tensor, tensor1: Any, tensor2: Any, *former: Any, value: Number = 1) -> Tensor:
    """In-place `addcdiv`."""
    if former:
        given = (self, tensor1, tensor2, *former)
        return addcdiv_(
            **former_order("addcdiv_", ("self", *QUOTIENT[1:]), given, value != 1, method=True)
        )
    require_floats(tensor1, tensor2)
    return add_quotient_(self, tensor1, tensor2, as_number(value))
