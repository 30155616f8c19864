"""Attention: the products, and several heads of them with their projections."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.arguments import refused
from nanotorch._core.batched import looped, under_vmap
from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.nn.functional.activation import dropout
from nanotorch.ops.arguments import require, tensors_given
from nanotorch.ops.joining import common_shape
from nanotorch.ops.matrix import linear
from nanotorch.ops.sequences import attention, future, safe_softmax

__all__ = ("scaled_dot_product_attention",)

MASK_AND_CAUSAL = (
    "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
)


@under_vmap(looped)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
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
        heads, shared = query.size(-3), key.size(-3)
        if shared != value.size(-3) or heads % shared:
            raise RuntimeError("heads of key and value must divide the number of heads in query")
        key, value = (x.repeat_interleave(heads // shared, -3) for x in (key, value))
    if fits_one_operation(query, key, value, attn_mask, dropout_p):
        single = query.ndim == 3
        if single:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
        mask = None
        if attn_mask is not None:  # what it adds to scores that are laid out (..., S, L)
            mask, kind = attn_mask._array, query._array.dtype
            if mask.dtype.kind == "b":
                mask = np.where(mask, kind.type(0), kind.type(-math.inf))
            mask = np.ascontiguousarray(mask.swapaxes(-1, -2).astype(kind, copy=False))
        out: Tensor = attention(query, key, value, mask, is_causal, factor)[0]
        return out.squeeze(0) if single else out
    if dropout_p < 0 or dropout_p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
    return step_by_step(query, key, value, attn_mask, dropout_p, is_causal, factor)


def check_attention(query: Any, key: Any, value: Any, mask: Any, scale: Any) -> None:
    """Refuse arguments that do not go together."""
    tensors_given("scaled_dot_product_attention", query=query, key=key, value=value)
    if scale is not None and not isinstance(scale, (int, float)):
        raise refused(scale, "float", ("scaled_dot_product_attention", "scale", 0))
    names = [dtypes.C_NAMES[x.dtype.name] for x in (query, key, value)]
    if len(set(names)) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{names[0]} key.dtype: {names[1]} and value.dtype: {names[2]} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError("Expected query, key, and value to be at least 2 dimensional")
    if not query.is_floating_point():
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.char}")
    if mask is not None and mask.dtype not in (dtypes.bool_, dtypes.float32, query.dtype):
        raise RuntimeError(
            f"Expected attn_mask to be of bool, float or the query's dtype, but got {mask.dtype}"
        )
    if mask is not None:
        scores = (*query.shape[:-1], key.size(-2))
        common = common_shape(scores, tuple(mask.shape))
        if common != scores:
            raise RuntimeError(
                f"output with shape {list(scores)} doesn't match the broadcast shape {list(common)}"
            )


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


def step_by_step(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float,
    is_causal: bool, scale: float,
) -> Tensor:  # fmt: skip
    """Attention from single operations, as PyTorch composes it."""
    root = math.sqrt(abs(scale))
    sign = -root if scale < 0 else root
    scores = ops.matmul(query * sign, key.transpose(-2, -1) * root)
    if is_causal:
        queries, keys = scores._array.shape[-2:]
        scores = scores + wrap(future(keys, queries, scores._array.dtype).T.copy())
    if mask is not None and mask.dtype == dtypes.bool_:
        mask = additive(mask.logical_not(), query.dtype)
    if mask is not None:
        scores = scores + mask
    weights: Tensor = safe_softmax(scores)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return ops.matmul(weights, value)


def additive(left_out: Tensor, dtype: Any) -> Tensor:
    """``-inf`` where a mask of bool is True, else zeros."""
    return ops.zeros(left_out.shape, dtype=dtype).masked_fill_(left_out, -math.inf)


# Masks of several heads, which are the other way round: True stands for a key that does not count


def canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any,
    check_other: bool = True,
) -> Tensor | None:  # fmt: skip
    """A mask as what is added to the scores."""
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
    return mask if floating else additive(mask, target_type)


# Several heads of attention with their projections, as one function.


NEED_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
    "`generate_square_subsequent_mask` to create this mask."
)


Masks = tuple[Tensor | None, Tensor | None]


need = partial(require, error=AssertionError)


def check_shapes(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None,
    num_heads: int,
) -> bool:  # fmt: skip
    """Whether there is a dimension of the batch, after a check of all numbers of dimensions."""
    count = query.dim()
    need(count in (2, 3), "query should be 2D (unbatched) or 3D, but it is {}-D", count)
    alike = key.dim() == count == value.dim()
    need(alike, "expected `key` and `value` to be {}-D as `query`", count)
    if padding is not None:
        told = "expected `key_padding_mask` to be {}-D but found {}-D"
        need(padding.dim() == count - 1, told, count - 1, padding.dim())
    if mask is not None:
        shape = (num_heads, query.size(0), key.size(0))
        fits = mask.dim() == 2 or (mask.dim() == 3 and (count == 3 or mask.shape == shape))
        need(fits, "expected `attn_mask` to be 2-D or of shape {} but got {}", shape, mask.shape)
    return count == 3


def projections(layer: Any, query: Tensor, key: Tensor, value: Tensor) -> Sequence[Tensor]:
    """Queries, keys and values, by one weight for all or one for each.

    There is one product for inputs that are one tensor.
    """
    size, inputs = query.size(-1), (query, key, value)
    weight, bias = layer.in_proj_weight, layer.in_proj_bias
    if weight is None:
        told = "key's sequence and batch dims {} do not match value's {}"
        need(key.shape[:2] == value.shape[:2], told, key.shape[:2], value.shape[:2])
        weights = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
        for name, own, x in zip(("query", "key", "value"), weights, inputs, strict=True):
            fits = tuple(own.shape) == (size, x.size(-1))
            need(fits, "the {} weights of shape {} do not fit", name, own.shape)
    else:
        told = "key shape {} does not match value shape {}"
        need(key.shape == value.shape, told, key.shape, value.shape)
        if query is key is value:
            return linear(query, weight, bias).chunk(3, -1)
        if key is value:
            parts = [None, None] if bias is None else bias.split([size, 2 * size])
            w_q, w_kv = weight.split([size, 2 * size])
            return linear(query, w_q, parts[0]), *linear(key, w_kv, parts[1]).chunk(2, -1)
        weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [linear(*each) for each in zip(inputs, weights, biases, strict=True)]


# Masks: one for pairs of query and key, (1 or N H, L, S), and one for keys, (N, S)


def ready_masks(
    query: Tensor, key: Tensor, padding: Tensor | None, mask: Tensor | None, is_causal: bool,
    need_weights: bool, num_heads: int,
) -> tuple[Masks, bool]:  # fmt: skip
    """Both masks as what is added to the scores; a causal one may be left to the operation."""
    (queries, batch, _), keys = query.shape, key.size(0)
    for position, expected in enumerate((batch, keys)):
        if padding is not None and padding.size(position) != expected:
            found = padding.size(position)
            told = f"Expected key_padded_mask.shape[{position}] to be {expected}, but got {found}"
            raise AssertionError(told)
    kind = None if mask is None else mask.dtype
    padding = canonical_mask(padding, "key_padding_mask", kind, "attn_mask", query.dtype)
    if is_causal and mask is None:
        raise RuntimeError(NEED_MASK)
    if is_causal and padding is None and not need_weights:
        return (None, None), True
    mask = canonical_mask(mask, "attn_mask", None, "", query.dtype, False)
    if mask is not None:
        flat = mask.dim() == 2
        shape = (queries, keys) if flat else (batch * num_heads, queries, keys)
        if tuple(mask.shape) != shape:
            raise RuntimeError(
                f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {shape}."
            )
        mask = mask.unsqueeze(0) if flat else mask
    return (mask, padding), False


def longer(masks: Masks) -> Masks:
    """Masks for one more key, which counts."""
    mask, padding = (
        None if m is None else ops.cat([m, ops.zeros(*m.shape[:-1], 1, dtype=m.dtype)], -1)
        for m in masks
    )
    return mask, padding


def merged(masks: Masks, num_heads: int) -> Tensor | None:
    """One mask (1 or N, 1 or H, 1 or L, S)."""
    mask, padding = masks
    if mask is not None:
        mask = mask.view(-1, 1 if mask.size(0) == 1 else num_heads, *mask.shape[1:])
    if padding is None:
        return mask
    padding = padding.view(padding.size(0), 1, 1, padding.size(1))
    return padding if mask is None else mask + padding


# Heads


def in_heads(x: Tensor, num_heads: int, batch: int) -> Tensor:
    """(L, N, E) as (N, H, L, E/H)."""
    length, found, size = x.shape
    if found != batch:
        shape = [length, batch * num_heads, size // num_heads]
        raise RuntimeError(f"shape '{shape}' is invalid for input of size {x.numel()}")
    return x.reshape(length, batch, num_heads, size // num_heads).permute(1, 2, 0, 3)


def attended(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """The means (L N, E), and the weights (N, H, L, S) where they are wanted."""
    batch, heads, queries, size = q.shape
    weights = None
    if not need_weights:
        out = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    else:
        scores = ops.matmul(q * math.sqrt(1.0 / size), k.transpose(-2, -1))
        weights = ops.softmax(scores if mask is None else scores + mask, -1)
        if dropout_p > 0.0:
            weights = dropout(weights, dropout_p)
        out = ops.matmul(weights, v)
    return out.permute(2, 0, 1, 3).reshape(queries * batch, heads * size), weights


def several_heads(
    layer: Any, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None,
    need_weights: bool, attn_mask: Tensor | None, average_attn_weights: bool, is_causal: bool,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """What `nn.MultiheadAttention` computes of (L, N, E) with its weights; arguments as there."""
    num_heads = layer.num_heads
    batched = check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:  # what is one tensor stays one
        single = {id(x): x.unsqueeze(1) for x in (query, key, value)}
        query, key, value = single[id(query)], single[id(key)], single[id(value)]
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    masks, is_causal = ready_masks(
        query, key, key_padding_mask, attn_mask, is_causal, need_weights, num_heads
    )
    size, expected = query.size(-1), layer.embed_dim
    need(size == expected, "was expecting embedding dimension of {}, but got {}", expected, size)
    q, k, v = projections(layer, query, key, value)
    if layer.bias_k is not None:  # a further key and value that are learned
        learned = ((k, layer.bias_k), (v, layer.bias_v))
        k, v = (ops.cat([x, b.repeat(1, x.size(1), 1)]) for x, b in learned)
        masks = longer(masks)
    q, k, v = (in_heads(x, num_heads, query.size(1)) for x in (q, k, v))
    if layer.add_zero_attn:
        zero = ops.zeros(*k.shape[:2], 1, k.size(3), dtype=k.dtype)
        k, v, masks = ops.cat([k, zero], 2), ops.cat([v, zero], 2), longer(masks)
    p = layer.dropout if layer.training else 0.0
    out, weights = attended(q, k, v, merged(masks, num_heads), p, is_causal, need_weights)
    out = linear(out, layer.out_proj.weight, layer.out_proj.bias).view(query.shape)
    if weights is not None:
        weights = weights.mean(1) if average_attn_weights else weights.view(weights.shape)
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)
