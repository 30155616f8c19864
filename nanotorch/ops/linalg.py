"""Norms, least squares, functions and powers of matrices."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import named, named_tuple
from nanotorch._core.batched import elementwise, leading, looped, separately, under_vmap
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.op import PUBLIC, Array, hidden_op, method, op
from nanotorch._core.sums import DOUBLE, sum_over, sum_products
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import as_number, need_kind, need_ndim, need_one_dtype, require
from nanotorch.ops.creation import convert
from nanotorch.ops.elementwise import abs as absolute
from nanotorch.ops.elementwise import pow, sign, zero_where
from nanotorch.ops.factoring import check_matrices, is_vector, singular, svdvals, tr
from nanotorch.ops.gathering import where_true
from nanotorch.ops.joining import cat_along
from nanotorch.ops.reduction import Dims, add_all, count, maximum_of_all, normal_dims, sum_along
from nanotorch.ops.shape import movedim, reshape, squeeze_one, unsqueeze
from nanotorch.ops.sorting import amax, amin

# Norms of vectors and matrices.


INF = math.inf
minimum_of_all: Callable[..., Any] = np.minimum.reduce


def norm_slope(
    g: Any, input: Any, out: Any, ord: float, dim: tuple[int, ...], keepdim: bool
) -> Any:
    """The gradient of a vector norm; zero where the norm is zero; none at all of a count."""
    if ord == 0:
        return None
    if not keepdim:
        shape = tuple([1 if d in dim else n for d, n in enumerate(input.shape)])
        g, out = reshape(g, shape), reshape(out, shape)
    if ord == 1:
        return g * sign(input)
    if ord == 2:
        # Not zeros: the second derivative at zero is nan, which comes as such a gradient.
        return input * (g * where_true(out == 0, out * 0, 1 / out, None))
    if math.isinf(ord):
        # Not the result: of half precision that is rounded.
        size = absolute(input)
        largest = size == (amax if ord > 0 else amin)(size, dim, True)
        share = g / sum_along(largest, dim, True)
        return zero_where(share * sign(input), ~largest)
    if ord < 1:
        steep = zero_where(sign(input) * pow(absolute(input), ord - 1), input == 0)
        return steep * g * pow(out, 1 - ord)
    scale = zero_where(g / pow(out, ord - 1), out == 0)
    if ord < 2:
        return sign(input) * pow(absolute(input), ord - 1) * scale
    return input * pow(absolute(input), ord - 2) * scale


@hidden_op(input=norm_slope, node="LinalgVectorNormBackward0", in_order=True, wide=True)
def norm_along(input: Array, ord: float, dim: tuple[int, ...], keepdim: bool) -> Array:
    """``sum(abs(input) ** ord) ** (1 / ord)`` along dimensions."""
    need_kind("linalg.vector_norm", input)
    if ord and count(input.shape, dim) == 1:  # no power that over- or underflows
        return maximum_of_all(np.abs(input), dim, None, None, keepdim)
    if ord == 2:
        return np.sqrt(sum_products(input, input, dim, keepdim))
    if math.isinf(ord) or ord < 0:
        require(count(input.shape, dim), "linalg.vector_norm(): no elements for order {:g}", ord)
    size = np.abs(input)
    if math.isinf(ord):
        return (maximum_of_all if ord > 0 else minimum_of_all)(size, dim, None, None, keepdim)
    if ord == 0:
        return add_all(size != 0, dim, input.dtype, None, keepdim)
    if ord == 1:
        return sum_over(size, dim, keepdim)
    # Not the operator: of a single number it would compute other last bits than of an array.
    total = sum_over(np.power(size, ord, out=...), dim, keepdim)
    # In single precision already the exponent would not be exact.
    return np.power(total, 1 / ord, dtype=DOUBLE, out=...).astype(input.dtype, copy=False)


def vector_norm(
    input: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """``sum(abs(x) ** ord) ** (1 / ord)`` along ``dim``, by default over all elements.

    Args:
        ord: any number; infinity gives the largest absolute value, 0 counts what is not zero.
        dtype: convert to it first.

    Raises:
        NotImplementedError: for integers.
    """
    input = input if dtype is None else convert(input, dtypes.as_dtype(dtype))
    return norm_along(input, float(as_number(ord)), normal_dims(dim, input.ndim), keepdim)


def matrix_norm(
    input: Tensor, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """A norm of each matrix of a batch.

    Args:
        ord: "fro" for the root of the sum of squares; 1 and -1 for the largest and smallest sum of
            a column's absolute values, infinity and its negative for a row's; 2 and -2 for the
            greatest and the smallest singular value, "nuc" for the sum of all.

    Raises:
        RuntimeError: for any other ``ord``, or without matrices.
    """
    need_ndim("linalg.matrix_norm", input, 2)
    input = input if dtype is None else convert(input, dtypes.as_dtype(dtype))
    if ord == "fro":
        return vector_norm(input, 2, dim, keepdim)
    rows, columns = normal_dims(dim, input.ndim)
    if ord in ("nuc", 2, -2):
        return spectral_norm(input, ord, rows, columns, keepdim)
    require(ord in (1, -1, INF, -INF), "linalg.matrix_norm: Order {} not supported.", ord)
    along, over = (columns, rows) if math.isinf(ord) else (rows, columns)
    sums = norm_along(input, 1.0, (along,), keepdim)
    over -= not keepdim and along < over
    return (amax if ord > 0 else amin)(sums, over, keepdim)


def spectral_norm(A: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    """A norm that singular values make."""
    need_kind("linalg.matrix_norm", A._array, half=False)
    values = svdvals(movedim(A, (rows, columns), (-2, -1)))
    if ord == "nuc":
        out = sum_along(values, (values.ndim - 1,), False)
    else:
        out = (amax if ord > 0 else amin)(values, -1)
    if not keepdim:
        return out
    return reshape(out, tuple([1 if d in (rows, columns) else n for d, n in enumerate(A.shape)]))


def norm(
    input: Tensor, ord: Any = None, dim: Dims = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """`matrix_norm` of a matrix (or over two dimensions), else `vector_norm`."""
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        need_ndim("linalg.norm", input, 1, 2)
    pair = input.ndim == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2
    if pair or isinstance(ord, str):
        return matrix_norm(input, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)  # type: ignore[arg-type]
    return vector_norm(input, ord, dim, keepdim, dtype=dtype)


@method(name="norm", public=False)
def norm_method(
    self: Tensor, p: Any = "fro", dim: Dims = None, keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """`torch.norm`."""
    return torch_norm(self, p, dim, keepdim, dtype=dtype)


def torch_norm(
    input: Tensor, p: Any = "fro", dim: Dims = None, keepdim: bool = False,
    out: Tensor | None = None, dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The vector norm with exponent ``p`` over all elements, or along ``dim``; "fro" stands for 2.

    Args:
        p: or "nuc", for the sum of the singular values of matrices.

    Raises:
        RuntimeError: for another word.
    """
    if out is not None:  # by its place, not by its name
        return PUBLIC["norm"](input, p, dim, keepdim, out=out, dtype=dtype)
    if p == "nuc":
        return matrix_norm(input, p, (0, 1) if dim is None else dim, keepdim, dtype=dtype)  # type: ignore[arg-type]
    require(not isinstance(p, str) or p == "fro", "linalg.matrix_norm: Order {} not supported.", p)
    return vector_norm(input, 2 if p == "fro" or p is None else p, dim, keepdim, dtype=dtype)


