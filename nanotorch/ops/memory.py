"""Arrays of what Python and others hold, and views that say more about memory than shape."""

import functools
import itertools
import math
import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, as_ints, kind_of, refused
from nanotorch._core.batched import (
    Batch,
    Call,
    batched,
    elementwise,
    everything,
    function_in_batch,
    under_vmap,
)
from nanotorch._core.bfloat16 import Bfloat16Array, cast, of_bits
from nanotorch._core.call_site import warn_once
from nanotorch._core.dtypes import CPU, device, require_cpu
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import mode
from nanotorch._core.layout import address, layout, order_of, strided, whole_memory
from nanotorch._core.op import PUBLIC, Array, hidden_op, method, op, public
from nanotorch._core.tensor import Tensor, require_float, wrap
from nanotorch.ops.arguments import require

# What Python and NumPy hold as an array: numbers, nested sequences of them, arrays.
#
# Lists of numbers are read level by level, at the speed of C. What is stranger, or wrong, is gone
# through one by one, as PyTorch does it, which decides what is found first.


FLOAT, INT, BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)
NUMBERS = {float, int, bool}
PLAIN_SEQUENCES = {list, tuple}
MOST_DIMENSIONS, OF_NUMPY = 128, 64  # of nested lists; of arrays
# The lowest and highest integer: unsigned types wrap around below zero.
LIMITS = {
    d._numpy: (int(i.min) or -int(i.max), int(i.max))
    for d in dtypes.ALL
    if d.category == 1
    for i in [np.iinfo(d._numpy)]
}

NEGATIVE = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides "
    "are not currently supported. (You can probably work around this by making a copy of your "
    "array  with array.copy().) "
)
UNEVEN = "the strides of the NumPy array are no multiples of the size of its elements; copy it"
BYTE_ORDER = "the NumPy array has another byte order than the machine; convert it"
READ_ONLY = (
    "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. "
    "This means writing to this tensor will result in undefined behavior. You may want to copy the "
    "array to protect its data or make it writable before converting it to a tensor. This type of "
    "warning will be suppressed for the rest of this program."
)
SLOW = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting "
    "the list to a single numpy.ndarray with numpy.array() before converting to a tensor."
)
TOO_LONG = "Overflow when unpacking long long"

# Arrays


def shared(given: np.ndarray, writable: bool = True) -> np.ndarray:
    """An array of a tensor's own on the memory of ``given``.

    Args:
        writable: warn if the memory must not be written to.
    """
    known = given.dtype in dtypes.OF_NUMPY and given.dtype != dtypes.BFLOAT16
    if not known:  # but perhaps in the other byte order
        dtypes.of_array(np.empty(0, given.dtype.newbyteorder("=")))
    if writable and not given.flags.writeable:
        warn_once(READ_ONLY)
    for stride in given.strides:
        if stride < 0:
            raise ValueError(NEGATIVE)
        if given.itemsize and stride % given.itemsize:
            raise ValueError(UNEVEN)
    if not known:
        raise ValueError(BYTE_ORDER)
    return dtypes.entered(given.view(np.ndarray))


# Numbers and sequences


def array_of(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """A new array of the values; by default Python floats give the default dtype."""
    mode.quiet()
    kind = None if dtype is None else dtypes.as_dtype(dtype)._numpy
    numbers = numbers_of(data)
    if numbers is not None:
        values, shape, held = numbers
        return filled(values, held, kind or natural(held)).reshape(shape)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind_of(data)}'")
    if isinstance(data, (np.ndarray, np.generic)):
        if isinstance(data, Bfloat16Array):
            return cast(data, kind or data.dtype, order=order_of(data))
        array = shared(np.asarray(data), writable=False)
        return array.astype(kind or array.dtype, order=order_of(array))
    sizes = sizes_of(data)
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        warn_once(SLOW)
    kind = kind or inferred(data)._numpy
    if 0 in sizes:
        return np.empty(sizes, kind)
    return converted(elements(data, sizes, 0), kind).reshape(sizes)


def numbers_of(data: Any) -> tuple[Sequence[Any], tuple[int, ...], set[type]] | None:
    """The Python numbers in regularly nested lists and tuples, the shape, and their types.

    None for what holds anything else.
    """
    if type(data) in NUMBERS:
        return (data,), (), {type(data)}
    if type(data) not in PLAIN_SEQUENCES:
        return None
    values, shape = data, [len(data)]
    while len(shape) <= OF_NUMPY:
        held = set(map(type, values))
        if held <= NUMBERS:
            return values, tuple(shape), held
        lengths = set(map(len, values)) if held <= PLAIN_SEQUENCES else ()
        if len(lengths) != 1:
            break
        shape.append(*lengths)
        values = list(itertools.chain.from_iterable(values))
    return None


