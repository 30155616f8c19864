"""The choice without branches gives what `np.where` gives, bit by bit."""

import numpy as np
import pytest

from nanotorch._core.sums import SMALL, fits, pick


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int32])
def test_it_gives_the_bits_of_where(kind: type) -> None:
    rng = np.random.default_rng(0)
    shape = (4, SMALL // 2)
    a, b = (rng.integers(-100, 100, shape).astype(kind) for _ in range(2))
    if kind is not np.int32:
        a[0, :4] = [np.nan, -0.0, np.inf, -np.inf]
    masks = rng.random(shape) < 0.5, np.zeros(shape, bool), np.ones(shape, bool)
    for mask in masks:
        pairs = [(a, b), (b, a), (a.T.copy().T, b), (a, kind(0)), (kind(3), b), (a, 0.0), (3.0, b)]
        for x, y in pairs:
            expected = np.where(mask, x, y)
            got = pick(mask, x, y)
            assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
            assert got.tobytes() == expected.tobytes()
    assert a.size >= SMALL


def test_what_broadcasts_or_differs_in_dtype_is_left_to_where() -> None:
    mask = np.arange(2 * SMALL).reshape(2, -1) % 3 == 0
    a, row = np.ones(mask.shape, np.float32), np.zeros(SMALL, np.float32)
    assert not fits(a, row, mask.shape)
    assert not fits(a, np.float64(0), mask.shape)
    assert fits(a, np.float32(0), mask.shape)
    assert np.array_equal(pick(mask, a, row), np.where(mask, a, row))
    assert pick(mask, a, np.float64(2)).dtype == np.float64
    assert pick(mask[0], a, a).shape == mask.shape
