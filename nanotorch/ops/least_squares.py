"""Pseudoinverses, least squares, ranks and condition numbers."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_functions import looped, separately, under_vmap
from nanotorch._core.batch_rules import leading
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.factoring import singular, svdvals
from nanotorch.ops.shape import squeeze_one, unsqueeze
from nanotorch.ops.solving import check_matrices, is_vector, tr


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


def pinv_slope(g: Any, A: Any, P: Any) -> Any:
    """The gradient of matrices from that of their pseudoinverses P, whose rank must not change."""
    gt, Pt = tr(g), tr(P)
    if A.shape[-2] <= A.shape[-1]:
        K = gt @ P
        KPt = K @ Pt
        return -tr(P @ K) + KPt - (A @ P) @ KPt + (Pt @ P) @ (gt - K @ A)
    K = P @ gt
    PtK = Pt @ K
    return -tr(K @ P) + (gt - A @ K) @ P @ Pt + PtK - (PtK @ P) @ A


@op(
    input=lambda g, input, out: pinv_slope(g, input, out),
    method=False,
    public=False,
    node="LinalgPinvBackward0",
    batch=leading,
)
def pseudoinverse(input: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
    """The kernel of `pinv`."""
    if input.ndim < 2 or dtypes.of_array(input) not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(
            f"linalg.pinv({dtypes.of_array(input).char}{{{list(input.shape)}}}): expected a tensor "
            "with 2 or more dimensions of float, double, cfloat or cdouble types"
        )
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
    if array.ndim < 2:
        raise RuntimeError(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
        )
    if array.dtype.char not in "fd":
        raise RuntimeError("This function doesn't handle types other than float and double")
    if tol is not None:
        atol, rtol = tol, 0.0
    if hermitian:
        sizes = np.abs(np.linalg.eigvalsh(array))
    else:
        sizes = singular(array, False)[1]
    return wrap(np.asarray(counted(sizes, *tolerances(array, atol, rtol)).sum(-1)))


# Least squares


def lstsq_slopes(g: Any, A: Any, B: Any, X: Any) -> tuple[Any, Any]:
    """The gradients of both sides of ``A X = B``; of the solution and the residuals."""
    gX, gr = g
    P = pinv(A) if isinstance(A, Tensor) else pseudoinverse(A, None, None, False)
    gA = gB = through = 0.0
    if gr is not None:
        off = 2 * (A @ X - B) * unsqueeze(gr, -2)
        gA, gB, through = off @ tr(X), -off, tr(A) @ off
    gX = through if gX is None else gX + through
    return gA + pinv_slope(gX @ tr(B), A, P), gB + tr(P) @ gX


@op(
    input=lambda g, input, other, solution: lstsq_slopes(g, input, other, solution)[0],
    other=lambda g, input, other, solution: lstsq_slopes(g, input, other, solution)[1],
    results=("solution", "residuals"),
    method=False,
    public=False,
    node="LinalgLstsqBackward0",
)
def least_squares(input: Array, other: Array, atol: Any, rtol: Any) -> tuple[Array, Array]:
    """The kernel of `lstsq`, with the residuals of all systems."""
    X = pseudoinverse(input, atol, rtol, False) @ other
    return X, np.square(input @ X - other).sum(-2)


lstsq_result = named_tuple("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def check_sides(A: Any, B: Any, driver: str) -> None:
    """Refuse sides of a least squares problem that do not fit."""
    head = "torch.linalg.lstsq: "
    if driver not in DRIVERS:
        raise RuntimeError(f"{head}parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if A.ndim < 2:
        raise RuntimeError(f"{head}input must have at least 2 dimensions.")
    if not B.ndim:
        raise RuntimeError(f"{head}other must have at least 1 dimension.")
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{head}Expected input and other to have the same dtype, but got input's dtype "
            f"{A.dtype.char} and other's dtype {B.dtype.char}"
        )
    if A.ndim - B.ndim not in (0, 1):
        raise RuntimeError(
            f"{head}input.dim() must be greater or equal to other.dim() and (input.dim() - "
            "other.dim()) <= 1"
        )
    if A.shape[-2] != B.shape[-1 if is_vector(tuple(A.shape), tuple(B.shape)) else -2]:
        sides = "-1" if B.ndim == 1 else "-2"
        raise RuntimeError(f"{head}input.size(-2) should match other.size({sides})")


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
    check_sides(input, b, driver)
    vector = is_vector(tuple(input.shape), tuple(b.shape))
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


# How much a solution may depend on errors
