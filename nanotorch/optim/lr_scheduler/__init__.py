"""Schedulers: they change the learning rates of an optimizer from step to step."""

from nanotorch.optim.lr_scheduler.combined import ChainedScheduler as ChainedScheduler
from nanotorch.optim.lr_scheduler.combined import SequentialLR as SequentialLR
from nanotorch.optim.lr_scheduler.cosine import CosineAnnealingLR as CosineAnnealingLR
from nanotorch.optim.lr_scheduler.cosine import (
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
)
from nanotorch.optim.lr_scheduler.cycles import CyclicLR as CyclicLR
from nanotorch.optim.lr_scheduler.cycles import OneCycleLR as OneCycleLR
from nanotorch.optim.lr_scheduler.factors import ConstantLR as ConstantLR
from nanotorch.optim.lr_scheduler.factors import ExponentialLR as ExponentialLR
from nanotorch.optim.lr_scheduler.factors import LambdaLR as LambdaLR
from nanotorch.optim.lr_scheduler.factors import LinearLR as LinearLR
from nanotorch.optim.lr_scheduler.factors import MultiplicativeLR as MultiplicativeLR
from nanotorch.optim.lr_scheduler.factors import MultiStepLR as MultiStepLR
from nanotorch.optim.lr_scheduler.factors import PolynomialLR as PolynomialLR
from nanotorch.optim.lr_scheduler.factors import StepLR as StepLR
from nanotorch.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from nanotorch.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
from nanotorch.optim.lr_scheduler.scheduler import _LRScheduler as _LRScheduler
