"""Batch and layer normalization."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core.origins import wrote
from nanotorch._core.tensor import Tensor
from nanotorch.ops.layer_norm import normalize_last
from nanotorch.ops.normalization import moments, normalize_batch


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
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
    shape = input._array.shape
    if training and math.prod(shape) == (shape[1] if len(shape) > 1 else 0):
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.size()}"
        )
    if eps < 0.0 or (training and eps == 0.0):
        what = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {what}, but got {eps}")
    if len(shape) < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    check_sizes(shape[1], running_mean, running_var, weight, bias, training)
    if not training:
        assert running_mean is not None
        assert running_var is not None
        mean, variance = running_mean._array, running_var._array
    else:
        mean, variance = moments(input._array)
        count = math.prod(shape) // shape[1]
        for running, new in (
            (running_mean, mean),
            (running_var, variance * variance.dtype.type(count / (count - 1))),
        ):
            if running is not None:
                move(running, new, momentum)
    normalized: Tensor = normalize_batch(
        input, weight, bias, mean, 1 / np.sqrt(variance + variance.dtype.type(eps)), training, eps
    )
    return normalized


def move(running: Tensor, new: np.ndarray, momentum: float) -> None:
    """Move a running value towards a new one, in place."""
    array = running._array
    kind = array.dtype.type
    array *= kind(1 - momentum)
    array += new * kind(momentum)
    wrote(running._cell, "batch_norm")


def check_sizes(
    channels: int,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
) -> None:
    """Refuse what is not one value per channel, and missing running values in evaluation."""
    names = ("running_mean", "running_var", "weight", "bias")
    for position, tensor in enumerate((running_mean, running_var, weight, bias)):
        if tensor is None:
            if position < 2 and not training:
                raise RuntimeError(f"{names[position]} must be defined in evaluation mode")
        elif tensor._array.size != channels:
            raise RuntimeError(
                f"{names[position]} should contain {channels} elements not {tensor._array.size}"
            )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
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
    shape = checked_shape(input, normalized_shape, weight, bias)
    normalized: Tensor = normalize_last(input, weight, bias, shape, eps)
    return normalized


def checked_shape(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None
) -> tuple[int, ...]:
    """The shape to be normalized, if everything fits it."""
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            "layer_norm(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(normalized_shape).__name__}"
        )
    shape = tuple(normalized_shape)
    sizes = list(shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            f"element, but got normalized_shape = {sizes}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._array.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(tensor._array.shape)} and normalized_shape = {sizes}"
            )
        if tensor is not None and tensor._array.dtype != input._array.dtype:
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input._array.shape[-len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={sizes}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size{list(input._array.shape)}"
        )
    return shape
