"""Numbers for updates on bare arrays."""

import functools
from typing import Any

import numpy as np

from nanotorch._core.tensor import Tensor


def number(option: Any) -> Any:
    """An option as a number; one given as a tensor keeps its precision, as in PyTorch."""
    return option._array.reshape(())[()] if isinstance(option, Tensor) else option


@functools.lru_cache(maxsize=512)
def scalar(value: float, dtype: np.dtype) -> np.ndarray:
    """A number as a 0-d array, with which NumPy computes faster than with a Python number."""
    return np.array(value, dtype)
