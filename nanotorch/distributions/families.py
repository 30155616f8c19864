"""Distributions, each declared by its parameters and formulas.

The gamma, Dirichlet and Poisson samplers use PyTorch's algorithms.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from nanotorch import linalg, ops
from nanotorch._core.dtypes import Size, finfo
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.autograd.function import Function
from nanotorch.distributions import constraints as c
from nanotorch.distributions.constraints import Constraint, dependent_property
from nanotorch.distributions.distribution import (
    Family,
    _standard_normal,
    by,
    formula,
    lazy_property,
)
from nanotorch.nn.functional import softplus
from nanotorch.ops.activation import digamma
from nanotorch.ops.binary import xlogy
from nanotorch.ops.creation import arange
from nanotorch.ops.random import default_generator

THIRD = float(np.float32(1) / np.float32(3))
SQUEEZE = float(np.float32(0.0331))
LARGE = 1000.0  # above this, the cube root of a gamma sample is approximately normal


def uniform() -> float:
    """A random number in [0, 1) with 53 bits."""
    return float(default_generator.uniform64(1)[0])


def one_gamma(alpha: float, kind: Any) -> float:
    """A sample of the gamma distribution with rate 1, by Marsaglia and Tsang's rejection."""
    alpha, scale = kind(alpha), 1.0
    if alpha < 1:
        if not alpha:
            return 0.0
        scale = (1.0 - uniform()) ** float(kind(1) / alpha)
        alpha = kind(alpha + kind(1))
    d = float(kind(alpha - kind(THIRD)))
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = float(default_generator.normal(1, np.float64)[0])
        y = 1.0 + c * x
        if y <= 0:
            continue
        v, u, xx = y * y * y, 1.0 - uniform(), x * x
        if u < 1.0 - SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v)):
            return scale * d * v


def one_poisson(rate: float) -> int:
    """A Poisson sample: by products of uniform numbers for rates below 10, else by Hörmann."""
    if rate < 10:
        count, product, end = 0, 1.0, math.exp(-rate)
        while rate:
            product *= uniform()
            if product <= end:
                break
            count += 1
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse, border = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= border:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = math.log(v) + math.log(inverse) - math.log(a / (us * us) + b)
        if left <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


def map_numbers(function: Callable[[float], float], values: Tensor) -> Tensor:
    """The results of a function for each number, in order, as a tensor of the same shape."""
    array = values._array
    return wrap(
        np.array([function(v) for v in array.ravel().tolist()], array.dtype).reshape(array.shape)
    )


def psi(values: np.ndarray) -> Any:
    """The digamma function."""
    return digamma(wrap(np.asarray(values, np.float64)))._array


def series(log: Any, steps: Callable[[int], tuple[Any, Any]], first: Any) -> Any:
    """The sum of the derivatives of terms, each as a term times its logarithmic derivative.

    Args:
        log: the logarithmic derivative of the first term.
        steps: a function of a term's number that returns the step to the next term: a factor of
            the term, and a summand of the derivative.
        first: the first term.
    """
    term, total, k = first, first * log, 0
    while True:
        factor, more = steps(k)
        term, log, k = term * factor, log + more, k + 1
        total = total + term * log
        if k > 20 and (np.all(np.abs(term * log) <= 1e-17 * np.abs(total)) or k > 20_000):
            return total


