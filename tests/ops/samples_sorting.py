"""Samples of sorting, ranks, repeated values and places in an order."""

from math import inf, nan

from tests.ops.sampling import (
    Input,
    Row,
    Table,
    at,
    bad,
    bools,
    fixed,
    given,
    ints,
    kink,
    rows,
    s,
    x,
)

WITH_NAN = (nan, 1.0, inf, nan, -1.0)
# Ties, none of which reaches over the middle: PyTorch leaves open which of two it picks.
NUMBERS = given([[3, 1, 2], [1, 1, 0], [3, 1, 2]])


def middle() -> Row:
    """Samples of `median` and `nanmedian`."""
    return rows(
        s(x(5)), s(x(2, 3)), s(x()), s(fixed()), s(ints(2, 2)), s(x(2, 3), 1), s(x(2, 4), 1),
        s(x(2, 3), 0, True), s(x(2, 3), dim=-2, keepdim=True), s(x(), 0), s(x(0, 2), 1),
        s(given([4, 1, 3]), 0), kink(at(1.0, 1.0, 1.0, 2.0)), kink(at(1.0, nan, 3.0)),
        kink(at(nan, nan)), kink(at([1.0, nan, 3.0], [1.0, 2.0, 3.0], [nan, nan, 0.5]), 1),
        kink(at(nan, nan), 0), bad(bools(3)), bad(x(0), 0), bad(x(2, 3), 2),
    )  # fmt: skip


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
    "msort": rows(s(x(2, 3)), s(x(4)), s(ints(3, 2))),
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
    "median": middle(),
    "nanmedian": middle(),
    "mode": rows(
        s(x(5)), s(x(2, 3), 0, True), s(x()), s(NUMBERS), s(NUMBERS, 0),
        s(given([[2, 1, 2, 1, 3], [3, 3, 3, 1, 1]]), -1, True), s(bools(5)),
        kink(at(1.0, 2.0, 2.0, nan)), kink(at(nan, nan, 1.0)), bad(x(0)), bad(x(2), 1),
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
        s(Input((2, 3), grad=False)),
        s(NUMBERS, return_inverse=True, return_counts=True),
        s(given([1, 1, 2, 2, 1]), return_counts=True),
        s(given([[1, 1, 2], [1, 1, 2], [0, 0, 1]]), True, True, 0),
        s(given([[1, 1, 2], [1, 1, 2], [0, 0, 1]]), dim=1),
        s(given(2), return_inverse=True),
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
        s(given([1, 3, 5]), given([0, 1, 2, 5, 6]), side="right"),
        s(given([1, 3, 5]), 3),
        s(given([1, 3, 5]), 3.5, out_int32=True),
        s(given([1, 3, 5]), given([[1, 2]])),
        s(given([[1, 3, 3], [2, 4, 6]]), given([[3, 3, 0, 9], [4, 1, 4, 7]])),
        s(given([[1, 3, 3], [2, 4, 6]]), given([[3, 3, 0, 9], [4, 1, 4, 7]]), right=True),
        s(given([1, 3, 5]), fixed(1.5)),
        s(given([5, 1, 3]), given([2, 4]), sorter=given([1, 2, 0])),
        s(fixed(1.0, 2.0), fixed(inf, nan, -inf, 1.5)),
        bad(given([1, 3]), given([1]), side="middle"),
        bad(given([1, 3]), given([1]), side="left", right=True),
        bad(given([[1, 3], [2, 4]]), given([3, 3])),
        bad(given([[1, 3], [2, 4]]), 3),
        bad(given([1, 3]), given([2, 4]), sorter=given([1])),
        bad(given([1, 3]), given([2, 4]), sorter=fixed(1.0, 0.0)),
        bad(given([1, 3]), given([2, 4]), sorter=given([1, 2])),
        bad(given(3), given([2, 4])),
    ),
    "bucketize": rows(
        s(given([0, 1, 2, 5, 6]), given([1, 3, 5])),
        s(given([0, 1, 2, 5, 6]), given([1, 3, 5]), right=True),
        s(3, given([1, 3, 5])),
        s(x(2, 3), fixed(-1.0, 0.0, 1.0), out_int32=True),
        bad(given([1]), given([[1, 3]])),
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
