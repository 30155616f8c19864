"""Activations, dropout, attention and embeddings."""

import math
from functools import partial
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.arguments import require_bool, wrong_type
from nanotorch._core.call_site import warn
from nanotorch._core.dtypes import PLACE
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import as_number
from nanotorch._core.out import Out
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.func.batched import looped, under_vmap
from nanotorch.func.functions import alike, by_values, each
from nanotorch.ops import activation as kernels
from nanotorch.ops import matrix
from nanotorch.ops.arguments import (
    check_first_tensors,
    check_input,
    check_kind,
    check_same_dtype,
    dtype_char,
    require,
    require_value,
)
from nanotorch.ops.joining import common_shape
from nanotorch.ops.random import default_generator, draw_into
from nanotorch.ops.sequences import attention, causal_mask, gelu_unit, safe_softmax

__all__ = (
    "alpha_dropout", "celu", "celu_", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "elu_", "embedding", "embedding_bag", "feature_alpha_dropout", "gelu", "glu", "gumbel_softmax",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_",
    "log_softmax", "logsigmoid", "mish", "one_hot", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_", "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "softmax",
    "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold",
    "threshold_",
)  # fmt: skip

# Activations.


SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805

tanh, sigmoid, relu_, prelu = ops.tanh, ops.sigmoid, ops.relu_, kernels.prelu
celu_, elu_, hardtanh_ = kernels.celu_, kernels.elu_, kernels.hardtanh_
leaky_relu_, threshold_ = kernels.leaky_relu_, kernels.threshold_


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """``max(input, 0)``; ``inplace`` writes it into ``input``."""
    check_input("relu", input)
    return input.relu_() if inplace else kernels.relu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``negative_slope * input`` elsewhere.

    Reference:
        Maas, Hannun and Ng, Rectifier Nonlinearities Improve Neural Network Acoustic Models, 2013.
    """
    check_input("leaky_relu", input)
    return (leaky_relu_ if inplace else kernels.leaky_relu)(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input) - 1)`` elsewhere.

    Reference:
        Clevert, Unterthiner and Hochreiter, Fast and Accurate Deep Network Learning by Exponential
        Linear Units, ICLR 2016.
    """
    check_input("elu", input)
    return (elu_ if inplace else kernels.elu)(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere.

    Raises:
        RuntimeError: if ``alpha`` is 0.

    Reference:
        Barron, Continuously Differentiable Exponential Linear Units, 2017.
    """
    check_input("celu", input)
    return (celu_ if inplace else kernels.celu)(input, alpha)


def selu_(input: Tensor) -> Tensor:
    """`selu`, written into ``input``."""
    return elu_(input, SELU_ALPHA, SELU_SCALE)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the scale and ``alpha`` that keep activations at mean 0 and variance 1.

    Reference:
        Klambauer et al., Self-Normalizing Neural Networks, NeurIPS 2017.
    """
    check_input("selu", input)
    return (elu_ if inplace else kernels.elu)(input, SELU_ALPHA, SELU_SCALE)


def gelu(input: Tensor, approximate: str = "none", *, out: Any = None) -> Tensor:
    """``input * Φ(input)``, where Φ is the normal distribution function.

    Args:
        approximate: "tanh" for an approximation by a hyperbolic tangent. Default: "none".
        out: the tensor for the result. Default: a new one.

    Raises:
        RuntimeError: for another ``approximate``.

    Reference:
        Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
    """
    if out is not None:
        rule = Out("gelu", strict=True, elementwise=True, overlap="part")
        return rule.fill(gelu, out, (input, approximate), {})
    check_input("gelu", input)
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return gelu_unit(input, approximate)[0]


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``, also known as swish."""
    check_input("silu", input)
    return (kernels.silu_ if inplace else kernels.silu)(input)


def logsigmoid(input: Tensor, *, out: Any = None) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
    check_input("log_sigmoid", input)
    return kernels.log_sigmoid(input, out=out)


def softplus(
    input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Any = None
) -> Tensor:
    """``log(1 + exp(beta * input)) / beta`` or, where ``beta * input > threshold``, ``input``."""
    check_input("softplus", input)
    return kernels.softplus(input, beta, threshold, out=out)


def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
    return input - input.tanh()


def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """``input``, but 0 from ``-lambd`` to ``lambd``."""
    check_input("hardshrink", input)
    return kernels.hardshrink(input, lambd, out=out)


def softshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """``input`` moved by ``lambd`` towards 0; 0 from ``-lambd`` to ``lambd``.

    Raises:
        RuntimeError: if ``lambd`` is negative or not finite.
    """
    check_input("softshrink", input)
    return kernels.softshrink(input, lambd, out=out)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where greater than ``threshold``, ``value`` elsewhere."""
    check_input("threshold", input)
    return (threshold_ if inplace else kernels.threshold)(input, threshold, value)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """``input`` clamped to [``min_val``, ``max_val``].

    Raises:
        ValueError: if ``min_val`` is greater than ``max_val``.
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    check_input("hardtanh", input)
    return (hardtanh_ if inplace else kernels.hardtanh)(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``input`` clamped to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


# Along a dimension


def usual_dim(name: str, ndim: int) -> int:
    """PyTorch's dimension for calls without ``dim``, with its warning."""
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
        dim: the dimension. Default: 0 for 0, 1 or 3 dimensions, else 1.
        dtype: the dtype of the computation and the result. Default: that of ``input``.

    Warns:
        UserWarning: without ``dim``.
    """
    dim = usual_dim("softmax", input.dim()) if dim is None else dim
    return input.softmax(dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """`softmax` of ``-input``; the arguments are those of `softmax`."""
    dim = usual_dim("softmin", input.dim()) if dim is None else dim
    return (-input).softmax(dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of `softmax`, exact for inputs of any size; the arguments are the same."""
    dim = usual_dim("log_softmax", input.dim()) if dim is None else dim
    return input.log_softmax(dim, dtype)


# Further activations: gates, hard forms, random choices.


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``.

    Reference:
        Misra, Mish: A Self Regularized Non-Monotonic Activation Function, BMVC 2020.
    """
    check_input("mish", input)
    return (kernels.mish_ if inplace else kernels.mish)(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along ``dim`` times the sigmoid of the second half.

    Raises:
        RuntimeError: if the size along ``dim`` is odd, or ``input`` has no dimensions.

    Reference:
        Dauphin et al., Language Modeling with Gated Convolutional Networks, ICML 2017.
    """
    require(input.dim(), "glu does not support scalars because halving size must be even")
    at = normal_dim(dim, input.ndim)
    message = "Halving dimension must be even, but dimension {} is size {}"
    require(not input.size(at) % 2, message, at, input.size(at))
    return kernels.glu_along(input, at)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``input + 3`` clamped to [0, 6], divided by 6.

    Reference:
        Courbariaux, Bengio and David, BinaryConnect, NeurIPS 2015.
    """
    check_input("hardsigmoid", input)
    return (kernels.hardsigmoid_ if inplace else kernels.hardsigmoid)(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * hardsigmoid(input)``.

    Reference:
        Howard et al., Searching for MobileNetV3, ICCV 2019, section 5.2.
    """
    check_input("hardswish", input)
    return (kernels.hardswish_ if inplace else kernels.hardswish)(input)


@under_vmap(by_values, random=True)
def rrelu_slopes(input: Tensor, lower: float, upper: float) -> Tensor:
    """Random slopes where ``input`` is not positive, 1 elsewhere."""
    array = input._array
    check_kind("rrelu_with_noise_out_cpu", array)
    slopes, low = np.ones_like(array, order="C"), array <= 0
    wide = np.float64 if array.itemsize == 8 else np.float32  # PyTorch rounds the bounds first
    start, end = float(wide(lower)), float(wide(upper))
    slopes[low] = default_generator.uniform64(int(low.sum())) * (end - start) + start
    return wrap(slopes)


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
    inplace: bool = False,
) -> Tensor:  # fmt: skip
    """`leaky_relu` with a random slope for each element that is not positive.

    Args:
        lower, upper: the range of the slopes. Default: 1/8 and 1/3.
        training: False uses the middle of the range for all elements. Default: False.
        inplace: write into ``input``. Default: False.

    Raises:
        RuntimeError: if a bound is not finite, or ``lower`` is greater than ``upper``.

    Reference:
        Xu et al., Empirical Evaluation of Rectified Activations in Convolutional Network, 2015.
    """
    check_input("rrelu", input)
    require_bool(training, "training")
    for name, bound in (("lower", lower), ("upper", upper)):
        require(math.isfinite(bound), "rrelu: {} bound must be finite, got {:g}", name, bound)
    require(lower <= upper, "Lower bound should be less than or equal to the upper bound")
    if training:
        slopes = rrelu_slopes(input, lower, upper)
    else:
        slopes = kernels.equal_slopes(input, (lower + upper) / 2)
    return (kernels.by_slopes_ if inplace else kernels.by_slopes)(input, slopes)


