"""The layers of transformers."""

from collections.abc import Callable
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.nn.activation import GELU, ReLU
from nanotorch.nn.attention import MultiheadAttention
from nanotorch.nn.dropout import Dropout
from nanotorch.nn.functional import gelu, relu
from nanotorch.nn.functional.attention import canonical_mask
from nanotorch.nn.layernorm import LayerNorm
from nanotorch.nn.linear import Linear
from nanotorch.nn.module import Module

Activation = str | Callable[[Tensor], Tensor]


def activation_of(activation: Activation) -> Any:
    """A function by its name, "relu" or "gelu", or as it is given."""
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return relu if activation == "relu" else gelu


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself, and a network for each step.

    Args:
        d_model: the size E of each step.
        nhead: of attention, which divides E.
        dim_feedforward: the size of the network's hidden layer. Default: 2048.
        dropout: of weights, of hidden elements and of both results. Default: 0.1.
        activation: of the network, "relu", "gelu" or a function. Default: "relu".
        layer_norm_eps: Default: 1e-5.
        batch_first: input and output are (N, T, E) in place of (T, N, E). Default: False.
        norm_first: normalize in front of both parts, not behind. Default: False.
        bias: whether there are biases. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        Input and output (T, N, E) or (T, E).

    Reference:
        Vaswani et al., Attention is all you need, NeurIPS 2017; with ``norm_first``: Xiong et al.,
        On layer normalization in the transformer architecture, ICML 2020.
    """

    _is_ours = False  # the activation may be a user's

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **made
        )
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, **made)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = activation_of(activation)
        kinds = ((relu, ReLU), (gelu, GELU))
        given = self.activation
        self.activation_relu_or_gelu = next(
            (n for n, (f, kind) in enumerate(kinds, 1) if given is f or isinstance(given, kind)), 0
        )

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The next layer's input.

        Args:
            src: the sequences.
            src_mask: (T, T) or (N H, T, T), True for pairs that do not count, or what is added to
                the scores.
            src_key_padding_mask: (N, T), likewise for steps.
            is_causal: ``src_mask`` is the causal one. Default: False.
        """
        kind = None if src_mask is None else src_mask.dtype
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", kind, "src_mask", src.dtype
        )
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        normalized: Tensor = self.norm2(src + self._ff_block(src))
        return normalized

    def _sa_block(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        attended, _ = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False,
            is_causal=is_causal,
        )  # fmt: skip
        thinned: Tensor = self.dropout1(attended)
        return thinned

    def _ff_block(self, x: Tensor) -> Tensor:
        hidden = self.dropout(self.activation(self.linear1(x)))
        thinned: Tensor = self.dropout2(self.linear2(hidden))
        return thinned


class TransformerDecoderLayer(Module):
    """Attention of a sequence to itself and to another one, and a network for each step.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype: see `TransformerEncoderLayer`.

    Shape:
        Input and output (T, N, E) or (T, E); the memory (S, N, E) or (S, E).

    Reference:
        Vaswani et al., Attention is all you need, NeurIPS 2017.
    """

    _is_ours = False  # the activation may be a user's

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        heads = {"dropout": dropout, "batch_first": batch_first, **made}
        self.self_attn = MultiheadAttention(d_model, nhead, **heads)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **heads)
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, **made)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, **made)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, **made)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = activation_of(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The next layer's input.

        Args:
            tgt: the sequences.
            memory: the other ones, from an encoder.
            tgt_mask, memory_mask: (T, T) and (T, S), or one for each head, True for pairs that do
                not count, or what is added to the scores.
            tgt_key_padding_mask, memory_key_padding_mask: (N, T) and (N, S), likewise for steps.
            tgt_is_causal, memory_is_causal: the mask is the causal one. Default: False.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        normalized: Tensor = self.norm3(x + self._ff_block(x))
        return normalized

    def _sa_block(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        attended, _ = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False,
            is_causal=is_causal,
        )  # fmt: skip
        thinned: Tensor = self.dropout1(attended)
        return thinned

    def _mha_block(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        attended, _ = self.multihead_attn(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False,
            is_causal=is_causal,
        )  # fmt: skip
        thinned: Tensor = self.dropout2(attended)
        return thinned

    def _ff_block(self, x: Tensor) -> Tensor:
        hidden = self.dropout(self.activation(self.linear1(x)))
        thinned: Tensor = self.dropout3(self.linear2(hidden))
        return thinned
