"""The layers and losses as functions."""

from nanotorch.nn.functional.activation import elu as elu
from nanotorch.nn.functional.activation import gelu as gelu
from nanotorch.nn.functional.activation import hardtanh as hardtanh
from nanotorch.nn.functional.activation import leaky_relu as leaky_relu
from nanotorch.nn.functional.activation import log_softmax as log_softmax
from nanotorch.nn.functional.activation import logsigmoid as logsigmoid
from nanotorch.nn.functional.activation import relu as relu
from nanotorch.nn.functional.activation import relu6 as relu6
from nanotorch.nn.functional.activation import selu as selu
from nanotorch.nn.functional.activation import sigmoid as sigmoid
from nanotorch.nn.functional.activation import silu as silu
from nanotorch.nn.functional.activation import softmax as softmax
from nanotorch.nn.functional.activation import softmin as softmin
from nanotorch.nn.functional.activation import softplus as softplus
from nanotorch.nn.functional.activation import softsign as softsign
from nanotorch.nn.functional.activation import tanh as tanh
from nanotorch.nn.functional.activation import tanhshrink as tanhshrink
from nanotorch.nn.functional.classes import cross_entropy as cross_entropy
from nanotorch.nn.functional.classes import nll_loss as nll_loss
from nanotorch.nn.functional.dropout import dropout as dropout
from nanotorch.nn.functional.linear import bilinear as bilinear
from nanotorch.nn.functional.linear import linear as linear
from nanotorch.nn.functional.loss import binary_cross_entropy as binary_cross_entropy
from nanotorch.nn.functional.loss import (
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
)
from nanotorch.nn.functional.loss import huber_loss as huber_loss
from nanotorch.nn.functional.loss import l1_loss as l1_loss
from nanotorch.nn.functional.loss import mse_loss as mse_loss
from nanotorch.nn.functional.loss import smooth_l1_loss as smooth_l1_loss
from nanotorch.nn.functional.normalization import batch_norm as batch_norm
from nanotorch.nn.functional.normalization import layer_norm as layer_norm
