"""Functions to minimize: by name, or as arithmetic in a vector `x`."""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import nanotorch as torch

from .config import did_you_mean, quoted

# Arithmetic in a vector `x`, from text to tensor operations, without ever executing the text.
#
# `x` is the vector, `x[0]` a coordinate of it, `i` the numbers of the coordinates: 0, 1, 2 and so
# on. The text is parsed by Python's own parser and every node of the result is compared with a
# short list of what arithmetic needs. Anything else, whatever it would do, is refused.


LONGEST = 2000
DEEPEST = 200

Number = int | float
Part = Number | Callable[[Any], Any]
"""A constant, or what computes a tensor from x."""

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos, ast.USub: operator.neg
}  # fmt: skip
CALLS = ("abs", "cos", "exp", "log", "mean", "sin", "sqrt", "sum", "tan", "tanh")
CONSTANTS = {"pi": math.pi, "e": math.e}
REDUCTIONS = ("mean", "sum")
"""Of the calls, those that make one number of a vector."""


class ExpressionError(ValueError):
    """The text is not arithmetic in x."""


@dataclass(frozen=True)
class Expression:
    """A function of a vector; call it with a tensor."""

    text: str
    evaluate: Callable[[Any], Any]
    dimensions: int
    """The least length of x that all its indices fit."""
    any_length: bool
    """Whether x occurs as a whole, so that a longer one has a meaning."""
    together: bool = True
    """Whether it also takes several points at once, shape (length, points)."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return the values at points.

        Shape:
            x: (length,) or (length, points).
            Output: () or (points,).
        """
        if x.dim() < 2 or self.together:
            return self.evaluate(x)
        return torch.stack([self.evaluate(x[:, k]) for k in range(x.shape[1])])

    def problem(self, start: Sequence[float]) -> str | None:
        """Return why no descent can begin at `start`, where one finite number is needed."""
        if len(start) < self.dimensions or (len(start) > self.dimensions and not self.any_length):
            return f"needs x of length {self.dimensions}, but the start has {len(start)}"
        x = torch.tensor([float(value) for value in start], requires_grad=True)
        with np.errstate(all="ignore"):
            value = self(x)
        if value.dim() > 0:
            return f"gives {value.numel()} numbers, not one; use sum(...)"
        finite = math.isfinite(value.item())
        return None if finite else f"is {value.item()} at the start {list(start)}"


def parse_expression(text: str) -> Expression:
    """Return the function that `text` describes.

    Raises:
        ExpressionError: if it is anything but arithmetic in x.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"has {len(text)} characters; at most {LONGEST} are read")
    if "#" in text:
        raise ExpressionError("'#' is not arithmetic")
    lines, text = text, " ".join(text.split())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on odd literals such as `0or x`, refused below
            tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise ExpressionError(f"not an expression: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError("not an expression") from None
    parser = Parser(text)
    part = parser.part(tree.body, DEEPEST)
    if not callable(part) or not (parser.any_length or parser.dimensions):
        raise ExpressionError("does not depend on x")
    return Expression(lines, part, parser.dimensions, parser.any_length)


class Parser:
    """Turns the nodes that are allowed into functions of x."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.dimensions = 0
        self.any_length = False

    def part(self, node: ast.expr, depth: int) -> Part:
        """Return what `node` means; constants are folded, in floating point."""
        if depth == 0:
            raise ExpressionError("is nested too deeply")
        match node:
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                parts = self.part(left, depth - 1), self.part(right, depth - 1)
                return self._binary(BINARY[type(op)], *parts, node)
            case ast.UnaryOp(op, operand) if type(op) in UNARY:
                function, inner = UNARY[type(op)], self.part(operand, depth - 1)
                return (lambda x: function(inner(x))) if callable(inner) else function(inner)
            case ast.Constant(int() | float() as value) if not isinstance(value, bool):
                if abs(value) <= 1e30:
                    return float(value)  # a tensor takes no integer of more than 64 bits
                raise self._error(node, "is too large")
            case ast.Name(name):
                return self._name(node, name)
            case ast.Subscript(ast.Name("x"), ast.Constant(number)) if type(number) is int:
                if number > 1_000_000:
                    raise self._error(node, "is too far; there are at most a million coordinates")
                self.dimensions = max(self.dimensions, number + 1)
                return lambda x: x[number]
            case ast.Subscript(ast.Name("x")):
                raise self._error(node, "needs a whole number, as in x[0]")
            case ast.Subscript():
                raise self._error(node, "is not arithmetic; only x has coordinates")
            case ast.Call(ast.Name("x")):
                raise self._error(node, "calls x; a coordinate is written x[0]")
            case ast.Call(ast.Name(name)):
                return self._call(node, name, depth)
            case ast.BinOp(_, ast.BitXor()):
                raise self._error(node, "is not arithmetic; powers are written **")
        raise self._error(node, "is not arithmetic")

    def _binary(self, apply: Callable[..., Any], left: Part, right: Part, node: ast.expr) -> Part:
        if callable(left):
            if callable(right):
                return lambda x: apply(left(x), right(x))
            return lambda x: apply(left(x), right)
        if callable(right):
            return lambda x: apply(left, right(x))
        try:  # integers could take all memory: 9**9**9
            value = apply(float(left), float(right))
        except ArithmeticError:
            value = math.nan
        if isinstance(value, complex) or not math.isfinite(value):
            raise self._error(node, "is not a finite number")
        return float(value)

    def _name(self, node: ast.expr, name: str) -> Part:
        if name == "x":
            self.any_length = True
            return lambda x: x
        if name == "i":
            return numbers_like
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in CALLS:
            raise self._error(node, f"needs a value, as in {name}(x[0])")
        known = ["x", "i", *CONSTANTS, *CALLS]
        raise self._error(node, f"is not known{did_you_mean(name, known)}")

    def _call(self, node: ast.Call, name: str, depth: int) -> Part:
        if name not in CALLS:
            raise self._error(node.func, f"is not known{did_you_mean(name, CALLS)}")
        if len(node.args) != 1 or node.keywords:
            raise self._error(node, f"is not understood; {name} takes one value")
        operand, apply = self.part(node.args[0], depth - 1), getattr(torch, name)
        if not callable(operand):
            raise self._error(node, "does not depend on x; write its value")
        if name not in REDUCTIONS:
            return lambda x: apply(operand(x))
        if not holds_vector(node.args[0]):
            return operand  # of one number, sum and mean are that number
        return lambda x: apply(value) if (value := operand(x)).dim() < 2 else apply(value, 0)

    def _error(self, node: ast.expr, message: str) -> ExpressionError:
        source = ast.get_source_segment(self._text, node) or self._text
        return ExpressionError(f"{quoted(source)} {message}")


