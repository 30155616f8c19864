"""Bases of probability distributions: `Distribution`, `Family`, `Independent`; divergences."""

from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.dtypes import Size
from nanotorch._core.grad_mode import enable_grad, no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.distributions.constraints import (
    Constraint,
    Dependent,
    dependent_property,
    with_event_dims,
)

EMPTY = Size()


class lazy_property(cached_property[Any]):  # noqa: N801 - PyTorch's name
    """A property that is computed once, and with gradient even if the first use is in `no_grad`."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        with enable_grad():
            return super().__get__(instance, owner)


def as_tensors(values: Any) -> list[Tensor]:
    """Numbers and tensors as tensors; numbers get the dtype of the first tensor."""
    if not all(isinstance(v, (Tensor, bool, int, float)) for v in values):
        raise ValueError("Input arguments must all be numbers or tensors")
    kind = next((v.dtype for v in values if isinstance(v, Tensor)), dtypes.default.dtype)
    return [v if isinstance(v, Tensor) else ops.tensor(v, dtype=kind) for v in values]


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers get the dtype of the first tensor."""
    return tuple(ops.broadcast_tensors(*as_tensors(values)))


def _standard_normal(shape: Any, dtype: Any, device: Any = None) -> Tensor:
    """Standard normal numbers, in the random order of `normal` with tensors of parameters."""
    return ops.normal(ops.zeros(shape, dtype=dtype), ops.ones(shape, dtype=dtype))


def formula(function: Any) -> Any:
    """A property with a formula as its getter."""
    return property(function)


def by(function: Any) -> Any:
    """A method of a `Family`, from a formula of its arguments and the parameters."""
    return lambda self, *given: function(*given, *self._held())


def sum_last_dims(value: Tensor, dims: int) -> Tensor:
    """The sum over the last ``dims`` dimensions."""
    return value if not dims else value.reshape((*value.shape[: value.ndim - dims], -1)).sum(-1)


