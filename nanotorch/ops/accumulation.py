"""Kernels that add values up at indices, of which some may come several times."""

from collections.abc import Sequence

import numpy as np

Key = Sequence["np.ndarray | slice"]  # as NumPy takes it, with an entry for each dimension or mask


CHUNK = 1 << 17  # elements added in one go: their places fit the cache


def add_rows(out: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """``out[rows[i]] += values[i]`` for each i in turn.

    Args:
        out: ``(K, ...)``.
        rows: ``(N,)``, not negative.
        values: ``(N, ...)``.
    """
    if not values.size:
        return
    if len(out) < 8 * len(rows) and np.bincount(rows).max() == 1:
        out[rows] += values
        return
    # `np.add.at` is fast for one dimension only.
    whole = out if out.flags.c_contiguous else np.zeros(out.shape, out.dtype)
    flat, width = whole.reshape(-1), values.size // len(rows)
    columns, step = np.arange(width), max(CHUNK // width, 1)
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        places = rows[some] if width == 1 else np.add.outer(rows[some] * width, columns)
        np.add.at(flat, places.reshape(-1), values[some].reshape(-1))
    if whole is not out:
        out += whole


def by_dimension(key: Key) -> tuple[list[int], list[np.ndarray]]:
    """The dimensions that have an index, and their indices; masks as the indices of true."""
    dims: list[int] = []
    indices: list[np.ndarray] = []
    dim = 0
    for entry in key:
        if isinstance(entry, slice):
            dim += 1
            continue
        parts = entry.nonzero() if entry.dtype.kind == "b" else (entry,)
        dims += range(dim, dim + len(parts))
        indices += parts
        dim += len(parts)
    return dims, indices


def added_at(shape: tuple[int, ...], key: Key, values: np.ndarray) -> np.ndarray:
    """Zeros of ``shape``, with ``values`` (of the shape of ``zeros[key]``) added at ``key``."""
    out = np.zeros(shape, values.dtype)
    if len(key) == 1 and not isinstance(key[0], slice) and key[0].dtype.kind == "b":
        out[key[0]] = values
        return out
    dims, indices = by_dimension(key)
    sizes = [shape[d] for d in dims]
    rest = [d for d in range(len(shape)) if d not in dims]
    rows = np.zeros((), np.intp)
    for index, size in zip(indices, sizes, strict=True):
        rows = rows * size + np.where(index < 0, index + size, index)
    # NumPy's rule: the indexed dimensions stand where they were if they are neighbours, else first.
    place = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    moved = np.moveaxis(values, range(place, place + rows.ndim), range(rows.ndim))
    width = tuple([shape[d] for d in rest])
    target = out.transpose(*dims, *rest)
    table = np.zeros((int(np.prod(sizes)), *width), values.dtype)
    add_rows(table, rows.reshape(-1), moved.reshape((rows.size, *width)))
    target[...] = table.reshape(target.shape)
    return out
