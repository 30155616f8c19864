"""Factors of matrices: Cholesky, QR, singular values, eigenvalues of symmetric matrices.

LAPACK does the work. Singular vectors and eigenvectors are determined up to their signs only.

Reference:
    Giles, Collected Matrix Derivative Results for Forward and Reverse Mode Algorithmic
    Differentiation, 2008; Seeger et al., Auto-Differentiating Linear Algebra, 2017.
"""

import math
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_functions import under_vmap, wholes
from nanotorch._core.batch_rules import Call, leading
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, op
from nanotorch.ops.joining import cat_along
from nanotorch.ops.shape import transpose, unsqueeze
from nanotorch.ops.slicing import diag_embed, slice_along, tril, triu
from nanotorch.ops.solving import (
    LinAlgError,
    batch_element,
    by_columns,
    check_matrices,
    inverse_with_info,
    one_by_one,
    tr,
)

# Positive definite matrices


def cholesky_slope(g: Any, L: Any) -> Any:
    """The gradient of a matrix from that of its lower factor, in equal shares to both triangles."""
    middle = tr(L) @ g
    inverse = inverse_with_info(L)[0]
    half = tr(inverse) @ (0.5 * (tril(middle) + tril(middle, -1))) @ inverse
    return 0.5 * (half + tr(half))


def lower_factor(A: Array) -> Array:
    """NumPy's `cholesky`, to which nan, and infinities beside the diagonal, are like any number."""
    out = np.linalg.cholesky(A)
    if np.isnan(out).any() or not np.isfinite(np.tril(A, -1)).all():
        raise np.linalg.LinAlgError
    return out


