"""Random counts: Poisson's and binomial ones.

Each count takes numbers from the stream until it accepts one, so they are made one by one.

Reference:
    Hörmann, The Transformed Rejection Method for Generating Poisson Random Variables, 1993;
    The Generation of Binomial Random Variates, 1993.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import length_hint

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_functions import under_vmap
from nanotorch._core.op import public
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import need_tensors
from nanotorch.ops.drawing import by_values
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.generator import Generator, stream
from nanotorch.ops.random import recorded
from nanotorch.ops.random_fill import zero_gradient

POISSON = zero_gradient("PoissonBackward0")
Draw = Callable[[], float]
AHEAD = 4096  # numbers that are drawn at once, at most


@contextmanager
def numbers_of(generator: Generator | None, size: int) -> Iterator[Draw]:
    """A function that takes one number in [0, 1) from a stream, for ``size`` counts.

    They are drawn ahead, many at once; those that nobody took are given back in the end.
    """
    source = stream(generator)
    count = min(8 * (size + 1), AHEAD)
    state, block = source.get_state(), iter(())

    def numbers() -> Iterator[float]:
        nonlocal state, block
        while True:
            state = source.get_state()
            block = iter(source.uniform64(count).tolist())
            yield from block

    try:
        yield numbers().__next__
    finally:
        left = length_hint(block)
        if left:
            source.set_state(state)
            source.uniform64(count - left)


def poisson_count(rate: float, draw: Draw) -> float:
    """A Poisson count of a rate."""
    if rate == 0:
        return 0.0
    if rate < 10:
        limit, product, count = math.exp(-rate), 1.0, 0
        while True:
            product *= draw()
            if product <= limit:
                return float(count)
            count += 1
    slope = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * slope
    inverse_alpha, ratio = 1.1239 + 1.1328 / (slope - 3.4), 0.9277 - 3.6224 / (slope - 2)
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + slope) * u + rate + 0.43)
        if us >= 0.07 and v <= ratio:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        height = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + slope)
        if height <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return float(k)


@public
@under_vmap(by_values, random=True)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson counts with the rates in ``input``, in its shape and dtype.

    Args:
        generator: to draw from. Default: the default generator.

    Raises:
        RuntimeError: for a negative rate.
        NotImplementedError: for rates of a dtype that is not a floating-point one.
    """
    need_tensors(input)
    rates = input._array
    if rates.dtype.kind != "f":
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{input.dtype.char}'")
    counts = []
    with numbers_of(generator, rates.size) as draw:
        for rate in rates.ravel().tolist():
            if not rate >= 0:
                raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
            counts.append(poisson_count(rate, draw))
    out = np.array(counts, rates.dtype).reshape(rates.shape)
    return recorded(wrap(out), POISSON, input)


def stirling_rest(k: float) -> float:
    """What Stirling's formula lacks of the logarithm of the factorial of ``k``."""
    if k <= 9:
        formula = 0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - (k + 1)
        return math.lgamma(k + 1) - formula
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def by_gaps(count: float, chance: float, draw: Draw) -> float:
    """A binomial count by the distances between successes: for few of them."""
    total, found, scale = 0.0, 0, math.log1p(-chance)
    while True:
        u = draw()
        total += math.ceil(math.log(u) / scale) if u > 0 else math.inf
        if total > count:
            return float(found)
        found += 1


def by_rejection(count: float, chance: float, draw: Draw) -> float:
    """A binomial count by transformed rejection: for many successes."""
    deviation = math.sqrt(count * chance * (1 - chance))
    b = 1.15 + 2.53 * deviation
    a, c = -0.0873 + 0.0248 * b + 0.01 * chance, count * chance + 0.5
    alpha, ratio = (2.83 + 5.1 / b) * deviation, 0.92 - 4.2 / b
    m, odds = math.floor((count + 1) * chance), chance / (1 - chance)
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c)
        if us >= 0.07 and v <= ratio:
            return float(k)
        if k < 0 or k > count:
            continue
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + stirling_rest(m)
            + stirling_rest(count - m)
            - stirling_rest(k)
            - stirling_rest(count - k)
        )
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


def binomial_count(count: float, chance: float, draw: Draw) -> float:
    """How many of ``count`` trials succeed."""
    if count <= 0 or chance <= 0:
        return 0.0
    if chance >= 1:
        return count
    if math.isnan(chance) or math.isnan(count):
        return math.nan
    rarer = min(chance, 1 - chance)
    found = (by_rejection if count * rarer >= 10 else by_gaps)(count, rarer, draw)
    return found if chance <= 0.5 else count - found


@public
@under_vmap(by_values, random=True)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of ``count`` trials succeed, each with the chance ``prob``; both broadcast.

    Args:
        generator: to draw from. Default: the default generator.

    Returns:
        counts in the dtype of ``count``, which have no gradient.

    Raises:
        ValueError: for counts of a dtype that is not a floating-point one.
        RuntimeError: unless both have one dtype.
    """
    need_tensors(count, prob)
    n, p = count._array, prob._array
    if n.dtype.kind != "f":
        raise ValueError(
            "binomial only supports floating-point dtypes for count, got: "
            f"{dtypes.of_array(n).char}"
        )
    if n.dtype != p.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype.char} but expected {count.dtype.char}")
    shape = common_shape(n.shape, p.shape)
    n, p = np.broadcast_to(n, shape), np.broadcast_to(p, shape)
    pairs = zip(n.ravel().tolist(), p.ravel().tolist(), strict=True)
    with numbers_of(generator, n.size) as draw:
        counts = [binomial_count(trials, chance, draw) for trials, chance in pairs]
    return wrap(np.array(counts, n.dtype).reshape(shape))
