"""What nodes keep for the backward pass, and packing it."""

import pytest

import nanotorch as torch
from nanotorch._core.tensor import hooks, observers


def test_hooks_have_to_be_functions() -> None:
    with pytest.raises(TypeError, match="takes two functions"):
        torch.autograd.graph.saved_tensors_hooks(None, None).__enter__()


def test_nothing_is_observed_once_the_contexts_are_left() -> None:
    def fail() -> None:
        with torch.autograd.graph.save_on_cpu(), torch.autograd.set_detect_anomaly(True):
            assert len(observers) == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert observers == []
    assert hooks.stack == []


def test_running_values_that_move_before_the_backward_pass() -> None:
    """PyTorch refuses a write by hand, and computes from what training has moved."""
    norm = torch.nn.BatchNorm1d(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    gradients = []
    for moved in (False, True):
        norm.eval()
        norm.reset_running_stats()
        norm.weight.grad = None
        loss = norm(x).sum()
        if moved:
            norm.train()(x)
        loss.backward()
        gradients.append(norm.weight.grad.tolist())
    assert gradients[0] == gradients[1]
