"""Samples of the rarer elementwise functions, of one, two and three tensors; `torch.special`."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

from tests.ops.sampling import (
    Row,
    Sample,
    Table,
    alike,
    at,
    bad,
    binary,
    bools,
    either,
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

SPECIAL = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan)
GAMMA = (s(at(-0.5, -1.25, -2.75, 7.5, 20.25)), kink(at(1e6)))
PAIRS = (at(1.0, 0.0, nan, 1.0, nan, inf, -inf), at(1.0, -0.0, 1.0, nan, nan, inf, 1.0))


def of_floats(*more: Sample, kinks: bool = True) -> Row:
    """Samples of a function of two tensors of which one at least must be of floats."""
    return binary(
        "real", "real", s(ints(3), x(3)), s(x(2, 3), ints(3)), bad(ints(3), ints(3)),
        bad(x(3), 2.0), kink(*PAIRS), *more, integers=False, kinks=kinks,
    )  # fmt: skip


def of_integers(*more: Sample) -> Row:
    """Samples of a function of integers."""
    return rows(
        s(ints(2, 3), ints(3)), s(ints(4), given([0, 2, 3, 6])),
        s(ints(4, dtype="uint8"), ints(4, domain="positive", dtype="uint8")),
        s(ints(4, dtype="int16"), ints(dtype="int64", domain="positive")), bad(ints(2), ints(3)),
        bad(ints(2), x(2, grad=False)), bad(bools(2), bools(2)), *more,
    )  # fmt: skip


def shift() -> Row:
    """Samples of a shift of bits."""
    beyond = given([0, 1, 7, 8, 63, 64, 99, -1])
    return of_integers(
        s(ints(4), 2), s(2, ints(4, domain="positive")), s(ints(8), beyond),
        s(ints(8, dtype="int8"), given([0, 1, 6, 7, 8, 64, 99, -1], "int8")),
        s(ints(8, dtype="uint8"), given([0, 1, 6, 7, 8, 64, 99, 255], "uint8")), s(bools(3), 1),
        bad(ints(3), 1.5),
    )  # fmt: skip


def third(*more: Sample) -> Row:
    """Samples of a product or quotient of two tensors, added to a third."""
    return rows(
        s(x(2, 3), x(2, 3), pos(2, 3)), s(x(2, 3), x(3), pos(2, 1)), s(x(3), x(3), pos(3), value=2),
        s(x(3), x(3), pos(3), value=-0.5), s(x(), x(), pos()), s(x(0), x(0), pos(0)),
        s(ints(3), x(3), pos(3)), bad(x(3), x(2), pos(3)), bad(x(3), 1.0, x(3)), *more,
    )  # fmt: skip


SPECIAL_FUNCTIONS: Table = {
    **alike("deg2rad rad2deg", unary("wide")),
    "nan_to_num": rows(
        s(x(2, 3)), s(x()), s(ints(3)), s(bools(3)), kink(at(0.0, -0.0, 1.0, nan)),
        kink(at(*SPECIAL), 1.0, 2.0, -3.0), kink(at(*SPECIAL), posinf=1, neginf=0),
    ),
    "signbit": unary("real", s(fixed(*SPECIAL))),
    "logit": unary(
        "probability", s(prob(3), 0.3), s(prob(3), eps=1e-3), kink(at(*SPECIAL, 0.5)),
        kink(at(-1.0, 0.0, 0.25, 0.5, 1.0, 2.0), 0.25), kinks=False,
    ),
    "sinc": unary("real", kink(at(*SPECIAL)), kinks=False),
    "erfinv": unary("inside one", kink(at(*SPECIAL, 0.9375, -0.998046875, 0.0078125)), kinks=False),
    "lgamma": unary("positive", *GAMMA, kink(at(*SPECIAL)), tolerance=1e-9, kinks=False),
    "digamma": unary(
        "positive", *GAMMA, kink(at(0.0, -0.0, inf, nan)), tolerance=1e-9, kinks=False
    ),
    "is_nonzero": rows(s(x(1, 1)), s(given([0])), bad(x(2)), bad(x(0))),
    "is_floating_point": rows(s(x(2)), s(ints(2)), bad(2)),
    "is_complex": rows(s(x(2)), bad(2.0)),
    **alike("hypot logaddexp logaddexp2", of_floats(kinks=False)),
    "nextafter": rows(
        kink(x(2, 3), x(3)), kink(at(1.0, 0.0, nan, 1.0), at(1.0, -0.0, 1.0, nan)),
        s(ints(3), fixed(0.5, 1.0, 1.5)), bad(ints(2), ints(2)),
    ),
    "heaviside": rows(
        s(x(2, 3, grad=False), x(3, grad=False)),
        s(fixed(*SPECIAL), fixed(0.5, 0.25, nan, 0.5, 0.5, 0.5, 0.5)),
        s(given([-1, 0, 2]), given([5, 6, 7])), s(bools(3), bools(3)), bad(x(3), ints(3)),
        bad(x(2), x(3)), bad(x(2), 1.0),
    ),
    "copysign": binary(
        "real", "real", s(x(3), 2), s(x(3), -0.0), s(ints(3), -1.5), kink(*PAIRS),
        kink(at(*SPECIAL), -1), bad(2, x(3)), kinks=False,
    ),
    **alike("gcd lcm", of_integers(bad(ints(2), 2))),
    **alike("bitwise_left_shift bitwise_right_shift", shift()),
    **{
        f"tensor {sign} tensor": rows(
            s(ints(4), 2), s(2, ints(4, domain="positive")),
            s(ints(2, 3), ints(3, domain="positive")), bad(x(2), 1), call=call,
        )
        for sign, call in (("<<", lambda torch, a, b: a << b), (">>", lambda torch, a, b: a >> b))
    },
    "lerp": rows(
        s(x(2, 3), x(2, 3), 0.25), s(x(2, 3), x(3), 0.75), s(x(3), x(3), 2),
        s(x(2, 3), x(3), x(2, 1)), s(x(), x(), x()), s(x(0), x(0), 0.5),
        kink(at(1.0, 2.0), at(3.0, inf), 1.0), bad(ints(3), ints(3), 0.5),
        bad(ints(3), ints(3), ints(3)), bad(x(3), ints(3), 0.5), bad(x(3), x(3), ints(3)),
        bad(x(3), given([True, False, True], "bool"), 0.5), bad(x(2), x(3), 0.5), bad(x(2), 2, 0.5),
    ),
    "addcmul": third(
        s(ints(3), ints(3), ints(3), value=2), s(ints(3), ints(3), ints(3), value=2.5),
        s(x(3), ints(3), ints(3)), bad(bools(3), bools(3), bools(3)),
    ),
    "addcdiv": third(
        either(x(3), ints(3), ints(3)), s(x(3), ints(3), pos(3)), bad(ints(3), ints(3), ints(3))
    ),
}  # fmt: skip
SPECIAL_WRITES: Table = {
    "lerp_": rows(s(x(2, 3), x(3), 0.25), s(x(2, 3), x(3), x(2, 1)), bad(x(2), x(2, 2), 0.5)),
    "copysign_": rows(s(x(2, 3), x(3)), s(x(3), -1), bad(ints(3), 1)),
    **alike(
        "bitwise_left_shift_ bitwise_right_shift_", rows(s(ints(3), 1), s(ints(2, 3), ints(3)))
    ),
    "heaviside_": rows(s(x(2, 3, grad=False), x(3, grad=False)), bad(ints(2), x(2, grad=False))),
    "nextafter_": rows(kink(x(2, 3), x(3)), bad(ints(2), x(2))),
    **alike("gcd_ lcm_", rows(s(ints(2, 3), ints(3)))),
}  # fmt: skip


def of_special(name: str) -> Callable[..., Any]:
    """How a function of `torch.special` is called."""
    return lambda torch, *args, **kwargs: getattr(torch.special, name)(*args, **kwargs)


def of(name: str, domain: str, *more: Any, **options: Any) -> Row:
    """Samples of a function of one tensor in `torch.special`."""
    return unary(domain, *more, call=of_special(name), **options)


MORE_SPECIAL: Table = {
    "special.psi": of("psi", "positive", tolerance=1e-9),
    "special.expit": of("expit", "real"),
    "special.gammaln": of("gammaln", "positive", tolerance=1e-9),
    "special.logsumexp": rows(s(x(2, 3), 1, keepdim=True), call=of_special("logsumexp")),
    "special.round": rows(s(x(3), decimals=1), call=of_special("round")),
}  # fmt: skip
