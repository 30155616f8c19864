"""Gradients of many elements, which are computed in another way, are those of few."""

import pytest

import nanotorch as torch
from nanotorch.nn import functional as F


@pytest.mark.parametrize("count", [4095, 4096, 5000])
def test_gradients_of_many_elements_are_those_of_few(count: int) -> None:
    def slopes(x: torch.Tensor) -> list[torch.Tensor]:
        x = x.clone().requires_grad_()
        w = torch.full((1,), 0.25, requires_grad=True)
        first = torch.autograd.grad(F.hardswish(x).square().sum(), x, create_graph=True)
        made = [F.prelu(x, w), first[0], F.elu_(x * 1), F.leaky_relu_(x * 1)]
        return [torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for y in made]

    few = torch.linspace(-4, 4, 16)
    for one, many in zip(slopes(few), slopes(few.repeat(count // 16 + 1)[:count]), strict=True):
        assert torch.equal(many[:16], one)


def test_the_gradient_of_a_slope_of_many_elements() -> None:
    x, w = -torch.ones(5000), torch.full((1,), 0.25, requires_grad=True)
    F.prelu(x, w).sum().backward()
    assert w.grad.item() == -5000
