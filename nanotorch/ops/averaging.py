"""Means of windows, of equal or of different sizes."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_rules import merged
from nanotorch._core.op import Array, op
from nanotorch.ops.arguments import refuse_half
from nanotorch.ops.comparison import tied
from nanotorch.ops.pooling import Pooling
from nanotorch.ops.windows import last, padded


def sums(input: Array, at: Pooling) -> Array:
    """The sum of each window: along one dimension after the other."""
    out = padded(input, at.padding, at.after)
    for dim, pieces in enumerate(along_each(at), input.ndim - len(at.size)):
        before = (slice(None),) * dim
        total = out[(*before, pieces[0])].copy()
        for piece in pieces[1:]:
            total += out[(*before, piece)]
        out = total
    return out


def spread_sums(g: Array, at: Pooling) -> Array:
    """The adjoint of `sums`."""
    dims = len(at.size)
    lead = g.ndim - dims
    sizes = zip(at.size, at.padding, at.after, strict=True)
    out = g
    for k, ((n, p, q), pieces) in enumerate(zip(sizes, along_each(at), strict=True)):
        before = (slice(None),) * (lead + k)
        shape = (*out.shape[: lead + k], n + p + q, *out.shape[lead + k + 1 :])
        whole = np.zeros(shape, g.dtype)
        for piece in pieces:
            whole[(*before, piece)] += out
        out = whole
    kept = [slice(p, p + n) for p, n in zip(at.padding, at.size, strict=True)]
    return np.ascontiguousarray(out[last(kept)])


def along_each(at: Pooling) -> list[list[slice]]:
    """For each dimension, the elements of all windows at each place of the kernel."""
    dims = zip(at.kernel, at.stride, at.dilation, at.out, strict=True)
    return [[slice(j, j + (o - 1) * s + 1, s) for j in range(0, k * d, d)] for k, s, d, o in dims]


def counts(at: Pooling, with_padding: bool, divisor: int | None) -> Any:
    """By what the sums are divided: a number, or an array of one for each window."""
    if divisor is not None:
        return divisor
    total: Any = 1
    dims = zip(at.firsts(), at.kernel, at.size, at.padding, strict=True)
    for first, k, n, p in dims:
        stop = np.minimum(first + k, n + p)
        if with_padding:
            inside = stop - first
        else:
            inside = np.maximum(np.minimum(stop, n) - np.maximum(first, 0), 1)
        total = np.multiply.outer(total, inside)
    low, high = total.min(initial=1 << 60), total.max(initial=1)
    return int(high) if low >= high else total


def divided(values: Array, by: Any) -> Array:
    """``values / by``, in their dtype; of integers towards zero."""
    if values.dtype.kind in "iu":
        return np.trunc(values / by).astype(values.dtype)
    return values / np.asarray(by).astype(values.dtype)


def mean_of_windows(input: Array, at: Pooling, with_padding: bool, divisor: int | None) -> Array:
    """The sum of each window divided by the number of its elements, or by ``divisor``."""
    if input.dtype.kind != "f" and input.dtype != np.int64:
        name = "avg_pool3d_out_frame" if len(at.size) == 3 else "avg_pool2d"
        char = dtypes.of_array(input).char
        raise NotImplementedError(f"\"{name}\" not implemented for '{char}'")
    return divided(sums(input, at), counts(at, with_padding, divisor))


@op(
    g=lambda g, at, with_padding, divisor: avg_pool(g, at, with_padding, divisor),
    method=False,
    public=False,
    batch=merged,
    wide=True,
)
def avg_pool_backward(g: Array, at: Pooling, with_padding: bool, divisor: int | None) -> Array:
    """The adjoint of the means of windows."""
    return spread_sums(divided(g, counts(at, with_padding, divisor)), at)


AVERAGE: dict[str, Any] = {
    "input": lambda g, input, at, with_padding, divisor: tied(
        avg_pool_backward(g, at, with_padding, divisor), input
    ),
    "method": False,
    "public": False,
}


@op(**AVERAGE, node="AvgPool2DBackward0", batch=merged, wide=True)
def avg_pool(input: Array, at: Pooling, with_padding: bool, divisor: int | None) -> Array:
    """The means of windows over one or two dimensions."""
    return mean_of_windows(input, at, with_padding, divisor)


@op(**AVERAGE, node="AvgPool3DBackward0", batch=merged)
def avg_pool_of_volumes(
    input: Array, at: Pooling, with_padding: bool, divisor: int | None
) -> Array:
    """The means of windows over three dimensions."""
    refuse_half("avg_pool3d_out_frame", input)
    return mean_of_windows(input, at, with_padding, divisor)
