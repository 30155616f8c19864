"""What a configuration file may say: one dataclass per section, mirroring it name for name."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import (
    Annotated,
    ClassVar,
    Literal,
    TypeVar,
    dataclass_transform,
    get_args,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch

from .components import (
    CALLBACKS,
    FUNCTIONS,
    LAYERS,
    LOSS_FACTS,
    LOSSES,
    OPTIMIZERS,
    SCHEDULES,
    SEARCHING,
    ExpressionError,
    KnownFunction,
    parse_expression,
)
from .config import (
    Above,
    Alternatives,
    Component,
    Fraction,
    Natural,
    NotNegative,
    Positive,
    Range,
    Section,
    did_you_mean,
    quoted,
)

# What a configuration file may say: one dataclass per section, mirroring it name for name.
#
# The sentence under each field is its documentation; its type is its check. Checks that involve
# several fields stand in the `problems` of the section that holds them.


Seed = Annotated[int, Range(low=0, high=2**32 - 1)]
Loss = Annotated[Component, LOSSES]
Optimizer = Annotated[Component, OPTIMIZERS]
AnySchedule = Annotated[Component, SCHEDULES]
Layer = Annotated[Component, LAYERS]
Listener = Annotated[Component, CALLBACKS]


RUN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=,+-]{0,99}", re.ASCII)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Declared(Section):
    """Base of the sections here: they are frozen dataclasses, whose fields are given by name."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    @property
    def files(self) -> list[Path]:
        """The files that it names."""
        found = list[Path]()
        for value in vars(self).values():
            found += value.files if isinstance(value, Declared) else [value]
        return [path for path in found if isinstance(path, Path)]


class Train(Declared):
    """How long and in what portions to train."""

    alternatives: ClassVar[Alternatives] = {"epochs": (), "steps": ()}

    epochs: Positive | None = None
    """Passes over the training part; or give `steps`."""
    steps: Positive | None = None
    """Updates of the weights; or give `epochs`."""
    batch_size: Positive | None = 32
    """Samples per batch; `null` for the whole training part."""
    shuffle: bool = True
    """Whether each epoch goes through the samples in a new order."""
    accumulate: Positive = 1
    """Batches per step; their gradients are added up so that each sample counts alike."""
    reduction: Literal["ordered", "fast"] = "ordered"
    """How processes under `mpiexec` add gradients: in their order, so that all runs are equal to
    the bit, or as MPI does."""
    clip_norm: Above | None = None
    """The greatest norm of all gradients together; longer ones are shortened to it."""
    clip_value: Above | None = None
    """The greatest size of a gradient's element."""
    validate_every: Positive = 1
    """Epochs between two measurements of the validation part."""
    time_limit: Above | None = None
    """Seconds after which the training pauses; a resumed run has as many again."""
    overfit_batches: Positive | None = None
    """Train on the first so many batches only, in the same order: their loss should vanish."""
    fast_dev_run: bool = False
    """Whether to take two steps only, through all else that a run does, and keep nothing."""
    compile: bool = True
    """Whether the step is compiled if there are enough of them to save time; equal to the bit."""


class Checkpoint(Declared):
    """What is kept to resume from, and of the best weights."""

    seconds: NotNegative | None = 30.0
    """Seconds between two checkpoints; `null` for one at the end only."""
    last: Positive = 2
    """How many of the newest checkpoints are kept."""
    every: Positive | None = None
    """Steps between two checkpoints that are kept for good."""
    best: Natural = 1
    """How many of the best weights are kept."""
    monitor: str = "validation/loss"
    """The measured value that tells which are best."""
    mode: Literal["min", "max"] | None = None
    """Whether less of it is better, or more; if left out, its name tells."""


class EarlyStopping(Declared):
    """An end before the time, where nothing improves any more."""

    monitor: str = "validation/loss"
    """The measured value that is to improve."""
    mode: Literal["min", "max"] | None = None
    """Whether less of it is better, or more; if left out, its name tells."""
    patience: Positive = 10
    """How many measurements in a row may be no better than the best."""
    min_delta: NotNegative = 0.0
    """By how much a value must be better to count."""


