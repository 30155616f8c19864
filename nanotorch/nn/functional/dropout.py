"""Dropout."""

from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.generator import default_generator
from nanotorch.ops.random import empty_layout


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
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0.0 or not training or not input._array.size:
        return input
    mask = kept(input, p)
    dropped: Tensor = input.mul_(mask) if inplace else input * mask
    return dropped


def kept(input: Tensor, p: float) -> Tensor:
    """The factor of each element: 0 or ``1 / (1 - p)``, drawn as PyTorch draws it."""
    array, target = empty_layout(input, None)
    if p == 1.0:
        array.fill(0)
        return wrap(array)
    target[...] = default_generator.bernoulli(1 - p, target.shape, array.dtype)
    target /= array.dtype.type(1 - p)
    return wrap(array)
