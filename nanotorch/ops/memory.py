"""Copies, and views that say more about memory than about shape."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nanotorch._core import dtypes
from nanotorch._core.arguments import as_int, as_ints
from nanotorch._core.batch_functions import in_batch, under_vmap
from nanotorch._core.batch_rules import Call, elementwise
from nanotorch._core.batched import Batch, batched, everything
from nanotorch._core.copying import address, order_of, whole_memory
from nanotorch._core.device import CPU, device
from nanotorch._core.layout import layout, strided
from nanotorch._core.op import PUBLIC, Array, method, op, public
from nanotorch._core.tensor import Tensor


class memory_format:  # noqa: N801 - PyTorch's name
    """How the elements of a copy are laid out in memory."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
_names: dict[str, Any] = {
    "memory_format": memory_format,
    "contiguous_format": contiguous_format,
    "preserve_format": preserve_format,
    "layout": layout,
    "strided": strided,
}
PUBLIC.update(_names)


@public
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input._array.size


@op(input=lambda g: g, view=True, method=False, public=False, batch=elementwise)
def alias(input: Array) -> Array:
    """The same in all respects."""
    return input[...]


@op(input=lambda g: g, batch=elementwise, one_step=True)
def clone(input: Array, *, memory_format: Any = preserve_format) -> Array:
    """A copy; by default with the dimensions in the same order in memory."""
    return input.copy("C" if memory_format is contiguous_format else order_of(input))


@method(public=False)
def contiguous(self: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in memory in order, else a copy where they do."""
    if self._array.flags.c_contiguous:
        return self
    return clone(self, memory_format=contiguous_format)


# Any view of the whole memory

Layout = tuple[tuple[int, ...], tuple[int, ...], int]  # sizes, strides and offset, in elements


def layout_of(array: Array) -> Layout:
    """Where the elements of ``array`` lie in its memory."""
    start = address(array) - address(whole_memory(array))
    strides = tuple([s // array.itemsize for s in array.strides])
    return array.shape, strides, start // array.itemsize


class UntypedStorage:
    """The memory that a tensor is a view of, byte by byte."""

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory

    device: device = CPU

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return address(self._memory)

    def __len__(self) -> int:
        return self._memory.size

    size = nbytes = __len__

    def element_size(self) -> int:
        """Always 1."""
        return 1

    def __getitem__(self, index: int) -> int:
        return int(self._memory[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())


PUBLIC["UntypedStorage"] = UntypedStorage


@method(public=False)
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that the tensor and others are views of."""
    return UntypedStorage(whole_memory(self._array))


@method(public=False)
def storage_offset(self: Tensor) -> int:
    """Where in its memory the first element lies, counted in elements."""
    return layout_of(self._array)[2]


def places(layout: Layout) -> np.ndarray:
    """For each element its place in memory."""
    sizes, strides, offset = layout
    at = np.full(sizes, offset)
    for d, (n, stride) in enumerate(zip(sizes, strides, strict=True)):
        at += (np.arange(n) * stride).reshape((n,) + (1,) * (len(sizes) - d - 1))
    return at


@op(
    input=lambda g, layout, source: relaid(g, layout, source, source),
    view=True,
    method=False,
    public=False,
    node="AsStridedBackward0",
    batch=lambda call: views_of_all(call),
)
def strided_view(input: Array, layout: Layout, source: Layout) -> Array:
    """A view of given layout of the memory of ``input``, which has the layout ``source``."""
    sizes, strides, offset = layout
    memory, item = whole_memory(input), input.itemsize
    reach = 1 + offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if 0 not in sizes and reach * item > memory.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {item} requiring a storage size of {reach * item} are out of bounds for "
            f"storage of size {memory.nbytes}"
        )
    start = min(offset * item, memory.nbytes)  # further only without elements
    return np.ndarray(sizes, input.dtype, memory, start, tuple([s * item for s in strides]))


