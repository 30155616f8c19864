"""Sequences of different lengths: padding, packing, and back."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple, Self

from nanotorch import ops
from nanotorch._core import dtypes
from nanotorch._core.arguments import rename
from nanotorch._core.tensor import Tensor
from nanotorch.ops.arguments import check_tensor_list, require, require_value
from nanotorch.ops.sequences import pack_rows, pad_rows

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def conversion(name: str) -> Callable[["PackedSequence"], "PackedSequence"]:
    """The method ``name`` of `PackedSequence`, which calls that of the data."""

    def convert(self: "PackedSequence") -> "PackedSequence":
        return self._with(getattr(self.data, name)())

    convert.__doc__ = f"With `Tensor.{name}` applied to the data."
    return rename(convert, name)


class PackedSequence(_Fields):
    """Sequences of different lengths without padding, an input of recurrent layers.

    `pack_padded_sequence` and `pack_sequence` create it.

    Attributes:
        data: the first step of all sequences, longest first; then the second step of all that are
            long enough; and so on.
        batch_sizes: the number of sequences in each step.
        sorted_indices: the order of the sequences here; None if nothing was sorted.
        unsorted_indices: the inverse of ``sorted_indices``.
    """

    __slots__ = ()

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> Self:  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The sequences with `Tensor.to` applied to the data."""
        return self._with(self.data.to(*args, **kwargs))

    def _with(self, data: Any) -> "PackedSequence":
        if data is self.data:
            return self
        return PackedSequence(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def cpu(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The sequences after ``to("cpu", ...)``."""
        return self.to("cpu", *args, **kwargs)

    double, float, half = conversion("double"), conversion("float"), conversion("half")
    long, int, short = conversion("long"), conversion("int"), conversion("short")
    char, byte = conversion("char"), conversion("byte")

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU: False."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory: False."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation; None for None."""
    if permutation is None:
        return None
    positions = ops.arange(0, permutation.numel())
    return ops.empty_like(permutation).scatter_(0, permutation, positions)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The sequences of a padded tensor, packed.

    Args:
        input: the padded sequences, (T, N, ...).
        lengths: the length of each sequence: a list, or a tensor of int64.
        batch_first: ``input`` is (N, T, ...). Default: False.
        enforce_sorted: require the longest sequence first, instead of sorting. Default: True.

    Raises:
        RuntimeError: unless there is one length per sequence, between 1 and T, and the lengths are
            sorted if ``enforce_sorted``.
    """
    held = lengths if isinstance(lengths, Tensor) else ops.tensor(lengths, dtype=dtypes.int64)
    require(held.ndim == 1, "'lengths' argument should be a 1D tensor, but got {}D", held.ndim)
    sorted_indices = None
    if not enforce_sorted:
        held, sorted_indices = ops.sort(held, descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    counts = [int(n) for n in held.tolist()]
    if batch_first:
        input = input.transpose(0, 1)
    require(input.numel(), "Cannot pack empty tensors.")
    message = "Expected {} lengths, one for each sequence, but got {}"
    require(input.size(1) == len(counts), message, input.size(1), len(counts))
    require(counts[-1] > 0 and min(counts) > 0, "Length of all samples has to be greater than 0")
    if any(a < b for a, b in pairwise(counts)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False`."
        )
    message = "a length of {} exceeds the number of steps of the input"
    require(counts[0] <= input.size(0), message, counts[0])
    sizes = tuple(sum(n > t for n in counts) for t in range(counts[0]))
    return PackedSequence(pack_rows(input, sizes), ops.tensor(sizes), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The padded tensor (T, N, ...) of packed sequences in their original order, and their lengths.

    Args:
        batch_first: return (N, T, ...). Default: False.
        padding_value: the value after the end of a sequence. Default: 0.
        total_length: the length T. Default: that of the longest sequence.

    Raises:
        ValueError: if ``total_length`` is too small.
    """
    sizes = tuple(sequence.batch_sizes.tolist())
    longest = len(sizes)
    total = longest if total_length is None else total_length
    require_value(
        total >= longest, "Expected total_length to be at least {}, not {}", longest, total
    )
    padded = pad_rows(sequence.data, sizes, total, padding_value)
    lengths = ops.tensor([sum(n > b for n in sizes) for b in range(sizes[0])])
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        order = sequence.unsorted_indices
        return padded.index_select(0 if batch_first else 1, order), lengths[order]
    return padded, lengths


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:  # fmt: skip
    """Tensors (L, ...) of different L in one tensor (T, N, ...), where T is the largest L.

    Args:
        batch_first: return (N, T, ...). Default: False.
        padding_value: the value next to shorter sequences. Default: 0.
        padding_side: the side of the padding, "right" or "left". Default: "right".

    Raises:
        RuntimeError: if there is no sequence, for another side, or if other sizes differ.
    """
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    message = "pad_sequence: Expected iterable, but got: {}"
    require(isinstance(sequences, Iterable), message, type(sequences))
    tensors = list(sequences)
    require(tensors, "received an empty list of sequences")
    check_tensor_list(tensors)
    message = "Expected padding_side to be left or right, but got {}."
    require(padding_side in ("left", "right"), message, padding_side)
    longest = max(len(tensor) for tensor in tensors)
    shape = (len(tensors), longest, *tensors[0].shape[1:])
    out = ops.full(
        shape if batch_first else (longest, len(tensors), *shape[2:]),
        padding_value,
        dtype=tensors[0].dtype,
    )
    for position, tensor in enumerate(tensors):
        rows = slice(len(tensor)) if padding_side == "right" else slice(longest - len(tensor), None)
        out[(position, rows) if batch_first else (rows, position)].copy_(tensor)
    return out


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded tensor, each without its padding.

    Args:
        padded_sequences: the padded tensor, (T, N, ...).
        lengths: the length of each sequence.
        batch_first: ``padded_sequences`` is (N, T, ...). Default: False.
    """
    padded = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    step = ops.arange(padded.size(1))
    return [row[step < n] for row, n in zip(padded, lengths, strict=True)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Tensors (L, ...) of different L, packed.

    Args:
        enforce_sorted: require the longest sequence first, instead of sorting. Default: True.
    """
    lengths = [len(tensor) for tensor in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of packed sequences, in their original order."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
