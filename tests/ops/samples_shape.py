"""Samples of views, joins, splits, copies, conversions, combinations and blocks."""

from math import inf, nan

from tests.ops.sampling import (
    Dtype,
    Input,
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
    rows,
    s,
    unary,
    x,
)

F64, F32, INT, HALF, BOOL = (
    Dtype(name) for name in ("float64", "float32", "int64", "float16", "bool")
)

VIEWS: Table = {
    "reshape": rows(
        s(x(2, 6), (3, 4)), s(x(2, 6), (-1,)), s(x(2, 6), (2, -1, 3)), s(x(), (1, 1)), s(x(1), ()),
        s(x(0, 3), (3, 0)), s(ints(4), (2, 2)), bad(x(2, 3), (4, 2)), bad(x(2, 3), (-1, -1)),
        bad(x(2, 3), (-1, 4)), bad(x(2, 3), (-2, 3)),
    ),
    "view": rows(
        s(x(2, 6), 3, 4), s(x(2, 6), -1), s(x(2, 6), (2, -1, 3)), s(x(), 1), s(x(0, 3), 3, 0),
        bad(x(2, 3), 4, 2), layouts=False,
    ),
    "view_as": rows(s(x(2, 6), x(3, 4)), layouts=False),
    "reshape_as": rows(s(x(2, 6), x(3, 4))),
    "flatten": rows(
        s(x(2, 3, 4)), s(x(2, 3, 4), 1), s(x(2, 3, 4), 0, 1), s(x(2, 3, 4), start_dim=-2), s(x()),
        s(x(3)), s(x(0, 2)), bad(x(2, 3), 2), bad(x(2, 3), 1, 0),
    ),
    "unflatten": rows(s(x(2, 6), 1, (2, 3)), s(x(6), 0, (-1, 2)), bad(x(2, 6), 1, (4, 2))),
    "ravel": rows(s(x(2, 3)), s(x())),
    "squeeze": rows(
        s(x(1, 3, 1)), s(x(1, 3, 1), 0), s(x(1, 3, 1), -1), s(x(2, 3), 0), s(x(1, 3, 1), (0, 2)),
        s(x()), s(x(), 0), bad(x(2, 3), 2),
    ),
    "unsqueeze": rows(
        s(x(2, 3), 0), s(x(2, 3), 2), s(x(2, 3), -1), s(x(), 0), s(x(0), 1), bad(x(2, 3), 3)
    ),
    "transpose": rows(
        s(x(2, 3), 0, 1), s(x(2, 3, 4), -1, 0), s(x(), 0, 0), s(x(0, 2), 0, 1), bad(x(2, 3), 0, 2)
    ),
    "swapaxes": rows(s(x(2, 3), 0, 1)),
    "swapdims": rows(s(x(2, 3, 4), 0, 2)),
    "t": rows(s(x(2, 3)), s(x(3)), s(x()), bad(x(2, 3, 4))),
    "permute": rows(
        s(x(2, 3, 4), (2, 0, 1)), s(x(2, 3), (-1, 0)), s(x(), ()), s(x(0, 2), (1, 0)),
        bad(x(2, 3), (0, 0)), bad(x(2, 3), (0,)), bad(x(2, 3), (0, 2)),
    ),
    "movedim": rows(s(x(2, 3, 4), 0, 2), s(x(2, 3, 4), (0, 1), (1, 2)), s(x(2, 3), -1, 0)),
    "moveaxis": rows(s(x(2, 3, 4), 0, 2)),
    "adjoint": rows(s(x(2, 3)), s(x(2, 2, 3)), bad(x(3))),
    "as_strided": rows(
        s(x(6), (2, 2), (3, 1)), s(x(6), (2, 2), (1, 1)), s(x(6), (2,), (2,), 1), s(x(3), (), ()),
        bad(x(3), (2, 2), (2, 1)), bad(x(3), (2,), (1, 1)), layouts=False,
    ),
    "T": rows(s(x(2, 3)), call=lambda torch, a: a.T),
    "mT": rows(s(x(2, 3, 4)), bad(x(3)), call=lambda torch, a: a.mT),
    "expand": rows(
        s(x(3), 2, 3), s(x(3, 1), 3, 4), s(x(3, 1), (2, -1, 4)), s(x(), 2), s(x(1), 0),
        s(x(2, 3), -1, 3), bad(x(3), 2, 4), bad(x(2, 3), 3), bad(x(3), -1, 3),
    ),
    "expand_as": rows(s(x(3), x(2, 3)), s(x(2, 1), x(2, 4))),
    "broadcast_to": rows(s(x(3), (2, 3)), bad(x(3), (2, 4))),
    "broadcast_tensors": rows(s(x(3), x(2, 1)), s(x(), x(3))),
    "narrow": rows(
        s(x(5), 0, 1, 3), s(x(2, 4), 1, -2, 2), s(x(3), 0, 3, 0), bad(x(3), 0, 2, 2),
        bad(x(3), 1, 0, 1),
    ),
    "select": rows(
        s(x(2, 3), 0, 1), s(x(2, 3), 1, -1), s(x(3), 0, 0), bad(x(2, 3), 0, 2), bad(x(), 0, 0)
    ),
    "unbind": rows(s(x(2, 3)), s(x(2, 3), 1), s(x(3)), s(x(0, 2)), bad(x()), bad(x(2), 1)),
    "split": rows(
        s(x(5, 2), 2), s(x(2, 6), 3, 1), s(x(5), [1, 4]), s(x(2, 5), [2, 0, 3], dim=1), s(x(0), 1),
        bad(x(5), [1, 3]), bad(x(5), -1),
    ),
    "chunk": rows(s(x(5), 2), s(x(2, 6), 3, 1), s(x(2), 4), s(x(7), 5), bad(x(3), 0)),
    "tensor_split": rows(s(x(5), 2), s(x(5, 2), (1, 3)), s(x(2, 5), 3, 1)),
    "hsplit": rows(
        s(x(4), 2), s(x(2, 6), 3), s(x(2, 5), (1, 3)), s(x(2, 4), [-1]), bad(x(), 1),
        bad(x(2, 3), 2), bad(x(2), 0), bad(x(2), -1),
    ),
    "vsplit": rows(s(x(4, 2), 2), s(x(3, 2), (1,)), bad(x(3), 1), bad(x(3, 2), 2)),
    "dsplit": rows(s(x(2, 1, 4), 2), s(x(1, 2, 3), [1]), bad(x(3, 3), 1), bad(x(1, 1, 3), 2)),
    "split_with_sizes": rows(s(x(5), [1, 4]), s(x(2, 5), (2, 3), 1), bad(x(5), [1, 3])),
    "diagonal": rows(
        s(x(3, 3)), s(x(3, 4), 1), s(x(3, 4), -1), s(x(2, 3, 3), 0, 1, 2), s(x(2, 3), offset=5)
    ),
    "unfold": rows(
        s(x(6), 0, 3, 2), s(x(2, 5), 1, 2, 1), s(x(5), 0, 2, 3), bad(x(3), 0, 4, 1),
        call=lambda torch, a, *args: a.unfold(*args),
    ),
    "alias": rows(s(x(2)), call=lambda torch, a: a.view_as(a)),
    "atleast_1d": rows(s(x()), s(x(2))),
    **alike("atleast_2d atleast_3d", rows(s(x()), s(x(2)), s(x(2, 3)))),
}  # fmt: skip

