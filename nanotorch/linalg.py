"""`torch.linalg`: norms, factors, inverses and products of matrices."""

from nanotorch.ops.chains import linalg_diagonal as diagonal
from nanotorch.ops.chains import linalg_vander as vander
from nanotorch.ops.chains import matrix_power, multi_dot, tensorinv, tensorsolve, vecdot
from nanotorch.ops.determinants import det
from nanotorch.ops.determinants import linalg_slogdet as slogdet
from nanotorch.ops.factoring import cholesky_ex, eigh, eigvalsh, qr, svdvals
from nanotorch.ops.factoring import linalg_cholesky as cholesky
from nanotorch.ops.factoring import linalg_svd as svd
from nanotorch.ops.least_squares import cond, lstsq, matrix_rank, pinv
from nanotorch.ops.linalg import matrix_norm, norm, vector_norm
from nanotorch.ops.matrix import matmul
from nanotorch.ops.products import linalg_cross as cross
from nanotorch.ops.solving import LinAlgError, inv, inv_ex, solve, solve_triangular

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "inv_ex",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]
