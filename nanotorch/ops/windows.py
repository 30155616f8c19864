"""Windows that slide over the last dimensions of ``(N, C, ...)``: where they lie, their elements as
columns of a matrix, and such columns added back to where they came from.
"""

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from nanotorch._core.arguments import LARGE
from nanotorch._core.op import Array

Ints = tuple[int, ...]
MOST_WASTE = 1.5  # of windows over rows in one piece: computed for each that is wanted
CHUNK = 1 << 20  # bytes of columns or rows that are made at once, which are to stay in the cache


def last(parts: Iterable[Any]) -> tuple[Any, ...]:
    """An index of the last dimensions."""
    return (..., *parts)


def padded(input: Array, padding: Ints, after: Ints | None = None, value: Any = 0) -> Array:
    """``input`` in order in memory, with ``value`` around its last dimensions.

    Args:
        after: the padding behind, where it is not that before.
    """
    after = padding if after is None else after
    if not (any(padding) or any(after)):
        return np.ascontiguousarray(input)
    lead = input.ndim - len(padding)
    sizes = zip(input.shape[lead:], padding, after, strict=True)
    shape = input.shape[:lead] + tuple([n + p + q for n, p, q in sizes])
    out = np.zeros(shape, input.dtype) if value == 0 else np.full(shape, value, input.dtype)
    inner = zip(padding, input.shape[lead:], strict=True)
    out[last(slice(p, p + n) for p, n in inner)] = input
    return out


def cropped(input: Array, padding: Ints) -> Array:
    """The inverse of `padded`; no view."""
    if not any(padding):
        return input
    return input[last(slice(p, -p or None) for p in padding)].copy()


