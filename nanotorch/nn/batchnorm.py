"""Batch normalization."""

from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.dtypes import int64
from nanotorch._core.origins import wrote
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.functional.normalization import batch_norm
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter


class _BatchNorm(Module):
    """Batch normalization of inputs of any number of dimensions; see `BatchNorm1d`."""

    _version = 2  # since `num_batches_tracked` is part of the state
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats

        def parameter() -> Parameter:
            return Parameter(ops.empty(num_features, dtype=dtype, device=device))

        self.register_parameter("weight", parameter() if affine else None)
        self.register_parameter("bias", parameter() if affine and bias else None)
        tracked: dict[str, Any] = dict.fromkeys(
            ("running_mean", "running_var", "num_batches_tracked")
        )
        if track_running_stats:
            tracked["running_mean"] = ops.zeros(num_features, dtype=dtype, device=device)
            tracked["running_var"] = ops.ones(num_features, dtype=dtype, device=device)
            tracked["num_batches_tracked"] = ops.tensor(0, dtype=int64, device=device)
        for name, buffer in tracked.items():
            self.register_buffer(name, buffer)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was seen: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """`reset_running_stats`, weights 1, biases 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        key = f"{prefix}num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats:
            state_dict.setdefault(key, self.num_batches_tracked)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized per channel."""
        self._check_input_dim(input)
        mean, variance = self.running_mean, self.running_var
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training:
            if not self.track_running_stats:
                mean = variance = None
            elif self.num_batches_tracked is not None:
                seen = self.num_batches_tracked
                np.add(seen._array, 1, out=seen._array)
                wrote(seen._cell, "batch_norm")
                if self.momentum is None:
                    momentum = 1.0 / float(seen._array)
        by_batch = self.training or (mean is None and variance is None)
        return batch_norm(
            input, mean, variance, self.weight, self.bias, by_batch, momentum, self.eps
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """``y = (x - mean) / √(variance + eps) * weight + bias`` per channel.

    In training, mean and (biased) variance are those of the batch, and the running values move
    towards its mean and (unbiased) variance; in evaluation, the running values are used.

    Args:
        num_features: the number C of channels.
        eps: positive. Default: 1e-5.
        momentum: how far the running values move at each step; None for the average over all
            batches. Default: 0.1.
        affine: whether there are weight and bias. Default: True.
        track_running_stats: whether there are running values; otherwise those of the batch are
            used in evaluation too. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of parameters and buffers. Default: the default dtype.
        bias: whether there is a bias, if ``affine``. Default: True.

    Shape:
        Input and output (N, C) or (N, C, L).

    Attributes:
        weight, bias: (C,), ones and zeros at first; None unless ``affine``.
        running_mean, running_var: (C,) buffers, zeros and ones at first; ``num_batches_tracked``:
            how many batches were seen; None unless ``track_running_stats``.

    Raises:
        ValueError: for inputs of other numbers of dimensions; in training, for one value per
            channel.

    Reference:
        Ioffe and Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing
        Internal Covariate Shift, ICML 2015.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` of pictures.

    Shape:
        Input and output (N, C, H, W).

    Arguments, Attributes, Raises, Reference: see `BatchNorm1d`.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` of volumes.

    Shape:
        Input and output (N, C, D, H, W).

    Arguments, Attributes, Raises, Reference: see `BatchNorm1d`.
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")
