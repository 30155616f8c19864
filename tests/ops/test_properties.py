"""What holds for all shapes: broadcasting and its adjoint, 0-d and empty tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import nanotorch as torch
from nanotorch._core.engine import sum_to
from tests.several import each

COMMON = settings(max_examples=60, derandomize=True)
SIZES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
PAIRS = hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=4)
TRIPLES = hnp.mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_side=3, max_dims=3)

BINARY = {
    "add": (torch.add, np.add), "sub": (torch.sub, np.subtract), "mul": (torch.mul, np.multiply),
    "div": (torch.div, np.divide), "maximum": (torch.maximum, np.maximum),
    "minimum": (torch.minimum, np.minimum), "pow": (torch.pow, np.power),
    "atan2": (torch.atan2, np.arctan2), "lt": (torch.lt, np.less), "eq": (torch.eq, np.equal),
}  # fmt: skip
DIFFERENTIABLE = [name for name in BINARY if name not in ("lt", "eq")]
UNARY = ["exp", "log", "sqrt", "tanh", "sigmoid", "relu", "neg", "abs", "sin", "square"]


def filled(shape: tuple[int, ...], seed: int) -> Any:
    """A leaf of positive numbers."""
    values = np.random.default_rng(seed).uniform(0.5, 2.0, shape)
    return torch.tensor(np.asarray(values), requires_grad=True)


@COMMON
@given(shapes=PAIRS)
def test_binary_operations_broadcast_as_numpy(shapes: Any) -> None:
    def check(name: str) -> None:
        ours, numpys = BINARY[name]
        a, b = (filled(shape, k) for k, shape in enumerate(shapes.input_shapes))
        out = ours(a, b)
        assert out.shape == shapes.result_shape
        expected = numpys(a.detach().numpy(), b.detach().numpy())
        assert np.allclose(out.detach().numpy(), expected, rtol=1e-14)

    each(BINARY, check)


@COMMON
@given(shapes=PAIRS)
def test_gradients_have_the_shapes_of_their_inputs(shapes: Any) -> None:
    """And are those of inputs that were broadcast beforehand, summed."""
    each(DIFFERENTIABLE, lambda name: check_gradients(name, shapes))


def check_gradients(name: str, shapes: Any) -> None:
    function: Callable[..., Any] = BINARY[name][0]
    leaves = [filled(shape, k) for k, shape in enumerate(shapes.input_shapes)]
    grads = torch.autograd.grad(function(*leaves).sum(), leaves)
    wide = [
        torch.tensor(np.broadcast_to(t.detach().numpy(), shapes.result_shape)).requires_grad_()
        for t in leaves
    ]
    wides = torch.autograd.grad(function(*wide).sum(), wide)
    for leaf, g, w in zip(leaves, grads, wides, strict=True):
        assert g.shape == leaf.shape
        assert g.dtype is leaf.dtype
        assert np.allclose(g.numpy(), sum_to(w.numpy(), leaf._array.shape), rtol=1e-12)


@COMMON
@given(shapes=TRIPLES)
def test_where_broadcasts_three_ways(shapes: Any) -> None:
    mask_shape, a_shape, b_shape = shapes.input_shapes
    mask = torch.tensor(np.random.default_rng(0).random(mask_shape) < 0.5)
    a, b = filled(a_shape, 1), filled(b_shape, 2)
    out = torch.where(mask, a, b)
    assert out.shape == shapes.result_shape
    ga, gb = torch.autograd.grad(out.sum(), [a, b])
    assert (ga.shape, gb.shape) == (a_shape, b_shape)
    assert ga.sum().item() + gb.sum().item() == out.numel()


@COMMON
@given(shape=SIZES)
def test_unary_operations_keep_the_shape(shape: tuple[int, ...]) -> None:
    each(UNARY, lambda name: check_unary(name, shape))


def check_unary(name: str, shape: tuple[int, ...]) -> None:
    a = filled(shape, 0)
    out = getattr(torch, name)(a)
    assert out.shape == a.shape
    (g,) = torch.autograd.grad(out.sum(), a, create_graph=True)
    assert g.shape == a.shape
    if g.requires_grad:
        (h,) = torch.autograd.grad(g.sum(), a, materialize_grads=True)
        assert h.shape == a.shape


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


@COMMON
@given(shapes=PAIRS)
def test_expand_and_its_gradient(shapes: Any) -> None:
    small, big = shapes.input_shapes[0], shapes.result_shape
    leaf = filled(small, 0)
    out = leaf.expand(big)
    assert out.shape == big
    assert np.array_equal(out.detach().numpy(), np.broadcast_to(leaf.detach().numpy(), big))
    (g,) = torch.autograd.grad(out.sum(), leaf)
    assert g.shape == small
    if g.numel():
        assert np.all(g.numpy() == out.numel() // g.numel())


@COMMON
@given(shape=SIZES, data=st.data())
def test_sums_over_any_dimensions(shape: tuple[int, ...], data: st.DataObject) -> None:
    dims = data.draw(st.lists(st.integers(0, max(len(shape) - 1, 0)), unique=True, max_size=3))
    keepdim = data.draw(st.booleans())
    if not shape:
        dims = []
    a = filled(shape, 0)
    out = a.sum(dims, keepdim=keepdim)
    axes = tuple(dims) or None
    expected = a.detach().numpy().sum(axis=axes, keepdims=keepdim)
    assert out.shape == expected.shape
    assert np.allclose(out.detach().numpy(), expected)
    (g,) = torch.autograd.grad(out.sum(), a)
    assert np.array_equal(g.numpy(), np.ones(shape))


@COMMON
@given(shape=SIZES, data=st.data())
def test_shape_operations_are_permutations_of_elements(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    """Reshaping, permuting and flipping move the weights of a gradient back to their places."""
    a = filled(shape, 0)
    order = data.draw(st.permutations(range(len(shape))))
    weights = np.random.default_rng(1).normal(size=shape)
    moved = a.permute(order)
    (g,) = torch.autograd.grad(moved, a, torch.tensor(np.transpose(weights, order)))
    assert np.array_equal(g.numpy(), weights)
    flat = a.reshape(-1) if a.numel() else a.flatten()
    (g,) = torch.autograd.grad(flat, a, torch.tensor(weights.reshape(flat.shape)))
    assert np.array_equal(g.numpy(), weights)
    dims = data.draw(st.lists(st.sampled_from(range(len(shape))), unique=True)) if shape else []
    (g,) = torch.autograd.grad(a.flip(dims), a, torch.tensor(np.flip(weights, tuple(dims)).copy()))
    assert np.array_equal(g.numpy(), weights)


@COMMON
@given(shape=hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4), data=st.data())
def test_indexing_and_writing_are_adjoint(shape: tuple[int, ...], data: st.DataObject) -> None:
    """The gradient of reading by an index is the writing of ones to the same places."""
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=False, allow_ellipsis=True))
    steps = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, slice) and (i.step or 1) < 0 for i in steps):
        return  # PyTorch refuses negative steps
    a = filled(shape, 0)
    out = a[index]
    assert np.array_equal(out.detach().numpy(), a.detach().numpy()[index])
    (g,) = torch.autograd.grad(out.sum(), a, materialize_grads=True)
    ones = torch.zeros(shape, dtype=torch.float64)
    ones[index] = 1.0
    assert np.array_equal(g.numpy(), ones.numpy())


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
