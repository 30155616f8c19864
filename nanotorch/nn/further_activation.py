"""Further activations as modules; see the functions of the same names in `nn.functional`."""

from typing import Any

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn.activation import _Activation
from nanotorch.nn.functional import further_activation as F
from nanotorch.nn.functional.activation import softmax
from nanotorch.nn.init import constant_
from nanotorch.nn.module import Module
from nanotorch.nn.own_names import OwnNames
from nanotorch.nn.parameter import Parameter


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
        result: Tensor = F.hardshrink(input, self.lambd)
        return result

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
        result: Tensor = F.softshrink(input, self.lambd)
        return result

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
        result: Tensor = F.prelu(input, self.weight)
        return result


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
