"""Pictures made larger, smaller, or seen through a grid of places."""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from nanotorch._core.batched import Call, apart, merged
from nanotorch._core.op import Array, hidden_op, op, public
from nanotorch.ops.arguments import SCALAR_TYPES, need_kind, need_one_dtype
from nanotorch.ops.elementwise import tied
from nanotorch.ops.joining import stack_along
from nanotorch.ops.pooling import planes
from nanotorch.ops.reduction import sum_along
from nanotorch.ops.windows import Taps, resampling, resamplings

# Pictures made larger or smaller: which elements each new one is made of, and how much of each.


CUBIC = -0.75  # the slope of the cubic kernel at 1; with anti-aliasing it is -0.5


# By mode: those over one, two and three dimensions; of how many the operation is, and that.
NEAREST_OF = {
    "nearest": resamplings("upsample_nearest"),
    "nearest-exact": resamplings("upsample_nearest_exact"),
}
SMOOTH = {
    "linear": (1, resampling("upsample_linear1d", wide=True)),
    "bilinear": (2, resampling("upsample_bilinear2d", wide=True)),
    "bicubic": (2, resampling("upsample_bicubic2d", wide=True)),
    "trilinear": (3, resampling("upsample_trilinear3d", wide=True)),
}
ANTIALIASED = {
    mode: resampling(f"upsample_{mode}2d_aa", wide=True) for mode in ("bilinear", "bicubic")
}


def step_of(size: int, out: int, scale: float | None) -> float:
    """How far neighbours of the result are apart in the input."""
    return 1.0 / scale if scale is not None and scale > 0 else size / out


@lru_cache(256)
def nearest(size: int, out: int, scale: float | None, exact: bool) -> Taps:
    """The nearest element: that below the left end of each new one, or (exact) its middle."""
    step = np.float32(step_of(size, out, scale))
    k = np.arange(out, dtype=np.float32)
    if exact:
        index = np.floor((k + np.float32(0.5)) * step)
    elif out == size:
        index = k
    elif out == 2 * size:
        index = k // 2
    else:
        index = np.floor(k * step)
    return Taps(size, np.minimum(index.astype(np.int64), size - 1))


def sources(size: int, out: int, scale: float | None, align_corners: bool, kind: np.dtype) -> Array:
    """Where the new elements lie between the old ones, in the precision of ``kind``."""
    k = np.arange(out).astype(kind)
    if align_corners:
        return k * kind.type((size - 1) / (out - 1) if out > 1 else 0.0)
    half = kind.type(0.5)
    return (k + half) * kind.type(step_of(size, out, scale)) - half


@lru_cache(256)
def linear(
    size: int, out: int, scale: float | None, align_corners: bool, kind: np.dtype
) -> Taps | None:
    """The two neighbours, weighted by their nearness."""
    if size == out and (align_corners or scale is None):
        return None
    at = np.maximum(sources(size, out, scale, align_corners, kind), 0)
    left = np.minimum(np.floor(at).astype(np.int64), size - 1)
    right = np.minimum(left + 1, size - 1)
    share = np.clip(at - left, 0, 1)
    return Taps(size, np.stack([left, right]), np.stack([1 - share, share]))


def cubic_kernel(distance: Array, a: float) -> Array:
    """The weight of an element at a distance.

    Reference:
        Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981.
    """
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


@lru_cache(256)
def cubic(
    size: int, out: int, scale: float | None, align_corners: bool, kind: np.dtype
) -> Taps | None:
    """The four neighbours, weighted by a cubic kernel; beyond a border is the border."""
    if size == out and (align_corners or scale is None):
        return None
    at = sources(size, out, scale, align_corners, kind)
    left = np.floor(at)
    places = left + np.arange(-1, 3)[:, None]
    index = np.clip(places, 0, size - 1).astype(np.int64)
    return Taps(size, index, cubic_kernel(at - places, CUBIC))


