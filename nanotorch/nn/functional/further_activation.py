"""Further activations: gates, soft and hard shrinkage, slopes that are learned or drawn."""

from nanotorch import ops
from nanotorch._core.layout import normal_dim
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.ops import shrinking, units
from nanotorch.ops.given import tensor_given
from nanotorch.ops.overwriting import celu_ as celu_
from nanotorch.ops.overwriting import threshold_ as threshold_
from nanotorch.ops.shrinking import hardshrink as hardshrink
from nanotorch.ops.shrinking import prelu as prelu
from nanotorch.ops.shrinking import softshrink as softshrink


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere.

    Raises:
        RuntimeError: if ``alpha`` is 0.

    Reference:
        Barron, Continuously Differentiable Exponential Linear Units, 2017.
    """
    result: Tensor = (celu_ if inplace else units.celu)(input, alpha)
    return result


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``.

    Reference:
        Misra, Mish: A Self Regularized Non-Monotonic Activation Function, BMVC 2020.
    """
    tensor_given("mish", input)
    result: Tensor = (units.mish_ if inplace else units.mish)(input)
    return result


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
    result: Tensor = units.glu_along(input, at)
    return result


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``input + 3`` held between 0 and 6, divided by 6.

    Reference:
        Courbariaux, Bengio and David, BinaryConnect, NeurIPS 2015.
    """
    tensor_given("hardsigmoid", input)
    result: Tensor = (shrinking.hardsigmoid_ if inplace else shrinking.hardsigmoid)(input)
    return result


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * hardsigmoid(input)``.

    Reference:
        Howard et al., Searching for MobileNetV3, ICCV 2019, section 5.2.
    """
    tensor_given("hardswish", input)
    result: Tensor = (shrinking.hardswish_ if inplace else shrinking.hardswish)(input)
    return result


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is greater than ``threshold``, else ``value``."""
    tensor_given("threshold", input)
    result: Tensor = (threshold_ if inplace else shrinking.threshold)(input, threshold, value)
    return result


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
