"""Memory of others: objects with Python's buffer protocol, and those that speak DLPack."""

from typing import Any

import numpy as np

from nanotorch._core.arguments import refused
from nanotorch._core.device import require_cpu
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.op import method, public
from nanotorch._core.tensor import Tensor, require_float, wrap
from nanotorch._core.warned import warn_once
from nanotorch.ops.values import shared

READ_ONLY = (
    "The given buffer is not writable, and PyTorch does not support non-writable tensors. This "
    "means you can write to the underlying (supposedly non-writable) buffer using the tensor. You "
    "may want to copy the buffer to protect its data or make it writable before converting it to a "
    "tensor. This type of warning will be suppressed for the rest of this program."
)
CAPSULE = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
    "once, so you might have already constructed a tensor from it once."
)
CPU = (1, 0)  # DLPack's name of the only device


@public
def frombuffer(
    buffer: Any,
    *,
    dtype: DType,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """The bytes of an object as a tensor of one dimension, on the same memory.

    Args:
        buffer: bytes, a bytearray, an array, ...
        count: how many elements. Default: all.
        offset: how many bytes to pass over.
        requires_grad: whether operations on it are recorded.

    Raises:
        ValueError: for an object without bytes, or numbers that do not fit it.

    Warns:
        UserWarning: once, if the memory is read-only; a write to the tensor is an error then.
    """
    if not isinstance(dtype, DType):
        raise refused(dtype, "torch.dtype")
    data = memory_of(buffer)
    if data is None:
        raise ValueError("object does not implement Python buffer protocol.")
    length, size = data.nbytes, dtype.itemsize
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    if data.readonly:
        warn_once(READ_ONLY)
    array = np.frombuffer(data, dtype._numpy, max(count, -1), offset)
    if requires_grad:
        require_float(array)
    return wrap(array).requires_grad_(requires_grad)


def memory_of(value: Any) -> memoryview | None:
    """The bytes of an object that gives them away; None for others."""
    try:
        return memoryview(value)
    except TypeError:
        return None


@method(name="__dlpack__", public=False)
def dlpack(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
    read_only: bool = False,
) -> Any:
    """The memory of this tensor for `from_dlpack` of another library.

    Raises:
        BufferError: if the tensor requires grad.
        AssertionError: for a stream, which only GPUs have.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    return self._array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


@method(name="__dlpack_device__", public=False)
def dlpack_device(self: Tensor) -> tuple[int, int]:
    """Where the tensor is: the CPU, of which there is one."""
    return CPU


class Exported:
    """A capsule that was taken from its object already, as an object again."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


@public
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array.

    Args:
        ext_tensor: what has a method ``__dlpack__``, or what that gave, which can be used once.
        device: the CPU is the only one.
        copy: True: on memory of its own.

    Raises:
        RuntimeError: for anything else, or a capsule that has been used.
        BufferError: for memory that cannot be shared: on another device, of other elements, of a
            tensor that requires grad.
    """
    require_cpu(device)
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = Exported(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(CAPSULE)
    try:
        array = np.from_dlpack(ext_tensor, copy=copy)
    except ValueError as error:
        raise RuntimeError(CAPSULE) from error
    return wrap(shared(array, writable=False))


@public
def to_dlpack(tensor: Tensor) -> Any:
    """The memory of a tensor for another library, to be used once.

    Raises:
        BufferError: if the tensor requires grad.
    """
    return dlpack(tensor, max_version=(1, 0))  # in which it can be told that writing is allowed
