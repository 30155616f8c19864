"""Samples of activations, losses, normalizations, distances, convolution and pooling."""

from typing import Any

from tests.ops.sampling import (
    Table,
    alike,
    at,
    bad,
    bools,
    fixed,
    given,
    ints,
    kink,
    pos,
    prob,
    rows,
    s,
    unary,
    x,
)

KINKS = kink(at(0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 30.0, -30.0))
TARGET = given([1, 0, 2])
PIXELS = given([[[1, 0], [2, 1], [0, 2]], [[0, 0], [1, 2], [2, 1]]])
BINARY = fixed([0.0, 1.0, 1.0], [1.0, 0.0, 0.5])
WEIGHTS = fixed(1.0, 2.0, 0.5)
SIGNS = fixed(1.0, -1.0, 1.0)

ACTIVATION: Table = {
    **alike("tanh sigmoid", unary("real", KINKS)),
    "relu": rows(s(x(3, 4)), s(x()), s(x(2, 0)), s(ints(4)), KINKS),
    "relu6": rows(s(x(3, 4, domain="wide")), KINKS),
    "leaky_relu": rows(s(x(3, 4)), s(x(3), 0.2), s(x(3), negative_slope=-0.5), KINKS),
    "elu": rows(s(x(3, 4)), s(x(3), 0.5), KINKS),
    **alike("selu silu logsigmoid softsign tanhshrink", rows(s(x(3, 4)), KINKS)),
    "gelu": rows(s(x(3, 4)), s(x(3, 4), approximate="tanh"), KINKS),
    "softplus": rows(s(x(3, 4)), s(x(3), 2.0), s(x(3), 3.0, 1.5), KINKS),
    "hardtanh": rows(s(x(3, 4)), s(x(3), -0.5, 1.5), KINKS),
    "softmax": rows(
        s(x(2, 3), 1), s(x(2, 3), 0), s(x(2, 3, 4), -1), s(x(), 0), s(x(0, 3), 1), s(x(3, 0), 1),
        s(x(2, 3, 4), 1), kink(at(1000.0, 999.0), 0), bad(x(2, 3), 2), bad(ints(3), 0),
    ),
    "log_softmax": rows(
        s(x(2, 3), 1), s(x(2, 3), 0), s(x(2, 3, 4), -1), s(x(), 0), s(x(0, 3), 1), s(x(3, 0), 1),
        s(x(2, 3, 4), 1), kink(at(1000.0, 0.0), 0), bad(x(2, 3), 2), bad(ints(3), 0),
    ),
    "softmin": rows(s(x(2, 3), 1)),
}  # fmt: skip

REDUCTIONS = ("none", "mean", "sum")

