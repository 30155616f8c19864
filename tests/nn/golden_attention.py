"""Attention, and layers of several heads."""

import math
from typing import Any

from tests.answers import given, name_of, numbers, sessions, slopes


def wave(torch: Any, *shape: int, shift: float = 0.3, dtype: str = "float32") -> Any:
    """Numbers between -1 and 1 that do not repeat."""
    places = torch.arange(math.prod(shape), dtype=torch.float64).reshape(shape)
    return (places * 0.7 + shift).sin().to(getattr(torch, dtype))


def _outcome(torch: Any, function: Any, *inputs: Any, **options: Any) -> list[Any]:
    """A result, its node, and the gradients of the inputs."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    out = function(*leaves, **options)
    (out * wave(torch, *out.shape, shift=1.0).to(out.dtype)).sum().backward()
    return [name_of(out.grad_fn), numbers(out), *slopes(leaves)]


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "no bias": {"bias": False}, "learned key": {"add_bias_kv": True},
    "sizes": {"kdim": 3, "vdim": 5}, "value's size": {"vdim": 5}, "zeros": {"add_zero_attn": True},
    "batch first": {"batch_first": True},
    "both": {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
}  # fmt: skip


def _heads(torch: Any, layer: Any, q: Any, k: Any, v: Any, **options: Any) -> list[Any]:
    """A layer's result and weights, with all gradients; both have a part in the loss."""
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    layer.zero_grad()
    out, weights = layer(*leaves, **options)
    total = (out * wave(torch, *out.shape)).sum()
    if weights is not None:
        total = total + (weights * wave(torch, *weights.shape)).sum()
    total.backward()
    nodes = [name_of(out.grad_fn), weights is not None and name_of(weights.grad_fn)]
    grads = [x.grad for x in (*leaves, *layer.parameters())]
    return [nodes, numbers(out), numbers(weights), *numbers(grads)]


