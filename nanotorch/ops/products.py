"""Products of other kinds: outer, inner, cross, Kronecker, over any dimensions."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_rules import Call, dimensions
from nanotorch._core.layout import normal_dim, own_dim
from nanotorch._core.op import Array, method, op, public
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn_once
from nanotorch.ops.arguments import need_tensors
from nanotorch.ops.expanding import common_shape, expand_to
from nanotorch.ops.matrix import check_vectors, dot, mm, product, vectors_by_vectors
from nanotorch.ops.memory import contiguous
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import (
    flatten,
    permute_to,
    reshape,
    squeeze_all,
    unsafe_view,
    unsqueeze,
    view,
)
from nanotorch.ops.slicing import diagonal, diagonal_backward, diagonal_of


@method
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """``out[i, j] = input[i] * vec2[j]``.

    Raises:
        RuntimeError: unless both are vectors.
    """
    need_tensors(input, vec2)
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return reshape(input, (input.numel(), 1)) * vec2


@method
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """`outer` by another name."""
    return outer(input, vec2)


@op(
    input=lambda g, other: g * other,
    other=lambda g, input: g * input,
    batch=lambda call: vectors_by_vectors(call),
    wide=True,
)
def vdot(input: Array, other: Array) -> Array:
    """The sum of the products of the elements of two vectors: `dot`, for real numbers."""
    check_vectors(input, other)
    return product(input, other, "vdot")


# Over chosen dimensions


@public
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over dimensions of both: the last of ``a`` and first of ``b``, or given ones.

    Args:
        dims: how many, or a list for each tensor.

    Raises:
        RuntimeError: if the lists or the sizes differ.
    """
    need_tensors(a, b)
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        first, second = list(range(-dims, 0)), list(range(dims))
    else:
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype != b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for d, e in zip(first, second, strict=True):
        m, n = a.shape[own_dim(d, a.ndim)], b.shape[own_dim(e, b.ndim)]
        if n == 1:
            a = sum_along(a, (normal_dim(d, a.ndim),), True, a.dtype)
        elif m == 1:
            b = sum_along(b, (normal_dim(e, b.ndim),), True, b.dtype)
        elif m != n:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {m} in dim {d} and "
                f"second has size {n} in dim {e}"
            )
    along_a = [normal_dim(d, a.ndim) for d in first]
    return contract(a, b, along_a, [normal_dim(d, b.ndim) for d in second])


def contract(a: Tensor, b: Tensor, along_a: list[int], along_b: list[int]) -> Tensor:
    """Products summed over pairs of dimensions, as one product of matrices."""
    free_a = [d for d in range(a.ndim) if d not in along_a]
    free_b = [d for d in range(b.ndim) if d not in along_b]
    left, right = permute_to(a, (*free_a, *along_a)), permute_to(b, (*along_b, *free_b))
    shape = [*(a.shape[d] for d in free_a), *(b.shape[d] for d in free_b)]
    inner = _count(a, along_a)
    rows, columns = (_count(x, free) for x, free in ((a, free_a), (b, free_b)))
    if rows == columns == 1:
        if left.is_contiguous() and right.is_contiguous():
            return view(dot(flatten(left), flatten(right)), tuple(shape))
        return view((squeeze_all(left) * squeeze_all(right)).sum(), tuple(shape))
    return view(mm(reshape(left, (rows, inner)), reshape(right, (inner, columns))), tuple(shape))


def _count(a: Tensor, dims: list[int]) -> int:
    """The number of elements along dimensions."""
    count = 1
    for d in dims:
        count *= a.shape[d]
    return count


@method
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products summed over the last dimension of both; with a 0-d tensor their product.

    Raises:
        RuntimeError: if these dimensions differ in size.
    """
    need_tensors(input, other)
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


def fresh_view(input: Tensor, size: tuple[int, ...]) -> Tensor:
    """`unsafe_view`, of a copy where need be."""
    try:
        return unsafe_view(input, size)
    except RuntimeError:
        return unsafe_view(contiguous(input), size)


@method
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of ``input`` times the whole of ``other``."""
    need_tensors(input, other)
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = fresh_view(input, tuple([n for size in a for n in (size, 1)]))
    right = fresh_view(other, tuple([n for size in b for n in (1, size)]))
    return fresh_view(left * right, tuple([m * n for m, n in zip(a, b, strict=True)]))


# Cross product


@op(
    input=lambda g, other, dim: cross_along(other, g, dim),
    other=lambda g, input, dim: cross_along(g, input, dim),
    method=False,
    public=False,
    node="LinalgCrossBackward0",
    batch=dimensions,
    wide=True,
)
def cross_along(input: Array, other: Array, dim: int) -> Array:
    """The cross products of vectors of three elements along one dimension."""
    if input.dtype.kind == "b":
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    if input.dtype != other.dtype:
        names = dtypes.of_array(input).char, dtypes.of_array(other).char
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    a, b = np.moveaxis(input, dim, 0), np.moveaxis(other, dim, 0)
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.stack(parts, dim)


def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross products of vectors of three elements along ``dim``; other dimensions broadcast.

    Raises:
        RuntimeError: if the dimension does not have three elements.
    """
    need_tensors(input, other)
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    along = own_dim(dim, input.ndim)
    m, n = input.shape[along], other.shape[along]
    if m != 3 or n != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {m} and {n}"
        )
    common_shape(tuple(input.shape), tuple(other.shape))
    return cross_along(input, other, along - input.ndim)


WITHOUT_DIM = (
    "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim "
    "explicitly or simply use torch.linalg.cross.\nThe default value of dim will change to agree "
    "with that of linalg.cross in a future release."
)


@method
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross products of vectors along ``dim``, by default the first dimension of size 3.

    Raises:
        RuntimeError: if there is none.
    """
    need_tensors(input, other)
    if dim is None and input.ndim == other.ndim:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
        warn_once(WITHOUT_DIM)
    return linalg_cross(input, other, dim=-1 if dim is None else dim)


# The diagonal


@op(
    input=lambda g, input_shape: trace_backward(g, input_shape),
    batch=lambda call: sum_along(diagonal(call.whole("input"), 0, 1, 2), (1,), False),
    wide=True,
)
def trace(input: Array) -> Array:
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype.kind == "b":
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    kind = input.dtype if input.dtype.kind == "f" else np.int64
    return np.asarray(input.trace(dtype=kind))


@op(
    g=lambda g: trace(g),
    method=False,
    public=False,
    batch=lambda call: diagonals(call),
)
def trace_backward(g: Array, shape: tuple[int, ...]) -> Array:
    """``g`` along the diagonal of zeros of ``shape``."""
    out = np.zeros(shape, g.dtype)
    diagonal_of(out, 0, 0, 1)[...] = g
    return out


def diagonals(call: Call) -> Any:
    """`trace_backward` of each sample."""
    size, shape = call.batch.size, call.args["shape"]
    g = expand_to(unsqueeze(call.whole("g"), -1), (size, min(shape)))
    return diagonal_backward(g, (size, *shape), 0, 1, 2)