LOSS: Table = {
    "mse_loss": rows(
        *[s(x(2, 3), x(2, 3), reduction=r) for r in REDUCTIONS], s(x(), x()), s(x(2, 3), x(2, 3)),
        bad(x(2, 3), x(4, 3)), bad(x(2), x(2), reduction="max"),
    ),
    "l1_loss": rows(
        *[s(x(2, 3), x(2, 3), reduction=r) for r in REDUCTIONS],
        kink(at(1.0, 2.0), at(1.0, 1.0)),
    ),
    "smooth_l1_loss": rows(
        *[s(x(2, 3), x(2, 3), reduction=r) for r in REDUCTIONS],
        s(x(2, 3), x(2, 3), beta=0.5), s(x(2, 3), x(2, 3), beta=0.0),
    ),
    "huber_loss": rows(
        *[s(x(2, 3), x(2, 3), reduction=r) for r in REDUCTIONS],
        s(x(2, 3), x(2, 3), delta=0.5),
    ),
    "binary_cross_entropy": rows(
        *[s(prob(2, 3), BINARY, reduction=r) for r in REDUCTIONS], s(prob(2, 3), prob(2, 3)),
        s(prob(2, 3), BINARY, WEIGHTS), kink(at(0.0, 1.0), at(1.0, 0.0)), bad(prob(2, 3), prob(3)),
        tolerance=1e-8,
    ),
    "binary_cross_entropy_with_logits": rows(
        *[s(x(2, 3), BINARY, reduction=r) for r in REDUCTIONS], s(x(2, 3), prob(2, 3)),
        s(x(2, 3), BINARY, WEIGHTS), s(x(2, 3), BINARY, pos_weight=WEIGHTS),
        kink(at(10.0, -10.0), at(1.0, 0.0)), bad(x(2, 3), prob(3)),
    ),
    "nll_loss": rows(
        *[s(x(3, 4), TARGET, reduction=r) for r in REDUCTIONS],
        s(x(3, 4), TARGET, fixed(1.0, 2.0, 0.5, 1.5)), s(x(3, 4), given([1, -100, 2])),
        s(x(3, 4), TARGET, ignore_index=0), s(x(2, 3, 3, 2), PIXELS), s(x(4), given(2)),
        s(x(3, 4), TARGET, ignore_index=1), bad(x(3, 4), given([1, 0])), bad(x(3, 2), TARGET),
        bad(x(3, 4), x(3)),
    ),
    "cross_entropy": rows(
        *[s(x(3, 4), TARGET, reduction=r) for r in REDUCTIONS], s(x(3, 4), given([1, -100, 2])),
        s(x(3, 4), TARGET, label_smoothing=0.1), s(x(3, 4), TARGET, fixed(1.0, 2.0, 0.5, 1.5)),
        s(x(3, 4), prob(3, 4)), s(x(3, 4), prob(3, 4), label_smoothing=0.2),
        s(x(2, 3, 3, 2), PIXELS), s(x(4), given(2)), s(x(3, 4), TARGET, ignore_index=0),
        bad(x(3, 4), given([1, 0])), bad(x(3, 2), TARGET),
    ),
}  # fmt: skip

NORMALISATION: Table = {
    "layer_norm": rows(
        s(x(2, 3), (3,)), s(x(2, 3), (3,), x(3), x(3)), s(x(2, 3, 4), (3, 4), x(3, 4), x(3, 4)),
        s(x(2, 3), (3,), eps=0.1), bad(x(2, 3), (2,)),
    ),
    "batch_norm": rows(
        s(x(4, 3), None, None, training=True), s(x(4, 3), None, None, x(3), x(3), True),
        s(x(2, 3, 4), None, None, x(3), x(3), True), s(x(4, 3), WEIGHTS, WEIGHTS, x(3), x(3)),
        s(x(4, 3), None, None, x(3), None, True), bad(x(1, 3), None, None, training=True),
    ),
    "dropout": rows(s(x(2, 3), 0.5, False), s(x(2, 3), 0.0), s(x(2, 3), 1.0), bad(x(2), 1.5)),
}  # fmt: skip

NN: Table = {**ACTIVATION, **LOSS, **NORMALISATION}


SMALL = kink(at(0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 0.5, -0.5))
PLAIN = s(x(3, 4)), s(x()), s(x(2, 0)), s(x(2, 3, 4, domain="wide"))

FURTHER: Table = {
    **alike("mish hardsigmoid hardswish", rows(*PLAIN, KINKS, bad(ints(3)))),
    "celu": rows(*PLAIN, s(x(3), 0.5), s(x(3), -2.0), KINKS, bad(x(3), 0.0), bad(ints(3))),
    **alike("hardshrink softshrink", rows(*PLAIN, s(x(4), 0.25), KINKS, bad(ints(3)))),
    "threshold": rows(
        s(x(3, 4), 0.25, 20.0), s(x(), -1.0, 3.0), s(ints(4), 1.5, 2.75), s(x(2, 0), 0.0, 1.0),
        kink(at(0.0, -0.0, 1.0, -1.0), 0.0, 1.0), bad(bools(2), 0.0, 1.0), bad(x(2), None, 1.0),
    ),
    "rrelu": rows(*PLAIN, s(x(3), 0.1, 0.5), s(x(3), 0.5, 0.5, True), bad(x(3), 0.5, 0.25),
        bad(x(3), 0.0, float("inf")), bad(ints(3)), kinks=False,
    ),
    "glu": rows(
        s(x(4)), s(x(2, 4)), s(x(2, 4, 3), 1), s(x(4, 3), 0), s(x(0, 4)), s(x(2, 6), dim=-1),
        bad(x(3)), bad(x()), bad(x(2, 4), 2), bad(ints(4)),
    ),
    "prelu": rows(
        s(x(3, 4), x(4)), s(x(3, 4), x(1)), s(x(2, 3, 4), x(3)), s(x(2, 3, 2, 2), x(3)),
        s(x(4), x(1)), s(x(3), x()), s(x(), x(1)), s(x(), x()), s(x(0, 3), x(3)),
        kink(at(0.0, -1.0, 1.0), x(1)), bad(x(2, 3), x(2)), bad(x(2, 3), x(3, 1)),
        bad(x(3), x(3)), bad(x(), x(2)), bad(ints(3), x(1)), bad(ints(3), ints(1)),
        kinks=False,  # at 0, PyTorch lets the gradient of the weight depend on nothing
    ),
}  # fmt: skip

