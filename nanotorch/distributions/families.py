"""Further distributions, each by its formulas."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

from nanotorch import linalg, ops
from nanotorch._core.dtypes import Size, finfo
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.distributions import constraints
from nanotorch.distributions.constraints import Constraint
from nanotorch.distributions.distribution import (
    EMPTY,
    Categorical,
    Distribution,
    broadcast_all,
    formula,
    standard_normal,
)
from nanotorch.distributions.sampling import sample_dirichlet, sample_gamma, sample_poisson
from nanotorch.nn.functional import one_hot
from nanotorch.ops.binary import xlogy

Constraints = Mapping[str, Constraint]


class Family(Distribution):
    """A distribution of single numbers whose parameters broadcast; they are named by
    ``arg_constraints``, in that order.

    Args:
        given: the parameters, and whether they and values are checked. Default: True.
        named: the same by their names.

    Raises:
        ValueError: for parameters that it does not have.
        TypeError: for one too many, or one that is missing.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        names = [*self.arg_constraints, "validate_args"]
        values = dict(zip(names, given, strict=False)) | named
        if len(given) > len(names) or values.keys() - set(names) or len(values) < len(names) - 1:
            raise TypeError(f"{type(self).__name__}() takes {', '.join(names)}")
        validate = values.pop("validate_args", None)
        tensors = broadcast_all(*(values[name] for name in self.arg_constraints))
        vars(self).update(zip(self.arg_constraints, tensors, strict=True))
        super().__init__(tensors[0].shape, validate_args=validate)


