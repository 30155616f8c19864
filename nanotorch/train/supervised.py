"""Regression and classification: a model is fitted to samples."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.utils.data import DataLoader, TensorDataset

from .build import Wanted, build_model, build_optimizer, freeze
from .callbacks import RecordEpochs, RecordSteps, Sink, progress
from .components import LOSSES
from .dataset import PARTS, Samples, load_dataset
from .experiment import Report
from .loop import Callback
from .metrics import classification_metrics, regression_metrics
from .problems import Origins
from .report import least_squares_text, metrics_table
from .schema import SupervisedConfig
from .step import TrainingStep

LARGEST_BATCH = 4096
"""Samples per forward pass when a whole part is measured."""


class Supervised:
    """A model, its data, its loss and its optimizer.

    Raises:
        ConfigError: if they cannot be made as the configuration says.
    """

    def __init__(self, config: SupervisedConfig, origins: Origins) -> None:
        self.config = config
        self.classification = config.experiment == "classification"
        # A stream of its own for each purpose: more samples do not change the initial weights,
        # which are the ones PyTorch gives the same layers after the same `manual_seed`.
        data_stream, self.shuffle_stream = streams(config.seed, 2)
        self.dataset = load_dataset(config.data, self.classification, data_stream, origins)
        torch.manual_seed(config.seed)
        example = torch.zeros(2, len(self.dataset.features))
        wanted = Wanted(example, (1,), "there is 1 to predict")
        self.model = build_model(config.model, wanted, origins)
        freeze(self.model, config.model.freeze, origins)
        self.loss = LOSSES.build(config.loss, "loss", origins)
        self.optimizer = build_optimizer(config.optimizer, self.model, origins)
        samples = self.dataset.parts["train"]
        self._batch_size = min(config.train.batch_size or len(samples), len(samples))
        self.loader = self._loader(samples, origins)
        self.steps = config.train.steps or len(self.loader) * (config.train.epochs or 0)
        # A smaller last batch is one step of an epoch, too seldom to be worth a variant of its own.
        self._smaller = fitting(self.model, self.loss, self.optimizer)
        full = self.steps * (len(samples) // self._batch_size) // len(self.loader)
        self._fit = TrainingStep(self._smaller, config.train.compile, full)

    def _loader(self, samples: Samples, origins: Origins) -> DataLoader:
        size = self._batch_size
        normalized = any(layer.name == "BatchNorm1d" for layer in self.config.model.layers)
        if normalized and (size == 1 or len(samples) % size == 1):
            message = "leaves a batch of one sample, whose variance BatchNorm1d cannot know"
            raise origins.error("train.batch_size", message)
        return DataLoader(
            TensorDataset(torch.from_numpy(samples.x), torch.from_numpy(samples.y)),
            batch_size=size,
            shuffle=self.config.train.shuffle,
            generator=self.shuffle_stream,
        )

    def batches(self) -> Iterable[Any]:
        """Return the batches of one epoch."""
        return self.loader

    def step(self, batch: Any) -> tuple[float, int]:
        """Fit a batch; return the loss before the step and the number of samples."""
        x, y = batch
        size = len(x)
        fit = self._fit.call if size == self._batch_size else self._smaller
        return fit(x, y).item(), size

    def compilation(self) -> Mapping[str, Any]:
        """Return what became of compiling the step."""
        return self._fit.record()

    def measure(self, part: str) -> dict[str, float]:
        """Return loss and metrics on a part, `part/loss` and so on; nothing if it is empty."""
        samples = self.dataset.parts[part]
        if not len(samples):
            return {}
        output = self.predict(samples.x)
        with torch.no_grad():
            target = torch.from_numpy(samples.y)
            values = {"loss": self.loss(torch.from_numpy(output), target).item()}
        if self.classification:
            values |= classification_metrics(sigmoid(output), samples.y)
        else:
            values |= regression_metrics(output, samples.y)
        return {f"{part}/{name}": value for name, value in values.items()}

    def predict(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the model's outputs, in evaluation mode."""
        self.model.eval()
        with torch.no_grad():
            outputs = [
                self.model(torch.from_numpy(x[start : start + LARGEST_BATCH])).numpy()
                for start in range(0, len(x), LARGEST_BATCH)
            ]
        self.model.train()
        return np.concatenate(outputs)

    def describe(self) -> str:
        """Return the data, its parts and the model."""
        dataset, data = self.dataset, self.config.data
        source = data.csv.name if data.csv else data.generator.name if data.generator else ""
        target = f"'{dataset.target}'"
        if dataset.classes and data.csv:
            target += f" ({dataset.classes[1]} = 1, {dataset.classes[0]} = 0)"
        count = len(dataset.features)
        features = f"{count} feature{'s' if count > 1 else ''}"
        sizes = ", ".join(f"{name} {len(part)}" for name, part in dataset.parts.items())
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return "\n".join(
            [
                f"{self.config.experiment} of {target} from {features}, {source}",
                f"samples: {sizes}",
                f"{self.model}",
                f"{parameters} parameters, {self.config.loss.name}, {self.config.optimizer.name}",
            ]
        )

    def files(self) -> Iterable[Path]:
        """Return the table, if the samples come from one."""
        return [self.config.data.csv] if self.config.data.csv else []

    def callbacks(self, sinks: Sequence[Sink]) -> Sequence[Callback]:
        """Return what records the training loss, measures the validation part, and shows both."""
        log, every = self.config.log, self.config.train.validate_every
        epochs = RecordEpochs(sinks, lambda: self.measure("validation"), every)
        shown = [progress(lambda: epochs.latest)] if log.progress else []
        return [RecordSteps(sinks, log.every), epochs, *shown]

    def graph(self) -> tuple[nn.Module, torch.Tensor]:
        """Return the model and its first two samples."""
        return self.model, torch.from_numpy(self.dataset.parts["train"].x[:2])

    def state(self) -> Mapping[str, torch.Tensor]:
        """Return the model's weights, under PyTorch's names."""
        state: Mapping[str, torch.Tensor] = self.model.state_dict()
        return state

    def preprocessing(self) -> Mapping[str, Any]:
        """Return how features become inputs: (feature - mean) / scale, in this order."""
        dataset = self.dataset
        return {
            "features": list(dataset.features),
            "mean": dataset.mean.tolist(),
            "scale": dataset.scale.tolist(),
            "target": dataset.target,
            "classes": list(dataset.classes) if dataset.classes else None,
        }

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
        return Report(text, results, results["train/loss"])


def fitting(
    model: nn.Module, criterion: nn.Module, optimizer: optim.Optimizer
) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return what fits a model to a batch, and gives the loss before."""

    def training_step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return training_step


def streams(seed: int, count: int) -> list[torch.Generator]:
    """Return independent random streams that are fixed by one seed."""
    states = np.random.SeedSequence(seed).generate_state(count)
    return [torch.Generator().manual_seed(int(state)) for state in states]


def sigmoid(x: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)) in double precision, where more scores differ."""
    with np.errstate(over="ignore"):  # exp(-x) = inf gives the right 0
        result: NDArray[np.float64] = 1 / (1 + np.exp(-x.astype(np.float64)))
    return result


def least_squares_loss(samples: Samples, bias: bool) -> float:
    """Return the least mean square error that a linear function can have on `samples`."""
    x, y = samples.x.astype(np.float64), samples.y.astype(np.float64)
    if bias:
        x = np.hstack([x, np.ones((len(x), 1))])
    solution = np.linalg.lstsq(x, y)[0]
    return float(np.mean((x @ solution - y) ** 2))
