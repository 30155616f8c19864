"""Tuples with names.

`scripts/stubs.py` writes this file.
"""

from typing import NamedTuple

from nanotorch import return_types as return_types
from nanotorch._core.dtypes import Size as Size
from nanotorch._core.dtypes import device as device
from nanotorch._core.dtypes import dtype as dtype
from nanotorch._core.graph import RemovableHandle as RemovableHandle
from nanotorch._core.tensor import Tensor as Tensor
from nanotorch.ops.random import Generator as Generator
from nanotorch.ops.storage import UntypedStorage as UntypedStorage

class aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class aminmax_out(NamedTuple):
    min: Tensor
    max: Tensor

class cummax(NamedTuple):
    values: Tensor
    indices: Tensor

class cummax_out(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin_out(NamedTuple):
    values: Tensor
    indices: Tensor

class histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class histogram_out(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor

class kthvalue_out(NamedTuple):
    values: Tensor
    indices: Tensor

class linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor

class linalg_cholesky_ex_out(NamedTuple):
    L: Tensor
    info: Tensor

class linalg_eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_eigh_out(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_lstsq(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class linalg_lstsq_out(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class linalg_lu_factor(NamedTuple):
    LU: Tensor
    pivots: Tensor

class linalg_lu_factor_out(NamedTuple):
    LU: Tensor
    pivots: Tensor

class linalg_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class linalg_qr_out(NamedTuple):
    Q: Tensor
    R: Tensor

class linalg_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class linalg_slogdet_out(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class linalg_svd_out(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class lu_unpack(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class lu_unpack_out(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class max(NamedTuple):
    values: Tensor
    indices: Tensor

class max_out(NamedTuple):
    values: Tensor
    indices: Tensor

class median(NamedTuple):
    values: Tensor
    indices: Tensor

class median_out(NamedTuple):
    values: Tensor
    indices: Tensor

class min(NamedTuple):
    values: Tensor
    indices: Tensor

class min_out(NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian_out(NamedTuple):
    values: Tensor
    indices: Tensor

class slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class slogdet_out(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class sort(NamedTuple):
    values: Tensor
    indices: Tensor

class sort_out(NamedTuple):
    values: Tensor
    indices: Tensor

class svd(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class svd_out(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class topk(NamedTuple):
    values: Tensor
    indices: Tensor

class topk_out(NamedTuple):
    values: Tensor
    indices: Tensor
