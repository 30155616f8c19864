"""How far to go along a direction: a line search for the strong Wolfe conditions.

A function of the distance t is to fall enough for its slope at 0 (Armijo's condition, factor
`DECREASE`), and to be flat enough (the curvature condition, factor `FLATNESS`). From a first
guess the search goes further until two points enclose a good one, then narrows them down.

Reference:
    Nocedal and Wright, Numerical Optimization, 2006, algorithms 3.5 and 3.6; the interpolation is
    equation 3.59; the safeguards are those of Schmidt, minFunc, 2005, as in PyTorch.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

DECREASE, FLATNESS = 1e-4, 0.9
Number = Any  # a float, or a NumPy scalar of the parameters' dtype


class Point(NamedTuple):
    """A distance, and the function there: value, gradient, slope along the direction."""

    t: Number
    f: float
    g: np.ndarray
    slope: Number


def strong_wolfe(
    at: Callable[[Number], Point],
    start: Point,
    t: Number,
    length: Number,
    tolerance: float,
    evaluations: int,
) -> tuple[Point, int]:
    """Search for a distance that meets the strong Wolfe conditions.

    Args:
        at: evaluates the function at a distance.
        start: the point at distance 0.
        t: the first guess.
        length: the largest absolute value in the direction.
        tolerance: how much an element may still move when the search gives up.
        evaluations: how many there may be after the first one.

    Returns:
        The best point found, and how often the function was evaluated.
    """
    ends, done, steps = enclose(at, start, t, evaluations)
    low, high = by_value(ends)
    stuck = False
    while not done and steps < evaluations:
        left, right = sorted((ends[0].t, ends[1].t))
        if abs(ends[1].t - ends[0].t) * length < tolerance:
            break
        t, stuck = inside(lowest(ends[0], ends[1], left, right), left, right, stuck)
        point = at(t)
        steps += 1
        if too_high(point, start) or point.f >= ends[low].f:
            ends[high] = point
            low, high = by_value(ends)
            continue
        if flat(point, start):
            done = True
        elif point.slope * (ends[high].t - ends[low].t) >= 0:
            ends[high] = ends[low]
        ends[low] = point
    return ends[low], steps + 1


def enclose(
    at: Callable[[Number], Point], start: Point, t: Number, evaluations: int
) -> tuple[list[Point], bool, int]:
    """Go ahead until two points enclose a good one, or one is good.

    Returns:
        The points, whether there is a good one, and how many steps it took.
    """
    before, point = start, at(t)
    for step in range(evaluations):
        if too_high(point, start) or (step > 1 and point.f >= before.f):
            return [before, point], False, step
        if flat(point, start):
            return [point], True, step
        if point.slope >= 0:
            return [before, point], False, step
        least = t + 0.01 * (t - before.t)
        t = lowest(before, point, least, t * 10)
        before, point = point, at(t)
    return [start, point], False, evaluations


def too_high(point: Point, start: Point) -> bool:
    """Whether the function has not fallen enough."""
    return bool(point.f > start.f + DECREASE * point.t * start.slope)


def flat(point: Point, start: Point) -> bool:
    """Whether the slope is small enough."""
    return bool(abs(point.slope) <= -FLATNESS * start.slope)


def by_value(ends: list[Point]) -> tuple[int, int]:
    """Which of two points is the lower one, and which the higher."""
    return (0, 1) if ends[0].f <= ends[-1].f else (1, 0)


def lowest(a: Point, b: Point, least: Number, greatest: Number) -> Number:
    """Where the cubic through two points, with their slopes, is lowest within bounds."""
    rise = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t)
    square = rise**2 - a.slope * b.slope
    if not square >= 0:
        return (least + greatest) / 2.0
    root = np.sqrt(square)
    if a.t > b.t:
        a, b = b, a
    share = (b.slope + root - rise) / (b.slope - a.slope + 2 * root)
    return min(max(b.t - (b.t - a.t) * share, least), greatest)


def inside(t: Number, left: Number, right: Number, stuck: bool) -> tuple[Number, bool]:
    """Keep a distance away from the ends, at least every second time it comes close to one.

    Args:
        stuck: whether the distance before was too close, and was left there.

    Returns:
        The distance, and whether it is too close.
    """
    margin = 0.1 * (right - left)
    if not min(right - t, t - left) < margin:
        return t, False
    if not (stuck or t >= right or t <= left):
        return t, True
    return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
