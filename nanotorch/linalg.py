"""`torch.linalg`: norms, factors, inverses and products of matrices."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch._core.arguments import exported
from nanotorch._core.out import CASTABLE, SAME, Out, with_out
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

_NORM = "linalg.{} expected out tensor dtype {{result}} but got: {{out}}"
# Those that want the very dtype of the result; where PyTorch hands the call on, to what.
_STRICT = {
    "cholesky": "linalg_cholesky_ex",
    "cholesky_ex": "linalg_cholesky_ex",
    "det": "_linalg_det",
    "eigh": "_linalg_eigh",
    "eigvalsh": "_linalg_eigh",
    "inv": "linalg_inv_ex",
    "lu_factor": "linalg_lu_factor_ex",
    "matmul": "matmul",
    "qr": "linalg_qr",
    "slogdet": "_linalg_slogdet",
    "solve": "_linalg_solve_ex",
    "svd": "_linalg_svd",
    "svdvals": "_linalg_svd",
    "vector_norm": "linalg_vector_norm",
}
# How all that have the argument treat `out=`.
_OUTS = {
    **{name: Out(known_as, SAME, strict=True) for name, known_as in _STRICT.items()},
    "cross": Out("linalg_cross", SAME, strict=True, overlap="any"),
    "lstsq": Out(
        "linalg_lstsq",
        "torch.linalg.lstsq: Expected solution to be safely castable from {result} dtype, but got "
        "solution with dtype {out}",
        each=True,
    ),
    "matrix_norm": Out(
        "linalg_matrix_norm", _NORM.format("matrix_norm"), strict=True, recorded=False
    ),
    "matrix_rank": Out("linalg_matrix_rank", recorded=False),
    "norm": Out("linalg_norm", _NORM.format("norm"), strict=True, recorded=False),
    "pinv": Out("linalg_pinv", CASTABLE.format("linalg.pinv")),
    "solve_triangular": Out(
        "linalg_solve_triangular", "expected scalar type {result} but found {out}", strict=True
    ),
}
for _name in __all__:
    if _name in _OUTS:
        globals()[_name] = with_out(__name__, _name, globals()[_name], _OUTS[_name])
    elif _name != "LinAlgError":
        globals()[_name] = exported(__name__, _name, globals()[_name])

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(__name__)
