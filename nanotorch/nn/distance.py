"""Distances and angles between vectors."""

from nanotorch._core.tensor import Tensor
from nanotorch.nn.module import Module
from nanotorch.ops.distance import cosine_similarity, pairwise_distance


class PairwiseDistance(Module):
    """The norm of ``x1 - x2 + eps`` along the last dimension.

    Args:
        p: the order of the norm. Default: 2.
        eps: keeps the norm away from 0, where it has no gradient. Default: 1e-6.
        keepdim: keep the last dimension, with size 1. Default: False.

    Shape:
        Inputs (N, D) or (D,), output (N,) or a number.
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors: ``x1 · x2 / (‖x1‖ ‖x2‖)``.

    Args:
        dim: along which the vectors lie. Default: 1.
        eps: norms are held above it. Default: 1e-8.

    Shape:
        Inputs of one shape, output without the dimension ``dim``.
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines."""
        return cosine_similarity(x1, x2, self.dim, self.eps)
