"""The experiments that fit a model to samples: regression, classification and text."""

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn
from nanotorch.optim import swa_utils
from nanotorch.optim.lr_scheduler import LRScheduler
from nanotorch.train.config import schema
from nanotorch.train.config.build import (
    MOST_SHOWN,
    Characters,
    GivenSchedule,
    Kind,
    ManyClasses,
    Numbers,
    Schedule,
    TwoClasses,
    build_optimizer,
    class_weights,
    dry_run,
    freeze,
    merge_errors,
    try_loss,
)
from nanotorch.train.config.components import as_they_are, facts_of
from nanotorch.train.config.sections import (
    ConfigError,
    Problem,
    did_you_mean,
    quoted,
    raise_all,
    refusal,
)
from nanotorch.train.data.dataset import PARTS, Dataset, Samples, load_dataset, load_text
from nanotorch.train.data.frames import codes_of, errors_of_predict, rows_of
from nanotorch.train.runs import ranks
from nanotorch.train.runs.plots import Plot, Records, loss_curves, predicted_plots, recall_curves
from nanotorch.train.runs.run_directory import OptimizerState
from nanotorch.train.training.experiment import Experiment, Recorder, Report, TensorBoardEvents
from nanotorch.train.training.loop import (
    Callback,
    EveryFewEpochs,
    Loop,
    Progress,
    RecordEpochs,
    RecordSteps,
    StopEarly,
    StopInTime,
    TraceStep,
    say,
)
from nanotorch.train.training.metrics import (
    Array,
    coefficients_table,
    least_squares_text,
    metrics_table,
    wrap_to_screen,
)
from nanotorch.train.training.step import (
    OperationProfile,
    TrainingStep,
    define_fit,
    gradient_norm,
    summary,
)
from nanotorch.utils.data import BatchSampler, DataLoader, TensorDataset

# Averages of the weights over the training.


class Average(Callback):
    """Averages a model's weights: an exponential moving average over steps, or a mean over epochs.

    Running statistics are those of the model itself until `finish` measures them anew.
    """

    def __init__(self, settings: schema.Averaging, model: nn.Module) -> None:
        self._by_steps = settings.method == "ema"
        self._start = settings.start
        self._source = model
        ema = swa_utils.get_ema_multi_avg_fn(settings.decay)
        average = ema if self._by_steps else swa_utils.get_swa_multi_avg_fn()
        self._averaged = swa_utils.AveragedModel(model, multi_avg_fn=average)

    @property
    def begun(self) -> bool:
        """Whether there is an average already."""
        return bool(self._averaged.n_averaged.item())

    @property
    def model(self) -> nn.Module:
        """A copy of the model with the averages as its weights."""
        return self._averaged.module

    def finish(self, batches: Iterable[Any]) -> None:
        """Measure the running statistics of batch normalizations anew, for an average of epochs."""
        if self.begun and not self._by_steps:
            swa_utils.update_bn(batches, self.model)

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


# The training of a model: its steps, the objects that they need, and the callbacks.


FAST_STEPS = 2
"""The number of steps of a run with `train.fast_dev_run`."""


LARGEST_BATCH = 4096
"""The most samples per forward pass when a whole part is measured."""
LARGEST_INPUT = 500_000
"""The most numbers that go into such a pass."""
Found = tuple[torch.Tensor, torch.Tensor]
"""The outputs for a part, and the targets."""
PROMPT, SAMPLE = 20, 120
"""The numbers of characters in the prompt of a sample text, and in the model's continuation."""


