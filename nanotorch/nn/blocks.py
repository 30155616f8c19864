"""Layers of windows as columns, and of channels exchanged with space."""

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import blocks as F
from nanotorch.nn.functional.blocks import Number
from nanotorch.nn.module import Module
from nanotorch.ops.given import tensor_given


class Unfold(Module):
    """The windows of pictures, each as a column.

    Args:
        kernel_size: (K, L), the size of the windows: a number, or one per dimension.
        dilation, padding, stride: see `Conv2d`. Default: 1, 0 and 1.

    Shape:
        Input (N, C, H, W) or (C, H, W), output (N, C · K · L, windows) or without N.
    """

    def __init__(
        self, kernel_size: Number, dilation: Number = 1, padding: Number = 0, stride: Number = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Module):
    """Columns added to where `Unfold` takes them from.

    Args:
        output_size: (H, W) of the result.
        kernel_size, dilation, padding, stride: see `Unfold`.
    """

    def __init__(
        self,
        output_size: Number,
        kernel_size: Number,
        dilation: Number = 1,
        padding: Number = 0,
        stride: Number = 1,
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The sums."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class PixelShuffle(Module):
    """(..., C · r², H, W) as (..., C, H · r, W · r), with r the ``upscale_factor``."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The larger picture of fewer channels."""
        tensor_given("pixel_shuffle", input)
        result: Tensor = F.pixel_shuffle(input, self.upscale_factor)
        return result

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(..., C, H · r, W · r) as (..., C · r², H, W), with r the ``downscale_factor``."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The smaller picture of more channels."""
        tensor_given("pixel_unshuffle", input)
        result: Tensor = F.pixel_unshuffle(input, self.downscale_factor)
        return result

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