def natural(held: set[type]) -> np.dtype:
    """The type of a tensor of Python numbers of these types."""
    if float in held or not held:
        return dtypes.default.numpy
    return INT if int in held else BOOL


def filled(values: Sequence[Any], held: set[type], kind: np.dtype) -> np.ndarray:
    """Python numbers of the types ``held`` in an array."""
    if kind.kind == "f":
        if int in held:  # by way of float64, as PyTorch does
            return np.array(values, FLOAT).astype(kind)
        return np.array(values, kind)
    if kind.kind != "b" and float not in held:
        try:
            array = np.array(values, INT)
        except OverflowError:
            raise ValueError(TOO_LONG) from None
        low, high = LIMITS[kind]
        if kind != INT and array.size and not low <= array.min() <= array.max() <= high:
            raise beyond(kind)
        return array.astype(kind, copy=False)
    return converted(values, kind)


def converted(values: Iterable[Any], kind: np.dtype) -> np.ndarray:
    """Numbers of any types in an array, one by one."""
    if kind.kind == "f":
        return np.array([real(v) for v in values], FLOAT).astype(kind)
    if kind.kind == "b":
        return np.array([truth(v) for v in values], BOOL)
    return np.array([whole(v, kind) for v in values], INT).astype(kind)


def real(value: Any) -> float:
    """A float of anything that has one."""
    return math.ldexp(value, 0)


def truth(value: Any) -> bool:
    """Whether a number is not zero."""
    return (value if isinstance(value, (float, np.bool_)) else operator.index(value)) != 0


def whole(value: Any, kind: np.dtype) -> int:
    """An integer for an array of integers."""
    low, high = LIMITS[kind]
    if isinstance(value, float):
        if kind.kind == "u":
            low = 0
        if not low <= value < high + 1:
            raise beyond(kind)
        return int(value)
    number = operator.index(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError(TOO_LONG)
    if not low <= number <= high:
        raise beyond(kind)
    return number


def beyond(kind: np.dtype) -> RuntimeError:
    """The error for a number that does not fit."""
    return RuntimeError(f"value cannot be converted to type {kind.name} without overflow")


# Sequences of sequences and of tensors


def is_sequence(value: Any) -> bool:
    """Whether it has a length and elements in order."""
    if isinstance(value, (str, bytes)):
        return True
    if isinstance(value, (Tensor, np.generic, dict)):
        return False
    kind = type(value)
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__")


def sizes_of(data: Any) -> tuple[int, ...]:
    """The shape, as the first of the elements on each level say it."""
    sizes: list[int] = []
    while is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > MOST_DIMENSIONS:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not sizes[-1]:
            break
        data = data[0]
    if len(sizes) > OF_NUMPY:
        raise RuntimeError(
            f"nanotorch's tensors have at most {OF_NUMPY} dimensions, but got {len(sizes)}"
        )
    return tuple(sizes)


def inferred(data: Any) -> dtypes.dtype:
    """The dtype that holds all values."""
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind_of(data)}'")
    if isinstance(data, (np.ndarray, np.generic)):
        return dtypes.of_array(np.asarray(data))
    if isinstance(data, (bool, int, float)):
        return dtypes.of_number(data)
    if not is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {kind_of(data)}")
    if not len(data):
        return dtypes.default.dtype
    if any(part is data for part in data):
        raise TypeError("new(): self-referential lists are incompatible")
    return functools.reduce(dtypes.promote_types, map(inferred, data))


def elements(data: Any, sizes: tuple[int, ...], dim: int) -> Iterator[Any]:
    """The values in order."""
    if dim == len(sizes):
        yield data
        return
    try:
        parts = list(data)
    except TypeError:
        raise TypeError("not a sequence") from None
    if len(parts) != sizes[dim]:
        raise ValueError(
            f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(parts)})"
        )
    for part in parts:
        yield from elements(part, sizes, dim + 1)


# Memory of others: objects with Python's buffer protocol, and those that speak DLPack.


READ_ONLY_BUFFER = (
    "The given buffer is not writable, and PyTorch does not support non-writable tensors. This "
    "means you can write to the underlying (supposedly non-writable) buffer using the tensor. You "
    "may want to copy the buffer to protect its data or make it writable before converting it to a "
    "tensor. This type of warning will be suppressed for the rest of this program."
)
CAPSULE = "from_dlpack(): expected an array, or a capsule that has not been used yet"
DLPACK_CPU = (1, 0)  # DLPack's name of the only device


