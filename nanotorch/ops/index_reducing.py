"""Parts along a dimension combined where an index says: `index_reduce`; and indices split up."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import OPS, Array, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.indexing import indexed_count
from nanotorch.ops.reducing import slopes
from nanotorch.ops.rounding import floor_divide, remainder

COMBINED = OPS["scatter_reduce"].kernel
WORDS = ("prod", "mean", "amax", "amin")


@op(method=False, public=False)
def index_of_all(index: Array, source: Array, dim: int) -> Array:
    """The index of every element of ``source`` that the index of its part along ``dim`` gives."""
    if not source.ndim:
        return index.reshape(()).astype(np.int64)
    dim = normal_dim(dim, source.ndim)
    row = index.reshape((-1,) + (1,) * (source.ndim - dim - 1)).astype(np.int64)
    return np.broadcast_to(row, source.shape)


def check_index_reduce(
    input: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool
) -> None:
    """Refuse what does not fit together."""
    own, kind, given = (dtypes.of_array(a).char for a in (input, index, source))
    if reduce not in WORDS:
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    if index.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.ndim} with "
            f"type: {kind} and size: {list(index.shape)}"
        )
    if kind not in ("Int", "Long"):
        raise RuntimeError(f"index_reduce_(): Expected dtype int32/int64 for index but got: {kind}")
    if own != given:
        raise RuntimeError(
            f"index_reduce_(): self ({own}) and source ({given}) must have the same scalar type"
        )
    count = indexed_count("index_reduce_", source, dim, index)
    if index.size != count:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim): ({count}), for dim: {dim}"
        )
    rest = [a.shape[:dim] + a.shape[dim + 1 :] for a in (input, source)]
    if (input.ndim == 0) != (source.ndim == 0) or rest[0] != rest[1]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    if own == "Bool" and (input.ndim < 2 or reduce == "mean" or not include_self):
        kernel = "index_func_" if input.ndim < 2 else "div_floor_cpu"
        kernel = kernel if include_self else "index_reduce_func_exclude_input_init"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    size = input.shape[dim] if input.ndim else 1
    if ((index < 0) | (index >= size)).any():
        raise IndexError("index out of range in self")


def both_slopes(
    g: Any, input: Any, dim: int, index: Any, source: Any, out: Any, reduce: str, own: bool
) -> tuple[Any, Any]:
    """The gradients of `index_reduce`."""
    places = index_of_all(index, source, dim)
    return slopes(g, input, dim, places, source, out, reduce, own)


@op(
    input=lambda g, input, dim, index, source, out, reduce, include_self: both_slopes(
        g, input, dim, index, source, out, reduce, include_self
    )[0],
    source=lambda g, input, dim, index, source, out, reduce, include_self: both_slopes(
        g, input, dim, index, source, out, reduce, include_self
    )[1],
    inplace=True,
    overlap=False,
)
def index_reduce(
    input: Array, dim: int, index: Array, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """``input`` with the parts of ``source`` combined at ``index`` along ``dim``.

    Args:
        reduce: "prod", "mean", "amax" or "amin".
        include_self: whether what was there before counts too.

    Raises:
        RuntimeError: for another word, dtype or shape.
        IndexError: for an index out of range.
    """
    dim = normal_dim(dim, input.ndim)
    check_index_reduce(input, dim, index, source, reduce, include_self)
    places = np.asarray(index_of_all(index, source, dim))
    out: Array = COMBINED(input, dim, places, source, reduce, include_self=include_self)
    return out


@public
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Indices of a flat tensor as indices of one of this shape, a tensor for each dimension.

    Args:
        indices: of an integer dtype; those out of range begin anew.
        shape: a size or several.

    Raises:
        TypeError: for other dtypes or sizes.
        ValueError: for a negative size.
    """
    kind = indices.dtype
    if indices._array.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {kind!r}")
    if not isinstance(shape, (int, str, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes: Sequence[Any] = (shape,) if isinstance(shape, int) else shape
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    if not sizes:
        return ()
    steps = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
    rows = floor_divide(indices.unsqueeze(-1), Tensor._lift(np.array(steps)))
    parts: tuple[Tensor, ...] = remainder(rows, Tensor._lift(np.array(sizes))).unbind(-1)
    return parts
