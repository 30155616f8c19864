"""Layers that make pictures larger or smaller."""

from collections.abc import Sequence

from nanotorch._core.tensor import Tensor
from nanotorch.nn.functional.resampling import Scales, Sizes, interpolate
from nanotorch.nn.module import Module


class Upsample(Module):
    """Pictures of another size.

    Args:
        size: of the result: a number, or one per dimension.
        scale_factor: by how much it is larger, where ``size`` is not given.
        mode: "nearest", "linear" (one dimension), "bilinear", "bicubic" (two) or "trilinear"
            (three). Default: "nearest".
        align_corners: whether the middles of the outermost elements stay where they are, rather
            than the outer edges. Default: False.
        recompute_scale_factor: take the scale from the sizes, which are whole numbers.

    Shape:
        Input (N, C, L), (N, C, H, W) or (N, C, D, H, W), output (N, C, *size).
    """

    def __init__(
        self,
        size: Sizes = None,
        scale_factor: Scales = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name, self.size = type(self).__name__, size
        if isinstance(scale_factor, Sequence):
            self.scale_factor: Scales = tuple([float(s) for s in scale_factor])
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode, self.align_corners = mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The input in another size."""
        return interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of (N, C, H, W) with the mode "nearest"."""

    def __init__(self, size: Sizes = None, scale_factor: Scales = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of (N, C, H, W) with the mode "bilinear" and aligned corners."""

    def __init__(self, size: Sizes = None, scale_factor: Scales = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
