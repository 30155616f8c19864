"""Normalization by the norm of vectors, and by the activity of neighbouring channels."""

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.ops.neighbours import mean_of_neighbours
from nanotorch.ops.reduction import Dims


def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: Dims = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """Vectors divided by their norms.

    Args:
        p: the order of the norm. Default: 2.
        dim: along which the vectors lie; or several dimensions. Default: 1.
        eps: norms are held above it. Default: 1e-12.
        out: where to write the result.

    Raises:
        IndexError: for a ``dim`` out of range.
    """
    norms = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    result: Tensor = ops.div(input, norms) if out is None else ops.div(input, norms, out=out)
    return result


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``input / (k + alpha * s) ** beta``, where s is the mean square of neighbouring channels.

    Args:
        size: the number of these, the channel itself in their middle.
        alpha, beta, k: Default: 1e-4, 0.75 and 1.

    Shape:
        ``input`` (N, C, ...) with one or more further dimensions; the result the same.

    Raises:
        ValueError: for fewer dimensions.

    Reference:
        Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional Neural
        Networks, NeurIPS 2012, section 3.3.
    """
    if input.dim() < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{input.dim()} dimensions)"
        )
    if not input.numel():
        return input
    squares = mean_of_neighbours(input.mul(input), size, size // 2)
    result: Tensor = input / squares.mul(alpha).add(k).pow(beta)
    return result
