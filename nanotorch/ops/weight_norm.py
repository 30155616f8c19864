"""Weights as lengths and directions."""

from typing import Any

import numpy as np

from nanotorch._core.op import Array, op
from nanotorch._core.sums import sum_over
from nanotorch._core.tensor import Tensor
from nanotorch.ops.linalg import vector_norm
from nanotorch.ops.reduction import sum_along


def others(ndim: int, dim: int | None) -> tuple[int, ...]:
    """All dimensions but ``dim``; all for None and, as in PyTorch, for -1."""
    if dim is None or dim == -1:
        return tuple(range(ndim))
    return tuple(d for d in range(ndim) if d != dim % ndim)


def lengths(v: Tensor, dim: int | None) -> Tensor:
    """The norm of each slice along ``dim``, in a shape that broadcasts with ``v``; of all for
    None, a number.
    """
    whole = len(others(v.ndim, dim)) == v.ndim
    return vector_norm(v, 2, others(v.ndim, dim), not whole)


def slopes(which: str, g: Any, v: Any, length: Any, dim: int | None) -> Any:
    """The gradient of `stretched` by the direction or the length."""
    axes = others(v.ndim, dim)
    squares = sum_along(v * v, axes, True)
    norm = squares**0.5
    along = sum_along(g * v, axes, True) / norm
    if which == "length":
        return along
    return (g - v * (along / norm)) * (length / norm)


@op(
    v=lambda g, v, length, dim: slopes("direction", g, v, length, dim),
    length=lambda g, v, length, dim: slopes("length", g, v, length, dim),
    method=False,
    public=False,
    node="WeightNormInterfaceBackward0",
    in_order=True,
    wide=True,
)
def stretched(v: Array, length: Array, dim: int | None) -> Array:
    """``length * v / ‖v‖``, the norm that of each slice along ``dim``."""
    norm = np.sqrt(sum_over(v * v, others(v.ndim, dim), True))
    return v * (length / norm)
