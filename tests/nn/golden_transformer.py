"""Transformers: layers, stacks, and an encoder with a decoder."""

from typing import Any

from tests.answers import given, name_of, numbers, sessions
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


session = sessions(lambda torch: given(torch, _causal, _outcome, _wave, OPTIONS=OPTIONS))
transformers = session("""
made
    # What layers consist of and what numbers they begin with.
    for kind in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer):
        for options in OPTIONS.values():
            _ = torch.manual_seed(1)
            layer = kind(8, 2, 16, **options)
            layer, digests(layer)
    _ = torch.manual_seed(1)
    whole = nn.Transformer(8, 2, 1, 2, 16, batch_first=True)
    held = digests(whole)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2, nn.LayerNorm(8))
    activations = [
        nn.TransformerEncoderLayer(8, 2, 4, activation=f).activation_relu_or_gelu
        for f in ("relu", "gelu", torch.tanh, nn.ReLU(), nn.GELU(), F.gelu)
    ]
    layer = nn.TransformerDecoderLayer(8, 2, 4, activation=nn.ReLU())
    custom = nn.Transformer(8, 2, 1, 1, 16, custom_encoder=nn.Identity()).encoder
    whole, held, decoder, activations, layer, custom
    nn.Transformer.generate_square_subsequent_mask(3)
    nn.Transformer.generate_square_subsequent_mask(2, dtype=torch.float64)
encoder layers
    padding = torch.tensor([[False, False, True], [False, True, True]])
    for name, options in OPTIONS.items():
        _ = torch.manual_seed(2)
        layer = nn.TransformerEncoderLayer(4, 2, 6, 0.0, **options)
        x = _wave(*((2, 3) if options.get("batch_first") else (3, 2)), 4)
        for how in (
            {}, {"src_mask": _causal(3)}, {"src_key_padding_mask": padding},
            {"src_mask": _causal(3), "is_causal": True},
            {"src_mask": _causal(3).isinf(), "src_key_padding_mask": padding},
        ):
            _outcome(layer, x, **how)
    _ = torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(4, 2, 6, 0.0, torch.tanh)
    _outcome(layer, _wave(3, 4))
stacks
    _ = torch.manual_seed(5)
    layer = nn.TransformerEncoderLayer(4, 2, 6, 0.0)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))
    x, causal = _wave(3, 2, 4), _causal(3)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0.0), 2)
    whole = nn.Transformer(4, 2, 1, 1, 6, 0.0, norm_first=True)
    _outcome(encoder, x), _outcome(encoder, x, mask=causal)
    _outcome(encoder, x, mask=causal, is_causal=True)
    _outcome(encoder, x, mask=torch.zeros(3, 3), is_causal=True)
    _outcome(decoder, x, x, tgt_mask=causal), _outcome(decoder, x[:2], x)
    _outcome(decoder, x, x, memory_mask=causal, memory_is_causal=True)
    _outcome(whole, x, _wave(4, 2, 4), tgt_mask=_causal(4)), _outcome(whole, x[:, 0], x[:, 1])
    encoder
padded steps
    # In evaluation without gradients, PyTorch leaves out padded steps.
    _ = torch.manual_seed(7)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    padding = torch.tensor([[False, False, True], [False, True, True]])
    between, x = torch.tensor([[False, True, False], [False, True, True]]), _wave(2, 3, 8)
    numbers(encoder(x, src_key_padding_mask=padding))
    with torch.no_grad():
        numbers(encoder(x, src_key_padding_mask=padding))
        numbers(encoder(x, torch.zeros(3, 3).bool(), padding)), numbers(encoder(x))
        numbers(encoder(x, src_key_padding_mask=between))
errors
    ones, zeros = torch.ones, torch.zeros
    with warnings.catch_warnings(action="ignore"):
        whole = nn.Transformer(8, 2, 1, 1, 16)
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)
    x = ones(3, 2, 8)
    nn.TransformerEncoderLayer(8, 2, activation="x"), nn.TransformerEncoderLayer(7, 2)
    whole(ones(3, 3, 8), ones(4, 2, 8)), whole(ones(3, 2, 7), ones(4, 2, 8))
    whole(x, ones(4, 2, 7)), encoder(x, zeros(3, 4)), encoder(ones(8))
    encoder(x, zeros(3, 3).long()), encoder(x, is_causal=True)
    encoder(x, src_key_padding_mask=zeros(2, 3).long()), encoder.layers[0](x, zeros(3, 3).long())
    encoder.layers[0](x, src_key_padding_mask=zeros(2, 3).long())
""")
