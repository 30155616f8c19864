"""Samples of combinations, blocks, distances, and elements combined where an index says."""

from math import inf, nan

from tests.ops.sampling import (
    Dtype,
    Input,
    Row,
    Sample,
    Table,
    at,
    bad,
    fixed,
    given,
    ints,
    kink,
    rows,
    s,
    x,
)

INDEX = given([[0, 1, 0], [1, 1, 0]])
WORDS = ("sum", "prod", "mean", "amax", "amin")


def by_word(word: str) -> list[Sample]:
    """Samples of `scatter_reduce` with one way of combining."""
    return [
        s(x(2, 3), 1, INDEX, x(2, 3), word),
        s(x(2, 3), 0, INDEX, x(2, 3), word, include_self=False),
        s(x(4), 0, given([0, 2, 0]), x(3), word),
        s(ints(4), 0, given([0, 2, 0]), ints(3), word),
        s(ints(4), 0, given([0, 2, 0]), ints(3), word, include_self=False),
    ]


def corner() -> Row:
    """Samples of the indices of a triangle."""
    return rows(
        s(3, 3), s(2, 4, 1), s(4, 2, -1), s(4, 2, offset=1, dtype=Dtype("int32")), s(2, 3, -5),
        s(0, 3), bad(-1, 2), bad(2, -1), bad(2, 2, dtype=Dtype("float32")),
    )  # fmt: skip


COMBINING: Table = {
    "scatter_reduce": rows(
        *[sample for word in WORDS for sample in by_word(word)],
        s(x(4), 0, given([0, 2, 0]), at(0.0, 2.0, 3.0), "prod"),
        kink(at(0.0, 2.0, 1.0), 0, given([0, 0, 1]), at(0.0, 2.0, 0.0), "prod"),
        kink(at(1.0, 2.0), 0, given([0, 0]), at(1.0, 1.0), "amax"),
        kink(at(1.0, 2.0), 0, given([0, 0]), at(1.0, nan), "amax"),
        s(x(), 0, given(0), x(), "sum"),
        s(x(2), 0, given([], "int64"), x(0), "sum"),
        bad(x(2, 3), 1, INDEX, x(2, 3), "median"),
        bad(x(3), 0, given([3]), x(1), "sum"),
        bad(x(3), 0, given([0]), ints(1), "sum"),
        bad(x(3), 0, fixed(0.0), x(1), "sum"),
        kinks=False,
    ),
    "scatter_reduce_": rows(
        *[s(x(2, 3), 1, INDEX, x(2, 3), word) for word in WORDS],
        bad(x(2, 3), 1, INDEX, x(2, 3), "median"),
    ),
    "cartesian_prod": rows(
        s(x(2), x(3)), s(ints(2), ints(3), ints(2)), s(x(2)), s(x(2), x(0)), bad(x(2, 3)), bad(),
    ),
    "combinations": rows(
        s(x(4)), s(x(4), 3), s(x(3), 2, True), s(ints(3), 0), s(ints(3), 5), s(ints(3), r=1),
        bad(ints(3), -1), bad(ints(2, 3)),
    ),
    "block_diag": rows(
        s(x(2, 3), x(2), x()), s(x(2, 3)), s(ints(1), x(2, 1)), s(x(0, 1), x(2, 2)), s(),
        bad(x(2, 2), x(2, 2, 2)),
    ),
    "tril_indices": corner(),
    "triu_indices": corner(),
    "dist": rows(
        s(x(2, 3), x(2, 3)), s(x(2, 3), x(3), 3), s(x(2, 3), x(2, 3), 1),
        s(x(2, 3), x(2, 3), p=inf), s(Input((2, 3), grad=False), Input((2, 3), grad=False), 0),
        s(x(), x()), kink(at(1.0, 2.0), at(1.0, 2.0)), bad(x(2, 3), x(2)), bad(x(3), 1.0),
        kinks=False,
    ),
    "cdist": rows(
        s(x(3, 2), x(4, 2)), s(x(3, 2), x(4, 2), 1), s(x(3, 2), x(4, 2), p=inf),
        s(x(3, 2), x(4, 2), 0), s(x(3, 2), x(4, 2), 3), s(x(3, 2), x(4, 2), 1.5),
        s(x(2, 1, 2, 3), x(3, 4, 3)), s(x(2, 1, 2, 3), x(3, 4, 3), 1),
        s(x(3, 2), x(4, 2), compute_mode="donot_use_mm_for_euclid_dist"), s(x(2, 0), x(3, 0)),
        s(x(0, 2), x(3, 2)), kink(at([1.0, 2.0], [3.0, 4.0]), at([1.0, 2.0], [0.0, 4.0])),
        bad(x(2, 3), x(2, 2)), bad(x(2, 3), x(3)), bad(ints(2, 3), ints(2, 3)),
        bad(x(2, 3), x(2, 3), -1), bad(x(2, 3), x(2, 3), 2, "fast"), bad(x(2, 2, 3), x(3, 2, 3)),
        kinks=False, second=False,
    ),
    "cdist as a product": rows(
        s(x(30, 2), x(3, 2)),
        s(x(2, 3), x(2, 3), compute_mode="use_mm_for_euclid_dist"),
        call=lambda torch, *a, **k: torch.cdist(*a, **k) * 1,
        second=False,
    ),
    "cdist, once more": rows(
        s(x(3, 2), x(4, 2)), s(x(3, 2), x(4, 2), 3), s(x(2, 1, 2, 3), x(3, 4, 3), 3), torch=None,
        call=lambda torch, *a: torch.cdist(*a),
    ),
    "renorm": rows(
        s(x(2, 3), 2, 0, 1.0), s(x(2, 3), 1, 1, 1.0), s(x(2, 3, 2), 3, -1, 2),
        s(x(2, 3), 2, 0, 100.0), bad(x(2, 3), -1, 1, 1.0), bad(x(2, 3), 2, 0, -1.0),
        bad(x(3), 2, 0, 1.0), bad(ints(2, 3), 2, 0, 1.0),
    ),
    "renorm_": rows(s(x(2, 3), 2, 0, 1.0), s(x(2, 3), 1, 1, 1.0)),
}  # fmt: skip