def holds_vector(node: ast.expr) -> bool:
    """Return whether a part has a value for each coordinate, not just one."""
    if isinstance(node, ast.Name):
        return node.id in ("x", "i")
    if isinstance(node, ast.Subscript):
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id not in REDUCTIONS and holds_vector(node.args[0])
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return any(map(holds_vector, parts))


def numbers_like(x: torch.Tensor) -> torch.Tensor:
    """Return 0, 1, 2 and so on along the first dimension of `x`."""
    numbers = torch.arange(x.shape[0], dtype=x.dtype)
    return numbers if x.dim() < 2 else numbers[:, None]


# Functions to minimize by name, with their known minima.


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
        "A paraboloid about (0, 1, ..., n - 1) in any dimension n.", "sum((x - i)**2)",
        lambda dimensions: [tuple(map(float, range(dimensions)))],
    ),
    "sphere": KnownFunction(
        "The squared distance from the origin, in any dimension.", "sum(x**2)", [(0.0,)]
    ),
    "ellipsoid": KnownFunction(
        "A quadratic about (1, ..., 1) in any dimension n, n times as steep along the last "
        "coordinate as along the first.", "sum((i + 1) * (x - 1)**2)", [(1.0,)],
    ),
    "rosenbrock": KnownFunction(
        "A curved valley, nearly flat along its bottom.",
        "(1 - x[0])**2 + 100 * (x[1] - x[0]**2)**2", [(1.0, 1.0)],
    ),
    "booth": KnownFunction(
        "A quadratic whose axes are turned.",
        "(x[0] + 2*x[1] - 7)**2 + (2*x[0] + x[1] - 5)**2", [(1.0, 3.0)],
    ),
    "himmelblau": KnownFunction(
        "Four equal minima.", "(x[0]**2 + x[1] - 11)**2 + (x[0] + x[1]**2 - 7)**2",
        [(3.0, 2.0), (-2.805118086952745, 3.131312518250573),
         (-3.779310253377747, -3.283185991286170), (3.584428340330492, -1.848126526964404)],
    ),
    "beale": KnownFunction(
        "Nearly flat around its minimum, steep at the corners.",
        "(1.5 - x[0] + x[0]*x[1])**2 + (2.25 - x[0] + x[0]*x[1]**2)**2"
        " + (2.625 - x[0] + x[0]*x[1]**3)**2", [(3.0, 0.5)],
    ),
    "rastrigin": KnownFunction(
        "A bowl full of local minima, about one at each whole number, in any dimension.",
        "sum(x**2 - 10*cos(2*pi*x) + 10)", [(0.0,)],
    ),
    "ackley": KnownFunction(
        "A nearly flat plain of local minima with a hole in the middle, in any dimension.",
        "-20*exp(-0.2*sqrt(mean(x**2))) - exp(mean(cos(2*pi*x))) + 20 + e", [(0.0,)],
    ),
    "styblinski_tang": KnownFunction(
        "Two minima along each coordinate, one of them lower, in any dimension.",
        "sum(x**4 - 16*x**2 + 5*x) / 2", [(-2.903534027771177,)], -39.16616570377142,
        for_each=True,
    ),
}  # fmt: skip


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
