"""Samples of sums, means, extrema, norms, statistics, cumulative operations and sorting."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

from tests.ops.sampling import (
    Dtype,
    Input,
    Row,
    Sample,
    Table,
    alike,
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
        s(x(2, 3)), s(x()), s(x(0)), s(x(2, 3, 4), 1), s(x(2, 3), -1, True), s(x(), 0),
        s(x(2, 0), 1), s(ints(4)), s(bools(4)), s(ints(2, 3, dtype="int32"), 1),
        s(ints(3), dtype=F64), s(at(0.0, 2.0, 3.0)), s(at(0.0, 2.0, 0.0)),
        s(at([0.0, 2.0, 3.0], [0.0, 1.0, 0.0], [1.5, 2.5, 3.5]), 1), bad(x(2, 3), 2),
    ),
    **alike("var std", spreading()),
    **alike("max min", extremum()),
    "amax": over_dims(
        kink(at([1.0, 3.0, 3.0], [2.0, 2.0, 2.0]), 1), kink(at(1.0, 1.0, 1.0)), kink(at(1.0, nan)),
        s(ints(2, 3), 1), bad(x(0)), integers=False, empty=False,
    ),
    "amin": over_dims(
        kink(at([1.0, 1.0, 3.0], [2.0, 2.0, 2.0]), 1), kink(at(1.0, nan)), s(ints(2, 3), 1),
        bad(x(0)), integers=False, empty=False,
    ),
    **alike("argmax argmin", position()),
    **alike(
        "all any",
        rows(
            s(bools(2, 3)), s(bools(0)), s(bools(2, 3), 1), s(x(3)), s(ints(2, 4), 0, True),
            s(bools()),
        ),
    ),
    "count_nonzero": rows(s(ints(2, 6)), s(ints(2, 6), 1), s(x(0))),
    "cumsum": cumulative(s(x(3), 0, dtype=F64), s(ints(3), 0, dtype=F32)),
    "logsumexp": rows(
        s(x(4), 0), s(x(2, 3, 4), 1), s(x(2, 3), -1, True), s(x(2, 3, 4), (0, 2)), s(x(), 0),
        s(x(3, 0), 0), s(ints(3), 0), kink(at(1000.0, 999.0), 0), kink(at(-inf, -inf), 0),
        kink(at(inf, 1.0), 0), bad(x(2, 3), 2),
    ),
    "norm": rows(
        s(x(2, 3)), s(x(2, 3), 2, 1), s(x(2, 3), 1), s(x(2, 3), 3, 0), s(x(2, 3), inf, 1),
        s(x(2, 3, 4), 2, (0, 2), True), s(x()), s(x(2, 3), p=2, dim=-1, keepdim=True), s(x(3), 0),
        s(x(4), -inf), s(x(2, 3), "fro"), kink(at(0.0, 0.0)), kink(at(0.0, 1.0), 1),
        kink(at([0.0, 0.0], [1.0, 0.0]), 2, 1), kinks=False,
    ),
    # Of our own, met in second derivatives only.
    "take_along": rows(s(x(2, 3), given([[1], [0]]), 1, 3), torch=None),
    "rows_without_one": rows(s(x(3)), s(x(2, 3)), torch=None),
    "without_diagonal": rows(s(x(3, 3)), s(x(2, 3, 3)), torch=None),
}  # fmt: skip


ZEROS = at([0.0, 2.0, 3.0], [0.0, 1.0, 0.0], [1.5, 2.5, 3.5])


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
    **alike(
        "var_mean std_mean",
        rows(
            s(x(2, 3)), s(x(2, 3, 4), 1), s(x(2, 3, 4), (0, 2), keepdim=True), s(x(2, 3), 1, False),
            s(x(2, 3), False), s(x(2, 4), dim=1, correction=2), s(x(2, 4), dim=None, correction=0),
            kink(x()), bad(ints(3)), bad(x(2, 3), 2),
        ),
    ),
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
    **alike(
        "cummax cummin",
        rows(
            s(x(5), 0), s(x(2, 3, 4), 1), s(x(2, 3), -1), s(x(), 0), s(x(0), 0), s(ints(6), 0),
            s(bools(5), 0), s(given([1, 2, 2, 0, 2]), 0), kink(at(1.0, nan, 2.0, nan, 3.0), 0),
            kink(at(1.0, 1.0, 2.0, 0.0, 2.0, 0.0), 0), bad(x(3), 1),
        ),
    ),
    "logcumsumexp": rows(
        s(x(4), 0), s(x(2, 3, 4), 1), s(x(2, 3), -1), s(x(), 0), s(x(0, 2), 0),
        s(x(5, domain="wide"), 0), kink(at(1000.0, 999.0, -1000.0), 0), kink(at(0.0, -inf, 1.0), 0),
        kink(at(1.0, nan, 2.0), 0), bad(ints(3), 0), bad(bools(3), 0), bad(x(2, 3), 2), kinks=False,
    ),
    "gradient": rows(
        s(x(4)), s(x(2, 3)), s(x(2, 3, 4), dim=1), s(x(3, 4), dim=(1, 0)), s(x(3, 4), spacing=2),
        s(x(3, 4), spacing=(0.5, 2.0)), s(x(3, 4), spacing=(x(3), x(4))), s(x(4), edge_order=2),
        s(x(3, 4), spacing=[x(4)], dim=-1, edge_order=2), s(ints(5)), s(x()), s(x(2, 3), dim=()),
        s(ints(4), spacing=(given([0, 1, 3, 4]),)), s(x(3), spacing=x(grad=False)),
        bad(x(2), edge_order=2), bad(x(3), edge_order=3), bad(x(1)), bad(x(3, 3), dim=(0, 0)),
        bad(x(3), dim=1), bad(x(3, 3), spacing=(1.0,)), bad(x(3, 3), spacing=(1.0, 2.0), dim=0),
        bad(x(3), spacing=(x(1, 3),)), bad(ints(3, dtype="uint8")), nodes=False,
    ),
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


WITH_NAN = (nan, 1.0, inf, nan, -1.0)
# Ties, none of which reaches over the middle: PyTorch leaves open which of two it picks.
NUMBERS = given([[3, 1, 2], [1, 1, 0], [3, 1, 2]])


SORTING: Table = {
    "sort": rows(
        s(x(5)), s(x(2, 3, 4), 1), s(x(2, 3), 0, True), s(x(2, 3), stable=True),
        s(x(2, 3), stable=False), s(x(2, 3), dim=1, descending=True, stable=True), s(x()),
        s(x(), 0, True), s(x(0)), s(x(2, 0), 0), s(NUMBERS), s(NUMBERS, 0, True), s(bools(5)),
        s(bools(5), descending=True), s(ints(5, dtype="uint8"), -1, True), kink(at(*WITH_NAN)),
        kink(at(*WITH_NAN), descending=True), kink(at(1.0, 0.0, -0.0, 1.0, 0.0)),
        kink(at(1.0, 0.0, -0.0, 1.0, 0.0), 0, True), bad(x(2, 3), 2),
    ),
    "argsort": rows(
        s(x(2, 3)), s(x(2, 3), 0, True), s(NUMBERS, dim=0, stable=True),
        s(fixed(*WITH_NAN), descending=True), s(x()), bad(x(2), 1),
    ),
    "topk": rows(
        s(x(5), 2), s(x(2, 3), 2, 0, False), s(x(2, 3, 4), 2, 1), s(x(2, 3), 0),
        s(x(2, 3), 3, largest=False), s(x(4), k=1, sorted=False), s(x(), 1),
        s(given([4, 1, 3, 0]), 2), kink(at(*WITH_NAN), 3), kink(at(*WITH_NAN), 3, largest=False),
        bad(x(2, 3), 4), bad(x(3), -1), bad(x(), 2), bad(x(3), 1.5), bad(bools(3), 1),
        bad(x(3), 1, 1),
    ),
    "kthvalue": rows(
        s(x(5), 2), s(x(2, 3), 1, 0, True), s(x(2, 3, 4), 3, 1), s(x(2, 0), 1, 0), s(x(), 1),
        s(given([4, 1, 3, 0]), 4), kink(at(nan, 1.0, inf, 2.0, -1.0), 5), bad(x(2, 3), 4),
        bad(x(3), 0), bad(x(), 2), bad(x(0), 1), bad(bools(3), 1),
    ),
    "median": rows(
        s(x(5)), s(x(2, 3)), s(x()), s(fixed()), s(ints(2, 2)), s(x(2, 3), 1), s(x(2, 4), 1),
        s(x(2, 3), 0, True), s(x(2, 3), dim=-2, keepdim=True), s(x(), 0), s(x(0, 2), 1),
        s(given([4, 1, 3]), 0), kink(at(1.0, 1.0, 1.0, 2.0)), kink(at(1.0, nan, 3.0)),
        kink(at(nan, nan)), kink(at([1.0, nan, 3.0], [1.0, 2.0, 3.0], [nan, nan, 0.5]), 1),
        kink(at(nan, nan), 0), bad(bools(3)), bad(x(0), 0), bad(x(2, 3), 2),
    ),
    "nanmedian": rows(
        s(x(5)), s(x(2, 3)), s(x()), s(fixed()), s(ints(2, 2)), s(x(2, 4), 1), s(x(2, 3), 0, True),
        s(x(), 0), s(given([4, 1, 3]), 0), kink(at(1.0, nan, 3.0)), kink(at(nan, 2.0, 1.0, 1.0)),
        kink(at(nan, nan)), kink(at([1.0, nan, 3.0], [1.0, 2.0, 3.0], [nan, nan, 0.5]), 1),
        kink(at(nan, nan), 0), bad(bools(3)), bad(x(0), 0), bad(x(2, 3), 2),
    ),
    "unique": rows(
        s(Input((2, 3), grad=False)), s(NUMBERS), s(NUMBERS, return_inverse=True),
        s(NUMBERS, return_counts=True), s(NUMBERS, True, True, True),
        s(NUMBERS, dim=0, return_inverse=True, return_counts=True),
        s(NUMBERS, dim=1, return_inverse=True, return_counts=True), s(given([3]), sorted=False),
        s(given(3), return_inverse=True, return_counts=True),
        s(fixed(nan, 1.0, nan), return_inverse=True, return_counts=True),
        s(bools(5), return_inverse=True), s(ints(0), return_inverse=True, return_counts=True),
        s(ints(0, 2), dim=0), bad(ints(2, 0), dim=0), bad(ints(2), dim=1),
    ),
    "unique_consecutive": rows(
        s(Input((2, 3), grad=False)), s(NUMBERS, return_inverse=True, return_counts=True),
        s(given([1, 1, 2, 2, 1]), return_counts=True),
        s(given([[1, 1, 2], [1, 1, 2], [0, 0, 1]]), True, True, 0),
        s(given([[1, 1, 2], [1, 1, 2], [0, 0, 1]]), dim=1), s(given(2), return_inverse=True),
        s(ints(0), return_inverse=True, return_counts=True),
        s(fixed(nan, nan, 1.0), return_counts=True),
    ),
    "isin": rows(
        s(ints(2, 3), given([0, 2, 3])), s(ints(2, 3), given([0, 2, 3]), invert=True),
        s(ints(4), 1), s(1, ints(4)), s(fixed(1.0, nan, 2.0), fixed(nan, 1.0)),
        s(given([1, 2]), fixed(1.0, 2.5)), s(given([1, 2]), given([2, 3]), assume_unique=True),
        bad(1, 2),
    ),
    "searchsorted": rows(
        s(given([1, 3, 5]), given([0, 1, 2, 5, 6])),
        s(given([1, 3, 5]), given([0, 1, 2, 5, 6]), right=True),
        s(given([1, 3, 5]), given([0, 1, 2, 5, 6]), side="right"), s(given([1, 3, 5]), 3),
        s(given([1, 3, 5]), 3.5, out_int32=True), s(given([1, 3, 5]), given([[1, 2]])),
        s(given([[1, 3, 3], [2, 4, 6]]), given([[3, 3, 0, 9], [4, 1, 4, 7]])),
        s(given([[1, 3, 3], [2, 4, 6]]), given([[3, 3, 0, 9], [4, 1, 4, 7]]), right=True),
        s(given([1, 3, 5]), fixed(1.5)),
        s(given([5, 1, 3]), given([2, 4]), sorter=given([1, 2, 0])),
        s(fixed(1.0, 2.0), fixed(inf, nan, -inf, 1.5)),
        bad(given([1, 3]), given([1]), side="middle"),
        bad(given([1, 3]), given([1]), side="left", right=True),
        bad(given([[1, 3], [2, 4]]), given([3, 3])), bad(given([[1, 3], [2, 4]]), 3),
        bad(given([1, 3]), given([2, 4]), sorter=given([1])),
        bad(given([1, 3]), given([2, 4]), sorter=fixed(1.0, 0.0)),
        bad(given([1, 3]), given([2, 4]), sorter=given([1, 2])), bad(given(3), given([2, 4])),
    ),
    "bucketize": rows(
        s(given([0, 1, 2, 5, 6]), given([1, 3, 5])),
        s(given([0, 1, 2, 5, 6]), given([1, 3, 5]), right=True), s(3, given([1, 3, 5])),
        s(x(2, 3), fixed(-1.0, 0.0, 1.0), out_int32=True), bad(given([1]), given([[1, 3]])),
    ),
    "bincount": rows(
        s(given([0, 1, 1, 3])), s(given([0, 1, 1, 3]), fixed(0.5, 1.0, 1.0, 2.0)),
        s(given([0, 1, 1, 3]), ints(4)), s(given([0, 1, 1, 3], "uint8"), minlength=6), s(ints(0)),
        s(ints(0), minlength=3), bad(given([0, 1]), fixed(0.5)), bad(given([-1])),
        bad(given([[1]])), bad(given([1]), minlength=-1), bad(bools(2)), bad(fixed(1.0)),
    ),
    "histc": rows(
        s(x(3, 4), 4), s(x(3, 4), 4, -1, 2), s(x(3, 4), bins=5, min=0, max=3),
        s(fixed(nan, 1.0, 0.0, 0.25), 4, 0, 1), s(fixed(1.0, 1.0), 4), s(x(0), 4), bad(ints(3), 4),
        bad(x(3), 0), bad(x(3), 4, 3, 1), bad(fixed(inf, 1.0), 4),
    ),
}  # fmt: skip
