"""Conversions between dtypes."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import combination
from nanotorch._core.batched import elementwise, under_vmap, wholes
from nanotorch._core.dtypes import device as Device
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.dtypes import require_cpu
from nanotorch._core.grad_mode import mode
from nanotorch._core.layout import order_of
from nanotorch._core.op import Array, hidden_op, method, public
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import need_tensors
from nanotorch.ops.creation import dtype_of
from nanotorch.ops.memory import contiguous, contiguous_format, preserve_format

FLAGS = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None"
FORMS = (
    f"torch.device device = None, torch.dtype dtype = None, {FLAGS}",
    f"torch.dtype dtype, {FLAGS}",
    f"Tensor tensor, {FLAGS}",
)


@hidden_op(input=lambda g: g, node="ToCopyBackward0", batch=elementwise, one_step=True)
def to_copy(input: Array, dtype: DType) -> Array:
    """A copy in a floating-point dtype; the sweep casts its gradient back."""
    return cast(input, dtype._numpy)


@under_vmap(wholes)
def convert(
    input: Tensor, dtype: DType, copy: bool = False, memory_format: Any = preserve_format
) -> Tensor:
    """``input`` itself if it has the dtype already, else a copy."""
    if dtype._numpy == input._array.dtype and not copy:
        return input
    if memory_format is contiguous_format:
        input = contiguous(input)
    if dtype.is_floating_point:
        return to_copy(input, dtype)
    mode.quiet()
    return wrap(cast(input._array, dtype._numpy))


def cast(input: Array, kind: np.dtype) -> Array:
    """A copy in another type, with the dimensions in the same order in memory."""
    return input.astype(kind, order=order_of(input))


@method(public=False)
def to(
    self: Tensor, *target: Any, dtype: DType | None = None, device: Any = None,
    non_blocking: bool = False, copy: bool = False, memory_format: Any = preserve_format,
) -> Tensor:  # fmt: skip
    """This tensor with another dtype; itself if nothing changes.

    Args:
        target: a device (the CPU is the only one) and a dtype; or a dtype; or a tensor to be like;
            behind them, by position, ``non_blocking`` and ``copy``.
        copy: copy in any case.
        memory_format: `contiguous_format` for a copy that lies in memory in order.

    Raises:
        AssertionError, RuntimeError: for a device that is not the CPU.
        TypeError: for anything else.
    """
    rest = list(target)
    if rest and (dtype is not None or device is not None):
        first = rest[0]
        if device is not None or rest[1:] or isinstance(first, Tensor) or is_dtype(first):
            raise combination("to", target, FORMS)
    if rest and isinstance(rest[0], Tensor):
        dtype = rest.pop(0).dtype
    elif rest and is_dtype(rest[0]):
        dtype = dtypes.as_dtype(rest.pop(0))
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or is_dtype(rest[0])):
            given = rest.pop(0)
            dtype = given if given is None else dtypes.as_dtype(given)
    if len(rest) > 2 or not all(isinstance(flag, bool) for flag in rest):
        raise combination("to", target, FORMS)
    if not (device is None or isinstance(device, (str, int, Device))):
        raise combination("to", target, FORMS)
    require_cpu(device)
    copy = rest[1] if len(rest) == 2 else copy
    kind = self.dtype if dtype is None else dtypes.as_dtype(dtype)
    return convert(self, kind, copy, memory_format)


def is_dtype(value: Any) -> bool:
    """Whether it is a dtype, or a type of Python's that stands for one."""
    return isinstance(value, DType) or value in (float, int, bool)


@method(public=False)
def cuda(self: Tensor, device: Any = "cuda", non_blocking: bool = False) -> Tensor:
    """Always an error: tensors live on the CPU.

    Raises:
        AssertionError: PyTorch's.
    """
    return to(self, device)


@method(public=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor with the dtype of ``other``."""
    need_tensors(other)
    return convert(self, other.dtype)


@method(public=False)
def type(self: Tensor, dtype: Any = None) -> Any:
    """The name of the tensor's type, or the tensor with another dtype.

    Args:
        dtype: a dtype, a type as `torch.LongTensor`, or the name of one.

    Raises:
        ValueError: for a text that names no type.
    """
    return f"torch.{self.dtype.char}Tensor" if dtype is None else convert(self, dtype_of(dtype))


def cast_method(name: str, dtype: DType) -> None:
    """`Tensor.float()` and its kin."""

    def convert_to(self: Tensor) -> Tensor:
        return convert(self, dtype)

    convert_to.__name__, convert_to.__doc__ = name, f"This tensor with dtype {dtype.name}."
    method(convert_to, public=False)


for _name, _dtype in {
    "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8, "short": dtypes.int16,
    "int": dtypes.int32, "long": dtypes.int64, "half": dtypes.float16, "float": dtypes.float32,
    "double": dtypes.float64,
}.items():  # fmt: skip
    cast_method(_name, _dtype)


@public
def result_type(tensor: Any, other: Any) -> DType:
    """The dtype of arithmetic between two tensors or numbers."""
    return dtypes.result_type([t._array if isinstance(t, Tensor) else t for t in (tensor, other)])


@public
def can_cast(from_: DType, to: DType) -> bool:
    """Whether PyTorch's rules allow values of one dtype to be stored as another.

    They allow what stays in its category or goes to a higher one: bools, integers, floats.
    """
    return dtypes.can_cast(dtypes.as_dtype(from_), dtypes.as_dtype(to))
