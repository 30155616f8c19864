"""Batch, instance, group, layer and root mean square normalization."""

import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core.arguments import refused
from nanotorch._core.batched import Batch, Batched, batched, separately, under_vmap, whole_of
from nanotorch._core.bfloat16 import wide
from nanotorch._core.call_site import wrote
from nanotorch._core.dtypes import BFLOAT16
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import widened
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor
from nanotorch.ops import fused as kernels
from nanotorch.ops.arguments import (
    constants_given,
    need_kind,
    need_one_dtype,
    need_value,
    require,
    tensor_given,
)
from nanotorch.ops.elementwise import plus_number
from nanotorch.ops.reduction import Dims

__all__ = (
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm",
    "normalize", "rms_norm",
)  # fmt: skip

# Normalizations for the samples of a batch under `vmap`.


NOT_BATCHED = (
    "Batch norm got a batched tensor as input while the running_mean or running_var, which will be "
    "updated in place, were not batched: set track_running_stats to False"
)


def joined(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """A normalization of all samples at once.

    They join the first dimension; those of `batch_norm` the channels, each with running values of
    its own. `instance_norm` with running values takes them one by one.
    """
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    given, affine = bound.arguments, {name: bound.arguments[name] for name in ("weight", "bias")}
    channels = "training" in given
    updates = given.get("training", given.get("use_input_stats"))
    if channels and updates:
        refuse_single(given["input"].shape)
    running = {
        name: given[name] for name in ("running_mean", "running_var") if given.get(name) is not None
    }
    if updates and not all(isinstance(value, Batched) for value in running.values()):
        raise RuntimeError(NOT_BATCHED)
    if running and not channels:
        return separately(function, batch, args, kwargs)
    given |= {name: whole_of(value, batch).reshape(-1) for name, value in running.items()}
    apart = channels or any(isinstance(value, Batched) for value in affine.values())
    if apart:
        given |= dict.fromkeys(affine)
    input = whole_of(given["input"], batch)
    if channels:
        input = input.movedim(0, 1)
    given["input"] = input.flatten(int(channels), 1 + channels)
    out: Any = function(*bound.args, **bound.kwargs).reshape(input.shape)
    out = batched(out.movedim(1, 0) if channels else out, batch)
    for name, value in affine.items() if apart else ():
        if value is not None:
            value = value.view((-1,) + (1,) * (out.ndim - 2))
            out = out * value if name == "weight" else out + value
    return out


def refuse_single(shape: Sequence[int]) -> None:
    """Refuse (N, C, ...) with one value for each channel, which has no variance."""
    if shape[0] * math.prod(shape[2:]) == 1:
        told = "Expected more than 1 value per channel when training, got input size "
        raise ValueError(f"{told}{shape}")


MIXED = "mixed dtype (CPU): "


@under_vmap(joined)
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``(input - mean) / √(variance + eps) * weight + bias`` per channel.

    Args:
        running_mean, running_var: (C,); used in evaluation, and in training moved towards the
            batch's mean and (unbiased) variance.
        weight, bias: (C,). Default: ones and zeros.
        training: use the mean and (biased) variance of the batch. Default: False.
        momentum: how far the running values move, from 0 to 1. Default: 0.1.
        eps: Default: 1e-5.

    Shape:
        ``input`` (N, C) or (N, C, ...); the result the same.

    Raises:
        ValueError: for a single value per channel in training; if ``eps`` is negative, or zero
            in training.
        RuntimeError: if a running value is missing in evaluation or has another size.

    Reference:
        Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing
        Internal Covariate Shift, ICML 2015, algorithms 1 and 2.
    """
    if training:
        refuse_single(input.shape)
    if eps < 0.0 or (training and eps == 0.0):
        what = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {what}, but got {eps}")
    normal_dim(1, input._array.ndim)  # the error for fewer is an index's, as in PyTorch
    return normalized_channels(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def normalized_channels(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None,
    bias: Tensor | None, training: bool, momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """`batch_norm` of an input with channels."""
    if not input._array.size:
        return of_nothing(input, weight, bias)
    shape = input._array.shape
    given = {
        "running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias,
    }  # fmt: skip
    for name, tensor in given.items():
        if tensor is None:
            if name.startswith("running") and not training:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        elif tensor._array.size != shape[1]:
            told = f"{name} should contain {shape[1]} elements not {tensor._array.size}"
            raise RuntimeError(told)
    need_kind("batch_norm", input._array)
    check_mixed(input, weight, bias, running_mean, running_var)
    constants_given("native_batch_norm", running_mean=running_mean, running_var=running_var)
    plan = kernels.channels(shape, weight is not None or bias is not None)
    if training:
        kept = kernels.Kept()
        variance = kernels.moments(input._array, plan, kept)
        kept.scale = kernels.reciprocal_root(variance, eps)
        count = input._array.size // plan.shape[1]
        unbiased = variance * variance.dtype.type(count / (count - 1) if count > 1 else math.nan)
        for running, new in ((running_mean, kept.mean), (running_var, unbiased)):
            if running is not None:  # it moves towards the new one, in place
                array, number = running._array, running._array.dtype.type
                array *= number(1 - momentum)
                array += (new * number(momentum)).reshape(array.shape)
                wrote(running._cell, "batch_norm")
    else:
        assert running_mean is not None
        assert running_var is not None
        mean, variance = wide(list(widened(running_mean._array, running_var._array)))
        scale = kernels.reciprocal_root(variance, eps).reshape(plan.weight)
        # A copy: the next batch in training moves the running values.
        kept = kernels.Kept(mean.reshape(plan.weight).copy(), scale, fixed=True)
    return kernels.normalize_batch(input, weight, bias, plan, eps, kept)


def of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """An input without elements, normalized; its gradients for weight and bias are zeros."""
    out = input.clone() if weight is None else input * weight[0]
    return out if bias is None else out + bias[0]


def check_mixed(input: Tensor, *parameters: Tensor | None) -> None:
    """Refuse parameters of another dtype than the input's, but those in single for half."""
    kind = input._array.dtype
    kinds = {p._array.dtype for p in parameters if p is not None}
    if not kinds - {kind}:
        return
    if kinds - {SINGLE}:
        raise RuntimeError(MIXED + "expect parameter to have scalar type of Float")
    if kind not in (HALF, BFLOAT16):
        raise RuntimeError(MIXED + "all inputs must share same datatype.")


@under_vmap(joined)
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``(input - mean) / √(variance + eps) * weight + bias`` per sample and channel.

    Args:
        running_mean, running_var: (C,); moved towards the mean over the samples of mean and
            (unbiased) variance, or used, as ``use_input_stats`` says.
        weight, bias: (C,). Default: ones and zeros.
        use_input_stats: use mean and (biased) variance of each sample. Default: True.
        momentum: how far the running values move, from 0 to 1. Default: 0.1.
        eps: Default: 1e-5.

    Shape:
        ``input`` (N, C, ...); the result the same.

    Raises:
        ValueError: for a single value per sample and channel, if ``use_input_stats``.
        RuntimeError: if a running value is missing or has another size.

    Reference:
        Ulyanov, Vedaldi and Lempitsky, Instance Normalization: The Missing Ingredient for Fast
        Stylization, 2016.
    """
    shape = input._array.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )
    n, c = shape[:2]
    given = (running_mean, running_var, weight, bias)
    repeated: Any = [None if t is None else t.repeat(n) for t in given]
    if not input._array.size:
        return of_nothing(input, weight, bias)
    rows = input.contiguous().view((1, n * c, *shape[2:]))
    mean, var, w, b = repeated
    out = normalized_channels(rows, mean, var, w, b, use_input_stats, momentum, eps)
    for running, moved in zip(given[:2], repeated, strict=False):
        if use_input_stats and running is not None:
            running.detach().copy_(moved.view((n, c)).mean(0))
    return out.view(shape)


@under_vmap(joined)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``(input - mean) / √(variance + eps) * weight + bias`` per sample and group of channels.

    Args:
        num_groups: into how many groups of equal size the channels are divided.
        weight, bias: (C,). Default: ones and zeros.
        eps: Default: 1e-5.

    Shape:
        ``input`` (N, C, ...); the result the same.

    Raises:
        ValueError: for a single value per group.
        RuntimeError: if the channels cannot be divided so, or weight or bias have another shape.

    Reference:
        Wu and He, Group Normalization, ECCV 2018.
    """
    told = "Expected at least 2 dimensions for input tensor, not {}"
    require(input.dim() >= 2, told, input.dim())
    shape = input._array.shape
    refuse_single([shape[0] * shape[1] // num_groups, num_groups, *shape[2:]])
    fits = num_groups > 0 and shape[1] and not shape[1] % num_groups
    require(fits, "group_norm(): {} channels are not divisible by {}", shape[1], num_groups)
    check_affine("group_norm", shape[1:2], weight, bias)
    check_mixed(input, weight if weight is not None else bias)
    if weight is not None and bias is not None:
        need_one_dtype(weight, bias)
    require(math.prod(shape[2:]), "Expected HxW to be greater than 0, got 0")
    plan = kernels.groups(shape, num_groups, weight is not None or bias is not None)
    return kernels.normalize_groups(input, weight, bias, plan, eps, kernels.Kept())


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``(input - mean) / √(variance + eps) * weight + bias`` over the last dimensions.

    Args:
        normalized_shape: the sizes of those dimensions.
        weight, bias: of that shape. Default: ones and zeros.
        eps: Default: 1e-5.

    Raises:
        TypeError: if ``normalized_shape`` is not a sequence of integers.
        RuntimeError: if the input does not end in that shape, or weight or bias have another.

    Reference:
        Ba, Kiros and Hinton, Layer Normalization, 2016.
    """
    tensor_given("layer_norm", input)
    check_mixed(input, weight, bias)
    shape = checked_shape("layer_norm", input, normalized_shape, weight, bias)
    affine = weight is not None or bias is not None
    plan = kernels.last_dimensions(input._array.shape, shape, affine)
    return kernels.normalize_last(input, weight, bias, plan, eps, kernels.Kept())


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:  # fmt: skip
    """``input / √(mean(input²) + eps) * weight`` over the last dimensions.

    Args:
        normalized_shape: the sizes of those dimensions.
        weight: of that shape. Default: ones.
        eps: Default: the distance from 1 to the next number of the dtype.

    Raises:
        TypeError: if ``normalized_shape`` is not a sequence of integers.
        ValueError: if the input has fewer dimensions.
        RuntimeError: if it does not end in that shape, or the weight has another.

    Reference:
        Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
    """
    tensor_given("rms_norm", input)
    shape = checked_shape("rms_norm", input, normalized_shape, weight, None)
    need_kind("rms_norm", input._array)
    x: Any = input.float() if input._array.itemsize == 2 else input
    if eps is None:
        eps = float(np.finfo(x._array.dtype).eps)
    axes = tuple(range(-len(shape), 0))
    scaled: Any = x * ops.rsqrt(plus_number(x.pow(2).mean(axes, True), eps))
    if weight is not None:
        scaled = scaled * weight
    return scaled.contiguous().to(input.dtype)


def check_affine(name: str, shape: tuple[int, ...], *parameters: Tensor | None) -> None:
    """Refuse a weight or a bias of another shape."""
    for p in parameters:
        if p is not None and p._array.shape != shape:
            told = f"weight and bias must be of shape {list(shape)}, not {list(p._array.shape)}"
            raise RuntimeError(f"{name}(): {told}")


def checked_shape(
    name: str, input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None
) -> tuple[int, ...]:
    """The shape to be normalized, if everything fits it."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise refused(normalized_shape, "tuple of ints", (name, "normalized_shape", 2))
    shape = tuple(normalized_shape)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional")
    check_affine(name, shape, weight, bias)
    if name == "rms_norm" and input._array.ndim < len(shape):
        raise ValueError(f"Input tensor must have at least {len(shape)} dimensions")
    if input._array.shape[-len(shape) :] != shape:
        expected = ", ".join(map(str, ("*", *shape)))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{expected}], "
            f"but got input of size{list(input._array.shape)}"
        )
    return shape


# Normalization by the norm of vectors, and by the activity of neighbouring channels.


def normalize(
    input: Tensor, p: float = 2.0, dim: Dims = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Vectors divided by their norms.

    Args:
        p: the order of the norm. Default: 2.
        dim: along which the vectors lie; or several dimensions. Default: 1.
        eps: norms are held above it. Default: 1e-12.
        out: where to write the result.

    Raises:
        IndexError: for a ``dim`` out of range.
    """
    norms = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return ops.div(input, norms) if out is None else ops.div(input, norms, out=out)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``input / (k + alpha * s) ** beta``, where s is the mean square of neighbouring channels.

    Args:
        size: the number of these, the channel itself in their middle.
        alpha, beta, k: Default: 1e-4, 0.75 and 1.

    Shape:
        ``input`` (N, C, ...) with one or more further dimensions; the result the same.

    Raises:
        ValueError: for fewer dimensions.

    Reference:
        Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional Neural
        Networks, NeurIPS 2012, section 3.3.
    """
    need_value(input.dim() >= 3, "Expected an input of 3 dimensions or more, not {}", input.dim())
    if not input.numel():
        return input
    squares = kernels.mean_of_neighbours(input.mul(input), size, size // 2)
    return input / squares.mul(alpha).add(k).pow(beta)
