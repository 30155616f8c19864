"""Optimizers: they change parameters by their gradients."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.optim import lr_scheduler as lr_scheduler
from nanotorch.optim import swa_utils as swa_utils
from nanotorch.optim.adadelta import Adadelta as Adadelta
from nanotorch.optim.adagrad import Adagrad as Adagrad
from nanotorch.optim.adam import Adam as Adam
from nanotorch.optim.adam import AdamW as AdamW
from nanotorch.optim.adamax import Adamax as Adamax
from nanotorch.optim.asgd import ASGD as ASGD
from nanotorch.optim.lbfgs import LBFGS as LBFGS
from nanotorch.optim.nadam import NAdam as NAdam
from nanotorch.optim.optimizer import Optimizer as Optimizer
from nanotorch.optim.radam import RAdam as RAdam
from nanotorch.optim.rmsprop import RMSprop as RMSprop
from nanotorch.optim.rprop import Rprop as Rprop
from nanotorch.optim.sgd import SGD as SGD

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand("nanotorch.optim")
