"""Dropout."""

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.dropout import dropout
from nanotorch.nn.module import Module


class Dropout(Module):
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

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, thinned out in training."""
        return dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
