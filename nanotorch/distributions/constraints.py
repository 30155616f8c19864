"""Constraints: the sets of allowed parameters and values of distributions."""

import math
from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from nanotorch import linalg
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand


class Constraint:
    """A set of numbers, of vectors or of matrices.

    A subclass declares it by a function ``test`` of values and bounds, which checks whether the
    values are in the set. The names of the bounds are those of the attributes. It also sets:

    Attributes:
        is_discrete: whether the set contains only separate numbers, such as integers.
        event_dim: the number of tensor dimensions that form one element of the set.
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _bounds = Signature()

    def __init_subclass__(cls, test: Callable[..., Any] | None = None, **traits: Any) -> None:
        super().__init_subclass__()
        if test is not None:
            cls._bounds = Signature([*signature(test).parameters.values()][1:])
            traits["check"] = lambda self, value: test(value, **vars(self))
        for name, value in traits.items():
            setattr(cls, name, value)

    def __init__(self, *given: Any, **named: Any) -> None:
        vars(self).update(self._bounds.bind(*given, **named).arguments)

    def check(self, value: Tensor) -> Tensor:
        """A bool tensor: whether each element of ``value`` is in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{type(self).__name__}({given})"


def is_lower(value: Tensor) -> Tensor:
    """Whether each matrix has zeros above the diagonal."""
    return (value.tril() == value).flatten(-2).all(-1)


def is_integer(value: Tensor, low: Any, high: Any = math.inf) -> Tensor:
    """Whether each number is an integer in [``low``, ``high``]."""
    return value.remainder(1).eq(0) & (value >= low) & (value <= high)


class Real(Constraint, test=lambda x: x.eq(x)):
    """All numbers except nan."""


class Boolean(Constraint, test=lambda x: x.eq(0) | x.eq(1), is_discrete=True):
    """0 and 1."""


class GreaterThan(Constraint, test=lambda x, lower_bound: x > lower_bound):
    """Numbers greater than a bound."""


class GreaterThanEq(Constraint, test=lambda x, lower_bound: x >= lower_bound):
    """Numbers greater than or equal to a bound."""


class LessThan(Constraint, test=lambda x, upper_bound: x < upper_bound):
    """Numbers less than a bound."""


class Interval(
    Constraint, test=lambda x, lower_bound, upper_bound: (x >= lower_bound) & (x <= upper_bound)
):
    """Numbers between two bounds, inclusive."""


class IntegerInterval(
    Constraint, is_discrete=True,
    test=lambda x, lower_bound, upper_bound: is_integer(x, lower_bound, upper_bound),
):  # fmt: skip
    """Integers between two bounds, inclusive."""


class IntegerGreaterThan(
    Constraint, test=lambda x, lower_bound: is_integer(x, lower_bound), is_discrete=True
):
    """Integers greater than or equal to a bound."""


class Multinomial(
    Constraint, is_discrete=True, event_dim=1, __repr__=lambda self: "Multinomial()",
    test=lambda x, upper_bound: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound),
):  # fmt: skip
    """Vectors of counts whose sum is at most a bound."""


class Simplex(
    Constraint, test=lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1
):
    """Vectors of non-negative numbers with sum 1."""


class OneHot(
    Constraint, is_discrete=True, event_dim=1,
    test=lambda x: (x.eq(0) | x.eq(1)).all(-1) & x.sum(-1).eq(1),
):  # fmt: skip
    """Vectors of zeros with a single 1."""


class LowerTriangular(Constraint, test=is_lower, event_dim=2):
    """Matrices with zeros above the diagonal."""


class LowerCholesky(
    Constraint, event_dim=2,
    test=lambda x: is_lower(x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1),
):  # fmt: skip
    """Matrices with zeros above a positive diagonal."""


class PositiveDefinite(
    Constraint, event_dim=2,
    test=lambda x: (
        x.isclose(x.mT, atol=1e-6).flatten(-2).all(-1) & linalg.cholesky_ex(x).info.eq(0)
    ),
):  # fmt: skip
    """Symmetric matrices with a Cholesky factor."""


class IndependentConstraint(Constraint):
    """A constraint whose last dimensions form one element together."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        kept = result.shape[: result.ndim - self.reinterpreted_batch_ndims]
        return result.reshape((*kept, -1)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Values that fulfil the constraint of every component of a mixture."""

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = base_constraint
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


def with_event_dims(constraint: Any, dims: int) -> Any:
    """The constraint with ``dims`` further dimensions per element; unchanged for 0."""
    return IndependentConstraint(constraint, dims) if dims > 0 else constraint


class Dependent(Constraint):
    """A set that depends on other parameters and cannot check values."""

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")

    def __repr__(self) -> str:
        return "Dependent()"


class dependent_property(property, Dependent):  # noqa: N801 - PyTorch's name
    """A property whose value is a constraint; as an attribute of the class, a `Dependent`.

    Args:
        function: the getter of the property.
        is_discrete, event_dim: the attributes of its values, for the class. Default: False and
            None.
    """

    def __init__(
        self, function: Any = None, *, is_discrete: Any = False, event_dim: Any = None
    ) -> None:
        super().__init__(function)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, function: Any) -> Any:
        """The property with a decorated function as its getter."""
        return type(self)(function, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint cannot check values."""
    return isinstance(constraint, Dependent)


dependent, real, boolean, simplex = Dependent(), Real(), Boolean(), Simplex()
one_hot = OneHot()
positive, nonnegative, unit_interval = GreaterThan(0.0), GreaterThanEq(0.0), Interval(0.0, 1.0)
nonnegative_integer, positive_integer = IntegerGreaterThan(0), IntegerGreaterThan(1)
lower_triangular, lower_cholesky = LowerTriangular(), LowerCholesky()
positive_definite, real_vector = PositiveDefinite(), IndependentConstraint(real, 1)
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
interval, integer_interval = Interval, IntegerInterval
multinomial, independent = Multinomial, IndependentConstraint


on_demand(__name__)
