"""Losses of class scores: every option of the cross entropy beside every other; many classes."""

import itertools
from typing import Any

from tests.answers import numbers, raised, warned


def _values(torch: Any, *shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()


def _gradient(loss: Any, *inputs: Any) -> Any:
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = loss(*leaves)
    out.sum().backward()
    return [numbers(out), type(out.grad_fn).__name__, [numbers(x.grad) for x in leaves]]


def every_option(torch: Any) -> Any:
    nn = torch.nn
    weight = _values(torch, 4, seed=1).abs()
    options = itertools.product((None, weight), (-100, 1), ("none", "mean", "sum"), (0.0, 0.3, 1.0))
    shapes: list[Any] = [((5, 4), (5,)), ((4,), ()), ((2, 4, 3), (2, 3)), ((2, 4, 2, 2), (2, 2, 2))]
    answers = []
    for w, ignored, reduction, smoothing in options:
        loss = nn.CrossEntropyLoss(
            w, ignore_index=ignored, reduction=reduction, label_smoothing=smoothing
        )
        for shape, targets in shapes:
            count = torch.ones(targets).numel()
            y = (torch.arange(count) * 3 % 4).reshape(targets)
            answers.append(_gradient(lambda x: loss(x, y), _values(torch, *shape)))
    return answers


def probabilities(torch: Any) -> Any:
    nn = torch.nn
    weight = _values(torch, 4, seed=1).abs()
    options = itertools.product((None, weight), ("none", "mean", "sum"), (0.0, 0.3, 1.0))
    answers = []
    for w, reduction, smoothing in options:
        loss = nn.CrossEntropyLoss(w, reduction=reduction, label_smoothing=smoothing)
        for shape in ((5, 4), (4,), (2, 4, 3)):
            p = _values(torch, *shape, seed=2).softmax(0 if len(shape) == 1 else 1)
            answers.append(_gradient(loss, _values(torch, *shape), p))
    return answers


def second_derivatives(torch: Any) -> Any:
    F = torch.nn.functional
    x, w = _values(torch, 5, 4).requires_grad_(), _values(torch, 4, seed=1).abs()
    y, p = torch.tensor([0, 3, 1, 1, 2]), _values(torch, 5, 4, seed=2).softmax(1)
    answers = []
    for target, more in ((y, {"ignore_index": 1}), (p, {})):
        loss = F.cross_entropy(x, target, w, label_smoothing=0.2, **more)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        (h,) = torch.autograd.grad((g**2).sum(), x)
        answers.append([numbers(g), numbers(h)])
    return answers


def all_ignored(torch: Any) -> Any:
    F = torch.nn.functional
    y = torch.tensor([1, 1])
    return [
        _gradient(
            lambda x: F.cross_entropy(x, y, ignore_index=1, reduction=r), _values(torch, 2, 3)
        )
        for r in ("none", "mean", "sum")
    ]


def linear_and_cross_entropy(torch: Any) -> Any:
    F = torch.nn.functional
    x, w, b = _values(torch, 3, 4), _values(torch, 5, 4, seed=1), _values(torch, 5, seed=2)
    y, p = torch.tensor([1, 0, -100]), _values(torch, 3, 5, seed=3).softmax(1)
    loss, ways = F.linear_cross_entropy, ("none", "mean", "sum")
    return [
        *[_gradient(lambda a, c: loss(a, c, y, reduction=r), x, w) for r in ways],
        _gradient(lambda a, c, d: loss(a, c, y, linear_bias=d, label_smoothing=0.1), x, w, b),
        _gradient(lambda a, c: loss(a, c, p), x, w),
        _gradient(lambda a, c: loss(a, c, y[:2], ignore_index=1, weight=b.abs()), x[:2], w),
        raised(loss, x[None], w, y), raised(loss, x, w.t(), y), raised(loss, x, w, y[:2]),
        raised(loss, x, w, y, linear_bias=x[0]), raised(loss, x, w, y, reduction="max"),
    ]  # fmt: skip


def linear_layer_with_loss(torch: Any) -> Any:
    nn = torch.nn
    answers = []
    for out, more in (((), {}), ((2,), {"bias": True, "label_smoothing": 0.1})):
        for reduction in ("none", "mean"):
            torch.manual_seed(3)
            layer = nn.LinearCrossEntropyLoss(
                4, 5, out_features=out, reduction=reduction, dtype=torch.float64, **more
            )
            y = torch.tensor([[1, 0], [2, 3], [4, 4]])[:, : len(out) + 1]
            answers.append(
                _gradient(lambda x: layer(x, y if out else y[:, 0]), _values(torch, 3, 4))
            )
            grads = [numbers(p.grad) for p in layer.parameters()]
            answers.append([repr(layer), list(layer.state_dict()), grads])
    weighted = nn.LinearCrossEntropyLoss(4, 5, weight=torch.ones(5), ignore_index=2)
    return [*answers, repr(weighted), list(weighted.state_dict())]


def many_classes(torch: Any) -> Any:
    nn = torch.nn
    answers = []
    for options in ({"div_value": 2.0}, {"div_value": 1.5, "head_bias": True}):
        torch.manual_seed(5)
        layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10, 15], **options).double()
        x, y = _values(torch, 6, 8).requires_grad_(), torch.tensor([0, 5, 11, 19, 3, 9])
        out = layer(x, y)
        out.loss.backward()
        grads = [numbers(p.grad) for p in layer.parameters()]
        single = layer(x[0], y[0])
        answers += [
            repr(layer), list(layer.state_dict()), numbers(out.output), numbers(out.loss), grads,
            numbers(x.grad), numbers(layer.log_prob(x)), layer.predict(x), numbers(single.output),
            type(out).__name__, tuple(layer.log_prob(x).exp().sum(1).shape),
        ]  # fmt: skip
    few = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2])
    made = nn.AdaptiveLogSoftmaxWithLoss
    x = torch.ones(3, 4)
    return [
        *answers, *[raised(made, 8, 20, ends) for ends in ([], [4, 4], [20], [5, 4], [0, 4])],
        raised(few, x, torch.tensor([0, 1])), raised(few, x, torch.tensor([0, 6, 1])),
        raised(few, x, torch.tensor([0, -1, 1])), raised(few, x, torch.zeros(3, 1).long()),
        warned(few.reset_parameters), few.cutoffs,
    ]  # fmt: skip
