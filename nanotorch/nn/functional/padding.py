"""Padding."""

from collections.abc import Sequence

from nanotorch._core.arguments import as_ints, refused
from nanotorch._core.tensor import Tensor
from nanotorch.ops import padding as kernels
from nanotorch.ops.arguments import as_number


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """``input`` with more elements around its last dimensions.

    Args:
        pad: how many before and after, the last dimension first; negative ones cut off.
        mode: "constant", or with its own elements: "reflect" (mirrored at the borders), "replicate"
            (the border repeated), "circular" (continued periodically), for the last one, two or
            three dimensions of (C, ...) or (N, C, ...).
        value: of the constant. Default: 0.

    Raises:
        RuntimeError: for an odd count of numbers, for more than there are dimensions, for more
            than there are elements.
        NotImplementedError: for another mode, or another count of dimensions than it takes.
    """
    if not isinstance(input, Tensor):
        raise refused(input, "Tensor", ("pad", "input", 1))
    if not isinstance(pad, (tuple, list)):
        raise refused(pad, "tuple of ints", ("pad", "pad", 2))
    numbers = as_ints(pad, ("pad", "pad", 2))
    if len(numbers) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(numbers) > 2 * input._array.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(numbers)} and input of dimension {input._array.ndim}"
        )
    if mode == "constant":
        number = 0 if value is None else as_number(value, ("pad", "value", 4), "float")
        return kernels.constant_pad_nd(input, numbers, float(number))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    return kernels.pad_as(input, numbers, mode)
