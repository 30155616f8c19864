"""Losses as modules, and distances; see the functions in `nn.functional` for what they compute.

``reduction`` is "mean" (the default), "sum" or "none"; ``size_average`` and ``reduce`` are
PyTorch's former way to say that.
"""

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import loss as F
from nanotorch.nn.layer import Layer, OwnNames
from nanotorch.nn.module import Module
from nanotorch.ops.products import cosine_similarity, pairwise_distance


class _Loss(Layer, takes="input target"):
    """A loss with a reduction."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = F.legacy_reduction(reduction, size_average, reduce)


class _WeightedLoss(_Loss):
    """A loss with weights, which are a buffer."""

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None,
        reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class _Plain(_Loss):
    """A loss with no options that come before the reduction."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class MSELoss(_Plain, function=F.mse_loss):
    """Squared errors ``(input - target)²``: `nn.functional.mse_loss`."""


class L1Loss(_Plain, function=F.l1_loss):
    """Absolute errors ``|input - target|``: `nn.functional.l1_loss`."""


class SmoothL1Loss(_Plain, function=F.smooth_l1_loss):
    """Squared errors below ``beta``, absolute ones beyond: `nn.functional.smooth_l1_loss`.

    Args:
        beta: at least 0. Default: 1.
    """

    beta: float = 1.0


class HuberLoss(_Loss, function=F.huber_loss):
    """``delta`` times `SmoothL1Loss` with ``beta = delta``: `nn.functional.huber_loss`.

    Args:
        delta: positive. Default: 1.
    """

    reduction: str = "mean"
    delta: float = 1.0


class BCELoss(_WeightedLoss, function=F.binary_cross_entropy):
    """Cross entropy of two classes by probabilities: `nn.functional.binary_cross_entropy`.

    Args:
        weight: of each element; broadcasts. Default: None.
    """

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits):
    """`BCELoss` of the sigmoid of its input, exact for logits of any size.

    See `nn.functional.binary_cross_entropy_with_logits`.

    Args:
        weight: of each element; broadcasts. Default: None.
        pos_weight: of the positive part of each element; broadcasts. Default: None.
    """

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None


class _OfClasses(OwnNames, _WeightedLoss):
    """A loss of class numbers."""

    _own_names = ("__init__",)
    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


class NLLLoss(_OfClasses, function=F.nll_loss):
    """Negative log likelihood of log-probabilities: `nn.functional.nll_loss`.

    Args:
        weight: of each class, (C,). Default: None.
        ignore_index: samples of this class number count for nothing. Default: -100.
    """


class CrossEntropyLoss(_OfClasses, function=F.cross_entropy):
    """Cross entropy of logits, against class numbers or class probabilities.

    See `nn.functional.cross_entropy`.

    Args:
        weight: of each class, (C,). Default: None.
        ignore_index: samples of this class number count for nothing. Default: -100.
        label_smoothing: the share, in [0, 1], of the target that is spread evenly over the
            classes. Default: 0.
    """

    label_smoothing: float = 0.0


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


class CosineSimilarity(Layer, function=cosine_similarity, takes="x1 x2"):
    """The cosine of the angle between vectors: ``x1 · x2 / (‖x1‖ ‖x2‖)``.

    Args:
        dim: along which the vectors lie. Default: 1.
        eps: norms are held above it. Default: 1e-8.

    Shape:
        Inputs of one shape, output without the dimension ``dim``.
    """

    dim: int = 1
    eps: float = 1e-8


class KLDivLoss(_Plain, function=F.kl_div):
    """``target * (log(target) - input)``: `nn.functional.kl_div`.

    Args:
        reduction: also "batchmean". Default: "mean".
        log_target: the target too are log-probabilities. Default: False.
    """

    log_target: bool = False


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss, takes="log_input target"):
    """``exp(input) - target * input``, of counts: `nn.functional.poisson_nll_loss`.

    Args:
        log_input: otherwise ``input`` is the mean itself. Default: True.
        full: add Stirling's approximation. Default: False.
        eps: Default: 1e-8.
    """

    log_input: bool = True
    full: bool = False
    size_average: bool | None = None
    eps: float = 1e-8
    reduce: bool | None = None
    reduction: str = "mean"


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss, takes="input target var", kw_only=True):
    """``(log(var) + (input - target)² / var) / 2``: `nn.functional.gaussian_nll_loss`.

    Args:
        full: add ``log(2π) / 2``. Default: False.
        eps: variances are held above it. Default: 1e-6.
    """

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


class _Margin(OwnNames, _Loss):
    """A loss with a margin."""

    _own_names = ("__init__",)
    margin: float = 1.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class HingeEmbeddingLoss(_Margin, function=F.hinge_embedding_loss):
    """Distances of what belongs together or apart: `nn.functional.hinge_embedding_loss`.

    Args:
        margin: Default: 1.
    """


class CosineEmbeddingLoss(_Margin, function=F.cosine_embedding_loss, takes="input1 input2 target"):
    """Angles of what belongs together or apart: `nn.functional.cosine_embedding_loss`.

    Args:
        margin: from -1 to 1. Default: 0.
    """

    margin: float = 0.0


class MarginRankingLoss(_Margin, function=F.margin_ranking_loss, takes="input1 input2 target"):
    """Whether one of two is greater: `nn.functional.margin_ranking_loss`.

    Args:
        margin: Default: 0.
    """

    margin: float = 0.0


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss, takes="anchor positive negative"):
    """Nearer to one than to the other: `nn.functional.triplet_margin_loss`.

    Args:
        margin: positive. Default: 1.
        p: the order of the norm. Default: 2.
        eps: keeps distances away from 0. Default: 1e-6.
        swap: also count the distance of the two. Default: False.

    Raises:
        ValueError: if ``margin`` is not positive.
    """

    margin: float = 1.0
    p: float = 2.0
    eps: float = 1e-6
    swap: bool = False
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"

    def __post_init__(self) -> None:
        F.check_margin(self.margin)
