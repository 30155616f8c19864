"""Layers of signals and images: convolution, padding, pooling, resampling, windows."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.functional import spatial as F
from nanotorch.nn.functional.spatial import Number, Scales, Sizes, pad, sizes
from nanotorch.nn.layer import Layer, OwnNames, _reverse_repeat_tuple, changed_options
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.arguments import require_value
from nanotorch.ops.resampling import Ints

# Convolution layers.


_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The base of convolutions and transposed ones; see `Conv2d` and `ConvTranspose2d`."""

    weight: Tensor
    bias: Tensor | None
    dims = 2
    function: Callable[..., Tensor]
    transposed = False

    def __init_subclass__(cls, function: Any = None, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if function is not None:
            cls.function, cls.dims = staticmethod(function), int(function.__name__[-2])

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Number, stride: Number,
        padding: Number | str, dilation: Number, output_padding: Number, groups: int, bias: bool,
        padding_mode: str, device: Any, dtype: DType | None,
    ) -> None:  # fmt: skip
        super().__init__()
        dims = self.dims
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = sizes(kernel_size, dims), sizes(stride, dims)
        self.padding: Any = padding if isinstance(padding, str) else sizes(padding, dims)
        self.dilation = sizes(dilation, dims)
        self.transposed = self.transposed  # PyTorch has it as an attribute of the object
        self.output_padding = sizes(output_padding, dims)
        self.groups, self.padding_mode = groups, padding_mode
        self._check()
        self._reversed_padding_repeated_twice: Any  # in the order of `pad`
        if isinstance(padding, str):
            reach = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=False)]
            totals = reach[::-1] if padding == "same" else [0] * dims
            around = [n for total in totals for n in (total // 2, total - total // 2)]
            self._reversed_padding_repeated_twice = around
        else:
            self._reversed_padding_repeated_twice = _reverse_repeat_tuple(self.padding, 2)
        outer, inner = out_channels, in_channels
        if self.transposed:
            outer, inner = inner, outer
        shape = (outer, inner // groups, *self.kernel_size)
        self.weight = Parameter(ops.empty(shape, dtype=dtype, device=device))
        empty = Parameter(ops.empty(out_channels, dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", empty)
        self.reset_parameters()

    def _check(self) -> None:
        """Refuse options that do not match: groups, padding and its mode."""
        require_value(self.groups > 0, "groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            divisible = not getattr(self, name) % self.groups
            require_value(divisible, "{} must be divisible by groups", name)
        if isinstance(self.padding, str):
            known, message = {"same", "valid"}, "Invalid padding string {!r}, should be one of {}"
            require_value(self.padding in known, message, self.padding, sorted(known))
            fits = self.padding == "valid" or set(self.stride) <= {1}
            require_value(fits, "padding='same' is not supported for strided convolutions")
        message = "padding_mode must be one of {}, not '{}'"
        require_value(self.padding_mode in _MODES, message, _MODES, self.padding_mode)

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        # With a = √5 the bound √3 · gain / √fan is 1/√fan.
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        zeros = (0,) * self.dims
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
            + changed_options(self, padding=(0,) * len(self.padding), dilation=(1,) * self.dims)
            + changed_options(self, output_padding=zeros, groups=1)
            + ("" if self.bias is not None else ", bias=False")
            + changed_options(self, padding_mode="zeros")
        )


class _Conv(OwnNames, _ConvNd):
    """The base of convolutions; see `Conv2d`."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Number, stride: Number = 1,
        padding: Number | str = 0, dilation: Number = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of the input with the weight, plus the bias."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return self.function(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv, function=F.conv1d):
    """A convolution of signals; see `Conv2d`.

    Shape:
        Input (N, C, L) or (C, L), weight (O, C / groups, K).
    """


class Conv2d(_Conv, function=F.conv2d):
    """A convolution of images: ``out[n, o] = bias[o] + Σ_c weight[o, c] ⋆ input[n, c]``.

    Args:
        in_channels: the number C of channels of the input.
        out_channels: the number O of channels of the output.
        kernel_size: the size K of the windows: a number, or one per dimension, as in the next ones.
        stride: the distance between windows. Default: 1.
        padding: the padding at each border; "valid" adds none, "same" keeps the size of the input.
            Default: 0.
        dilation: the distance between elements of a window. Default: 1.
        groups: the number of groups of channels; each group of outputs sees only its own group of
            inputs. Default: 1.
        bias: whether to add a bias. Default: True.
        padding_mode: "zeros", "reflect", "replicate" or "circular". Default: "zeros".
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Input (N, C, H, W) or (C, H, W); output (N, O, ...) or (O, ...) with height
        ``⌊(H + 2 padding - dilation (K - 1) - 1) / stride⌋ + 1``.

    Attributes:
        weight: (O, C / groups, K, K), drawn uniformly from [-b, b), b = 1/√(C / groups · K²).
        bias: (O,), drawn likewise; None without bias.

    Raises:
        ValueError: if ``groups`` does not divide the channels, for an unknown ``padding`` or
            ``padding_mode``, and for "same" with a stride.
    """


class Conv3d(_Conv, function=F.conv3d):
    """A convolution of volumes; see `Conv2d`.

    Shape:
        Input (N, C, D, H, W) or (C, D, H, W), weight (O, C / groups, K, K, K).
    """


class _ConvTransposeNd(OwnNames, _ConvNd):
    """The base of transposed convolutions; see `ConvTranspose2d`."""

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Number, stride: Number = 1,
        padding: Number = 0, output_padding: Number = 0, groups: int = 1, bias: bool = True,
        dilation: Number = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        message = 'Only "zeros" padding mode is supported for {}'
        require_value(padding_mode == "zeros", message, type(self).__name__)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The transposed convolution of the input.

        Args:
            output_size: the size of the result, with or without (N, C). Default: the size by
                ``output_padding``.

        Raises:
            ValueError: if this size is not possible.
        """
        padding = self._output_padding(input, output_size)
        return self.function(
            input, self.weight, self.bias, self.stride, self.padding, padding, self.groups,
            self.dilation,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> Ints:
        """The output padding for a result of size ``output_size``."""
        if output_size is None:
            return self.output_padding
        dims, ndim = self.dims, input.ndim
        lead = ndim - dims
        if len(output_size) == ndim:
            output_size = output_size[lead:]
        message = "output_size must have {} or {} elements, not {}"
        require_value(len(output_size) == dims, message, dims, ndim, output_size)
        size = tuple(input.shape[lead:])
        least = ops.convolution.transposed_size(
            size, self.kernel_size, self.stride, self.padding, self.dilation
        )
        most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
        fits = all(a <= n <= b for n, a, b in zip(output_size, least, most, strict=True))
        message = "output_size {} must be from {} to {}"
        require_value(fits, message, output_size, list(least), most)
        return tuple([n - a for n, a in zip(output_size, least, strict=True)])


class ConvTranspose1d(_ConvTransposeNd, function=F.conv_transpose1d):
    """A transposed convolution of signals; see `ConvTranspose2d`."""


class ConvTranspose2d(_ConvTransposeNd, function=F.conv_transpose2d):
    """A transposed convolution: the gradient of a convolution by its input, plus a bias.

    Args:
        in_channels: the number C of channels of the input, the outputs of the convolution.
        out_channels: the number O of channels of the output.
        kernel_size, stride, padding, dilation, groups: the options of the convolution; see
            `Conv2d`.
        output_padding: added to the size of the output, because a convolution with a stride maps
            several sizes to one. Default: 0.
        bias: whether to add a bias. Default: True.
        padding_mode: "zeros" only.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Input (N, C, H, W) or (C, H, W); output (N, O, ...) or (O, ...) with height
        ``(H - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1``.

    Attributes:
        weight: (C, O / groups, K, K), drawn uniformly from [-b, b), b = 1/√(O / groups · K²).
        bias: (O,), drawn likewise; None without bias.

    Raises:
        ValueError: see `Conv2d`.

    Reference:
        Zeiler et al., Deconvolutional Networks, CVPR 2010.
    """


class ConvTranspose3d(_ConvTransposeNd, function=F.conv_transpose3d):
    """A transposed convolution of volumes; see `ConvTranspose2d`."""


# Padding layers.


class _Pad(OwnNames, Module):
    """The base of padding layers.

    Args:
        padding: one number for all borders, or the numbers before and after, the last dimension
            first.
    """

    _own_names = ("__init__",)
    dims: ClassVar[int]
    mode = "constant"
    value: float | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == __name__ and cls.__name__[0] != "_":
            cls.dims = int(cls.__name__[-2])

    def __init__(self, padding: Number) -> None:
        super().__init__()
        count = 2 * self.dims
        self.padding: Any = (padding,) * count if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        """The input with padding."""
        return pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


# With a constant


class _ConstantPadNd(_Pad):
    """The base of padding with one value."""

    def __init__(self, padding: Number, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """``value`` around the last dimension; ``padding`` is a number or (before, after)."""


class ConstantPad2d(_ConstantPadNd):
    """``value`` around the last two dimensions; see `ConstantPad1d`."""


class ConstantPad3d(_ConstantPadNd):
    """``value`` around the last three dimensions; see `ConstantPad1d`."""


class _ZeroPadNd(_ConstantPadNd):
    """The base of padding with zeros."""

    def __init__(self, padding: Number) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Zeros around the last dimension; ``padding`` is a number or (before, after)."""


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Zeros around the last two dimensions; see `ZeroPad1d`."""


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Zeros around the last three dimensions; see `ZeroPad1d`."""


# With the input's own elements


class _ReflectionPadNd(_Pad):
    """The base of padding by reflection at the borders."""

    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """The last dimension mirrored at its borders; ``padding`` is a number or (before, after)."""


class ReflectionPad2d(_ReflectionPadNd):
    """The last two dimensions mirrored at their borders; see `ReflectionPad1d`."""


class ReflectionPad3d(_ReflectionPadNd):
    """The last three dimensions mirrored at their borders; see `ReflectionPad1d`."""


class _ReplicationPadNd(_Pad):
    """The base of padding by repeated borders."""

    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """The borders of the last dimension repeated; ``padding`` is a number or (before, after)."""


class ReplicationPad2d(_ReplicationPadNd):
    """The borders of the last two dimensions repeated; see `ReplicationPad1d`."""


class ReplicationPad3d(_ReplicationPadNd):
    """The borders of the last three dimensions repeated; see `ReplicationPad1d`."""


class _CircularPadNd(_Pad):
    """The base of periodic padding."""

    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """The input with periodic padding."""
        low, found = self.dims + 1, input.dim()
        message = "expected {}D or {}D input (got {}D input)"
        require_value(found in (low, low + 1), message, low, low + 1, found)
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """The last dimension continued periodically; ``padding`` is a number or (before, after)."""


class CircularPad2d(_CircularPadNd):
    """The last two dimensions continued periodically; see `CircularPad1d`."""


class CircularPad3d(_CircularPadNd):
    """The last three dimensions continued periodically; see `CircularPad1d`."""


# Pooling layers.


def _usual_stride(layer: Any) -> None:
    """Set the default stride: the size of the windows."""
    if layer.stride is None:
        layer.stride = layer.kernel_size


# Maxima


class _MaxPoolNd(
    Layer,
    gives="kernel_size stride padding dilation ceil_mode return_indices",
    shown="kernel_size stride padding dilation ceil_mode",
):
    """The base of max pooling; see `MaxPool2d`."""

    kernel_size: Number
    stride: Number | None = None
    padding: Number = 0
    dilation: Number = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def __post_init__(self) -> None:
        _usual_stride(self)


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d):
    """The greatest element of each window over the last dimension; see `MaxPool2d`."""


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d):
    """The greatest element of each window over the last two dimensions.

    Args:
        kernel_size: the size K of the windows: a number, or one per dimension, as in the next ones.
        stride: the distance s between windows. Default: K.
        padding: the padding p at each border, at most half a window. Default: 0.
        dilation: the distance d between elements of a window. Default: 1.
        return_indices: return the indices of the elements, too. Default: False.
        ceil_mode: let the last window reach beyond the padding. Default: False.

    Shape:
        Input (N, C, H, W) or (C, H, W); output height ``⌊(H + 2p - d (K - 1) - 1) / s⌋ + 1``.

    Raises:
        RuntimeError: if a number is out of range, or the shapes do not match.
    """


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d):
    """The greatest element of each window over the last three dimensions; see `MaxPool2d`."""


# Means


class _AvgPoolNd(Layer, OwnNames, shown="kernel_size stride padding"):
    """The base of average pooling; see `AvgPool2d`."""

    _own_names = ("__init__",)
    kernel_size: Number
    stride: Number | None = None
    padding: Number = 0
    ceil_mode: bool = False
    count_include_pad: bool = True

    def __post_init__(self) -> None:
        _usual_stride(self)


class AvgPool1d(_AvgPoolNd, function=F.avg_pool1d):
    """The mean of each window over the last dimension; see `AvgPool2d`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("kernel_size", "stride", "padding"):
            setattr(self, name, sizes(getattr(self, name), 1))


class _AvgPool(_AvgPoolNd):
    """The base of average pooling over several dimensions; see `AvgPool2d`."""

    divisor_override: int | None = None


class AvgPool2d(_AvgPool, function=F.avg_pool2d):
    """The mean of each window over the last two dimensions.

    Args:
        kernel_size, stride, padding, ceil_mode: see `MaxPool2d`.
        count_include_pad: count padding as elements with value zero. Default: True.
        divisor_override: the divisor of the sums. Default: the number of elements.
    """


class AvgPool3d(_AvgPool, function=F.avg_pool3d):
    """The mean of each window over the last three dimensions; see `AvgPool2d`."""


# Parts: windows by the size of the output


class _AdaptiveAvgPoolNd(Layer, shown="output_size"):
    """The base of adaptive average pooling; see `AdaptiveAvgPool2d`."""

    output_size: Any


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool1d):
    """The mean of each part of the last dimension; see `AdaptiveAvgPool2d`."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool2d):
    """The mean of each of (h, w) parts of the last two dimensions, for inputs of any size.

    Along a dimension, part k covers ``⌊k H / h⌋`` up to, not including, ``⌈(k + 1) H / h⌉``.

    Args:
        output_size: a number, or one per dimension; None keeps the size of the input.

    Shape:
        Input (N, C, H, W) or (C, H, W), output (N, C, h, w) or (C, h, w).
    """


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool3d):
    """The mean of each part of the last three dimensions; see `AdaptiveAvgPool2d`."""


class _AdaptiveMaxPoolNd(Layer, shown="output_size"):
    """The base of adaptive max pooling; see `AdaptiveMaxPool2d`."""

    output_size: Any
    return_indices: bool = False


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool1d):
    """The greatest element of each part of the last dimension; see `AdaptiveMaxPool2d`."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool2d):
    """The greatest element of each of (h, w) parts of the last two dimensions.

    Args:
        output_size: see `AdaptiveAvgPool2d`.
        return_indices: return the indices of the elements, too. Default: False.
    """


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool3d):
    """The greatest element of each part of the last three dimensions; see `AdaptiveMaxPool2d`."""


# Layers that resample images.


class Upsample(Layer, function=F.interpolate):
    """The input resampled to another size; see `nn.functional.interpolate`.

    Args:
        size: the size of the result: a number, or one per dimension.
        scale_factor: the size of the result relative to the input, instead of ``size``.
        mode: "nearest", "linear" (one dimension), "bilinear", "bicubic" (two) or "trilinear"
            (three). Default: "nearest".
        align_corners: align the centers, not the edges, of the outermost elements. Default: False.
        recompute_scale_factor: compute the scale from the rounded sizes. Default: False.

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


# Layers that exchange space and channels.


class Unfold(Layer, function=F.unfold, shown="kernel_size dilation padding stride"):
    """The windows of images, each as a column.

    Args:
        kernel_size: the size (K, L) of the windows: a number, or one per dimension.
        dilation, padding, stride: see `Conv2d`. Default: 1, 0 and 1.

    Shape:
        Input (N, C, H, W) or (C, H, W), output (N, C · K · L, windows) or without N.
    """

    kernel_size: Number
    dilation: Number = 1
    padding: Number = 0
    stride: Number = 1


class Fold(Layer, function=F.fold, shown="output_size kernel_size dilation padding stride"):
    """The sum of windows, given as columns, at their places: the adjoint of `Unfold`.

    Args:
        output_size: the size (H, W) of the result.
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
