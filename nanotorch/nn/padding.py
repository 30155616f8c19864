"""Padding layers."""

from collections.abc import Sequence
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.padding import pad
from nanotorch.nn.module import Module
from nanotorch.nn.own_names import OwnNames

Number = int | Sequence[int]


class _Pad(OwnNames, Module):
    """What padding layers share.

    Args:
        padding: how much on all sides; or before and after, the last dimension first.
    """

    own_names = ("__init__",)
    dims = 1
    mode = "constant"
    value: float | None = None

    def __init__(self, padding: Number) -> None:
        super().__init__()
        count = 2 * self.dims
        self.padding: Any = (padding,) * count if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Tensor) -> Tensor:
        """The input with more elements around it."""
        return pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


# With a constant


class _ConstantPadNd(_Pad):
    """Padding with one value."""

    def __init__(self, padding: Number, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """``value`` around the last dimension; ``padding`` is a number or (before, after)."""


class ConstantPad2d(_ConstantPadNd):
    """``value`` around the last two dimensions; see `ConstantPad1d`."""

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """``value`` around the last three dimensions; see `ConstantPad1d`."""

    dims = 3


class ZeroPad1d(ConstantPad1d):
    """Zeros around the last dimension; ``padding`` is a number or (before, after)."""

    def __init__(self, padding: Number) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Zeros around the last two dimensions; see `ZeroPad1d`."""

    def __init__(self, padding: Number) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Zeros around the last three dimensions; see `ZeroPad1d`."""

    def __init__(self, padding: Number) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


# With the input's own elements


class _ReflectionPadNd(_Pad):
    """Padding mirrored at the borders."""

    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """The last dimension mirrored at its borders; ``padding`` is a number or (before, after)."""


class ReflectionPad2d(_ReflectionPadNd):
    """The last two dimensions mirrored at their borders; see `ReflectionPad1d`."""

    dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """The last three dimensions mirrored at their borders; see `ReflectionPad1d`."""

    dims = 3


class _ReplicationPadNd(_Pad):
    """Padding with the border repeated."""

    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """The borders of the last dimension repeated; ``padding`` is a number or (before, after)."""


class ReplicationPad2d(_ReplicationPadNd):
    """The borders of the last two dimensions repeated; see `ReplicationPad1d`."""

    dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The borders of the last three dimensions repeated; see `ReplicationPad1d`."""

    dims = 3


class _CircularPadNd(_Pad):
    """Padding with the elements of the other side."""

    mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        """The input with the elements of the other side around it."""
        low = self.dims + 1
        if input.dim() not in (low, low + 1):
            raise ValueError(f"expected {low}D or {low + 1}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """The last dimension continued periodically; ``padding`` is a number or (before, after)."""


class CircularPad2d(_CircularPadNd):
    """The last two dimensions continued periodically; see `CircularPad1d`."""

    dims = 2


class CircularPad3d(_CircularPadNd):
    """The last three dimensions continued periodically; see `CircularPad1d`."""

    dims = 3
