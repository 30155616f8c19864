"""Losses: values, gradients, extremes, refusals and warnings."""

from typing import Any

from tests.answers import name_of, numbers, raised, slopes, warned

REDUCTIONS = ("none", "mean", "sum")


def values(torch: Any, *shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def gradient(loss: Any, *inputs: Any) -> Any:
    """The loss, its node, and the gradients of its inputs."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = loss(*leaves)
    out.sum().backward()
    return [numbers(out), name_of(out.grad_fn), slopes(leaves)]


def of_numbers(torch: Any) -> Any:
    nn = torch.nn
    x, y = values(torch, 4, 3), values(torch, 4, 3, seed=1)
    for reduction in REDUCTIONS:
        for loss in (nn.MSELoss(reduction=reduction), nn.L1Loss(reduction=reduction),
                     nn.SmoothL1Loss(reduction=reduction), nn.HuberLoss(reduction=reduction),
                     nn.SmoothL1Loss(reduction=reduction, beta=0.3),
                     nn.SmoothL1Loss(reduction=reduction, beta=0.0),
                     nn.HuberLoss(reduction=reduction, delta=0.3)):  # fmt: skip
            yield gradient(loss, x, y)


def weights_of_elements(torch: Any) -> Any:
    F = torch.nn.functional
    x, y = values(torch, 4, 3), values(torch, 4, 3, seed=1)
    w = values(torch, 4, 3, seed=2).abs()
    losses = (F.mse_loss, F.l1_loss, F.huber_loss)
    answers = [
        gradient(lambda a: loss(a, y, reduction=reduction, weight=w), x)
        for loss in losses
        for reduction in REDUCTIONS
    ]
    return [*answers, raised(F.mse_loss, x, y, weight=w[0])]


def of_two_classes(torch: Any) -> Any:
    nn = torch.nn
    x, p = values(torch, 4, 3), values(torch, 4, 3, seed=1).sigmoid()
    y = (values(torch, 4, 3, seed=2) > 0).float()
    w, row = values(torch, 4, 3, seed=3).abs(), values(torch, 3, seed=4).abs()
    for reduction in REDUCTIONS:
        for loss in (nn.BCEWithLogitsLoss(reduction=reduction),
                     nn.BCEWithLogitsLoss(w, reduction=reduction),
                     nn.BCEWithLogitsLoss(row, pos_weight=row, reduction=reduction),
                     nn.BCEWithLogitsLoss(pos_weight=row, reduction=reduction)):  # fmt: skip
            yield from [gradient(lambda a: loss(a, y), x), gradient(loss, x, p)]
        for loss in (nn.BCELoss(reduction=reduction), nn.BCELoss(w, reduction=reduction),
                     nn.BCELoss(row, reduction=reduction)):  # fmt: skip
            yield gradient(lambda a: loss(a, y), p)


def of_class_probabilities(torch: Any) -> Any:
    nn = torch.nn
    x, w = values(torch, 5, 4), values(torch, 4, seed=1).abs()
    p = values(torch, 5, 4, seed=2).softmax(1)
    for reduction in REDUCTIONS:
        for weight in (None, w):
            for smoothing in (0.0, 0.3):
                loss = nn.CrossEntropyLoss(weight, reduction=reduction, label_smoothing=smoothing)
                yield gradient(loss, x, p)


def other_shapes(torch: Any) -> Any:
    F = torch.nn.functional
    for shape, target in (((4,), ()), ((2, 4, 3), (2, 3)), ((2, 4, 3, 2), (2, 3, 2)),
                          ((1, 4, 2, 1, 2), (1, 2, 1, 2))):  # fmt: skip
        x = values(torch, *shape)
        y = torch.arange(2 * 3 * 2)[: max(1, torch.ones(target).numel())].reshape(target) % 4
        for reduction in REDUCTIONS:
            for smoothing in (0.0, 0.1):
                yield gradient(
                    lambda a: F.cross_entropy(a, y, reduction=reduction,
                                              label_smoothing=smoothing), x)  # fmt: skip
        p = values(torch, *shape, seed=5).softmax(0 if len(shape) == 1 else 1)
        yield gradient(F.cross_entropy, x, p)


def extremes(torch: Any) -> Any:
    """Logits of ±1000: values and gradients stay right."""
    nn, x = torch.nn, torch.tensor([-1000.0, 1000.0, -1000.0, 1000.0, 88.0, -88.0, 0.0])
    y = torch.tensor([0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5])
    pairs = torch.stack([x, -x], 1)
    classes, saturated = torch.tensor([0, 1, 1, 0, 0, 1, 1]), torch.tensor([0.0, 1.0, 0.0, 1.0])
    return [
        gradient(lambda a: nn.BCEWithLogitsLoss(reduction="none")(a, y), x),
        gradient(lambda a: nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))(a, y), x),
        gradient(lambda a: nn.CrossEntropyLoss(reduction="none")(a, classes), pairs),
        gradient(lambda a: nn.CrossEntropyLoss(label_smoothing=0.1)(a, classes), pairs),
        gradient(lambda a: nn.NLLLoss()(nn.LogSoftmax(1)(a), classes), pairs),
        numbers(nn.BCELoss(reduction="none")(saturated, torch.tensor([0.0, 1.0, 1.0, 0.0]))),
        gradient(lambda a: nn.MSELoss()(a, y), x), gradient(lambda a: nn.HuberLoss()(a, y), x),
    ]  # fmt: skip


def sizes_that_differ(torch: Any) -> Any:
    F = torch.nn.functional
    x, column = values(torch, 3), values(torch, 3, 1, seed=1)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        yield from [
            warned(lambda: loss(x, column)),
            raised(loss, x, 1.0),
            gradient_of_broadcast(loss, x, column),
        ]
    yield from [
        raised(F.binary_cross_entropy, x.sigmoid(), column.sigmoid()),
        raised(F.binary_cross_entropy_with_logits, x, column),
        raised(F.binary_cross_entropy_with_logits, x, x.sigmoid(), pos_weight=torch.ones(2)),
        raised(F.binary_cross_entropy, x.sigmoid(), x.sigmoid(), torch.ones(2)),
        warned(lambda: raised(F.mse_loss, x, torch.ones(2))),
    ]  # fmt: skip


def gradient_of_broadcast(loss: Any, x: Any, y: Any) -> Any:
    answers: list[Any] = []
    warned(lambda: answers.append(gradient(loss, x, y)))
    return answers


def dtypes_that_differ(torch: Any) -> Any:
    F = torch.nn.functional
    x, y = values(torch, 3), torch.tensor([0, 1, 1])
    return [
        F.mse_loss(x, y).dtype, F.mse_loss(x, y.double()).dtype, F.l1_loss(x, y).dtype,
        raised(F.mse_loss, y, y), raised(F.binary_cross_entropy, x.sigmoid(), y),
        raised(F.binary_cross_entropy, x.sigmoid(), y.double()),
        raised(F.binary_cross_entropy_with_logits, x, y),
        F.binary_cross_entropy_with_logits(x, y.double()).dtype,
        F.binary_cross_entropy_with_logits(x.double(), y.float()).dtype,
    ]  # fmt: skip


def refusals(torch: Any) -> Any:
    F, x, y = torch.nn.functional, torch.ones(4, 3), torch.tensor([0, 1, 2, 1])
    bad = [
        torch.ones(3, dtype=torch.int64), torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2, -1]),
        torch.ones(4), torch.ones(4, dtype=torch.int32), torch.ones(4, 2),
        torch.ones(4, 3, dtype=torch.int64), [0, 1, 2, 1], torch.tensor(1),
    ]  # fmt: skip
    return [
        *[raised(F.cross_entropy, x, target) for target in bad],
        *[raised(F.nll_loss, x, target) for target in bad[:6]],
        raised(F.cross_entropy, x, y, torch.ones(2)), raised(F.nll_loss, x, y, torch.ones(2)),
        raised(F.cross_entropy, x, x, torch.ones(2)),
        raised(F.cross_entropy, x, y, label_smoothing=2.0),
        raised(F.cross_entropy, x, x, ignore_index=1), raised(F.cross_entropy, [1.0], y),
        raised(F.cross_entropy, torch.ones(()), y[0]), raised(F.nll_loss, torch.ones(()), y[0]),
        raised(F.nll_loss, torch.ones(2, 3, 4), torch.ones(2, 5, dtype=torch.int64)),
        raised(F.smooth_l1_loss, x, x, beta=-1.0), raised(F.huber_loss, x, x, delta=0.0),
        raised(F.binary_cross_entropy, x * 2, x),
        *[raised(loss, x, x, reduction="other") for loss in
          (F.mse_loss, F.l1_loss, F.binary_cross_entropy, F.binary_cross_entropy_with_logits)],
        raised(F.cross_entropy, x, y, reduction="other"),
    ]  # fmt: skip


def second_derivatives(torch: Any) -> Any:
    """Of the cross entropy with every option beside every other."""
    x, w = values(torch, 5, 4).double().requires_grad_(), values(torch, 4, seed=1).double().abs()
    y, p = torch.tensor([0, 3, 1, 1, 2]), values(torch, 5, 4, seed=2).double().softmax(1)
    for target, more in ((y, {"ignore_index": 1}), (p, {})):
        loss = torch.nn.functional.cross_entropy(x, target, w, label_smoothing=0.2, **more)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        yield numbers([g, *torch.autograd.grad(g.square().sum(), x)])
