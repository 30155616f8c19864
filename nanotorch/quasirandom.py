"""`torch.quasirandom`: the Sobol sequence, with the direction numbers that SciPy has, too."""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import require_value
from nanotorch.ops.random import Generator


@cache
def direction_table() -> tuple[np.ndarray, np.ndarray]:
    """SciPy's table of primitive polynomials, and of first direction numbers, by dimension.

    Raises:
        ImportError: without SciPy.
    """
    place = import_module("scipy.stats").__file__
    with np.load(Path(str(place)).with_name("_sobol_direction_numbers.npz")) as table:
        return table["poly"], table["vinit"]


def directions(dimension: int, bits: int) -> np.ndarray:
    """The direction numbers, of shape (dimension, bits): multiples of powers of two."""
    polynomials, first = direction_table()
    found = np.ones((dimension, bits), np.int64)
    for row in range(1, dimension):
        poly = int(polynomials[row])
        degree = poly.bit_length() - 1
        found[row, :degree] = first[row, :degree]
        for k in range(degree, bits):
            value = int(found[row, k - degree])
            for back in range(1, degree + 1):
                if poly >> (degree - back) & 1:
                    value ^= int(found[row, k - back]) << back
            found[row, k] = value
    scaled: np.ndarray = found << np.arange(bits - 1, -1, -1)
    return scaled


class SobolEngine:
    """Points of a Sobol sequence, which fill a cube evenly.

    Args:
        dimension: the number of coordinates, at least 1.
        scramble: whether to scramble the sequence at random. Default: False.
        seed: the seed of the scrambling. Default: the default generator draws.

    Raises:
        ValueError: for a dimension out of range.
        ImportError: without SciPy, which has the direction numbers.
    """

    MAXBIT, MAXDIM = 30, 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        text = "Supported range of dimensionality for SobolEngine is [1, {}]"
        require_value(1 <= dimension <= self.MAXDIM, text, self.MAXDIM)
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self._state, bits = directions(dimension, self.MAXBIT), np.arange(self.MAXBIT)
        self._shift = np.zeros(dimension, np.int64)
        if scramble:
            generator = None if seed is None else Generator().manual_seed(seed)
            shift = ops.randint(2, (dimension, self.MAXBIT), generator=generator)._array
            self._shift = shift @ (1 << bits)
            size = (dimension, self.MAXBIT, self.MAXBIT)
            lower = np.tril(ops.randint(2, size, generator=generator)._array)
            lower[:, bits, bits] = 1
            # Row p of the matrix makes bit p of a number, counted from the highest.
            high = self._state[:, :, None] >> bits[::-1] & 1
            self._state = (np.einsum("dpq,dkq->dkp", lower, high) & 1) @ (1 << bits[::-1])
        self.reset()

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``n`` points, (n, dimension).

        Args:
            out: where to write them.
            dtype: their dtype. Default: the default dtype.
        """
        points = np.empty((n, self.dimension), np.int64)
        for row in points:
            row[...] = self._quasi
            self.fast_forward(1)
        made = ops.tensor(points / 2**self.MAXBIT, dtype=dtype or dtypes.default.dtype)
        return made if out is None else out.resize_(made.shape).copy_(made)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next ``2 ** m`` points; arguments as for `draw`.

        Raises:
            ValueError: if the points drawn are then no power of two.
        """
        total = self.num_generated + 2**m
        text = "The balance properties of Sobol' points require n to be a power of 2, not {}."
        require_value(total & (total - 1) == 0, text, total)
        return self.draw(2**m, out, dtype)

    def reset(self) -> "SobolEngine":
        """Begin again with the first point; returns the engine."""
        self._quasi, self.num_generated = self._shift.copy(), 0
        return self

    def fast_forward(self, n: int) -> "SobolEngine":
        """Leave out ``n`` points; returns the engine."""
        for number in range(self.num_generated, self.num_generated + n):
            lowest = (~number & (number + 1)).bit_length() - 1  # the lowest zero bit of the number
            self._quasi ^= self._state[:, lowest]
        self.num_generated += n
        return self
