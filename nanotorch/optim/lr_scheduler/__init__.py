"""Schedulers: they change the learning rates of an optimizer from step to step."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.optim.lr_scheduler.cycles import ChainedScheduler as ChainedScheduler
from nanotorch.optim.lr_scheduler.cycles import CyclicLR as CyclicLR
from nanotorch.optim.lr_scheduler.cycles import OneCycleLR as OneCycleLR
from nanotorch.optim.lr_scheduler.cycles import SequentialLR as SequentialLR
from nanotorch.optim.lr_scheduler.scheduler import ConstantLR as ConstantLR
from nanotorch.optim.lr_scheduler.scheduler import CosineAnnealingLR as CosineAnnealingLR
from nanotorch.optim.lr_scheduler.scheduler import (
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
)
from nanotorch.optim.lr_scheduler.scheduler import ExponentialLR as ExponentialLR
from nanotorch.optim.lr_scheduler.scheduler import LambdaLR as LambdaLR
from nanotorch.optim.lr_scheduler.scheduler import LinearLR as LinearLR
from nanotorch.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
from nanotorch.optim.lr_scheduler.scheduler import MultiplicativeLR as MultiplicativeLR
from nanotorch.optim.lr_scheduler.scheduler import MultiStepLR as MultiStepLR
from nanotorch.optim.lr_scheduler.scheduler import PolynomialLR as PolynomialLR
from nanotorch.optim.lr_scheduler.scheduler import ReduceLROnPlateau as ReduceLROnPlateau
from nanotorch.optim.lr_scheduler.scheduler import StepLR as StepLR
from nanotorch.optim.lr_scheduler.scheduler import _LRScheduler as _LRScheduler

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand("nanotorch.optim.lr_scheduler")
