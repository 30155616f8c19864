"""Transforms, functions that often have an inverse, and transformed distributions."""

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import reduce
from itertools import accumulate
from typing import Any, Self

from nanotorch import ops
from nanotorch._core.dtypes import Size, finfo
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.distributions import constraints
from nanotorch.distributions.constraints import Constraint, dependent_property, with_event_dims
from nanotorch.distributions.distribution import (
    EMPTY,
    Distribution,
    Independent,
    broadcast_all,
    formula,
    kl_divergence,
    sum_last_dims,
)
from nanotorch.distributions.families import Normal
from nanotorch.names.lookup import on_demand
from nanotorch.nn.functional import pad, softplus


class Transform:
    """The base of transforms, functions of tensors.

    A subclass defines ``_call``, ``_inverse`` and `log_abs_det_jacobian`, as methods or, if they
    need only values, as arguments of the class. Arguments of the class become its attributes.

    Attributes:
        domain, codomain: the constraints of arguments and of results.
        bijective: whether it has an inverse.

    Args:
        cache_size: 1 keeps the last argument and result, so that the inverse of this result is
            exact and free. Default: 0.

    Raises:
        ValueError: for another ``cache_size``.
    """

    domain: Any = constraints.real
    codomain: Any = constraints.real
    bijective: Any = False
    _inv: "Transform | None" = None
    _like: Any = formula(id)  # the value that `==` compares for transforms of one class

    def __init_subclass__(cls, **formulas: Any) -> None:
        super().__init_subclass__()
        for name, value in formulas.items():
            setattr(cls, name, staticmethod(value) if callable(value) else value)

    def __init__(self, cache_size: int = 0) -> None:
        super().__init__()
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached: Any = None, None

    @property
    def event_dim(self) -> int:
        """The number of tensor dimensions that form one value.

        Raises:
            ValueError: if the numbers differ between domain and codomain.
        """
        dims: int = self.domain.event_dim
        if dims != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return dims

    @property
    def sign(self) -> Any:
        """1 if the function is increasing, -1 if it is decreasing."""
        raise NotImplementedError

    @property
    def inv(self) -> "Transform":
        """The inverse; its inverse is this transform."""
        if self._inv is not None:
            return self._inv
        made = self._inverted()
        made._inv = self  # one direction only: a cycle would keep the cache alive
        return made

    def _inverted(self) -> "Transform":
        return _InverseTransform()

    def with_cache(self, cache_size: int = 1) -> "Transform":
        """The transform with a cache of size ``cache_size``."""
        if cache_size == self._cache_size:
            return self
        new = copy(self)
        new._cache_size, new._cached, new._inv = cache_size, (None, None), None
        return new

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached[0]:
            return self._cached[1]
        return self._kept(x, self._call(x))[1]

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached[1]:
            return self._cached[0]
        return self._kept(self._inverse(y), y)[0]

    def _kept(self, *pair: Tensor) -> tuple[Tensor, ...]:
        if self._cache_size:
            self._cached = pair
        return pair

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    _inverse: Any = _call

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the absolute Jacobian determinant at ``x`` with result ``y``."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Size:
        """The shape of the result for an argument of shape ``shape``."""
        return Size(shape)

    def inverse_shape(self, shape: Any) -> Size:
        """The shape of the argument for a result of shape ``shape``."""
        return Size(shape)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(self._like == other._like)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    """The inverse of a transform."""

    domain = formula(lambda self: self._inv.codomain)
    codomain = formula(lambda self: self._inv.domain)
    bijective = formula(lambda self: self._inv.bijective)
    sign = formula(lambda self: self._inv.sign)
    _like = formula(lambda self: self._inv)
    _call = formula(lambda self: self._inv._inv_call)
    _inverse = formula(lambda self: self._inv)
    forward_shape = formula(lambda self: self._inv.inverse_shape)
    inverse_shape = formula(lambda self: self._inv.forward_shape)

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.inv.with_cache(cache_size).inv

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self.inv.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.inv!r})"


def clip_to_unit(y: Tensor) -> Tensor:
    """Numbers in [0, 1], clamped so that their inverse is finite."""
    return y.clamp(min=finfo(y.dtype).tiny, max=1.0 - finfo(y.dtype).eps)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """`sigmoid`, with results below 1 and above 0."""
    return clip_to_unit(x.sigmoid())


