"""Made-up samples have the shape that their parameters say."""

import numpy as np

import nanotorch as torch
from nanotorch.train.generators import generate
from nanotorch.train.schema import Line, Moons


def stream() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def test_a_line() -> None:
    line = Line(name="line", samples=5000, slope=3.0, intercept=-2.0, noise=0.5, low=1.0, high=4.0)
    names, x, y = generate(line, stream())
    assert names == ["x"]
    assert x.shape == (5000, 1)
    assert x.min() >= 1
    assert x.max() < 4
    residual = y - (3 * x[:, 0] - 2)
    assert abs(residual.mean()) < 0.03
    assert abs(residual.std() - 0.5) < 0.02


def test_a_line_without_noise_is_exact() -> None:
    _, x, y = generate(Line(name="line", samples=10, noise=0.0), stream())
    np.testing.assert_allclose(y, 2 * x[:, 0] - 1, rtol=1e-15)


def test_moons_lie_on_their_half_circles() -> None:
    names, x, y = generate(Moons(name="moons", samples=101, noise=0.0), stream())
    assert names == ["x0", "x1"]
    assert [int((y == k).sum()) for k in (0, 1)] == [50, 51]
    upper, lower = x[y == 0], x[y == 1] - [1, 0.5]
    for moon in (upper, lower):
        np.testing.assert_allclose(np.hypot(*moon.T), 1)
    assert (upper[:, 1] >= -1e-9).all()
    assert (lower[:, 1] <= 1e-9).all()


def test_noise_moves_both_coordinates() -> None:
    _, still, _ = generate(Moons(name="moons", samples=4000, noise=0.0), stream())
    _, noisy, _ = generate(Moons(name="moons", samples=4000, noise=0.3), stream())
    np.testing.assert_allclose((noisy - still).std(axis=0), 0.3, rtol=0.05)
