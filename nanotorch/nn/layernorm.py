"""Layer normalization."""

from collections.abc import Sequence
from typing import Any

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.functional.normalization import layer_norm
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter


class LayerNorm(Module):
    """``y = (x - mean) / √(variance + eps) * weight + bias`` over the last dimensions.

    Args:
        normalized_shape: the sizes of those dimensions; an integer for one.
        eps: Default: 1e-5.
        elementwise_affine: whether there are weight and bias. Default: True.
        bias: whether there is a bias, if ``elementwise_affine``. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        Input and output (..., *normalized_shape).

    Attributes:
        weight, bias: of shape ``normalized_shape``, ones and zeros at first; or None.

    Reference:
        Ba, Kiros and Hinton, Layer Normalization, 2016.
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine

        def parameter() -> Parameter:
            return Parameter(ops.empty(self.normalized_shape, dtype=dtype, device=device))

        self.register_parameter("weight", parameter() if elementwise_affine else None)
        self.register_parameter("bias", parameter() if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weights 1, biases 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized over its last dimensions."""
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )
