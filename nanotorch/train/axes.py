"""What a sweep varies: `optimizer.lr=1e-1,1e-2`, `seed=0:5`, `optimizer.lr=log(1e-4, 1e-1)`."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .problems import ConfigError, Place, Problem, did_you_mean, quoted

RANGE = re.compile(r"(-?\d{1,9}):(-?\d{1,9})(?::(\d{1,9}))?", re.ASCII)
DRAWS = ("log", "uniform", "integers")
CALL = re.compile(r"([A-Za-z_]+)\(.*\)", re.ASCII)
DRAWN = re.compile(rf"({'|'.join(DRAWS)})\(\s*([^,()]+?)\s*,\s*([^,()]+?)\s*\)", re.ASCII)
MOST_VALUES = 10_000
MOST_DRAWS = 100
"""Times as many as are wanted, after which there seem to be no more different ones."""


@dataclass(frozen=True)
class Axis:
    """A setting and what it may be."""

    key: str
    values: Sequence[str] = ()
    """The values, as text; none where they are drawn."""
    draw: Callable[[np.random.Generator], str] | None = None
    """What draws one."""


def parse_axis(argument: str) -> Axis:
    """Return what `key=values` says.

    Values stand between commas, outside of brackets; `a:b` and `a:b:step` are whole numbers from a
    to b, b itself left out; `log(a, b)`, `uniform(a, b)` and `integers(a, b)` are drawn.

    Raises:
        ConfigError: if it says nothing.
    """
    key, equals, text = argument.partition("=")
    if not equals or not key or not text.strip():
        raise refusal(argument, "expected key=values, as in optimizer.lr=1e-1,1e-2 or seed=0:5")
    if drawn := DRAWN.fullmatch(text.strip()):
        return Axis(key, draw=drawing(argument, *drawn.groups()))
    if numbers := RANGE.fullmatch(text.strip()):
        first, end, step = (int(number or 1) for number in numbers.groups())
        found = range(first, end, step) if step else range(0)
        if not found or len(found) > MOST_VALUES:
            raise refusal(argument, "has no values" if not found else f"has {len(found)} values")
        return Axis(key, [str(number) for number in found])
    if (call := CALL.fullmatch(text.strip())) is not None:
        meant = did_you_mean(call[1], DRAWS)
        raise refusal(argument, f"nothing is drawn by {quoted(call[1])}{meant}")
    values = [value.strip() for value in parts(text)]
    if len(set(values)) < len(values):
        twice = next(value for value, count in Counter(values).items() if count > 1)
        raise refusal(argument, f"has the value {quoted(twice)} twice")
    return Axis(key, values)


def drawing(
    argument: str, kind: str, first: str, last: str
) -> Callable[[np.random.Generator], str]:
    """Return what draws values between two numbers."""
    try:
        low, high = float(first), float(last)
    except ValueError:
        raise refusal(argument, f"{kind} needs two numbers") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise refusal(argument, f"{kind} needs a smaller and a greater number")
    if kind == "log" and low <= 0:
        raise refusal(argument, "log needs positive numbers")
    if kind == "integers":
        return lambda random: str(int(random.integers(int(low), int(high) + 1)))
    if kind == "uniform":
        return lambda random: f"{random.uniform(low, high):.6g}"
    return lambda random: f"{math.exp(random.uniform(math.log(low), math.log(high))):.6g}"


def parts(text: str) -> Iterator[str]:
    """Yield what stands between commas that are in no brackets or quotes."""
    depth, quote, start = 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def combinations(axes: Sequence[Axis], count: int | None, seed: int) -> list[list[str]]:
    """Return the overrides of each run: all combinations, or `count` different random ones.

    Raises:
        ConfigError: if there are too many, or too few; if values are to be drawn and nobody says
            how many; if a setting occurs twice.
    """
    keys = [axis.key for axis in axes]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            raise refusal(f"{key}=...", "is given twice")
    if count is None:
        drawn = [axis.key for axis in axes if axis.draw is not None]
        if drawn:
            raise refusal(f"{drawn[0]}=...", "values are drawn: say how many runs by --random N")
        total = math.prod(len(axis.values) for axis in axes)
        if total > MOST_VALUES:
            raise refusal("sweep", f"makes {total:,} runs; at most {MOST_VALUES:,}")
        chosen = itertools.product(*(axis.values for axis in axes))
        return [
            [f"{axis.key}={value}" for axis, value in zip(axes, values, strict=True)]
            for values in chosen
        ]
    random = np.random.default_rng(seed)
    found: dict[tuple[str, ...], None] = {}
    for _ in range(MOST_DRAWS * count):
        found[tuple(f"{axis.key}={drawn_value(axis, random)}" for axis in axes)] = None
        if len(found) == count:
            return [list(overrides) for overrides in found]
    raise refusal(f"--random {count}", f"there seem to be only {len(found)} different runs")


def drawn_value(axis: Axis, random: np.random.Generator) -> str:
    """Return one of an axis' values."""
    if axis.draw is not None:
        return axis.draw(random)
    return axis.values[int(random.integers(len(axis.values)))]


def refusal(argument: str, message: str) -> ConfigError:
    """Return the error about an argument of the command line."""
    return ConfigError([Problem(Place(source=f"command line: {argument}"), "", message)])
