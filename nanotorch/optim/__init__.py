"""Optimizers: they change parameters by their gradients."""

from nanotorch.optim.adam import Adam as Adam
from nanotorch.optim.adam import AdamW as AdamW
from nanotorch.optim.optimizer import Optimizer as Optimizer
from nanotorch.optim.sgd import SGD as SGD
