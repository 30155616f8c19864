"""What a configuration file may say of the data."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from .generators import GENERATORS, Generator
from .problems import quoted
from .reading import Range, Section
from .settings import Fraction, Positive


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
            yield other, f"excludes '{sources[0]}'; remove one of the two"
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
            plain: dict[str, Any] = {
                "header": True,
                "delimiter": ",",
                "missing": "refuse",
                "categorical": (),
            }
            for name in [name for name in plain if getattr(self, name) != plain[name]]:
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