class Training(Experiment):
    """Base of the experiments that fit a model to batches."""

    config: schema.FitConfig
    model: nn.Module
    loss: nn.Module
    loader: DataLoader[Any]
    kind: Kind | None
    """The kind of prediction; None if it is not known."""
    unit = 1.0
    """The factor that converts a loss to the target's own units."""
    classes: Sequence[str] = ()
    """The names of the classes, if they have any."""
    metrics: Mapping[str, Callable[..., Any]] = {}
    """Functions of outputs and targets, measured in addition to the metrics of the loss."""
    _listening: Sequence[Callback]

    def _try_last_batch(self, size: int, count: int) -> None:
        """Refuse a last batch of one sample if the model cannot train on it.

        Such a model is called once, with its buffers copied.

        Args:
            size: the number of samples in a batch of the loader, except the last.
            count: the number of samples; 0 if it is not known.
        """
        train, batches = self.config.train, len(self.loader)
        steps = train.steps or batches
        plain = type(self.loader.batch_sampler) is BatchSampler
        if steps * train.accumulate < batches or (batches - 1) * size + 1 != count or not plain:
            return
        model, *example = self.graph()
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        other = " or a DataLoader with drop_last=True" * (self.config.experiment == schema.FIT)
        message = f"leaves a batch of one sample; choose another size{other}: "
        with torch.random.fork_rng():
            call: Any = lambda x: torch.func.functional_call(model.train(), buffers, x)  # noqa: E731
            dry_run(model, call, tuple(x[:1] for x in example), "train.batch_size", message)

    def _prepare(self, size: int, whole: int, scheduler: LRScheduler | None = None) -> None:
        """Make the objects that the steps need, and the callbacks.

        Args:
            size: the number of samples in a batch of the loader, except the last.
            whole: the number of batches of this size.
            scheduler: a scheduler object, which replaces the one in the configuration.
        """
        config, model, train = self.config, self.model, self.config.train
        self._parameters = list(model.parameters())
        self._batch_size, self._width = size, (width := len(self.graph()))  # inputs, and targets
        self._tensors, self._samples = width * train.accumulate, train.accumulate * size
        per_epoch = -(-len(self.loader) // train.accumulate)
        self.steps = train.steps or per_epoch * (train.epochs or 0)
        if train.fast_dev_run:
            self.steps = min(self.steps, FAST_STEPS)
        self.epochs = -(-self.steps // per_epoch)
        bounds = train.clip_norm, train.clip_value
        self._clipped = bounds != (None, None)
        # A smaller step ends each epoch: too seldom to be worth a compiled variant of its own.
        full = self.steps * (whole // train.accumulate) // per_epoch
        step = define_fit(model, self.loss, self.optimizer, *bounds, width, size, train.accumulate)
        self.training_step = TrainingStep(step, self.optimizer, train.compile, full)
        self._norm: torch.Tensor | None = None
        """The norm of the latest gradients before clipping."""
        self._profile = OperationProfile(self.optimizer, config.log.profile)
        self._average = Average(config.averaging, model) if config.averaging else None
        self._schedule: Schedule | None = None
        if config.scheduler is not None:
            monitor = "validation/loss" if self.measure("validation") else "train/epoch_loss"
            if scheduler is not None:
                self._schedule = GivenSchedule(scheduler, monitor)
            else:
                lengths = self.epochs, self.steps
                self._schedule = Schedule(config.scheduler, self.optimizer, *lengths, monitor)
        self._optimizer_state = OptimizerState(self.optimizer)
        stopping, watched = config.early_stopping, dict[str, str]()
        if config.checkpoint.monitor != schema.Checkpoint.monitor:
            watched["checkpoint.monitor"] = config.checkpoint.monitor
        if stopping is not None:
            watched["early_stopping.monitor"] = stopping.monitor
        known = ["train/epoch_loss", *self.measure("validation")] if watched else []
        message = "is not measured in training"
        raise_all(
            Problem(path, f"{quoted(name)} {message}{did_you_mean(name, known)}")
            for path, name in watched.items()
            if name not in known
        )

    def _warning(self, results: Mapping[str, float], targets: Mapping[str, NDArray[Any]]) -> str:
        """Return advice if a constant prediction is better than the model's, else "".

        Args:
            results: the metrics.
            targets: the targets of each part.
        """
        kind = self.kind if "train" in targets else None
        if kind is None or not (
            short := kind.shortfall(results, last := [*targets][-1], targets[last])
        ):
            return ""
        fitted = not kind.shortfall(results, "train", targets["train"])
        return f"{last} {short}; {self._remedy(fitted, targets['train'])}"

    def _remedy(self, fitted: bool, targets: NDArray[Any]) -> str:
        """Return what to try after a poor result.

        Args:
            fitted: whether the result on the training part is good.
            targets: the targets of the training part.
        """
        if fitted:
            return "only the training part fits: try more samples, fewer weights or weight_decay"
        return "train longer or with another learning rate"

    def batches(self, start: int) -> Iterator[list[torch.Tensor]]:
        """Return the tensors of each step: the x and y of each batch in it."""
        if not start:
            self._begin_pass()
        epoch: Iterator[Any] = iter(self.loader)  # the loader keeps its own position
        size = self.config.train.accumulate
        if size == 1:
            return epoch
        groups = iter(lambda: [*itertools.islice(epoch, size)], [])
        return ([tensor for batch in group for tensor in batch] for group in groups)

    def _begin_pass(self) -> None:
        # Begin a new pass even if the end of the training cut the previous one. If it was cut after
        # its last batch, end it first: a sampler may draw random numbers at the end.
        state = self.loader.state_dict()
        if state["pass"] is not None and state["pass"]["batches"] == len(self.loader):
            self.loader.load_state_dict(state)  # the next iterator ends this pass
            next(iter(self.loader), None)
        self.loader.load_state_dict({**self.loader.state_dict(), "pass": None})

    def step(self, batch: list[torch.Tensor]) -> tuple[float, int]:
        full = len(batch) == self._tensors and len(batch[-1]) == self._batch_size
        width = self._width
        samples = self._samples if full else sum(len(y) for y in batch[width - 1 :: width])
        result = self.taken(batch, full)
        if self._clipped:
            result, self._norm = result
        return result.item() * self.unit, samples

    def details(self) -> dict[str, float]:
        """Return the learning rate and the norm of the gradients of the latest step."""
        norm = gradient_norm(self._parameters) if self._norm is None else self._norm.item()
        rate = self.optimizer.param_groups[0]["lr"]
        return {"train/lr": float(rate), "train/gradient_norm": norm}

    def callbacks(self, recorder: Recorder) -> Sequence[Callback | None]:
        log, train, stopping = self.config.log, self.config.train, self.config.early_stopping
        events, write = recorder.events, recorder.write
        # The order matters: the learning rate is recorded before a schedule changes it, averages
        # are updated before they are measured, and schedules need the new measurements.
        histograms = None
        if events and log.histograms:
            every = max(self.epochs // log.histograms, 1)
            shown = events.histograms
            histograms = EveryFewEpochs(lambda step: shown(step, self.tensors()), every)
        bar = sys.stderr.isatty()
        return [
            StopInTime(train.time_limit) if train.time_limit is not None else None,
            RecordSteps(write, log.every, self.details),
            self._average,
            RecordEpochs(write, self._validated, train.validate_every),
            self._schedule,
            StopEarly(**vars(stopping)) if stopping else None,
            self._profile if log.profile else None,
            # All ranks take the traced step uncompiled, as rank 0 does.
            TraceStep(events.step if events else nullcontext) if log.tensorboard else None,
            histograms,
            Progress(self.epochs, train.validate_every, bar) if log.progress else None,
            *self._listening,
        ]

    def _validated(self) -> dict[str, float]:
        found = self.measure("validation")
        if ranks.size() > 1 and found:  # the last bits may differ on another machine
            values = torch.tensor([*found.values()], dtype=torch.float64)
            torch.distributed.broadcast(values, 0)
            found = dict(zip(found, values.tolist(), strict=True))
        return found

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield the weights and their latest gradients, each with its name."""
        for name, parameter in self.model.named_parameters():
            yield f"weights/{name}", parameter
            if parameter.grad is not None:
                yield f"weights/{name}.grad", parameter.grad

    @property
    def final_model(self) -> nn.Module:
        """The model to measure and keep: the averaged one as soon as there is one."""
        if self._average is not None and self._average.begun:
            return self._average.model
        return self.model

    def finish(self) -> None:
        if self._average is not None:
            self._begin_pass()
            self._average.finish(self.loader)

    def learned(self) -> Mapping[str, torch.Tensor]:
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}

    def state(self) -> Mapping[str, torch.Tensor]:
        return self.final_model.state_dict()

    def training_state(self) -> dict[str, Any]:
        state = {"model": self.model.state_dict(), "optimizer": self._optimizer_state.state()}
        return {**state, "random": torch.get_rng_state(), "loader": self.loader.state_dict()}

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self._optimizer_state.load_state(state["optimizer"])
        torch.set_rng_state(state["random"])
        self.loader.load_state_dict(state["loader"])

    def profile_text(self) -> str:
        return self._profile.text()

    def charts(self) -> Mapping[str, Sequence[str]]:
        told = self.kind is not None and not isinstance(self.kind, Numbers)
        measured = {"accuracy": ["accuracy/validation"]} if told else {}
        return {"loss": ["loss/train", "loss/validation"], **measured, "learning rate": ["lr"]}

    def evaluated(self, part: str) -> Found | None:
        """Return the model's outputs for `part`, and the targets; None if the part is empty."""
        raise NotImplementedError

    def own_units(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return outputs or targets; numbers are in the target's own units."""
        return values

    def measure(self, part: str) -> dict[str, float]:
        """Return the loss and metrics on `part` as `part/loss` and so on; {} if it is empty."""
        found = self.evaluated(part)
        return self._measured(part, found) if found else {}

    def _assessed(self, found: Found) -> tuple[Kind, NDArray[Any], NDArray[Any]] | None:
        """Return the kind, and the outputs and targets of the samples that the loss counts.

        None if the kind is unknown, or a target is none of its classes.
        """
        outputs, targets = found
        if self.kind is None:
            return None
        if targets.dim() == 1 and hasattr(self.loss, "ignore_index"):
            counted = targets != self.loss.ignore_index
            outputs, targets = outputs[counted], targets[counted]
        reported = self.kind.reported(outputs.numpy())
        own = self.own_units(reported), self.own_units(targets.numpy())
        return (self.kind, *own) if len(targets) and self.kind.fits(*own) else None

    def _measured(self, part: str, found: Found) -> dict[str, float]:
        with torch.no_grad():
            values = {"loss": self.loss(*found).item() * self.unit}
            if assessed := self._assessed(found):
                values |= assessed[0].measure(*assessed[1:])
            values |= {name: float(of(*found)) for name, of in self.metrics.items()}
        return {f"{part}/{name}": value for name, value in values.items()}

    def describe(self) -> str:
        named = f"{self.config.loss.name}, {self.config.optimizer.name}"
        return "\n".join([*self._heading(), named, "", summary(*self.graph())])

    def _heading(self) -> Iterable[str]:
        """Return lines about the samples."""
        raise NotImplementedError

    def plots(self, records: Records) -> Iterable[Plot | None]:
        yield loss_curves(records)

    def report(self) -> Report:
        results, targets = dict[str, float](), dict[str, NDArray[Any]]()
        samples, details = dict[str, int](), ""
        for name in PARTS:
            if found := self.evaluated(name):
                results |= self._measured(name, found)
                samples[name] = len(found[1])
                if assessed := self._assessed(found):
                    kind, outputs, targets[name] = assessed
                    details = kind.details(outputs, targets[name], self.classes)
                    details = details and f"\n\n{name} samples\n{details}"
        text = metrics_table(results, samples) + self._coefficients(results) + details
        return Report(text, results, results["train/loss"], self._warning(results, targets))

    def _coefficients(self, results: dict[str, float]) -> str:
        """Return a table of a linear model's coefficients; "" for other models."""
        return ""


class Supervised(Training):
    """A model, its data, its loss and its optimizer."""

    config: schema.TrainedConfig
    kind: Kind

    def __init__(self, config: schema.TrainedConfig) -> None:
        self.config = config
        self.kind = kind_of(config)
        # Each purpose has its own random stream, so more samples do not change the initial weights.
        # The weights are PyTorch's for the same layers after the same `manual_seed`.
        data_stream, shuffling = streams(config.seed, 2)
        try:
            self.dataset = self._read(data_stream)
            self.classes = self.dataset.classes or ()
            torch.manual_seed(config.seed)
            self.model = self.kind.build_model(config.model, self.dataset)
            freeze(self.model, config.model.freeze)
            loss = config.loss
            if isinstance(config, schema.SupervisedConfig):
                weights = class_weights(config.data.class_weights, self.dataset, loss.name)
                loss = loss.changed(weights)
            self.loss = self.kind.criterion(loss.build())
            self.optimizer = build_optimizer(config.optimizer, self.model)
            first = self.dataset.parts["train"]
            pairs = TensorDataset(torch.from_numpy(first.x), torch.from_numpy(first.y))
            x, y = pairs[:1]
            outputs = dry_run(self.model, self.model, x, "loss")
            try_loss(self.loss, outputs, y)
            self.kind.check_prediction(outputs)
            train, count = config.train, len(first)
            size = min(train.batch_size or count, count)
            shuffled = train.shuffle and train.overfit_batches is None
            self.loader = DataLoader(pairs, size, shuffled, generator=shuffling)
            self._try_last_batch(size, count)
            if ranks.size() > 1:
                self.model = nn.SyncBatchNorm.convert_sync_batchnorm(self.model)
            self._prepare(size, count // size)
            self._listening = [component.build() for component in config.callbacks]
        except ConfigError as error:
            raise merge_errors(error, config) from None

    def _read(self, stream: torch.Generator) -> Dataset:
        """Return the samples; with `overfit_batches`, only these batches of the training part."""
        config, train = self.config, self.config.train
        facts, degree = self.kind.facts, self.kind.facts.degree
        if degree and facts.prediction is not as_they_are:
            message = "has a function from outputs to predictions, so its target cannot be"
            message += f" standardized; register it with degree 0 instead of {degree}"
            raise refusal("loss.name", f"{config.loss.name} {message}")
        if isinstance(config, schema.TextConfig):
            dataset = load_text(config.data)
        else:
            assert isinstance(config, schema.SupervisedConfig)
            data = config.data if degree else replace(config.data, standardize_target=False)
            dataset = load_dataset(data, self.kind.targets, stream)
        self.unit = dataset.preprocessing.target_scale**degree
        if isinstance(self.kind, TwoClasses) and (count := len(dataset.classes or ())) != 2:
            message = f"takes two classes, but there are {count}; CrossEntropyLoss takes any number"
            raise refusal("loss.name", f"{config.loss.name} {message}")
        if train.overfit_batches is None or train.batch_size is None:
            return dataset
        samples, most = dataset.parts["train"], train.overfit_batches * train.batch_size
        kept = Samples(samples.x[:most], samples.y[:most])
        return replace(dataset, parts={**dataset.parts, "train": kept})

    def outputs(self, *inputs: Any) -> torch.Tensor:
        check_count(inputs, 1)
        return torch.from_numpy(self.predict(prepare_inputs(inputs[0], self.dataset, self.kind)))

    def own_units(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.dataset.preprocessing.own_units(values)

    def evaluated(self, part: str) -> Found | None:
        samples = self.dataset.parts[part]
        if not len(samples):
            return None
        return torch.from_numpy(self._outputs(samples.x)), torch.from_numpy(samples.y)

    def predict(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the model's scores of classes for `x`, or numbers in the target's own units."""
        return self.own_units(self.kind.reported(self._outputs(x)))

    def _outputs(self, x: NDArray[Any]) -> NDArray[np.float32]:
        """Return the model's outputs, in evaluation mode."""
        with evaluation_mode(self.final_model) as model:
            return outputs_of(model, x, batch_of(x[:1].size))

    def _heading(self) -> Iterable[str]:
        dataset, data = self.dataset, self.config.data
        target, shape = f"'{dataset.preprocessing.target}'", dataset.parts["train"].x.shape[1:]
        classes = self.classes
        features = f"{shape[0]} feature{'s' if shape[0] > 1 else ''}"
        if len(shape) > 1:
            features = f"inputs of shape {' x '.join(map(str, shape))}"
        elif not dataset.preprocessing.features:
            features = f"{shape[0]} characters"
        named = self.kind.targets == "binary" and len(classes) == 2 and bool(data.files)
        if classes and not named and not isinstance(self.kind, Characters):
            target += f" ({len(classes)} classes)"
        sizes = ", ".join(f"{name} {len(part)}" for name, part in dataset.parts.items())
        lines = [f"{self.config.experiment} of {target} from {features}, {data.source}"]
        lines += [f"classes: {classes[1]} = 1, {classes[0]} = 0"] if named else []
        columns = {c.name: len(c.categories or ()) for c in dataset.preprocessing.columns}
        names = ", ".join(f"{name} ({count})" for name, count in columns.items() if count)
        lines += [f"columns of names: {names}"] if names else []
        lines += [f"samples: {sizes}"]
        for name, part in {} if isinstance(self.kind, Characters) else dataset.parts.items():
            absent = [classes[k] for k in np.setdiff1d(np.arange(len(classes)), part.y)]
            if len(part) and absent:
                shown = ", ".join(map(quoted, absent[:MOST_SHOWN]))
                shown += ", ..." * (len(absent) > MOST_SHOWN)
                lines.append(f"warning: the {name} part has no sample of class {shown}")
        return lines

    def files(self) -> Iterable[Path]:
        return self.config.data.files

    def graph(self) -> tuple[nn.Module, torch.Tensor]:
        return self.model, torch.from_numpy(self.dataset.parts["train"].x[:2])

    def callbacks(self, recorder: Recorder) -> Sequence[Callback | None]:
        callbacks = super().callbacks(recorder)
        if not isinstance(kind := self.kind, Characters):
            return callbacks
        every = self.config.train.validate_every
        return [*callbacks, EveryFewEpochs(lambda step: self._sample(kind, recorder, step), every)]

    def _sample(self, kind: Characters, recorder: Recorder, step: int) -> None:
        """Let the model continue a text; show it on the terminal and in TensorBoard."""
        start = self.dataset.parts["train"].x[0, :PROMPT]
        prompt = "".join(self.classes[code] for code in start)
        text = kind.continued(self._outputs, self.dataset, prompt, SAMPLE)
        if self.config.log.progress:
            say(wrap_to_screen(f"sample after step {step}:\n{indent(text, '  ')}\n"))
        if recorder.events is not None:
            recorder.events.text("sample", text, step)

    def preprocessing(self) -> Mapping[str, Any]:
        return self.dataset.preprocessing.record()

    def plots(self, records: Records) -> Iterable[Plot | None]:
        yield from super().plots(records)
        yield from predicted_plots(self.kind, self.dataset, self.predict)

    def notes(self, events: TensorBoardEvents, step: int) -> None:
        for name, labels, scores in recall_curves(self.kind, self.dataset, self.predict):
            events.writer.add_pr_curve(f"pr/{name}", labels, scores, step)

    def _coefficients(self, results: dict[str, float]) -> str:
        """Return a table of a linear model's coefficients, the best ones and any known true ones.

        With `MSELoss`, add the least possible loss to `results`.
        """
        layer, *others = self.final_model.children()
        if not isinstance(layer, nn.Linear) or others or layer.out_features != 1:
            return ""
        preprocessing, text, found = self.dataset.preprocessing, "", dict[str, Array]()
        bias = 0.0 if layer.bias is None else layer.bias.item()
        weights = layer.weight.detach().numpy()[0].astype(np.float64)
        found["coefficient"] = np.append(weights, bias)
        if self.config.loss.name == "MSELoss":
            samples = self.dataset.parts["train"]
            found["least squares"], best = least_squares(samples, layer.bias is not None)
            results["train/least_squares_loss"] = best = best * self.unit
            text = "\n" + least_squares_text(best, results["train/loss"])
        columns = {name: [*preprocessing.coefficients(given)] for name, given in found.items()}
        generator, of = getattr(self.config.data, "generator", None), preprocessing.target
        if isinstance(generator, schema.Generator) and generator.truth:
            columns["truth"] = [*generator.truth]
        if preprocessing.classes:
            of = f"log odds of {preprocessing.classes[-1]}"
        elif self.kind.converts:
            of, _ = f"output for {of}", columns.pop("truth", None)
        return f"{text}\n\n{coefficients_table(of, preprocessing.features, columns)}"

    def _remedy(self, fitted: bool, targets: NDArray[Any]) -> str:
        data, regression = self.config.data, self.kind.targets == "regression"
        if getattr(data, "class_weights", None) is not None:
            return "data.class_weights favours rare classes over accuracy"
        facts = self.kind.facts
        if regression and not fitted and facts.prediction is as_they_are:
            if not facts.degree:
                advice = "register the loss with its degree, so that the target is standardized"
                return f"{advice}, or with its prediction if that is not the output itself"
            if not getattr(data, "standardize_target", True):
                return "set data.standardize_target: true"
        remedy = super()._remedy(fitted, targets)
        return remedy if fitted else f"{remedy} (--find-lr proposes one)"


def batch_of(numbers: int) -> int:
    """Return the number of samples in an evaluation pass, for samples of `numbers` numbers."""
    return min(LARGEST_BATCH, max(1, LARGEST_INPUT // max(1, numbers)))


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[nn.Module]:
    """Put a model in evaluation mode in the block, without recording a graph."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield model
    finally:
        model.train(before[0][1])
        for module, training in before:
            module.training = training


def check_count(inputs: Sequence[Any], count: int) -> None:
    """Raise TypeError unless there are `count` inputs."""
    if len(inputs) != count:
        message = f"predict() takes {count} array{'s' * (count > 1)} of samples"
        raise TypeError(f"{message}; got {len(inputs)}")


def prepare_inputs(x: Any, dataset: Dataset, kind: Kind) -> NDArray[Any]:
    """Return samples in the form of the data file as inputs of the model.

    Raises:
        ValueError: if a table lacks a column, a sample has another number of values, or a cell is
            not as in the training data.
    """
    with errors_of_predict():
        if isinstance(kind, Characters):
            return codes_of(x)
        return dataset.preprocessing.inputs(rows_of(x, dataset.preprocessing.of_table()))


def outputs_of(model: nn.Module, x: NDArray[Any], size: int) -> NDArray[np.float32]:
    """Return a model's outputs for `x`, computed for `size` samples at a time."""
    with torch.no_grad():
        starts = range(0, max(len(x), 1), size)
        parts = [model(torch.from_numpy(x[k : k + size])).numpy() for k in starts]
    return np.concatenate(parts)


def kind_of(config: schema.TrainedConfig) -> Kind:
    """Return the kind of prediction."""
    loss = config.loss.build()
    facts = facts_of(config.loss.name, loss)
    kind = Characters if isinstance(config, schema.TextConfig) else KINDS[facts.kind]
    return kind(facts, loss)


KINDS: Mapping[str, type[Kind]] = {
    "regression": Numbers, "binary": TwoClasses, "classes": ManyClasses
}  # fmt: skip


def streams(seed: int, count: int) -> list[torch.Generator]:
    """Return `count` independent random streams, determined by one seed."""
    states = np.random.SeedSequence(seed).generate_state(count)
    return [torch.Generator().manual_seed(int(state)) for state in states]


def least_squares(samples: Samples, bias: bool) -> tuple[Array, float]:
    """Return the weights of the linear function with the least mean square error, and that error.

    The last weight is the bias, which is 0 if `bias` is False.
    """
    x, y = samples.x.astype(np.float64), samples.y.astype(np.float64)
    x = np.hstack([x, np.full((len(x), 1), float(bias))])
    solution = np.linalg.lstsq(x, y)[0].astype(np.float64)
    return solution[:, 0], float(np.mean((x @ solution - y) ** 2))