@public
def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
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
    try:
        data = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = data.nbytes, dtype.itemsize
    require(length and count, "frombuffer(): no elements to be read", error=ValueError)
    require(0 <= offset < length, "frombuffer(): offset {} is outside", offset, error=ValueError)
    whole = not (length - offset) % size if count < 0 else offset + count * size <= length
    require(whole, "frombuffer(): no {} elements in {} bytes", count, length, error=ValueError)
    if data.readonly:
        warn_once(READ_ONLY_BUFFER)
    halves = dtype is dtypes.bfloat16
    array = np.frombuffer(data, np.uint16 if halves else dtype._numpy, max(count, -1), offset)
    if halves:
        array = of_bits(array)
    if requires_grad:
        require_float(array)
    return wrap(array).requires_grad_(requires_grad)


@method(public=False)
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """Always an error: pinned memory is for copies to an accelerator, which there is not.

    Raises:
        RuntimeError: PyTorch's.
    """
    raise RuntimeError("Cannot access accelerator device when none is available.")


@method(name="__dlpack__", public=False)
def dlpack(
    self: Tensor, *, stream: Any = -1, max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None, copy: bool | None = None, read_only: bool = False,
) -> Any:  # fmt: skip
    """The memory of this tensor for `from_dlpack` of another library.

    Raises:
        BufferError: if the tensor requires grad.
        AssertionError: for a stream, which only GPUs have.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    require(stream in (None, -1), "stream should be None on cpu.", error=AssertionError)
    return self._array.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)


@method(name="__dlpack_device__", public=False)
def dlpack_device(self: Tensor) -> tuple[int, int]:
    """Where the tensor is: the CPU, of which there is one."""
    return DLPACK_CPU


class Exported:
    """A capsule that was taken from its object already, as an object again."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CPU


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


# Copies, and views that say more about memory than about shape.


class memory_format:  # noqa: N801 - PyTorch's name
    """How the elements of a copy are laid out in memory."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
_names: dict[str, Any] = {
    "memory_format": memory_format, "contiguous_format": contiguous_format,
    "preserve_format": preserve_format, "layout": layout, "strided": strided,
}  # fmt: skip
PUBLIC.update(_names)


@public
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input._array.size


@hidden_op(input=lambda g: g, view=True, batch=elementwise)
def alias(input: Array) -> Array:
    """The same in all respects."""
    return input[...]


@op(input=lambda g: g, batch=elementwise, one_step=True)
def clone(input: Array, *, memory_format: Any = preserve_format) -> Array:
    """A copy; by default with the dimensions in the same order in memory."""
    return input.copy("C" if memory_format is contiguous_format else order_of(input))


@method(public=False)
def contiguous(self: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in memory in order, else a copy where they do."""
    if self._array.flags.c_contiguous:
        return self
    return clone(self, memory_format=contiguous_format)


# Any view of the whole memory

Layout = tuple[tuple[int, ...], tuple[int, ...], int]  # sizes, strides and offset, in elements


