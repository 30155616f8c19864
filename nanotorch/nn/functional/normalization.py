"""Batch normalization."""

import math

import numpy as np

from nanotorch._core.tensor import Tensor
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
    running._cell[0] += 1


def check_sizes(
    channels: int,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
) -> None:
    """Refuse what is not one value per channel, and missing running values in evaluation."""
    given = {"running_mean": running_mean, "running_var": running_var}
    for name, tensor in given.items():
        if tensor is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    for name, tensor in (given | {"weight": weight, "bias": bias}).items():
        if tensor is not None and tensor._array.size != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {tensor._array.size}"
            )
