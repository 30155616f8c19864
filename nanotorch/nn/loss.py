"""Losses and distances as modules; each names its function in `nn.functional`.

``reduction`` is "mean" (the default), "sum" or "none". ``size_average`` and ``reduce`` are
PyTorch's former options for the same.
"""

from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import advised
from nanotorch.nn.functional import loss as F
from nanotorch.nn.layer import Layer, OwnNames
from nanotorch.nn.module import Module
from nanotorch.ops.products import cosine_similarity, pairwise_distance


class _Loss(Layer, takes="input target"):
    """The base of all losses: it holds the ``reduction``."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        try:
            self.reduction = F.legacy_reduction(reduction, size_average, reduce)
        except RuntimeError as error:  # of a tensor's truth: `nn.MSELoss(prediction, target)`
            advised(error, "input to a constructor", type(self).__name__)
            raise


class _WeightedLoss(_Loss):
    """The base of losses with weights, which are a buffer."""

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None,
        reduce: bool | None = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class _Plain(_Loss):
    """The base of losses without options before the reduction."""

    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class MSELoss(_Plain, function=F.mse_loss):
    """Squared errors ``(input - target)²``: `nn.functional.mse_loss`."""


class L1Loss(_Plain, function=F.l1_loss):
    """Absolute errors ``|input - target|``: `nn.functional.l1_loss`."""


class SmoothL1Loss(_Plain, function=F.smooth_l1_loss):
    """Squared errors below ``beta``, absolute ones above: `nn.functional.smooth_l1_loss`.

    Args:
        beta: the limit, at least 0. Default: 1.
    """

    beta: float = 1.0


class HuberLoss(_Loss, function=F.huber_loss):
    """``delta`` times `SmoothL1Loss` with ``beta = delta``: `nn.functional.huber_loss`.

    Args:
        delta: the limit, positive. Default: 1.
    """

    reduction: str = "mean"
    delta: float = 1.0


class BCELoss(_WeightedLoss, function=F.binary_cross_entropy):
    """Cross entropy of probabilities of two classes: `nn.functional.binary_cross_entropy`.

    Args:
        weight: the weight of each element; broadcasts. Default: None.
    """

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits):
    """`BCELoss` of the sigmoid of its input, exact for logits of any size.

    See `nn.functional.binary_cross_entropy_with_logits`.

    Args:
        weight: the weight of each element; broadcasts. Default: None.
        pos_weight: the weight of the positive class in each element; broadcasts. Default: None.
    """

    weight: Tensor | None = None
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None


class _OfClasses(OwnNames, _WeightedLoss):
    """The base of losses with class numbers as targets."""

    _own_names = ("__init__",)
    weight: Tensor | None = None
    size_average: bool | None = None
    ignore_index: int = -100
    reduce: bool | None = None
    reduction: str = "mean"


class NLLLoss(_OfClasses, function=F.nll_loss):
    """Negative log-likelihood of log-probabilities: `nn.functional.nll_loss`.

    Args:
        weight: the weight of each class, (C,). Default: None.
        ignore_index: samples with this class number are ignored. Default: -100.
    """


class CrossEntropyLoss(_OfClasses, function=F.cross_entropy):
    """Cross entropy of logits, against class numbers or class probabilities.

    See `nn.functional.cross_entropy`.

    Args:
        weight: the weight of each class, (C,). Default: None.
        ignore_index: samples with this class number are ignored. Default: -100.
        label_smoothing: the part of the target, in [0, 1], that is spread evenly over the classes.
            Default: 0.
    """

    label_smoothing: float = 0.0


class PairwiseDistance(Module):
    """The norm of ``x1 - x2 + eps`` along the last dimension.

    Args:
        p: the order of the norm. Default: 2.
        eps: keeps the norm away from 0, where it has no gradient. Default: 1e-6.
        keepdim: keep the last dimension, with size 1. Default: False.

    Shape:
        Inputs (N, D) or (D,), output (N,) or ().
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances between the vectors of ``x1`` and ``x2``."""
        return pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Layer, function=cosine_similarity, takes="x1 x2"):
    """The cosine of the angle between vectors: ``x1 · x2 / (‖x1‖ ‖x2‖)``.

    Args:
        dim: the dimension of the vectors. Default: 1.
        eps: the lower limit of the norms. Default: 1e-8.

    Shape:
        Inputs of one shape, output without the dimension ``dim``.
    """

    dim: int = 1
    eps: float = 1e-8


class KLDivLoss(_Plain, function=F.kl_div):
    """``target * (log(target) - input)``: `nn.functional.kl_div`.

    Args:
        reduction: also "batchmean". Default: "mean".
        log_target: the target contains log-probabilities, too. Default: False.
    """

    log_target: bool = False


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss, takes="log_input target"):
    """``exp(input) - target * input``, for counts: `nn.functional.poisson_nll_loss`.

    Args:
        log_input: ``input`` is the logarithm of the mean, not the mean. Default: True.
        full: add Stirling's approximation. Default: False.
        eps: added to ``input`` inside the logarithm without ``log_input``. Default: 1e-8.
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
        eps: the lower limit of the variances. Default: 1e-6.
    """

    full: bool = False
    eps: float = 1e-6
    reduction: str = "mean"


class _Margin(OwnNames, _Loss):
    """The base of losses with a margin."""

    _own_names = ("__init__",)
    margin: float = 1.0
    size_average: bool | None = None
    reduce: bool | None = None
    reduction: str = "mean"


class HingeEmbeddingLoss(_Margin, function=F.hinge_embedding_loss):
    """Distances small for target 1, large for target -1: `nn.functional.hinge_embedding_loss`.

    Args:
        margin: the least distance without loss for target -1. Default: 1.
    """


class CosineEmbeddingLoss(_Margin, function=F.cosine_embedding_loss, takes="input1 input2 target"):
    """Angles small for target 1, large for target -1: `nn.functional.cosine_embedding_loss`.

    Args:
        margin: the greatest cosine without loss for target -1, in [-1, 1]. Default: 0.
    """

    margin: float = 0.0


class MarginRankingLoss(_Margin, function=F.margin_ranking_loss, takes="input1 input2 target"):
    """The order of two inputs: `nn.functional.margin_ranking_loss`.

    Args:
        margin: the least difference without loss. Default: 0.
    """

    margin: float = 0.0


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss, takes="anchor positive negative"):
    """Anchors nearer to positives than to negatives: `nn.functional.triplet_margin_loss`.

    Args:
        margin: the least difference of distances without loss, positive. Default: 1.
        p: the order of the norm. Default: 2.
        eps: keeps distances away from 0. Default: 1e-6.
        swap: also use the distance from the positive to the negative. Default: False.

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


class CTCLoss(
    _Loss, function=F.ctc_loss, takes="log_probs targets input_lengths target_lengths",
    gives="blank reduction zero_infinity",
):  # fmt: skip
    """Sequences of labels without alignments: `nn.functional.ctc_loss`.

    Args:
        blank: the symbol between labels. Default: 0.
        reduction: "mean" divides each loss by the number of labels first.
        zero_infinity: 0 instead of infinite losses. Default: False.
    """

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False
