"""The further losses as modules: values, gradients, states, refusals and warnings."""

from tests.answers import given, sessions
from tests.nn.golden_loss import REDUCTIONS, gradient, values

session = sessions(lambda torch: given(torch, values, REDUCTIONS=REDUCTIONS, gradient=gradient))
losses = session("""
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
of places
    a, b, c = [values(4, 3, seed=n) for n in range(3)]
    t, signs = torch.tensor([1.0, -1.0, -1.0, 1.0]), c.sign()
    for r in REDUCTIONS:
        gradient(lambda x: nn.HingeEmbeddingLoss(0.5, reduction=r)(x, signs), a)
        gradient(lambda x, y: nn.CosineEmbeddingLoss(0.1, reduction=r)(x, y, t), a, b)
        gradient(lambda x, y: nn.MarginRankingLoss(0.1, reduction=r)(x, y, signs), a, b)
        gradient(nn.TripletMarginLoss(0.7, 1.0, swap=True, reduction=r), a, b, c)
        gradient(nn.TripletMarginLoss(reduction=r), a, b, c)
refusals
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
