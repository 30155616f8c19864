"""`torch.linalg`: norms, factors, inverses and products of matrices."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import export, wrong_type
from nanotorch._core.op import as_number
from nanotorch._core.out import Out, with_out
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.func.batched import looped, separately, under_vmap
from nanotorch.names.lookup import on_demand
from nanotorch.ops.arguments import check_ndim, check_same_dtype, check_tensor_list, require
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
    matrix_power,
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
from nanotorch.ops.matrix import matmul, mm
from nanotorch.ops.products import linalg_cross as cross
from nanotorch.ops.reduction import vector_norm
from nanotorch.ops.shape import linalg_diagonal as diagonal
from nanotorch.ops.shape import squeeze_one, unsqueeze, view

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv",
    "lstsq", "lu_factor", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank",
    "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd", "svdvals",
    "vector_norm",
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


def multi_dot(tensors: Any) -> Any:
    """The product of several matrices, in the order with the fewest multiplications.

    Args:
        tensors: two or more matrices; the first and the last may be vectors.

    Raises:
        RuntimeError: for shapes that do not fit, or several dtypes.

    Reference:
        Cormen et al., Introduction to Algorithms, chapter 15.2.
    """
    if not isinstance(tensors, (tuple, list)):
        raise wrong_type(tensors, "tuple of Tensors", ("linalg_multi_dot", "tensors", 1))
    check_tensor_list(tensors)
    message, last = "multi_dot(): ", len(tensors) - 1
    require(last > 0, message + "expected at least 2 tensors but got {}", len(tensors))
    for k, x in enumerate(tensors):
        if k in (0, last):
            which = "first" if k == 0 else "last"
            text = message + "the {} tensor must be 1D or 2D but got {}D"
            require(x.ndim in (1, 2), text, which, x.ndim)
        require(
            x.ndim == 2 or k in (0, last), message + "tensor {} must be 2D but got {}D", k, x.ndim
        )
        kinds = dtypes.C_NAMES[tensors[0].dtype.name], dtypes.C_NAMES[x.dtype.name]
        text = (
            message + "all tensors must have be the same dtype but tensor 0 is {} and tensor {} {}"
        )
        require(kinds[0] == kinds[1], text, kinds[0], k, kinds[1])
    for k in range(last):
        a, b = list(tensors[k].shape), list(tensors[k + 1].shape)
        text = message + "tensors {} and {} with shapes {} and {} cannot be multiplied"
        require(a[-1] == b[0], text, k, k + 1, a, b)
    first, *_, final = tensors
    shape = (*first.shape[:-1], *final.shape[1:])
    ends = [x if x.ndim == 2 else unsqueeze(x, dim) for dim, x in enumerate((first, final))]
    matrices = [ends[0], *tensors[1:last], ends[1]]
    sizes = (*(x.shape[0] for x in matrices), matrices[-1].shape[1])
    return view(chain_product(matrices, sizes), shape)


@lru_cache(100)
def cheapest(sizes: tuple[int, ...]) -> tuple[int, int]:
    """The multiplications for a product of matrices, and the number of those in its first part.

    Args:
        sizes: the number of rows of each matrix, and of columns of the last one.
    """
    n = len(sizes) - 1
    ways = [
        (cheapest(sizes[: k + 1])[0] + cheapest(sizes[k:])[0] + sizes[0] * sizes[k] * sizes[n], k)
        for k in range(1, n)
    ]
    return min(ways, default=(0, 1))


def chain_product(matrices: list[Any], sizes: tuple[int, ...]) -> Any:
    """The product of matrices, in the `cheapest` order."""
    if len(matrices) == 1:
        return matrices[0]
    k = cheapest(sizes)[1]
    first, second = (matrices[:k], sizes[: k + 1]), (matrices[k:], sizes[k:])
    return mm(chain_product(*first), chain_product(*second))


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
    rcond = None if rcond is None else as_number(rcond, "rcond", "float")
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
    rank, values = X.new_empty(0, dtype=dtypes.int64), X.new_empty(0)
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
