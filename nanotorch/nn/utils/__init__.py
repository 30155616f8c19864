"""Gradients held in bounds; parameters as one vector."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.nn.utils import rnn as rnn
from nanotorch.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from nanotorch.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from nanotorch.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from nanotorch.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from nanotorch.nn.utils.clip_grad import get_total_norm as get_total_norm
from nanotorch.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from nanotorch.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters

if not _TYPE_CHECKING:  # so that checkers of types see which names there are
    __getattr__, __dir__ = _on_demand("nanotorch.nn.utils")
