"""Samples of comparisons, logic, bits and tests of values: nothing here has a gradient."""

from math import inf, nan

from tests.ops.sampling import Row, Table, at, bad, bools, given, ints, rows, s, x

SPECIAL = at(0.0, -0.0, 1.0, -1.0, inf, -inf, nan)
OTHER = at(-0.0, 0.0, 1.0, 2.0, inf, inf, nan)


def comparing() -> Row:
    """Samples of a comparison: equal and unordered values, broadcasting, mixed dtypes."""
    return rows(
        s(x(3, 4), x(3, 4)), s(x(2, 1, 3), x(4, 1)), s(x(), x(3)), s(x(0, 2), x(2)),
        s(SPECIAL, OTHER), s(x(3), 1), s(ints(5), 2), s(ints(5), 1.5),
        s(ints(6), ints(6, dtype="int32")), s(ints(4), x(4)), s(bools(4), bools(4)),
        s(given([1, 0, 2], "uint8"), -1), bad(x(2), x(3)),
    )  # fmt: skip


def logic() -> Row:
    """Samples of a logical operation on truth values and numbers."""
    return rows(
        s(bools(3, 4), bools(4)), s(bools(3), bools(2, 1)), s(SPECIAL, OTHER), s(ints(6), ints(6)),
        s(ints(6), bools(6)), s(bools(0), bools(0)), s(bools(), bools(3)), bad(bools(2), bools(3)),
    )  # fmt: skip


def bits() -> Row:
    """Samples of a bitwise operation on integers and truth values."""
    return rows(
        s(ints(3, 4), ints(4)), s(ints(4), 3), s(bools(3), bools(3)), s(bools(3), True),
        s(bools(3), ints(3)), s(ints(4, dtype="uint8"), ints(4, dtype="int8")), s(ints(0), ints(0)),
        bad(x(3), x(3)), bad(x(3), ints(3)), bad(ints(2), ints(3)),
    )  # fmt: skip


def testing() -> Row:
    """Samples of a test of each value."""
    return rows(s(SPECIAL), s(x(2, 3)), s(x()), s(x(0)), s(ints(3)), s(bools(3)))


COMPARISON: Table = {
    **{name: comparing() for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{name: logic() for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: bits() for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: testing() for name in ("isnan", "isinf", "isfinite")},
    "logical_not": rows(s(bools(3, 4)), s(SPECIAL), s(ints(5)), s(bools()), s(bools(0))),
    "bitwise_not": rows(s(ints(4)), s(bools(4)), s(ints(4, dtype="uint8")), s(ints(0)), bad(x(3))),
    "isclose": rows(
        s(at(1.0, 1.0, nan, inf, 0.0), at(1.0 + 2**-20, 1.1, nan, inf, 1e-9)),
        s(at(1.0, nan), at(1.5, nan), rtol=0.5, equal_nan=True),
        s(x(2, 3), x(3), atol=1.0),
        s(ints(4), ints(4)),
        bad(x(2), x(3)),
    ),
    "allclose": rows(
        s(x(3), x(3)), s(at(1.0, 2.0), at(1.0, 2.0)), s(at(1.0, nan), at(1.0, nan)),
        s(at(1.0, nan), at(1.0, nan), equal_nan=True), s(x(0), x(0)), s(x(3), x(3), atol=10.0),
    ),
    "equal": rows(
        s(at(1.0, 2.0), at(1.0, 2.0)), s(at(1.0, 2.0), at(1.0, 3.0)), s(at(1.0, nan), at(1.0, nan)),
        s(x(2), x(2, 1)), s(x(0), x(0)), s(ints(3), ints(3)),
    ),
    "is_floating_point": rows(s(x(2)), s(ints(2))),
    "numel": rows(s(x(2, 3)), s(x()), s(x(0, 4))),
}  # fmt: skip
