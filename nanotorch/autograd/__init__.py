"""Differentiation: `backward`, `grad`, the switches of recording, and operations of your own."""

from nanotorch._core import grad_mode as grad_mode
from nanotorch._core.grad_mode import enable_grad as enable_grad
from nanotorch._core.grad_mode import inference_mode as inference_mode
from nanotorch._core.grad_mode import no_grad as no_grad
from nanotorch._core.grad_mode import set_grad_enabled as set_grad_enabled
from nanotorch.autograd import function as function
from nanotorch.autograd.backward import backward as backward
from nanotorch.autograd.backward import grad as grad
from nanotorch.autograd.function import Function as Function
