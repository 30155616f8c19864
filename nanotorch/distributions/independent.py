"""Dimensions of a batch taken for dimensions of one sample."""

from typing import Any, Self

from nanotorch._core.dtypes import Size
from nanotorch._core.tensor import Tensor
from nanotorch.distributions import constraints
from nanotorch.distributions.constraints import Constraint
from nanotorch.distributions.distribution import EMPTY, Distribution


def summed(value: Tensor, dims: int) -> Tensor:
    """The sum over the last dimensions."""
    return value if not dims else value.reshape((*value.shape[: value.ndim - dims], -1)).sum(-1)


class Independent(Distribution):
    """The last dimensions of a distribution's batch as dimensions of its samples.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: how many dimensions.
        validate_args: whether values are checked. Default: True.

    Raises:
        ValueError: if it has fewer.
    """

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        cut = len(batch) - reinterpreted_batch_ndims
        event = (*batch[cut:], *base_distribution.event_shape)
        super().__init__(Size(batch[:cut]), Size(event), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The distribution with a larger batch."""
        cut = len(self.event_shape) - len(self.base_dist.event_shape)
        base = self.base_dist.expand((*batch_shape, *self.event_shape[:cut]))
        return type(self)(base, self.reinterpreted_batch_ndims, self._validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether gradients go through samples."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Constraint:
        """What samples are."""
        dims = self.reinterpreted_batch_ndims
        base: Constraint = self.base_dist.support
        return constraints.IndependentConstraint(base, dims) if dims else base

    @property
    def mean(self) -> Tensor:
        """The mean of samples."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The most probable sample."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variance of samples."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples without gradient."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples whose gradient goes on to the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density of whole samples."""
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The entropy of whole samples."""
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
