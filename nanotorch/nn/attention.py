"""Attention of several heads as a layer."""

from typing import TYPE_CHECKING, Any

from nanotorch import ops
from nanotorch._core.tensor import Tensor
from nanotorch.names.lookup import on_demand
from nanotorch.nn import init
from nanotorch.nn.functional.attention import multi_head_attention_forward, need
from nanotorch.nn.linear import Linear
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter

__all__ = ("MultiheadAttention",)

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_demand("nanotorch.nn.attention")


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` under the name by which PyTorch prints the last projection of an attention."""


class MultiheadAttention(Module):
    """For each query a mean of values, in several heads with projections of their own.

    Args:
        embed_dim: the size E of queries and results.
        num_heads: H, which divides E.
        dropout: the probability with which weights are zeroed in training. Default: 0.
        bias: whether the projections have biases. Default: True.
        add_bias_kv: a further key and value that are learned. Default: False.
        add_zero_attn: a further key and value of zeros. Default: False.
        kdim, vdim: the sizes of keys and values. Default: E.
        batch_first: inputs and result are (N, L, E) in place of (L, N, E). Default: False.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        query (L, N, E), key (S, N, kdim), value (S, N, vdim); result (L, N, E). Without a
        dimension of the batch: (L, E) and so on.

    Attributes:
        in_proj_weight: (3E, E) for queries, keys and values; with other sizes of these,
            q_proj_weight (E, E), k_proj_weight (E, kdim) and v_proj_weight (E, vdim).
        in_proj_bias: (3E,).
        bias_k, bias_v: (1, 1, E).
        out_proj: the projection of the joined heads.

    Raises:
        ValueError: for sizes that are not positive.
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
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        need(self.head_dim * num_heads == embed_dim, "embed_dim must be divisible by num_heads")
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
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            assert self.out_proj.bias is not None
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None,
        average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The means, and their weights (N, L, S) or None.

        Args:
            query, key, value: see the class.
            key_padding_mask: (N, S), True for keys that do not count, or what is added to the
                scores.
            need_weights: return the weights as well; without them it is faster. Default: True.
            attn_mask: (L, S) or (N H, L, S), likewise.
            average_attn_weights: over the heads; otherwise weights are (N, H, L, S). Default: True.
            is_causal: ``attn_mask`` is the causal one. Default: False.
        """
        swapped = self.batch_first and query.dim() == 3
        if swapped:
            # One tensor stays one: then there is one projection for all.
            same_value, same_key = value is key, key is query
            query = query.transpose(1, 0)
            key = query if same_key else key.transpose(1, 0) if key.dim() == 3 else key
            value = key if same_value else value.transpose(1, 0) if value.dim() == 3 else value
        out, weights = multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask,
            need_weights, attn_mask, self.in_proj_weight is None, self.q_proj_weight,
            self.k_proj_weight, self.v_proj_weight, None, None, average_attn_weights, is_causal,
        )  # fmt: skip
        return out.transpose(1, 0) if swapped else out, weights
