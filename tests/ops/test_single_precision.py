"""Functions that have formulas of their own for float32 are as exact as that allows."""

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.nn import functional as F

# Unit of the last place of numbers just below 1.
ULP = 2.0**-24


def grid() -> np.ndarray:
    """More numbers than are treated at once, and some far out."""
    far = [-np.inf, -1e30, -50.0, -6.0, -0.0, 6.0, 50.0, 1e30, np.inf]
    return np.concatenate([np.linspace(-5, 5, 40_001), far]).astype(np.float32)


def both(function: str) -> tuple[np.ndarray, np.ndarray]:
    """The function of float32, and of float64."""
    x = torch.from_numpy(grid())
    call = getattr(F, function, None) or getattr(torch, function)
    return call(x).numpy(), call(x.double()).numpy()


def test_erf() -> None:
    single, double = both("erf")
    error = np.abs(single - double)
    assert error.max() < 3 * ULP
    near = double != 0
    assert (error[near] / np.abs(double[near])).max() < 5 * ULP
    assert abs(single).max() == 1


def test_gelu() -> None:
    single, double = both("gelu")
    finite = np.isfinite(double) & (np.abs(grid()) < 1e10)
    error = np.abs(single[finite] - double[finite])
    assert (error / np.maximum(np.abs(grid()[finite]), 1)).max() < 3 * ULP
    assert single[-1] == np.inf
    np.testing.assert_array_equal(single[[-2, -7, -3]], np.float32([1e30, 0, 50])[[0, 1, 2]])


@pytest.mark.parametrize("count", [1, 16_384, 16_385, 40_000])
def test_gelu_does_not_depend_on_how_many_there_are(count: int) -> None:
    x = torch.from_numpy(grid()[:count])
    np.testing.assert_array_equal(
        F.gelu(x).numpy(), F.gelu(torch.from_numpy(grid())).numpy()[:count]
    )


def test_nan_stays() -> None:
    x = torch.tensor([float("nan")])
    assert torch.erf(x).isnan()
    assert F.gelu(x).isnan()


def test_sums_in_another_dtype_are_those_of_numbers_in_it() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(300, 300)))
    assert torch.equal(x.sum(dtype=torch.float32), x.float().sum())
    assert torch.equal(x.sum(0, dtype=torch.float32), x.float().sum(0))
