"""Weights that are averages over the training."""

from collections.abc import Iterable
from typing import Any

from nanotorch import nn
from nanotorch.optim.swa_utils import (
    AveragedModel,
    get_ema_multi_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)

from .loop import Callback, Loop
from .settings import Averaging


class Average(Callback):
    """Averages a model's weights: an exponential moving average over steps, or a mean over epochs.

    Running statistics are those of the model itself, until `finish`.
    """

    def __init__(self, settings: Averaging, model: nn.Module) -> None:
        self._by_steps = settings.method == "ema"
        self._start = settings.start
        self._source = model
        average = get_ema_multi_avg_fn(settings.decay) if self._by_steps else get_swa_multi_avg_fn()
        self._averaged = AveragedModel(model, multi_avg_fn=average)

    @property
    def begun(self) -> bool:
        """Whether there is an average."""
        return bool(self._averaged.n_averaged.item())

    @property
    def model(self) -> nn.Module:
        """A model of the same kind with the averages as its weights."""
        return self._averaged.module

    def finish(self, batches: Iterable[Any]) -> None:
        """Measure the statistics of batch normalizations anew: a mean of weights has its own."""
        if self.begun and not self._by_steps:
            update_bn(batches, self.model)

    def on_step(self, loop: Loop) -> None:
        if self._by_steps and loop.epoch > self._start:
            self._averaged.update_parameters(self._source)

    def on_epoch(self, loop: Loop) -> None:
        if not self._by_steps and loop.epoch > self._start:
            self._averaged.update_parameters(self._source)

    def state(self) -> Any:
        return self._averaged.state_dict()

    def load_state(self, state: Any) -> None:
        self._averaged.load_state_dict(state)
