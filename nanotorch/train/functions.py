"""Functions to minimize by name, with their known minima."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import nanotorch as torch

from .expression import Expression, parse_expression

Point = tuple[float, ...]


@dataclass(frozen=True)
class KnownFunction:
    """A function and where its minima are."""

    sentence: str
    """What it is like."""
    formula: str | Callable[[torch.Tensor], torch.Tensor]
    """Arithmetic in the vector x, or what computes it."""
    minima: Sequence[Point] | Callable[[int], Sequence[Point]] = ()
    """The points of its least value, as far as they are known, or what returns them for a number
    of dimensions; one number stands for each coordinate of a function of any dimension."""
    minimum: float = 0.0
    """Its least value."""
    for_each: bool = False
    """Whether that is the least value for each coordinate, of which it is the sum."""

    @property
    def shown(self) -> str:
        """The function in words."""
        return self.formula if isinstance(self.formula, str) else "what the program has registered"

    def expression(self) -> Expression:
        """Return the function."""
        if isinstance(self.formula, str):
            return parse_expression(self.formula)
        name = getattr(self.formula, "__name__", "a function")
        return Expression(name, self.formula, 1, True, together=False)

    def distance(self, point: Sequence[float]) -> tuple[float, Point] | None:
        """Return how far the nearest known minimum is from a point, and where; None without any."""
        places = self.places(len(point))
        return min((math.dist(point, place), place) for place in places) if places else None

    def places(self, dimensions: int) -> list[Point]:
        """Return the known minima in so many dimensions."""
        known = self.minima(dimensions) if callable(self.minima) else self.minima
        return [place * (dimensions if len(place) == 1 else 1) for place in known]

    def excess(self, value: float, dimensions: int) -> float:
        """Return how far a value is above the least one."""
        return value - self.minimum * (dimensions if self.for_each else 1)


FUNCTIONS: dict[str, KnownFunction] = {
    "quadratic": KnownFunction(
        "A paraboloid about (0, 1, ..., n - 1) in any dimension n.",
        "sum((x - i)**2)",
        lambda dimensions: [tuple(float(index) for index in range(dimensions))],
    ),
    "sphere": KnownFunction(
        "The squared distance from the origin, in any dimension.", "sum(x**2)", [(0.0,)]
    ),
    "ellipsoid": KnownFunction(
        "A quadratic about (1, ..., 1) in any dimension n, n times as steep along the last "
        "coordinate as along the first.",
        "sum((i + 1) * (x - 1)**2)",
        [(1.0,)],
    ),
    "rosenbrock": KnownFunction(
        "A curved valley, nearly flat along its bottom.",
        "(1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2",
        [(1.0, 1.0)],
    ),
    "booth": KnownFunction(
        "A quadratic whose axes are turned.",
        "(x[0] + 2*x[1] - 7)**2 + (2*x[0] + x[1] - 5)**2",
        [(1.0, 3.0)],
    ),
    "himmelblau": KnownFunction(
        "Four equal minima.",
        "(x[0]**2 + x[1] - 11)**2 + (x[0] + x[1]**2 - 7)**2",
        [
            (3.0, 2.0),
            (-2.805118086952745, 3.131312518250573),
            (-3.779310253377747, -3.283185991286170),
            (3.584428340330492, -1.848126526964404),
        ],
    ),
    "beale": KnownFunction(
        "Nearly flat around its minimum, steep at the corners.",
        "(1.5 - x[0] + x[0]*x[1])**2 + (2.25 - x[0] + x[0]*x[1]**2)**2"
        " + (2.625 - x[0] + x[0]*x[1]**3)**2",
        [(3.0, 0.5)],
    ),
    "rastrigin": KnownFunction(
        "A bowl full of local minima, about one at each whole number, in any dimension.",
        "sum(x**2 - 10*cos(2*pi*x) + 10)",
        [(0.0,)],
    ),
    "ackley": KnownFunction(
        "A nearly flat plain of local minima with a hole in the middle, in any dimension.",
        "-20*exp(-0.2*sqrt(mean(x**2))) - exp(mean(cos(2*pi*x))) + 20 + e",
        [(0.0,)],
    ),
    "styblinski_tang": KnownFunction(
        "Two minima along each coordinate, one of them lower, in any dimension.",
        "sum(x**4 - 16*x**2 + 5*x) / 2",
        [(-2.903534027771177,)],
        -39.16616570377142,
        for_each=True,
    ),
}


def register_function(
    name: str,
    function: Callable[[torch.Tensor], torch.Tensor],
    minima: Sequence[Sequence[float]] = (),
    minimum: float = 0.0,
) -> None:
    """Make a function known, so that configurations can name it.

    Args:
        name: what they call it.
        function: takes a vector, returns a tensor of one number.
        minima: its points of least value, if they are known.
        minimum: its least value.

    Raises:
        ValueError: if the name is taken.
    """
    if name in FUNCTIONS:
        raise ValueError(f"a function called {name!r} is known already")
    points = [tuple(float(value) for value in point) for point in minima]
    sentence = (function.__doc__ or "").partition("\n")[0]
    FUNCTIONS[name] = KnownFunction(sentence, function, points, minimum)


def evaluated(function: Expression, x: torch.Tensor) -> torch.Tensor:
    """Return the values at points.

    Args:
        function: of a vector.
        x: a vector, or shape (dimensions, points).

    Shape:
        No dimensions, or (points,).
    """
    if x.dim() < 2 or function.together:
        value: torch.Tensor = function.evaluate(x)
        return value
    return torch.stack([function.evaluate(x[:, k]) for k in range(x.shape[1])])
