"""Linear layers."""

import math
from typing import Any

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.affine import linear


class Identity(Module):
    """Returns its input; any arguments are accepted and ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Linear(Module):
    """``y = x @ weight.T + bias``.

    Args:
        in_features: the size I of each input.
        out_features: the size O of each output.
        bias: whether to add one. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        Input (..., I), output (..., O).

    Attributes:
        weight: (O, I), drawn uniformly from ±1/√I.
        bias: (O,), drawn likewise; None without bias.

    Raises:
        ValueError: for a negative size.
    """

    in_features: int
    out_features: int
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(ops.empty((out_features, in_features), dtype=dtype, device=device))
        self.register_parameter(
            "bias",
            Parameter(ops.empty(out_features, dtype=dtype, device=device)) if bias else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        # With a = √5 the bound √3 · gain / √I is 1/√I.
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """``input @ weight.T + bias``."""
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
