"""Replacements for slow or inexact functions of NumPy: `where` and sums of many rows."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

# `np.where` without branches. With an irregular mask, NumPy spends most of its time on branches.


BITS = {n: np.dtype(f"int{8 * n}") for n in (2, 4, 8)}  # integers of the sizes of floats
SMALL = 4096  # elements; for fewer, `np.where` is faster than several passes


def select(mask: Any, a: Any, b: Any) -> Any:
    """``a`` where ``mask`` is true and ``b`` elsewhere, bit by bit; one of them may be a number."""
    # In a step that `nanotorch.compile` traces, arrays have another class.
    if mask.__class__ is not np.ndarray or mask.size < SMALL:
        return np.where(mask, a, b)
    if isinstance(a, (int, float)):
        a = np.result_type(a, b).type(a)
    elif isinstance(b, (int, float)):
        b = np.result_type(a, b).type(b)
    if not can_select_bits(a, b, mask.shape):
        return np.where(mask, a, b)
    bits = BITS[a.dtype.itemsize]
    out = mask.astype(bits)
    np.negative(out, out=out)  # all bits set, or none
    other = b.view(bits)
    out &= a.view(bits) ^ other
    out ^= other
    return out.view(a.dtype)


def can_select_bits(a: Any, b: Any, shape: tuple[int, ...]) -> bool:
    """Whether both have one dtype, of two or four bytes, and are 0-d or have ``shape``."""
    kind = a.dtype
    return (
        kind == b.dtype
        and kind.itemsize in (2, 4)
        and all((x.__class__ is np.ndarray and x.shape == shape) or x.shape == () for x in (a, b))
    )


# Sums of floating-point numbers: as fast as products with ones, as exact as sums in pairs.
#
# NumPy adds the numbers of one long row in pairs, but adds many rows in order. Then the rounding
# error grows with the number of rows. Here a product with ones adds up to `BLOCK` rows, or
# up to `LONG` numbers of one row, and longer sums add these partial sums. Half precision is added
# in single precision.


Array = np.ndarray
add_all: Any = np.add.reduce
HALF, SINGLE, DOUBLE = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
OF_BLAS = frozenset((SINGLE, DOUBLE))
FEW = 32  # the most numbers that may be added in order, not in pairs
HEIGHT = 64  # the rows that one product adds; BLAS may add some columns in order
BLOCK = 256  # the rows that one product adds if it uses all lanes of the vector registers
CACHE = 1 << 24  # bytes
LONG = 1024  # the numbers that one inner product adds, in the lanes of several registers


@functools.lru_cache(maxsize=100)
def ones(count: int, kind: np.dtype) -> Array:
    """A cached vector of ones; callers must not write to it."""
    return np.ones(count, kind)


def sum_whole(values: Array) -> Array:
    """The sum of all elements."""
    if values.dtype.itemsize == 2:
        return sum_whole(values.astype(SINGLE)).astype(values.dtype)
    if values.flags.forc:  # one row
        return add_all(values, None)
    return sum_over(values, range(values.ndim))


def sum_over(values: Array, dims: Sequence[int], keepdim: bool = False) -> Array:
    """The sum along ``dims``, distinct dimensions that are not negative."""
    if values.ndim == 2 and len(dims) == 1:
        if dims[0]:
            total = sum_columns(values)
            return total[:, None] if keepdim else total
        total = sum_rows(values)
        return total[None] if keepdim else total
    kind, shape = values.dtype, values.shape
    if kind.itemsize == 2:
        return sum_over(values.astype(SINGLE), dims, keepdim).astype(kind)
    in_order = values.flags.c_contiguous
    if in_order and len(dims) == len(shape):  # one row
        return add_all(values, None, None, None, keepdim)
    count = 1
    for d in dims:
        count *= shape[d]
    in_rows = in_order and min(dims, default=0) == len(shape) - len(dims)
    if kind.kind != "f" or not values.size or (count <= FEW and not in_rows):
        return add_all(values, tuple(dims), None, None, keepdim)
    if in_rows:
        total = sum_columns(values.reshape(-1, count))
        return total.reshape(shape[: -len(dims)] + (1,) * (len(dims) if keepdim else 0))
    if in_order:
        total = sum_groups(values, dims)
    else:
        order = sorted(range(len(shape)), key=values.strides.__getitem__, reverse=True)
        places = [order.index(d) for d in range(len(shape))]
        held = np.ascontiguousarray(values.transpose(order))
        total = sum_groups(held, [places[d] for d in dims]).transpose(places)
    return total if keepdim else total.reshape([n for d, n in enumerate(shape) if d not in dims])


def sum_groups(values: Array, dims: Sequence[int]) -> Array:
    """The sum along ``dims``, which are kept, of values that are contiguous."""
    sizes: list[int] = []  # neighbouring dimensions that are alike count as one
    added: list[bool] = []  # whether they are summed
    for d, n in enumerate(values.shape):
        if added and n > 1 and added[-1] is (d in dims):
            sizes[-1] *= n
        elif n > 1:
            sizes.append(n)
            added.append(d in dims)
    shape = [1 if d in dims else n for d, n in enumerate(values.shape)]
    while any(added):
        if added[0] and (sizes[0] >= sizes[-1] or not added[-1]):
            values = sum_rows(values.reshape(sizes[0], -1))
            del sizes[0], added[0]
        elif added[-1]:
            values = sum_columns(values.reshape(-1, sizes[-1]))
            del sizes[-1], added[-1]
        else:
            values = sum_middle(values.reshape(sizes[0], sizes[1], -1))
            sizes[:3], added[:3] = [sizes[0] * sizes[2]], [False]
    return values.reshape(shape)


def sum_rows(matrix: Array) -> Array:
    """The sum of the rows of a matrix; its bits do not depend on the strides."""
    rows, columns = matrix.shape
    kind = matrix.dtype
    if kind.itemsize == 2:
        return sum_rows(matrix.astype(SINGLE)).astype(kind)
    matrix = np.ascontiguousarray(matrix)
    rest = None
    while rows > HEIGHT and (rows > BLOCK or columns % 8):
        height = height_of(rows)
        together = rows // height  # view this many rows as one longer row
        whole = together * height
        if rows > whole:
            added = ones(rows - whole, kind).dot(matrix[whole:])
            rest = added if rest is None else rest + added
            matrix = matrix[:whole]
        long = matrix.reshape(height, together * columns)
        matrix, rows = ones(height, kind).dot(long).reshape(together, columns), together
    total = ones(rows, kind).dot(matrix)
    return total if rest is None else total + rest


@functools.lru_cache(1024)
def height_of(rows: int) -> int:
    """The number of equal parts, up to `HEIGHT`, that leaves the fewest rows over."""
    return max(range(HEIGHT // 2, HEIGHT + 1), key=lambda height: (-(rows % height), height))


def sum_middle(stack: Array) -> Array:
    """The sum of the rows of each matrix of a contiguous stack."""
    count, rows, columns = stack.shape
    if rows <= FEW:
        return add_all(stack, 1)
    together = -(-rows // HEIGHT)
    height = rows // together
    whole = together * height
    long = stack[:, :whole].reshape(count, height, together * columns)
    parts = np.matmul(ones(height, stack.dtype), long)
    total = sum_middle(parts.reshape(count, together, columns))
    if whole < rows:
        total += sum_middle(stack[:, whole:])
    return total


def sum_columns(matrix: Array) -> Array:
    """The sum of the columns of a matrix; its bits do not depend on the strides."""
    rows, columns = matrix.shape
    kind = matrix.dtype
    if kind.itemsize == 2:
        return sum_columns(matrix.astype(SINGLE)).astype(kind)
    matrix = np.ascontiguousarray(matrix)
    # Beyond the size of a cache, sums of parts cost more than a single inner product.
    while columns > BLOCK and matrix.nbytes <= CACHE and (length := length_of(columns)):
        parts = matrix.reshape(-1, length).dot(ones(length, kind))
        columns //= length
        matrix = parts.reshape(rows, columns)
    if columns <= BLOCK:
        return matrix.dot(ones(columns, kind))
    return inner_products(matrix, ones(columns, kind))


@functools.lru_cache(1024)
def length_of(columns: int) -> int:
    """The greatest length up to `BLOCK` that divides ``columns``; 0 if it is `FEW` or less."""
    return next((n for n in range(BLOCK, FEW, -1) if not columns % n), 0)


def inner_products(a: Array, b: Array) -> Array:
    """The inner products of ``a`` and ``b`` along the last dimension."""
    length = a.shape[-1]
    if length <= LONG:
        products: Array = np.vecdot(a, b)
        return products
    if a.size <= 8 * LONG:
        return np.asarray(add_all(a * b, -1))
    whole = length - length % LONG
    blocks = [v[..., :whole].reshape(*v.shape[:-1], -1, LONG) for v in (a, b)]
    parts = np.vecdot(*blocks)
    total = sum_over(parts, (parts.ndim - 1,))
    return total + np.vecdot(a[..., whole:], b[..., whole:]) if whole < length else total


def sum_products(a: Array, b: Array, dims: Sequence[int], keepdim: bool = False) -> Array:
    """The sum of ``a * b`` along dimensions; ``a`` and ``b`` have one shape.

    If rows are long, inner products sum along the last dimension first, without an array ``a * b``.
    """
    if len(dims) == a.ndim and a.flags.c_contiguous and b.flags.c_contiguous:
        row = a.reshape(-1)
        other = row if b is a else b.reshape(-1)
        if row.size <= LONG:
            total = row.dot(other)
        else:
            total = inner_products(row, other) if row.size > 8 * LONG else add_all(row * other)
        return total.reshape((1,) * a.ndim) if keepdim else total
    if a.ndim - 1 in dims and a.shape[-1] >= FEW and a.strides[-1] == b.strides[-1] == a.itemsize:
        return sum_over(inner_products(a, b)[..., None], dims, keepdim)
    return sum_over(a * b, dims, keepdim)


def sum_of_squares(values: Array) -> Array:
    """The sum of the squares of all elements."""
    if values.dtype.itemsize == 2:
        values = values.astype(SINGLE)
    return sum_products(values, values, range(values.ndim))


def maximum_along(values: Array, dim: int) -> Array:
    """The maximum along ``dim``, which is kept."""
    shape = values.shape
    if dim == len(shape) - 1 and 0 < shape[-1] < 64:
        # Along short rows, NumPy compares single numbers; across rows, it compares many at once.
        across = values.reshape(-1, shape[-1]).T.copy()
        return np.maximum.reduce(across, 0).reshape(*shape[:-1], 1)
    return np.maximum.reduce(values, dim, keepdims=True, initial=-np.inf)
