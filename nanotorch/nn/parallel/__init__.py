"""Modules for several processes, each with a part of the batch, and for several devices."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch import distributed as dist
from nanotorch import ops
from nanotorch._core.arguments import flat_args
from nanotorch._core.grad_mode import is_grad_enabled, no_grad
from nanotorch._core.graph import AccumulateGrad
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.autograd.function import Function
from nanotorch.autograd.graph import reachable_nodes
from nanotorch.distributed.collectives import compare, description, shared_sum
from nanotorch.distributed.group import Array, ProcessGroup, Work, member_of
from nanotorch.names.lookup import missing_attribute, on_demand, stand_in
from nanotorch.nn.module import Module
from nanotorch.nn.normalization import _BatchNorm, _InstanceNorm
from nanotorch.ops.arguments import require, require_value

if not TYPE_CHECKING:  # errors about missing names give a reason
    __getattr__, __dir__ = on_demand("nanotorch.nn.parallel")
distributed = stand_in(
    "nanotorch.nn.parallel.distributed", {"nanotorch.nn.parallel": "DistributedDataParallel"}
)

# Processes that average their gradients: `DistributedDataParallel`.


MEGABYTE = 1024**2
NOT_NEEDED = (
    "DistributedDataParallel is not needed when a module doesn't have any parameter that requires "
    "a gradient."
)
UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. "
    "These parameters have had no gradient on rank {}: {}. Give find_unused_parameters=True, or "
    "let all outputs of `forward` take part in the loss"
)


class Bucket:
    """Gradients that are reduced together.

    Args:
        params: the parameters by name, all of one dtype.
        group: the processes.

    Attributes:
        flat: one array for all gradients.
        sent, total: this process's gradients and their sum over processes, by parameter.
        missing: the names of parameters whose gradients are not ready.
        work: the reduction, once it is started.
    """

    work: Work

    def __init__(self, params: dict[str, Tensor], group: ProcessGroup) -> None:
        self.params, self.missing, self.group = params, set(params), group
        count = sum(p.numel() for p in params.values())
        self.flat = np.empty(count, next(iter(params.values()))._array.dtype)
        self.shared = shared_sum(group, count, self.flat.dtype)
        self.views = {name: wrap(part) for name, part in self.parts(self.flat).items()}
        self.sent = self.parts(self.shared.own if self.shared else self.flat)
        self.total = self.parts(self.shared.total if self.shared else self.flat)

    def parts(self, flat: Array) -> dict[str, Array]:
        """The parts of ``flat``, by parameter and with its shape."""
        ends = np.cumsum([p.numel() for p in self.params.values()])
        pieces = zip(self.params.items(), np.split(flat, ends[:-1]), strict=True)
        return {name: piece.reshape(p.shape) for (name, p), piece in pieces}

    def start(self) -> None:
        """Start the sum of the gradients of all processes."""
        for name, p in self.params.items():
            if p.grad is None:
                self.sent[name].fill(0)
            else:
                np.divide(p.grad._array, self.group.size(), out=self.sent[name])
        if self.shared:
            self.work = Work(self.shared.steps(), "DistributedDataParallel", self.group)
        elif work := dist.all_reduce(wrap(self.flat), group=self.group, async_op=True):
            self.work = work

    def finish(self, untouched: set[str], as_view: bool) -> None:
        """Wait for the sum and write it to the gradients of all parameters except ``untouched``."""
        self.work.wait()
        for name, p in self.params.items():
            if name not in untouched:
                if as_view:
                    p.grad = self.views[name]
                elif p.grad is None:
                    p.grad = wrap(np.empty_like(self.total[name]))
                p.grad._array[...] = self.total[name]


class DistributedDataParallel(Module):
    """A wrapper that averages the gradients of all processes during `backward`.

    All processes start with the parameters and buffers of rank 0. Each computes the loss of its own
    part of the batch. After `backward`, the gradients are the mean over the processes; equal
    optimizers then keep the parameters equal. The gradients are added in buckets while `backward`
    continues, through shared memory on one host and through messages otherwise.

    On one host, or with the "ordered" reduction of `init_process_group`, the mean is reproducible
    to the bit: it is the sum, in rank order, of each gradient divided by the number of processes.

    Args:
        module: the module to call; the names in the state begin with ``module.``.
        device_ids, output_device, dim, check_reduction, static_graph, mixed_precision, device_mesh:
            accepted for compatibility.
        broadcast_buffers: copy the buffers of rank 0 before each `forward`. Default: True.
        init_sync: start with the state of rank 0. Default: True.
        process_group: the participating processes. Default: all.
        bucket_cap_mb: the size of a bucket in MiB. Default: 25, and 1 for the first.
        find_unused_parameters: allow parameters that do not affect a loss. Default: False.
        gradient_as_bucket_view: make gradients views of the buckets instead of copies. Default:
            False.

    Attributes:
        module: the module.
        require_backward_grad_sync: False within `no_sync`.

    Raises:
        ValueError: before `init_process_group`.
        RuntimeError: if no parameter requires grad, or the parameters' shapes differ between
            processes.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None,
        dim: int = 0, broadcast_buffers: bool = True, init_sync: bool = True,
        process_group: Any = None, bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False, check_reduction: bool = False,
        gradient_as_bucket_view: bool = False, static_graph: bool = False,
        mixed_precision: Any = None, device_mesh: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        group = member_of(process_group)
        if group is None:
            raise ValueError("this process is not in the process_group")
        named: dict[str, Tensor] = {n: p for n, p in module.named_parameters() if p.requires_grad}
        require(named, NOT_NEEDED)
        self.module, self.process_group = module, group
        self.device_ids, self.output_device, self.dim = None, None, dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync = True
        compare(group, "DistributedDataParallel", {"number of parameters": str(len(named))})
        for name, p in named.items():
            compare(group, "DistributedDataParallel", {name: description(p)})
        if init_sync:
            self._broadcast([*module.parameters(), *module.buffers()])
        cap = 25 if bucket_cap_mb is None else bucket_cap_mb
        self._buckets = buckets(named, cap * MEGABYTE, min(cap, 1) * MEGABYTE, group)
        self._of = {name: bucket for bucket in self._buckets for name in bucket.params}
        # Whether the next backward pass reduces gradients; whether it has a first gradient.
        self._expecting = self._begun = False
        self._launched = 0  # the number of started buckets
        self._unused: set[str] = set()
        for name, p in named.items():
            p.register_post_accumulate_grad_hook(self._hook(name))

    def _broadcast(self, tensors: Sequence[Tensor]) -> None:
        group = self.process_group
        started = [dist.broadcast(t, group.ranks[0], group, async_op=True) for t in tensors]
        for work in filter(None, started):
            work.wait()

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise missing_attribute(self, f"nn.parallel.{type(self).__name__}", name) from None

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The output of the module.

        Raises:
            RuntimeError: if a parameter had no gradient in the previous `backward`, unless
                ``find_unused_parameters`` is set.
        """
        syncs = self.require_backward_grad_sync
        if self._begun:
            waiting = ", ".join(sorted(name for b in self._buckets for name in b.missing))
            raise RuntimeError(UNFINISHED.format(self.process_group.rank(), waiting))
        if self.broadcast_buffers and syncs:
            self._broadcast(list(self.module.buffers()))
        out = self.module(*inputs, **kwargs)
        self._expecting = is_grad_enabled() and syncs
        if self._expecting:
            self._launched, self._unused = 0, set()
            if self.find_unused_parameters:
                tensors = [value for value in flat_args([out]) if isinstance(value, Tensor)]
                behind_them = reachable_nodes(t.grad_fn for t in tensors)
                used = {id(n.variable) for n in behind_them if isinstance(n, AccumulateGrad)}
                self._unused = {n for n, b in self._of.items() if id(b.params[n]) not in used}
            for bucket in self._buckets:
                bucket.missing = set(bucket.params) - self._unused
        return out

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block whose passes do not average gradients; they accumulate until the next pass
        outside the block."""
        former, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = former

    def _hook(self, name: str) -> Callable[[Tensor], None]:
        """The hook that runs when the gradient of parameter ``name`` is ready."""
        bucket = self._of[name]

        def ready(_: Tensor) -> None:
            if self._expecting:
                self._begun = True
                bucket.missing.discard(name)
                self._go_on()

        return ready

    def _go_on(self) -> None:
        """Start the reduction of complete buckets, in the same order in all processes.

        After the start of the last bucket, wait for all and write the gradients.
        """
        for bucket in self._buckets[self._launched :]:
            if bucket.missing:
                break
            bucket.start()
            self._launched += 1
        Work.go_on()
        if self._launched == len(self._buckets):
            self._expecting = self._begun = False
            untouched = self._unused_anywhere()
            for bucket in self._buckets:
                bucket.finish(untouched, self.gradient_as_bucket_view)

    def _unused_anywhere(self) -> set[str]:
        """The parameters that no process uses; their gradients stay unchanged."""
        if not self.find_unused_parameters:
            return set()
        names = list(self._of)
        used = wrap(np.array([name not in self._unused for name in names]))
        dist.all_reduce(used, dist.ReduceOp.MAX, self.process_group)
        return {name for name, flag in zip(names, used.tolist(), strict=True) if not flag}