def rrelu_(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False
) -> Tensor:
    """`rrelu`, written into ``input``."""
    return rrelu(input, lower, upper, training, True)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A random relaxed choice of one class: ``softmax((logits + noise) / tau)``.

    Args:
        logits: unnormalized log-probabilities.
        tau: the temperature, positive. Default: 1.
        hard: return 1 for one class and 0 for the others; the gradient is still that of the relaxed
            choice. Default: False.
        eps: has no effect.
        dim: the dimension of the classes. Default: the last.

    Warns:
        UserWarning: for an ``eps`` other than 1e-10.

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
    """``input`` with elements zeroed with probability ``p``, the others divided by ``1 - p``.

    Args:
        p: the probability of zero, in [0, 1]. Default: 0.5.
        training: False returns ``input`` unchanged. Default: True.
        inplace: write into ``input``. Default: False.

    Raises:
        ValueError: if ``p`` is out of range.

    Reference:
        Hinton et al., Improving neural networks by preventing co-adaptation of feature detectors,
        2012.
    """
    p = checked_probability(p)
    require_bool(training, ("dropout", "train", 3))
    check_input("dropout", input)
    if p == 0.0 or not training or not input._array.size:
        return input
    mask = dropout_factors(input, p)
    return input.mul_(mask) if inplace else input * mask


