"""Samples of indexing, gathering, scattering and in-place operations."""

from dataclasses import replace
from math import inf, nan

from tests.ops.samples_elementwise import COMPARISON, ELEMENTWISE
from tests.ops.samples_nn import NN
from tests.ops.samples_reduction import REDUCTION
from tests.ops.samples_shape import SHAPE
from tests.ops.samples_special import SPECIAL_FUNCTIONS
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
    rows,
    s,
    unary,
    x,
)

ROWS_3 = given([[0, 2, 1], [1, 1, 0]])
# Where an index occurs twice, which value is kept is undefined.
ONCE = given([[0, 2, 1], [1, 2, 0]])
MASK = given([[True, False, True], [False, False, True]], "bool")
ALL = slice(None)

INDEXING: Table = {
    "part": rows(
        s(x(3), (1,)), s(x(2, 3), (slice(0, 1),)), s(x(4, 3), (slice(1, 4, 2), -1)), torch=None,
    ),
    "__getitem__": rows(
        s(x(3), 1), s(x(3), -1), s(x(2, 3), 1), s(x(2, 3), (1, 2)), s(x(5), slice(1, 4)),
        s(x(6), slice(None, None, 2)), s(x(3), slice(2, 1)), s(x(2, 3, 4), (slice(0, 1), ALL, 2)),
        s(x(2, 3), None), s(x(2, 3), (ALL, None, 1)), s(x(2, 3, 4), (..., 0)), s(x(2, 3), ...),
        s(x(), ...), s(x(), None), s(x(), ()), s(x(4), [0, 2, 2]), s(x(4), given([0, 2, 2])),
        s(x(4, 3), given([[0, 1], [3, 3]])), s(x(4), given([-1, 0])), s(x(4), given(2)),
        bad(x(4), given([0, 2], "uint8")), s(x(3, 4), (given([0, 2]), given([1, 3]))),
        s(x(3, 4), ([0, 2], slice(1, 3))), s(x(2, 3, 4), (ALL, given([0, 2]))),
        s(x(2, 3, 4), (given([0, 1]), ALL, given([1, 3]))),
        s(x(2, 3, 4), (given([[0], [1]]), given([0, 2]))), s(x(2, 3, 4), (0, given([0, 2]))),
        s(x(2, 3, 4), (given([0, 1]), 0)), s(x(2, 3), (given([0, 1]), None)), s(x(2, 3), MASK),
        s(x(2, 3), given([True, False], "bool")),
        s(x(2, 3), (ALL, given([True, False, True], "bool"))), s(x(2, 3), [True, False]),
        s(x(3), True), s(x(3), given([], "int64")), s(x(0, 3), ALL), s(ints(4), given([1, 1])),
        bad(x(3), 3), bad(x(2, 3), (0, 0, 0)), bad(x(), 0), bad(x(3), given([3])),
        bad(x(2, 3), given([True, False, True], "bool")), bad(x(3), at(1.0)),
        bad(x(3), (given([0, 1]), given([0, 1]))), bad(x(3), slice(None, None, -1)),
    ),
    "__setitem__": rows(
        s(x(3), 1, 2.5), s(x(3), 1, x()), s(x(2, 3), 1, x(3)), s(x(2, 3), (ALL, 0), x(2)),
        s(x(5), slice(1, 4), x(3)), s(x(5), slice(1, 4), 0.0), s(x(2, 3), ..., x(3)),
        s(x(4), given([0, 2]), x(2)), s(x(4), [0, 2], 1.0),
        s(x(3, 4), (given([0, 2]), given([1, 3])), x(2)),
        s(x(3, 4), (given([0, 2]), slice(1, 3)), x(2, 2)), s(x(2, 3), MASK, 0.0),
        s(x(2, 3), MASK, x(3)), s(x(2, 3), given([True, False], "bool"), x(3)),
        s(x(2, 3), 0, ints(3)), s(ints(3), 0, 2.75), s(x(3), slice(1, 1), 5.0), s(x(), ..., 2.0),
        s(x(2, 3), (0, slice(None, None, 2)), x(1)), bad(x(3), 3, 0.0),
        bad(x(3), slice(0, 2), x(3)), bad(x(4), given([0, 2]), x(3)),
    ),
    "gather": rows(
        s(x(2, 3), 1, ROWS_3), s(x(3, 3), 0, ROWS_3), s(x(4), 0, given([0, 0, 3])),
        s(x(), 0, given(0)), s(x(2, 3), -1, given([[0], [2]])), s(x(2, 3), 1, ints(2, 0)),
        bad(x(2, 3), 2, ROWS_3), bad(x(2, 2), 1, ROWS_3), bad(x(3), 0, ROWS_3),
        bad(x(2, 3), 1, x(2, 3)),
    ),
    "take_along_dim": rows(s(x(2, 3), ROWS_3, 1), s(x(6), given([0, 5]))),
    "take": rows(s(x(2, 3), given([[0, 5], [5, 2]])), s(x(3), given([-1])), bad(x(3), given([3]))),
    "index_select": rows(
        s(x(3, 2), 0, given([0, 2, 2])), s(x(2, 3), 1, given([1])), s(x(3), -1, given([0, 0])),
        s(x(3), 0, given(1)), s(x(3), 0, ints(0)), bad(x(3), 0, given([3])),
        bad(x(3), 1, given([0])), bad(x(3), 0, given([[0]])),
    ),
    "masked_select": rows(
        s(x(2, 3), MASK), s(x(2, 3), given([True, False, True], "bool")), s(x(), bools()),
        bad(x(3), bools(2)),
    ),
    "nonzero": rows(s(bools(2, 3)), s(ints(5)), s(bools()), s(bools(3), as_tuple=True)),
    "argwhere": rows(s(bools(2, 3))),
    "scatter": rows(
        s(x(2, 3), 1, ONCE, x(2, 3)), s(x(3), 0, given([0, 2]), x(2)),
        s(x(2, 3), 1, given([[0], [2]]), 1.5), s(x(2, 3), 0, given([[1, 0, 1]]), x(1, 3)),
        bad(x(2, 3), 1, given([[3]]), x(1, 1)),
    ),
    "scatter_add": rows(
        s(x(2, 3), 1, ROWS_3, x(2, 3)), s(x(3), 0, given([0, 2, 0, 0]), x(4)),
        s(x(2, 3), 0, given([[1, 0, 1]]), x(1, 3)), bad(x(3), 0, given([3]), x(1)),
    ),
    "index_add": rows(
        s(x(3, 2), 0, given([0, 2, 0]), x(3, 2)), s(x(2, 3), 1, given([1]), x(2, 1), alpha=2),
    ),
    "index_copy": rows(s(x(3, 2), 0, given([0, 2]), x(2, 2))),
    "index_fill": rows(
        s(x(3, 2), 0, given([0, 2]), 1.5), s(x(2, 3), -1, given([1, 0, 1]), x()),
        s(x(3), 0, given([-1]), 2.0), s(x(2, 3, 2), 1, given(2), x()), s(x(), 0, given([0]), 2),
        s(x(), 0, given([0, 0]), x()),
        s(ints(4), 0, given([1]), 2.75), s(ints(4), 0, given([1]), ints()), s(x(3), 0, ints(0), 1),
        s(bools(3), 0, given([0]), 2), s(x(3, 0), 0, given([1]), 1),
        bad(x(3), 0, given([3]), 1), bad(x(2, 3), 1, given([-4]), x()), bad(x(3), 1, given([0]), 1),
        bad(x(3), 0, given([0], "int32"), 1), bad(x(3), 0, given([[0]]), 1),
        bad(x(3), 0, given([0]), x(1)), bad(given([1], "uint8"), 0, given([0]), 300),
    ),
    "put": rows(
        s(x(2, 3), given([1, -1]), x(2)), s(x(2, 3), given([[0], [4]]), x(2), True),
        s(x(2, 3), given([1, 1]), x(1, 2), accumulate=True), s(x(), given(0), x()),
        s(x(3), ints(0), x(0)), s(ints(3), given([2]), ints(1)), s(x(0), ints(0), x(0)),
        bad(x(3), given([3]), x(1)), bad(x(3), given([-4]), x(1)), bad(x(3), given([0, 1]), x(1)),
        bad(x(3), given([0]), ints(1)), bad(x(3), given([0], "int32"), x(1)),
        bad(x(0), given([0]), x(1)),
    ),
    "index_put": rows(s(x(3, 2), (given([0, 2]),), x(2, 2)), s(x(4), (given([1, 1]),), x(2), True)),
    "masked_scatter": rows(s(x(2, 3), MASK, x(4))),
}  # fmt: skip

