"""Dropout."""

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.dropout import (
    check_probability,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
)
from nanotorch.nn.module import Module


class _DropoutNd(Module):
    """Keeps its arguments and shows them.

    Args:
        p: in [0, 1]. Default: 0.5.
        inplace: change the input itself. Default: False.

    Raises:
        ValueError: for a ``p`` out of range.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        check_probability(p)
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
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

    def forward(self, input: Tensor) -> Tensor:
        """The input, thinned out in training."""
        return dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels.

    Shape:
        Input and output (N, C, L) or (C, L).
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, with fewer channels in training."""
        return dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels of pictures.

    Shape:
        Input and output (N, C, H, W) or (N, C, L).

    Reference:
        Tompson et al., Efficient Object Localization Using Convolutional Networks, CVPR 2015.
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, with fewer channels in training."""
        return dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels of volumes.

    Shape:
        Input and output (N, C, D, H, W) or (C, D, H, W).
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, with fewer channels in training."""
        return dropout3d(input, self.p, self.training, self.inplace)
