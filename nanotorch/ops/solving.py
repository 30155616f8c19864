"""Inverses and systems of linear equations, for batches of square matrices."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_functions import under_vmap, wholes
from nanotorch._core.batch_rules import Call, leading, matrices
from nanotorch._core.op import Array, method, op
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import refuse_half
from nanotorch.ops.shape import transpose, unsqueeze
from nanotorch.ops.slicing import tril, triu


class _LinAlgError(RuntimeError):
    """Raised where a matrix has no inverse, or no factors of the wanted kind."""


LinAlgError = _LinAlgError


def tr(A: Any) -> Any:
    """The transposes of matrices."""
    return transpose(A, -2, -1)


def by_columns(A: Array) -> Array:
    """The matrices laid out by columns, as LAPACK writes them."""
    return np.ascontiguousarray(A.swapaxes(-1, -2)).swapaxes(-1, -2)


# Those of PyTorch, none of which knows half precision.
KERNELS = {
    "linalg.cholesky": "cholesky_cpu", "linalg.det": "lu_cpu", "linalg.eigh": "linalg_eigh_cpu",
    "linalg.qr": "geqrf_cpu", "linalg.solve": "lu_cpu", "linalg.svd": "linalg_svd_cpu",
    "linalg.solve_triangular": "triangular_solve_cpu", "torch.lu_factor": "lu_cpu",
}  # fmt: skip


def check_matrices(name: str, A: Array, letter: str = "A", square: bool = True) -> None:
    """Refuse what is no matrix of floats.

    Raises:
        RuntimeError: for fewer than two dimensions, or matrices that are not square.
        NotImplementedError: for other dtypes.
    """
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")
    if square and A.shape[-2] != A.shape[-1]:
        raise RuntimeError(
            f"{name}: {letter} must be batches of square matrices, but they are {A.shape[-2]} by "
            f"{A.shape[-1]} matrices"
        )
    check_floats(name, A)


def check_floats(name: str, A: Array) -> None:
    """Refuse other dtypes.

    Raises:
        NotImplementedError: for them.
    """
    kind = dtypes.of_array(A)
    if not kind.is_floating_point:
        raise NotImplementedError(
            f"{name}: Expected a floating point or complex tensor as input. Got {kind.char}"
        )
    if name in KERNELS:
        refuse_half(KERNELS[name], A)
    if kind is dtypes.float16:
        raise NotImplementedError(f"{name}: Low precision dtypes not supported. Got {kind.char}")


def one_by_one(A: Array, function: Callable[[Array], Array]) -> Iterator[tuple[Any, Array | None]]:
    """For each matrix of a batch its index and what the function makes of it; None if it fails."""
    for index in np.ndindex(A.shape[:-2]):
        try:
            yield index, function(A[index])
        except np.linalg.LinAlgError:
            yield index, None


def batch_element(info: Array) -> tuple[str, int]:
    """The first matrix that failed, as messages name it, and why."""
    failed = np.flatnonzero(info)[0]
    return f"(Batch element {failed}): " if info.ndim else "", int(info.reshape(-1)[failed])


# The inverse


def zero_pivot(A: Array) -> int:
    """At which step, from 1, the elimination of a singular matrix meets a zero."""
    A = A.astype(np.float64)
    n = len(A)
    for k in range(n):
        best = k + int(np.argmax(np.abs(A[k:, k])))
        if A[best, k] == 0:
            return k + 1
        A[[k, best]] = A[[best, k]]
        A[k + 1 :] -= np.outer(A[k + 1 :, k] / A[k, k], A[k])
    return n


@op(
    input=lambda g, out: -(tr(out) @ g @ tr(out)),
    aux=("info",),
    method=False,
    public=False,
    node="LinalgInvExBackward0",
    batch=leading,
)
def inverse_with_info(input: Array) -> tuple[Array, Array]:
    """The inverses, and for each the step at which it failed, or 0; these are nan."""
    check_matrices("linalg.inv", input)
    info = np.zeros(input.shape[:-2], np.int32)
    try:
        return by_columns(np.linalg.inv(input)), info
    except np.linalg.LinAlgError:
        out = np.full(input.shape, math.nan, input.dtype)
        for index, inverse in one_by_one(input, np.linalg.inv):
            info[index] = zero_pivot(input[index]) if inverse is None else 0
            out[index] = math.nan if inverse is None else inverse
        return by_columns(out), info


@under_vmap(wholes)
def inverted(name: str, A: Any) -> Any:
    """The inverses; all must exist."""
    out, info = inverse_with_info(A)
    failed = info._array
    if failed.any():
        which, step = batch_element(failed)
        raise LinAlgError(
            f"{name}: {which}The diagonal element {step} is zero, the inversion could not be "
            "completed because the input matrix is singular."
        )
    return out


def inv(A: Any) -> Any:
    """The inverses of square matrices, ``(..., n, n)``.

    Raises:
        LinAlgError: for a singular matrix.
    """
    return inverted("linalg.inv", A)


@method
def inverse(input: Any) -> Any:
    """`torch.linalg.inv` by another name."""
    return inv(input)


# Systems of equations


def is_vector(A: tuple[int, ...], B: tuple[int, ...]) -> bool:
    """Whether right-hand sides are vectors rather than matrices."""
    return len(B) == 1 or (len(A) - 1 == len(B) and A[:-1] == B)


def check_pair(name: str, A: Array, B: Array, letter: str = "A") -> None:
    """Refuse right-hand sides of another dtype than the matrices."""
    a, b = dtypes.of_array(A).char, dtypes.of_array(B).char
    if a != b:
        raise RuntimeError(
            f"{name}: Expected {letter} and B to have the same dtype, but found {letter} of type "
            f"{a} and B of type {b} instead"
        )


def check_system(name: str, A: Array, B: Array, left: bool) -> None:
    """Refuse right-hand sides that do not fit the matrices."""
    if A.shape[-2] != (B.shape[-2] if left else B.shape[-1]):
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )


def outer_slope(gB: Any, X: Any, vector: bool, left: bool) -> Any:
    """The gradient of the matrices of a system, from that of the right-hand sides."""
    if vector:
        gB, X = unsqueeze(gB, -1), unsqueeze(X, -1)
    return -(gB @ tr(X)) if left else -(tr(X) @ gB)


def solved_of_all(call: Call) -> Any:
    """`solved` of each sample; vectors as matrices of one column."""
    if not is_vector(call.args["input"].shape, call.args["other"].shape):
        return matrices(call)
    column = Call(
        call.op, False, {**call.args, "other": call.args["other"].unsqueeze(-1)}, call.batch
    )
    return matrices(column).squeeze(-1)


@op(
    input=lambda g, input, out, left: outer_slope(
        solved(tr(input), g, left), out, out.ndim < input.ndim, left
    ),
    other=lambda g, input, left: solved(tr(input), g, left),
    method=False,
    public=False,
    node="LinalgSolveExBackward0",
    batch=lambda call: solved_of_all(call),
)
def solved(input: Array, other: Array, left: bool) -> Array:
    """The kernel of `solve`."""
    check_floats("linalg.solve", input)
    check_pair("linalg.solve", input, other)
    check_matrices("linalg.solve", input)
    vector = is_vector(input.shape, other.shape)
    if not vector and other.ndim < 2:
        check_matrices("linalg.solve", other, "B")
    B = other[..., None] if vector else other
    check_system("linalg.solve", input, B, left)
    try:
        if left:
            X = np.linalg.solve(input, B)
        else:
            X = np.linalg.solve(input.swapaxes(-1, -2), B.swapaxes(-1, -2)).swapaxes(-1, -2)
    except np.linalg.LinAlgError:
        failed = [inverse is None for _, inverse in one_by_one(input, np.linalg.inv)]
        which, _ = batch_element(np.reshape(failed, input.shape[:-2]))
        raise LinAlgError(
            f"torch.linalg.solve: {which}The solver failed because the input matrix is singular."
        ) from None
    return X[..., 0] if vector else by_columns(X)


def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """The solutions X of ``A X = B``, or of ``X A = B``.

    Args:
        A: ``(..., n, n)``.
        B: ``(..., n, k)``, or vectors ``(..., n)``.
        left: whether A stands on the left.

    Raises:
        LinAlgError: for a singular matrix.
    """
    return solved(A, B, left)


def triangle(A: Any, upper: bool, unit: bool) -> Any:
    """The part of matrices that a triangular system depends on."""
    return triu(A, int(unit)) if upper else tril(A, -int(unit))


@op(
    input=lambda g, input, out, upper, left, unit: triangle(
        outer_slope(solved_triangle(tr(input), g, not upper, left, unit), out, False, left),
        upper,
        unit,
    ),
    other=lambda g, input, upper, left, unit: solved_triangle(tr(input), g, not upper, left, unit),
    method=False,
    public=False,
    node="LinalgSolveTriangularBackward0",
    batch=matrices,
)
def solved_triangle(input: Array, other: Array, upper: bool, left: bool, unit: bool) -> Array:
    """The kernel of `solve_triangular`."""
    check_matrices("linalg.solve_triangular", input)
    check_matrices("linalg.solve_triangular", other, "B", square=False)
    check_pair("linalg.solve_triangular", input, other)
    check_system("linalg.solve_triangular", input, other, left)
    A = np.triu(input, int(unit)) if upper else np.tril(input, -int(unit))
    if unit:
        A = A + np.eye(A.shape[-1], dtype=A.dtype)
    if left:
        return np.linalg.solve(A, other)
    return np.linalg.solve(A.swapaxes(-1, -2), other.swapaxes(-1, -2)).swapaxes(-1, -2)


def solve_triangular(
    input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """`solve` for triangular matrices, of which the other triangle is not looked at.

    Args:
        upper: whether the matrices are upper triangular.
        unitriangular: take the diagonal for ones.
    """
    return solved_triangle(input, B, upper, left, unitriangular)