# In-place operations: the first argument is a copy, the result is what stands in it afterwards.
WRITES: Table = {
    "zero_": rows(s(x(2, 3)), s(ints(3)), s(x())),
    "fill_": rows(s(x(2, 3), 2.5), s(x(2), x()), s(ints(3), 2), bad(x(2), x(2))),
    "copy_": rows(
        s(x(2, 3), x(2, 3)), s(x(2, 3), x(3)), s(x(2, 3), ints(3)), s(ints(3), x(3)), s(x(2), x()),
        bad(x(2), x(3)),
    ),
    "fill_diagonal_": rows(s(x(3, 3), 1.0)),
    "masked_fill_": rows(s(x(2, 3), MASK, 1.5), s(x(2, 3), MASK, x())),
    "masked_scatter_": rows(s(x(2, 3), MASK, x(4))),
    "scatter_": rows(s(x(2, 3), 1, ONCE, x(2, 3)), s(x(2, 3), 1, given([[0], [2]]), 1.5)),
    "scatter_add_": rows(s(x(2, 3), 1, ROWS_3, x(2, 3))),
    "index_add_": rows(s(x(3, 2), 0, given([0, 2, 0]), x(3, 2))),
    "index_copy_": rows(s(x(3, 2), 0, given([0, 2]), x(2, 2))),
    "index_fill_": rows(s(x(3, 2), 0, given([0, 2]), 1.5), s(x(2, 3), -1, given([1, 0]), x())),
    "put_": rows(
        s(x(2, 3), given([1, -1]), x(2)), s(x(2, 3), given([1, 1]), x(2), True),
        bad(x(3), given([3]), x(1)),
    ),
    "index_put_": rows(
        s(x(3, 2), (given([0, 2]),), x(2, 2)), s(x(4), (given([1, 1]),), x(2), True)
    ),
    "clamp_": rows(s(x(3, 4), -1, 1), s(x(3, 4), min=0), s(ints(5), max=2), bad(x(3))),
    "div_": rows(
        s(x(2, 3), pos(3)), s(x(3), 2), s(x(3), ints(3, domain="positive")), bad(ints(3), 2),
        bad(x(3), pos(2, 3)),
    ),
    "pow_": rows(s(x(3), 2), s(pos(3), x(3)), s(pos(3), 0.5)),
    "addmm_": rows(s(x(2, 4), x(2, 3), x(3, 4)), s(x(2, 4), x(2, 3), x(3, 4), beta=0.5, alpha=2)),
    "baddbmm_": rows(s(x(2, 2, 4), x(2, 2, 3), x(2, 3, 4))),
    "squeeze_": rows(s(x(1, 3)), nodes=False),
    "unsqueeze_": rows(s(x(3), 0), nodes=False),
    "t_": rows(s(x(2, 3)), nodes=False),
    "transpose_": rows(s(x(2, 3), 0, 1), nodes=False),
}  # fmt: skip

