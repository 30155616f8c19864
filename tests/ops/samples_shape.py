"""Samples of views, joins, splits, copies and conversions."""

from tests.ops.sampling import Dtype, Table, bad, bools, given, ints, kink, rows, s, unary, x

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
    "split_with_sizes": rows(s(x(5), [1, 4]), s(x(2, 5), (2, 3), 1), bad(x(5), [1, 3])),
    "dsplit": rows(s(x(1, 2, 4), 2)),
    "hsplit": rows(s(x(2, 4), 2)),
    "vsplit": rows(s(x(4, 2), 2)),
    "diagonal": rows(
        s(x(3, 3)), s(x(3, 4), 1), s(x(3, 4), -1), s(x(2, 3, 3), 0, 1, 2), s(x(2, 3), offset=5)
    ),
    "unfold": rows(
        s(x(6), 0, 3, 2), s(x(2, 5), 1, 2, 1), s(x(5), 0, 2, 3), bad(x(3), 0, 4, 1),
        call=lambda torch, a, *args: a.unfold(*args),
    ),
    "alias": rows(s(x(2)), call=lambda torch, a: a.view_as(a)),
    "detach": rows(s(x(2, 3)), s(x())),
    "atleast_1d": rows(s(x()), s(x(2))),
    "atleast_2d": rows(s(x()), s(x(2)), s(x(2, 3))),
    "atleast_3d": rows(s(x()), s(x(2)), s(x(2, 3))),
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
    "fliplr": rows(s(x(2, 3))),
    "flipud": rows(s(x(2, 3))),
    "roll": rows(
        s(x(4), 1), s(x(2, 3), 1), s(x(2, 3), 1, 1), s(x(2, 3), (1, -1), (0, 1)), s(x(0), 1)
    ),
    "rot90": rows(s(x(2, 3)), s(x(2, 3), 2, (0, 1)), s(x(2, 3), -1)),
    "meshgrid": rows(s(x(2), x(3), indexing="ij"), s(x(2), x(3), indexing="xy")),
    "tril": rows(s(x(3, 3)), s(x(2, 4), 1), s(x(2, 3, 3), -1), s(ints(3, 3)), bad(x(3))),
    "triu": rows(s(x(3, 3)), s(x(2, 4), 1), s(x(2, 3, 3), -1), s(ints(3, 3)), bad(x(3))),
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
    "float": rows(kink(x(3)), s(ints(3)), call=lambda torch, a: a.float()),
    "double": rows(s(x(3)), s(ints(3)), call=lambda torch, a: a.double()),
    "half": rows(kink(x(3)), s(ints(3)), call=lambda torch, a: a.half()),
    "int": rows(s(x(3)), s(bools(3)), call=lambda torch, a: a.int()),
    "long": rows(s(x(3)), s(bools(3)), call=lambda torch, a: a.long()),
    "short": rows(s(x(3)), s(bools(3)), call=lambda torch, a: a.short()),
    "byte": rows(s(ints(6)), s(bools(3)), call=lambda torch, a: a.byte()),
    "char": rows(s(x(3)), s(bools(3)), call=lambda torch, a: a.char()),
    "sum_to_size": rows(s(x(2, 3), (1, 3)), s(x(2, 3), 3), s(x(2, 3), (2, 3)), bad(x(2, 3), (2,))),
    "bool": rows(s(x(3)), s(ints(6)), call=lambda torch, a: a.bool()),
}  # fmt: skip

SHAPE: Table = {**VIEWS, **JOINS, **COPIES}
