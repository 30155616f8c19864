"""Factors of matrices, inverses, systems of equations, determinants."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nanotorch._core.arguments import named_tuple
from nanotorch._core.batched import Call, elementwise, leading, looped, under_vmap, wholes
from nanotorch._core.op import Array, hidden_op, method, op, public
from nanotorch.ops.arguments import need_kind, need_ndim, need_one_dtype, require
from nanotorch.ops.elementwise import vanishing
from nanotorch.ops.gathering import where
from nanotorch.ops.joining import cat_along
from nanotorch.ops.reduction import others
from nanotorch.ops.shape import diag_embed, transpose, tril, triu, unsqueeze

# Inverses and systems of linear equations, for batches of square matrices.


class _LinAlgError(RuntimeError):
    """Raised where a matrix has no inverse, or no factors of the wanted kind."""


LinAlgError = _LinAlgError


def tr(A: Any) -> Any:
    """The transposes of matrices."""
    return transpose(A, -2, -1)


def by_columns(A: Array) -> Array:
    """The matrices laid out by columns, as LAPACK writes them."""
    return np.ascontiguousarray(A.swapaxes(-1, -2)).swapaxes(-1, -2)


def check_matrices(name: str, A: Array, square: bool = True) -> None:
    """Refuse what is no matrix of floats."""
    need_ndim(name, A, 2)
    if square and A.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    need_kind(name, A, half=False)


def each_or_nan(
    A: Array, function: Callable[[Array], Array], step: Callable[[Array], int]
) -> tuple[Array, Array]:
    """What ``function`` makes of matrices, and for each 0.

    Those for which it fails are nan, and have the number of the ``step`` at which it does.
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


def batch_element(info: Array) -> tuple[str, int]:
    """The first matrix that failed, as messages name it, and why."""
    failed = np.flatnonzero(info)[0]
    return f"(Batch element {failed}): " if info.ndim else "", int(info.reshape(-1)[failed])


@under_vmap(wholes)
def successful(
    operation: Any, *arguments: Any, text: str, error: type[Exception] = LinAlgError
) -> Any:
    """The results of an operation, which may have failed for none of the matrices.

    Args:
        text: the error, with `{which}` of them it is and at which `{step}`; the last of the results
            tells that.
    """
    found = operation(*arguments)
    info = found[-1]._array
    if info.any():
        which, step = batch_element(info)
        raise error(text.format(which=which, step=step))
    return found


# The inverse


def zero_pivot(A: Array) -> int:
    """At which step, from 1, the elimination of a singular matrix meets a zero."""
    return eliminated_matrix(A.astype(np.float64), np.zeros(len(A), np.int32)) or len(A)


@hidden_op(
    input=lambda g, out: -(tr(out) @ g @ tr(out)),
    aux=("info",), node="LinalgInvExBackward0", batch=leading,
)  # fmt: skip
def inverse_with_info(input: Array) -> tuple[Array, Array]:
    """The inverses, and for each the step at which it failed, or 0; these are nan."""
    check_matrices("linalg.inv", input)
    out, info = each_or_nan(input, np.linalg.inv, zero_pivot)
    return by_columns(out), info


def inv(A: Any) -> Any:
    """The inverses of square matrices, ``(..., n, n)``.

    Raises:
        LinAlgError: for a singular matrix.
    """
    return successful(
        inverse_with_info,
        A,
        text="linalg.inv: {which}The diagonal element {step} is zero, the inversion could not be "
        "completed because the input matrix is singular.",
    )[0]


@method
def inverse(input: Any) -> Any:
    """`torch.linalg.inv` by another name."""
    return inv(input)


# Systems of equations


def is_vector(A: tuple[int, ...], B: tuple[int, ...]) -> bool:
    """Whether right-hand sides are vectors rather than matrices."""
    return len(B) == 1 or (len(A) - 1 == len(B) and A[:-1] == B)


def check_system(name: str, A: Array, B: Array, left: bool) -> None:
    """Refuse right-hand sides that do not fit the matrices."""
    if A.shape[-2] != (B.shape[-2] if left else B.shape[-1]):
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def outer_slope(gB: Any, X: Any, vector: bool, left: bool) -> Any:
    """The gradient of the matrices of a system, from that of the right-hand sides."""
    if vector:
        gB, X = unsqueeze(gB, -1), unsqueeze(X, -1)
    return -(gB @ tr(X)) if left else -(tr(X) @ gB)


def solution(A: Array, B: Array, left: bool) -> Array:
    """The X with ``A X = B``, or else ``X A = B``."""
    if left:
        return np.linalg.solve(A, B)
    return np.linalg.solve(A.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2)


def solved_of_all(call: Call) -> Any:
    """`solve` of each sample; vectors as matrices of one column."""
    A, B = call.args["A"], call.args["B"]
    if not is_vector(A.shape, B.shape):
        return elementwise(call)
    columns = {**call.args, "B": B.unsqueeze(-1)}
    return elementwise(Call(call.op, False, columns, call.batch)).squeeze(-1)


@hidden_op(
    A=lambda g, A, out, left: outer_slope(solve(tr(A), g, left=left), out, out.ndim < A.ndim, left),
    B=lambda g, A, left: solve(tr(A), g, left=left),
    node="LinalgSolveExBackward0", batch=solved_of_all,
)  # fmt: skip
def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """The solutions X of ``A X = B``, or of ``X A = B``.

    Args:
        A: ``(..., n, n)``.
        B: ``(..., n, k)``, or vectors ``(..., n)``.
        left: whether A stands on the left.

    Raises:
        LinAlgError: for a singular matrix.
    """
    need_kind("linalg.solve", A, half=False)
    need_one_dtype(A, B)
    check_matrices("linalg.solve", A)
    vector = is_vector(A.shape, B.shape)
    if not vector:
        need_ndim("linalg.solve", B, 2)
    B = B[..., None] if vector else B
    check_system("linalg.solve", A, B, left)
    try:
        X = solution(A, B, left)
    except np.linalg.LinAlgError:
        which, _ = batch_element(each_or_nan(A, np.linalg.inv, zero_pivot)[1])
        raise LinAlgError(
            f"torch.linalg.solve: {which}The solver failed because the input matrix is singular."
        ) from None
    return X[..., 0] if vector else by_columns(X)


def triangle_slope(
    g: Any, input: Any, out: Any, upper: bool, left: bool, unitriangular: bool
) -> Any:
    """The gradient of the matrices of triangular systems, of which they have one triangle only."""
    gB = solve_triangular(tr(input), g, upper=not upper, left=left, unitriangular=unitriangular)
    gA, beyond = outer_slope(gB, out, False, left), int(unitriangular)
    return triu(gA, beyond) if upper else tril(gA, -beyond)


