"""Linear layers, dropout and embeddings."""

import math
from typing import Any, Self

from nanotorch import ops
from nanotorch._core.dtypes import dtype as DType
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.tensor import Tensor
from nanotorch.nn import init
from nanotorch.nn.functional import activation as F
from nanotorch.nn.functional.activation import DENSE, embedding, embedding_bag, padding_row
from nanotorch.nn.layer import Layer, changed_options
from nanotorch.nn.module import Module
from nanotorch.nn.parameter import Parameter
from nanotorch.ops.arguments import require_value
from nanotorch.ops.matrix import linear
from nanotorch.ops.products import bilinear

__all__ = (
    "AlphaDropout", "Bilinear", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding",
    "EmbeddingBag", "FeatureAlphaDropout", "Identity", "Linear",
)  # fmt: skip

# Linear layers.


class Identity(Module):
    """Returns its input; the constructor ignores its arguments."""

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
        bias: whether to add a bias. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Input (..., I), output (..., O).

    Attributes:
        weight: (O, I), drawn uniformly from [-1/√I, 1/√I).
        bias: (O,), drawn likewise; None without bias.

    Raises:
        RuntimeError: for a negative size.
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


class Bilinear(Layer, function=bilinear, takes="input1 input2", gives="weight bias"):
    """``x1ᵀ A x2 + b`` for each of ``out_features`` matrices A.

    Args:
        in1_features, in2_features: the numbers of input features, I and J.
        out_features: the number of output features, O.
        bias: add a bias b. Default: True.
        device: accepted for compatibility.
        dtype: the dtype of the parameters. Default: the default dtype.

    Shape:
        Inputs (..., I) and (..., J), output (..., O).

    Attributes:
        weight: (O, I, J), drawn uniformly from ±1/√I.
        bias: (O,), drawn from the same range; None without bias.

    Raises:
        ValueError: unless ``in1_features`` is positive.
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Any = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        text = "in1_features must be > 0, but got (in1_features={})"
        require_value(in1_features > 0, text, in1_features)
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(ops.empty(shape, dtype=dtype, device=device))
        empty = Parameter(ops.empty(out_features, dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", empty)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


# Dropout.


class _DropoutNd(Layer, gives="p training inplace"):
    """The base of dropout layers.

    Args:
        p: the probability of zero, in [0, 1]. Default: 0.5.
        inplace: write into the input. Default: False.

    Raises:
        ValueError: if ``p`` is out of range.
    """

    p: float = 0.5
    inplace: bool = False

    def __post_init__(self) -> None:
        F.checked_probability(self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd, function=F.dropout):
    """In training, sets each element to zero with probability ``p`` and scales the others.

    The factor ``1 / (1 - p)`` keeps the mean. In evaluation mode, the input passes unchanged.

    Args:
        p: the probability of zero, in [0, 1]. Default: 0.5.
        inplace: write into the input. Default: False.

    Raises:
        ValueError: if ``p`` is out of range.

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
    """`Dropout` of whole channels of images.

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


class AlphaDropout(_DropoutNd, function=F.alpha_dropout, gives="p training"):
    """`Dropout` after `SELU`: sets elements to its limit; mean and variance stay.

    ``inplace`` has no effect, as in PyTorch.
    """


class FeatureAlphaDropout(_DropoutNd, function=F.feature_alpha_dropout, gives="p training"):
    """`AlphaDropout` of whole channels.

    Shape:
        Input and output (N, C, ...).
    """


# Tables of vectors: `Embedding` and `EmbeddingBag`.


NORMS = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}  # `repr` omits these values


class _Table(Module):
    """The base of `Embedding` and `EmbeddingBag`: a table with one vector in each row."""

    weight: Tensor

    def _set_up(self, weight: Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        """Create the table, or use ``weight`` as the table."""
        if self.sparse:
            raise NotImplementedError(DENSE)
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is not None and tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        table = ops.empty(shape, dtype=dtype, device=device) if weight is None else weight
        self.weight = Parameter(table, requires_grad=not freeze)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table from the standard normal distribution; zero the padding row."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def table_sizes(embeddings: Any) -> tuple[int, int]:
    """The number and the size of the vectors in a given table."""
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    return tuple(embeddings.shape)


class Embedding(_Table):
    """A table of vectors, one for each index.

    Args:
        num_embeddings: the number K of vectors.
        embedding_dim: the size D of each vector.
        padding_idx: a row, initially zeros, without gradient; may be negative. Default: None.
        max_norm: scale used rows with a greater norm down to it, in place. Default: None.
        norm_type: the order of this norm. Default: 2.
        scale_grad_by_freq: divide a row's gradient by its count in the input. Default: False.
        sparse: must be False.
        device: accepted for compatibility.
        dtype: the dtype of the table. Default: the default dtype.

    Shape:
        Input (*), of int64 or int32; output (*, D).

    Attributes:
        weight: (K, D), drawn from the standard normal distribution.

    Raises:
        AssertionError: if ``padding_idx`` is out of range.
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
        # The index 0 stays as it is, and so does None.
        self.padding_idx = padding_idx and padding_row(padding_idx, num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._set_up(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The vectors at the indices ``input``."""
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
        """A layer with the table ``embeddings``, (K, D).

        Args:
            freeze: exclude the table from training. Default: True.

        Raises:
            AssertionError: unless ``embeddings`` has two dimensions.
        """
        return cls(
            *table_sizes(embeddings), padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse,
            embeddings, freeze,
        )  # fmt: skip


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the vectors of each bag of indices.

    Args:
        num_embeddings: the number K of vectors.
        embedding_dim: the size D of each vector.
        max_norm, norm_type, scale_grad_by_freq, sparse, device, dtype: see `Embedding`.
        mode: "sum", "mean" or "max". Default: "mean".
        include_last_offset: ``offsets`` ends with the length of the input. Default: False.
        padding_idx: an index that bags ignore. Default: None.

    Shape:
        Input (B, N), or a vector with offsets (B,); output (B, D).

    Attributes:
        weight: (K, D), drawn from the standard normal distribution.

    Raises:
        AssertionError: if ``padding_idx`` is out of range.
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
        self.padding_idx = padding_idx and padding_row(padding_idx, num_embeddings, "padding_idx")
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
        """A layer with the table ``embeddings``, (K, D).

        Args:
            freeze: exclude the table from training. Default: True.

        Raises:
            AssertionError: unless ``embeddings`` has two dimensions.
        """
        bag = cls(
            *table_sizes(embeddings), max_norm, norm_type, scale_grad_by_freq, mode, sparse,
            embeddings, include_last_offset, padding_idx,
        )  # fmt: skip
        bag.weight.requires_grad = not freeze
        return bag
