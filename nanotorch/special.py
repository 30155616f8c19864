"""`torch.special`: mathematical functions by SciPy's names."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch import ops as _ops
from nanotorch.names.lookup import on_demand as _on_demand

digamma, erf, erfc, erfinv, exp2 = _ops.digamma, _ops.erf, _ops.erfc, _ops.erfinv, _ops.exp2
expm1, log1p, log_softmax, logit = _ops.expm1, _ops.log1p, _ops.log_softmax, _ops.logit
logsumexp, round, sinc = _ops.logsumexp, _ops.round, _ops.sinc
softmax = _ops.softmax
expit, gammaln, psi = _ops.sigmoid, _ops.lgamma, _ops.digamma

if not _TYPE_CHECKING:  # with a `__getattr__`, type checkers would accept any name
    __getattr__, __dir__ = _on_demand(__name__)
