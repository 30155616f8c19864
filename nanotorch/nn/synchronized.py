"""`SyncBatchNorm`: batch normalization over the batches of all processes."""

from typing import Any

from nanotorch import distributed as dist
from nanotorch import ops
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.function import Function
from nanotorch.nn.module import Module
from nanotorch.nn.normalization import _BatchNorm, _InstanceNorm

__all__ = ("SyncBatchNorm",)


class TotalOverRanks(Function):
    """The sum over the processes; the gradients of all of them come back."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, group: Any) -> Tensor:
        ctx.group, total = group, input.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        total = grad.clone()
        dist.all_reduce(total, group=ctx.group)
        return total, None


class SyncBatchNorm(_BatchNorm):
    """`BatchNorm1d`, 2d or 3d of the batches of all processes together, in training.

    In evaluation, or in a group of one, it is the ordinary one. Processes may have batches of
    different sizes.

    Args:
        num_features, eps, momentum, affine, track_running_stats, device, dtype, bias: as of
            `BatchNorm1d`.
        process_group: the processes that take part. Default: all.

    Shape:
        Input and output (N, C, ...).
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, process_group: Any = None,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized per channel."""
        by_batch = self.training or self.running_mean is None
        if not by_batch or not dist.is_initialized() or dist.get_world_size(self.process_group) < 2:
            return super().forward(input)
        self._check_input_dim(input)
        dims = [0, *range(2, input.dim())]
        shape = [1, -1, *[1] * (input.dim() - 2)]
        own = ops.full((1,), input.numel() // self.num_features, dtype=input.dtype)
        sums = TotalOverRanks.apply(ops.cat([input.sum(dims), own]), self.process_group)
        mean, count = sums[:-1] / sums[-1], sums[-1].detach()
        centred = input - mean.view(shape)
        squares = TotalOverRanks.apply((centred * centred).sum(dims), self.process_group)
        variance = squares / count
        if self.training and self.track_running_stats:
            self._track(mean, squares / (count - 1))
        out = centred * (variance + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            out = out * self.weight.view(shape)
        return out if self.bias is None else out + self.bias.view(shape)

    @no_grad()
    def _track(self, mean: Tensor, variance: Tensor) -> None:
        """Move the running values."""
        self.num_batches_tracked.add_(1)
        momentum = self.momentum
        if momentum is None:
            momentum = 1.0 / self.num_batches_tracked.item()
        self.running_mean.lerp_(mean, momentum)
        self.running_var.lerp_(variance, momentum)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Put a `SyncBatchNorm` of the same state in the place of each batch normalization.

        Returns:
            the module, or what takes its place.
        """
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, (_InstanceNorm, cls)):
            made = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group, bias=module.bias is not None,
            )  # fmt: skip
            for name, value in [*module._parameters.items(), *module._buffers.items()]:
                setattr(made, name, value)
            made.training = module.training
        for name, child in module.named_children():
            setattr(made, name, cls.convert_sync_batchnorm(child, process_group))
        return made
