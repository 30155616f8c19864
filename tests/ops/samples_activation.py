"""Samples of the further activations, and of the forms in place."""

from tests.ops.sampling import Table, at, bad, ints, kink, rows, s, x

KINKS = kink(at(0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 30.0, -30.0))
SMALL = kink(at(0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 0.5, -0.5))
PLAIN = s(x(3, 4)), s(x()), s(x(2, 0)), s(x(2, 3, 4, domain="wide"))

FURTHER: Table = {
    "celu": rows(*PLAIN, s(x(3), 0.5), s(x(3), alpha=-2.0), KINKS, bad(x(2), 0), bad(ints(3))),
    "mish": rows(*PLAIN, KINKS, bad(ints(3))),
    "glu": rows(
        s(x(4)), s(x(2, 4)), s(x(2, 4, 3), 1), s(x(4, 3), 0), s(x(0, 4)), s(x(2, 6), dim=-1),
        bad(x(3)), bad(x()), bad(x(2, 4), 2), bad(ints(4)),
    ),
    "hardsigmoid": rows(*PLAIN, KINKS, bad(ints(3))),
    "hardswish": rows(*PLAIN, KINKS, bad(ints(3))),
    "hardshrink": rows(*PLAIN, s(x(3), 1.5), s(x(3), lambd=-1.0), KINKS, bad(ints(3))),
    "softshrink": rows(*PLAIN, s(x(3), 1.5), KINKS, bad(x(2), -1), bad(ints(3))),
    "threshold": rows(s(x(3, 4), 0.3, 2.0), s(x(2), 0, 0), s(ints(4), 0, 5),
                      kink(at(0.0, 1.0, 2.0), 1.0, 7.0)),
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
    "hardtanh_": rows(s(x(3, 4)), s(x(3), -0.5, 1.5), SMALL),
    "threshold_": rows(s(x(3, 4), 0.3, 2.0), s(x(2), 0, 0)),
    "silu_in_place": rows(s(x(3, 4)), call=lambda torch, a: torch.nn.functional.silu(a * 2, True)),
    "mish_in_place": rows(s(x(3, 4)), call=lambda torch, a: torch.nn.functional.mish(a * 2, True)),
    "hardsigmoid_in_place": rows(
        s(x(3, 4)), call=lambda torch, a: torch.nn.functional.hardsigmoid(a * 2, True)
    ),
    "hardswish_in_place": rows(
        s(x(3, 4)), call=lambda torch, a: torch.nn.functional.hardswish(a * 2, True)
    ),
}  # fmt: skip

ACTIVATIONS: Table = {**FURTHER, **IN_PLACE}
