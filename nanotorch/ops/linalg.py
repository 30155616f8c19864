"""Linear algebra: inverses, linear systems, factors, determinants, norms, matrix functions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, named_tuple, rename
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.op import PUBLIC, Array, as_number, hidden_op, method, op, public
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import check_kind, check_ndim, check_same_dtype, require
from nanotorch.ops.creation import contiguous_format, convert, eye
from nanotorch.ops.elementwise import vanishing
from nanotorch.ops.gathering import where
from nanotorch.ops.joining import cat_along
from nanotorch.ops.reduction import Dims, amax, amin, norm_along, normal_dims, others, vector_norm
from nanotorch.ops.shape import diag_embed, movedim, reshape, transpose, tril, triu, unsqueeze

# Inverses and systems of linear equations, for batches of square matrices.


class _LinAlgError(RuntimeError):
    """The error for a matrix that has no inverse, or no factors of the kind asked for."""


LinAlgError = _LinAlgError


def tr(A: Any) -> Any:
    """The transposes of matrices."""
    return transpose(A, -2, -1)


def fortran_order(A: Array) -> Array:
    """The matrices with their columns contiguous in memory, as LAPACK writes them."""
    return np.ascontiguousarray(A.swapaxes(-1, -2)).swapaxes(-1, -2)


def check_matrices(name: str, A: Array, square: bool = True) -> None:
    """Refuse an array that is not a batch of (square) matrices of floats."""
    check_ndim(name, A, 2)
    if square and A.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    check_kind(name, A, half=False)


def per_matrix_or_nan(
    A: Array, function: Callable[[Array], Array], step: Callable[[Array], int]
) -> tuple[Array, Array]:
    """``function`` of each matrix, and an int32 code for each: 0 for success.

    If ``function`` fails for a matrix, its result is nan and its code is ``step(matrix)``.
    """
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        return function(A), info
    except np.linalg.LinAlgError:
        out = np.full(A.shape, math.nan, A.dtype)
        for index in np.ndindex(info.shape):
            try:
                out[index] = function(A[index])
            except np.linalg.LinAlgError:
                info[index] = step(A[index])
        return out, info


def refuse_failed(info: Array, text: str, error: type[Exception] = LinAlgError) -> None:
    """Raise ``error`` if a matrix failed.

    Args:
        info: the code of each matrix: 0, or the step at which it failed.
        text: the message; `{which}` is the first matrix that failed, `{step}` its code.
    """
    if info.any():
        first = np.flatnonzero(info)[0]
        which = f"(Batch element {first}): " if info.ndim else ""
        raise error(text.format(which=which, step=info.reshape(-1)[first]))


# The inverse


@hidden_op(
    input=lambda g, out: -(tr(out) @ g @ tr(out)),
    node="LinalgInvExBackward0",
)  # fmt: skip
def inverse_or_nan(input: Array, checked: bool = False) -> Array:
    """The inverses. A singular matrix is an error if ``checked``, else its inverse is nan."""
    check_matrices("linalg.inv", input)
    # The step of a singular matrix: the one at which the elimination meets a zero pivot.
    out, info = per_matrix_or_nan(
        input, np.linalg.inv, lambda A: int(eliminate(A.astype(np.float64))[2]) or len(A)
    )
    if checked:
        text = (
            "linalg.inv: {which}The diagonal element {step} is zero, the inversion could not be "
            "completed because the input matrix is singular."
        )
        refuse_failed(info, text)
    return fortran_order(out)


def inv(A: Any) -> Any:
    """The inverses of square matrices, ``(..., n, n)``.

    Raises:
        LinAlgError: for a singular matrix.
    """
    return inverse_or_nan(A, True)


@method
def inverse(input: Any) -> Any:
    """Another name of `torch.linalg.inv`."""
    return inv(input)


@method
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The n-th powers of square matrices, ``(..., k, k)``; of their inverses for negative n.

    Raises:
        LinAlgError: for a singular matrix and a negative n.
    """
    n = as_int(n, "n")
    message = "linalg.matrix_power: The input tensor A must have at least 2 dimensions."
    require(input.ndim >= 2, message)
    rows, columns = input.shape[-2:]
    message = (
        "linalg.matrix_power: A must be batches of square matrices, but they are {} by {} matrices"
    )
    require(rows == columns, message, rows, columns)
    square = inv(input) if n < 0 else input
    if n in (0, 1):
        out = input.clone(memory_format=contiguous_format)
        return out if n else out.copy_(eye(rows, dtype=input.dtype))
    out = square  # times itself for each further digit of n, and times `square` for each 1
    for digit in f"{abs(n):b}"[1:]:
        out = out @ out
        out = out @ square if digit == "1" else out
    return out


# Systems of equations


