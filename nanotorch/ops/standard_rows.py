"""The kernels of layer normalization: the rows of a matrix standardized, and the gradients.

A few rows at a time go through all the steps, so that what lies between them stays near the
processor; and sums along a row are products with a vector.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from nanotorch._core.op import Array
from nanotorch._core.sums import inner_products, sum_columns, sum_rows

TOGETHER = 1 << 15  # elements of the rows that are taken at once


def pieces(rows: int, columns: int) -> Iterator[slice]:
    """The rows in parts."""
    step = max(1, TOGETHER // max(columns, 1))
    for start in range(0, rows, step):
        yield slice(start, start + step)


def standardize(x: Array, w: Any, b: Any, eps: float) -> tuple[Array, Array, Array]:
    """``h w + b`` with ``h = (x - mean) r`` and ``r = 1 / √(variance + eps)`` of each row; h; r."""
    hat, out = np.empty_like(x), np.empty_like(x)
    scale = np.empty((len(x), 1), x.dtype)
    count, least = x.dtype.type(x.shape[1]), x.dtype.type(eps)
    for part in pieces(*x.shape):
        h, o = hat[part], out[part]
        mean = sum_columns(x[part])
        mean /= count
        np.subtract(x[part], mean[:, None], h)
        root = inner_products(h, h)
        root /= count
        root += least
        r = np.divide(1, np.sqrt(root, root)[:, None], scale[part])
        h *= r
        if w is None:
            o[...] = h
        else:
            np.multiply(h, w, o)
        if b is not None:
            o += b
    return out, hat, scale


def slopes_of_rows(
    g: Array, w: Any, hat: Array, scale: Array, affine: bool
) -> tuple[Array, Array, Array]:
    """``r (g w - m(g w) - h m(g w h))`` with ``m`` for the mean of a row; Σ g h and Σ g over rows.

    Args:
        hat, scale: ``h`` and ``r``.
        affine: whether the sums are wanted; otherwise they are empty.
    """
    slopes = np.empty_like(g)
    of_weight, of_bias = np.zeros((2, g.shape[1] if affine else 0), g.dtype)
    count = g.dtype.type(g.shape[1])
    for part in pieces(*g.shape):
        of_part, h, s = g[part], hat[part], slopes[part]
        taken = of_part * h
        if affine:
            of_weight += sum_rows(taken)
            of_bias += sum_rows(of_part)
        if w is not None:
            of_part = np.multiply(of_part, w, s)
        along, level = inner_products(of_part, h), sum_columns(of_part)
        along /= count
        level /= count
        np.multiply(h, along[:, None], taken)
        taken += level[:, None]
        np.subtract(of_part, taken, s)
        s *= scale[part]
    return slopes, of_weight, of_bias