class ExpTransform(
    Transform, _call=ops.exp, _inverse=ops.log, log_abs_det_jacobian=lambda x, y: x,
    codomain=constraints.positive, bijective=True, sign=1, _like=(),
):  # fmt: skip
    """``exp(x)``."""


class SigmoidTransform(
    Transform,
    _call=lambda x: _clipped_sigmoid(x), _inverse=lambda y: clip_to_unit(y).logit(),
    log_abs_det_jacobian=lambda x, y: -softplus(-x) - softplus(x),
    codomain=constraints.unit_interval, bijective=True, sign=1, _like=(),
):  # fmt: skip
    """``1 / (1 + exp(-x))``."""


class SoftplusTransform(
    Transform, _call=softplus, _inverse=lambda y: y + (-y).expm1().neg().log(),
    log_abs_det_jacobian=lambda x, y: -softplus(-x),
    codomain=constraints.positive, bijective=True, sign=1, _like=(),
):  # fmt: skip
    """``log(1 + exp(x))``."""


class TanhTransform(
    Transform, _call=ops.tanh, _inverse=ops.atanh,
    log_abs_det_jacobian=lambda x, y: 2.0 * (math.log(2.0) - x - softplus(-2.0 * x)),
    codomain=constraints.Interval(-1.0, 1.0), bijective=True, sign=1, _like=(),
):  # fmt: skip
    """``tanh(x)``, with a derivative that is exact for large numbers, too."""


class SoftmaxTransform(
    Transform, _call=lambda x: x.softmax(-1), _inverse=ops.log, _like=(),
    domain=constraints.real_vector, codomain=constraints.simplex,
):  # fmt: skip
    """``softmax(x)``, from vectors to the simplex; the inverse is known up to a summand."""


def log_remainders(x: Tensor) -> Tensor:
    """The logarithms of the numbers of parts that remain at each break."""
    return ops.arange(x.shape[-1], 0, -1, dtype=x.dtype).log()


