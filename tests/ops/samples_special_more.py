"""Samples of `torch.special`."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

from tests.ops.sampling import (
    Row,
    Table,
    binary,
    fixed,
    rows,
    s,
    unary,
    x,
)

SPECIAL = (0.0, -0.0, 1.0, -1.0, inf, -inf, nan)


def of_special(name: str) -> Callable[..., Any]:
    """How a function of `torch.special` is called."""
    return lambda torch, *args, **kwargs: getattr(torch.special, name)(*args, **kwargs)


def of(name: str, domain: str, *more: Any, **options: Any) -> Row:
    """Samples of a function of one tensor in `torch.special`."""
    return unary(domain, *more, call=of_special(name), **options)


MORE_SPECIAL: Table = {
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
}
