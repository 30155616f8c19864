"""Greatest elements put back where pooling took them from."""

from collections.abc import Sequence

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.pooling import Number, sizes
from nanotorch.ops.unpooling import unpool_pictures, unpool_volumes

Ints = tuple[int, ...]


def unpooled_size(
    input: Tensor, kernel: Ints, stride: Ints, padding: Ints, output_size: Sequence[int] | None
) -> Ints:
    """The size before pooling: the usual one, or that wished for if it is possible."""
    dims = len(kernel)
    shape = tuple(input.shape[-dims:])
    numbers = zip(shape, kernel, stride, padding, strict=True)
    usual = tuple([(n - 1) * s + k - 2 * p for n, k, s, p in numbers])
    if output_size is None:
        return usual
    wished = tuple(output_size)
    if len(wished) == dims + 2:
        wished = wished[2:]
    if len(wished) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it "
            f"has a length of '{len(wished)}'"
        )
    for k in range(dims):
        low, high = usual[k] - stride[k], usual[k] + stride[k]
        if not low < wished[k] < high:
            raise ValueError(
                f'invalid output_size "{wished}" (dim {k} must be between {low} and {high})'
            )
    return wished


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Number, stride: Number | None = None,
    padding: Number = 0, output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Puts elements back over one dimension; see `max_unpool2d`."""
    kernel = sizes(kernel_size, 1)
    step = kernel if stride is None else sizes(stride, 1)
    size = unpooled_size(input, kernel, step, sizes(padding, 1), output_size)
    out: Tensor = unpool_pictures(input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1))
    squeezed: Tensor = out.squeeze(-1)
    return squeezed


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Number, stride: Number | None = None,
    padding: Number = 0, output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Zeros with the elements where `max_pool2d` had found them.

    Args:
        indices: what that returned beside them.
        kernel_size, stride, padding: that were given to it.
        output_size: of its input, where several are possible.

    Raises:
        ValueError: for an ``output_size`` that is not possible.
        RuntimeError: for indices of another shape or dtype, or out of range.
    """
    kernel = sizes(kernel_size, 2)
    step = kernel if stride is None else sizes(stride, 2)
    size = unpooled_size(input, kernel, step, sizes(padding, 2), output_size)
    out: Tensor = unpool_pictures(input, indices, size)
    return out


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Number, stride: Number | None = None,
    padding: Number = 0, output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Puts elements back over three dimensions; see `max_unpool2d`."""
    kernel = sizes(kernel_size, 3)
    step = kernel if stride is None else sizes(stride, 3)
    size = unpooled_size(input, kernel, step, sizes(padding, 3), output_size)
    if min(step) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(step)}")
    out: Tensor = unpool_volumes(input, indices, size)
    return out
