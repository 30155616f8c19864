"""Parametrizations of weights: by lengths and directions, by singular values, as rotations."""

from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.response import normalize
from nanotorch.nn.module import Module
from nanotorch.nn.utils.former_spectral_norm import as_matrix, iterate
from nanotorch.nn.utils.orthogonal import orthogonal as orthogonal
from nanotorch.nn.utils.parametrize import register_parametrization
from nanotorch.ops.weight_norm import lengths, stretched

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        result: Tensor = stretched(weight_v, weight_g, self.dim)
        return result

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return lengths(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Take a weight apart into lengths and directions, ``g * v / ‖v‖``; returns the module.

    State dicts of the former `nn.utils.weight_norm` load too.

    Args:
        dim: along which each slice has a length of its own; None for one length. Default: 0.

    Raises:
        ValueError: for a name that is not there.

    Reference:
        Salimans and Kingma, Weight Normalization, NeurIPS 2016.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def renamed(state: dict[str, Any], prefix: str, *rest: Any) -> None:
        former = [f"{prefix}{name}_{part}" for part in "gv"]
        if all(key in state for key in former):
            for number, key in enumerate(former):
                state[f"{prefix}parametrizations.{name}.original{number}"] = state.pop(key)

    module._register_load_state_dict_pre_hook(renamed)
    return module


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), dim)
            u = ops.empty(matrix.size(0), dtype=weight.dtype).normal_(0, 1)
            v = ops.empty(matrix.size(1), dtype=weight.dtype).normal_(0, 1)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            iterate(matrix, self._u, self._v, 15, eps, u_first=True)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            iterate(matrix, self._u, self._v, self.n_power_iterations, self.eps, u_first=True)
        u, v = self._u.clone(), self._v.clone()  # the next iterations write to them
        result: Tensor = weight / ops.dot(u, ops.mv(matrix, v))
        return result

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # any matrix is one of spectral norm 1 times a number


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Let a weight be divided by its greatest singular value; returns the module.

    Args:
        n_power_iterations: whenever it is read in training. Default: 1.
        eps: norms are held above it. Default: 1e-12.
        dim: along which the rows of the matrix lie. Default: 0; 1 for transposed convolutions.

    Raises:
        ValueError: for a name that is not there, a number of iterations that is not positive.

    Reference:
        Miyato et al., Spectral Normalization for Generative Adversarial Networks, ICLR 2018,
        algorithm 1.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
