"""Copies, and views that say more about memory than about shape."""

from typing import Any

from nanotorch._core.op import PUBLIC, Array, method, op
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
}
PUBLIC.update(_names)


@op(input=lambda g: g, view=True, method=False, public=False)
def alias(input: Array) -> Array:
    """The same in all respects."""
    return input[...]


@op(input=lambda g: g)
def clone(input: Array, *, memory_format: Any = preserve_format) -> Array:
    """A copy; by default with the dimensions in the same order in memory."""
    return input.copy("C" if memory_format is contiguous_format else "K")


@method(public=False)
def contiguous(self: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    """The tensor itself if its elements lie in memory in order, else a copy where they do."""
    if self._array.flags.c_contiguous:
        return self
    return clone(self, memory_format=contiguous_format)
