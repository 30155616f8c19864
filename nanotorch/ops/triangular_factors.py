"""Matrices as a product of triangular ones by rows exchanged: `lu` and what is solved with it.

NumPy has no such function: the elimination goes column by column, for all matrices of a batch at
once. That of one matrix goes by panels, so that most of it is matrix products.
"""

from typing import Any

import numpy as np

from nanotorch._core.arguments import named_tuple
from nanotorch._core.batched import leading, looped, under_vmap, wholes
from nanotorch._core.op import Array, hidden_op, public
from nanotorch.ops.factoring import check_matrices, inverse_with_info, tr
from nanotorch.ops.joining import cat_along
from nanotorch.ops.shape import slice_along, tril, triu

PANEL = 16  # columns that are eliminated before the rest of the matrix follows


def eliminated_matrix(work: Array, pivots: Array) -> int:
    """`eliminated` for one matrix, in place; writes ``pivots`` and returns the first zero pivot."""
    steps, info = len(pivots), 0
    for start in range(0, steps, PANEL):
        stop = min(start + PANEL, steps)
        panel = work[:, start:stop]
        for k in range(start, stop):
            column = panel[k:, k - start]
            best = k + int(np.abs(column).argmax())
            pivots[k] = best + 1
            if best != k:
                work[[k, best]] = work[[best, k]]
            pivot = column[0]
            if pivot == 0:
                info = info or k + 1
            else:
                column[1:] /= pivot
            if k + 1 < stop:
                right = panel[k:, k + 1 - start :]
                right[1:] -= column[1:, None] * right[0]
        if stop < work.shape[1]:
            upper = work[start:stop, stop:]
            square = np.tril(panel[start:stop], -1) + np.eye(stop - start, dtype=work.dtype)
            upper[...] = np.linalg.solve(square, upper)
            work[stop:, stop:] -= panel[stop:] @ upper
    return info


def eliminated(A: Array) -> tuple[Array, Array, Array]:
    """Both factors in one matrix, the rows exchanged (from 1), and the first zero pivot or 0."""
    shape, (m, n) = A.shape[:-2], A.shape[-2:]
    work = np.array(A, order="C").reshape(-1, m, n)
    steps = min(m, n)
    pivots = np.zeros((len(work), steps), np.int32)
    info, each = np.zeros(len(work), np.int32), np.arange(len(work))
    alone = len(work) == 1
    if alone:
        info[0] = eliminated_matrix(work[0], pivots[0])
    for k in range(0 if alone else steps):
        best = k + np.argmax(np.abs(work[:, k:, k]), 1)
        pivots[:, k] = best + 1
        rows = work[each, best]
        work[each, best], work[:, k] = work[:, k].copy(), rows
        pivot = work[:, k, k]
        info = np.where((pivot == 0) & (info == 0), k + 1, info).astype(np.int32)
        work[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot).astype(A.dtype)[:, None]
        work[:, k + 1 :, k + 1 :] -= work[:, k + 1 :, k, None] * work[:, k, None, k + 1 :]
    return work.reshape(A.shape), pivots.reshape(*shape, steps), info.reshape(shape)


def permutation(pivots: Array, m: int, kind: np.dtype) -> Array:
    """The matrices P with ``A = P L U`` for exchanges of rows."""
    flat = pivots.reshape(-1, pivots.shape[-1])
    order = np.tile(np.arange(m), (len(flat), 1))
    each = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        order[each, other], order[:, k] = order[:, k].copy(), order[each, other]
    P = np.zeros((len(flat), m, m), kind)
    P[each[:, None], order, np.arange(m)] = 1
    return P.reshape(*pivots.shape[:-1], m, m)


def factor_slope(gL: Any, gU: Any, L: Any, U: Any) -> Any:
    """The gradient of ``L U`` from those of both, L with ones on its diagonal."""
    m, n = L.shape[-2], U.shape[-1]
    k, row, column = min(m, n), L.ndim - 2, U.ndim - 1
    L1, U1 = slice_along(L, row, 0, k), slice_along(U, column, 0, k)
    gL1, gU1 = slice_along(gL, row, 0, k), slice_along(gU, column, 0, k)
    low, high = tr(L1) @ gL1, gU1 @ tr(U1)
    if m > k:
        gL2 = slice_along(gL, row, k, m)
        high = high - tr(slice_along(L, row, k, m)) @ gL2
    if n > k:
        gU2 = slice_along(gU, column, k, n)
        low = low - gU2 @ tr(slice_along(U, column, k, n))
    left, right = tr(inverse_with_info(L1)[0]), tr(inverse_with_info(U1)[0])
    first = left @ (tril(low, -1) + triu(high)) @ right
    if m > k:
        return cat_along([first, gL2 @ right], row)
    return cat_along([first, left @ gU2], column) if n > k else first


def lower(LU: Any) -> Any:
    """L of a matrix that holds both factors."""
    m, n = LU.shape[-2], LU.shape[-1]
    return tril(slice_along(LU, LU.ndim - 1, 0, min(m, n)), -1)


def compact_slope(g: Any, out: Any, pivots: Any) -> Any:
    """The gradient of a matrix from that of both factors in one."""
    m, n = out.shape[-2], out.shape[-1]
    k = min(m, n)
    gU = triu(slice_along(g, g.ndim - 2, 0, k))
    U = triu(slice_along(out, out.ndim - 2, 0, k))
    return exchanges(pivots, out) @ factor_slope(lower(g), gU, with_ones(lower(out)), U)


@hidden_op(input=lambda g: g, batch=leading)
def with_ones(input: Array) -> Array:
    """Matrices plus ones on the diagonal."""
    return input + np.eye(*input.shape[-2:], dtype=input.dtype)


@hidden_op(batch=leading)
def exchanges(pivots: Array, like: Array) -> Array:
    """`permutation` in the number of rows and the dtype of a matrix."""
    return permutation(pivots, like.shape[-2], like.dtype)


@hidden_op(
    input=compact_slope, aux=("pivots", "info"), node="LinalgLuFactorExBackward0", batch=leading
)
def lu_with_info(input: Array, pivot: bool) -> tuple[Array, Array, Array]:
    """The kernel of `lu_factor_ex`."""
    if input.ndim < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(input.shape)} instead"
        )
    check_matrices("torch.lu_factor", input, square=False)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return eliminated(input)


lu_factor_result = named_tuple("linalg_lu_factor", "LU", "pivots")
unpack_result = named_tuple("lu_unpack", "P", "L", "U")


@under_vmap(wholes)
def factored(name: str, A: Any, pivot: bool) -> Any:
    """The results of `lu_factor_ex`; no pivot may be zero."""
    found = lu_with_info(A, pivot)
    failed = found[2]._array.reshape(-1)
    if failed.any():
        first = int(np.flatnonzero(failed)[0])
        which = f"(Batch element {first}): " if A.ndim > 2 else ""
        step = failed[first]
        raise RuntimeError(
            f"torch.linalg.{name}: {which}U[{step},{step}] is zero and using it on lu_solve would "
            "result in a division by zero. If you still want to perform the factorization, "
            "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return found


@under_vmap(looped)
def lu_factor(A: Any, *, pivot: bool = True) -> Any:
    """Both factors of `lu` in one matrix, and the rows exchanged: ``(LU, pivots)``.

    Raises:
        RuntimeError: if a pivot is zero.
    """
    return lu_factor_result(factored("lu_factor", A, pivot)[:2])


@hidden_op(
    input=lambda g, input: unpacked_slope(g, input),
    results=("L", "U"),
    node="LuUnpackBackward0",
    batch=leading,
)
def unpacked(input: Array) -> tuple[Array, Array]:
    """Both factors of a matrix that holds them."""
    k = min(input.shape[-2:])
    L = np.tril(input[..., :k], -1) + np.eye(input.shape[-2], k, dtype=input.dtype)
    return L, np.triu(input[..., :k, :])


def unpacked_slope(g: Any, input: Any) -> Any:
    """The gradient of a matrix that holds both factors; either may be missing."""
    gL, gU = g
    m, n = input.shape[-2], input.shape[-1]
    blank, out = input * 0, 0.0
    if gL is not None:
        part = tril(gL, -1)
        beyond = slice_along(blank, input.ndim - 1, min(m, n), n)
        out = out + (cat_along([part, beyond], input.ndim - 1) if n > m else part)
    if gU is not None:
        part = triu(gU)
        beyond = slice_along(blank, input.ndim - 2, min(m, n), m)
        out = out + (cat_along([part, beyond], input.ndim - 2) if m > n else part)
    return out


@public
def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """What `torch.linalg.lu` returns, from what `torch.linalg.lu_factor` does.

    Args:
        unpack_data: False for empty L and U.
        unpack_pivots: False for an empty P.
    """
    empty = LU_data.new_empty(0)
    P = exchanges(LU_pivots, LU_data) if unpack_pivots else empty
    L, U = unpacked(LU_data) if unpack_data else (empty, empty)
    return unpack_result((P, L, U))
