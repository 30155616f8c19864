"""Outer, inner, cross and Kronecker products; combinations and blocks; distances; `einsum`."""

import itertools
import math
import re
import string
from functools import lru_cache
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, rename, with_memory_errors
from nanotorch._core.call_site import warn_once
from nanotorch._core.dtypes import Number
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.layout import existing_dim, normal_dim
from nanotorch._core.op import OPS, Array, Arrays, as_number, hidden_op, method, op, public
from nanotorch._core.sums import sum_over
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import (
    check_first_tensors,
    check_kind,
    check_ndim,
    check_same_dtype,
    check_tensor_list,
    check_tensors,
    require,
    require_value,
    unpack_tensors,
)
from nanotorch.ops.creation import contiguous, meshgrid, new_leaf
from nanotorch.ops.elementwise import NO_BOOL, NO_BOOLS, plus_number, refuse_bool, zero_where
from nanotorch.ops.joining import common_shape, expand_to, stack
from nanotorch.ops.matrix import bmm, check_vectors, dot, mm, product
from nanotorch.ops.reduction import norm_along, norm_formula, normal_dims, sum_along
from nanotorch.ops.shape import (
    diagonal,
    diagonal_backward,
    flatten,
    movedim,
    permute_to,
    reshape,
    squeeze_all,
    transpose,
    unsafe_view,
    unsqueeze,
    view,
)

# Outer, inner, cross and Kronecker products, and products over chosen dimensions.


@method
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The outer product of two vectors: ``out[i, j] = input[i] * vec2[j]``.

    Raises:
        RuntimeError: unless both tensors are vectors.
    """
    check_tensors(input, vec2)
    for vector in (input, vec2):
        check_ndim("outer", vector, 1, 1)
    return reshape(input, (input.numel(), 1)) * vec2


@op(
    input=lambda g, other: g * other,
    other=lambda g, input: g * input,
    wide=True,
)
def vdot(input: Array, other: Array) -> Array:
    """The dot product of two vectors; the same as `dot` for real numbers."""
    check_vectors(input, other)
    return product(input, other, "vdot")


# Over chosen dimensions


@public
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The product of two tensors, summed over dimensions of both.

    Args:
        dims: a number n: the last n dimensions of ``a`` and the first n of ``b``. Or two lists:
            the dimensions of ``a`` and those of ``b``. Default: 2.

    Raises:
        RuntimeError: if the lists differ in length, the dimensions in size, or the dtypes differ.
    """
    check_tensors(a, b)
    if isinstance(dims, Tensor):
        dims = int(dims) if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        require(dims >= 0, "tensordot expects dims >= 0, but got dims={}", dims)
        message = "tensordot(): dims={} exceeds the number of dimensions of an input"
        require(dims <= min(a.ndim, b.ndim), message, dims)
        first, second = list(range(-dims, 0)), list(range(dims))
    else:
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    require(len(first) == len(second), "both dimension lists should have same length")
    require(a.dtype == b.dtype, "both inputs should have same dtype")
    for d, e in zip(first, second, strict=True):
        m, n = a.shape[existing_dim(d, a.ndim)], b.shape[existing_dim(e, b.ndim)]
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
    along_b = [normal_dim(d, b.ndim) for d in second]
    left = permute_to(a, (*[d for d in range(a.ndim) if d not in along_a], *along_a))
    right = permute_to(b, (*along_b, *[d for d in range(b.ndim) if d not in along_b]))
    ours, theirs = left.shape[: a.ndim - len(first)], right.shape[len(second) :]
    if math.prod(ours) != 1 or math.prod(theirs) != 1:
        inner = math.prod(right.shape[: len(second)])
        x, y = reshape(left, (math.prod(ours), inner)), reshape(right, (inner, math.prod(theirs)))
        out = mm(x, y)
    elif left.is_contiguous() and right.is_contiguous():
        out = dot(flatten(left), flatten(right))
    else:
        out = (squeeze_all(left) * squeeze_all(right)).sum()
    return view(out, (*ours, *theirs))