class Averaging(Declared):
    """Weights that are averages over the training; they are measured and kept in the end."""

    method: Literal["ema", "swa"] = "ema"
    """An exponential moving average over steps, or the mean over epochs."""
    decay: Fraction = 0.99
    """The share of the average that a step leaves, for `ema`."""
    start: Natural = 0
    """Epochs before the first weights that count."""


class Log(Declared):
    """What a run leaves behind, and where."""

    dir: str = "runs"
    """Where run directories are made, relative to the current directory."""
    name: str | None = None
    """The directory of this experiment's runs; the configuration file's name if left out."""
    timed: bool = True
    """Whether each run has a directory in that one, named by the time, else it is the run's."""
    every: Positive = 10
    """Steps between two records of the training loss."""
    tensorboard: bool = True
    """Whether to write TensorBoard events beside the metrics."""
    histograms: Natural = 10
    """How often over the run TensorBoard gets histograms of weights and gradients."""
    plots: bool = True
    """Whether to draw plots at the end, if matplotlib is installed."""
    profile: Natural = 0
    """How many steps are timed operation by operation, for a table at the end."""
    progress: bool = True
    """Whether to show progress: a bar on a terminal, a few plain lines elsewhere."""

    def problems(self) -> Iterator[tuple[str, str]]:
        # `runs/latest.txt` names the newest run.
        name = self.name
        if name is not None and (not RUN_NAME.fullmatch(name) or name == "latest.txt"):
            allowed = "letters, digits, and characters of _-.=,+, but not 'latest.txt'"
            yield "name", f"must be {allowed}, got {quoted(self.name)}"


class MinimizationLog(Log):
    """What a run leaves behind; there are few iterations, and each is of interest."""

    every: Positive = 1
    """Iterations between two points that are printed and recorded."""


class Split(Declared):
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
            parts = f"train {self.train:g}, validation {self.validation:g} and test {self.test:g}"
            yield "", f"{parts} add up to {total:g}, not 1"


class PartFiles(Declared):
    """Files of the same form as the main one, in place of a fraction of it."""

    validation: Path | None = None
    """What is measured during training."""
    test: Path | None = None
    """What is measured once, at the end."""


class Npy(Declared):
    """Two files of one array each, as `numpy.save` writes them."""

    x: Path
    """The inputs: any shape, samples first."""
    y: Path
    """The targets, one for each sample."""


# What makes samples up is a section as well, registered by its names; those built in come last.

Array = NDArray[np.float64]
Samples = Annotated[int, Range(low=2, high=1_000_000)]

MOST_NUMBERS = 20_000_000
"""Of all samples together."""


@dataclass(frozen=True)
class Made:
    """Samples that were made up."""

    features: tuple[str, ...]
    """The names of the features."""
    x: Array
    """Shape (samples, features), or any shape for each sample."""
    y: Array
    """Shape (samples,): numbers, or classes counted from 0."""


class Generator(Section):
    """Base of the sections that make samples up; `name` is the first of their fields."""

    classes: ClassVar[int] = 0
    """How many classes there are; 0 where targets are numbers."""

    @property
    def class_count(self) -> int:
        """How many classes this one makes; 0 where targets are numbers."""
        return self.classes

    @property
    def truth(self) -> tuple[float, ...]:
        """The coefficients of the features, and the intercept, if targets are linear in them."""
        return ()

    def make(self, stream: torch.Generator) -> Made:
        """Return the samples; all that is random comes from `stream`."""
        raise NotImplementedError


Kind = TypeVar("Kind", bound=type[Generator])


@dataclass(frozen=True, eq=False)
class Generators:
    """The generators a configuration may name."""

    sections: dict[str, type[Section]] = field(default_factory=dict)

    def register(self, section: Kind) -> Kind:
        """Make a section known by the value that its field `name` has.

        Raises:
            ValueError: if it has no such field, or the name is taken.
        """
        names = get_args(get_type_hints(section).get("name"))
        if not names:
            raise ValueError(f'{section.__name__} needs a field name: Literal["..."]')
        for name in names:
            if name in self.sections:
                raise ValueError(f"a generator called {name!r} is known already")
            self.sections[name] = section
        return section

    def of_classes(self, classes: bool) -> list[str]:
        """Return the names of those that make classes, or of those that make numbers."""
        kinds = {n: s for n, s in self.sections.items() if issubclass(s, Generator)}
        return [name for name, section in kinds.items() if bool(section.classes) == classes]


