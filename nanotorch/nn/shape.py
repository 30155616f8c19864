"""Layers that change only the shape."""

from collections.abc import Sequence

from nanotorch._core.tensor import Tensor
from nanotorch.nn.module import Module


class Flatten(Module):
    """Puts a range of dimensions together.

    Args:
        start_dim, end_dim: the first and the last of them. Default: 1 and -1, so that samples stay.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The input with these dimensions as one."""
        flat: Tensor = input.flatten(self.start_dim, self.end_dim)
        return flat

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Takes a dimension apart.

    Args:
        dim: which.
        unflattened_size: the sizes of the new dimensions; one may be -1.

    Raises:
        TypeError: for sizes that are no tuple or list of integers, or a ``dim`` that is none.
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("invalid argument type for dim for Unflatten")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {position}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The input with the new dimensions in place of the one."""
        split: Tensor = input.unflatten(self.dim, self.unflattened_size)
        return split

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
