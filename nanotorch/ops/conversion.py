"""Conversions between dtypes."""

from typing import Any

from nanotorch._core import dtypes
from nanotorch._core.device import require_cpu
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import mode
from nanotorch._core.op import Array, method, op, public
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import need_tensors


@op(input=lambda g: g, method=False, public=False, node="ToCopyBackward0")
def to_copy(input: Array, dtype: DType) -> Array:
    """A copy in a floating-point dtype; the sweep casts its gradient back."""
    return input.astype(dtype.numpy)


def convert(input: Tensor, dtype: DType, copy: bool = False) -> Tensor:
    """``input`` itself if it has the dtype already, else a copy."""
    if dtype.numpy is input._array.dtype and not copy:
        return input
    if dtype.is_floating_point:
        return to_copy(input, dtype)
    mode.quiet()
    return wrap(input._array.astype(dtype.numpy))


@method(public=False)
def to(
    self: Tensor,
    *target: Any,
    dtype: DType | None = None,
    device: Any = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """This tensor with another dtype; itself if nothing changes.

    Args:
        target: a dtype, a device (the CPU is the only one), or a tensor to be like.
        copy: copy in any case.

    Raises:
        AssertionError, RuntimeError: for a device that is not the CPU.
    """
    for t in target:
        if isinstance(t, Tensor):
            dtype = t.dtype
        elif isinstance(t, DType) or t in (float, int, bool):
            dtype = dtypes.as_dtype(t)
        elif isinstance(t, bool):
            continue  # non_blocking and copy by position
        else:
            require_cpu(t)
    require_cpu(device)
    return convert(self, self.dtype if dtype is None else dtypes.as_dtype(dtype), copy)


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
    """The name of the tensor's type, or the tensor with another dtype."""
    return f"torch.{self.dtype.char}Tensor" if dtype is None else convert(self, dtype)


def cast_method(name: str, dtype: DType) -> None:
    """`Tensor.float()` and its kin."""

    def cast(self: Tensor) -> Tensor:
        return convert(self, dtype)

    cast.__name__, cast.__doc__ = name, f"This tensor with dtype {dtype.name}."
    method(cast, public=False)


for _name, _dtype in {
    "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8, "short": dtypes.int16,
    "int": dtypes.int32, "long": dtypes.int64, "half": dtypes.float16, "float": dtypes.float32,
    "double": dtypes.float64,
}.items():  # fmt: skip
    cast_method(_name, _dtype)


@public
def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of arithmetic between two tensors or numbers."""
    held = [t._array if isinstance(t, Tensor) else t for t in (tensor1, tensor2)]
    return dtypes.result_type(held)
