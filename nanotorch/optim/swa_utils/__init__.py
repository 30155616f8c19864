"""Averages of a model's weights over training, and the schedule of rates for them."""

from nanotorch.optim.swa_utils.averaging import SWALR as SWALR
from nanotorch.optim.swa_utils.averaging import AveragedModel as AveragedModel
from nanotorch.optim.swa_utils.averaging import get_ema_avg_fn as get_ema_avg_fn
from nanotorch.optim.swa_utils.averaging import get_ema_multi_avg_fn as get_ema_multi_avg_fn
from nanotorch.optim.swa_utils.averaging import get_swa_avg_fn as get_swa_avg_fn
from nanotorch.optim.swa_utils.averaging import get_swa_multi_avg_fn as get_swa_multi_avg_fn
from nanotorch.optim.swa_utils.averaging import update_bn as update_bn
