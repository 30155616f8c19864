"""`torch.linalg`: norms, factors, inverses and products of matrices."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch._core.arguments import exported
from nanotorch._core.out import CASTABLE, SAME, Out, with_out
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.ops.chains import linalg_diagonal as diagonal
from nanotorch.ops.chains import linalg_vander as vander
from nanotorch.ops.chains import matrix_power, multi_dot, tensorinv, tensorsolve, vecdot
from nanotorch.ops.determinants import linalg_det as det
from nanotorch.ops.determinants import linalg_slogdet as slogdet
from nanotorch.ops.factoring import cholesky_ex, eigh, eigvalsh, qr, svdvals
from nanotorch.ops.factoring import linalg_cholesky as cholesky
from nanotorch.ops.factoring import linalg_svd as svd
from nanotorch.ops.least_squares import cond, lstsq, matrix_rank, pinv
from nanotorch.ops.linalg import matrix_norm, norm, vector_norm
from nanotorch.ops.matrix import matmul
from nanotorch.ops.matrix_functions import householder_product
from nanotorch.ops.matrix_functions import linalg_matrix_exp as matrix_exp
from nanotorch.ops.products import linalg_cross as cross
from nanotorch.ops.solving import LinAlgError, inv, inv_ex, solve, solve_ex, solve_triangular
from nanotorch.ops.triangular_factors import linalg_lu_solve as lu_solve
from nanotorch.ops.triangular_factors import lu, lu_factor, lu_factor_ex

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
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
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
    "inv_ex": "linalg_inv_ex",
    "lu": "linalg_lu",
    "lu_factor": "linalg_lu_factor_ex",
    "lu_factor_ex": "linalg_lu_factor_ex",
    "lu_solve": "linalg_lu_solve",
    "matmul": "matmul",
    "matrix_power": "matmul",
    "qr": "linalg_qr",
    "slogdet": "_linalg_slogdet",
    "solve": "_linalg_solve_ex",
    "solve_ex": "_linalg_solve_ex",
    "svd": "_linalg_svd",
    "svdvals": "_linalg_svd",
    "vector_norm": "linalg_vector_norm",
}
# How all that have the argument treat `out=`.
_OUTS = {
    **{name: Out(known_as, SAME, strict=True) for name, known_as in _STRICT.items()},
    "cross": Out("linalg_cross", SAME, strict=True, overlap="any"),
    "cond": Out("linalg_cond", CASTABLE.format("linalg.cond"), recorded=False),
    "householder_product": Out(
        "linalg_householder_product", CASTABLE.format("torch.linalg.householder_product")
    ),
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
    "multi_dot": Out(
        "mm",
        "multi_dot(): expected out tensor to have dtype {result_c} but got {out_c}",
        strict=True,
    ),
    "norm": Out("linalg_norm", _NORM.format("norm"), strict=True, recorded=False),
    "pinv": Out("linalg_pinv", CASTABLE.format("linalg.pinv")),
    "solve_triangular": Out(
        "linalg_solve_triangular",
        "expected scalar type {result} but found {out}",
        strict=True,
    ),
    "tensorinv": Out("tensorinv", CASTABLE.format("tensorinv"), recorded=False),
    "tensorsolve": Out("tensorsolve", CASTABLE.format("tensorsolve"), recorded=False),
    "vecdot": Out(
        "vdot",
        "linalg.vecdot: Expected out of dtype{result} but found {out}",
        strict=True,
    ),
}
for _name in __all__:
    if _name in _OUTS:
        globals()[_name] = with_out(__name__, _name, globals()[_name], _OUTS[_name])
    elif _name != "LinAlgError":
        globals()[_name] = exported(__name__, _name, globals()[_name])

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand(__name__)
