"""The tolerances let roundings pass, and nothing else."""

import numpy as np
import pytest

import nanotorch as torch
from tests.answers import assert_same, numbers
from tests.tolerances import rounding

DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


@DTYPES
@pytest.mark.parametrize("depth", [1, 4])
def test_a_sum_in_any_order_passes(dtype: str, depth: int) -> None:
    """One after another, backwards, by pairs and by blocks, layer after layer."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 1000)).astype(dtype)
    weights = [(rng.standard_normal((1000, 1000)) / 1000**0.5).astype(dtype) for _ in range(depth)]
    answers = [numbers(torch.from_numpy(np.linalg.multi_dot([x, *weights])))]
    for order in (np.arange(1000), np.arange(1000)[::-1], rng.permutation(1000)):
        y = x
        for w in weights:
            y = sum(y[:, [k]] * w[k] for k in order)
        answers.append(numbers(torch.from_numpy(y)))
        assert_same(answers[-1], answers[0], depth=depth)
        assert_same(answers[-1], answers[1], depth=depth)


@DTYPES
@pytest.mark.parametrize("factor", [1 + 1e-4, 1 - 1e-4])
def test_a_wrong_factor_fails_at_the_depth_of_a_network(dtype: str, factor: float) -> None:
    tensor = torch.randn(35, dtype=getattr(torch, dtype))
    wrong = tensor.clone()
    wrong[int(tensor.abs().argmax())] *= factor
    with pytest.raises(AssertionError):
        assert_same(numbers(wrong), numbers(tensor), depth=4)


def test_a_dropped_eps_of_a_norm_fails() -> None:
    x = torch.randn(6, 8, dtype=torch.float64)
    for layer in (torch.nn.LayerNorm(8), torch.nn.BatchNorm1d(8), torch.nn.GroupNorm(2, 8)):
        expected = numbers(layer.double()(x))
        layer.eps = 1e-12
        with pytest.raises(AssertionError):
            assert_same(numbers(layer(x)), expected, depth=64)


def test_integers_are_equal() -> None:
    with pytest.raises(AssertionError):
        assert_same(*(numbers(torch.tensor([3, n])) for n in (1_000_000_000, 1_000_000_001)))
    assert rounding("int64") == rounding("bool") == 0.0
