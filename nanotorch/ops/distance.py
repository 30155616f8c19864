"""Norms of differences: between the rows of one matrix, or of two."""

import functools
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.op import OPS, Array, hidden_op, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import refuse_half, tensors_given
from nanotorch.ops.comparison import vanishing
from nanotorch.ops.elementwise import plus_number
from nanotorch.ops.gathering import add_rows
from nanotorch.ops.indexing import where
from nanotorch.ops.joining import common_shape
from nanotorch.ops.linalg import norm_along, norm_slope
from nanotorch.ops.reduction import normal_dims
from nanotorch.ops.shape import reshape

norm_kernel = OPS["norm_along"].kernel


@hidden_op(
    input=lambda g, input, out, p, dim, keepdim: norm_slope(g, input, out, p, dim, keepdim),
    node="NormBackward1",
    in_order=True,
    wide=True,
)
def norm_of(input: Array, p: float, dim: tuple[int, ...], keepdim: bool) -> Array:
    """`norm_along`, as PyTorch records it where it takes norms itself."""
    return norm_kernel(input, p, dim, keepdim)


@public
def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The norm of ``x1 - x2 + eps`` along the last dimension.

    Args:
        p: the order of the norm. Default: 2.
        eps: keeps the norm away from 0, where it has no gradient. Default: 1e-6.
        keepdim: keep the last dimension, with size 1. Default: False.

    Shape:
        ``x1`` and ``x2`` (N, D) or (D,), or what broadcasts so; the result (N,) or a number.

    Raises:
        RuntimeError: for shapes that do not broadcast.
    """
    tensors_given("pairwise_distance", x1=x1, x2=x2)
    difference = x1 - x2
    floating = difference.is_floating_point()
    moved = plus_number(difference, eps) if floating else difference + eps
    return norm_of(moved, float(p), normal_dims(-1, moved.ndim), keepdim)


@public
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors: ``x1 · x2 / (‖x1‖ ‖x2‖)``.

    Args:
        dim: along which the vectors lie. Default: 1.
        eps: norms are held above it. Default: 1e-8.

    Shape:
        ``x1`` and ``x2`` broadcast together; the result has not the dimension ``dim``.

    Raises:
        IndexError: for a ``dim`` out of range.
        RuntimeError: for shapes that do not broadcast, or integers.
    """
    tensors_given("cosine_similarity", x1=x1, x2=x2)
    kind = dtypes.promote_types(x1.dtype, x2.dtype)
    if not kind.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {kind.char}"
        )
    shape = common_shape(tuple(x1.shape), tuple(x2.shape))
    units = []
    for x in (x1, x2):
        vectors = x.to(kind)
        if tuple(vectors.shape) != shape:
            vectors = vectors.expand(shape)
        norms = norm_along(vectors, 2.0, normal_dims(dim, vectors.ndim), True).clone()
        with no_grad():  # as in PyTorch, the limit does not end the gradient
            norms.clamp_(min=eps)
        units.append(vectors / norms)
    return (units[0] * units[1]).sum(dim)


# Between all rows of one matrix


@functools.lru_cache(maxsize=16)
def pairs(count: int) -> tuple[Array, Array]:
    """The numbers i < j of all pairs, in order."""
    return np.triu_indices(count, 1)


@hidden_op(input=lambda g, input_shape: added_to_rows(g, input_shape))
def differences(input: Array) -> Array:
    """The differences of all pairs of rows."""
    first, second = pairs(len(input))
    return input[first] - input[second]


@hidden_op(g=lambda g: differences(g))
def added_to_rows(g: Array, shape: tuple[int, ...]) -> Array:
    """The adjoint of `differences`: each row of ``g`` added to one row and taken from another."""
    out = np.zeros(shape, g.dtype)
    first, second = pairs(shape[0])
    add_rows(out, first, g)
    add_rows(out, second, -g)
    return out


def pdist_slope(g: Any, input: Any, out: Any, p: float) -> Any:
    """The gradient of `pdist`."""
    if p == 0:
        return vanishing(input)
    if p == 2:
        # Of equal rows, whose gradient is 0, the gradient of the gradient would be nan otherwise.
        share = where(out == 0, 0.0, g / where(out == 0, 1.0, out))
        return added_to_rows(differences(input) * reshape(share, (-1, 1)), input.shape)
    way = differences(input)
    return added_to_rows(norm_slope(g, way, out, float(p), (1,), False), input.shape)


@op(input=pdist_slope, method=False)
def pdist(input: Array, p: float = 2) -> Array:
    """The distances of all pairs of rows.

    Args:
        p: the order of the norm, not negative. Default: 2.

    Shape:
        ``input`` (N, D); the result (N (N - 1) / 2,): of the rows 0 and 1, 0 and 2, ..., 1 and 2.

    Raises:
        RuntimeError: for another number of dimensions, integers or a negative ``p``.
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if input.dtype.kind != "f":
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    if len(input) > 1 and input.size:
        refuse_half("pdist", input)
    first, second = pairs(len(input))
    return norm_kernel(input[first] - input[second], float(p), (1,), False)
