"""Copies and pickles of tensors."""

import copy

import numpy as np

import nanotorch as torch
from nanotorch._core.layout import attributes_of


def test_nothing_of_the_engines_is_a_users() -> None:
    """Whatever happens to a tensor, what it is given for that is not taken for an attribute."""
    x = torch.nn.Parameter(torch.randn(2, 3))
    x.register_hook(lambda g: g)
    x.register_post_accumulate_grad_hook(lambda p: None)
    y = x * 2
    y.retain_grad()
    z = y.view(6).t_().unsqueeze_(0)
    z.add_(1).sum().backward(retain_graph=True)
    out = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
    assert not any(map(attributes_of, (x, y, z, x.grad, out, y.detach(), x.data, torch.tensor(1))))


def test_memory_that_no_array_owns() -> None:
    block = memoryview(bytearray(64))
    x = torch.from_numpy(np.ndarray((2, 3), np.float32, block, 0, (16, 4)))
    y, z = copy.deepcopy([x, x[1]])
    y += 1
    assert (x.tolist(), z.tolist()) == ([[0.0] * 3] * 2, [0.0] * 3)
    assert copy.copy(x).tolist() == x.tolist()
