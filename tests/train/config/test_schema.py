"""Made-up samples have the shape that their parameters say."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.train.config.schema import (
    GENERATORS,
    Blobs,
    Circles,
    Generator,
    Line,
    Made,
    Moons,
    Polynomial,
    Spiral,
    Xor,
)


def made(section: Generator, seed: int = 0) -> Made:
    found = section.make(torch.Generator().manual_seed(seed))
    assert found.x.shape == (len(found.y), len(found.features))
    return found


def test_a_line() -> None:
    line = Line(name="line", samples=5000, slope=3.0, intercept=-2.0, noise=0.5, low=1.0, high=4.0)
    found = made(line)
    assert (found.features, len(found.x)) == (("x",), 5000)
    assert 1 <= found.x.min() < 1.01 < 3.99 < found.x.max() < 4
    residual = found.y - (3 * found.x[:, 0] - 2)
    assert abs(residual.mean()) < 0.03
    assert abs(residual.std() - 0.5) < 0.02


def test_a_polynomial() -> None:
    section = Polynomial(name="polynomial", samples=50, noise=0.0, coefficients=(1.0, 0.0, -3.0))
    found = made(section)
    np.testing.assert_allclose(found.y, 1 - 3 * found.x[:, 0] ** 2, rtol=1e-12)
    assert list(Polynomial(name="polynomial", coefficients=()).problems())
    assert list(Polynomial(name="polynomial", low=2.0).problems())


def test_moons_lie_on_their_half_circles() -> None:
    found = made(Moons(name="moons", samples=101, noise=0.0))
    assert found.features == ("x0", "x1")
    assert [int((found.y == k).sum()) for k in (0, 1)] == [50, 51]
    upper, lower = found.x[found.y == 0], found.x[found.y == 1] - [1, 0.5]
    np.testing.assert_allclose(np.hypot(*np.concatenate([upper, lower]).T), 1)
    assert (upper[:, 1] >= -1e-9).all()
    assert (lower[:, 1] <= 1e-9).all()
    # Noise moves both coordinates.
    still, noisy = (made(Moons(name="moons", samples=4000, noise=noise)).x for noise in (0.0, 0.3))
    np.testing.assert_allclose((noisy - still).std(axis=0), 0.3, rtol=0.05)


def test_circles_have_their_radii_and_no_point_twice() -> None:
    found = made(Circles(name="circles", samples=60, noise=0.0, factor=0.25))
    np.testing.assert_allclose(np.hypot(*found.x.T), np.where(found.y == 1, 0.25, 1))
    assert len(np.unique(np.round(found.x, 9), axis=0)) == 60


def test_the_arms_of_a_spiral_are_turned_copies() -> None:
    section = Spiral(name="spiral", samples=90, arms=3, noise=0.0)
    assert section.class_count == 3
    found = made(section)
    first, second = (found.x[found.y == k] for k in (0, 1))
    angle = 2 * np.pi / 3
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    np.testing.assert_allclose(first @ turn, second, atol=1e-12)
    assert np.hypot(*found.x.T).max() < 1


def test_blobs_scatter_about_their_centres() -> None:
    section = Blobs(name="blobs", samples=6000, centers=4, features=3, spread=0.5)
    assert section.class_count == 4
    found = made(section)
    for k in range(4):
        cloud = found.x[found.y == k]
        assert cloud.shape == (1500, 3)
        np.testing.assert_allclose(cloud.std(axis=0), 0.5, rtol=0.1)
        assert (np.abs(cloud.mean(axis=0)) < 10.1).all()


def test_xor_is_told_by_the_signs() -> None:
    found = made(Xor(name="xor", samples=300))
    np.testing.assert_array_equal(found.y, found.x[:, 0] * found.x[:, 1] < 0)
    assert np.abs(found.x).max() <= 1


@pytest.mark.parametrize("name", GENERATORS.sections)
def test_equal_seeds_make_equal_samples(name: str) -> None:
    section = GENERATORS.sections[name]
    first, again, other = (made(section(name=name), seed) for seed in (0, 0, 1))  # type: ignore[call-arg]
    np.testing.assert_array_equal(first.x, again.x)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.x, other.x)


@dataclass(frozen=True, kw_only=True)
class Waves(Generator):
    """A generator of one's own."""

    name: Literal["waves"]
    samples: int = 30

    def make(self, stream: torch.Generator) -> Made:
        x = np.linspace(0, 6, self.samples)
        return Made(("x",), x[:, None], np.sin(x))


def test_users_register_generators_of_their_own() -> None:
    assert GENERATORS.register(Waves) is Waves
    try:
        with pytest.raises(ValueError, match="a generator called 'waves' exists already"):
            GENERATORS.register(Waves)
        assert "waves" in GENERATORS.of_classes(False)
        assert "waves" not in GENERATORS.of_classes(True)
    finally:
        del GENERATORS.sections["waves"]
    with pytest.raises(ValueError, match="Generator needs a field name"):
        GENERATORS.register(Generator)
