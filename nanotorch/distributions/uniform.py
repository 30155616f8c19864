"""The uniform and the exponential distribution."""

from collections.abc import Mapping
from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.distributions import constraints
from nanotorch.distributions.constraints import Constraint
from nanotorch.distributions.distribution import EMPTY, Distribution, broadcast_all


class Uniform(Distribution):
    """Equal density from ``low`` to ``high``, which itself is not drawn.

    Args:
        low, high: the bounds.
        validate_args: whether parameters and values are checked. Default: True.

    Raises:
        ValueError: if a lower bound is not below the upper one.
    """

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self) -> Mapping[str, Constraint]:  # type: ignore[override]
        """Each bound is on its side of the other."""
        return {
            "low": constraints.LessThan(self.high),
            "high": constraints.GreaterThan(self.low),
        }

    @property
    def support(self) -> Constraint:
        """The interval."""
        return constraints.Interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        """The mean of samples."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        """nan: no value is more probable than others."""
        return float("nan") * self.high

    @property
    def variance(self) -> Tensor:
        """The variance of samples."""
        return (self.high - self.low).pow(2) / 12

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of samples."""
        return (self.high - self.low) / 12**0.5

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples whose gradient goes on to the bounds."""
        noise = ops.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + noise * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return ops.log(inside) - ops.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of samples up to a value."""
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which samples have a probability."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """The logarithm of the interval's length."""
        return ops.log(self.high - self.low)