@method
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimension of both; with a 0-d tensor, the product.

    Raises:
        RuntimeError: if the last dimensions differ in size.
    """
    check_tensors(input, other)
    if not input.ndim or not other.ndim:
        return input * other
    require(input.shape[-1] == other.shape[-1], "inner(): the last dimensions differ in size")
    return tensordot(input, other, ([-1], [-1]))


@method
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: blocks, each one element of ``input`` times all of ``other``."""
    check_tensors(input, other)
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = unsafe_view(input, tuple([n for size in a for n in (size, 1)]))
    right = unsafe_view(other, tuple([n for size in b for n in (1, size)]))
    whole = tuple([m * n for m, n in zip(a, b, strict=True)])
    return unsafe_view(contiguous(left * right), whole)


# Cross product


@hidden_op(
    input=lambda g, other, dim: cross_along(other, g, dim),
    other=lambda g, input, dim: cross_along(g, input, dim),
    node="LinalgCrossBackward0", wide=True,
)  # fmt: skip
def cross_along(input: Array, other: Array, dim: int) -> Array:
    """The cross products of vectors of 3 elements along one dimension."""
    check_kind("cross", input, kinds="fiu")
    check_same_dtype(input, other)
    a, b = np.moveaxis(input, dim, 0), np.moveaxis(other, dim, 0)
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return np.stack(parts, dim)


def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross products of vectors of 3 elements along ``dim``; other dimensions broadcast.

    Raises:
        RuntimeError: if ``dim`` does not have size 3 in both tensors.
    """
    check_tensors(input, other)
    check_ndim("linalg.cross", other, input.ndim, input.ndim)
    along = existing_dim(dim, input.ndim)
    m, n = input.shape[along], other.shape[along]
    require(m == n == 3, "linalg.cross(): dimension {} must have length 3", dim)
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
        RuntimeError: if ``dim`` does not have size 3, or no dimension has.
    """
    check_tensors(input, other)
    if dim is None and input.ndim == other.ndim:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        require(dim is not None, "no dimension of size 3 in input")
        warn_once(WITHOUT_DIM)
    return linalg_cross(input, other, dim=-1 if dim is None else dim)


# The diagonal


@op(
    input=lambda g, input_shape: diagonal_backward(
        expand_to(g, (min(input_shape),)), input_shape, 0, 0, 1
    ),
    wide=True,
)
def trace(input: Array) -> Array:
    """The sum of the diagonal of a matrix.

    Raises:
        RuntimeError: unless ``input`` is a matrix.
    """
    check_kind("trace", input, kinds="fiu")
    check_ndim("trace", input, 2, 2)
    return np.asarray(input.trace(dtype=input.dtype if input.dtype.kind == "f" else np.int64))


# Combinations of elements


@public
def cartesian_prod(*tensors: Any) -> Any:
    """The Cartesian product, ``(tuples, vectors)``; a single vector is returned as it is.

    Raises:
        RuntimeError: for no tensors, or one that is not a vector.
    """
    vectors = unpack_tensors(tensors)
    for vector in vectors:
        check_ndim("cartesian_prod", vector, 1, 1)
    require(vectors, "meshgrid expects a non-empty TensorList")
    if len(vectors) == 1:
        return vectors[0]
    return stack([grid.flatten() for grid in meshgrid(*vectors, indexing="ij")], 1)


