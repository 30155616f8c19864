"""Activations as modules; `nn.functional` has functions of the same names."""

from typing import Any

from nanotorch import ops
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import activation as F
from nanotorch.nn.init import constant_
from nanotorch.nn.layer import Layer, OwnNames
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.arguments import require, require_value


class ReLU(Layer, function=F.relu, shown="inplace"):
    """``max(x, 0)``.

    Args:
        inplace: write into the input. Default: False.
    """

    inplace: bool = False


class Tanh(Layer, function=F.tanh):
    """Hyperbolic tangent."""


class Sigmoid(Layer, function=F.sigmoid):
    """``1 / (1 + exp(-x))``."""


class LogSigmoid(Layer, function=F.logsigmoid):
    """``log(sigmoid(x))``, without overflow."""


class Softsign(Layer, function=F.softsign):
    """``x / (1 + |x|)``."""


class Tanhshrink(Layer, function=F.tanhshrink):
    """``x - tanh(x)``."""


class LeakyReLU(Layer, function=F.leaky_relu, shown="negative_slope inplace"):
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    Args:
        negative_slope: the slope of the negative part. Default: 0.01.
        inplace: write into the input. Default: False.
    """

    negative_slope: float = 0.01
    inplace: bool = False


class ELU(Layer, function=F.elu, shown="alpha inplace"):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Args:
        alpha: minus the limit at negative infinity. Default: 1.
        inplace: write into the input. Default: False.
    """

    alpha: float = 1.0
    inplace: bool = False


class CELU(Layer, function=F.celu, shown="alpha inplace"):
    """``x`` where positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Args:
        alpha: minus the limit at negative infinity. Default: 1.
        inplace: write into the input. Default: False.
    """

    alpha: float = 1.0
    inplace: bool = False


class SELU(Layer, function=F.selu, shown="inplace"):
    """`ELU` scaled so that activations keep mean 0 and variance 1.

    Args:
        inplace: write into the input. Default: False.
    """

    inplace: bool = False


class SiLU(Layer, function=F.silu, shown="inplace"):
    """``x * sigmoid(x)``, also known as swish.

    Args:
        inplace: write into the input. Default: False.
    """

    inplace: bool = False


class Mish(Layer, function=F.mish, shown="inplace"):
    """``x * tanh(softplus(x))``.

    Args:
        inplace: write into the input. Default: False.
    """

    inplace: bool = False


class GELU(Layer, function=F.gelu, shown="approximate"):
    """``x * Φ(x)``, where Φ is the normal distribution function.

    Args:
        approximate: "tanh" for an approximation by a hyperbolic tangent. Default: "none".
    """

    approximate: str = "none"


class GLU(Layer, function=F.glu, shown="dim"):
    """The first half along a dimension times the sigmoid of the second half.

    Args:
        dim: the dimension, of even size. Default: the last.
    """

    dim: int = -1


class Softplus(Layer, function=F.softplus, shown="beta threshold"):
    """``log(1 + exp(beta * x)) / beta`` or, where ``beta * x > threshold``, ``x``.

    Args:
        beta: the sharpness of the bend. Default: 1.
        threshold: where the identity begins. Default: 20.
    """

    beta: float = 1.0
    threshold: float = 20.0


class Hardshrink(Layer, function=F.hardshrink, shown=":lambd"):
    """``x``, but 0 from ``-lambd`` to ``lambd``.

    Args:
        lambd: the limit. Default: 0.5.
    """

    lambd: float = 0.5


class Softshrink(Layer, function=F.softshrink, shown=":lambd"):
    """``x`` moved by ``lambd`` towards 0; 0 from ``-lambd`` to ``lambd``.

    Args:
        lambd: the limit, at least 0. Default: 0.5.
    """

    lambd: float = 0.5


class Threshold(Layer, function=F.threshold, shown="threshold value inplace"):
    """``x`` where greater than ``threshold``, ``value`` elsewhere.

    Args:
        threshold: the limit.
        value: the number for elements up to the limit.
        inplace: write into the input. Default: False.
    """

    threshold: float
    value: float
    inplace: bool = False


