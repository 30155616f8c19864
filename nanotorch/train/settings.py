"""What a configuration file may say of the training and of the data."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch

from .config import quoted
from .reading import Range, Section

# What a configuration file may say of the training itself: how long, how, and what is kept.


Positive = Annotated[int, Range(low=1)]
Natural = Annotated[int, Range(low=0)]
Above = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(low=0)]
Fraction = Annotated[float, Range(low=0, high=1)]

RUN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Train(Section):
    """How long and in what portions to train."""

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

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.epochs is None and self.steps is None:
            yield "", "needs 'epochs' or 'steps'"
        if self.epochs is not None and self.steps is not None:
            yield "steps", "excludes 'epochs'; remove one of the two"


@dataclass(frozen=True, kw_only=True)
class Checkpoint(Section):
    """What is kept to go on from, and of the best weights."""

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


@dataclass(frozen=True, kw_only=True)
class EarlyStopping(Section):
    """An end before the time, where nothing improves any more."""

    monitor: str = "validation/loss"
    """The measured value that is to improve."""
    mode: Literal["min", "max"] | None = None
    """Whether less of it is better, or more; if left out, its name tells."""
    patience: Positive = 10
    """How many measurements in a row may be no better than the best."""
    min_delta: NotNegative = 0.0
    """By how much a value must be better to count."""


@dataclass(frozen=True, kw_only=True)
class Averaging(Section):
    """Weights that are averages over the training; they are measured and kept in the end."""

    method: Literal["ema", "swa"] = "ema"
    """An exponential moving average over steps, or the mean over epochs."""
    decay: Fraction = 0.99
    """The share of the average that a step leaves, for `ema`."""
    start: Natural = 0
    """Epochs before the first weights that count."""


@dataclass(frozen=True, kw_only=True)
class Log(Section):
    """What a run leaves behind, and where."""

    dir: str = "runs"
    """Where run directories are made, relative to the current directory."""
    name: str | None = None
    """The directory of this experiment's runs; the configuration file's name if left out."""
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
            allowed = "letters, digits, '_', '-' and '.', and not 'latest.txt'"
            yield "name", f"must be {allowed}, got {quoted(self.name)}"


@dataclass(frozen=True, kw_only=True)
class MinimizationLog(Log):
    """What a run leaves behind; there are few iterations, and each is of interest."""

    every: Positive = 1
    """Iterations between two points that are printed and recorded."""


# Samples that are made up: one section per source, with what it makes.


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

    def of_classes(self, classes: bool) -> Mapping[str, type[Section]]:
        """Return those that make classes, or those that make numbers."""
        return {
            name: section
            for name, section in self.sections.items()
            if issubclass(section, Generator) and bool(section.classes) == classes
        }


GENERATORS = Generators()


@dataclass(frozen=True, kw_only=True)
class Interval(Generator):
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
@dataclass(frozen=True, kw_only=True)
class Line(Interval):
    """Points scattered about a line: y = slope·x + intercept + noise·N(0, 1), x uniform."""

    name: Literal["line"]
    """Which generator."""
    slope: float = 2.0
    """What y gains with each unit of x."""
    intercept: float = -1.0
    """The value of y at x = 0."""

    def make(self, stream: torch.Generator) -> Made:
        return self.scattered((self.intercept, self.slope), stream)


@GENERATORS.register
@dataclass(frozen=True, kw_only=True)
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


@dataclass(frozen=True, kw_only=True)
class Plane(Generator):
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
        steps = [np.linspace(0, 1, first), np.linspace(0, 1, self.samples - first)]
        return np.concatenate(steps), (np.arange(self.samples) >= first).astype(np.float64)


@GENERATORS.register
@dataclass(frozen=True, kw_only=True)
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
@dataclass(frozen=True, kw_only=True)
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
        x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return self.labelled(x, target, stream)


@GENERATORS.register
@dataclass(frozen=True, kw_only=True)
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
        x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        return self.labelled(x, target.astype(np.float64), stream)


@GENERATORS.register
@dataclass(frozen=True, kw_only=True)
class Blobs(Generator):
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
@dataclass(frozen=True, kw_only=True)
class Xor(Plane):
    """The square from -1 to 1: class 1 where the coordinates differ in sign."""

    name: Literal["xor"]
    """Which generator."""
    noise: NotNegative = 0.0
    """The standard deviation of what is added to both coordinates."""

    def make(self, stream: torch.Generator) -> Made:
        x = 2 * draw(torch.rand, self.samples, 2, generator=stream) - 1
        return self.labelled(x, (x[:, 0] > 0) != (x[:, 1] > 0), stream)


def draw(stream: object, *shape: int, generator: torch.Generator) -> Array:
    """Return numbers of `torch.rand` or `torch.randn` in double precision."""
    assert callable(stream)
    return stream(*shape, generator=generator, dtype=torch.float64).numpy()


# What a configuration file may say of the data.


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
            parts = f"train {self.train:g}, validation {self.validation:g} and test {self.test:g}"
            yield "", f"{parts} add up to {total:g}, not 1"


@dataclass(frozen=True, kw_only=True)
class PartFiles(Section):
    """Files of the same form as the main one, in place of a fraction of it."""

    validation: Path | None = None
    """What is measured during training."""
    test: Path | None = None
    """What is measured once, at the end."""


@dataclass(frozen=True, kw_only=True)
class Npy(Section):
    """Two files of one array each, as `numpy.save` writes them."""

    x: Path
    """The inputs: any shape, samples first."""
    y: Path
    """The targets, one for each sample."""


@dataclass(frozen=True, kw_only=True)
class Data(Section):
    """The samples: a table, arrays, or a generator that makes them up."""

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
    inputs: str | None = None
    """The array of `npz` to predict it from."""
    positive: str | None = None
    """The value of the target column that is class 1; left out where the column holds 0 and 1."""
    header: bool = True
    """Whether the table begins with the names of its columns, else column1, column2 and so on."""
    delimiter: str = ","
    """What stands between the cells of the table; a tab is written "\\t"."""
    missing: Literal["refuse", "drop", "mean"] = "refuse"
    """What is done about cells that are empty, NA, N/A, NaN, null or ?: `refuse` names them,
    `drop` leaves out their rows, `mean` puts in the mean of the training part."""
    categorical: tuple[str, ...] = ()
    """Columns that hold names: each value becomes a feature that is 1 where it stands, else 0."""
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
    class_weights: Literal["balanced"] | tuple[float, ...] | None = None
    """How much a sample of each class counts in the loss; `balanced` for all classes alike."""

    def problems(self) -> Iterator[tuple[str, str]]:
        sources = [name for name in ("csv", "npz", "npy", "generator") if self._has(name)]
        if not sources:
            yield "", "needs 'csv', 'npz', 'npy' or 'generator'"
        for other in sources[1:]:
            nulls = f"data.{sources[0]}=null or data.{other}=null"
            yield other, f"excludes '{sources[0]}'; remove one of the two: {nulls}"
        if sources[:1] in (["csv"], ["npz"]) and self.target is None:
            yield "target", f"missing; the {'column' if self.csv else 'array'} to predict"
        if self.npz is not None and self.inputs is None:
            yield "inputs", "missing; the array to predict from"
        yield from self._table_problems()
        if len(self.delimiter) != 1 or self.delimiter in '"\n\r':
            yield "delimiter", f"must be one character, got {quoted(self.delimiter)}"
        if self.features is not None:
            yield from self._column_problems("features", self.features)
        yield from self._column_problems("categorical", self.categorical)
        weights = self.class_weights
        if isinstance(weights, tuple) and (min(weights, default=0) < 0 or not any(weights)):
            yield "class_weights", "must be positive numbers"

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None

    def _table_problems(self) -> Iterator[tuple[str, str]]:
        if self.csv is None:
            named = [*(("target",) if self.npz is None else ()), "features", "positive"]
            for name in [name for name in named if self._has(name)]:
                yield name, "names part of a table, but there is no 'csv'"
            for name in ("header", "delimiter", "missing", "categorical"):
                if getattr(self, name) != getattr(Data, name):
                    yield name, "is about tables, but there is no 'csv'"
        if self.npz is None and self.inputs is not None:
            yield "inputs", "names an array, but there is no 'npz'"
        if self.csv is None and self.npz is None and self.parts is not None:
            yield "parts", "needs 'csv' or 'npz', whose form the files have"

    def _column_problems(
        self, field_name: str, columns: tuple[str, ...]
    ) -> Iterator[tuple[str, str]]:
        if field_name == "features" and not columns:
            yield "features", "needs at least one column; leave it out for all of them"
        for index, name in enumerate(columns):
            if name == self.target:
                yield f"{field_name}[{index}]", f"{quoted(name)} is the target"
            elif name in columns[:index]:
                yield f"{field_name}[{index}]", f"{quoted(name)} is in the list already"
            elif field_name == "categorical" and self.features and name not in self.features:
                yield f"{field_name}[{index}]", f"{quoted(name)} is not among the features"

    @property
    def source(self) -> str:
        """What the samples come from, in a word."""
        if isinstance(self.generator, Generator):
            return str(getattr(self.generator, "name", "generator"))
        path = self.csv or self.npz or (self.npy.x if self.npy else None)
        return path.name if path else ""

    @property
    def files(self) -> list[Path]:
        """The files that the samples come from."""
        both = [self.npy.x, self.npy.y] if self.npy else []
        parts = [self.parts.validation, self.parts.test] if self.parts else []
        found = [self.csv, self.npz, *both, *parts]
        return [path for path in found if path is not None]


@dataclass(frozen=True, kw_only=True)
class TextData(Section):
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

    @property
    def files(self) -> list[Path]:
        """The file that the samples come from."""
        return [self.file]
