"""What parameters and values of distributions may be."""

from typing import Any

from nanotorch import linalg, ops
from nanotorch._core.tensor import Tensor


class Constraint:
    """A set of numbers, or of vectors.

    Attributes:
        is_discrete: whether it holds single numbers only, such as integers.
        event_dim: how many dimensions of a tensor are one element of the set.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """For each element of a tensor, whether it is in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={bound}" for name, bound in vars(self).items())
        return f"{type(self).__name__}({given})"


class Real(Constraint):
    """All numbers; nan is none."""

    def check(self, value: Tensor) -> Tensor:
        return value.eq(value)


class Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return value.eq(0).logical_or(value.eq(1))


class GreaterThan(Constraint):
    """Numbers above a bound."""

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class GreaterThanEq(GreaterThan):
    """Numbers from a bound."""

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class LessThan(Constraint):
    """Numbers below a bound."""

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class Interval(Constraint):
    """Numbers from a bound to another."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class IntegerInterval(Interval):
    """Integers from a bound to another."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return value.remainder(1).eq(0).logical_and(super().check(value))


class IntegerGreaterThan(Constraint):
    """Integers from a bound."""

    is_discrete = True

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return value.remainder(1).eq(0) & (value >= self.lower_bound)


class Multinomial(Constraint):
    """Vectors of counts with this sum."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class LowerTriangular(Constraint):
    """Matrices with zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class LowerCholesky(LowerTriangular):
    """The same with a positive diagonal."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class PositiveDefinite(Constraint):
    """Symmetric matrices with a factor of Cholesky."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        symmetric = ops.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)
        return symmetric & linalg.cholesky_ex(value).info.eq(0)


class Simplex(Constraint):
    """Vectors of numbers that are not negative, with the sum 1."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


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


class Dependent(Constraint):
    """A set that depends on other parameters, with which nothing can be checked."""


dependent = Dependent()
real = Real()
boolean = Boolean()
positive = GreaterThan(0.0)
nonnegative = GreaterThanEq(0.0)
unit_interval = Interval(0.0, 1.0)
simplex = Simplex()
nonnegative_integer, positive_integer = IntegerGreaterThan(0), IntegerGreaterThan(1)
lower_triangular, lower_cholesky = LowerTriangular(), LowerCholesky()
positive_definite = PositiveDefinite()
multinomial = Multinomial
greater_than_eq = GreaterThanEq
real_vector = IndependentConstraint(real, 1)
greater_than, less_than, interval = GreaterThan, LessThan, Interval
integer_interval, independent = IntegerInterval, IndependentConstraint