class RReLU(
    Layer, function=F.rrelu, gives="lower upper training inplace", shown="lower upper inplace"
):
    """`LeakyReLU` with a random slope for each element in training, else with the mean slope.

    Args:
        lower, upper: the range of the slopes. Default: 1/8 and 1/3.
        inplace: write into the input. Default: False.
    """

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False


class Hardsigmoid(Layer, function=F.hardsigmoid):
    """``x + 3`` clamped to [0, 6], divided by 6.

    Args:
        inplace: write into the input. Default: False.
    """

    inplace: bool = False


class Hardswish(Layer, function=F.hardswish):
    """``x * hardsigmoid(x)``.

    Args:
        inplace: write into the input. Default: False.
    """

    inplace: bool = False


class Hardtanh(
    Layer, function=F.hardtanh, gives="min_val max_val inplace", shown="min_val max_val inplace"
):
    """``x`` clamped to [``min_val``, ``max_val``].

    Args:
        min_val, max_val: the limits. Default: -1 and 1.
        inplace: write into the input. Default: False.
        min_value, max_value: the former names of the limits.

    Raises:
        AssertionError: unless ``min_val`` is less than ``max_val``.

    Warns:
        FutureWarning: for the former names.
    """

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
        min_value: float | None = None, max_value: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for end, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                message = f"keyword argument `{end}_value` is deprecated and renamed to `{end}_val`"
                warn(message, FutureWarning)
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        message = "max_val ({}) must be greater than min_val ({})"
        require(max_val > min_val, message, max_val, min_val, error=AssertionError)
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace


class ReLU6(Hardtanh, shown="inplace"):
    """``x`` clamped to [0, 6].

    Args:
        inplace: write into the input. Default: False.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class _Along(Layer, OwnNames, shown="dim"):
    """An activation along a dimension.

    Args:
        dim: the dimension. Default: 0 for 0, 1 or 3 dimensions, else 1; this warns.
    """

    _own_names = ("__init__",)
    dim: int | None = None

    def __post_init__(self) -> None:
        known = self.dim is None or isinstance(self.dim, int)
        require(known, "dim must be an int or None, got {}", type(self.dim), error=TypeError)


class Softmax(_Along, function=F.softmax):
    """``exp(x)`` divided by its sum along ``dim``: positive, with sum 1.

    Args:
        dim: the dimension. Default: 0 for 0, 1 or 3 dimensions, else 1; this warns.
    """


class Softmax2d(Module):
    """`Softmax` over the channels of images.

    Shape:
        Input and output (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: for another number of dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The softmax over dimension -3."""
        text = "Softmax2d: expected input to be 3D or 4D, got {}D instead"
        require_value(input.dim() in (3, 4), text, input.dim())
        return F.softmax(input, -3)


class Softmin(_Along, function=F.softmin):
    """`Softmax` of ``-x``.

    Args:
        dim: the dimension. Default: 0 for 0, 1 or 3 dimensions, else 1; this warns.
    """


class LogSoftmax(_Along, function=F.log_softmax):
    """The logarithm of `Softmax`, exact for inputs of any size.

    Args:
        dim: the dimension. Default: 0 for 0, 1 or 3 dimensions, else 1; this warns.
    """


class PReLU(Layer, function=F.prelu, gives="weight", shown="num_parameters"):
    """``x`` where positive, ``weight * x`` elsewhere; the weight is learned.

    Args:
        num_parameters: 1, or C for one weight per channel. Default: 1.
        init: the initial value of the weight. Default: 0.25.
        device: accepted for compatibility.
        dtype: the dtype of the weight. Default: the default dtype.

    Shape:
        Input and output (N, C, ...).

    Attributes:
        weight: the slope, (num_parameters,).

    Reference:
        He et al., Delving Deep into Rectifiers, ICCV 2015, equation 1.
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(ops.empty(num_parameters, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set every weight to ``init``."""
        constant_(self.weight, self.init)
