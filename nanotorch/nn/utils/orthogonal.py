"""Orthogonal matrices as functions of matrices without bounds."""

from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.module import Module
from nanotorch.nn.utils.parametrize import register_parametrization
from nanotorch.ops.matrix_functions import householder_product, linalg_matrix_exp
from nanotorch.ops.solving import solve

MAPS = ("matrix_exp", "cayley", "householder")


def nearby(a: Tensor) -> Tensor:
    """An orthogonal matrix, which is ``a`` itself if that is one."""
    q, r = np.linalg.qr(a._array)
    signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1))
    return wrap(q * signs[..., None, :])


class _Orthogonal(Module):
    """Maps any matrix to an orthogonal one.

    Args:
        orthogonal_map: one of `MAPS`.
        use_trivialization: multiply by a fixed orthogonal matrix, so that any value can be given.
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        x: Any = X
        wide = x.size(-2) < x.size(-1)
        if wide:
            x = x.mT
        n, k = x.size(-2), x.size(-1)
        q: Any
        if self.orthogonal_map == "householder":
            below = ops.tril(x, -1)
            q = householder_product(below, 2.0 / (1.0 + (below * below).sum(-2)))
            q = q * x.diagonal(0, -2, -1).int().unsqueeze(-2)
        else:
            x = ops.tril(x)
            if n != k:
                x = ops.cat([x, x.new_zeros((*x.shape[:-1], n - k))], -1)
            skew = x - x.mT
            if self.orthogonal_map == "matrix_exp":
                q = linalg_matrix_exp(skew)
            else:
                one = ops.eye(n, dtype=x.dtype)
                q = solve(one - 0.5 * skew, one + 0.5 * skew)
            q = q[..., :k] if n != k else q
        if "base" in self._buffers:
            q = self.base @ q
        result: Tensor = q.mT if wide else q
        return result

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        given: Any = Q.detach()
        wide = given.size(-2) < given.size(-1)
        q = given.mT if wide else given
        n, k = q.size(-2), q.size(-1)
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            packed, tau = np.linalg.qr(q._array, mode="raw")
            a = np.ascontiguousarray(np.swapaxes(packed, -2, -1))
            at = np.arange(k)
            a[..., at, at] = np.sign(a[..., at, at]) * np.where(tau == 0, -1, 1)
            found: Tensor = wrap(a).mT if wide else wrap(a)
            return found
        if n != k:
            q = ops.cat([q, ops.randn((*q.shape[:-2], n, n - k), dtype=q.dtype)], -1)
        self.base = nearby(q)
        start: Tensor = ops.zeros_like(given)
        start.diagonal(0, -2, -1).fill_(-1.0)
        return start


def orthogonal(
    module: Any,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """Let a weight have orthonormal rows or columns, whichever are fewer; returns the module.

    Args:
        orthogonal_map: how: "matrix_exp", "cayley" or "householder". Default: the first for square
            matrices, the last for others.
        use_trivialization: multiply by a fixed orthogonal matrix, so that any value can be given;
            the weight then begins near its present value. Default: True.

    Raises:
        ValueError: for a name that is not there, a tensor that is no matrix, an unknown map.

    Reference:
        Lezcano-Casado, Trivializations for Gradient-Based Optimization on Manifolds, NeurIPS 2019.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module
