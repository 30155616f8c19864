"""Attention as one operation, and the unit of a Gaussian's distribution function."""

import math
from typing import Any

import numpy as np

from nanotorch._core.batched import elementwise, leading
from nanotorch._core.op import Array, hidden_op, in_half
from nanotorch._core.sums import HALF, SINGLE, ones
from nanotorch.ops.activation import sigmoid
from nanotorch.ops.arguments import need_kind
from nanotorch.ops.elementwise import exp, vanishing
from nanotorch.ops.matrix import matmul
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.shape import transpose
from nanotorch.ops.special import R, erf, odd_tanh

# Attention as one operation: softmax(query keyᵀ · scale + mask) value.
#
# The scores are kept as (..., S, L), keys first: NumPy is fastest along the second last dimension.
# They are never divided by their sums; the smaller arrays beside them are.
#
# Reference:
#     Vaswani et al., Attention is all you need, NeurIPS 2017; the backward pass as in Dao et al.,
#     FlashAttention, NeurIPS 2022, appendix B.


FUTURE: dict[tuple[int, int, np.dtype], Array] = {}


def future(keys: int, queries: int, kind: np.dtype) -> Array:
    """``-inf`` (S, L) where a key comes after the query, else 0; kept, not to be written to."""
    found = FUTURE.get((keys, queries, kind))
    if found is None:
        if len(FUTURE) > 20:
            FUTURE.clear()
        found = np.zeros((keys, queries), kind)
        found[np.tril(np.ones((keys, queries), bool), -1)] = -math.inf
        FUTURE[keys, queries, kind] = found
    return found


def mirrored(x: Any) -> Any:
    """Matrices with their last two dimensions exchanged."""
    return transpose(x, -2, -1)


def slopes(
    g: Any, query: Any, key: Any, value: Any, out: Any, raised: Any, inverse: Any, scale: float
) -> tuple[Any, Any, Any]:
    """The gradients of query, key and value.

    With P = e/Σe the weights: of the scores P (dP - Σ P dP), where Σ P dP is also Σ g out. The
    greatest score, which was subtracted, counts as a constant: the weights do not depend on it.
    """
    g_out, g_raised, g_inverse = g
    share = vanishing(out) if g_out is None else g_out * mirrored(inverse)
    back = sum_along(share * out, (-1,), True)
    if g_inverse is not None:  # this one and the next in the derivative of a derivative
        back = back + mirrored(g_inverse * inverse * inverse)
    scores = matmul(value, mirrored(share)) - mirrored(back)
    if g_raised is not None:
        scores = scores + g_raised
    scores = scores * raised
    d_query = matmul(mirrored(scores), key) * scale
    return d_query, matmul(scores, query) * scale, matmul(raised, share)


@hidden_op(
    **dict.fromkeys(("query", "key", "value"), slopes),
    joint=True,
    results=("out", "raised", "inverse"),
    visible_outputs=1,
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    batch=leading,
    wide=True,
)
def attention(
    query: Array, key: Array, value: Array, mask: Any, causal: bool, scale: float
) -> tuple[Array, Array, Array]:
    """Weighted means of the values.

    Args:
        query: (B, H, L, E).
        key: (B, H, S, E).
        value: (B, H, S, E).
        mask: an array that is added to the scores and broadcasts to (B, H, S, L), or None.
        causal: no key counts that comes after the query.
        scale: of the scores.

    Returns:
        (B, H, L, E), in the memory order of ``query``, zeros where no key counts; the exponentials
        (B, H, S, L), whose greatest is 1; and the reciprocals (B, H, 1, L) of their sums.
    """
    kind = query.dtype
    raised = np.matmul(key, (query * kind.type(scale)).swapaxes(-2, -1))
    keys, queries = raised.shape[-2:]
    if causal:
        raised += future(keys, queries, kind)
    if mask is not None:
        raised += mask
    greatest = np.maximum.reduce(raised, -2, keepdims=True, initial=-math.inf)
    np.maximum(greatest, np.finfo(kind).min, out=greatest)  # where no key counts
    raised -= greatest
    np.exp(raised, out=raised)
    inverse = np.matmul(ones(keys, kind)[None], raised)
    inverse += inverse == 0
    np.divide(kind.type(1), inverse, out=inverse)
    out = np.empty_like(query)
    np.matmul(raised.swapaxes(-2, -1), value, out=out)
    out *= inverse.swapaxes(-2, -1)
    return out, raised, inverse


