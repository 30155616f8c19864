"""Batch, instance, group and layer normalization."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from nanotorch import ops
from nanotorch._core.call_site import count_write, warn
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.dtypes import int64
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.functional import spatial as F
from nanotorch.nn.functional.spatial import sizes
from nanotorch.nn.layer import Layer
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.arguments import require_value


class _Affine(Layer):
    """The base of normalizations with a weight and a bias; both may be None."""

    def _add_parameters(self, shape: Any, wanted: dict[str, bool], **options: Any) -> None:
        for name, there in wanted.items():
            parameter = Parameter(ops.empty(shape, **options)) if there else None
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            parameter = getattr(self, name, None)
            if parameter is not None:
                init.constant_(parameter, value)


# Batch normalization.


class _BatchNorm(_Affine, shown=":num_features eps momentum affine bias track_running_stats"):
    """The base of batch normalizations; see `BatchNorm1d`."""

    _version = 2  # the first version with `num_batches_tracked` in the state
    _dims: ClassVar[tuple[int, ...]] = ()  # the numbers of dimensions that an input may have

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: DType | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        options = {"dtype": dtype, "device": device}
        for name, make in (("running_mean", ops.zeros), ("running_var", ops.ones)):
            made = make(num_features, **options) if track_running_stats else None
            self.register_buffer(name, made)
        seen = ops.tensor(0, dtype=int64, device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", seen)
        wanted = {"weight": affine, "bias": affine and bias}
        self._add_parameters(num_features, wanted, **options)

    def reset_running_stats(self) -> None:
        """Reset the running values: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Reset the running values; set the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Tensor) -> None:
        if not self._dims:
            raise NotImplementedError
        if input.dim() not in self._dims:
            expected = " or ".join(f"{count}D" for count in self._dims)
            raise ValueError(f"expected {expected} input (got {input.dim()}D input)")

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        key = f"{prefix}num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats:
            state_dict.setdefault(key, self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        self._check_input_dim(input)
        mean, variance = self.running_mean, self.running_var
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training:
            if not self.track_running_stats:
                mean = variance = None
            elif self.num_batches_tracked is not None:
                seen = self.num_batches_tracked
                np.add(seen._array, 1, out=seen._array)
                count_write(seen._cell, "batch_norm")
                if self.momentum is None:
                    momentum = 1.0 / float(seen._array)
        by_batch = self.training or (mean is None and variance is None)
        return F.batch_norm(
            input, mean, variance, self.weight, self.bias, by_batch, momentum, self.eps
        )


class BatchNorm1d(_BatchNorm):
    """``y = (x - mean) / √(variance + eps) * weight + bias`` per channel.

    Training uses the mean and (biased) variance of the batch and moves the running values towards
    its mean and (unbiased) variance. Evaluation uses the running values.

    Args:
        num_features: the number C of channels.
        eps: added to the variance, positive. Default: 1e-5.
        momentum: the weight of a new batch in the running values; None averages all batches.
            Default: 0.1.
        affine: whether to have a weight and a bias. Default: True.
        track_running_stats: whether to have running values; without them, evaluation uses the
            batch, too. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of parameters and buffers. Default: the default dtype.
        bias: whether to have a bias, if ``affine``. Default: True.

    Shape:
        Input and output (N, C) or (N, C, L).

    Attributes:
        weight, bias: (C,), initially ones and zeros; None unless ``affine``.
        running_mean, running_var: (C,) buffers, initially zeros and ones; None unless
            ``track_running_stats``.
        num_batches_tracked: the number of batches in training; None likewise.

    Raises:
        ValueError: if the input has another number of dimensions or, in training, only one value
            per channel.

    Reference:
        Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing
        Internal Covariate Shift, ICML 2015.
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` of images.

    Shape:
        Input and output (N, C, H, W).

    Arguments, Attributes, Raises, Reference: see `BatchNorm1d`.
    """

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` of volumes.

    Shape:
        Input and output (N, C, D, H, W).

    Arguments, Attributes, Raises, Reference: see `BatchNorm1d`.
    """

    _dims = (5,)


# Instance normalization.


class _InstanceNorm(_BatchNorm):
    """The base of instance normalizations; see `InstanceNorm1d`."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: DType | None = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        if (local_metadata.get("version") or 1) < 2 and not self.track_running_stats:
            # Files without a version come from a PyTorch that always tracked statistics.
            keys = [prefix + name for name in ("running_mean", "running_var")]
            found = [key for key in keys if state_dict.pop(key, None) is not None]
            if found:
                *_, error_msgs = rest
                error_msgs.append(f"{found} are for a layer with track_running_stats=True")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        self._check_input_dim(input)
        single = input.dim() == self._dims[0]
        at = 0 if single else 1
        if input.size(at) != self.num_features:
            message = "expected input's size at dim={} to match num_features ({}), but got: {}."
            require_value(not self.affine, message, at, self.num_features, input.size(at))
            warn(
                f"input's size at dim={at} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False"
            )
        batch = input.unsqueeze(0) if single else input
        out = F.instance_norm(
            batch,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    """``y = (x - mean) / √(variance + eps) * weight + bias`` per sample and channel.

    Args:
        num_features: the number C of channels.
        eps: added to the variance. Default: 1e-5.
        momentum: the weight of a new batch in the running values. Default: 0.1.
        affine: whether to have a weight and a bias. Default: False.
        track_running_stats: whether to have running values, for evaluation. Default: False.
        device: accepted for compatibility.
        dtype: the dtype of parameters and buffers. Default: the default dtype.
        bias: whether to have a bias, if ``affine``. Default: True.

    Shape:
        Input and output (N, C, L) or (C, L).

    Attributes:
        weight, bias: (C,), initially ones and zeros; None unless ``affine``.
        running_mean, running_var: (C,) buffers, initially zeros and ones; None unless
            ``track_running_stats``.

    Raises:
        ValueError: if the input has another number of dimensions or, if ``affine``, of channels.

    Warns:
        UserWarning: if the input has another number of channels, unless ``affine``.

    Reference:
        Ulyanov, Vedaldi and Lempitsky, Instance Normalization: The Missing Ingredient for Fast
        Stylization, 2016.
    """

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` of images.

    Shape:
        Input and output (N, C, H, W) or (C, H, W).

    Arguments, Attributes, Raises, Warns, Reference: see `InstanceNorm1d`.
    """

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` of volumes.

    Shape:
        Input and output (N, C, D, H, W) or (C, D, H, W).

    Arguments, Attributes, Raises, Warns, Reference: see `InstanceNorm1d`.
    """

    _dims = (4, 5)


# Normalization over groups of channels, by the root mean square, by neighbouring channels.


class GroupNorm(
    _Affine, function=F.group_norm, gives="num_groups weight bias eps",
    shown=":num_groups :num_channels eps affine bias",
):  # fmt: skip
    """``y = (x - mean) / √(variance + eps) * weight + bias`` per sample and group of channels.

    Args:
        num_groups: the number of groups, which are of equal size.
        num_channels: the number C of channels.
        eps: added to the variance. Default: 1e-5.
        affine: whether to have a weight and a bias. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.
        bias: whether to have a bias, if ``affine``. Default: True.

    Shape:
        Input and output (N, C, ...).

    Attributes:
        weight, bias: (C,), initially ones and zeros; or None.

    Raises:
        ValueError: if ``num_groups`` does not divide ``num_channels``.

    Reference:
        Wu and He, Group Normalization, ECCV 2018.
    """

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: DType | None = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        message = "num_channels ({}) must be divisible by num_groups ({})"
        require_value(not num_channels % num_groups, message, num_channels, num_groups)
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        wanted = {"weight": affine, "bias": affine and bias}
        self._add_parameters(num_channels, wanted, dtype=dtype, device=device)


class RMSNorm(
    _Affine, function=F.rms_norm, takes="x", gives="normalized_shape weight eps",
    shown=":normalized_shape eps elementwise_affine",
):  # fmt: skip
    """``y = x / √(mean(x²) + eps) * weight`` over the last dimensions.

    Args:
        normalized_shape: the sizes of these dimensions; an integer for one.
        eps: added to the mean square. Default: the machine epsilon of the dtype.
        elementwise_affine: whether to have a weight. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of the weight. Default: the default dtype.

    Shape:
        Input and output (..., *normalized_shape).

    Attributes:
        weight: of shape ``normalized_shape``, initially ones; or None.

    Reference:
        Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
    """

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None,
        elementwise_affine: bool = True, device: Any = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = shape = sizes(normalized_shape, 1)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._add_parameters(shape, {"weight": elementwise_affine}, dtype=dtype, device=device)


class LocalResponseNorm(Layer, function=F.local_response_norm, shown=":size alpha beta k"):
    """``y = x / (k + alpha * s) ** beta``, where s is the mean square of neighbouring channels.

    Args:
        size: the number of these channels, centered on the channel itself.
        alpha, beta, k: the numbers in the formula. Default: 1e-4, 0.75 and 1.

    Shape:
        Input and output (N, C, ...).

    Reference:
        Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional Neural
        Networks, NeurIPS 2012, section 3.3.
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0


# Layer normalization.


class LayerNorm(
    _Affine, function=F.layer_norm, gives="normalized_shape weight bias eps",
    shown=":normalized_shape eps elementwise_affine bias",
):  # fmt: skip
    """``y = (x - mean) / √(variance + eps) * weight + bias`` over the last dimensions.

    Args:
        normalized_shape: the sizes of these dimensions; an integer for one.
        eps: added to the variance. Default: 1e-5.
        elementwise_affine: whether to have a weight and a bias. Default: True.
        bias: whether to have a bias, if ``elementwise_affine``. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Input and output (..., *normalized_shape).

    Attributes:
        weight, bias: of shape ``normalized_shape``, initially ones and zeros; or None.

    Reference:
        Ba, Kiros and Hinton, Layer Normalization, 2016.
    """

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5,
        elementwise_affine: bool = True, bias: bool = True, device: Any = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = shape = sizes(normalized_shape, 1)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        wanted = {"weight": elementwise_affine, "bias": elementwise_affine and bias}
        self._add_parameters(shape, wanted, dtype=dtype, device=device)