def positions(size: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Ints:
    """How many windows fit into each dimension."""
    dims = zip(size, kernel, stride, dilation, strict=True)
    return tuple([(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in dims])


class Windows:
    """The windows over a padded input of one size.

    Where they are next to each other, a row of windows and the next one are taken in one piece,
    with windows that reach from one row into the next: then all elements at one place of the
    windows are one piece of the input. Such superfluous windows are left out at the end.

    Args:
        out: if there are more windows than are wanted, how many these are.
        apart: take each row of windows by itself.

    Attributes:
        size: of the padded input.
        kernel, stride, dilation, padding: along each dimension.
        out: how many windows there are along each dimension.
        flat: whether they are taken in one piece.
        count: how many windows, with those between rows.
        whole: the shape of the windows with those between rows and behind the last.
        tiles: whether each element of the input is in just one window.
    """

    def __init__(
        self,
        input: Ints,
        kernel: Ints,
        stride: Ints,
        padding: Ints,
        dilation: Ints,
        out: Ints | None = None,
        apart: bool = False,
    ) -> None:
        self.size = size = tuple([n + 2 * p for n, p in zip(input, padding, strict=True)])
        self.kernel, self.stride, self.dilation = kernel, stride, dilation
        self.padding = padding
        self.out = out = positions(size, kernel, stride, dilation) if out is None else out
        dims = list(zip(size, out, kernel, stride, dilation, strict=True))
        self.tiles = all(n == o * k and (s == k or o == 1) and d == 1 for n, o, k, s, d in dims)
        wanted = math.prod(out)
        self.whole = (*out[:1], *size[1:])
        near = not apart and not self.tiles and set(stride) == {1} and wanted > 1
        self.flat = near and math.prod(self.whole) <= MOST_WASTE * wanted
        self.steps = tuple([math.prod(size[k + 1 :]) for k in range(len(size))])
        self.count = wanted
        if self.flat:
            self.count = 1 + sum((o - 1) * s for o, s in zip(out, self.steps, strict=True))
        else:
            self.whole = out

    def offsets(self) -> Iterator[Ints]:
        """Where the elements of the first window lie, in the order of the kernel's elements."""
        ranges = [range(0, k * d, d) for k, d in zip(self.kernel, self.dilation, strict=True)]
        return product(*ranges)

    def of(self, input: Array) -> Array:
        """The windows ``(N, C, *kernel, ...)`` over a padded input that lies in order: a view."""
        lead, item = input.strides[:2], input.itemsize
        steps = [s * item for s in self.steps]
        inner = [s * d for s, d in zip(steps, self.dilation, strict=True)]
        if self.flat:
            outer = [item]
        else:
            outer = [min(s * t, LARGE - 1) for s, t in zip(steps, self.stride, strict=True)]
        strides = (*lead, *inner, *outer)
        shape = (*input.shape[:2], *self.kernel, *((self.count,) if self.flat else self.out))
        return np.ndarray(shape, input.dtype, input, 0, strides)

    def columns(self, input: Array, groups: int = 1) -> Array:
        """The elements of the windows ``(N, groups, C / groups * kernel, count)``."""
        n, channels = input.shape[:2]
        rows = channels // groups * math.prod(self.kernel)
        return self.of(input).reshape(n, groups, rows, self.count)

    def rows(self, input: Array) -> Iterator[tuple[slice, Array]]:
        """The elements of the windows ``(N, count, kernel * C)``, for one part of N after another.

        Args:
            input: not padded, ``(N, C, ...)``.
        """
        samples, channels = input.shape[:2]
        source = np.zeros((samples, *self.size, channels), input.dtype)
        inside = tuple(slice(p, n - p) for p, n in zip(self.padding, self.size, strict=True))
        source[:, *inside] = np.moveaxis(input, 1, -1)
        first, *steps, item = source.strides
        outer = [s * t for s, t in zip(steps, self.stride, strict=True)]
        inner = [s * d for s, d in zip(steps, self.dilation, strict=True)]
        width, count = channels * math.prod(self.kernel), math.prod(self.out)
        for part in chunks(samples, count * width * input.itemsize):
            some = source[part]
            shape = (len(some), *self.out, *self.kernel, channels)
            windows = np.ndarray(shape, some.dtype, some, 0, (first, *outer, *inner, item))
            yield part, windows.reshape(len(some), count, width)

    def among(self, values: Array, groups: int, turned: bool = False) -> Array:
        """Values of the windows ``(N, C, *out)`` as ``(N, groups, C / groups, count)``.

        Windows between rows get zeros.

        Args:
            turned: as ``(N, groups, count, C / groups)``.
        """
        n, channels = values.shape[:2]
        each = channels // groups
        values = values.reshape(n, groups, each, *self.out)
        if turned:
            values = values.transpose(0, 1, *range(3, values.ndim), 2)
        if self.whole != self.out:
            ends = ((), (each,)) if turned else ((each,), ())
            wide = np.zeros((n, groups, *ends[0], *self.whole, *ends[1]), values.dtype)
            rows = tuple(map(slice, self.out))
            wide[last((*rows, slice(None)) if turned else rows)] = values
            values = wide
        total = math.prod(self.whole)
        if turned:
            return values.reshape(n, groups, total, each)[:, :, : self.count]
        return values.reshape(n, groups, each, total)[..., : self.count]

    def shifted(self, input: Array) -> Iterator[Array]:
        """For one element of the kernel after the other, that of each window, taken in one piece.

        Views ``(N, C, count)`` of a padded input that lies in order.
        """
        line = input.reshape(*input.shape[:2], math.prod(self.size))
        for place in self.offsets():
            start = sum(p * s for p, s in zip(place, self.steps, strict=True))
            yield line[:, :, start : start + self.count]

    def add(self, columns: Array, out: Array) -> None:
        """Add columns ``(N, C, kernel, count)`` to where their elements came from.

        Args:
            out: zeros ``(N, C, *size)``.
        """
        n, channels = out.shape[:2]
        if self.tiles:
            d = len(self.size)
            pairs = [m for pair in zip(self.out, self.kernel, strict=True) for m in pair]
            order = [m for k in range(d) for m in (2 + d + k, 2 + k)]
            parts = columns.reshape(n, channels, *self.kernel, *self.out)
            out.reshape(n, channels, *pairs)[...] = parts.transpose(0, 1, *order)
        else:
            self.add_each((columns[:, :, k] for k in range(columns.shape[2])), out)

    def add_each(self, rows: Iterable[Array], out: Array) -> None:
        """`add`, of the rows ``(N, C, count)`` for one element of the kernel after the other."""
        if self.flat:
            for piece, row in zip(self.shifted(out), rows, strict=True):
                np.add(piece, row, piece)
            return
        for place, row in zip(self.offsets(), rows, strict=True):
            piece = out[last(self.at(place))]
            np.add(piece, row.reshape(*out.shape[:2], *self.out), piece)

    def at(self, place: Ints) -> tuple[slice, ...]:
        """The elements of all windows at one place."""
        dims = zip(place, self.out, self.stride, strict=True)
        return tuple([slice(p, p + (o - 1) * s + 1, s) for p, o, s in dims])


windows = lru_cache(1024)(Windows)  # by sizes: models ask for the same ones again and again


def chunks(samples: int, each: int) -> Iterator[slice]:
    """Parts of a batch of which each sample needs ``each`` bytes."""
    step = max(1, CHUNK // max(each, 1))
    for start in range(0, samples, step):
        yield slice(start, start + step)
