"""What holds for all shapes: broadcasting and its adjoint; special derivatives."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

import nanotorch as torch
from nanotorch._core.engine import sum_to
from tests.several import each

COMMON = settings(max_examples=60, derandomize=True)
PAIRS = hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=4)

BINARY = {
    "add": (torch.add, np.add), "sub": (torch.sub, np.subtract), "mul": (torch.mul, np.multiply),
    "div": (torch.div, np.divide), "maximum": (torch.maximum, np.maximum),
    "minimum": (torch.minimum, np.minimum), "pow": (torch.pow, np.power),
    "atan2": (torch.atan2, np.arctan2),
}  # fmt: skip


def filled(shape: tuple[int, ...], seed: int) -> Any:
    """A leaf of positive numbers."""
    values = np.random.default_rng(seed).uniform(0.5, 2.0, shape)
    return torch.tensor(np.asarray(values), requires_grad=True)


@COMMON
@given(shapes=PAIRS)
def test_operands_broadcast_as_numpys_and_gradients_are_summed(shapes: Any) -> None:
    def check(name: str) -> None:
        ours, numpys = BINARY[name]
        leaves = [filled(shape, k) for k, shape in enumerate(shapes.input_shapes)]
        out, arrays = ours(*leaves), [t.detach().numpy() for t in leaves]
        assert out.shape == shapes.result_shape
        np.testing.assert_allclose(out.detach().numpy(), numpys(*arrays), rtol=1e-14)
        wide = [
            torch.tensor(np.broadcast_to(a, shapes.result_shape)).requires_grad_() for a in arrays
        ]
        wides = torch.autograd.grad(ours(*wide).sum(), wide)
        for a, g, w in zip(arrays, torch.autograd.grad(out.sum(), leaves), wides, strict=True):
            assert (g.shape, g.dtype) == (a.shape, torch.float64)
            np.testing.assert_allclose(g.numpy(), sum_to(w.numpy(), a.shape), rtol=1e-12)

    each(BINARY, check)


@COMMON
@given(shapes=PAIRS)
def test_sum_to_is_the_adjoint_of_expand(shapes: Any) -> None:
    """<expand(a), g> = <a, sum_to(g)>, for arrays and for Tensors."""
    small, big = shapes.input_shapes[0], shapes.result_shape
    rng = np.random.default_rng(0)
    a, g = rng.normal(size=small), rng.normal(size=big)
    back = sum_to(np.asarray(g), small)
    assert back.shape == small
    assert np.isclose((np.broadcast_to(a, big) * g).sum(), (a * back).sum())
    assert np.array_equal(sum_to(torch.tensor(np.asarray(g)), small).numpy(), back)
    assert np.array_equal(sum_to(np.broadcast_to(a, big), big), np.broadcast_to(a, big))


def test_derivatives_of_the_gamma_function_to_the_last_digits() -> None:
    x = torch.ones((), dtype=torch.float64, requires_grad=True)
    found = torch.digamma(x)
    for exact in (np.pi**2 / 6, -2.4041138063191885708, np.pi**4 / 15):  # the second: of ζ(3)
        (found,) = torch.autograd.grad(found, x, create_graph=True)
        np.testing.assert_allclose(found.item(), exact, rtol=1e-14)


@pytest.mark.parametrize("dim", range(3))
def test_gradients_of_products_beside_zeros_are_the_same_recorded(dim: int) -> None:
    x = filled((2, 3, 2), 0)
    x.data[0, 1, 0] = x.data[1, 2, 1] = 0.0
    weights = filled((2, 3, 2), 1).detach()
    pair = [
        torch.autograd.grad(x.cumprod(dim), x, weights, create_graph=recorded)[0].detach()
        for recorded in (False, True)
    ]
    np.testing.assert_allclose(pair[0].numpy(), pair[1].numpy(), rtol=1e-12)
