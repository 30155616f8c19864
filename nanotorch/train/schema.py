"""What a configuration file may say: one dataclass per section, mirroring it name for name.

The sentence under each field is its documentation; its type is its check. Checks that involve
several fields stand in the `problems` of the section that holds them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from .components import BINARY_LOSSES, LOSSES, OPTIMIZERS, REGRESSION_LOSSES
from .expression import ExpressionError, parse_expression
from .functions import FUNCTIONS
from .layers import LAYERS
from .problems import did_you_mean, quoted
from .reading import Component, Range, Section
from .schedules import SCHEDULES
from .settings import (
    Averaging,
    Checkpoint,
    EarlyStopping,
    Fraction,
    Log,
    MinimizationLog,
    NotNegative,
    Positive,
    Train,
)

Samples = Annotated[int, Range(low=2, high=1_000_000)]
Seed = Annotated[int, Range(low=0, high=2**32 - 1)]
Loss = Annotated[Component, LOSSES]
Optimizer = Annotated[Component, OPTIMIZERS]
Schedule = Annotated[Component, SCHEDULES]
Layer = Annotated[Component, LAYERS]


@dataclass(frozen=True, kw_only=True)
class Line(Section):
    """Points scattered about a line: y = slope·x + intercept + noise·N(0, 1)."""

    name: Literal["line"]
    """Which generator."""
    samples: Samples = 200
    """How many points."""
    slope: float = 2.0
    """What y gains with each unit of x."""
    intercept: float = -1.0
    """The value of y at x = 0."""
    noise: NotNegative = 0.1
    """The standard deviation of y about the line."""
    low: float = -1.0
    """The least x."""
    high: float = 1.0
    """The greatest x."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.low >= self.high:
            yield "high", f"must be greater than low ({self.low:g}), got {self.high:g}"


@dataclass(frozen=True, kw_only=True)
class Moons(Section):
    """Two interleaving half circles of radius 1, one per class."""

    name: Literal["moons"]
    """Which generator."""
    samples: Samples = 500
    """How many points, half of them in each moon."""
    noise: NotNegative = 0.15
    """The standard deviation of both coordinates about the half circles."""


@dataclass(frozen=True, kw_only=True)
class Split(Section):
    """The fractions of the samples that go to each part."""

    train: Annotated[float, Range(above=0, high=1)] = 0.7
    """What the weights are fitted to."""
    validation: Fraction = 0.15
    """What is measured during training."""
    test: Fraction = 0.15
    """What is measured once, at the end."""

    def problems(self) -> Iterator[tuple[str, str]]:
        total = self.train + self.validation + self.test
        if abs(total - 1) > 1e-6:
            yield "", f"train, validation and test must add up to 1, got {total:g}"


