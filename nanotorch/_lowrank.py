"""Matrices of low rank, by random projections: `svd_lowrank` and `pca_lowrank`."""

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.linalg import qr, svd
from nanotorch.ops.arguments import require_value


def get_approximate_basis(A: Tensor, q: int, niter: int | None = 2) -> Tensor:
    """``q`` orthonormal vectors that nearly span the range of ``A``, of shape (..., m, n)."""
    basis = qr(A @ ops.randn(A.shape[-1], q, dtype=A.dtype))[0]
    for _ in range(2 if niter is None else niter):
        basis = qr(A @ qr(A.mT @ basis)[0])[0]
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """``U``, ``S`` and ``V`` with ``A - M`` about ``U @ diag(S) @ V.mT``, of rank ``q``.

    Args:
        A: the matrix, (..., m, n).
        q: a bit more than its rank. Default: 6.
        niter: the number of refinements. Default: 2.
        M: what to subtract; it is broadcast to the shape of ``A``.
    """
    A = A if M is None else A - M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    A = A.mT if wide else A
    basis = get_approximate_basis(A, 6 if q is None else q, niter)
    U, S, Vh = svd(basis.mT @ A, full_matrices=False)
    U, V = basis @ U, Vh.mT
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of rows, as `svd_lowrank` gives them.

    Args:
        A: the rows, (..., m, n).
        q: the number of components. Default: 6, or the smaller size of ``A``.
        center: whether to subtract the mean of the rows. Default: True.
        niter: the number of refinements. Default: 2.

    Raises:
        ValueError: if ``q`` is negative or exceeds a size.
    """
    least = min(A.shape[-2:])
    q = min(6, least) if q is None else q
    text = "q(={}) must be non-negative integer and not greater than min(m, n)={}"
    require_value(0 <= q <= least, text, q, least)
    require_value(niter >= 0, "niter(={}) must be non-negative integer", niter)
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
