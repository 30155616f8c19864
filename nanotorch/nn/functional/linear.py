"""Linear maps, and rows of a table by index."""

from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import refused
from nanotorch._core.call_site import warn
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops import matrix as kernels
from nanotorch.ops.arguments import need_one_dtype, require, tensors_given

__all__ = ("embedding", "embedding_bag", "one_hot")

# Rows of a table by index.


DENSE = "gradients are dense here: there are no sparse tensors; leave out sparse=True"


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """The rows of ``weight`` at the indices ``input``.

    Args:
        padding_idx: a row that gets no gradient; may be negative.
        max_norm: rows that are used and whose norm is greater are scaled down to it, in place.
        norm_type: which norm. Default: 2.
        scale_grad_by_freq: divide a row's gradient by how often it is used. Default: False.
        sparse: must be False.

    Shape:
        ``input`` (*), of int64 or int32; ``weight`` (K, D); the result (*, D).

    Raises:
        IndexError: for an index out of range.
        RuntimeError: if ``weight`` is no matrix, or for indices of another dtype.
        AssertionError: for a ``padding_idx`` out of range.
        NotImplementedError: with ``sparse``.
    """
    if sparse:
        raise NotImplementedError(DENSE)
    tensors_given("embedding", weight=weight, indices=input)
    padding = -1
    if padding_idx is not None:
        count = weight.size(0)
        if not -count <= padding_idx < count:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding = padding_idx % count
    if max_norm is not None:
        kernels.renormalize(weight, input, max_norm, norm_type)
    return kernels.embedding_rows(weight, input, padding, scale_grad_by_freq)


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
    norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean",
    sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sums, means or maxima of rows of ``weight``, one for each bag of indices.

    Args:
        input: the bags (B, N), or all of them in one vector.
        offsets: where in that vector each bag begins; (B,).
        max_norm, norm_type, scale_grad_by_freq: see `embedding`.
        mode: "sum", "mean" or "max". Default: "mean".
        sparse: must be False.
        per_sample_weights: for sums, what each row is multiplied by; shaped as ``input``.
        include_last_offset: ``offsets`` ends with the length of ``input``. Default: False.
        padding_idx: a row that does not count.

    Returns:
        (B, D); zeros for empty bags.

    Raises:
        ValueError, RuntimeError, NotImplementedError: for arguments that do not go together.
    """
    if weight.dtype == dtypes.int64 and input.is_floating_point():
        warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`."
        )
        weight, input = input, weight
    require(weight.ndim == 2, "weight has to be 2D, not {}D", weight.ndim, error=ValueError)
    plain = not (sparse or scale_grad_by_freq) or mode != "max"
    require(plain, "max mode does not support sparse weights or frequencies", error=ValueError)
    require(not sparse, DENSE, error=NotImplementedError)
    starts = starts_of_bags(input, offsets, per_sample_weights)
    known = mode in ("sum", "mean", "max")
    require(known, "mode has to be one of sum, mean or max", error=ValueError)
    factors = None
    if per_sample_weights is not None:
        require(mode == "sum", "per_sample_weights is for mode='sum'", error=NotImplementedError)
        need_one_dtype(weight, per_sample_weights)
        factors = per_sample_weights.reshape(-1)
    flat, bags, count, kept = samples_of_bags(
        input._array, starts, include_last_offset, len(weight._array), padding_idx
    )
    if max_norm is not None:
        kernels.renormalize(weight, input, max_norm, norm_type)
    if kept is not None and factors is not None:
        factors = factors[wrap(kept)]
    sizes = np.bincount(bags, minlength=count)
    if mode == "max":
        return kernels.bag_maxima(weight, flat, bags, (sizes > 0)[:, None])[0]
    if mode == "mean":
        kind = weight._array.dtype
        factors = wrap((1 / np.maximum(sizes, 1)).astype(kind)[bags])
    return kernels.bag_sums(weight, factors, flat, bags, count, scale_grad_by_freq)


def starts_of_bags(
    input: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None
) -> np.ndarray:
    """Where in the vector of all indices each bag begins."""
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError("per_sample_weights must have the same shape as the input")
    if input.dim() == 2:
        require(offsets is None, "if input is 2D, then offsets has to be None", error=ValueError)
        rows, width = input._array.shape
        require(width, "step must be nonzero")
        return np.arange(rows) * width
    if input.dim() != 1:
        raise ValueError(f"input has to be a 1D or 2D Tensor, not {input.dim()}D")
    if offsets is None or offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return offsets._array


def samples_of_bags(
    indices: np.ndarray, starts: np.ndarray, last: bool, rows: int, padding_idx: int | None
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray | None]:
    """The indices that count, the bag of each, how many bags there are, and which were kept.

    Args:
        starts: where each bag begins; with ``last``, and where the last one ends.
        rows: of the table.
    """
    kernels.check_indices("embedding_bag", indices)
    kernels.check_indices("embedding_bag", starts)
    flat = indices.reshape(-1)
    total = flat.size
    if last and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts.size and (starts[0] or starts[-1] > total):
        raise RuntimeError(f"offsets must go from 0 to {total} at most, not {starts.tolist()}")
    ends = starts if last or not starts.size else np.append(starts, total)
    lengths = np.diff(ends)
    if (lengths < 0).any():
        raise RuntimeError(f"offsets must not fall, but they are {starts.tolist()}")
    bags = np.repeat(np.arange(lengths.size), lengths)
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(f"padding_idx must be from {-rows} to {rows - 1}, not {padding_idx}")
    wrong = (flat < 0) | (flat >= rows)
    if wrong.any():
        raise RuntimeError(f"Index {flat[wrong][0]} of input is not in the valid range [0, {rows})")
    flat = flat[: bags.size]
    if padding_idx is None:
        return flat, bags, lengths.size, None
    kept = flat != padding_idx % rows
    return flat[kept], bags[kept], lengths.size, kept


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Classes as vectors with 1 at the place of the class, else 0.

    Args:
        tensor: classes from 0, of int64.
        num_classes: the length of the vectors. Default: as many as are needed.

    Raises:
        RuntimeError: for a negative class or one that is too large, or another dtype.
    """
    if not isinstance(tensor, Tensor):
        raise refused(tensor, "Tensor")
    if isinstance(num_classes, bool) or not isinstance(num_classes, int):
        raise refused(num_classes, "int", ("one_hot", "num_classes", 2))
    if tensor.dtype != dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    array: Any = tensor._array
    if not array.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
    elif array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(array.max()) + 1
    return kernels.one_hot_rows(tensor, num_classes)
