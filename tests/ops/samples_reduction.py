"""Samples of sums, means, extrema, norms, cumulative operations and sorting."""

from collections.abc import Callable
from math import inf, nan

from tests.ops.sampling import (
    Dtype,
    Row,
    Sample,
    Table,
    at,
    bad,
    bools,
    given,
    ints,
    kink,
    rows,
    s,
    x,
)

F64, F32, INT = Dtype("float64"), Dtype("float32"), Dtype("int64")


def over_dims(
    *more: Sample, integers: bool = True, empty: bool = True, alone: Callable[..., Sample] = s
) -> Row:
    """Samples of a reduction over all, one or several dimensions, kept or not.

    Args:
        alone: how a single number or none is sampled: `kink` if the result is nan.
    """
    samples = [
        s(x(2, 3)), alone(x()), s(x(2, 3, 4), 1), s(x(2, 3, 4), -1, True),
        s(x(2, 3), dim=0, keepdim=True), s(x(2, 3, 4), (0, 2)),
        s(x(2, 3, 4), [0, -1], keepdim=True), alone(x(), 0), alone(x(), -1, True), bad(x(2, 3), 2),
        bad(x(2, 3), (0, 0)), bad(x(2, 3), -3),
    ]  # fmt: skip
    if empty:
        samples += [alone(x(0)), alone(x(2, 0), 1), s(x(2, 0, 3), 0)]
    if integers:
        samples += [s(ints(2, 3)), s(ints(2, 3, dtype="int32"), 1), s(bools(4)), s(bools(2, 3), 0)]
    return Row((*samples, *more))


def extremum() -> Row:
    """Samples of `max` and `min`: all elements, along a dimension with indices, of two tensors."""
    return rows(
        s(x(2, 3)), s(x()), s(ints(4)), s(bools(3)), s(x(2, 3, 4), 1),
        s(x(2, 3, 4), -1, keepdim=True), s(x(2, 3), dim=0), s(x(), 0), s(ints(2, 3), 1),
        s(x(2, 0), 0), s(x(2, 3), x(3)), s(ints(3), x(3)), kink(at(1.0, 3.0, 3.0, 2.0)),
        kink(at([1.0, 3.0, 3.0], [2.0, 2.0, 2.0]), 1), kink(at(1.0, nan, 3.0)),
        kink(at([1.0, nan, 3.0]), 1), bad(x(0)), bad(x(2, 0), 1), bad(x(2, 3), 2),
    )  # fmt: skip


def position() -> Row:
    """Samples of `argmax` and `argmin`: the first of equal ones."""
    return rows(
        s(x(2, 3)), s(x(2, 3, 4), 1), s(x(2, 3), -1, True), s(x(2, 3), dim=0), s(x()),
        s(ints(2, 6), 1), s(given([2, 1, 1, 2])), s(at(1.0, nan, 3.0)), s(x(2, 0), 0), bad(x(0)),
        bad(x(2, 0), 1), bad(x(2, 3), 2),
    )  # fmt: skip


def cumulative(*more: Sample) -> Row:
    """Samples of a cumulative operation along a dimension."""
    return rows(
        s(x(4), 0), s(x(2, 3, 4), 1), s(x(2, 3), -1), s(x(), 0), s(x(2, 0), 1), s(ints(5), 0),
        s(bools(5), 0), s(ints(3, dtype="int32"), 0), bad(x(2, 3), 2), *more,
    )  # fmt: skip


def spreading() -> Row:
    """Samples of `var` and `std`, with the correction of the count."""
    return over_dims(
        s(x(2, 3), 1, unbiased=False), s(x(2, 3), unbiased=False),
        s(x(2, 3, 4), (0, 2), unbiased=True, keepdim=True), s(x(2, 4), 1, correction=2),
        s(x(2, 4), 1, correction=0), s(x(3, 4), dim=None, correction=0), bad(ints(3)),
        integers=False, empty=False, alone=kink,
    )  # fmt: skip


