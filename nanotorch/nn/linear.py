"""Linear layers, dropout, and tables of vectors."""

import math
from typing import Any, Self

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.functional import activation as F
from nanotorch.nn.functional.activation import DENSE, embedding, embedding_bag
from nanotorch.nn.layer import Layer, changed_options
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.matrix import linear

__all__ = (
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "EmbeddingBag", "Identity",
    "Linear",
)  # fmt: skip

# Linear layers.


class Identity(Module):
    """Returns its input; any arguments are accepted and ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Linear(Module):
    """``y = x @ weight.T + bias``.

    Args:
        in_features: the size I of each input.
        out_features: the size O of each output.
        bias: whether to add one. Default: True.
        device: accepted for PyTorch's sake.
        dtype: of the parameters. Default: the default dtype.

    Shape:
        Input (..., I), output (..., O).

    Attributes:
        weight: (O, I), drawn uniformly from ±1/√I.
        bias: (O,), drawn likewise; None without bias.

    Raises:
        ValueError: for a negative size.
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(ops.empty((out_features, in_features), dtype=dtype, device=device))
        empty = Parameter(ops.empty(out_features, dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", empty)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        # With a = √5 the bound √3 · gain / √I is 1/√I.
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """``input @ weight.T + bias``."""
        own = self._parameters  # where `self.weight` looks last
        if "weight" in own and "bias" in own:
            return linear(input, own["weight"], own["bias"])
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


# Dropout.


class _DropoutNd(Layer, gives="p training inplace"):
    """Keeps its arguments and shows them.

    Args:
        p: in [0, 1]. Default: 0.5.
        inplace: change the input itself. Default: False.

    Raises:
        ValueError: for a ``p`` out of range.
    """

    p: float = 0.5
    inplace: bool = False

    def __post_init__(self) -> None:
        F.check_probability(self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd, function=F.dropout):
    """In training, sets each element to zero with probability ``p`` and scales the others.

    The factor ``1 / (1 - p)`` keeps the mean. In evaluation the input passes unchanged.

    Args:
        p: in [0, 1]. Default: 0.5.
        inplace: change the input itself. Default: False.

    Raises:
        ValueError: for a ``p`` out of range.

    Reference:
        Hinton et al., Improving neural networks by preventing co-adaptation of feature detectors,
        2012.
    """


class Dropout1d(_DropoutNd, function=F.dropout1d):
    """`Dropout` of whole channels.

    Shape:
        Input and output (N, C, L) or (C, L).
    """


class Dropout2d(_DropoutNd, function=F.dropout2d):
    """`Dropout` of whole channels of pictures.

    Shape:
        Input and output (N, C, H, W) or (N, C, L).

    Reference:
        Tompson et al., Efficient Object Localization Using Convolutional Networks, CVPR 2015.
    """


class Dropout3d(_DropoutNd, function=F.dropout3d):
    """`Dropout` of whole channels of volumes.

    Shape:
        Input and output (N, C, D, H, W) or (C, D, H, W).
    """


# Tables of vectors: `Embedding` and `EmbeddingBag`.


NORMS = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}  # `repr` omits these values


class _Table(Module):
    """The base of `Embedding` and `EmbeddingBag`: the table and its options."""

    weight: Tensor

    def _set_up(self, weight: Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        """Make the table, or take the one that is given."""
        if self.sparse:
            raise NotImplementedError(DENSE)
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is not None and tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        table = ops.empty(shape, dtype=dtype, device=device) if weight is None else weight
        self.weight = Parameter(table, requires_grad=not freeze)
        if weight is None:
            self.reset_parameters()

    def _padding(self, padding_idx: int | None, name: str) -> int | None:
        """The row that is padding, counted from the front."""
        count = self.num_embeddings
        if padding_idx is not None and not -count <= padding_idx < count:
            raise AssertionError(f"{name} must be within num_embeddings")
        return padding_idx if padding_idx is None or padding_idx >= 0 else count + padding_idx

    def reset_parameters(self) -> None:
        """Draw the table from the standard normal distribution; the padding is zeros."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def table_sizes(embeddings: Any) -> tuple[int, int]:
    """The sizes of a table that is given."""
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    return tuple(embeddings.shape)


class Embedding(_Table):
    """A vector for each of ``num_embeddings`` indices.

    Args:
        num_embeddings: K.
        embedding_dim: D.
        padding_idx: a row that is zeros at first and gets no gradient; may be negative.
        max_norm: each use of a row with a greater norm first scales the row down to this norm.
        norm_type: which norm. Default: 2.
        scale_grad_by_freq: divide a row's gradient by how often it is used. Default: False.
        sparse: must be False.
        device: accepted for PyTorch's sake.
        dtype: of the table. Default: the default dtype.

    Shape:
        Input (*), of int64 or int32; output (*, D).

    Attributes:
        weight: (K, D), drawn from the standard normal distribution.

    Raises:
        AssertionError: for a ``padding_idx`` out of range.
        NotImplementedError: with ``sparse``.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = self._padding(padding_idx, "Padding_idx")
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._set_up(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The vectors at the indices."""
        return embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    def extra_repr(self) -> str:
        sizes = f"{self.num_embeddings}, {self.embedding_dim}"
        return sizes + changed_options(self, padding_idx=None, **NORMS)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:  # fmt: skip
        """A layer with a given table (K, D).

        Args:
            freeze: the table does not learn. Default: True.

        Raises:
            AssertionError: for anything but a matrix.
        """
        return cls(
            *table_sizes(embeddings), padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
            embeddings, freeze,
        )  # fmt: skip


class EmbeddingBag(_Table):
    """Sums, means or maxima of the vectors of bags of indices.

    Args:
        num_embeddings: K.
        embedding_dim: D.
        max_norm, norm_type, scale_grad_by_freq, sparse, device, dtype: see `Embedding`.
        mode: "sum", "mean" or "max". Default: "mean".
        include_last_offset: ``offsets`` ends with the length of the input. Default: False.
        padding_idx: a row that does not count.

    Shape:
        Input (B, N), or a vector with offsets (B,); output (B, D).

    Attributes:
        weight: (K, D), drawn from the standard normal distribution.

    Raises:
        AssertionError: for a ``padding_idx`` out of range.
        NotImplementedError: with ``sparse``.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, _weight: Tensor | None = None, include_last_offset: bool = False,
        padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = self._padding(padding_idx, "padding_idx")
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset
        self._set_up(_weight, False, device, dtype)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """One vector for each bag; see `nn.functional.embedding_bag`."""
        return embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        sizes = f"{self.num_embeddings}, {self.embedding_dim}"
        return f"{sizes}{changed_options(self, **NORMS)}, mode={self.mode!r}" + changed_options(
            self, padding_idx=None
        )

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, include_last_offset: bool = False, padding_idx: int | None = None,
    ) -> Self:  # fmt: skip
        """A layer with a given table (K, D).

        Args:
            freeze: the table does not learn. Default: True.

        Raises:
            AssertionError: for anything but a matrix.
        """
        bag = cls(
            *table_sizes(embeddings), max_norm, norm_type, scale_grad_by_freq, mode, sparse,
            embeddings, include_last_offset, padding_idx,
        )  # fmt: skip
        bag.weight.requires_grad = not freeze
        return bag