@hidden_op(
    input=triangle_slope,
    B=lambda g, input, upper, left, unitriangular: solve_triangular(
        tr(input), g, upper=not upper, left=left, unitriangular=unitriangular
    ),
    node="LinalgSolveTriangularBackward0", batch=elementwise,
)  # fmt: skip
def solve_triangular(
    input: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """`solve` for triangular matrices, of which the other triangle is not looked at.

    Args:
        upper: whether the matrices are upper triangular.
        unitriangular: take the diagonal for ones.
    """
    check_matrices("linalg.solve_triangular", input)
    check_matrices("linalg.solve_triangular", B, square=False)
    need_one_dtype(input, B)
    check_system("linalg.solve_triangular", input, B, left)
    beyond = int(unitriangular)
    A = np.triu(input, beyond) if upper else np.tril(input, -beyond)
    return solution(A + np.eye(A.shape[-1], dtype=A.dtype) if beyond else A, B, left)


# Factors of matrices: Cholesky, QR, singular values, eigenvalues of symmetric matrices.
#
# LAPACK does the work. Singular vectors and eigenvectors are determined up to their signs only.
#
# Reference:
#     Giles, Collected Matrix Derivative Results for Forward and Reverse Mode Algorithmic
#     Differentiation, 2008; Seeger et al., Auto-Differentiating Linear Algebra, 2017.


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


@hidden_op(
    input=lambda g, out, upper: cholesky_slope(tr(g) if upper else g, tr(out) if upper else out),
    aux=("info",), node="LinalgCholeskyExBackward0", batch=leading,
)  # fmt: skip
def cholesky_with_info(input: Array, upper: bool) -> tuple[Array, Array]:
    """The factors, and the order of the minor at which each failed, or 0; these are nan."""
    check_matrices("linalg.cholesky", input)
    A = input.swapaxes(-1, -2) if upper else input
    out, info = each_or_nan(A, lower_factor, leading_minor)
    return by_columns(out.swapaxes(-1, -2) if upper else out), info


cholesky_ex_result = named_tuple("linalg_cholesky_ex", "L", "info")


INDEFINITE = (
    "{which}The factorization could not be completed because the input is not positive-definite "
    "(the leading minor of order {step} is not positive-definite)."
)


def linalg_cholesky(input: Any, *, upper: bool = False) -> Any:
    """The lower triangular L with ``A = L Lᵀ`` of symmetric positive definite matrices.

    Args:
        upper: return the upper triangular ``Lᵀ``, and look at the upper triangle of A only.

    Raises:
        LinAlgError: if a matrix is not positive definite.
    """
    text = "linalg.cholesky: " + INDEFINITE
    return successful(cholesky_with_info, input, upper, text=text)[0]


def cholesky_ex(input: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`cholesky` without a check: the named tuple ``(L, info)``; the latter is 0 for success."""
    if check_errors:
        text = "linalg.cholesky_ex: " + INDEFINITE
        successful(cholesky_with_info, input, upper, text=text)
    return cholesky_ex_result(cholesky_with_info(input, upper))


REMOVED = (
    "PyTorch has removed torch.cholesky. Use torch.linalg.cholesky(A), or .mH of it for upper=True"
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
    inner = Q @ (triu(middle) + tr(triu(middle, 1)))
    if gQ is not None:
        inner = gQ + inner
    return inner @ tr(inverse_with_info(R)[0])


def qr_slope(g: Any, Q: Any, R: Any, form: str) -> Any:
    """The gradient of `qr`."""
    gQ, gR = g
    rows, columns = Q.shape[-2], R.shape[-1]
    require(form != "r", "qr(): mode='r' has no derivative, since it computes no Q")
    require(form != "complete" or rows <= columns, "qr(): no derivative of a wider complete Q")
    if rows >= columns:
        return square_qr_slope(gQ, gR, Q, R)
    # The first columns [U | V] of R make Q; the others follow from it.
    along, U, V = R.ndim - 1, R[..., :rows], R[..., rows:]
    if gR is None:
        return cat_along([square_qr_slope(gQ, None, Q, U), Q @ (V * 0)], along)
    gU, gV = gR[..., :rows], gR[..., rows:]
    through = Q @ V @ tr(gV)
    gQ = through if gQ is None else gQ + through
    return cat_along([square_qr_slope(gQ, gU, Q, U), Q @ gV], along)


def factors_of_all(call: Call) -> Any:
    """`qr_factors` of each sample; the factor that is left out is empty."""
    Q, R = leading(call)
    return (Q.expand(call.batch.size, 0) if call.args["form"] == "r" else Q), R


@hidden_op(input=qr_slope, results=("Q", "R"), node="LinalgQrBackward0", batch=factors_of_all)
def qr_factors(input: Array, form: str) -> tuple[Array, Array]:
    """The kernel of `qr`."""
    check_matrices("linalg.qr", input, square=False)
    if form == "r":
        alone: Any = np.linalg.qr(input, "r")
        return np.empty(0, input.dtype), alone
    require(form in ("reduced", "complete"), "qr(): unknown mode {!r}", form)
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
    return unsqueeze(values, -2) - unsqueeze(values, -1) + diag_embed(values * 0 + 1)


def off_diagonal(A: Any) -> Any:
    """Matrices without their diagonal."""
    return triu(A, 1) + tril(A, -1)


def svd_slope(g: Any, U: Any, S: Any, Vh: Any) -> Any:
    """The gradient of `svd`, any part of which may be missing."""
    gU, gS, gVh = g
    k, m, n = S.shape[-1], U.shape[-2], Vh.shape[-1]
    U, Vh = U[..., :k], Vh[..., :k, :]
    row, column = unsqueeze(S, -2), unsqueeze(S, -1)
    middle = diag_embed(S * 0 if gS is None else gS)
    gaps = differences(S * S)
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


def singular(A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    """Singular values and vectors; all nan for a matrix with an infinity."""
    finite = np.isfinite(A).all((-2, -1))
    if finite.all():
        return np.linalg.svd(A, full_matrices)
    undefined = np.isnan(A).any((-2, -1))
    if undefined.any():
        which, _ = batch_element(undefined)
        raise LinAlgError(f"linalg.svd: {which}the matrix contains nan")
    U, S, Vh = np.linalg.svd(np.where(finite[..., None, None], A, 0), full_matrices)
    for part in (U, S, Vh):
        part[~finite] = np.nan
    return U, S, Vh


@hidden_op(input=svd_slope, results=("U", "S", "Vh"), node="LinalgSvdBackward0", batch=leading)
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
    need_ndim("linalg.svd", input, 2)
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


@hidden_op(
    input=eigh_slope, results=("values", "vectors"), node="LinalgEighBackward0", batch=leading
)
def eigh_factors(input: Array, UPLO: str) -> tuple[Array, Array]:
    """The kernel of `eigh`."""
    if input.ndim >= 2:
        need_kind("linalg_eigh_cpu", input)
    check_matrices("linalg.eigh", input)
    require(UPLO in ("L", "U", "l", "u"), "linalg.eigh(): unknown UPLO {!r}", UPLO)
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


# Determinants of square matrices, and their logarithms.


def det_slope(g: Any, input: Any, out: Any) -> Any:
    """The gradient of determinants: by the inverses, or by the cofactors of singular matrices."""
    g = unsqueeze(unsqueeze(g, -1), -1)
    size = input.shape[-1]
    if size < 2:  # it does not depend on the matrix
        return g if size else vanishing(input)
    if bool((out == 0).any()):
        return g * cofactors(input)
    return g * unsqueeze(unsqueeze(out, -1), -1) * tr(inverse_with_info(input)[0])


@hidden_op(batch=leading)
def orientation(U: Array, Vh: Array) -> Array:
    """The sign of the determinants of products of orthogonal matrices."""
    return np.sign(np.linalg.det(U) * np.linalg.det(Vh))


def cofactors(input: Any) -> Any:
    """The derivatives of determinants, also of singular matrices."""
    U, S, Vh = svd_factors(input, False)
    scale = others(S) * unsqueeze(orientation(U, Vh), -1)
    return (U * unsqueeze(scale, -2)) @ Vh


@op(input=det_slope, node="LinalgDetBackward0", batch=leading)
def det(input: Array) -> Array:
    """The determinants of square matrices, ``(..., n, n)``."""
    check_matrices("linalg.det", input)
    out = np.asarray(np.linalg.det(input))
    if not out.all():  # LAPACK stops at a pivot of zero, whatever else there is
        out[np.isnan(input).any((-2, -1))] = math.nan
    return out


def linalg_det(A: Any) -> Any:
    """`det`, as PyTorch's module `linalg` has it."""
    return det(A)


def log_slope(g: Any, input: Any) -> Any:
    """The gradient of the logarithm of determinants."""
    if g is None:
        return vanishing(input)
    return unsqueeze(unsqueeze(g, -1), -1) * tr(inverse_with_info(input)[0])


@hidden_op(
    input=lambda g, input: log_slope(g[1], input),
    results=("sign", "logabsdet"), node="LinalgSlogdetBackward0", batch=leading,
)  # fmt: skip
def log_determinants(input: Array, name: str = "linalg.slogdet") -> tuple[Array, Array]:
    """The kernel of `slogdet`."""
    check_matrices(name, input)
    sign, size = np.linalg.slogdet(input)
    return sign, size


linalg_slogdet_result = named_tuple("linalg_slogdet", "sign", "logabsdet")
slogdet_result = named_tuple("slogdet", "sign", "logabsdet")


def linalg_slogdet(A: Any) -> Any:
    """The sign of the determinants and the logarithm of their size: ``(sign, logabsdet)``."""
    return linalg_slogdet_result(log_determinants(A))


@method
def slogdet(input: Any) -> Any:
    """The sign of the determinants and the logarithm of their size: ``(sign, logabsdet)``."""
    return slogdet_result(log_determinants(input))


@method
def logdet(input: Any) -> Any:
    """The logarithm of the determinants; nan of negative ones."""
    sign, size = log_determinants(input, "logdet")
    return where(sign == -1, math.nan, size)


# Matrices as a product of triangular ones by rows exchanged: `lu` and what is solved with it.
#
# NumPy has no such function: the elimination goes column by column, for all matrices of a batch at
# once. That of one matrix goes by panels, so that most of it is matrix products.


PANEL = 16  # columns that are eliminated before the rest of the matrix follows


def eliminated_matrix(work: Array, pivots: Array) -> int:
    """`eliminated` for one matrix, in place; writes ``pivots`` and returns the first zero pivot."""
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


def eliminated(A: Array) -> tuple[Array, Array, Array]:
    """Both factors in one matrix, the rows exchanged (from 1), and the first zero pivot or 0."""
    shape, (m, n) = A.shape[:-2], A.shape[-2:]
    work = np.array(A, order="C").reshape(-1, m, n)
    steps = min(m, n)
    pivots = np.zeros((len(work), steps), np.int32)
    info, each = np.zeros(len(work), np.int32), np.arange(len(work))
    alone = len(work) == 1
    if alone:
        info[0] = eliminated_matrix(work[0], pivots[0])
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


def permutation(pivots: Array, m: int, kind: np.dtype) -> Array:
    """The matrices P with ``A = P L U`` for exchanges of rows."""
    flat = pivots.reshape(-1, pivots.shape[-1])
    order = np.tile(np.arange(m), (len(flat), 1))
    each = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        order[each, other], order[:, k] = order[:, k].copy(), order[each, other]
    P = np.zeros((len(flat), m, m), kind)
    P[each[:, None], order, np.arange(m)] = 1
    return P.reshape(*pivots.shape[:-1], m, m)


def factor_slope(gL: Any, gU: Any, L: Any, U: Any) -> Any:
    """The gradient of ``L U`` from those of both, L with ones on its diagonal."""
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)
    L1, U1 = L[..., :k, :], U[..., :k]
    low, high = tr(L1) @ gL[..., :k, :], gU[..., :k] @ tr(U1)
    if m > k:
        high = high - tr(L[..., k:, :]) @ gL[..., k:, :]
    if n > k:
        low = low - gU[..., k:] @ tr(U[..., k:])
    left, right = tr(inverse_with_info(L1)[0]), tr(inverse_with_info(U1)[0])
    first = left @ (tril(low, -1) + triu(high)) @ right
    if m > k:
        return cat_along([first, gL[..., k:, :] @ right], L.ndim - 2)
    return cat_along([first, left @ gU[..., k:]], U.ndim - 1) if n > k else first


def lower(LU: Any) -> Any:
    """L of a matrix that holds both factors, without its ones."""
    return tril(LU[..., : min(LU.shape[-2], LU.shape[-1])], -1)


def compact_slope(g: Any, out: Any, pivots: Any) -> Any:
    """The gradient of a matrix from that of both factors in one."""
    k = min(out.shape[-2], out.shape[-1])
    gU, U = triu(g[..., :k, :]), triu(out[..., :k, :])
    return exchanges(pivots, out) @ factor_slope(lower(g), gU, with_ones(lower(out)), U)


@hidden_op(input=lambda g: g, batch=leading)
def with_ones(input: Array) -> Array:
    """Matrices plus ones on the diagonal."""
    return input + np.eye(*input.shape[-2:], dtype=input.dtype)


@hidden_op(batch=leading)
def exchanges(pivots: Array, like: Array) -> Array:
    """`permutation` in the number of rows and the dtype of a matrix."""
    return permutation(pivots, like.shape[-2], like.dtype)


@hidden_op(
    input=compact_slope, aux=("pivots", "info"), node="LinalgLuFactorExBackward0", batch=leading
)
def lu_with_info(input: Array, pivot: bool) -> tuple[Array, Array, Array]:
    """The kernel of `lu_factor_ex`."""
    need_ndim("lu_factor", input, 2)
    check_matrices("torch.lu_factor", input, square=False)
    require(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return eliminated(input)


lu_factor_result = named_tuple("linalg_lu_factor", "LU", "pivots")
unpack_result = named_tuple("lu_unpack", "P", "L", "U")


@under_vmap(looped)
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """Both factors of `lu` in one matrix, and the rows exchanged: ``(LU, pivots)``.

    Raises:
        RuntimeError: if a pivot is zero.
    """
    found = successful(
        lu_with_info, A, pivot,
        text="linalg.lu_factor: {which}U[{step},{step}] is zero", error=RuntimeError,
    )  # fmt: skip
    return lu_factor_result(found[:2])


def unpacked_slope(g: Any, input: Any) -> Any:
    """The gradient of a matrix that holds both factors; either may be missing."""
    gL, gU = g
    k = min(input.shape[-2], input.shape[-1])
    blank, out = input * 0, 0.0
    if gL is not None:
        out = out + cat_along([tril(gL, -1), blank[..., k:]], input.ndim - 1)
    if gU is not None:
        out = out + cat_along([triu(gU), blank[..., k:, :]], input.ndim - 2)
    return out


@hidden_op(input=unpacked_slope, results=("L", "U"), node="LuUnpackBackward0", batch=leading)
def unpacked(input: Array) -> tuple[Array, Array]:
    """Both factors of a matrix that holds them."""
    k = min(input.shape[-2:])
    L = np.tril(input[..., :k], -1) + np.eye(input.shape[-2], k, dtype=input.dtype)
    return L, np.triu(input[..., :k, :])


@public
def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """What `torch.linalg.lu` returns, from what `torch.linalg.lu_factor` does.

    Args:
        unpack_data: False for empty L and U.
        unpack_pivots: False for an empty P.
    """
    empty = LU_data.new_empty(0)
    P = exchanges(LU_pivots, LU_data) if unpack_pivots else empty
    L, U = unpacked(LU_data) if unpack_data else (empty, empty)
    return unpack_result((P, L, U))
