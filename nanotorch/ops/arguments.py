"""Checks of the arguments of operations; arrays from the values of Python and NumPy."""

import functools
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import (
    LARGE,
    METHOD,
    as_ints,
    form_error,
    given_twice,
    type_name,
    wrong_type,
)
from nanotorch._core.bfloat16 import Bfloat16Array, cast
from nanotorch._core.call_site import warn_once
from nanotorch._core.dtypes import Number, check_integer_range
from nanotorch._core.grad_mode import mode
from nanotorch._core.graph import view_history
from nanotorch._core.layout import order_of
from nanotorch._core.op import OPS, PUBLIC, Array, as_number
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import advised

# Checks of arguments: tensors, sequences of tensors, numbers.


LARGEST = {np.dtype(name): float(np.finfo(name).max) for name in ("float16", "float32", "float64")}
LARGEST[dtypes.BFLOAT16] = dtypes.finfo(dtypes.bfloat16).max
# The names of dtypes in messages about numbers that do not fit; others are in `dtypes.C_NAMES`.
SIZED_NAMES = {
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float16": "c10::Half", "float32": "float",
}  # fmt: skip
# The lowest and highest integer; negative numbers wrap around in unsigned types, as in PyTorch.
LIMITS = {
    d._numpy: (int(i.min) or -int(i.max), int(i.max))
    for d in dtypes.ALL
    if d.category == 1
    for i in [np.iinfo(d._numpy)]
}


def is_within(value: Number, kind: np.dtype) -> bool:
    """Whether the integer type ``kind`` holds a number, which is rounded towards zero."""
    low, high = LIMITS[kind]
    if isinstance(value, float):
        return (0 if kind.kind == "u" else low) <= value < high + 1
    return low <= value <= high


def require(holds: Any, text: str, *values: Any, error: type[Exception] = RuntimeError) -> None:
    """Raise ``error`` unless ``holds`` is true.

    Args:
        text: the text of the error, with `{}` for each of ``values``.
    """
    if not holds:
        raise error(text.format(*values))


def require_value(holds: Any, text: str, *values: Any) -> None:
    """Raise ValueError unless ``holds`` is true; see `require`."""
    require(holds, text, *values, error=ValueError)


def check_ndim(name: str, x: Any, least: int, most: int | None = None) -> None:
    """Refuse a tensor with fewer than ``least`` or more than ``most`` dimensions."""
    if x.ndim < least or (most is not None and x.ndim > most):
        wanted = f"{least}" if least == most else f"{least} to {most}"
        wanted = f"at least {least}" if most is None else wanted
        raise RuntimeError(f"{name}(): the number of dimensions must be {wanted}, not {x.ndim}")


def no_form(name: str, *given: Any, **named: Any) -> TypeError:
    """The error for arguments that fit no form of the function ``name``."""
    function = PUBLIC.get(name) or getattr(Tensor, "__new__" if name == "new" else name)
    parameters = inspect.signature(function).parameters.values()
    return form_error(name, given, [", ".join(map(str, parameters))], **named)


def check_tensors(*values: Any) -> None:
    """Refuse values that are not tensors."""
    for value in values:
        if not isinstance(value, Tensor):
            raise wrong_type(value, "Tensor")


def refuse_lost_history(*tensors: Tensor) -> None:
    """Refuse views whose history is lost, where only PyTorch's functions ask for it."""
    for tensor in tensors:
        if mode.enabled and tensor._view is not None:
            view_history(tensor)


def check_tensor_list(values: Any, argument: int = 0) -> None:
    """Refuse an argument that is not a tuple or list of tensors; ``argument`` is its position."""
    if not isinstance(values, (tuple, list)):
        raise wrong_type(values, "tuple of Tensors")
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument {argument}, but got "
                f"{type_name(value)}"
            )


