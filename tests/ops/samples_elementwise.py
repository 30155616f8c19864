"""Samples of arithmetic, functions of numbers, comparisons, logic; of tensors that are made."""

from math import inf, nan

from tests.ops.sampling import (
    Dtype,
    Sample,
    Table,
    alike,
    at,
    bad,
    binary,
    bools,
    fixed,
    given,
    ints,
    kink,
    pos,
    rows,
    s,
    unary,
    x,
)

# A Python number or a 0-d tensor does not widen a tensor with dimensions.
NUMBERS: tuple[Sample, ...] = (
    s(x(3), 2), s(x(2, 2), 0.5), s(x(), 3), s(ints(3), 2), s(ints(3), 2.5), s(x(3), ints()),
    s(ints(3), x()), s(ints(3, dtype="int32"), ints(dtype="int64")),
)  # fmt: skip
SPECIAL = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan)

ELEMENTWISE: Table = {
    "add": binary(
        "real", "real", *NUMBERS, s(x(3), x(3), alpha=2), s(x(2, 3), x(3), alpha=-0.5),
        s(ints(3), ints(3), alpha=2), s(bools(3), bools(3)), s(bools(3), x(3)), s(bools(3), 1),
        bad(ints(3), ints(3), alpha=0.5), bad(x(2), "1"), bad(x(2, 3), x(4)),
        bad(x(2, 3, 4), x(2, 1, 5)),
    ),
    "sub": binary(
        "real", "real", *NUMBERS, s(x(3), x(3), alpha=2), bad(bools(3), bools(3)), bad(x(2), None)
    ),
    "mul": binary("real", "real", *NUMBERS, s(bools(3), bools(3)), kink(at(*SPECIAL), x(7))),
    "div": binary(
        "real", "positive", *NUMBERS, kink(at(*SPECIAL), at(0.0, 1.0, 0.0, -0.0, 2.0, 0.0, 1.0)),
        s(x(2, 3), x(3), rounding_mode="floor"), s(x(2, 3), x(3), rounding_mode="trunc"),
        s(ints(4), ints(4, domain="positive"), rounding_mode="floor"),
        s(ints(4), ints(4, domain="positive"), rounding_mode="trunc"),
        s(ints(4), 2, rounding_mode="floor"), s(ints(4), -2.5, rounding_mode="trunc"),
        bad(x(2), x(2), rounding_mode="round"), bad(ints(2), given([0, 1]), rounding_mode="floor"),
    ),
    "true_divide": rows(s(x(2, 3), pos(3)), s(ints(3), 2)),
    **alike("neg square sinh cosh", unary("real")),
    "positive": unary("real", integers=False),
    **alike("reciprocal sqrt rsqrt log log2 log10", unary("positive", kink(at(*SPECIAL)))),
    **alike("exp2 atan asinh erf erfc abs sign", unary("real", kink(at(*SPECIAL)))),
    "pow": rows(
        s(x(2, 3), 2), s(x(2, 3), 3), s(x(2, 3), 1), s(x(2, 3), 0), s(x(), 2), s(x(0), 2),
        s(x(2, 3), 4), s(x(2, 3), -1), s(x(2, 3), -2), s(pos(2, 3), 0.5), s(pos(2, 3), -0.5),
        s(pos(2, 3), 2.5), s(pos(3, 4), x(3, 4)), s(pos(3, 4), x(4)), s(pos(2, 1, 3), x(4, 1)),
        s(pos(), x(3)), s(pos(3), x()), s(2, x(2, 3)), s(0.5, x(3)), s(ints(4), 2), s(ints(4), 0.5),
        s(ints(4), ints(4, domain="positive")), kink(ints(4), x(4)),
        s(ints(4, domain="positive"), x(4)), s(pos(4), ints(4)), s(2, ints(3, domain="positive")),
        s(2.0, ints(3)), s(2, ints(3, dtype="uint8")), s(ints(3, dtype="int16"), 3),
        kink(at(*SPECIAL), 2), kink(at(*SPECIAL), 0), kink(at(*SPECIAL), 0.5),
        kink(at(*SPECIAL), 1.0), kink(at(*SPECIAL), -1),
        kink(at(*SPECIAL), at(0.0, 2.0, 0.5, 3.0, 1.0, 0.0, 0.0)),
        kink(at(0.0, 0.0, 0.0, 2.0), at(0.0, 1.0, -1.0, 0.0)), kink(0, at(0.0, 1.0, 2.0, -1.0)),
        kink(1, at(*SPECIAL)), kink(-2, at(*SPECIAL)), bad(ints(3), -1),
        s(given([1, -1, 2, 3]), given([-1, -3, -1, 2])), bad(x(3), x(4)), kinks=False,
    ),
    "exp": unary("real", kink(at(*SPECIAL, 80.0))),
    "expm1": unary("real", kink(at(*SPECIAL, 1e-6))),
    "log1p": unary("positive", kink(at(*SPECIAL, 1e-6))),
    **alike("sin cos", unary("wide", kink(at(*SPECIAL)))),
    "tan": unary("inside one"),
    **alike("asin acos atanh", unary("inside one", kink(at(*SPECIAL)), integers=False)),
    "atan2": binary(
        "real",
        "real",
        kink(at(0.0, 0.0, -0.0, 1.0, -1.0, inf), at(1.0, 0.0, -1.0, 0.0, inf, inf)), kinks=False,
    ),
    "acosh": unary("above one", kink(at(*SPECIAL)), integers=False),
    **alike("floor ceil", unary("wide", kink(at(*SPECIAL, 2.5)))),
    "trunc": unary("wide", kink(at(*SPECIAL, -2.5))),
    "round": unary("wide", s(x(4), decimals=1), kink(at(0.5, 1.5, 2.5, -0.5, nan)), integers=False),
    "frac": unary("wide", kink(at(0.0, 2.0, -1.5)), integers=False),
    "floor_divide": rows(
        s(x(3, 4, grad=False), x(4, grad=False)), s(x(3, grad=False), 2),
        s(x(3, grad=False), -0.75), s(ints(4), 2), s(ints(4), given([3, -2, 1, -3])),
        s(ints(2, 3), x(3, grad=False)),
        s(ints(4, dtype="uint8"), ints(4, dtype="uint8", domain="positive")),
        s(x(0, 3, grad=False), x(3, grad=False)),
        s(fixed(1.0, -1.0, 0.0, inf), fixed(0.0, 0.0, 0.0, 2.0)), bad(ints(2), given([0, 1])),
    ),
    **alike(
        "remainder fmod",
        binary(
            "wide", "real", s(x(3), 2), s(x(3), -0.75), s(ints(4), given([3, -2, 1, -3])),
            s(ints(4), 2.5), kink(at(1.0, -1.0, 0.0, inf), at(0.0, inf, 2.0, 2.0)),
            bad(ints(2), given([0, 1])), integers=False,
        ),
    ),
    "number % tensor": rows(
        s(7.5, x(3, grad=False)), s(7, ints(4, domain="positive")),
        s(-2.5, ints(4, domain="positive")), s(7, x(grad=False)), call=lambda torch, a, b: a % b,
    ),
    "number // tensor": rows(
        s(7.5, x(3, grad=False)), s(7, ints(4, domain="positive")),
        s(-2.5, ints(4, domain="positive")),
        call=lambda torch, a, b: a // b,
    ),
    **alike(
        "maximum minimum",
        binary("real", "real", kink(at(1.0, 0.0, -0.0, nan, 1.0), at(1.0, -0.0, 0.0, 1.0, nan))),
    ),
    "clamp": rows(
        s(x(3, 4), -1, 1), s(x(3, 4), min=0), s(x(3, 4), max=0.5), s(x(), -1, 1), s(x(0), -1, 1),
        s(x(3, 4), 1, -1), s(ints(5), -2, 2), s(ints(5), -1.5, 2.5),
        s(ints(5, dtype="uint8"), 1, 4), s(x(3, 4), x(4), x(3, 1)), s(x(3, 4), min=x(4)),
        s(x(3, 4), max=x(1, 4)), s(x(3), ints(3), x()), kink(at(-1.0, 1.0, 0.0, nan, 2.0), -1, 1),
        kink(at(-1.0, 1.0, 0.0), at(-1.0, 0.0, 0.0), at(1.0, 1.0, 0.0)),
        kink(at(2.0, 0.0, 0.0), at(1.0, 1.0, 0.0), at(-1.0, 0.0, -1.0)), bad(x(3)),
    ),
    "clip": rows(s(x(3, 4), -1, 1)),
    "where": rows(
        s(bools(3, 4), x(3, 4), x(3, 4)), s(bools(3, 1), x(4), x(3, 4)), s(bools(), x(2), x()),
        s(bools(3), x(3), 0.0), s(bools(3), 1.0, x(3)), s(bools(3), x(3), ints(3)),
        s(bools(3), ints(3), 2.5), s(bools(3), ints(3, dtype="int16"), ints(3)),
        s(bools(0), x(0), x(0)), s(bools(2, 3)), bad(bools(2), x(3), x(3)),
    ),
    "masked_fill": rows(
        s(x(3, 4), bools(3, 4), 2.0), s(x(3, 4), bools(4), -1), s(x(3, 4), bools(3, 1), x()),
        s(ints(4), bools(4), 7), s(x(), bools(), 1.0), s(x(0, 2), bools(2), 1.0),
        bad(x(3), bools(4), 1.0),
    ),
}  # fmt: skip