JOINS: Table = {
    "cat": rows(
        s([x(2, 3), x(2, 3)]), s([x(2, 3), x(1, 3), x(4, 3)]), s((x(2, 3), x(2, 1)), 1),
        s([x(2, 3), x(2, 2)], dim=-1), s([x(2, 3), x(0)]), s([x(0, 3), x(2, 3)]), s([x(3)]),
        s([x(3), ints(2)]), s([ints(2), ints(3, dtype="int32")]), s([x(2), bools(1)]),
        bad([x(2, 3), x(2, 2)]), bad([x(2, 3), x(2)]), bad([x(), x()]), bad([x(2, 3), x(2, 3)], 2),
        bad([]),
    ),
    "concat": rows(s([x(2, 3), x(1, 3)])),
    "concatenate": rows(s([x(2, 3), x(1, 3)], 0)),
    "stack": rows(
        s([x(2, 3), x(2, 3)]), s([x(2, 3), x(2, 3), x(2, 3)], 1), s([x(2), x(2)], dim=-1),
        s([x(), x()]), s([x(3)]), s([x(2), ints(2)]), s([x(0), x(0)]), bad([x(2), x(3)]),
        bad([x(2)], 2), bad([]),
    ),
    "hstack": rows(s([x(2), x(3)]), s([x(2, 3), x(2, 1)]), s([x(), x()])),
    "vstack": rows(s([x(3), x(3)]), s([x(2, 3), x(1, 3)])),
    "dstack": rows(s([x(3), x(3)])),
    "column_stack": rows(s([x(3), x(3, 2)])),
    "row_stack": rows(s([x(3), x(3)])),
    "repeat": rows(
        s(x(2), 3), s(x(2, 3), 2, 2), s(x(2), (2, 3)), s(x(), 2), s(x(2), 0), s(x(2), 1),
        bad(x(2, 3), 2), bad(x(2), -1),
    ),
    "tile": rows(s(x(2), (3,)), s(x(2, 3), (2,)), s(x(2), (2, 2))),
    "repeat_interleave": rows(
        s(x(3), 2), s(x(2, 3), 2, 1), s(x(2, 3), 2), s(x(3), given([1, 0, 2])),
        s(x(3, 2), given([1, 0, 2]), dim=0), s(given([1, 2])),
    ),
    "flip": rows(
        s(x(3), (0,)), s(x(2, 3), (0, 1)), s(x(2, 3), [-1]), s(x(0), (0,)), bad(x(2), (1,))
    ),
    **alike("fliplr flipud", rows(s(x(2, 3)))),
    "roll": rows(
        s(x(4), 1), s(x(2, 3), 1), s(x(2, 3), 1, 1), s(x(2, 3), (1, -1), (0, 1)), s(x(0), 1)
    ),
    "rot90": rows(s(x(2, 3)), s(x(2, 3), 2, (0, 1)), s(x(2, 3), -1)),
    "meshgrid": rows(s(x(2), x(3), indexing="ij"), s(x(2), x(3), indexing="xy")),
    **alike(
        "tril triu",
        rows(s(x(3, 3)), s(x(2, 4), 1), s(x(2, 3, 3), -1), s(ints(3, 3)), bad(x(3))),
    ),
    "diag": rows(s(x(3)), s(x(3, 3)), s(x(3), 1), s(x(2, 3), -1), bad(x(2, 2, 2))),
    "diag_embed": rows(s(x(3)), s(x(2, 3)), s(x(2), 1)),
    "diagflat": rows(s(x(3)), s(x(2, 2))),
    "trace": rows(s(x(3, 3)), s(x(2, 3)), s(ints(2, 2)), bad(x(3))),
}  # fmt: skip

