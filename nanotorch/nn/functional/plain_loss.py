"""Losses of `nn.functional` as the package itself has them: reductions are numbers.

``reduction`` is 1 for the mean, 2 for the sum, any other number, as 0, for the losses themselves.
"""

import warnings

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import likelihood, loss, ranking


def named(function: str, position: int, reduction: int) -> str:
    """The word for a reduction.

    Raises:
        TypeError: for what is no integer.
    """
    if not isinstance(reduction, int):
        raise TypeError(
            f"{function}(): argument 'reduction' (position {position}) must be int, not "
            f"{type(reduction).__name__}"
        )
    return {1: "mean", 2: "sum"}.get(reduction, "none")


def kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Tensor:
    """`nn.functional.kl_div`, without its warning."""
    how = named("kl_div", 3, reduction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return likelihood.kl_div(input, target, reduction=how, log_target=log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """`nn.functional.poisson_nll_loss`."""
    how = named("poisson_nll_loss", 6, reduction)
    return likelihood.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.hinge_embedding_loss`."""
    how = named("hinge_embedding_loss", 4, reduction)
    return ranking.hinge_embedding_loss(input, target, margin, reduction=how)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`."""
    how = named("cosine_embedding_loss", 5, reduction)
    return ranking.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.margin_ranking_loss`."""
    how = named("margin_ranking_loss", 5, reduction)
    return ranking.margin_ranking_loss(input1, input2, target, margin, reduction=how)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`."""
    how = named("triplet_margin_loss", 8, reduction)
    return ranking.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=how
    )


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`."""
    how = named("binary_cross_entropy_with_logits", 5, reduction)
    return loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=how, pos_weight=pos_weight
    )
