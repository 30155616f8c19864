"""The normal distribution."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from nanotorch import ops
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.distributions import constraints
from nanotorch.distributions.constraints import Constraint
from nanotorch.distributions.distribution import EMPTY, Distribution, broadcast_all


class Normal(Distribution):
    """Density exp(-(x - loc)² / (2 scale²)) / (scale √(2π)).

    Args:
        loc: the mean.
        scale: the standard deviation.
        validate_args: whether parameters and values are checked. Default: True.

    Raises:
        ValueError: for a scale that is not positive.
    """

    arg_constraints: ClassVar[Mapping[str, Constraint]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean of samples."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The most probable sample."""
        return self.loc

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of samples."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance of samples."""
        return self.stddev.pow(2)

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples without gradient."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples whose gradient goes on to the parameters."""
        shape, kind = self._extended_shape(sample_shape), self.loc.dtype
        noise = ops.normal(ops.zeros(shape, dtype=kind), ops.ones(shape, dtype=kind))
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        exponent = -((value - self.loc) ** 2) / (2 * self.scale**2)
        return exponent - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of samples up to a value."""
        self._validate_sample(value)
        deviations = (value - self.loc) * self.scale.reciprocal()
        return 0.5 * (1 + (deviations / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which samples have a probability."""
        return self.loc + self.scale * ops.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """(1 + log(2π)) / 2 + log(scale)."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + ops.log(self.scale)
