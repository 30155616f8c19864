"""Activations and dropout."""

from typing import Any

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.batched import under_vmap
from nanotorch._core.call_site import warn
from nanotorch._core.layout import normal_dim
from nanotorch._core.out import of_one_type
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops import activation as kernels
from nanotorch.ops.arguments import require, tensor_given
from nanotorch.ops.random import alike, default_generator, each, empty_layout
from nanotorch.ops.sequences import gelu_unit

__all__ = (
    "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_", "gelu",
    "glu", "gumbel_softmax", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_",
    "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6",
    "relu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus",
    "softsign", "tanh", "tanhshrink",
)  # fmt: skip

# Activations.


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805

tanh, sigmoid, relu_, prelu = ops.tanh, ops.sigmoid, ops.relu_, kernels.prelu
elu_, hardtanh_, leaky_relu_ = kernels.elu_, kernels.hardtanh_, kernels.leaky_relu_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``; with ``inplace``, written into ``input``."""
    tensor_given("relu", input)
    return input.relu_() if inplace else kernels.relu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``negative_slope * input`` elsewhere.

    Reference:
        Maas, Hannun and Ng, Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013.
    """
    tensor_given("leaky_relu", input)
    return (leaky_relu_ if inplace else kernels.leaky_relu)(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere.

    Reference:
        Clevert, Unterthiner and Hochreiter, Fast and Accurate Deep Network Learning by Exponential
        Linear Units, ICLR 2016.
    """
    tensor_given("elu", input)
    return (elu_ if inplace else kernels.elu)(input, alpha)


def selu_(input: Tensor) -> Tensor:
    """`selu`, written into ``input``."""
    return elu_(input, SELU_ALPHA, SELU_SCALE)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the scale and ``alpha`` under which activations keep mean 0 and variance 1.

    Reference:
        Klambauer et al., Self-Normalizing Neural Networks, NeurIPS 2017.
    """
    if inplace:
        return selu_(input)
    tensor_given("selu", input)
    return kernels.elu(input, SELU_ALPHA, SELU_SCALE)


def gelu(input: Tensor, approximate: str = "none", *, out: Any = None) -> Tensor:
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
    return gelu_unit(input, approximate)[0]


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also known as swish."""
    tensor_given("silu", input)
    return (kernels.silu_ if inplace else kernels.silu)(input)


def logsigmoid(input: Tensor, *, out: Any = None) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
    tensor_given("log_sigmoid", input)
    return kernels.log_sigmoid(input, out=out)


def softplus(
    input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Any = None
) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; ``input`` where ``beta * input > threshold``."""
    tensor_given("softplus", input)
    return kernels.softplus(input, beta, threshold, out=out)


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
    return (hardtanh_ if inplace else kernels.hardtanh)(input, min_val, max_val)


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
    dim = usual_dim("softmax", input.dim()) if dim is None else dim
    return input.softmax(dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """`softmax` of ``-input``."""
    dim = usual_dim("softmin", input.dim()) if dim is None else dim
    return (-input).softmax(dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of `softmax`, exact for inputs of any size; arguments as there."""
    dim = usual_dim("log_softmax", input.dim()) if dim is None else dim
    return input.log_softmax(dim, dtype)


# Further activations: gates, soft and hard shrinkage, slopes that are learned or drawn.


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``.

    Reference:
        Misra, Mish: A Self Regularized Non-Monotonic Activation Function, BMVC 2020.
    """
    tensor_given("mish", input)
    return (kernels.mish_ if inplace else kernels.mish)(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along ``dim`` times the sigmoid of the second half.

    Raises:
        RuntimeError: for an odd size, or no dimension.

    Reference:
        Dauphin et al., Language Modeling with Gated Convolutional Networks, ICML 2017.
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    at = normal_dim(dim, input.ndim)
    if input.size(at) % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {at} is size {input.size(at)}"
        )
    return kernels.glu_along(input, at)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``input + 3`` held between 0 and 6, divided by 6.

    Reference:
        Courbariaux, Bengio and David, BinaryConnect, NeurIPS 2015.
    """
    tensor_given("hardsigmoid", input)
    return (kernels.hardsigmoid_ if inplace else kernels.hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * hardsigmoid(input)``.

    Reference:
        Howard et al., Searching for MobileNetV3, ICCV 2019, section 5.2.
    """
    tensor_given("hardswish", input)
    return (kernels.hardswish_ if inplace else kernels.hardswish)(input)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A random sample of a relaxed choice of one class: ``softmax((logits + noise) / tau)``.

    Args:
        logits: unnormalized log-probabilities.
        tau: the temperature, positive. Default: 1.
        hard: choose one class with 1, the others 0; the gradient is that of the relaxed choice.
        eps: without effect.
        dim: of the classes. Default: the last.

    Warns:
        UserWarning: if ``eps`` is given.

    Reference:
        Jang, Gu and Poole, Categorical Reparameterization with Gumbel-Softmax, ICLR 2017;
        Maddison, Mnih and Teh, The Concrete Distribution, ICLR 2017.
    """
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -ops.empty_like(logits).exponential_().log()
    soft: Tensor = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen: Tensor = ops.zeros_like(logits).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft


# Dropout, of elements and of whole channels.


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to zero with probability ``p`` and divide the others by ``1 - p``.

    Args:
        p: in [0, 1]. Default: 0.5.
        training: otherwise ``input`` is returned as it is. Default: True.
        inplace: change ``input`` itself. Default: False.

    Raises:
        ValueError: for a ``p`` out of range.

    Reference:
        Hinton et al., Improving neural networks by preventing co-adaptation of feature detectors,
        2012.
    """
    check_probability(p)
    tensor_given("dropout", input)
    if p == 0.0 or not training or not input._array.size:
        return input
    mask = kept(input, p)
    return input.mul_(mask) if inplace else input * mask


@under_vmap(alike, random=True)
def kept(input: Tensor, p: float) -> Tensor:
    """The factor of each element: 0 or ``1 / (1 - p)``, drawn as PyTorch draws it."""
    array, target = empty_layout(input, None)
    if p == 1.0:
        array.fill(0)
        return wrap(array)
    if array.dtype.kind != "f":
        kind = dtypes.of_array(array).char
        raise RuntimeError(f"result type Float can't be cast to the desired output type {kind}")
    target[...] = default_generator.bernoulli(1 - p, target.shape, array.dtype)
    target /= array.dtype.type(1 - p)
    return wrap(array)


def check_probability(p: float) -> None:
    """Refuse what is no probability."""
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


# Whole channels


@under_vmap(each, random=True)
def of_channels(input: Tensor, p: float) -> Tensor:
    """Ones and zeros for the channels of (N, C, ...), in a shape that broadcasts with it."""
    require(input.ndim >= 2, "Feature dropout requires at least 2 dimensions in the input")
    shape = (*input._array.shape[:2], *(1,) * (input.ndim - 2))
    return wrap(default_generator.bernoulli(1 - p, shape, input._array.dtype))


def channels_dropped(
    input: Tensor, p: float, training: bool, inplace: bool, single: bool = False
) -> Tensor:
    """`dropout` of whole channels of (N, C, ...), or if ``single`` of (C, ...)."""
    if single:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    if p and training and input._array.size:
        if p == 1.0:
            mask = wrap(input._array.dtype.type(0))
        else:
            mask = of_channels(input, p).div_(1 - p)
        input = input.mul_(mask) if inplace else input * mask
    if single:
        input = input.squeeze_(0) if inplace else input.squeeze(0)
    return input


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels.

    Shape:
        ``input`` (N, C, L) or (C, L); the result the same.

    Raises:
        ValueError: for a ``p`` out of range.
        RuntimeError: for inputs of other numbers of dimensions.
    """
    check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received {input.dim()}D")
    return channels_dropped(input, p, training, inplace, input.dim() == 2)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of pictures.

    Shape:
        ``input`` (N, C, H, W), or (N, C, L), with a warning; the result the same.

    Raises:
        ValueError: for a ``p`` out of range.

    Warns:
        UserWarning: for inputs of other numbers of dimensions.

    Reference:
        Tompson et al., Efficient Object Localization Using Convolutional Networks, CVPR 2015.
    """
    check_probability(p)
    if input.dim() not in (3, 4):
        warn_of_dimensions("dropout2d", input.dim(), "3D or 4D")
    if input.dim() == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L). Use dropout1d instead."
        )
    return channels_dropped(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of volumes.

    Shape:
        ``input`` (N, C, D, H, W) or (C, D, H, W); the result the same.

    Raises, Warns, Reference: see `dropout2d`.
    """
    check_probability(p)
    if input.dim() not in (4, 5):
        warn_of_dimensions("dropout3d", input.dim(), "4D or 5D")
    return channels_dropped(input, p, training, inplace, input.dim() != 5)


def warn_of_dimensions(name: str, ndim: int, wanted: str) -> None:
    """Warn of inputs of unusual numbers of dimensions."""
    warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an "
        f"error in a future release. It takes {wanted} inputs; use dropout for others."
    )
