"""What is known about a value that is not finite: who made it, where, and from what.

An array has a level: 0 if it is finite, 1 if it holds infinities, 2 if it holds nan. A result whose
level is above those of its inputs is one in which something has gone wrong: infinity out of finite
numbers, or nan out of numbers. That what was not finite stays so is no news.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from nanotorch._core.place import Place

FINITE, INFINITE, NAN = range(3)
NAMES = ("nan", "inf", "-inf")


class NonFiniteWarning(UserWarning):
    """In anomaly mode, an operation has made a value that is not finite."""


def level_of(value: Any) -> int:
    """The level of an array, a tensor, a number, or a sequence of them; 0 for anything else."""
    array = getattr(value, "_array", value)
    if isinstance(array, (np.ndarray, np.floating)):
        if array.dtype.kind != "f" or np.logical_and.reduce(np.isfinite(array), None):
            return FINITE
        return NAN if np.isnan(array).any() else INFINITE
    if isinstance(value, (tuple, list)):
        return max([level_of(v) for v in value], default=FINITE)
    if isinstance(value, float) and not math.isfinite(value):
        return NAN if math.isnan(value) else INFINITE
    return FINITE


class Range(NamedTuple):
    """An array in short.

    Attributes:
        name: of the parameter it was passed as.
        dtype, shape: of the array; for a Python number the name of its type, and no dimensions.
        low, high: its least and its greatest finite element; None if there is none.
        count: how many elements are nan, infinity, and minus infinity.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    low: float | int | None
    high: float | int | None
    count: tuple[int, int, int]  # type: ignore[assignment]  # instead of tuples' own

    @classmethod
    def of(cls, name: str, value: Any) -> "Range":
        """Describe an array, a tensor or a number."""
        array = np.asarray(getattr(value, "_array", value))
        dtype = str(array.dtype) if hasattr(value, "dtype") else type(value).__name__
        count, finite = (0, 0, 0), array
        if level_of(array):
            nan, inf = np.count_nonzero(np.isnan(array)), np.count_nonzero(np.isposinf(array))
            finite = array[np.isfinite(array)]
            count = (int(nan), int(inf), int(array.size - finite.size - nan - inf))
        low, high = (finite.min().item(), finite.max().item()) if finite.size else (None, None)
        return cls(name, dtype, array.shape, low, high, count)

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    @property
    def values(self) -> str:
        """What of its elements is not finite: ``nan``, ``inf and -inf``."""
        return " and ".join(name for name, n in zip(NAMES, self.count, strict=True) if n)

    def __str__(self) -> str:
        if not self.shape:
            return f"{self.name}: {self.values or short(self.low)}"
        parts = [f"{self.name}: {self.dtype} of shape {list(self.shape)}"]
        named = [(name, n) for name, n in zip(NAMES, self.count, strict=True) if n]
        every = "all " if self.size > 1 else ""
        parts += [f"{every}{name}" if n == self.size else f"{name} in {n}" for name, n in named]
        if self.low is not None and self.dtype != "bool":
            one = self.low == self.high
            rest = "else " if named else every if one else ""
            parts.append(f"{rest}{'' if one else f'from {short(self.low)} to '}{short(self.high)}")
        return ", ".join(parts)


def short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class NonFinite(NamedTuple):
    """An operation that made a value that is not finite.

    `print` shows it as the messages do.

    Attributes:
        op: the operation as it is called, ``log`` or ``add_``; in a backward pass the node's name
            or, inside of a user's function or hook, again the operation.
        phase: "forward" or "backward".
        cause: the level of what it was made from, see above.
        result: the result that is not finite; of a node, the gradient.
        inputs: what it was made from; of a node, the gradients that arrived and what it had saved.
        place: where it was called; of a node, its forward call. None if that was not noted.
        made: False if nothing had made it: the operation was the first to be given it.
    """

    op: str
    phase: str
    cause: int
    result: Range
    inputs: tuple[Range, ...]
    place: Place | None
    of_node: bool = False
    made: bool = True

    @property
    def module(self) -> str | None:
        """The module whose forward it was called in, as ``MLP.net.0 (Linear)``."""
        return self.place and self.place.module

    @property
    def file(self) -> str | None:
        """The file of the user's line that called it."""
        return self.place and self.place.file

    @property
    def line(self) -> int | None:
        """The number of that line."""
        return self.place and self.place.line

    @property
    def level(self) -> int:
        """The level of the result."""
        return NAN if self.result.count[0] else INFINITE

    def __str__(self) -> str:
        lines = [self.headline()]
        if self.place is not None:
            lines.append(f"{'for the call at' if self.of_node else 'at'} {self.place}")
            if self.module is not None:
                lines.append(f"in module {self.module}")
        ranges = [*self.inputs, self.result] if self.made else self.inputs
        return "\n    ".join([*lines, *map(str, ranges)])

    def headline(self) -> str:
        """What has happened, in a line."""
        result = self.result
        bad, size = sum(result.count), result.size
        share = f" in {'all' if bad == size else f'{bad} of'} {size} elements" if size > 1 else ""
        if not self.made:
            of = f"{share} of" if share else " as"
            return f"{self.op} was given {result.values}{of} {result.name}"
        kind = "gradients" if self.of_node else "inputs"
        text = f"{self.op} gave {result.values}{share}"
        if not self.inputs:
            return text
        return f"{text}, from {'finite ' + kind if not self.cause else kind + ' without nan'}"