def is_vector(A: tuple[int, ...], B: tuple[int, ...]) -> bool:
    """Whether right-hand sides are vectors rather than matrices."""
    return len(B) == 1 or (len(A) - 1 == len(B) and A[:-1] == B)


def check_system(name: str, A: Array, B: Array, left: bool) -> None:
    """Refuse right-hand sides whose size does not fit the matrices."""
    if A.shape[-2] != B.shape[-2 if left else -1]:
        text = "{}: Incompatible shapes of A and B for the equation {} = B ({}x{} and {}x{})"
        which = "AX" if left else "XA"
        raise RuntimeError(text.format(name, which, *A.shape[-2:], *B.shape[-2:]))


def system_matrix_formula(gB: Any, X: Any, vector: bool, left: bool) -> Any:
    """The gradient of a system's matrices, from the gradient of its right-hand sides."""
    if vector:
        gB, X = unsqueeze(gB, -1), unsqueeze(X, -1)
    return -(gB @ tr(X)) if left else -(tr(X) @ gB)


def solve_arrays(A: Array, B: Array, left: bool) -> Array:
    """The X with ``A X = B`` if ``left``, else with ``X A = B``."""
    if left:
        return np.linalg.solve(A, B)
    return np.linalg.solve(A.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2)


@hidden_op(
    A=lambda g, A, out, left: system_matrix_formula(
        solve(tr(A), g, left=left), out, out.ndim < A.ndim, left
    ),
    B=lambda g, A, left: solve(tr(A), g, left=left),
    node="LinalgSolveExBackward0",
)  # fmt: skip
def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """The solutions X of ``A X = B``, or of ``X A = B``.

    Args:
        A: ``(..., n, n)``.
        B: ``(..., n, k)``, or vectors ``(..., n)``.
        left: solve ``A X = B``; False: ``X A = B``. Default: True.

    Raises:
        LinAlgError: for a singular matrix.
    """
    check_kind("linalg.solve", A, half=False)
    check_same_dtype(A, B)
    check_matrices("linalg.solve", A)
    vector = is_vector(A.shape, B.shape)
    if not vector:
        check_ndim("linalg.solve", B, 2)
    B = B[..., None] if vector else B
    check_system("linalg.solve", A, B, left)
    try:
        X = solve_arrays(A, B, left)
    except np.linalg.LinAlgError:
        text = "torch.linalg.solve: {which}The solver failed because the input matrix is singular."
        refuse_failed(per_matrix_or_nan(A, np.linalg.inv, len)[1], text)
        raise
    return X[..., 0] if vector else fortran_order(X)


def solve_triangular_formula(
    g: Any, input: Any, out: Any, upper: bool, left: bool, unitriangular: bool
) -> tuple[Any, Any]:
    """The gradients of triangular systems; only one triangle of the matrices counts."""
    gB = solve_triangular(tr(input), g, upper=not upper, left=left, unitriangular=unitriangular)
    gA, beyond = system_matrix_formula(gB, out, False, left), int(unitriangular)
    return triu(gA, beyond) if upper else tril(gA, -beyond), gB