@public
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All combinations of ``r`` elements of a vector, in its order: ``(combinations, r)``.

    Args:
        with_replacement: whether an element may repeat. Default: False.

    Raises:
        RuntimeError: if ``input`` is not a vector, or ``r`` is negative.
    """
    check_ndim("combinations", input, 1, 1)
    require(as_int(r) >= 0, "Expect a non-negative number, but got {}", r)
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(range(input.shape[0]), r))
    return input[wrap(np.array(chosen, np.int64).reshape(-1, r))]


# Block matrices and indices of triangles


def block_positions(shapes: Any) -> list[tuple[slice, slice]]:
    """The row and column slices of tensors of up to two dimensions along a block diagonal."""
    sides = zip(*[(1,) * (2 - len(shape)) + tuple(shape) for shape in shapes], strict=True)
    ends = [itertools.pairwise(itertools.accumulate(side, initial=0)) for side in sides]
    return [(slice(*rows), slice(*columns)) for rows, columns in zip(*ends, strict=True)]


@hidden_op(
    tensors=lambda g, tensors_shape: [
        reshape(g[place], tuple(shape))
        for place, shape in zip(block_positions(tensors_shape), tensors_shape, strict=True)
    ],
    cast="promote", node="BlockDiagBackward0",
)  # fmt: skip
def block_diagonal(tensors: Arrays) -> Array:
    """The kernel of `block_diag`."""
    shapes = [a.shape for a in tensors]
    for k, shape in enumerate(shapes):
        require(len(shape) <= 2, "block_diag(): tensor {} has {} dimensions", k, len(shape))
    blocks = block_positions(shapes)
    out = np.zeros([side.stop for side in blocks[-1]], tensors[0].dtype)
    for a, place in zip(tensors, blocks, strict=True):
        out[place] = a
    return out


@public
def block_diag(*tensors: Any) -> Any:
    """A block diagonal matrix: the tensors along its diagonal, zeros elsewhere.

    Raises:
        RuntimeError: for a tensor of more than two dimensions.
    """
    given = unpack_tensors(tensors)
    return block_diagonal(given) if given else wrap(np.zeros((1, 0), np.float32))


def triangle_indices(side: str) -> Any:
    """The function `tril_indices` (``side`` "l") or `triu_indices` ("u")."""
    name = f"tri{side}_indices"

    def maker(
        row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None,
        layout: Any = None,
    ) -> Tensor:  # fmt: skip
        """The indices of a matrix's lower (`tril_`) or upper (`triu_`) triangle, ``(2, elements)``.

        Args:
            row, col: the size of the matrix.
            offset: the number of the diagonal that bounds the triangle; positive: above the main
                one. Default: 0.
            dtype: default: ``int64``.

        Raises:
            RuntimeError: for negative sizes.
        """
        row, col, offset = as_int(row), as_int(col), as_int(offset)
        require(min(row, col) >= 0, "{}(): negative size {}", name, min(row, col))
        kind = dtypes.int64 if dtype is None else dtype
        check_kind(name, np.empty(0, kind._numpy), kinds="iu")
        offset = min(max(offset, -row), col)
        # Use only the rows that have elements: `row` may be too large for an array.
        if side == "l":
            rows = np.arange(max(0, -offset), row if col else 0)
            first, last = np.zeros_like(rows), np.minimum(rows + (offset + 1), col)
        else:
            rows = np.arange(min(row, col - offset))
            first, last = np.maximum(rows + offset, 0), np.full_like(rows, col)
        counts = last - first
        ends = np.cumsum(counts)
        columns = np.arange(counts.sum()) + np.repeat(last - ends, counts)
        indices = np.stack([np.repeat(rows, counts), columns]).astype(kind._numpy)
        return new_leaf(indices, False, device, layout)

    return public(with_memory_errors(rename(maker, name)))


tril_indices, triu_indices = triangle_indices("l"), triangle_indices("u")


# Distances


def dist_formula(g: Any, input: Any, other: Any, out: Any, p: float) -> tuple[Any, Any]:
    """The gradients of `dist`; zeros for ``p=0``, which counts elements."""
    way = input - other
    slope = (
        way * 0 if p == 0 else norm_formula(g, way, out, float(p), tuple(range(way.ndim)), False)
    )
    return slope, -slope


@op(
    **dict.fromkeys(("input", "other"), dist_formula), joint=True, cast="promote", numbers=False,
    wide=True, refuse_bool=NO_BOOL,
)  # fmt: skip
def dist(input: Array, other: Array, p: Number = 2) -> Array:
    """The norm of order ``p`` of ``input - other``: see `torch.linalg.vector_norm`.

    Raises:
        NotImplementedError: for bools.
    """
    refuse_bool(input, NO_BOOLS)
    return norm_along(input - other, float(p), tuple(range(max(input.ndim, other.ndim))), False)


def cdist_formula(g: Any, x1: Any, x2: Any, out: Any, p: float) -> tuple[Any, Any]:
    """The gradients of `cdist`."""
    if p == 2:  # needs no array of all differences
        r = zero_where(g / out, out == 0)
        sums = unsqueeze(sum_along(r, (r.ndim - 1,), False), -1)
        others = unsqueeze(sum_along(r, (r.ndim - 2,), False), -1)
        return x1 * sums - r @ x2, x2 * others - transpose(r, -2, -1) @ x1
    way = unsqueeze(x1, -2) - unsqueeze(x2, -3)
    slope = way * 0 if p == 0 else norm_formula(g, way, out, p, (way.ndim - 1,), False)
    return sum_along(slope, (slope.ndim - 2,), False), -sum_along(slope, (slope.ndim - 3,), False)


@hidden_op(
    x1=cdist_formula, x2=cdist_formula, joint=True, node="CdistBackward0", in_order=True,
)  # fmt: skip
def distances(x1: Array, x2: Array, p: float, by_product: bool) -> Array:
    """The kernel of `cdist`."""
    if not (x1.size and x2.size):
        shape = np.broadcast_shapes((*x1.shape[:-1], 1), (*x2.shape[:-2], 1, x2.shape[-2]))
        return np.zeros(shape, x1.dtype)
    check_kind("cdist", x1, half=False)
    if not by_product:
        x1, x2 = (np.asanyarray(x, order="C") for x in (x1, x2))
        way = x1[..., :, None, :] - x2[..., None, :, :]
        return norm_along(way, p, (way.ndim - 1,), False)
    squares = [sum_over(np.square(x), (x.ndim - 1,)) for x in (x1, x2)]
    total = squares[0][..., :, None] + squares[1][..., None, :] - 2 * (x1 @ x2.swapaxes(-1, -2))
    return np.sqrt(np.maximum(total, 0))


MODES = (
    "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist",
)  # fmt: skip


@public
def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    """The distances between all rows of ``x1`` and all rows of ``x2``, ``(..., P, R)``.

    Args:
        x1, x2: ``(..., P, M)`` and ``(..., R, M)``.
        p: the order of the norm, at least 0. Default: 2.
        compute_mode: whether to compute Euclidean distances by a product of matrices, which needs
            less memory, but is less exact. Default: if P or R is more than 25.

    Raises:
        RuntimeError: for shapes that do not fit, or a negative ``p``.
        ValueError: for an unknown ``compute_mode``.
    """
    check_first_tensors("cdist", x1=x1, x2=x2)
    p = float(as_number(p))
    require(compute_mode in MODES, "cdist(): unknown mode {!r}", compute_mode, error=ValueError)
    for x in (x1, x2):
        check_ndim("cdist", x, 2)
        require(x.dtype.is_floating_point, "cdist(): expected floating point, not {}", x.dtype)
    message = "cdist(): the last dimensions of x1 and x2 differ in size"
    require(x1.shape[-1] == x2.shape[-1], message)
    if x1.numel() and x2.numel():
        check_same_dtype(x1, x2)
    require(p >= 0, "cdist only supports non-negative p values")
    common_shape(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    many = compute_mode == MODES[0] and max(x1.shape[-2], x2.shape[-2]) > 25
    return distances(x1, x2, p, p == 2 and (many or compute_mode == MODES[1]))


# Norms limited to a maximum

SMALL = 1e-7  # added to norms, to avoid a division by zero


def other_dims(input: Any, dim: int) -> tuple[int, ...]:
    """All dimensions but ``dim``."""
    dim = normal_dim(dim, input.ndim)
    return tuple([d for d in range(input.ndim) if d != dim])


def renorm_formula(g: Any, input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """The gradient of `renorm`, including the gradient through the norms."""
    p, dims = float(p), other_dims(input, dim)
    norm = norm_along(input, p, dims, True)
    beyond = norm > maxnorm  # nan is not, as in `renorm`
    scale = maxnorm / (norm + SMALL)
    along = sum_along(g * input, dims, True)
    through = norm_formula(-along * scale / (norm + SMALL), input, norm, p, dims, True)
    return zero_where(g, beyond) + zero_where(g * scale + through, ~beyond)


@op(input=renorm_formula, inplace=True, in_order=True, wide=True)
def renorm(input: Array, p: Number, dim: int, maxnorm: Number) -> Array:
    """``input`` with each slice along ``dim`` scaled to a norm (order ``p``) up to ``maxnorm``.

    Raises:
        RuntimeError: for less than two dimensions, ``p`` not positive, or ``maxnorm`` negative.
    """
    require(p > 0, "renorm: non-positive-norm not supported")
    require(maxnorm >= 0, "renorm: expected maxnorm to be >= 0 but got {:g}", maxnorm)
    check_ndim("renorm", input, 2)
    norm, kind = norm_along(input, float(p), other_dims(input, dim), True), input.dtype.type
    return input * np.where(norm > maxnorm, kind(maxnorm) / (norm + kind(SMALL)), kind(1))


# Distances and cosines along one dimension.


@hidden_op(
    input=lambda g, input, out, p, dim, keepdim: norm_formula(g, input, out, p, dim, keepdim),
    node="NormBackward1", in_order=True, wide=True,
)  # fmt: skip
def norm_of(input: Array, p: float, dim: tuple[int, ...], keepdim: bool) -> Array:
    """`norm_along` with the node that PyTorch records for norms inside its own functions."""
    return OPS["norm_along"].kernel(input, p, dim, keepdim)


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
        ``x1`` and ``x2`` (N, D) or (D,), which broadcast; the result (N,) or a 0-d tensor.

    Raises:
        RuntimeError: for shapes that do not broadcast.
    """
    check_first_tensors("pairwise_distance", x1=x1, x2=x2)
    p, eps = as_number(p, "p", "float"), as_number(eps, "eps", "float")
    difference = x1 - x2
    floating = difference.is_floating_point()
    moved = plus_number(difference, eps) if floating else difference + eps
    return norm_of(moved, float(p), normal_dims(-1, moved.ndim), keepdim)