def layout_of(array: Array) -> Layout:
    """Where the elements of ``array`` lie in its memory."""
    start = address(array) - address(whole_memory(array))
    strides = tuple([s // array.itemsize for s in array.strides])
    return array.shape, strides, start // array.itemsize


class UntypedStorage:
    """The memory that a tensor is a view of, byte by byte."""

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory

    device: device = CPU

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> "UntypedStorage":
        """The first bytes of a file, read when they are needed.

        Args:
            shared: whether what is written goes to the file.

        Raises:
            RuntimeError: if the file is shorter.
            OSError: if it cannot be read.
        """
        size = os.stat(filename).st_size  # noqa: PTH116 - it may be a text
        text = "file <{}> size <{}> is smaller than the required mapping size <{}>"
        require(size >= nbytes, text, filename, size, nbytes)
        mode: Any = "r+" if shared else "c"
        return cls(np.memmap(filename, mode=mode, shape=nbytes) if nbytes else np.empty(0, "u1"))

    def untyped(self) -> "UntypedStorage":
        """The same."""
        return self

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return address(self._memory)

    def __len__(self) -> int:
        return self._memory.size

    size = nbytes = __len__

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + len(self)

    def element_size(self) -> int:
        """Always 1."""
        return 1

    def __getitem__(self, index: int | slice) -> Any:
        found = self._memory[index]
        return UntypedStorage(found) if isinstance(index, slice) else int(found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())


PUBLIC["UntypedStorage"] = UntypedStorage


@method(public=False)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor and others are views of."""
    return UntypedStorage(whole_memory(self._array))


@method(public=False)
def storage_offset(self: Tensor) -> int:
    """Where in its memory the first element lies, counted in elements."""
    return layout_of(self._array)[2]


def places(layout: Layout) -> np.ndarray:
    """For each element its place in memory."""
    sizes, strides, offset = layout
    at = np.full(sizes, offset)
    for d, (n, stride) in enumerate(zip(sizes, strides, strict=True)):
        at += (np.arange(n) * stride).reshape((n,) + (1,) * (len(sizes) - d - 1))
    return at


@hidden_op(
    input=lambda g, layout, source: relaid(g, layout, source, source),
    view=True, node="AsStridedBackward0",
    batch=lambda call: views_of_all(call),
)  # fmt: skip
def strided_view(input: Array, layout: Layout, source: Layout) -> Array:
    """A view of given layout of the memory of ``input``, which has the layout ``source``."""
    sizes, strides, offset = layout
    memory, item = whole_memory(input), input.itemsize
    reach = 1 + offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    require(0 in sizes or reach * item <= memory.nbytes, "as_strided(): beyond the memory")
    start = min(offset * item, memory.nbytes)  # further only without elements
    return input.__class__(sizes, input.dtype, memory, start, tuple([s * item for s in strides]))


@hidden_op(g=lambda g, layout, source, over: relaid(g, source, layout, over))
def relaid(g: Array, layout: Layout, source: Layout, over: Layout) -> Array:
    """Add up ``g``, laid out as ``layout``, in blank memory, and read it as ``source``.

    Elements of ``over`` that share a place there have equal parts of what it holds.
    """
    to, from_, sharing = places(layout), places(source), places(over)
    memory = np.zeros(1 + max(p.max(initial=0) for p in (to, from_, sharing)), g.dtype)
    np.add.at(memory, to, g)
    owners = np.bincount(sharing.ravel(), minlength=memory.size)
    if owners.max() > 1:
        memory /= np.maximum(owners, 1).astype(g.dtype)
    return memory[from_]


def views_of_all(call: Call) -> Any:
    """`strided_view` of each sample, whose layout counts from its own first element."""
    whole, (sizes, strides, offset) = call.whole("input"), call.args["layout"]
    start = layout_of(everything(whole))[2] + offset - call.args["source"][2]
    return as_strided(whole, (call.batch.size, *sizes), (whole.stride(0), *strides), start)


def strided_of_all(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`as_strided` of each sample, whose elements lie as those of all do."""
    given = dict(zip(("input", "size", "stride", "storage_offset"), args, strict=False)) | kwargs
    whole = given["input"]._whole
    first = layout_of(everything(whole))[2]
    sizes, strides, offset = layout_asked(
        (tuple(whole.shape[1:]), whole.stride()[1:], first), given["size"], given["stride"],
        given.get("storage_offset"),
    )  # fmt: skip
    start = offset - first
    end, own = [extent(n, s) for n, s in ((sizes, strides), (whole.shape[1:], whole.stride()[1:]))]
    require(0 in sizes or 0 <= start <= start + end <= own, "as_strided(): beyond a sample")
    every = whole, (batch.size, *sizes), (whole.stride(0), *strides), offset
    return batched(function_in_batch(function, strided_of_all, False, every, {}), batch)


def extent(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """How far behind its first element a tensor's memory ends."""
    return 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


@method
@under_vmap(strided_of_all)
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with given sizes, strides and first element.

    Args:
        storage_offset: counted from the beginning of the memory; default: the tensor's own.

    Raises:
        RuntimeError: for a layout that is not valid or leads out of the memory.
    """
    own = layout_of(input._array)
    return strided_view(input, layout_asked(own, size, stride, storage_offset), own)


def layout_asked(own: Layout, size: Any, stride: Any, storage_offset: int | None) -> Layout:
    """What is asked of `as_strided`, if it is valid, for a tensor that lies as ``own``."""
    offset = own[2] if storage_offset is None else storage_offset
    layout = (as_ints(size), as_ints(stride), as_int(offset))
    require(len(layout[0]) == len(layout[1]), "mismatch in length of strides and shape")
    require(min(layout[1], default=0) >= 0, "as_strided(): negative strides {}", layout[1])
    require(offset >= 0, "Tensor: invalid storage offset {}", offset)
    return layout


def check_width(array: Array, kind: np.dtype) -> None:
    """Refuse to read elements as others of a width that their layout does not allow."""
    if kind.itemsize == array.itemsize:
        return
    names = " as ".join(dtypes.of_array(np.empty(0, k)).char for k in (array.dtype, kind))
    told = f"to view {names} (different element sizes)"
    require(array.ndim, "self.dim() cannot be 0 {}", told)
    stride, times = array.strides[-1] // array.itemsize, kind.itemsize // array.itemsize
    require(1 in (stride, array.shape[-1]), "self.stride(-1) must be 1 {}", told)
    fits = not times or not array.shape[-1] % times
    require(fits, "self.size(-1) must be divisible by {} {}", times, told)