IN_PLACE: Table = {
    "relu_": rows(s(x(3, 4)), SMALL),
    "leaky_relu_": rows(s(x(3, 4)), s(x(3), 0.2), SMALL),
    "elu_": rows(s(x(3, 4)), s(x(3), 0.5), SMALL),
    "selu_": rows(s(x(3, 4)), SMALL),
    "celu_": rows(s(x(3, 4)), s(x(3), 0.5), SMALL),
    "threshold_": rows(s(x(3, 4), 0.25, 20.0), kink(at(0.0, -0.0, 1.0, -1.0), 0.0, 1.0)),
    "rrelu_": rows(s(x(3, 4)), s(x(3), 0.1, 0.5)),
    "hardtanh_": rows(s(x(3, 4)), s(x(3), -0.5, 1.5), SMALL),
    **{
        f"{name}_in_place": rows(
            s(x(3, 4)), call=lambda torch, a, n=name: getattr(torch.nn.functional, n)(a * 2, True)
        )
        for name in ("silu", "mish", "hardsigmoid", "hardswish")
    },
}  # fmt: skip

ACTIVATIONS: Table = {**FURTHER, **IN_PLACE}


REDUCED = ("mean", "sum")
EACH_SIGN = fixed([1.0, -1.0, 1.0, -1.0], [-1.0, 1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0])
ROW = fixed(1.0, -1.0, 1.0)
CLASSES = given([1, 0, 3])
LISTS = given([[1, 0, -1, 2], [3, -1, 0, 0], [-1, 0, 0, 0]])
BY_CLASS = fixed(1.0, 2.0, 0.5, 1.5)


def alignment(torch: Any, steps: Any, *args: Any, **kwargs: Any) -> Any:
    """`ctc_loss` of logits: its gradient is theirs, not that of the logarithms that it gets."""
    return torch.nn.functional.ctc_loss(steps.log_softmax(-1), *args, **kwargs)


STEPS, STEP_COUNTS, LABEL_COUNTS = x(5, 2, 4), given([5, 4]), given([3, 1])
LABELS = given([[1, 2, 2], [2, 1, 9]])

