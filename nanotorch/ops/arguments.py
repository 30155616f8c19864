"""What operations ask of their arguments: tensors, sequences of them, sizes, numbers."""

import inspect
import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import METHOD, Place, as_ints, combination, kind_of, refused, twice
from nanotorch._core.dtypes import Number, refuse_beyond
from nanotorch._core.grad_mode import mode
from nanotorch._core.op import OPS, PUBLIC
from nanotorch._core.tensor import Tensor

# What operations ask of their arguments: tensors, sequences of them, numbers.


LARGEST = {np.dtype(name): float(np.finfo(name).max) for name in ("float16", "float32", "float64")}
LARGEST[dtypes.BFLOAT16] = dtypes.finfo(dtypes.bfloat16).max
# How messages about numbers that do not fit call dtypes; others have `dtypes.C_NAMES`.
SIZED_NAMES = {
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float16": "c10::Half", "float32": "float",
}  # fmt: skip


def require(holds: Any, text: str, *values: Any, error: type[Exception] = RuntimeError) -> None:
    """Refuse arguments for which something does not hold.

    Args:
        text: that of the error, with `{}` for each of the values.
    """
    if not holds:
        raise error(text.format(*values))


def need_value(holds: Any, text: str, *values: Any) -> None:
    """`require`, with a ValueError."""
    require(holds, text, *values, error=ValueError)


def need_ndim(name: str, x: Any, least: int, most: int | None = None) -> None:
    """Refuse a tensor with fewer dimensions, or with more."""
    if x.ndim < least or (most is not None and x.ndim > most):
        wanted = f"{least}" if least == most else f"{least} to {most}"
        wanted = f"at least {least}" if most is None else wanted
        raise RuntimeError(f"{name}(): the dimensions must be {wanted} in number, not {x.ndim}")


def no_form(name: str, *given: Any, **named: Any) -> TypeError:
    """The error for arguments that fit none of a function's forms."""
    function = PUBLIC.get(name) or getattr(Tensor, "__new__" if name == "new" else name)
    parameters = inspect.signature(function).parameters.values()
    return combination(name, given, [", ".join(map(str, parameters))], **named)


def need_tensors(*values: Any) -> None:
    """Refuse arguments that are no tensors."""
    for value in values:
        if not isinstance(value, Tensor):
            raise refused(value, "Tensor")


def need_tensor_list(values: Any, argument: int = 0) -> None:
    """Refuse an argument, the first or another, that is not a tuple or list of tensors."""
    if not isinstance(values, (tuple, list)):
        raise refused(values, "tuple of Tensors")
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument {argument}, but got "
                f"{kind_of(value)}"
            )


def given_tensors(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tensors given one by one or as one sequence.

    Raises:
        TypeError: for anything else.
    """
    one = len(given) == 1 and isinstance(given[0], (tuple, list))
    values = tuple(given[0]) if one else given
    need_tensor_list(values)
    return values


def as_number(value: Any, place: Place | None = None, wanted: str = "Number") -> Any:
    """An argument that is a number: Python's, NumPy's, or that of a 0-d tensor.

    Args:
        place: whose argument it is; default: see `place_of`.
        wanted: what the message calls it.
    """
    if value.__class__ is float:
        return value
    if isinstance(value, (bool, int, float)):
        if wanted == "Number":
            refuse_beyond(value)
        return value
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and value._array.ndim == 0):
        return value.item()
    raise refused(value, wanted, place)


def number_in(value: Number, kind: np.dtype) -> Any:
    """A Python number in another type: towards zero for integers, which may not overflow."""
    refuse_beyond(value)
    if not hasattr(value, "__abs__"):
        raise refused(value, "Number")
    if kind.kind == "f":
        fits = abs(value) <= LARGEST[kind] or not math.isfinite(value)
    elif kind.kind == "b":
        fits = as_number(value) is value
    else:
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        if isinstance(value, float):
            fits = low <= value < high + 1
        else:  # PyTorch lets unsigned types wrap around below zero
            fits = (low or -high) <= value <= high
    if not fits:
        raise RuntimeError(
            f"value cannot be converted to type {SIZED_NAMES[kind.name]} without overflow"
        )
    if kind.kind == "u" and value < 0:
        return kind.type(int(value) % (int(np.iinfo(kind).max) + 1))
    return kind.type(value)


def unsupported(kernel: str, array: np.ndarray) -> NotImplementedError:
    """The error for numbers of a type that PyTorch's ``kernel`` does not know."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{char_of(array)}'")


def need_kind(kernel: str, *arrays: np.ndarray, kinds: str = "f", half: bool = True) -> None:
    """Refuse numbers of a kind that PyTorch's ``kernel`` does not know.

    Args:
        kinds: those it knows, by NumPy's letters: floats, signed and unsigned integers, bools.
        half: whether it knows half precision.
    """
    for array in arrays:
        if array.dtype.kind not in kinds or not (half or array.dtype != np.float16):
            raise unsupported(kernel, array)


def need_one_dtype(*operands: Any, text: str = "expected scalar type {} but found {}") -> None:
    """Refuse operands of different dtypes.

    Args:
        text: that of the error, with `{}` for the dtype of each operand.
    """
    for operand in operands[1:]:
        if operand.dtype != operands[0].dtype:
            raise RuntimeError(text.format(*map(char_of, operands)))


def char_of(operand: Any) -> str:
    """How messages call the dtype of a tensor or an array."""
    return operand.dtype.char if isinstance(operand, Tensor) else dtypes.of_array(operand).char


def number_or_infinity(value: Number, kind: np.dtype) -> Any:
    """`number_in` where half precision, and that alone, overflows to infinity."""
    if kind == np.float16:
        return kind.type(number_in(value, np.dtype(np.float64)))
    return number_in(value, kind)


# Values that are no tensors: PyTorch refuses them, and operations would take them for arrays.


def tensor_given(name: str, input: Any) -> None:
    """Refuse an input that is no tensor."""
    if not isinstance(input, Tensor):
        raise refused(input, "Tensor", (name, "input", 1))


def constants_given(name: str, **given: Tensor | None) -> None:
    """Refuse tensors to which nothing is passed back, if a gradient might be expected."""
    for argument, value in given.items():
        if value is not None and value.requires_grad and mode.enabled:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument "
                f"'{argument}'. This input cannot have requires_grad True."
            )


def tensors_given(name: str, **given: Any) -> None:
    """Refuse what is no tensor of a function's first arguments."""
    for position, (argument, value) in enumerate(given.items(), 1):
        if not isinstance(value, Tensor):
            raise refused(value, "Tensor", (name, argument, position))


def inplace_form(name: str) -> Any:
    """The in-place form of an operation that is no method."""
    return OPS[name].functions[f"{METHOD}{name}_"]


# Shapes as functions are given them.


def shape_of(
    name: str, size: tuple[Any, ...], keyword: Any = None, position: int = 1
) -> tuple[int, ...]:
    """The shape that a function was given as one sequence or as several numbers.

    Args:
        name: the function's, for messages.
        keyword: the sequence, where it was given by its name.
        position: of the argument, for messages.
    """
    if keyword is not None:
        if size:
            raise twice(name, "size")
        if not isinstance(keyword, (tuple, list)):
            raise refused(keyword, "tuple of ints", (name, "size", 0))
        size = (keyword,)
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    shape = as_ints(size[0] if len(size) == 1 else size, (name, "size", position))
    negative = [n for n in shape if n < 0]
    if negative and name == "zeros":
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    if negative:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {negative[0]}: {list(shape)}"
        )
    return shape
