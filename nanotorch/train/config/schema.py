"""The sections of a configuration file: one dataclass per section, with the same names."""

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
from nanotorch.train.config.components import (
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
from nanotorch.train.config.sections import (
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

# The sentence under each field is its documentation; its type is its check. Checks of several
# fields together are in the `problems` of the section that holds them.


Seed = Annotated[int, Range(low=0, high=2**32 - 1)]
Loss = Annotated[Component, LOSSES]
Optimizer = Annotated[Component, OPTIMIZERS]
AnySchedule = Annotated[Component, SCHEDULES]
Layer = Annotated[Component, LAYERS]
Listener = Annotated[Component, CALLBACKS]


RUN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=,+-]{0,99}", re.ASCII)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Declared(Section):
    """Base of the sections here: frozen dataclasses with keyword-only fields."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    @property
    def files(self) -> list[Path]:
        """The files that this section and the sections in it name."""
        found = list[Path]()
        for value in vars(self).values():
            found += value.files if isinstance(value, Declared) else [value]
        return [path for path in found if isinstance(path, Path)]


class Train(Declared):
    """How long to train, and in batches of what size."""

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
    """Batches per step; their gradients are summed so that every sample has the same weight."""
    reduction: Literal["ordered", "fast"] = "ordered"
    """How processes under `mpiexec` add gradients: in the order of the processes, so that all runs
    have the same bits, or in MPI's order."""
    clip_norm: Above | None = None
    """The greatest norm of all gradients together; larger gradients are scaled down to it."""
    clip_value: Above | None = None
    """The greatest absolute value of a gradient's element."""
    validate_every: Positive = 1
    """Epochs between two measurements of the validation part."""
    time_limit: Above | None = None
    """Seconds after which the training pauses; a resumed run counts them anew."""
    overfit_batches: Positive | None = None
    """Number of batches to train on, always the same ones in the same order, to reach loss 0."""
    fast_dev_run: bool = False
    """Whether to take only two steps, do everything else that a run does, and keep nothing."""
    compile: bool = True
    """Whether to compile the step if the run is long enough to save time; results do not change."""


class Checkpoint(Declared):
    """The checkpoints and the best weights that a run keeps."""

    seconds: NotNegative | None = 30.0
    """Seconds between two checkpoints; `null` for a single one at the end."""
    last: Positive = 2
    """Number of newest checkpoints that are kept."""
    every: Positive | None = None
    """Steps between two checkpoints that are never removed."""
    best: Natural = 1
    """Number of best weights that are kept."""
    monitor: str = "validation/loss"
    """The measured value that decides which weights are best."""
    mode: Literal["min", "max"] | None = None
    """Whether lower (`min`) or higher values (`max`) are better; if left out, the name decides."""


class EarlyStopping(Declared):
    """An early end of the training, once a measured value no longer improves."""

    monitor: str = "validation/loss"
    """The measured value that should improve."""
    mode: Literal["min", "max"] | None = None
    """Whether lower (`min`) or higher values (`max`) are better; if left out, the name decides."""
    patience: Positive = 10
    """Number of measurements in a row without improvement that end the training."""
    min_delta: NotNegative = 0.0
    """The least difference that counts as an improvement."""


class Averaging(Declared):
    """Averages of the weights over the training, which are measured and kept at the end."""

    method: Literal["ema", "swa"] = "ema"
    """An exponential moving average over steps, or the mean over epochs."""
    decay: Fraction = 0.99
    """The share of the old average in the new one at each step, for `ema`."""
    start: Natural = 0
    """Epochs before the average begins."""


class Log(Declared):
    """What a run records, and where."""

    dir: str = "runs"
    """Where run directories are made, relative to the current directory."""
    name: str | None = None
    """The directory of this experiment's runs; the configuration file's name if left out."""
    timed: bool = True
    """Whether each run gets a subdirectory named by the time; if not, it uses `name` itself."""
    every: Positive = 10
    """Steps between two records of the training loss."""
    tensorboard: bool = True
    """Whether to write TensorBoard events in addition to the metrics."""
    histograms: Natural = 10
    """Number of times in a run that TensorBoard gets histograms of weights and gradients."""
    plots: bool = True
    """Whether to draw plots at the end, if matplotlib is installed."""
    profile: Natural = 0
    """Number of steps that are timed operation by operation, for a table at the end."""
    progress: bool = True
    """Whether to show progress: a bar on a terminal, a few plain lines elsewhere."""

    def problems(self) -> Iterator[tuple[str, str]]:
        # `runs/latest.txt` names the newest run.
        name = self.name
        if name is not None and (not RUN_NAME.fullmatch(name) or name == "latest.txt"):
            allowed = "letters, digits and the characters _-.=,+, and not be 'latest.txt'"
            yield "name", f"must consist of {allowed}; got {quoted(self.name)}"


class MinimizationLog(Log):
    """What a run records, and where; every iteration, as there are few."""

    every: Positive = 1
    """Iterations between two points that are printed and recorded."""


class Split(Declared):
    """The fraction of the samples in each part; they add up to 1.

    Parts that are left out share the rest as 0.7 : 0.15 : 0.15.
    """

    shares: ClassVar = {"train": 0.7, "validation": 0.15, "test": 0.15}

    train: Annotated[float, Range(above=0, high=1)] | None = None
    """The fraction for fitting the weights; if left out, 0.7 or a share of the rest."""
    validation: Fraction | None = None
    """The fraction for measurements during training; if left out, 0.15 or a share of the rest."""
    test: Fraction | None = None
    """The fraction for the measurement at the end; if left out, 0.15 or a share of the rest."""

    def __post_init__(self) -> None:
        given = [value for name in self.shares if (value := getattr(self, name)) is not None]
        lacking = {name: of for name, of in self.shares.items() if getattr(self, name) is None}
        for name, share in lacking.items():
            part = max(0.0, 1 - sum(given)) * share / sum(lacking.values())
            object.__setattr__(self, name, round(part, 9))

    def problems(self) -> Iterator[tuple[str, str]]:
        parts = [getattr(self, name) for name in self.shares]
        # Beside an unknown key, parts that are left out stay None.
        if None not in parts and abs(sum(parts) - 1) > 1e-6:
            train, validation, test = parts
            said = f"train {train:g}, validation {validation:g} and test {test:g}"
            yield "", f"{said} add up to {sum(parts):g}, not 1"


class PartFiles(Declared):
    """Separate files for parts, in the form of the main file; each replaces a fraction of that."""

    validation: Path | None = None
    """The samples that are measured during training."""
    test: Path | None = None
    """The samples that are measured once, at the end."""


class Npy(Declared):
    """Two files of one array each, as `numpy.save` writes them."""

    x: Path
    """The inputs, of any shape; the first dimension counts samples."""
    y: Path
    """The targets, one for each sample."""


# A generator of samples is a section, too, registered by its names. The built-in ones come last.

Array = NDArray[np.float64]
Samples = Annotated[int, Range(low=2, high=1_000_000)]

MOST_NUMBERS = 20_000_000
"""The limit for all samples together."""


@dataclass(frozen=True)
class Made:
    """Generated samples."""

    features: tuple[str, ...]
    """The names of the features."""
    x: Array
    """Shape (samples, features), or (samples, ...) with any shape of a sample."""
    y: Array
    """Shape (samples,): numbers, or classes counted from 0."""


class Generator(Section):
    """Base of the sections that generate samples; their field `name` lists their names."""

    classes: ClassVar[int] = 0
    """The number of classes; 0 if targets are numbers."""

    @property
    def class_count(self) -> int:
        """The number of classes with these settings; 0 if targets are numbers."""
        return self.classes

    @property
    def truth(self) -> tuple[float, ...]:
        """The features' coefficients and the intercept if targets are linear in them, else ()."""
        return ()

    def make(self, stream: torch.Generator) -> Made:
        """Return the samples; every random number comes from `stream`."""
        raise NotImplementedError


Kind = TypeVar("Kind", bound=type[Generator])


@dataclass(frozen=True, eq=False)
class Generators:
    """The generators that a configuration may name."""

    sections: dict[str, type[Section]] = field(default_factory=dict)

    def register(self, section: Kind) -> Kind:
        """Register a section under the names in its field `name`; returns the section.

        Raises:
            ValueError: if it has no such field, or a name is taken.
        """
        names = get_args(get_type_hints(section).get("name"))
        if not names:
            raise ValueError(f'{section.__name__} needs a field name: Literal["..."]')
        for name in names:
            if name in self.sections:
                raise ValueError(f"a generator called {name!r} exists already")
            self.sections[name] = section
        return section

    def of_classes(self, classes: bool) -> list[str]:
        """Return the names of the generators of classes, or else of those of numbers."""
        kinds = {n: s for n, s in self.sections.items() if issubclass(s, Generator)}
        return [name for name, section in kinds.items() if bool(section.classes) == classes]


GENERATORS = Generators()
register_generator = GENERATORS.register


FILED = ("target", "parts")
"""Keys of data in a single file."""
ABOUT_TABLES = ("features", "exclude", "positive", "header", "delimiter", "missing", "categorical")


class Data(Declared):
    """The samples: a table, arrays, or a generator."""

    alternatives: ClassVar[Alternatives] = {
        "csv": (*FILED, *ABOUT_TABLES),
        "npz": (*FILED, "inputs"),
        "npy": (),
        "generator": (),
    }

    csv: Path | None = None
    """A file of comma-separated values, relative to the configuration file."""
    npz: Path | None = None
    """A file of arrays, as `numpy.savez` writes it; no code in it is ever executed."""
    npy: Npy | None = None
    """Two files of arrays."""
    generator: Annotated[Section, GENERATORS] | None = None
    """The generator of the samples."""
    target: str | None = None
    """The column, or the array of `npz`, to predict."""
    features: tuple[str, ...] | None = None
    """The columns to predict the target from; all others if left out."""
    exclude: tuple[str, ...] = ()
    """Columns that are not features, if `features` is left out."""
    inputs: str | None = None
    """The array of `npz` to predict the target from."""
    positive: str | None = None
    """The value of the target column that is class 1; not needed if the column holds 0 and 1."""
    header: bool = True
    """Whether the first line holds the columns' names; without it they are column1, column2, ..."""
    delimiter: str = ","
    """The character between the cells of the table; a tab is written "\\t"."""
    missing: Literal["refuse", "drop", "mean", "median"] = "refuse"
    """What to do with cells that are empty, NA, N/A, NaN, null or ?: `refuse` reports them,
    `drop` leaves out their rows, `mean` and `median` fill them with the mean or median of the
    column in the training part. In a column of names, a filled cell is none of the names."""
    categorical: tuple[str, ...] | None = None
    """Columns of names: each name becomes a feature that is 1 in its rows, else 0. If left out:
    columns without numbers, with at most 100 different names and at most half as many as rows."""
    shape: tuple[Positive, ...] | None = None
    """The shape of one sample, such as [1, 8, 8] for images of one channel; kept if left out."""
    split: Split = field(default_factory=Split)
    """How the samples are divided: at random, but in the same way for the same seed."""
    parts: PartFiles | None = None
    """Separate files for parts; the fractions of these parts in `split` are ignored."""
    stratify: bool = False
    """Whether each part has the classes in the proportions of all samples."""
    standardize: bool | Literal["together"] = True
    """Whether features get mean 0 and standard deviation 1, as measured on the training part;
    `together` for one mean and one deviation over all features."""
    standardize_target: bool = True
    """Whether the target of a regression gets mean 0 and standard deviation 1 for the training.
    Losses, metrics, plots and predictions keep the target's units; `beta` and `delta` of a loss
    count standard deviations."""
    class_weights: Literal["balanced"] | tuple[float, ...] | None = None
    """The weight of a sample of each class in the loss; `balanced` gives equal total weights."""

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
            yield "exclude", "has no effect beside 'features'; remove one of the two"
        for option in ("features", "exclude", "categorical"):
            columns = getattr(self, option) or ()
            for index, name in enumerate(columns):
                if name == self.target:
                    yield f"{option}[{index}]", f"{quoted(name)} is the target"
                elif name in columns[:index]:
                    yield f"{option}[{index}]", f"{quoted(name)} is listed twice"
                elif self.features and name not in self.features and option == "categorical":
                    yield f"{option}[{index}]", f"{quoted(name)} is not among the features"
        weights = self.class_weights
        if isinstance(weights, tuple) and (min(weights, default=0) < 0 or not any(weights)):
            yield "class_weights", "must be positive numbers"

    @property
    def source(self) -> str:
        """The name of the generator or of the first file."""
        if isinstance(self.generator, Generator):
            return str(getattr(self.generator, "name", "generator"))
        return self.files[0].name if self.files else ""


class TextData(Declared):
    """A text as a sequence of characters; each one is predicted from those before it."""

    file: Path
    """A file in UTF-8, relative to the configuration file."""
    context: Annotated[int, Range(low=1, high=100_000)] = 64
    """Number of characters in a sample."""
    stride: Positive | None = None
    """Characters from the beginning of one sample to that of the next; `context` if left out."""
    split: Split = field(default_factory=Split)
    """How the text is divided: first the training part, then validation, then test."""

    @property
    def source(self) -> str:
        """The name of the file."""
        return self.file.name


class Model(Declared):
    """A sequence of layers."""

    layers: tuple[Layer, ...]
    """Layers by PyTorch's names, with their arguments; the number of inputs is inferred."""
    freeze: tuple[str, ...] = ()
    """Names of parameters that are not trained, such as `0.*`; `*` matches any text."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if not self.layers:
            yield "layers", "needs at least one layer"


class Stop(Declared):
    """Conditions that end the search; with several starts, one must hold for all points."""

    gradient_norm: Above | None = None
    """The greatest norm of the gradient that ends the search."""
    value: float | None = None
    """The greatest value of the function that ends the search."""
    step: Above | None = None
    """The greatest distance between two successive points that ends the search."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.gradient_norm is None and self.value is None and self.step is None:
            yield "", "needs 'gradient_norm', 'value' or 'step'"


class Function(Declared):
    """The function to minimize, and where to start."""

    alternatives: ClassVar[Alternatives] = {"name": (), "expression": ()}

    name: str | None = None
    """A known function; or give `expression`."""
    expression: str | None = None
    """A formula of the vector x, such as `x[0]**2 + (x[1] - 1)**2`; or give `name`."""
    start: tuple[float, ...] | tuple[tuple[float, ...], ...]
    """The point to start from, or a list of points; their descents run at the same time."""
    iterations: Positive
    """The greatest number of optimizer steps."""
    stop: Stop | None = None
    """When to stop before that; never if left out."""
    compile: bool = True
    """Whether to compile the step if the run is long enough to save time; results do not change."""

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
            yield "start", "needs points of equal length"
        elif not mistakes:
            function = self.known.expression()
            for index, point in enumerate(self.points):
                if problem := function.problem(point):
                    start = f"start[{index}]" if isinstance(self.start[0], tuple) else "start"
                    yield start if self.name else "expression", problem
                    break

    @property
    def points(self) -> tuple[tuple[float, ...], ...]:
        """The points to start from; a single one, too, is in a tuple."""
        if all(isinstance(part, tuple) for part in self.start):
            return self.start  # type: ignore[return-value]
        return (self.start,)  # type: ignore[return-value]

    @property
    def known(self) -> KnownFunction:
        """The function; with its minima if it has a name."""
        if self.name is not None:
            return FUNCTIONS[self.name]
        return KnownFunction("", str(self.expression))

    @property
    def formula(self) -> str:
        """The expression; that of the named function if `name` is given."""
        formula = self.known.formula
        return formula if isinstance(formula, str) else str(self.name)


FIT = "fit"
"""The experiment of a program's own model and samples."""


class FitConfig(Declared):
    """Fit a program's own model to its own samples."""

    experiment: str
    """The kind of prediction."""
    seed: Seed = 0
    """Determines the split, the initial weights and the order of samples."""
    data: Section | str
    """The samples."""
    model: Section | str
    """The model that predicts."""
    loss: Loss
    """The loss to minimize, by PyTorch's name."""
    optimizer: Optimizer
    """The optimizer, by PyTorch's name."""
    scheduler: AnySchedule | None = None
    """The schedule of the learning rate, by PyTorch's name; the rate is constant if left out."""
    train: Train
    """How long to train, and in batches of what size."""
    early_stopping: EarlyStopping | None = None
    """When to end early; never if left out."""
    averaging: Averaging | None = None
    """How weights are averaged over the training; no averages if left out."""
    callbacks: tuple[Listener, ...] = ()
    """Additional callbacks, by the names under which programs register them."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """The checkpoints and the best weights to keep."""
    log: Log = field(default_factory=Log)
    """What to record, and where."""


class TrainedConfig(FitConfig):
    """Fit a model to samples or a text."""

    experiment: Literal["regression", "classification", "text"]
    data: Data | TextData
    model: Model

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.optimizer.name in SEARCHING:
            for name in ("clip_norm", "clip_value"):
                if getattr(self.train, name) is not None:
                    message = "needs the gradients as they are; remove this bound"
                    yield f"train.{name}", f"{self.optimizer.name} {message}"
        kinds = {"regression": ["regression"], "classification": ["binary", "classes"]}
        wanted = kinds.get(self.experiment, ["classes"])
        allowed = [name for name, facts in LOSS_FACTS.items() if facts.kind in wanted]
        if self.loss.name not in allowed:
            yield "loss.name", f"for {self.experiment}, choose {' or '.join(allowed)}"
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
            yield path, f"{message}: add it, or use {other}, which includes it"


class SupervisedConfig(TrainedConfig):
    """Fit a model to samples with targets."""

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
                    yield f"data.{name}", "is only for classification"
        elif self.data.class_weights is not None:
            taken = "pos_weight" if LOSS_FACTS[self.loss.name].kind == "binary" else "weight"
            if taken not in LOSSES.keys(self.loss.name):
                yield "data.class_weights", f"{self.loss.name} has no class weights"
            elif taken in self.loss.arguments:
                yield "data.class_weights", f"loss.{taken} is set as well; remove one of the two"


class TextConfig(TrainedConfig):
    """Train a model to predict the next character of a text."""

    experiment: Literal["text"]
    """Predict the next character."""
    data: TextData
    """The text."""


class MinimizationConfig(Declared):
    """Minimize a function."""

    experiment: Literal["minimization"]
    """Minimize a function, without data and without a model."""
    seed: Seed = 0
    """Determines random numbers; a deterministic optimizer uses none."""
    function: Function
    """The function to minimize."""
    optimizer: Optimizer
    """The optimizer, by PyTorch's name."""
    scheduler: AnySchedule | None = None
    """The schedule of the learning rate, by PyTorch's name; counts iterations."""
    callbacks: tuple[Listener, ...] = ()
    """Additional callbacks, by the names under which programs register them."""
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    """The checkpoints and the best weights to keep."""
    log: MinimizationLog = field(default_factory=MinimizationLog)
    """What to record, and where."""

    def problems(self) -> Iterator[tuple[str, str]]:
        if "groups" in self.optimizer.arguments:
            yield "optimizer.groups", "is only for models, whose parameters have names"


Config = SupervisedConfig | TextConfig | MinimizationConfig
"""The configuration in a file."""
AnyConfig = FitConfig | MinimizationConfig


# Generators of samples: one section each.


class Interval(Generator, Declared):
    """Base of the generators of points about a curve y(x)."""

    samples: Samples = 200
    """Number of points."""
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
        """Return points about a polynomial; its coefficients are in ascending order of powers."""
        x = self.low + (self.high - self.low) * draw(torch.rand, self.samples, generator=stream)
        noise = self.noise * draw(torch.randn, self.samples, generator=stream)
        y = np.polynomial.polynomial.polyval(x, coefficients) + noise
        return Made(("x",), x[:, None], y)


@GENERATORS.register
class Line(Interval):
    """Points scattered about a line: y = slope·x + intercept + noise·N(0, 1), x uniform."""

    name: Literal["line"]
    """The generator's name."""
    slope: float = 2.0
    """The increase of y per unit of x."""
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
    """The generator's name."""
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
    """Number of points, half of them in each class."""
    noise: NotNegative = 0.15
    """The standard deviation of the noise in both coordinates."""

    def labelled(self, x: Array, y: Array, stream: torch.Generator) -> Made:
        """Return the points `x` with noise added, and their classes `y`."""
        noise = draw(torch.randn, len(x), 2, generator=stream)
        return Made(("x0", "x1"), x + self.noise * noise, y.astype(np.float64))

    def halves(self) -> tuple[Array, Array]:
        """Return evenly spaced numbers from 0 to 1 for each class in turn, and the classes."""
        first = self.samples // 2
        steps = [np.linspace(0, 1, count) for count in (first, self.samples - first)]
        return np.concatenate(steps), (np.arange(self.samples) >= first).astype(np.float64)


def around(radius: Array, angle: Array) -> Array:
    """Return the points with these polar coordinates, shape (points, 2)."""
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


@GENERATORS.register
class Moons(Plane):
    """Two interleaving half circles of radius 1: class 0 the upper one, class 1 the lower one."""

    name: Literal["moons"]
    """The generator's name."""

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
    """The generator's name."""
    noise: NotNegative = 0.08
    """The standard deviation of the noise in both coordinates."""
    factor: Annotated[float, Range(above=0, below=1)] = 0.5
    """The radius of the inner circle."""

    def make(self, stream: torch.Generator) -> Made:
        part, target = self.halves()
        radius = np.where(target, self.factor, 1.0)
        # Angles 0 and 2π are the same point of a circle, so the last step ends before 2π.
        angle = 2 * np.pi * part * (1 - 2 / self.samples)
        return self.labelled(around(radius, angle), target, stream)


@GENERATORS.register
class Spiral(Plane):
    """Arms of a spiral about the origin, one per class."""

    name: Literal["spiral"]
    """The generator's name."""
    arms: Annotated[int, Range(low=2, high=100)] = 2
    """Number of arms, and of classes."""
    turns: Annotated[float, Range(above=0, high=100)] = 1.0
    """Number of turns of each arm."""
    noise: NotNegative = 0.03
    """The standard deviation of the noise in both coordinates."""

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
    """The generator's name."""
    samples: Samples = 500
    """Number of points."""
    centers: Annotated[int, Range(low=2, high=1000)] = 3
    """Number of clouds, and of classes."""
    features: Annotated[int, Range(low=1, high=1000)] = 2
    """Number of dimensions."""
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
    """The generator's name."""
    noise: NotNegative = 0.0
    """The standard deviation of the noise in both coordinates."""

    def make(self, stream: torch.Generator) -> Made:
        x = 2 * draw(torch.rand, self.samples, 2, generator=stream) - 1
        return self.labelled(x, (x[:, 0] > 0) != (x[:, 1] > 0), stream)


def draw(draws: Callable[..., torch.Tensor], *shape: int, generator: torch.Generator) -> Array:
    """Return random numbers of `draws`, `torch.rand` or `torch.randn`, in double precision."""
    numbers: Array = draws(*shape, generator=generator, dtype=torch.float64).numpy()
    return numbers
