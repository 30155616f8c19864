"""Tensors from values, memory, shapes and ranges; copies; conversions between dtypes."""

import math
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from nanotorch._core import bfloat16, dtypes
from nanotorch._core.arguments import (
    ABSENT,
    allocate,
    as_int,
    find_argument,
    missing_args,
    rename,
    require_bool,
    to_integer,
    type_name,
    with_memory_errors,
    wrong_type,
)
from nanotorch._core.call_site import warn, warn_once
from nanotorch._core.doors import NoValues
from nanotorch._core.dtypes import CPU, INT64, META, Size, absent, here, on_meta
from nanotorch._core.dtypes import device as Device
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import InferenceCell, mode
from nanotorch._core.layout import layout, order_of, strided
from nanotorch._core.meta import NO_DATA, MetaArray, dense, like_meta, meta_array
from nanotorch._core.op import PUBLIC, Array, as_number, hidden_op, method, op, public
from nanotorch._core.tensor import Tensor, require_float, wrap
from nanotorch.ops.arguments import (
    READ_ONLY,
    MemoryFormat,
    ToOptions,
    check_kind,
    check_ndim,
    check_same_dtype,
    check_tensors,
    is_sequence,
    new_array,
    no_form,
    number_as,
    number_or_infinity,
    parse_shape,
    parse_to,
    require,
    require_value,
    unpack_tensors,
    view_memory,
)
from nanotorch.ops.storage import UntypedStorage

# Copies, and the layout of their elements in memory.


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
_names: dict[str, Any] = {
    "memory_format": MemoryFormat, "contiguous_format": contiguous_format,
    "preserve_format": preserve_format, "layout": layout, "strided": strided,
}  # fmt: skip
PUBLIC.update(_names)


@public
def numel(input: Tensor) -> int:
    """The number of elements of ``input``."""
    return input._array.size


@hidden_op(input=lambda g: g, view=True)
def alias(input: Array) -> Array:
    """A view of all of ``input``."""
    return input[...]


def check_memory_format(memory_format: Any) -> None:
    """Refuse what is no memory format."""
    if not isinstance(memory_format, MemoryFormat):
        raise wrong_type(memory_format, "torch.memory_format")


@op(input=lambda g: g, one_step=True)
def clone(input: Array, *, memory_format: Any = preserve_format) -> Array:
    """A copy of ``input``.

    Args:
        memory_format: `contiguous_format` for elements in order in memory. Default: the dimensions
            keep their order in memory.
    """
    if memory_format is not None:
        check_memory_format(memory_format)
    return input.copy("C" if memory_format is contiguous_format else order_of(input))


