"""Samples of several reductions at once, covariance, quantiles, running results, differences."""

from math import inf, nan
from typing import Any

from tests.ops.sampling import (
    Dtype,
    Row,
    Sample,
    Table,
    at,
    bad,
    bools,
    fixed,
    given,
    ints,
    kink,
    pos,
    prob,
    rows,
    s,
    x,
)

F64, F32 = Dtype("float64"), Dtype("float32")
ZEROS = at([0.0, 2.0, 3.0], [0.0, 1.0, 0.0], [1.5, 2.5, 3.5])


def spread_and_mean() -> Row:
    """Samples of `var_mean` and `std_mean`."""
    return rows(
        s(x(2, 3)), s(x(2, 3, 4), 1), s(x(2, 3, 4), (0, 2), keepdim=True), s(x(2, 3), 1, False),
        s(x(2, 3), False), s(x(2, 4), dim=1, correction=2), s(x(2, 4), dim=None, correction=0),
        kink(x()), bad(ints(3)), bad(x(2, 3), 2),
    )  # fmt: skip


def counted(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The counts and the edges of a histogram, which has no gradient."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple) and hasattr(value[0], "detach"):
            return tuple(one.detach() for one in value)
        return value.detach() if hasattr(value, "detach") else value

    hist, edges = function(*map(plain, args), **{k: plain(v) for k, v in options.items()})
    return hist, *(edges if isinstance(edges, tuple) else (edges,))


def share(*more: Sample) -> Row:
    """Samples of `quantile` and `nanquantile`."""
    return rows(
        s(x(2, 3), 0.4),
        s(x(2, 3), 0.4, 1),
        s(x(2, 3, 4), 0.75, 1, True),
        s(x(2, 3), 0.25, keepdim=True),
        s(x(2, 3), fixed(0.1, 0.5, 1.0), 1, True),
        s(x(2, 3), fixed(0.1, 0.5), 0),
        s(x(2, 3), prob(2)),
        s(x(2, 3), prob(2), keepdim=True),
        s(x(2, 3), prob(), 1),
        s(x(), 0.5),
        s(x(), 0.5, 0, True),
        s(x(3), 0, 0),
        *[
            s(x(2, 5), 0.4, 1, interpolation=word)
            for word in ("lower", "higher", "nearest", "midpoint")
        ],
        s(x(2, 5), 0.5, interpolation="midpoint"),
        bad(x(3), 0.4, interpolation="middle"),
        bad(x(3), 1.5),
        bad(x(3), fixed(1.5)),
        bad(x(3), fixed([0.5])),
        bad(x(3), given([0.5], "float16")),
        bad(ints(3), 0.5),
        bad(x(0), 0.5),
        bad(x(3), 0.5, 1),
        *more,
        nodes=False,
    )


def running_extremum() -> Row:
    """Samples of `cummax` and `cummin`."""
    return rows(
        s(x(5), 0), s(x(2, 3, 4), 1), s(x(2, 3), -1), s(x(), 0), s(x(0), 0), s(ints(6), 0),
        s(bools(5), 0), s(given([1, 2, 2, 0, 2]), 0), kink(at(1.0, nan, 2.0, nan, 3.0), 0),
        kink(at(1.0, 1.0, 2.0, 0.0, 2.0, 0.0), 0), bad(x(3), 1),
    )  # fmt: skip


STATISTICS: Table = {
    "nansum": rows(
        s(x(2, 3)), s(x(2, 3), 1), s(x(2, 3, 4), (0, 2), True), s(x()), s(x(0)), s(ints(3)),
        s(bools(3)), s(x(2, 3), dtype=F64), s(ints(3), dtype=F32),
        kink(at([1.0, nan, 2.0], [nan, nan, nan]), 1), kink(at(nan, inf)), bad(x(2), 1),
    ),
    "nanmean": rows(
        s(x(2, 3)), s(x(2, 3), 1, True), s(x(2, 3), dtype=F64),
        kink(at([1.0, nan, 2.0], [nan, 3.0, nan]), 1), kink(at(nan)), kink(x(0)), bad(ints(3)),
    ),
    "aminmax": rows(
        s(x(2, 3)), s(x(2, 3, 4), dim=1), s(x(2, 3), dim=0, keepdim=True), s(x(2, 3), keepdim=True),
        s(x()), s(x(), dim=0, keepdim=True), s(ints(4)), s(bools(4)), kink(at(1.0, 1.0, 2.0, 2.0)),
        kink(at(1.0, nan)), bad(x(0)), bad(x(2, 0), dim=1), bad(x(3), dim=1),
    ),
    "aminmax().max": rows(s(x(2, 3)), call=lambda torch, a: torch.aminmax(a).max),
    "var_mean": spread_and_mean(),
    "std_mean": spread_and_mean(),
    "mean of var_mean": rows(s(x(2, 3), 1), call=lambda torch, a, d: torch.var_mean(a, d)[1]),
    "cov": rows(
        s(x(2, 3)), s(x(2, 3), correction=0), s(x(3, 4), fweights=given([1, 2, 1, 3])),
        s(x(3, 4), aweights=pos(4)), s(x(3, 4), fweights=given([1, 2, 1, 3]), aweights=pos(4)),
        s(x(3, 4), aweights=fixed(0.5, 0.25, 1.0, 2.0), correction=0), s(x(4)), s(ints(2, 3)),
        bad(x(2, 2, 2)), bad(x(2, 3), fweights=fixed(1.0, 2.0, 1.0)),
        bad(x(2, 3), fweights=given([1, 2])), bad(x(2, 3), fweights=given([1, -2, 1])),
        bad(x(2, 3), fweights=given([[1, 2, 1]])), bad(x(2, 3), aweights=ints(3)), nodes=False,
    ),
    "corrcoef": rows(
        s(x(2, 3)), kink(x(4)), s(ints(2, 3)), bad(x(2, 2, 2)), nodes=False, kinks=False
    ),
    "quantile": share(
        kink(at([1.0, nan, 2.0], [3.0, 1.0, 2.0]), 0.4, 1), kink(at(1.0, 1.0, 2.0), 0.25)
    ),
    "nanquantile": share(
        kink(at([1.0, nan, 2.0], [3.0, 1.0, 2.0]), 0.4, 1), kink(at(nan, nan), 0.5)
    ),
    "cumprod": rows(
        s(x(4), 0), s(x(2, 3, 4), 1), s(x(2, 3), -1), s(x(), 0), s(x(2, 0), 1), s(ints(5), 0),
        s(bools(5), 0), s(ints(3), 0, dtype=F32), s(x(3), 0, dtype=F64), s(ZEROS, 1), s(ZEROS, 0),
        s(at(0.0), 0), bad(x(2, 3), 2),
    ),
    "cumprod_": rows(s(x(2, 3), 1), s(ZEROS, 1), s(ints(3), 0), bad(x(3), 1)),
    "cummax": running_extremum(),
    "cummin": running_extremum(),
    "others_slope": rows(s(x(4), pos(4)), s(x(2, 3), pos(2, 3)), torch=None),
    "diff": rows(
        s(x(4)), s(x(2, 3), 2), s(x(3, 2), 1, 0), s(x(2, 3), 1, 0, x(1, 3), x(2, 3)),
        s(x(2, 3), append=x(2, 1)), s(x(2, 3), 5), s(x(2, 3), 0), s(x(0)), s(bools(5)), s(ints(4)),
        bad(x()), bad(x(3), -1), bad(x(3), 1, 1),
    ),
    "trapezoid": rows(
        s(x(4)), s(x(2, 3)), s(x(2, 3), x(3)), s(x(2, 3), x(2, 3), dim=0), s(x(2, 3), dx=2),
        s(x(2, 3), dx=0.5, dim=0), s(x(2, 3, 4), x(3), dim=1), s(x(2, 0)), s(ints(4)),
        bad(x(2, 3), x(2)), nodes=False,
    ),
    "trapz": rows(s(x(2, 3)), s(x(2, 3), x(3)), s(x(2, 3), dx=2), nodes=False),
    "cumulative_trapezoid": rows(
        s(x(4)), s(x(2, 3), x(3)), s(x(2, 3), x(2, 3), dim=0), s(x(2, 3), dx=0.5, dim=0),
        bad(x(2, 3), x(2)), nodes=False,
    ),
    "histogram": rows(
        s(x(9), 3), s(x(3, 4)), s(x(9), bins=4, range=(-1.0, 2)), s(x(9), 4, weight=pos(9)),
        s(x(9), 4, density=True), s(x(9), fixed(-2.0, 0.0, 1.0)), s(x(0), 3), s(fixed(1.0, 1.0), 3),
        bad(ints(3), 3), bad(x(3), 0), bad(x(3), 3, range=(2.0, 1.0)), bad(x(3), 3, range=(1.0,)),
        bad(fixed(1.0, nan), 3), bad(x(3), 3, weight=x(2)), bad(x(3), ints(3)),
        bad(x(3), 3, weight=given([1.0, 2.0, 3.0], "float16")), bad(x(3), fixed(1.0)),
        bad(x(3), 2.5), bad(x(3), True), bad(x(3), fixed(0.0, 1.0), range=(0.0, 1.0)),
        bad(x(3), 2, weight=1.0), bad(x(3), fixed([1.0, 2.0])),
        call=lambda torch, *args, **options: counted(torch.histogram, args, options),
    ),
}  # fmt: skip
