"""`torch.special`: functions of numbers, under the names that SciPy has for them."""

from typing import TYPE_CHECKING, Any

from nanotorch import ops
from nanotorch._core.out import Out, with_out
from nanotorch.names.lookup import missing
from nanotorch.ops.special import entr, erfcx, log_ndtr, ndtr, ndtri, xlog1py

digamma, erf, erfc, erfinv, exp2 = ops.digamma, ops.erf, ops.erfc, ops.erfinv, ops.exp2
expm1, log1p, log_softmax, logit = ops.expm1, ops.log1p, ops.log_softmax, ops.logit
logsumexp, round, sinc = ops.logsumexp, ops.round, ops.sinc
softmax, xlogy = ops.softmax, ops.xlogy
expit, gammaln, psi = ops.sigmoid, ops.lgamma, ops.digamma

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
]

# `out=` of what stands here only; the others' is that of the functions in `nanotorch`.
for _name in ("entr", "erfcx", "log_ndtr", "ndtr", "ndtri", "xlog1py"):
    _rule = Out(
        f"special_{_name}", elementwise=True, overlap="no" if _name == "ndtr" else "part",
        recorded=_name != "ndtr",
    )  # fmt: skip
    globals()[_name] = with_out(__name__, _name, globals()[_name], _rule)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
