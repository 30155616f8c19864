"""Determinants of square matrices, and their logarithms."""

import math
from typing import Any

import numpy as np

from nanotorch._core.batch_rules import leading
from nanotorch._core.named import named_tuple
from nanotorch._core.op import Array, method, op
from nanotorch.ops.comparison import vanishing
from nanotorch.ops.factoring import svd_factors
from nanotorch.ops.masking import where
from nanotorch.ops.reduction import others
from nanotorch.ops.shape import unsqueeze
from nanotorch.ops.solving import check_matrices, inverse_with_info, tr


def det_slope(g: Any, input: Any, out: Any) -> Any:
    """The gradient of determinants: by the inverses, or by the cofactors of singular matrices."""
    g = unsqueeze(unsqueeze(g, -1), -1)
    size = input.shape[-1]
    if size < 2:  # it does not depend on the matrix
        return g if size else vanishing(input)
    if bool((out == 0).any()):
        return g * cofactors(input)
    return g * unsqueeze(unsqueeze(out, -1), -1) * tr(inverse_with_info(input)[0])


@op(method=False, public=False, batch=leading)
def orientation(U: Array, Vh: Array) -> Array:
    """The sign of the determinants of products of orthogonal matrices."""
    return np.sign(np.linalg.det(U) * np.linalg.det(Vh))


def cofactors(input: Any) -> Any:
    """The derivatives of determinants, also of singular matrices."""
    U, S, Vh = svd_factors(input, False)
    scale = others(S) * unsqueeze(orientation(U, Vh), -1)
    return (U * unsqueeze(scale, -2)) @ Vh


@op(
    input=lambda g, input, out: det_slope(g, input, out),
    method=False,
    public=False,
    node="LinalgDetBackward0",
    batch=leading,
)
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


@op(
    input=lambda g, input: log_slope(g[1], input),
    results=("sign", "logabsdet"),
    method=False,
    public=False,
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
