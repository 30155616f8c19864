"""Differentiation: `backward`, `grad`, and the switches of recording."""

from nanotorch._core.grad_mode import enable_grad as enable_grad
from nanotorch._core.grad_mode import no_grad as no_grad
from nanotorch._core.grad_mode import set_grad_enabled as set_grad_enabled
from nanotorch.autograd.backward import backward as backward
from nanotorch.autograd.backward import grad as grad
