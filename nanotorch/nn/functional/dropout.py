"""Dropout, of elements and of whole channels."""

from nanotorch._core import dtypes
from nanotorch._core.batch_functions import under_vmap
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.warned import warn
from nanotorch.ops.drawing import alike, each
from nanotorch.ops.generator import default_generator
from nanotorch.ops.given import tensor_given
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
    check_probability(p)
    tensor_given("dropout", input)
    if p == 0.0 or not training or not input._array.size:
        return input
    mask = kept(input, p)
    dropped: Tensor = input.mul_(mask) if inplace else input * mask
    return dropped


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
    """Ones and zeros for the channels of (N, C, ...), in a shape that broadcasts with it.

    Raises:
        RuntimeError: for fewer than two dimensions.
    """
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape = (*input._array.shape[:2], *(1,) * (input.ndim - 2))
    return wrap(default_generator.bernoulli(1 - p, shape, input._array.dtype))


def channels_dropped(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """`dropout` of whole channels of (N, C, ...)."""
    if p == 0.0 or not training or not input._array.size:
        return input
    if p == 1.0:
        mask = wrap(input._array.dtype.type(0))
    else:
        mask = of_channels(input, p).div_(1 - p)
    dropped: Tensor = input.mul_(mask) if inplace else input * mask
    return dropped


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
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return unbatched(input, p, training, inplace, input.dim() == 2)


def unbatched(input: Tensor, p: float, training: bool, inplace: bool, single: bool) -> Tensor:
    """`channels_dropped`, of an input without the first dimension if ``single``."""
    if not single:
        return channels_dropped(input, p, training, inplace)
    batch = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    dropped = channels_dropped(batch, p, training, inplace)
    result: Tensor = dropped.squeeze_(0) if inplace else dropped.squeeze(0)
    return result


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
        warn_of_dimensions("dropout2d", input.dim(), "2 spatial", "3D or 4D")
    if input.dim() == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
            "dim. This behavior will change in a future release to interpret the input as one "
            "without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise "
            "dropout behavior, please switch to using dropout1d instead."
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
        warn_of_dimensions("dropout3d", input.dim(), "3 spatial", "4D or 5D")
    return unbatched(input, p, training, inplace, input.dim() != 5)


def warn_of_dimensions(name: str, ndim: int, spatial: str, wanted: str) -> None:
    """PyTorch's warning for inputs of unusual numbers of dimensions."""
    warn(
        f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in an "
        "error in a future release. To retain the behavior and silence this warning, please use "
        f"dropout instead. Note that {name} exists to provide channel-wise dropout on inputs with "
        f"{spatial} dimensions, a channel dimension, and an optional batch dimension (i.e. "
        f"{wanted} inputs)."
    )
