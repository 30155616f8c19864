"""What nodes keep for the backward pass."""

import nanotorch as torch


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
