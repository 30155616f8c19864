"""Averages of weights over training."""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from nanotorch import ops
from nanotorch._core.dtypes import int64
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.nn.module import Module
from nanotorch.nn.normalization import _BatchNorm
from nanotorch.ops.arguments import require_value
from nanotorch.optim.lr_scheduler import STRATEGY, Formula, Rate, per_group
from nanotorch.optim.optimizer import Optimizer

Average = Callable[[Tensor, Tensor, Any], Tensor]
MultiAverage = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def check_decay(decay: float) -> None:
    """Refuse a decay that is not in [0, 1]."""
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function for `AveragedModel`: the exponential moving average of one parameter.

        average ← decay · average + (1 - decay) · parameter

    Args:
        decay: the weight of the old average, in [0, 1]. Default: 0.999.

    Raises:
        ValueError: if ``decay`` is out of range.
    """
    check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """A function for `AveragedModel`: the mean of one parameter over all updates."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            step: Tensor = (current_param - averaged_param) / (num_averaged + 1)
            return averaged_param + step

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """Like `get_ema_avg_fn`, for lists of parameters and in place.

    Args:
        decay: the weight of the old average, in [0, 1]. Default: 0.999.

    Raises:
        ValueError: if ``decay`` is out of range.
    """
    check_decay(decay)

    def ema_update(
        ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], _: Any
    ) -> None:
        with no_grad():
            for average, current in zip(ema_param_list, current_param_list, strict=True):
                if average.is_floating_point():
                    average.lerp_(current, 1 - decay)
                else:
                    average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """Like `get_swa_avg_fn`, for lists of parameters and in place."""

    def swa_update(
        averaged_param_list: Sequence[Tensor],
        current_param_list: Sequence[Tensor],
        num_averaged: Any,
    ) -> None:
        with no_grad():
            for average, current in zip(averaged_param_list, current_param_list, strict=True):
                if average.is_floating_point():
                    average.lerp_(current, float(1 / (num_averaged + 1)))
                elif isinstance(num_averaged, Tensor):
                    average.addcdiv_(current - average, num_averaged + 1)
                else:
                    average.add_(current - average, alpha=1.0 / (num_averaged + 1))

    return swa_update


class AveragedModel(Module):
    """A copy of a model, whose parameters are averages of the model's over training.

    `update_parameters` adds the model to the averages; the first call copies its parameters.

    Args:
        model: the model to average.
        device: the device of the averages.
        avg_fn: a function of the old average, the parameter and the number of updates before; it
            returns the new average. Default: that of `get_swa_avg_fn`.
        multi_avg_fn: the same for lists, in place; an alternative to ``avg_fn``.
        use_buffers: average the buffers instead of copying them. Default: False.

    Attributes:
        module: the averaged copy of the model.
        n_averaged: the number of updates, a buffer.

    Raises:
        AssertionError: if both functions are given.

    Reference:
        Izmailov, Podoprikhin, Garipov, Vetrov and Wilson, Averaging Weights Leads to Wider Optima
        and Better Generalization, UAI 2018.
    """

    n_averaged: Tensor
    module: Module

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None, use_buffers: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", ops.tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The output of the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Add the parameters of the model to the averages."""
        averages = [t.detach() for t in self._averaged(self.module)]
        current = [t.detach() for t in self._averaged(model)]
        pairs = list(zip(averages, current, strict=False))
        if not self.n_averaged:
            for average, value in pairs:
                average.copy_(value)
        elif self.multi_avg_fn is not None:
            for dtype in dict.fromkeys(average.dtype for average in averages):
                same = [pair for pair in pairs if pair[0].dtype == dtype]
                self.multi_avg_fn([a for a, _ in same], [c for _, c in same], self.n_averaged)
        else:
            compute = self.avg_fn or get_swa_avg_fn()
            for average, value in pairs:
                average.copy_(compute(average, value, self.n_averaged))
        if not self.use_buffers:
            buffers = zip(self.module.buffers(), model.buffers(), strict=True)
            for average, value in buffers:
                average.detach().copy_(value.detach())
        self.n_averaged += 1

    def _averaged(self, module: Module) -> Iterable[Tensor]:
        """The tensors of a module that are averaged."""
        if self.use_buffers:
            return itertools.chain(module.parameters(), module.buffers())
        return module.parameters()


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the statistics of a model's batch normalizations, as means over batches.

    Args:
        loader: an iterable of batches; of a tuple or list, the model gets the first entry.
        model: a model, for example an `AveragedModel`; the function calls it in training mode and
            restores its mode.
        device: the device of the batches.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not layers:
        return
    before = [layer.momentum for layer in layers]
    training = model.training
    model.train()
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None
    with no_grad():
        for batch in loader:
            inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(inputs if device is None else inputs.to(device))
    for layer, momentum in zip(layers, before, strict=True):
        layer.momentum = momentum
    model.train(training)


class SWALR(Formula):
    """Moves the rates from their present values to ``swa_lr``, where they stay.

        lr = a swa_lr + (1 - a) initial lr,   a = (1 - cos(π step / anneal_epochs)) / 2

    Args:
        optimizer, last_epoch: see `LRScheduler`.
        swa_lr: the final rate, or a list of one per group.
        anneal_epochs: the number of steps to the final rate. Default: 10.
        anneal_strategy: "cos", or "linear" with a = step / anneal_epochs. Default: "cos".

    Raises:
        ValueError: for another strategy, if ``anneal_epochs`` is negative or not an integer, or
            unless there is one rate per group.
    """

    def __init__(
        self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10,
        anneal_strategy: str = "cos", last_epoch: int = -1,
    ) -> None:  # fmt: skip
        rates = per_group("swa_lr", optimizer, swa_lr)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        require_value(anneal_strategy in ("cos", "linear"), STRATEGY, anneal_strategy)
        whole = isinstance(anneal_epochs, int) and anneal_epochs >= 0
        require_value(whole, "anneal_epochs must be equal or greater than 0, got {}", anneal_epochs)
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """The part of the way to the final rate after ``step`` steps, in [0, 1]."""
        passed = min(1.0, max(0, step) / max(1, self.anneal_epochs))
        return passed if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * passed)) / 2

    def _rates(self) -> list[Rate]:
        step = max(self._step_count - 1, int(not self.anneal_epochs))
        before, share = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            rate, last = group["lr"], group["swa_lr"]
            initial = last if before == 1 else (rate - before * last) / (1 - before)
            rates.append(share * last + (1 - share) * initial)
        return rates


if not TYPE_CHECKING:  # errors about missing names give a reason
    __getattr__, __dir__ = on_demand("nanotorch.optim.swa_utils")
