"""Layers of pooling, of windows as columns, and of pictures made larger or smaller."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import spatial as F
from nanotorch.nn.functional.spatial import Number, Scales, Sizes, interpolate
from nanotorch.nn.layer import OwnNames
from nanotorch.nn.module import Module
from nanotorch.ops.arguments import tensor_given

# Pooling layers.


# The greatest


class _MaxPoolNd(OwnNames, Module):
    """What layers share that take the greatest elements; see `MaxPool2d`."""

    own_names = ("forward",)
    function: Any

    def __init__(
        self,
        kernel_size: Number,
        stride: Number | None = None,
        padding: Number = 0,
        dilation: Number = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The greatest elements; with ``return_indices``, and where they are."""
        return type(self).function(
            input, self.kernel_size, self.stride, self.padding, self.dilation,
            ceil_mode=self.ceil_mode, return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The greatest elements of windows over one dimension: see `MaxPool2d`."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The greatest element of each window over the last two dimensions.

    Args:
        kernel_size: the size K of the windows: a number, or one per dimension, as for the rest.
        stride: s, how far neighbouring windows are apart. Default: K.
        padding: p, how far windows reach beyond the borders. Default: 0.
        dilation: d, how far neighbouring elements of a window are apart. Default: 1.
        return_indices: whether to return where each is, too. Default: False.
        ceil_mode: let the last window reach beyond the padding. Default: False.

    Shape:
        Input (N, C, H, W) or (C, H, W); output height ``⌊(H + 2p - d (K - 1) - 1) / s⌋ + 1``.

    Raises:
        RuntimeError: for numbers out of range and shapes that do not fit.
    """

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The greatest elements of windows over three dimensions: see `MaxPool2d`."""

    function = staticmethod(F.max_pool3d)


# Means


class _AvgPoolNd(Module):
    """What layers of means share; see `AvgPool2d`."""

    kernel_size: Number
    stride: Number
    padding: Number

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The means of windows over one dimension: see `AvgPool2d`."""

    def __init__(
        self,
        kernel_size: Number,
        stride: Number | None = None,
        padding: Number = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = F.sizes(kernel_size, 1)
        self.stride = F.sizes(kernel_size if stride is None else stride, 1)
        self.padding = F.sizes(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The means of the windows."""
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip


class _AvgPool(OwnNames, _AvgPoolNd):
    """What layers of means over several dimensions share; see `AvgPool2d`."""

    function: Any

    def __init__(
        self,
        kernel_size: Number,
        stride: Number | None = None,
        padding: Number = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The means of the windows."""
        return type(self).function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip


class AvgPool2d(_AvgPool):
    """The mean of each window over the last two dimensions.

    Args:
        kernel_size, stride, padding, ceil_mode: see `MaxPool2d`.
        count_include_pad: whether padding counts as elements that are zero. Default: True.
        divisor_override: by what sums are divided instead of the number of elements.
    """

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The means of windows over three dimensions: see `AvgPool2d`."""

    function = staticmethod(F.avg_pool3d)


# Parts


class _AdaptiveAvgPoolNd(OwnNames, Module):
    """What layers share that take means of parts; see `AdaptiveAvgPool2d`."""

    own_names = ("forward",)
    function: Any

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The means of the parts."""
        return type(self).function(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of parts of one dimension: see `AdaptiveAvgPool2d`."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each of (h, w) parts of the last two dimensions, whatever their sizes.

    Along a dimension part k goes from ``⌊k H / h⌋`` to ``⌈(k + 1) H / h⌉``.

    Args:
        output_size: a number, or one per dimension; None for the size of the input.

    Shape:
        Input (N, C, H, W) or (C, H, W), output (N, C, h, w) or (C, h, w).
    """

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of parts of three dimensions: see `AdaptiveAvgPool2d`."""

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(OwnNames, Module):
    """What layers share that take the greatest elements of parts; see `AdaptiveMaxPool2d`."""

    own_names = ("forward",)
    function: Any

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        """The greatest elements; with ``return_indices``, and where they are."""
        return type(self).function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The greatest elements of parts of one dimension: see `AdaptiveMaxPool2d`."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The greatest element of each of (h, w) parts of the last two dimensions.

    Args:
        output_size: see `AdaptiveAvgPool2d`.
        return_indices: whether to return where each is, too. Default: False.
    """

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The greatest elements of parts of three dimensions: see `AdaptiveMaxPool2d`."""

    function = staticmethod(F.adaptive_max_pool3d)


# Layers that make pictures larger or smaller.


class Upsample(Module):
    """Pictures of another size.

    Args:
        size: of the result: a number, or one per dimension.
        scale_factor: by how much it is larger, where ``size`` is not given.
        mode: "nearest", "linear" (one dimension), "bilinear", "bicubic" (two) or "trilinear"
            (three). Default: "nearest".
        align_corners: whether the middles of the outermost elements stay where they are, rather
            than the outer edges. Default: False.
        recompute_scale_factor: take the scale from the sizes, which are whole numbers.

    Shape:
        Input (N, C, L), (N, C, H, W) or (N, C, D, H, W), output (N, C, *size).
    """

    def __init__(
        self,
        size: Sizes = None,
        scale_factor: Scales = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name, self.size = type(self).__name__, size
        if isinstance(scale_factor, Sequence):
            self.scale_factor: Scales = tuple([float(s) for s in scale_factor])
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The input in another size."""
        return interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of (N, C, H, W) with the mode "nearest"."""

    def __init__(self, size: Sizes = None, scale_factor: Scales = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of (N, C, H, W) with the mode "bilinear" and aligned corners."""

    def __init__(self, size: Sizes = None, scale_factor: Scales = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


# Layers of windows as columns, and of channels exchanged with space.


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
        return F.pixel_shuffle(input, self.upscale_factor)

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
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
