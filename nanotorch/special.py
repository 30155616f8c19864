"""`torch.special`: functions of numbers, under the names that SciPy has for them."""

from typing import TYPE_CHECKING, Any

from nanotorch import ops
from nanotorch.names.lookup import missing

digamma, erf, erfc, erfinv, exp2 = ops.digamma, ops.erf, ops.erfc, ops.erfinv, ops.exp2
expm1, log1p, log_softmax, logit = ops.expm1, ops.log1p, ops.log_softmax, ops.logit
logsumexp, round, sinc = ops.logsumexp, ops.round, ops.sinc
softmax = ops.softmax
expit, gammaln, psi = ops.sigmoid, ops.lgamma, ops.digamma

__all__ = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "psi",
    "round",
    "sinc",
    "softmax",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
