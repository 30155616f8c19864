"""Samples of tensors made from numbers, shapes and other tensors."""

from math import inf

from tests.ops.sampling import Dtype, Row, Table, bad, ints, rows, s, x

F64, F32, F16, INT, I32, BOOL = (
    Dtype(name) for name in ("float64", "float32", "float16", "int64", "int32", "bool")
)


def filled() -> Row:
    """Samples of `zeros` and `ones`: the shape in all its forms, dtypes."""
    return rows(
        s(2, 3), s((2, 3)), s([2]), s(()), s(0), s(2, dtype=INT), s(2, dtype=F64),
        s((1, 2), dtype=BOOL), bad(-1), bad(2, -3), bad("2"), bad(2.5),
    )  # fmt: skip


CREATION: Table = {
    "zeros": filled(),
    "ones": filled(),
    "full": rows(
        s((2, 3), 1.5), s((2,), 3), s((2,), True), s((), 2.0), s((2,), 3, dtype=F32),
        s((2,), 2.7, dtype=INT), bad((-1,), 0.0),
    ),
    "arange": rows(
        s(5), s(2, 5), s(1, 10, 3), s(5, 0, -2), s(0.0, 1.0, 0.25), s(0, 1, 0.3), s(3.5), s(0),
        s(2, 2), s(5, dtype=F32), s(5, dtype=I32), s(1.5, 4.5, dtype=INT), s(0, 0.7, 0.1),
        bad(1, 0), bad(0, 1, 0), bad(0, inf),
    ),
    "linspace": rows(
        s(0, 1, 5), s(-2.0, 2.0, 4), s(1, 1, 3), s(0, 1, 1), s(0, 1, 0), s(3, -3, 7),
        s(0, 10, 4, dtype=INT), s(0, 1, 3, dtype=F64), bad(0, 1, -1),
    ),
    "logspace": rows(s(0, 2, 3), s(-1, 1, 5), s(0, 3, 4, base=2.0), s(0, 1, 1)),
    "eye": rows(s(3), s(2, 3), s(3, 2), s(0), s(2, dtype=INT), bad(-1)),
    "tensor": rows(
        s(2.5), s(3), s(True), s([1, 2, 3]), s([1.0, 2]), s([True, 2]), s([[1, 2], [3, 4]]), s([]),
        s([[]]), s(((1, 2), (3, 4))), s([1, 2], dtype=F64), s([1.7, -1.7], dtype=INT),
        s([0, 2], dtype=BOOL), s(1e10), s([inf, -inf]), s(2**40), bad([1, [2]]), bad([[1, 2], [3]]),
        bad("text"), bad([None]), bad(None),
    ),
    "as_tensor": rows(s([1, 2]), s(2.0), s([1, 2], dtype=F16)),
    "zeros_like": rows(s(x(2, 3)), s(ints(2)), s(x(2), dtype=INT), s(x())),
    "ones_like": rows(s(x(2, 3)), s(ints(2)), s(x(2), dtype=INT)),
    "full_like": rows(s(x(2, 3), 2.5), s(ints(2), 3), s(x(2), 3, dtype=INT)),
    "new_zeros": rows(s(x(2), (3,)), s(ints(2), 2, 3), s(x(2), (2,), dtype=INT)),
    "new_ones": rows(s(x(2), (3,)), s(ints(2), (2, 3))),
    "new_full": rows(s(x(2), (3,), 2.5), s(ints(2), (2,), 3)),
    "new_tensor": rows(s(x(2), [1, 2]), s(ints(2), [1, 2])),
    "result_type": rows(
        s(x(2), ints(2)), s(ints(2), 1.5), s(ints(2), x()), s(1, 2.0), s(ints(2, dtype="uint8"), 3)
    ),
    "broadcast_shapes": rows(
        s((2, 1), (3,)), s((), (2,)), s((1, 3), (2, 1), (1, 1)), bad((2,), (3,))
    ),
}  # fmt: skip