@lru_cache(256)
def smooth(
    size: int, out: int, scale: float | None, align_corners: bool, curved: bool
) -> Taps | None:
    """As `linear` or `cubic`, of as many elements as a new one covers."""
    if size == out and (align_corners or scale is None):
        return None
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        step = step_of(size, out, scale)
    reach = (2.0 if curved else 1.0) * max(step, 1.0)
    middle = (np.arange(out) + 0.5) * step
    start = np.maximum((middle - reach + 0.5).astype(np.int64), 0)
    stop = np.minimum((middle + reach + 0.5).astype(np.int64), size)
    k = np.arange(max(math.ceil(reach) * 2 + 1, 1))[:, None]
    distance = (k + start - middle + 0.5) / max(step, 1.0)
    if curved:
        weights = cubic_kernel(distance, -0.5)
    else:
        weights = np.maximum(1 - np.abs(distance), 0)
    weights = np.where(k < stop - start, weights, 0)
    return Taps(size, np.minimum(start + k, size - 1), weights / weights.sum(0))


# Pictures seen through a grid of places: `grid_sample`, and the grids of affine maps.
#
# What is seen at a place is a sum over the elements around it, each times one weight for every
# dimension. The derivative along a dimension is the same sum with the derivatives of its weights,
# so that one operation, which is told how often to differentiate along each, has all of them.


BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
Orders = tuple[int, ...]
Options = tuple[int, int, bool]  # interpolation, padding, whether corners are aligned
FAR = 1e9  # where a place lies that is farther away, or nowhere

# The cubic kernel of nearest and of farther elements: coefficients, the constant first.
NEAR = (1.0, 0.0, -2.25, 1.25)
OUTER = (3.0, -6.0, 3.75, -0.75)


