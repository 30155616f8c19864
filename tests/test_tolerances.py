"""The tolerances let roundings pass, and nothing else."""

from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from tests.answers import assert_same, numbers
from tests.tolerances import rounding

DTYPES = ["float32", "float64"]


def off(tensor: Any, factor: float) -> tuple[Any, Any]:
    """The answer of a tensor, and of one whose largest element is off by a factor."""
    other = tensor.clone()
    at = int(other.abs().argmax())
    other.view(-1)[at] *= factor
    return numbers(other), numbers(tensor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("depth", [1, 4])
def test_a_sum_in_any_order_passes(dtype: str, depth: int) -> None:
    """One after another, backwards, by pairs and by blocks, layer after layer."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 1000)).astype(dtype)
    weights = [(rng.standard_normal((1000, 1000)) / 1000**0.5).astype(dtype) for _ in range(depth)]
    orders = [np.arange(1000), np.arange(1000)[::-1], rng.permutation(1000)]
    answers = []
    for order in orders:
        y = x
        for w in weights:
            y = sum(y[:, [k]] * w[k] for k in order)
        answers.append(numbers(torch.from_numpy(y)))
    answers.append(numbers(torch.from_numpy(np.linalg.multi_dot([x, *weights]))))
    for answer in answers[1:]:
        assert_same(answer, answers[0], depth=depth)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [1 + 1e-4, 1 - 1e-4])
def test_a_wrong_factor_fails_at_the_depth_of_a_network(dtype: str, factor: float) -> None:
    answer, expected = off(torch.randn(5, 7, dtype=getattr(torch, dtype)), factor)
    assert_same(expected, expected, depth=4)
    with pytest.raises(AssertionError):
        assert_same(answer, expected, depth=4)


def test_a_dropped_eps_of_a_norm_fails() -> None:
    x = torch.randn(6, 8, dtype=torch.float64)
    for layer in (torch.nn.LayerNorm(8), torch.nn.BatchNorm1d(8), torch.nn.GroupNorm(2, 8)):
        expected = numbers(layer.double()(x))
        layer.eps = 1e-12
        with pytest.raises(AssertionError):
            assert_same(numbers(layer(x)), expected, depth=64)


def test_integers_are_equal() -> None:
    answer, expected = off(torch.tensor([3, 1_000_000_000]), 2)
    assert_same(expected, expected)
    with pytest.raises(AssertionError):
        assert_same(answer, expected)
    assert rounding("int64") == rounding("bool") == 0.0


def test_numbers_alone_have_the_precision_of_singles() -> None:
    assert_same([1.0, 2.0, float("nan")], [1.0 + 1e-6, 2.0, float("nan")])
    for wrong in ([1.0 + 1e-4, 2.0], [1.0, float("inf")], [1.0, 2], [1.0]):
        with pytest.raises((AssertionError, ValueError)):
            assert_same(wrong, [1.0, 2.0])
