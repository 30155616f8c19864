"""Rows of a table by index: `embedding`, sums of such rows, and `one_hot`."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batched import Call, everything, leading, one_by_one
from nanotorch._core.call_site import wrote
from nanotorch._core.op import Array, hidden_op
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.gathering import gather_backward
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import unsqueeze

# Single rows


def check_indices(name: str, indices: Array) -> None:
    """Refuse what are no indices."""
    if indices.dtype.kind != "i" or indices.itemsize < 4:
        char = dtypes.of_array(indices).char
        kind = "CPUBoolType" if char == "Bool" else f"torch.{char}Tensor"
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {kind} instead (while checking arguments for {name})"
        )


def rows_of_all(call: Call) -> Any:
    """`embedding_rows` of each sample; of a weight each, with the weights in one long one."""
    if not call.is_batched("weight"):
        return call.again(indices=call.whole("indices"))
    if call.args["padding_idx"] >= 0 or call.args["scale_grad_by_freq"]:
        return one_by_one(call)
    weight, indices = call.whole("weight"), call.repeated("indices")
    size, rows = weight.shape[:2]
    check_range(everything(indices), rows)
    starts = np.arange(size).reshape((-1,) + (1,) * (indices.ndim - 1)) * rows
    return call.again(weight=weight.flatten(0, 1), indices=indices + wrap(starts))


def check_range(indices: Array, rows: int) -> None:
    """Refuse indices of rows that there are not."""
    if indices.size and (indices.min() < 0 or indices.max() >= rows):
        raise IndexError("index out of range in self")


@hidden_op(
    weight=lambda g, weight_shape, indices, padding_idx, scale_grad_by_freq: (
        embedding_dense_backward(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)
    ),
    node="EmbeddingBackward0",
    batch=rows_of_all,
)
def embedding_rows(
    weight: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """``weight[indices]``.

    Raises:
        RuntimeError: if ``weight`` is no matrix, or for indices of another dtype.
        IndexError: for an index out of range.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices("embedding", indices)
    check_range(indices, len(weight))
    return weight.take(indices, 0)


def sums_of_rows(rows: Array, at: Array, count: int) -> Array:
    """Zeros ``(count, D)``, to which each row is added at its place, in their order."""
    width = rows.shape[1]
    if len(rows) < 8 * count:  # few meet in one place
        flat = np.zeros(count * width, rows.dtype)
        places = at.astype(np.intp, copy=False)[:, None] * width + np.arange(width)
        np.add.at(flat, places.reshape(-1), rows.reshape(-1))
        return flat.reshape(count, width)
    out = np.zeros((count, width), rows.dtype)
    if rows.size:
        # Small integers are sorted by counting.
        order = np.argsort(at.astype(np.uint16) if count <= 1 << 16 else at, kind="stable")
        places = at[order]
        starts = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))
        out[places[starts]] = np.add.reduceat(rows[order], starts, 0)
    return out


