"""Losses as modules; see the functions in `nn.functional` for what they compute.

``reduction`` is "mean" (the default), "sum" or "none"; ``size_average`` and ``reduce`` are
PyTorch's former way to say that.
"""

from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.nn.functional import classes, loss
from nanotorch.nn.functional.reduction import former_reduction
from nanotorch.nn.module import Module


class _Loss(Module):
    """A loss with a reduction."""

    reduction: str

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = former_reduction(size_average, reduce)
            warn(
                "size_average and reduce args will be deprecated, please use "
                f"reduction='{reduction}' instead."
            )
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with weights, which are a buffer."""

    weight: Any

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """Squared errors ``(input - target)²``: `nn.functional.mse_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of ``input`` against ``target``."""
        return loss.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Absolute errors ``|input - target|``: `nn.functional.l1_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of ``input`` against ``target``."""
        return loss.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared errors below ``beta``, absolute ones beyond: `nn.functional.smooth_l1_loss`.

    Args:
        beta: at least 0. Default: 1.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of ``input`` against ``target``."""
        return loss.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """``delta`` times `SmoothL1Loss` with ``beta = delta``: `nn.functional.huber_loss`.

    Args:
        delta: positive. Default: 1.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of ``input`` against ``target``."""
        return loss.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(_WeightedLoss):
    """Cross entropy of two classes by probabilities: `nn.functional.binary_cross_entropy`.

    Args:
        weight: of each element; broadcasts. Default: None.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the probabilities ``input`` against ``target``."""
        return loss.binary_cross_entropy(
            input, target, weight=self.weight, reduction=self.reduction
        )


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of the sigmoid of its input, exact for logits of any size.

    See `nn.functional.binary_cross_entropy_with_logits`.

    Args:
        weight: of each element; broadcasts. Default: None.
        pos_weight: of the positive part of each element; broadcasts. Default: None.
    """

    weight: Any
    pos_weight: Any

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the logits ``input`` against ``target``."""
        return loss.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class NLLLoss(_WeightedLoss):
    """Negative log likelihood of log-probabilities: `nn.functional.nll_loss`.

    Args:
        weight: of each class, (C,). Default: None.
        ignore_index: samples of this class number count for nothing. Default: -100.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the log-probabilities ``input`` against the class numbers ``target``."""
        return classes.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of logits, against class numbers or class probabilities.

    See `nn.functional.cross_entropy`.

    Args:
        weight: of each class, (C,). Default: None.
        ignore_index: samples of this class number count for nothing. Default: -100.
        label_smoothing: the share, in [0, 1], of the target that is spread evenly over the
            classes. Default: 0.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the logits ``input`` against ``target``."""
        return classes.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )
