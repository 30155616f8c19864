"""Attention: the products, and several heads of them with their projections."""

import math
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.batch_functions import looped, under_vmap
from nanotorch._core.tensor import Tensor, wrap
from nanotorch._core.warned import warn
from nanotorch.nn.functional.dropout import dropout
from nanotorch.ops.attention import attention, future, safe_softmax
from nanotorch.ops.expanding import common_shape
from nanotorch.ops.given import tensors_given

MASK_AND_CAUSAL = (
    "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
)


@under_vmap(looped)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query keyᵀ · scale + mask) value``: for each query a mean of the values.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, V).
        attn_mask: broadcasts to (..., L, S). Of bool: where True, the key counts; else it is added
            to the scores.
        dropout_p: the probability with which weights are zeroed. Default: 0.
        is_causal: query l sees keys 0 to l only. Default: False.
        scale: Default: 1/√E.
        enable_gqa: keys and values may have fewer heads, in dimension -3; each serves as many
            queries. Default: False.

    Returns:
        (..., L, V); zeros for queries without any key.

    Raises:
        RuntimeError: for dtypes or dimensions that do not go together; a mask with ``is_causal``;
            a probability out of range.

    Reference:
        Vaswani et al., Attention is all you need, NeurIPS 2017.
    """
    check_attention(query, key, value, attn_mask, scale)
    if is_causal and attn_mask is not None:
        raise RuntimeError(MASK_AND_CAUSAL)
    factor = scale if scale is not None else 1 / math.sqrt(max(query.size(-1), 1))
    if enable_gqa:
        key, value = for_all_heads(query, key, value)
    if fits_one_operation(query, key, value, attn_mask, dropout_p):
        single = query.ndim == 3
        if single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
        mask = None if attn_mask is None else keys_first(attn_mask, query._array.dtype)
        out: Tensor = attention(query, key, value, mask, is_causal, factor)[0]
        return out.squeeze(0) if single else out
    if dropout_p < 0 or dropout_p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
    return step_by_step(query, key, value, attn_mask, dropout_p, is_causal, factor)


def check_attention(query: Any, key: Any, value: Any, mask: Any, scale: Any) -> None:
    """Refuse arguments that do not go together."""
    tensors_given("scaled_dot_product_attention", query=query, key=key, value=value)
    if scale is not None and not isinstance(scale, (int, float)):
        raise TypeError(
            "scaled_dot_product_attention(): argument 'scale' must be float, not "
            f"{type(scale).__name__}"
        )
    names = [dtypes.C_NAMES[x.dtype.name] for x in (query, key, value)]
    if len(set(names)) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{names[0]} key.dtype: {names[1]} and value.dtype: {names[2]} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if not query.is_floating_point():
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.char}")
    if mask is not None and mask.dtype not in (dtypes.bool_, dtypes.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {dtypes.C_NAMES[mask.dtype.name]} and  query.dtype: {names[0]} "
            "instead."
        )
    if mask is not None:
        scores = (*query.shape[:-1], key.size(-2))
        common = common_shape(scores, tuple(mask.shape))
        if common != scores:
            raise RuntimeError(
                f"output with shape {list(scores)} doesn't match the broadcast shape {list(common)}"
            )


def for_all_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values repeated for the queries that share them."""
    heads, shared = query.size(-3), key.size(-3)
    if shared != value.size(-3) or heads % shared:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query"
        )
    k, v = (x.repeat_interleave(heads // shared, -3) for x in (key, value))
    return k, v


def fits_one_operation(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float
) -> bool:
    """Whether PyTorch computes this case as one operation."""
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    if not len(q) == len(k) == len(v) or len(q) not in (3, 4) or dropout_p:
        return False
    if mask is not None and (mask.requires_grad or mask.ndim > 4 or mask.ndim in (1, 3)):
        return False
    return q[:-2] == k[:-2] and k == v and q[-1] == k[-1] and 0 not in q and 0 not in k


def keys_first(mask: Tensor, kind: np.dtype) -> np.ndarray:
    """What a mask adds to scores that are laid out (..., S, L)."""
    array = mask._array
    if array.dtype.kind == "b":
        array = np.where(array, kind.type(0), kind.type(-math.inf))
    return np.ascontiguousarray(array.swapaxes(-1, -2).astype(kind, copy=False))


def step_by_step(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float,
) -> Tensor:
    """Attention from single operations, as PyTorch composes it."""
    root = math.sqrt(abs(scale))
    sign = -root if scale < 0 else root
    scores = ops.matmul(query * sign, key.transpose(-2, -1) * root)
    if is_causal:
        queries, keys = scores._array.shape[-2:]
        scores = scores + wrap(future(keys, queries, scores._array.dtype).T.copy())
    if mask is not None:
        scores = scores + (additive(mask, query.dtype) if mask.dtype == dtypes.bool_ else mask)
    weights: Tensor = safe_softmax(scores)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    out: Tensor = ops.matmul(weights, value)
    return out


def additive(mask: Tensor, dtype: Any) -> Tensor:
    """Zeros where a mask of bool is True, else ``-inf``."""
    added: Tensor = ops.zeros(mask.shape, dtype=dtype).masked_fill_(mask.logical_not(), -math.inf)
    return added


# Masks of several heads, which are the other way round: True stands for a key that does not count


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as what is added to the scores.

    Raises:
        AssertionError: for a mask of integers.

    Warns:
        UserWarning: for masks of which one is of bool and one is not.
    """
    if mask is None:
        return None
    floating = mask.is_floating_point()
    if mask.dtype != dtypes.bool_ and not floating:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for "
            "both instead."
        )
    if floating:
        return mask
    added: Tensor = ops.zeros(mask.shape, dtype=target_type).masked_fill_(mask, -math.inf)
    return added
