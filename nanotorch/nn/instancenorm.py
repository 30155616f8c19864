"""Instance normalization."""

from typing import Any

from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.nn.batchnorm import _BatchNorm
from nanotorch.nn.functional.normalization import instance_norm


class _InstanceNorm(_BatchNorm):
    """Instance normalization of inputs of a number of dimensions; see `InstanceNorm1d`."""

    dimensions = 0  # of the input with a batch

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if (local_metadata.get("version") or 1) < 2 and not self.track_running_stats:
            # Before its first version with a number, PyTorch tracked statistics always.
            names = [n for n in ("running_mean", "running_var") if prefix + n in state_dict]
            if names:
                error_msgs.append(self._tracked(prefix, names))
                for name in names:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _tracked(self, prefix: str, names: list[str]) -> str:
        listed = " and ".join(f'"{prefix}{name}"' for name in names)
        kind = type(self).__name__
        return (
            f"Unexpected running stats buffer(s) {listed} for {kind} with "
            "track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this may "
            f"be expected because {kind} does not track running stats by default since 0.4.0. "
            "Please remove these keys from state_dict. If the running stats are actually needed, "
            f"instead set track_running_stats=True in {kind} to enable them. See the documentation "
            f"of {kind} for details."
        )

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self.dimensions - 1, self.dimensions):
            raise ValueError(
                f"expected {self.dimensions - 1}D or {self.dimensions}D input "
                f"(got {input.dim()}D input)"
            )

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized per sample and channel."""
        self._check_input_dim(input)
        single = input.dim() == self.dimensions - 1
        at = 0 if single else 1
        if input.size(at) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={at} to match num_features "
                    f"({self.num_features}), but got: {input.size(at)}."
                )
            warn(
                f"input's size at dim={at} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False"
            )
        batch = input.unsqueeze(0) if single else input
        out = instance_norm(
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
        eps: Default: 1e-5.
        momentum: how far the running values move at each step. Default: 0.1.
        affine: whether there are weight and bias. Default: False.
        track_running_stats: whether there are running values, which are used in evaluation.
            Default: False.
        device: accepted for PyTorch's sake.
        dtype: of parameters and buffers. Default: the default dtype.
        bias: whether there is a bias, if ``affine``. Default: True.

    Shape:
        Input and output (N, C, L) or (C, L).

    Attributes:
        weight, bias: (C,), ones and zeros at first; None unless ``affine``.
        running_mean, running_var: (C,) buffers, zeros and ones at first; None unless
            ``track_running_stats``.

    Raises:
        ValueError: for inputs of other numbers of dimensions or, if ``affine``, of channels.

    Warns:
        UserWarning: for another number of channels, if not ``affine``.

    Reference:
        Ulyanov, Vedaldi and Lempitsky, Instance Normalization: The Missing Ingredient for Fast
        Stylization, 2016.
    """

    dimensions = 3


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` of pictures.

    Shape:
        Input and output (N, C, H, W) or (C, H, W).

    Arguments, Attributes, Raises, Warns, Reference: see `InstanceNorm1d`.
    """

    dimensions = 4


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` of volumes.

    Shape:
        Input and output (N, C, D, H, W) or (C, D, H, W).

    Arguments, Attributes, Raises, Warns, Reference: see `InstanceNorm1d`.
    """

    dimensions = 5
