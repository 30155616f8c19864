"""What operations ask of their arguments: tensors, sequences of them, numbers."""

import math
from typing import Any

import numpy as np

from nanotorch._core.arguments import Place, kind_of, refused
from nanotorch._core.dtypes import Number, refuse_beyond
from nanotorch._core.tensor import Tensor

LARGEST = {np.dtype(name): float(np.finfo(name).max) for name in ("float16", "float32", "float64")}
# How messages about numbers that do not fit call dtypes; others have `dtypes.C_NAMES`.
SIZED_NAMES = {
    "int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float16": "c10::Half", "float32": "float",
}  # fmt: skip


def need_tensors(*values: Any) -> None:
    """Refuse arguments that are no tensors.

    Raises:
        TypeError: naming the first of them.
    """
    for value in values:
        if not isinstance(value, Tensor):
            raise refused(value, "Tensor")


def need_tensor_list(values: Any) -> None:
    """Refuse an argument that is not a tuple or list of tensors.

    Raises:
        TypeError: naming it, or the first element that is no tensor.
    """
    if not isinstance(values, (tuple, list)):
        raise refused(values, "tuple of Tensors")
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got {kind_of(value)}"
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

    Raises:
        TypeError: for anything else.
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
    """A Python number in another type: towards zero for integers, which may not overflow.

    Raises:
        RuntimeError: for a number beyond the limits of the type.
        OverflowError: for an integer that no type holds.
    """
    refuse_beyond(value)
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


def refuse_half(name: str, array: np.ndarray) -> None:
    """Refuse half precision where PyTorch's kernel of that name does not know it."""
    if array.dtype == np.float16:
        raise NotImplementedError(f"\"{name}\" not implemented for 'Half'")


def number_or_infinity(value: Number, kind: np.dtype) -> Any:
    """`number_in` where half precision, and that alone, overflows to infinity."""
    if kind == np.float16:
        return kind.type(number_in(value, np.dtype(np.float64)))
    return number_in(value, kind)
