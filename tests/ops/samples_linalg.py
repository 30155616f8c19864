"""Samples of products of matrices and vectors, and of `torch.linalg`."""

from math import inf

from tests.ops.sampling import Table, at, bad, ints, rows, s, x

SQUARE = at([4.0, 1.0, -0.5], [0.75, 3.0, 1.0], [-1.0, 0.5, 2.5])
SYMMETRIC = at([4.0, 1.0, 0.5], [1.0, 3.0, 1.0], [0.5, 1.0, 2.5])

LINALG: Table = {
    "matmul": rows(
        s(x(3), x(3)), s(x(2, 3), x(3)), s(x(3), x(3, 2)), s(x(2, 3), x(3, 4)),
        s(x(5, 2, 3), x(5, 3, 4)), s(x(5, 2, 3), x(3, 4)), s(x(2, 3), x(5, 3, 4)),
        s(x(5, 2, 3), x(3)), s(x(3), x(5, 3, 4)), s(x(2, 1, 2, 3), x(5, 3, 4)),
        s(x(1, 2, 3), x(5, 3, 2)), s(x(2, 0), x(0, 3)), s(x(0, 2), x(2, 3)), s(x(2, 0, 3), x(3, 2)),
        s(ints(2, 3), ints(3, 2)), bad(x(2, 3), x(2, 3)), bad(x(3), x(4)), bad(x(2, 3), x(4)),
        bad(x(), x(3)), bad(x(2, 2, 3), x(3, 3, 4)), bad(ints(2, 3), x(3, 2)),
    ),
    "mm": rows(
        s(x(2, 3), x(3, 4)), s(x(0, 3), x(3, 2)), s(ints(2, 2), ints(2, 2)), bad(x(3), x(3, 2)),
        bad(x(2, 3), x(2, 3)),
    ),
    "mv": rows(s(x(2, 3), x(3)), bad(x(2, 3), x(2)), bad(x(3), x(3))),
    "dot": rows(
        s(x(3), x(3)), s(x(0), x(0)), s(ints(3), ints(3)), bad(x(3), x(4)), bad(x(2, 2), x(2))
    ),
    "inner": rows(s(x(3), x(3)), s(x(2, 3), x(4, 3))),
    "outer": rows(s(x(2), x(3)), s(x(0), x(2)), bad(x(2, 2), x(2))),
    "ger": rows(s(x(2), x(3))),
    "vdot": rows(s(x(3), x(3))),
    "products_of_samples": rows(
        s(x(2, 3, 4), x(2, 4, 2)), s(x(2, 3, 1), x(2, 1, 2)), s(x(2, 1, 3), x(2, 3, 1)),
        s(x(0, 2, 3), x(0, 3, 2)), torch=None,
    ),
    "bmm": rows(
        s(x(2, 3, 4), x(2, 4, 2)),
        s(x(0, 2, 3), x(0, 3, 1)),
        bad(x(2, 3), x(2, 3)),
        bad(x(2, 3, 4), x(3, 4, 2)),
    ),
    "addmm": rows(
        s(x(2, 4), x(2, 3), x(3, 4)),
        s(x(4), x(2, 3), x(3, 4)),
        s(x(2, 4), x(2, 3), x(3, 4), beta=0.5, alpha=2),
        s(x(4), x(2, 3), x(3, 4), beta=0),
        bad(x(3), x(2, 3), x(3, 4)),
    ),
    "baddbmm": rows(
        s(x(2, 2, 4), x(2, 2, 3), x(2, 3, 4)), s(x(4), x(2, 2, 3), x(2, 3, 4), beta=0.5)
    ),
    "linear": rows(
        s(x(2, 3), x(4, 3)), s(x(2, 3), x(4, 3), x(4)), s(x(3), x(4, 3), x(4)),
        s(x(2, 5, 3), x(4, 3), x(4)), s(x(2, 5, 3), x(4, 3)), s(x(0, 3), x(4, 3), x(4)),
        s(x(3), x(3)), bad(x(2, 3), x(4, 2)), bad(x(2, 3), x(4, 2), x(4)),
    ),
    "einsum": rows(
        s("ij,jk->ik", x(2, 3), x(3, 4)), s("ij,ij->", x(2, 3), x(2, 3)), s("ij->ji", x(2, 3)),
        s("ii->i", x(3, 3)), s("ii", x(3, 3)), s("bij,bjk->bik", x(2, 3, 4), x(2, 4, 2)),
        s("i,j->ij", x(2), x(3)), s("...ij,...jk->...ik", x(2, 2, 3), x(3, 2)),
        s("ij,jk,kl->il", x(2, 3), x(3, 2), x(2, 4)), s("ij->", x(2, 3)), s("ij,j", x(2, 3), x(3)),
        bad("ij,jk->ik", x(2, 3), x(2, 3)), bad("ij", x(3)),
    ),
    "tensordot": rows(
        s(x(2, 3), x(3, 4), 1), s(x(2, 3, 4), x(4, 3), ([1, 2], [1, 0])), s(x(2), x(3), 0)
    ),
    "kron": rows(s(x(2, 2), x(2, 3)), s(x(2), x(3))),
    "cross": rows(s(x(2, 3), x(2, 3), dim=1), s(x(3), x(3), dim=0)),
    "linalg.norm": rows(
        s(x(3)), s(x(2, 3)), s(x(2, 3), "fro"), s(x(3), 1), s(x(2, 3), dim=1),
        s(x(2, 3, 2), dim=(0, 1)), s(x(2, 3), 2, 1, True), s(x(2, 3), 1), bad(x(2, 3, 2), "fro"),
        bad(x(3), dim=2), call=lambda torch, *a, **k: torch.linalg.norm(*a, **k),
    ),
    "linalg.vector_norm": rows(
        s(x(3)), s(x(2, 3)), s(x(2, 3), 1), s(x(2, 3), 3, 1), s(x(2, 3), 2, (0, 1), True), s(x()),
        s(x(2, 3), inf), s(x(2, 3), -inf, 0), s(x(2, 3), 0), bad(ints(3)),
        call=lambda torch, *a, **k: torch.linalg.vector_norm(*a, **k),
    ),
    "linalg.matrix_norm": rows(
        s(x(2, 3)), s(x(2, 3), 1), s(x(2, 2, 3), inf), s(x(2, 3), keepdim=True), bad(x(3)),
        call=lambda torch, *a, **k: torch.linalg.matrix_norm(*a, **k),
    ),
    "linalg.cross": rows(
        s(x(2, 3), x(2, 3)), s(x(3), x(3)), call=lambda torch, *a: torch.linalg.cross(*a)
    ),
}  # fmt: skip
