"""Probability distributions: what all have, and each by its formulas."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Self

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.dtypes import Size
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.distributions import constraints
from nanotorch.distributions.constraints import Constraint
from nanotorch.nn.functional import binary_cross_entropy_with_logits

EMPTY = Size()
lazy_property = cached_property  # PyTorch's name


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the dtype of the first tensor."""
    if not all(isinstance(v, (Tensor, bool, int, float)) for v in values):
        raise ValueError("Input arguments must all be numbers or tensors")
    kind = next((v.dtype for v in values if isinstance(v, Tensor)), dtypes.default.dtype)
    tensors = [v if isinstance(v, Tensor) else ops.tensor(v, dtype=kind) for v in values]
    return tuple(ops.broadcast_tensors(*tensors))


def formula(function: Any) -> Any:
    """A property, by a formula."""
    return property(function)


def standard_normal(shape: Any, kind: Any) -> Tensor:
    """Normal numbers, drawn one by one."""
    return ops.normal(ops.zeros(shape, dtype=kind), ops.ones(shape, dtype=kind))


class Distribution:
    """A distribution for each element of a batch.

    Attributes:
        arg_constraints: what each parameter may be.
        support: what samples are.
        has_rsample: whether gradients go through samples.
        batch_shape: of the batch.
        event_shape: of one sample.
    """

    arg_constraints: ClassVar[Mapping[str, Constraint]] = {}
    support: Any = None
    has_rsample = False
    has_enumerate_support = False
    _validate_args = True

    def __init__(
        self, batch_shape: Size = EMPTY, event_shape: Size = EMPTY,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether parameters and values are checked, which they are unless this is set.

        Raises:
            ValueError: for what is not a bool.
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            value = vars(self).get(name)
            if value is not None and not bool(constraint.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean of samples."""
        raise NotImplementedError

    @property
    def variance(self) -> Tensor:
        """The variance of samples."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of samples."""
        return self.variance.sqrt()

    @property
    def mode(self) -> Tensor:
        """The most probable sample."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples of shape ``sample_shape`` + the batch's + a sample's, without gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples whose gradient goes on to the parameters.

        Raises:
            NotImplementedError: for distributions without.
        """
        raise NotImplementedError

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value.

        Raises:
            ValueError: for a value that no sample can have.
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of samples up to a value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which samples have a probability."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The mean of the negative `log_prob` of samples."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return ops.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values that samples can have, along a new first dimension."""
        raise NotImplementedError

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The distribution with a larger batch, whose parameters are views of these."""
        new = object.__new__(type(self))
        vars(new).update(self._expanded(Size(batch_shape)))
        new._validate_args = False
        Distribution.__init__(new, Size(batch_shape), self._event_shape)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, batch_shape: Size) -> dict[str, Any]:
        """The parameters of `expand`."""
        return {
            name: value.expand(batch_shape)
            for name, value in vars(self).items()
            if name in self.arg_constraints
        }

    def _extended_shape(self, sample_shape: Any = EMPTY) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Refuse values that do not fit the distribution."""
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        dims = len(self._event_shape)
        if tuple(value.shape[value.ndim - dims :]) != tuple(self._event_shape):
            raise ValueError(f"{value.shape} does not end in event_shape {self._event_shape}")
        expected = Size((*self._batch_shape, *self._event_shape))
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"{value.shape} does not broadcast with shape {expected}")
        if not bool(self.support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({self.support!r}) of the distribution {self!r}, but "
                f"found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        told = [
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name in self.arg_constraints
            if (value := vars(self).get(name)) is not None
        ]
        return f"{type(self).__name__}({', '.join(told)})"


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

    mean = formula(lambda self: self.loc)
    mode = formula(lambda self: self.loc)
    stddev = formula(lambda self: self.scale)
    variance = formula(lambda self: self.stddev.pow(2))

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        noise = standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + noise * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        exponent = -((value - self.loc) ** 2) / (2 * self.scale**2)
        return exponent - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        deviations = (value - self.loc) * self.scale.reciprocal()
        return 0.5 * (1 + (deviations / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * ops.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self) -> Tensor:
        """(1 + log(2π)) / 2 + log(scale)."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + ops.log(self.scale)


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
        return {"low": constraints.LessThan(self.high), "high": constraints.GreaterThan(self.low)}

    support = formula(lambda self: constraints.Interval(self.low, self.high))
    mean = formula(lambda self: (self.high + self.low) / 2)
    mode = formula(lambda self: float("nan") * self.high)
    variance = formula(lambda self: (self.high - self.low).pow(2) / 12)
    stddev = formula(lambda self: (self.high - self.low) / 12**0.5)

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        noise = ops.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + noise * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return ops.log(inside) - ops.log(self.high - self.low)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        """The logarithm of the interval's length."""
        return ops.log(self.high - self.low)


def one_of(probs: Any, logits: Any) -> tuple[str, Any]:
    """Which of the two is given, by name."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


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
        name, given = one_of(probs, logits)
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

    mean = formula(lambda self: self.probs)

    @property
    def mode(self) -> Tensor:
        """The more probable value; nan where both are as probable."""
        most = (self.probs >= 0.5).to(self.probs.dtype)
        return most.masked_fill(self.probs.eq(0.5), float("nan"))

    variance = formula(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        with no_grad():
            return ops.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
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
        self, probs: Tensor | None = None, logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        name, given = one_of(probs, logits)
        if given.ndim < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            vars(self)[name] = given / given.sum(-1, keepdim=True)
        else:
            vars(self)[name] = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(Size(given.shape[:-1]), validate_args=validate_args)

    def _expanded(self, batch_shape: Size) -> dict[str, Any]:
        shape = (*batch_shape, self._num_events)
        held = {n: vars(self)[n].expand(shape) for n in self.arg_constraints if n in vars(self)}
        return held | {"_num_events": self._num_events}

    support = formula(lambda self: constraints.IntegerInterval(0, self._num_events - 1))

    @cached_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return ops.log(inside(self.probs))

    @cached_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return ops.softmax(self.logits, -1)

    mean = formula(lambda self: float("nan") * self.probs[..., 0])
    variance = formula(lambda self: self.mean)
    mode = formula(lambda self: self.probs.argmax(dim=-1))

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        drawn = ops.multinomial(rows.detach(), Size(sample_shape).numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a number."""
        self._validate_sample(value)
        index, logits = ops.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        least = dtypes.finfo(self.logits.dtype).min
        return -(ops.clamp(self.logits, min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All numbers."""
        values = ops.arange(self._num_events).view(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values


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
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(f"reinterpreted_batch_ndims must be {len(batch)} at most")
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        cut = len(batch) - reinterpreted_batch_ndims
        event = (*batch[cut:], *base_distribution.event_shape)
        super().__init__(Size(batch[:cut]), Size(event), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        cut = len(self.event_shape) - len(self.base_dist.event_shape)
        base = self.base_dist.expand((*batch_shape, *self.event_shape[:cut]))
        return type(self)(base, self.reinterpreted_batch_ndims, self._validate_args)

    has_rsample = formula(lambda self: self.base_dist.has_rsample)

    @property
    def support(self) -> Constraint:
        dims = self.reinterpreted_batch_ndims
        base: Constraint = self.base_dist.support
        return constraints.IndependentConstraint(base, dims) if dims else base

    mean = formula(lambda self: self.base_dist.mean)
    mode = formula(lambda self: self.base_dist.mode)
    variance = formula(lambda self: self.base_dist.variance)

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density of whole samples."""
        return summed(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The entropy of whole samples."""
        return summed(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
