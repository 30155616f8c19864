"""Pooling over windows at random places."""

from typing import Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.pooling import Number, Pair, sizes
from nanotorch.ops.fractional import fractional_max_of_pictures, fractional_max_of_volumes


def pooled(
    dims: int, input: Tensor, kernel_size: Number, output_size: Any, output_ratio: Any,
    samples: Tensor | None,
) -> Pair:  # fmt: skip
    """The greatest elements of windows over two or three dimensions, and where they are."""
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    shape = input._array.shape
    if len(shape) < dims + 1:
        low, high = -len(shape), len(shape) - 1
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{low}, {high}], but got "
            f"{-dims - 1})"
        )
    if output_size is None:
        if len(output_ratio) != dims:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints."
            )
        pairs = zip(shape[-dims:], output_ratio, strict=True)
        output_size = tuple([int(n * r) for n, r in pairs])
    kernel, out = sizes(kernel_size, dims), sizes(output_size, dims)
    for what, given in (("kernel_size", kernel), ("output_size", out)):
        if len(given) != dims:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of Ints")
    if samples is None:
        batch = shape[0] if len(shape) == dims + 2 else 1
        samples = ops.rand(batch, shape[-dims - 1], dims, dtype=input.dtype)
    pool = fractional_max_of_pictures if dims == 2 else fractional_max_of_volumes
    pair: Pair = pool(input, samples, kernel, out)
    return pair


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Number, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Pair:  # fmt: skip
    """`fractional_max_pool2d`, and where each greatest element is among those of its channel."""
    return pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Tensor, kernel_size: Number, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The greatest elements of windows that step by random numbers of elements.

    Args:
        kernel_size: a number, or one per dimension.
        output_size: how many windows there are: a number, or one per dimension.
        output_ratio: (h, w), their number over that of the elements, where no size is given.
        return_indices: whether to return where each is, too, for `max_unpool2d`.

    Shape:
        ``input`` (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: without size and ratio.
        RuntimeError: for more windows than there is room for.

    Reference:
        Graham, Fractional Max-Pooling, 2014.
    """
    pair = pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return pair if return_indices else pair[0]


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Number, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Pair:  # fmt: skip
    """`fractional_max_pool3d`, and where each greatest element is among those of its channel."""
    return pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d(
    input: Tensor, kernel_size: Number, output_size: Any = None, output_ratio: Any = None,
    return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """As `fractional_max_pool2d`, over three dimensions."""
    pair = pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return pair if return_indices else pair[0]