@under_vmap(alike, random=True)
def dropout_factors(input: Tensor, p: float) -> Tensor:
    """The random factor of each element: 0 or ``1 / (1 - p)``, in PyTorch's random order."""
    if p == 1.0:
        return ops.zeros_like(input)
    array = kept_elements(input, p)
    wide = np.float64 if array.itemsize == 8 else np.float32  # PyTorch divides in single precision
    array *= wide(1) / wide(1 - p)
    return wrap(array)


def kept_elements(input: Tensor, p: float) -> np.ndarray:
    """1 with probability ``1 - p``, else 0, for each element of a tensor of floats."""
    array = ops.empty_like(input)._array
    if array.dtype.kind != "f":
        message = "result type Float can't be cast to the desired output type "
        raise RuntimeError(message + dtype_char(array))
    draw_into(array, partial(default_generator.bernoulli, 1 - p))
    return array


def checked_probability(p: float) -> float:
    """The number ``p``; raise ValueError unless it is in [0, 1]."""
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return as_number(p, "p", "float")


# Whole channels


@under_vmap(each, random=True)
def channel_mask(input: Tensor, p: float) -> Tensor:
    """Ones and zeros, one per channel of (N, C, ...), of shape (N, C, 1, ...)."""
    require(input.ndim >= 2, "Feature dropout requires at least 2 dimensions in the input")
    shape = (*input._array.shape[:2], *(1,) * (input.ndim - 2))
    return wrap(default_generator.bernoulli(1 - p, shape, input._array.dtype))


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`dropout` for `selu`: elements become the limit of `selu`, and mean and variance stay.

    Args:
        p: the probability of the limit, in [0, 1]. Default: 0.5.
        training: False returns ``input`` unchanged. Default: False.
        inplace: write into ``input``. Default: False.

    Raises:
        ValueError: if ``p`` is out of range.

    Reference:
        Klambauer et al., Self-Normalizing Neural Networks, NeurIPS 2017.
    """
    return drop_to_limit("alpha_dropout", element_mask, input, p, training, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, ...)."""
    return drop_to_limit("feature_alpha_dropout", channel_mask, input, p, training, inplace)


@under_vmap(alike, random=True)
def element_mask(input: Tensor, p: float) -> Tensor:
    """`kept_elements` as a tensor."""
    return wrap(kept_elements(input, p))


def drop_to_limit(
    name: str, draw: Any, input: Tensor, p: float, training: bool, inplace: bool
) -> Tensor:
    """`alpha_dropout` of the elements where ``draw(input, p)`` is 0."""
    p = checked_probability(p)
    check_input(name, input)
    require_bool(training, (name, "train", 3))
    if p == 0.0 or not training or not input.numel():
        return input
    if p == 1.0:
        zero = ops.zeros((), dtype=input.dtype)
        return input.mul_(zero) if inplace else input * zero
    kept, limit = draw(input, p), SELU_ALPHA * SELU_SCALE
    scale = 1 / math.sqrt((limit * limit * p + 1) * (1 - p))
    shift = (kept - 1) * (limit * scale) + limit * scale * p
    kept = kept * scale
    return input.mul_(kept).add_(shift) if inplace else input * kept + shift