class StickBreakingTransform(
    Transform,
    log_abs_det_jacobian=lambda x, y: (y[..., :-1].log() - softplus(x - log_remainders(x))).sum(-1),
    domain=constraints.real_vector, codomain=constraints.simplex, bijective=True, _like=(),
):  # fmt: skip
    """Vectors to the simplex with one more number: each number breaks off a part of the rest."""

    def _call(self, x: Tensor) -> Tensor:
        z = _clipped_sigmoid(x - log_remainders(x))
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        broken = y[..., :-1]
        left = (1 - broken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return broken.log() - left.log() + log_remainders(broken)

    def forward_shape(self, shape: Any) -> Size:
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Size:
        return Size((*shape[:-1], shape[-1] - 1))


class AffineTransform(Transform):
    """``loc + scale * x``.

    Args:
        loc, scale: numbers or tensors.
        event_dim: the number of last dimensions that form one value. Default: 0.
        cache_size: see `Transform`.
    """

    bijective = True
    _given = formula(lambda self: (self.loc, self.scale))
    _like = formula(lambda self: [v.tolist() if isinstance(v, Tensor) else v for v in self._given])

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        self.domain = self.codomain = with_event_dims(constraints.real, event_dim)

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        tensor = isinstance(self.scale, Tensor)
        return self.scale.sign() if tensor else (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        return x * self.scale + self.loc

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        size = ops.zeros_like(x) + abs(self.scale)
        return sum_last_dims(size.log(), self.event_dim)

    def forward_shape(self, shape: Any) -> Size:
        shapes = [value.shape for value in self._given if isinstance(value, Tensor)]
        return Size(ops.broadcast_shapes(shape, *shapes))

    inverse_shape = forward_shape


class PowerTransform(Transform):
    """``x ** exponent``, for positive numbers.

    Args:
        exponent: a number or a tensor.
        cache_size: see `Transform`.
    """

    domain = codomain = constraints.positive
    bijective = True
    sign = property(lambda self: self.exponent.sign())
    _like = formula(lambda self: self.exponent.tolist())

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Size:
        return Size(ops.broadcast_shapes(shape, self.exponent.shape))

    inverse_shape = forward_shape


class ComposeTransform(Transform):
    """Several transforms in order.

    Args:
        parts: the transforms.
        cache_size: the cache size of each; see `Transform`.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) if cache_size else part for part in parts]
        steps = [(part.domain, part.codomain) for part in self.parts]
        self.codomain = reached(steps)
        self.domain = reached([(after, before) for before, after in reversed(steps)])

    bijective = formula(lambda self: all(part.bijective for part in self.parts))
    sign = formula(lambda self: math.prod(part.sign for part in self.parts))
    _like = formula(lambda self: self.parts)

    def _inverted(self) -> Transform:
        return ComposeTransform([part.inv for part in reversed(self.parts)])

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if cache_size == self._cache_size else ComposeTransform(self.parts, cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return points_along(self.parts, x)[-1]

    _inverse = formula(lambda self: self.inv)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return log_derivative(
            self.parts, [*points_along(self.parts[:-1], x), y], self.domain.event_dim
        )

    def forward_shape(self, shape: Any) -> Size:
        return reduce(lambda found, part: part.forward_shape(found), self.parts, Size(shape))

    def inverse_shape(self, shape: Any) -> Size:
        return self.inv.forward_shape(shape)

    def __repr__(self) -> str:
        inner = ",\n    ".join(map(repr, self.parts))
        return f"{type(self).__name__}(\n    {inner}\n)"


class IndependentTransform(Transform):
    """A transform whose last dimensions form one value together.

    Args:
        base_transform: the transform.
        reinterpreted_batch_ndims: the number of these dimensions.
        cache_size: see `Transform`.
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.domain = with_event_dims(base_transform.domain, reinterpreted_batch_ndims)
        self.codomain = with_event_dims(base_transform.codomain, reinterpreted_batch_ndims)

    bijective = formula(lambda self: self.base_transform.bijective)
    sign = formula(lambda self: self.base_transform.sign)
    _call = formula(lambda self: self.base_transform)
    _inverse = formula(lambda self: self.base_transform.inv)
    forward_shape = formula(lambda self: self.base_transform.forward_shape)
    inverse_shape = formula(lambda self: self.base_transform.inverse_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_last_dims(self._call.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def reached(steps: Sequence[tuple[Constraint, Constraint]]) -> Any:
    """The constraint after steps, each from one constraint to another, with the dimensions that all
    steps together need.
    """
    if not steps:
        return constraints.real
    dims = steps[0][0].event_dim
    for before, after in steps:
        dims = max(dims + after.event_dim - before.event_dim, after.event_dim)
    return with_event_dims(after, dims - after.event_dim)


def points_along(parts: Sequence[Transform], x: Tensor) -> list[Tensor]:
    """The list of a value and the results after each of several transforms."""
    return list(accumulate(parts, lambda value, part: part(value), initial=x))


def log_derivative(parts: Sequence[Transform], points: Sequence[Tensor], dims: int) -> Any:
    """The logarithm of the absolute Jacobian determinant of several transforms.

    Args:
        parts: the transforms.
        points: the values before, between and after the transforms.
        dims: the number of dimensions that form one value before the transforms.
    """
    total = sum_last_dims(ops.zeros_like(points[0]), dims)
    for part, x, y in zip(parts, points, points[1:], strict=False):
        total = total + sum_last_dims(part.log_abs_det_jacobian(x, y), dims - part.domain.event_dim)
        dims += part.codomain.event_dim - part.domain.event_dim
    return total


identity_transform = ComposeTransform([])


class TransformedDistribution(Distribution):
    """The distribution of transformed samples of another distribution.

    Args:
        base_distribution: the other distribution.
        transforms: a transform, or a list of transforms in the order of application.
        validate_args: whether to check values. Default: True.

    Raises:
        ValueError: if one is not a transform, or the distribution has too few dimensions.
    """

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        given = self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not (isinstance(given, list) and all(isinstance(t, Transform) for t in given)):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self._whole = whole = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ValueError(f"the base distribution has shape {shape}, the transforms need more")
        final, dims = whole.forward_shape(shape), len(base_distribution.event_shape)
        if (needed := whole.inverse_shape(final)) != shape:
            base_distribution = base_distribution.expand(needed[: len(needed) - dims])
        more = whole.domain.event_dim - dims
        self.base_dist = Independent(base_distribution, more) if more > 0 else base_distribution
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(final) - len(self.base_dist.event_shape) - change
        super().__init__(final[:cut], final[cut:], validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Self:
        new: Self = self._get_checked_instance(TransformedDistribution, _instance)
        shape = self._whole.inverse_shape((*batch_shape, *self._event_shape))
        base = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        TransformedDistribution.__init__(new, base, self.transforms, self._validate_args)
        return new

    has_rsample = formula(lambda self: self.base_dist.has_rsample)

    @dependent_property
    def support(self) -> Any:
        """The codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        return with_event_dims(found, len(self._event_shape) - found.event_dim)

    def sample(self, sample_shape: Any = EMPTY) -> Tensor:
        with no_grad():
            return self._whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = EMPTY) -> Tensor:
        return self._whole(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        points = points_along([part.inv for part in reversed(self.transforms)], value)[::-1]
        moved = log_derivative(self.transforms, points, len(self.base_dist.event_shape))
        return -moved + self.base_dist.log_prob(points[0])

    def cdf(self, value: Tensor) -> Tensor:
        return self._ordered(self.base_dist.cdf(self._whole.inv(value)))

    def icdf(self, value: Tensor) -> Tensor:
        return self._whole(self.base_dist.icdf(self._ordered(value)))

    def _kl(self, q: Self) -> Tensor:
        if self.transforms != q.transforms or self._event_shape != q._event_shape:
            raise NotImplementedError
        return kl_divergence(self.base_dist, q.base_dist)

    def _ordered(self, value: Tensor) -> Tensor:
        """The probability ``value``, or 1 minus it if the transforms are decreasing."""
        sign = self._whole.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5


class LogNormal(TransformedDistribution):
    """Numbers whose logarithm is normal.

    Args:
        loc, scale: the mean and the standard deviation of the logarithm.
        validate_args: whether to check parameters and values. Default: True.
    """

    arg_constraints = Normal.arg_constraints
    support = constraints.positive
    loc = formula(lambda self: self.base_dist.loc)
    scale = formula(lambda self: self.base_dist.scale)
    mean = formula(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = formula(lambda self: (self.loc - self.scale.square()).exp())
    variance = formula(lambda self: self.mean.pow(2) * self.scale.pow(2).expm1())

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


# Transforms from all numbers to a constraint: with an inverse, or as simple as possible.


class ConstraintRegistry:
    """The functions that create a transform for a constraint, by its class."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Transform]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register a function that creates the transform for a class of constraints.

        Args:
            constraint: the class, or a constraint of this class.
            factory: a function of the constraint. Default: None, which returns a decorator.

        Raises:
            TypeError: if ``constraint`` is neither a constraint nor a class of constraints.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(f"expected a kind of constraints, or one, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        if (kind := type(constraint)) not in self._registry:
            raise NotImplementedError(f"Cannot transform _{kind.__name__} constraints")
        return self._registry[kind](constraint)


def interval_transform(constraint: Any) -> Transform:
    """The transform from all numbers to an interval."""
    low, high = constraint.lower_bound, constraint.upper_bound
    if not isinstance(low, Tensor) and not isinstance(high, Tensor) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


def half_line_transform(bound: Any, side: int) -> Transform:
    """The transform from all numbers to those above (``side`` 1) or below (-1) a bound."""
    return ComposeTransform([ExpTransform(), AffineTransform(bound, side)])


def registry(to_simplex: type[Transform]) -> ConstraintRegistry:
    """A registry with the transforms of the usual constraints."""
    made = ConstraintRegistry()
    made._registry = {
        constraints.Real: lambda c: identity_transform,
        constraints.Interval: interval_transform,
        constraints.GreaterThan: lambda c: half_line_transform(c.lower_bound, 1),
        constraints.GreaterThanEq: lambda c: half_line_transform(c.lower_bound, 1),
        constraints.LessThan: lambda c: half_line_transform(c.upper_bound, -1),
        constraints.Simplex: lambda c: to_simplex(),
        constraints.IndependentConstraint: lambda c: IndependentTransform(
            made(c.base_constraint), c.reinterpreted_batch_ndims
        ),
    }
    return made


biject_to, transform_to = registry(StickBreakingTransform), registry(SoftmaxTransform)


on_demand(__name__)
