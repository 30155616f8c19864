"""Pooling layers."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import pooling as F
from nanotorch.nn.module import Module
from nanotorch.nn.own_names import OwnNames

Number = int | Sequence[int]


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
        result: Tensor = type(self).function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip
        return result


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
        result: Tensor = type(self).function(input, self.output_size)
        return result

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