def unpack_tensors(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors that a function received as several arguments or as one sequence.

    Raises:
        TypeError: for anything else.
    """
    one = len(given) == 1 and isinstance(given[0], (tuple, list))
    values = tuple(given[0]) if one else given
    check_tensor_list(values)
    return values


def number_as(value: Number, kind: np.dtype) -> Any:
    """A Python number in the NumPy type ``kind``; integers are rounded towards zero.

    Raises:
        RuntimeError: for a number beyond the limits of ``kind``.
    """
    check_integer_range(value)
    if not hasattr(value, "__abs__"):
        raise wrong_type(value, "Number")
    if kind.kind == "f":
        fits = abs(value) <= LARGEST[kind] or not math.isfinite(value)
    elif kind.kind == "b":
        fits = as_number(value) is value
    else:
        fits = is_within(value, kind)
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {SIZED_NAMES[kind.name]} without overflow"
        )
    if kind.kind == "u" and value < 0:
        return kind.type(int(value) % (LIMITS[kind][1] + 1))
    return kind.type(value)


def unsupported_dtype(kernel: str, array: np.ndarray) -> NotImplementedError:
    """The error for a dtype that PyTorch's ``kernel`` does not support."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dtype_char(array)}'")


def check_kind(kernel: str, *arrays: np.ndarray, kinds: str = "f", half: bool = True) -> None:
    """Refuse arrays of a dtype that PyTorch's ``kernel`` does not support.

    Args:
        kinds: NumPy's letters of the supported dtypes: "f" floats, "i" and "u" integers, "b" bools.
        half: whether half precision is supported.
    """
    for array in arrays:
        if array.dtype.kind not in kinds or not (half or array.dtype != np.float16):
            raise unsupported_dtype(kernel, array)


def check_same_dtype(*operands: Any, text: str = "expected scalar type {} but found {}") -> None:
    """Refuse operands of different dtypes.

    Args:
        text: the text of the error, with `{}` for the dtype of each operand.
    """
    for operand in operands[1:]:
        if operand.dtype != operands[0].dtype:
            raise RuntimeError(text.format(*map(dtype_char, operands)))


def dtype_char(operand: Any) -> str:
    """The name of the dtype of a tensor or an array in messages."""
    return operand.dtype.char if isinstance(operand, Tensor) else dtypes.dtype_of(operand).char


def number_or_infinity(value: Number, kind: np.dtype) -> Any:
    """`number_as`, except that half precision overflows to infinity."""
    if kind == np.float16:
        return kind.type(number_as(value, np.dtype(np.float64)))
    return number_as(value, kind)


# Values that are not tensors: PyTorch refuses them; operations would treat them as arrays.


def check_input(name: str, input: Any) -> None:
    """Refuse an ``input`` of the function ``name`` that is not a tensor."""
    if not isinstance(input, Tensor):
        raise wrong_type(input, "Tensor", (name, "input", 1))


def check_constants(name: str, **given: Tensor | None) -> None:
    """Refuse tensors that require grad as arguments that get no gradient, if grad mode is on."""
    for argument, value in given.items():
        if value is not None and value.requires_grad and mode.enabled:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument "
                f"'{argument}'. This input cannot have requires_grad True."
            )


def check_first_tensors(name: str, **given: Any) -> None:
    """Refuse values that are not tensors as the first arguments of a function."""
    for position, (argument, value) in enumerate(given.items(), 1):
        if not isinstance(value, Tensor):
            raise wrong_type(value, "Tensor", (name, argument, position))


def inplace_form(name: str) -> Any:
    """The in-place form of an operation that is not a method."""
    return OPS[name].functions[f"{METHOD}{name}_"]


# The arguments of `to`.


class MemoryFormat(metaclass=dtypes.OfC):
    """The layout of the elements of a copy in memory."""

    _shown = "torch.memory_format"

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class ToOptions(TypedDict, total=False):
    """The arguments of `Tensor.to` by name."""

    tensor: Tensor
    dtype: dtypes.dtype | None
    device: Any
    non_blocking: bool
    copy: bool
    memory_format: Any


FLAGS = ("non_blocking", "copy")
TO_FORMS = [
    f"{first}, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None"
    for first in (
        "torch.device device = None, torch.dtype dtype = None", "torch.dtype dtype", "Tensor tensor"
    )
]  # fmt: skip


def parse_to(*target: Any, **options: Unpack[ToOptions]) -> dict[str, Any]:
    """The arguments of `Tensor.to` and `Module.to` by name, of those that are given.

    Raises:
        TypeError: for arguments of none of the three forms.
    """
    first = target[0] if target else None
    names: tuple[str, ...] = ("device", "dtype", *FLAGS)
    if "tensor" in options or isinstance(first, Tensor):
        names = ("tensor", *FLAGS)
    elif first is not None and is_dtype(first):
        names = ("dtype", *FLAGS)
    given: dict[str, Any] = dict(zip(names, target, strict=False)) | options
    fits = len(given) == len(target) + len(options)
    for name, value in given.items():
        fits = fits and (name in names or name == "memory_format") and FITS_TO[name](value)
    if not fits:
        raise form_error("to", target, TO_FORMS, **options)
    return given


# Whether a value is of the type that an argument of `to` has.
FITS_TO: dict[str, Callable[[Any], bool]] = {
    "tensor": lambda value: isinstance(value, Tensor),
    "dtype": lambda value: value is None or is_dtype(value),
    "device": lambda value: (
        value is None
        or (isinstance(value, (str, dtypes.device, int)) and not isinstance(value, bool))
    ),
    "non_blocking": lambda value: isinstance(value, bool),
    "copy": lambda value: isinstance(value, bool),
    "memory_format": lambda value: value is None or isinstance(value, MemoryFormat),
}


