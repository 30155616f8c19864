"""Layers of pooling, of windows as columns, and of pictures made larger or smaller."""

from collections.abc import Sequence
from typing import Any

from nanotorch.nn.functional import spatial as F
from nanotorch.nn.functional.spatial import Number, Scales, Sizes
from nanotorch.nn.layer import Layer, OwnNames

__all__ = (
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "Fold",
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "PixelShuffle", "PixelUnshuffle", "Unfold",
    "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d",
)  # fmt: skip

# Pooling layers.


def usual_stride(layer: Any) -> None:
    """Windows that lie side by side, where no stride is given."""
    if layer.stride is None:
        layer.stride = layer.kernel_size


# The greatest


class _MaxPoolNd(
    Layer,
    gives="kernel_size stride padding dilation ceil_mode return_indices",
    shown="kernel_size stride padding dilation ceil_mode",
):
    """What layers share that take the greatest elements; see `MaxPool2d`."""

    kernel_size: Number
    stride: Number | None = None
    padding: Number = 0
    dilation: Number = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def __post_init__(self) -> None:
        usual_stride(self)


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d):
    """The greatest elements of windows over one dimension: see `MaxPool2d`."""


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d):
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


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d):
    """The greatest elements of windows over three dimensions: see `MaxPool2d`."""


# Means


class _AvgPoolNd(Layer, shown="kernel_size stride padding"):
    """What layers of means share; see `AvgPool2d`."""


class AvgPool1d(_AvgPoolNd, function=F.avg_pool1d):
    """The means of windows over one dimension: see `AvgPool2d`."""

    kernel_size: Number
    stride: Number | None = None
    padding: Number = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def __post_init__(self) -> None:
        usual_stride(self)
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, F.sizes(getattr(self, name), 1))


class _AvgPool(OwnNames, _AvgPoolNd):
    """What layers of means over several dimensions share; see `AvgPool2d`."""

    _own_names = ("__init__",)
    kernel_size: Number
    stride: Number | None = None
    padding: Number = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    def __post_init__(self) -> None:
        usual_stride(self)


class AvgPool2d(_AvgPool, function=F.avg_pool2d):
    """The mean of each window over the last two dimensions.

    Args:
        kernel_size, stride, padding, ceil_mode: see `MaxPool2d`.
        count_include_pad: whether padding counts as elements that are zero. Default: True.
        divisor_override: by what sums are divided instead of the number of elements.
    """


class AvgPool3d(_AvgPool, function=F.avg_pool3d):
    """The means of windows over three dimensions: see `AvgPool2d`."""


# Parts


class _AdaptiveAvgPoolNd(Layer, shown="output_size"):
    """What layers share that take means of parts; see `AdaptiveAvgPool2d`."""

    output_size: Any


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool1d):
    """The means of parts of one dimension: see `AdaptiveAvgPool2d`."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool2d):
    """The mean of each of (h, w) parts of the last two dimensions, whatever their sizes.

    Along a dimension part k goes from ``⌊k H / h⌋`` to ``⌈(k + 1) H / h⌉``.

    Args:
        output_size: a number, or one per dimension; None for the size of the input.

    Shape:
        Input (N, C, H, W) or (C, H, W), output (N, C, h, w) or (C, h, w).
    """


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool3d):
    """The means of parts of three dimensions: see `AdaptiveAvgPool2d`."""


class _AdaptiveMaxPoolNd(Layer, shown="output_size"):
    """What layers share that take the greatest elements of parts; see `AdaptiveMaxPool2d`."""

    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool1d):
    """The greatest elements of parts of one dimension: see `AdaptiveMaxPool2d`."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool2d):
    """The greatest element of each of (h, w) parts of the last two dimensions.

    Args:
        output_size: see `AdaptiveAvgPool2d`.
        return_indices: whether to return where each is, too. Default: False.
    """


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool3d):
    """The greatest elements of parts of three dimensions: see `AdaptiveMaxPool2d`."""


# Layers that make pictures larger or smaller.


class Upsample(Layer, function=F.interpolate):
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

    size: Sizes = None
    scale_factor: Scales = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def __post_init__(self) -> None:
        self.name = type(self).__name__
        if isinstance(self.scale_factor, Sequence):
            self.scale_factor = tuple([float(s) for s in self.scale_factor])
        else:
            self.scale_factor = float(self.scale_factor) if self.scale_factor else None

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


class Unfold(Layer, function=F.unfold, shown="kernel_size dilation padding stride"):
    """The windows of pictures, each as a column.

    Args:
        kernel_size: (K, L), the size of the windows: a number, or one per dimension.
        dilation, padding, stride: see `Conv2d`. Default: 1, 0 and 1.

    Shape:
        Input (N, C, H, W) or (C, H, W), output (N, C · K · L, windows) or without N.
    """

    kernel_size: Number
    dilation: Number = 1
    padding: Number = 0
    stride: Number = 1


class Fold(Layer, function=F.fold, shown="output_size kernel_size dilation padding stride"):
    """Columns added to where `Unfold` takes them from.

    Args:
        output_size: (H, W) of the result.
        kernel_size, dilation, padding, stride: see `Unfold`.
    """

    output_size: Number
    kernel_size: Number
    dilation: Number = 1
    padding: Number = 0
    stride: Number = 1


class PixelShuffle(Layer, function=F.pixel_shuffle, shown="upscale_factor"):
    """(..., C · r², H, W) as (..., C, H · r, W · r), with r the ``upscale_factor``."""

    upscale_factor: int


class PixelUnshuffle(Layer, function=F.pixel_unshuffle, shown="downscale_factor"):
    """(..., C, H · r, W · r) as (..., C · r², H, W), with r the ``downscale_factor``."""

    downscale_factor: int
