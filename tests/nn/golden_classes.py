"""Losses of class scores: every option of the cross entropy beside every other; many classes."""

from typing import Any

from tests.nn.golden_activation import twice
from tests.nn.golden_loss import values


def _values(torch: Any, *shape: int, seed: int = 0) -> Any:
    return values(torch, *shape, seed=seed).double()


def second_derivatives(torch: Any) -> Any:
    F = torch.nn.functional
    x, w = _values(torch, 5, 4).requires_grad_(), _values(torch, 4, seed=1).abs()
    y, p = torch.tensor([0, 3, 1, 1, 2]), _values(torch, 5, 4, seed=2).softmax(1)
    for target, more in ((y, {"ignore_index": 1}), (p, {})):
        loss = F.cross_entropy(x, target, w, label_smoothing=0.2, **more)
        yield twice(torch, loss, x)
        x.grad = None
