"""Losses as modules; see the functions in `nn.functional` for what they compute."""

from collections.abc import Callable
from typing import Any

from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import loss, margin_loss
from nanotorch.nn.functional import loss as classes
from nanotorch.nn.functional import loss as likelihood
from nanotorch.nn.functional import margin_loss as margins
from nanotorch.nn.functional.loss import former_reduction
from nanotorch.nn.module import Module
from nanotorch.ops.distance import cosine_similarity, pairwise_distance

# Losses as modules; see the functions in `nn.functional` for what they compute.
#
# ``reduction`` is "mean" (the default), "sum" or "none"; ``size_average`` and ``reduce`` are
# PyTorch's former way to say that.


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


# Distances and angles between vectors.


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


# Likelihoods, margins and rankings as modules; see the functions in `nn.functional`.
#
# ``reduction`` is "mean" (the default), "sum" or "none"; ``size_average`` and ``reduce`` are
# PyTorch's former way to say that.


class KLDivLoss(_Loss):
    """``target * (log(target) - input)``: `nn.functional.kl_div`.

    Args:
        reduction: also "batchmean". Default: "mean".
        log_target: the target too are log-probabilities. Default: False.
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the log-probabilities ``input`` against ``target``."""
        return likelihood.kl_div(
            input, target, reduction=self.reduction, log_target=self.log_target
        )


class PoissonNLLLoss(_Loss):
    """``exp(input) - target * input``, of counts: `nn.functional.poisson_nll_loss`.

    Args:
        log_input: otherwise ``input`` is the mean itself. Default: True.
        full: add Stirling's approximation. Default: False.
        eps: Default: 1e-8.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss of ``log_input`` against ``target``."""
        return likelihood.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """``(log(var) + (input - target)² / var) / 2``: `nn.functional.gaussian_nll_loss`.

    Args:
        full: add ``log(2π) / 2``. Default: False.
        eps: variances are held above it. Default: 1e-6.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """The loss of ``input`` with the variances ``var`` against ``target``."""
        return likelihood.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


# Of how things lie to each other


class HingeEmbeddingLoss(_Loss):
    """Distances of what belongs together or apart: `nn.functional.hinge_embedding_loss`.

    Args:
        margin: Default: 1.
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the distances ``input`` against ``target``, 1 or -1."""
        return margin_loss.hinge_embedding_loss(
            input, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_Loss):
    """Angles of what belongs together or apart: `nn.functional.cosine_embedding_loss`.

    Args:
        margin: from -1 to 1. Default: 0.
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss of two sets of vectors against ``target``, 1 or -1."""
        return margin_loss.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_Loss):
    """Whether one of two is greater: `nn.functional.margin_ranking_loss`.

    Args:
        margin: Default: 0.
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss of two tensors against ``target``, 1 if the first should be greater, else -1."""
        return margin_loss.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class TripletMarginLoss(_Loss):
    """Nearer to one than to the other: `nn.functional.triplet_margin_loss`.

    Args:
        margin: positive. Default: 1.
        p: the order of the norm. Default: 2.
        eps: keeps distances away from 0. Default: 1e-6.
        swap: also count the distance of the two. Default: False.

    Raises:
        ValueError: if ``margin`` is not positive.
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss of triplets."""
        return margin_loss.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


def _check_margin(loss: Module, margin: float) -> None:
    """Refuse margins that are not positive."""
    if margin <= 0:
        name = type(loss).__name__
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance.

    Args:
        distance_function: of two tensors. Default: `PairwiseDistance`.
        margin, swap: see there.

    Raises:
        ValueError: if ``margin`` is not positive.
    """

    _is_ours = False  # the distance may be a user's

    distance_function: Any

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = (
            PairwiseDistance() if distance_function is None else distance_function
        )
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss of triplets."""
        return margin_loss.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


# Of margins between scores


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Classes that are right or not: `nn.functional.multilabel_soft_margin_loss`.

    Args:
        weight: of each class, (C,). Default: None.
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the logits ``input`` against ``target``, 0 or 1."""
        return margins.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``: `nn.functional.soft_margin_loss`."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the scores ``input`` against ``target``, 1 or -1."""
        return margins.soft_margin_loss(input, target, reduction=self.reduction)
