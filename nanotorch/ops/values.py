"""What Python and NumPy hold as an array: numbers, nested sequences of them, arrays.

Lists of numbers are read level by level, at the speed of C. What is stranger, or wrong, is gone
through one by one, as PyTorch does it, which decides what is found first.
"""

import functools
import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import kind_of
from nanotorch._core.copying import order_of
from nanotorch._core.grad_mode import mode
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn_once

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
UNEVEN = (
    "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
    "reallocate the memory."
)
BYTE_ORDER = (
    "given numpy array has byte order different from the native byte order. Conversion between "
    "byte orders is currently not supported."
)
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

    Raises:
        ValueError: for strides or a byte order that tensors do not have.
        TypeError: for types that they do not have.
    """
    known = given.dtype in dtypes.OF_NUMPY
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
    """A new array of the values; by default Python floats give the default dtype.

    Raises:
        TypeError, ValueError, RuntimeError: for what is no regular array of numbers, or holds
            numbers beyond the limits of the type.
    """
    mode.quiet()
    kind = None if dtype is None else dtypes.as_dtype(dtype)._numpy
    numbers = numbers_of(data)
    if numbers is not None:
        values, shape, held = numbers
        return filled(values, held, kind or natural(held)).reshape(shape)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind_of(data)}'")
    if isinstance(data, (np.ndarray, np.generic)):
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
    """An integer for an array of integers.

    Raises:
        RuntimeError: if it is beyond the limits of the type; unsigned ones wrap around below zero.
    """
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


# What is no list of numbers


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
    """The dtype that holds all values.

    Raises:
        TypeError, RuntimeError: for what is no number.
    """
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
    """The values in order.

    Raises:
        TypeError, ValueError: where ``data`` does not have the shape ``sizes``.
    """
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