@public
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors: ``x1 · x2 / (‖x1‖ ‖x2‖)``.

    Args:
        dim: the dimension of the vectors. Default: 1.
        eps: the least norm; smaller norms become ``eps``. Default: 1e-8.

    Shape:
        ``x1`` and ``x2`` broadcast; the result lacks dimension ``dim``.

    Raises:
        IndexError: for a ``dim`` out of range.
        RuntimeError: for shapes that do not broadcast, or integers.
    """
    check_first_tensors("cosine_similarity", x1=x1, x2=x2)
    dim, eps = as_int(dim, "dim"), as_number(eps, "eps", "float")
    kind = dtypes.promote_types(x1.dtype, x2.dtype)
    require(kind.is_floating_point, "cosine_similarity(): expected floating point, not {}", kind)
    shape = common_shape(tuple(x1.shape), tuple(x2.shape))
    units = []
    for x in (x1, x2):
        vectors = x.to(kind)
        if tuple(vectors.shape) != shape:
            vectors = vectors.expand(shape)
        norms = norm_along(vectors, 2.0, normal_dims(dim, vectors.ndim), True).clone()
        with no_grad():  # as in PyTorch, the gradient passes norms below the limit
            norms.clamp_(min=eps)
        units.append(vectors / norms)
    return (units[0] * units[1]).sum(dim)


# Bilinear functions of two vectors


def turned(equation: str, number: int) -> str:
    """The equation of the gradient of an operand: the operand and the result change places."""
    *parts, result = re.split(",|->", equation)
    parts[number], result = result, parts[number]
    return f"{','.join(parts)}->{result}"


@hidden_op(
    a=lambda g, b, c, equation: trilinear(g, b, c, turned(equation, 0)),
    b=lambda g, a, c, equation: trilinear(a, g, c, turned(equation, 1)),
    c=lambda g, a, b, equation: trilinear(a, b, g, turned(equation, 2)),
    in_order=True, wide=True,
)  # fmt: skip
def trilinear(a: Array, b: Array, c: Array, equation: str) -> Array:
    """`einsum` of three arrays, in which each label is in two of them, or in one and the result."""
    return np.einsum(equation, a, b, c, optimize=True)


@public
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1ᵀ A input2 + b`` for each matrix A of ``weight`` and each b of ``bias``.

    Shape:
        ``input1`` (..., I), ``input2`` (..., J), ``weight`` (O, I, J), ``bias`` (O,); the result
        (..., O).

    Raises:
        RuntimeError: for shapes or dtypes that do not fit.
    """
    check_first_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    given = {"input1": input1, "input2": input2, "weight": weight, "bias": bias}
    kinds = {n: dtypes.C_NAMES[x.dtype.name] for n, x in given.items() if x is not None}
    message = "All tensors must have the same dtype, got " + ", ".join(
        map(": ".join, kinds.items())
    )
    require(len(set(kinds.values())) == 1, message)
    message = "bilinear(): input dimensions do not match: got {} and {}"
    require(input1.ndim == input2.ndim, message, input1.ndim, input2.ndim)
    for dim, sizes in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        message = "bilinear(): input batch dimensions do not match at dim {}: got {} and {}"
        require(sizes[0] == sizes[1], message, dim, *sizes)
    for number, x in enumerate((input1, input2), 1):
        message = "bilinear(): input{} size does not match weight size: got {} but expected {}"
        require(
            x.shape[-1] == weight.shape[number], message, number, x.shape[-1], weight.shape[number]
        )
    if bias is not None:
        message = "bilinear(): bias size does not match weight size: got {} but expected {}"
        require(bias.shape[0] == weight.shape[0], message, bias.shape[0], weight.shape[0])
    rows = [reshape(x, (-1, x.shape[-1])) for x in (input1, input2)]
    out = trilinear(rows[0], weight, rows[1], "bi,oij,bj->bo")
    out = view(out, (*input1.shape[:-1], weight.shape[0]))
    return out if bias is None else out + bias


