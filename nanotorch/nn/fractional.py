"""Layers of pooling over windows at random places."""

from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional import fractional as F
from nanotorch.nn.functional.pooling import Number, sizes
from nanotorch.nn.module import Module


class _FractionalMaxPool(Module):
    """What both layers share; see `FractionalMaxPool2d`."""

    dims = 2
    function: Any

    def __init__(
        self,
        kernel_size: Number,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        dims, name = self.dims, type(self).__name__
        self.kernel_size, self.return_indices = sizes(kernel_size, dims), return_indices
        self.register_buffer("_random_samples", _random_samples)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.output_size = None if output_size is None else sizes(output_size, dims)
        ratio = (output_ratio,) * dims if isinstance(output_ratio, float) else output_ratio
        if ratio is not None and not all(0 < r < 1 for r in ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self.output_ratio = ratio

    def forward(self, input: Tensor) -> Any:
        """The greatest elements; with ``return_indices``, and where they are."""
        return type(self).function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class FractionalMaxPool2d(_FractionalMaxPool):
    """The greatest elements of windows that step by random numbers of elements.

    Args:
        kernel_size: a number, or one per dimension.
        output_size: how many windows there are: a number, or one per dimension.
        output_ratio: their number over that of the elements, where no size is given.
        return_indices: whether to return where each is, too. Default: False.

    Raises:
        ValueError: unless just one of size and ratio is given, and ratios are between 0 and 1.

    Reference:
        Graham, Fractional Max-Pooling, 2014.
    """

    function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """As `FractionalMaxPool2d`, over three dimensions."""

    dims = 3
    function = staticmethod(F.fractional_max_pool3d)