@method(public=False)
def contiguous(self: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in order in memory, else a copy with that layout."""
    if memory_format is not contiguous_format:
        check_memory_format(memory_format)
    if self._array.flags.c_contiguous:
        return self
    return clone(self, memory_format=contiguous_format)


# `Tensor(...)`, PyTorch's first constructor: of sizes, or of values in the default dtype.


@method(name="__new__", public=False)
@with_memory_errors
def construct(cls: type[Tensor], *given: Any, device: Any = None) -> Any:
    """A tensor of the default dtype, or a view of a given tensor.

    Args:
        given: the sizes of a tensor with arbitrary values; or one sequence of values, where an
            array of the default dtype shares its memory with the result; or a tensor.

    Raises:
        TypeError, ValueError, RuntimeError: for anything else.
    """
    require_former_device(given, device)
    if len(given) == 1 and isinstance(given[0], Tensor):
        out = alias(given[0])
        out.__class__ = cls
        return out
    out = object.__new__(cls)
    out._array = array_from(given, dtypes.default.dtype)
    return out


def require_former_device(given: tuple[Any, ...], device: Any) -> None:
    """Refuse a ``device`` that `Tensor(...)` and functions of its kind do not take."""
    if device is None:
        return
    kind = Device(device).type
    text = "legacy constructor expects device type: cpu but device type: {} was passed"
    require(kind == "cpu", text, kind)
    if len(given) == 1 and isinstance(given[0], Tensor):
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not "
            "supported.  Use torch.tensor(...) or torch.as_tensor(...) instead."
        )


def array_from(given: tuple[Any, ...], dtype: DType) -> np.ndarray:
    """An array of arbitrary values, of sizes or a `Size`; or one of the values of a sequence."""
    data = given[0] if len(given) == 1 else given or (0,)
    if len(given) == 1 and to_integer(data) is None and not isinstance(data, Size):
        if not is_sequence(data):
            raise TypeError(f"new(): data must be a sequence (got {type_name(data)})")
        if isinstance(data, np.ndarray) and data.dtype == dtype._numpy:
            return view_memory(data)
        return new_array(data, dtype)
    sizes = data if isinstance(data, tuple) else given
    if sizes and to_integer(sizes[0]) is None:
        raise no_form("new", *given)
    return np.empty(parse_shape("new", (tuple(sizes),)), dtype._numpy)


COPY_WARNING = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor)."
)


def require_flag(requires_grad: object) -> None:
    """Raise TypeError unless ``requires_grad`` is a bool."""
    if requires_grad is not True:
        place = find_argument(requires_grad)
        require_bool(requires_grad, place and (place[0], "requires_grad", 0))


class Options(TypedDict, total=False):
    """The options of functions that create a tensor: whether operations on it are recorded, and for
    PyTorch's sake a device (the CPU is the only one) and a layout."""

    device: Any
    layout: Any
    pin_memory: bool
    requires_grad: bool | None


def new_leaf(
    array: np.ndarray, requires_grad: bool | None = False, device: Any = None, layout: Any = None,
    pin_memory: bool = False, **unknown: Any,
) -> Tensor:  # fmt: skip
    """A new leaf on the memory of ``array``.

    Raises:
        TypeError: for an unknown option, another layout, or a flag that is not a bool.
        RuntimeError: for a leaf of integers that requires grad.
        AssertionError, RuntimeError: for a device that is neither the CPU nor "meta".
    """
    if unknown:
        name, value = next(iter(unknown.items()))
        place = find_argument(value, name)
        raise TypeError(f"{place and place[0]}() got an unexpected keyword argument '{name}'")
    if (here.places[-1] if device is None else device) is not CPU and on_meta(device):
        array = meta_array(array.shape, array.dtype)
    if layout is not None and layout is not strided:
        place = find_argument(layout)
        raise wrong_type(layout, "torch.layout", place and (place[0], "layout", 0))
    if pin_memory is not False and pin_memory is not None:
        place = find_argument(pin_memory)
        require_bool(pin_memory, place and (place[0], "pin_memory", 0))
    if not array.dtype.isnative:
        array = bfloat16.with_shared_dtype(array)
    out = wrap(array)
    if mode.enabled is None:
        out._writes = InferenceCell()
    if requires_grad is not False and requires_grad is not None:
        require_flag(requires_grad)
        require_float(array)
        out._set_flag(True)
    return out


def new_filled(make: Any, shape: Any, kind: np.dtype, options: Any) -> Tensor:
    """A new leaf of the array ``make(shape, kind)``, which is not made on the device "meta".

    Args:
        options: as of `new_leaf`, which is not called in the usual case, without any.
    """
    if not options and here.places[-1] is CPU and mode.enabled is not None and kind.isnative:
        return wrap(make(shape, kind))
    made = (meta_array if on_meta(options.get("device")) else make)(shape, kind)
    return new_leaf(made, **options)


def numpy_dtype(dtype: DType | None) -> np.dtype:
    """The NumPy type of an argument ``dtype``; None is the default dtype."""
    return dtypes.default.numpy if dtype is None else dtypes.as_dtype(dtype)._numpy


# From values


@public
def tensor(
    data: Any, *, dtype: DType | None = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A new tensor with a copy of ``data``.

    Args:
        data: a number, nested sequences of numbers, an ndarray, or a tensor.
        dtype: the dtype of the tensor. Default: that of ``data``; the default dtype for Python
            floats, int64 for ints.
        device, pin_memory: accepted for PyTorch's sake; the only device is the CPU.
        requires_grad: whether operations on it are recorded.

    Raises:
        TypeError, ValueError: if ``data`` is not a regular array of numbers.
        RuntimeError: if ``requires_grad`` is True for a tensor of integers.
    """
    if isinstance(data, Tensor):
        warn(COPY_WARNING)
        device = data.device if device is None else device
        data = (data if on_meta(device) else data.cpu())._array
    if requires_grad is not False:  # not even None, which functions of a shape accept
        require_flag(requires_grad)
    return new_leaf(new_array(data, dtype), requires_grad, device)


@public
def as_tensor(data: Any, *, dtype: DType | None = None, device: Any = None) -> Tensor:
    """``data`` as a tensor; tensors and arrays that have ``dtype`` share their memory with it.

    For errors and warnings see `tensor` and `from_numpy`.
    """
    meta = on_meta(device)
    if isinstance(data, Tensor):
        default = device is None and not meta
        return data.to(data.device if default else META if meta else CPU, dtype)
    if (
        not meta
        and isinstance(data, np.ndarray)
        and (dtype is None or numpy_dtype(dtype) == data.dtype)
    ):
        return from_numpy(data)
    return new_leaf(new_array(data, dtype), device=device)


@public
def asarray(
    obj: Any, *, dtype: DType | None = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """``obj`` as a tensor, on the same memory where possible.

    Args:
        obj: an argument of `as_tensor`; or bytes or the storage of a tensor, whose default dtype
            is uint8.
        copy: whether the tensor has memory of its own. Default: only if it must.
        requires_grad: whether operations on it are recorded.

    Raises:
        ValueError: if ``copy`` is False and the tensor must have memory of its own.
    """
    if isinstance(obj, bytes | bytearray | UntypedStorage):
        held = obj._memory if isinstance(obj, UntypedStorage) else obj
        made = frombuffer(held, dtype=dtype or dtypes.uint8)
    else:
        made = as_tensor(obj, dtype=dtype, device=device)
        held = obj._array if isinstance(obj, Tensor) else obj
        if not isinstance(held, np.ndarray) or not np.may_share_memory(held, made._array):
            if copy is False:
                raise ValueError(f"can't alias {type_name(obj)} into a tensor of {made.dtype}.")
            copy = False
    made = made.clone() if copy else made
    return made.requires_grad_() if requires_grad and not made.requires_grad else made


@public
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of ``ndarray``: a write to one changes both.

    Raises:
        TypeError: for anything else, and for a dtype that tensors do not have.
        ValueError: for negative strides, and for a byte order that is not the machine's.

    Warns:
        UserWarning: once, if the memory is read-only; a write to the tensor then raises an error.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    return new_leaf(view_memory(ndarray), device=CPU)


# From shapes


@public
def zeros(
    *sizes: Any, size: Sequence[int] | None = None, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of zeros; ``sizes`` is its shape, as one sequence or as several numbers."""
    shape, kind = parse_shape("zeros", sizes, size), numpy_dtype(dtype)
    return new_filled(np.zeros, shape, kind, options)


@public
def ones(
    *sizes: Any, size: Sequence[int] | None = None, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of ones; ``sizes`` is its shape, as one sequence or as several numbers."""
    shape, kind = parse_shape("ones", sizes, size), numpy_dtype(dtype)
    return new_filled(np.ones, shape, kind, options)


@public
def empty(
    *sizes: Any, size: Sequence[int] | None = None, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of arbitrary values; ``sizes`` is its shape, as one sequence or several numbers."""
    shape, kind = parse_shape("empty", sizes, size), numpy_dtype(dtype)
    return new_filled(np.empty, shape, kind, options)


@public
def full(
    size: Sequence[int], fill_value: Any, *, dtype: DType | None = None, **options: Unpack[Options]
) -> Tensor:
    """A tensor of shape ``size`` filled with the number ``fill_value``.

    Args:
        dtype: the dtype of the tensor. Default: that of ``fill_value``.

    Raises:
        TypeError: if ``size`` is not a sequence of integers, or ``fill_value`` not a number.
        RuntimeError: for a number beyond the limits of the dtype.
    """
    if not isinstance(size, (tuple, list)):
        raise wrong_type(size, "tuple of ints")
    value = as_number(fill_value)
    kind = dtypes.dtype_of_number(value)._numpy if dtype is None else numpy_dtype(dtype)
    mode.quiet()
    shape, number = parse_shape("full", (size,)), number_as(value, kind)
    return new_filled(lambda *made: np.full(made[0], number, made[1]), shape, kind, options)


def beside(input: Tensor, options: Any) -> Array:
    """The array of a tensor, for a new one on its device, or on that in the options."""
    array = input._array
    if options.get("device") is None:
        options["device"] = CPU
    elif isinstance(array, MetaArray) is not on_meta(options["device"]):
        array = np.empty_like(dense(array))
    return array


def like(name: str, make: Any) -> Any:
    """`zeros_like`, `ones_like` or `empty_like`, from the NumPy function ``make``."""

    def maker(
        input: Tensor, *, dtype: DType | None = None, memory_format: Any = preserve_format,
        **options: Unpack[Options],
    ) -> Tensor:  # fmt: skip
        check_tensors(input)
        if memory_format is not None:
            check_memory_format(memory_format)
        array = input._array
        kind = array.dtype if dtype is None else numpy_dtype(dtype)
        try:
            order = "C" if memory_format is contiguous_format else order_of(array)
            array = beside(input, options)
            return new_leaf(allocate(make, array, kind, order), **options)
        except NoValues:  # each sample of a batch has its own
            sample: Any = input
            made: Tensor = sample._like(lambda whole: maker(whole, dtype=dtype, **options))
            return made

    what = name.removesuffix("_like")
    rename(maker, name).__doc__ = f"A tensor of {what}, with the shape and dtype of ``input``."
    return public(maker)


zeros_like, ones_like, empty_like = (
    like("zeros_like", np.zeros_like),
    like("ones_like", np.ones_like),
    like("empty_like", np.empty_like),
)


@public
def full_like(
    input: Tensor, fill_value: Any, *, dtype: DType | None = None, **options: Unpack[Options]
) -> Tensor:
    """A tensor filled with the number ``fill_value``, with the shape and dtype of ``input``."""
    check_tensors(input)
    array = input._array
    kind = array.dtype if dtype is None else numpy_dtype(dtype)
    value = number_as(as_number(fill_value), kind)
    try:
        array = beside(input, options)
        return new_leaf(allocate(np.full_like, array, value, kind, order_of(array)), **options)
    except NoValues:
        sample: Any = input
        made: Tensor = sample._like(lambda whole: full_like(whole, value, dtype=dtype, **options))
        return made


@public
def eye(
    n: int, m: int | None = None, *, dtype: DType | None = None, **options: Unpack[Options]
) -> Tensor:
    """A matrix ``(n, m)`` of zeros with ones on the diagonal; square by default.

    Raises:
        RuntimeError: for a negative size.
        TypeError: for a size that is not an integer.
    """
    if m is not None and to_integer(m) is None:
        raise no_form("eye", n, m)
    n, m = as_int(n), None if m is None else as_int(m)
    for name, size in (("n", n), ("m", n if m is None else m)):
        require(size >= 0, "{} must be greater or equal to 0, got {}", name, size)
    return new_leaf(np.eye(n, m, dtype=numpy_dtype(dtype)), **options)


# From a tensor, with its dtype


def new_from(
    make: Any, self: Tensor, *sizes: Any, dtype: DType | None, device: Any = None, **options: Any
) -> Tensor:
    """A tensor of the function ``make``, by default with the dtype and on the device of another."""
    kind, place = self.dtype if dtype is None else dtype, self.device if device is None else device
    made: Tensor = allocate(make, *sizes, dtype=kind, device=place, **options)
    return made


@method(public=False)
def new_tensor(
    self: Tensor, data: Any, *, dtype: DType | None = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A new tensor with a copy of ``data`` and the dtype of this tensor."""
    values = data._array if isinstance(data, Tensor) else data
    kind = self.dtype if dtype is None else dtype
    require_bool(requires_grad, "requires_grad")
    device = self.device if device is None else device
    return new_leaf(new_array(values, kind), requires_grad, device)


@method(public=False)
def new_zeros(
    self: Tensor, *sizes: Any, size: Sequence[int] | None = None, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of zeros with the dtype of this tensor; for ``sizes`` see `zeros`."""
    shape = parse_shape("new_zeros", sizes, size)
    return new_from(zeros, self, shape, dtype=dtype, **options)


@method(public=False)
def new_ones(
    self: Tensor, *sizes: Any, size: Sequence[int] | None = None, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of ones with the dtype of this tensor; for ``sizes`` see `ones`."""
    shape = parse_shape("new_ones", sizes, size)
    return new_from(ones, self, shape, dtype=dtype, **options)


@method(public=False)
def new_empty(
    self: Tensor, *sizes: Any, size: Sequence[int] | None = None, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of arbitrary values with the dtype of this tensor; for ``sizes`` see `empty`."""
    shape = parse_shape("new_empty", sizes, size)
    return new_from(empty, self, shape, dtype=dtype, **options)


@method(public=False)
def new_full(
    self: Tensor, size: Sequence[int], fill_value: Any, *, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """A tensor of shape ``size`` filled with ``fill_value``, with the dtype of this tensor."""
    return new_from(full, self, size, fill_value, dtype=dtype, **options)


@public
def scalar_tensor(s: Any, *, dtype: DType | None = None, **options: Unpack[Options]) -> Tensor:
    """A 0-d tensor of the number ``s``, by default in the default dtype."""
    kind = numpy_dtype(dtype)
    return new_leaf(np.array(number_or_infinity(as_number(s), kind), kind), **options)


# Evenly spaced numbers, and grids of them.


def check_steps(start: float, end: float, step: float) -> None:
    """Refuse infinite bounds, and a ``step`` that is 0 or leads away from ``end``."""
    require(step != 0, "step must be nonzero")
    require(math.isfinite(start) and math.isfinite(end), "unsupported range: {} -> {}", start, end)
    require((end - start) * step >= 0, "upper bound and lower bound inconsistent with step sign")


@public
def arange(
    *bounds: Any, start: Any = ABSENT, end: Any = ABSENT, step: Any = ABSENT,
    dtype: DType | None = None, **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """Numbers from ``start`` (default 0) to ``end``, exclusive, in steps of ``step`` (default 1).

    Args:
        bounds: ``end``; ``start, end``; or ``start, end, step``.
        dtype: the dtype of the tensor. Default: int64 for three integers, else the default dtype.

    Raises:
        RuntimeError: if ``step`` is 0 or leads away from ``end``, or a number is beyond the limits.
        TypeError: for a bound that is not a number.
        NotImplementedError: for dtype bool.
    """
    if start is end is step is ABSENT and 0 < len(bounds) < 4:
        start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    else:
        by_name = (("start", start), ("end", end), ("step", step))
        named = {key: value for key, value in by_name if value is not ABSENT}
        places = ("end",) if len(bounds) == 1 and not named else ("start", "end", "step")
        given = named | dict(zip(places, bounds, strict=False))
        twice_or_more = len(given) < len(named) + len(bounds)
        if twice_or_more or "end" not in given or ("step" in given and "start" not in given):
            raise no_form("arange", *bounds, **named)
        start, end, step = given.get("start", 0), given["end"], given.get("step", 1)
    place = ("arange", "end", 1) if len(bounds) == 1 else None
    start, end, step = as_number(start), as_number(end, place), as_number(step)
    whole = all(isinstance(v, (int, np.integer)) for v in (start, end, step))
    kind = numpy_dtype(dtype) if dtype is not None or not whole else np.dtype(np.int64)
    check_kind("arange_cpu", np.empty(0, kind), kinds="fiu")
    check_steps(start, end, step)
    if whole and kind == np.int64:
        for value in (start, end, step):
            if not -(2**63) <= value < 2**63:
                number_as(value, kind)
        number = -((start - end) // step)
    else:  # the count is computed in float64 for every dtype
        number = math.ceil((float(end) - float(start)) / float(step))
    at = np.arange(number, dtype=INT64)
    if kind.kind == "f":
        values = start + at * float(step)
    else:
        values = int(start) + at * int(step)
    return new_leaf(values.astype(kind), **options)


def closed_range(
    start: Any = 0, end: Any = ABSENT, step: Any = 1, *, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """Numbers from ``start`` to ``end``, inclusive, in steps of ``step``.

    Args:
        dtype: the dtype of the tensor. Default: the default dtype, for integers too.

    Raises:
        RuntimeError: if ``step`` is 0 or leads away from ``end``, or a number is infinite.

    Warns:
        UserWarning: always, since PyTorch deprecates the function.
    """
    warn("torch.range is deprecated; use torch.arange, which produces values in [start, end).")
    if end is ABSENT:
        raise missing_args("range", "end")
    start, end, step = as_number(start), as_number(end), as_number(step)
    check_steps(start, end, step)
    at = np.arange(math.floor((float(end) - float(start)) / float(step)) + 1, dtype=INT64)
    return new_leaf((start + at * step).astype(numpy_dtype(dtype)), **options)


public(rename(closed_range, "range"))  # the name would hide Python's in this file


@public
def linspace(
    start: float, end: float, steps: int, *, dtype: DType | None = None, **options: Unpack[Options]
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both inclusive.

    Raises:
        RuntimeError: if ``steps`` is negative, or an end beyond the limits of the dtype.
        TypeError: if ``steps`` is not an integer.
        NotImplementedError: for dtype bool.
    """
    if to_integer(steps) is None:
        raise no_form("linspace", start, end, steps)
    start, end, steps = as_number(start), as_number(end), as_int(steps)
    require(steps >= 0, "number of steps must be non-negative")
    kind = numpy_dtype(dtype)
    check_kind("linspace_cpu", np.empty(0, kind), kinds="fiu")
    if kind.kind != "f":
        number_as(start, kind), number_as(end, kind)
        return new_leaf(np.linspace(start, end, steps).astype(kind), **options)
    # The steps start from the nearer end, so that both ends are exact. Products of single precision
    # are exact in double, so that only the sums are rounded, as by PyTorch's fused instructions.
    wide = np.result_type(kind, np.float32).type  # half precision is computed in single
    first, last = wide(number_as(start, kind)), wide(number_as(end, kind))
    step = float((last - first) / wide(steps - 1)) if steps > 1 else 0.0
    at = np.arange(steps)
    near = at < steps // 2 if steps > 1 else at == 0
    line = np.where(near, float(first) + step * at, float(last) - step * at[::-1])
    return new_leaf(line.astype(wide).astype(kind), **options)


@public
def logspace(
    start: float, end: float, steps: int, base: float = 10.0, *, dtype: DType | None = None,
    **options: Unpack[Options],
) -> Tensor:  # fmt: skip
    """``steps`` powers of ``base``, with evenly spaced exponents from ``start`` to ``end``.

    For the errors see `linspace`.
    """
    if to_integer(steps) is None:
        raise no_form("logspace", start, end, steps)
    kind = numpy_dtype(dtype)
    check_kind("logspace_cpu", np.empty(0, kind), kinds="fiu")
    exponents = linspace(start, end, steps, dtype=dtypes.float64)._array
    return new_leaf((as_number(base, "base") ** exponents).astype(kind), **options)


NO_INDEXING = (
    "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument."
)


@public
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid: one tensor for each of ``tensors``, all of the grid's shape.

    Args:
        tensors: the vectors of coordinates along each axis.
        indexing: "ij", or "xy" for a grid whose first two dimensions are swapped. Default: "ij".

    Raises:
        RuntimeError: for no tensor, a tensor of several dimensions, different dtypes, or another
            ``indexing``.

    Warns:
        UserWarning: if ``indexing`` is not given.
    """
    axes = unpack_tensors(tensors)
    require(axes, "meshgrid expects a non-empty TensorList")
    check_same_dtype(*axes, text="meshgrid expects all tensors to have the same dtype")
    for axis in axes:
        check_ndim("meshgrid", axis, 0, 1)
    if indexing is None:
        warn_once(NO_INDEXING)
        indexing = "ij"
    require(indexing in ("ij", "xy"), "meshgrid(): unknown indexing {!r}", indexing)
    order = [position for position, _ in enumerate(axes)]
    if indexing == "xy" and len(axes) > 1:
        order[:2] = 1, 0  # the first tensor runs along the second dimension
    shape = [axes[position].numel() for position in order]
    return tuple(
        t.reshape([-1 if place == position else 1 for place in order]).expand(shape)
        for position, t in enumerate(axes)
    )


# `FloatTensor` and the like: PyTorch's first names for tensors of a dtype.


class tensortype(type):  # noqa: N801 - PyTorch's name
    """The type of these types: a call returns a `Tensor`, and tensors of its dtype are instances.

    Attributes:
        dtype: the dtype of the tensors.
    """

    dtype: DType

    def __call__(cls, *given: Any, device: Any = None) -> Tensor:
        """A tensor of given sizes, or of one sequence of values; or a detached given tensor.

        Raises:
            TypeError: for anything else, or a tensor of another dtype.
            RuntimeError: for a ``device`` that is not the CPU, or for one with a tensor.
        """
        return construct_of(cls.dtype, given, device)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype == cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


def construct_of(dtype: DType, given: tuple[Any, ...], device: Any) -> Tensor:
    """The result of `tensortype`, of any dtype."""
    require_former_device(given, device)
    if len(given) != 1 or not isinstance(given[0], Tensor):
        return new_leaf(array_from(given, dtype), device=CPU)
    if given[0].dtype != dtype:
        raise TypeError(f"expected a tensor of dtype {dtype} (got {given[0].dtype})")
    return given[0].detach()


TYPES = {
    name: tensortype(name, (), {"dtype": kind, "__module__": "torch"})
    for kind in dtypes.ALL
    for name in [f"{kind.char}Tensor"]
}
globals().update(TYPES)


def dtype_of(kind: Any) -> DType:
    """The dtype of a tensor type or of its name, such as "torch.FloatTensor"; a dtype itself.

    Raises:
        ValueError: for another name.
        TypeError: for anything else.
    """
    if kind is Tensor or kind == "torch.Tensor":
        return dtypes.default.dtype
    if isinstance(kind, str):
        found = TYPES.get(kind.removeprefix("torch."))
        if found is None:
            raise ValueError(f"invalid type: '{kind}'")
        return found.dtype
    if isinstance(kind, tensortype):
        return kind.dtype
    if not isinstance(kind, DType):
        raise TypeError("dtype must be a type, str, or dtype object")
    return kind


@method(public=False)
def new(self: Tensor, *given: Any, device: Any = None) -> Tensor:
    """A new tensor with this tensor's dtype: for float32 `torch.FloatTensor(*given)`.

    Raises:
        TypeError, RuntimeError: see `torch.Tensor`.
    """
    return construct_of(self.dtype, given, device)


# Conversions between dtypes.


@hidden_op(input=lambda g: g, node="ToCopyBackward0", one_step=True)
def to_copy(input: Array, dtype: DType) -> Array:
    """A copy in a floating-point dtype; the sweep casts the gradient back."""
    return cast(input, dtype._numpy)


def convert(input: Tensor, dtype: DType, copy: bool = False, memory_format: Any = None) -> Tensor:
    """``input`` in another dtype; itself if it has that dtype and ``copy`` is False."""
    if dtype._numpy == input._array.dtype and not copy:
        return input
    if memory_format is contiguous_format:
        input = contiguous(input)
    if dtype.is_floating_point:
        return to_copy(input, dtype)
    mode.quiet()
    return wrap(cast(input._array, dtype._numpy))


def cast(input: Array, kind: np.dtype) -> Array:
    """A copy in NumPy type ``kind``, with the dimensions in the same order in memory."""
    return bfloat16.cast(input, kind, order=order_of(input))


def refuse_copy(g: Any) -> Any:
    """Refuse a gradient that would have to be copied from the device "meta"."""
    raise NotImplementedError(NO_DATA)


@hidden_op(input=refuse_copy, node="ToCopyBackward0", one_step=True)
def to_device(input: Array, dtype: DType) -> Array:
    """An array without values, of the shape of ``input``, for the device "meta"."""
    return like_meta(input, dtype._numpy)


@method(public=False)
def to(self: Tensor, *target: Any, **options: Unpack[ToOptions]) -> Tensor:
    """This tensor with another dtype; itself if nothing changes.

    Args:
        target: a device (the CPU is the only one) and perhaps a dtype; or a dtype; or a tensor,
            whose dtype the result gets; then, by position, ``non_blocking`` and ``copy``.
        options: ``copy``: whether to copy even if nothing changes. ``memory_format``:
            `contiguous_format` for a copy with its elements in order in memory.

    Raises:
        AssertionError, RuntimeError: for a device that is not the CPU.
        TypeError: for anything else.
    """
    given = parse_to(*target, **options)
    place, kind = given.get("device"), given.get("dtype")
    if "tensor" in given:
        place, kind = given["tensor"].device, given["tensor"].dtype
    kind = self.dtype if kind is None else dtypes.as_dtype(kind)
    if place is not None and on_meta(place) is not self.is_meta:
        return to_device(self.cpu(), kind)
    return convert(self, kind, given.get("copy", False), given.get("memory_format"))


@method(public=False)
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Raise PyTorch's error for a machine without CUDA.

    Raises:
        AssertionError: for a CUDA device, which is the default.
        RuntimeError: for another device.
    """
    where = Device("cuda" if device is None else device)
    require(where.type == "cuda", "Invalid device, must be cuda device")
    raise absent("cuda")


@method(public=False)
def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: Any = None) -> Tensor:
    """The tensor, which is dense, in another dtype if one is given."""
    return self if dtype is None else convert(self, dtype)


@method(public=False)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor with the dtype of ``other``."""
    check_tensors(other)
    return convert(self, other.dtype)


@method(name="type", public=False)
def type_method(self: Tensor, dtype: Any = None) -> Any:
    """The name of the tensor's type, or with ``dtype`` the tensor in that dtype.

    Args:
        dtype: a dtype, a type such as `torch.LongTensor`, or the name of a type.

    Raises:
        ValueError: for an unknown name.
    """
    return f"torch.{self.dtype.char}Tensor" if dtype is None else convert(self, dtype_of(dtype))


def cast_method(name: str, dtype: DType) -> None:
    """Define a method such as `Tensor.float`, which converts to ``dtype``."""

    def convert_to(self: Tensor) -> Tensor:
        return convert(self, dtype)

    convert_to.__name__, convert_to.__doc__ = name, f"This tensor with dtype {dtype.name}."
    method(convert_to, public=False)


for _name, _dtype in {
    "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8, "short": dtypes.int16,
    "int": dtypes.int32, "long": dtypes.int64, "half": dtypes.float16, "float": dtypes.float32,
    "double": dtypes.float64, "bfloat16": dtypes.bfloat16,
}.items():  # fmt: skip
    cast_method(_name, _dtype)


@public
def result_type(tensor: Any, other: Any) -> DType:
    """The dtype that ``tensor`` and ``other``, tensors or numbers, promote to in arithmetic."""
    return dtypes.result_type([t._array if isinstance(t, Tensor) else t for t in (tensor, other)])


@public
def can_cast(from_: DType, to: DType) -> bool:
    """Whether PyTorch's rules allow values of dtype ``from_`` to be stored in dtype ``to``.

    They allow it within a category or to a higher one: bools, then integers, then floats.
    """
    return dtypes.can_cast(dtypes.as_dtype(from_), dtypes.as_dtype(to))


# Memory of other objects, byte by byte.


@public
def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor on the memory of an object with Python's buffer protocol.

    Args:
        buffer: bytes, a bytearray, an array, ...
        count: the number of elements. Default: all.
        offset: the number of bytes to skip.
        requires_grad: whether operations on it are recorded.

    Raises:
        ValueError: for an object without a buffer, or a ``count`` or ``offset`` that does not fit.

    Warns:
        UserWarning: once, if the memory is read-only; a write to the tensor then raises an error.
    """
    if not isinstance(dtype, DType):
        raise wrong_type(dtype, "torch.dtype")
    try:
        data = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = data.nbytes, dtype.itemsize
    text = "both buffer length ({}) and count ({}) must not be 0"
    require_value(length and count, text, length, count)
    fits = not (length - offset) % size if count < 0 else offset + count * size <= length
    text = "frombuffer(): {} bytes must hold {} elements of {} bytes after the first {} bytes"
    wanted = "some whole" if count < 0 else count
    require_value(fits and 0 <= offset < length, text, length, wanted, size, offset)
    if data.readonly:
        warn_once(READ_ONLY.format("buffer", "buffer"))
    halves = dtype is dtypes.bfloat16
    array = np.frombuffer(data, np.uint16 if halves else dtype._numpy, max(count, -1), offset)
    if halves:
        array = bfloat16.from_bits(array)
    if requires_grad:
        require_float(array)
    return wrap(array).requires_grad_(requires_grad)
