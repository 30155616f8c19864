"""Samples that are made up: one section per source, with what it makes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

import nanotorch as torch

from .reading import Above, NotNegative, Range, Section

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

    @property
    def truth(self) -> tuple[float, ...]:
        return self.slope, self.intercept

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
        steps = [np.linspace(0, 1, count) for count in (first, self.samples - first)]
        return np.concatenate(steps), (np.arange(self.samples) >= first).astype(np.float64)


def around(radius: Array, angle: Array) -> Array:
    """Return points about the origin."""
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


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
        return self.labelled(around(radius, angle), target, stream)


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
        return self.labelled(around(radius, angle), target.astype(np.float64), stream)


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


def draw(draws: Callable[..., torch.Tensor], *shape: int, generator: torch.Generator) -> Array:
    """Return numbers of `torch.rand` or `torch.randn` in double precision."""
    numbers: Array = draws(*shape, generator=generator, dtype=torch.float64).numpy()
    return numbers
