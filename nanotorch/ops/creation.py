"""Tensors from Python values, NumPy arrays, shapes and ranges."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import (
    as_int,
    combination,
    integer,
    kind_of,
    named,
    place_of,
    refused,
    require_bool,
)
from nanotorch._core.batch_functions import for_each, under_vmap
from nanotorch._core.batched import NoValues, batched
from nanotorch._core.copying import order_of
from nanotorch._core.device import require_cpu
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import mode
from nanotorch._core.heap import allocated
from nanotorch._core.inference import InferenceCell
from nanotorch._core.layout import strided
from nanotorch._core.op import method, public
from nanotorch._core.tensor import Tensor, require_float, wrap
from nanotorch._core.warned import warn
from nanotorch.ops.arguments import as_number, need_tensors, number_in, number_or_infinity
from nanotorch.ops.memory import contiguous_format, preserve_format
from nanotorch.ops.sizes import shape_of
from nanotorch.ops.values import array_of, shared

COPY_WARNING = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)
OPTIONS = (
    "torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, "
    "bool pin_memory = False, bool requires_grad = False"
)
EYE = tuple(f"{sizes}, *, Tensor out = None, {OPTIONS}" for sizes in ("int n", "int n, int m"))


def require_flag(requires_grad: object) -> None:
    """Raise `TypeError` unless ``requires_grad`` is a bool."""
    if requires_grad is not True:
        place = place_of(requires_grad)
        require_bool(requires_grad, place and (place[0], "requires_grad", 0))


def leaf(
    array: np.ndarray, requires_grad: bool | None = False, on: Any = None, layout: Any = None
) -> Tensor:
    """A new leaf of ``array``; on another device than the CPU or in another layout is an error."""
    require_cpu(on)
    if layout is not None and layout is not strided:
        place = place_of(layout)
        raise refused(layout, "torch.layout", place and (place[0], "layout", 0))
    out = wrap(array)
    if mode.enabled is None:
        out._cell = InferenceCell()
    if requires_grad is not False and requires_grad is not None:
        require_flag(requires_grad)
        require_float(array)
        out._requires_grad = True
    return out


def numpy_dtype(dtype: DType | None) -> np.dtype:
    """The NumPy type of a dtype argument; None stands for the default dtype."""
    return dtypes.default.numpy if dtype is None else dtypes.as_dtype(dtype)._numpy


# From values


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
        warn(COPY_WARNING)
        data = data._array
    if requires_grad is not False:  # None, too, which functions that fill a shape allow
        require_flag(requires_grad)
    return leaf(array_of(data, dtype), requires_grad, device)


@public
def as_tensor(data: Any, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``data`` as a tensor, on the same memory where its type allows.

    Raises, warns: as `tensor` and `from_numpy`.
    """
    require_cpu(device)
    if isinstance(data, Tensor):
        return data if dtype is None else data.to(dtype)
    if isinstance(data, np.ndarray) and (dtype is None or numpy_dtype(dtype) == data.dtype):
        return from_numpy(data)
    return leaf(array_of(data, dtype))


@public
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of ``ndarray``: writes to either are seen by both.

    Raises:
        TypeError: for anything else, and for types that tensors do not have.
        ValueError: for negative strides, and for a byte order that is not the machine's.

    Warns:
        UserWarning: once, if the memory is read-only; a write to the tensor is an error then.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {kind_of(ndarray)})")
    return leaf(shared(ndarray))


# From shapes


