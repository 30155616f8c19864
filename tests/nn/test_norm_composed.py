"""Each normalization as one node does what its formula does, composed of single operations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch.ops import fused

F = torch.nn.functional
Composed = Callable[..., Any]


def draw(*shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape)).requires_grad_()


def standardized(x: Any, dims: tuple[int, ...], eps: float) -> Any:
    centred = x - x.mean(dims, keepdim=True)
    return centred / (centred.pow(2).mean(dims, keepdim=True) + eps).sqrt()


def batch(x: Any, w: Any, b: Any) -> Any:
    shape = (1, -1, *(1,) * (x.ndim - 2))
    hat = standardized(x, (0, *range(2, x.ndim)), 1e-5)
    return hat * w.reshape(shape) + b.reshape(shape)


def group(x: Any, w: Any, b: Any) -> Any:
    n, c = x.shape[:2]
    hat = standardized(x.reshape(n, 2, -1), (2,), 1e-5).reshape(x.shape)
    shape = (1, c, *(1,) * (x.ndim - 2))
    return hat * w.reshape(shape) + b.reshape(shape)


def layer(x: Any, w: Any, b: Any) -> Any:
    return standardized(x, tuple(range(-w.ndim, 0)), 1e-5) * w + b


FUSED: dict[str, tuple[Composed, Composed, list[tuple[int, ...]], Callable[..., Any]]] = {
    "batch": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        batch,
        [(5, 4), (3, 4, 2), (2, 4, 3, 2), (1, 2, 5000)],
        lambda shape: shape[1:2],
    ),
    "group": (
        lambda x, w, b: F.group_norm(x, 2, w, b),
        group,
        [(3, 4), (3, 4, 2), (2, 6, 3, 2), (1, 2, 5000)],
        lambda shape: shape[1:2],
    ),
    "layer": (
        lambda x, w, b: F.layer_norm(x, w.shape, w, b),
        layer,
        [(5, 4), (3, 4, 2), (2, 5000), (40, 1000)],
        lambda shape: shape[-1:],
    ),
    "layer without weight": (
        lambda x, w, b: F.layer_norm(x, w.shape, None, b) * w,
        lambda x, w, b: layer(x, 1 + 0 * w, b) * w,
        [(5, 4), (3, 40)],
        lambda shape: shape[-1:],
    ),
    "layer of two": (
        lambda x, w, b: F.layer_norm(x, w.shape, w, b),
        layer,
        [(5, 4, 3), (2, 3, 4, 2)],
        lambda shape: shape[-2:],
    ),
}
CASES = [(name, shape) for name, (*_, shapes, _) in FUSED.items() for shape in shapes]


def derivatives(function: Composed, inputs: list[Any]) -> list[np.ndarray]:
    """Value, gradients, and gradients of those along fixed directions."""
    out = function(*inputs)
    weight = draw(*out.shape, seed=7)
    first = torch.autograd.grad(out, inputs, weight, create_graph=True)
    along = [draw(*g.shape, seed=8 + k).detach() for k, g in enumerate(first)]
    total = sum((g * v).sum() for g, v in zip(first, along, strict=True))
    second = torch.autograd.grad(total, [*inputs, weight], materialize_grads=True)
    return [t.detach().numpy() for t in (out, *first, *second)]


def compare(name: str, shape: tuple[int, ...]) -> None:
    fused, composed, _, affine = FUSED[name]
    inputs = [draw(*shape), draw(*affine(shape), seed=1), draw(*affine(shape), seed=2)]
    answers, expected = derivatives(fused, inputs), derivatives(composed, inputs)
    for k, (a, e) in enumerate(zip(answers, expected, strict=True)):
        np.testing.assert_allclose(a, e, rtol=0, atol=1e-10 * max(1, abs(e).max()), err_msg=f"{k}")


@pytest.mark.parametrize(("name", "shape"), CASES, ids=str)
def test_one_node_is_as_the_formula(name: str, shape: tuple[int, ...]) -> None:
    compare(name, shape)


def test_a_wrong_sum_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = fused.sum_over
    monkeypatch.setattr(fused, "sum_over", lambda *args: right(*args) * 1.001)
    with pytest.raises(AssertionError):
        compare("batch", (5, 4))