class Exponential(Family):
    """Density rate · exp(-rate · x) of x ≥ 0."""

    arg_constraints: ClassVar[Constraints] = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    rate: Tensor

    mean = formula(lambda self: self.rate.reciprocal())
    stddev = formula(lambda self: self.mean)
    mode = formula(lambda self: 0 * self.rate)
    variance = formula(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return ops.empty(shape, dtype=self.rate.dtype).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 1 - ops.exp(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -ops.log1p(-value) / self.rate

    def entropy(self) -> Tensor:
        """1 - log(rate)."""
        return 1.0 - ops.log(self.rate)


class Laplace(Family):
    """Density exp(-|x - loc| / scale) / (2 scale)."""

    arg_constraints: ClassVar[Constraints] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    loc: Tensor
    scale: Tensor

    mean = formula(lambda self: self.loc)
    mode = formula(lambda self: self.mean)
    variance = formula(lambda self: 2 * self.scale.pow(2))
    stddev = formula(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        shape, kind = self._extended_shape(sample_shape), self.loc.dtype
        u = ops.empty(shape, dtype=kind).uniform_(finfo(kind).eps - 1, 1)
        return self.loc - self.scale * u.sign() * ops.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -ops.log(2 * self.scale) - ops.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        apart = value - self.loc
        return 0.5 - 0.5 * apart.sign() * ops.expm1(-apart.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * ops.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        """1 + log(2 scale)."""
        return 1 + ops.log(2 * self.scale)


class Gamma(Family):
    """Density proportional to x^(concentration - 1) · exp(-rate · x) of x ≥ 0."""

    arg_constraints: ClassVar[Constraints] = {
        "concentration": constraints.positive,
        "rate": constraints.positive,
    }
    support = constraints.nonnegative
    has_rsample = True
    concentration: Tensor
    rate: Tensor

    mean = formula(lambda self: self.concentration / self.rate)
    mode = formula(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = formula(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = sample_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        value = ops.as_tensor(value, dtype=self.rate.dtype)
        return (
            xlogy(self.concentration, self.rate) + xlogy(self.concentration - 1, value)
            - self.rate * value - ops.lgamma(self.concentration)
        )  # fmt: skip

    def entropy(self) -> Tensor:
        """a - log(rate) + log Γ(a) + (1 - a) ψ(a); a: the concentration."""
        a = self.concentration
        return a - ops.log(self.rate) + ops.lgamma(a) + (1.0 - a) * ops.digamma(a)


class Poisson(Family):
    """Counts with the probability rate^k · exp(-rate) / k!."""

    arg_constraints: ClassVar[Constraints] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    mean = formula(lambda self: self.rate)
    variance = formula(lambda self: self.mean)
    mode = formula(lambda self: self.rate.floor())

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        with no_grad():
            return sample_poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return xlogy(value, rate) - rate - (value + 1).lgamma()


class Dirichlet(Distribution):
    """Vectors of the simplex with a density proportional to the product of x^(concentration - 1).

    Args:
        concentration: (..., K), positive.
        validate_args: whether parameters and values are checked. Default: True.
    """

    arg_constraints: ClassVar[Constraints] = {
        "concentration": constraints.IndependentConstraint(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def _expanded(self, batch_shape: Size) -> dict[str, Any]:
        return {"concentration": self.concentration.expand((*batch_shape, *self.event_shape))}

    mean = formula(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self) -> Tensor:
        """The corner of the largest concentration, if all are below 1."""
        above = (self.concentration - 1).clamp(min=0.0)
        corner = one_hot(self.concentration.argmax(-1), self.event_shape[0]).to(above.dtype)
        inner = (self.concentration < 1).all(-1, True).logical_not()
        return ops.where(inner, above / above.sum(-1, True), corner)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        rest = total - self.concentration
        return self.concentration * rest / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a = self.concentration
        return xlogy(a - 1.0, value).sum(-1) + ops.lgamma(a.sum(-1)) - ops.lgamma(a).sum(-1)

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        spread = (k - total) * ops.digamma(total) + ((a - 1.0) * ops.digamma(a)).sum(-1)
        return ops.lgamma(a).sum(-1) - ops.lgamma(total) - spread


class Beta(Family):
    """Density proportional to x^(concentration1 - 1) · (1 - x)^(concentration0 - 1) in [0, 1]."""

    arg_constraints: ClassVar[Constraints] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    concentration1: Tensor
    concentration0: Tensor

    @cached_property
    def _dirichlet(self) -> Dirichlet:
        both = ops.stack([self.concentration1, self.concentration0], -1)
        return Dirichlet(both, validate_args=False)

    mean = formula(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        inner = (a - 1) / (a + b - 2)  # between the ends if both are above 1
        ends = ops.where(a < b, 0.0, 1.0).to(inner.dtype)
        ends = ends.masked_fill((a < 1) & (b < 1) | ((a == 1) & (b == 1)), float("nan"))
        return ops.where((a > 1) & (b > 1), inner, ends)

    @property
    def variance(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return a * b / ((a + b).pow(2) * (a + b + 1))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._dirichlet.log_prob(ops.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Multinomial(Distribution):
    """How often each number is drawn in several draws of a `Categorical`.

    Args:
        total_count: how many draws.
        probs, logits, validate_args: as `Categorical` has them.

    Raises:
        NotImplementedError: for a number of draws that differs within the batch.
    """

    arg_constraints: ClassVar[Constraints] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }

    def __init__(
        self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.probs.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        table = self._categorical.expand(batch_shape).logits
        return type(self)(self.total_count, logits=table)

    probs = formula(lambda self: self._categorical.probs)
    logits = formula(lambda self: self._categorical.logits)
    support = formula(lambda self: constraints.multinomial(self.total_count))
    mean = formula(lambda self: self.probs * self.total_count)
    variance = formula(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, ops.ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = ops.lgamma(value.sum(-1) + 1) - ops.lgamma(value + 1).sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        n, p = self.total_count, self.probs
        counts = ops.arange(1, n + 1, dtype=p.dtype).reshape(-1, *(1,) * p.ndim)
        rest = n - counts
        ways = math.lgamma(n + 1) - ops.lgamma(counts + 1) - ops.lgamma(rest + 1)
        binomial = ops.exp(ways + xlogy(counts, p) + xlogy(rest, 1 - p))
        spread = (binomial * ops.lgamma(counts + 1)).sum([0, -1])
        return n * self._categorical.entropy() - math.lgamma(n + 1) + spread


class MultivariateNormal(Distribution):
    """Normal vectors with a mean and a covariance, which is given in one of three forms.

    Args:
        loc: (..., K).
        covariance_matrix: (..., K, K).
        precision_matrix: its inverse.
        scale_tril: its lower factor of Cholesky.
        validate_args: whether parameters and values are checked. Default: True.

    Raises:
        ValueError: if not exactly one form is given.
    """

    arg_constraints: ClassVar[Constraints] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    loc: Tensor

    def __init__(
        self, loc: Tensor, covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None, scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        forms = {
            "covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }  # fmt: skip
        given = [(name, form) for name, form in forms.items() if form is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        name, form = given[0]
        if form.ndim < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = ops.broadcast_shapes(form.shape[:-2], loc.shape[:-1])
        vars(self)[name] = form.expand((*batch, *form.shape[-2:]))
        self.loc = loc.expand((*batch, loc.shape[-1]))
        super().__init__(Size(batch), loc.shape[-1:], validate_args)
        if name == "scale_tril":
            self._factor = form
        elif name == "covariance_matrix":
            self._factor = linalg.cholesky(form)
        else:
            self._factor = factor_of_inverse(form)

    def _expanded(self, batch_shape: Size) -> dict[str, Any]:
        k = self.event_shape[0]
        names = [name for name in self.arg_constraints if name in vars(self) and name != "loc"]
        found = {name: vars(self)[name].expand((*batch_shape, k, k)) for name in names}
        return found | {"loc": self.loc.expand((*batch_shape, k)), "_factor": self._factor}

    @cached_property
    def scale_tril(self) -> Tensor:
        """The lower factor of Cholesky of the covariance."""
        k = self.event_shape[0]
        return self._factor.expand((*self.batch_shape, k, k))

    @cached_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        k = self.event_shape[0]
        return (self._factor @ self._factor.mT).expand((*self.batch_shape, k, k))

    @cached_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        k = self.event_shape[0]
        inverse = ops.inverse(self._factor @ self._factor.mT)
        return inverse.expand((*self.batch_shape, k, k))

    mean = formula(lambda self: self.loc)
    mode = formula(lambda self: self.mean)

    @property
    def variance(self) -> Tensor:
        total = self._factor.pow(2).sum(-1)
        return total.expand((*self.batch_shape, *self.event_shape))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        noise = standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + ops.matmul(self._factor, noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        distance = mahalanobis(self._factor, value - self.loc)
        scale = half_log_det(self._factor)
        return -0.5 * (self.event_shape[0] * math.log(2 * math.pi) + distance) - scale

    def entropy(self) -> Tensor:
        """K / 2 · (1 + log(2π)) + log det(scale_tril)."""
        k = self.event_shape[0]
        found = 0.5 * k * (1.0 + math.log(2 * math.pi)) + half_log_det(self._factor)
        return found.expand(self.batch_shape)


def factor_of_inverse(matrix: Tensor) -> Tensor:
    """The lower factor of Cholesky of a matrix's inverse."""
    inverse = ops.flip(linalg.cholesky(ops.flip(matrix, (-2, -1))), (-2, -1)).mT
    one = ops.eye(matrix.shape[-1], dtype=matrix.dtype)
    return linalg.solve_triangular(inverse, one, upper=False)


def mahalanobis(factor: Tensor, apart: Tensor) -> Tensor:
    """The squared length of vectors in units of the deviations that a factor stands for."""
    column = apart.unsqueeze(-1)
    return linalg.solve_triangular(factor, column, upper=False).squeeze(-1).pow(2).sum(-1)


def half_log_det(factor: Tensor) -> Tensor:
    """The logarithm of the determinant of a triangular matrix."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