@hidden_op(
    g=lambda g, indices, padding_idx, scale_grad_by_freq: embedding_taken(
        g, indices, padding_idx, scale_grad_by_freq
    ),
    node="EmbeddingDenseBackwardBackward0",
    wide=True,
)
def embedding_dense_backward(
    g: Array, indices: Array, count: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The gradient of a table of ``count`` rows: each row's share of ``g``, added up.

    Args:
        padding_idx: a row without gradient; -1 for none.
        scale_grad_by_freq: divide by how often a row was taken.
    """
    rows, at = g.reshape(-1, g.shape[-1]), indices.reshape(-1)
    if padding_idx >= 0:
        kept = at != padding_idx
        rows, at = rows[kept], at[kept]
    out = sums_of_rows(rows, at, count)
    if scale_grad_by_freq:
        out /= np.maximum(np.bincount(at, minlength=count), 1)[:, None].astype(out.dtype)
    return out


@hidden_op(
    g=lambda g, g_shape, indices, padding_idx, scale_grad_by_freq: embedding_dense_backward(
        g, indices, g_shape[0], padding_idx, scale_grad_by_freq
    )
)
def embedding_taken(g: Array, indices: Array, padding_idx: int, scale_grad_by_freq: bool) -> Array:
    """The rows of ``g`` as `embedding_dense_backward` adds them: its adjoint."""
    rows = g.take(indices, 0)
    if scale_grad_by_freq:
        often = np.bincount(indices.reshape(-1), minlength=len(g)).astype(g.dtype)
        rows /= often[indices][..., None]
    if padding_idx >= 0:
        rows[indices == padding_idx] = 0
    return rows


def renormalize(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale down, in place, those of the rows at ``indices`` whose norm exceeds ``max_norm``."""
    array, rows = weight._array, np.unique(indices._array)
    norms = np.linalg.norm(array[rows], norm_type, 1)
    long = norms > max_norm
    array[rows[long]] *= (max_norm / (norms[long] + 1e-7))[:, None].astype(array.dtype)
    wrote(weight._cell, "embedding_renorm_")


# Sums, means and maxima of rows


def same_kind(g: Any, array: Array) -> Any:
    """An array for a formula that runs on what ``g`` is."""
    return wrap(array) if isinstance(g, Tensor) else array


def bag_weight_slope(
    g: Any, factors: Any, rows: int, indices: Array, bags: Array, scale_grad_by_freq: bool
) -> Any:
    """The gradient of the table of `bag_sums`."""
    shares = embedding_taken(g, same_kind(g, bags), -1, False)
    if factors is not None:
        shares = shares * unsqueeze(factors, 1)
    return embedding_dense_backward(shares, same_kind(g, indices), rows, -1, scale_grad_by_freq)


def bag_factor_slope(g: Any, weight: Any, indices: Array, bags: Array) -> Any:
    """The gradient of the factors of `bag_sums`."""
    shares = embedding_taken(g, same_kind(g, bags), -1, False)
    taken = embedding_taken(weight, same_kind(g, indices), -1, False)
    return sum_along(shares * taken, (1,), False)


@hidden_op(
    weight=lambda g, weight_shape, factors, indices, bags, scale_grad_by_freq: bag_weight_slope(
        g, factors, weight_shape[0], indices, bags, scale_grad_by_freq
    ),
    factors=bag_factor_slope,
    node="EmbeddingBagBackward0",
    wide=True,
)
def bag_sums(
    weight: Array, factors: Array | None, indices: Any, bags: Any, count: int,
    scale_grad_by_freq: bool,
) -> Array:  # fmt: skip
    """Sums of rows, each times its factor.

    Args:
        weight: (K, D).
        factors: (N,), or None for ones.
        indices: arrays (N,): the row of each sample,
        bags: and the sum it belongs to, not falling.
        count: of sums.
        scale_grad_by_freq: see `embedding_dense_backward`.
    """
    rows = weight.take(indices, 0)
    return sums_of_rows(rows if factors is None else rows * factors[:, None], bags, count)


@hidden_op(
    weight=lambda g, weight_shape, rows, filled: gather_backward(
        g * same_kind(g, filled), weight_shape, 0, rows
    ),
    aux=("rows",),
    node="EmbeddingBagBackward0",
)
def bag_maxima(weight: Array, indices: Any, bags: Any, filled: Any) -> tuple[Array, Array]:
    """The greatest of the rows of each bag, in each column; and the rows they are from.

    Args:
        weight: (K, D).
        indices: arrays (N,): the row of each sample,
        bags: and the bag it belongs to, not falling.
        filled: (bags, 1), whether a bag has any sample; those without give 0.
    """
    out = np.zeros((len(filled), weight.shape[1]), weight.dtype)
    where = np.zeros(out.shape, np.int64)
    starts = np.searchsorted(bags, np.arange(len(filled)))
    for bag in np.flatnonzero(filled):
        some = indices[starts[bag] : starts[bag + 1] if bag + 1 < len(filled) else None]
        rows = weight.take(some, 0)
        first = rows.argmax(0)
        where[bag] = some[first]
        out[bag] = rows.max(0)
    return out, where


# Classes as vectors


@hidden_op(batch=leading)
def one_hot_rows(input: Array, num_classes: int) -> Array:
    """A row for each class: 1 at its place, else 0."""
    if input.size and input.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    out = np.zeros((input.size, num_classes), np.int64)
    out[np.arange(input.size), input.reshape(-1)] = 1
    return out.reshape((*input.shape, num_classes))
