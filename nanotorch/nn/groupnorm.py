"""Normalization over groups of channels, by the root mean square, by neighbouring channels."""

from collections.abc import Sequence
from typing import Any

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.functional.normalization import group_norm, rms_norm
from nanotorch.nn.functional.response import local_response_norm
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter


class GroupNorm(Module):
    """``y = (x - mean) / √(variance + eps) * weight + bias`` per sample and group of channels.

    Args:
        num_groups: into how many groups of equal size the channels are divided.
        num_channels: the number C of channels.
        eps: Default: 1e-5.
        affine: whether there are weight and bias. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.
        bias: whether there is a bias, if ``affine``. Default: True.

    Shape:
        Input and output (N, C, ...).

    Attributes:
        weight, bias: (C,), ones and zeros at first; or None.

    Raises:
        ValueError: if the channels cannot be divided so.

    Reference:
        Wu and He, Group Normalization, ECCV 2018.
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine

        def parameter() -> Parameter:
            return Parameter(ops.empty(num_channels, dtype=dtype, device=device))

        self.register_parameter("weight", parameter() if affine else None)
        self.register_parameter("bias", parameter() if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights 1, biases 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized per group."""
        return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """``y = x / √(mean(x²) + eps) * weight`` over the last dimensions.

    Args:
        normalized_shape: the sizes of those dimensions; an integer for one.
        eps: Default: the distance from 1 to the next number of the dtype.
        elementwise_affine: whether there is a weight. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of the weight. Default: the default dtype.

    Shape:
        Input and output (..., *normalized_shape).

    Attributes:
        weight: of shape ``normalized_shape``, ones at first; or None.

    Reference:
        Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
    """

    weight: Any

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        weight = None
        if elementwise_affine:
            weight = Parameter(ops.empty(self.normalized_shape, dtype=dtype, device=device))
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The input, divided by its root mean square."""
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LocalResponseNorm(Module):
    """``y = x / (k + alpha * s) ** beta``, where s is the mean square of neighbouring channels.

    Args:
        size: the number of these, the channel itself in their middle.
        alpha, beta, k: Default: 1e-4, 0.75 and 1.

    Shape:
        Input and output (N, C, ...).

    Reference:
        Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional Neural
        Networks, NeurIPS 2012, section 3.3.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized by its neighbours."""
        return local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
