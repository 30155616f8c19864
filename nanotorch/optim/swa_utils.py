"""Averages of a model's weights over training, and the schedule of rates for them."""

from nanotorch.optim.averages import AveragedModel as AveragedModel
from nanotorch.optim.averages import get_ema_avg_fn as get_ema_avg_fn
from nanotorch.optim.averages import get_ema_multi_avg_fn as get_ema_multi_avg_fn
from nanotorch.optim.averages import get_swa_avg_fn as get_swa_avg_fn
from nanotorch.optim.averages import get_swa_multi_avg_fn as get_swa_multi_avg_fn
from nanotorch.optim.averages import update_bn as update_bn
from nanotorch.optim.lr_scheduler.cycles import SWALR as SWALR
