"""Multi-head attention, and transformers: their layers, an encoder and a decoder."""

import copy
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.call_site import warn
from nanotorch._core.grad_mode import mode
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.activation import GELU, ReLU
from nanotorch.nn.container import ModuleList
from nanotorch.nn.functional import gelu, relu
from nanotorch.nn.functional.activation import additive_mask, dropout, scaled_dot_product_attention
from nanotorch.nn.layer import OwnNames
from nanotorch.nn.linear import Dropout, Linear
from nanotorch.nn.module import Module
from nanotorch.nn.normalization import LayerNorm
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.arguments import require
from nanotorch.ops.matrix import linear

__all__ = (
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer",
    "TransformerEncoder", "TransformerEncoderLayer",
)  # fmt: skip

# Multi-head attention.


NEED_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
    "`generate_square_subsequent_mask` to create this mask."
)
need = partial(require, error=AssertionError)


def additive_masks(
    name: str, mask: Tensor | None, padding_name: str, padding: Tensor | None, dtype: Any
) -> list[Any]:
    """Both masks as numbers to add to scores; in a given bool mask, True hides a key."""
    for what, given in ((padding_name, padding), (name, mask)):
        if given is not None and not (given.dtype == dtypes.bool_ or given.is_floating_point()):
            raise AssertionError(f"only bool and floating types of {what} are supported")
    if mask is not None and padding is not None and mask.dtype != padding.dtype:
        warn(
            f"Support for mismatched {padding_name} and {name} is deprecated. Use same type for "
            "both instead."
        )
    return [
        m if m is None or m.is_floating_point() else additive_mask(m, dtype)
        for m in (mask, padding)
    ]


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` with the name that PyTorch prints for the output projection of attention."""


# The initializers of the parameters of attention.
FILLS: dict[str, Any] = {
    **dict.fromkeys(
        ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"), init.xavier_uniform_
    ),
    "in_proj_bias": partial(init.constant_, val=0.0),
    **dict.fromkeys(("bias_k", "bias_v"), init.xavier_normal_),
}


class MultiheadAttention(Module):
    """A weighted mean of values for each query, in several heads with their own projections.

    Args:
        embed_dim: the size E of queries and results.
        num_heads: the number H of heads; it must divide E.
        dropout: the probability of zero for a weight in training. Default: 0.
        bias: whether the projections have biases. Default: True.
        add_bias_kv: add a learned key and value. Default: False.
        add_zero_attn: add a key and a value of zeros. Default: False.
        kdim, vdim: the sizes of keys and values. Default: E.
        batch_first: inputs and result are (N, L, E) instead of (L, N, E). Default: False.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        query (L, N, E), key (S, N, kdim), value (S, N, vdim); result (L, N, E). Without a batch:
        (L, E) and so on.

    Attributes:
        in_proj_weight: (3E, E) for queries, keys and values. If ``kdim`` or ``vdim`` is not E:
            q_proj_weight (E, E), k_proj_weight (E, kdim) and v_proj_weight (E, vdim) instead.
        in_proj_bias: (3E,).
        bias_k, bias_v: (1, 1, E), with ``add_bias_kv``.
        out_proj: the projection of the concatenated heads.

    Raises:
        ValueError: if a size is not positive.
        AssertionError: if H does not divide E.

    Reference:
        Vaswani et al., Attention is all you need, NeurIPS 2017.
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        message = "embed_dim and num_heads must be greater than 0, got {} and {}"
        require(min(embed_dim, num_heads) > 0, message, embed_dim, num_heads, error=ValueError)
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        need(not embed_dim % num_heads, "embed_dim must be divisible by num_heads")
        together = self.kdim == self.vdim == embed_dim
        shapes: dict[str, tuple[int, ...] | None] = {
            "in_proj_weight": (3 * embed_dim, embed_dim) if together else None,
            "q_proj_weight": None if together else (embed_dim, embed_dim),
            "k_proj_weight": None if together else (embed_dim, self.kdim),
            "v_proj_weight": None if together else (embed_dim, self.vdim),
            "in_proj_bias": (3 * embed_dim,) if bias else None,
        }
        if add_bias_kv:
            shapes |= {"bias_k": (1, 1, embed_dim), "bias_v": (1, 1, embed_dim)}
        else:
            self.bias_k = self.bias_v = None
        made = {"dtype": dtype, "device": device}
        for name, shape in shapes.items():
            empty = None if shape is None else Parameter(ops.empty(shape, **made))
            self.register_parameter(name, empty)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **made)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name, fill in FILLS.items():
            if (parameter := getattr(self, name)) is not None:
                fill(parameter)
        if self.out_proj.bias is not None:
            init.constant_(self.out_proj.bias, 0.0)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The means, and their weights (N, L, S) or None.

        Args:
            query, key, value: see the class.
            key_padding_mask: (N, S); True hides a key, numbers are added to the scores.
            need_weights: return the weights, too; False is faster. Default: True.
            attn_mask: (L, S) or (N H, L, S); True hides a key from a query, numbers are added.
            average_attn_weights: average the weights over the heads; False returns (N, H, L, S).
                Default: True.
            is_causal: ``attn_mask`` is the causal mask. Default: False.
        """
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            # Equal tensors stay equal: they share one projection.
            same_value, same_key = value is key, key is query
            query = query.transpose(1, 0)
            key = query if same_key else key.transpose(1, 0) if key.dim() == 3 else key
            value = key if same_value else value.transpose(1, 0) if value.dim() == 3 else value
        self._check_shapes(query, key, value, key_padding_mask, attn_mask)
        batched = query.dim() == 3
        if not batched:
            single = {id(x): x.unsqueeze(1) for x in (query, key, value)}
            query, key, value = single[id(query)], single[id(key)], single[id(value)]
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        mask, is_causal = self._mask(
            query, key, key_padding_mask, attn_mask, is_causal, need_weights
        )
        (queries, batch, size), expected = query.shape, self.embed_dim
        need(
            size == expected, "was expecting embedding dimension of {}, but got {}", expected, size
        )
        q, k, v = self._projections(query, key, value)
        require(k.size(1) == batch, "query has {} samples, but key has {}", batch, k.size(1))
        if self.bias_k is not None and self.bias_v is not None:
            learned = ((k, self.bias_k), (v, self.bias_v))
            k, v = (ops.cat([x, b.repeat(1, batch, 1)]) for x, b in learned)
        q, k, v = (
            x.reshape(x.size(0), batch, self.num_heads, self.head_dim).permute(1, 2, 0, 3)
            for x in (q, k, v)
        )
        if self.add_zero_attn:
            zero = ops.zeros(*k.shape[:2], 1, k.size(3), dtype=k.dtype)
            k, v = ops.cat([k, zero], 2), ops.cat([v, zero], 2)
        weights, p = None, self.dropout if self.training else 0.0
        if need_weights:
            scores = ops.matmul(q * math.sqrt(1.0 / self.head_dim), k.transpose(-2, -1))
            weights = ops.softmax(scores if mask is None else scores + mask, -1)
            if p > 0.0:
                weights = dropout(weights, p)
            means = ops.matmul(weights, v)
            weights = weights.mean(1) if average_attn_weights else weights.view(weights.shape)
        else:
            means = scaled_dot_product_attention(q, k, v, mask, p, is_causal)
        rows = means.permute(2, 0, 1, 3).reshape(queries * batch, size)
        out = linear(rows, self.out_proj.weight, self.out_proj.bias).view(query.shape)
        if not batched:
            return out.squeeze(1), None if weights is None else weights.squeeze(0)
        return out.transpose(1, 0) if swapped else out, weights

    def _check_shapes(
        self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None
    ) -> None:
        """Refuse inputs and masks with the wrong number of dimensions."""
        count = query.dim()
        need(count in (2, 3), "query should be 2D (unbatched) or 3D, but it is {}-D", count)
        alike = key.dim() == count == value.dim()
        need(alike, "expected `key` and `value` to be {}-D as `query`", count)
        if padding is not None:
            message = "expected `key_padding_mask` to be {}-D but found {}-D"
            need(padding.dim() == count - 1, message, count - 1, padding.dim())
        if mask is not None:
            shape = (self.num_heads, query.size(0), key.size(0))
            fits = mask.dim() == 2 or (mask.dim() == 3 and (count == 3 or mask.shape == shape))
            message = "expected `attn_mask` to be 2-D or of shape {} but got {}"
            need(fits, message, shape, mask.shape)

    def _mask(
        self, query: Tensor, key: Tensor, padding: Tensor | None, mask: Tensor | None,
        is_causal: bool, need_weights: bool,
    ) -> tuple[Tensor | None, bool]:  # fmt: skip
        """The numbers to add to the scores, (1 or N, 1 or H, 1 or L, S), and whether to use causal
        attention instead; from ``mask`` (L, S) or (N H, L, S) and ``padding`` (N, S)."""
        (queries, batch, _), keys = query.shape, key.size(0)
        if padding is not None:
            message = "key_padding_mask must be of shape {}, but it is {}"
            need(padding.shape == (batch, keys), message, (batch, keys), tuple(padding.shape))
        if is_causal:
            require(mask is not None, NEED_MASK)
            if padding is None and not need_weights:
                return None, True
        mask, padding = additive_masks("attn_mask", mask, "key_padding_mask", padding, query.dtype)
        if mask is not None:
            heads = 1 if mask.dim() == 2 else self.num_heads
            shape = (queries, keys) if mask.dim() == 2 else (batch * heads, queries, keys)
            message = "The shape of the {}D attn_mask is {}, but should be {}."
            require(mask.shape == shape, message, mask.dim(), mask.shape, shape)
            mask = mask.view(-1, heads, queries, keys)
        if padding is not None:
            padding = padding.view(batch, 1, 1, keys)
            mask = padding if mask is None else mask + padding
        more = (self.bias_k is not None) + self.add_zero_attn  # further keys, never hidden
        if mask is not None and more:
            mask = ops.cat([mask, ops.zeros(*mask.shape[:-1], more, dtype=mask.dtype)], -1)
        return mask, False

    def _projections(self, query: Tensor, key: Tensor, value: Tensor) -> Sequence[Tensor]:
        """The projected queries, keys and values.

        Inputs that are the same tensor share one product.
        """
        size, inputs = query.size(-1), (query, key, value)
        weight, bias = self.in_proj_weight, self.in_proj_bias
        if weight is None:
            message = "key's sequence and batch dims {} do not match value's {}"
            need(key.shape[:2] == value.shape[:2], message, key.shape[:2], value.shape[:2])
            weights: Any = [getattr(self, f"{name}_proj_weight") for name in "qkv"]
            for name, own, x in zip(("query", "key", "value"), weights, inputs, strict=True):
                fits = tuple(own.shape) == (size, x.size(-1))
                need(fits, "the {} weights of shape {} do not fit", name, own.shape)
        else:
            message = "key shape {} does not match value shape {}"
            need(key.shape == value.shape, message, key.shape, value.shape)
            if query is key is value:
                return linear(query, weight, bias).chunk(3, -1)
            if key is value:
                parts = [None, None] if bias is None else bias.split([size, 2 * size])
                w_q, w_kv = weight.split([size, 2 * size])
                return linear(query, w_q, parts[0]), *linear(key, w_kv, parts[1]).chunk(2, -1)
            weights = weight.chunk(3)
        biases = (None, None, None) if bias is None else bias.chunk(3)
        return [linear(*each) for each in zip(inputs, weights, biases, strict=True)]


# The layers of transformers.


Activation = str | Callable[[Tensor], Tensor]


class _TransformerLayer(OwnNames, Module):
    """The base of encoder and decoder layers: blocks, each with dropout and a norm.

    Attributes:
        _attentions: the names of the attention blocks; the last block is a feed-forward network.
    """

    _is_ours = False  # the activation may be the user's code
    _own_names = ("__init__",)
    _attentions: tuple[str, ...] = ("self_attn",)

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            heads = MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, **made
            )
            setattr(self, name, heads)
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for number in parts:
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, **made))
        for number in parts:
            setattr(self, f"dropout{number}", Dropout(dropout))
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise RuntimeError(f"activation should be relu/gelu, not {activation}")
            activation = relu if activation == "relu" else gelu
        self.activation = given = activation
        kinds = {1: (relu, ReLU), 2: (gelu, GELU)}
        self.activation_relu_or_gelu = next(
            (n for n, (f, kind) in kinds.items() if given is f or isinstance(given, kind)), 0
        )

    def _run(self, x: Tensor, blocks: Sequence[Callable[[Tensor], Tensor]]) -> Tensor:
        """``x`` plus the output of each block in order, with the norm before or after the block."""
        for number, block in enumerate(blocks, 1):
            norm = getattr(self, f"norm{number}")
            x = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return x

    def _sa_block(self, x: Tensor, mask: Any, padding: Any, is_causal: bool) -> Tensor:
        return self.dropout1(attend(self.self_attn, x, x, mask, padding, is_causal))

    def _ff_block(self, x: Tensor) -> Tensor:
        hidden = self.dropout(self.activation(self.linear1(x)))
        last = getattr(self, f"dropout{len(self._attentions) + 1}")
        return last(self.linear2(hidden))


def attend(heads: Any, x: Tensor, memory: Tensor, mask: Any, padding: Any, is_causal: bool) -> Any:
    """The attention of ``x`` to ``memory``."""
    return heads(
        x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False,
        is_causal=is_causal,
    )[0]  # fmt: skip


class TransformerEncoderLayer(_TransformerLayer):
    """Attention of a sequence to itself, and a feed-forward network for each step.

    Args:
        d_model: the size E of each step.
        nhead: the number H of heads; it must divide E.
        dim_feedforward: the size of the network's hidden layer. Default: 2048.
        dropout: the probability of zero for attention weights, hidden elements and the outputs of
            both blocks. Default: 0.1.
        activation: the network's activation: "relu", "gelu" or a function. Default: "relu".
        layer_norm_eps: eps of the norms. Default: 1e-5.
        batch_first: input and output are (N, T, E) instead of (T, N, E). Default: False.
        norm_first: normalize before both blocks, not after them. Default: False.
        bias: whether to have biases. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Input and output (T, N, E) or (T, E).

    Reference:
        Vaswani et al., Attention is all you need, NeurIPS 2017; with ``norm_first``: Xiong et al.,
        On layer normalization in the transformer architecture, ICML 2020.
    """

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The output of the layer.

        Args:
            src: the sequences.
            src_mask: (T, T) or (N H, T, T); True hides a step from another, numbers are added to
                the scores.
            src_key_padding_mask: (N, T); the same for steps hidden from all.
            is_causal: ``src_mask`` is the causal mask. Default: False.
        """
        masks = additive_masks(
            "src_mask", src_mask, "src_key_padding_mask", src_key_padding_mask, src.dtype
        )
        own = (*masks, is_causal)
        return self._run(src, (lambda x: self._sa_block(x, *own), self._ff_block))

    def _leaves_padding_out(self) -> bool:
        """Whether PyTorch computes the layer without padded steps."""
        heads = self.self_attn
        plain = heads.batch_first and heads.in_proj_bias is not None and not self.norm_first
        plain = plain and heads.in_proj_weight is not None and heads.num_heads % 2 == 0
        return plain and bool(self.activation_relu_or_gelu) and self.norm1.eps == self.norm2.eps


class TransformerDecoderLayer(_TransformerLayer):
    """Attention of a sequence to itself and to another one, and a network for each step.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype: see `TransformerEncoderLayer`.

    Shape:
        Input and output (T, N, E) or (T, E); the memory (S, N, E) or (S, E).

    Reference:
        Vaswani et al., Attention is all you need, NeurIPS 2017.
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The output of the layer.

        Args:
            tgt: the sequences.
            memory: the other sequences, from an encoder.
            tgt_mask, memory_mask: (T, T) and (T, S), or one per sample and head; True hides a step
                from another, numbers are added to the scores.
            tgt_key_padding_mask, memory_key_padding_mask: (N, T) and (N, S); the same for steps
                hidden from all.
            tgt_is_causal, memory_is_causal: the mask is the causal mask. Default: False.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        blocks = (
            lambda x: self._sa_block(x, *own),
            lambda x: self._mha_block(x, memory, *other),
            self._ff_block,
        )
        return self._run(tgt, blocks)

    def _mha_block(
        self, x: Tensor, memory: Tensor, mask: Any, padding: Any, is_causal: bool
    ) -> Tensor:
        return self.dropout2(attend(self.multihead_attn, x, memory, mask, padding, is_causal))


# Transformers: stacks of layers, and an encoder with a decoder.


def copies(module: Module, count: int) -> ModuleList:
    """A list of ``count`` deep copies of a module."""
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class TransformerEncoder(Module):
    """A stack of encoder layers.

    Args:
        encoder_layer: the layer to copy.
        num_layers: the number of copies.
        norm: the norm after the last layer. Default: none.
        enable_nested_tensor: return zeros for padded steps, which PyTorch skips; only in evaluation
            mode, without gradients and without ``mask``. Default: True.
        mask_check: do so only if all padding is at the end of sequences. Default: True.

    Warns:
        UserWarning: if ``enable_nested_tensor`` is set and PyTorch would not skip steps in such a
            layer.
    """

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor = enable_nested_tensor
        known = isinstance(encoder_layer, TransformerEncoderLayer)
        nested = enable_nested_tensor and known and encoder_layer._leaves_padding_out()
        self.use_nested_tensor = nested
        if enable_nested_tensor and not self.use_nested_tensor:
            warn(
                "enable_nested_tensor is for layers with batch_first, bias, an even number of "
                "heads, relu or gelu, and without norm_first"
            )
        self.mask_check = mask_check

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        """The output of the last layer; see `TransformerEncoderLayer`."""
        mask, padding = additive_masks(
            "mask", mask, "src_key_padding_mask", src_key_padding_mask, src.dtype
        )
        output = src
        for layer in self.layers:
            output = layer(
                output, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=padding
            )
        given: Any = src_key_padding_mask
        padded = given is not None and mask is None and src.dim() == 3
        if self.use_nested_tensor and padded and not self.training:
            steps: Any = given if given.dtype == dtypes.bool_ else ops.isneginf(given)
            inside = self.mask_check and (steps._array[:, :-1] & ~steps._array[:, 1:]).any()
            if not (inside or (mode.enabled and any(p.requires_grad for p in self.parameters()))):
                output = output.masked_fill(steps.unsqueeze(-1), 0.0)  # PyTorch skips these steps
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """A stack of decoder layers.

    Args:
        decoder_layer: the layer to copy.
        num_layers: the number of copies.
        norm: the norm after the last layer. Default: none.
    """

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The output of the last layer; see `TransformerDecoderLayer`."""
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                memory_key_padding_mask, bool(tgt_is_causal), memory_is_causal,
            )  # fmt: skip
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder, and a decoder that attends to the encoder's output.

    Args:
        d_model: the size E of each step. Default: 512.
        nhead: the number of heads; it must divide E. Default: 8.
        num_encoder_layers, num_decoder_layers: the numbers of layers. Default: 6.
        dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
            device, dtype: see `TransformerEncoderLayer`.
        custom_encoder, custom_decoder: modules that replace the usual ones. Default: None.

    Shape:
        src (S, N, E), tgt and the output (T, N, E); or without the batch.

    Attributes:
        encoder, decoder: the two stacks; `init.xavier_uniform_` draws their matrices.

    Reference:
        Vaswani et al., Attention is all you need, NeurIPS 2017.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = relu, custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*options)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            other = TransformerDecoderLayer(*options)
            custom_decoder = TransformerDecoder(other, num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask (sz, sz): ``-inf`` above the diagonal, else 0."""
        return ops.triu(ops.full((sz, sz), -math.inf, dtype=dtype, device=device), 1)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None, tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None, src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """The decoder's output for ``tgt``; see the layers for the masks.

        Raises:
            RuntimeError: if the numbers of samples differ, or features are not of size ``d_model``.
        """
        along = 0 if self.batch_first else 1
        if src.size(along) != tgt.size(along) and src.dim() == 3:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip
