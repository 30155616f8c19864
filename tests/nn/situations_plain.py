"""Functions of `nn.functional` as the package itself has them."""

from typing import Any

from tests.answers import numbers, raised


def values(torch: Any) -> Any:
    x = torch.arange(24.0).reshape(2, 4, 3).sin()
    w, b = torch.arange(4.0) + 1, torch.arange(4.0) - 1
    mean, var = torch.zeros(4), torch.ones(4)
    results = [
        torch.selu(x), torch.celu(x, 0.5), torch.threshold(x, 0.2, 3.0), torch.rrelu(x, 0.1, 0.3),
        torch.rrelu(x, 0.1, 0.3, True), torch.hardshrink(x, 0.3), x.hardshrink(),
        torch.dropout(x, 0.5, True), torch.alpha_dropout(x, 0.5, True),
        torch.feature_dropout(x, 0.5, True), torch.feature_alpha_dropout(x, 0.5, True),
        torch.layer_norm(x, (3,)), torch.group_norm(x, 2, w, b), torch.rms_norm(x, (3,)),
        torch.batch_norm(x, w, b, mean, var, True, 0.1, 1e-5, False), mean, var,
        torch.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, False),
        torch.norm_except_dim(x, 2, 0), torch.norm_except_dim(x, 1, 1),
        torch.norm_except_dim(x, 2, -1), torch.bilinear(x, x, torch.ones(2, 3, 3)),
    ]  # fmt: skip
    return [*[numbers(r) for r in results], torch.rand(2)]


def in_place(torch: Any) -> Any:
    answers = []
    for call in (torch.selu_, torch.celu_, lambda x: torch.threshold_(x, 0.2, 3.0), torch.rrelu_,
                 lambda x: torch.dropout_(x, 0.5, True),
                 lambda x: torch.alpha_dropout_(x, 0.5, True),
                 lambda x: torch.feature_dropout_(x, 0.5, True),
                 lambda x: torch.feature_alpha_dropout_(x, 0.5, True)):  # fmt: skip
        x = torch.arange(24.0).reshape(2, 4, 3).sin()
        answers.append([call(x) is x, numbers(x)])
    return answers


def refusals(torch: Any) -> Any:
    x = torch.ones(2, 4, 3)
    return [
        raised(torch.layer_norm, x, (4,)), raised(torch.group_norm, x, 3),
        raised(torch.hardshrink, x.long()),
    ]  # fmt: skip


def losses(torch: Any) -> Any:
    x, y = torch.arange(6.0).reshape(2, 3).sin(), torch.arange(6.0).reshape(2, 3).cos()
    p, signs, row = y.softmax(1), y.sign(), torch.tensor([1.0, -1.0])
    answers = []
    r: dict[str, int]
    for r in ({}, *({"reduction": n} for n in range(4))):
        answers += [
            torch.kl_div(x, p, **r), torch.kl_div(x, y, log_target=True, **r),
            torch.hinge_embedding_loss(x, signs, 0.5, **r),
            torch.cosine_embedding_loss(x, y, row, 0.1, **r),
            torch.margin_ranking_loss(x, y, signs, 0.1, **r),
            torch.triplet_margin_loss(x, y, x * 2, **r),
            torch.binary_cross_entropy_with_logits(x, p, x.abs(), p, **r),
            torch.poisson_nll_loss(x, p, True, False, 1e-8, r.get("reduction", 1)),
        ]  # fmt: skip
    return [*[numbers(a) for a in answers], raised(torch.kl_div, x, p, "mean")]