def buckets(
    named: dict[str, Tensor], cap: float, first: float, group: ProcessGroup
) -> list[Bucket]:
    """The parameters in buckets, the last parameters first: the order of `backward`.

    Args:
        cap, first: the size of a bucket, and of the first bucket, in bytes.
    """
    parts: list[dict[str, Tensor]] = [{}]
    size, limit = 0, first
    for name, p in reversed(named.items()):
        other = any(q.dtype != p.dtype for q in parts[-1].values())
        if parts[-1] and (other or size + p._array.nbytes > limit):
            parts.append({})
            size, limit = 0, cap
        parts[-1][name] = p
        size += p._array.nbytes
    return [Bucket(part, group) for part in parts]


# Batch normalization over the batches of all processes.


class TotalOverRanks(Function):
    """The sum over the processes; its gradient is the sum of the gradients of all processes."""

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
    """`BatchNorm1d`, 2d or 3d with the statistics of all processes' batches in training.

    In evaluation mode, or in a group of one process, it is an ordinary batch normalization.
    Processes may have batches of different sizes.

    Args:
        num_features, eps, momentum, affine, track_running_stats, device, dtype, bias: see
            `BatchNorm1d`.
        process_group: the participating processes. Default: all.

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
        require_value(input.dim() >= 2, "expected at least 2D input (got {}D input)", input.dim())

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
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
        """Move the running values towards the mean and variance of a batch."""
        self.num_batches_tracked.add_(1)
        momentum = self.momentum
        if momentum is None:
            momentum = 1.0 / self.num_batches_tracked.item()
        self.running_mean.lerp_(mean, momentum)
        self.running_var.lerp_(variance, momentum)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace each batch normalization in ``module`` by a `SyncBatchNorm` of the same state.

        Returns:
            The module, or the `SyncBatchNorm` that replaces it.
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


# Several devices; here the CPU is the only one.


class DataParallel(Module):
    """A wrapper that calls its module, like PyTorch's without GPUs.

    Args:
        module: the module to call; the names in the state begin with ``module.``.
        device_ids, output_device, dim: accepted for compatibility.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None,
        dim: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The output of the module."""
        return self.module(*inputs, **kwargs)
