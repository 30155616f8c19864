"""Pooling: one number for each window."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core.arguments import as_int
from nanotorch._core.out import SAME, Out, with_out
from nanotorch._core.tensor import Tensor
from nanotorch.ops import adaptive
from nanotorch.ops import pooling_functions as pools
from nanotorch.ops.activation import float_only
from nanotorch.ops.adaptive import adaptive_avg_pool1d as adaptive_avg_pool1d
from nanotorch.ops.given import tensor_given
from nanotorch.ops.pooling_functions import avg_pool1d as avg_pool1d
from nanotorch.ops.pooling_functions import max_pool1d_with_indices as max_pool1d_with_indices

Number = int | Sequence[int]
Pair = tuple[Tensor, Tensor]


# The greatest


def max_pool1d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The greatest elements of windows over one dimension; see `max_pool2d`.

    Raises:
        NotImplementedError: for integers, if they are not asked for with indices; see there.
    """
    tensor_given("max_pool1d", input)
    if input._array.dtype.kind != "f" and not return_indices:
        raise float_only("max_pool1d_impl", input._array)
    pair = max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Pair:  # fmt: skip
    """`max_pool2d`, and where each greatest element is among those of its channel."""
    pair: Pair = pools.max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return pair


def max_pool2d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The greatest element of each window over the last two dimensions.

    Args:
        kernel_size: the size K of the windows: a number, or one per dimension, as for the rest.
        stride: s, how far neighbouring windows are apart. Default: K.
        padding: p, how far windows reach beyond the borders; at most half a window.
        dilation: d, how far neighbouring elements of a window are apart.
        ceil_mode: let the last window reach beyond the padding.
        return_indices: whether to return where each is, too.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W); the result's height is
        ``⌊(H + 2p - d (K - 1) - 1) / s⌋ + 1``.

    Raises:
        RuntimeError: for numbers out of range and shapes that do not fit.
    """
    pair = max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Pair:  # fmt: skip
    """`max_pool3d`, and where each greatest element is among those of its channel."""
    pair: Pair = pools.max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode
    )
    return pair


def max_pool3d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    dilation: Number = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The greatest elements of windows over the last three dimensions; see `max_pool2d`."""
    pair = max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


# Means


def avg_pool2d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window over the last two dimensions; see `max_pool2d`.

    Args:
        count_include_pad: whether padding counts as elements that are zero.
        divisor_override: by what sums are divided instead of the number of elements.
    """
    result: Tensor = pools.mean_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip
    return result


def avg_pool3d(
    input: Tensor, kernel_size: Number, stride: Number | None = None, padding: Number = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window over the last three dimensions; see `avg_pool2d`."""
    result: Tensor = pools.mean_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
        divisor_override,
    )  # fmt: skip
    return result


avg_pool2d = with_out(__name__, "avg_pool2d", avg_pool2d, Out("avg_pool2d", SAME, strict=True))
avg_pool3d = with_out(__name__, "avg_pool3d", avg_pool3d, Out("avg_pool3d", SAME, strict=True))


def sizes(kernel_size: Number, dims: int) -> tuple[int, ...]:
    """The size of windows along each dimension."""
    return (kernel_size,) * dims if isinstance(kernel_size, int) else tuple(kernel_size)


# Parts


def parts(name: str, message: str, output_size: Any, input: Tensor, dims: int) -> tuple[int, ...]:
    """The output size along each dimension; None stands for that of the input."""
    tensor_given(name, input)
    if output_size is None:
        raise TypeError("object of type 'NoneType' has no len()")
    given = (as_int(output_size),) * dims if isinstance(output_size, int) else tuple(output_size)
    if len(given) != dims:
        raise RuntimeError(message)
    shape = (*(0,) * dims, *input._array.shape)[-dims:]
    return tuple([n if o is None else o for n, o in zip(shape, given, strict=True)])


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of (h, w) parts of (N, C, H, W) or (C, H, W).

    Along a dimension part k goes from ``⌊k H / h⌋`` to ``⌈(k + 1) H / h⌉``.

    Args:
        output_size: a number, or one per dimension; None for the size of the input.
    """
    name = "adaptive_avg_pool2d"
    size = parts(name, f"{name}: output_size must be 2", output_size, input, 2)
    result: Tensor = adaptive.adaptive_mean(name, input, size)
    return result


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of (d, h, w) parts of (N, C, D, H, W); see `adaptive_avg_pool2d`."""
    name = "adaptive_avg_pool3d"
    size = parts(name, f"{name}: output_size must be 3", output_size, input, 3)
    result: Tensor = adaptive.adaptive_mean(name, input, size)
    return result


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Pair:
    """The greatest elements of parts of one dimension, and where they are."""
    return adaptive.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The greatest element of each part of one dimension; see `adaptive_avg_pool2d`."""
    pair = adaptive_max_pool1d_with_indices(input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Pair:
    """`adaptive_max_pool2d`, and where each is among the elements of its channel."""
    name = "adaptive_max_pool2d"
    message = f"{name}(): internal error: output_size.size() must be 2"
    pair: Pair = adaptive.adaptive_max(name, input, parts(name, message, output_size, input, 2))
    return pair


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The greatest element of each of (h, w) parts; see `adaptive_avg_pool2d`."""
    pair = adaptive_max_pool2d_with_indices(input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Pair:
    """`adaptive_max_pool3d`, and where each is among the elements of its channel."""
    name = "adaptive_max_pool3d"
    message = f"{name}(): internal error: output_size.size() must be 3"
    pair: Pair = adaptive.adaptive_max(name, input, parts(name, message, output_size, input, 3))
    return pair


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The greatest element of each of (d, h, w) parts; see `adaptive_avg_pool2d`."""
    pair = adaptive_max_pool3d_with_indices(input, output_size)
    return pair if return_indices else pair[0]