COPIES: Table = {
    "clone": unary("real"),
    "contiguous": rows(s(x(2, 3)), s(x()), call=lambda torch, a: a.t().contiguous()),
    "to": rows(
        s(x(3), F64), kink(x(3), F32), kink(x(3), HALF), s(ints(3), F64), s(x(3), INT),
        s(x(3), BOOL), s(x(3), "cpu"), s(x(3), dtype=F64), s(x(3), ints(2)), kink(x(3), "cpu", F32),
        s(x(3), F64, copy=True),
    ),
    "type_as": rows(s(x(3), ints(2)), s(ints(3), x(2))),
    **{
        name: rows(*samples, call=lambda torch, a, n=name: getattr(a, n)())
        for names, samples in (
            ("float half", (kink(x(3)), s(ints(3)))), ("double", (s(x(3)), s(ints(3)))),
            ("int long short char", (s(x(3)), s(bools(3)))), ("byte", (s(ints(6)), s(bools(3)))),
            ("bool", (s(x(3)), s(ints(6)))),
        )
        for name in names.split()
    },
    "sum_to_size": rows(s(x(2, 3), (1, 3)), s(x(2, 3), 3), s(x(2, 3), (2, 3)), bad(x(2, 3), (2,))),
}  # fmt: skip

SHAPE: Table = {**VIEWS, **JOINS, **COPIES}


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


COMBINING: Table = {
    "scatter_reduce": rows(
        *[sample for word in WORDS for sample in by_word(word)],
        s(x(4), 0, given([0, 2, 0]), at(0.0, 2.0, 3.0), "prod"),
        kink(at(0.0, 2.0, 1.0), 0, given([0, 0, 1]), at(0.0, 2.0, 0.0), "prod"),
        kink(at(1.0, 2.0), 0, given([0, 0]), at(1.0, 1.0), "amax"),
        kink(at(1.0, 2.0), 0, given([0, 0]), at(1.0, nan), "amax"), s(x(), 0, given(0), x(), "sum"),
        s(x(2), 0, given([], "int64"), x(0), "sum"), bad(x(2, 3), 1, INDEX, x(2, 3), "median"),
        bad(x(3), 0, given([3]), x(1), "sum"), bad(x(3), 0, given([0]), ints(1), "sum"),
        bad(x(3), 0, fixed(0.0), x(1), "sum"), kinks=False,
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
    **alike(
        "tril_indices triu_indices",
        rows(
            s(3, 3), s(2, 4, 1), s(4, 2, -1), s(4, 2, offset=1, dtype=Dtype("int32")), s(2, 3, -5),
            s(0, 3), bad(-1, 2), bad(2, -1), bad(2, 2, dtype=Dtype("float32")),
        ),
    ),
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
        s(x(30, 2), x(3, 2)), s(x(2, 3), x(2, 3), compute_mode="use_mm_for_euclid_dist"),
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
