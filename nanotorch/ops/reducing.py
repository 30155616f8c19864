"""Elements combined where an index says: `scatter_reduce`."""

from typing import Any

import numpy as np

from nanotorch._core.batch_rules import dimensions
from nanotorch._core.op import Array, op
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.gathering import (
    at,
    check_index,
    gather,
    part,
    scatter_add,
    scatter_number,
)
from nanotorch.ops.inplace import blank
from nanotorch.ops.masking import mask_by_number, where_true

REDUCTIONS: dict[str, Any] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum
}  # fmt: skip


def neutral(reduce: str, kind: np.dtype) -> Any:
    """What leaves any number of a type as it is."""
    if reduce in ("sum", "mean"):
        return kind.type(0)
    if reduce == "prod":
        return kind.type(1)
    if kind.kind == "f":
        return kind.type(-np.inf if reduce == "amax" else np.inf)
    if kind.kind == "b":
        return reduce == "amin"
    return np.iinfo(kind).min if reduce == "amax" else np.iinfo(kind).max


# Gradients: of what was there before, and of what was combined with it


def counts(input: Any, dim: int, index: Any, src: Any, include_self: bool) -> Any:
    """How many elements went into each, at least 1."""
    held = blank(input) + 1.0 * include_self
    number = scatter_add(held, dim, index, blank(src) + 1)
    return mask_by_number(number, number == 0, 1)


def attained(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, include_self: bool
) -> tuple[Any, Any]:
    """The gradients of an extremum, in equal shares to the elements that attain it."""
    mine, theirs = (input == out) * 1.0, (src == gather(out, dim, index)) * 1.0
    if g.dtype != mine.dtype:
        mine, theirs = mine * (g * 0 + 1), theirs * (gather(g, dim, index) * 0 + 1)
    share = g / scatter_add(mine, dim, index, theirs)
    return mine * share, theirs * gather(share, dim, index)


def factors(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, include_self: bool
) -> tuple[Any, Any]:
    """The gradients of products, without a division by zero."""
    whole = mask_by_number(input, input == 0, 1)
    first = g * scatter_reduce(whole, dim, index, src, "prod", include_self=include_self) / whole
    zero = src == 0
    number = gather(scatter_add(input * 0, dim, index, zero * (src * 0 + 1)), dim, index)
    single = zero & (number == 1)
    others = scatter_reduce(
        input, dim, index, mask_by_number(src, single, 1), "prod", include_self=include_self
    )
    divided = gather(g * out, dim, index) / mask_by_number(src, zero, 1)
    return first, where_true(single, gather(g * others, dim, index), divided, None)


def slopes(
    g: Any, input: Any, dim: int, index: Any, src: Any, out: Any, reduce: str, include_self: bool
) -> tuple[Any, Any]:
    """The gradients of `scatter_reduce`.

    Raises:
        RuntimeError: for more sources than indices, which only sums and means put up with.
    """
    if reduce in ("sum", "mean"):
        if reduce == "mean":
            g = g / counts(input, dim, index, src, include_self)
        first, second = g, gather(g, dim, index)
    else:
        common_shape(src.shape, index.shape)
        combined = factors if reduce == "prod" else attained
        first, second = combined(g, input, dim, index, src, out, include_self)
    return (first if include_self else scatter_number(first, dim, index, 0)), second


@op(
    input=lambda g, input, dim, index, src, out, reduce, include_self: slopes(
        g, input, dim, index, src, out, reduce, include_self
    )[0],
    src=lambda g, input, dim, index, src, out, reduce, include_self: slopes(
        g, input, dim, index, src, out, reduce, include_self
    )[1],
    inplace=True,
    overlap=False,
    batch=dimensions,
)
def scatter_reduce(
    input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """``input`` with elements of ``src`` combined along ``dim``, where ``index`` says.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin".
        include_self: whether what was there before counts too.

    Raises:
        RuntimeError: for an index out of range, or another word.
    """
    dim = check_index("scatter", input, index, dim, src)
    if reduce not in REDUCTIONS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    out = np.array(input, order="C")
    if not index.size:
        return out
    if reduce == "mean" and out.dtype.kind == "b":
        kernel = "scatter_gather_tensor_cpu_reduce_mean"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    flat, shape = out.reshape(-1), out.shape or (1,)
    places = np.ravel_multi_index(at(np.atleast_1d(index), dim), shape).reshape(-1)
    values = np.atleast_1d(part(np.atleast_1d(src), np.atleast_1d(index).shape)).reshape(-1)
    if not include_self:
        flat[places] = neutral(reduce, out.dtype)
    REDUCTIONS[reduce].at(flat, places, values)
    if reduce == "mean":
        number = np.bincount(places, minlength=flat.size) + include_self
        number = np.maximum(number, 1).astype(out.dtype)
        np.copyto(flat, np.floor_divide(flat, number) if out.dtype.kind != "f" else flat / number)
    return out