TYPED = (s(x(2, 3), dtype=F64), s(ints(2, 3), dtype=F32), s(ints(2, 3), 1, dtype=F64))

REDUCTION: Table = {
    "sum": over_dims(*TYPED, s(ints(3), dtype=INT), kink(at(inf, 1.0, nan))),
    "mean": over_dims(*TYPED, bad(ints(3)), bad(bools(2, 2), 1), integers=False, alone=kink),
    "prod": rows(
        s(x(2, 3)),
        s(x()),
        s(x(0)),
        s(x(2, 3, 4), 1),
        s(x(2, 3), -1, True),
        s(x(), 0),
        s(x(2, 0), 1),
        s(ints(4)),
        s(bools(4)),
        s(ints(2, 3, dtype="int32"), 1),
        s(ints(3), dtype=F64),
        s(at(0.0, 2.0, 3.0)),
        s(at(0.0, 2.0, 0.0)),
        s(at([0.0, 2.0, 3.0], [0.0, 1.0, 0.0], [1.5, 2.5, 3.5]), 1),
        bad(x(2, 3), 2),
    ),
    "var": spreading(),
    "std": spreading(),
    "max": extremum(),
    "min": extremum(),
    "amax": over_dims(
        kink(at([1.0, 3.0, 3.0], [2.0, 2.0, 2.0]), 1),
        kink(at(1.0, 1.0, 1.0)),
        kink(at(1.0, nan)),
        s(ints(2, 3), 1),
        bad(x(0)),
        integers=False,
        empty=False,
    ),
    "amin": over_dims(
        kink(at([1.0, 1.0, 3.0], [2.0, 2.0, 2.0]), 1),
        kink(at(1.0, nan)),
        s(ints(2, 3), 1),
        bad(x(0)),
        integers=False,
        empty=False,
    ),
    "argmax": position(),
    "argmin": position(),
    "all": rows(
        s(bools(2, 3)), s(bools(0)), s(bools(2, 3), 1), s(x(3)), s(ints(2, 4), 0, True), s(bools())
    ),
    "any": rows(
        s(bools(2, 3)), s(bools(0)), s(bools(2, 3), 1), s(x(3)), s(ints(2, 4), 0, True), s(bools())
    ),
    "count_nonzero": rows(s(ints(2, 6)), s(ints(2, 6), 1), s(x(0))),
    "cumsum": cumulative(s(x(3), 0, dtype=F64), s(ints(3), 0, dtype=F32)),
    "logsumexp": rows(
        s(x(4), 0),
        s(x(2, 3, 4), 1),
        s(x(2, 3), -1, True),
        s(x(2, 3, 4), (0, 2)),
        s(x(), 0),
        s(x(3, 0), 0),
        s(ints(3), 0),
        kink(at(1000.0, 999.0), 0),
        kink(at(-inf, -inf), 0),
        kink(at(inf, 1.0), 0),
        bad(x(2, 3), 2),
    ),
    "norm": rows(
        s(x(2, 3)),
        s(x(2, 3), 2, 1),
        s(x(2, 3), 1),
        s(x(2, 3), 3, 0),
        s(x(2, 3), inf, 1),
        s(x(2, 3, 4), 2, (0, 2), True),
        s(x()),
        s(x(2, 3), p=2, dim=-1, keepdim=True),
        s(x(3), 0),
        s(x(4), -inf),
        s(x(2, 3), "fro"),
        kink(at(0.0, 0.0)),
        kink(at(0.0, 1.0), 1),
        kink(at([0.0, 0.0], [1.0, 0.0]), 2, 1),
        kinks=False,
    ),
    # Of our own, met in second derivatives only.
    "take_along": rows(s(x(2, 3), given([[1], [0]]), 1, 3), torch=None),
    "rows_without_one": rows(s(x(3)), s(x(2, 3)), torch=None),
    "without_diagonal": rows(s(x(3, 3)), s(x(2, 3, 3)), torch=None),
}
