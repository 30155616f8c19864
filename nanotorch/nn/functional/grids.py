"""Pictures seen through a grid of places."""

from collections.abc import Sequence

from nanotorch._core.arguments import refused
from nanotorch._core.tensor import Tensor
from nanotorch._core.warned import warn
from nanotorch.ops.grids import affine_grid_generator, grid_sampler_2d, grid_sampler_3d

MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDING = {"zeros": 0, "border": 1, "reflection": 2}
CHANGED = (
    "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
    "Please specify align_corners=True if the old behavior is desired. See the documentation of "
    "grid_sample for details."
)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Pictures seen at the places of a grid.

    Args:
        grid: places (x, y) or (x, y, z); the picture reaches from -1 to 1.
        mode: "bilinear", "nearest" or "bicubic". Default: "bilinear".
        padding_mode: what is outside: "zeros", the "border", or the picture mirrored at it
            ("reflection"). Default: "zeros".
        align_corners: whether -1 and 1 are the middles of the outermost elements, rather than their
            outer edges. Default: False.

    Shape:
        ``input`` (N, C, H, W), ``grid`` (N, h, w, 2), the result (N, C, h, w); or with one
        dimension more, and ``grid`` (N, d, h, w, 3).

    Raises:
        ValueError: for another mode.
        RuntimeError: for shapes or dtypes that do not fit.

    Warns:
        UserWarning: if ``align_corners`` is not given.

    Reference:
        Jaderberg et al., Spatial Transformer Networks, NeurIPS 2015.
    """
    if mode not in MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in PADDING:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    if align_corners is None:
        warn(CHANGED)
    check_shapes(input, grid)
    sampler = grid_sampler_2d if input._array.ndim == 4 else grid_sampler_3d
    result: Tensor = sampler(input, grid, MODES[mode], PADDING[padding_mode], bool(align_corners))
    return result


def check_shapes(input: Tensor, grid: Tensor) -> None:
    """Refuse shapes that do not fit."""
    for position, (name, given) in enumerate((("input", input), ("grid", grid)), 1):
        if not isinstance(given, Tensor):
            raise refused(given, "Tensor", ("grid_sampler", name, position))
    shape, places = input._array.shape, grid._array.shape
    if shape[:1] != places[:1]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(shape)} and grid with sizes {list(places)}"
        )
    if places[-1] != len(shape) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(shape) - 2} in last dimension, but "
            f"got grid with sizes {list(places)}"
        )
    for k in range(2, len(shape)):
        if not shape[k]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(shape)} with dimension {k} being empty"
            )
    if len(shape) not in (4, 5) or len(shape) != len(places):
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(shape)} and grid with sizes {list(places)}"
        )


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places to which affine maps take those of a picture, for `grid_sample`.

    Args:
        theta: (N, 2, 3) for pictures, (N, 3, 4) for volumes: a matrix and a shift.
        size: (N, C, H, W) or (N, C, D, H, W) of the result of `grid_sample`.
        align_corners: as for `grid_sample`.

    Shape:
        The result (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: for maps of another shape or dtype, and sizes that are not positive.
        NotImplementedError: for another number of dimensions.

    Warns:
        UserWarning: if ``align_corners`` is not given.
    """
    if not theta.is_floating_point():
        raise ValueError(
            f"Expected theta to have floating point type, but got torch.{theta.dtype.name}"
        )
    told = tuple(size)
    if len(told) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {told}."
        )
    dims = len(told) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size "
            f"{told}. Got {theta.shape}."
        )
    if align_corners is None:
        warn(CHANGED)
    if min(told) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {told}")
    result: Tensor = affine_grid_generator(theta, told, bool(align_corners))
    return result