def reflected(at: Array, size: int, align_corners: bool) -> tuple[Array, Array]:
    """Places mirrored at the borders until they are inside, and the sign of their slope."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(at), np.zeros_like(at)
    away = at - low
    turns, rest = np.floor(np.abs(away) / span), np.fmod(np.abs(away), span)
    even = turns % 2 == 0
    sign = np.where(even, 1.0, -1.0) * np.where(away < 0, -1.0, 1.0)
    return np.where(even, rest + low, span - rest + low), sign


def inside(at: Array, size: int, padding: int, align_corners: bool) -> tuple[Array, Array]:
    """Places as the padding moves them, and the slope of that."""
    slope = np.ones_like(at)
    if padding == REFLECTION:
        at, slope = reflected(at, size, align_corners)
    if padding != ZEROS:
        slope = np.where((at > 0) & (at < size - 1), slope, 0)
        at = np.clip(at, 0, size - 1)
    return at, slope


def polynomial(coefficients: Sequence[float], x: Array, order: int) -> Array:
    """The derivative of this order of a polynomial."""
    found = np.polynomial.polynomial.polyder(coefficients, order)
    return np.asarray(np.polynomial.polynomial.polyval(x, found))


Tap = tuple[Array, Array]  # which element of a dimension, with which weight


def taps(grid: Array, size: int, options: Options, order: int) -> list[Tap]:
    """The elements around places of one dimension, and derivatives of their weights.

    Args:
        grid: the places; the picture is between -1 and 1.
    """
    mode, padding, align_corners = options
    scale = (size - 1) / 2 if align_corners else size / 2
    at = np.clip(np.nan_to_num(grid * scale + (size - 1) / 2, nan=-FAR), -FAR, FAR)
    at = at.astype(grid.dtype, copy=False)
    if mode == BICUBIC:
        return cubic_taps(at, size, options, order, scale)
    at, slope = inside(at, size, padding, align_corners)
    slope = slope * scale
    if mode == NEAREST:
        places = [(np.rint(at), np.full(at.shape, 0.0 if order else 1.0))]
    else:
        left = np.floor(at)
        right = at - left
        shares = (1 - right, right) if order == 0 else (-slope, slope)
        if order > 1:
            shares = (0 * slope, 0 * slope)
        places = [(left, shares[0]), (left + 1, shares[1])]
    return [masked(place, weight, size, grid.dtype) for place, weight in places]


def cubic_taps(at: Array, size: int, options: Options, order: int, scale: float) -> list[Tap]:
    """`taps` of the four elements around each place; the padding moves each of them."""
    left = np.floor(at)
    x = at - left
    found = []
    for k in range(-1, 3):
        distance, sign = (x - k, 1) if k <= 0 else (k - x, -1)
        kernel = NEAR if k in (0, 1) else OUTER
        weight = polynomial(kernel, distance, order) * (sign * scale) ** order
        place = inside(left + k, size, options[1], options[2])[0]
        found.append(masked(np.rint(place), weight, size, at.dtype))
    return found


def masked(place: Array, weight: Array, size: int, kind: np.dtype) -> Tap:
    """A tap whose weight is 0 where it lies outside."""
    within = (place >= 0) & (place < size)
    index = np.where(within, place, 0).astype(np.int64)
    return index, np.where(within, weight, 0).astype(kind)


def all_taps(grid: Array, size: Sequence[int], options: Options, orders: Orders) -> list[Tap]:
    """The elements around places ``(N, P, d)``, numbered in the whole picture, and their weights.

    The last dimension of the picture comes first in the grid.
    """
    dims = len(size)
    each = [
        taps(grid[..., dims - 1 - k], n, options, orders[dims - 1 - k]) for k, n in enumerate(size)
    ]
    found = []
    for combination in product(*each):
        index, weight = combination[0]
        for (more, share), n in zip(combination[1:], size[1:], strict=True):
            index, weight = index * n + more, weight * share
        found.append((index, weight))
    return found


def seen(input: Array, grid: Array, options: Options, orders: Orders) -> Array:
    """What is seen of ``(N, C, ...)`` at the places ``(N, ..., d)``."""
    need_one_dtype(SCALAR_TYPES, input, grid)
    need_kind(f"grid_sampler_{input.ndim - 2}d_cpu_kernel_impl", input)
    n, channels, *size = input.shape
    out = np.zeros((n, channels, grid[0, ..., 0].size if n else 0), input.dtype)
    flat = input.reshape(n, channels, -1) if input.size else input
    places = grid.reshape(n, out.shape[2], len(size))
    for index, weight in all_taps(places, size, options, orders) if out.size else ():
        out += np.take_along_axis(flat, index[:, None], 2) * weight[:, None]
    return out.reshape(n, channels, *grid.shape[1:-1])


def slope_of_grid(g: Any, input: Any, grid: Any, options: Options, orders: Orders) -> Any:
    """The gradient of the places: along each dimension that of what is seen there."""
    parts = []
    for k in range(len(orders)):
        more = tuple([n + (k == j) for j, n in enumerate(orders)])
        parts.append(sum_along(g * sample(input, grid, options, more), (1,), False))
    return stack_along(parts, -1)


@hidden_op(
    input=lambda g, grid, input_shape, options, orders: sample_spread(
        g, grid, tuple(input_shape), options, orders
    ),
    grid=slope_of_grid, batch=merged, wide=True,
)  # fmt: skip
def sample(input: Array, grid: Array, options: Options, orders: Orders) -> Array:
    """`seen`, differentiated along each dimension as often as ``orders`` says."""
    return seen(input, grid, options, orders)


@hidden_op(
    slope=lambda g, grid, options, orders: sample(g, grid, options, orders),
    grid=lambda g, slope, grid, options, orders: slope_of_grid(slope, g, grid, options, orders),
    batch=merged, wide=True,
)  # fmt: skip
def sample_spread(
    slope: Array, grid: Array, shape: tuple[int, ...], options: Options, orders: Orders
) -> Array:
    """The adjoint of `sample` for its input."""
    n, channels, *size = shape
    out = np.zeros(shape, slope.dtype)
    flat = slope.reshape(n, channels, slope[0, 0].size if n and channels else 0)
    places = grid.reshape(n, flat.shape[2], len(size))
    for index, weight in all_taps(places, size, options, orders) if flat.size else ():
        each = np.broadcast_to(index[:, None], flat.shape)
        values = flat * weight[:, None]
        np.add.at(out.reshape(-1), planes(each, 1, (out[0, 0].size,)), values.reshape(-1))
    return out


SAMPLER: dict[str, Any] = {
    "input": lambda g, input, grid, interpolation_mode, padding_mode, align_corners: tied(
        sample_spread(
            g,
            grid,
            tuple(input.shape),
            (interpolation_mode, padding_mode, align_corners),
            (0,) * (input.ndim - 2),
        ),
        input,
        False,
    ),
    "grid": lambda g, input, grid, interpolation_mode, padding_mode, align_corners: slope_of_grid(
        g, input, grid, (interpolation_mode, padding_mode, align_corners), (0,) * (input.ndim - 2)
    ),
    "method": False,
}


@op(**SAMPLER, node="GridSampler2DBackward0", batch=merged, wide=True)
def grid_sampler_2d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """The pictures ``(N, C, H, W)`` seen at the places ``(N, h, w, 2)``.

    Args:
        interpolation_mode: 0, 1, 2 for bilinear, nearest, bicubic.
        padding_mode: 0, 1, 2 for zeros, the border, mirrored at it.
        align_corners: whether -1 and 1 are the middles of the outermost elements.
    """
    return seen(input, grid, (interpolation_mode, padding_mode, align_corners), (0, 0))


@op(**SAMPLER, node="GridSampler3DBackward0", batch=merged, wide=True)
def grid_sampler_3d(
    input: Array, grid: Array, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Array:
    """The volumes ``(N, C, D, H, W)`` at the places ``(N, d, h, w, 3)``; see `grid_sampler_2d`."""
    return seen(input, grid, (interpolation_mode, padding_mode, align_corners), (0, 0, 0))


@public
def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Any:
    """`grid_sampler_2d` of pictures, `grid_sampler_3d` of volumes."""
    sampler: Any = grid_sampler_2d if input.ndim == 4 else grid_sampler_3d
    return sampler(input, grid, interpolation_mode, padding_mode, align_corners)


# Grids


def base(size: Sequence[int], align_corners: bool, kind: np.dtype) -> Array:
    """The places of a picture's elements, and 1: ``(P, d + 1)``."""
    lines = []
    for n in size:
        line = np.linspace(-1, 1, n, dtype=kind) if n > 1 else np.zeros(n, kind)
        lines.append(line if align_corners else line * kind.type((n - 1) / n))
    places = np.meshgrid(*lines, indexing="ij")[::-1]
    return np.stack([*places, np.ones(size, kind)], -1).reshape(-1, len(size) + 1)


