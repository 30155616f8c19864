"""Losses: values, gradients, extremes, refusals and warnings."""

from typing import Any

from tests.answers import given, name_of, numbers, sessions, slopes, warned

REDUCTIONS = ("none", "mean", "sum")


def values(torch: Any, *shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def gradient(loss: Any, *inputs: Any) -> Any:
    """The loss, its node, and the gradients of its inputs."""
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = loss(*leaves)
    out.sum().backward()
    return [numbers(out), name_of(out.grad_fn), slopes(leaves)]


def broadcast(loss: Any, x: Any, y: Any) -> Any:
    answers: list[Any] = []
    warned(lambda: answers.append(gradient(loss, x, y)))
    return answers


session = sessions(lambda torch: given(
    torch, values, REDUCTIONS=REDUCTIONS, gradient=gradient, gradient_of_broadcast=broadcast
))  # fmt: skip
losses = session("""
of numbers
    x, y = values(4, 3), values(4, 3, seed=1)
    for reduction in REDUCTIONS:
        for loss in (
            nn.MSELoss(reduction=reduction), nn.L1Loss(reduction=reduction),
            nn.SmoothL1Loss(reduction=reduction), nn.HuberLoss(reduction=reduction),
            nn.SmoothL1Loss(reduction=reduction, beta=0.3),
            nn.SmoothL1Loss(reduction=reduction, beta=0.0),
            nn.HuberLoss(reduction=reduction, delta=0.3),
        ):
            gradient(loss, x, y)
weights of elements
    x, y = values(4, 3), values(4, 3, seed=1)
    w = values(4, 3, seed=2).abs()
    losses = (F.mse_loss, F.l1_loss, F.huber_loss)
    [
        gradient(lambda a: loss(a, y, reduction=reduction, weight=w), x)
        for loss in losses
        for reduction in REDUCTIONS
    ]
    F.mse_loss(x, y, weight=w[0])
of two classes
    x, p = values(4, 3), values(4, 3, seed=1).sigmoid()
    y = (values(4, 3, seed=2) > 0).float()
    w, row = values(4, 3, seed=3).abs(), values(3, seed=4).abs()
    for reduction in REDUCTIONS:
        for loss in (
            nn.BCEWithLogitsLoss(reduction=reduction), nn.BCEWithLogitsLoss(w, reduction=reduction),
            nn.BCEWithLogitsLoss(row, pos_weight=row, reduction=reduction),
            nn.BCEWithLogitsLoss(pos_weight=row, reduction=reduction),
        ):
            gradient(lambda a: loss(a, y), x), gradient(loss, x, p)
        for loss in (
            nn.BCELoss(reduction=reduction), nn.BCELoss(w, reduction=reduction),
            nn.BCELoss(row, reduction=reduction),
        ):
            gradient(lambda a: loss(a, y), p)
of class probabilities
    x, w = values(5, 4), values(4, seed=1).abs()
    p = values(5, 4, seed=2).softmax(1)
    for reduction in REDUCTIONS:
        for weight in (None, w):
            for smoothing in (0.0, 0.3):
                loss = nn.CrossEntropyLoss(weight, reduction=reduction, label_smoothing=smoothing)
                gradient(loss, x, p)
other shapes
    for shape, target in (
        ((4,), ()), ((2, 4, 3), (2, 3)), ((2, 4, 3, 2), (2, 3, 2)), ((1, 4, 2, 1, 2), (1, 2, 1, 2))
    ):
        x = values(*shape)
        y = torch.arange(2 * 3 * 2)[: max(1, torch.ones(target).numel())].reshape(target) % 4
        for reduction in REDUCTIONS:
            for smoothing in (0.0, 0.1):
                gradient(
                    lambda a: F.cross_entropy(a, y, reduction=reduction, label_smoothing=smoothing),
                    x,
                )
        p = values(*shape, seed=5).softmax(0 if len(shape) == 1 else 1)
        gradient(F.cross_entropy, x, p)
extremes
    # Logits of ±1000: values and gradients stay right.
    x = torch.tensor([-1000.0, 1000.0, -1000.0, 1000.0, 88.0, -88.0, 0.0])
    y = torch.tensor([0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.5])
    pairs = torch.stack([x, -x], 1)
    classes, saturated = torch.tensor([0, 1, 1, 0, 0, 1, 1]), torch.tensor([0.0, 1.0, 0.0, 1.0])
    gradient(lambda a: nn.BCEWithLogitsLoss(reduction="none")(a, y), x)
    gradient(lambda a: nn.BCEWithLogitsLoss(pos_weight=torch.tensor(3.0))(a, y), x)
    gradient(lambda a: nn.CrossEntropyLoss(reduction="none")(a, classes), pairs)
    gradient(lambda a: nn.CrossEntropyLoss(label_smoothing=0.1)(a, classes), pairs)
    gradient(lambda a: nn.NLLLoss()(nn.LogSoftmax(1)(a), classes), pairs)
    numbers(nn.BCELoss(reduction="none")(saturated, torch.tensor([0.0, 1.0, 1.0, 0.0])))
    gradient(lambda a: nn.MSELoss()(a, y), x), gradient(lambda a: nn.HuberLoss()(a, y), x)
sizes that differ
    x, column = values(3), values(3, 1, seed=1)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        warned(lambda: loss(x, column)), loss(x, 1.0), gradient_of_broadcast(loss, x, column)
    F.binary_cross_entropy(x.sigmoid(), column.sigmoid())
    F.binary_cross_entropy_with_logits(x, column)
    F.binary_cross_entropy_with_logits(x, x.sigmoid(), pos_weight=torch.ones(2))
    F.binary_cross_entropy(x.sigmoid(), x.sigmoid(), torch.ones(2))
    warned(lambda: raised(F.mse_loss, x, torch.ones(2)))
dtypes that differ
    x, y = values(3), torch.tensor([0, 1, 1])
    F.mse_loss(x, y).dtype, F.mse_loss(x, y.double()).dtype, F.l1_loss(x, y).dtype, F.mse_loss(y, y)
    F.binary_cross_entropy(x.sigmoid(), y), F.binary_cross_entropy(x.sigmoid(), y.double())
    F.binary_cross_entropy_with_logits(x, y)
    F.binary_cross_entropy_with_logits(x, y.double()).dtype
    F.binary_cross_entropy_with_logits(x.double(), y.float()).dtype
refusals
    x, y = torch.ones(4, 3), torch.tensor([0, 1, 2, 1])
    bad = [
        torch.ones(3, dtype=torch.int64), torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2, -1]),
        torch.ones(4), torch.ones(4, dtype=torch.int32), torch.ones(4, 2),
        torch.ones(4, 3, dtype=torch.int64), [0, 1, 2, 1], torch.tensor(1),
    ]
    [raised(F.cross_entropy, x, target) for target in bad]
    [raised(F.nll_loss, x, target) for target in bad[:6]], F.cross_entropy(x, y, torch.ones(2))
    F.nll_loss(x, y, torch.ones(2)), F.cross_entropy(x, x, torch.ones(2))
    F.cross_entropy(x, y, label_smoothing=2.0), F.cross_entropy(x, x, ignore_index=1)
    F.cross_entropy([1.0], y), F.cross_entropy(torch.ones(()), y[0])
    F.nll_loss(torch.ones(()), y[0])
    F.nll_loss(torch.ones(2, 3, 4), torch.ones(2, 5, dtype=torch.int64))
    F.smooth_l1_loss(x, x, beta=-1.0), F.huber_loss(x, x, delta=0.0)
    F.binary_cross_entropy(x * 2, x)
    F.mse_loss(x, x, reduction="other"), F.l1_loss(x, x, reduction="other")
    F.binary_cross_entropy(x, x, reduction="other"), F.cross_entropy(x, y, reduction="other")
    F.binary_cross_entropy_with_logits(x, x, reduction="other")
second derivatives
    # Of the cross entropy with every option beside every other.
    x, w = values(5, 4).double().requires_grad_(), values(4, seed=1).double().abs()
    y, p = torch.tensor([0, 3, 1, 1, 2]), values(5, 4, seed=2).double().softmax(1)
    for target, more in ((y, {"ignore_index": 1}), (p, {})):
        loss = F.cross_entropy(x, target, w, label_smoothing=0.2, **more)
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        numbers([g, *torch.autograd.grad(g.square().sum(), x)])
of distributions
    x, y = values(4, 3), values(4, 3, seed=1)
    p, v = y.softmax(1), values(4, 3, seed=2).exp()
    for r in (*REDUCTIONS, "batchmean"):
        gradient(lambda a: nn.KLDivLoss(reduction=r)(a, p), x)
        gradient(lambda a: nn.KLDivLoss(reduction=r, log_target=True)(a, y), x)
    for r in REDUCTIONS:
        gradient(lambda a: nn.PoissonNLLLoss(reduction=r)(a, v), x)
        gradient(lambda a: nn.PoissonNLLLoss(full=True, reduction=r)(a, v * 3), x)
        gradient(lambda a: nn.PoissonNLLLoss(False, eps=0.1, reduction=r)(a, v), p)
        gradient(nn.GaussianNLLLoss(reduction=r), x, y, v)
        gradient(lambda a: nn.GaussianNLLLoss(full=True, eps=1.0, reduction=r)(a, y, v), x)
        gradient(lambda a: nn.GaussianNLLLoss(reduction=r)(a, y, 0.5), x)
of sequences
    x = values(6, 3, 5).log_softmax(-1)
    padded = torch.tensor([[1, 2, 2], [3, 9, 9], [4, 1, 9]])
    flat, single = torch.tensor([1, 2, 2, 3, 4, 1]), torch.tensor([2, 4])
    lengths = (torch.tensor([6, 5, 4]), torch.tensor([3, 1, 2]))
    for r in REDUCTIONS:
        gradient(lambda a: nn.CTCLoss(reduction=r)(a, padded, *lengths), x)
        gradient(lambda a: nn.CTCLoss(0, r, True)(a, flat.int(), (6, 2, 1), (3, 1, 2)), x)
        gradient(lambda a: nn.CTCLoss(reduction=r)(a, padded, (6, 5, 1), (3, 0, 2)), x)
        gradient(lambda a: nn.CTCLoss(3, r)(a, single, (5,), (2,)), x[:, 0])
    gradient(lambda a: F.ctc_loss(a, padded, *lengths), values(6, 3, 5).double())
    repr(nn.CTCLoss(2, "sum", True)), F.ctc_loss(x.half(), padded, *lengths)
    F.ctc_loss(x, padded, *lengths, blank=5), F.ctc_loss(x, padded, lengths[0] + 1, lengths[1])
    F.ctc_loss(x, padded, lengths[0], lengths[1] + 1), F.ctc_loss(x, flat[1:], *lengths)
    F.ctc_loss(x, padded[:2], *lengths), F.ctc_loss(x, padded, lengths[0].float(), lengths[1])
    F.ctc_loss(x, padded, *lengths, reduction="max"), F.ctc_loss(x[None], padded, *lengths)
    F.ctc_loss(x[0, 0], padded, *lengths)
    leaf = x.clone().requires_grad_()
    loss = F.ctc_loss(leaf, padded, *lengths)
    (g,) = torch.autograd.grad(loss, leaf, create_graph=True)
    name_of(g.grad_fn), torch.autograd.grad(g.sum(), leaf)
of places
    a, b, c = [values(4, 3, seed=n) for n in range(3)]
    t, signs = torch.tensor([1.0, -1.0, -1.0, 1.0]), c.sign()
    gradient(F.triplet_margin_loss, a, b, c)
    for r in REDUCTIONS:
        gradient(lambda x: nn.HingeEmbeddingLoss(0.5, reduction=r)(x, signs), a)
        gradient(lambda x, y: nn.CosineEmbeddingLoss(0.1, reduction=r)(x, y, t), a, b)
        gradient(lambda x, y: nn.MarginRankingLoss(0.1, reduction=r)(x, y, signs), a, b)
        gradient(nn.TripletMarginLoss(0.7, 1.0, swap=True, reduction=r), a, b, c)
        gradient(nn.TripletMarginLoss(reduction=r), a, b, c)
refusals of further losses
    x, p = values(3, 4), values(3, 4, seed=1).softmax(1)
    warned(lambda: F.kl_div(x, p)), warned(lambda: nn.KLDivLoss(size_average=False))
    warned(lambda: F.kl_div(x, p, reduce=False)), F.kl_div(x, p, reduction="max")
    warned(lambda: F.poisson_nll_loss(x, p, size_average=False)), F.gaussian_nll_loss(x, x, p[0])
    F.gaussian_nll_loss(x, x, -0.5), F.gaussian_nll_loss(x, x, -p)
    numbers(F.gaussian_nll_loss(*x[0, :2], p[0, 0]))
    F.gaussian_nll_loss(x[0, 0], torch.tensor(1), torch.tensor(4))
    F.gaussian_nll_loss(x, x, p, reduction="max"), nn.TripletMarginLoss(-1)
    F.cosine_embedding_loss(x, x[0], torch.ones(3)), F.cosine_embedding_loss(x, x, torch.ones(3, 4))
    F.margin_ranking_loss(x, x, torch.ones(3)), F.triplet_margin_loss(x, x[0], x)
    F.triplet_margin_loss(x, x, x, 0)
""")