# Sums of products in Einstein's notation, composed of views and `bmm`.
#
# Every operand is arranged with the same dimensions in the same order: those of the result, then
# those summed over. A dimension has size 1 in an operand without its label. Then the operands are
# multiplied from left to right; a label is summed over as soon as no later operand has it.


DOTS = "..."
LETTERS = string.ascii_uppercase + string.ascii_lowercase  # also the order of an implicit result
Labels = list[str]  # letters and DOTS


def parse_labels(text: str, whose: str) -> Labels:
    """The labels of one operand or of the result: letters, and `DOTS` for an ellipsis."""
    labels: Labels = re.findall(r"\.\.\.|[A-Za-z]", text)
    known = "".join(labels) == text.replace(" ", "") and labels.count(DOTS) <= 1
    message = "einsum(): the subscripts {!r} of {} must be letters and at most one ellipsis"
    require(known, message, text, whose)
    return labels


@lru_cache(maxsize=256)
def einsum_plan(equation: str, ndims: tuple[int, ...]) -> tuple[list[Labels], Labels, int]:
    """The plan of an equation for operands of ``ndims`` dimensions.

    Returns:
        The labels of each operand; an ellipsis becomes one number for each of its dimensions,
        counted from the last. The labels of all dimensions, in the order in which every operand is
        arranged. The number of these that the result keeps.
    """
    left, arrow, right = equation.partition("->")
    texts, count = left.split(","), len(ndims)
    inputs: list[Labels] = []
    dotted: Labels = []
    require(len(texts) == count, "einsum(): {} operands, but {} in the equation", count, len(texts))
    for number, (text, ndim) in enumerate(zip(texts, ndims, strict=True)):
        labels = parse_labels(text, f"operand {number}")
        rest = ndim - len(labels) + (DOTS in labels)  # the dimensions of the ellipsis
        wrong, end = "does not match", " and no ellipsis was given"
        if DOTS in labels:
            wrong, end = "is more than", ""
        message = (
            f"einsum(): the number of subscripts in the equation ({ndim - rest}) {wrong} the "
            f"number of dimensions ({ndim}) for operand {number}{end}"
        )
        require(rest == 0 or (rest > 0 and DOTS in labels), message)
        numbers = [str(n) for n in range(rest, 0, -1)]
        inputs.append([x for label in labels for x in (numbers if label == DOTS else [label])])
        dotted = max(dotted, numbers, key=len)
    every = [label for labels in inputs for label in labels]
    if arrow:
        output = parse_labels(right, "the output")
    else:  # the ellipsis, then the labels that occur once, in order
        output = [DOTS, *(letter for letter in LETTERS if every.count(letter) == 1)]
    for label in output:
        text = "einsum(): output subscript {} " + (
            "appears more than once in the output"
            if output.count(label) > 1
            else "does not appear in the equation for any input operand"
        )
        require(output.count(label) == 1 and (label == DOTS or label in every), text, label)
    result = [x for label in output for x in (dotted if label == DOTS else [label])]
    summed = [x for x in (*dotted, *LETTERS) if x in every and x not in result]
    return inputs, result + summed, len(result)


