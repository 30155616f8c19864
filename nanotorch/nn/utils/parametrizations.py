"""Weights of unit norm, of spectral norm 1, and orthogonal weights, as parametrizations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.linalg import matrix_exp, qr, solve, solve_triangular
from nanotorch.names.lookup import on_demand
from nanotorch.nn.functional.spatial import normalize
from nanotorch.nn.module import Module
from nanotorch.nn.utils.parametrize import as_matrix, register_parametrization
from nanotorch.ops.arguments import require, require_value
from nanotorch.ops.fused import slice_norms, stretched

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _weight(module: Any, name: str) -> Tensor:
    """The tensor ``name`` of a module; refuse anything else."""
    weight = getattr(module, name, None)
    text = "Module '{}' has no parameter or buffer with name '{}'"
    require_value(isinstance(weight, Tensor), text, module, name)
    return weight  # type: ignore[return-value]


# Weight normalization


class _WeightNorm(Module):
    """``g * v / ‖v‖``, of two originals g and v; see `weight_norm`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The weight of lengths ``weight_g`` and directions ``weight_v``."""
        return stretched(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> Sequence[Tensor]:
        """The lengths, and the weight itself as the directions."""
        return slice_norms(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Split a weight into lengths ``original0`` and directions ``original1``; returns the module.

    State dicts of the former `torch.nn.utils.weight_norm` load, too.

    Args:
        name: the name of the weight. Default: "weight".
        dim: the dimension whose slices have their own lengths; None for one length. Default: 0.

    Raises:
        ValueError: if the module has no such weight.

    Reference:
        Salimans and Kingma, Weight Normalization, NeurIPS 2016.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_former(state_dict: Any, prefix: str, *_: Any) -> None:
        former = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state_dict for key in former):
            for number, key in enumerate(former):
                own = f"{prefix}parametrizations.{name}.original{number}"
                state_dict[own] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_former)
    return module


# Spectral normalization


class _SpectralNorm(Module):
    """The weight divided by its greatest singular value; see `spectral_norm`."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        text = "Dimension out of range (expected to be in range of [-{}, {}] but got {})"
        require(-ndim <= dim < ndim, text, ndim, ndim - 1, dim, error=IndexError)
        text = "Expected n_power_iterations to be positive, but got n_power_iterations={}"
        require_value(n_power_iterations > 0, text, n_power_iterations)
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            for letter, size in zip("uv", matrix.shape, strict=True):
                drawn = matrix.new_empty(size).normal_(0, 1)
                self.register_buffer(f"_{letter}", normalize(drawn, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        with no_grad():
            for _ in range(n_power_iterations):
                self._u.copy_(normalize(ops.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(ops.mv(matrix.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The normalized weight, after power iterations in training."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next iterations write to them
        return weight / ops.vdot(u, ops.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value itself."""
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """Divide a weight by its greatest singular value; returns the module.

    Power iterations estimate this value: 15 at first, then some at each use in training.

    Args:
        name: the name of the weight. Default: "weight".
        n_power_iterations: the number of power iterations per use in training. Default: 1.
        eps: the lower limit of the norms. Default: 1e-12.
        dim: the dimension of the matrix rows. Default: 0; 1 for transposed convolutions.

    Raises:
        ValueError: if the module has no such weight, or ``n_power_iterations`` is not positive.
        IndexError: if ``dim`` is out of range.

    Reference:
        Miyato et al., Spectral Normalization for Generative Adversarial Networks, ICLR 2018,
        algorithm 1.
    """
    weight = _weight(module, name)
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )


# Orthogonal matrices

MAPS = ("matrix_exp", "cayley", "householder")


def _nearby_orthogonal(A: Tensor) -> Tensor:
    """Q of the decomposition ``A = Q R`` in which no diagonal element of R is negative."""
    Q, R = qr(A)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """An orthogonal matrix as a function of any matrix; see `orthogonal`.

    Attributes:
        base: with trivialization, the square orthogonal matrix that the map starts from.
    """

    base: Tensor | None

    def __init__(
        self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """The orthogonal matrices of ``X``, (..., n, k)."""
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        made = self._by_reflections if self.orthogonal_map == "householder" else self._by_rotation
        Q = made(X)
        if "base" in self._buffers:
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _by_rotation(self, X: Tensor) -> Tensor:
        """The first columns of a function of a skew-symmetric matrix."""
        n, k = X.shape[-2:]
        lower = X.tril()
        if n != k:
            lower = ops.cat([lower, X.new_zeros((*X.shape[:-1], n - k))], -1)
        A = lower - lower.mT
        if self.orthogonal_map == "matrix_exp":
            Q = matrix_exp(A)
        else:
            half, one = A * 0.5, ops.eye(n, dtype=A.dtype)
            Q = solve(one - half, one + half)
        return Q[..., :k]

    def _by_reflections(self, X: Tensor) -> Tensor:
        """The product of k reflections at the columns of V, lower triangular with ones on its
        diagonal: ``I - V T Vᵀ``, where ``T⁻¹ + T⁻ᵀ = Vᵀ V``; the diagonal of ``X`` has the signs.

        Reference:
            Schreiber and Van Loan, A Storage-Efficient WY Representation for Products of
            Householder Transformations, 1989.
        """
        n, k = X.shape[-2:]
        one = ops.eye(n, k, dtype=X.dtype)
        V = X.tril(-1) + one
        products = V.mT @ V
        inverse = products.triu() - products.diagonal(dim1=-2, dim2=-1).diag_embed() * 0.5
        Q = one - V @ solve_triangular(inverse, V[..., :k, :].mT, upper=True)
        return Q * X.detach().diagonal(dim1=-2, dim2=-1).to(dtypes.int32).unsqueeze(-2)

    def right_inverse(self, Q: Tensor) -> Tensor:
        """The matrix that the map turns into an orthogonal ``Q``, or a similar one.

        Raises:
            ValueError: for another shape.
            NotImplementedError: without trivialization, except for reflections.
        """
        text = "Expected a matrix or batch of matrices of shape {}. Got a tensor of shape {}."
        require_value(Q.shape == self.shape, text, self.shape, Q.shape)
        with no_grad():
            wide = Q.size(-2) < Q.size(-1)
            tall = Q.mT if wide else Q
            if "base" not in self._buffers:
                text = (
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
                by_reflections = self.orthogonal_map == "householder"
                require(by_reflections, text, error=NotImplementedError)
                columns, factors = np.linalg.qr(tall._array, "raw")
                A, tau = wrap(columns).mT, wrap(factors)
                diagonal = A.diagonal(dim1=-2, dim2=-1)
                diagonal.copy_(ops.where(tau == 0, -1, 1) * diagonal.sign())
                return A.mT if wide else A
            n, k = tall.shape[-2:]
            if n != k:
                more = ops.randn((*tall.shape[:-2], n, n - k), dtype=tall.dtype)
                self.base = _nearby_orthogonal(ops.cat([tall, more], -1))
            else:
                error = 10 * n * dtypes.finfo(tall.dtype).eps
                one = ops.eye(k, dtype=tall.dtype)
                is_orthogonal = ops.allclose(tall.mT @ tall, one, atol=error)
                self.base = tall.clone() if is_orthogonal else _nearby_orthogonal(tall)
            start = ops.zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # the map turns it into the identity
        return start


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> Any:  # fmt: skip
    """Keep a weight orthogonal: its columns, or the rows of a wide one, are orthonormal.

    Args:
        name: the name of the weight, a matrix or a batch of matrices. Default: "weight".
        orthogonal_map: the map from any matrix to an orthogonal one: "matrix_exp", "cayley" or
            "householder". Default: "matrix_exp" for square matrices, else "householder".
        use_trivialization: multiply the map's result by a matrix, `base`, that assignment of a
            weight determines. Default: True.

    Returns:
        The module.

    Raises:
        ValueError: if the module has no such weight, or it has one dimension, or for another map.

    Reference:
        Lezcano Casado, Trivializations for Gradient-Based Optimization on Manifolds, NeurIPS 2019.
    """
    weight = _weight(module, name)
    text = "Expected a matrix or batch of matrices. Got a tensor of {} dimensions."
    require_value(weight.ndim > 1, text, weight.ndim)
    if orthogonal_map is None:
        orthogonal_map = MAPS[0] if weight.size(-2) == weight.size(-1) else MAPS[2]
    text = 'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {}'
    require_value(orthogonal_map in MAPS, text, orthogonal_map)
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)


on_demand(__name__)
