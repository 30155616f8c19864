"""Activations as modules; see the functions of the same names in `nn.functional`."""

from typing import Any

from nanotorch import ops
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn.container import OwnNames
from nanotorch.nn.functional import activation as F
from nanotorch.nn.functional.activation import softmax
from nanotorch.nn.init import constant_
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.arguments import tensor_given


class _Activation(Module):
    """Prints the attributes named in `shown`, and whether it works in place."""

    shown: tuple[str, ...] = ()
    inplace = False

    def extra_repr(self) -> str:
        parts = [f"{name}={getattr(self, name)!r}" for name in self.shown]
        return ", ".join(parts + (["inplace=True"] if self.inplace else []))


class ReLU(_Activation):
    """``max(x, 0)``.

    Args:
        inplace: write into the input. Default: False.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.relu(input, self.inplace)


class Tanh(_Activation):
    """Hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        tensor_given("tanh", input)
        return ops.tanh(input)


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        tensor_given("sigmoid", input)
        return ops.sigmoid(input)


class LogSigmoid(_Activation):
    """``log(sigmoid(x))``, without overflow."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.logsigmoid(input)


class Softsign(_Activation):
    """``x / (1 + |x|)``."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.softsign(input)


class Tanhshrink(_Activation):
    """``x - tanh(x)``."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.tanhshrink(input)


class LeakyReLU(_Activation):
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    Args:
        negative_slope: Default: 0.01.
        inplace: write into the input. Default: False.
    """

    shown = ("negative_slope",)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class ELU(_Activation):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Args:
        alpha: Default: 1.
        inplace: write into the input. Default: False.
    """

    shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.elu(input, self.alpha, self.inplace)


class SELU(_Activation):
    """`ELU` scaled so that activations keep mean 0 and variance 1.

    Args:
        inplace: write into the input. Default: False.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.selu(input, self.inplace)


class SiLU(_Activation):
    """``x * sigmoid(x)``, also known as swish.

    Args:
        inplace: write into the input. Default: False.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.silu(input, self.inplace)


class GELU(_Activation):
    """``x * Φ(x)``, where Φ is the normal distribution function.

    Args:
        approximate: "tanh" for an approximation by a hyperbolic tangent. Default: "none".
    """

    shown = ("approximate",)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.gelu(input, self.approximate)


class Softplus(_Activation):
    """``log(1 + exp(beta * x)) / beta``; ``x`` where ``beta * x > threshold``.

    Args:
        beta: Default: 1.
        threshold: Default: 20.
    """

    shown = ("beta", "threshold")

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.softplus(input, self.beta, self.threshold)


class Hardtanh(_Activation):
    """``x`` held between ``min_val`` and ``max_val``.

    Args:
        min_val, max_val: Default: -1 and 1.
        inplace: write into the input. Default: False.
        min_value, max_value: the former names of the limits.

    Raises:
        AssertionError: if ``min_val`` is not less than ``max_val``.

    Warns:
        FutureWarning: for the former names.
    """

    shown: tuple[str, ...] = ("min_val", "max_val")

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for end, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warn(
                    f"keyword argument `{end}_value` is deprecated and renamed to `{end}_val`",
                    FutureWarning,
                )
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        if not max_val > min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """``x`` held between 0 and 6.

    Args:
        inplace: write into the input. Default: False.
    """

    shown = ()

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class _Along(OwnNames, _Activation):
    """An activation along a dimension.

    Args:
        dim: which. Default: None, for which PyTorch picks one and warns.
    """

    own_names = ("__init__",)
    shown = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        if not (dim is None or isinstance(dim, int)):
            raise TypeError(f"dim must be an int or None, got {type(dim)}")
        self.dim = dim


class Softmax(_Along):
    """``exp(x)`` divided by its sum along ``dim``: positive, with sum 1.

    Args:
        dim: which. Default: None, for which PyTorch picks one and warns.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.softmax(input, self.dim)


class Softmin(_Along):
    """`Softmax` of ``-x``.

    Args:
        dim: which. Default: None, for which PyTorch picks one and warns.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.softmin(input, self.dim)


class LogSoftmax(_Along):
    """The logarithm of `Softmax`, exact for inputs of any size.

    Args:
        dim: which. Default: None, for which PyTorch picks one and warns.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.log_softmax(input, self.dim)


# Further activations as modules; see the functions of the same names in `nn.functional`.


class _InPlace(OwnNames, _Activation):
    """An activation whose only choice is whether to write into its input.

    Args:
        inplace: write into the input. Default: False.
    """

    own_names = ("__init__",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class Mish(_InPlace):
    """``x * tanh(softplus(x))``.

    Args:
        inplace: write into the input. Default: False.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.mish(input, self.inplace)


class Hardsigmoid(_InPlace):
    """``x + 3`` held between 0 and 6, divided by 6.

    Args:
        inplace: write into the input. Default: False.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""  # as in PyTorch, which does not show `inplace` here


class Hardswish(_InPlace):
    """``x * hardsigmoid(x)``.

    Args:
        inplace: write into the input. Default: False.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""  # as in PyTorch, which does not show `inplace` here


class CELU(_Activation):
    """``x`` where positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Args:
        alpha: not 0. Default: 1.
        inplace: write into the input. Default: False.
    """

    shown = ("alpha",)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.celu(input, self.alpha, self.inplace)


class GLU(_Activation):
    """The first half along a dimension times the sigmoid of the second half.

    Args:
        dim: which. Default: the last.
    """

    shown = ("dim",)

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.glu(input, self.dim)


class Hardshrink(Module):
    """``x`` outside [-lambd, lambd], 0 inside.

    Args:
        lambd: Default: 0.5.
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(Module):
    """``x`` moved towards 0 by ``lambd``, and 0 from [-lambd, lambd] on.

    Args:
        lambd: at least 0. Default: 0.5.
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Threshold(_Activation):
    """``x`` where it is greater than ``threshold``, else ``value``.

    Args:
        threshold, value: both needed.
        inplace: write into the input. Default: False.
    """

    shown = ("threshold", "value")

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.threshold(input, self.threshold, self.value, self.inplace)


class PReLU(_Activation):
    """``x`` where positive, ``weight * x`` elsewhere; the weight is learned.

    Args:
        num_parameters: 1, or the number C of channels for a weight each. Default: 1.
        init: the first value of the weight. Default: 0.25.
        device: accepted for PyTorch's sake.
        dtype: of the weight. Default: the default dtype.

    Shape:
        Input and output (N, C, ...).

    Attributes:
        weight: (num_parameters,).

    Reference:
        He et al., Delving Deep into Rectifiers, ICCV 2015, equation 1.
    """

    shown = ("num_parameters",)
    weight: Tensor

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(ops.empty(num_parameters, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give every weight its first value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        return F.prelu(input, self.weight)


class Softmax2d(Module):
    """`Softmax` over the channels of pictures.

    Shape:
        Input and output (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: for another number of dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of ``input``."""
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return softmax(input, -3)
