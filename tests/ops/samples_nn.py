"""Samples of activations, softmax, losses, normalisation, convolution and pooling."""

from tests.ops.sampling import Table, at, bad, fixed, given, ints, kink, prob, rows, s, unary, x

KINKS = kink(at(0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 30.0, -30.0))
TARGET = given([1, 0, 2])
PIXELS = given([[[1, 0], [2, 1], [0, 2]], [[0, 0], [1, 2], [2, 1]]])
BINARY = fixed([0.0, 1.0, 1.0], [1.0, 0.0, 0.5])
WEIGHTS = fixed(1.0, 2.0, 0.5)
SIGNS = fixed(1.0, -1.0, 1.0)

ACTIVATION: Table = {
    "tanh": unary("real", KINKS),
    "sigmoid": unary("real", KINKS),
    "relu": rows(s(x(3, 4)), s(x()), s(x(2, 0)), s(ints(4)), KINKS),
    "relu6": rows(s(x(3, 4, domain="wide")), KINKS),
    "leaky_relu": rows(s(x(3, 4)), s(x(3), 0.2), s(x(3), negative_slope=-0.5), KINKS),
    "elu": rows(s(x(3, 4)), s(x(3), 0.5), KINKS),
    "selu": rows(s(x(3, 4)), KINKS),
    "gelu": rows(s(x(3, 4)), s(x(3, 4), approximate="tanh"), KINKS),
    "silu": rows(s(x(3, 4)), KINKS),
    "softplus": rows(s(x(3, 4)), s(x(3), 2.0), s(x(3), 3.0, 1.5), KINKS),
    "logsigmoid": rows(s(x(3, 4)), KINKS),
    "softsign": rows(s(x(3, 4)), KINKS),
    "tanhshrink": rows(s(x(3, 4)), KINKS),
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
        s(x(2, 3), x(2, 3), beta=0.5),
        s(x(2, 3), x(2, 3), beta=0.0),
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

CONVOLUTION: Table = {}

NN: Table = {**ACTIVATION, **LOSS, **NORMALISATION, **CONVOLUTION}
