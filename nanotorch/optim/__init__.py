"""Optimizers, which update parameters by their gradients, and schedulers."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in
from nanotorch.optim import lr_scheduler as lr_scheduler
from nanotorch.optim import swa_utils as swa_utils
from nanotorch.optim.lbfgs import LBFGS as LBFGS
from nanotorch.optim.optimizer import Optimizer as Optimizer
from nanotorch.optim.rules import ASGD as ASGD
from nanotorch.optim.rules import SGD as SGD
from nanotorch.optim.rules import Adadelta as Adadelta
from nanotorch.optim.rules import Adagrad as Adagrad
from nanotorch.optim.rules import Adam as Adam
from nanotorch.optim.rules import Adamax as Adamax
from nanotorch.optim.rules import AdamW as AdamW
from nanotorch.optim.rules import NAdam as NAdam
from nanotorch.optim.rules import RAdam as RAdam
from nanotorch.optim.rules import RMSprop as RMSprop
from nanotorch.optim.rules import Rprop as Rprop

# PyTorch's modules, one per rule; that of `Adam` also contains `AdamW`.
for _name in (
    "ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "Adamax", "AdamW", "NAdam", "RAdam", "RMSprop",
    "Rprop",
):  # fmt: skip
    _module, _names = f"{__name__}.{_name.lower()}", "Adam AdamW" if _name == "Adam" else _name
    globals()[_name.lower()] = _stand_in(_module, {f"{__name__}.rules": _names})

# What pickles of schedulers name by the modules where these were before.
_names = " ".join(_name for _name in vars(lr_scheduler) if _name[:2] != "__")
for _name in ("cycles", "scheduler"):
    _stand_in(f"{lr_scheduler.__name__}.{_name}", {lr_scheduler.__name__: _names})

for _name in ("lbfgs", "optimizer"):
    _on_demand(f"nanotorch.optim.{_name}")
if not _TYPE_CHECKING:  # type checkers see the names above only
    __getattr__, __dir__ = _on_demand("nanotorch.optim")