GENERATORS = Generators()
register_generator = GENERATORS.register


FILED = ("target", "parts")
"""What is about a single file."""
ABOUT_TABLES = ("features", "exclude", "positive", "header", "delimiter", "missing", "categorical")


class Data(Declared):
    """The samples: a table, arrays, or a generator that makes them up."""

    alternatives: ClassVar[Alternatives] = {
        "csv": (*FILED, *ABOUT_TABLES),
        "npz": (*FILED, "inputs"),
        "npy": (),
        "generator": (),
    }

    csv: Path | None = None
    """A table of comma-separated values, relative to the configuration file."""
    npz: Path | None = None
    """A file of arrays, as `numpy.savez` writes it; nothing in it is ever executed."""
    npy: Npy | None = None
    """Two files of arrays."""
    generator: Annotated[Section, GENERATORS] | None = None
    """What makes the samples up."""
    target: str | None = None
    """The column, or the array of `npz`, to predict."""
    features: tuple[str, ...] | None = None
    """The columns to predict it from; all others if left out."""
    exclude: tuple[str, ...] = ()
    """Columns that are not features, if `features` is left out."""
    inputs: str | None = None
    """The array of `npz` to predict it from."""
    positive: str | None = None
    """The value of the target column that is class 1; left out where the column holds 0 and 1."""
    header: bool = True
    """Whether the table begins with the names of its columns, else column1, column2 and so on."""
    delimiter: str = ","
    """What stands between the cells of the table; a tab is written "\\t"."""
    missing: Literal["refuse", "drop", "mean", "median"] = "refuse"
    """What is done about cells that are empty, NA, N/A, NaN, null or ?: `refuse` names them,
    `drop` leaves out their rows, `mean` and `median` fill them with that of the column in the
    training part. In a column of names, a filled cell is none of the names."""
    categorical: tuple[str, ...] | None = None
    """Columns of names: each name becomes a feature that is 1 where it stands, else 0. If left out,
    every column without a number in it, of at most 100 different names and half as many as rows."""
    shape: tuple[Positive, ...] | None = None
    """The shape of one sample, such as [1, 8, 8] for images of one channel; kept if left out."""
    split: Split = field(default_factory=Split)
    """How the samples are divided, at random but equally for equal seeds."""
    parts: PartFiles | None = None
    """Files for parts, whose fractions in `split` then count for nothing."""
    stratify: bool = False
    """Whether each part has the classes in the proportions of the whole."""
    standardize: bool | Literal["together"] = True
    """Whether features get mean 0 and standard deviation 1, as measured on the training part;
    `together` for one mean and one deviation of all of them."""
    standardize_target: bool = True
    """Whether the target of a regression gets mean 0 and standard deviation 1 for the training.
    Losses, metrics, plots and predictions stay in its own units; `beta` and `delta` of a loss count
    standard deviations."""
    class_weights: Literal["balanced"] | tuple[float, ...] | None = None
    """How much a sample of each class counts in the loss; `balanced` for all classes alike."""

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from super().problems()
        if (self.csv or self.npz) and self.target is None:
            yield "target", f"missing; the {'column' if self.csv else 'array'} to predict"
        if self.npz and self.inputs is None:
            yield "inputs", "missing; the array to predict from"
        if len(self.delimiter) != 1 or self.delimiter in '"\n\r':
            yield "delimiter", f"must be one character, got {quoted(self.delimiter)}"
        if self.features == ():
            yield "features", "needs at least one column; leave it out for all of them"
        if self.features and self.exclude:
            yield "exclude", "says nothing beside 'features'; remove one of the two"
        for option in ("features", "exclude", "categorical"):
            columns = getattr(self, option) or ()
            for index, name in enumerate(columns):
                if name == self.target:
                    yield f"{option}[{index}]", f"{quoted(name)} is the target"
                elif name in columns[:index]:
                    yield f"{option}[{index}]", f"{quoted(name)} is in the list already"
                elif self.features and name not in self.features and option == "categorical":
                    yield f"{option}[{index}]", f"{quoted(name)} is not among the features"
        weights = self.class_weights
        if isinstance(weights, tuple) and (min(weights, default=0) < 0 or not any(weights)):
            yield "class_weights", "must be positive numbers"

    @property
    def source(self) -> str:
        """What the samples come from, in a word."""
        if isinstance(self.generator, Generator):
            return str(getattr(self.generator, "name", "generator"))
        return self.files[0].name if self.files else ""


