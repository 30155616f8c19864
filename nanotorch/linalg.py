"""`torch.linalg`: norms, factors, inverses and products of matrices."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch._core.arguments import exported
from nanotorch._core.out import Out, with_out
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.ops.factoring import (
    LinAlgError,
    cholesky_ex,
    eigh,
    eigvalsh,
    inv,
    lu_factor,
    qr,
    solve,
    solve_triangular,
    svdvals,
)
from nanotorch.ops.factoring import linalg_cholesky as cholesky
from nanotorch.ops.factoring import linalg_det as det
from nanotorch.ops.factoring import linalg_slogdet as slogdet
from nanotorch.ops.factoring import linalg_svd as svd
from nanotorch.ops.linalg import linalg_matrix_exp as matrix_exp
from nanotorch.ops.linalg import lstsq, matrix_norm, matrix_rank, norm, pinv, vector_norm
from nanotorch.ops.matrix import matmul
from nanotorch.ops.products import linalg_cross as cross
from nanotorch.ops.shape import linalg_diagonal as diagonal

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu_factor",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "vector_norm",
]

_STRICT = (
    "cholesky", "cholesky_ex", "det", "eigh", "eigvalsh", "inv", "lu_factor", "matmul", "qr",
    "slogdet", "solve", "solve_triangular", "svd", "svdvals", "vector_norm",
)  # fmt: skip
# How all that have the argument treat `out=`.
_OUTS = {
    **{name: Out(f"linalg.{name}", strict=True) for name in _STRICT},
    "cross": Out("linalg.cross", strict=True, overlap="any"),
    "lstsq": Out("linalg.lstsq", each=True),
    "matrix_norm": Out("linalg.matrix_norm", strict=True, recorded=False),
    "matrix_rank": Out("linalg.matrix_rank", recorded=False),
    "norm": Out("linalg.norm", strict=True, recorded=False),
    "pinv": Out("linalg.pinv"),
}
for _name in __all__:
    if _name in _OUTS:
        globals()[_name] = with_out(__name__, _name, globals()[_name], _OUTS[_name])
    elif _name != "LinAlgError":
        globals()[_name] = exported(__name__, _name, globals()[_name])

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(__name__)