session = sessions(lambda torch: given(torch, _heads, _outcome, wave, OPTIONS=OPTIONS))
attention = session("""
products
    attention = F.scaled_dot_product_attention
    for dtype in ("float32", "float64"):
        q, k, v = (
            wave(2, 3, n, 4, shift=s, dtype=dtype) for n, s in ((4, 0.1), (5, 0.2), (5, 0.9))
        )
        keep = torch.ones(4, 5, dtype=torch.bool).tril()
        keep[1] = False
        options = [
            {}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": keep}, {"scale": -2.0},
            {"attn_mask": wave(4, 5, dtype=dtype)}, {"attn_mask": wave(2, 1, 4, 5, dtype=dtype)},
            {"attn_mask": wave(2, 3, 4, 5, dtype=dtype).requires_grad_()},
        ]
        [_outcome(attention, q, k, v, **some) for some in options]
        [
            _outcome(attention, q, k, wave(2, 3, 5, 6, dtype=dtype), **some)
            for some in ({}, {"is_causal": True}, {"attn_mask": keep})
        ]
        _outcome(attention, q[0], k[0], v[0]), _outcome(attention, q[0, 0], k[0, 0], v[0, 0])
        _outcome(attention, q[:1], k, v)
        many = wave(2, 6, 4, 4, dtype=dtype)
        _outcome(attention, many, k, v, enable_gqa=True)
    swapped = wave(2, 4, 3, 4).transpose(1, 2)
    out = attention(swapped, swapped, swapped)
    out.stride(), attention(*[wave(2, 3, 0, 4)] * 3).shape
errors of products
    attention, zeros = F.scaled_dot_product_attention, torch.zeros
    q, k, v = zeros(2, 4, 3, 8), zeros(2, 4, 5, 8), zeros(2, 4, 5, 6)
    attention(q, k, v, zeros(3, 5), 0.0, True), attention(q, k, v, None, 1.5)
    attention(q, k, v, zeros(3, 5).double()), attention(q[0, 0, 0], k, v)
    attention(q, k, v, zeros(3, 5).long()), attention(q, k, v, zeros(3, 4))
    attention(q, k[:, :2], v[:, :2]), attention(q.long(), k.long(), v.long())
    attention(q, k[:, :3], v[:, :3], enable_gqa=True), attention([1], k, v)
    attention(q.double(), k, v), attention(q, k, v, scale="a")
    attention(q, k, v, zeros(5, 1, 1, 3, 5))
heads
    for name, options in OPTIONS.items():
        _ = torch.manual_seed(2)
        layer = nn.MultiheadAttention(4, 2, **options)
        sizes = options.get("kdim", 4), options.get("vdim", 4)
        first, second = (2, 5) if options.get("batch_first") else (5, 2)
        q = wave(*((2, 4) if first == 2 else (4, 2)), 4)
        k, v = (wave(first, second, size) for size in sizes)
        padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        mask = torch.ones(4, 5, dtype=torch.bool).triu(1)
        for how in (
            {}, {"need_weights": False}, {"average_attn_weights": False},
            {"key_padding_mask": padding}, {"attn_mask": mask},
            {"key_padding_mask": padding, "attn_mask": mask, "need_weights": False},
            {"attn_mask": wave(4, 4, 5), "need_weights": False},
        ):
            _heads(layer, q, k, v, **how)
self attention
    # One tensor as query, key and value.
    for batch_first in (False, True):
        _ = torch.manual_seed(3)
        layer = nn.MultiheadAttention(8, 2, batch_first=batch_first)
        mask = nn.Transformer.generate_square_subsequent_mask(3)
        for shape in ((2, 3, 8) if batch_first else (3, 2, 8), (3, 8)):
            for how in (
                {}, {"need_weights": False}, {"attn_mask": mask, "is_causal": True},
                {"attn_mask": mask, "is_causal": True, "need_weights": False},
                {"attn_mask": torch.zeros(3, 3), "is_causal": True, "need_weights": False},
            ):
                x = wave(*shape).requires_grad_()
                _ = layer.zero_grad()
                out, weights = layer(x, x, x, **how)
                _ = (out * wave(*out.shape)).sum().backward()
                grads = [x.grad, *[p.grad for p in layer.parameters()]]
                node = name_of(out.grad_fn)
                node, out.stride(), numbers(out), numbers(weights), numbers(grads)
dropped heads
    layer = nn.MultiheadAttention(8, 2, dropout=0.5)
    x = wave(3, 2, 8)
    for how in ({}, {"need_weights": False}):
        _ = torch.manual_seed(4)
        _heads(layer, x, x, x, **how)
    _ = layer.eval()
    numbers(layer(x, x, x)[0]), bits(torch.rand(2))
errors
    kind, ones, zeros = nn.MultiheadAttention, torch.ones, torch.zeros
    layer, x = kind(8, 2), ones(3, 2, 8)
    single = x[:, 0]
    def masked(**masks):
        return raised(layer, x, x, x, **masks)
    def no(*shape):
        return zeros(*shape, dtype=torch.bool)
    kind(7, 2), kind(0, 2), kind(8, 0), kind(8, -1), layer(ones(8), ones(8), ones(8))
    layer(x, x[0], x), layer(x[0], x, x), layer(x, ones(3, 2, 7), x), layer(x, ones(4, 2, 8), x)
    layer(x, x, ones(3, 3, 8)), layer(ones(3, 2, 7), x, x), masked(key_padding_mask=no(3, 3))
    masked(key_padding_mask=no(2, 4)), masked(key_padding_mask=no(3))
    masked(key_padding_mask=zeros(2, 3).long()), masked(attn_mask=zeros(3, 4))
    masked(attn_mask=zeros(2, 3, 3)), masked(attn_mask=zeros(1, 4, 3, 3))
    masked(attn_mask=zeros(3, 3).long()), masked(is_causal=True)
    masked(is_causal=True, need_weights=False), layer(single, single, single, no(2, 3))
    layer(single, single, single, attn_mask=zeros(1, 3, 3))
    layer(x.double(), x.double(), x.double())
    warned(lambda: layer(x, x, x, no(2, 3), attn_mask=zeros(3, 3)))
""")
