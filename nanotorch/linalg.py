"""`torch.linalg`: norms, factors, inverses and products of matrices."""

from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.arguments import export
from nanotorch._core.batched import looped, separately, under_vmap
from nanotorch._core.dtypes import int64
from nanotorch._core.out import Out, with_out
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.names.lookup import on_demand
from nanotorch.ops.arguments import check_ndim, check_same_dtype, require
from nanotorch.ops.linalg import (
    LinAlgError,
    cholesky_ex,
    counts_as_nonzero,
    eigh,
    eigvalsh,
    inv,
    is_vector,
    least_squares,
    linalg_lu_factor,
    linalg_qr,
    lstsq_result,
    lu_factor_result,
    matrix_norm,
    norm,
    pinv,
    solve,
    solve_triangular,
    svd_arrays,
    svdvals,
)
from nanotorch.ops.linalg import det as determinant
from nanotorch.ops.linalg import linalg_cholesky as cholesky
from nanotorch.ops.linalg import linalg_matrix_exp as matrix_exp
from nanotorch.ops.linalg import linalg_slogdet as slogdet
from nanotorch.ops.linalg import linalg_svd as svd
from nanotorch.ops.matrix import matmul
from nanotorch.ops.products import linalg_cross as cross
from nanotorch.ops.reduction import vector_norm
from nanotorch.ops.shape import linalg_diagonal as diagonal
from nanotorch.ops.shape import squeeze_one, unsqueeze

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv",
    "lstsq", "lu_factor", "matmul", "matrix_exp", "matrix_norm", "matrix_rank", "norm", "pinv",
    "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals", "vector_norm",
]  # fmt: skip


@under_vmap(looped)
def matrix_rank(
    input: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The ranks of matrices: the number of nonzero singular values; arguments as for `pinv`.

    Args:
        tol: an absolute tolerance, in place of ``atol`` and ``rtol``.
    """
    array = input._array
    check_ndim("linalg.matrix_rank", array, 2)
    require(array.dtype.char in "fd", "linalg.matrix_rank(): expected single or double precision")
    if tol is not None:
        atol, rtol = tol, 0.0
    sizes = np.abs(np.linalg.eigvalsh(array)) if hermitian else svd_arrays(array, False)[1]
    return wrap(np.asarray(counts_as_nonzero(sizes, array, atol, rtol).sum(-1, dtype=np.int64)))


@under_vmap(separately)
def lstsq(input: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The least-squares solutions X of ``A X = B``.

    Args:
        input: the matrices A, ``(..., m, n)``.
        b: the right-hand sides B, ``(..., m, k)``, or vectors ``(..., m)``.
        rcond: singular values up to ``rcond`` times the greatest count as zero. Default: as for
            `pinv`.
        driver: the results besides the solution: "gelsy" computes ranks, "gels" residuals,
            "gelsd" and "gelss" all; the others are empty. Default: "gelsy".

    Returns:
        The named tuple ``(solution, residuals, rank, singular_values)``. Residuals need m > n and,
        but for the driver "gels", matrices of rank n.

    Raises:
        RuntimeError: for shapes that do not fit, or an unknown ``driver``.
    """
    driver, drivers = driver or "gelsy", ("gels", "gelsy", "gelsd", "gelss")
    require(driver in drivers, "linalg.lstsq(): driver must be one of {}", drivers)
    check_ndim("linalg.lstsq", input, 2)
    check_ndim("linalg.lstsq", b, 1)
    check_same_dtype(input, b)
    check_ndim("linalg.lstsq", b, input.ndim - 1, input.ndim)
    vector = is_vector(tuple(input.shape), tuple(b.shape))
    rows, size = input.shape[-2], b.shape[-1 if vector else -2]
    require(rows == size, "linalg.lstsq(): {} and {} rows do not match", rows, size)
    X, residuals = least_squares(input, unsqueeze(b, -1) if vector else b, None, rcond)
    if vector:
        X = squeeze_one(X, X.ndim - 1).clone()
    rank, values = X.new_empty(0, dtype=int64), X.new_empty(0)
    if driver != "gels":
        rank = matrix_rank(input, rtol=rcond)
    if driver in ("gelsd", "gelss"):
        values = svdvals(input.detach())
    full = not rank.numel() or bool((rank == input.shape[-1]).all())
    if driver == "gelsy" or input.shape[-2] <= input.shape[-1] or not full:
        residuals = residuals.reshape(-1)[:0].clone()
    return lstsq_result((X, residuals, rank, values))


def qr(A: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R, where ``A = Q R``: ``(Q, R)``.

    Args:
        A: ``(..., m, n)``.
        mode: "reduced": Q has min(m, n) columns; "complete": m columns; "r": Q is empty.
            Default: "reduced".

    Raises:
        RuntimeError: for an unknown ``mode``.
    """
    return linalg_qr(A, mode)


def det(A: Any) -> Any:
    """The determinants of square matrices, ``(..., n, n)``: another name of `torch.det`."""
    return determinant(A)


@under_vmap(looped)
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """The LU decomposition ``A = P L U``, for `torch.lu_unpack`: the named tuple ``(LU, pivots)``.

    LU holds L and U in one matrix; pivots holds the row (from 1) exchanged in each step.

    Raises:
        RuntimeError: if a pivot is zero, or ``pivot`` is False.
    """
    return lu_factor_result(linalg_lu_factor(A, pivot))


# The rules of `out=`; functions that are not listed are strict.
_OUTS: dict[str, dict[str, Any]] = {
    "cross": {"strict": True, "overlap": "any"},
    "lstsq": {"each": True},
    "matrix_norm": {"strict": True, "recorded": False},
    "matrix_rank": {"recorded": False},
    "norm": {"strict": True, "recorded": False},
    "pinv": {},
}
for _name in __all__[1:]:
    _rule = Out(f"linalg.{_name}", **_OUTS.get(_name, {"strict": True}))
    if _name in ("diagonal", "matrix_exp"):
        globals()[_name] = export(__name__, _name, globals()[_name])
    else:
        globals()[_name] = with_out(__name__, _name, globals()[_name], _rule)

del __all__  # star imports bring PyTorch's names, which `on_demand` knows
if not TYPE_CHECKING:  # with a `__getattr__`, type checkers would accept any name
    __getattr__, __dir__ = on_demand(__name__)
