"""Samples of the exponential of matrices, triangular factors and what is solved by them."""

from tests.ops.samples_factors import BATCH, PLAIN, SQUARE, TALL, TURNED, WIDE, called
from tests.ops.sampling import Table, at, bad, fixed, ints, kink, rows, s, x

LOWER = at([2.0, 0.0, 0.0], [0.75, 1.5, 0.0], [-1.0, 0.5, 1.25])
UPPER = at([2.0, 0.75, -1.0], [0.0, 1.5, 0.5], [0.0, 0.0, 1.25])
SINGULAR = fixed([0.0, 0.0], [0.0, 0.0])


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
        s(SQUARE), s(BATCH), s(TALL), s(WIDE), bad(SINGULAR), call=called("lu_factor"),
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
    "map_": rows(
        s(x(2, 3, grad=False), x(3, grad=False), add), s(ints(3), ints(3), add),
        bad(x(3, grad=False), ints(3), add), bad(ints(3), ints(2), add), nodes=False,
    ),
}  # fmt: skip
