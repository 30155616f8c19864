"""Factors of matrices, inverses, systems of equations, determinants."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import named_tuple
from nanotorch._core.batched import Call, leading, matrices, under_vmap, wholes
from nanotorch._core.op import Array, hidden_op, method
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import refuse_half
from nanotorch.ops.comparison import vanishing
from nanotorch.ops.indexing import where
from nanotorch.ops.joining import cat_along
from nanotorch.ops.reduction import others
from nanotorch.ops.shape import diag_embed, slice_along, transpose, tril, triu, unsqueeze

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


# Those of PyTorch, none of which knows half precision.
KERNELS = {
    "linalg.cholesky": "cholesky_cpu", "linalg.det": "lu_cpu", "linalg.eigh": "linalg_eigh_cpu",
    "linalg.qr": "geqrf_cpu", "linalg.solve": "lu_cpu", "linalg.svd": "linalg_svd_cpu",
    "linalg.solve_triangular": "triangular_solve_cpu", "torch.lu_factor": "lu_cpu",
}  # fmt: skip


def check_matrices(name: str, A: Array, letter: str = "A", square: bool = True) -> None:
    """Refuse what is no matrix of floats.

    Raises:
        RuntimeError: for fewer than two dimensions, or matrices that are not square.
        NotImplementedError: for other dtypes.
    """
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")
    if square and A.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"{name}: {letter} must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    check_floats(name, A)


def check_floats(name: str, A: Array) -> None:
    """Refuse other dtypes.

    Raises:
        NotImplementedError: for them.
    """
    kind = dtypes.of_array(A)
    if not kind.is_floating_point:
        raise NotImplementedError(
            f"{name}: Expected a floating point or complex tensor as input. Got {kind.char}"
        )
    if name in KERNELS:
        refuse_half(KERNELS[name], A)
    if kind is dtypes.float16:
        raise NotImplementedError(f"{name}: Low precision dtypes not supported. Got {kind.char}")


def one_by_one(A: Array, function: Callable[[Array], Array]) -> Iterator[tuple[Any, Array | None]]:
    """For each matrix of a batch its index and what the function makes of it; None if it fails."""
    for index in np.ndindex(A.shape[:-2]):
        try:
            yield index, function(A[index])
        except np.linalg.LinAlgError:
            yield index, None


def batch_element(info: Array) -> tuple[str, int]:
    """The first matrix that failed, as messages name it, and why."""
    failed = np.flatnonzero(info)[0]
    return f"(Batch element {failed}): " if info.ndim else "", int(info.reshape(-1)[failed])


# The inverse


def zero_pivot(A: Array) -> int:
    """At which step, from 1, the elimination of a singular matrix meets a zero."""
    A = A.astype(np.float64)
    n = len(A)
    for k in range(n):
        best = k + int(np.argmax(np.abs(A[k:, k])))
        if A[best, k] == 0:
            return k + 1
        A[[k, best]] = A[[best, k]]
        A[k + 1 :] -= np.outer(A[k + 1 :, k] / A[k, k], A[k])
    return n


@hidden_op(
    input=lambda g, out: -(tr(out) @ g @ tr(out)),
    aux=("info",),
    node="LinalgInvExBackward0",
    batch=leading,
)
def inverse_with_info(input: Array) -> tuple[Array, Array]:
    """The inverses, and for each the step at which it failed, or 0; these are nan."""
    check_matrices("linalg.inv", input)
    info = np.zeros(input.shape[:-2], np.int32)
    try:
        return by_columns(np.linalg.inv(input)), info
    except np.linalg.LinAlgError:
        out = np.full(input.shape, math.nan, input.dtype)
        for index, inverse in one_by_one(input, np.linalg.inv):
            info[index] = zero_pivot(input[index]) if inverse is None else 0
            out[index] = math.nan if inverse is None else inverse
        return by_columns(out), info


@under_vmap(wholes)
def inverted(name: str, A: Any) -> Any:
    """The inverses; all must exist."""
    out, info = inverse_with_info(A)
    failed = info._array
    if failed.any():
        which, step = batch_element(failed)
        raise LinAlgError(
            f"{name}: {which}The diagonal element {step} is zero, the inversion could not be "
            "completed because the input matrix is singular."
        )
    return out


def inv(A: Any) -> Any:
    """The inverses of square matrices, ``(..., n, n)``.

    Raises:
        LinAlgError: for a singular matrix.
    """
    return inverted("linalg.inv", A)


@method
def inverse(input: Any) -> Any:
    """`torch.linalg.inv` by another name."""
    return inv(input)


# Systems of equations


def is_vector(A: tuple[int, ...], B: tuple[int, ...]) -> bool:
    """Whether right-hand sides are vectors rather than matrices."""
    return len(B) == 1 or (len(A) - 1 == len(B) and A[:-1] == B)


def check_pair(name: str, A: Array, B: Array) -> None:
    """Refuse right-hand sides of another dtype than the matrices."""
    a, b = dtypes.of_array(A).char, dtypes.of_array(B).char
    if a != b:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {a} and B of "
            f"type {b} instead"
        )


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


def solved_of_all(call: Call) -> Any:
    """`solved` of each sample; vectors as matrices of one column."""
    if not is_vector(call.args["input"].shape, call.args["other"].shape):
        return matrices(call)
    column = Call(
        call.op, False, {**call.args, "other": call.args["other"].unsqueeze(-1)}, call.batch
    )
    return matrices(column).squeeze(-1)


@hidden_op(
    input=lambda g, input, out, left: outer_slope(
        solved(tr(input), g, left), out, out.ndim < input.ndim, left
    ),
    other=lambda g, input, left: solved(tr(input), g, left),
    node="LinalgSolveExBackward0",
    batch=solved_of_all,
)
def solved(input: Array, other: Array, left: bool) -> Array:
    """The kernel of `solve`."""
    check_floats("linalg.solve", input)
    check_pair("linalg.solve", input, other)
    check_matrices("linalg.solve", input)
    vector = is_vector(input.shape, other.shape)
    if not vector and other.ndim < 2:
        check_matrices("linalg.solve", other, "B")
    B = other[..., None] if vector else other
    check_system("linalg.solve", input, B, left)
    try:
        if left:
            X = np.linalg.solve(input, B)
        else:
            X = np.linalg.solve(input.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        failed = [inverse is None for _, inverse in one_by_one(input, np.linalg.inv)]
        which, _ = batch_element(np.reshape(failed, input.shape[:-2]))
        raise LinAlgError(
            f"torch.linalg.solve: {which}The solver failed because the input matrix is singular."
        ) from None
    return X[..., 0] if vector else by_columns(X)


def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """The solutions X of ``A X = B``, or of ``X A = B``.

    Args:
        A: ``(..., n, n)``.
        B: ``(..., n, k)``, or vectors ``(..., n)``.
        left: whether A stands on the left.

    Raises:
        LinAlgError: for a singular matrix.
    """
    return solved(A, B, left)


def triangle(A: Any, upper: bool, unit: bool) -> Any:
    """The part of matrices that a triangular system depends on."""
    return triu(A, int(unit)) if upper else tril(A, -int(unit))


@hidden_op(
    input=lambda g, input, out, upper, left, unit: triangle(
        outer_slope(solved_triangle(tr(input), g, not upper, left, unit), out, False, left),
        upper,
        unit,
    ),
    other=lambda g, input, upper, left, unit: solved_triangle(tr(input), g, not upper, left, unit),
    node="LinalgSolveTriangularBackward0",
    batch=matrices,
)
def solved_triangle(input: Array, other: Array, upper: bool, left: bool, unit: bool) -> Array:
    """The kernel of `solve_triangular`."""
    check_matrices("linalg.solve_triangular", input)
    check_matrices("linalg.solve_triangular", other, "B", square=False)
    check_pair("linalg.solve_triangular", input, other)
    check_system("linalg.solve_triangular", input, other, left)
    A = np.triu(input, int(unit)) if upper else np.tril(input, -int(unit))
    if unit:
        A = A + np.eye(A.shape[-1], dtype=A.dtype)
    if left:
        return np.linalg.solve(A, other)
    return np.linalg.solve(A.swapaxes(-1, -2), other.swapaxes(-1, -2)).swapaxes(-1, -2)


def solve_triangular(
    input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """`solve` for triangular matrices, of which the other triangle is not looked at.

    Args:
        upper: whether the matrices are upper triangular.
        unitriangular: take the diagonal for ones.
    """
    return solved_triangle(input, B, upper, left, unitriangular)


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
    aux=("info",),
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


@hidden_op(input=qr_slope, results=("Q", "R"), node="LinalgQrBackward0", batch=factors_of_all)
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


@hidden_op(
    input=eigh_slope, results=("values", "vectors"), node="LinalgEighBackward0", batch=leading
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


@hidden_op(input=det_slope, node="LinalgDetBackward0", batch=leading)
def determinants(input: Array) -> Array:
    """The kernel of `det`."""
    check_matrices("linalg.det", input)
    out = np.asarray(np.linalg.det(input))
    if not out.all():  # LAPACK stops at a pivot of zero, whatever else there is
        out[np.isnan(input).any((-2, -1))] = math.nan
    return out


@method
def det(input: Any) -> Any:
    """The determinants of square matrices, ``(..., n, n)``."""
    return determinants(input)


def linalg_det(A: Any) -> Any:
    """`det`, as PyTorch's module `linalg` has it."""
    return determinants(A)


def log_slope(g: Any, input: Any) -> Any:
    """The gradient of the logarithm of determinants."""
    if g is None:
        return vanishing(input)
    return unsqueeze(unsqueeze(g, -1), -1) * tr(inverse_with_info(input)[0])


@hidden_op(
    input=lambda g, input: log_slope(g[1], input),
    results=("sign", "logabsdet"),
    node="LinalgSlogdetBackward0",
    batch=leading,
)
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