class TextData(Declared):
    """A text, read as a sequence of characters, of which each is predicted from those before."""

    file: Path
    """A file in UTF-8, relative to the configuration file."""
    context: Annotated[int, Range(low=1, high=100_000)] = 64
    """How many characters a sample has."""
    stride: Positive | None = None
    """Characters between the beginnings of two samples; as many as a sample has if left out."""
    split: Split = field(default_factory=Split)
    """How the text is divided; the parts follow one another."""

    @property
    def source(self) -> str:
        """What the samples come from, in a word."""
        return self.file.name


class Model(Declared):
    """A sequence of layers."""

    layers: tuple[Layer, ...]
    """By PyTorch's names, with their arguments; the number of inputs of each is inferred."""
    freeze: tuple[str, ...] = ()
    """Names of parameters that stay as they are, such as `0.*`; `*` matches anything."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if not self.layers:
            yield "layers", "needs at least one layer"


class Stop(Declared):
    """When a point is good enough; with several starts, each has to be."""

    gradient_norm: Above | None = None
    """The length of the gradient that is short enough."""
    value: float | None = None
    """The value of the function that is small enough."""
    step: Above | None = None
    """The distance between two points in a row that is short enough."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.gradient_norm is None and self.value is None and self.step is None:
            yield "", "needs 'gradient_norm', 'value' or 'step'"


class Function(Declared):
    """What to minimize, and from where."""

    alternatives: ClassVar[Alternatives] = {"name": (), "expression": ()}

    name: str | None = None
    """A known function; or give `expression`."""
    expression: str | None = None
    """Arithmetic in the vector x, such as `x[0]**2 + (x[1] - 1)**2`; or give `name`."""
    start: tuple[float, ...] | tuple[tuple[float, ...], ...]
    """The point to start from, or a list of points, whose descents are taken together."""
    iterations: Positive
    """Steps of the optimizer, at most."""
    stop: Stop | None = None
    """When to stop before that; never if left out."""
    compile: bool = True
    """Whether the step is compiled if there are enough of them to save time; equal to the bit."""

    def problems(self) -> Iterator[tuple[str, str]]:
        mistakes = [*super().problems()]
        if self.name is not None and self.name not in FUNCTIONS:
            meant = did_you_mean(self.name, FUNCTIONS)
            mistakes.append(("name", f"{quoted(self.name)} is not known{meant}"))
        if self.expression is not None:
            try:
                parse_expression(self.expression)
            except ExpressionError as error:
                mistakes.append(("expression", str(error)))
        yield from mistakes
        lengths = {len(point) for point in self.points}
        if not lengths or 0 in lengths:
            yield "start", "needs at least one coordinate"
        elif len(lengths) > 1:
            yield "start", "needs points of one length"
        elif not mistakes:
            function = self.known.expression()
            for index, point in enumerate(self.points):
                if problem := function.problem(point):
                    start = f"start[{index}]" if isinstance(self.start[0], tuple) else "start"
                    yield start if self.name else "expression", problem
                    break

    @property
    def points(self) -> tuple[tuple[float, ...], ...]:
        """The points to start from."""
        if all(isinstance(part, tuple) for part in self.start):
            return self.start  # type: ignore[return-value]
        return (self.start,)  # type: ignore[return-value]

    @property
    def known(self) -> KnownFunction:
        """The function, with its minima if it has a name."""
        if self.name is not None:
            return FUNCTIONS[self.name]
        return KnownFunction("", str(self.expression))

    @property
    def formula(self) -> str:
        """The expression, of the named function if one is named."""
        formula = self.known.formula
        return formula if isinstance(formula, str) else str(self.name)


