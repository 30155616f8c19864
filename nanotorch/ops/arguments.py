"""What operations ask of their arguments: tensors, sequences of them, numbers."""

from typing import Any

import numpy as np

from nanotorch._core.arguments import Place, kind_of, refused
from nanotorch._core.tensor import Tensor


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


def as_number(value: Any, place: Place | None = None) -> Any:
    """An argument that is a number: Python's, NumPy's, or that of a 0-d tensor.

    Args:
        place: whose argument it is; default: see `place_of`.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and value._array.ndim == 0):
        return value.item()
    raise refused(value, "Number", place)
