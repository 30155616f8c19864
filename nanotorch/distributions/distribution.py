"""What all distributions have."""

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.dtypes import Size
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.distributions.constraints import Constraint

EMPTY = Size()


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take the dtype of the first tensor.

    Raises:
        ValueError: for what is neither.
    """
    if not all(isinstance(v, (Tensor, bool, int, float)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    kind = next((v.dtype for v in values if isinstance(v, Tensor)), dtypes.default.dtype)
    tensors = [v if isinstance(v, Tensor) else ops.tensor(v, dtype=kind) for v in values]
    return tuple(ops.broadcast_tensors(*tensors))


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
        self,
        batch_shape: Size = EMPTY,
        event_shape: Size = EMPTY,
        validate_args: bool | None = None,
    ) -> None:
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
        """Refuse values that do not fit the distribution.

        Raises:
            ValueError: for such.
        """
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        dims = len(self._event_shape)
        if tuple(value.shape[value.ndim - dims :]) != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.shape} vs {self._event_shape}."
            )
        expected = Size((*self._batch_shape, *self._event_shape))
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.shape} vs {expected}."
                )
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


def neither(name: str) -> NoReturn:
    """Tell that a distribution needs one of two parameters."""
    raise ValueError(f"Either `probs` or `{name}` must be specified, but not both.")