@hidden_op(
    input=lambda g, out: out * (g - sum_along(g * out, (-1,), True)),
    node="SafeSoftmaxBackward0",
    in_order=True,
    batch=leading,
    wide=True,
)
def safe_softmax(input: Array) -> Array:
    """The softmax along the last dimension; zeros where all elements are ``-inf``."""
    greatest = np.maximum.reduce(input, -1, keepdims=True, initial=-math.inf)
    out = np.exp(input - np.maximum(greatest, np.finfo(input.dtype).min))
    total = np.add.reduce(out, -1, keepdims=True)
    out /= total + (total == 0)
    return out


# The unit of a Gaussian's distribution function: ``x Φ(x)``.
#
# Φ(x) is ``(1 + tanh(x P(x²))) / 2``, where P is of first degree if it is to be approximated.
#
# Reference:
#     Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.


ROOT_1_2, ROOT_1_2PI = math.sqrt(0.5), 1.0 / math.sqrt(2.0 * math.pi)
EXACT = tuple([factor * ROOT_1_2 ** (2 * k + 1) for k, factor in enumerate(R)])
ROUGH = (math.sqrt(2.0 / math.pi), math.sqrt(2.0 / math.pi) * 0.044715)
BLOCK = 1 << 16  # elements that stay in the cache for all steps


def by_blocks(function: Any, *arrays: Array) -> Array:
    """A function of each element of arrays of one shape, for many elements at a time."""
    # While a step is traced, which `type` alone sees, one call for all makes a shorter tape.
    plain = all(type(a) is np.ndarray and a.flags.c_contiguous for a in arrays)
    if arrays[0].size <= BLOCK or not plain:
        out: Array = function(*arrays)
        return out
    out = np.empty_like(arrays[0])
    flat, target = [a.reshape(-1) for a in arrays], out.reshape(-1)
    for start in range(0, out.size, BLOCK):
        part = slice(start, start + BLOCK)
        target[part] = function(*[a[part] for a in flat])
    return out


def distribution(x: Array, approximate: str) -> Array:
    """Φ(x)."""
    tanh = approximate == "tanh"
    if tanh or x.dtype == np.float32:
        out = odd_tanh(x, ROUGH if tanh else EXACT)
    else:
        out = erf(x * x.dtype.type(ROOT_1_2))
    out *= x.dtype.type(0.5)
    out += x.dtype.type(0.5)
    return out


def slope(x: Array, share: Array, approximate: str) -> Array:
    """``Φ(x) + x Φ'(x)``, of which ``share`` is the first."""
    kind = x.dtype.type
    out = np.multiply(x, x, out=...)
    if approximate == "tanh":
        out *= kind(6 * ROUGH[1])
        out += kind(2 * ROUGH[0])
        out *= share
        out *= kind(1) - share
    else:
        out *= kind(-0.5)
        np.exp(out, out=out)
        out *= kind(ROOT_1_2PI)
    out *= x
    out += share
    return out


def curvature(x: Any, approximate: str) -> Any:
    """The second derivative of ``x Φ(x)``; a formula."""
    square = x * x
    if approximate == "none":
        return exp(square * -0.5) * ROOT_1_2PI * (2.0 - square)
    share = sigmoid(x * (square * (2 * ROUGH[1]) + 2 * ROUGH[0]))
    inner = square * (6 * ROUGH[1]) + 2 * ROUGH[0]
    bent = 2.0 * inner + x * (1.0 - 2.0 * share) * inner * inner + square * (12 * ROUGH[1])
    return share * (1.0 - share) * bent


@hidden_op(
    input=lambda g, input, share, approximate: gelu_backward(g, input, share, approximate),
    aux=("share",),
    node="GeluBackward0",
    batch=elementwise,
    wide=True,
    one_step=True,
)
def gelu_unit(input: Array, approximate: str) -> tuple[Array, Array]:
    """``input`` times the normal distribution function at ``input``; and that alone.

    Args:
        approximate: "tanh" or "none", as PyTorch has it.
    """
    need_kind("GeluKernelImpl", input)
    share = by_blocks(lambda x: distribution(x, approximate), input)
    return input * share, share


@hidden_op(
    grad=lambda g, input, share, approximate: gelu_backward(g, input, share, approximate),
    input=lambda g, grad, input, approximate: g * grad * curvature(input, approximate),
    node="GeluBackwardBackward0",
    batch=elementwise,
    wide=True,
)
def gelu_backward(grad: Array, input: Array, share: Array, approximate: str) -> Array:
    """The gradient of `gelu_unit`; in half precision, ``share`` has too few digits."""
    if share.dtype == HALF:
        x = input.astype(SINGLE)
        return in_half(
            gelu_backward(grad.astype(SINGLE), x, distribution(x, approximate), approximate)
        )
    return by_blocks(lambda g, x, s: slope(x, s, approximate) * g, grad, input, share)
