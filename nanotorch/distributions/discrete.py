"""Distributions over few values: `Bernoulli` and `Categorical`."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.dtypes import Size
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.distributions import constraints
from nanotorch.distributions.constraints import Constraint
from nanotorch.distributions.distribution import EMPTY, Distribution, broadcast_all, neither
from nanotorch.nn.functional import binary_cross_entropy_with_logits


def inside(probs: Tensor) -> Tensor:
    """Probabilities whose logarithms are finite."""
    eps = dtypes.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class Bernoulli(Distribution):
    """1 with a probability, else 0.

    Args:
        probs: the probability.
        logits: log(probs / (1 - probs)), in its place.
        validate_args: whether parameters and values are checked. Default: True.

    Raises:
        ValueError: if both or neither is given; for a probability outside [0, 1].
    """

    arg_constraints: ClassVar[Mapping[str, Constraint]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            neither("logits")
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        (tensor,) = broadcast_all(given)
        vars(self)[name] = tensor
        super().__init__(tensor.shape, validate_args=validate_args)

    @cached_property
    def logits(self) -> Tensor:
        """log(probs / (1 - probs))."""
        probs = inside(self.probs)
        return ops.log(probs) - ops.log1p(-probs)

    @cached_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return ops.sigmoid(self.logits)

    @property
    def mean(self) -> Tensor:
        """The mean of samples."""
        return self.probs

    @property
    def mode(self) -> Tensor:
        """The more probable value; nan where both are as probable."""
        most = (self.probs >= 0.5).to(self.probs.dtype)
        return most.masked_fill(self.probs.eq(0.5), float("nan"))

    @property
    def variance(self) -> Tensor:
        """The variance of samples."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples."""
        with no_grad():
            return ops.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a value."""
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """The mean of the negative logarithm of the probability."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """0 and 1."""
        values = ops.arange(2, dtype=self.probs.dtype).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


class Categorical(Distribution):
    """One of several numbers from 0 on, by probabilities along the last dimension.

    Args:
        probs: the probabilities, or multiples of them.
        logits: their logarithms, up to a constant, in their place.
        validate_args: whether parameters and values are checked. Default: True.

    Raises:
        ValueError: if both or neither is given; for probabilities that are negative.
    """

    arg_constraints: ClassVar[Mapping[str, Constraint]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if probs is not None and logits is None:
            if probs.ndim < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            given = vars(self)["probs"] = probs / probs.sum(-1, keepdim=True)
        elif logits is not None and probs is None:
            if logits.ndim < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            given = vars(self)["logits"] = logits - logits.logsumexp(dim=-1, keepdim=True)
        else:
            neither("logits")
        self._num_events = given.shape[-1]
        super().__init__(Size(given.shape[:-1]), validate_args=validate_args)

    def _expanded(self, batch_shape: Size) -> dict[str, Any]:
        shape = (*batch_shape, self._num_events)
        held = {n: vars(self)[n].expand(shape) for n in self.arg_constraints if n in vars(self)}
        return held | {"_num_events": self._num_events}

    @property
    def support(self) -> Constraint:
        """The numbers."""
        return constraints.IntegerInterval(0, self._num_events - 1)

    @cached_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return ops.log(inside(self.probs))

    @cached_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return ops.softmax(self.logits, -1)

    @property
    def mean(self) -> Tensor:
        """nan: the numbers are names."""
        return ops.full(self._batch_shape, float("nan"), dtype=self.probs.dtype)

    @property
    def variance(self) -> Tensor:
        """nan: the numbers are names."""
        return self.mean

    @property
    def mode(self) -> Tensor:
        """The most probable number."""
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples."""
        rows = self.probs.reshape(-1, self._num_events)
        drawn = ops.multinomial(rows.detach(), Size(sample_shape).numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a number."""
        self._validate_sample(value)
        index, logits = ops.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """The mean of the negative logarithm of the probability."""
        least = dtypes.finfo(self.logits.dtype).min
        return -(ops.clamp(self.logits, min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All numbers."""
        values = ops.arange(self._num_events).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
