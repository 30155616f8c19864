"""Sums as products, which take a fraction of the time of NumPy's own."""

import numpy as np

Array = np.ndarray
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
ROWS: dict[tuple[int, np.dtype], Array] = {}


def sum_rows(matrix: Array) -> Array:
    """The sum of the rows of a matrix."""
    kind = matrix.dtype
    if (kind is not SINGLE and kind is not DOUBLE) or not matrix.flags.forc:
        total: Array = np.add.reduce(matrix, 0)
        return total
    key = (len(matrix), kind)
    ones = ROWS.get(key)
    if ones is None:
        if len(ROWS) > 100:
            ROWS.clear()
        ones = ROWS[key] = np.ones(len(matrix), kind)
    return ones.dot(matrix)


def sum_of_squares(values: Array) -> Array:
    """The sum of the squares of all elements."""
    if (values.dtype is SINGLE or values.dtype is DOUBLE) and values.flags.c_contiguous:
        flat = values.reshape(-1)
        return flat.dot(flat)
    total: Array = np.add.reduce(values * values, None)
    return total