FIT = "fit"
"""The experiment of a model and samples that a program has made."""


class FitConfig(Declared):
    """A model is fitted to samples; a program has made both."""

    experiment: str
    """What is predicted."""
    seed: Seed = 0
    """Fixes the split, the initial weights and the order of samples."""
    data: Section | str
    """The samples."""
    model: Section | str
    """What predicts."""
    loss: Loss
    """What is minimized, by PyTorch's name."""
    optimizer: Optimizer
    """What minimizes it, by PyTorch's name."""
    scheduler: AnySchedule | None = None
    """How the learning rate changes, by PyTorch's name; it stays as it is if left out."""
    train: Train
    """How long."""
    early_stopping: EarlyStopping | None = None
    """When to end before that; never if left out."""
    averaging: Averaging | None = None
    """How weights are averaged over the training; they are not if left out."""
    callbacks: tuple[Listener, ...] = ()
    """What else listens to the training, by the names under which programs register it."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """What is kept to resume from."""
    log: Log = field(default_factory=Log)
    """What is kept."""


class TrainedConfig(FitConfig):
    """A model is fitted to samples of any kind."""

    experiment: Literal["regression", "classification", "text"]
    data: Data | TextData
    model: Model

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.optimizer.name in SEARCHING:
            for name in ("clip_norm", "clip_value"):
                if getattr(self.train, name) is not None:
                    message = "searches by the gradients as they are; remove this bound"
                    yield f"train.{name}", f"{self.optimizer.name} {message}"
        kinds = {"regression": ["regression"], "classification": ["binary", "classes"]}
        wanted = kinds.get(self.experiment, ["classes"])
        allowed = [name for name, facts in LOSS_FACTS.items() if facts.kind in wanted]
        if self.loss.name not in allowed:
            yield "loss.name", f"a {self.experiment} takes {' or '.join(allowed)}"
        if self.loss.arguments.get("reduction", "mean") != "mean":
            yield "loss.reduction", "must be 'mean': losses are compared between parts"
        last = len(self.model.layers) - 1
        layer, path = self.model.layers[last], f"model.layers[{last}].name"
        facts = LOSS_FACTS[self.loss.name]
        if inside := facts.inside.get(layer.name):
            yield path, f"remove this layer: {self.loss.name} applies {inside} itself"
        if facts.last not in ("", layer.name):
            other = next(name for name, of in LOSS_FACTS.items() if facts.last in of.inside)
            message = f"{self.loss.name} needs {facts.last} as the last layer"
            yield path, f"{message}: add it, or take {other}, which has it inside"


class SupervisedConfig(TrainedConfig):
    """A model is fitted to samples, each with a target."""

    experiment: Literal["regression", "classification"]
    """Predict a number, or one of several classes."""
    data: Data
    """The samples."""

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from super().problems()
        regression, generator = self.experiment == "regression", self.data.generator
        if isinstance(generator, Generator) and regression == bool(generator.classes):
            name, others = getattr(generator, "name", ""), GENERATORS.of_classes(not regression)
            said = f"{quoted(name)} makes {'classes' if regression else 'no classes'}"
            said += ", but this is a regression" if regression else ""
            yield "data.generator.name", f"{said}{did_you_mean('', others)}"
        if regression:
            for name in ("stratify", "positive", "class_weights"):
                if getattr(self.data, name):
                    yield f"data.{name}", "needs classes, which a regression has not"
        elif self.data.class_weights is not None:
            taken = "pos_weight" if LOSS_FACTS[self.loss.name].kind == "binary" else "weight"
            if taken not in LOSSES.keys(self.loss.name):
                yield "data.class_weights", f"{self.loss.name} takes none"
            elif taken in self.loss.arguments:
                yield "data.class_weights", f"excludes loss.{taken}; remove one of the two"


class TextConfig(TrainedConfig):
    """A model learns to tell the next character of a text."""

    experiment: Literal["text"]
    """Predict the next character."""
    data: TextData
    """The text."""


class MinimizationConfig(Declared):
    """The least value of a function is sought."""

    experiment: Literal["minimization"]
    """There is no data and no model."""
    seed: Seed = 0
    """Fixes what is random; nothing is, as long as the optimizer is deterministic."""
    function: Function
    """What is minimized."""
    optimizer: Optimizer
    """What minimizes it, by PyTorch's name."""
    scheduler: AnySchedule | None = None
    """How the learning rate changes, by PyTorch's name; counts iterations."""
    callbacks: tuple[Listener, ...] = ()
    """What else listens to the training, by the names under which programs register it."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """What is kept to resume from."""
    log: MinimizationLog = field(default_factory=MinimizationLog)
    """What is kept."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if "groups" in self.optimizer.arguments:
            yield "optimizer.groups", "needs a model, whose parameters have names"