@public
def zeros(
    *sizes: Any,
    size: Sequence[int] | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of zeros, of a shape given as one sequence or as several numbers."""
    return leaf(
        np.zeros(shape_of("zeros", sizes, size), numpy_dtype(dtype)), requires_grad, device, layout
    )


@public
def ones(
    *sizes: Any,
    size: Sequence[int] | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of ones, of a shape given as one sequence or as several numbers."""
    return leaf(
        np.ones(shape_of("ones", sizes, size), numpy_dtype(dtype)), requires_grad, device, layout
    )


@public
def empty(
    *sizes: Any,
    size: Sequence[int] | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor with arbitrary values, of a shape given as one sequence or as several numbers."""
    return leaf(
        np.empty(shape_of("empty", sizes, size), numpy_dtype(dtype)), requires_grad, device, layout
    )


@public
def full(
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of shape ``size`` filled with one number, whose type is the default for dtype.

    Raises:
        TypeError: for a size that is no sequence of integers, or a value that is no number.
        RuntimeError: for a number beyond the limits of the dtype.
    """
    if not isinstance(size, (tuple, list)):
        raise refused(size, "tuple of ints")
    value = as_number(fill_value)
    kind = dtypes.of_number(value)._numpy if dtype is None else numpy_dtype(dtype)
    mode.quiet()
    shape = shape_of("full", (size,))
    return leaf(np.full(shape, number_in(value, kind), kind), requires_grad, device, layout)


def like_all(maker: Any, sample: Any, *given: Any, **named: Any) -> Tensor:
    """What ``maker`` makes for each sample of a batch."""
    return batched(maker(sample._whole, *given, **named), sample._batch)


def like(name: str, make: Any) -> Any:
    """`zeros_like` and its kin: the shape and, by default, the dtype of another tensor."""

    def maker(
        input: Tensor,
        *,
        dtype: DType | None = None,
        device: Any = None,
        layout: Any = None,
        requires_grad: bool = False,
        memory_format: Any = preserve_format,
    ) -> Tensor:
        need_tensors(input)
        array = input._array
        kind = array.dtype if dtype is None else numpy_dtype(dtype)
        try:
            order = "C" if memory_format is contiguous_format else order_of(array)
            return leaf(allocated(make, array, kind, order), requires_grad, device, layout)
        except NoValues:
            return like_all(maker, input, dtype=dtype, requires_grad=requires_grad)

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
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor filled with one number, with the shape and dtype of ``input``."""
    need_tensors(input)
    array = input._array
    kind = array.dtype if dtype is None else numpy_dtype(dtype)
    value = number_in(as_number(fill_value), kind)
    try:
        made = allocated(np.full_like, array, value, kind, order_of(array))
    except NoValues:
        return like_all(full_like, input, value, dtype=dtype, requires_grad=requires_grad)
    return leaf(made, requires_grad, device, layout)


@public
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A matrix ``(n, m)`` with ones on the diagonal; square by default.

    Raises:
        RuntimeError: for a negative size.
        TypeError: for what is no integer.
    """
    if m is not None and integer(m) is None:
        raise combination("eye", (n, m), EYE)
    n, m = as_int(n), None if m is None else as_int(m)
    for name, size in (("n", n), ("m", n if m is None else m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return leaf(np.eye(n, m, dtype=numpy_dtype(dtype)), requires_grad, device, layout)


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


def options_of(
    self: Tensor, dtype: DType | None, device: Any, layout: Any, requires_grad: bool
) -> dict[str, Any]:
    """The options of a new tensor, which has the dtype of this one unless another is given."""
    kind = dtype or self.dtype
    return {"dtype": kind, "device": device, "layout": layout, "requires_grad": requires_grad}


@method(public=False)
@under_vmap(for_each)
def new_zeros(
    self: Tensor,
    *sizes: Any,
    size: Sequence[int] | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros of a given shape with the dtype of this tensor."""
    shape = shape_of("new_zeros", sizes, size)
    return allocated(zeros, shape, **options_of(self, dtype, device, layout, requires_grad))


@method(public=False)
@under_vmap(for_each)
def new_ones(
    self: Tensor,
    *sizes: Any,
    size: Sequence[int] | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones of a given shape with the dtype of this tensor."""
    shape = shape_of("new_ones", sizes, size)
    return allocated(ones, shape, **options_of(self, dtype, device, layout, requires_grad))


@method(public=False)
@under_vmap(for_each)
def new_empty(
    self: Tensor,
    *sizes: Any,
    size: Sequence[int] | None = None,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Arbitrary values of a given shape with the dtype of this tensor."""
    shape = shape_of("new_empty", sizes, size)
    return allocated(empty, shape, **options_of(self, dtype, device, layout, requires_grad))


@method(public=False)
@under_vmap(for_each)
def new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number in shape ``size`` with the dtype of this tensor."""
    options = options_of(self, dtype, device, layout, requires_grad)
    return allocated(full, size, fill_value, **options)


@public
def scalar_tensor(
    s: Any,
    *,
    dtype: DType | None = None,
    device: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor of a number, in the default dtype unless another is given."""
    kind = numpy_dtype(dtype)
    return leaf(
        np.array(number_or_infinity(as_number(s), kind), kind), requires_grad, device, layout
    )
