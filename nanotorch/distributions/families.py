"""Distributions, each declared by its parameters and formulas.

The gamma, Dirichlet, Poisson and binomial samplers use PyTorch's algorithms.
"""

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Self

import numpy as np

from nanotorch import linalg, ops
from nanotorch._core.dtypes import Size, finfo
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.autograd.function import Function
from nanotorch.distributions import constraints as c
from nanotorch.distributions.constraints import (
    Constraint,
    dependent_property,
    with_event_dims,
)
from nanotorch.distributions.distribution import (
    EMPTY,
    Distribution,
    Family,
    _standard_normal,
    by,
    formula,
    lazy_property,
    register_kl,
)
from nanotorch.nn.functional import logsigmoid, one_hot, softplus
from nanotorch.ops.activation import digamma
from nanotorch.ops.arguments import require
from nanotorch.ops.binary import xlogy
from nanotorch.ops.creation import arange, eye, full_like
from nanotorch.ops.joining import stack
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


def one_binomial(count: Any, chance: Any, kind: Any) -> Any:
    """A binomial sample: by waiting times for means below 10, else by Hörmann's rejection."""
    n, p = kind(count), kind(chance)
    if not (n > 0 and p > 0):
        return abs(0 * n * p)
    if p > 0.5:
        return n - one_binomial(n, kind(1) - p, kind)
    if n * p < 10:
        waited, found, log = 0.0, 0, math.log1p(-p)
        while (waited := waited + math.ceil(math.log(uniform()) / log)) <= n:
            found += 1
        return found
    stddev, odds = math.sqrt(n * p * (1 - p)), math.log(p / (1 - p))
    b = 1.15 + 2.53 * stddev
    a, border = -0.0873 + 0.0248 * b + 0.01 * float(p), 0.92 - 4.2 / b
    mode = math.floor((n + 1) * p)

    def log_weight(k: int) -> float:
        return k * odds - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    while True:
        u, v = uniform() - 0.5, uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + float(n * p) + 0.5)
        if not 0 <= k <= n:
            continue
        if us >= 0.07 and v <= border:
            return k
        left = math.log(v * (2.83 + 5.1 / b) * stddev / (a / (us * us) + b))
        if left <= log_weight(k) - log_weight(mode):
            return k


def map_numbers(function: Callable[..., float], *values: Tensor) -> Tensor:
    """The results of a function for each number, in order, as a tensor of the same shape.

    Args:
        values: one tensor for each argument of ``function``, all of one shape.
    """
    array = values[0]._array
    rows = zip(*(v._array.ravel().tolist() for v in values), strict=True)
    return wrap(np.array([function(*row) for row in rows], array.dtype).reshape(array.shape))


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


class Beta(Family, concentration1=c.positive, concentration0=c.positive):
    """Density proportional to x^(concentration1 - 1) · (1 - x)^(concentration0 - 1) in [0, 1].

    Args:
        concentration1, concentration0: the numbers in the formula.
        validate_args: whether to check parameters and values. Default: True.
    """

    support = c.unit_interval
    mean = property(by(lambda a, b: a / (a + b)))
    variance = property(by(lambda a, b: a * b / ((a + b).pow(2) * (a + b + 1))))
    _shares = formula(by(lambda a, b: Dirichlet(stack([a, b], -1), validate_args=False)))
    mode = formula(lambda self: self._shares.mode.select(-1, 0))
    _draw = formula(lambda self: lambda shape: self._shares._draw((*shape, 2)).select(-1, 0))
    entropy = formula(lambda self: self._shares.entropy)
    _log_prob = formula(lambda self: lambda x: self._shares._log_prob(stack([x, 1 - x], -1)))

    def _kl(self, q: Self) -> Tensor:
        return self._shares._kl(q._shares)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Dirichlet(Family, concentration=with_event_dims(c.positive, 1)):
    """Vectors with sum 1, with a density proportional to the product of x^(concentration - 1).

    Args:
        concentration: the numbers in the formula, (..., K).
        validate_args: whether to check parameters and values. Default: True.

    Raises:
        ValueError: if ``concentration`` has no dimension.
    """

    support = c.simplex
    mean = property(by(lambda a: a / a.sum(-1, True)))
    variance = formula(lambda self: self._alone.variance)
    _draw = by(lambda shape, a: draw_dirichlet(a.expand(shape)))
    _log_prob = by(lambda x, a: xlogy(a - 1, x).sum(-1) - log_norm(a))
    # Each entry has a beta distribution.
    _alone = property(by(lambda a: Beta(a, a.sum(-1, True) - a, validate_args=False)))

    @property
    def mode(self) -> Tensor:
        """The mode; if all concentrations are below 1, the first corner, as PyTorch chooses."""
        above = (self.concentration - 1).clamp(min=0)
        corner = one_hot(above.argmax(-1), above.shape[-1]).to(above.dtype)
        below = (self.concentration < 1).all(-1, True)
        return ops.where(below, corner, above / above.sum(-1, True))

    def entropy(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1)
        logs = ((a - 1) * a.digamma()).sum(-1) + (a.shape[-1] - total) * total.digamma()
        return log_norm(a) - logs

    def _kl(self, q: Self) -> Tensor:
        a, b = self.concentration, q.concentration
        logs = ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)
        return log_norm(b) - log_norm(a) + logs


