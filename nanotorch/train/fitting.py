"""Fitting a model: the steps of a training, everything they depend on, and what listens to them."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.utils.data import DataLoader, TensorDataset

from .averaging import Average
from .callbacks import RecordEpochs, RecordSteps, RecordTensors, StopEarly, StopInTime
from .dataset import Samples
from .loop import Callback
from .optimizer_state import OptimizerState
from .problems import ConfigError, Origins, Problem, did_you_mean, quoted
from .profiling import OperationProfile
from .progress import progress
from .recorder import Recorder
from .schedules import Schedule
from .schema import TrainedConfig
from .step import Clip, TrainingStep, fitting, gradient_norm
from .tracing import TraceStep

FAST_STEPS = 2
"""Steps of a run that is only to show that everything works."""


class Fitting:
    """Base of the experiments that fit a model to samples.

    Args:
        config: the configuration.
        model, loss, optimizer: what is fitted, and how.
        samples: those of the training part, in tensors.
        shuffling: where the order of samples comes from.
        origins: where the configuration's values were written.

    Raises:
        ConfigError: if the configuration's values do not fit the samples, or each other.
    """

    def __init__(
        self,
        config: TrainedConfig,
        model: nn.Module,
        loss: nn.Module,
        optimizer: optim.Optimizer,
        samples: Samples,
        shuffling: torch.Generator,
        origins: Origins,
    ) -> None:
        self.config, self.model, self.loss, self.optimizer = config, model, loss, optimizer
        self._parameters = list(model.parameters())
        train = config.train
        self._batch_size = min(train.batch_size or len(samples), len(samples))
        self._tensors, self._samples = 2 * train.accumulate, train.accumulate * self._batch_size
        self.loader = self._loader(samples, shuffling, origins)
        per_epoch = -(-len(self.loader) // train.accumulate)
        self.steps = train.steps or per_epoch * (train.epochs or 0)
        if train.fast_dev_run:
            self.steps = min(self.steps, FAST_STEPS)
        self.epochs = -(-self.steps // per_epoch)
        clip = Clip(train.clip_norm, train.clip_value)
        self._clipped = bool(clip)
        # A smaller last step is one of an epoch, too seldom to be worth a variant of its own.
        full = self.steps * (len(samples) // self._batch_size // train.accumulate) // per_epoch
        step = fitting(model, loss, optimizer, clip)
        self._fit = TrainingStep(step, optimizer, train.compile, full)
        self._norm: torch.Tensor | None = None
        """The norm of the latest gradients, before they were clipped."""
        self._profile = OperationProfile(model, loss, optimizer, config.log.profile)
        self._trace: Callable[[nn.Module], AbstractContextManager[None]] | None = None
        """What shows TensorBoard the next step, if that is the one to show."""
        self._average = Average(config.averaging, model) if config.averaging else None
        self._schedule: Schedule | None = None
        if config.scheduler is not None:
            monitor = "validation/loss" if self.measure("validation") else "train/epoch_loss"
            lengths = self.epochs, self.steps
            self._schedule = Schedule(config.scheduler, optimizer, *lengths, monitor, origins)
        self._optimizer_state = OptimizerState(optimizer)
        self._check_monitors(origins)

    def measure(self, part: str) -> dict[str, float]:
        """Return loss and metrics on a part, `part/loss` and so on; nothing if it is empty."""
        raise NotImplementedError

    def _loader(self, samples: Samples, shuffling: torch.Generator, origins: Origins) -> DataLoader:
        size, train = self._batch_size, self.config.train
        normalized = any(layer.name == "BatchNorm1d" for layer in self.config.model.layers)
        if normalized and (size == 1 or len(samples) % size == 1):
            message = "leaves a batch of one sample, whose variance BatchNorm1d cannot know"
            raise origins.error("train.batch_size", message)
        return DataLoader(
            TensorDataset(torch.from_numpy(samples.x), torch.from_numpy(samples.y)),
            batch_size=size,
            shuffle=train.shuffle and train.overfit_batches is None,
            generator=shuffling,
        )

    def _check_monitors(self, origins: Origins) -> None:
        """Refuse to wait for what is not measured."""
        watched = {}
        if origins["checkpoint.monitor"] is not None:
            watched["checkpoint.monitor"] = self.config.checkpoint.monitor
        if self.config.early_stopping is not None:
            watched["early_stopping.monitor"] = self.config.early_stopping.monitor
        known = ["train/epoch_loss", *self.measure("validation")] if watched else []
        problems: list[Problem] = []
        for path, name in watched.items():
            if name not in known:
                message = f"{quoted(name)} is not measured in training{did_you_mean(name, known)}"
                problems += origins.error(path, message).problems
        if problems:
            raise ConfigError(problems)

    def batches(self, start: int) -> Iterator[list[torch.Tensor]]:
        """Return the samples of each step of an epoch: x, y, and again for more batches."""
        if not start:
            self._begin_pass()
        epoch = iter(self.loader)  # which knows itself how much of it has been taken
        size = self.config.train.accumulate
        return epoch if size == 1 else grouped(epoch, size)

    def _begin_pass(self) -> None:
        """Let the loader begin anew, also where a pass was cut by the end of the training."""
        self.loader.load_state_dict({**self.loader.state_dict(), "pass": None})

    def step(self, batch: list[torch.Tensor]) -> tuple[float, int]:
        """Fit the samples; return the loss before the step and their number."""
        full = len(batch) == self._tensors and len(batch[-1]) == self._batch_size
        samples = self._samples if full else sum(len(y) for y in batch[1::2])
        if self._trace is not None or self._profile.wanted:
            with self._watching():
                result = self._fit.plain(*batch)
        else:
            result = self._fit.call(*batch) if full else self._fit.plain(*batch)
        if self._clipped:
            result, self._norm = result
        return result.item(), samples

    def _watching(self) -> AbstractContextManager[None]:
        """Return what notes the operations of the next step, which runs uncompiled meanwhile."""
        if self._trace is None:
            return self._profile.recording()
        trace, self._trace = self._trace, None
        return trace(self.model)

    @property
    def training_step(self) -> Callable[..., Any]:
        """The step as a function, compiled where that was asked for and saves time."""
        return self._fit.call

    def plain_step(self, batch: list[torch.Tensor]) -> None:
        """Fit the samples by the step as it is written, uncompiled."""
        self._fit.plain(*batch)

    def details(self) -> dict[str, float]:
        """Return the learning rate and the norm of the gradients of the latest step."""
        clipped = self._norm
        norm = gradient_norm(self._parameters) if clipped is None else clipped.item()
        rate = self.optimizer.param_groups[0]["lr"]
        return {"train/lr": float(rate), "train/gradient_norm": norm}

    def compilation(self) -> Mapping[str, Any]:
        """Return what became of compiling the step."""
        return self._fit.record()

    def callbacks(self, recorder: Recorder) -> Sequence[Callback]:
        """Return what records, averages, measures, schedules, stops, and shows progress."""
        log, train, stopping = self.config.log, self.config.train, self.config.early_stopping
        events = recorder.events
        # In this order: the rate is recorded with the step that it was used for, averages are
        # measured after they were brought up to date, and schedules look at what was measured.
        listening: list[Callback | None] = [
            StopInTime(train.time_limit) if train.time_limit is not None else None,
            RecordSteps(recorder, log.every, self.details),
            self._average,
            RecordEpochs(recorder, lambda: self.measure("validation"), train.validate_every),
            self._schedule,
        ]
        if stopping is not None:
            wanted = (stopping.monitor, stopping.mode, stopping.patience, stopping.min_delta)
            listening.append(StopEarly(*wanted))
        if events is not None:
            listening.append(TraceStep(partial(setattr, self, "_trace", events.step)))
        if events is not None and log.histograms:
            every = max(self.epochs // log.histograms, 1)
            listening.append(RecordTensors(events.histograms, self.tensors, every))
        if log.progress:
            listening.append(progress())
        return [callback for callback in listening if callback is not None]

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the weights and their latest gradients, by name."""
        for name, parameter in self.model.named_parameters():
            yield f"weights/{name}", parameter
            if parameter.grad is not None:
                yield f"gradients/{name}", parameter.grad

    @property
    def final_model(self) -> nn.Module:
        """The model that is measured and kept: the averaged one, once there is one."""
        if self._average is not None and self._average.begun:
            return self._average.model
        return self.model

    def finish(self) -> None:
        """Do what is to be done between the last step and the last measurement."""
        if self._average is not None:
            self._begin_pass()
            self._average.finish(self.loader)

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return the weights to keep, under PyTorch's names."""
        state: Mapping[str, torch.Tensor] = self.final_model.state_dict()
        return state

    def training_state(self) -> dict[str, Any]:
        """Return all that the steps to come depend on."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer_state.state(),
            "random": torch.get_rng_state(),
            "loader": self.loader.state_dict(),
        }

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Go on from what `training_state` returned.

        Raises:
            RuntimeError, ValueError: if it is of another model or optimizer.
        """
        self.model.load_state_dict(state["model"])
        self._optimizer_state.load_state(state["optimizer"])
        torch.set_rng_state(state["random"])
        self.loader.load_state_dict(state["loader"])

    def profile_text(self) -> str:
        """Return where the time of the first steps went, if that was to be measured."""
        return self._profile.text()


def grouped(batches: Iterator[list[torch.Tensor]], size: int) -> Iterator[list[torch.Tensor]]:
    """Yield the tensors of several batches at once; of fewer at the end."""
    while group := list(itertools.islice(batches, size)):
        yield [tensor for batch in group for tensor in batch]