F64, F32, F16, INT, I32, BOOL = (
    Dtype(name) for name in ("float64", "float32", "float16", "int64", "int32", "bool")
)


CREATION: Table = {
    **alike(
        "zeros ones",
        rows(
            s(2, 3), s((2, 3)), s([2]), s(()), s(0), s(2, dtype=INT), s(2, dtype=F64),
            s((1, 2), dtype=BOOL), bad(-1), bad(2, -3), bad("2"), bad(2.5),
        ),
    ),
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


UNUSUAL = at(0.0, -0.0, 1.0, -1.0, inf, -inf, nan)
OTHER = at(-0.0, 0.0, 1.0, 2.0, inf, inf, nan)


COMPARISON: Table = {
    **alike(
        "eq ne lt le gt ge",
        rows(
            s(x(3, 4), x(3, 4)), s(x(2, 1, 3), x(4, 1)), s(x(), x(3)), s(x(0, 2), x(2)),
            s(UNUSUAL, OTHER), s(x(3), 1), s(ints(5), 2), s(ints(5), 1.5),
            s(ints(6), ints(6, dtype="int32")), s(ints(4), x(4)), s(bools(4), bools(4)),
            s(given([1, 0, 2], "uint8"), -1), bad(x(2), x(3)),
        ),
    ),
    **alike(
        "logical_and logical_or logical_xor",
        rows(
            s(bools(3, 4), bools(4)), s(bools(3), bools(2, 1)), s(UNUSUAL, OTHER),
            s(ints(6), ints(6)), s(ints(6), bools(6)), s(bools(0), bools(0)), s(bools(), bools(3)),
            bad(bools(2), bools(3)),
        ),
    ),
    **alike(
        "bitwise_and bitwise_or bitwise_xor",
        rows(
            s(ints(3, 4), ints(4)), s(ints(4), 3), s(bools(3), bools(3)), s(bools(3), True),
            s(bools(3), ints(3)), s(ints(4, dtype="uint8"), ints(4, dtype="int8")),
            s(ints(0), ints(0)), bad(x(3), x(3)), bad(x(3), ints(3)), bad(ints(2), ints(3)),
        ),
    ),
    **alike(
        "isnan isinf isfinite",
        rows(s(UNUSUAL), s(x(2, 3)), s(x()), s(x(0)), s(ints(3)), s(bools(3))),
    ),
    "logical_not": rows(s(bools(3, 4)), s(UNUSUAL), s(ints(5)), s(bools()), s(bools(0))),
    "bitwise_not": rows(s(ints(4)), s(bools(4)), s(ints(4, dtype="uint8")), s(ints(0)), bad(x(3))),
    "isclose": rows(
        s(at(1.0, 1.0, nan, inf, 0.0), at(1.0 + 2**-20, 1.1, nan, inf, 1e-9)),
        s(at(1.0, nan), at(1.5, nan), rtol=0.5, equal_nan=True), s(x(2, 3), x(3), atol=1.0),
        s(ints(4), ints(4)), bad(x(2), x(3)),
    ),
    "allclose": rows(
        s(x(3), x(3)), s(at(1.0, 2.0), at(1.0, 2.0)), s(at(1.0, nan), at(1.0, nan)),
        s(at(1.0, nan), at(1.0, nan), equal_nan=True), s(x(0), x(0)), s(x(3), x(3), atol=10.0),
    ),
    "equal": rows(
        s(at(1.0, 2.0), at(1.0, 2.0)), s(at(1.0, 2.0), at(1.0, 3.0)), s(at(1.0, nan), at(1.0, nan)),
        s(x(2), x(2, 1)), s(x(0), x(0)), s(ints(3), ints(3)),
    ),
    "numel": rows(s(x(2, 3)), s(x()), s(x(0, 4))),
}  # fmt: skip