def leading_minor(A: Array) -> int:
    """The order, from 1, of the first leading minor that is not positive."""
    for k in range(1, len(A)):
        try:
            lower_factor(A[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return len(A)


@op(
    input=lambda g, out, upper: cholesky_slope(tr(g) if upper else g, tr(out) if upper else out),
    aux=("info",),
    method=False,
    public=False,
    node="LinalgCholeskyExBackward0",
    batch=leading,
)
def cholesky_with_info(input: Array, upper: bool) -> tuple[Array, Array]:
    """The factors, and the order of the minor at which each failed, or 0; these are nan."""
    check_matrices("linalg.cholesky", input)
    A = input.swapaxes(-1, -2) if upper else input
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        out = lower_factor(A)
    except np.linalg.LinAlgError:
        out = np.full(A.shape, math.nan, A.dtype)
        for index, factor in one_by_one(A, lower_factor):
            info[index] = leading_minor(A[index]) if factor is None else 0
            out[index] = math.nan if factor is None else factor
    return by_columns(out.swapaxes(-1, -2) if upper else out), info


cholesky_ex_result = named_tuple("linalg_cholesky_ex", "L", "info")


@under_vmap(wholes)
def factored(name: str, A: Any, upper: bool) -> Any:
    """The factors; all matrices must be positive definite."""
    out, info = cholesky_with_info(A, upper)
    if info._array.any():
        which, order = batch_element(info._array)
        raise LinAlgError(
            f"{name}: {which}The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {order} is not positive-definite)."
        )
    return out


def linalg_cholesky(input: Any, *, upper: bool = False) -> Any:
    """The lower triangular L with ``A = L Lᵀ`` of symmetric positive definite matrices.

    Args:
        upper: return the upper triangular ``Lᵀ``, and look at the upper triangle of A only.

    Raises:
        LinAlgError: if a matrix is not positive definite.
    """
    return factored("linalg.cholesky", input, upper)


def cholesky_ex(input: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`cholesky` without a check: the named tuple ``(L, info)``; the latter is 0 for success."""
    if check_errors:
        factored("linalg.cholesky_ex", input, upper)
    return cholesky_ex_result(cholesky_with_info(input, upper))


REMOVED = (
    "This function was deprecated since version 1.9 and is now removed. `torch.cholesky` is "
    "deprecated in favor of `torch.linalg.cholesky`.\n"
    "L = torch.cholesky(A) should be replaced with:\n"
    "L = torch.linalg.cholesky(A)\n"
    "U = torch.cholesky(A, upper=True) should be replaced with:\n"
    "U = torch.linalg.cholesky(A).mH"
)


@method
def cholesky(input: Any, upper: bool = False) -> Any:
    """The former form of `torch.linalg.cholesky`, which PyTorch has removed.

    Raises:
        RuntimeError: always, as there.
    """
    raise RuntimeError(REMOVED)


# Orthogonal and triangular factors


def square_qr_slope(gQ: Any, gR: Any, Q: Any, R: Any) -> Any:
    """The gradient of a matrix of no more columns than rows; either gradient may be missing."""
    middle = 0.0
    if gR is not None:
        middle = middle + gR @ tr(R)
    if gQ is not None:
        middle = middle - tr(Q) @ gQ
    half = triu(middle)
    inner = Q @ (half + tr(triu(middle, 1)))
    if gQ is not None:
        inner = gQ + inner
    return inner @ tr(inverse_with_info(R)[0])


def qr_slope(g: Any, Q: Any, R: Any, form: str) -> Any:
    """The gradient of `qr`."""
    gQ, gR = g
    rows, columns = Q.shape[-2], R.shape[-1]
    if form == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if form == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    if rows >= columns:
        return square_qr_slope(gQ, gR, Q, R)
    # The first columns [U | V] of R make Q; the others follow from it.
    along = R.ndim - 1
    U, V = slice_along(R, along, 0, rows), slice_along(R, along, rows, columns)
    if gR is None:
        return cat_along([square_qr_slope(gQ, None, Q, U), Q @ (V * 0)], along)
    gU, gV = slice_along(gR, along, 0, rows), slice_along(gR, along, rows, columns)
    through = Q @ V @ tr(gV)
    gQ = through if gQ is None else gQ + through
    return cat_along([square_qr_slope(gQ, gU, Q, U), Q @ gV], along)


def factors_of_all(call: Call) -> Any:
    """`qr_factors` of each sample; the factor that is left out is empty."""
    Q, R = leading(call)
    return (Q.expand(call.batch.size, 0) if call.args["form"] == "r" else Q), R


@op(
    input=lambda g, Q, R, form: qr_slope(g, Q, R, form),
    results=("Q", "R"),
    method=False,
    public=False,
    node="LinalgQrBackward0",
    batch=lambda call: factors_of_all(call),
)
def qr_factors(input: Array, form: str) -> tuple[Array, Array]:
    """The kernel of `qr`."""
    check_matrices("linalg.qr", input, square=False)
    if form == "r":
        alone: Any = np.linalg.qr(input, "r")
        return np.empty(0, input.dtype), alone
    if form not in ("reduced", "complete"):
        raise RuntimeError(
            f"qr received unrecognized mode '{form}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    found: Any = np.linalg.qr(input, "complete" if form == "complete" else "reduced")
    return found.Q, found.R


qr_result = named_tuple("linalg_qr", "Q", "R")


def qr(A: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R with ``A = Q R``: ``(Q, R)``.

    Args:
        A: ``(..., m, n)``.
        mode: "reduced" for min(m, n) columns of Q, "complete" for m, "r" for R alone.

    Raises:
        RuntimeError: for another mode.
    """
    return qr_result(qr_factors(A, mode))


# Singular values


def differences(values: Any) -> Any:
    """``values_j - values_i``, and 1 on the diagonal."""
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    return gaps + diag_embed(values * 0 + 1)


def off_diagonal(A: Any) -> Any:
    """Matrices without their diagonal."""
    return triu(A, 1) + tril(A, -1)


def svd_slope(g: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient of `svd`, any part of which may be missing."""
    gU, gS, gVh = g
    k, m, n = S.shape[-1], U.shape[-2], Vh.shape[-1]
    U, Vh = slice_along(U, U.ndim - 1, 0, k), slice_along(Vh, Vh.ndim - 2, 0, k)
    row, column = unsqueeze(S, -2), unsqueeze(S, -1)
    middle = diag_embed(S * 0 if gS is None else gS)
    gaps = differences(S * S)
    beyond: Any = 0.0
    if gU is not None:
        gU = slice_along(gU, gU.ndim - 1, 0, k)
        turn = tr(U) @ gU
        middle = middle + off_diagonal((turn - tr(turn)) / gaps) * row
        if m > k:
            beyond = beyond + ((gU - U @ turn) / row) @ Vh
    if gVh is not None:
        gVh = slice_along(gVh, gVh.ndim - 2, 0, k)
        turn = Vh @ tr(gVh)
        middle = middle + column * off_diagonal((turn - tr(turn)) / gaps)
        if n > k:
            beyond = beyond + U @ ((gVh - tr(turn) @ Vh) / column)
    return U @ middle @ Vh + beyond


def singular(A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """Singular values and vectors; all nan for a matrix with an infinity.

    Raises:
        LinAlgError: for a matrix with a nan.
    """
    finite = np.isfinite(A).all((-2, -1))
    if finite.all():
        return np.linalg.svd(A, full_matrices)
    undefined = np.isnan(A).any((-2, -1))
    if undefined.any():
        which, _ = batch_element(undefined)
        raise LinAlgError(
            f"linalg.svd: {which}The algorithm failed to converge because the input matrix "
            "contained non-finite values."
        )
    U, S, Vh = np.linalg.svd(np.where(finite[..., None, None], A, 0), full_matrices)
    for part in (U, S, Vh):
        part[~finite] = np.nan
    return U, S, Vh


@op(
    input=lambda g, U, S, Vh: svd_slope(g, U, S, Vh),
    results=("U", "S", "Vh"),
    method=False,
    public=False,
    node="LinalgSvdBackward0",
    batch=leading,
)
def svd_factors(input: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """The kernel of `svd`."""
    check_matrices("linalg.svd", input, square=False)
    return singular(input, full_matrices)


linalg_svd_result = named_tuple("linalg_svd", "U", "S", "Vh")
svd_result = named_tuple("svd", "U", "S", "V")


def linalg_svd(A: Any, full_matrices: bool = True) -> Any:
    """Orthogonal U, V and values S, from the greatest, with ``A = U diag(S) Vᵀ``: ``(U, S, Vh)``.

    Args:
        A: ``(..., m, n)``.
        full_matrices: whether U and Vh are square; else they have min(m, n) columns and rows.

    Raises:
        LinAlgError: for a matrix with a nan.
    """
    return linalg_svd_result(svd_factors(A, full_matrices))


def svdvals(A: Any) -> Any:
    """The singular values, from the greatest."""
    return svd_factors(A, False)[1]


@method
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """`torch.linalg.svd` in its former form: the named tuple ``(U, S, V)``, the last transposed.

    Args:
        some: whether U and V have min(m, n) columns only.
        compute_uv: False for zeros in place of both.
    """
    if input.ndim < 2:
        raise RuntimeError(
            "linalg.svd: input should have at least 2 dimensions, but has "
            f"{input.ndim} dimensions instead"
        )
    U, S, Vh = svd_factors(input, not some)
    if not compute_uv:
        U, Vh = (part.new_zeros(part.shape) for part in (U, Vh))
    return svd_result((U, S, transpose(Vh, -2, -1)))


# Eigenvalues of symmetric matrices


def eigh_slope(g: Any, values: Any, vectors: Any) -> Any:
    """The gradient of `eigh`, either part of which may be missing."""
    gL, gV = g
    middle = diag_embed(values * 0 if gL is None else gL)
    if gV is not None:
        turn = tr(vectors) @ gV
        middle = middle + 0.5 * (turn - tr(turn)) / differences(values)
    return vectors @ middle @ tr(vectors)


@op(
    input=lambda g, values, vectors: eigh_slope(g, values, vectors),
    results=("values", "vectors"),
    method=False,
    public=False,
    node="LinalgEighBackward0",
    batch=leading,
)
def eigh_factors(input: Array, UPLO: str) -> tuple[Array, Array]:
    """The kernel of `eigh`."""
    if input.ndim >= 2 and input.dtype.kind != "f":
        kind = dtypes.of_array(input).char
        raise NotImplementedError(f"\"linalg_eigh_cpu\" not implemented for '{kind}'")
    check_matrices("linalg.eigh", input)
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    found: Any = np.linalg.eigh(input, "L" if UPLO in "Ll" else "U")
    return found.eigenvalues, found.eigenvectors


eigh_result = named_tuple("linalg_eigh", "eigenvalues", "eigenvectors")


def eigh(input: Any, UPLO: str = "L") -> Any:
    """Eigenvalues, from the smallest, and eigenvectors of symmetric matrices, in columns.

    Args:
        input: ``(..., n, n)``.
        UPLO: which triangle to look at, the lower "L" or the upper "U".

    Returns:
        the named tuple ``(eigenvalues, eigenvectors)``.
    """
    return eigh_result(eigh_factors(input, UPLO))


def eigvalsh(input: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices, from the smallest."""
    return eigh_factors(input, UPLO)[0]
