"""Attention, and layers of several heads."""

import math
from typing import Any

from tests.answers import bits, name_of, numbers, raised, slopes, warned


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


def products(torch: Any) -> Any:
    attention = torch.nn.functional.scaled_dot_product_attention
    for dtype in ("float32", "float64"):
        q, k, v = (wave(torch, 2, 3, n, 4, shift=s, dtype=dtype)
                   for n, s in ((4, 0.1), (5, 0.2), (5, 0.9)))  # fmt: skip
        keep = torch.ones(4, 5, dtype=torch.bool).tril()
        keep[1] = False
        options: list[dict[str, Any]] = [
            {}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": keep}, {"scale": -2.0},
            {"attn_mask": wave(torch, 4, 5, dtype=dtype)},
            {"attn_mask": wave(torch, 2, 1, 4, 5, dtype=dtype)},
            {"attn_mask": wave(torch, 2, 3, 4, 5, dtype=dtype).requires_grad_()},
        ]  # fmt: skip
        yield from [_outcome(torch, attention, q, k, v, **some) for some in options]
        yield from [
            _outcome(torch, attention, q, k, wave(torch, 2, 3, 5, 6, dtype=dtype), **some)
            for some in ({}, {"is_causal": True}, {"attn_mask": keep})
        ]
        yield from [
            _outcome(torch, attention, q[0], k[0], v[0]),
            _outcome(torch, attention, q[0, 0], k[0, 0], v[0, 0]),
            _outcome(torch, attention, q[:1], k, v),
        ]  # fmt: skip
        many = wave(torch, 2, 6, 4, 4, dtype=dtype)
        yield _outcome(torch, attention, many, k, v, enable_gqa=True)
    swapped = wave(torch, 2, 4, 3, 4).transpose(1, 2)
    out = attention(swapped, swapped, swapped)
    yield from [out.stride(), attention(*[wave(torch, 2, 3, 0, 4)] * 3).shape]


def errors_of_products(torch: Any) -> Any:
    attention, zeros = torch.nn.functional.scaled_dot_product_attention, torch.zeros
    q, k, v = zeros(2, 4, 3, 8), zeros(2, 4, 5, 8), zeros(2, 4, 5, 6)
    return [
        raised(attention, q, k, v, zeros(3, 5), 0.0, True), raised(attention, q, k, v, None, 1.5),
        raised(attention, q, k, v, zeros(3, 5).double()), raised(attention, q[0, 0, 0], k, v),
        raised(attention, q, k, v, zeros(3, 5).long()), raised(attention, q, k, v, zeros(3, 4)),
        raised(attention, q, k[:, :2], v[:, :2]), raised(attention, q.long(), k.long(), v.long()),
        raised(attention, q, k[:, :3], v[:, :3], enable_gqa=True), raised(attention, [1], k, v),
        raised(attention, q.double(), k, v), raised(attention, q, k, v, scale="a"),
        raised(attention, q, k, v, zeros(5, 1, 1, 3, 5)),
    ]  # fmt: skip


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


def heads(torch: Any) -> Any:
    answers = {}
    for name, options in OPTIONS.items():
        torch.manual_seed(2)
        layer = torch.nn.MultiheadAttention(4, 2, **options)
        sizes = options.get("kdim", 4), options.get("vdim", 4)
        first, second = (2, 5) if options.get("batch_first") else (5, 2)
        q = wave(torch, *((2, 4) if first == 2 else (4, 2)), 4)
        k, v = (wave(torch, first, second, size) for size in sizes)
        padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
        mask = torch.ones(4, 5, dtype=torch.bool).triu(1)
        for how in (
            {}, {"need_weights": False}, {"average_attn_weights": False},
            {"key_padding_mask": padding}, {"attn_mask": mask},
            {"key_padding_mask": padding, "attn_mask": mask, "need_weights": False},
            {"attn_mask": wave(torch, 4, 4, 5), "need_weights": False},
        ):  # fmt: skip
            answers[f"{name}, {' '.join(how)}"] = _heads(torch, layer, q, k, v, **how)
    return answers


def self_attention(torch: Any) -> Any:
    """One tensor as query, key and value."""
    for batch_first in (False, True):
        torch.manual_seed(3)
        layer = torch.nn.MultiheadAttention(8, 2, batch_first=batch_first)
        mask = torch.nn.Transformer.generate_square_subsequent_mask(3)
        for shape in ((2, 3, 8) if batch_first else (3, 2, 8), (3, 8)):
            for how in (
                {}, {"need_weights": False}, {"attn_mask": mask, "is_causal": True},
                {"attn_mask": mask, "is_causal": True, "need_weights": False},
                {"attn_mask": torch.zeros(3, 3), "is_causal": True, "need_weights": False},
            ):  # fmt: skip
                x = wave(torch, *shape).requires_grad_()
                layer.zero_grad()
                out, weights = layer(x, x, x, **how)
                (out * wave(torch, *out.shape)).sum().backward()
                grads = [x.grad, *[p.grad for p in layer.parameters()]]
                node = name_of(out.grad_fn)
                yield [node, out.stride(), numbers(out), numbers(weights),
                       *numbers(grads)]  # fmt: skip


def dropped_heads(torch: Any) -> Any:
    layer = torch.nn.MultiheadAttention(8, 2, dropout=0.5)
    x = wave(torch, 3, 2, 8)
    for how in ({}, {"need_weights": False}):
        torch.manual_seed(4)
        yield _heads(torch, layer, x, x, x, **how)
    layer.eval()
    yield from [numbers(layer(x, x, x)[0]), bits(torch.rand(2))]


def errors(torch: Any) -> Any:
    kind, ones, zeros = torch.nn.MultiheadAttention, torch.ones, torch.zeros
    layer, x = kind(8, 2), ones(3, 2, 8)
    single = x[:, 0]

    def masked(**masks: Any) -> str:
        return raised(layer, x, x, x, **masks)

    def no(*shape: int) -> Any:
        return zeros(*shape, dtype=torch.bool)

    return [
        raised(kind, 7, 2), raised(kind, 0, 2), raised(kind, 8, 0), raised(kind, 8, -1),
        raised(layer, ones(8), ones(8), ones(8)), raised(layer, x, x[0], x),
        raised(layer, x[0], x, x), raised(layer, x, ones(3, 2, 7), x),
        raised(layer, x, ones(4, 2, 8), x), raised(layer, x, x, ones(3, 3, 8)),
        raised(layer, ones(3, 2, 7), x, x), masked(key_padding_mask=no(3, 3)),
        masked(key_padding_mask=no(2, 4)), masked(key_padding_mask=no(3)),
        masked(key_padding_mask=zeros(2, 3).long()), masked(attn_mask=zeros(3, 4)),
        masked(attn_mask=zeros(2, 3, 3)), masked(attn_mask=zeros(1, 4, 3, 3)),
        masked(attn_mask=zeros(3, 3).long()), masked(is_causal=True),
        masked(is_causal=True, need_weights=False), raised(layer, single, single, single, no(2, 3)),
        raised(layer, single, single, single, attn_mask=zeros(1, 3, 3)),
        raised(layer, x.double(), x.double(), x.double()),
        warned(lambda: layer(x, x, x, no(2, 3), attn_mask=zeros(3, 3))),
    ]  # fmt: skip