def drop_channels(
    input: Tensor, p: float, training: bool, inplace: bool, single: bool = False
) -> Tensor:
    """`dropout` of whole channels of (N, C, ...) or, if ``single``, of (C, ...)."""
    if single:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    if p and training and input._array.size:
        if p == 1.0:
            mask = wrap(input._array.dtype.type(0))
        else:
            mask = channel_mask(input, p).div_(1 - p)
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
        ValueError: if ``p`` is out of range.
        RuntimeError: if ``input`` has another number of dimensions.
    """
    p = checked_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received {input.dim()}D")
    return drop_channels(input, p, training, inplace, input.dim() == 2)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of images.

    Shape:
        ``input`` (N, C, H, W), or (N, C, L) with a warning; the result the same.

    Raises:
        ValueError: if ``p`` is out of range.

    Warns:
        UserWarning: unless ``input`` has four dimensions.

    Reference:
        Tompson et al., Efficient Object Localization Using Convolutional Networks, CVPR 2015.
    """
    p = checked_probability(p)
    if input.dim() not in (3, 4):
        warn_of_dimensions("dropout2d", input.dim(), "3D or 4D")
    if input.dim() == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L). Use dropout1d instead."
        )
    return drop_channels(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of volumes.

    Shape:
        ``input`` (N, C, D, H, W) or (C, D, H, W); the result the same.

    Raises, Warns, Reference: see `dropout2d`.
    """
    p = checked_probability(p)
    if input.dim() not in (4, 5):
        warn_of_dimensions("dropout3d", input.dim(), "4D or 5D")
    return drop_channels(input, p, training, inplace, input.dim() != 5)


def warn_of_dimensions(name: str, ndim: int, wanted: str) -> None:
    """Warn that the input of function ``name`` has an unusual number of dimensions."""
    warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an "
        f"error in a future release. It takes {wanted} inputs; use dropout for others."
    )


# Attention.


MASK_AND_CAUSAL = (
    "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
)


@under_vmap(looped)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """``softmax(query keyᵀ · scale + mask) value``: a weighted mean of the values for each query.

    Args:
        query: the queries, (..., L, E).
        key: the keys, (..., S, E).
        value: the values, (..., S, V).
        attn_mask: broadcasts to (..., L, S). A bool mask is True where a query sees a key; any
            other mask is added to the scores.
        dropout_p: the probability of zero for a weight, in [0, 1]. Default: 0.
        is_causal: query l sees only keys 0 to l. Default: False.
        scale: the factor of the scores. Default: 1/√E.
        enable_gqa: allow keys and values to have fewer heads (dimension -3); each head then serves
            an equal number of query heads. Default: False.

    Returns:
        (..., L, V); zeros for queries that see no key.

    Raises:
        RuntimeError: if dtypes or shapes do not match, for a mask with ``is_causal``, or if
            ``dropout_p`` is out of range.

    Reference:
        Vaswani et al., Attention is all you need, NeurIPS 2017.
    """
    check_attention(query, key, value, attn_mask, scale)
    require(not is_causal or attn_mask is None, MASK_AND_CAUSAL)
    factor = scale if scale is not None else 1 / math.sqrt(max(query.size(-1), 1))
    if enable_gqa:
        heads, shared = query.size(-3), key.size(-3)
        fits = shared == value.size(-3) and not heads % shared
        require(fits, "heads of key and value must divide the number of heads in query")
        key, value = (x.repeat_interleave(heads // shared, -3) for x in (key, value))
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    fits = len(q) == len(k) == len(v) and len(q) in (3, 4) and not dropout_p
    fits = fits and q[:-2] == k[:-2] and k == v and q[-1] == k[-1] and 0 not in (*q, *k)
    if attn_mask is not None:
        fits = fits and attn_mask.ndim in (0, 2, 4) and not attn_mask.requires_grad
    if fits:  # one operation
        single = query.ndim == 3
        if single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
        mask = None
        if attn_mask is not None:  # as numbers to add to scores of layout (..., S, L)
            mask, kind = attn_mask._array, query._array.dtype
            if mask.dtype.kind == "b":
                mask = np.where(mask, kind.type(0), kind.type(-math.inf))
            mask = np.ascontiguousarray(mask.swapaxes(-1, -2).astype(kind, copy=False))
        out: Tensor = attention(query, key, value, mask, is_causal, factor)[0]
        return out.squeeze(0) if single else out
    message = "dropout probability has to be between 0 and 1, but got {:g}"
    require(0 <= dropout_p <= 1, message, dropout_p)
    root = math.sqrt(abs(factor))
    scores = ops.matmul(query * math.copysign(root, factor), key.transpose(-2, -1) * root)
    if is_causal:
        queries, keys = scores._array.shape[-2:]
        scores = scores + wrap(causal_mask(keys, queries, scores._array.dtype).T.copy())
    if attn_mask is not None:
        floats = attn_mask.dtype != dtypes.bool_
        added = attn_mask if floats else additive_mask(attn_mask.logical_not(), query.dtype)
        scores = scores + added
    weights: Tensor = safe_softmax(scores)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return ops.matmul(weights, value)


def check_attention(query: Any, key: Any, value: Any, mask: Any, scale: Any) -> None:
    """Refuse arguments of `scaled_dot_product_attention` whose dtypes or shapes do not match."""
    check_first_tensors("scaled_dot_product_attention", query=query, key=key, value=value)
    if scale is not None and not isinstance(scale, (int, float)):
        raise wrong_type(scale, "float", ("scaled_dot_product_attention", "scale", 0))
    names = [dtypes.C_NAMES[x.dtype.name] for x in (query, key, value)]
    if len(set(names)) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{names[0]} key.dtype: {names[1]} and value.dtype: {names[2]} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError("Expected query, key, and value to be at least 2 dimensional")
    if not query.is_floating_point():
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.char}")
    if mask is not None:
        known = mask.dtype in (dtypes.bool_, dtypes.float32, query.dtype)
        message = "Expected attn_mask to be of bool, float or the query's dtype, but got {}"
        require(known, message, mask.dtype)
        scores = (*query.shape[:-1], key.size(-2))
        common = common_shape(scores, tuple(mask.shape))
        message = "output with shape {} doesn't match the broadcast shape {}"
        require(common == scores, message, list(scores), list(common))


def additive_mask(left_out: Tensor, dtype: Any) -> Tensor:
    """``-inf`` where the bool mask ``left_out`` is True, else zeros."""
    return ops.zeros(left_out.shape, dtype=dtype, device=left_out.device).masked_fill_(
        left_out, -math.inf
    )


# Embeddings: rows of a table by index.


DENSE = "sparse gradients are not supported; use sparse=False"


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of ``weight`` at the indices ``input``.

    Args:
        padding_idx: a row without gradient; may be negative. Default: None.
        max_norm: scale used rows with a greater norm down to it, in place. Default: None.
        norm_type: the order of this norm. Default: 2.
        scale_grad_by_freq: divide a row's gradient by its count in ``input``. Default: False.
        sparse: must be False.

    Shape:
        ``input`` (*), of int64 or int32; ``weight`` (K, D); the result (*, D).

    Raises:
        IndexError: if an index is out of range.
        RuntimeError: if ``weight`` is not a matrix, or the indices have another dtype.
        AssertionError: if ``padding_idx`` is out of range.
        NotImplementedError: with ``sparse``.
    """
    if sparse:
        raise NotImplementedError(DENSE)
    check_first_tensors("embedding", weight=weight, indices=input)
    padding = -1 if padding_idx is None else padding_row(padding_idx, weight.size(0))
    if max_norm is not None:
        matrix.renormalize(weight, input, max_norm, norm_type)
    return matrix.embedding_rows(weight, input, padding, scale_grad_by_freq)


def padding_row(padding_idx: int, count: int, name: str = "Padding_idx") -> int:
    """The index of the padding row, counted from the front; ``name`` is for the error."""
    if not -count <= padding_idx < count:
        raise AssertionError(f"{name} must be within num_embeddings")
    return padding_idx % count


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
    sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """The sum, mean or maximum of the rows of ``weight`` in each bag of indices.

    Args:
        input: the bags (B, N), or all bags in one vector.
        offsets: the start of each bag in this vector, (B,).
        max_norm, norm_type, scale_grad_by_freq: see `embedding`.
        mode: "sum", "mean" or "max". Default: "mean".
        sparse: must be False.
        per_sample_weights: the factor of each row, for "sum" only; of the shape of ``input``.
        include_last_offset: ``offsets`` ends with the length of ``input``. Default: False.
        padding_idx: an index that bags ignore. Default: None.

    Returns:
        (B, D); zeros for empty bags.

    Raises:
        ValueError, RuntimeError: if shapes, dtypes or options do not match.
        NotImplementedError: with ``sparse``, or weights without "sum".
    """
    if weight.dtype == dtypes.int64 and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    require_value(weight.ndim == 2, "weight has to be 2D, not {}D", weight.ndim)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and (sparse or scale_grad_by_freq):
        raise ValueError("max mode does not support sparse weights or frequencies")
    if sparse:
        raise NotImplementedError(DENSE)
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError("per_sample_weights must have the same shape as the input")
    shape = input._array.shape
    if len(shape) == 2:
        require_value(offsets is None, "if input is 2D, then offsets has to be None")
        require(shape[1], "step must be nonzero")
        starts = np.arange(shape[0]) * shape[1]
    else:
        require_value(len(shape) == 1, "input has to be a 1D or 2D Tensor, not {}D", len(shape))
        if offsets is None or offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = offsets._array
    factors = None
    if per_sample_weights is not None:
        require(mode == "sum", "per_sample_weights requires mode='sum'", error=NotImplementedError)
        check_same_dtype(weight, per_sample_weights)
        factors = per_sample_weights.reshape(-1)
    flat, bags, count, kept = samples_of_bags(
        input._array, starts, include_last_offset, len(weight._array), padding_idx
    )
    if max_norm is not None:
        matrix.renormalize(weight, input, max_norm, norm_type)
    if kept is not None and factors is not None:
        factors = factors[wrap(kept)]
    sizes = np.bincount(bags, minlength=count)
    if mode == "max":
        return matrix.bag_maxima(weight, flat, bags, (sizes > 0)[:, None])[0]
    if mode == "mean":
        kind = weight._array.dtype
        factors = wrap((1 / np.maximum(sizes, 1)).astype(kind)[bags])
    return matrix.bag_sums(weight, factors, flat, bags, count, scale_grad_by_freq)


def samples_of_bags(
    indices: np.ndarray, starts: np.ndarray, last: bool, rows: int, padding_idx: int | None
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray | None]:
    """The indices without padding, the bag of each, the number of bags, and the mask of kept ones.

    Args:
        starts: the start of each bag; with ``last``, also the end of the last bag.
        rows: the number of rows in the table.
    """
    matrix.check_indices("embedding_bag", indices)
    matrix.check_indices("embedding_bag", starts)
    flat = indices.reshape(-1)
    total = flat.size
    require(starts.size or not last, "include_last_offset: number of offset should be at least 1")
    ends = starts if last or not starts.size else np.append(starts, total)
    lengths = np.diff(ends).astype(PLACE, copy=False)
    if starts.size and (starts[0] or starts[-1] > total or (lengths < 0).any()):
        message = f"offsets must begin with 0, not exceed {total} and not decrease, but they are "
        raise RuntimeError(f"{message}{starts.tolist()}")
    bags = np.repeat(np.arange(lengths.size), lengths)
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(f"padding_idx must be from {-rows} to {rows - 1}, not {padding_idx}")
    wrong = (flat < 0) | (flat >= rows)
    if wrong.any():
        raise RuntimeError(f"Index {flat[wrong][0]} of input is not in the valid range [0, {rows})")
    flat = flat[: bags.size]
    if padding_idx is None:
        return flat, bags, lengths.size, None
    kept = flat != padding_idx % rows
    return flat[kept], bags[kept], lengths.size, kept


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """One-hot vectors: 1 at the position of the class, 0 elsewhere.

    Args:
        tensor: class numbers from 0, of int64.
        num_classes: the length of the vectors. Default: -1, the greatest class number plus 1.

    Raises:
        RuntimeError: if a class number is negative or too large, or for another dtype.
    """
    if not isinstance(tensor, Tensor):
        raise wrong_type(tensor, "Tensor")
    if isinstance(num_classes, bool) or not isinstance(num_classes, int):
        raise wrong_type(num_classes, "int", ("one_hot", "num_classes", 2))
    is_index = tensor.dtype == dtypes.int64
    require(is_index, "one_hot is only applicable to index tensor of type LongTensor.")
    array: Any = tensor._array
    message = "Can not infer total number of classes from empty tensor."
    require(array.size or num_classes > 0, message)
    require(not array.size or array.min() >= 0, "Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(array.max()) + 1
    return matrix.one_hot_rows(tensor, num_classes)