def arrange_operand(operand: Tensor, labels: Labels, order: Labels) -> Tensor:
    """An operand with its dimensions in ``order``; a label that it lacks has size 1."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            operand = movedim(diagonal(operand, 0, first, second), -1, first)
            del labels[second]
    missing = [label for label in order if label not in labels]
    for _ in missing:
        operand = unsqueeze(operand, operand.ndim)
    places = labels + missing
    return permute_to(operand, tuple([places.index(label) for label in order]))


def multiply_and_sum(a: Tensor, b: Tensor, summed: list[int]) -> Tensor:
    """``a * b``, which broadcast, summed over the dimensions ``summed``, kept with size 1."""
    wide_a, wide_b = ([n != 1 for n in x._array.shape] for x in (a, b))
    only_a = tuple([d for d in summed if wide_a[d] and not wide_b[d]])
    only_b = tuple([d for d in summed if wide_b[d] and not wide_a[d]])
    if only_a:
        a = sum_along(a, only_a, True)
    if only_b:
        b = sum_along(b, only_b, True)
    inner = [d for d in summed if wide_a[d] and wide_b[d]]
    if not inner:
        return a * b
    rest = [d for d in range(a.ndim) if d not in inner]
    both = [d for d in rest if wide_a[d] and wide_b[d]]
    left = [d for d in rest if wide_a[d] and not wide_b[d]]
    right = [d for d in rest if not wide_a[d]]
    m, n = a._array.shape, b._array.shape

    def size(shape: tuple[int, ...], dims: list[int]) -> int:
        return math.prod([shape[d] for d in dims])

    if left and right and max(right) < min(left):  # swapped, the product is in order
        a, b, m, n, left, right = b, a, n, m, right, left
    batch, middle = size(m, both), size(m, inner)
    x = permute_to(a, (*both, *left, *inner, *right))
    y = permute_to(b, (*both, *inner, *right, *left))
    out = bmm(
        reshape(x, (batch, size(m, left), middle)), reshape(y, (batch, middle, size(n, right)))
    )
    order = [*both, *left, *inner, *right]
    shape = [*(m[d] for d in both), *(m[d] for d in left), *(1 for _ in inner)]
    out = view(out, (*shape, *(n[d] for d in right)))
    return permute_to(out, tuple([order.index(d) for d in range(a.ndim)]))


@public
def einsum(*args: Any) -> Tensor:
    """A sum of products; ``einsum("ij,jk->ik", a, b)``, for example, is a product of matrices.

    Args:
        args: the equation and the operands; or each operand followed by a list of numbers as its
            labels, and perhaps a last list for the result. A label repeated in an operand means a
            diagonal. Labels that the result lacks are summed over. An ellipsis means the other
            dimensions, which broadcast. Without ``->`` the result has the labels that occur once,
            in order.

    Raises:
        RuntimeError: if the equation is not valid or does not fit the operands.
    """
    if isinstance(args[0], str):
        equation, operands = args[0], list(args[1:])
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = list(operands[0])
    else:  # each operand with a list of numbers, and perhaps a list for the result
        pairs = len(args) // 2
        operands = list(args[: 2 * pairs : 2])
        lists = (*args[1::2], *args[2 * pairs :])
        known = all(n is ... or 0 <= n < 52 for labels in lists for n in labels)
        message = "einsum(): subscript in subscript list is not within the valid range [0, 52)"
        require_value(known, message)
        texts = ["".join([DOTS if n is ... else LETTERS[n] for n in labels]) for labels in lists]
        equation = "->".join([",".join(texts[:pairs]), *texts[pairs:]])
    check_tensor_list(operands, 1)
    inputs, order, kept = einsum_plan(equation, tuple([t._array.ndim for t in operands]))
    sizes: dict[str, int] = {}
    for number, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        own = dict(zip(labels, operand.shape, strict=True))
        for label, n in zip(labels, operand.shape, strict=True):
            message = (
                "einsum(): subscript {} is repeated for operand {} but the sizes don't match, "
                "{} != {}"
            )
            require(n == own[label], message, label, number, own[label], n)
            seen = sizes.get(label, 1)
            if seen != 1 and n not in (1, seen):
                where = f"subscript {label}" if label in LETTERS else "a dimension of the ellipsis"
                raise RuntimeError(
                    f"einsum(): {where} has size {n} for operand {number} which does not broadcast "
                    f"with previously seen size {seen}"
                )
            sizes[label] = n if seen == 1 else seen
    parts = [arrange_operand(*pair, order) for pair in zip(operands, inputs, strict=True)]
    result = parts[0]
    if len(parts) == 1:
        rest = tuple(range(kept, len(order)))
        return sum_along(result, rest, False) if rest else result
    for number in range(1, len(parts)):
        later = [part._array.shape for part in parts[number + 1 :]]
        last = [d for d in range(kept, len(order)) if all(shape[d] == 1 for shape in later)]
        result = multiply_and_sum(result, parts[number], last)
    return view(result, result._array.shape[:kept]) if kept < len(order) else result
