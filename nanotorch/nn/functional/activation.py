"""Activations."""

from typing import Any

from nanotorch import ops
from nanotorch._core.out import of_one_type
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.ops import activation as kernels
from nanotorch.ops import units
from nanotorch.ops.gelu import gelu_exact
from nanotorch.ops.given import tensor_given
from nanotorch.ops.overwriting import elu_ as elu_
from nanotorch.ops.overwriting import leaky_relu_ as leaky_relu_
from nanotorch.ops.units import hardtanh_ as hardtanh_

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805

tanh = ops.tanh
sigmoid = ops.sigmoid
relu_ = ops.relu_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``; with ``inplace``, written into ``input``."""
    tensor_given("relu", input)
    result: Tensor = input.relu_() if inplace else kernels.relu(input)
    return result


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``negative_slope * input`` elsewhere.

    Reference:
        Maas, Hannun and Ng, Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013.
    """
    tensor_given("leaky_relu", input)
    result: Tensor = (leaky_relu_ if inplace else kernels.leaky_relu)(input, negative_slope)
    return result


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere.

    Reference:
        Clevert, Unterthiner and Hochreiter, Fast and Accurate Deep Network Learning by Exponential
        Linear Units, ICLR 2016.
    """
    tensor_given("elu", input)
    result: Tensor = (elu_ if inplace else units.elu)(input, alpha)
    return result


def selu_(input: Tensor) -> Tensor:
    """`selu`, written into ``input``."""
    result: Tensor = elu_(input, SELU_ALPHA, SELU_SCALE)
    return result


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the scale and ``alpha`` under which activations keep mean 0 and variance 1.

    Reference:
        Klambauer et al., Self-Normalizing Neural Networks, NeurIPS 2017.
    """
    if inplace:
        return selu_(input)
    tensor_given("selu", input)
    result: Tensor = units.elu(input, SELU_ALPHA, SELU_SCALE)
    return result


def gelu(input: Tensor, approximate: str = "none", *, out: Any = None) -> Any:
    """``input * Φ(input)``, where Φ is the normal distribution function.

    Args:
        approximate: "tanh" for an approximation by a hyperbolic tangent. Default: "none".
        out: where to write the result.

    Raises:
        RuntimeError: for another word.

    Reference:
        Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    if out is not None:
        return of_one_type("gelu").fill(gelu, out, (input, approximate), {})
    tensor_given("gelu", input)
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return units.gelu_tanh(input) if approximate == "tanh" else gelu_exact(input)[0]


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also known as swish."""
    tensor_given("silu", input)
    result: Tensor = (units.silu_ if inplace else units.silu)(input)
    return result


def logsigmoid(input: Tensor, *, out: Any = None) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
    tensor_given("log_sigmoid", input)
    result: Tensor = units.log_sigmoid(input, out=out)
    return result


def softplus(
    input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Any = None
) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; ``input`` where ``beta * input > threshold``."""
    tensor_given("softplus", input)
    result: Tensor = kernels.softplus(input, beta, threshold, out=out)
    return result


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return input - input.tanh()


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """``input`` held between ``min_val`` and ``max_val``.

    Raises:
        ValueError: if ``min_val`` is greater than ``max_val``.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    tensor_given("hardtanh", input)
    result: Tensor = (hardtanh_ if inplace else units.hardtanh)(input, min_val, max_val)
    return result


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` held between 0 and 6."""
    return hardtanh(input, 0.0, 6.0, inplace)


# Along a dimension


def usual_dim(name: str, ndim: int) -> int:
    """The dimension that PyTorch picks where none is given, with its warning."""
    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """``exp(input)`` divided by its sum along ``dim``: positive, with sum 1.

    Args:
        dim: a dimension of ``input``.
        dtype: compute in this dtype.

    Warns:
        UserWarning: if ``dim`` is not given: 0 for 0, 1 or 3 dimensions, else 1.
    """
    if dim is None:
        dim = usual_dim("softmax", input.dim())
    result: Tensor = input.softmax(dim, dtype)
    return result


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """`softmax` of ``-input``."""
    if dim is None:
        dim = usual_dim("softmin", input.dim())
    result: Tensor = (-input).softmax(dim, dtype)
    return result


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of `softmax`, exact for inputs of any size; arguments as there."""
    if dim is None:
        dim = usual_dim("log_softmax", input.dim())
    result: Tensor = input.log_softmax(dim, dtype)
    return result