@dataclass(frozen=True, kw_only=True)
class Data(Section):
    """The samples: a table, or a generator that makes them up."""

    csv: Path | None = None
    """A file of comma-separated values with a header, relative to the configuration file."""
    target: str | None = None
    """The column to predict."""
    features: tuple[str, ...] | None = None
    """The columns to predict it from; all others if left out."""
    positive: str | None = None
    """The value of the target column that is class 1; left out where the column holds 0 and 1."""
    generator: Line | Moons | None = None
    """What makes the samples up, in place of a table."""
    split: Split = field(default_factory=Split)
    """How the samples are divided, at random but equally for equal seeds."""
    stratify: bool = False
    """Whether each part has the classes in the proportions of the whole."""
    standardize: bool = True
    """Whether features get mean 0 and standard deviation 1, as measured on the training part."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.csv is None and self.generator is None:
            yield "", "needs 'csv' or 'generator'"
        if self.csv is not None and self.generator is not None:
            yield "generator", "excludes 'csv'; remove one of the two"
        if self.csv is not None and self.target is None:
            yield "target", "missing; the column to predict"
        if self.csv is None:
            for name in ("target", "features", "positive"):
                if getattr(self, name) is not None:
                    yield name, "names part of a table, but there is no 'csv'"
        if self.features is not None:
            yield from self._feature_problems(self.features)

    def _feature_problems(self, features: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        if not features:
            yield "features", "needs at least one column; leave it out for all of them"
        for index, name in enumerate(features):
            if name == self.target:
                yield f"features[{index}]", f"{quoted(name)} is the target"
            elif name in features[:index]:
                yield f"features[{index}]", f"{quoted(name)} is in the list already"


@dataclass(frozen=True, kw_only=True)
class Model(Section):
    """A sequence of layers."""

    layers: tuple[Layer, ...]
    """By PyTorch's names, with their arguments; the number of inputs of each is inferred."""
    freeze: tuple[str, ...] = ()
    """Names of parameters that stay as they are, such as `0.*`; `*` matches anything."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if not self.layers:
            yield "layers", "needs at least one layer"


@dataclass(frozen=True, kw_only=True)
class Function(Section):
    """What to minimize, and from where."""

    name: str | None = None
    """A known function; or give `expression`."""
    expression: str | None = None
    """Arithmetic in the vector x, such as `x[0]**2 + (x[1] - 1)**2`; or give `name`."""
    start: tuple[float, ...]
    """The point to start from."""
    iterations: Positive
    """Steps of the optimizer."""
    compile: bool = True
    """Whether the step is compiled if there are enough of them to save time; equal to the bit."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if not self.start:
            yield "start", "needs at least one coordinate"
        if (self.name is None) == (self.expression is None):
            yield "", "needs either 'name' or 'expression'"
        elif self.name is not None and self.name not in FUNCTIONS:
            message = f"{quoted(self.name)} is not known{did_you_mean(self.name, FUNCTIONS)}"
            yield "name", message
        elif self.start:
            try:
                parse_expression(self.formula).check(self.start)
            except ExpressionError as error:
                yield "expression" if self.name is None else "start", str(error)

    @property
    def formula(self) -> str:
        """The expression, of the named function if one is named."""
        return self.expression if self.name is None else FUNCTIONS[self.name]  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class SupervisedConfig(Section):
    """A model is fitted to samples."""

    experiment: Literal["regression", "classification"]
    """Predict a number, or one of two classes."""
    seed: Seed = 0
    """Fixes the split, the initial weights and the order of samples."""
    data: Data
    """The samples."""
    model: Model
    """What predicts."""
    loss: Loss
    """What is minimized, by PyTorch's name."""
    optimizer: Optimizer
    """What minimizes it, by PyTorch's name."""
    scheduler: Schedule | None = None
    """How the learning rate changes, by PyTorch's name; it stays as it is if left out."""
    train: Train
    """How long."""
    early_stopping: EarlyStopping | None = None
    """When to end before that; never if left out."""
    averaging: Averaging | None = None
    """How weights are averaged over the training; they are not if left out."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """What is kept to go on from."""
    log: Log = field(default_factory=Log)
    """What is kept."""

    def problems(self) -> Iterator[tuple[str, str]]:
        regression = self.experiment == "regression"
        allowed = REGRESSION_LOSSES if regression else BINARY_LOSSES
        if self.loss.name not in allowed:
            yield "loss.name", f"a {self.experiment} takes {' or '.join(allowed)}"
        if self.loss.arguments.get("reduction", "mean") != "mean":
            yield "loss.reduction", "must be 'mean': losses are compared between parts"
        if not regression and self.model.layers[-1].name == "Sigmoid":
            index = len(self.model.layers) - 1
            message = "remove this layer: BCEWithLogitsLoss applies the sigmoid itself"
            yield f"model.layers[{index}].name", message
        if regression and self.data.stratify:
            yield "data.stratify", "needs classes, which a regression has not"
        if regression and self.data.positive is not None:
            yield "data.positive", "needs classes, which a regression has not"
        if regression and isinstance(self.data.generator, Moons):
            yield "data.generator.name", "'moons' makes classes, but this is a regression"
        if not regression and isinstance(self.data.generator, Line):
            yield "data.generator.name", "'line' makes no classes; did you mean 'moons'?"


@dataclass(frozen=True, kw_only=True)
class MinimizationConfig(Section):
    """The least value of a function is sought."""

    experiment: Literal["minimization"]
    """There is no data and no model."""
    seed: Seed = 0
    """Fixes what is random; nothing is, as long as the optimizer is deterministic."""
    function: Function
    """What is minimized."""
    optimizer: Optimizer
    """What minimizes it, by PyTorch's name."""
    scheduler: Schedule | None = None
    """How the learning rate changes, by PyTorch's name; counts iterations."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """What is kept to go on from."""
    log: MinimizationLog = field(default_factory=MinimizationLog)
    """What is kept."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if "groups" in self.optimizer.arguments:
            yield "optimizer.groups", "needs a model, whose parameters have names"


Config = SupervisedConfig | MinimizationConfig
