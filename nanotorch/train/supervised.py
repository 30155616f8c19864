"""Regression, classification and text: a model is fitted to samples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn

from .build import Wanted, build_callbacks, build_model, build_optimizer, freeze
from .components import BINARY_LOSSES, LOSSES, REFUSALS
from .dataset import PARTS, Dataset, Samples, load_dataset
from .events import TensorBoardEvents
from .experiment import Report
from .figures import predicted_plots, recall_curves
from .fitting import Fitting
from .kinds import MOST_SHOWN, Characters, Kind, ManyClasses, Numbers, TwoClasses, weighing
from .loop import Callback
from .plots import Plot, Records, loss_curves
from .problems import ConfigError, Origins, quoted
from .reading import Component
from .recorder import Recorder
from .report import least_squares_text, metrics_table
from .schema import SupervisedConfig, TextConfig, TrainedConfig
from .settings import Train
from .summary import summary
from .text import load_text
from .trials import with_others

LARGEST_BATCH = 4096
"""Samples per forward pass when a whole part is measured."""
LARGEST_INPUT = 500_000
"""Numbers that go into such a pass."""


class Supervised(Fitting):
    """A model, its data, its loss and its optimizer.

    Raises:
        ConfigError: if they cannot be made as the configuration says.
    """

    def __init__(self, config: TrainedConfig, origins: Origins) -> None:
        self.config = config
        self.kind = kind_of(config)
        # A stream of its own for each purpose: more samples do not change the initial weights,
        # which are the ones PyTorch gives the same layers after the same `manual_seed`.
        data_stream, shuffling = streams(config.seed, 2)
        try:
            dataset = dataset_of(config, self.kind, data_stream, origins)
            self.dataset = limited(dataset, config.train)
            torch.manual_seed(config.seed)
            model = build_model(config.model, self._wanted(), origins)
            freeze(model, config.model.freeze, origins)
            loss = self.kind.criterion(self._loss(origins))
            optimizer = build_optimizer(config.optimizer, model, origins)
            samples = self.dataset.parts["train"]
            try_loss(model, loss, samples, origins)
            super().__init__(config, model, loss, optimizer, samples, shuffling, origins)
            self._listening = build_callbacks(config.callbacks, origins)
        except ConfigError as error:
            raise with_others(error, config, origins) from None

    def _wanted(self) -> Wanted:
        """Return what the model is to be made for."""
        shape, reason = self.kind.outputs(self.dataset)
        x = np.array(self.dataset.parts["train"].x[:1])
        example = torch.from_numpy(np.concatenate([x, x]))
        symbols = len(self.dataset.classes or ()) if isinstance(self.kind, Characters) else None
        return Wanted(example, shape, reason, symbols)

    def _loss(self, origins: Origins) -> nn.Module:
        """Return the loss, with the weights of classes where the configuration wants some."""
        component = self.config.loss
        if isinstance(self.config, SupervisedConfig):
            given = self.config.data.class_weights
            try:
                weights = weighing(given, self.dataset, component.name)
            except ValueError as error:
                raise origins.error("data.class_weights", str(error)) from None
            if weights:
                arguments = {**component.arguments, weights.argument: weights.weights}
                component = Component(component.name, arguments)
        loss: nn.Module = LOSSES.build(component, "loss", origins)
        return loss

    def measure(self, part: str) -> dict[str, float]:
        """Return loss and metrics on a part, `part/loss` and so on; nothing if it is empty."""
        samples = self.dataset.parts[part]
        if not len(samples):
            return {}
        outputs = self.predict(samples.x)
        with torch.no_grad():
            target = torch.from_numpy(samples.y)
            values = {"loss": self.loss(torch.from_numpy(outputs), target).item()}
        values |= self.kind.measure(outputs, samples.y)
        return {f"{part}/{name}": value for name, value in values.items()}

    def predict(self, x: NDArray[Any]) -> NDArray[np.float32]:
        """Return the model's outputs, in evaluation mode."""
        size = min(LARGEST_BATCH, max(1, LARGEST_INPUT // max(1, x[:1].size)))
        model = self.final_model
        model.eval()
        with torch.no_grad():
            outputs = [
                model(torch.from_numpy(x[start : start + size])).numpy()
                for start in range(0, len(x), size)
            ]
        model.train()
        return np.concatenate(outputs)

    def describe(self) -> str:
        """Return the data, its parts and the model."""
        dataset, data = self.dataset, self.config.data
        features, target = described_inputs(dataset), f"'{dataset.preprocessing.target}'"
        if dataset.classes and self.kind.wishes.binary and data.files:
            target += f" ({dataset.classes[1]} = 1, {dataset.classes[0]} = 0)"
        elif dataset.classes:
            target += f" ({len(dataset.classes)} classes)" * (not isinstance(self.kind, Characters))
        sizes = ", ".join(f"{name} {len(part)}" for name, part in dataset.parts.items())
        return "\n".join(
            [
                f"{self.config.experiment} of {target} from {features}, {data.source}",
                f"samples: {sizes}",
                *(() if isinstance(self.kind, Characters) else lacking(dataset)),
                f"{self.config.loss.name}, {self.config.optimizer.name}",
                "",
                summary(*self.graph()),
            ]
        )

    def callbacks(self, recorder: Recorder) -> Sequence[Callback]:
        """Return what listens to the training; what the configuration names comes last."""
        return [*super().callbacks(recorder), *self._listening]

    def files(self) -> Iterable[Path]:
        """Return the files that the samples come from."""
        return self.config.data.files

    def graph(self) -> tuple[nn.Module, torch.Tensor]:
        """Return the model and its first two samples."""
        return self.model, torch.from_numpy(self.dataset.parts["train"].x[:2])

    def preprocessing(self) -> Mapping[str, Any]:
        """Return how features become inputs: (feature - mean) / scale, in this order."""
        return self.dataset.preprocessing.record()

    def plots(self, records: Records) -> Iterable[Plot]:
        """Draw the losses, and what the model predicts."""
        drawn = [loss_curves(records), *predicted_plots(self.kind, self.dataset, self.predict)]
        return [plot for plot in drawn if plot is not None]

    def notes(self, events: TensorBoardEvents, step: int) -> None:
        """Add the curves of precision over recall."""
        for name, labels, scores in recall_curves(self.kind, self.dataset, self.predict):
            events.pr_curve(f"pr/{name}", labels, scores, step)

    def report(self) -> Report:
        """Return all metrics on all parts; for a linear model also the best there can be."""
        results = {name: value for part in PARTS for name, value in self.measure(part).items()}
        text = metrics_table(results, {name: len(self.dataset.parts[name]) for name in PARTS})
        layers = list(self.model)
        is_linear = len(layers) == 1 and isinstance(layers[0], nn.Linear)
        if is_linear and self.config.loss.name == "MSELoss":
            bias = layers[0].bias is not None
            best = least_squares_loss(self.dataset.parts["train"], bias)
            results["train/least_squares_loss"] = best
            text += "\n" + least_squares_text(best, results["train/loss"])
        part = "test" if len(self.dataset.parts["test"]) else "train"
        samples = self.dataset.parts[part]
        if details := self.kind.details(self.predict(samples.x), samples.y, self.dataset):
            text += f"\n\n{part} samples\n{details}"
        return Report(text, results, results["train/loss"])


def lacking(dataset: Dataset) -> Iterator[str]:
    """Yield warnings of parts without samples of some classes, as of one with a single sample."""
    classes = dataset.classes or ()
    for name, part in dataset.parts.items():
        absent = [classes[index] for index in np.setdiff1d(np.arange(len(classes)), part.y)]
        if len(part) and absent:
            more = ", ..." * (len(absent) > MOST_SHOWN)
            shown = ", ".join(map(quoted, absent[:MOST_SHOWN]))
            yield f"warning: the {name} part has no sample of class {shown}{more}"


def kind_of(config: TrainedConfig) -> Kind:
    """Return what is predicted."""
    loss = config.loss.name
    if isinstance(config, TextConfig):
        return Characters(loss)
    if config.experiment == "regression":
        return Numbers(loss)
    return TwoClasses(loss) if loss in BINARY_LOSSES else ManyClasses(loss)


def dataset_of(
    config: TrainedConfig, kind: Kind, stream: torch.Generator, origins: Origins
) -> Dataset:
    """Return the samples.

    Raises:
        ConfigError: if there are none, or of more classes than the loss has.
    """
    if isinstance(config, TextConfig):
        return load_text(config.data, origins)
    assert isinstance(config, SupervisedConfig)
    dataset = load_dataset(config.data, kind.wishes, stream, origins)
    count = len(dataset.classes or ())
    if kind.wishes.classes and kind.wishes.binary and count != 2:
        message = f"takes two classes, but there are {count}; CrossEntropyLoss takes any number"
        raise origins.error("loss.name", f"{config.loss.name} {message}")
    return dataset


def limited(dataset: Dataset, train: Train) -> Dataset:
    """Return the samples without those of the training part that are not to be trained on."""
    samples = dataset.parts["train"]
    if train.overfit_batches is None or train.batch_size is None:
        return dataset
    count = train.overfit_batches * train.batch_size
    kept = Samples(samples.x[:count], samples.y[:count])
    return replace(dataset, parts={**dataset.parts, "train": kept})


def try_loss(model: nn.Module, loss: nn.Module, samples: Samples, origins: Origins) -> None:
    """Take the loss of a sample, whose arguments may only now turn out to be impossible.

    Raises:
        ConfigError: if it has none.
    """
    model.eval()
    try:
        with torch.no_grad(), np.errstate(all="ignore"):
            loss(model(torch.from_numpy(samples.x[:1])), torch.from_numpy(samples.y[:1]))
    except REFUSALS as error:
        raise origins.error("loss", str(error) or type(error).__name__) from None
    finally:
        model.train()


def described_inputs(dataset: Dataset) -> str:
    """Return the inputs of a sample in words."""
    shape = dataset.parts["train"].x.shape[1:]
    if len(shape) > 1:
        return f"inputs of shape {' x '.join(map(str, shape))}"
    if not dataset.preprocessing.features:
        return f"{shape[0]} characters"
    return f"{shape[0]} feature{'s' if shape[0] > 1 else ''}"


def streams(seed: int, count: int) -> list[torch.Generator]:
    """Return independent random streams that are fixed by one seed."""
    states = np.random.SeedSequence(seed).generate_state(count)
    return [torch.Generator().manual_seed(int(state)) for state in states]


def least_squares_loss(samples: Samples, bias: bool) -> float:
    """Return the least mean square error that a linear function can have on `samples`."""
    x, y = samples.x.astype(np.float64), samples.y.astype(np.float64)
    if bias:
        x = np.hstack([x, np.ones((len(x), 1))])
    solution = np.linalg.lstsq(x, y)[0]
    return float(np.mean((x @ solution - y) ** 2))