class _Gamma(Function):
    """Samples of the gamma distribution with rate 1."""

    @staticmethod
    def forward(ctx: Any, alpha: Any) -> Any:
        array = alpha._array
        tiny = float(np.finfo(array.dtype).tiny)
        out = map_numbers(lambda a: max(tiny, one_gamma(a, array.dtype.type)), alpha)
        ctx.save_for_backward(alpha, out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The derivative by ``alpha`` is -(dF / da) / f, with the distribution function F as a
        power series and the density f.
        """
        alpha, out = (saved._array for saved in ctx.saved_tensors)
        a, x = np.broadcast_arrays(alpha.astype(np.float64), out.astype(np.float64))
        small = np.minimum(a, LARGE)
        near = np.where(a > LARGE, small, x)
        with np.errstate(all="ignore"):
            found = -near * series(
                np.log(near) - psi(small + 1),
                lambda k: (near / (small + k + 1), -1 / (small + k + 1)),
                1 / small,
            )
            # x = a · (1 - 1 / (9 a) + n / (3 √a))³, by Wilson and Hilferty, with n fixed.
            root = np.cbrt(x / a)
            n = (root - 1 + 1 / (9 * a)) * 3 * np.sqrt(a)
            far = root**3 + 3 * a * root**2 * (1 / (9 * a * a) - n / (6 * a**1.5))
        return grads[0] * wrap(np.where(a > LARGE, far, found).astype(out.dtype))


class _Dirichlet(Function):
    """Samples of the Dirichlet distribution."""

    @staticmethod
    def forward(ctx: Any, alpha: Any) -> Any:
        array = alpha._array
        drawn = map_numbers(lambda a: one_gamma(a, np.float64), alpha.double())._array
        kind = np.finfo(array.dtype)
        shares = (drawn / drawn.sum(-1, keepdims=True)).astype(array.dtype)
        out = wrap(np.clip(shares, kind.tiny, 1 - kind.epsneg))
        ctx.save_for_backward(alpha, out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The derivative of an entry x by its ``alpha``, over ``1 - x``.

        Each entry alone has a beta distribution. Its distribution function is a hypergeometric
        series in x or, for large x, one minus such a series in 1 - x.
        """
        alpha, out = ctx.saved_tensors
        x, a = out._array.astype(np.float64), alpha._array.astype(np.float64)
        total = alpha._array.sum(-1, keepdims=True).astype(np.float64)
        x, a, total = np.broadcast_arrays(x, a, total)
        b = total - a
        swapped = x > (a + 1) / (total + 2)
        y, own = np.where(swapped, 1 - x, x), np.where(swapped, b, a)
        with np.errstate(all="ignore"):
            log = np.log(x) + psi(total) - np.where(swapped, psi(a), psi(a + 1))

            def steps(k: int) -> tuple[Any, Any]:
                more = 1 / (total + k) - np.where(swapped, 0, 1 / (a + 1 + k))
                return (total + k) / (own + 1 + k) * y, more

            found = series(log, steps, 1 / own)
        slope = wrap((np.where(swapped, x, -x) * found).astype(out._array.dtype))
        return slope * (grads[0] - (out * grads[0]).sum(-1, True))


# Functions of the concentrations; those of a Dirichlet distribution are the last dimension.
draw_gamma: Callable[[Tensor], Tensor] = _Gamma.apply
draw_dirichlet: Callable[[Tensor], Tensor] = _Dirichlet.apply


# The distributions.


LOG_2_PI = math.log(2 * math.pi)


class Normal(Family, loc=c.real, scale=c.positive):
    """Density exp(-(x - loc)² / (2 scale²)) / (scale √(2π)).

    Args:
        loc: the mean.
        scale: the standard deviation.
        validate_args: whether to check parameters and values. Default: True.

    Raises:
        ValueError: if ``scale`` is not positive.
    """

    support = c.real
    mean = mode = formula(lambda self: self.loc)
    stddev = formula(lambda self: self.scale)
    variance = formula(lambda self: self.stddev.pow(2))
    _draw = by(lambda shape, m, s: m + _standard_normal(shape, m.dtype) * s)
    _log_prob = by(lambda x, m, s: -((x - m) ** 2) / (2 * s**2) - s.log() - 0.5 * LOG_2_PI)
    _cdf = by(lambda x, m, s: 0.5 * (1 + ((x - m) * s.reciprocal() / math.sqrt(2)).erf()))
    icdf = by(lambda p, m, s: m + s * (2 * p - 1).erfinv() * math.sqrt(2))
    entropy = by(lambda m, s: 0.5 + 0.5 * LOG_2_PI + s.log())

    def _kl(self, q: Self) -> Tensor:
        ratio = (self.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((self.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


class Uniform(Family, low=c.real, high=c.real):
    """Constant density in [low, high).

    Args:
        low, high: the bounds.
        validate_args: whether to check parameters and values. Default: True.

    Raises:
        ValueError: if ``low`` is not less than ``high``.
    """

    @property
    def arg_constraints(self) -> Mapping[str, Constraint]:  # type: ignore[override]
        """The constraints: ``low`` is less than ``high``."""
        return {"low": c.LessThan(self.high), "high": c.GreaterThan(self.low)}

    support = dependent_property(lambda self: c.Interval(self.low, self.high), event_dim=0)
    mean = formula(lambda self: (self.high + self.low) / 2)
    mode = formula(lambda self: math.nan * self.high)
    variance = formula(lambda self: (self.high - self.low).pow(2) / 12)
    _draw = by(lambda shape, low, high: low + low.new_empty(shape).uniform_() * (high - low))
    _log_prob = by(
        lambda x, low, high: (low.le(x) & high.gt(x)).to(low.dtype).log() - (high - low).log()
    )
    _cdf = by(lambda x, low, high: ((x - low) / (high - low)).clamp(min=0, max=1))
    icdf = by(lambda p, low, high: p * (high - low) + low)
    entropy = by(lambda low, high: (high - low).log())

    def _kl(self, q: Self) -> Tensor:
        beyond = (q.low > self.low) | (q.high < self.high)
        return (q.entropy() - self.entropy()).masked_fill(beyond, math.inf)


class Exponential(Family, rate=c.positive):
    """Density rate · exp(-rate · x) for x ≥ 0.

    Args:
        rate: the reciprocal of the mean.
        validate_args: whether to check parameters and values. Default: True.
    """

    support = c.nonnegative
    mean = stddev = formula(lambda self: self.rate.reciprocal())
    mode = formula(lambda self: 0 * self.rate)
    variance = formula(lambda self: self.rate.pow(-2))
    _draw = by(lambda shape, rate: rate.new_empty(shape).exponential_() / rate)
    _log_prob = by(lambda x, rate: rate.log() - rate * x)
    _cdf = by(lambda x, rate: 1 - (-rate * x).exp())
    icdf = by(lambda p, rate: -(-p).log1p() / rate)
    entropy = by(lambda rate: 1.0 - rate.log())

    def _kl(self, q: Self) -> Tensor:
        ratio = q.rate / self.rate
        return ratio - ratio.log() - 1


class Laplace(Family, loc=c.real, scale=c.positive):
    """Density exp(-|x - loc| / scale) / (2 scale).

    Args:
        loc: the mean.
        scale: the mean distance from ``loc``.
        validate_args: whether to check parameters and values. Default: True.
    """

    support = c.real
    mean = mode = formula(lambda self: self.loc)
    variance = formula(lambda self: 2 * self.scale.pow(2))
    _log_prob = by(lambda x, m, s: -(2 * s).log() - (x - m).abs() / s)
    _cdf = by(lambda x, m, s: 0.5 - 0.5 * (x - m).sign() * (-(x - m).abs() / s).expm1())
    _quantile = by(lambda u, m, s: m - s * u.sign() * (-u.abs()).log1p())  # of u = 2 p - 1
    entropy = by(lambda m, s: 1 + (2 * s).log())

    def _draw(self, shape: Size) -> Tensor:
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self._quantile(u)

    def icdf(self, value: Tensor) -> Tensor:
        return self._quantile(2 * value - 1)

    def _kl(self, q: Self) -> Tensor:
        apart, ratio = (self.loc - q.loc).abs(), self.scale / q.scale
        return -ratio.log() + apart / q.scale + ratio * (-apart / self.scale).exp() - 1


class Gamma(Family, concentration=c.positive, rate=c.positive):
    """Density proportional to x^(concentration - 1) · exp(-rate · x) for x ≥ 0.

    Args:
        concentration, rate: the numbers in the formula; the mean is concentration / rate.
        validate_args: whether to check parameters and values. Default: True.
    """

    support = c.nonnegative
    mean = formula(lambda self: self.concentration / self.rate)
    mode = formula(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = formula(lambda self: self.concentration / self.rate.pow(2))
    _log_prob = by(lambda x, a, b: xlogy(a, b) + xlogy(a - 1, x) - b * x - a.lgamma())
    entropy = by(lambda a, b: a - b.log() + a.lgamma() + (1.0 - a) * a.digamma())

    def _draw(self, shape: Size) -> Tensor:
        value = draw_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def _kl(self, q: Self) -> Tensor:
        a, b = self.concentration, q.concentration
        powers = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
        return b * (self.rate / q.rate).log() + powers + (q.rate - self.rate) * (a / self.rate)


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """The logarithm of the beta function."""
    return a.lgamma() + b.lgamma() - (a + b).lgamma()


class Beta(Family, concentration1=c.positive, concentration0=c.positive):
    """Density proportional to x^(concentration1 - 1) · (1 - x)^(concentration0 - 1) in [0, 1].

    Args:
        concentration1, concentration0: the numbers in the formula.
        validate_args: whether to check parameters and values. Default: True.
    """

    support = c.unit_interval
    mean = property(by(lambda a, b: a / (a + b)))
    variance = property(by(lambda a, b: a * b / ((a + b).pow(2) * (a + b + 1))))
    _log_prob = by(lambda x, a, b: xlogy(a - 1, x) + xlogy(b - 1, 1 - x) - log_beta(a, b))

    @property
    def mode(self) -> Tensor:
        """The mode; at 0 and 1, with PyTorch's choice."""
        a, b = self.concentration1, self.concentration0
        above, below = (a - 1).clamp(min=0), (b - 1).clamp(min=0)
        return (above / (above + below)).masked_fill((a < 1) & (b < 1), 1.0)

    def _draw(self, shape: Size) -> Tensor:
        both = self.concentration1.expand(shape), self.concentration0.expand(shape)
        return draw_dirichlet(ops.stack(both, -1)).select(-1, 0)

    def entropy(self) -> Tensor:
        return -self._kl(Beta(ops.ones_like(self.mean), 1.0))  # whose density is 1

    def _kl(self, q: Self) -> Tensor:
        (a, b), (other_a, other_b) = self._held(), q._held()
        total = (a + b).digamma()
        logs = (a - other_a) * (a.digamma() - total) + (b - other_b) * (b.digamma() - total)
        return log_beta(other_a, other_b) - log_beta(a, b) + logs

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Poisson(Family, rate=c.nonnegative):
    """Counts k with probability rate^k · exp(-rate) / k!.

    Args:
        rate: the mean.
        validate_args: whether to check parameters and values. Default: True.
    """

    support = c.nonnegative_integer
    mean = variance = formula(lambda self: self.rate)
    mode = formula(lambda self: self.rate.floor())
    _draw = by(lambda shape, rate: map_numbers(one_poisson, rate.expand(shape)))
    _log_prob = by(lambda k, rate: xlogy(k, rate) - rate - (k + 1).lgamma())
    _kl = by(lambda q, rate: rate * (rate.log() - q.rate.log()) - (rate - q.rate))


class Weighted(Family):
    """The base of families with probabilities or logits: of the value 1, or of several values.

    For several values they are the last dimension; given ones are then normalized.
    """

    total_count: Any = 1
    _several = formula(lambda self: self._declared["probs"].event_dim > 0)
    mean = formula(lambda self: self.total_count * self.probs)
    variance = formula(lambda self: self.mean * (1 - self.probs))

    def _given(self, name: str, value: Tensor) -> Tensor:
        value = super()._given(name, value)
        if not self._several:
            return value
        self._num_events = value.shape[-1]
        return value / value.sum(-1, True) if name == "probs" else value - value.logsumexp(-1, True)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities; for a single one log(probs / (1 - probs))."""
        eps = finfo(self.probs.dtype).eps
        probs = self.probs.clamp(min=eps, max=1 - eps)  # keeps logarithms finite
        return probs.log() if self._several else probs.log() - (-probs).log1p()

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities of all values, or the probability of 1."""
        return self.logits.softmax(-1) if self._several else self.logits.sigmoid()

    def _drawn(self, shape: Size) -> Tensor:
        """Random indices of values."""
        rows = self.probs.detach().reshape(-1, self._num_events)
        count = math.prod(shape[: len(shape) - len(self._batch_shape)])
        return ops.multinomial(rows, count, True).T.reshape(shape)

    def _uncertainty(self) -> Tensor:
        """The entropy of one random index."""
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)


class Bernoulli(Weighted, either="probs logits", probs=c.unit_interval, logits=c.real):
    """The value 1 with probability ``probs``, else 0.

    Args:
        probs: the probability of 1.
        logits: log(probs / (1 - probs)), instead of ``probs``.
        validate_args: whether to check parameters and values. Default: True.

    Raises:
        ValueError: unless exactly one is given; if a probability is outside [0, 1].
    """

    support = c.boolean
    _values = formula(lambda self: self.probs.new_tensor([0, 1]))

    @property
    def mode(self) -> Tensor:
        """The more probable value; nan where both are equally probable."""
        most = (self.probs >= 0.5).to(self.probs.dtype)
        return most.masked_fill(self.probs.eq(0.5), math.nan)

    def _draw(self, shape: Size) -> Tensor:
        return ops.bernoulli(self.probs.expand(shape))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -x * softplus(-self.logits) - (1 - x) * softplus(self.logits)

    def entropy(self) -> Tensor:
        return -self._log_prob(self.probs)

    def _kl(self, q: Self) -> Tensor:
        ones = self.probs * (softplus(-q.logits) - softplus(-self.logits))
        zeros = (1 - self.probs) * (softplus(q.logits) - softplus(self.logits))
        return finite_terms(ones, self.probs, q.probs) + finite_terms(
            zeros, 1 - self.probs, 1 - q.probs
        )


def finite_terms(terms: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Terms of a divergence, with their limits where a probability is 0."""
    return terms.masked_fill(q.eq(0), math.inf).masked_fill(p.eq(0), 0.0)


class Categorical(Weighted, either="probs logits", probs=c.simplex, logits=c.real_vector):
    """An index 0, 1, ... with the probabilities along the last dimension.

    Args:
        probs: the probabilities, up to a factor.
        logits: their logarithms, up to a summand, instead of ``probs``.
        validate_args: whether to check parameters and values. Default: True.

    Raises:
        ValueError: unless exactly one is given; if a probability is negative.
    """

    support = dependent_property(
        lambda self: c.IntegerInterval(0, self._num_events - 1), event_dim=0, is_discrete=True
    )
    mean = variance = formula(lambda self: math.nan * self.probs[..., 0])
    mode = formula(lambda self: self.probs.argmax(dim=-1))
    _values = formula(lambda self: arange(self._num_events))
    _draw, entropy = Weighted._drawn, Weighted._uncertainty

    def _log_prob(self, x: Tensor) -> Tensor:
        index, logits = ops.broadcast_tensors(x.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def _kl(self, q: Self) -> Tensor:
        return finite_terms(self.probs * (self.logits - q.logits), self.probs, q.probs).sum(-1)


class Multinomial(Weighted, either="probs logits", probs=c.simplex, logits=c.real_vector):
    """The count of each index in several draws of a `Categorical`.

    Args:
        total_count: the number of draws. Default: 1.
        probs, logits, validate_args: see `Categorical`.

    Raises:
        NotImplementedError: if ``total_count`` is not an int.
    """

    def __init__(
        self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._begin(validate_args, probs=probs, logits=logits)

    support = dependent_property(
        lambda self: c.Multinomial(self.total_count), event_dim=1, is_discrete=True
    )

    def _draw(self, shape: Size) -> Tensor:
        drawn = self._drawn(Size((self.total_count, *shape[:-1]))).movedim(0, -1)
        found = drawn.new_zeros(shape).scatter_add_(-1, drawn, ops.ones_like(drawn))
        return found.type_as(self.probs)

    def _log_prob(self, x: Tensor) -> Tensor:
        ways = (x.sum(-1) + 1).lgamma() - (x + 1).lgamma().sum(-1)
        return ways + ops.where(x == 0, 0.0, x * self.logits).sum(-1)

    def entropy(self) -> Tensor:
        """The entropy, from the mean log-factorial of each count, which is binomial."""
        n, p = self.total_count, self.probs
        k = arange(n + 1, dtype=p.dtype).reshape(-1, *(1,) * p.ndim)
        logs = math.lgamma(n + 1) - (k + 1).lgamma() - (n - k + 1).lgamma()
        chance = (logs + xlogy(k, p) + xlogy(n - k, 1 - p)).exp()
        spread = (chance * (k + 1).lgamma()).sum([0, -1])
        return n * self._uncertainty() - math.lgamma(n + 1) + spread

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MultivariateNormal(
    Family, loc=c.real_vector, covariance_matrix=c.positive_definite,
    precision_matrix=c.positive_definite, scale_tril=c.lower_cholesky,
    either="covariance_matrix precision_matrix scale_tril",
):  # fmt: skip
    """Normal vectors with a mean and a covariance in one of three forms.

    Args:
        loc: the mean, (..., K).
        covariance_matrix: the covariance, (..., K, K).
        precision_matrix: the inverse of the covariance.
        scale_tril: the lower Cholesky factor of the covariance.
        validate_args: whether to check parameters and values. Default: True.

    Raises:
        ValueError: unless exactly one form is given.
    """

    support = c.real_vector

    def _begin(self, validate_args: bool | None = None, **given: Any) -> None:
        super()._begin(validate_args, **given)
        covariance, precision, factor = map(given.get, self._either)
        if covariance is not None:
            factor = linalg.cholesky(covariance)
        if precision is not None:
            inverse = linalg.cholesky(precision.flip(-2, -1)).flip(-2, -1).mT
            one = ops.eye(precision.shape[-1], dtype=precision.dtype)
            factor = linalg.solve_triangular(inverse, one, upper=False)
        self._unbroadcasted_scale_tril = factor

    def _wide(self, matrix: Tensor) -> Tensor:
        """A matrix, expanded to the whole batch."""
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    _factor = formula(lambda self: self._unbroadcasted_scale_tril)
    _covariance = formula(lambda self: self._factor @ self._factor.mT)
    scale_tril = lazy_property(lambda self: self._wide(self._factor))
    covariance_matrix = lazy_property(lambda self: self._wide(self._covariance))
    precision_matrix = lazy_property(lambda self: self._wide(self._covariance.inverse()))
    mean = mode = formula(lambda self: self.loc)
    variance = formula(lambda self: self._factor.pow(2).sum(-1).expand(self._extended_shape()))

    def _draw(self, shape: Size) -> Tensor:
        noise = _standard_normal(shape, self.loc.dtype)
        return self.loc + (self._factor @ noise.unsqueeze(-1)).squeeze(-1)

    def _log_prob(self, x: Tensor) -> Tensor:
        distance = mahalanobis(self._factor, x - self.loc)
        return -0.5 * (self._event_shape[0] * LOG_2_PI + distance) - half_log_det(self._factor)

    def entropy(self) -> Tensor:
        """K / 2 · (1 + log(2π)) + log det(scale_tril)."""
        found = 0.5 * self._event_shape[0] * (1.0 + LOG_2_PI) + half_log_det(self._factor)
        return found.expand(self._batch_shape)

    def _kl(self, q: Self) -> Tensor:
        if self._event_shape != q._event_shape:
            raise ValueError(
                "KL-divergence between two Multivariate Normals with different event shapes cannot "
                "be computed"
            )
        factors = ops.broadcast_tensors(q._factor, self._factor)
        trace = linalg.solve_triangular(*factors, upper=False).pow(2).sum([-2, -1])
        distance = mahalanobis(q._factor, q.loc - self.loc)
        sizes = half_log_det(q._factor) - half_log_det(self._factor)
        return sizes + 0.5 * (trace + distance - self._event_shape[0])


def mahalanobis(factor: Tensor, apart: Tensor) -> Tensor:
    """The squared Mahalanobis distance, from a Cholesky factor and differences from the mean."""
    column = apart.unsqueeze(-1)
    return linalg.solve_triangular(factor, column, upper=False).squeeze(-1).pow(2).sum(-1)


def half_log_det(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular matrix: half that of the covariance."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