LOSSES: Table = {
    "kl_div": rows(
        *[s(x(3, 4), prob(3, 4), reduction=r) for r in ("sum", "batchmean")],
        s(x(3, 4), x(3, 4), reduction="sum", log_target=True), s(x(4), prob(4), reduction="none"),
        s(x(3, 4), prob(4), reduction="sum"), s(x(), prob(), reduction="batchmean"),
        s(x(4), fixed(0.0, 0.5, 1.0, 0.0), reduction="none"), bad(x(2), prob(2), reduction="max"),
    ),
    "ctc_loss": rows(
        *[s(STEPS, LABELS, STEP_COUNTS, LABEL_COUNTS, reduction=r) for r in REDUCTIONS],
        s(STEPS, given([1, 2, 2, 2]), STEP_COUNTS, LABEL_COUNTS), s(STEPS, LABELS, (5, 4), (0, 2)),
        s(STEPS, LABELS, (4, 5), (3, 1), 3, "none"), s(x(5, 4), given([1, 3]), (5,), (2,)),
        s(x(5, 4), given([1, 3]), given(4), given(2), reduction="none"),
        s(STEPS, LABELS, (2, 5), (3, 1), zero_infinity=True), s(STEPS, LABELS, (0, 5), (0, 0)),
        kink(STEPS, LABELS, (2, 0), (3, 1), reduction="none"),
        s(STEPS, given([[], []]), (5, 3), (0, 0), reduction="sum"),
        bad(STEPS, LABELS, (5, 4), (3, 4)), bad(STEPS, LABELS, (6, 4), (3, 1)),
        bad(STEPS, LABELS, (5, -1), (3, 1)), bad(STEPS, LABELS, (5, 4), (3, -1)),
        bad(STEPS, LABELS, (5,), (3, 1)), bad(STEPS, LABELS, (5, 4), (3,)),
        bad(STEPS, LABELS, (5, 4), (3, 1), 4), bad(STEPS, LABELS, (5, 4), (3, 1), -1),
        bad(STEPS, LABELS, (5, 4), (3, 1), 0, "max"),
        bad(STEPS, LABELS, STEP_COUNTS, x(2, grad=False)),
        bad(STEPS, given([1, 2]), STEP_COUNTS, LABEL_COUNTS),
        bad(STEPS, given([[1, 2, 3]]), STEP_COUNTS, LABEL_COUNTS), call=alignment, second=False,
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
        bad(x(2), x(2), pos(2), reduction="max"), bad(x(2), x(2), fixed(-1.0, 1.0)),
    ),
    "hinge_embedding_loss": rows(
        *[s(x(3, 4), EACH_SIGN, reduction=r) for r in REDUCED], s(x(3, 4), EACH_SIGN, 0.3),
        s(x(3), ROW, reduction="none"), bad(x(2), x(2), reduction="max"),
    ),
    "cosine_embedding_loss": rows(
        *[s(x(3, 4), x(3, 4), ROW, reduction=r) for r in REDUCTIONS],
        s(x(3, 4), x(3, 4), ROW, 0.3), s(x(4), x(4), given(1.0, "float32")),
        bad(x(3, 4), x(4), ROW), bad(x(3, 4), x(3, 4), EACH_SIGN),
    ),
    "margin_ranking_loss": rows(
        *[s(x(3, 4), x(3, 4), EACH_SIGN, reduction=r) for r in REDUCED],
        s(x(3), x(3), ROW, reduction="none"),
        s(x(3, 4), x(3, 4), EACH_SIGN, 0.5), bad(x(3, 4), x(3, 4), ROW),
    ),
    "triplet_margin_loss": rows(
        *[s(x(3, 4), x(3, 4), x(3, 4), reduction=r) for r in REDUCTIONS], s(x(4), x(4), x(4)),
        s(x(3, 4), x(3, 4), x(3, 4), 2.0, 3.0, 0.1), s(x(3, 4), x(3, 4), x(3, 4), swap=True),
        bad(x(2), x(2), x(2), -1.0), bad(x(2), x(2, 2), x(2)),
    ),
}  # fmt: skip


SCALES = fixed(1.0, 2.0, 0.5, 1.5)