def is_dtype(value: Any) -> bool:
    """Whether ``value`` is a dtype, or one of Python's types float, int and bool."""
    return isinstance(value, dtypes.dtype) or value is float or value is int or value is bool


# Shapes as arguments.


def keyword_ints(name: str, argument: str, given: tuple[Any, ...], keyword: Any) -> Any:
    """The sequence of integers passed by name; refuse integers in both places, or in neither."""
    if keyword is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    if given:
        raise given_twice(name, argument)
    if not isinstance(keyword, (tuple, list)):
        raise wrong_type(keyword, "tuple of ints", (name, argument, 0))
    return keyword


def parse_shape(
    name: str, size: tuple[Any, ...], keyword: Any = None, position: int = 1
) -> tuple[int, ...]:
    """The shape that a function received as one sequence or as several numbers.

    Args:
        name: the name of the function, for messages.
        keyword: the argument ``size``, if it was passed by name.
        position: the position of the argument, for messages.

    Raises:
        TypeError: for no size, for two, or for sizes that are not integers.
        RuntimeError: for a negative size.
    """
    if keyword is None and size:  # the usual forms: sizes, or one tuple of them
        usual = size[0] if size[0].__class__ is tuple and len(size) == 1 else size
        for n in usual:
            if n.__class__ is not int or not 0 <= n < LARGE:
                break
        else:
            return usual
    if keyword is not None or not size:
        size = (keyword_ints(name, "size", size, keyword),)
    shape = as_ints(size[0] if len(size) == 1 else size, (name, "size", position))
    for n in shape:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    return shape


# Arrays from the values of Python and NumPy: numbers, nested sequences of numbers, arrays.
#
# Lists of numbers are read level by level, at the speed of C. Other values and wrong ones are read
# one by one, in PyTorch's order, which decides which error is raised.


FLOAT, INT, BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)
NUMBERS = {float, int, bool}
PLAIN_SEQUENCES = {list, tuple}
MOST_DIMENSIONS, OF_NUMPY = 128, 64  # of nested lists; of arrays
NEGATIVE = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides "
    "are not currently supported. (You can probably work around this by making a copy of your "
    "array  with array.copy().) "
)
UNEVEN = "the strides of the NumPy array are not multiples of its itemsize; copy the array"
BYTE_ORDER = "the byte order of the NumPy array differs from the machine's; convert the array"
READ_ONLY = (
    "The given {0} is not writable, and PyTorch does not support non-writable tensors. "
    "This means writing to this tensor will result in undefined behavior. You may want to copy the "
    "{1} to protect its data or make it writable before converting it to a tensor. This type of "
    "warning will be suppressed for the rest of this program."
)
SLOW = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting "
    "the list to a single numpy.ndarray with numpy.array() before converting to a tensor."
)
TOO_LONG = "Overflow when unpacking long long"

# Arrays


def view_memory(given: np.ndarray, writable: bool = True) -> np.ndarray:
    """A new array on the memory of ``given``, for a tensor.

    Args:
        writable: whether to warn if the memory is read-only.

    Raises:
        TypeError: for a dtype that tensors do not have.
        ValueError: for strides or a byte order that tensors do not have.
    """
    known = given.dtype in dtypes.OF_NUMPY and given.dtype != dtypes.BFLOAT16
    if not known:  # perhaps only the byte order differs
        dtypes.dtype_of(np.empty(0, given.dtype.newbyteorder("=")))
    if writable and not given.flags.writeable:
        warn_once(READ_ONLY.format("NumPy array", "array"))
    for stride in given.strides:
        if stride < 0:
            raise ValueError(NEGATIVE)
        if given.itemsize and stride % given.itemsize:
            raise ValueError(UNEVEN)
    if not known:
        raise ValueError(BYTE_ORDER)
    return dtypes.with_shared_dtype(given.view(np.ndarray))


# Numbers and sequences