@hidden_op(
    input=solve_triangular_formula, B=solve_triangular_formula, joint=True,
    node="LinalgSolveTriangularBackward0",
)  # fmt: skip
def solve_triangular(
    input: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """`solve` for triangular matrices; it ignores their other triangle.

    Args:
        upper: whether the matrices are upper triangular.
        unitriangular: ignore the diagonal, and use ones instead. Default: False.
    """
    check_matrices("linalg.solve_triangular", input)
    check_matrices("linalg.solve_triangular", B, square=False)
    check_same_dtype(input, B)
    check_system("linalg.solve_triangular", input, B, left)
    beyond = int(unitriangular)
    A = np.triu(input, beyond) if upper else np.tril(input, -beyond)
    return solve_arrays(A + np.eye(A.shape[-1], dtype=A.dtype) if beyond else A, B, left)


# Factors of matrices: Cholesky, QR, singular values, eigenvalues of symmetric matrices.
#
# LAPACK does the work. The signs of singular vectors and eigenvectors are arbitrary.
#
# Reference:
#     Giles, Collected Matrix Derivative Results for Forward and Reverse Mode Algorithmic
#     Differentiation, 2008; Seeger et al., Auto-Differentiating Linear Algebra, 2017.


# Positive definite matrices


def cholesky_formula(g: Any, out: Any, upper: bool) -> Any:
    """The gradient of a matrix from the gradient of its factor; it is symmetric."""
    g, L = (tr(g), tr(out)) if upper else (g, out)
    middle = tr(L) @ g
    inverse = inverse_or_nan(L)
    half = tr(inverse) @ (0.5 * (tril(middle) + tril(middle, -1))) @ inverse
    return 0.5 * (half + tr(half))


def lower_factor(A: Array) -> Array:
    """NumPy's `cholesky`; raises LinAlgError for nan too, and for inf outside the diagonal."""
    out = np.linalg.cholesky(A)
    if np.isnan(out).any() or not np.isfinite(np.tril(A, -1)).all():
        raise np.linalg.LinAlgError
    return out


def leading_minor(A: Array) -> int:
    """The order (from 1) of the first leading minor that is not positive."""
    for k in range(1, len(A)):
        try:
            lower_factor(A[:k, :k])
        except np.linalg.LinAlgError:
            return k
    return len(A)


@hidden_op(
    input=cholesky_formula, aux=("info",), fields=("L", "info"),
    node="LinalgCholeskyExBackward0",
)  # fmt: skip
def cholesky_ex(
    input: Array, *, upper: bool = False, check_errors: bool = False
) -> tuple[Array, Array]:
    """`cholesky` with a code for each matrix: the named tuple ``(L, info)``.

    ``info`` is 0, or the order of the leading minor that is not positive; then L is nan.

    Args:
        check_errors: raise LinAlgError if a matrix is not positive definite. Default: False.
    """
    check_matrices("linalg.cholesky", input)
    A = input.swapaxes(-1, -2) if upper else input
    out, info = per_matrix_or_nan(A, lower_factor, leading_minor)
    if check_errors:
        text = (
            "linalg.cholesky: {which}The factorization could not be completed because the input is "
            "not positive-definite (the leading minor of order {step} is not positive-definite)."
        )
        refuse_failed(info, text)
    return fortran_order(out.swapaxes(-1, -2) if upper else out), info


def linalg_cholesky(input: Any, *, upper: bool = False) -> Any:
    """The lower triangular L with ``A = L Lᵀ``, for symmetric positive definite matrices A.

    Args:
        upper: return the upper triangular ``Lᵀ``, and read only the upper triangle of A.
            Default: False.

    Raises:
        LinAlgError: if a matrix is not positive definite.
    """
    return cholesky_ex(input, upper=upper, check_errors=True)[0]


@method
def cholesky(input: Any, upper: bool = False) -> Any:
    """Raise an error: PyTorch removed this older form of `torch.linalg.cholesky`.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("torch.cholesky is removed: use torch.linalg.cholesky(A), or .mH of it")


# Orthogonal and triangular factors


def square_qr_formula(gQ: Any, gR: Any, Q: Any, R: Any) -> Any:
    """The gradient of a matrix with at least as many rows as columns; gQ or gR may be None."""
    middle = 0.0
    if gR is not None:
        middle = middle + gR @ tr(R)
    if gQ is not None:
        middle = middle - tr(Q) @ gQ
    inner = Q @ (triu(middle) + tr(triu(middle, 1)))
    if gQ is not None:
        inner = gQ + inner
    return inner @ tr(inverse_or_nan(R))


def qr_formula(g: Any, Q: Any, R: Any, form: str) -> Any:
    """The gradient of `qr`."""
    gQ, gR = g
    rows, columns = Q.shape[-2], R.shape[-1]
    require(form != "r", "qr(): mode='r' has no derivative, since it computes no Q")
    message = "qr(): mode='complete' has no derivative for matrices with more rows than columns"
    require(form != "complete" or rows <= columns, message)
    if rows >= columns:
        return square_qr_formula(gQ, gR, Q, R)
    # R = [U | V]: the columns of U alone determine Q, and V follows from Q.
    along, U, V = R.ndim - 1, R[..., :rows], R[..., rows:]
    if gR is None:
        return cat_along([square_qr_formula(gQ, None, Q, U), Q @ (V * 0)], along)
    gU, gV = gR[..., :rows], gR[..., rows:]
    through = Q @ V @ tr(gV)
    gQ = through if gQ is None else gQ + through
    return cat_along([square_qr_formula(gQ, gU, Q, U), Q @ gV], along)


@hidden_op(
    A=qr_formula, results=("Q", "R"), fields=("Q", "R"),
    node="LinalgQrBackward0",
)  # fmt: skip
def linalg_qr(A: Array, form: str) -> tuple[Array, Array]:
    """The kernel of `qr`."""
    check_matrices("linalg.qr", A, square=False)
    require(form in ("reduced", "complete", "r"), "qr(): unknown mode {!r}", form)
    found: Any = np.linalg.qr(A, form)  # type: ignore[call-overload]
    return (np.empty(0, A.dtype), found) if form == "r" else tuple(found)


# Singular values


def pairwise_differences(values: Any) -> Any:
    """``values_j - values_i``, and 1 on the diagonal."""
    return unsqueeze(values, -2) - unsqueeze(values, -1) + diag_embed(values * 0 + 1)


def off_diagonal(A: Any) -> Any:
    """Matrices with zeros on their diagonal."""
    return triu(A, 1) + tril(A, -1)


def svd_formula(g: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient of `svd`; the gradient of any of its results may be None."""
    gU, gS, gVh = g
    k, m, n = S.shape[-1], U.shape[-2], Vh.shape[-1]
    U, Vh = U[..., :k], Vh[..., :k, :]
    row, column = unsqueeze(S, -2), unsqueeze(S, -1)
    middle = diag_embed(S * 0 if gS is None else gS)
    gaps = pairwise_differences(S * S)
    beyond: Any = 0.0
    if gU is not None:
        gU = gU[..., :k]
        turn = tr(U) @ gU
        middle = middle + off_diagonal((turn - tr(turn)) / gaps) * row
        if m > k:
            beyond = beyond + ((gU - U @ turn) / row) @ Vh
    if gVh is not None:
        gVh = gVh[..., :k, :]
        turn = Vh @ tr(gVh)
        middle = middle + column * off_diagonal((turn - tr(turn)) / gaps)
        if n > k:
            beyond = beyond + U @ ((gVh - tr(turn) @ Vh) / column)
    return U @ middle @ Vh + beyond


def svd_arrays(A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """``(U, S, Vh)``. They are nan for a matrix with inf; a matrix with nan is an error."""
    finite = np.isfinite(A).all((-2, -1))
    if finite.all():
        return np.linalg.svd(A, full_matrices)
    undefined = np.isnan(A).any((-2, -1))
    if undefined.any():
        refuse_failed(undefined, "linalg.svd: {which}the matrix contains nan")
    U, S, Vh = np.linalg.svd(np.where(finite[..., None, None], A, 0), full_matrices)
    for part in (U, S, Vh):
        part[~finite] = np.nan
    return U, S, Vh


svd_result = named_tuple("svd", "U", "S", "V")


@hidden_op(
    A=svd_formula, results=("U", "S", "Vh"), fields=("U", "S", "Vh"),
    node="LinalgSvdBackward0",
)  # fmt: skip
def linalg_svd(A: Array, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """The singular value decomposition ``A = U diag(S) Vh``: the named tuple ``(U, S, Vh)``.

    U and Vh are orthogonal; S holds the singular values in descending order.

    Args:
        A: ``(..., m, n)``.
        full_matrices: whether U and Vh are square. If not, U has min(m, n) columns, Vh as many
            rows. Default: True.

    Raises:
        LinAlgError: for a matrix with a nan.
    """
    check_matrices("linalg.svd", A, square=False)
    return svd_arrays(A, full_matrices)


def svdvals(A: Any) -> Any:
    """The singular values of matrices, in descending order."""
    return linalg_svd(A, False)[1]


@method
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """The older form of `torch.linalg.svd`: the named tuple ``(U, S, V)``, where V is ``Vhᵀ``.

    Args:
        some: whether U and V have only min(m, n) columns. Default: True.
        compute_uv: False: U and V are zeros. Default: True.
    """
    check_ndim("linalg.svd", input, 2)
    U, S, Vh = linalg_svd(input, not some)
    if not compute_uv:
        U, Vh = (part.new_zeros(part.shape) for part in (U, Vh))
    return svd_result((U, S, transpose(Vh, -2, -1)))


# Eigenvalues of symmetric matrices


def eigh_formula(g: Any, values: Any, vectors: Any) -> Any:
    """The gradient of `eigh`; the gradient of either result may be None."""
    gL, gV = g
    middle = diag_embed(values * 0 if gL is None else gL)
    if gV is not None:
        turn = tr(vectors) @ gV
        middle = middle + 0.5 * (turn - tr(turn)) / pairwise_differences(values)
    return vectors @ middle @ tr(vectors)


@hidden_op(
    input=eigh_formula, results=("values", "vectors"), fields=("eigenvalues", "eigenvectors"),
    node="LinalgEighBackward0",
)  # fmt: skip
def eigh(input: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """The eigenvalues and eigenvectors of symmetric matrices.

    Args:
        input: ``(..., n, n)``.
        UPLO: the triangle to read, the lower "L" or the upper "U". Default: "L".

    Returns:
        The named tuple ``(eigenvalues, eigenvectors)``: the eigenvalues in ascending order, the
        eigenvectors as columns.
    """
    check_matrices("linalg.eigh", input)
    require(UPLO in ("L", "U", "l", "u"), "linalg.eigh(): unknown UPLO {!r}", UPLO)
    found: Any = np.linalg.eigh(input, "L" if UPLO in "Ll" else "U")
    return found.eigenvalues, found.eigenvectors


def eigvalsh(input: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of symmetric matrices, in ascending order."""
    return eigh(input, UPLO)[0]


# Determinants of square matrices, and their logarithms.


def det_formula(g: Any, input: Any, out: Any) -> Any:
    """The gradient of determinants: from the inverses, or from cofactors if one is singular."""
    g = unsqueeze(unsqueeze(g, -1), -1)
    size = input.shape[-1]
    if size < 2:  # the derivative does not depend on the matrix
        return g if size else vanishing(input)
    if bool((out == 0).any()):
        U, S, Vh = linalg_svd(input, False)
        scale = others(S) * unsqueeze(orientation(U, Vh), -1)
        return g * ((U * unsqueeze(scale, -2)) @ Vh)
    return g * unsqueeze(unsqueeze(out, -1), -1) * tr(inverse_or_nan(input))


@hidden_op()
def orientation(U: Array, Vh: Array) -> Array:
    """The sign of ``det(U) det(Vh)``, for orthogonal matrices."""
    return np.sign(np.linalg.det(U) * np.linalg.det(Vh))


@op(input=det_formula, node="LinalgDetBackward0")
def det(input: Array) -> Array:
    """The determinants of square matrices, ``(..., n, n)``."""
    check_matrices("linalg.det", input)
    out = np.asarray(np.linalg.det(input))
    if not out.all():  # LAPACK stops at a zero pivot, and may not have met a nan
        out[np.isnan(input).any((-2, -1))] = math.nan
    return out


slogdet_result = named_tuple("slogdet", "sign", "logabsdet")


@hidden_op(
    A=lambda g, A: (
        vanishing(A)
        if g[1] is None
        else unsqueeze(unsqueeze(g[1], -1), -1) * tr(inverse_or_nan(A))
    ),
    results=("sign", "logabsdet"), fields=("sign", "logabsdet"),
    node="LinalgSlogdetBackward0",
)  # fmt: skip
def linalg_slogdet(A: Array) -> tuple[Array, Array]:
    """The signs of determinants and the logarithms of their sizes: ``(sign, logabsdet)``."""
    check_matrices("linalg.slogdet", A)
    return tuple(np.linalg.slogdet(A))


@method
def slogdet(input: Any) -> Any:
    """`torch.linalg.slogdet`: the named tuple ``(sign, logabsdet)``."""
    return slogdet_result(linalg_slogdet(input))


@method
def logdet(input: Any) -> Any:
    """The logarithms of determinants; nan for a negative determinant."""
    check_matrices("logdet", input._array)
    sign, size = linalg_slogdet(input)
    return where(sign == -1, math.nan, size)


# The LU factors of matrices, with rows exchanged.
#
# NumPy has no such function. The elimination goes column by column, for all matrices of a batch at
# once. A single matrix is eliminated by panels: then most of the work is matrix products.


PANEL = 16  # columns to eliminate before the rest of the matrix is updated


def eliminate_matrix(work: Array, pivots: Array) -> int:
    """Run `eliminate` on one matrix in place; fills ``pivots``, returns the first zero pivot."""
    steps, info = len(pivots), 0
    for start in range(0, steps, PANEL):
        stop = min(start + PANEL, steps)
        panel = work[:, start:stop]
        for k in range(start, stop):
            column = panel[k:, k - start]
            best = k + int(np.abs(column).argmax())
            pivots[k] = best + 1
            if best != k:
                work[[k, best]] = work[[best, k]]
            pivot = column[0]
            if pivot == 0:
                info = info or k + 1
            else:
                column[1:] /= pivot
            if k + 1 < stop:
                right = panel[k:, k + 1 - start :]
                right[1:] -= column[1:, None] * right[0]
        if stop < work.shape[1]:
            upper = work[start:stop, stop:]
            square = np.tril(panel[start:stop], -1) + np.eye(stop - start, dtype=work.dtype)
            upper[...] = np.linalg.solve(square, upper)
            work[stop:, stop:] -= panel[stop:] @ upper
    return info


def eliminate(A: Array) -> tuple[Array, Array, Array]:
    """Both factors in one matrix, the row exchanged in each step, the first zero pivot or 0."""
    shape, (m, n) = A.shape[:-2], A.shape[-2:]
    work = np.array(A, order="C").reshape(-1, m, n)
    steps = min(m, n)
    pivots = np.zeros((len(work), steps), np.int32)
    info, each = np.zeros(len(work), np.int32), np.arange(len(work))
    alone = len(work) == 1
    if alone:
        info[0] = eliminate_matrix(work[0], pivots[0])
    for k in range(0 if alone else steps):
        best = k + np.argmax(np.abs(work[:, k:, k]), 1)
        pivots[:, k] = best + 1
        rows = work[each, best]
        work[each, best], work[:, k] = work[:, k].copy(), rows
        pivot = work[:, k, k]
        info = np.where((pivot == 0) & (info == 0), k + 1, info).astype(np.int32)
        work[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot).astype(A.dtype)[:, None]
        work[:, k + 1 :, k + 1 :] -= work[:, k + 1 :, k, None] * work[:, k, None, k + 1 :]
    return work.reshape(A.shape), pivots.reshape(*shape, steps), info.reshape(shape)


def lu_factor_formula(g: Any, out: Any, pivots: Any) -> Any:
    """The gradient of a matrix from the gradient of the matrix that holds both factors."""
    (m, n), ndim = out.shape[-2:], out.ndim
    k = min(m, n)
    L, U = unpacked(out)
    gL, gU, L1, U1 = tril(g[..., :k], -1), triu(g[..., :k, :]), L[..., :k, :], U[..., :k]
    low, high = tr(L1) @ gL[..., :k, :], gU[..., :k] @ tr(U1)
    if m > k:
        high = high - tr(L[..., k:, :]) @ gL[..., k:, :]
    if n > k:
        low = low - gU[..., k:] @ tr(U[..., k:])
    left, right = tr(inverse_or_nan(L1)), tr(inverse_or_nan(U1))
    both = left @ (tril(low, -1) + triu(high)) @ right
    if m > k:
        both = cat_along([both, gL[..., k:, :] @ right], ndim - 2)
    elif n > k:
        both = cat_along([both, left @ gU[..., k:]], ndim - 1)
    return exchanges(pivots, out) @ both


@hidden_op()
def exchanges(pivots: Array, like: Array) -> Array:
    """The permutation matrices P with ``A = P L U``, in the dtype of ``like``."""
    flat, m = pivots.reshape(-1, pivots.shape[-1]), like.shape[-2]
    order = np.tile(np.arange(m), (len(flat), 1))
    each = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        order[each, other], order[:, k] = order[:, k].copy(), order[each, other]
    P = np.zeros((len(flat), m, m), like.dtype)
    P[each[:, None], order, np.arange(m)] = 1
    return P.reshape(*pivots.shape[:-1], m, m)


@hidden_op(A=lu_factor_formula, aux=("pivots",), node="LinalgLuFactorExBackward0")
def linalg_lu_factor(A: Array, pivot: bool) -> tuple[Array, Array]:
    """The kernel of `lu_factor`."""
    check_ndim("lu_factor", A, 2)
    check_matrices("torch.lu_factor", A, square=False)
    require(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    out, pivots, info = eliminate(A)
    refuse_failed(info, "linalg.lu_factor: {which}U[{step},{step}] is zero", RuntimeError)
    return out, pivots


lu_factor_result = named_tuple("linalg_lu_factor", "LU", "pivots")
unpack_result = named_tuple("lu_unpack", "P", "L", "U")


def lu_unpack_formula(g: Any, input: Any) -> Any:
    """The gradient of a matrix that holds both factors; gL or gU may be None."""
    gL, gU = g
    k = min(input.shape[-2], input.shape[-1])
    blank, out = input * 0, 0.0
    if gL is not None:
        out = out + cat_along([tril(gL, -1), blank[..., k:]], input.ndim - 1)
    if gU is not None:
        out = out + cat_along([triu(gU), blank[..., k:, :]], input.ndim - 2)
    return out


@hidden_op(input=lu_unpack_formula, results=("L", "U"), node="LuUnpackBackward0")
def unpacked(input: Array) -> tuple[Array, Array]:
    """L and U of a matrix that holds both."""
    k = min(input.shape[-2:])
    L = np.tril(input[..., :k], -1) + np.eye(input.shape[-2], k, dtype=input.dtype)
    return L, np.triu(input[..., :k, :])


@public
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """``(P, L, U)`` with ``A = P L U``, from the results of `torch.linalg.lu_factor`.

    Args:
        unpack_data: False: L and U are empty. Default: True.
        unpack_pivots: False: P is empty. Default: True.
    """
    empty = LU_data.new_empty(0)
    P = exchanges(LU_pivots, LU_data) if unpack_pivots else empty
    L, U = unpacked(LU_data) if unpack_data else (empty, empty)
    return unpack_result((P, L, U))


# Norms of matrices.


def matrix_norm(
    input: Tensor, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """A norm of each matrix of a batch.

    Args:
        ord: "fro": the root of the sum of squares. 1 and -1: the greatest and the smallest sum of
            absolute values of a column; inf and -inf: of a row. 2 and -2: the greatest and the
            smallest singular value. "nuc": the sum of the singular values. Default: "fro".
        dim: the two dimensions of the matrices. Default: the last two.
        keepdim: keep these dimensions, with size 1. Default: False.
        dtype: convert ``input`` to it first.

    Raises:
        RuntimeError: for any other ``ord``, or an input of less than two dimensions.
    """
    check_ndim("linalg.matrix_norm", input, 2)
    input = input if dtype is None else convert(input, dtypes.as_dtype(dtype))
    if ord == "fro":
        return vector_norm(input, 2, dim, keepdim)
    rows, columns = normal_dims(dim, input.ndim)
    if ord in ("nuc", 2, -2):
        check_kind("linalg.matrix_norm", input._array, half=False)
        values = svdvals(movedim(input, (rows, columns), (-2, -1)))
        out = values.sum(-1) if ord == "nuc" else (amax if ord > 0 else amin)(values, -1)
        kept = [1 if d in (rows, columns) else n for d, n in enumerate(input.shape)]
        return reshape(out, tuple(kept)) if keepdim else out
    require(ord in (1, -1, math.inf, -math.inf), "linalg.matrix_norm: Order {} not supported.", ord)
    along, over = (columns, rows) if math.isinf(ord) else (rows, columns)
    sums = norm_along(input, 1.0, (along,), keepdim)
    over -= not keepdim and along < over
    return (amax if ord > 0 else amin)(sums, over, keepdim)


def norm(
    input: Tensor, ord: Any = None, dim: Dims = None, keepdim: bool = False, *,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """`matrix_norm` of a matrix, or over two ``dim``; else, or without ``ord``, `vector_norm`."""
    if ord is None:
        return vector_norm(input, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        check_ndim("linalg.norm", input, 1, 2)
    pair = input.ndim == 2 if dim is None else not isinstance(dim, int) and len(dim) == 2
    if pair or isinstance(ord, str):
        return matrix_norm(input, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)  # type: ignore[arg-type]
    return vector_norm(input, ord, dim, keepdim, dtype=dtype)


@method(name="norm", public=False)
def norm_method(
    self: Tensor, p: Any = "fro", dim: Dims = None, keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """`torch.norm` of this tensor."""
    return torch_norm(self, p, dim, keepdim, dtype=dtype)


def torch_norm(
    input: Tensor, p: Any = "fro", dim: Dims = None, keepdim: bool = False,
    out: Tensor | None = None, dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The vector norm of order ``p`` over all elements, or along ``dim``.

    Args:
        p: a number; "fro", which means 2; or "nuc", the sum of the singular values of matrices.
            Default: "fro".

    Raises:
        RuntimeError: for any other string.
    """
    if out is not None:  # a positional `out`
        return PUBLIC["norm"](input, p, dim, keepdim, out=out, dtype=dtype)
    if p == "nuc":
        return matrix_norm(input, p, (0, 1) if dim is None else dim, keepdim, dtype=dtype)  # type: ignore[arg-type]
    require(not isinstance(p, str) or p == "fro", "linalg.matrix_norm: Order {} not supported.", p)
    return vector_norm(input, 2 if p == "fro" or p is None else p, dim, keepdim, dtype=dtype)


PUBLIC["norm"] = rename(torch_norm, "norm")


# Pseudoinverses and least squares.


def counts_as_nonzero(S: Array, A: Array, atol: Any, rtol: Any) -> Array:
    """Whether each singular value of A counts as nonzero; tolerances as for `pinv`."""
    low, share = (t._array[..., None] if isinstance(t, Tensor) else t for t in (atol, rtol))
    if share is None:
        given = low is not None and bool(np.any(low > 0))
        share = 0.0 if given else max(A.shape[-2:]) * float(np.finfo(A.dtype).eps)
    least = share * S.max(-1, keepdims=True, initial=0.0)
    return np.asarray(np.maximum(0.0 if low is None else low, least) < S)


# The pseudoinverse


def pinv_formula(g: Any, input: Any, out: Any) -> Any:
    """The gradient of matrices from that of their pseudoinverses, if the rank is constant."""
    A, P = input, out
    gt, Pt = tr(g), tr(P)
    if A.shape[-2] <= A.shape[-1]:
        K = gt @ P
        KPt = K @ Pt
        return -tr(P @ K) + KPt - (A @ P) @ KPt + (Pt @ P) @ (gt - K @ A)
    K = P @ gt
    PtK = Pt @ K
    return -tr(K @ P) + (gt - A @ K) @ P @ Pt + PtK - (PtK @ P) @ A


@hidden_op(input=pinv_formula, node="LinalgPinvBackward0")
def pseudoinverse(input: Array, atol: Any, rtol: Any, hermitian: bool) -> Array:
    """The kernel of `pinv`."""
    check_ndim("linalg.pinv", input, 2)
    require(input.dtype.char in "fd", "linalg.pinv(): expected single or double precision")
    if hermitian:
        check_matrices("linalg.pinv", input)
        S, V = np.linalg.eigh(input)
        U, size = V, np.abs(S)
    else:
        U, S, Vh = svd_arrays(input, False)
        V, size = Vh.swapaxes(-1, -2), S
    kept = counts_as_nonzero(size, input, atol, rtol)
    inverse = np.where(kept, 1 / np.where(kept, S, 1), 0).astype(input.dtype)
    return (V * inverse[..., None, :]) @ U.swapaxes(-1, -2)


def pinv(
    input: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    """The pseudoinverses ``(..., n, m)`` of matrices ``(..., m, n)``.

    Args:
        atol, rtol: singular values up to ``max(atol, rtol * the greatest)`` count as zero.
            Default: ``atol`` 0, and ``rtol`` the dtype's epsilon times max(m, n), or 0 if ``atol``
            is positive.
        rcond: another name of ``rtol``.
        hermitian: the matrices are symmetric; read only their lower triangle. Default: False.
    """
    return pseudoinverse(input, atol, rcond if rtol is None else rtol, hermitian)


@method
def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """`torch.linalg.pinv` with ``rcond`` 1e-15 by default."""
    return pinv(input, as_number(rcond, "rcond", "float"))


# Least squares


def lstsq_formula(g: Any, input: Any, other: Any, solution: Any) -> tuple[Any, Any]:
    """The gradients of A and B in ``A X = B``, from those of the solution and the residuals."""
    (gX, gr), A, B, X = g, input, other, solution
    P = pinv(A) if isinstance(A, Tensor) else pseudoinverse(A, None, None, False)
    gA = gB = through = 0.0
    if gr is not None:
        off = 2 * (A @ X - B) * unsqueeze(gr, -2)
        gA, gB, through = off @ tr(X), -off, tr(A) @ off
    gX = through if gX is None else gX + through
    return gA + pinv_formula(gX @ tr(B), A, P), gB + tr(P) @ gX


@hidden_op(
    input=lstsq_formula, other=lstsq_formula, joint=True, results=("solution", "residuals"),
    node="LinalgLstsqBackward0",
)  # fmt: skip
def least_squares(input: Array, other: Array, atol: Any, rtol: Any) -> tuple[Array, Array]:
    """The kernel of `lstsq`: X, and the residuals of all systems."""
    X = pseudoinverse(input, atol, rtol, False) @ other
    return X, np.square(input @ X - other).sum(-2)


lstsq_result = named_tuple("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


# The matrix exponential, and systems solved with Cholesky factors.


# The coefficients of the Padé approximation of degree 13, and the greatest norm for which it is
# exact in double precision.
PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
        129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
        40840800.0, 960960.0, 16380.0, 182.0, 1.0)  # fmt: skip
REACH = 5.371920351148152


def matrix_exp_formula(g: Any, input: Any) -> Any:
    """The gradient of `matrix_exp`: a block of the exponential of a matrix twice as large."""
    n, A = input.shape[-1], tr(input)
    last, row = A.ndim - 1, A.ndim - 2
    top, bottom = cat_along([A, g], last), cat_along([A * 0, A], last)
    return linalg_matrix_exp(cat_along([top, bottom], row))[..., :n, n:]


@hidden_op(input=matrix_exp_formula, wide=True)
def linalg_matrix_exp(input: Array) -> Array:
    """The exponential of square matrices, ``(..., n, n)``.

    Reference:
        Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005.
    """
    check_matrices("linalg.matrix_exp", input)
    A = input.astype(np.float64)
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
    return out.astype(input.dtype)


@method
def matrix_exp(input: Any) -> Any:
    """Another name of `torch.linalg.matrix_exp`."""
    return linalg_matrix_exp(input)


def cholesky_solve_formula(g: Any, input2: Any, out: Any, upper: bool) -> tuple[Any, Any]:
    """The gradients of `cholesky_solve`; the factor's follows from that of A, made symmetric."""
    first = cholesky_solve(g, input2, upper)
    common = first @ tr(out)
    common = common + tr(common)
    return first, -(input2 @ common) if upper else -(common @ input2)


@op(input=cholesky_solve_formula, input2=cholesky_solve_formula, joint=True)
def cholesky_solve(input: Array, input2: Array, upper: bool = False) -> Array:
    """The solutions X of ``A X = input``, where ``input2`` is the Cholesky factor of A.

    Args:
        input: ``(..., n, k)``.
        input2: ``(..., n, n)``; only one triangle is read.
        upper: whether this is the upper triangle. Default: False.
    """
    check_ndim("cholesky_solve", input, 2)
    check_same_dtype(input, input2)
    check_matrices("cholesky_solve", input2)
    check_system("cholesky_solve", input2, input, True)
    L = np.triu(input2).swapaxes(-1, -2) if upper else np.tril(input2)
    return np.linalg.solve(L.swapaxes(-1, -2), np.linalg.solve(L, input))
