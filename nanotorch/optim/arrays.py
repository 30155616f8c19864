"""Numbers for updates on bare arrays."""

import functools
from typing import Any

import numpy as np

from nanotorch._core.dtypes import get_default_dtype
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor, wrap


def number(option: Any) -> Any:
    """An option as a number; one given as a tensor keeps its precision, as in PyTorch."""
    return option._array.reshape(())[()] if isinstance(option, Tensor) else option


@functools.lru_cache(maxsize=512)
def scalar(value: float, dtype: np.dtype) -> np.ndarray:
    """A number as a 0-d array, with which NumPy computes faster than with a Python number.

    Beside half precision it keeps its digits in single.
    """
    return np.array(value, SINGLE if dtype == HALF else dtype)


def factor(value: float, dtype: np.dtype) -> np.ndarray:
    """As `scalar`, of what is added; PyTorch's `add` has its factor in half precision too."""
    return scalar(dtype.type(value), dtype) if dtype == HALF else scalar(value, dtype)


def counter(value: float) -> Tensor:
    """A number of an optimizer's state: 0-d, float32 unless the default dtype is float64."""
    kind = np.float64 if get_default_dtype().itemsize == 8 else np.float32
    return wrap(np.full((), float(value), kind))


def count(step: np.ndarray) -> float:
    """Add one to a step count and return it."""
    t: float = step.item() + 1
    step[()] = t
    return t
