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


def test_gradients_of_many_distances() -> None:
    """92 rows have 4,186 pairs."""
    rows = torch.arange(92.0).reshape(92, 1) * torch.tensor([3.0, 4.0])
    rows.requires_grad_()
    F.pdist(rows).sum().backward()
    behind_less_before = torch.arange(-91.0, 92.0, 2.0).reshape(92, 1)
    assert torch.allclose(rows.grad, behind_less_before * torch.tensor([0.6, 0.8]))
