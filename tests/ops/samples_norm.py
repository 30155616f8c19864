"""Samples of normalizations and distances."""

from tests.ops.sampling import Table, at, bad, fixed, ints, kink, rows, s, x

ROW = fixed(1.0, 2.0, 0.5, 1.5)

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
        s(x(2, 4, 3), ROW, ROW, x(4), x(4), False), s(x(2, 4, 3), eps=0.1),
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
    "pairwise_distance": rows(
        s(x(3, 4), x(3, 4)), s(x(3, 4), x(4)), s(x(4), x(4)), s(x(3, 4), x(3, 4), 1.0),
        s(x(3, 4), x(3, 4), 3.0, 0.1, True), s(x(3, 4), x(3, 4), float("inf")),
        s(x(0, 4), x(0, 4)), bad(x(3, 4), x(2, 4)), s(ints(3, 4), ints(3, 4)),
        bad(x(3, 4), 3.0),
    ),
    "cosine_similarity": rows(
        s(x(3, 4), x(3, 4)), s(x(3, 4), x(3, 4), 0), s(x(3, 4), x(4)), s(x(2, 3, 4), x(3, 1), -1),
        s(x(), x(), 0), kink(x(3, 4), x(3, 4), eps=9.0), bad(x(3, 4), x(3, 4), 2),
        bad(x(3, 4), x(2, 4)), bad(ints(3, 4), ints(3, 4)),
    ),
    "pdist": rows(
        s(x(3, 4)), s(x(4, 2), 1.0), s(x(3, 2), 3.0), s(x(3, 2), float("inf")), s(x(1, 4)),
        s(x(3, 4), 0), kink(at([1.0, 2.0], [1.0, 2.0], [0.0, 1.0])), bad(x(4)), bad(x(3, 4), -1),
        bad(ints(3, 4)),
    ),
}  # fmt: skip
