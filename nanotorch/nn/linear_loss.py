"""A linear layer and the cross entropy of its scores as one module."""

import math
from typing import Any

from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.classes import linear_cross_entropy
from nanotorch.nn.linear import Linear
from nanotorch.nn.loss import _WeightedLoss


class LinearCrossEntropyLoss(_WeightedLoss):
    """`CrossEntropyLoss` of a `Linear` layer: `nn.functional.linear_cross_entropy`.

    Args:
        in_features: the size of each input.
        num_classes: the number C of classes.
        out_features: further dimensions of the target. Default: none.
        bias: whether the layer has one. Default: False.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.
        weight: of each class, (C,). Default: None.
        ignore_index: samples of this class number count for nothing. Default: -100.
        label_smoothing: see `CrossEntropyLoss`. Default: 0.
        options: accepted; PyTorch's choice of implementation.

    Shape:
        Input (N, in_features) or (in_features,), target (N, *out_features) or (*out_features,).
    """

    linear: Linear

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: DType | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        super().__init__(weight, None, None, reduction)
        self.in_features, self.num_classes = in_features, num_classes
        self.out_features, self.bias = out_features, bias
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options
        size = num_classes * math.prod(out_features)
        self.linear = Linear(in_features, size, bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the scores of ``input`` against ``target``."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        names = ("in_features", "num_classes", "out_features", "bias", "reduction",
                 "ignore_index", "label_smoothing", "options")  # fmt: skip
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)
