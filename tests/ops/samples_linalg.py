"""Samples of products of matrices and vectors, and of `torch.linalg`.

Singular vectors and eigenvectors have signs that are nobody's business: rows that look at them
ask for products in which the signs cancel.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from typing import Any

from tests.ops.sampling import (
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

SQUARE = at([4.0, 1.0, -0.5], [0.75, 3.0, 1.0], [-1.0, 0.5, 2.5])
TURNED = at([-2.0, 1.0, 0.5], [0.25, 3.0, 1.5], [1.0, -0.5, 2.25])
BATCH = at(
    [[4.0, 1.0, -0.5], [0.75, 3.0, 1.0], [-1.0, 0.5, 2.5]],
    [[-2.0, 1.0, 0.5], [0.25, 3.0, 1.5], [1.0, -0.5, 2.25]],
)
SYMMETRIC = at([4.0, 1.0, 0.5], [1.0, 3.0, 1.0], [0.5, 1.0, 2.5])
TALL = at([4.0, 0.75], [1.0, 3.0], [-0.5, 1.0])
WIDE = at([4.0, 1.0, -0.5], [0.75, 3.0, 1.0])
# PyTorch cannot differentiate some functions, though it does not refuse a gradient.
PLAIN, PLAIN_BATCH = (replace(t, grad=False) for t in (SQUARE, BATCH))
SINGULAR = fixed([1.0, 2.0], [2.0, 4.0])
PAIR = fixed([[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]])
ZEROS = fixed([0.0, 0.0], [0.0, 0.0])


def called(path: str) -> Callable[..., Any]:
    """How a function of `torch.linalg` is called."""
    return lambda torch, *args, **kwargs: getattr(torch.linalg, path)(*args, **kwargs)


def of_squares(*more: Sample, letter: str = "A", **options: Any) -> Row:
    """Samples of a function of square matrices."""
    return rows(
        s(SQUARE), s(BATCH), s(x(0, 0)), s(x(2, 0, 0)), s(at([[2.5]])), bad(WIDE), bad(x()),
        bad(x(3)), bad(ints(2, 2)), *more, **options,
    )  # fmt: skip


def symmetric(A: Any) -> Any:
    """The symmetric part, so that either triangle depends on all elements."""
    return (A + A.transpose(-2, -1)) / 2


def info_and_nan(torch: Any, result: Any) -> list[Any]:
    """What failed, and a nan, since what there is of matrices that failed is not finite."""
    return [result.info, torch.tensor(nan)]


def eigen(torch: Any, A: Any, *args: Any) -> list[Any]:
    """Eigenvalues, and the matrix put together again from a function of them."""
    values, vectors = torch.linalg.eigh(symmetric(A), *args)
    return [values, (vectors * values.exp().unsqueeze(-2)) @ vectors.transpose(-2, -1)]


def vectors_alone(torch: Any, A: Any) -> Any:
    """The projection on one eigenvector, which depends on eigenvectors only."""
    vector = torch.linalg.eigh(symmetric(A))[1][..., :1]
    return vector @ vector.transpose(-2, -1)


def singular(torch: Any, A: Any, full: bool = False) -> list[Any]:
    """Singular values, and products in which the signs of the vectors cancel."""
    U, S, Vh = torch.linalg.svd(A, full_matrices=full)
    k = S.shape[-1]
    U, Vh = U[..., :, :k], Vh[..., :k, :]
    return [S, (U * S.square().unsqueeze(-2)) @ Vh]


def left_vectors(torch: Any, A: Any) -> Any:
    """The projection on one left singular vector."""
    vector = torch.linalg.svd(A, full_matrices=False)[0][..., :1]
    return vector @ vector.transpose(-2, -1)


def right_vectors(torch: Any, A: Any) -> Any:
    """The projection on one right singular vector."""
    vector = torch.linalg.svd(A)[2][..., :1, :]
    return vector.transpose(-2, -1) @ vector


FACTORS: Table = {
    "inverse": of_squares(),
    "linalg.inv": of_squares(
        bad(SINGULAR), bad(PAIR), bad(ZEROS), bad(given([[1.0]], "float16")), call=called("inv")
    ),
    "det": of_squares(s(SINGULAR), s(PAIR)),
    "linalg.det": rows(s(SQUARE), bad(WIDE), call=called("det")),
    "matrix_power": rows(
        *[s(SQUARE, n) for n in (0, 1, 2, 3, 5, -1, -3)], s(BATCH, 3), s(BATCH, -2), s(x(0, 0), 2),
        s(ints(2, 2), 3), s(ints(2, 2), 0), bad(WIDE, 2), bad(x(3), 2), bad(SQUARE, 2.0),
        bad(SINGULAR, -1),
    ),
    "linalg.multi_dot": rows(
        s((x(2, 3), x(3, 4))), s([x(2, 3), x(3, 4), x(4, 1)]), s([x(3), x(3, 2), x(2, 2), x(2)]),
        s([x(2, 3), x(3)]), s([x(2), x(2)]), s([ints(2, 2), ints(2, 3)]), s([x(2, 0), x(0, 3)]),
        bad([x(2, 3)]), bad([x(2, 2), x(2), x(2)]), bad([x(2, 2, 2), x(2, 2)]),
        bad([x(2, 3), x(2, 3)]), bad([x(2, 2), ints(2, 2)]), bad(x(2, 2)),
        call=called("multi_dot"), nodes=False,
    ),
    "det of singular matrices": rows(
        s(at([1.0, 2.0], [2.0, 4.0])), kink(at([0.0, 0.0], [0.0, 0.0])),
        s(at([[1.0, 0.0], [0.5, 2.0]], [[1.0, 2.0], [2.0, 4.0]])),
        call=lambda torch, A: torch.det(A),
        kinks=False,
    ),
    "slogdet": of_squares(s(SINGULAR)),
    "linalg.slogdet": rows(s(SQUARE), s(TURNED), call=called("slogdet")),
    "sign of slogdet": rows(s(TURNED), call=lambda torch, A: torch.slogdet(A).sign),
    "logdet": rows(s(SQUARE), s(SINGULAR), kink(TURNED), bad(WIDE), kinks=False),
    "linalg.solve": rows(
        s(SQUARE, x(3)), s(SQUARE, x(3, 2)), s(BATCH, x(2, 3)), s(BATCH, x(3, 2)),
        s(BATCH, x(2, 3, 2)), s(SQUARE, x(2, 3, 1)), s(BATCH, x(3)), s(SQUARE, x(2, 3), left=False),
        s(BATCH, x(1, 2, 3), left=False), s(x(0, 0), x(0)), bad(SQUARE, x(3, 2), left=False),
        bad(SQUARE, x(4)), bad(SINGULAR, x(2)), bad(PAIR, x(2)), bad(SQUARE, ints(3)),
        bad(WIDE, x(2)), bad(SQUARE, x()), bad(ints(2, 2), ints(2)), call=called("solve"),
    ),
    "linalg.solve_triangular": rows(
        s(SQUARE, x(3, 2), upper=True), s(SQUARE, x(3, 2), upper=False),
        s(SQUARE, x(2, 3), upper=True, left=False),
        s(SQUARE, x(3, 2), upper=True, unitriangular=True),
        s(BATCH, x(2, 3), upper=False, left=False, unitriangular=True),
        bad(WIDE, x(3, 2), upper=True), bad(SQUARE, x(2, 3), upper=True),
        call=called("solve_triangular"),
    ),
    "linalg.cholesky": rows(
        kink(SYMMETRIC), kink(SYMMETRIC, upper=True), s(x(0, 0)),
        bad(fixed([-1.0, 0.0], [0.0, 1.0])),
        bad(fixed([[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]])), bad(WIDE), bad(ints(2, 2)),
        call=called("cholesky"),
    ),
    "cholesky of symmetric": rows(
        s(SQUARE), s(SQUARE, upper=True),
        call=lambda torch, A, **k: torch.linalg.cholesky(symmetric(A), **k),
    ),
    "linalg.cholesky_ex": rows(
        kink(SYMMETRIC), bad(fixed([[-1.0]]), check_errors=True), call=called("cholesky_ex")
    ),
    "info of linalg.cholesky_ex": rows(
        s(fixed([-1.0, 0.0], [0.0, 1.0])),
        call=lambda torch, A: info_and_nan(torch, torch.linalg.cholesky_ex(A)),
    ),
    "cholesky": rows(bad(SYMMETRIC)),
    "linalg.qr": rows(
        s(SQUARE), s(TALL), s(WIDE), s(BATCH), s(WIDE, mode="complete"),
        s(fixed([4.0, 0.75], [1.0, 3.0], [-0.5, 1.0]), "complete"),
        s(fixed([4.0, 0.75], [1.0, 3.0], [-0.5, 1.0]), mode="r"), bad(TALL, "full"), bad(x(3)),
        bad(ints(2, 2)), call=called("qr"),
    ),
    "Q of linalg.qr": rows(s(TALL), s(WIDE), call=lambda torch, A: torch.linalg.qr(A)[0]),
    "R of linalg.qr": rows(s(TALL), s(WIDE), call=lambda torch, A: torch.linalg.qr(A)[1]),
    "linalg.svd": rows(
        bad(x(3)), bad(ints(2, 2)), bad(fixed([nan, 1.0], [1.0, 1.0])), call=called("svd")
    ),
    "svd": rows(bad(x(3))),
    "from linalg.svd": rows(
        s(SQUARE), s(TALL), s(WIDE), s(BATCH), s(TALL, True), s(WIDE, True), call=singular
    ),
    "from torch.svd": rows(
        s(TALL), call=lambda torch, A: (lambda u, s, v: [s, u @ v.mT])(*torch.svd(A))
    ),
    "left of linalg.svd": rows(s(TALL), s(WIDE), call=left_vectors),
    "right of linalg.svd": rows(s(TALL), s(WIDE), call=right_vectors),
    "linalg.svdvals": rows(s(SQUARE), s(TALL), s(BATCH), bad(x()), call=called("svdvals")),
    "from linalg.eigh": rows(s(SQUARE), s(BATCH), s(SQUARE, "U"), call=eigen),
    "vector of linalg.eigh": rows(s(SQUARE), call=vectors_alone),
    "linalg.eigh": rows(
        bad(WIDE), bad(x()), bad(ints(2, 2)), bad(SYMMETRIC, "X"), call=called("eigh")
    ),
    "linalg.eigvalsh": rows(kink(SYMMETRIC), kink(SYMMETRIC, "U"), call=called("eigvalsh")),
    "pinverse": rows(s(TALL)),
    "linalg.pinv": rows(
        s(TALL), s(WIDE), s(BATCH), s(Input((2, 3), grad=False), rcond=0.5),
        s(Input((2, 3), grad=False), atol=1.5), s(Input((2, 3), grad=False), atol=0.1, rtol=0.2),
        kink(SYMMETRIC, hermitian=True), s(SINGULAR), s(x(0, 3)), bad(x(3)), bad(ints(2, 2)),
        call=called("pinv"),
    ),
    "linalg.matrix_rank": rows(
        s(SQUARE), s(BATCH), s(PAIR), s(WIDE, tol=3), s(WIDE, atol=3.0, rtol=0.1),
        s(SYMMETRIC, hermitian=True), bad(x()), bad(ints(2, 2)), call=called("matrix_rank"),
    ),
    "linalg.lstsq": rows(
        s(TALL, x(3, 2)), s(TALL, x(3)), s(TALL, x(3, 1), driver="gels"),
        s(TALL, x(3, 1), driver="gelsd"), s(TALL, x(3, 1), driver="gelss"), s(WIDE, x(2, 1)),
        s(BATCH, x(2, 3, 1)), bad(TALL, x(2, 1)), bad(TALL, x(3, 1), driver="qr"),
        bad(TALL, ints(3, 1)), call=called("lstsq"), nodes=False,
    ),
    "linalg.matrix_norm of values": rows(
        s(SQUARE, 2), s(SQUARE, -2), s(WIDE, "nuc"), s(BATCH, 2, keepdim=True),
        s(BATCH, "nuc", dim=(0, 2)), bad(SQUARE, 3), bad(SQUARE, "two"), call=called("matrix_norm"),
        nodes=False,
    ),
    "norm of values": rows(
        s(SQUARE, "nuc"), s(WIDE, p="nuc"), nodes=False, torch="norm",
        call=lambda torch, *a, **k: torch.norm(*a, **k),
    ),
    "linalg.diagonal": rows(s(SQUARE), s(BATCH, offset=1), call=called("diagonal")),
}  # fmt: skip


LOWER = at([2.0, 0.0, 0.0], [0.75, 1.5, 0.0], [-1.0, 0.5, 1.25])
UPPER = at([2.0, 0.75, -1.0], [0.0, 1.5, 0.5], [0.0, 0.0, 1.25])
SINGULAR_FACTOR = fixed([0.0, 0.0], [0.0, 0.0])


def double(value: float) -> float:
    """A function of one number."""
    return 2 * value


def half(value: float) -> float:
    """A function that gives no integer for one."""
    return value + 0.5


def add(*values: float) -> float:
    """A function of several numbers."""
    return sum(values)


SOLVING: Table = {
    "matrix_exp": rows(
        s(SQUARE), s(BATCH), s(x(0, 0)), s(at([[2.5]])), s(fixed([30.0, 1.0], [0.0, -4.0])),
        bad(WIDE), bad(x(3)), bad(ints(2, 2)), tolerance=1e-9,
    ),
    "linalg.matrix_exp": rows(s(SQUARE), call=called("matrix_exp"), tolerance=1e-9),
    # PyTorch's gradients of a factor are those of a full matrix, though one triangle is read.
    "cholesky_solve": rows(
        kink(x(3, 2), LOWER), kink(x(3, 1), UPPER, True), kink(x(2, 3, 2), LOWER),
        bad(x(3), LOWER), bad(x(2, 1), LOWER), bad(x(2, 1), WIDE), tolerance=1e-9,
    ),
    "linalg.lu_factor": rows(
        s(SQUARE), s(BATCH), s(TALL), s(WIDE), bad(SINGULAR_FACTOR), call=called("lu_factor"),
        tolerance=1e-9,
    ),
    "lu_unpack": rows(
        s(TURNED), s(TALL), s(WIDE), s(PLAIN, unpack_data=False), s(SQUARE, unpack_pivots=False),
        call=lambda torch, A, **options: torch.lu_unpack(*torch.linalg.lu_factor(A), **options),
        tolerance=1e-9,
    ),
    "apply_": rows(
        s(x(2, 3, grad=False), double), s(ints(3), half), s(x(0, grad=False), double),
        bad(x(3), double), nodes=False,
    ),
}  # fmt: skip


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
        s(x(2, 3, 4), x(2, 4, 2)), s(x(0, 2, 3), x(0, 3, 1)), bad(x(2, 3), x(2, 3)),
        bad(x(2, 3, 4), x(3, 4, 2)),
    ),
    "addmm": rows(
        s(x(2, 4), x(2, 3), x(3, 4)), s(x(4), x(2, 3), x(3, 4)),
        s(x(2, 4), x(2, 3), x(3, 4), beta=0.5, alpha=2), s(x(4), x(2, 3), x(3, 4), beta=0),
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
