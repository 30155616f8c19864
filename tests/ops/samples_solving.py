"""Samples of the exponential of matrices, triangular factors and what is solved by them."""

from tests.ops.samples_factors import BATCH, PLAIN, SQUARE, TALL, TURNED, WIDE, called
from tests.ops.sampling import Table, at, bad, fixed, ints, kink, rows, s, x

LOWER = at([2.0, 0.0, 0.0], [0.75, 1.5, 0.0], [-1.0, 0.5, 1.25])
UPPER = at([2.0, 0.75, -1.0], [0.0, 1.5, 0.5], [0.0, 0.0, 1.25])
SINGULAR = fixed([0.0, 0.0], [0.0, 0.0])


def factored(torch, A, B, **options):  # type: ignore[no-untyped-def]
    """A system solved by its factors."""
    return torch.linalg.lu_solve(*torch.linalg.lu_factor(A), B, **options)


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
    "cholesky_inverse": rows(
        kink(LOWER), kink(UPPER, upper=True), bad(x(3)), bad(WIDE), bad(ints(2, 2)), tolerance=1e-9
    ),
    "linalg.lu": rows(
        s(SQUARE), s(TURNED), s(BATCH), s(TALL), s(WIDE), bad(x(3)), bad(SQUARE, pivot=False),
        call=called("lu"), nodes=False, tolerance=1e-9,
    ),
    "linalg.lu_factor": rows(
        s(SQUARE), s(BATCH), s(TALL), s(WIDE), bad(SINGULAR), call=called("lu_factor"),
        tolerance=1e-9,
    ),
    "linalg.lu_factor_ex": rows(
        s(TURNED), s(SINGULAR), bad(SINGULAR, check_errors=True), call=called("lu_factor_ex"),
        tolerance=1e-9,
    ),
    "linalg.lu_solve": rows(
        s(SQUARE, x(3, 2)), s(BATCH, x(2, 3, 1), adjoint=True), s(TURNED, x(2, 3), left=False),
        bad(SQUARE, x(2, 1)), call=factored, nodes=False, tolerance=1e-9,
    ),
    "lu_solve": rows(
        s(x(3, 2), SQUARE),
        call=lambda torch, b, A: torch.lu_solve(b, *torch.linalg.lu_factor(A)),
        nodes=False, tolerance=1e-9,
    ),
    "lu_unpack": rows(
        s(TURNED), s(TALL), s(WIDE), s(PLAIN, unpack_data=False), s(SQUARE, unpack_pivots=False),
        call=lambda torch, A, **options: torch.lu_unpack(*torch.linalg.lu_factor(A), **options),
        tolerance=1e-9,
    ),
    "lu": rows(s(SQUARE), s(BATCH), s(SINGULAR, get_infos=True), tolerance=1e-9),
    "linalg.solve_ex": rows(
        s(SQUARE, x(3, 2)), s(BATCH, x(2, 3)), s(TURNED, x(2, 3), left=False), s(SQUARE, x(3)),
        bad(SINGULAR, x(2), check_errors=True), bad(SQUARE, x(2)), bad(ints(2, 2), ints(2)),
        call=called("solve_ex"), tolerance=1e-9,
    ),
    "info of linalg.solve_ex": rows(
        s(SINGULAR, fixed(1.0, 2.0)), s(SQUARE, x(3)),
        call=lambda torch, A, B: torch.linalg.solve_ex(A, B).info,
    ),
    "linalg.householder_product": rows(
        s(TALL, x(2)), s(TALL, x(1)), s(x(2, 3, 2), x(2, 2)),
        bad(WIDE, x(2)), bad(TALL, x(3)), bad(x(3), x(3)), bad(TALL, x(1, 2)),
        bad(ints(3, 2), x(2)), bad(ints(3, 2), ints(2)), bad(x(2, 3, 2), x(3, 2)),
        call=called("householder_product"), nodes=False, tolerance=1e-9,
    ),
    "apply_": rows(
        s(x(2, 3, grad=False), double), s(ints(3), half), s(x(0, grad=False), double),
        bad(x(3), double), nodes=False,
    ),
    "map_": rows(
        s(x(2, 3, grad=False), x(3, grad=False), add), s(ints(3), ints(3), add),
        bad(x(3, grad=False), ints(3), add), bad(ints(3), ints(2), add), nodes=False,
    ),
    "map2_": rows(
        s(x(2, 3, grad=False), x(3, grad=False), x(2, 3, grad=False), add), nodes=False
    ),
}  # fmt: skip
