"""Samples of the further losses: likelihoods, margins, rankings."""

from tests.ops.sampling import Table, at, bad, fixed, given, kink, pos, prob, rows, s, x

REDUCTIONS = ("none", "mean", "sum")
REDUCED = ("mean", "sum")
SIGNS = fixed([1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0])
ROW = fixed(1.0, -1.0, 1.0)
CLASSES = given([1, 0, 3])
LISTS = given([[1, 0, -1, 2], [3, -1, 0, 0], [-1, 0, 0, 0]])
WEIGHTS = fixed(1.0, 2.0, 0.5, 1.5)

LOSSES: Table = {
    "kl_div": rows(
        *[s(x(3, 4), prob(3, 4), reduction=r) for r in ("sum", "batchmean")],
        s(x(3, 4), x(3, 4), reduction="sum", log_target=True), s(x(4), prob(4), reduction="none"),
        s(x(3, 4), prob(4), reduction="sum"), s(x(), prob(), reduction="batchmean"),
        s(x(4), fixed(0.0, 0.5, 1.0, 0.0), reduction="none"),
        bad(x(2), prob(2), reduction="max"),
    ),
    "poisson_nll_loss": rows(
        *[s(x(3, 4), pos(3, 4), reduction=r) for r in REDUCED], s(x(3, 4), pos(3, 4), full=True),
        s(x(4), pos(4), reduction="none"),
        s(pos(3, 4), pos(3, 4), log_input=False), s(x(3, 4), pos(4)), bad(x(3, 4), pos(2, 4)),
        bad(x(2), pos(2), reduction="max"),
    ),
    "gaussian_nll_loss": rows(
        *[s(x(3, 4), x(3, 4), pos(3, 4), reduction=r) for r in REDUCED],
        s(x(4), x(4), pos(4), reduction="none"),
        s(x(3, 4), x(3, 4), pos(3, 1), full=True), s(x(3, 4), x(3, 4), pos(3)),
        s(x(3, 4), x(3, 4), 0.5), kink(x(2), x(2), at(0.5, 0.1), eps=0.2),
        bad(x(3, 4), x(3, 4), pos(4)), bad(x(2), x(2), -0.5),
        bad(x(2), x(2), pos(2), reduction="max"),
        bad(x(2), x(2), fixed(-1.0, 1.0)),
    ),
    "hinge_embedding_loss": rows(
        *[s(x(3, 4), SIGNS, reduction=r) for r in REDUCED], s(x(3, 4), SIGNS, 0.3),
        s(x(3), ROW, reduction="none"),
        bad(x(2), x(2), reduction="max"),
    ),
    "cosine_embedding_loss": rows(
        *[s(x(3, 4), x(3, 4), ROW, reduction=r) for r in REDUCTIONS],
        s(x(3, 4), x(3, 4), ROW, 0.3), s(x(4), x(4), given(1.0, "float32")),
        bad(x(3, 4), x(4), ROW), bad(x(3, 4), x(3, 4), SIGNS),
    ),
    "margin_ranking_loss": rows(
        *[s(x(3, 4), x(3, 4), SIGNS, reduction=r) for r in REDUCED],
        s(x(3), x(3), ROW, reduction="none"),
        s(x(3, 4), x(3, 4), SIGNS, 0.5), bad(x(3, 4), x(3, 4), ROW),
    ),
    "triplet_margin_loss": rows(
        *[s(x(3, 4), x(3, 4), x(3, 4), reduction=r) for r in REDUCTIONS], s(x(4), x(4), x(4)),
        s(x(3, 4), x(3, 4), x(3, 4), 2.0, 3.0, 0.1), s(x(3, 4), x(3, 4), x(3, 4), swap=True),
        bad(x(2), x(2), x(2), -1.0), bad(x(2), x(2, 2), x(2)),
    ),
    "triplet_margin_with_distance_loss": rows(
        *[s(x(3, 4), x(3, 4), x(3, 4), reduction=r) for r in REDUCTIONS],
        s(x(3, 4), x(3, 4), x(3, 4), margin=2.0, swap=True), bad(x(2), x(2), x(2), margin=0),
        bad(x(2), x(2, 2), x(2)),
    ),
    "multilabel_soft_margin_loss": rows(
        *[s(x(3, 4), prob(3, 4), reduction=r) for r in REDUCTIONS],
        s(x(3, 4), prob(3, 4), WEIGHTS), s(x(4), prob(4)), bad(x(4), prob(4), reduction="max"),
    ),
    "soft_margin_loss": rows(
        *[s(x(3, 4), SIGNS, reduction=r) for r in REDUCED], s(x(2, 3, 3), ROW),
        s(x(3), ROW, reduction="none"), kink(at(20.0, -20.0), fixed(1.0, 1.0)),
        bad(x(2), fixed(1.0, 1.0), reduction="max"),
    ),
}  # fmt: skip
