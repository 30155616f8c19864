"""Losses of class scores: every option of the cross entropy beside every other; many classes."""

import itertools
from typing import Any

from tests.nn.golden_activation import twice
from tests.nn.golden_loss import gradient, values


def _values(torch: Any, *shape: int, seed: int = 0) -> Any:
    return values(torch, *shape, seed=seed).double()


def every_option(torch: Any) -> Any:
    nn = torch.nn
    weight = _values(torch, 4, seed=1).abs()
    options = itertools.product((None, weight), (-100, 1), ("none", "mean", "sum"), (0.0, 0.3, 1.0))
    shapes: list[Any] = [((5, 4), (5,)), ((4,), ()), ((2, 4, 3), (2, 3)), ((2, 4, 2, 2), (2, 2, 2))]
    for w, ignored, reduction, smoothing in options:
        loss = nn.CrossEntropyLoss(
            w, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing
        )
        for shape, targets in shapes:
            count = torch.ones(targets).numel()
            y = (torch.arange(count) * 3 % 4).reshape(targets)
            yield gradient(lambda x: loss(x, y), _values(torch, *shape))


def probabilities(torch: Any) -> Any:
    nn = torch.nn
    weight = _values(torch, 4, seed=1).abs()
    options = itertools.product((None, weight), ("none", "mean", "sum"), (0.0, 0.3, 1.0))
    for w, reduction, smoothing in options:
        loss = nn.CrossEntropyLoss(w, reduction=reduction, label_smoothing=smoothing)
        for shape in ((5, 4), (4,), (2, 4, 3)):
            p = _values(torch, *shape, seed=2).softmax(0 if len(shape) == 1 else 1)
            yield gradient(loss, _values(torch, *shape), p)


def second_derivatives(torch: Any) -> Any:
    F = torch.nn.functional
    x, w = _values(torch, 5, 4).requires_grad_(), _values(torch, 4, seed=1).abs()
    y, p = torch.tensor([0, 3, 1, 1, 2]), _values(torch, 5, 4, seed=2).softmax(1)
    for target, more in ((y, {"ignore_index": 1}), (p, {})):
        loss = F.cross_entropy(x, target, w, label_smoothing=0.2, **more)
        yield twice(torch, loss, x)
        x.grad = None


def all_ignored(torch: Any) -> Any:
    F, y = torch.nn.functional, torch.tensor([1, 1])
    return [
        gradient(lambda x: F.cross_entropy(x, y, ignore_index=1, reduction=r), _values(torch, 2, 3))
        for r in ("none", "mean", "sum")
    ]
