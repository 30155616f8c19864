"""Quantiles: values at a share of the way through the elements in order."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.batch_functions import looped, under_vmap
from nanotorch._core.layout import normal_dim
from nanotorch._core.op import method
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import as_number
from nanotorch.ops.blending import lerp
from nanotorch.ops.comparison import isnan, logical_not
from nanotorch.ops.creation import full_like
from nanotorch.ops.extremum import any as any_of
from nanotorch.ops.gathering import gather
from nanotorch.ops.masking import masked_fill
from nanotorch.ops.order import movedim
from nanotorch.ops.reduction import sum
from nanotorch.ops.rounding import ceil, floor, round
from nanotorch.ops.shape import reshape, transpose, unsqueeze
from nanotorch.ops.sorting import sort

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def checked_share(input: Tensor, q: Any) -> Any:
    """The shares as a tensor.

    Raises:
        RuntimeError: unless they fit the input and lie in [0, 1].
    """
    if not isinstance(q, Tensor):
        if not 0 <= as_number(q) <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = wrap(np.asarray(q, input._array.dtype))
    if not input.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype != input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if not ((q._array >= 0) & (q._array <= 1)).all():
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return q


def ranks_of(values: Any, q: Any, skip_nan: bool) -> Any:
    """The places of the shares in sorted rows; of the last, which is nan, where one is nan."""
    if skip_nan:
        last = sum(logical_not(isnan(values)), -1, True) - 1
        ranks = q * last
        return masked_fill(ranks, ranks < 0, 0)
    last = values.shape[-1] - 1
    return masked_fill(q * last, any_of(isnan(values), -1, True), last)


def between(values: Any, ranks: Any, interpolation: str) -> Any:
    """The elements at places that need not be whole."""
    whole = {"lower": floor, "higher": ceil, "nearest": round}.get(interpolation)
    ranks = ranks if whole is None else whole(ranks)
    below = ranks.detach().long()
    out = gather(values, -1, below)
    if whole is not None:
        return out
    weights = full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    return lerp(out, gather(values, -1, ceil(ranks.detach()).long()), weights)


def rows_of(input: Any, dim: int | None, keepdim: bool) -> Any:
    """The elements that a quantile is taken of, along the last dimension."""
    if dim is not None:
        dim = normal_dim(dim, input.ndim)
    if not input.ndim or (dim is None and not keepdim):
        return reshape(input, (-1,))
    if dim is None:
        return reshape(input, (*(1,) * input.ndim, -1))
    return transpose(unsqueeze(input, -1), dim, -1) if keepdim else movedim(input, dim, -1)


@under_vmap(looped)
def quantile_of(
    input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str, skip_nan: bool
) -> Any:
    """`quantile` and `nanquantile`."""
    if interpolation not in METHODS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    q = checked_share(input, q)
    values = sort(rows_of(input, dim, keepdim), -1)[0]
    ranks = ranks_of(values, reshape(q, (-1,)), skip_nan)
    out = between(values, ranks.expand(*values.shape[:-1], q.numel()), interpolation)
    if q.ndim:
        out.unsqueeze_(0).transpose_(0, -1)
    return out.squeeze_(-1)


@method
def quantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Any:  # fmt: skip
    """The value below which a share ``q`` of all elements lies, or of those along ``dim``.

    Args:
        q: a number in [0, 1], or a tensor of them, ``(n,)``; then the result begins with a
            dimension of n.
        interpolation: what to do between two elements: "linear", "lower", "higher", "midpoint" or
            "nearest".

    Raises:
        RuntimeError: for other shares, dtypes or words, or no elements.
    """
    return quantile_of(input, q, dim, keepdim, interpolation, False)


@method
def nanquantile(
    input: Any, q: Any, dim: int | None = None, keepdim: bool = False, *,
    interpolation: str = "linear",
) -> Any:  # fmt: skip
    """`quantile` of the elements that are not nan."""
    return quantile_of(input, q, dim, keepdim, interpolation, True)
