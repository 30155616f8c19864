"""Pictures made larger or smaller: which elements each new one is made of, and how much of each."""

import math
from functools import lru_cache

import numpy as np

from nanotorch._core.batch_rules import merged
from nanotorch._core.op import Array, op
from nanotorch.ops.taps import RESAMPLE, Maps, Taps, along

CUBIC = -0.75  # the slope of the cubic kernel at 1; with anti-aliasing it is -0.5


@op(**RESAMPLE, node="UpsampleNearest1DBackward0", batch=merged)
def upsample_nearest1d(input: Array, maps: Maps) -> Array:
    """Each element the nearest one."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleNearest2DBackward0", batch=merged)
def upsample_nearest2d(input: Array, maps: Maps) -> Array:
    """Each element the nearest one."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleNearest3DBackward0", batch=merged)
def upsample_nearest3d(input: Array, maps: Maps) -> Array:
    """Each element the nearest one."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleNearestExact1DBackward0", batch=merged)
def upsample_nearest_exact1d(input: Array, maps: Maps) -> Array:
    """Each element the nearest one."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleNearestExact2DBackward0", batch=merged)
def upsample_nearest_exact2d(input: Array, maps: Maps) -> Array:
    """Each element the nearest one."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleNearestExact3DBackward0", batch=merged)
def upsample_nearest_exact3d(input: Array, maps: Maps) -> Array:
    """Each element the nearest one."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleLinear1DBackward0", batch=merged, wide=True)
def upsample_linear1d(input: Array, maps: Maps) -> Array:
    """Each element between its neighbours."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleBilinear2DBackward0", batch=merged, wide=True)
def upsample_bilinear2d(input: Array, maps: Maps) -> Array:
    """Each element between its neighbours."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleTrilinear3DBackward0", batch=merged, wide=True)
def upsample_trilinear3d(input: Array, maps: Maps) -> Array:
    """Each element between its neighbours."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleBicubic2DBackward0", batch=merged, wide=True)
def upsample_bicubic2d(input: Array, maps: Maps) -> Array:
    """Each element on a cubic curve through its neighbours."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleBilinear2DAaBackward0", batch=merged, wide=True)
def upsample_bilinear2d_aa(input: Array, maps: Maps) -> Array:
    """Each element between its neighbours."""
    return along(input, maps)


@op(**RESAMPLE, node="UpsampleBicubic2DAaBackward0", batch=merged, wide=True)
def upsample_bicubic2d_aa(input: Array, maps: Maps) -> Array:
    """Each element on a cubic curve through its neighbours."""
    return along(input, maps)


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
