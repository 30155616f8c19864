"""How far a distribution is from another: the divergence of Kullback and Leibler."""

from collections.abc import Callable
from typing import Any

from nanotorch import linalg, ops
from nanotorch._core.tensor import Tensor
from nanotorch.distributions.distribution import (
    Bernoulli,
    Categorical,
    Distribution,
    Independent,
    Normal,
    Uniform,
    summed,
)
from nanotorch.distributions.families import (
    Beta,
    Dirichlet,
    Exponential,
    Gamma,
    Laplace,
    MultivariateNormal,
    Poisson,
    half_log_det,
    mahalanobis,
)
from nanotorch.nn.functional import softplus

Formula = Callable[[Any, Any], Tensor]
FORMULAS: dict[tuple[type, type], Formula] = {}
INFINITE = float("inf")


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """Declare the decorated function as the divergence between two kinds of distributions.

    Raises:
        TypeError: if one of them is none.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not (isinstance(kind, type) and issubclass(kind, Distribution)):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(formula: Formula) -> Formula:
        FORMULAS[type_p, type_q] = formula
        return formula

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean of log p(x) - log q(x) over samples x of ``p``, for each element of the batch.

    Raises:
        NotImplementedError: if there is no formula for the two.
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            if (kind_p, kind_q) in FORMULAS:
                return FORMULAS[kind_p, kind_q](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def between_normals(p: Normal, q: Normal) -> Tensor:
    """(r + d² - 1 - log r) / 2; r: ratio of the variances, d: distance in deviations of q."""
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Uniform, Uniform)
def between_uniforms(p: Uniform, q: Uniform) -> Tensor:
    """The logarithm of the ratio of the lengths; infinite if ``p`` goes beyond ``q``."""
    result = ops.log((q.high - q.low) / (p.high - p.low))
    return result.masked_fill((q.low > p.low).logical_or(q.high < p.high), INFINITE)


@register_kl(Bernoulli, Bernoulli)
def between_bernoullis(p: Bernoulli, q: Bernoulli) -> Tensor:
    """The sum over both values."""
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    zeros = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    ones = ones.masked_fill(q.probs.eq(0), INFINITE).masked_fill(p.probs.eq(0), 0.0)
    return ones + zeros.masked_fill(q.probs.eq(1), INFINITE).masked_fill(p.probs.eq(1), 0.0)


@register_kl(Categorical, Categorical)
def between_categoricals(p: Categorical, q: Categorical) -> Tensor:
    """The sum over all values."""
    terms = p.probs * (p.logits - q.logits)
    terms = terms.masked_fill(q.probs.eq(0).expand_as(terms), INFINITE)
    return terms.masked_fill(p.probs.eq(0).expand_as(terms), 0.0).sum(-1)


@register_kl(Independent, Independent)
def between_independents(p: Independent, q: Independent) -> Tensor:
    """The sum over the dimensions."""
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Exponential, Exponential)
def between_exponentials(p: Exponential, q: Exponential) -> Tensor:
    """r - 1 - log r; r: the ratio of the rates."""
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Laplace, Laplace)
def between_laplaces(p: Laplace, q: Laplace) -> Tensor:
    """By the ratio of the scales and the distance in scales."""
    apart, ratio = (p.loc - q.loc).abs(), p.scale / q.scale
    return -ratio.log() + apart / q.scale + ratio * ops.exp(-apart / p.scale) - 1


@register_kl(Poisson, Poisson)
def between_poissons(p: Poisson, q: Poisson) -> Tensor:
    """By the difference of the rates and of their logarithms."""
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Gamma, Gamma)
def between_gammas(p: Gamma, q: Gamma) -> Tensor:
    """The sum of what the rates, the constants and the powers differ by."""
    rates = q.concentration * (p.rate / q.rate).log()
    constants = ops.lgamma(q.concentration) - ops.lgamma(p.concentration)
    powers = (p.concentration - q.concentration) * ops.digamma(p.concentration)
    return rates + constants + powers + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Dirichlet, Dirichlet)
def between_dirichlets(p: Dirichlet, q: Dirichlet) -> Tensor:
    """The difference of the constants, and of the powers times the mean logarithms."""
    a, b = p.concentration, q.concentration
    constants = (ops.lgamma(b) - ops.lgamma(a)).sum(-1)
    totals = a.sum(-1).lgamma() - b.sum(-1).lgamma()
    logs = a.digamma() - a.sum(-1, True).digamma()
    return totals + constants + ((a - b) * logs).sum(-1)


@register_kl(Beta, Beta)
def between_betas(p: Beta, q: Beta) -> Tensor:
    """That of distributions of Dirichlet of two numbers."""
    return between_dirichlets(p._dirichlet, q._dirichlet)


@register_kl(MultivariateNormal, MultivariateNormal)
def between_multivariate_normals(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    """By the determinants, the trace of one covariance in terms of the other, and the distance.

    Raises:
        ValueError: for vectors of different lengths.
    """
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be "
            "computed"
        )
    shape = ops.broadcast_shapes(q._factor.shape, p._factor.shape)
    factors = q._factor.expand(shape), p._factor.expand(shape)
    trace = linalg.solve_triangular(*factors, upper=False).pow(2).sum([-2, -1])
    distance = mahalanobis(q._factor, q.loc - p.loc)
    sizes = half_log_det(q._factor) - half_log_det(p._factor)
    return sizes + 0.5 * (trace + distance - p.event_shape[0])