# Every operation with an in-place form is sampled as it is out of place, where PyTorch allows it.
# fmt: off
INPLACE = (
    "add", "sub", "mul", "neg", "reciprocal", "sqrt", "rsqrt", "exp", "exp2", "expm1", "log",
    "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh",
    "cosh", "asinh", "acosh", "atanh", "abs", "sign", "floor", "ceil", "trunc", "round", "frac",
    "floor_divide", "remainder", "fmod", "tanh", "sigmoid", "relu", "logical_and", "logical_or",
    "logical_xor", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not",
    "tril", "triu", "true_divide", "clip", "erf", "erfc", "erfinv", "lgamma", "digamma", "logit",
    "sinc", "deg2rad", "rad2deg", "nan_to_num", "hypot", "addcmul", "addcdiv",
)
# fmt: on
OUT_OF_PLACE: Table = {
    **ELEMENTWISE,
    **COMPARISON,
    **REDUCTION,
    **SHAPE,
    **NN,
    **SPECIAL_FUNCTIONS,
}  # fmt: skip


def fits(sample_input: Input, others: list[Input]) -> bool:
    """Whether an in-place operation can hold its result in the first input."""
    return all(
        len(o.shape) <= len(sample_input.shape)
        and all(n in (1, m) for n, m in zip(o.shape[::-1], sample_input.shape[::-1], strict=False))
        for o in others
    )