def log_norm(a: Tensor) -> Tensor:
    """The logarithm of the beta function of the last dimension."""
    return a.lgamma().sum(-1) - a.sum(-1).lgamma()


EULER = float(np.euler_gamma)


class Gumbel(Family, loc=c.real, scale=c.positive):
    """Density exp(-z - exp(-z)) / scale with z = (x - loc) / scale.

    Args:
        loc: the mode.
        scale: the number in the formula.
        validate_args: whether to check parameters and values. Default: True.
    """

    support = c.real
    mean = formula(lambda self: self.loc + self.scale * EULER)
    mode = formula(lambda self: self.loc)
    stddev = formula(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = formula(lambda self: self.stddev.pow(2))
    _log_prob = by(lambda x, m, s: (m - x) / s - ((m - x) / s).exp() - s.log())
    _cdf = by(lambda x, m, s: (-((m - x) / s).exp()).exp())
    icdf = by(lambda p, m, s: m - s * (-p.log()).log())
    entropy = by(lambda m, s: s.log() + (1 + EULER))

    def _draw(self, shape: Size) -> Tensor:
        kind = finfo(self.loc.dtype)
        return self.icdf(self.loc.new_empty(shape).uniform_(kind.tiny, 1 - kind.eps))


class StudentT(Family, df=c.positive, loc=c.real, scale=c.positive):
    """Density proportional to (1 + z² / df)^(-(df + 1) / 2) with z = (x - loc) / scale.

    Args:
        df: the degrees of freedom.
        loc: the mode. Default: 0.
        scale: the number in the formula. Default: 1.
        validate_args: whether to check parameters and values. Default: True.
    """

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self._begin(validate_args, df=df, loc=loc, scale=scale)

    support = c.real
    mode = formula(lambda self: self.loc)
    mean = property(by(lambda n, m, s: m.masked_fill(n <= 1, math.nan)))
    _moment = property(by(lambda n, m, s: (s.pow(2) * n / (n - 2)).masked_fill(n <= 2, math.inf)))
    variance = formula(lambda self: self._moment.masked_fill(self.df <= 1, math.nan))
    _norm = by(
        lambda n, m, s: (
            s.log() + 0.5 * (math.pi * n).log() + (0.5 * n).lgamma() - (0.5 * n + 0.5).lgamma()
        )
    )

    def _draw(self, shape: Size) -> Tensor:
        noise = _standard_normal(shape, self.df.dtype)
        squares = Gamma(0.5 * self.df, 0.5, validate_args=False)._draw(shape)
        return self.loc + self.scale * (noise * ops.rsqrt(squares / self.df))

    def _log_prob(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return -0.5 * (self.df + 1) * (z**2 / self.df).log1p() - self._norm()

    def entropy(self) -> Tensor:
        half = 0.5 * (self.df + 1)
        return half * (half.digamma() - (0.5 * self.df).digamma()) + self._norm()


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


class OneHotCategorical(Weighted, either="probs logits", probs=c.simplex, logits=c.real_vector):
    """A vector of zeros with a 1 at the index of a `Categorical`, which explains the arguments."""

    support = c.one_hot
    mode = formula(lambda self: self._hot(self.probs.argmax(-1)))
    _values = formula(lambda self: eye(self._num_events, dtype=self.probs.dtype))
    entropy, _kl = Weighted._uncertainty, Categorical._kl

    def _hot(self, index: Tensor) -> Tensor:
        return one_hot(index, self._num_events).to(self.probs.dtype)

    def _draw(self, shape: Size) -> Tensor:
        return self._hot(self._drawn(Size(shape[:-1])))

    def _log_prob(self, x: Tensor) -> Tensor:
        return Categorical._log_prob(self, x.argmax(-1))  # type: ignore[arg-type]

    __repr__ = Beta.__repr__


class Binomial(
    Weighted, either="probs logits", total_count=c.nonnegative_integer, probs=c.unit_interval,
    logits=c.real,
):  # fmt: skip
    """The number of ones in several draws of a `Bernoulli`.

    Args:
        total_count: the number of draws. Default: 1.
        probs, logits, validate_args: see `Bernoulli`.

    Raises:
        ValueError: unless exactly one of ``probs`` and ``logits`` is given.
        NotImplementedError: for the entropy and the support of different ``total_count``.
    """

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        weight = logits if probs is None else probs
        if isinstance(total_count, Tensor) and isinstance(weight, Tensor):
            total_count = total_count.type_as(weight)
        self._begin(validate_args, total_count=total_count, probs=probs, logits=logits)

    support = dependent_property(
        lambda self: c.IntegerInterval(0, self.total_count), event_dim=0, is_discrete=True
    )
    mode = property(by(lambda n, p, logits: ((n + 1) * p).floor().minimum(n)))
    _values = formula(lambda self: self._counts("enumerate_support"))

    def _counts(self, function: str) -> Tensor:
        most = int(self.total_count.max())
        if self.total_count.min() != most:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{function}`.")
        return arange(most + 1, dtype=self.total_count.dtype)

    def _draw(self, shape: Size) -> Tensor:
        kind = self.probs._array.dtype.type
        both = self.total_count.expand(shape), self.probs.expand(shape)
        return map_numbers(lambda n, p: one_binomial(n, p, kind), *both)

    def _log_prob(self, k: Tensor) -> Tensor:
        n = self.total_count
        ways = (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()
        return ways + k * self.logits + n * logsigmoid(-self.logits)

    def entropy(self) -> Tensor:
        counts = self._counts("entropy").view(-1, *[1] * len(self._batch_shape))
        log = self._log_prob(counts)
        return -(log.exp() * log).sum(0)

    def _kl(self, q: Self) -> Tensor:
        more = self.total_count > q.total_count
        if (self.total_count < q.total_count).any():
            raise NotImplementedError(
                "KL between Binomials where q.total_count > p.total_count is not implemented"
            )
        logs = (-self.probs).log1p() - (-q.probs).log1p()
        found = self.total_count * (self.probs * (self.logits - q.logits) + logs)
        return found.masked_fill(more, math.inf)


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


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower Cholesky factor of the inverse of a matrix."""
    inverse = linalg.cholesky(P.flip(-2, -1)).flip(-2, -1).mT
    return linalg.solve_triangular(inverse, ops.eye(P.shape[-1], dtype=P.dtype), upper=False)


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
            factor = _precision_to_scale_tril(precision)
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


class MixtureSameFamily(Distribution):
    """A mixture of the last batch dimension of a distribution.

    Args:
        mixture_distribution: a `Categorical` that selects the component.
        component_distribution: the components.
        validate_args: whether to check values. Default: True.

    Raises:
        ValueError: if the two have other types, or different numbers of components.
    """

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        message = "The {} distribution needs to be an instance of torch.distributions.{}"
        fits = isinstance(mixture_distribution, Categorical)
        require(fits, message, "Mixture", "Categorical", error=ValueError)
        fits = isinstance(component_distribution, Distribution)
        require(fits, message, "Component", "Distribution", error=ValueError)
        several = mixture_distribution.logits.shape[-1]
        *batch, count = component_distribution.batch_shape
        message = "`mixture_distribution component` ({}) does not equal "
        message += "`component_distribution.batch_shape[-1]` ({})"
        require(several == count, message, several, count, error=ValueError)
        super().__init__(Size(batch), component_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new: Self = self._get_checked_instance(MixtureSameFamily, _instance)
        components = self.component_distribution
        wide = components.expand((*batch_shape, components.batch_shape[-1]))
        chosen = self.mixture_distribution.expand(batch_shape)
        MixtureSameFamily.__init__(new, chosen, wide, self._validate_args)
        return new

    support = dependent_property(
        lambda self: c.MixtureSameFamilyConstraint(self.component_distribution.support)
    )
    mean = formula(lambda self: self._mean(self.component_distribution.mean))

    def _padded(self, x: Tensor) -> Tensor:
        """Values with a dimension for the components."""
        return x.unsqueeze(-1 - len(self._event_shape))

    def _mean(self, values: Tensor) -> Tensor:
        """The mean of one value for each component."""
        weights = self.mixture_distribution.probs
        weights = weights.reshape((*weights.shape, *[1] * len(self._event_shape)))
        return (weights * values).sum(-1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        """The mean variance of components plus the variance of their means."""
        apart = self.component_distribution.mean - self._padded(self.mean)
        return self._mean(self.component_distribution.variance + apart.pow(2))

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        index = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
        drawn = self.component_distribution.sample(sample_shape)
        shape = (*index.shape, 1, *self._event_shape)
        index = index.reshape((*index.shape, *[1] * (drawn.ndim - index.ndim))).expand(shape)
        dim = -1 - len(self._event_shape)
        return drawn.gather(dim, index).squeeze(dim)

    def _log_prob(self, x: Tensor) -> Tensor:
        logits = self.component_distribution.log_prob(self._padded(x))
        return (logits + self.mixture_distribution.logits).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        return self._mean(self.component_distribution.cdf(self._padded(value)))

    def __repr__(self) -> str:
        parts = f"{self.mixture_distribution},\n  {self.component_distribution}"
        return f"{type(self).__name__}(\n  {parts})"


# Divergences between families: the mean of -log q minus the entropy of p.


def from_normal(p: Any, q: Normal) -> Tensor:
    """The divergence from a normal distribution, which needs two moments only."""
    apart = p.variance + (p.mean - q.loc).pow(2)
    return 0.5 * (apart / q.scale.pow(2) + LOG_2_PI) + q.scale.log() - p.entropy()


def from_gumbel(power: Callable[[Any, Tensor], Tensor]) -> Callable[[Any, Any], Tensor]:
    """The divergence from a Gumbel distribution.

    Args:
        power: the mean of exp(-x * t), as a function of the other distribution and t.
    """

    def divergence(p: Any, q: Any) -> Tensor:
        apart = (p.mean - q.loc) / q.scale + (q.loc / q.scale).exp() * power(p, 1 / q.scale)
        return apart + q.scale.log() - p.entropy()

    return divergence


for _p, _power in (
    (Exponential, lambda p, t: p.rate / (p.rate + t)),
    (Gamma, lambda p, t: (1 + t / p.rate).pow(-p.concentration)),
    (Gumbel, lambda p, t: ((1 + p.scale * t).lgamma() - p.loc * t).exp()),
    (Normal, lambda p, t: (0.5 * (p.scale * t).pow(2) - p.loc * t).exp()),
    (Uniform, lambda p, t: ((-p.low * t).exp() - (-p.high * t).exp()) / (t * (p.high - p.low))),
):
    register_kl(_p, Gumbel)(from_gumbel(_power))
for _kind in (Beta, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_kind, Normal)(from_normal)
# Where q is zero and p is not, the divergence is infinite.
for _beyond, _within in (
    *product((Gumbel, Laplace, Normal), (Beta, Exponential, Gamma, Uniform)),
    *product((Exponential, Gamma), (Beta, Uniform)),
    *product([Poisson], (Bernoulli, Binomial)),
):
    register_kl(_beyond, _within)(lambda p, q: full_like(p.mean, math.inf))