def grids_of_all(call: Call, name: str) -> Any:
    """`affine_grid_generator` of each sample, or its adjoint; all in one batch."""
    whole, (count, *sizes) = call.whole(name), call.args["size"]
    total = call.batch.size * count
    return apart(
        call.again(**{name: whole.flatten(0, 1), "size": (total, *sizes)}), call.batch.size
    )


@op(
    theta=lambda g, size, align_corners: affine_grid_backward(g, size, align_corners),
    method=False,
    batch=lambda call: grids_of_all(call, "theta"),
    wide=True,
)
def affine_grid_generator(theta: Array, size: Sequence[int], align_corners: bool) -> Array:
    """The places ``(N, H, W, 2)`` to which the maps ``theta`` take those of a picture.

    Args:
        theta: ``(N, 2, 3)``, or ``(N, 3, 4)`` for volumes: a matrix and a shift.
        size: ``(N, C, H, W)`` of what is to be sampled.
        align_corners: see `grid_sampler_2d`.

    Raises:
        RuntimeError: for other sizes.
    """
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    n, _, *spatial = size
    moved = np.matmul(base(spatial, align_corners, theta.dtype), theta.swapaxes(1, 2))
    shape = (n, *spatial, len(spatial))
    try:
        return moved.reshape(shape)
    except ValueError:
        raise RuntimeError(
            f"shape '{list(shape)}' is invalid for input of size {moved.size}"
        ) from None


@hidden_op(
    g=lambda g, size, align_corners: affine_grid_generator(g, size, align_corners),
    batch=lambda call: grids_of_all(call, "g"),
    wide=True,
)
def affine_grid_backward(g: Array, size: Sequence[int], align_corners: bool) -> Array:
    """The adjoint of `affine_grid_generator`."""
    n, _, *spatial = size
    places = base(spatial, align_corners, g.dtype)
    return np.matmul(g.reshape(n, len(places), len(spatial)).swapaxes(1, 2), places)
