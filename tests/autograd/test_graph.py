"""What nodes keep for the backward pass, and packing it."""

import pytest

import nanotorch as torch


def test_hooks_have_to_be_functions() -> None:
    with pytest.raises(TypeError, match="takes two functions"):
        torch.autograd.graph.saved_tensors_hooks(None, None).__enter__()


def test_hooks_of_saved_tensors_for_a_view_of_what_was_made_before() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    for function in (torch.exp, torch.tanh, torch.relu):
        y = function(x)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            z = y.view(-1) * 2
        assert torch.autograd.grad(z.sum(), y)[0].eq(2).all()