def new_array(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """A new array of the values of ``data``; Python floats get the default dtype by default."""
    mode.quiet()
    kind = None if dtype is None else dtypes.as_dtype(dtype)._numpy
    numbers = scan_numbers(data)
    if numbers is not None:
        values, shape, held = numbers
        if kind is None:
            floats = float in held or not held
            kind = dtypes.default.numpy if floats else INT if int in held else BOOL
        if kind.kind == "b" or (kind.kind != "f" and float in held):
            array = convert_numbers(values, kind)
        elif kind.kind == "f":  # integers through float64, as in PyTorch
            array = np.array(values, FLOAT).astype(kind) if int in held else np.array(values, kind)
        else:
            try:
                array = np.array(values, INT)
            except OverflowError:
                raise ValueError(TOO_LONG) from None
            low, high = LIMITS[kind]
            if kind != INT and array.size and not low <= array.min() <= array.max() <= high:
                raise overflow_error(kind)
            array = array.astype(kind, copy=False)
        return array.reshape(shape)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(data)}'")
    if isinstance(data, (np.ndarray, np.generic)):
        if isinstance(data, Bfloat16Array):
            return cast(data, kind or data.dtype, order=order_of(data))
        array = view_memory(np.asarray(data), writable=False)
        return array.astype(kind or array.dtype, order=order_of(array))
    sizes = nested_shape(data)
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        warn_once(SLOW)
    kind = kind or infer_dtype(data)._numpy
    if 0 in sizes:
        return np.empty(sizes, kind)
    return convert_numbers(flatten_nested(data, sizes, 0), kind).reshape(sizes)


def scan_numbers(data: Any) -> tuple[Sequence[Any], tuple[int, ...], set[type]] | None:
    """The Python numbers in regularly nested lists and tuples, their shape, and their types.

    None if ``data`` holds anything else.
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


def convert_numbers(values: Iterable[Any], kind: np.dtype) -> np.ndarray:
    """An array of numbers of any types, which are converted one by one."""
    if kind.kind == "f":
        return np.array([math.ldexp(v, 0) for v in values], FLOAT).astype(kind)
    if kind.kind == "b":
        numbers = (v if isinstance(v, (float, np.bool_)) else operator.index(v) for v in values)
        return np.array([v != 0 for v in numbers], BOOL)
    return np.array([checked_integer(v, kind) for v in values], INT).astype(kind)


def checked_integer(value: Any, kind: np.dtype) -> int:
    """A number as an integer within the limits of the integer type ``kind``."""
    number = value if isinstance(value, float) else operator.index(value)
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        raise ValueError(TOO_LONG)
    if not is_within(number, kind):
        raise overflow_error(kind)
    return int(number)


def overflow_error(kind: np.dtype) -> RuntimeError:
    """The error for a number beyond the limits of ``kind``."""
    return RuntimeError(f"value cannot be converted to type {kind.name} without overflow")


# Sequences of sequences and of tensors


def is_sequence(value: Any) -> bool:
    """Whether ``value`` has a length and elements in order; tensors and dicts do not count."""
    if isinstance(value, (str, bytes)):
        return True
    if isinstance(value, (Tensor, np.generic, dict)):
        return False
    kind = type(value)
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__")


def nested_shape(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences, from the first element on each level."""
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


def infer_dtype(data: Any) -> dtypes.dtype:
    """The dtype that holds all values of ``data``."""
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(data)}'")
    if isinstance(data, (np.ndarray, np.generic)):
        return dtypes.dtype_of(np.asarray(data))
    if isinstance(data, (bool, int, float)):
        return dtypes.dtype_of_number(data)
    if not is_sequence(data):
        raise RuntimeError(f"Could not infer dtype of {type_name(data)}")
    if not len(data):
        return dtypes.default.dtype
    if any(part is data for part in data):
        raise TypeError("new(): self-referential lists are incompatible")
    return functools.reduce(dtypes.promote_types, map(infer_dtype, data))


def flatten_nested(data: Any, sizes: tuple[int, ...], dim: int) -> Iterator[Any]:
    """The values of nested sequences in order, from dimension ``dim`` on."""
    if dim == len(sizes):
        yield data
        return
    try:
        parts = list(data)
    except TypeError:
        raise TypeError("not a sequence") from None
    if len(parts) != sizes[dim]:
        text = f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(parts)})"
        raise advised(ValueError(text), "ragged")
    for part in parts:
        yield from flatten_nested(part, sizes, dim + 1)


def check_width(array: Array, kind: np.dtype) -> None:
    """Refuse to view an array as ``kind`` if its layout does not allow elements of that size."""
    if kind.itemsize == array.itemsize:
        return
    names = " as ".join(dtypes.dtype_of(np.empty(0, k)).char for k in (array.dtype, kind))
    message = f"to view {names} (different element sizes)"
    require(array.ndim, "self.dim() cannot be 0 {}", message)
    stride, times = array.strides[-1] // array.itemsize, kind.itemsize // array.itemsize
    require(1 in (stride, array.shape[-1]), "self.stride(-1) must be 1 {}", message)
    fits = not times or not array.shape[-1] % times
    require(fits, "self.size(-1) must be divisible by {} {}", times, message)
