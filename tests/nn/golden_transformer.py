"""Transformers: layers, stacks, and an encoder with a decoder."""

import warnings
from typing import Any

from tests.answers import digests, name_of, numbers, raised
from tests.nn.golden_attention import wave

ROUNDING = {"depth": 4}


def _wave(torch: Any, *shape: int, shift: float = 0.3) -> Any:
    return 2 * wave(torch, *shape, shift=shift)


def _causal(torch: Any, size: int) -> Any:
    return torch.nn.Transformer.generate_square_subsequent_mask(size)


def _outcome(torch: Any, module: Any, *inputs: Any, **options: Any) -> list[Any]:
    """A result, its node, and all gradients."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    module.zero_grad()
    out = module(*leaves, **options)
    (out * _wave(torch, *out.shape, shift=1.0).to(out.dtype)).sum().backward()
    grads = [x.grad for x in (*leaves, *module.parameters())]
    return [name_of(out.grad_fn), numbers(out), *numbers(grads)]


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {}, "norm first": {"norm_first": True}, "gelu": {"activation": "gelu"},
    "no bias": {"bias": False}, "batch first": {"batch_first": True},
    "all": {"norm_first": True, "batch_first": True, "activation": "gelu", "layer_norm_eps": 1e-3},
}  # fmt: skip


def made(torch: Any) -> Any:
    """What layers consist of and what numbers they begin with."""
    nn, answers = torch.nn, []
    for kind in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer):
        for options in OPTIONS.values():
            torch.manual_seed(1)
            layer = kind(8, 2, 16, **options)
            held = digests(layer)
            answers.append([layer, held])
    torch.manual_seed(1)
    whole = nn.Transformer(8, 2, 1, 2, 16, batch_first=True)
    held = digests(whole)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2, nn.LayerNorm(8))
    activations = [
        nn.TransformerEncoderLayer(8, 2, 4, activation=f).activation_relu_or_gelu
        for f in ("relu", "gelu", torch.tanh, nn.ReLU(), nn.GELU(), nn.functional.gelu)
    ]
    layer = nn.TransformerDecoderLayer(8, 2, 4, activation=nn.ReLU())
    custom = nn.Transformer(8, 2, 1, 1, 16, custom_encoder=nn.Identity()).encoder
    return [*answers, whole, held, decoder, activations, layer, custom,
            nn.Transformer.generate_square_subsequent_mask(3),
            nn.Transformer.generate_square_subsequent_mask(2, dtype=torch.float64)]  # fmt: skip


def encoder_layers(torch: Any) -> Any:
    answers = {}
    padding = torch.tensor([[False, False, True], [False, True, True]])
    for name, options in OPTIONS.items():
        torch.manual_seed(2)
        layer = torch.nn.TransformerEncoderLayer(4, 2, 6, 0.0, **options)
        x = _wave(torch, *((2, 3) if options.get("batch_first") else (3, 2)), 4)
        for how in (
            {}, {"src_mask": _causal(torch, 3)}, {"src_key_padding_mask": padding},
            {"src_mask": _causal(torch, 3), "is_causal": True},
            {"src_mask": _causal(torch, 3).isinf(), "src_key_padding_mask": padding},
        ):  # fmt: skip
            answers[f"{name}, {' '.join(how)}"] = _outcome(torch, layer, x, **how)
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 6, 0.0, torch.tanh)
    return [answers, _outcome(torch, layer, _wave(torch, 3, 4))]


def stacks(torch: Any) -> Any:
    nn = torch.nn
    torch.manual_seed(5)
    layer = nn.TransformerEncoderLayer(4, 2, 6, 0.0)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))
    x, causal = _wave(torch, 3, 2, 4), _causal(torch, 3)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0.0), 2)
    whole = nn.Transformer(4, 2, 1, 1, 6, 0.0, norm_first=True)
    return [
        _outcome(torch, encoder, x), _outcome(torch, encoder, x, mask=causal),
        _outcome(torch, encoder, x, mask=causal, is_causal=True),
        _outcome(torch, encoder, x, mask=torch.zeros(3, 3), is_causal=True),
        _outcome(torch, decoder, x, x, tgt_mask=causal), _outcome(torch, decoder, x[:2], x),
        _outcome(torch, decoder, x, x, memory_mask=causal, memory_is_causal=True),
        _outcome(torch, whole, x, _wave(torch, 4, 2, 4), tgt_mask=_causal(torch, 4)),
        _outcome(torch, whole, x[:, 0], x[:, 1]), encoder,
    ]  # fmt: skip


def padded_steps(torch: Any) -> Any:
    """In evaluation without gradients, PyTorch leaves out padded steps."""
    torch.manual_seed(7)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2).eval()
    padding = torch.tensor([[False, False, True], [False, True, True]])
    between, x = torch.tensor([[False, True, False], [False, True, True]]), _wave(torch, 2, 3, 8)
    answers = [encoder(x, src_key_padding_mask=padding)]
    with torch.no_grad():
        answers += [encoder(x, src_key_padding_mask=padding)]
        answers += [encoder(x, torch.zeros(3, 3).bool(), padding), encoder(x)]
        answers += [encoder(x, src_key_padding_mask=between)]
    return numbers(answers)


def errors(torch: Any) -> Any:
    nn, ones, zeros = torch.nn, torch.ones, torch.zeros
    with warnings.catch_warnings(action="ignore"):
        whole = nn.Transformer(8, 2, 1, 1, 16)
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    x = ones(3, 2, 8)
    return [
        raised(nn.TransformerEncoderLayer, 8, 2, activation="x"),
        raised(nn.TransformerEncoderLayer, 7, 2), raised(whole, ones(3, 3, 8), ones(4, 2, 8)),
        raised(whole, ones(3, 2, 7), ones(4, 2, 8)), raised(whole, x, ones(4, 2, 7)),
        raised(encoder, x, zeros(3, 4)), raised(encoder, ones(8)),
        raised(encoder, x, zeros(3, 3).long()), raised(encoder, x, is_causal=True),
        raised(encoder, x, src_key_padding_mask=zeros(2, 3).long()),
        raised(encoder.layers[0], x, zeros(3, 3).long()),
        raised(encoder.layers[0], x, src_key_padding_mask=zeros(2, 3).long()),
    ]  # fmt: skip
