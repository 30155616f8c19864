"""Tensors from Python values, NumPy arrays, shapes and ranges."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, named
from nanotorch._core.device import require_cpu
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import mode
from nanotorch._core.inference import InferenceCell
from nanotorch._core.op import method, public
from nanotorch._core.tensor import Tensor, require_float, wrap
from nanotorch.ops.arguments import as_number, need_tensors
from nanotorch.ops.sizes import shape_of

COPY_WARNING = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)


def leaf(array: np.ndarray, requires_grad: bool = False, on: Any = None) -> Tensor:
    """A new leaf of ``array``; on another device than the CPU is an error."""
    require_cpu(on)
    out = wrap(array)
    if mode.enabled is None:
        out._cell = InferenceCell()
    if requires_grad:
        require_float(array)
        out._requires_grad = True
    return out


def numpy_dtype(dtype: DType | None) -> np.dtype:
    """The NumPy type of a dtype argument; None stands for the default dtype."""
    return dtypes.default.numpy if dtype is None else dtypes.as_dtype(dtype).numpy


# From values


def check_values(data: Any) -> None:
    """Refuse what cannot become a tensor, in PyTorch's words; without recursion."""
    waiting = [(data, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, (str, bytes)):
            raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
        if isinstance(value, (list, tuple)):
            check_lengths(value, depth)
            waiting += [(v, depth + 1) for v in reversed(value)]
        elif not isinstance(value, (bool, int, float, np.ndarray, np.generic, Tensor)):
            raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def check_lengths(values: Sequence[Any], depth: int) -> None:
    """All elements must be sequences of one length, or none of them a sequence."""
    for v in values:
        nested = isinstance(v, (list, tuple))
        if nested and not isinstance(values[0], (list, tuple)):
            raise TypeError(
                f"must be real number, not {type(v).__name__}"
                if isinstance(values[0], float)
                else f"'{type(v).__name__}' object cannot be interpreted as an integer"
            )
        if not nested and isinstance(values[0], (list, tuple)):
            raise TypeError("not a sequence")
        if nested and len(v) != len(values[0]):
            raise ValueError(
                f"expected sequence of length {len(values[0])} at dim {depth + 1} (got {len(v)})"
            )


def array_of(data: Any, dtype: DType | None) -> np.ndarray:
    """A new array of the values; Python floats give the default dtype.

    Raises:
        TypeError, ValueError, RuntimeError: for what is no regular array of numbers.
    """
    mode.quiet()
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.array(data)
        if dtype is None:
            dtypes.of_array(array)
            return array
        return array.astype(numpy_dtype(dtype))
    first = data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if not isinstance(data, (bool, int, float)):
        check_values(data)
        if isinstance(first, Tensor):
            data = bare_values(data)
    array = np.array(data)
    if dtype is not None:
        return array.astype(numpy_dtype(dtype))
    if array.dtype.kind == "f" and not isinstance(first, (np.ndarray, np.generic, Tensor)):
        return array.astype(dtypes.default.numpy)
    return array


def bare_values(data: Any) -> Any:
    """Nested sequences with the tensors among them as arrays."""
    if isinstance(data, Tensor):
        return data._array
    return [bare_values(v) for v in data] if isinstance(data, (list, tuple)) else data


@public
def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of ``data``.

    Args:
        data: a number, nested sequences of numbers, an ndarray, or a tensor.
        dtype: default: that of ``data``; the default dtype for Python floats, int64 for ints.
        device, pin_memory: accepted for PyTorch's sake; the only device is the CPU.
        requires_grad: whether operations on it are recorded.

    Raises:
        TypeError, ValueError: if ``data`` is no regular array of numbers.
        RuntimeError: if a tensor of integers is to require grad.
    """
    if isinstance(data, Tensor):
        warnings.warn(COPY_WARNING, UserWarning, stacklevel=2)
        data = data._array
    return leaf(array_of(data, dtype), requires_grad, device)


@public
def as_tensor(data: Any, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, on the same memory where its type allows."""
    require_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or numpy_dtype(dtype) == data.dtype):
        return from_numpy(data)
    return leaf(array_of(data, dtype))


@public
def asarray(
    obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """``obj`` as a tensor; with ``copy``, on memory of its own."""
    out = as_tensor(obj, dtype, device)
    return out.clone() if copy else out


@public
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of ``ndarray``: writes to either are seen by both.

    Raises:
        TypeError: for anything else, and for types that tensors do not have.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.of_array(ndarray)
    return wrap(ndarray)


# From shapes


@public
def zeros(
    *size: Any, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of zeros of shape ``size``."""
    return leaf(np.zeros(shape_of("zeros", size), numpy_dtype(dtype)), requires_grad, device)


@public
def ones(
    *size: Any, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of ones of shape ``size``."""
    return leaf(np.ones(shape_of("ones", size), numpy_dtype(dtype)), requires_grad, device)


@public
def empty(
    *size: Any, dtype: DType | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of shape ``size`` with arbitrary values."""
    return leaf(np.empty(shape_of("empty", size), numpy_dtype(dtype)), requires_grad, device)


@public
def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of shape ``size`` filled with one number, whose type is the default for dtype."""
    value = as_number(fill_value)
    kind = dtypes.of_number(value).numpy if dtype is None else numpy_dtype(dtype)
    mode.quiet()
    return leaf(np.full(shape_of("full", (size,)), value, kind), requires_grad, device)


def like(name: str, make: Any) -> Any:
    """`zeros_like` and its kin: the shape and, by default, the dtype of another tensor."""

    def maker(
        input: Tensor,
        *,
        dtype: DType | None = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        need_tensors(input)
        kind = input._array.dtype if dtype is None else numpy_dtype(dtype)
        return leaf(make(input._array, kind), requires_grad, device)

    named(
        maker, name
    ).__doc__ = f"A tensor of {name.removesuffix('_like')}, with the shape and dtype of ``input``."
    return public(maker)


zeros_like, ones_like, empty_like = (
    like("zeros_like", np.zeros_like),
    like("ones_like", np.ones_like),
    like("empty_like", np.empty_like),
)


@public
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor filled with one number, with the shape and dtype of ``input``."""
    return full(
        input._array.shape,
        fill_value,
        dtype=dtype or input.dtype,
        device=device,
        requires_grad=requires_grad,
    )


@public
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix ``(n, m)`` with ones on the diagonal; square by default.

    Raises:
        RuntimeError: for a negative size.
    """
    n, m = as_int(n), None if m is None else as_int(m)
    for name, size in (("n", n), ("m", n if m is None else m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return leaf(np.eye(n, m, dtype=numpy_dtype(dtype)), requires_grad, device)


# From a tensor, with its dtype


@method(public=False)
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A new tensor of ``data`` with the dtype of this one."""
    values = data._array if isinstance(data, Tensor) else data
    return leaf(array_of(values, dtype or self.dtype), requires_grad, device)


@method(public=False)
def new_zeros(
    self: Tensor,
    *size: Any,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros of shape ``size`` with the dtype of this tensor."""
    return zeros(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


@method(public=False)
def new_ones(
    self: Tensor,
    *size: Any,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones of shape ``size`` with the dtype of this tensor."""
    return ones(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


@method(public=False)
def new_empty(
    self: Tensor,
    *size: Any,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Arbitrary values of shape ``size`` with the dtype of this tensor."""
    return empty(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


@method(public=False)
def new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number in shape ``size`` with the dtype of this tensor."""
    return full(
        size, fill_value, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad
    )
