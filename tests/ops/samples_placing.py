"""Samples of limits on one side, signs, comparisons in place, and values put in one part."""

from math import inf, nan

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
    rows,
    s,
    unary,
    x,
)

SPECIAL = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan)


def limit(*more: Sample) -> Row:
    """Samples of a limit on one side."""
    return rows(
        s(x(3, 4), 0.25), s(x(3), 1), s(x(), 0.5), s(ints(4), 1), s(ints(4), 0.5), s(bools(3), 1),
        s(x(2, 3), x(2, 3)), s(x(2, 1, 3), x(4, 1)), s(x(2, 0), x(1)), s(ints(4), x(4)),
        s(bools(3), bools(3)), kink(at(-1.0, 0.0, 1.0, nan, 2.0), 0.0),
        kink(at(-1.0, 0.0, 1.0, nan, 2.0), at(0.0, 0.0, 1.0, 1.0, nan)), bad(x(3), x(2)),
        bad(bools(3), True), bad(x(3), None), *more,
    )  # fmt: skip


def written_limit() -> Row:
    """Samples of a limit on one side in place."""
    return rows(
        s(x(3, 4), 0.25), s(ints(4), 1), s(x(2, 3), x(3)), s(ints(4), ints(4)), bad(x(3), x(2)),
        bad(bools(3), True),
    )  # fmt: skip


def compared() -> Row:
    """Samples of a comparison in place."""
    return rows(
        s(x(2, 3), 0.5), s(x(2, 3), x(3)), s(ints(5), 2), s(ints(5), 1.5),
        s(ints(5), ints(5, dtype="int32")), s(bools(3), 1),
        kink(at(*SPECIAL), at(-0.0, 0.0, 1.0, 2.0, inf, inf, nan)), bad(x(3), x(2)),
        bad(x(3), x(2, 3)),
    )  # fmt: skip


SIGNS: Table = {
    "clamp_min": limit(),
    "clamp_max": limit(),
    "sgn": unary("real", kink(at(*SPECIAL))),
    "angle": unary("real", kink(at(*SPECIAL))),
    "isneginf": unary("real", s(fixed(*SPECIAL))),
    "isposinf": unary("real", s(fixed(*SPECIAL))),
    "isreal": unary("real", s(fixed(*SPECIAL))),
    "is_signed": rows(s(x(2)), s(ints(2)), s(bools(2)), s(given([1], "uint8")), bad(2)),
    "is_same_size": rows(s(x(2), ints(2)), s(x(2), x(3)), bad(x(2), 2)),
    "frexp": unary("wide", kink(at(*SPECIAL)), kink(at(1e-30, 1e30)), integers=False),
    "fill": rows(
        s(x(2, 3), 2), s(x(2, 3), x()), s(ints(3), 2.5), s(x(0), 1), bad(x(3), x(3)),
    ),
    "detach": rows(s(x(2)), s(ints(2)), bad(2)),
    "mantissa of frexp": rows(s(x(2, 3)), call=lambda torch, a: torch.frexp(a).mantissa),
}  # fmt: skip
SIGN_WRITES: Table = {
    "clamp_min_": written_limit(),
    "clamp_max_": written_limit(),
    "sgn_": rows(s(x(2, 3)), s(ints(3))),
    "square_": rows(s(x(2, 3)), s(ints(3)), bad(bools(3))),
    **{f"{name}_": compared() for name in ("eq", "ge", "gt", "le", "lt", "ne")},
    "cumsum_": rows(
        s(x(2, 3), 1), s(x(2, 3), -2), s(x(), 0), s(ints(4, dtype="int32"), 0),
        s(ints(4), 0, dtype=Dtype("int64")), bad(bools(3), 0), bad(x(3), 2),
        bad(ints(3), 0, dtype=Dtype("float32")),
    ),
    "swapaxes_": rows(s(x(2, 3), 0, 1), s(x(2, 3, 4), -1, 0), bad(x(2), 0, 3)),
    "swapdims_": rows(s(x(2, 3), 0, 1), s(x(2, 3, 4), -1, 0), bad(x(2), 0, 3)),
}  # fmt: skip


def put() -> tuple[Sample, ...]:
    """Samples of `put`."""
    return (
        s(x(2, 3), given([0, -1, 3]), x(3)),
        s(x(2, 3), given([[0, 0], [3, 1]]), x(2, 2), accumulate=True),
        s(x(2, 3), given([[0, 1]]), x(2)), s(ints(4), given([1, 1]), ints(2), True),
        bad(x(3), given([3]), x(1)), bad(x(3), given([0, 1]), x(1)),
        bad(x(3), given([0], "int32"), x(1)), bad(x(3), given([0]), ints(1)),
        bad(x(0), given([0]), x(1)),
    )  # fmt: skip


PLACING: Table = {
    "put": rows(*put()),
    "scalar_tensor": rows(
        s(2), s(2.5), s(True), s(2, dtype=Dtype("int64")), s(2.5, dtype=Dtype("int64")), bad("a")
    ),
}
PLACING_WRITES: Table = {"put_": rows(*put())}
