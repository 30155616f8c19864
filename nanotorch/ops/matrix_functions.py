"""Functions of matrices: the exponential, systems by Cholesky's factor, reflections."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_rules import leading, matrices
from nanotorch._core.op import Array, method, op
from nanotorch.ops.arguments import refuse_half
from nanotorch.ops.joining import cat_along
from nanotorch.ops.slicing import slice_along
from nanotorch.ops.solving import check_matrices, tr

# Of the approximation of degree 13, and up to which norm it holds in double precision.
PADE = (64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
        129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
        40840800.0, 960960.0, 16380.0, 182.0, 1.0)  # fmt: skip
REACH = 5.371920351148152


def exponential(A: Array) -> Array:
    """The exponential by scaling, an approximation and squaring, in double precision."""
    A = A.astype(np.float64)
    norm = np.abs(A).sum(-2).max(initial=0.0)
    squarings = max(0, int(np.ceil(np.log2(norm / REACH)))) if REACH < norm < np.inf else 0
    A = A / 2.0**squarings
    power, square = np.broadcast_to(np.eye(A.shape[-1]), A.shape), A @ A
    even, odd = np.zeros_like(A), np.zeros_like(A)
    for k in range(0, len(PADE), 2):
        even, odd = even + PADE[k] * power, odd + PADE[k + 1] * power
        power = power @ square
    odd = A @ odd
    out: Array = np.linalg.solve(even - odd, even + odd)
    for _ in range(squarings):
        out = out @ out
    return out


def exponential_slope(g: Any, input: Any) -> Any:
    """The gradient: a block of the exponential of a matrix twice as large."""
    n, A = input.shape[-1], tr(input)
    last, row = A.ndim - 1, A.ndim - 2
    top, bottom = cat_along([A, g], last), cat_along([A * 0, A], last)
    whole = linalg_matrix_exp(cat_along([top, bottom], row))
    return slice_along(slice_along(whole, row, 0, n), last, n, 2 * n)


@op(
    input=lambda g, input: exponential_slope(g, input),
    method=False,
    public=False,
    batch=leading,
    wide=True,
)
def linalg_matrix_exp(input: Array) -> Array:
    """The exponential of square matrices, ``(..., n, n)``.

    Reference:
        Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, 2005.
    """
    check_matrices("linalg.matrix_exp", input)
    return exponential(input).astype(input.dtype) if input.size else input.copy()


@method
def matrix_exp(input: Any) -> Any:
    """`torch.linalg.matrix_exp`."""
    return linalg_matrix_exp(input)


# By Cholesky's factor


def factor_slope(common: Any, L: Any, upper: bool) -> Any:
    """The gradient of a factor from the symmetric one of its product with its transpose."""
    return -(L @ common) if upper else -(common @ L)


def both_ways(A: Any) -> Any:
    """Matrices plus their transposes."""
    return A + tr(A)


@op(
    input=lambda g, input2, upper: cholesky_solve(g, input2, upper),
    input2=lambda g, input2, out, upper: factor_slope(
        both_ways(cholesky_solve(g, input2, upper) @ tr(out)), input2, upper
    ),
    batch=matrices,
)
def cholesky_solve(input: Array, input2: Array, upper: bool = False) -> Array:
    """The solutions X of ``A X = input`` for A with the Cholesky factor ``input2``.

    Args:
        input: ``(..., n, k)``.
        input2: ``(..., n, n)``, of which one triangle is looked at.
        upper: whether that is the upper one.
    """
    for name, array in (("b", input), ("A", input2)):
        if array.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {array.ndim} dimensions instead"
            )
    b, a = dtypes.of_array(input).char, dtypes.of_array(input2).char
    if a != b:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {b} and A of type {a} "
            "instead."
        )
    rows, columns = input2.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {rows} by {columns} matrices"
        )
    if input.shape[-2] != rows:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {rows} by {rows} but "
            f"each b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    refuse_half("cholesky_solve_cpu", input2)
    L = np.triu(input2).swapaxes(-1, -2) if upper else np.tril(input2)
    return np.linalg.solve(L.swapaxes(-1, -2), np.linalg.solve(L, input))