@op(
    g=lambda g, layout, source, over: relaid(g, source, layout, over),
    method=False,
    public=False,
)
def relaid(g: Array, layout: Layout, source: Layout, over: Layout) -> Array:
    """Add up ``g``, laid out as ``layout``, in blank memory, and read it as ``source``.

    Elements of ``over`` that share a place there have equal parts of what it holds.
    """
    to, from_, sharing = places(layout), places(source), places(over)
    memory = np.zeros(1 + max(p.max(initial=0) for p in (to, from_, sharing)), g.dtype)
    np.add.at(memory, to, g)
    owners = np.bincount(sharing.ravel(), minlength=memory.size)
    if owners.max() > 1:
        memory /= np.maximum(owners, 1).astype(g.dtype)
    return memory[from_]


def views_of_all(call: Call) -> Any:
    """`strided_view` of each sample, whose layout counts from its own first element."""
    whole, (sizes, strides, offset) = call.whole("input"), call.args["layout"]
    start = layout_of(everything(whole))[2] + offset - call.args["source"][2]
    return as_strided(whole, (call.batch.size, *sizes), (whole.stride(0), *strides), start)


def strided_of_all(function: Any, batch: Batch, args: Any, kwargs: Any) -> Any:
    """`as_strided` of each sample, whose elements lie as those of all do.

    Raises:
        RuntimeError: if it leads to memory where there are no elements of the sample.
    """
    given = dict(zip(("input", "size", "stride", "storage_offset"), args, strict=False)) | kwargs
    whole = given["input"]._whole
    first = layout_of(everything(whole))[2]
    sizes, strides, offset = layout_asked(
        (tuple(whole.shape[1:]), whole.stride()[1:], first),
        given["size"],
        given["stride"],
        given.get("storage_offset"),
    )
    start = offset - first
    end, own = [extent(n, s) for n, s in ((sizes, strides), (whole.shape[1:], whole.stride()[1:]))]
    if 0 not in sizes and not 0 <= start <= start + end <= own:
        raise RuntimeError(
            f"result = tensor.as_strided({list(sizes)}, {list(strides)}, {offset}) can access "
            f"memory outside of `tensor`. `result` can access some memory in range [{offset}, "
            f"{offset + end}], but `tensor` can only access some memory in range [{first}, "
            f"{first + own}]. This is not supported inside of vmap, please try to rewrite the "
            "`as_strided` call as a sequence of PyTorch view operations"
        )
    every = whole, (batch.size, *sizes), (whole.stride(0), *strides), offset
    return batched(in_batch(function, strided_of_all, False, every, {}), batch)


def extent(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """How far behind its first element a tensor's memory ends."""
    return 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))


@method
@under_vmap(strided_of_all)
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view of the tensor's memory with given sizes, strides and first element.

    Args:
        storage_offset: counted from the beginning of the memory; default: the tensor's own.

    Raises:
        RuntimeError: for a layout that is not valid or leads out of the memory.
    """
    own = layout_of(input._array)
    return strided_view(input, layout_asked(own, size, stride, storage_offset), own)


def layout_asked(own: Layout, size: Any, stride: Any, storage_offset: int | None) -> Layout:
    """What is asked of `as_strided`, if it is valid, for a tensor that lies as ``own``."""
    offset = own[2] if storage_offset is None else storage_offset
    layout = (as_ints(size), as_ints(stride), as_int(offset))
    if len(layout[0]) != len(layout[1]):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in layout[1]):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(layout[1])}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    return layout


def check_width(array: Array, kind: np.dtype) -> None:
    """Refuse to read elements as others of a width that their layout does not allow."""
    if kind.itemsize == array.itemsize:
        return
    names = " as ".join(dtypes.of_array(np.empty(0, k)).char for k in (array.dtype, kind))
    told = f"to view {names} (different element sizes)"
    if not array.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 {told}")
    stride, times = array.strides[-1] // array.itemsize, kind.itemsize // array.itemsize
    if stride != 1 and array.shape[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {told}, but got {stride}")
    if times and array.shape[-1] % times:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {times} {told}, but got {array.shape[-1]}"
        )
