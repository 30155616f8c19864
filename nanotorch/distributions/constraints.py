"""What parameters and values of distributions may be."""

import math
from collections.abc import Callable
from inspect import Signature, signature
from typing import Any

from nanotorch import linalg
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand


class Constraint:
    """A set of numbers, of vectors or of matrices.

    A subclass declares it by ``test``: whether values are in the set, by the values and the set's
    bounds, whose names are those of its objects' attributes; and by these attributes of its own:

    Attributes:
        is_discrete: whether it holds single numbers only, such as integers.
        event_dim: how many dimensions of a tensor are one element of the set.
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
        """For each element of a tensor, whether it is in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{type(self).__name__}({given})"


def is_lower(value: Tensor) -> Tensor:
    """Whether matrices have zeros above the diagonal."""
    return (value.tril() == value).flatten(-2).all(-1)


def is_integer(value: Tensor, low: Any, high: Any = math.inf) -> Tensor:
    """Whether numbers are integers from a bound to another."""
    return value.remainder(1).eq(0) & (value >= low) & (value <= high)


class Real(Constraint, test=lambda x: x.eq(x)):
    """All numbers; nan is none."""


class Boolean(Constraint, test=lambda x: x.eq(0) | x.eq(1), is_discrete=True):
    """0 and 1."""


class GreaterThan(Constraint, test=lambda x, lower_bound: x > lower_bound):
    """Numbers above a bound."""


class GreaterThanEq(Constraint, test=lambda x, lower_bound: x >= lower_bound):
    """Numbers from a bound."""


class LessThan(Constraint, test=lambda x, upper_bound: x < upper_bound):
    """Numbers below a bound."""


class Interval(
    Constraint, test=lambda x, lower_bound, upper_bound: (x >= lower_bound) & (x <= upper_bound)
):
    """Numbers from a bound to another."""


class IntegerInterval(
    Constraint, is_discrete=True,
    test=lambda x, lower_bound, upper_bound: is_integer(x, lower_bound, upper_bound),
):  # fmt: skip
    """Integers from a bound to another."""


class IntegerGreaterThan(
    Constraint, test=lambda x, lower_bound: is_integer(x, lower_bound), is_discrete=True
):
    """Integers from a bound."""


class Multinomial(
    Constraint, is_discrete=True, event_dim=1, __repr__=lambda self: "Multinomial()",
    test=lambda x, upper_bound: (x >= 0).all(-1) & (x.sum(-1) <= upper_bound),
):  # fmt: skip
    """Vectors of counts with at most this sum."""


class Simplex(
    Constraint, test=lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1
):
    """Vectors of numbers that are not negative, with the sum 1."""


class LowerTriangular(Constraint, test=is_lower, event_dim=2):
    """Matrices with zeros above the diagonal."""


class LowerCholesky(
    Constraint, event_dim=2,
    test=lambda x: is_lower(x) & (x.diagonal(dim1=-2, dim2=-1) > 0).all(-1),
):  # fmt: skip
    """Those with a positive diagonal."""


class PositiveDefinite(
    Constraint, event_dim=2,
    test=lambda x: (
        x.isclose(x.mT, atol=1e-6).flatten(-2).all(-1) & linalg.cholesky_ex(x).info.eq(0)
    ),
):  # fmt: skip
    """Symmetric matrices with a factor of Cholesky."""


class IndependentConstraint(Constraint):
    """A constraint whose last dimensions make up one element together."""

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


def with_event_dims(constraint: Any, dims: int) -> Any:
    """A constraint, of elements of so many dimensions more, if there are any."""
    return IndependentConstraint(constraint, dims) if dims > 0 else constraint


class Dependent(Constraint):
    """A set that depends on other parameters, with which nothing can be checked."""

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")

    def __repr__(self) -> str:
        return "Dependent()"


class dependent_property(property, Dependent):  # noqa: N801 - PyTorch's name
    """A property whose values are constraints; a `Dependent` one as an attribute of the class.

    Args:
        function: the property's.
        is_discrete, event_dim: what its values have, for the class. Default: not known.
    """

    def __init__(
        self, function: Any = None, *, is_discrete: Any = False, event_dim: Any = None
    ) -> None:
        super().__init__(function)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, function: Any) -> Any:
        """The property, by a decorated function."""
        return type(self)(function, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether nothing can be checked by a constraint."""
    return isinstance(constraint, Dependent)


dependent, real, boolean, simplex = Dependent(), Real(), Boolean(), Simplex()
positive, nonnegative, unit_interval = GreaterThan(0.0), GreaterThanEq(0.0), Interval(0.0, 1.0)
nonnegative_integer, positive_integer = IntegerGreaterThan(0), IntegerGreaterThan(1)
lower_triangular, lower_cholesky = LowerTriangular(), LowerCholesky()
positive_definite, real_vector = PositiveDefinite(), IndependentConstraint(real, 1)
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
interval, integer_interval = Interval, IntegerInterval
multinomial, independent = Multinomial, IndependentConstraint


on_demand(__name__)
