"""Jacobians, and the checker of gradients, which must have been seen to fail."""

import itertools
from typing import Any

import pytest

import nanotorch as torch
from nanotorch.autograd import Function, gradcheck, gradgradcheck
from nanotorch.autograd.functional import GradcheckError, jacobian
from tests.autograd.golden_function import make

OFF = 1.001  # a rule wrong by a tenth of a percent
TIGHT = {"atol": 1e-7, "rtol": 1e-5}


class Slope(Function):
    """``3 x^2 g``, with a gradient for ``x`` that may be wrong."""

    @staticmethod
    def forward(ctx: Any, x: Any, g: Any, factor: float) -> Any:
        ctx.save_for_backward(x, g)
        ctx.factor = factor
        return 3 * x * x * g

    @staticmethod
    def backward(ctx: Any, h: Any) -> Any:
        x, g = ctx.saved_tensors
        return 6 * x * g * h * ctx.factor, 3 * x * x * h, None


class Cube(Function):
    """``x^3``, wrong by ``first`` in its gradient and by ``second`` in the gradient of that."""

    @staticmethod
    def forward(ctx: Any, x: Any, first: float, second: float) -> Any:
        ctx.save_for_backward(x)
        ctx.first, ctx.second = first, second
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return Slope.apply(x, g * ctx.first, ctx.second), None, None


def point() -> Any:
    return torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)


def test_a_rule_off_by_a_tenth_of_a_percent_is_caught() -> None:
    for check in (gradcheck, gradgradcheck):
        assert check(Cube.apply, (point(), 1.0, 1.0), **TIGHT)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to"):
        gradcheck(Cube.apply, (point(), OFF, 1.0), **TIGHT)
    assert not gradcheck(Cube.apply, (point(), OFF, 1.0), raise_exception=False, **TIGHT)
    with pytest.raises(GradcheckError):  # PyTorch's default tolerance is as wide as the error
        gradcheck(Cube.apply, (point(), 1.01, 1.0))
    assert gradcheck(Cube.apply, (point(), 1.0, OFF), **TIGHT)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to"):
        gradgradcheck(Cube.apply, (point(), 1.0, OFF), **TIGHT)


def doubled(backward: Any) -> Any:
    return make(torch, lambda ctx, x: x * 2, lambda ctx, g: backward(g)).apply


def test_one_wrong_element_among_many_is_caught() -> None:
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    factors = torch.full((5, 3), 2.0, dtype=torch.float64)
    factors[3, 1] *= OFF
    with pytest.raises(GradcheckError):
        gradcheck(doubled(lambda g: g * factors), x, **TIGHT)


def test_a_backward_that_varies_is_caught() -> None:
    calls = itertools.count()
    moody = doubled(lambda g: g * (2 + 1e-9 * next(calls)))
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(moody, point())
    assert gradcheck(moody, point(), nondet_tol=1e-6)


def test_inputs_are_left_as_they_were() -> None:
    x = point()
    before = x.detach().clone()
    gradcheck(lambda x: x.exp(), x)
    assert torch.equal(x.detach(), before)
    assert x._version == 0
    assert x.grad is None


def test_forward_mode_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="no forward-mode"):
        gradcheck(lambda x: x, point(), check_forward_ad=True)
    with pytest.raises(AssertionError, match="check_rev_over_rev"):
        gradgradcheck(lambda x: x, point(), check_rev_over_rev=False)


def test_an_empty_output_has_an_empty_jacobian() -> None:
    x = torch.ones(3)
    assert jacobian(lambda x: x[:0] * 2, x).shape == (0, 3)
    assert jacobian(lambda x: x * 2, x[:0]).shape == (0, 0)
