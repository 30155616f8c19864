"""Normalizations of long rows, whose sums are made in parts, do what their formulas do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch

F = torch.nn.functional
# The function of input, weight and bias; the input's shape; the dimensions of a mean.
LONG: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]] = {
    "batch": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (1, 2, 5000), (0, 2)),
    "group": (lambda x, w, b: F.group_norm(x, 2, w, b), (1, 2, 5000), (2,)),
    "layer": (lambda x, w, b: F.layer_norm(x, w.shape, w, b), (2, 5000), (1,)),
    "rows": (lambda x, w, b: F.layer_norm(x, w.shape, w, b), (40, 1000), (1,)),
}


def draw(*shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape)).requires_grad_()


def derivatives(function: Callable[..., Any], inputs: list[Any]) -> list[np.ndarray]:
    """Value, gradients, and gradients of those along fixed directions."""
    out = function(*inputs)
    weight = draw(*out.shape, seed=7)
    first = torch.autograd.grad(out, inputs, weight, create_graph=True)
    along = [draw(*g.shape, seed=8 + k).detach() for k, g in enumerate(first)]
    total = sum((g * v).sum() for g, v in zip(first, along, strict=True))
    second = torch.autograd.grad(total, [*inputs, weight], materialize_grads=True)
    return [t.detach().numpy() for t in (out, *first, *second)]


@pytest.mark.parametrize("name", LONG)
def test_one_node_is_as_the_formula(name: str) -> None:
    function, shape, dims = LONG[name]

    def composed(x: Any, w: Any, b: Any) -> Any:
        centred = x - x.mean(dims, keepdim=True)
        hat = centred / (centred.pow(2).mean(dims, keepdim=True) + 1e-5).sqrt()
        places = (-1, *(1,) * (x.ndim - 2))
        return hat * w.reshape(places) + b.reshape(places)

    inputs = [draw(*shape), draw(shape[1], seed=1), draw(shape[1], seed=2)]
    answers, expected = derivatives(function, inputs), derivatives(composed, inputs)
    for k, (a, e) in enumerate(zip(answers, expected, strict=True)):
        np.testing.assert_allclose(a, e, rtol=0, atol=1e-10 * max(1, abs(e).max()), err_msg=f"{k}")