PUBLIC["norm"] = named(torch_norm, "norm")


# Pseudoinverses, least squares, ranks and condition numbers.


def tolerances(A: Array, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Absolute and relative tolerance, by default that of the dtype for matrices of this size."""
    held = [t._array[..., None] if isinstance(t, Tensor) else t for t in (atol, rtol)]
    if held[1] is None:
        given = atol is not None and bool(np.any(held[0] > 0))
        held[1] = 0.0 if given else max(A.shape[-2:]) * float(np.finfo(A.dtype).eps)
    return 0.0 if held[0] is None else held[0], held[1]


def counted(S: Array, atol: Any, rtol: Any) -> Array:
    """Which singular values, from the greatest, count as not zero."""
    return np.asarray(np.maximum(atol, rtol * S.max(-1, keepdims=True, initial=0.0)) < S)


# The pseudoinverse


def pinv_slope(g: Any, input: Any, out: Any) -> Any:
    """The gradient of matrices from that of their pseudoinverses, whose rank must not change."""
    A, P = input, out
    gt, Pt = tr(g), tr(P)
    if A.shape[-2] <= A.shape[-1]:
        K = gt @ P
        KPt = K @ Pt
        return -tr(P @ K) + KPt - (A @ P) @ KPt + (Pt @ P) @ (gt - K @ A)
    K = P @ gt
    PtK = Pt @ K
    return -tr(K @ P) + (gt - A @ K) @ P @ Pt + PtK - (PtK @ P) @ A


@hidden_op(input=pinv_slope, node="LinalgPinvBackward0", batch=leading)
def pseudoinverse(input: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
    """The kernel of `pinv`."""
    need_ndim("linalg.pinv", input, 2)
    require(input.dtype.char in "fd", "linalg.pinv(): expected single or double precision")
    if hermitian:
        check_matrices("linalg.pinv", input)
    atol, rtol = tolerances(input, atol, rtol)
    if hermitian:
        S, V = np.linalg.eigh(input)
        U, size = V, np.abs(S)
    else:
        U, S, Vh = singular(input, False)
        V, size = Vh.swapaxes(-1, -2), S
    kept = counted(size, atol, rtol)
    inverse = np.where(kept, 1 / np.where(kept, S, 1), 0).astype(input.dtype)
    return (V * inverse[..., None, :]) @ U.swapaxes(-1, -2)


def pinv(
    input: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    """The pseudoinverses of matrices, ``(..., n, m)`` of ``(..., m, n)``.

    Args:
        atol, rtol: singular values below the greater of ``atol`` and ``rtol`` times the greatest
            count as zero. Default: the resolution of the dtype times the longer side.
        rcond: another name of ``rtol``.
        hermitian: the matrices are symmetric; only the lower triangle is looked at.
    """
    return pseudoinverse(input, atol, rcond if rtol is None else rtol, hermitian)


@method
def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """`torch.linalg.pinv` with a tolerance of its own."""
    return pinv(input, rcond)


@under_vmap(looped)
def matrix_rank(
    input: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The ranks of matrices: how many singular values are not zero; arguments as for `pinv`.

    Args:
        tol: an absolute tolerance alone.
    """
    array = input._array
    need_ndim("linalg.matrix_rank", array, 2)
    require(array.dtype.char in "fd", "linalg.matrix_rank(): expected single or double precision")
    if tol is not None:
        atol, rtol = tol, 0.0
    if hermitian:
        sizes = np.abs(np.linalg.eigvalsh(array))
    else:
        sizes = singular(array, False)[1]
    return wrap(np.asarray(counted(sizes, *tolerances(array, atol, rtol)).sum(-1)))


# Least squares


def lstsq_slopes(g: Any, input: Any, other: Any, solution: Any) -> tuple[Any, Any]:
    """The gradients of both sides of ``A X = B``; of the solution and the residuals."""
    (gX, gr), A, B, X = g, input, other, solution
    P = pinv(A) if isinstance(A, Tensor) else pseudoinverse(A, None, None, False)
    gA = gB = through = 0.0
    if gr is not None:
        off = 2 * (A @ X - B) * unsqueeze(gr, -2)
        gA, gB, through = off @ tr(X), -off, tr(A) @ off
    gX = through if gX is None else gX + through
    return gA + pinv_slope(gX @ tr(B), A, P), gB + tr(P) @ gX


@hidden_op(
    input=lstsq_slopes, other=lstsq_slopes, joint=True, results=("solution", "residuals"),
    node="LinalgLstsqBackward0",
)  # fmt: skip
def least_squares(input: Array, other: Array, atol: Any, rtol: Any) -> tuple[Array, Array]:
    """The kernel of `lstsq`, with the residuals of all systems."""
    X = pseudoinverse(input, atol, rtol, False) @ other
    return X, np.square(input @ X - other).sum(-2)


lstsq_result = named_tuple("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@under_vmap(separately)
def lstsq(input: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The X that make ``A X - B`` smallest: ``(solution, residuals, rank, singular_values)``.

    Args:
        input: ``(..., m, n)``.
        b: ``(..., m, k)``, or vectors ``(..., m)``.
        rcond: singular values below this share of the greatest count as zero.
        driver: which results there are: "gelsy" gives ranks, "gels" residuals, "gelsd" and
            "gelss" all of them; the others are empty.

    Raises:
        RuntimeError: for sides that do not fit, or another driver.
    """
    driver = "gelsy" if driver is None else driver
    require(driver in DRIVERS, "linalg.lstsq(): driver must be one of {}", DRIVERS)
    need_ndim("linalg.lstsq", input, 2)
    need_ndim("linalg.lstsq", b, 1)
    need_one_dtype(input, b)
    need_ndim("linalg.lstsq", b, input.ndim - 1, input.ndim)
    vector = is_vector(tuple(input.shape), tuple(b.shape))
    rows, size = input.shape[-2], b.shape[-1 if vector else -2]
    require(rows == size, "linalg.lstsq(): {} and {} rows do not match", rows, size)
    X, residuals = least_squares(input, unsqueeze(b, -1) if vector else b, None, rcond)
    if vector:
        X = squeeze_one(X, X.ndim - 1).clone()
    rank, values = X.new_empty(0, dtype=dtypes.int64), X.new_empty(0)
    if driver != "gels":
        rank = matrix_rank(input, rtol=rcond)
    if driver in ("gelsd", "gelss"):
        values = svdvals(input.detach())
    full = not rank.numel() or bool((rank == input.shape[-1]).all())
    if driver == "gelsy" or input.shape[-2] <= input.shape[-1] or not full:
        residuals = residuals.reshape(-1)[:0].clone()
    return lstsq_result((X, residuals, rank, values))


# Functions of matrices: the exponential, systems by Cholesky's factor, reflections.


# Of the approximation of degree 13, and up to which norm it holds in double precision.
PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
        129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
        40840800.0, 960960.0, 16380.0, 182.0, 1.0)  # fmt: skip
REACH = 5.371920351148152


def exponential(A: Array) -> Array:
    """The exponential by scaling, an approximation and squaring, in double precision."""
    A = A.astype(np.float64)
    norm = np.abs(A).sum(-2).max(initial=0.0)
    squarings = max(0, int(np.ceil(np.log2(norm / REACH)))) if REACH < norm < np.inf else 0
    A = A / 2.0**squarings
    power, square = np.broadcast_to(np.eye(A.shape[-1]), A.shape), A @ A
    even, odd = np.zeros_like(A), np.zeros_like(A)
    for k in range(0, len(PADE), 2):
        even, odd = even + PADE[k] * power, odd + PADE[k + 1] * power
        power = power @ square
    odd = A @ odd
    out: Array = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        out = out @ out
    return out


def exponential_slope(g: Any, input: Any) -> Any:
    """The gradient: a block of the exponential of a matrix twice as large."""
    n, A = input.shape[-1], tr(input)
    last, row = A.ndim - 1, A.ndim - 2
    top, bottom = cat_along([A, g], last), cat_along([A * 0, A], last)
    return linalg_matrix_exp(cat_along([top, bottom], row))[..., :n, n:]


@hidden_op(input=exponential_slope, batch=leading, wide=True)
def linalg_matrix_exp(input: Array) -> Array:
    """The exponential of square matrices, ``(..., n, n)``.

    Reference:
        Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005.
    """
    check_matrices("linalg.matrix_exp", input)
    return exponential(input).astype(input.dtype) if input.size else input.copy()


@method
def matrix_exp(input: Any) -> Any:
    """`torch.linalg.matrix_exp`."""
    return linalg_matrix_exp(input)


def cholesky_solve_slope(g: Any, input2: Any, out: Any, upper: bool) -> Any:
    """The gradient of a factor, from the symmetric one of its product with its transpose."""
    common = cholesky_solve(g, input2, upper) @ tr(out)
    common = common + tr(common)
    return -(input2 @ common) if upper else -(common @ input2)


@op(
    input=lambda g, input2, upper: cholesky_solve(g, input2, upper),
    input2=cholesky_solve_slope, batch=elementwise,
)  # fmt: skip
def cholesky_solve(input: Array, input2: Array, upper: bool = False) -> Array:
    """The solutions X of ``A X = input`` for A with the Cholesky factor ``input2``.

    Args:
        input: ``(..., n, k)``.
        input2: ``(..., n, n)``, of which one triangle is looked at.
        upper: whether that is the upper one.
    """
    for array in (input, input2):
        need_ndim("cholesky_solve", array, 2)
    need_one_dtype(input, input2)
    rows, columns = input2.shape[-2:]
    require(rows == columns, "cholesky_solve(): {} by {} matrices are not square", rows, columns)
    require(input.shape[-2] == rows, "cholesky_solve(): not {} rows on both sides", rows)
    need_kind("cholesky_solve_cpu", input2, half=False)
    L = np.triu(input2).swapaxes(-1, -2) if upper else np.tril(input2)
    return np.linalg.solve(L.swapaxes(-1, -2), np.linalg.solve(L, input))
