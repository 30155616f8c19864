"""Tensors from Python values, NumPy arrays, and shapes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.op import method, public
from nanotorch._core.tensor import Tensor, require_float, wrap


def numpy_dtype(dtype: DType | None) -> np.dtype:
    """The NumPy type of a dtype argument; None stands for the default dtype."""
    if dtype is None:
        return dtypes.default.numpy
    if not isinstance(dtype, DType):
        raise TypeError(f"dtype must be a torch.dtype, not {type(dtype).__name__}")
    return dtype.numpy


def finish(array: np.ndarray, requires_grad: bool = False) -> Tensor:
    """A new leaf of ``array``."""
    out = wrap(array)
    if requires_grad:
        require_float(array)
        out._requires_grad = True
    return out


def sizes_of(size: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape given as one sequence or as several numbers."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    shape = tuple(int(n) for n in size)
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}"
        )
    return shape