def inplace_row(name: str) -> Row:
    """The samples whose first input can hold the result, whether PyTorch accepts them or not."""
    row = OUT_OF_PLACE[name]
    # A logical result has no derivative, but in place the tensor keeps the history it had.
    smooth = not name.startswith("logical")
    kept: list[Sample] = []
    for sample in row.samples:
        inputs = sample.inputs()
        if not inputs or inputs[0] is not sample.args[0]:
            continue
        floating = inputs[0].dtype == "float"
        if fits(inputs[0], inputs[1:]) if floating else len(inputs) == 1:
            kept.append(replace(sample, fails=None, smooth=sample.smooth and smooth))
    return replace(row, samples=tuple(kept))


WRITES |= {f"{name}_": inplace_row(name) for name in INPLACE if name in OUT_OF_PLACE}
# PyTorch has no derivative of these in place: they are sampled without.
for _name in ("asinh_", "acosh_", "atanh_"):
    _samples = [
        replace(kept, args=tuple(replace(a, grad=False) for a in kept.args))
        for kept in WRITES[_name].samples
    ]
    WRITES[_name] = rows(*_samples)


SPECIAL = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan)


SIGNS: Table = {
    **alike(
        "clamp_min clamp_max",
        rows(
            s(x(3, 4), 0.25), s(x(3), 1), s(x(), 0.5), s(ints(4), 1), s(ints(4), 0.5),
            s(bools(3), 1), s(x(2, 3), x(2, 3)), s(x(2, 1, 3), x(4, 1)), s(x(2, 0), x(1)),
            s(ints(4), x(4)), s(bools(3), bools(3)), kink(at(-1.0, 0.0, 1.0, nan, 2.0), 0.0),
            kink(at(-1.0, 0.0, 1.0, nan, 2.0), at(0.0, 0.0, 1.0, 1.0, nan)), bad(x(3), x(2)),
            bad(bools(3), True), bad(x(3), None),
        ),
    ),
    **alike("sgn angle", unary("real", kink(at(*SPECIAL)))),
    **alike("isneginf isposinf isreal", unary("real", s(fixed(*SPECIAL)))),
    "is_signed": rows(s(x(2)), s(ints(2)), s(bools(2)), s(given([1], "uint8")), bad(2)),
    "is_same_size": rows(s(x(2), ints(2)), s(x(2), x(3)), bad(x(2), 2)),
    "detach": rows(s(x(2)), s(ints(2)), bad(2)),
}  # fmt: skip
SIGN_WRITES: Table = {
    **alike(
        "clamp_min_ clamp_max_",
        rows(
            s(x(3, 4), 0.25), s(ints(4), 1), s(x(2, 3), x(3)), s(ints(4), ints(4)), bad(x(3), x(2)),
            bad(bools(3), True),
        ),
    ),
    "sgn_": rows(s(x(2, 3)), s(ints(3))),
    "square_": rows(s(x(2, 3)), s(ints(3)), bad(bools(3))),
    "cumsum_": rows(
        s(x(2, 3), 1), s(x(2, 3), -2), s(x(), 0), s(ints(4, dtype="int32"), 0),
        s(ints(4), 0, dtype=Dtype("int64")), bad(bools(3), 0), bad(x(3), 2),
        bad(ints(3), 0, dtype=Dtype("float32")),
    ),
    **alike(
        "swapaxes_ swapdims_", rows(s(x(2, 3), 0, 1), s(x(2, 3, 4), -1, 0), bad(x(2), 0, 3))
    ),
}  # fmt: skip


PLACING: Table = {
    "scalar_tensor": rows(
        s(2), s(2.5), s(True), s(2, dtype=Dtype("int64")), s(2.5, dtype=Dtype("int64")), bad("a")
    ),
}  # fmt: skip