Config = SupervisedConfig | TextConfig | MinimizationConfig
"""What a file may say."""
AnyConfig = FitConfig | MinimizationConfig


# Samples that are made up: one section per source, with what it makes.


class Interval(Generator, Declared):
    """Numbers over an interval of one feature."""

    samples: Samples = 200
    """How many points."""
    noise: NotNegative = 0.1
    """The standard deviation of y about the curve."""
    low: float = -1.0
    """The least x."""
    high: float = 1.0
    """The greatest x."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.low >= self.high:
            yield "high", f"must be greater than low ({self.low:g}), got {self.high:g}"

    def scattered(self, coefficients: tuple[float, ...], stream: torch.Generator) -> Made:
        """Return points about the polynomial with these coefficients, of rising powers."""
        x = self.low + (self.high - self.low) * draw(torch.rand, self.samples, generator=stream)
        noise = self.noise * draw(torch.randn, self.samples, generator=stream)
        y = np.polynomial.polynomial.polyval(x, coefficients) + noise
        return Made(("x",), x[:, None], y)


@GENERATORS.register
class Line(Interval):
    """Points scattered about a line: y = slope·x + intercept + noise·N(0, 1), x uniform."""

    name: Literal["line"]
    """Which generator."""
    slope: float = 2.0
    """What y gains with each unit of x."""
    intercept: float = -1.0
    """The value of y at x = 0."""

    @property
    def truth(self) -> tuple[float, ...]:
        return self.slope, self.intercept

    def make(self, stream: torch.Generator) -> Made:
        return self.scattered((self.intercept, self.slope), stream)


@GENERATORS.register
class Polynomial(Interval):
    """Points scattered about a polynomial: y = c₀ + c₁·x + c₂·x² + ... + noise·N(0, 1)."""

    name: Literal["polynomial"]
    """Which generator."""
    coefficients: tuple[float, ...] = (0.0, -1.0, 0.0, 2.0)
    """c₀, c₁, c₂ and so on."""

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from super().problems()
        if not 1 <= len(self.coefficients) <= 100:
            yield "coefficients", "needs 1 to 100 numbers"

    def make(self, stream: torch.Generator) -> Made:
        return self.scattered(self.coefficients, stream)


class Plane(Generator, Declared):
    """Two classes of points in the plane."""

    classes: ClassVar[int] = 2

    samples: Samples = 500
    """How many points, half of them in each class."""
    noise: NotNegative = 0.15
    """The standard deviation of what is added to both coordinates."""

    def labelled(self, x: Array, y: Array, stream: torch.Generator) -> Made:
        """Return points with noise added."""
        noise = draw(torch.randn, len(x), 2, generator=stream)
        return Made(("x0", "x1"), x + self.noise * noise, y.astype(np.float64))

    def halves(self) -> tuple[Array, Array]:
        """Return numbers from 0 to 1 for the points of both classes, and the classes."""
        first = self.samples // 2
        steps = [np.linspace(0, 1, count) for count in (first, self.samples - first)]
        return np.concatenate(steps), (np.arange(self.samples) >= first).astype(np.float64)


def around(radius: Array, angle: Array) -> Array:
    """Return points about the origin."""
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


@GENERATORS.register
class Moons(Plane):
    """Two interleaving half circles of radius 1: class 0 the upper one, 1 the one set into it."""

    name: Literal["moons"]
    """Which generator."""

    def make(self, stream: torch.Generator) -> Made:
        part, target = self.halves()
        angle = np.pi * part
        x = np.where(target, 1 - np.cos(angle), np.cos(angle))
        y = np.where(target, 0.5 - np.sin(angle), np.sin(angle))
        return self.labelled(np.stack([x, y], axis=1), target, stream)


@GENERATORS.register
class Circles(Plane):
    """Two circles about the origin: class 0 of radius 1, class 1 inside it."""

    name: Literal["circles"]
    """Which generator."""
    noise: NotNegative = 0.08
    """The standard deviation of what is added to both coordinates."""
    factor: Annotated[float, Range(above=0, below=1)] = 0.5
    """The radius of the inner circle."""

    def make(self, stream: torch.Generator) -> Made:
        part, target = self.halves()
        radius = np.where(target, self.factor, 1.0)
        # Both ends of the interval are one point of a circle: the last step stays before it.
        angle = 2 * np.pi * part * (1 - 2 / self.samples)
        return self.labelled(around(radius, angle), target, stream)


@GENERATORS.register
class Spiral(Plane):
    """Arms of a spiral about the origin, one per class."""

    name: Literal["spiral"]
    """Which generator."""
    arms: Annotated[int, Range(low=2, high=100)] = 2
    """How many arms, and classes."""
    turns: Annotated[float, Range(above=0, high=100)] = 1.0
    """How often each arm goes round."""
    noise: NotNegative = 0.03
    """The standard deviation of what is added to both coordinates."""

    @property
    def class_count(self) -> int:
        return self.arms

    def make(self, stream: torch.Generator) -> Made:
        number = np.arange(self.samples)
        target, place = number % self.arms, number // self.arms
        radius = (place + 1) / (self.samples // self.arms + 1)
        angle = 2 * np.pi * (self.turns * radius + target / self.arms)
        return self.labelled(around(radius, angle), target.astype(np.float64), stream)


@GENERATORS.register
class Blobs(Generator, Declared):
    """Round clouds about random centres, one per class."""

    classes: ClassVar[int] = 3

    name: Literal["blobs"]
    """Which generator."""
    samples: Samples = 500
    """How many points."""
    centers: Annotated[int, Range(low=2, high=1000)] = 3
    """How many clouds, and classes."""
    features: Annotated[int, Range(low=1, high=1000)] = 2
    """How many dimensions."""
    spread: NotNegative = 1.0
    """The standard deviation of each cloud in each dimension."""
    box: Above = 10.0
    """The centres lie between -box and box in each dimension."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.samples * self.features > MOST_NUMBERS:
            yield "samples", f"makes more than {MOST_NUMBERS:,} numbers"

    @property
    def class_count(self) -> int:
        return self.centers

    def make(self, stream: torch.Generator) -> Made:
        shape = self.centers, self.features
        centers = self.box * (2 * draw(torch.rand, *shape, generator=stream) - 1)
        target = np.arange(self.samples) % self.centers
        noise = draw(torch.randn, self.samples, self.features, generator=stream)
        names = tuple(f"x{index}" for index in range(self.features))
        return Made(names, centers[target] + self.spread * noise, target.astype(np.float64))


@GENERATORS.register
class Xor(Plane):
    """The square from -1 to 1: class 1 where the coordinates differ in sign."""

    name: Literal["xor"]
    """Which generator."""
    noise: NotNegative = 0.0
    """The standard deviation of what is added to both coordinates."""

    def make(self, stream: torch.Generator) -> Made:
        x = 2 * draw(torch.rand, self.samples, 2, generator=stream) - 1
        return self.labelled(x, (x[:, 0] > 0) != (x[:, 1] > 0), stream)


def draw(draws: Callable[..., torch.Tensor], *shape: int, generator: torch.Generator) -> Array:
    """Return numbers of `torch.rand` or `torch.randn` in double precision."""
    numbers: Array = draws(*shape, generator=generator, dtype=torch.float64).numpy()
    return numbers