class Distribution:
    """A distribution for each element of a batch.

    Attributes:
        arg_constraints: the constraint of each parameter, by name.
        support: the constraint of samples.
        has_rsample: whether samples are differentiable.
        batch_shape: the shape of the batch.
        event_shape: the shape of one sample.
    """

    arg_constraints: ClassVar[Mapping[str, Constraint]] = {}
    support: Any = None
    has_rsample = False
    has_enumerate_support = False
    _validate_args = True
    _values: Any = None

    def __init__(
        self, batch_shape: Size = EMPTY, event_shape: Size = EMPTY,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        for name, constraint in self.arg_constraints.items() if self._validate_args else ():
            lazy = name not in vars(self) and isinstance(getattr(type(self), name), cached_property)
            if lazy or isinstance(constraint, Dependent):
                continue
            value = getattr(self, name)
            if not bool(constraint.check(value).all()):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to satisfy the constraint "
                    f"{constraint!r}, but found invalid values:\n{value}"
                )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set the default of ``validate_args``, which is initially True.

        Raises:
            ValueError: if ``value`` is not a bool.
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

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
        """Samples without gradient, of shape (*sample_shape, *batch_shape, *event_shape)."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        """Samples with gradients to the parameters.

        Raises:
            NotImplementedError: unless the distribution has `has_rsample`.
        """
        if not self.has_rsample:
            raise NotImplementedError
        return self._draw(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at ``value``.

        Raises:
            ValueError: if ``value`` is outside the support.
        """
        self._validate_sample(value)
        return self._log_prob(value)

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of samples up to ``value``.

        Raises:
            ValueError: if ``value`` is outside the support.
        """
        self._validate_sample(value)
        return self._cdf(value)

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf` at the probability ``value``."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy: the mean of the negative `log_prob` of samples."""
        raise NotImplementedError

    _draw: Any = icdf
    _log_prob: Any = icdf
    _cdf: Any = icdf

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return ops.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All possible values of samples, along a new first dimension."""
        if not self.has_enumerate_support:
            raise NotImplementedError
        shape = [1] * len(self._batch_shape)
        values: Tensor = self._values.view(-1, *shape, *self._event_shape)
        return values.expand(-1, *self._batch_shape, *self._event_shape) if expand else values

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        """The distribution with a larger batch; its parameters are views of these."""
        raise NotImplementedError

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """The object that becomes the result of `expand`."""
        return copy(self) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Any = EMPTY) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Any) -> None:
        """Refuse values of the wrong shape or outside the support."""
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
        support = self.support
        if support is not None and not bool(support.check(value).all()):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, but found "
                f"invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        told = [
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name in self.arg_constraints
            if (value := vars(self).get(name)) is not None
        ]
        return f"{type(self).__name__}({', '.join(told)})"


class Family(Distribution):
    """A distribution that is declared by its parameters and formulas.

    The arguments of a subclass are the constraints of its parameters, in order, and the names of
    alternative parameters (``either``), of which the user gives exactly one. Parameters are
    broadcast, except the dimensions of one element of their constraint. The formulas are ``_draw``,
    ``_log_prob``, ``_cdf``, ``_values`` and ``_kl``: samples of a shape, the logarithm of the
    density, the probability up to a value, all possible values of samples, and the divergence from
    another distribution of the family.
    """

    _declared: ClassVar[Mapping[str, Constraint]] = {}
    _either: ClassVar[list[str]] = []
    _event_dim: ClassVar[int]  # the number of dimensions of a sample

    if TYPE_CHECKING:

        def __init__(self, *given: Any, **named: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, either: str = "", **parameters: Constraint) -> None:
        super().__init_subclass__()
        if not parameters:  # a base of families, or a subclass of a declared one
            return
        cls._declared, cls._either = parameters, either.split()
        cls._event_dim, cls.has_rsample = cls.support.event_dim, not cls.support.is_discrete
        cls.has_enumerate_support = cls._values is not None
        if "arg_constraints" not in vars(cls):
            cls.arg_constraints = parameters
        if "__init__" not in vars(cls):
            asked = ", ".join(f"{n}=None" if n in cls._either else n for n in parameters)
            passed = ", ".join(f"{n}={n}" for n in parameters)
            made = f"lambda self, {asked}, validate_args=None: self._begin(validate_args, {passed})"
            cls.__init__ = eval(made)  # type: ignore[method-assign]
            cls.__init__.__qualname__ = f"{cls.__name__}.__init__"

    def _begin(self, validate_args: bool | None = None, **given: Any) -> None:
        """Initialize from parameters; None means not given."""
        held = {name: value for name, value in given.items() if value is not None}
        if self._either and sum(name in held for name in self._either) != 1:
            if len(self._either) > 2:
                raise ValueError(f"Exactly one of {' or '.join(self._either)} may be specified.")
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        tensors = zip(held, as_tensors(held.values()), strict=True)
        values = {name: self._given(name, value) for name, value in tensors}
        shapes = {n: v.shape[: v.ndim - self._declared[n].event_dim] for n, v in values.items()}
        batch = Size(ops.broadcast_shapes(*shapes.values()))
        self._spread(batch, values)
        first = next(iter(values.values()))
        super().__init__(batch, first.shape[first.ndim - self._event_dim :], validate_args)

    def _given(self, name: str, value: Tensor) -> Tensor:
        """The stored form of a given parameter, after a check of its dimensions."""
        if value.ndim < (least := self._declared[name].event_dim):
            size = ("one", "two")[least - 1]
            raise ValueError(f"`{name}` parameter must be at least {size}-dimensional.")
        return value

    def _spread(self, batch: Size, values: Mapping[str, Tensor]) -> None:
        """Store parameters, expanded to the shape of the batch."""
        for name, value in values.items():
            shape = (*batch, *value.shape[value.ndim - self._declared[name].event_dim :])
            setattr(self, name, value if value.shape == shape else value.expand(shape))

    def _held(self) -> list[Tensor]:
        """The parameters."""
        return [getattr(self, name) for name in self._declared]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new: Self = self._get_checked_instance(Family, _instance)
        vars(new).update(vars(self) | vars(new), _batch_shape=Size(batch_shape))
        held = {name: value for name, value in vars(self).items() if name in self._declared}
        new._spread(new._batch_shape, held)
        return new

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        if self.has_rsample:
            return super().sample(sample_shape)
        with no_grad():
            return self._draw(self._extended_shape(sample_shape))


class Independent(Distribution):
    """The last dimensions of a distribution's batch as dimensions of its samples.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: the number of these dimensions.
        validate_args: whether to check values. Default: True.

    Raises:
        ValueError: if the batch has fewer dimensions.
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
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new: Self = self._get_checked_instance(Independent, _instance)
        dims = self.reinterpreted_batch_ndims
        base = self.base_dist.expand((*batch_shape, *self.event_shape[:dims]))
        Independent.__init__(new, base, dims, self._validate_args)
        return new

    has_rsample = formula(lambda self: self.base_dist.has_rsample)
    support = dependent_property(
        lambda self: with_event_dims(self.base_dist.support, self.reinterpreted_batch_ndims)
    )
    mean = formula(lambda self: self.base_dist.mean)
    mode = formula(lambda self: self.base_dist.mode)
    variance = formula(lambda self: self.base_dist.variance)
    sample = formula(lambda self: self.base_dist.sample)
    rsample = formula(lambda self: self.base_dist.rsample)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density of whole samples."""
        return sum_last_dims(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The entropy of whole samples."""
        return sum_last_dims(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def _kl(self, q: Self) -> Tensor:
        if self.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
            raise NotImplementedError
        return sum_last_dims(
            kl_divergence(self.base_dist, q.base_dist), self.reinterpreted_batch_ndims
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


Formula = Callable[[Any, Any], Tensor]
FORMULAS: dict[tuple[type, type], Formula] = {}  # divergences, by the types of p and q


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator that registers a function as the divergence between two classes.

    Raises:
        TypeError: if a class is not a subclass of `Distribution`.
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
        NotImplementedError: if there is no formula for the two classes.
    """
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            own = vars(kind_p).get("_kl") if kind_p is kind_q else None
            if formula := FORMULAS.get((kind_p, kind_q), own):
                return formula(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )
