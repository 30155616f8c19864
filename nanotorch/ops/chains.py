"""Products of several matrices, powers of one, and tensors taken for matrices."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int
from nanotorch._core.op import method, public
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.warned import warn_once
from nanotorch.ops.creation import ones
from nanotorch.ops.expanding import flip
from nanotorch.ops.inplace import copy_
from nanotorch.ops.joining import cat
from nanotorch.ops.memory import clone
from nanotorch.ops.order import movedim
from nanotorch.ops.products import vdot
from nanotorch.ops.reduction import sum
from nanotorch.ops.running import cumprod
from nanotorch.ops.shape import reshape, unsqueeze
from nanotorch.ops.slicing import diagonal
from nanotorch.ops.solving import inv, solve

# Powers


@method
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The product of ``n`` copies of square matrices; of their inverses for a negative ``n``.

    Raises:
        RuntimeError: for matrices that are not square, or have no inverse.
    """
    n = as_int(n)
    if input.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_power: The input tensor A must have at least 2 dimensions."
        )
    rows, columns = input.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they are "
            f"{rows} by {columns} matrices"
        )
    if n == 0:
        identity = np.eye(rows, dtype=input._array.dtype)
        return copy_(clone(input), wrap(identity))
    power: Any = inv(input) if n < 0 else input
    n = abs(n)
    if n == 1:
        return power if power is not input else clone(input)
    if n == 3:
        return (power @ power) @ power
    result: Any = None
    while True:
        if n % 2:
            result = power if result is None else result @ power
        n //= 2
        if not n:
            return result
        power = power @ power


# Chains


def cheapest(sizes: Sequence[int]) -> list[list[int]]:
    """Where to cut each part of a chain of matrices, ``sizes[k]`` by ``sizes[k + 1]``.

    Reference:
        Cormen et al., Introduction to Algorithms, 15.2.
    """
    n = len(sizes) - 1
    cost, cut = [[0] * n for _ in range(n)], [[0] * n for _ in range(n)]
    for length in range(1, n):
        for first in range(n - length):
            last = first + length
            prices = [
                cost[first][k] + cost[k + 1][last] + sizes[first] * sizes[k + 1] * sizes[last + 1]
                for k in range(first, last)
            ]
            cost[first][last] = min(prices)
            cut[first][last] = first + prices.index(min(prices))
    return cut


def multiplied(tensors: Sequence[Any], cut: list[list[int]], first: int, last: int) -> Any:
    """The product of part of a chain."""
    if first == last:
        return tensors[first]
    k = cut[first][last]
    return multiplied(tensors, cut, first, k) @ multiplied(tensors, cut, k + 1, last)


def check_chain(tensors: Sequence[Any]) -> None:
    """Refuse what cannot be multiplied in a row.

    Raises:
        RuntimeError: for fewer than two, several dtypes, or shapes that do not fit.
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    last = len(tensors) - 1
    for k, tensor in enumerate(tensors):
        if k in (0, last) and tensor.ndim not in (1, 2):
            place = "the first" if k == 0 else "the last"
            raise RuntimeError(
                f"multi_dot(): {place} tensor must be 1D or 2D but got {tensor.ndim}D"
            )
        if k not in (0, last) and tensor.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {k} must be 2D but got {tensor.ndim}D")
        if tensor.dtype != tensors[0].dtype:
            a, b = (dtypes.C_NAMES[t.dtype.name] for t in (tensors[0], tensor))
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{a} and tensor {k} {b}"
            )
    for k in range(last):
        a, b = tensors[k], tensors[k + 1]
        if a.shape[-1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {k} and {k + 1} with shapes {list(a.shape)} and "
                f"{list(b.shape)} cannot be multiplied"
            )


def multi_dot(tensors: Sequence[Any]) -> Any:
    """The product of matrices, in the order of least work; the ends may be vectors.

    Raises:
        RuntimeError: for fewer than two, or shapes that do not fit.
    """
    tensors = list(tensors)
    check_chain(tensors)
    rows, columns = tensors[0].ndim == 1, tensors[-1].ndim == 1
    if rows:
        tensors[0] = unsqueeze(tensors[0], 0)
    if columns:
        tensors[-1] = unsqueeze(tensors[-1], -1)
    cut = cheapest([tensors[0].shape[0], *[t.shape[1] for t in tensors]])
    out = multiplied(tensors, cut, 0, len(tensors) - 1)
    shape = tuple(out.shape)
    return reshape(out, shape[int(rows) : 2 - int(columns)])


DEPRECATED = (
    "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
    "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
    "multiple parameters."
)


@public
def chain_matmul(*matrices: Any) -> Any:
    """`torch.linalg.multi_dot` of matrices given one by one.

    Raises:
        RuntimeError: for none, or one that is no matrix.
    """
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    warn_once(DEPRECATED)
    return multi_dot(matrices) if len(matrices) > 1 else clone(matrices[0])


# Vectors


def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """The products of vectors along ``dim``; other dimensions broadcast.

    Raises:
        RuntimeError: for two dtypes, or two vectors of different sizes.
        NotImplementedError: for integers and bools.
    """
    if not x.is_floating_point():
        raise NotImplementedError(
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got "
            f"{x.dtype.char}"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{x.dtype.char} and y of type {y.dtype.char} instead"
        )
    return vdot(x, y) if x.ndim == y.ndim == 1 else sum(x * y, dim)


def powers(x: Any, N: int) -> Any:
    """Powers from 0 to ``N - 1`` along a new last dimension."""
    parts = [ones((*x.shape, 1), dtype=x.dtype)]
    if N > 1:
        parts.append(cumprod(unsqueeze(x, -1).expand(*x.shape, N - 1), -1))
    return cat(parts, -1)


def linalg_vander(x: Any, *, N: int | None = None) -> Any:
    """The powers of each element from 0 to ``N - 1``, by default as many as there are elements.

    Raises:
        RuntimeError: for an ``N`` below 2.
    """
    if x.dtype.name in ("float16", "bool"):
        raise NotImplementedError(
            "linalg.vander supports floating point, complex, and integer tensors, but got "
            f"{x.dtype.char}"
        )
    N = (x.shape[-1] if x.ndim else 1) if N is None else as_int(N)
    if N <= 1:
        raise RuntimeError("N must be greater than 1.")
    return powers(x, N)


@public
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of each element of a vector, the highest first unless ``increasing``; those of
    integers are int64.

    Args:
        N: how many; by default as many as there are elements.

    Raises:
        RuntimeError: for more dimensions, or a negative ``N``.
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    N = x.shape[0] if N is None else as_int(N)
    if N < 0:
        raise RuntimeError("N must be non-negative.")
    x = x if x.is_floating_point() else x.long()
    out = powers(x, N) if N else x.new_empty((x.shape[0], 0))
    return out if increasing else flip(out, (1,))


# Tensors as matrices


def linalg_diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """A view of the diagonals of matrices: see `torch.diagonal`."""
    return diagonal(A, offset, dim1, dim2)


def check_halves(name: str, first: Sequence[int], second: Sequence[int]) -> None:
    """Refuse a tensor that would not be a square matrix."""
    if math.prod(first) != math.prod(second):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[{name}:]) == "
            f"prod(self.shape[:{name}]), but got {math.prod(second)} != {math.prod(first)}"
        )


def tensorinv(input: Any, ind: int = 2) -> Any:
    """The inverse of a tensor taken for a matrix whose rows are its first ``ind`` dimensions.

    Raises:
        RuntimeError: unless that matrix is square and has an inverse.
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = tuple(input.shape)
    first, second = shape[:ind], shape[ind:]
    check_halves("ind", first, second)
    n = math.prod(first)
    return reshape(inv(reshape(input, (n, n))), (*second, *first))


def tensorsolve(input: Any, other: Any, dims: Sequence[int] | None = None) -> Any:
    """The X for which products with ``input``, summed over all dimensions of X, give ``other``.

    Args:
        dims: dimensions of ``input`` to move to its end first.

    Raises:
        RuntimeError: unless ``input`` as a matrix is square and has an inverse.
    """
    if dims is not None:
        input = movedim(input, tuple(dims), tuple(range(input.ndim - len(dims), input.ndim)))
    rows, rest = tuple(input.shape[: other.ndim]), tuple(input.shape[other.ndim :])
    check_halves("other.ndim", rows, rest)
    matrix = reshape(input, (math.prod(rows), math.prod(rest)))
    return reshape(solve(matrix, reshape(other, (-1,))), rest)
