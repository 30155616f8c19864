"""PyTorch's random numbers on the CPU, bit for bit, as NumPy arrays.

Elements are drawn in the order of a contiguous result. Filling an array of another layout in place
draws in the order of its memory (`memory_order`), and normals one by one (`Generator.normal`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core import random_checks as checks
from nanotorch._core.box_muller import (
    F64,
    fma32,
    fma64,
    libm,
    normal_pairs,
    normals32,
    normals64,
)
from nanotorch._core.shuffle import shuffled
from nanotorch._core.twister import Twister

if TYPE_CHECKING:  # numpy.typing imports for 1 ms
    from numpy.typing import DTypeLike

Array = np.ndarray
Shape = int | tuple[int, ...]

# Ranges from here on take 64 bits, lest the remainder of 32 be visibly uneven.
_WIDE_RANGE = 2**28


def memory_order(array: Array) -> Array:
    """A view of `array` with its axes sorted by stride: filling it in C order follows memory."""
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))


def _size(shape: Shape) -> int:
    return math.prod(shape) if isinstance(shape, tuple) else shape


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    """Convert as C++ does: from double to half by way of float."""
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.kind == "f" and dtype.itemsize == 2:
            values = values.astype(np.float32, copy=False)
        return values.astype(dtype, copy=False)


def _stretched(values: Array, dtype: np.dtype[Any], low: float, high: float) -> Array:
    """Uniform numbers of [0, 1) as numbers of `dtype` in [low, high)."""
    if dtype.itemsize == 8:
        values = fma64(values, high - low, low)
    else:
        start = np.float32(low)
        values = fma32(values, float(np.float32(high) - start), float(start))
    values = _cast(values, dtype)
    # Rounding may reach the end of the half-open range; such numbers go to its start.
    values[values == dtype.type(high)] = dtype.type(low)
    return values


class Generator(Twister):
    """A stream of random numbers: after `manual_seed(0)`, those PyTorch draws after it.

    The sampling methods are PyTorch's, with the shape and dtype of the result; the dtype of
    uniform and normal numbers also decides how many bits each takes from the stream.
    """

    def __init__(self, device: object = "cpu") -> None:
        if device is not None and str(device).partition(":")[0] != "cpu":
            raise RuntimeError(f"nanotorch runs on the CPU only; there is no device '{device}'")
        super().__init__()

    @property
    def device(self) -> Any:
        """Where the numbers are drawn: on the CPU."""
        return "cpu"

    def uniform(
        self, shape: Shape, dtype: DTypeLike = np.float32, low: float = 0.0, high: float = 1.0
    ) -> Array:
        """Uniform numbers in [low, high): `rand`, `uniform_`."""
        kind = checks.floating(dtype, "check_uniform_bounds")
        plain = (low, high) == (0.0, 1.0)
        if not plain:
            checks.uniform_range(low, high, kind)
        size = _size(shape)
        values: Array = self.uniform64(size) if kind.itemsize == 8 else self.uniform32(size)
        if not plain or kind.itemsize == 2:
            values = _stretched(values, kind, low, high)
        return values.reshape(shape)

    def normal(
        self,
        shape: Shape,
        dtype: DTypeLike = np.float32,
        mean: float = 0.0,
        std: float = 1.0,
        *,
        contiguous: bool = True,
    ) -> Array:
        """Normal numbers: `randn`, `normal_`.

        Fewer than 16 come in pairs of which one may wait for the next call, more in blocks of 16
        with other roundings. `contiguous=False` is for filling in place an array that is not, which
        takes pairs however many there are.
        """
        kind = checks.floating(dtype, "normal_kernel_cpu")
        checks.require(std >= 0.0, f"normal expects std >= 0.0, but found std {std:g}")
        size = _size(shape)
        if size < 16 or not contiguous:
            values: Array = fma64(self._normals_in_pairs(size), std, mean)
        elif kind.itemsize == 8:
            values = fma64(self._normals_in_blocks(size, kind), std, mean)
        else:
            normals = self._normals_in_blocks(size, kind)
            with np.errstate(over="ignore", invalid="ignore"):
                values = fma32(normals, float(np.float32(std)), float(np.float32(mean)))
        return _cast(values, kind).reshape(shape)

    def _normals_in_pairs(self, size: int) -> F64:
        if size == 0:
            return np.empty(0)
        waiting = [] if self._spare is None else [self._spare]
        pairs = (size + 1 - len(waiting)) // 2
        drawn = normal_pairs(self.uniform64(2 * pairs).reshape(pairs, 2))
        normals = np.concatenate([waiting, drawn.ravel()])
        self._spare = float(normals[size]) if len(normals) > size else None
        return normals[:size]

    def _normals_in_blocks(self, size: int, dtype: np.dtype[Any]) -> Array:
        """Blocks of 16, and for a ragged end one more block over the last 16 places."""
        full = size - size % 16
        # All places are filled with uniform numbers first, except in half precision, which turns
        # block after block into normals.
        filled = full if dtype.itemsize == 2 else size
        end = 16 if size % 16 else 0
        transform = normals64 if dtype.itemsize == 8 else normals32
        draw = self.uniform64 if dtype.itemsize == 8 else self.uniform32
        uniforms: Array = draw(filled + end)
        if filled != full:
            uniforms = np.concatenate([uniforms[:full], uniforms[filled:]])
        normals: Array = transform(uniforms.reshape(-1, 16)).ravel()
        if end:
            normals[size - 16 : size] = normals[full:].copy()
        return normals[:size]

    def integers(
        self, low: int, high: int | None, shape: Shape, dtype: DTypeLike = np.int64
    ) -> Array:
        """Integers in [low, high): `randint`, `random_(from, to)`.

        Without `high`, the range ends with the last integer up to which `dtype` has all.
        """
        kind = np.dtype(dtype)
        first, last = checks.integer_range(low, high, kind)
        span = last + 1 - first
        size = _size(shape)
        drawn = self.draw64(size) if span >= _WIDE_RANGE else self.draw32(size)
        if span < 2**64:
            drawn %= np.uint64(span)
            drawn += np.uint64(first % 2**64)
        return drawn.view(np.int64).astype(kind).reshape(shape)

    def naturals(self, shape: Shape, dtype: DTypeLike = np.int64) -> Array:
        """Integers from 0 to the last up to which `dtype` has all: `random_()`."""
        kind = np.dtype(dtype)
        size = _size(shape)
        drawn = self.draw64(size) if kind.itemsize == 8 else self.draw32(size)
        drawn %= np.uint64(checks.largest_count(kind) + 1)
        return drawn.astype(kind).reshape(shape)

    def permutation(self, n: int, dtype: DTypeLike = np.int64) -> Array:
        """The numbers 0 ... n - 1 shuffled: `randperm`."""
        kind = np.dtype(dtype)
        checks.permutation(n, kind)
        if n < 2:
            return np.zeros(n, kind)
        choices = np.arange(n, 1, -1, dtype=np.uint64)
        partners = (self.draw32(n - 1) % choices).astype(np.int64)
        partners += np.arange(n - 1)
        return shuffled(partners).astype(kind)

    def bernoulli(self, p: float | Array, shape: Shape, dtype: DTypeLike = np.float32) -> Array:
        """Ones with probability `p`, else zeros: `bernoulli`, `bernoulli_` and dropout's mask.

        A number `p` is compared with 53 random bits; an array with 53 where it holds doubles and
        with 24 where not. Dropout keeps the elements where `bernoulli(1 - p)` is one.
        """
        size = _size(shape)
        if isinstance(p, np.ndarray):
            checks.floating(p.dtype, "bernoulli_tensor_cpu_p_")
            checks.require(
                bool(((p >= 0) & (p <= 1)).all()),
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                "message be improved?  If so, please report an enhancement request to PyTorch.)",
            )
            drawn: Array = self.uniform64(size) if p.itemsize == 8 else self.uniform32(size)
        else:
            checks.require(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
            drawn = self.uniform64(size)
        return np.asarray(drawn.reshape(shape) < p, dtype)  # what NumPy compares to may be a scalar

    def exponential(self, shape: Shape, dtype: DTypeLike = np.float32, rate: float = 1.0) -> Array:
        """Exponentially distributed numbers: `exponential_`."""
        kind = checks.continuous(dtype, "Exponential")
        checks.require(rate > 0.0, f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
        values = -1.0 / rate * libm(math.log1p, -self.uniform64(_size(shape)))
        return _cast(values, kind).reshape(shape)

    def geometric(self, p: float, shape: Shape, dtype: DTypeLike = np.float32) -> Array:
        """How many trials until the first success of probability `p`: `geometric_`."""
        checks.require(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p:g}")
        # Zero, which has no logarithm, is as good as never drawn.
        uniforms = np.maximum(self.uniform64(_size(shape)), 2.0**-54)
        values = np.ceil(libm(math.log, uniforms) / math.log1p(-p))
        return _cast(values, np.dtype(dtype)).reshape(shape)

    def cauchy(
        self, shape: Shape, dtype: DTypeLike = np.float32, median: float = 0.0, sigma: float = 1.0
    ) -> Array:
        """Cauchy distributed numbers: `cauchy_`."""
        kind = checks.continuous(dtype, "Cauchy")
        checks.require(sigma > 0.0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
        angles = math.pi * (self.uniform64(_size(shape)) - 0.5)
        return _cast(fma64(libm(math.tan, angles), sigma, median), kind).reshape(shape)

    def log_normal(
        self, shape: Shape, dtype: DTypeLike = np.float32, mean: float = 1.0, std: float = 2.0
    ) -> Array:
        """Numbers whose logarithm is normal: `log_normal_`."""
        kind = checks.floating(dtype, "log_normal_cpu")
        checks.require(std > 0.0, f"log_normal_ expects std > 0.0, but found std={std:g}")
        exponents = fma64(self._normals_in_pairs(_size(shape)), std, mean)
        largest = math.log(float(np.finfo(np.float64).max))  # `math.exp` refuses to overflow.
        values = libm(math.exp, np.minimum(exponents, largest))
        return _cast(np.where(exponents > largest, np.inf, values), kind).reshape(shape)

    def multinomial(self, weights: Array, num_samples: int, replacement: bool = False) -> Array:
        """Indices drawn with probabilities proportional to `weights`: `multinomial`.

        Shape: `weights` (N,) or (B, N) to (num_samples,) or (B, num_samples), int64.
        """
        checks.weights(weights, num_samples, replacement)
        if not replacement or num_samples == 1:
            # The largest of w / e, e exponential, is the first of a race with rates w.
            race = self.exponential(weights.shape, weights.dtype)
            with np.errstate(divide="ignore", invalid="ignore"):
                race = weights / race
            return np.argsort(-race, axis=-1, kind="stable")[..., :num_samples].copy()
        rows = weights.reshape(-1, weights.shape[-1])
        total = np.float64 if weights.itemsize == 8 else np.float32
        picked = np.empty((len(rows), num_samples), np.int64)
        for row, into in zip(rows, picked, strict=True):
            sums: Array = np.cumsum(row, dtype=total)
            into[:] = np.searchsorted(sums / sums[-1], self.uniform64(num_samples))
        return picked.reshape(*weights.shape[:-1], num_samples)


class InMemoryOrder:
    """A stream that draws as for filling an array in place that is not contiguous.

    Args:
        generator: to draw from; None for the default one.
        array: what has the shape and the layout of the results.
    """

    def __init__(self, generator: Any, array: Array) -> None:
        self.generator, self.array = generator, array

    def laid(self, draw: Callable[..., Array], shape: Shape, dtype: DTypeLike) -> Array:
        """Numbers in the order of the memory, where they are for the array's shape."""
        if shape != self.array.shape:
            return draw(shape, dtype)
        out = np.empty_like(self.array, dtype)
        target = memory_order(out)
        target[...] = draw(target.shape, dtype)
        return out

    def uniform(self, shape: Shape, dtype: DTypeLike) -> Array:
        """See `Generator.uniform`."""
        return self.laid(self.generator.uniform, shape, dtype)

    def normal(self, shape: Shape, dtype: DTypeLike, mean: float = 0.0, std: float = 1.0) -> Array:
        """See `Generator.normal`."""
        one_by_one = shape == self.array.shape
        draw = partial(self.generator.normal, mean=mean, std=std, contiguous=not one_by_one)
        return self.laid(draw, shape, dtype)

    def integers(self, low: int, high: int | None, shape: Shape, dtype: DTypeLike) -> Array:
        """See `Generator.integers`."""
        return self.laid(partial(self.generator.integers, low, high), shape, dtype)

    def bernoulli(self, p: float | Array, shape: Shape, dtype: DTypeLike) -> Array:
        """See `Generator.bernoulli`."""
        if isinstance(p, np.ndarray) and shape == self.array.shape:
            held = np.empty_like(self.array, p.dtype)
            held[...] = p
            p = memory_order(held)
        return self.laid(partial(self.generator.bernoulli, p), shape, dtype)
