"""Samples of Bessel functions, incomplete gamma functions, windows and `torch.special`."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

from tests.ops.sampling import (
    Dtype,
    Row,
    Table,
    at,
    bad,
    binary,
    fixed,
    given,
    ints,
    kink,
    pos,
    rows,
    s,
    unary,
    x,
)

SPECIAL = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan)
EDGES = fixed([0.0], [1.0], [2.0], [inf], [-1.0], [nan]), fixed(0.0, 1.0, 2.0, inf, -1.0, nan)
LARGE = fixed(0.5, 3.0, 10.0, 50.0, 200.0), fixed(3.0, 0.25, 12.0, 45.0, 230.0)


def of_special(name: str) -> Callable[..., Any]:
    """How a function of `torch.special` is called."""
    return lambda torch, *args, **kwargs: getattr(torch.special, name)(*args, **kwargs)


def incomplete() -> Row:
    """Samples of an incomplete gamma function."""
    return rows(
        s(fixed(0.5, 1.5, 2.5), pos(3)),
        s(fixed([0.5], [1.5]), pos(3)),
        s(given([1, 2, 3]), pos(3)),
        s(fixed(0.5, 1.5), ints(2, domain="positive")),
        s(*EDGES),
        s(*LARGE),
        bad(ints(2), ints(2)),
        bad(pos(2), fixed(1.0, 2.0, 3.0)),
        bad(x(2, grad=False), 1.0),
        tolerance=1e-9,
    )


def windows(*more: Any) -> Row:
    """Samples of a window."""
    return rows(
        s(5), s(6), s(5, False), s(0), s(1), s(2, periodic=False),
        s(7, dtype=Dtype("float64")), bad(-1), bad(5, dtype=Dtype("int64")), *more,
    )  # fmt: skip


def of(name: str, domain: str, *more: Any, **options: Any) -> Row:
    """Samples of a function of one tensor in `torch.special`."""
    return unary(domain, *more, call=of_special(name), **options)


MORE_SPECIAL: Table = {
    "i0": unary("wide", kink(at(*SPECIAL, 20.0, 40.0)), kinks=False),
    "special.i0e": of("i0e", "wide", s(fixed(*SPECIAL, 29.0, 31.0, 400.0))),
    "special.i1": of("i1", "wide", s(fixed(*SPECIAL, 29.0, 31.0)), kink(at(0.0)), second=False),
    "special.i1e": of("i1e", "wide", s(fixed(*SPECIAL, 29.0, 31.0)), second=False),
    "igamma": incomplete(),
    "igammac": incomplete(),
    "mvlgamma": rows(
        s(pos(2, 3), 1),
        s(at(1.25, 3.5, 7.0), 3),
        s(at(2.5), p=2),
        s(given([2, 3, 4]), 2),
        s(fixed(0.5, 0.0, inf, nan), 2),
        bad(pos(3), 0),
        tolerance=1e-9,
    ),
    "special.entr": of("entr", "positive", s(fixed(*SPECIAL))),
    "special.erfcx": of(
        "erfcx", "real", s(fixed(*SPECIAL, -3.0, 5.0, 20.0, 50.0, -50.0)), tolerance=1e-9
    ),
    "special.ndtr": of("ndtr", "real", s(fixed(*SPECIAL)), nodes=False),
    "special.log_ndtr": of(
        "log_ndtr", "real", s(fixed(*SPECIAL, -50.0, -5.0, 50.0)), tolerance=1e-9
    ),
    "special.ndtri": of(
        "ndtri", "probability", s(fixed(*SPECIAL, 0.5, 0.01, 1e-20, 2.0)), tolerance=1e-9
    ),
    "special.xlog1py": binary(
        "real",
        "positive",
        s(fixed(0.0, 0.0, 1.0), fixed(-1.0, nan, -1.0)),
        call=of_special("xlog1py"),
    ),
    "special.psi": of("psi", "positive", tolerance=1e-9),
    "special.expit": of("expit", "real"),
    "special.gammaln": of("gammaln", "positive", tolerance=1e-9),
    "special.logsumexp": rows(s(x(2, 3), 1, keepdim=True), call=of_special("logsumexp")),
    "special.round": rows(s(x(3), decimals=1), call=of_special("round")),
    "hann_window": windows(),
    "hamming_window": windows(s(5, True, 0.5), s(5, False, 0.5, 0.4)),
    "blackman_window": windows(),
    "bartlett_window": windows(),
    "kaiser_window": windows(s(5, False, 3.0)),
}
MORE_SPECIAL_WRITES: Table = {
    "i0_": rows(s(x(2, 3)), bad(ints(3))),
    "igamma_": rows(s(fixed(0.5, 1.5, 2.5), pos(3)), bad(ints(2), ints(2)), tolerance=1e-9),
    "igammac_": rows(s(fixed(0.5, 1.5, 2.5), pos(3)), bad(ints(2), ints(2)), tolerance=1e-9),
    "mvlgamma_": rows(s(at(1.25, 3.5), 2), bad(pos(2), 0), tolerance=1e-9),
}