NORMS: Table = {
    "group_norm": rows(
        s(x(2, 4, 3), 2), s(x(2, 4, 3), 2, x(4), x(4)), s(x(3, 4), 1, x(4)),
        s(x(2, 4, 2, 2), 4, None, x(4)), s(x(2, 4, 3), 2, x(4), x(4), 0.1), s(x(0, 4, 2), 2),
        bad(x(2, 4, 3), 3), bad(x(2, 4, 3), -2), bad(x(2, 4, 3), 2, x(3)),
        bad(x(2, 4, 3), 2, x(4), x(2)), bad(x(4), 1), bad(x(1, 4), 4), bad(ints(2, 4, 3), 2),
        bad(x(2, 4, 0), 2),
    ),
    "instance_norm": rows(
        s(x(2, 4, 3)), s(x(2, 4, 3), weight=x(4), bias=x(4)), s(x(2, 4, 2, 2), weight=x(4)),
        s(x(2, 4, 3), SCALES, SCALES, x(4), x(4), False), s(x(2, 4, 3), eps=0.1),
        bad(x(2, 4)), bad(x(2, 4, 1)), bad(x(2, 4, 3), use_input_stats=False),
        bad(x(2, 4, 3), weight=x(3)),
    ),
    "rms_norm": rows(
        s(x(2, 3), (3,)), s(x(2, 3), (3,), x(3)), s(x(2, 3, 4), (3, 4), x(3, 4)),
        s(x(2, 3), (3,), eps=0.1), bad(x(2, 3), (2,)), bad(x(2, 3), ()), bad(x(2, 3), (3,), x(2)),
        bad(ints(2, 3), (3,)),
        nodes=False,  # the precision of the square root is not that of the last bits of eps
    ),
    "local_response_norm": rows(
        s(x(2, 4, 3), 3), s(x(2, 4, 3), 2, 0.5, 0.6, 2.0), s(x(2, 5, 2, 2), 4, 0.5),
        s(x(1, 3, 2, 1, 2), 1, 0.5), s(x(2, 3, 2), 9, 0.5), s(x(2, 4, 0), 2), bad(x(2, 4), 2),
    ),
    "normalize": rows(
        s(x(2, 3)), s(x(2, 3), 1.0), s(x(2, 3), 3.0, 0), s(x(2, 3, 2), 2.0, (0, 2)),
        s(x(2, 3), float("inf")), s(x(3), dim=0), s(x(2, 3), eps=9.0), bad(x(3)),
        bad(x(2, 3), dim=5), bad(ints(2, 3)),
    ),
    "stretched": rows(
        s(x(3, 4), x(3, 1), 0), s(x(3, 4), x(1, 4), 1), s(x(2, 3, 2), x(2, 1, 1), 0),
        s(x(3, 4), x(), -1),
        torch=None,  # PyTorch's second derivative of it is wrong, as its own `gradgradcheck` says
    ),
}  # fmt: skip

DISTANCES: Table = {
    "bilinear": rows(
        s(x(4, 2), x(4, 3), x(2, 2, 3), x(2)), s(x(2), x(3), x(4, 2, 3)),
        s(x(2, 2, 3), x(2, 2, 1), x(2, 3, 1), x(2)), s(x(0, 2), x(0, 3), x(4, 2, 3)),
        s(ints(2), ints(3), ints(4, 2, 3)),
        bad(x(4, 2), x(2, 3), x(4, 2, 3)), bad(x(4, 2), x(3), x(4, 2, 3)),
        bad(x(4, 2), x(4, 2), x(4, 2, 3)), bad(x(4, 2), x(4, 3), x(4, 3, 3)),
        bad(x(4, 2), x(4, 3), x(4, 2, 3), x(3)), bad(x(4, 2), ints(4, 3), x(4, 2, 3)),
    ),
    "pairwise_distance": rows(
        s(x(3, 4), x(3, 4)), s(x(3, 4), x(4)), s(x(4), x(4)), s(x(3, 4), x(3, 4), 1.0),
        s(x(3, 4), x(3, 4), 3.0, 0.1, True), s(x(3, 4), x(3, 4), float("inf")),
        s(x(0, 4), x(0, 4)), bad(x(3, 4), x(2, 4)), s(ints(3, 4), ints(3, 4)), bad(x(3, 4), 3.0),
    ),
    "cosine_similarity": rows(
        s(x(3, 4), x(3, 4)), s(x(3, 4), x(3, 4), 0), s(x(3, 4), x(4)), s(x(2, 3, 4), x(3, 1), -1),
        s(x(), x(), 0), kink(x(3, 4), x(3, 4), eps=9.0), bad(x(3, 4), x(3, 4), 2),
        bad(x(3, 4), x(2, 4)), bad(ints(3, 4), ints(3, 4)),
    ),
}  # fmt: skip
